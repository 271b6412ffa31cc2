from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import HierarchyError
from incrowd.hierarchy import Intervals, Spec, from_dict
from incrowd.hierarchy.hierarchy import MISSING, OUTSIDE, require_values

DAY = dt.date(2024, 3, 5)


def codes(values):
    return np.array(values, np.int32)


def test_domain_is_read_from_the_data():
    ages = Intervals().build(pl.Series("age", [30, 21, 55, 21]))
    assert ages.leaves.to_list() == [21, 30, 55]
    assert ages.pos.tolist() == [21.0, 30.0, 55.0]
    assert (ages.type, ages.ordered, ages.has_missing, ages.n_leaves) == ("int", True, False, 3)
    assert ages.encode(pl.Series([55, 21, 22, None])).tolist() == [2, 0, OUTSIDE, OUTSIDE]
    assert ages.levels()[0].shape == (0, 3)
    assert isinstance(ages, Spec)


def test_declared_ends_widen_the_domain():
    column = pl.Series("age", [30, 21])
    assert Intervals(low=0, high=99).build(column).leaves.to_list() == [0, 21, 30, 99]
    assert Intervals(low=0.5).build(column).leaves.to_list() == [0.5, 21.0, 30.0]
    assert Intervals(high=30).build(column).leaves.to_list() == [21, 30]
    with pytest.raises(HierarchyError, match=r"'age' has 1 row outside its declared ends \[25, None\]"):
        Intervals(low=25).build(column)
    with pytest.raises(HierarchyError, match="'name' holds str values"):
        Intervals(low=25).build(pl.Series("name", ["a"]))


def test_declared_ends_and_nan():
    built = Intervals(low=0, high=9).build(pl.Series("x", [1.0, float("nan"), None]))
    assert built.leaves.to_list() == [None, 0.0, 1.0, 9.0]


def test_declared_order():
    sizes = Intervals(["low", "mid", "high"])
    assert sizes.build(pl.Series(["high", "low"])).encode(pl.Series(["high", "low", "?"])).tolist() == [2, 0, OUTSIDE]
    assert [sizes.label(0, 1), sizes.label(0, 2), sizes.label(2, 2)] == ["low|mid", "*", "high"]
    assert sizes.pos.tolist() == [0, 1, 2]
    assert not sizes.ordered


@pytest.mark.parametrize(
    ("values", "lo", "hi", "label"),
    [
        ([21, 30, 55], 0, 2, "21-55"),
        ([-5, 0, 3], 0, 1, "-5 to 0"),
        ([0.5, 1.0, 2.25], 0, 1, "0.5-1"),
        ([0.5, 1.0, 2.25], 1, 1, "1"),
        ([DAY, dt.date(2024, 4, 1)], 0, 1, "2024-03-05 to 2024-04-01"),
        ([False, True], 0, 0, "false"),
        (["a", "b", "c", "d", "e", "f"], 0, 3, "a|b|c|d"),
        (["a", "b", "c", "d", "e", "f"], 0, 4, "a to e"),
        ([None, 21, 30], 0, 0, MISSING),
        ([None, 21, 30], 0, 2, "*"),
        ([None, 21, 30], 1, 2, "21-30"),
    ],
)
def test_labels(values, lo, hi, label):
    assert Intervals(values).label(lo, hi) == label


def test_floats_that_print_alike_keep_their_own_names():
    tight = Intervals([0.3, 0.1 + 0.2])
    assert tight.label(0, 0) != tight.label(1, 1)


def test_labels_of_many():
    ages = Intervals([21, 30, 55])
    assert ages.labels(codes([0, 1, 0]), codes([1, 1, 1])).to_list() == ["21-30", "30", "21-30"]
    assert ages.labels(codes([]), codes([])).to_list() == []


@given(st.integers(1, 6), st.booleans())
def test_closure_is_the_smallest_legal_interval(n, missing):
    ages = Intervals(([None] if missing else []) + list(range(n)))
    size = ages.n_leaves
    legal = [(a, b) for a in range(size) for b in range(a, size) if not (missing and a == 0 < b < size - 1)]
    for lo in range(size):
        for hi in range(lo, size):
            smallest = min((b - a, (a, b)) for a, b in legal if a <= lo and hi <= b)[1]
            got = ages.closure(codes([lo]), codes([hi]))
            assert (got[0][0], got[1][0]) == smallest


def test_missing_is_first_and_one_step_below():
    ages = Intervals().build(pl.Series("age", [10, None, 30, 20]))
    assert ages.leaves.to_list() == [None, 10, 20, 30]
    assert ages.pos.tolist() == [0.0, 10.0, 20.0, 30.0]
    assert ages.encode(pl.Series([None, 20, 99])).tolist() == [0, 2, OUTSIDE]
    assert ages.with_missing() is ages
    assert Intervals([10, None, 30]).leaves.to_list() == [None, 10, 30]
    assert Intervals([5]).with_missing().pos.tolist() == [4.0, 5.0]


def test_nan_is_missing():
    column = pl.Series("x", [1.5, float("nan"), None, 0.5])
    built = Intervals().build(column)
    assert built.leaves.to_list() == [None, 0.5, 1.5]
    assert built.encode(column).tolist() == [2, 0, 0, 1]
    with pytest.raises(HierarchyError, match="'x' has no values: all 2 are missing"):
        require_values(pl.Series("x", [float("nan"), None]))


@pytest.mark.parametrize(
    ("domain", "column", "expected"),
    [
        ([1, 2, 3], pl.Series([1, 3], dtype=pl.UInt8), [0, 2]),
        ([1, 2, 3], pl.Series([1.0, 1.5, 3.0, float("nan"), None, 1e300]), [0, -1, 2, -1, -1, -1]),
        ([1, 2, 3], pl.Series([Decimal("2.0"), Decimal("2.5")]), [1, -1]),
        ([1, 2, 3], pl.Series(["2", "x", " 2"]), [1, -1, -1]),
        ([1, 2, 3], pl.Series([DAY]), [-1]),
        ([1, 2, 3], pl.Series([2**64 - 1, 2], dtype=pl.UInt64), [-1, 1]),
        ([0, 1], pl.Series([True, False, None]), [1, 0, -1]),
        ([0.5, 1.0], pl.Series([1, 0, None]), [1, -1, -1]),
        ([0.5, 1.0], pl.Series([0.5, 0.25], dtype=pl.Float32), [0, -1]),
        ([-(2**63), 0, 2**63 - 1], pl.Series([2**63 - 1, -(2**63), 5, 0]), [2, 0, -1, 1]),
        ([2**53, 2**53 + 1], pl.Series([2**53 + 1, 2**53]), [1, 0]),
        ([0.0, 2.0**53], pl.Series([2**53 + 1, 2**53]), [-1, 1]),
        ([False, True], pl.Series([True, None, False]), [1, -1, 0]),
        ([False, True], pl.Series(["True", "false", "yes", None]), [1, 0, -1, -1]),
        ([False, True], pl.Series([1, 0, 2]), [1, 0, -1]),
        (["b", "a"], pl.Series(["a", "b", "c", None], dtype=pl.Categorical), [1, 0, -1, -1]),
        (["b", "a"], pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])), [1, 0]),
        (["1", "2"], pl.Series([2, 3]), [1, -1]),
        ([DAY], pl.Series([DAY, dt.date(2024, 1, 1), None]), [0, -1, -1]),
        ([DAY], pl.Series([dt.datetime(2024, 3, 5, 17, 30), None]), [0, -1]),
        ([DAY], pl.Series(["2024-03-05", "2024-02-30", "no"]), [0, -1, -1]),
        ([DAY], pl.Series([19787]), [-1]),  # a number is no date, though dates are stored as numbers
        (["a"], pl.Series([None, None]), [-1, -1]),
        (["a"], pl.Series([], dtype=pl.String), []),
        ([1], pl.Series([[1]]), [-1]),
    ],
)
def test_encode(domain, column, expected):
    got = Intervals(domain).encode(column)
    assert got.tolist() == expected
    assert got.dtype == np.int32
    with_missing = Intervals(domain).with_missing().encode(column)
    is_missing = [value is None or value != value for value in column.to_list()]
    shifted = [0 if m else OUTSIDE if e == OUTSIDE else e + 1 for e, m in zip(expected, is_missing, strict=True)]
    assert with_missing.tolist() == shifted


@given(st.sets(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8), st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_encode_finds_each_number(domain, others):
    ordered = sorted(domain)
    probe = ordered + others
    expected = [ordered.index(v) if v in domain else OUTSIDE for v in probe]
    assert Intervals(ordered).encode(pl.Series(probe, dtype=pl.Int64)).tolist() == expected


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Intervals([1, 2], low=0), "both values= and low=/high="),
        (lambda: Intervals(low=3, high=2), "low=3 above high=2"),
        (lambda: Intervals([]), "empty list of values"),
        (lambda: Intervals([1, 1, 2, 2]), "2 values more than once"),
        (lambda: Intervals([2, 1]), "not in increasing order"),
        (lambda: Intervals().build(pl.Series("age", [None, None], dtype=pl.Int64)), "'age' has no values: all 2"),
        (lambda: Intervals().build(pl.Series("id", [2**64 - 1], dtype=pl.UInt64)), "'id' of type UInt64 has 1 values"),
        (lambda: Intervals().build(pl.Series("span", [dt.timedelta(1)])), "'span' of type Duration"),
    ],
)
def test_errors(make, message):
    with pytest.raises(HierarchyError) as caught:
        make()
    assert message in caught.value.fact
    assert caught.value.hint
    assert str(2**64 - 1) not in str(caught.value)


@pytest.mark.parametrize(
    "values",
    [[1, 2], [None, 1, 2], [0.5, 2.0], ["b", "a", "é"], [DAY], [None, DAY], [False, True], [-(2**63), 2**63 - 1]],
)
def test_plain_data_round_trip(values):
    before = Intervals(values)
    data = json.loads(json.dumps(before.to_dict()))
    after = from_dict(data)
    assert after == before
    assert after.leaves.equals(before.leaves)
    assert after.leaves.dtype == before.leaves.dtype
    assert hash(after) == hash(before)


def test_round_trip_of_what_is_not_built_yet():
    assert from_dict(Intervals().to_dict()).to_dict() == {"kind": "intervals"}
    assert from_dict({"kind": "intervals", "low": 0, "high": 9}).to_dict() == {"kind": "intervals", "low": 0, "high": 9}
    assert from_dict({"kind": "intervals", "values": ["a", "b"]}) == Intervals(["a", "b"])
    assert Intervals(["a", "b"]) != Intervals(["b", "a"])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"kind": "intervals", "lo": 1}, "unknown setting 'lo'"),
        ({"kind": "intervals", "type": "complex", "values": [1]}, "type 'complex'"),
        ({"kind": "intervals", "type": "int", "values": ["a"]}, "not of its type 'int'"),
        ({"kind": "intervals", "type": "int", "values": [2**70]}, "not of its type 'int'"),
        ({"kind": "intervals", "type": "date", "values": ["2024-02-30"]}, "not of its type 'date'"),
        ({"kind": "suppress", "low": 1}, "unknown setting 'low'"),
        ({"kind": "tree"}, "unknown kind 'tree'"),
        ({"kind": ["tree"]}, "unknown kind"),
        ({}, "unknown kind None"),
    ],
)
def test_wrong_plain_data(data, message):
    with pytest.raises(HierarchyError) as caught:
        from_dict(data)
    assert message in caught.value.fact
    assert caught.value.hint


def test_suppress_only_is_none():
    assert from_dict({"kind": "suppress"}) is None
