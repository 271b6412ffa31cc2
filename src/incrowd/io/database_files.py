"""SQLite and DuckDB files, opened for reading only: all of a table, or a query."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from incrowd.errors import InputError, MissingDependencyError
from incrowd.io.columns import check_names
from incrowd.io.databases import check_question, read_query
from incrowd.io.frames import to_polars
from incrowd.io.reading import Findings, Reading

_DUCK = b"DUCK"  # from the ninth byte of a DuckDB file
_SHOWN = 20


def read_sqlite(path: Path, reading: Reading, report: Callable[[int], None], findings: Findings) -> pl.DataFrame:
    """Read a table of an SQLite file, or the answer to a query."""
    with path.open("rb") as handle:
        first = handle.read(16)
    if first[8:12] == _DUCK:
        return read_duckdb(path, reading, report, findings)
    if not first.startswith(b"SQLite format 3"):
        fact = f"'{path}' is not an SQLite file, or it is damaged"
        raise InputError(fact, "check that the copy is complete")
    url = f"sqlite:///{path}" if str(path).isascii() else f"sqlite:///file:{quote(str(path.absolute()))}?uri=true"
    query = reading.query
    if query is None:
        names = read_query(url, "select name from sqlite_master where type in ('table', 'view') order by name", _silent)
        query = f"select * from {_quoted(_choose(path, names.to_series().to_list(), reading.table, findings))}"
    return read_query(url, query, _silent)


def read_duckdb(path: Path, reading: Reading, _report: Callable[[int], None], findings: Findings) -> pl.DataFrame:
    """Read a table of a DuckDB file, or the answer to a query."""
    try:
        import duckdb  # noqa: PLC0415
    except ModuleNotFoundError:
        fact = "Reading DuckDB files needs duckdb, which is not installed"
        raise MissingDependencyError(fact, extra="duckdb") from None
    if reading.query is not None:
        check_question(reading.query, f"'{path}'")
    # A query must not reach other files or the network.
    settings: dict[str, str | bool | int | float | list[str]] = {
        "enable_external_access": "false",
        "autoload_known_extensions": "false",
    }
    try:
        connection = duckdb.connect(str(path), read_only=True, config=settings)
    except duckdb.Error:
        fact = f"'{path}' is not a DuckDB file, it is damaged, or another program is writing to it"
    else:
        with closing(connection):
            found = connection.execute(
                "select table_name from information_schema.tables where table_schema = 'main' order by table_name"
            ).fetchall()
            names = [str(row[0]) for row in found]
            query = reading.query or f"select * from {_quoted(_choose(path, names, reading.table, findings))}"
            try:
                answer = connection.sql(query)
                check_names(list(answer.columns), f"'{path}': the result")
                return to_polars(pl.DataFrame(_Stream(answer)))
            except duckdb.Error as error:
                fact = f"'{path}' did not answer the query ({type(error).__name__})"
        raise InputError(fact, f"check the query; the tables are {', '.join(names[:_SHOWN])}")
    # Outside the handler, because the message of the library may quote a cell.
    raise InputError(fact, "close the program that writes to it, or check that the copy is complete")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class _Stream:
    """An answer of DuckDB as nothing but a stream of Arrow batches: polars asks it for more, which leaks objects."""

    def __init__(self, answer: Any) -> None:  # noqa: ANN401 - of an optional library
        self._answer = answer

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._answer.__arrow_c_stream__()


def _choose(path: Path, names: list[str], wanted: str | None, findings: Findings) -> str:
    """Return the table that was asked for, or the only one."""
    shown = ", ".join(map(repr, names[:_SHOWN]))
    if not names:
        fact = f"'{path}' has no tables"
        raise InputError(fact, "check that this is the right file")
    if wanted is None and len(names) > 1:
        fact = f"'{path}' has {len(names)} tables"
        raise InputError(fact, f"name one, for example table={names[0]!r}; the tables are {shown}")
    if wanted is not None and wanted not in names:
        fact = f"'{path}' has no table '{wanted}'"
        raise InputError(fact, f"use one of {shown}")
    if wanted is None:
        findings.take("table", names[0], f"The only table of '{path}' was taken: table='{names[0]}'")
    return wanted or names[0]


def _silent(_rows: int) -> None:
    pass
