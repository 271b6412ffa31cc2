"""Batches: a table that is read a part at a time, as often as it is asked for, with the rows in the same order.

What comes out is what `read_as` returns for the whole table, but for text files: of them only the texts are known
until somebody has seen all of them (`settled`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from incrowd.errors import InputError
from incrowd.io.columns import check_names
from incrowd.io.delimited import text_batches
from incrowd.io.files import finish
from incrowd.io.folders import files_of, one_format
from incrowd.io.formats import Types, find_format, format_of
from incrowd.io.frames import to_polars
from incrowd.io.reading import Findings, Reading
from incrowd.io.text_types import find_types

BATCH_ROWS = 1 << 19
"""Rows of a batch, about: a text file has them as its bytes come."""

_DAMAGED = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
_FORMATS = ("Parquet", "CSV", "TSV", "text", "packed CSV", "packed TSV", "packed text")


@dataclass(frozen=True)
class Batches:
    """A table in parts.

    Attributes
    ----------
    columns
        Names of all columns.
    where
        What it is called in messages.
    is_text
        Whether values are texts whose types are not known yet.
    """

    columns: tuple[str, ...]
    where: str
    is_text: bool
    _read: Callable[[Sequence[str]], Iterator[pl.DataFrame]] = field(repr=False)
    _reading: Reading = field(default_factory=Reading, repr=False)
    _typed: Mapping[str, tuple[pl.Series, pl.Series]] = field(default_factory=dict, repr=False)

    def iterate(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield some columns of all rows, batch by batch."""
        for batch in self._read(columns):
            yield self.retyped(batch)

    def retyped(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return rows as they were read with the types that their columns turned out to have."""
        known = [name for name in batch.columns if name in self._typed]
        return batch.with_columns(_retyped(batch[name], *self._typed[name]) for name in known)

    def settled(self, values: Mapping[str, pl.Series], findings: Findings) -> tuple[Batches, Mapping[str, pl.Series]]:
        """Return the batches with types, and the values with theirs, from all distinct texts of all columns.

        Of a table that has types already nothing changes.
        """
        if not self.is_text:
            return self, values
        most = max(map(len, values.values()))
        table = pl.DataFrame([text.extend_constant(None, most - len(text)).alias(n) for n, text in values.items()])
        how = self._reading
        reading = replace(how, types=_about(how.types, list(values)), canonical=_about(how.canonical, list(values)))
        found = find_types(table, reading, findings, self.where, lambda _stage, _done, _total: None)
        typed = {name: found[name].head(len(text)) for name, text in values.items()}
        return self.with_types({name: (text, typed[name]) for name, text in values.items()}), typed

    def with_types(self, typed: Mapping[str, tuple[pl.Series, pl.Series]]) -> Batches:
        """Return the batches with what each text of a column stands for."""
        return replace(self, is_text=False, _typed=typed)


def open_batches(source: Any, reading: Reading | None = None, findings: Findings | None = None) -> Batches:  # noqa: ANN401
    """Open a table that is to be read in parts.

    Parameters
    ----------
    source
        A Parquet or text file, a folder or pattern of them, a lazy frame of polars, or a frame.
    reading
        How it is to be read.

    Raises
    ------
    InputError
        It cannot be read in parts; the message names the formats that can.
    """
    how = reading or Reading()
    if isinstance(source, pl.LazyFrame):
        return _of_lazy(source)
    if not isinstance(source, str | Path):
        return _of_frame(to_polars(source))
    path = Path(source)
    several = files_of(path)
    files = several or [path]
    if several is None and not path.is_file():
        fact = f"There is no file '{path}'"
        raise InputError(fact, f"check the name; the working folder is '{Path.cwd()}'")
    kind = one_format(files, None) if several else format_of(path)
    if kind.name not in _FORMATS or find_format(files[0]) is None:
        fact = f"'{path}' is {kind.name}, which cannot be read in parts"
        raise InputError(fact, "convert it to Parquet, or use engine='local', which reads all of it")
    if kind.types is Types.NONE:
        return _of_text(files, how, findings or Findings(), path)
    return _of_parquet(files, how, path)


def _of_frame(frame: pl.DataFrame) -> Batches:
    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        yield from frame.select(columns).iter_slices(BATCH_ROWS)

    return Batches(tuple(frame.columns), "The table", is_text=False, _read=read)


def _of_lazy(frame: pl.LazyFrame) -> Batches:
    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        for batch in frame.select(columns).collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
            yield to_polars(batch)

    return Batches(tuple(frame.collect_schema().names()), "The table", is_text=False, _read=read)


def _of_parquet(files: Sequence[Path], reading: Reading, root: Path) -> Batches:
    schemas = [_schema(file) for file in files]
    first = schemas[0]
    check_names(list(first), f"'{root}'")
    for file, schema in zip(files, schemas, strict=True):
        differ = [name for name in {**first, **schema} if first.get(name) != schema.get(name)]
        if differ:
            fact = f"Column '{differ[0]}' is {_said(first, differ[0])} in '{files[0]}' and "
            fact += f"{_said(schema, differ[0])} in '{file}'"
            raise InputError(fact, "write the files again with equal columns of equal types")

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        part = _about_columns(reading, columns)
        for file in files:
            for batch in (some for some in _slices(file, columns) if some.height):  # Spark writes empty files, too
                yield finish(batch, f"'{file}'", Types.OF_COLUMNS, part, Findings())

    return Batches(tuple(first), f"'{root}'", is_text=False, _read=read)


def files_in_parts(source: str | Path) -> list[Path]:
    """Return the files of a table on disk, in the order of its rows."""
    return files_of(Path(source)) or [Path(source)]


def count_rows(file: Path) -> int:
    """Return the number of rows of a Parquet file."""
    try:
        return int(pl.scan_parquet(file, glob=False, hive_partitioning=False).select(pl.len()).collect().item())
    except _DAMAGED:
        fact = f"'{file}' is not a Parquet file, or it is damaged"
    raise InputError(fact, "write it again, or check that the copy is complete")


def count_quickly(source: Any) -> int | None:  # noqa: ANN401
    """Return the number of rows of Parquet files or of a frame in memory; ``None`` of what would have to be read."""
    if isinstance(source, str | Path):
        files = files_of(Path(source)) or [Path(source)]
        if all(file.is_file() and (kind := find_format(file)) and kind.name == "Parquet" for file in files):
            return sum(map(count_rows, files))
        return None
    return source.height if isinstance(source, pl.DataFrame) else None


def read_slice(file: Path, columns: Sequence[str], reading: Reading, start: int, n: int) -> pl.DataFrame:
    """Return some rows of a Parquet file as `Batches` has them."""
    try:
        rows = pl.scan_parquet(file, glob=False, hive_partitioning=False).select(columns)
        found = rows.slice(start, n).collect()
    except _DAMAGED:
        fact = f"'{file}' is damaged"
    else:
        return finish(found, f"'{file}'", Types.OF_COLUMNS, _about_columns(reading, columns), Findings())
    raise InputError(fact, "write it again, or check that the copy is complete")


def _about_columns(reading: Reading, columns: Sequence[str]) -> Reading:
    return replace(
        reading,
        types=_about(reading.types, columns),
        date_formats=_about(reading.date_formats, columns),
        missing_codes=_about(reading.missing_codes, columns),
        canonical=_about(reading.canonical, columns),
    )


def _about(settings: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name in columns}


def _said(schema: Mapping[str, pl.DataType], name: str) -> str:
    return f"of type {schema[name]}" if name in schema else "not there"


def _schema(file: Path) -> dict[str, pl.DataType]:
    try:
        return dict(pl.read_parquet_schema(file))
    except _DAMAGED:
        fact = f"'{file}' is not a Parquet file, or it is damaged"
    raise InputError(fact, "write it again, or check that the copy is complete")


def _slices(file: Path, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Yield the rows of a Parquet file in order; what the library says of a damaged one may quote a cell."""
    try:
        rows = pl.scan_parquet(file, glob=False, hive_partitioning=False).select(columns)
        yield from rows.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True)
    except _DAMAGED:
        fact = f"'{file}' is damaged"
    else:
        return
    raise InputError(fact, "write it again, or check that the copy is complete")


def _of_text(files: Sequence[Path], reading: Reading, findings: Findings, root: Path) -> Batches:
    names = next(text_batches(files[0], reading, findings)).columns

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        for file in files:
            for batch in text_batches(file, reading, findings):
                if set(batch.columns) != set(names):
                    fact = f"'{file}' has other columns than '{files[0]}'"
                    raise InputError(fact, "give files with equal columns")
                yield batch.select(columns)

    return Batches(tuple(names), f"'{root}'", is_text=True, _read=read, _reading=reading)


def _retyped(text: pl.Series, known: pl.Series, typed: pl.Series) -> pl.Series:
    """Return texts as the values that they stand for; null stands for itself, if for nothing else."""
    if typed.dtype == pl.String and typed.equals(known.alias(typed.name), null_equal=True):
        return text
    return text.replace_strict(known, typed, default=None, return_dtype=typed.dtype).alias(text.name)
