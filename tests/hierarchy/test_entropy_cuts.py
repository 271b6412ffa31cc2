from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from naive_mdl import kononenko, naive_levels

from incrowd.errors import HierarchyError, ParameterError
from incrowd.hierarchy import mdl
from incrowd.hierarchy.entropy_cuts import nested_cuts


def inner(tree):
    """Return the values of every node, level by level, without leaves and root."""
    values = tree.leaves.to_list()
    bounds = [sorted(set(zip(lo.tolist(), hi.tolist(), strict=True))) for lo, hi in zip(*tree.levels(), strict=True)]
    return [[values[a : b + 1] for a, b in level] for level in bounds[1:-1]]


@given(st.lists(st.tuples(st.integers(0, 12), st.sampled_from("abc")), min_size=1, max_size=40), st.integers(1, 8))
def test_equals_the_slow_one(rows, times):
    xs, ys = [x for x, _ in rows] * times, [y for _, y in rows] * times
    tree = mdl().build(pl.Series("x", xs), pl.Series(ys))
    n = len(set(xs))
    expected = [level for level in naive_levels(xs, ys)[::-1] if len(level) not in (1, n)]
    assert [[node[0] for node in level] for level in inner(tree)] == expected


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc")), min_size=1, max_size=30), st.integers(1, 4))
def test_kononenkos_criterion_equals_the_slow_one(rows, times):
    rows = sorted(rows * times)
    xs = sorted({x for x, _ in rows})
    ys = sorted({y for _, y in rows})
    counts = np.array([[rows.count((x, y)) for y in ys] for x in xs])
    expected = [level[1:] for level in naive_levels(*zip(*rows, strict=True), pays=kononenko)]
    assert [[xs[c] for c in level] for level in nested_cuts(counts, criterion="kononenko")] == expected


def test_a_recipe_names_its_criterion():
    assert mdl("kononenko").to_dict() == {"kind": "mdl", "criterion": "kononenko"}
    assert mdl().to_dict() == {"kind": "mdl"}
    with pytest.raises(ParameterError, match="criterion is 'gini'"):
        mdl("gini")


def test_known_cuts():
    xs = [1, 2, 3, 4, 5, 6, 7, 8, 9] * 20
    ys = ["a", "a", "a", "b", "b", "b", "c", "c", "c"] * 20
    assert inner(mdl().build(pl.Series("x", xs), pl.Series(ys)))[0] == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]


@given(st.lists(st.lists(st.integers(0, 12), min_size=2, max_size=2).filter(any), min_size=2, max_size=4))
@example([[7, 4], [0, 7]])  # accepted with the paper's 3^k - 2, and not with a little more
@example([[5, 0], [0, 1]])
def test_counts_near_the_threshold(counts):
    rows = [(x, y) for x, row in enumerate(counts) for y, n in enumerate(row) for _ in range(n)]
    expected = [level[1:] for level in naive_levels(*zip(*rows, strict=True))]
    assert nested_cuts(np.array(counts)) == expected


@given(
    st.lists(st.lists(st.integers(0, 12), min_size=2, max_size=3).filter(any), min_size=2, max_size=9).filter(
        lambda counts: len({len(row) for row in counts}) == 1
    ),
    st.integers(0, 3),
    st.integers(1, 30),
)
def test_levels_that_are_cut_in_any_case(counts, levels, rows):
    counts = np.array(counts)
    paid, found = nested_cuts(counts), nested_cuts(counts, levels=levels, rows=rows)
    assert nested_cuts(counts, levels=0, rows=rows) == paid
    assert len(found) >= len(paid)
    assert all(set(one) <= set(other) for one, other in zip(paid, found, strict=False))
    assert found or not levels or all(min(counts[:c].sum(), counts[c:].sum()) < rows for c in splits(counts))
    for depth in range(min(levels, len(found))):
        before, bounds = [0, *(found[depth - 1] if depth else []), len(counts)], found[depth]
        for cut in set(bounds) - set(before) - set(paid[-1] if paid else []):
            first, end = max(b for b in before if b < cut), min(b for b in before if b > cut)
            worth_it = nested_cuts(counts[first:end])  # inside a part that was cut in any case, cuts may pay
            if not worth_it or cut - first not in worth_it[0]:
                assert min(counts[first:cut].sum(), counts[cut:end].sum()) >= rows


def splits(counts):
    """Cuts that tell anything about the classes: their shares differ on both sides."""
    for c in range(1, len(counts)):
        low, high = counts[:c].sum(axis=0), counts[c:].sum(axis=0)
        if (low * high.sum() != high * low.sum()).any():
            yield c


def test_no_cut_is_worth_it():
    tree = mdl().build(pl.Series("x", [1, 2, 3, 4]), pl.Series(["a", "b", "a", "b"]))
    assert (tree.n_levels, tree.label(0, 3)) == (2, "*")


def test_many_classes():
    xs = np.repeat(np.arange(2000), 2)
    assert mdl().build(pl.Series("x", xs), pl.Series(xs)).n_leaves == 2000


def test_missing_values_and_missing_classes():
    xs = [1.0, 2.0, 3.0, 4.0, None, float("nan")] * 10
    ys = [None, None, "b", "b", "b", None] * 10
    tree = mdl().build(pl.Series("x", xs), pl.Series(ys))
    assert tree.leaves.to_list() == [None, 1.0, 2.0, 3.0, 4.0]
    assert [tree.label(1, 2), tree.label(3, 4), tree.label(0, 4)] == ["1-2", "3-4", "*"]


@pytest.mark.parametrize(
    "target",
    [pl.Series([0, 1] * 20), pl.Series([False, True] * 20), pl.Series(["n", "y"] * 20, dtype=pl.Categorical)],
)
def test_target_of_any_type(target):
    assert inner(mdl().build(pl.Series("x", [5, 7, 6, 8] * 10), target)) == [[[5, 6], [7, 8]]]


def test_targets_that_do_not_fit():
    column = pl.Series("c", range(6000))
    with pytest.raises(HierarchyError, match="'c' has 6000 rows, and the target has 2"):
        mdl().build(column, pl.Series([1, 2]))
    with pytest.raises(HierarchyError, match="'c' has 6000 values and the target 6000, too many"):
        mdl().build(column, column)
