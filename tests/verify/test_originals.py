"""Originals are read as files and frames hold them: tokens and NaN are missing, numbers may be text."""

from __future__ import annotations

import sys
from datetime import date, datetime

import numpy as np
import polars as pl
import pytest

from incrowd.verify.original import row_map_problems
from incrowd.verify.originals import Column, read_column


def decoded(column: Column) -> list[object]:
    return [[*column.values.to_list(), None][at] for at in column.index]


@pytest.mark.parametrize(
    ("kind", "given", "values", "n_odd"),
    [
        ("int", pl.Series([3, 1, None, 3]), [3, 1, None, 3], 0),
        ("int", pl.Series([3.0, 1.5, None, 2.0]), [3, None, None, 2], 1),
        ("int", pl.Series(["3", " 4 ", "?", "x", "17.0"]), [3, 4, None, None, 17], 1),
        ("int", pl.Series([2**62, -(2**62), 5]), [2**62, -(2**62), 5], 0),
        ("int", pl.Series([0, 2**20, 1, 2**20 - 1]), [0, 2**20, 1, 2**20 - 1], 0),
        ("int", pl.Series([7, None, 9], dtype=pl.UInt8), [7, None, 9], 0),
        ("int", pl.Series([None, None], dtype=pl.Int64), [None, None], 0),
        ("float", pl.Series([0.5, float("nan"), None, -1.0, 0.5]), [0.5, None, None, -1.0, 0.5], 0),
        ("float", pl.Series(["1e-3", "?", "nan?"]), [0.001, None, None], 1),
        ("float", pl.Series([1, 2]), [1.0, 2.0], 0),
        ("str", pl.Series(["b", "a", "?", None, "b"]), ["b", "a", None, None, "b"], 0),
        ("str", pl.Series(["b", "?"], dtype=pl.Categorical), ["b", None], 0),
        ("str", pl.Series([1.0, float("nan")]), ["1.0", None], 0),
        ("str", pl.Series([True, None]), ["true", None], 0),
        ("bool", pl.Series([True, None, False]), [True, None, False], 0),
        ("bool", pl.Series(["yes", "0", "?", "maybe"]), [True, False, None, None], 1),
        ("date", pl.Series([date(2020, 1, 2), None]), [date(2020, 1, 2), None], 0),
        ("date", pl.Series([datetime(2020, 1, 2, 3, 4), None]), [date(2020, 1, 2), None], 0),
        ("date", pl.Series(["2020-01-02", "2020-01-02T03:04:05", "2.1.2020"]), [date(2020, 1, 2)] * 2 + [None], 1),
        ("date", pl.Series([[1], [2]]), [None, None], 2),
    ],
)
def test_a_column_is_read_as_its_type(kind, given, values, n_odd):
    column = read_column(given, kind, ["?"])
    assert decoded(column) == values
    assert column.n_odd == n_odd
    known = column.values.to_list()
    assert known == sorted(set(known))
    assert column.missing.tolist() == [value is None for value in values]


def test_counts_are_of_some_rows_the_missing_value_last():
    column = read_column(pl.Series(["b", None, "a", "b"]), "str", [])
    assert column.count(np.array([0, 1, 3])).tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("kind", "given", "listed", "ranks"),
    [
        ("int", [5, 1, 9], [1, 4, 5], [0, 2, -1, -1]),
        ("int", [5, 1, None], [None, 1, 5], [1, 2, 0]),
        ("int", [5], [], [-1, -1]),
        ("int", [5], [None], [-1, 0]),
        ("float", [0.5, -1.0], [-1.0, 0.5], [0, 1, -1]),
        ("str", ["b", "c"], ["c", "a"], [-1, 0, -1]),
        ("str", ["b", "c"], [None, "c"], [-1, 1, 0]),
        ("bool", [True, False], [False], [0, -1, -1]),
        ("date", [date(2020, 1, 1)], [None, date(2020, 1, 1)], [1, 0]),
    ],
)
def test_values_are_looked_up_in_a_list(kind, given, listed, ranks):
    column = read_column(pl.Series(given), kind, [])
    assert column.ranks_in(pl.Series(listed, dtype=column.values.dtype)).tolist() == ranks


@pytest.mark.parametrize("first_rows", [1, 3, 99])
def test_names_that_come_late_are_read_too(monkeypatch: pytest.MonkeyPatch, first_rows: int) -> None:
    monkeypatch.setattr(sys.modules[read_column.__module__], "_FIRST_ROWS", first_rows)
    column = read_column(pl.Series(["b", None, "a", "b", "?", "c"]), "str", ["?"])
    assert column.values.to_list() == ["a", "b", "c"]
    assert column.index.tolist() == [1, 3, 0, 1, 3, 2]
    assert column.n_odd == 0


def test_tokens_are_looked_for_in_numbers_that_are_read_as_text():
    column = read_column(pl.Series([7, 8, None, 7]), "str", ["7"])
    assert column.values.to_list() == ["8"]
    assert (column.missing.tolist(), column.n_odd) == ([True, False, True, True], 0)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (np.array([2, 0, 1]), []),
        (np.array([2, 0, 1], np.uint8), []),
        (np.array([[2], [0], [1]]), ["it is not a list of row numbers"]),
        (np.array([2.0, 0.0, 1.0]), ["it is not a list of row numbers"]),
        (np.array([2, 0]), ["it has 2 entries for 3 released rows"]),
        (np.array([2, 0, 4]), ["it points outside the 4 originals"]),
        (np.array([2, 0, -1]), ["it points outside the 4 originals"]),
        (np.array([2, 0, 3]), []),
        (np.array([2, 0, 2]), ["it points 1 times to an original that another row has"]),
        (np.array([2, 2, 2]), ["it points 2 times to an original that another row has"]),
    ],
)
def test_what_a_row_map_is(rows, said):
    found = row_map_problems(rows, 3, 4)
    assert [text.split()[:4] for text in found] == [text.split()[:4] for text in said]
    assert row_map_problems(np.array([], np.int64), 0, 0) == []
