"""Thresholds that a tree shows part the values that it parts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.learn.tree_views import _between

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(FLOATS, FLOATS)
def test_the_lower_value_is_below_and_the_upper_one_above(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    if low < high:
        assert low <= float(_between(low, high)) < high
    above = math.nextafter(low, math.inf)
    assert low <= float(_between(low, above)) < above


@pytest.mark.parametrize(
    ("low", "high", "shown"), [(1, 2, "1.5"), (30, 31, "30.5"), (1234567, 1234568, "1234567.5"), (-1e308, 1e308, "0")]
)
def test_no_more_digits_than_needed(low: float, high: float, shown: str) -> None:
    assert _between(low, high) == shown
