"""Columns that tell each other: in two projections they would link the rows, and one beside a role would undo it.

Two columns are copies if they hold the same values, or the same values by other names: each value of one goes with one
value of the other. Where nearly every row has a value of its own any two columns do that; then numbers and dates are
copies if one rises, or falls, whenever the other does, because sorting both puts the rows together. In few rows, and
for two values of which one is rare, that may be chance, and only equal values count.

What is not seen: columns that tell each other nearly, or one way only (a town follows from its zip code).

>>> import polars as pl
>>> sex, gender = pl.Series(["m", "f"] * 30), pl.Series([1, 2] * 30)
>>> pay, tax = pl.Series(range(60)), pl.Series(range(60)) * 0.3
>>> is_recoding_of(sex, gender), is_recoding_of(pay, tax), is_recoding_of(pay, tax.shuffle(seed=1))
(True, True, False)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

_SOME_ROWS, _MANY_ROWS = 10, 20  # from which two columns are hardly equal, or one to one, by chance
_MANY_ORDERS = 14.0  # logarithm: columns of two values are one to one by chance once in so many


def without_copies(able: Sequence[int], shown: Sequence[pl.Series]) -> list[int]:
    """Keep of columns that tell each other the first."""
    kept: list[int] = []
    alike: dict[int, list[int]] = {}  # only columns with as many values can
    for i in able:
        rivals = alike.setdefault(shown[i].n_unique(), [])
        if not any(is_recoding_of(shown[i], shown[j]) for j in rivals):
            rivals.append(i)
            kept.append(i)
    return kept


def is_recoding_of(column: pl.Series, other: pl.Series) -> bool:
    """Tell whether a column is another one, as it is or by other names; in few rows that is chance."""
    n = other.n_unique()
    if len(other) < _SOME_ROWS or n < 2 or column.n_unique() != n:
        return False
    if column.equals(other) if column.dtype == other.dtype else _as_text(column).equals(_as_text(other)):
        return True
    if n > len(other) // 2:  # any two are one to one: who knows that one follows the other sorts both
        return _rises_with(column, other)
    if len(other) < _MANY_ROWS or (n == 2 and _log_orders(other) < _MANY_ORDERS):
        return False
    return pl.DataFrame([column.alias("a"), other.alias("b")]).n_unique() == n


def _as_text(column: pl.Series) -> pl.Series:
    """Write values as text, whole floats as integers: the same values may be read as different types."""
    if column.dtype.is_float():
        whole = column.cast(pl.Int64(), strict=False)
        column = whole if (whole == column).all() else column
    return column.cast(pl.String(), strict=False).alias("")


def _rises_with(column: pl.Series, other: pl.Series) -> bool:
    """Tell whether a number or a date rises, or falls, whenever another one does."""
    if not all(own.dtype.is_numeric() or own.dtype.is_temporal() for own in (column, other)):
        return False
    ranks = other.rank("dense")
    return any(column.rank("dense", descending=down).eq_missing(ranks).all() for down in (False, True))


def _log_orders(column: pl.Series) -> float:
    """Return the logarithm of the number of orders in which a column's values can stand."""
    counts = column.value_counts(name="n_rows")["n_rows"].to_list()
    return math.lgamma(len(column) + 1) - sum(math.lgamma(count + 1) for count in counts)
