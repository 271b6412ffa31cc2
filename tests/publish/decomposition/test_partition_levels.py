"""Levels of partitions equal those of a real join, on random tables."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.publish.decomposition.levels import NO_LIMIT, Levels


@st.composite
def cases(draw):
    n, m = draw(st.integers(1, 14)), draw(st.integers(1, 5))
    values = st.sampled_from(["a", "b", "c", None])
    columns = {f"c{j}": draw(st.lists(values, min_size=n, max_size=n)) for j in range(m)}
    columns["class"] = draw(st.lists(st.sampled_from(["x", "y", "z", None]), min_size=n, max_size=n))
    set_of = draw(st.lists(st.integers(0, m), min_size=m, max_size=m))  # m is in no part
    parts = [[j for j in range(m) if set_of[j] == number] for number in range(m)]
    quasi = draw(st.sets(st.integers(0, m - 1)))
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), [part for part in parts if part], quasi


def smallest(frame, names):
    """DAL: the smallest group of rows, all of them if there is no column to group by."""
    return frame.group_by(names).len()["len"].min() if names else frame.height


def known(part, quasi):
    return [f"c{j}" for j in part if j in quasi]


def by_join(frame, parts, quasi):
    levels = [NO_LIMIT]
    for p, one in enumerate(parts):
        for other in parts[p + 1 :]:
            first, second = (frame.select([*(f"c{j}" for j in part), "class"]) for part in (one, other))
            join = first.join(second, on="class", nulls_equal=True)
            levels.append(smallest(join, [*known(one, quasi), *known(other, quasi), "class"]))
    return min(levels)


@given(cases())
def test_levels_equal_those_of_a_join(case):
    frame, parts, quasi = case
    levels = Levels.of(frame, "class", quasi)
    partial = min((smallest(frame, known(part, quasi)) for part in parts), default=NO_LIMIT)
    assert levels.partial(parts) == partial
    assert levels.joined(parts) == by_join(frame, parts, quasi)
    assert levels.of_partition(iter(parts)) == min(partial, by_join(frame, parts, quasi))


@given(cases())
def test_joining_all_parts_at_once_goes_no_lower(case):
    """Lemma 2: further parts only multiply."""
    frame, parts, quasi = case
    if len(parts) < 2:
        return
    join = frame.select(*(f"c{j}" for j in parts[0]), "class")
    for part in parts[1:3]:
        join = join.join(frame.select(*(f"c{j}" for j in part), "class"), on="class", nulls_equal=True)
    names = [name for part in parts[:3] for name in known(part, quasi)]
    assert smallest(join, [*names, "class"]) >= Levels.of(frame, "class", quasi).joined(parts)


def test_parts_without_quasi_identifiers_are_one_combination_per_class():
    frame = pl.DataFrame({"q": list("aabbb"), "p": list("uvwxy"), "class": list("xyxxy")})
    levels = Levels.of(frame, "class", ["q"])
    assert levels.partial([[1]]) == 5
    assert levels.joined([[0], [1]]) == 2  # y: one row in each group of q, two rows in all
    assert Levels.of(frame, "class", []).joined([[0], [1]]) == 4


def test_one_part_and_no_part():
    levels = Levels.of(pl.DataFrame({"q": list("aab"), "class": list("xyx")}), "class", ["q"])
    assert (levels.partial([[0]]), levels.joined([[0]]), levels.of_partition([[0]])) == (1, math.inf, 1)
    assert (levels.partial([]), levels.joined([]), levels.of_partition([])) == (math.inf,) * 3


def test_classes_without_rows_do_not_count():
    codes = np.array([[0, 5], [0, 5], [7, 5]])
    assert Levels(codes, np.array([4, 4, 1]), [0, 1]).joined([[0], [1]]) == 1
    assert Levels(codes, np.array([4, 4, 4]), [0, 1]).joined([[0], [1]]) == 3


def test_products_are_whole_numbers_beyond_32_bits():
    n = 70_000
    levels = Levels(np.zeros((n, 2), np.int32), np.zeros(n, np.int32), [0, 1])
    assert levels.joined([[0], [1]]) == n * n


@pytest.mark.parametrize("parts", [[[2]], [[-1]], [["q"]]])
def test_unknown_columns_are_refused(parts):
    levels = Levels(np.zeros((3, 2), np.int32), np.zeros(3, np.int32), [0])
    with pytest.raises(ic.ParameterError, match="parts names"):
        levels.partial(parts)


def test_no_rows_are_refused():
    with pytest.raises(ic.ParameterError, match="0 rows"):
        Levels(np.zeros((0, 2), np.int32), np.zeros(0, np.int32), [0])
