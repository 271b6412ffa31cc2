"""The files of a Parquet dataset that is a release: parts of equal length, and the manifest beside them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import io
from incrowd.engines.choosing import Shown
from incrowd.release.folder import write_private

PART_ROWS = io.PART_ROWS


class Parts:
    """Writes rows as they come into parts of equal length."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, 0
        self._waiting: list[pl.DataFrame] = []
        self._n_waiting = 0

    def write(self, rows: pl.DataFrame) -> None:
        """Take the next rows of the release."""
        self._waiting.append(rows)
        self._n_waiting += rows.height
        while self._n_waiting >= PART_ROWS:
            self._write_part()

    def close(self) -> None:
        """Write what is left; an empty release has one empty part."""
        if self._n_waiting or not self._number:
            self._write_part()

    def _write_part(self) -> None:
        rows = pl.concat(self._waiting)
        io.write_canonical_parquet(rows.head(PART_ROWS), self._folder / io.part_name(self._number))
        self._number += 1
        self._waiting = [rows.slice(PART_ROWS)]
        self._n_waiting = self._waiting[0].height


def finish_folders(shown: Shown, folder: Path, secret: Path, maps: Sequence[Path]) -> None:
    """Join the pieces of the row map, and write all but the parts, which are there already."""
    pl.scan_parquet(list(maps), glob=False).sink_parquet(secret / "rows.parquet", maintain_order=True)
    for file in maps:
        file.unlink()
    first = pl.read_parquet(folder / io.part_name(0), n_rows=0)
    cover = io.Cover.of(shown.release.manifest.to_dict(), {"release": first}, str)
    (folder / io.DATASET_COVER).write_text(cover.to_json(), encoding="utf-8")
    write_private(shown.release, folder, secret)


@contextmanager
def spill_folder(secret: Path) -> Iterator[Path]:
    """Yield a folder for what does not fit the memory; it lies in the staging folder, which only the owner can open."""
    folder = secret.with_name(f"{secret.name}.spill")
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def repeated(shown: Shown) -> Iterator[pl.DataFrame]:
    """Yield the rows of a release without *other* columns, a part at a time: each distinct one as often as it is."""
    ends = np.cumsum(shown.counts)
    for start in range(0, int(ends[-1]), PART_ROWS):
        stop = min(start + PART_ROWS, int(ends[-1]))
        first, last = np.searchsorted(ends, [start, stop - 1], side="right")
        times = np.diff(np.concatenate([[start], ends[first:last], [stop]]))
        yield _repeat(shown.rows[first : last + 1], times)


def _repeat(rows: pl.DataFrame, times: npt.NDArray[np.int64]) -> pl.DataFrame:
    """Return each row so many times; numbers by NumPy, in half the time."""
    place = pl.Series(np.repeat(np.arange(len(times), dtype=np.uint32), times))

    def repeated(column: pl.Series) -> pl.Series:
        if column.dtype.is_integer() and not column.null_count():
            return pl.Series(column.name, np.repeat(column.to_numpy(), times), dtype=column.dtype)
        return column.gather(place)

    return pl.DataFrame([repeated(column) for column in rows])


def with_others(rows: pl.DataFrame, other: pl.DataFrame, n_secrets: int) -> pl.DataFrame:
    """Put *other* columns where they belong: before the sensitive ones, which are the last."""
    columns = rows.get_columns()
    at = len(columns) - n_secrets
    return pl.DataFrame([*columns[:at], *other.get_columns(), *columns[at:]])
