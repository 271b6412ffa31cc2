"""Which values make somebody unique: minimal sample uniques (Elliot, Manning and Ford 2002), and what separates rows.

A *minimal sample unique* of a row is a set of columns in which no other row has its values, while in every smaller set
some other row has. Few columns are worse: they are easier to know. With n columns and sets of up to m of them, one of k
columns scores the product of (n - i) for i = k to min(m, n - 1), and a row has the sum of its scores. A column's share
is the share of all scores that sets with it have.

For every set that is looked at, *distinction* is the number of different combinations of values over the number of
rows, and *separation* the share of pairs of rows that differ in it (Motwani and Xu 2007).

Cost: one pass over the rows for every set of at most m columns. Memory: a few numbers per row, column and note.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from incrowd.errors import InputError, counted
from incrowd.kernels.uniques import divide, new_uniques, pairs_within

Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]

MOST_SETS = 200_000
_MOST_COLUMNS = 62
_MOST_NOTES = 50_000_000


@dataclass(frozen=True)
class Separation:
    """How well a set of columns tells rows apart."""

    columns: tuple[int, ...]
    distinction: float
    separation: float


@dataclass(frozen=True)
class Uniques:
    """Minimal sample uniques of a table, and what sets of columns separate.

    Attributes
    ----------
    row, columns
        One entry for each minimal sample unique: its row, and its columns as bits.
    scores
        The score of each row.
    shares
        The share of all scores that each column takes part in.
    sets
        Every set of columns that was looked at.
    """

    row: Int64
    columns: Int64
    scores: Floats
    shares: Floats
    sets: tuple[Separation, ...]


def score_of(size: int, n_columns: int, most: int) -> float:
    """Return the score of a minimal sample unique of so many columns."""
    return float(math.prod(n_columns - i for i in range(size, min(most, n_columns - 1) + 1)))


def find_uniques(codes: Sequence[Int32], most: int, progress: Progress) -> Uniques:
    """Find the minimal sample uniques of at most so many columns."""
    n, n_rows = len(codes), len(codes[0])
    most = min(most, n)
    n_sets = sum(math.comb(n, size) for size in range(1, most + 1))
    if n > _MOST_COLUMNS or n_sets > MOST_SETS:
        fact = f"There are {n_sets:,} sets of at most {counted(most, 'column')} among {n} quasi-identifiers"
        raise InputError(fact, f"look at smaller sets (largest), so that there are at most {MOST_SETS:,}")
    notes, sets = _Notes(n_rows), []
    pairs = n_rows * (n_rows - 1) // 2
    for done, (columns, groups, sizes, n_groups) in enumerate(_divided(codes, most), start=1):
        notes.add(groups, sizes, sum(1 << column for column in columns))
        apart = 1 - pairs_within(sizes, n_groups) / pairs if pairs else 1.0
        sets.append(Separation(columns, n_groups / n_rows, apart))
        progress("sets of columns", done, n_sets)
    row, masks = notes.found()
    return Uniques(row, masks, *_scores(row, masks, n_rows, n, most), tuple(sets))


def _scores(row: Int64, masks: Int64, n_rows: int, n: int, most: int) -> tuple[Floats, Floats]:
    """Return the score of each row, and the share of each column in all of them."""
    by_size = np.array([0.0, *(score_of(size, n, most) for size in range(1, most + 1))])
    has = (masks[:, None] >> np.arange(n)) & 1
    score = by_size[has.sum(axis=1)]
    total = score.sum()
    shares = (has * score[:, None]).sum(axis=0) / total if total else np.zeros(n)
    return np.asarray(np.bincount(row, score, n_rows)), np.asarray(shares, np.float64)


def _divided(codes: Sequence[Int32], most: int) -> Iterator[tuple[tuple[int, ...], Int64, Int64, int]]:
    """Yield sets of columns, smaller ones first, with the group of each row, and the sizes of groups.

    Neighbouring sets begin alike, and what they begin with is not divided again.
    """
    n_rows = len(codes[0])
    slots, numbers = np.empty((2, 1 << max(2, (2 * n_rows).bit_length())), np.int64)
    n_codes = [int(column.max()) + 1 for column in codes]
    groups = [np.zeros(n_rows, np.int64), *(np.empty(n_rows, np.int64) for _ in range(most))]
    sizes, n_groups = np.empty(n_rows, np.int64), 1
    for size in range(1, most + 1):
        before: tuple[int, ...] = ()
        for columns in combinations(range(len(codes)), size):
            same = next((i for i, (a, b) in enumerate(zip(before, columns, strict=False)) if a != b), 0)
            for depth in range(same, size):
                slots.fill(-1)
                column = columns[depth]
                n_groups = divide(
                    groups[depth], codes[column], n_codes[column], slots, numbers, sizes, groups[depth + 1]
                )
            before = columns
            yield columns, groups[size], sizes, n_groups


class _Notes:
    """Notes of minimal sample uniques, by row."""

    def __init__(self, n_rows: int) -> None:
        self._last = np.full(n_rows, -1, np.int64)
        self._room = np.empty((3, 4 * n_rows), np.int64)  # row, columns and the row's note before
        self._n = 0

    def add(self, groups: Int64, sizes: Int64, columns: int) -> None:
        """Note the rows that are alone by these columns and not by fewer of them."""
        if self._n + len(groups) > self._room.shape[1]:
            if 2 * self._room.shape[1] > _MOST_NOTES:
                fact = f"There are more than {_MOST_NOTES // 2:,} minimal sample uniques"
                raise InputError(fact, "look at smaller sets of columns (largest)")
            self._room = np.hstack([self._room, np.empty_like(self._room)])
        owners, masks, before = self._room
        self._n = new_uniques(groups, sizes, columns, self._last, owners, masks, before, self._n)

    def found(self) -> tuple[Int64, Int64]:
        """Return row and columns of each note, by rows."""
        row, masks, _ = self._room[:, : self._n]
        order = np.argsort(row, kind="stable")
        return row[order], masks[order]
