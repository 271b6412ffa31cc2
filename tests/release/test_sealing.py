"""The quick ways of sealing are the plain ones: the order of rows, and cells in published leaves."""

from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.hierarchy import Intervals, Taxonomy
from incrowd.release.domains import _published_cells, publish_domain
from incrowd.release.seal import _order, _ranks, _ranks_of_cells

NUMBERS = st.sampled_from([0, 1, 2, 2**16 - 1, 2**16, 2**16 + 1, 2**32, 2**40 + 3])


@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.integers(0, 2)), min_size=1, max_size=12))
def test_rows_are_sorted_by_all_keys_and_equal_ones_stay_as_they_stand(rows):
    keys = [np.array(key, np.int64) for key in zip(*rows, strict=True)]
    assert _order(keys).tolist() == sorted(range(len(rows)), key=rows.__getitem__)
    assert _ranks(keys).tolist() == [sorted(set(rows)).index(row) for row in rows]


def test_cells_stand_in_the_order_of_their_labels_then_of_their_leaves():
    names = Intervals(["b", "a", "ü", "Z"])  # code points: Z a b ü
    lo, hi = np.array([0, 1, 2, 3, 0, 0], np.int32), np.array([0, 1, 2, 3, 3, 1], np.int32)
    labels = names.labels(lo, hi).to_list()
    assert _ranks_of_cells(names, lo, hi).tolist() == [sorted(labels).index(label) for label in labels]
    tree = Taxonomy(["a", "b", "c"], [["a", "a", "c"]])  # a node and a leaf below it are both called a
    lo, hi = np.array([0, 0, 2], np.int32), np.array([1, 0, 2], np.int32)
    assert tree.labels(lo, hi).to_list() == ["a", "a", "c"]
    assert _ranks_of_cells(tree, lo, hi).tolist() == [1, 0, 2]


@given(st.data())
def test_published_cells_hold_the_published_leaves_of_all_their_values(data):
    n = data.draw(st.integers(1, 8))
    leaf_of = np.array(data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)), np.int32)
    ends = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).map(sorted), min_size=1))
    lo, hi = (np.array(end, np.int32) for end in zip(*ends, strict=True))
    first, last = _published_cells(leaf_of, lo, hi)
    assert first.tolist() == [leaf_of[a : b + 1].min() for a, b in ends]
    assert last.tolist() == [leaf_of[a : b + 1].max() for a, b in ends]


@pytest.mark.parametrize(("rng", "expected"), [(None, "abcde"), (np.random.default_rng(1), "axxde")])
def test_every_value_leads_to_the_leaf_that_stands_for_it(rng, expected):
    tree = Taxonomy(["a", "b", "c", "d", "e"], [["x", "x", "x", "y", "y"]])
    lo, hi = np.array([0, 0, 3], np.int32), np.array([2, 0, 4], np.int32)
    domain, first, last, kept = publish_domain("q", tree, np.array([9, 1, 2, 8, 4]), lo, hi, least=3, rng=rng)
    assert domain.hierarchy.leaves.gather(kept.leaf_of).to_list() == list(expected)
    assert domain.hierarchy.labels(first, last).to_list() == ["x", "a", "y"]


def test_the_first_and_the_last_day_of_the_calendar_are_joined():
    days = [date.min, date.max, date(2000, 1, 1)] * 2
    frame = pl.DataFrame({"day": [*days, None], "ill": list("abababa")})
    schema = ic.Schema(quasi={"day": ic.dates()}, sensitive="ill")
    for seed in range(5):
        for rows in (frame, frame[:2], frame[[0, 6]], frame[[1, 6]]):
            assert ic.Mondrian(k=2).publish(rows, schema, seed=seed).verify(rows).ok
