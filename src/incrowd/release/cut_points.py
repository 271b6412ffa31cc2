"""Cut points that are no values of the table: they part ranges that at least k rows share, and name nobody.

How many rows a range needs is drawn by chance, from k up to 2k - 1. With a fixed number, the cuts of a table that lacks
one person would be the same up to that person and others from there on: two releases would tell where the person was.

>>> cut_points([17, 18, 19, 60, 90], [9, 1, 9, 5, 4], least=5, kind="int")
[17.5, 20]
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np

_HALVES = 2**52  # below it, a number between two neighbouring whole numbers can be written as a float
_EPOCH = date(1970, 1, 1).toordinal()


def cut_points(
    values: Sequence[Any], counts: Sequence[int], *, least: int, kind: str, rng: np.random.Generator | None = None
) -> list[Any]:
    """Return cuts between increasing values, so that at least `least` rows lie between any two of them.

    Parameters
    ----------
    values
        Distinct numbers, or days since 1970 for dates.
    counts
        Rows that have each of them.
    least
        Smallest number of rows of a range.
    kind
        ``int``, ``float`` or ``date``; cuts of dates are ISO texts.
    rng
        Draws how many rows each range needs; without it, that is `least`.
    """
    cuts, inside, left, needed = [], 0, sum(counts), draw_size(least, rng)
    for value, following, count in zip(values, values[1:], counts, strict=False):
        inside, left = inside + count, left - count
        if left < least:
            break
        if inside >= needed and (cut := between(value, following, kind)) is not None:
            cuts.append(cut)
            inside, needed = 0, draw_size(least, rng)
    return cuts


def draw_size(least: int, rng: np.random.Generator | None) -> int:
    """Return how many rows a range needs."""
    return least if rng is None else least + int(rng.integers(least))


def between(low: Any, high: Any, kind: str) -> Any:  # noqa: ANN401
    """Return the roundest number or day strictly between two; ``None`` if there is none."""
    if kind == "date":
        return _day_between(low, high)
    if kind == "int":
        return _whole_between(low, high)
    middle = low / 2 + high / 2
    for digits in range(1, 18):
        cut = float(f"{middle:.{digits}g}")
        if low < cut < high:
            return cut
    return None


def _whole_between(low: int, high: int) -> float | int | None:
    if high - low < 2:
        return low + 0.5 if abs(low) < _HALVES else None
    step = 10 ** len(str(high - low))
    while step:
        cut: int = (low // step + 1) * step
        if low < cut < high:
            return cut
        step //= 10
    return low + 1


def _day_between(low: int, high: int) -> str | None:
    if high - low < 2:
        return None
    first, last = date.fromordinal(low + 1 + _EPOCH), date.fromordinal(high - 1 + _EPOCH)
    for found in (date(last.year, 1, 1), date(last.year, last.month, 1)):
        if first <= found:
            return found.isoformat()
    return date.fromordinal((low + high) // 2 + _EPOCH).isoformat()


def starts_of(cuts: Sequence[Any], kind: str) -> list[Any]:
    """Return the smallest value that lies after each cut: whole numbers and days start at the next one."""
    if kind == "date":
        return [date.fromisoformat(cut).toordinal() - _EPOCH for cut in cuts]
    if kind == "int":
        return [-((-cut) // 1) if isinstance(cut, int) else int(-((-cut) // 1)) for cut in cuts]
    return [float(cut) for cut in cuts]
