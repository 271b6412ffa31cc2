"""Rows in the order of a release, brought there by way of the disk: equal ones in a secret random order.

Rows are dealt out to files by where they will stand, and each file is brought in order by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.engines.choosing import LEFT_OUT, Shown
from incrowd.errors import InputError
from incrowd.release.rows import without_negative_zero

Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]

SHOWN, ROW = "", " "  # names that no column has


@dataclass
class Deal:
    """Rows dealt out to files by where they will stand.

    Attributes
    ----------
    other
        The columns that are published as they are: within a cell rows are sorted by them.
    most
        Rows that fit the memory at once.
    """

    folder: Path
    shown: Shown
    other: Sequence[str]
    most: int

    def __post_init__(self) -> None:
        self._bucket_of = self._buckets()
        self._n_buckets = int(self._bucket_of[-1]) + 1
        self._n_files = np.zeros(self._n_buckets, np.int64)
        self._first = 0

    def _buckets(self) -> Int32:
        """Return the file of each distinct published row: neighbours together, whole cells where rows are sorted."""
        shown = self.shown
        unit = shown.cell if self.other else np.arange(len(shown.counts), dtype=np.int32)
        starts = np.flatnonzero(np.diff(unit, prepend=-1))
        sizes = np.add.reduceat(shown.counts, starts)
        if self.other and sizes.max() > self.most:
            fact = f"A group has {sizes.max()} rows with columns that are published as they are, and {self.most} fit"
            raise InputError(fact, "allow more with memory=..., or use a smaller k")
        bucket, filled = np.empty(len(sizes), np.int32), 0
        number = 0
        for at, size in enumerate(sizes.tolist()):
            if filled and filled + size > self.most:
                number, filled = number + 1, 0
            bucket[at] = number
            filled += size
        return bucket[np.repeat(np.arange(len(starts)), np.diff(starts, append=len(unit)))]

    def add(self, distinct: Int32, other: pl.DataFrame) -> None:
        """Deal out the next rows of the table, by the number of their distinct row."""
        shown = self.shown.of_distinct[distinct]
        rows = np.arange(self._first, self._first + len(distinct), dtype=np.int64)
        self._first += len(distinct)
        kept = np.flatnonzero(shown != LEFT_OUT)
        if self._n_buckets == 1 and not self.other:
            whole = len(kept) == len(shown)
            self._write(0, pl.DataFrame({SHOWN: shown if whole else shown[kept], ROW: rows if whole else rows[kept]}))
            return
        bucket = self._bucket_of[shown[kept]].astype(np.uint16 if self._n_buckets < 1 << 16 else np.int32)
        order = kept[np.argsort(bucket, kind="stable")]
        ends = np.cumsum(np.bincount(bucket, minlength=self._n_buckets))
        frame = pl.DataFrame({SHOWN: shown[order], ROW: rows[order]})
        if self.other:
            frame = frame.hstack([without_negative_zero(column) for column in other[order]])
        start = 0
        for number, end in enumerate(ends.tolist()):
            if end > start:
                self._write(number, frame.slice(start, end - start))
            start = end

    def _write(self, bucket: int, frame: pl.DataFrame) -> None:
        frame.write_ipc(self._file(bucket, int(self._n_files[bucket])))
        self._n_files[bucket] += 1

    def in_order(self, rng: np.random.Generator) -> Iterator[pl.DataFrame]:
        """Yield all rows in the order of the release: what they show, their number in the table, other columns."""
        for number in range(self._n_buckets):
            files = [self._file(number, part) for part in range(int(self._n_files[number]))]
            frame = pl.concat([pl.read_ipc(file.read_bytes()) for file in files])
            for file in files:
                file.unlink()
            yield frame[order_of(frame, self.shown.cell, self.other, rng)]

    def _file(self, bucket: int, part: int) -> Path:
        return self.folder / f"{bucket}-{part}.arrow"


def order_of(frame: pl.DataFrame, cell: Int32, other: Sequence[str], rng: np.random.Generator) -> Int64:
    """Return the order that rows have in a release, equal ones at random.

    Parameters
    ----------
    frame
        Of each row what it shows, and its *other* columns.
    cell
        The number of the cell of what is shown.
    """
    shuffled = rng.permutation(frame.height)
    shown = frame[SHOWN].to_numpy()[shuffled]
    if not other:
        return shuffled[_stable_order(shown - shown.min(initial=0))]
    first = pl.Series("cell", cell[shown])
    keys = [first, *frame.select(other)[shuffled].get_columns(), pl.Series("shown", shown)]
    named = pl.DataFrame([key.alias(str(place)) for place, key in enumerate(keys)]).with_row_index(ROW)
    by = [str(place) for place in range(len(keys))]
    return np.asarray(shuffled[named.sort(by, maintain_order=True, nulls_last=False)[ROW].to_numpy()])


def _stable_order(numbers: Int32) -> Int64:
    """Return the order that sorts numbers from 0; equal ones stay as they stand. Numbers of 16 bits sort fastest."""
    order = np.argsort((numbers & 0xFFFF).astype(np.uint16), kind="stable")
    if len(numbers) and int(numbers.max()) >> 16:
        order = order[np.argsort((numbers[order] >> 16).astype(np.uint16), kind="stable")]
    return order
