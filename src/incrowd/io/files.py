"""Tables from files and databases, and back; the suffix or the URL tells the format."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

import polars as pl

from incrowd.errors import InputError
from incrowd.io.atomic import atomic_file
from incrowd.io.columns import check_types, declare, guessed, without_tokens
from incrowd.io.databases import read_query, write_table
from incrowd.io.delimited import read_delimited
from incrowd.io.excel import read_excel, write_excel
from incrowd.io.frames import Frame, to_polars

Progress = Callable[[str, int, int], None]

_FORMATS = {
    ".csv": "text",
    ".tsv": "text",
    ".txt": "text",
    ".csv.gz": "text",
    ".tsv.gz": "text",
    ".txt.gz": "text",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "excel",
    ".xls": "excel",
}


def read(
    source: str | Path,
    *,
    query: str | None = None,
    types: Mapping[str, str] | None = None,
    missing_tokens: Sequence[str] = (),
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Read a table from a file or a database.

    Parameters
    ----------
    source
        A file (`.csv`, `.tsv`, `.txt`, these with `.gz`, `.parquet`, `.arrow`, `.feather`, `.xlsx`, `.xls`)
        or a database URL such as `sqlite:///people.db`.
    query
        What to ask the database.
    types
        Column to one of `int`, `float`, `str`, `date`, `bool`; all other columns keep the type of the file, and in text
        files get the narrowest type that all of their values have.
    missing_tokens
        Texts that stand for a missing value, such as `?`; in text files the empty text always does.
    progress
        Called with a stage, how much is done, and of how much (0: not known): `reading` in bytes (rows of a database),
        then for text files `finding types` in columns.

    Raises
    ------
    InputError
        The source cannot be read as a table; the message says where, and never quotes a cell.
    """
    types = types or {}
    check_types(types)
    # One text would otherwise be taken for a list of its letters.
    tokens = [missing_tokens] if isinstance(missing_tokens, str) else list(missing_tokens)
    notify = progress or _silent
    if isinstance(source, str) and _is_url(source):
        notify("reading", 0, 0)
        frame = read_query(source, query, lambda rows: notify("reading", rows, 0))
        where, text_format = "The result of the query", False
        notify("reading", frame.height, max(frame.height, 1))
    else:
        path = _input_file(Path(source), query)
        where, text_format = f'"{path}"', _format(path) == "text"
        frame = _read_file(path, notify)
    if not frame.height:
        fact = f"{where} has no rows."
        raise InputError(fact, "Check that the export was complete.")
    if text_format:
        frame = _guess_types(frame, types, tokens, notify)
    else:
        frame = _without_tokens(to_polars(frame), tokens, where)
    return declare(frame, types, where)


def write(frame: Frame, path: str | Path, *, table: str | None = None) -> None:
    """Write a table to a file, all of it or nothing, or as a new table to a database.

    Parameters
    ----------
    frame
        A polars, pandas or pyarrow table.
    path
        A file with one of the suffixes that `read` knows, replaced if it exists; or a database URL.
    table
        The name of the table in the database, which must not exist yet.
    """
    plain = to_polars(frame)
    if isinstance(path, str) and _is_url(path):
        write_table(plain, path, table)
        return
    target = Path(path)
    if table is not None:
        fact = f'"{target}" is a file and takes no table name.'
        raise InputError(fact, "Leave table out, or give a database URL.")
    kind = _format(target)
    if target.suffix.lower() == ".xls":
        fact = f'Cannot write "{target}": the old Excel format can only be read.'
        raise InputError(fact, "Use the suffix .xlsx.")
    with atomic_file(target) as temporary:
        _WRITERS[kind](plain, temporary)


def _silent(_stage: str, _done: int, _total: int) -> None:
    pass


def _is_url(source: str) -> bool:
    return re.match(r"[A-Za-z][A-Za-z0-9+.\-]*://", source) is not None


def _suffix(path: Path) -> str:
    name = path.name.lower()
    return "".join(Path(name).suffixes[-2:]) if name.endswith(".gz") else Path(name).suffix


def _format(path: Path) -> str:
    suffix = _suffix(path)
    if suffix not in _FORMATS:
        fact = f'"{path}" has the suffix "{suffix}", which is not a known format.'
        raise InputError(fact, f"Known are {', '.join(_FORMATS)}, and database URLs.")
    return _FORMATS[suffix]


def _input_file(path: Path, query: str | None) -> Path:
    if query is not None:
        fact = f'"{path}" is a file and takes no query.'
        raise InputError(fact, "Leave query out, or give a database URL such as sqlite:///people.db.")
    try:
        if path.is_dir():
            fact = f'"{path}" is a folder.'
            is_release = (path / "manifest.json").exists()
            raise InputError(fact, f"Give {'the table that this release was made of' if is_release else 'a file'}.")
        with path.open("rb") as handle:
            empty = not handle.read(1)
    except FileNotFoundError:
        fact = f'There is no file "{path}".'
        raise InputError(fact, f'Check the name; the working folder is "{Path.cwd()}".') from None
    except OSError as error:
        fact = f'"{path}" cannot be opened: {error.strerror}.'
        raise InputError(fact, "Check that you may read it.") from None
    _format(path)
    if empty:
        fact = f'"{path}" is empty.'
        raise InputError(fact, "Check that the export was complete.")
    return path


def _read_file(path: Path, notify: Progress) -> pl.DataFrame:
    kind = _format(path)
    size = path.stat().st_size
    notify("reading", 0, size)
    if kind == "text":
        delimiter = "\t" if _suffix(path).startswith(".tsv") else None
        frame = read_delimited(path, lambda done: notify("reading", min(done, size), size), delimiter=delimiter)
    elif kind == "excel":
        frame = read_excel(path)
    else:
        frame = _read_binary(path, kind)
    notify("reading", size, size)
    return frame


def _read_binary(path: Path, kind: str) -> pl.DataFrame:
    try:
        if kind == "parquet":
            return pl.read_parquet(path, glob=False, hive_partitioning=False)
        # Not by path, which may map the file into memory: it could be replaced while the frame lives.
        return pl.read_ipc(path.read_bytes())
    except (OSError, pl.exceptions.PolarsError):
        fact = f'"{path}" is not {"a Parquet" if kind == "parquet" else "an Arrow"} file, or it is damaged.'
    raise InputError(fact, "Write it again, or check that the copy is complete.")


def _guess_types(frame: pl.DataFrame, types: Mapping[str, str], tokens: list[str], notify: Progress) -> pl.DataFrame:
    columns = []
    for done, column in enumerate(frame):
        notify("finding types", done, frame.width)
        text = without_tokens(column, ["", *tokens])
        columns.append(text if column.name in types else guessed(text))
    notify("finding types", frame.width, frame.width)
    return pl.DataFrame(columns)


def _without_tokens(frame: pl.DataFrame, tokens: list[str], where: str) -> pl.DataFrame:
    if not tokens:
        return frame
    changed = []
    for column in frame:
        if column.dtype == pl.String:
            text = without_tokens(column, tokens)
            # On a sheet, one token among numbers turns the whole column into text.
            sheet = where.lower().endswith(('.xlsx"', '.xls"')) and text.null_count() > column.null_count()
            changed.append(guessed(text) if sheet else text)
    return frame.with_columns(changed)


def _write_text(frame: pl.DataFrame, path: Path) -> None:
    separator = "," if _suffix(path).startswith(".csv") else "\t"
    # The writer leaves carriage returns bare, and a reader then takes them for the end of a line.
    bare = any((column.dtype == pl.String) and column.str.contains("\r", literal=True).any() for column in frame)
    style: Any = "non_numeric" if bare else "necessary"
    with path.open("wb") as handle:
        if path.suffix.lower() != ".gz":
            frame.write_csv(handle, separator=separator, quote_style=style)
            return
        # Without name and time, so that equal tables give equal files.
        with gzip.GzipFile(filename="", mode="wb", fileobj=handle, compresslevel=6, mtime=0) as packed:
            frame.write_csv(cast("IO[bytes]", packed), separator=separator, quote_style=style)


_WRITERS: dict[str, Callable[[pl.DataFrame, Path], None]] = {
    "text": _write_text,
    "parquet": lambda frame, path: frame.write_parquet(path),
    "arrow": lambda frame, path: frame.write_ipc(path),
    "excel": write_excel,
}
