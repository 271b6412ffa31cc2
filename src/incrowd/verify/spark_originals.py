"""Originals on Spark, every row with its number: of files in the order of their rows, of a frame by its partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from incrowd import io

Watch = Callable[[str, Callable[[], Any]], Any]
_IN_PARTITION = (1 << 33) - 1  # the low bits of monotonically_increasing_id count the rows of a partition
_HEAD = 1000
_SLICE = 1 << 20  # rows of a file that a worker reads at once


class Numbered(Protocol):
    """A table on Spark whose rows have numbers."""

    columns: tuple[str, ...]
    batches: io.Batches | None

    def count(self, watch: Watch) -> int:
        """Return the number of rows."""

    def head(self) -> pl.DataFrame:
        """Return the first rows."""

    def frame(self, columns: Sequence[str]) -> tuple[Any, list[str]]:
        """Return a Spark frame with the number of each row and columns; and what these are called in it."""

    def values(self, found: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns of that frame, as polars got them, with their own names."""


def open_numbered(original: Any, session: Any, reading: io.Reading) -> Numbered:  # noqa: ANN401
    """Open a frame of Spark, or Parquet or text files that all workers reach."""
    if isinstance(original, str | Path):
        return OfFiles(original, session, reading)
    return OfFrame(original, session)


class OfFrame:
    """A frame of Spark."""

    def __init__(self, frame: Any, session: Any) -> None:  # noqa: ANN401
        self.columns = tuple(frame.columns)
        self.batches: io.Batches | None = None
        self._frame = frame.toDF(*(f"c{m}" for m in range(len(self.columns))))
        self._session = session
        self._first: dict[int, int] = {}

    def count(self, watch: Watch) -> int:
        """Return the number of rows, and learn how many each partition has."""
        from pyspark.sql import functions as F  # noqa: PLC0415, N812

        each = self._frame.groupBy(F.spark_partition_id().alias("partition")).count()
        sizes = watch("counting originals", lambda: dict(map(tuple, each.collect())))
        total = 0
        for partition in sorted(sizes):
            self._first[partition] = total
            total += sizes[partition]
        return total

    def head(self) -> pl.DataFrame:
        """Return some rows."""
        return self._polars(io.from_record_batches([self._frame.limit(_HEAD).toArrow()]), list(self.columns))

    def frame(self, columns: Sequence[str]) -> tuple[Any, list[str]]:
        """Return the number of each row, and columns."""
        from pyspark.sql import functions as F  # noqa: PLC0415, N812

        names = [f"c{self.columns.index(name)}" for name in columns]
        known = ", ".join(f"({partition}, {first}L)" for partition, first in self._first.items()) or "(0, 0L)"
        firsts = self._session.sql(f"SELECT * FROM VALUES {known} AS numbered (partition, first)")
        numbered = self._frame.select(
            *names, F.spark_partition_id().alias("partition"), F.monotonically_increasing_id().alias("id")
        )
        row = (F.col("first") + F.col("id").bitwiseAND(_IN_PARTITION)).alias("row")
        return numbered.join(F.broadcast(firsts), "partition").select(row, *names), names

    def values(self, found: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns with their own names."""
        return self._polars(found.select(f"c{self.columns.index(name)}" for name in columns), columns)

    def _polars(self, found: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
        return io.to_polars(found.rename(dict(zip(found.columns, columns, strict=True))))

    def __getstate__(self) -> dict[str, Any]:
        return {"columns": self.columns}


class OfFiles:
    """Files that all workers reach."""

    def __init__(self, original: str | Path, session: Any, reading: io.Reading) -> None:  # noqa: ANN401
        self.batches: io.Batches | None = io.open_batches(original, reading)
        self.columns = self.batches.columns
        self._is_text = self.batches.is_text
        self._session, self._reading = session, reading
        self._files = [file.resolve() for file in io.files_in_parts(original)]
        self._heights: list[int] = []
        self._dtypes = dict(self.head().schema)

    def count(self, watch: Watch) -> int:
        """Return the number of rows, and learn how many each file has."""
        if self._is_text:
            sizes = _Sizes(self._files, self._reading)
            each = self._session.range(0, len(self._files), 1, len(self._files)).mapInArrow(sizes, "file long, n long")
            found = watch("counting originals", lambda: dict(map(tuple, each.collect())))
            self._heights = [found[number] for number in range(len(self._files))]
        else:
            self._heights = [io.count_rows(file) for file in self._files]
        return sum(self._heights)

    def head(self) -> pl.DataFrame:
        """Return the first rows."""
        if self._is_text:
            assert self.batches is not None
            return next(iter(self.batches.iterate(self.columns))).head(_HEAD)
        some = next((file for file in self._files if io.count_rows(file)), self._files[0])
        return io.read_slice(some, self.columns, self._reading, 0, _HEAD)

    def frame(self, columns: Sequence[str]) -> tuple[Any, list[str]]:
        """Return the number of each row, and columns."""
        names = [f"c{self.columns.index(name)}" for name in columns]
        first, slices = 0, list[_Slice]()
        for file, height in zip(self._files, self._heights, strict=True):
            for start in range(0, height, height if self._is_text else _SLICE):
                slices.append(_Slice(file, first + start, start, None if self._is_text else _SLICE))
            first += height
        texts = ["string" if self._dtypes[name] == pl.String else "long" for name in columns]
        schema = ", ".join(["row long", *map(" ".join, zip(names, texts, strict=True))])
        read = _Read(slices, list(columns), names, self._reading)
        return self._session.range(0, len(slices), 1, len(slices)).mapInArrow(read, schema), names

    def values(self, found: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns with their own names."""
        own = {name: found[f"c{self.columns.index(name)}"] for name in columns}
        return pl.DataFrame([io.from_bits(bits, self._dtypes[name]).alias(name) for name, bits in own.items()])

    def __getstate__(self) -> dict[str, Any]:
        return {"columns": self.columns, "_dtypes": self._dtypes}


@dataclass(frozen=True)
class _Slice:
    """Some rows of a file, all of them if `n` is none; `row` is the number of the first."""

    file: Path
    row: int
    start: int
    n: int | None


@dataclass(frozen=True)
class _Sizes:
    """From numbers of text files to how many rows each has."""

    files: Sequence[Path]
    reading: io.Reading

    def __call__(self, arrived: Iterator[Any]) -> Iterator[Any]:
        for batch in arrived:
            for number in batch.column(0).to_pylist():
                batches = io.open_batches(self.files[number], self.reading)
                n = sum(rows.height for rows in batches.iterate(batches.columns[:1]))
                yield from io.to_record_batches(pl.DataFrame({"file": [number], "n": [n]}))


@dataclass(frozen=True)
class _Read:
    """From numbers of slices to their rows."""

    slices: Sequence[_Slice]
    columns: Sequence[str]
    names: Sequence[str]
    reading: io.Reading

    def __call__(self, arrived: Iterator[Any]) -> Iterator[Any]:
        for batch in arrived:
            for number in batch.column(0).to_pylist():
                piece = self.slices[number]
                row = piece.row
                for rows in self._batches(piece):
                    own = [io.plain_bits(rows[n]).alias(c) for n, c in zip(self.columns, self.names, strict=True)]
                    numbers = pl.int_range(row, row + rows.height, dtype=pl.Int64(), eager=True).alias("row")
                    yield from io.to_record_batches(pl.DataFrame([numbers, *own]))
                    row += rows.height

    def _batches(self, piece: _Slice) -> Iterator[pl.DataFrame]:
        if piece.n is not None:
            yield io.read_slice(piece.file, self.columns, self.reading, piece.start, piece.n)
        else:
            yield from io.open_batches(piece.file, self.reading).iterate(self.columns)
