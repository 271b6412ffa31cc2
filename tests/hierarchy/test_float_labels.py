"""Labels of floats say exactly what they mean: a value lies inside the range that its own label writes."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.hierarchy import Intervals
from incrowd.hierarchy.hierarchy import text

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (3.0, "3"), (-3.0, "-3"), (0.1, "0.1"), (0.1 + 0.2, "0.30000000000000004"), (-0.0, "0"), (1e-07, "1e-07"),
        (1e15, "1000000000000000"), (1e16, "1e+16"), (123456789.123456789, "123456789.12345679"), (100.0, "100"),
    ],
)  # fmt: skip
def test_one_value(value: float, label: str) -> None:
    assert text(pl.Series([value, None])) == [label, "(missing)"]


@given(st.lists(FLOATS, min_size=1, unique=True), st.data())
def test_every_value_lies_inside_its_label(values: list[float], data: st.DataObject) -> None:
    hierarchy = Intervals().build(pl.Series("v", values))
    leaves = hierarchy.leaves.to_list()
    lo = data.draw(st.integers(0, len(leaves) - 1))
    hi = data.draw(st.integers(lo, len(leaves) - 1))
    first, last = read(hierarchy.label(lo, hi))
    assert all(first <= value <= last for value in leaves[lo : hi + 1])
    assert (first, last) == (leaves[lo], leaves[hi])


def read(label: str) -> tuple[float, float]:
    """Read a range as a reader would: the one place where it can be cut into two numbers."""
    found = {(float(label), float(label))} if is_number(label) else set()
    for mark in ("-", " to "):
        parts = label.split(mark)
        for at in range(1, len(parts)):
            first, last = mark.join(parts[:at]), mark.join(parts[at:])
            if is_number(first) and is_number(last) and float(first) < float(last):
                found.add((float(first), float(last)))
    (only,) = found
    return only


def is_number(written: str) -> bool:
    try:
        return math.isfinite(float(written))
    except ValueError:
        return False
