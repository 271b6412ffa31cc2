"""Balanced groups: a bucket, in which every value has as many rows, is cut into near groups that are balanced, too.

A cut orders the rows of each value along one attribute and takes as many of the first ones of each value to one side.
Of all attributes and places the cut is taken that leaves the least: rows of each side times the range of its people.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table

Int64 = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Places:
    """Where people are: of each row of a table its place in each domain, from 0 to 1, [quasi x rows]."""

    at: Floats

    @classmethod
    def of(cls, table: Table) -> Places:
        """Look up the places of a table's rows."""
        at = np.zeros((table.n_quasi, table.n_rows))
        for m, hierarchy in enumerate(table.hierarchies):
            extent = hierarchy.pos[-1] - hierarchy.pos[0]
            if extent > 0:
                at[m] = (hierarchy.pos[table.codes[:, m]] - hierarchy.pos[0]) / extent
        return cls(at)


def cut_bucket(places: Places, rows: Int64, is_real: npt.NDArray[np.bool_], k: int) -> Iterator[Int64]:
    """Yield the groups of a bucket, as places in each row of it, [values x rows of each value].

    Parameters
    ----------
    rows
        Rows of the table, [values x rows of each value]; filler stands where some row of the bucket is.
    is_real
        Which of them are people; every group has k of them, if the bucket has.
    """
    n_values, height = rows.shape
    least = -(-k // n_values)
    stack = [np.tile(np.arange(height), (n_values, 1))]
    while stack:
        part = stack.pop()
        halves = _cut(places, rows, is_real, part, k, least) if part.shape[1] >= 2 * least else None
        if halves is None:
            yield part
        else:
            stack += halves


def _cut(
    places: Places, rows: Int64, is_real: npt.NDArray[np.bool_], part: Int64, k: int, least: int
) -> list[Int64] | None:
    """Return both sides of the best cut; ``None`` if no side would have k people in every cut."""
    height = part.shape[1]
    here = np.take_along_axis(rows, part, axis=1)
    real = np.take_along_axis(is_real, part, axis=1)
    at, n_people = places.at[:, here], int(real.sum())
    ends = np.arange(least, height - least + 1)  # rows of each value on the left side
    best, cut = np.inf, None
    for own in at:
        order = np.argsort(own, axis=1, kind="stable")
        n_left = np.cumsum(np.take_along_axis(real, order, axis=1).sum(axis=0))[ends - 1]
        allowed = (n_left >= k) & (n_people - n_left >= k)
        if not allowed.any() or own.min() == own.max():
            continue
        sorted_ = np.take_along_axis(at, order[None], axis=2)
        low, high = sorted_.min(axis=1), sorted_.max(axis=1)  # over values: [quasi x places]
        left = np.maximum.accumulate(high, axis=1) - np.minimum.accumulate(low, axis=1)
        right = (np.maximum.accumulate(high[:, ::-1], axis=1) - np.minimum.accumulate(low[:, ::-1], axis=1))[:, ::-1]
        lost = left[:, ends - 1].sum(axis=0) * ends + right[:, ends].sum(axis=0) * (height - ends)
        lost = np.where(allowed, lost, np.inf)
        place = int(lost.argmin())
        if lost[place] < best:
            best, cut = float(lost[place]), (order, int(ends[place]))
    if cut is None:
        return None
    order, end = cut
    ordered = np.take_along_axis(part, order, axis=1)
    return [ordered[:, :end], ordered[:, end:]]
