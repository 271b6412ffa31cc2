"""Tables that Spark reads: in splits, each a few batches of rows, with a number for every row.

Rows are numbered in the order of splits. A table in files is split by our own reader, so that values, types and the
numbers of rows are those of the other engines; of a frame of Spark every partition is a split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from incrowd import io
from incrowd.engines.spark_rows import HashColumns, HashRows
from incrowd.engines.spark_session import explained
from incrowd.errors import InputError

SPLIT_ROWS = 1 << 20
"""Rows of a split of a Parquet file: a worker has them in memory at once."""

Work: TypeAlias = Callable[[int, Iterator[pl.DataFrame]], Iterator[pl.DataFrame]]
"""What is done with a split: from its number and its batches to frames of texts and 64-bit numbers."""
Typed: TypeAlias = Mapping[str, tuple[pl.Series, pl.Series]]


@dataclass(frozen=True)
class Split:
    """Some rows of a file: all of them if `n` is none."""

    file: Path
    start: int = 0
    n: int | None = None


@dataclass(frozen=True)
class SparkTable:
    """A table.

    Attributes
    ----------
    session
        The Spark session.
    columns
        Names of all columns.
    where
        What it is called in messages.
    batches
        The same table as other engines read it; ``None`` of a frame of Spark.
    splits
        Its splits; ``None`` of a frame, whose partitions they are.
    frame
        The frame.
    typed
        What texts of a file without types stand for, once that is known.
    """

    session: Any
    columns: tuple[str, ...]
    where: str
    batches: io.Batches | None
    reading: io.Reading
    splits: tuple[Split, ...] | None = None
    frame: Any = None
    typed: Typed | None = None

    @property
    def is_text(self) -> bool:
        """Whether values are texts whose types are not known yet."""
        return self.batches is not None and self.batches.is_text

    @property
    def n_splits(self) -> int:
        """Number of splits."""
        return len(self.splits) if self.splits is not None else int(self.frame.rdd.getNumPartitions())

    def dtypes(self, columns: Sequence[str]) -> dict[str, pl.DataType]:
        """Return the types of columns."""
        if self.batches is not None:
            first = next(iter(self.batches.iterate(columns)), None)
            if first is None:
                raise _empty(self.where)
            return dict(first.schema)
        head = io.to_polars(io.from_record_batches([self._plain(columns).limit(0).toArrow()]))
        return dict(zip(columns, head.dtypes, strict=True))

    def map(self, work: Work, columns: Sequence[str], schema: str) -> Any:  # noqa: ANN401
        """Return a Spark frame of what some work makes of some columns of each split."""
        if self.splits is None:
            return self._plain(columns).mapInArrow(_OnPartition(work, list(columns)), schema)
        numbers = self.session.range(0, len(self.splits), 1, len(self.splits))
        return numbers.mapInArrow(_OnSplits(work, list(columns), self.splits, self.reading, self.typed), schema)

    def hashed(self) -> Any:  # noqa: ANN401
        """Return a Spark frame of the place and the fingerprint of each column, over all rows in order."""
        schema = "place long, digest string"
        if self.splits is None:
            return replace(self, frame=self.frame.coalesce(1)).map(HashRows(), self.columns, schema)
        numbers = self.session.range(0, len(self.columns), 1, len(self.columns))
        batches = _Column(self.splits, self.reading, self.typed)
        return numbers.mapInArrow(HashColumns(self.columns, batches), schema)

    def settled(self, texts: Mapping[str, pl.Series]) -> SparkTable:
        """Return the table with types, from all distinct texts of columns; see `Batches.settled`."""
        if self.batches is None or not self.batches.is_text:
            return self
        batches, typed = self.batches.settled(texts, io.Findings())
        return replace(self, batches=batches, typed={name: (texts[name], typed[name]) for name in texts})

    def _plain(self, columns: Sequence[str]) -> Any:  # noqa: ANN401
        """Return columns of the frame by place: the names of Spark are not as free as ours."""
        places = [f"c{self.columns.index(name)}" for name in columns]
        return self.frame.toDF(*(f"c{m}" for m in range(len(self.columns)))).select(*places)


@contextmanager
def opened(source: Any, session: Any, reading: io.Reading, findings: io.Findings | None) -> Iterator[SparkTable]:  # noqa: ANN401
    """Open a table, and keep a frame whose rows would come in another order when they are asked for again."""
    table = _open(source, session, reading, findings)
    moved = table.frame is not None and _is_moved(table.frame)
    if moved:
        if findings is not None:
            findings.note("The rows of this frame have no fixed order: to check the release later, publish from files")
        table.frame.persist()
    try:
        yield table
    finally:
        if moved:
            table.frame.unpersist()


def _is_moved(frame: Any) -> bool:  # noqa: ANN401
    """Tell whether rows of a frame come from other workers each time, so that their order changes."""
    is_kept = frame.storageLevel.useMemory or frame.storageLevel.useDisk
    return not is_kept and "Exchange" in frame._jdf.queryExecution().executedPlan().toString()


def _open(source: Any, session: Any, reading: io.Reading, findings: io.Findings | None) -> SparkTable:  # noqa: ANN401
    try:
        return open_table(source, session, reading, findings)
    except Exception as error:
        problem = explained(error)
    raise problem


def open_table(source: Any, session: Any, reading: io.Reading, findings: io.Findings | None) -> SparkTable:  # noqa: ANN401
    """Open a table for Spark: a frame of it, files that every worker can read, or what only Spark can reach."""
    if io.is_spark_frame(source):
        return _of_frame(source, session, reading, "The frame")
    if isinstance(source, str | Path) and (Path(source).exists() or io.files_in_parts(source) != [Path(source)]):
        return _of_files(source, session, reading, findings)
    if isinstance(source, str) and "://" in source:
        return _of_frame(_remote(source, session), session, reading, f"'{source}'")
    if isinstance(source, str) and session.catalog.tableExists(source):
        return _of_frame(session.table(source), session, reading, f"'{source}'")
    fact = f"Spark knows no table '{source}'" if isinstance(source, str | Path) else "This is no table that Spark reads"
    raise InputError(
        fact, "give Parquet or text files, an address such as s3a://..., a table of the catalogue, or a frame"
    )


def _of_files(source: str | Path, session: Any, reading: io.Reading, findings: io.Findings | None) -> SparkTable:  # noqa: ANN401
    batches = io.open_batches(source, reading, findings)
    files = [path.resolve() for path in io.files_in_parts(source)]
    splits = [Split(file) for file in files]
    if not batches.is_text:
        heights = [io.count_rows(file) for file in files]
        splits = [
            Split(file, start, min(SPLIT_ROWS, height - start))
            for file, height in zip(files, heights, strict=True)
            for start in range(0, height, SPLIT_ROWS)
        ]
    if not splits:
        raise _empty(batches.where)
    return SparkTable(session, batches.columns, batches.where, batches, reading, tuple(splits))


def _of_frame(frame: Any, session: Any, reading: io.Reading, where: str) -> SparkTable:  # noqa: ANN401
    asked = [name for name in ("types", "missing_codes", "date_formats", "canonical") if getattr(reading, name)]
    if asked:
        fact = f"The schema says how values are to be read ({', '.join(asked)}), and a frame of Spark has types already"
        raise InputError(
            fact, "convert the columns in Spark and leave that out of the schema, or give the files themselves"
        )
    if frame.isStreaming:
        fact = f"{where} is a stream that does not end"
        raise InputError(fact, "write its rows to files, and publish these")
    repeated = [name for name in frame.columns if frame.columns.count(name) > 1]
    if repeated:
        fact = f"{where} has two columns named '{repeated[0]}'"
        raise InputError(fact, "give every column a name of its own")
    return SparkTable(session, tuple(frame.columns), where, None, reading, None, frame)


def _remote(source: str, session: Any) -> Any:  # noqa: ANN401
    """Open files that only Spark reaches; all of them must have the same columns, which Spark does not ask for."""
    if source.rstrip("/").endswith((".csv", ".csv.gz")):
        return session.read.csv(source, header=True, inferSchema=True)
    frame = session.read.parquet(source)
    for file in frame.inputFiles():
        if session.read.parquet(file).schema != frame.schema:
            fact = f"'{file}' has columns of other types than the files beside it"
            raise InputError(fact, "write the files again with equal columns of equal types")
    return frame


def _empty(where: str) -> InputError:
    fact = f"{where} has no rows"
    return InputError(fact, "check that the export was complete")


@dataclass(frozen=True)
class _OnPartition:
    """Work on the partitions of a frame, in a worker."""

    work: Work
    columns: list[str]

    def __call__(self, arrived: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext  # noqa: PLC0415

        context = TaskContext.get()
        assert context is not None

        def batches() -> Iterator[pl.DataFrame]:
            for batch in arrived:
                frame = pl.DataFrame(batch)
                if frame.height:
                    yield io.to_polars(frame.rename(dict(zip(frame.columns, self.columns, strict=True))))

        for frame in self.work(context.partitionId(), batches()):
            yield from io.to_record_batches(frame)


@dataclass(frozen=True)
class _OnSplits:
    """Work on splits of files, in a worker; it gets their numbers."""

    work: Work
    columns: list[str]
    splits: tuple[Split, ...]
    reading: io.Reading
    typed: Typed | None

    def __call__(self, arrived: Iterator[Any]) -> Iterator[Any]:
        for batch in arrived:
            for number in batch.column(0).to_pylist():
                for frame in self.work(number, self._batches(self.splits[number])):
                    yield from io.to_record_batches(frame)

    def _batches(self, split: Split) -> Iterator[pl.DataFrame]:
        return _read(split, self.columns, self.reading, self.typed)


@dataclass(frozen=True)
class _Column:
    """All values of a column in order."""

    splits: tuple[Split, ...]
    reading: io.Reading
    typed: Typed | None

    def __call__(self, name: str) -> Iterator[pl.DataFrame]:
        for split in self.splits:
            yield from _read(split, [name], self.reading, self.typed)


def _read(split: Split, columns: list[str], reading: io.Reading, typed: Typed | None) -> Iterator[pl.DataFrame]:
    if split.n is not None:
        yield io.read_slice(split.file, columns, reading, split.start, split.n)
        return
    whole = io.open_batches(split.file, reading)
    yield from (whole if typed is None else whole.with_types(typed)).iterate(columns)


def first_rows(heights: Sequence[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the number of the first row of each split."""
    return np.concatenate([[0], np.cumsum(heights)[:-1]]).astype(np.int64)
