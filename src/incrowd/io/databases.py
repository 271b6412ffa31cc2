"""Reading SQL databases: the rows of a query or of a table.

A query cannot change anything: only one statement is sent and only one that asks, in a session that may only read where
the database has such a thing, and in a transaction that is always rolled back.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import polars as pl

from incrowd.errors import InputError
from incrowd.io.columns import check_names
from incrowd.io.connecting import READ_ONLY, Database, opened, split_table
from incrowd.io.database_errors import SHOWN, explain
from incrowd.io.frames import from_objects

if TYPE_CHECKING:
    import sqlalchemy as sa

FETCH = 50_000
_SYSTEM = re.compile(
    r"pg_|information_schema|sys$|system\.|temp|mysql$|performance_schema|db_|INFORMATION_SCHEMA|guest"
)
_FIRST_WORD = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*([^\s(;]*)", re.DOTALL)
_QUESTIONS = {"select", "with", "values", "table", "from", "show", "describe", "explain", "pragma"}
# What changes something in a database without sessions that may only read, such as SQL Server, where statements need
# no ; between them.
_ORDERS = re.compile(
    r"\b(alter|backup|bulk|call|commit|create|dbcc|delete|deny|disable|drop|enable|exec|execute|grant|insert|into|kill|"
    r"merge|openquery|openrowset|rename|replace|restore|revoke|rollback|save|set|shutdown|truncate|update|waitfor|"
    r"writetext)\b|\b[sx]p_",
    re.IGNORECASE,
)


# What acts outside of any transaction, where the rights of the user allow it.
_BEYOND = {
    "mysql": re.compile(r"\binto\s+(outfile|dumpfile)\b", re.IGNORECASE),
    "mariadb": re.compile(r"\binto\s+(outfile|dumpfile)\b", re.IGNORECASE),
    "postgresql": re.compile(
        r"\b(lo_export|dblink\w*|pg_terminate_backend|pg_cancel_backend|pg_reload_conf|pg_file_\w+)\b", re.IGNORECASE
    ),
}


def read_query(url: str, query: str | None, report: Callable[[int], None], *, table: str | None = None) -> pl.DataFrame:
    """Return the rows of a query, or of a table, which the URL may end with; `report` is told the rows so far."""
    has_query = query is not None and bool(query.strip())
    address, named = (url, None) if has_query else split_table(url)
    table = named or table
    if not has_query and table is None:
        raise _without_question(address)
    with opened(address, read_only=True) as database:
        import sqlalchemy as sa  # noqa: PLC0415

        label = database.label
        doing = "run the query" if has_query else f"read the table '{table}'"
        if query is not None and has_query:
            _refuse_orders(query, database)
        try:
            text = query if query is not None and has_query else _all_of(database, table or "")
            names, columns = _fetch(database.engine, text, label, report)
        except sa.exc.SQLAlchemyError as error:
            failed = explain(error, database, doing=doing, tables=_tables(database.engine))
        else:
            return _frame(names, columns, label)
    # Outside the handler, so that the driver's message does not travel along.
    raise failed


def _without_question(address: str) -> InputError:
    """Say what is missing, and which tables there are, if the database answers."""
    with opened(address, read_only=True) as database:
        tables = _tables(database.engine)
    listed = f"; the tables are {', '.join(tables[:SHOWN])}" if tables else ""
    name = tables[0] if tables else "patients"
    return InputError(
        "A database needs a query or a table",
        f'give query="select * from {name}", or end the URL with #{name}{listed}',
    )


def _frame(names: list[str], columns: list[list[Any]], label: str) -> pl.DataFrame:
    try:
        return pl.DataFrame([from_objects(name, values, label) for name, values in zip(names, columns, strict=True)])
    except InputError as error:
        fact = error.fact
    raise InputError(fact, "name the columns that you need, or convert it to text: query='select ... from ...'")


def quoted(engine: sa.Engine, table: str) -> str:
    """Write the name of a table, with or without its schema, as the database quotes it."""
    schema, _, name = table.rpartition(".")
    prepare = engine.dialect.identifier_preparer
    return ".".join(prepare.quote_identifier(part) for part in (schema, name) if part)


def _all_of(database: Database, table: str) -> str:
    return f"SELECT * FROM {quoted(database.engine, table)}"


def _fetch(
    engine: sa.Engine, query: str, label: str, report: Callable[[int], None]
) -> tuple[list[str], list[list[Any]]]:
    # Never committed: what the connection did is rolled back at its end.
    with engine.connect() as connection:
        # Not sqlalchemy.text, which takes every ":word" for a parameter.
        result = connection.execution_options(stream_results=True).exec_driver_sql(query)
        if not result.returns_rows:
            fact = f"{label}: the query returns no table"
            raise InputError(fact, "use a select statement")
        names = [str(name) for name in tuple(result.keys())]
        check_names(names, f"{label}: the result")
        columns: list[list[Any]] = [[] for _ in names]
        for rows in result.partitions(FETCH):
            for column, values in zip(columns, zip(*rows, strict=True), strict=True):
                column.extend(values)
            report(len(columns[0]))
    return names, columns


def _refuse_orders(query: str, database: Database) -> None:
    """Refuse what is not one question, or acts on more than its result, as far as a database can do that."""
    label = database.label
    check_question(query, label)
    beyond = _BEYOND[database.backend].search(query) if database.backend in _BEYOND else None
    if beyond is not None:
        fact = f"{label}: the query has '{beyond[0].lower()}', which acts on more than the query's own result"
        raise InputError(fact, "use a select statement that only reads")
    order = None if database.backend in READ_ONLY else _ORDERS.search(query)
    if order is not None:
        fact = f"{label} has no sessions that may only read, and the query has the word '{order[0].lower()}'"
        raise InputError(fact, "make a view of what you need, and query the view; quote names that are such words")


def check_question(query: str, label: str) -> None:
    """Refuse what is not one question, before it is sent: some databases would carry out an order and keep it."""
    found = _FIRST_WORD.match(query)
    word = found[1].lower() if found else ""
    if word not in _QUESTIONS:
        fact = f"{label}: only queries are sent, and this statement begins with '{word}'"
        raise InputError(fact, "use a select statement")
    # Even in quotes: what ends a text differs between databases, and a second statement could end the transaction.
    if ";" in query.rstrip().rstrip(";"):
        fact = f"{label}: only one query is sent, and this text has a ';' before its end"
        raise InputError(fact, "give one select statement; in a text, write chr(59) for the ';'")


def _tables(engine: sa.Engine) -> list[str]:
    """Return the names of tables and views, those of other schemas with the schema; none of the database's own."""
    import sqlalchemy as sa  # noqa: PLC0415

    names: list[str] = []
    with suppress(sa.exc.SQLAlchemyError, NotImplementedError):
        about = sa.inspect(engine)
        own = about.default_schema_name
        for schema in sorted(about.get_schema_names(), key=lambda name: name != own):
            short = schema.rpartition(".")[2]  # DuckDB's have the name of the database in front
            if not _SYSTEM.match(short):
                found = sorted({*about.get_table_names(schema), *about.get_view_names(schema)})
                names += found if short in (own, "main") else [f"{short}.{name}" for name in found]
    return names
