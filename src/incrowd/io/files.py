"""Tables from files and databases, and back; the suffix or the URL tells the format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl

from incrowd.errors import InputError
from incrowd.io.atomic import atomic_file
from incrowd.io.columns import check_types, declare, guessed, without_tokens
from incrowd.io.connecting import is_url
from incrowd.io.database_tables import write_table
from incrowd.io.databases import read_query
from incrowd.io.formats import Format, Types, format_of, writable_suffixes
from incrowd.io.frames import Frame, to_polars
from incrowd.io.reading import Note, Reading

Progress = Callable[[str, int, int], None]


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
        A file in one of the formats that `FORMATS` lists, or a database URL such as `sqlite:///people.db`, which is
        opened for reading only. With a table after a `#` (`sqlite:///people.db#patients`) all of it is read.
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
    # One text would otherwise be taken for a list of its letters.
    tokens = (missing_tokens,) if isinstance(missing_tokens, str) else tuple(missing_tokens)
    return read_as(source, Reading(query=query, types=types or {}, missing_tokens=tokens), progress=progress)


def read_as(
    source: str | Path, reading: Reading, *, progress: Progress | None = None, note: Note | None = None
) -> pl.DataFrame:
    """Read a table from a file or a database as somebody described it; see `read`.

    Parameters
    ----------
    note
        Called with what was found out about the source and should be known, such as its encoding.
    """
    check_types(reading.types)
    notify, note = progress or _silent, note or _unsaid
    if isinstance(source, str) and is_url(source):
        notify("reading", 0, 0)
        frame = read_query(source, reading.query, lambda rows: notify("reading", rows, 0))
        where, kind = "The result of the query", Types.OF_COLUMNS
        notify("reading", frame.height, max(frame.height, 1))
    else:
        path = _input_file(Path(source), reading.query)
        where, kind = f"'{path}'", format_of(path).types
        frame = _read_file(path, format_of(path), reading, notify, note)
    if not frame.height:
        fact = f"{where} has no rows"
        raise InputError(fact, "check that the export was complete")
    if kind is Types.NONE:
        frame = _guess_types(frame, reading, notify)
    else:
        frame = _without_tokens(to_polars(frame), list(reading.missing_tokens), kind)
    return declare(frame, reading.types, where)


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
    if isinstance(path, str) and is_url(path):
        write_table(plain, path, table)
        return
    target = Path(path)
    if table is not None:
        fact = f"'{target}' is a file and takes no table name"
        raise InputError(fact, "leave out the table name, or give a database URL")
    writer = format_of(target).write
    if writer is None:
        fact = f"Cannot write '{target}': this format can only be read"
        raise InputError(fact, f"use one of the suffixes {', '.join(writable_suffixes())}")
    with atomic_file(target) as temporary:
        writer(plain, temporary)


def _silent(_stage: str, _done: int, _total: int) -> None:
    pass


def _unsaid(_text: str) -> None:
    pass


def _input_file(path: Path, query: str | None) -> Path:
    if query is not None:
        fact = f"'{path}' is a file and takes no query"
        raise InputError(fact, "leave out the query, or give a database URL such as sqlite:///people.db")
    try:
        if path.is_dir():
            fact = f"'{path}' is a folder"
            is_release = (path / "manifest.json").exists()
            raise InputError(fact, f"give {'the table that this release was made from' if is_release else 'a file'}")
        with path.open("rb") as handle:
            empty = not handle.read(1)
    except FileNotFoundError:
        fact = f"There is no file '{path}'"
        raise InputError(fact, f"check the name; the working folder is '{Path.cwd()}'") from None
    except OSError as error:
        fact = f"'{path}' cannot be opened: {error.strerror}"
        raise InputError(fact, "check that you have permission to read it") from None
    format_of(path)
    if empty:
        fact = f"'{path}' is empty"
        raise InputError(fact, "check that the export was complete")
    return path


def _read_file(path: Path, kind: Format, reading: Reading, notify: Progress, note: Note) -> pl.DataFrame:
    size = path.stat().st_size
    notify("reading", 0, size)
    frame = kind.read(path, reading, lambda done: notify("reading", min(done, size), size), note)
    notify("reading", size, size)
    return frame


def _guess_types(frame: pl.DataFrame, reading: Reading, notify: Progress) -> pl.DataFrame:
    columns = []
    for done, column in enumerate(frame):
        notify("finding types", done, frame.width)
        text = without_tokens(column, ["", *reading.missing_tokens])
        columns.append(text if column.name in reading.types else guessed(text))
    notify("finding types", frame.width, frame.width)
    return pl.DataFrame(columns)


def _without_tokens(frame: pl.DataFrame, tokens: list[str], kind: Types) -> pl.DataFrame:
    if not tokens:
        return frame
    changed = []
    for column in frame:
        if column.dtype == pl.String:
            text = without_tokens(column, tokens)
            # One token among numbers has turned the whole column into text.
            mixed = kind is Types.OF_CELLS and text.null_count() > column.null_count()
            changed.append(guessed(text) if mixed else text)
    return frame.with_columns(changed)
