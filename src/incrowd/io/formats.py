"""The one list of file formats: a new format is a file that reads and writes it, and an entry here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path

import polars as pl

from incrowd.errors import InputError, ParameterError
from incrowd.io.binary import read_arrow, read_parquet, write_arrow, write_parquet
from incrowd.io.database_files import read_duckdb, read_sqlite
from incrowd.io.delimited import read_delimited, write_delimited
from incrowd.io.excel import read_excel, write_excel
from incrowd.io.opening import PACKINGS
from incrowd.io.reading import Findings, Reading
from incrowd.io.statistics_files import read_statistics, write_statistics

Report = Callable[[int], None]
Read = Callable[[Path, Reading, Report, Findings], pl.DataFrame]


class Types(Enum):
    """What a format tells about types."""

    NONE = "all cells are text; the types of columns have to be found"
    OF_CELLS = "each cell has a type; one cell of text makes its column text"
    OF_COLUMNS = "each column has a type"


@dataclass(frozen=True)
class Format:
    """One format of tables in files.

    Parameters
    ----------
    name
        Its name for people.
    suffixes
        How the names of its files end; with two parts if they are packed.
    read
        Reads a file as a `Reading` says; calls its third argument with the number of bytes done, if it knows, and tells
        its last one what should be known about the file.
    write
        Writes a frame to a path; None if the format can only be read.
    types
        What the file tells about types.
    extra
        The extra of this package (``pip install 'incrowd[...]'``) that the format needs.
    read_typed
        Reads a file of text as `read` does, and may give columns their types on the way.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Read
    write: Callable[[pl.DataFrame, Path], None] | None
    types: Types = Types.OF_COLUMNS
    extra: str | None = None
    read_typed: Read | None = None


def _packed(suffix: str) -> tuple[str, ...]:
    return tuple(suffix + packing for packing in PACKINGS if packing != ".gz")  # of which .gz is written, too


_READ_TSV, _READ_TYPED = partial(read_delimited, delimiter="\t"), partial(read_delimited, typed=True)
_READ_TYPED_TSV = partial(_READ_TYPED, delimiter="\t")
_WRITE_CSV, _WRITE_TSV = partial(write_delimited, delimiter=","), partial(write_delimited, delimiter="\t")
FORMATS: tuple[Format, ...] = (
    Format("CSV", (".csv", ".csv.gz"), read_delimited, _WRITE_CSV, types=Types.NONE, read_typed=_READ_TYPED),
    Format("TSV", (".tsv", ".tsv.gz"), _READ_TSV, _WRITE_TSV, types=Types.NONE, read_typed=_READ_TYPED_TSV),
    Format("text", (".txt", ".txt.gz"), read_delimited, _WRITE_TSV, types=Types.NONE, read_typed=_READ_TYPED),
    Format("packed CSV", _packed(".csv"), read_delimited, None, types=Types.NONE, read_typed=_READ_TYPED),
    Format("packed TSV", _packed(".tsv"), _READ_TSV, None, types=Types.NONE, read_typed=_READ_TYPED_TSV),
    Format("packed text", _packed(".txt"), read_delimited, None, types=Types.NONE, read_typed=_READ_TYPED),
    Format("Parquet", (".parquet", ".pq"), lambda path, *_: read_parquet(path), write_parquet),
    Format("Arrow", (".arrow", ".feather", ".ipc"), lambda path, *_: read_arrow(path), write_arrow),
    Format("Excel", (".xlsx",), read_excel, write_excel, types=Types.OF_CELLS, extra="excel"),
    Format("Excel 97", (".xls",), read_excel, None, types=Types.OF_CELLS, extra="excel"),
    Format(
        "SPSS", (".sav",), partial(read_statistics, kind="SPSS"), partial(write_statistics, kind="SPSS"), extra="stats"
    ),
    Format("SPSS (packed, portable)", (".zsav", ".por"), partial(read_statistics, kind="SPSS"), None, extra="stats"),
    Format(
        "Stata",
        (".dta",),
        partial(read_statistics, kind="Stata"),
        partial(write_statistics, kind="Stata"),
        extra="stats",
    ),
    Format("SAS", (".sas7bdat", ".xpt"), partial(read_statistics, kind="SAS"), None, extra="stats"),
    Format("SQLite", (".sqlite", ".sqlite3", ".db"), read_sqlite, None, extra="sql"),
    Format("DuckDB", (".duckdb", ".ddb"), read_duckdb, None, extra="duckdb"),
)


def find_format(path: str | Path) -> Format | None:
    """Return the format of a file by its suffix, if it is one of ours."""
    suffixes = Path(Path(path).name.lower()).suffixes
    suffix = "".join(suffixes[-2:] if suffixes[-1:] and suffixes[-1] in PACKINGS else suffixes[-1:])
    return next((entry for entry in FORMATS if suffix in entry.suffixes), None)


def format_of(path: str | Path) -> Format:
    """Return the format of a file by its suffix; one that we do not know is an `InputError`.

    Examples
    --------
    >>> format_of("rules.TSV.gz").name
    'TSV'
    """
    found = find_format(path)
    if found is None:
        known = [suffix for entry in FORMATS for suffix in entry.suffixes]
        fact = f"'{path}' has the suffix '{Path(path).suffix}', which is not a known format"
        hint = f"use one of {', '.join(known)}, or a database URL; or say what it is, for example format='csv'"
        raise InputError(fact, hint)
    return found


def named_format(name: str) -> Format:
    """Return the format that somebody names by a suffix without its dot, or by its name."""
    plain = name.lower().removeprefix(".")
    found = next((entry for entry in FORMATS if f".{plain}" in entry.suffixes or plain == entry.name.lower()), None)
    if found is None:
        fact = f"There is no format '{name}'"
        raise ParameterError(fact, f"use one of {', '.join(entry.suffixes[0][1:] for entry in FORMATS)}")
    return found


def writable_suffixes() -> list[str]:
    """Return the suffixes of files that can be written."""
    return [suffix for entry in FORMATS if entry.write is not None for suffix in entry.suffixes]
