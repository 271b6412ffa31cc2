"""Tables from files and databases, and back; the suffix or the URL tells the format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import polars as pl

from incrowd.errors import InputError
from incrowd.io.atomic import atomic_file
from incrowd.io.columns import check_types, declare, guessed, without_tokens
from incrowd.io.connecting import is_url, refuse_broken_url
from incrowd.io.database_tables import write_table
from incrowd.io.databases import read_query
from incrowd.io.date_forms import parse_dates
from incrowd.io.folders import files_of, one_format, read_files, refuse_changing_types
from incrowd.io.formats import Format, Types, find_format, format_of, named_format, writable_suffixes
from incrowd.io.frames import Frame, to_polars
from incrowd.io.opening import STANDARD_INPUT, member_name
from incrowd.io.reading import Findings, Note, Reading
from incrowd.io.text_types import canonical_columns, check_settings, find_types

Progress = Callable[[str, int, int], None]
_DATABASE_FILES = ("SQLite", "DuckDB")


def read(
    source: str | Path,
    *,
    query: str | None = None,
    types: Mapping[str, str] | None = None,
    missing_tokens: Sequence[str] = (),
    progress: Progress | None = None,
    **settings: Any,  # noqa: ANN401 - those of Reading
) -> pl.DataFrame:
    """Read a table from a file, a folder of files, or a database.

    Parameters
    ----------
    source
        A file in one of the formats that `FORMATS` lists, packed or not; ``-`` for standard input; a folder or a
        pattern of files with equal columns; or a database URL such as `sqlite:///people.db`, opened for reading only.
        With a table after a `#` (`sqlite:///people.db#patients`) all of it is read.
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
    settings
        What else somebody may have to say about a source: ``table``, ``sheet``, ``encoding``, ``delimiter``,
        ``decimal``, ``thousands``, ``date_format``, ``date_formats``, ``missing_codes``, ``format``; see `Reading`.

    Raises
    ------
    InputError
        The source cannot be read as a table; the message says where, and never quotes a cell.
    """
    # One text would otherwise be taken for a list of its letters.
    tokens = (missing_tokens,) if isinstance(missing_tokens, str) else tuple(missing_tokens)
    known = [each.name for each in fields(Reading)]
    if unknown := [name for name in settings if name not in known]:
        fact = f"There is no setting '{unknown[0]}' of reading"
        raise InputError(fact, f"use one of {', '.join(known)}")
    reading = Reading(query=query, types=types or {}, missing_tokens=tokens, **settings)
    return read_as(source, reading, progress=progress)


def read_as(
    source: str | Path, reading: Reading, *, progress: Progress | None = None, note: Note | None = None
) -> pl.DataFrame:
    """Read a table from a file or a database as somebody described it; see `read`.

    Parameters
    ----------
    note
        Called with what was found out about the source and should be known, such as its encoding.
    """
    return read_with_findings(source, reading, Findings(note or _unsaid), progress=progress)


def read_with_findings(
    source: str | Path, reading: Reading, findings: Findings, *, progress: Progress | None = None
) -> pl.DataFrame:
    """Read a table as `read_as` does, and remember what was found out about the source."""
    reading = _checked(reading)
    notify = progress or _silent
    refuse_broken_url(source)
    if isinstance(source, str) and is_url(source):
        notify("reading", 0, 0)
        frame = _read_database(source, reading, lambda rows: notify("reading", rows, 0))
        notify("reading", frame.height, max(frame.height, 1))
        return finish(frame, "The result of the query", Types.OF_COLUMNS, reading, findings)
    path = Path(source)
    given = None if reading.format is None else named_format(reading.format)
    several = None if str(path) == STANDARD_INPUT else files_of(path)
    for each in several or [path]:
        _check_opens(each)
    where, heights = f"'{path}'", [0]
    if several is None:
        kind = _format(path, given)
        _check_input(path, kind, reading)
        frame = _read_file(path, kind, reading, notify, findings, typed=True)
    else:
        kind = one_format(several, given)
        for each in several:
            _check_input(each, kind, reading)
        quiet = replace(findings, note=_once(findings.note))
        frame, heights = read_files(
            several, reading, lambda each: _read_file(each, kind, reading, notify, quiet), kind, path
        )
        findings.first_line = None
    if not frame.height:
        fact = f"{where} has no rows"
        raise InputError(fact, "check that the export was complete")
    if kind.types is not Types.NONE:
        return finish(frame, where, kind.types, reading, findings)
    typed = find_types(frame, reading, findings, where, notify)
    if several is not None:
        refuse_changing_types(typed, frame, heights, several, reading)
    return typed


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


def _checked(reading: Reading) -> Reading:
    """Return a reading whose settings can be, with a tab where one is written as a word."""
    check_types(reading.types)
    if reading.delimiter in ("tab", "\\t"):
        reading = replace(reading, delimiter="\t")
    check_settings(reading)
    return reading


def _read_database(url: str, reading: Reading, report: Callable[[int], None]) -> pl.DataFrame:
    return read_query(url, reading.query, report, table=reading.table)


def finish(frame: pl.DataFrame, where: str, kind: Types, reading: Reading, findings: Findings) -> pl.DataFrame:
    """Give the columns of a format with types the declared ones."""
    if not frame.height:
        fact = f"{where} has no rows"
        raise InputError(fact, "check that the export was complete")
    plain = _without_tokens(to_polars(frame), reading, kind, findings)
    texts = [name for name in reading.date_formats if name in plain.columns and plain[name].dtype == pl.String]
    dates = {name: parse_dates(plain[name], reading.date_formats[name]) for name in texts if name not in reading.types}
    plain = plain.with_columns(days for name, days in dates.items() if days.null_count() == plain[name].null_count())
    typed = declare(plain, reading.types, where, findings, date_formats=reading.date_formats)
    return canonical_columns(typed, reading)


def _format(path: Path, given: Format | None) -> Format:
    if given is not None:
        return given
    if str(path) == STANDARD_INPUT:
        return named_format("csv")
    if path.suffix.lower() == ".zip" and find_format(path) is None and path.is_file():
        return format_of(member_name(path))
    return format_of(path)


def _check_opens(path: Path) -> None:
    if str(path) == STANDARD_INPUT:
        return
    try:
        with path.open("rb"):
            return
    except FileNotFoundError:
        fact = f"There is no file '{path}'"
        raise InputError(fact, f"check the name; the working folder is '{Path.cwd()}'") from None
    except OSError as error:
        fact = f"'{path}' cannot be opened: {error.strerror}"
        raise InputError(fact, "check that you have permission to read it") from None


def _check_input(path: Path, kind: Format, reading: Reading) -> None:
    if kind.name not in _DATABASE_FILES:
        for setting in ("query", "table"):
            if getattr(reading, setting) is not None:
                fact = f"'{path}' is a file and takes no {setting}"
                raise InputError(fact, f"leave out the {setting}, or give a database URL such as sqlite:///people.db")
    if reading.sheet is not None and not kind.name.startswith("Excel"):
        fact = f"'{path}' is not a workbook and has no sheets"
        raise InputError(fact, "leave out the sheet; a schema names one in its table [reading]")
    if str(path) == STANDARD_INPUT:
        if kind.types is not Types.NONE:
            fact = f"{kind.name} cannot be read from standard input"
            raise InputError(fact, "write it to a file first, or send CSV")
        return
    if path.stat().st_size == 0:
        fact = f"'{path}' is empty"
        raise InputError(fact, "check that the export was complete")


def _read_file(
    path: Path, kind: Format, reading: Reading, notify: Progress, findings: Findings, *, typed: bool = False
) -> pl.DataFrame:
    size = 0 if str(path) == STANDARD_INPUT else path.stat().st_size
    notify("reading", 0, size)
    take = kind.read if kind.read_typed is None or not typed else kind.read_typed
    frame = take(path, reading, lambda done: notify("reading", min(done, size), size), findings)
    notify("reading", size, size)
    return frame


def _without_tokens(frame: pl.DataFrame, reading: Reading, kind: Types, findings: Findings) -> pl.DataFrame:
    findings.see_codes(frame, reading.missing_codes)
    changed = []
    for column in frame:
        tokens = [*reading.missing_tokens, *reading.missing_codes.get(column.name, ())]
        if column.dtype == pl.String and tokens:
            text = without_tokens(column, tokens)
            # One token among numbers has turned the whole column into text.
            mixed = kind is Types.OF_CELLS and text.null_count() > column.null_count()
            changed.append(guessed(text) if mixed else text)
    return frame.with_columns(changed)


def _once(note: Note) -> Note:
    """Return a note that says each sentence once, however many files it is about."""
    said: set[str] = set()

    def say(text: str) -> None:
        if text not in said:
            said.add(text)
            note(text)

    return say
