"""Listed values and their ranks, and numbers that can be found in two ways."""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
import polars as pl
import pytest

from incrowd.verify import coverage, groups, levels
from incrowd.verify.coverage import Boxes, count_meeting
from incrowd.verify.csv_text import as_fields
from incrowd.verify.domain import ABSENT, OUTSIDE, TYPES, Values, are_texts, convert, is_text, value_problems
from incrowd.verify.groups import distinct_cells, make_cells
from incrowd.verify.levels import Distributions

DAY, NEXT = date(2001, 2, 3), date(2001, 2, 4)


@pytest.mark.parametrize(
    ("kind", "listed", "column", "ranks"),
    [
        ("int", [3, 1, 2], pl.Series([1, 2, 3, 4, None]), [1, 2, 0, OUTSIDE, ABSENT]),
        ("int", [None, 1, 2], pl.Series([1, 2, 3, None]), [1, 2, OUTSIDE, 0]),
        ("int", [1, 2, None], pl.Series(["2", "2.0", "2.5", "x", "?", " 1"]), [1, 1, OUTSIDE, OUTSIDE, 2, 0]),
        ("int", [2**62, -(2**62)], pl.Series([2**62, -(2**62), 2**62 - 1]), [0, 1, OUTSIDE]),
        ("int", [], pl.Series([1, None]), [OUTSIDE, ABSENT]),
        ("float", [0.5, None, 2.0], pl.Series([2.0, 0.5, float("nan"), None, 0.25]), [2, 0, 1, 1, OUTSIDE]),
        ("float", [0.5, None], pl.Series(["0.50", "nan", "?", "x", None]), [0, 1, 1, OUTSIDE, 1]),
        ("float", [0.5], pl.Series([float("nan"), 0.5]), [ABSENT, 0]),
        ("bool", [True, False], pl.Series([False, True, None]), [1, 0, ABSENT]),
        ("bool", [None, True], pl.Series(["yes", "No", "1", "?", "x"]), [1, OUTSIDE, 1, 0, OUTSIDE]),
        ("date", [NEXT, DAY], pl.Series([DAY, NEXT, None]), [1, 0, ABSENT]),
        ("date", [None, DAY], pl.Series([datetime(2001, 2, 3, 4), None]), [1, 0]),
        ("date", [DAY], pl.Series(["2001-02-03T04:05", "2001-02-04", "?"]), [0, OUTSIDE, ABSENT]),
        ("str", ["b", None, "a"], pl.Series(["a", "b", "c", "?", None]), [2, 0, OUTSIDE, 1, 1]),
        ("str", ["1", "2"], pl.Series([2, 1, 3, None]), [1, 0, OUTSIDE, ABSENT]),
        ("str", ["0.5"], pl.Series([0.5, float("nan")]), [0, ABSENT]),
        ("str", [], pl.Series(["x", "?", None]), [OUTSIDE, ABSENT, ABSENT]),
        ("str", ["a"], pl.Series([[1], [2]]), [OUTSIDE, OUTSIDE]),
        ("int", [1], pl.Series([[1], [2]]), [OUTSIDE, OUTSIDE]),
    ],
)
def test_ranks_of_values(kind, listed, column, ranks):
    values = Values(kind, pl.Series(listed, dtype={"str": pl.String, "int": pl.Int64}.get(kind)))
    assert values.code(column, ["?"]).tolist() == ranks


@pytest.mark.parametrize("n", [3, 46_340, 46_341, 70_000, 2**31 - 1])
def test_cells_of_any_domain_are_told_apart(n):
    lo, hi = np.array([0, 1, n // 2, 0, n - 1, 0], np.int32), np.array([n - 1, 1, n - 1, 0, n - 1, n - 1], np.int32)
    cells = make_cells([distinct_cells(lo, hi, n)] * 2, 6)
    for m in range(2):
        assert cells.lo[m][cells.cell[m]].tolist() == lo.tolist()
        assert cells.hi[m][cells.cell[m]].tolist() == hi.tolist()
    same = [set(np.flatnonzero(cells.group == group)) for group in range(cells.n_groups)]
    assert sorted(map(len, same)) == [1] * (len(set(zip(lo.tolist(), hi.tolist(), strict=True))) - 1) + [2]
    assert {0, 5} in same
    assert cells.size[cells.group].tolist() == [2, 1, 1, 1, 1, 2]
    assert cells.first[cells.group].tolist() == [0, 1, 2, 3, 4, 0]


def test_groups_are_the_same_whether_they_are_counted_in_a_table_or_not(monkeypatch):
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 9, 300) for _ in range(4)]
    by_table = groups.combine(columns, [9] * 4, 300)
    monkeypatch.setattr(groups, "_table_limit", lambda _: 0)
    by_sorting = groups.combine(columns, [9] * 4, 300)
    pairs = set(zip(by_table.tolist(), by_sorting.tolist(), strict=True))
    assert len(pairs) == len(set(by_table.tolist())) == len(set(by_sorting.tolist())) == by_sorting.max() + 1


@pytest.mark.parametrize(("n_owners", "n_values"), [(5, 3), (1000, 1000)])
def test_counts_are_the_same_whether_they_are_made_in_a_table_or_not(n_owners, n_values):
    rng = np.random.default_rng(2)
    owner, value = rng.integers(0, n_owners, 50), rng.integers(0, n_values, 50)
    found = Distributions.of_rows(owner, value, n_owners, n_values)
    wanted = dict(zip(*np.unique(owner * n_values + value, return_counts=True), strict=True))
    assert dict(zip(found.owner * n_values + found.value, found.count, strict=True)) == wanted


@pytest.mark.one_in(4)
@pytest.mark.parametrize("chunk", [64, 1, 100, 1 << 16])
@pytest.mark.parametrize("words", [1, 1 << 15])
def test_boxes_are_counted_in_pieces_of_any_size(monkeypatch, chunk, words):
    rng = np.random.default_rng(3)
    monkeypatch.setattr(coverage, "_CHUNK", chunk)
    monkeypatch.setattr(coverage, "_WORDS_AT_ONCE", words)
    monkeypatch.setattr(coverage, "_KEYS_AT_ONCE", chunk)

    def boxes(n):
        lo = [rng.integers(0, 9, n) for _ in range(2)]
        hi = [a + rng.integers(0, 4, n) for a in lo]
        return Boxes(lo, hi, [np.arange(n)] * 2, n)

    asked, items = boxes(70), boxes(300)
    weight, segment = rng.integers(0, 50_000, 300), rng.choice([0, 1, 3, 4], 300, p=[0.6, 0.1, 0.2, 0.1])
    found = count_meeting(asked, items, weight, segment, 5)
    meets = np.ones((70, 300), bool)
    for m in range(2):
        meets &= (asked.lo[m][:, None] <= items.hi[m]) & (items.lo[m] <= asked.hi[m][:, None])
    wanted = np.stack([(meets * weight * (segment == s)).sum(axis=1) for s in range(5)], axis=1)
    assert found.tolist() == wanted.tolist()


def test_long_segments_are_counted_apart():
    """A segment of 64 words and more, and what comes behind it."""
    items = Boxes([np.arange(9000)], [np.arange(9000)], [np.arange(9000)], 9000)
    asked = Boxes([np.array([0, 10])], [np.array([8999, 8990])], [np.arange(2)], 2)
    segment = np.repeat([0, 1, 2], [5000, 100, 3900])
    found = count_meeting(asked, items, np.ones(9000, np.int64), segment, 3)
    assert found.tolist() == [[5000, 100, 3900], [4990, 100, 3891]]


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_floats_are_written_as_python_writes_them(kind):
    powers = [sign * digits * 10.0**power for power in range(-12, 25) for digits in (1, 9.999, 1.5) for sign in (1, -1)]
    numbers = np.array([0.0, *powers, 1e-4, 1e15, 1e16, 999999.9, 1e6, 123456789.0, 0.1, np.inf, -np.inf], kind)
    written = as_fields(pl.Series(numbers)).to_list()
    assert written == [repr(float(str(number)) if kind is np.float32 else float(number)) for number in numbers]


def test_levels_of_pieces(monkeypatch):
    rng = np.random.default_rng(4)
    counts = rng.integers(0, 5, (40, 6)) + np.eye(40, 6, dtype=int)
    counts[:, 0] += 1
    found = Distributions.of_matrix(counts)
    whole = [found.measure(one).tolist() for one in (levels.tops, levels.totals, levels.distinct)]
    monkeypatch.setattr(levels, "_BLOCK", 13)
    assert [found.measure(one).tolist() for one in (levels.tops, levels.totals, levels.distinct)] == whole
    assert whole == [counts.max(axis=1).tolist(), counts.sum(axis=1).tolist(), (counts > 0).sum(axis=1).tolist()]


@pytest.mark.parametrize(("value", "fine"), [("a", True), ("", True), ("\ud800", False), (5, False), (None, False)])
def test_text_that_can_be_written_down(value, fine):
    assert is_text(value) is fine
    assert are_texts(["b", value]) is fine


def test_a_domain_has_values_each_once_and_the_missing_one_first():
    assert value_problems(pl.Series([], dtype=pl.String)) == ["lists no values"]
    assert value_problems(pl.Series([None, "a", "b"])) == []
    assert len(value_problems(pl.Series(["a", None]))) == 1
    assert "lists 2 values more than once" in value_problems(pl.Series(["a", "a", "b", "b"]))[0]


@pytest.mark.parametrize(
    ("column", "kind", "wanted"),
    [
        (pl.Series([[1], [2]]), "int", [None, None]),
        (pl.Series([b"1", b"2"]), "date", [None, None]),
        (pl.Series([1.0, 1.5, None, 1e300]), "int", [1, None, None, None]),
        (pl.Series([datetime(2001, 2, 3, 4), None]), "date", [DAY, None]),
        (pl.Series([DAY]), "date", [DAY]),
        (pl.Series(["3", "x", " 4 "]), "int", [3, None, 4]),
        (pl.Series(["3", "x"]), "str", ["3", "x"]),
        (pl.Series([3, None]), "str", ["3", None]),
        (pl.Series([3, None]), "float", [3.0, None]),
        (pl.Series([1, 0, None]), "bool", [True, False, None]),
    ],
)
def test_a_column_is_brought_to_a_type(column, kind, wanted):
    found = convert(column, kind)
    assert found.to_list() == wanted
    assert found.dtype == TYPES[kind]
