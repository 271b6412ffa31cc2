"""A row map that does not fit the memory: from the order of the release to that of the table, by way of the disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from incrowd.verify.domain import Array

ROWS_TOGETHER = 1 << 22
"""Originals that are looked up at once."""

NOBODY = -1
_SHOWN, _ROW = "", " "  # names that no column has


class Deal:
    """What the released rows show, dealt out to files by the number of their original.

    Parameters
    ----------
    folder
        Where the files go.
    rows
        The original of each released row, in pieces as they are added.
    n_input
        Number of originals.
    """

    def __init__(self, folder: Path, rows: Iterator[Array], n_input: int) -> None:
        self._folder, self._rows, self._n_input = folder, rows, n_input
        self._n_files = np.zeros(max(1, -(-n_input // ROWS_TOGETHER)), np.int64)
        self._n_added = 0
        self.problems: list[str] = []

    def add(self, shown: Array, other: pl.DataFrame) -> None:
        """Deal out the next released rows: the number of what they show, and their *other* columns."""
        rows = next(self._rows, np.empty(0, np.int64))
        if len(rows) != len(shown):
            self._note("it has another number of rows than the release")
            return
        outside = (rows < 0) | (rows >= self._n_input)
        if outside.any():
            self._note(f"it points outside the {self._n_input} originals")
            return
        bucket = rows // ROWS_TOGETHER
        order = np.argsort(bucket.astype(np.uint16 if len(self._n_files) < 1 << 16 else np.int64), kind="stable")
        ends = np.cumsum(np.bincount(bucket, minlength=len(self._n_files)))
        frame = pl.DataFrame({_SHOWN: shown[order].astype(np.int32), _ROW: rows[order]})
        frame = frame.hstack(other[order]) if other.width else frame
        start = 0
        for number, end in enumerate(ends.tolist()):
            if end > start:
                frame.slice(start, end - start).write_ipc(self._file(number, int(self._n_files[number])))
                self._n_files[number] += 1
            start = end

    def originals(self) -> Iterator[tuple[Array, Array, pl.DataFrame]]:
        """Yield, original by original, what its row shows (`NOBODY` without one), and where its *other* columns are.

        Without such columns there is no place of them.
        """
        for number in range(len(self._n_files)):
            size = min(ROWS_TOGETHER, self._n_input - number * ROWS_TOGETHER)
            files = [self._file(number, part) for part in range(int(self._n_files[number]))]
            shown, place = np.full(size, NOBODY, np.int32), np.empty(0, np.int64)
            frame = pl.DataFrame()
            if files:
                frame = pl.concat([pl.read_ipc(file.read_bytes()) for file in files])
                at = frame[_ROW].to_numpy() - number * ROWS_TOGETHER
                shown[at] = frame[_SHOWN].to_numpy()
                if np.count_nonzero(shown != NOBODY) < len(at):
                    self._note("it points to an original that another row has")
                frame = frame.drop(_SHOWN, _ROW)
                if frame.width:
                    place = np.full(size, NOBODY, np.int64)
                    place[at] = np.arange(len(at))
            for file in files:
                file.unlink()
            yield shown, place, frame

    def _note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def _file(self, bucket: int, part: int) -> Path:
        return self._folder / f"{bucket}-{part}.arrow"


class Lookup:
    """Originals in their order, in pieces of any length."""

    def __init__(self, deal: Deal) -> None:
        self._pieces = deal.originals()
        self._shown, self._place, self._frame = np.empty(0, np.int32), np.empty(0, np.int64), pl.DataFrame()

    def take(self, n: int) -> Iterator[tuple[int, Array, pl.DataFrame]]:
        """Yield for the next `n` originals, in one piece or more: how many, what they show, and *other* columns."""
        while n:
            if not len(self._shown):
                found = next(self._pieces, None)
                if found is None:
                    yield n, np.full(n, NOBODY, np.int32), pl.DataFrame()
                    return
                self._shown, self._place, self._frame = found
            size = min(n, len(self._shown))
            shown, place = self._shown[:size], self._place[:size]
            self._shown, self._place = self._shown[size:], self._place[size:]
            yield size, shown, self._frame[place[place != NOBODY]] if self._frame.width else self._frame
            n -= size
