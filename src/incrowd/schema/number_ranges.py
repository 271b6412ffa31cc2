"""Ranges for sensitive numbers: as many people in each, beginning at round numbers."""

from __future__ import annotations

from math import floor, log10

import polars as pl

_MANY = 20  # different numbers, above which ranges are proposed
_PARTS = 5


def propose_ranges(column: pl.Series, n_parts: int = _PARTS) -> list[int]:
    """Return where ranges of about equally many people begin, rounded to two digits; nothing where that makes no two.

    The first begins at zero, or at a power of ten below, so that it does not tell the least number.

    >>> propose_ranges(pl.Series(range(1000, 9000)))
    [0, 2600, 4200, 5800, 7400]
    """
    known = column.drop_nulls()
    if (
        not (column.dtype.is_integer() or column.dtype.is_float())
        or known.n_unique() <= _MANY
        or not known.is_finite().all()
    ):
        return []
    least = float(known.min())  # type: ignore[arg-type]
    first = 0 if least >= 0 else -(10 ** (floor(log10(-least)) + 1))
    ends = [known.quantile(part / n_parts, "lower") for part in range(1, n_parts)]
    starts = [first, *(_rounded(float(end)) for end in ends if end is not None)]
    found = [start for at, start in enumerate(starts) if at == 0 or start > max(starts[:at])]
    return found if len(found) > 1 else []


def _rounded(number: float) -> int:
    digits = 0 if abs(number) < 1 else 1 - floor(log10(abs(number)))
    return int(round(number, min(digits, 0)))
