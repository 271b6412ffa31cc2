"""Cuts between the values of a column: there is one for each pair of neighbours, so its digits have nothing to tell.

>>> roundest(17, 18, "int"), roundest(19, 60, "int"), roundest(0.26, 0.31, "float"), roundest(0, 800, "date")
(17.5, 20, 0.3, '1972-01-01')
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any

import numpy as np

from incrowd.verify.domain import Array

_HALVES = 2**52  # from here on, a float cannot be half a number
_MOST_DIGITS = 17
_LARGEST_STEP = 10**20


def wrong_cuts(cuts: tuple[Any, ...], values: Array, kind: str) -> int:
    """Count the cuts that are not the roundest between their neighbours among increasing values (days for dates)."""
    marks = np.array(cuts, "datetime64[D]").astype(np.int64) if kind == "date" else cuts
    wrong = 0
    known = values.tolist()
    for mark, cut in zip(marks, cuts, strict=True):
        above = int(np.searchsorted(values, mark, side="right"))
        beside = 0 < above < len(known)
        told = roundest(known[above - 1], known[above], kind) if beside else None
        wrong += type(told) is not type(cut) or told != cut
    return wrong


def roundest(low: Any, high: Any, kind: str) -> float | int | str | None:  # noqa: ANN401 - numbers of the kind
    """Return the roundest number or day between two neighbours, both excluded; ``None`` if there is none."""
    if kind == "date":
        return _roundest_day(low, high)
    if kind == "int":
        return _roundest_whole(low, high)
    middle = Decimal(low / 2 + high / 2)
    for digits in range(1, _MOST_DIGITS + 1):
        cut = float(Context(prec=digits).plus(middle))
        if low < cut < high:
            return cut
    return None


def _roundest_whole(low: int, high: int) -> float | int | None:
    if high == low + 1:
        return low + 0.5 if abs(low) < _HALVES else None
    step = _LARGEST_STEP
    while low - low % step + step >= high:
        step //= 10
    return low - low % step + step


def _roundest_day(low: int, high: int) -> str | None:
    if high == low + 1:
        return None
    first, last = np.datetime64(low + 1, "D"), np.datetime64(high - 1, "D")
    for begins in (last.astype("datetime64[Y]"), last.astype("datetime64[M]")):
        if first <= begins.astype("datetime64[D]"):
            return str(begins.astype("datetime64[D]"))
    return str(np.datetime64((low + high) // 2, "D"))
