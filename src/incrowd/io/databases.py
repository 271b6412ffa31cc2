"""SQL databases through SQLAlchemy.

A query cannot change anything: only statements that ask are sent, in a session that may only read where the database
has such a thing, and in a transaction that is always rolled back.
A message of a driver may quote cells, and a URL may hold a password, so errors name neither.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import polars as pl

from incrowd.errors import InputError, MissingDependencyError
from incrowd.io.columns import check_names
from incrowd.io.frames import from_objects

if TYPE_CHECKING:
    import sqlalchemy as sa

_FETCH = 50_000
_FIRST_WORD = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*([^\s(;]*)", re.DOTALL)
_QUESTIONS = {"select", "with", "values", "table", "from", "show", "describe", "explain", "pragma"}
_READ_ONLY = {
    "sqlite": "PRAGMA query_only = ON",
    "postgresql": "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "mysql": "SET SESSION TRANSACTION READ ONLY",
    "mariadb": "SET SESSION TRANSACTION READ ONLY",
}


def quoted(name: str) -> str:
    """Return the name of a table as standard SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def read_table(url: str, table: str, report: Callable[[int], None]) -> pl.DataFrame:
    """Return all rows of a table, whose name may begin with that of its schema and a point."""
    with _engine(url, read_only=True) as (engine, _):
        quote_name = engine.dialect.identifier_preparer.quote_identifier
        query = f"select * from {'.'.join(map(quote_name, table.split('.')))}"
    return read_query(url, query, report)


def read_query(url: str, query: str | None, report: Callable[[int], None]) -> pl.DataFrame:
    """Run a query and return its rows; `report` is called with the number of rows so far."""
    if not query or not query.strip():
        fact = "A database needs a query or the name of a table"
        raise InputError(fact, "give one, for example table='patients' or query='select * from patients'")
    with _engine(url, read_only=True) as (engine, label):
        import sqlalchemy as sa  # noqa: PLC0415

        check_question(query, label)
        try:
            names, columns = _fetch(engine, query, label, report)
        except sa.exc.SQLAlchemyError as error:
            fact = f"{label} did not answer the query ({_cause(error)})"
            hint = _tables_hint(engine)
        else:
            return pl.DataFrame(
                [from_objects(name, values, label) for name, values in zip(names, columns, strict=True)]
            )
    # Outside the handler, so that the driver's message does not travel along.
    raise InputError(fact, hint)


def write_table(frame: pl.DataFrame, url: str, table: str | None) -> None:
    """Create a table and fill it in one transaction."""
    if not table:
        fact = "Writing to a database needs the name of a table"
        raise InputError(fact, 'give one, for example table="release"')
    with _engine(url, read_only=False) as (engine, label):
        import sqlalchemy as sa  # noqa: PLC0415

        created = _sqlite_file(engine.url)
        created = None if created is None or created.exists() else created
        target = _table(frame, table)
        try:
            _insert(frame, engine, target, label)
        except BaseException as error:
            if created is not None:
                engine.dispose()
                created.unlink(missing_ok=True)
            if not isinstance(error, sa.exc.SQLAlchemyError):
                raise
            fact = f"{label} did not accept the table '{table}' ({_cause(error)})"
        else:
            return
    raise InputError(fact, "check the address, your rights and the free space; nothing was written")


def _insert(frame: pl.DataFrame, engine: sa.Engine, target: sa.Table, label: str) -> None:
    import sqlalchemy as sa  # noqa: PLC0415

    if sa.inspect(engine).has_table(target.name):
        fact = f"{label} already has a table '{target.name}'"
        raise InputError(fact, "choose another name, or drop the table; nothing is ever overwritten")
    made = False
    try:
        with engine.begin() as connection:
            target.create(connection)
            made = True
            for part in frame.iter_slices(_FETCH):
                connection.execute(target.insert(), part.to_dicts())
    except BaseException:
        # Some databases commit the creation of a table at once.
        if made:
            with suppress(sa.exc.SQLAlchemyError):
                target.drop(engine, checkfirst=True)
        raise


def _table(frame: pl.DataFrame, name: str) -> sa.Table:
    import sqlalchemy as sa  # noqa: PLC0415

    def sql_type(dtype: pl.DataType) -> sa.types.TypeEngine[Any]:
        if dtype.is_integer():
            return sa.BigInteger()
        if dtype.is_float():
            return sa.Double()
        if dtype == pl.Boolean:
            return sa.Boolean()
        if dtype == pl.Date:
            return sa.Date()
        return sa.DateTime() if dtype == pl.Datetime else sa.Text()

    columns = [sa.Column(column, sql_type(dtype)) for column, dtype in frame.schema.items()]
    return sa.Table(name, sa.MetaData(), *columns)


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
        for rows in result.partitions(_FETCH):
            for column, values in zip(columns, zip(*rows, strict=True), strict=True):
                column.extend(values)
            report(len(columns[0]))
    return names, columns


@contextmanager
def _engine(url: str, *, read_only: bool) -> Iterator[tuple[sa.Engine, str]]:
    try:
        import sqlalchemy as sa  # noqa: PLC0415
    except ModuleNotFoundError:
        fact = "Databases need SQLAlchemy, which is not installed"
        raise MissingDependencyError(fact, extra="sql") from None
    dialect = url.split("://", 1)[0]
    try:
        engine = sa.create_engine(url)
    except sa.exc.NoSuchModuleError:
        fact = f"'{dialect}' is not a database that SQLAlchemy knows"
        raise InputError(fact, "write a URL such as sqlite:///file.db or postgresql://user@host/name") from None
    except (sa.exc.ArgumentError, ValueError, TypeError):
        fact = f"The {dialect} address is not a database URL"
        raise InputError(fact, "write it like this: postgresql://user:password@host:5432/name") from None
    except ModuleNotFoundError as error:
        fact = f"The driver '{error.name}' for {dialect} is not installed"
        raise MissingDependencyError(fact, f"pip install {error.name}") from None
    file = _sqlite_file(engine.url)
    # SQLite would create an empty database for a mistyped name.
    if read_only and file is not None and not file.is_file():
        fact = f"There is no database file '{file}'"
        raise InputError(
            fact, "check the path: sqlite:///name.db is in the working folder, sqlite:////name.db in the root"
        )
    label = f"The {dialect} database '{engine.url.database or ''}'"
    if read_only:
        engine = _read_only(engine, file)
    try:
        yield engine, label
    finally:
        engine.dispose()


def check_question(query: str, label: str) -> None:
    """Refuse what is not a question, before it is sent: some databases would carry out an order and keep it."""
    found = _FIRST_WORD.match(query)
    word = found[1].lower() if found else ""
    if word not in _QUESTIONS:
        fact = f"{label}: only queries are sent, and this statement begins with '{word}'"
        raise InputError(fact, "use a select statement")


def _read_only(engine: sa.Engine, file: Path | None) -> sa.Engine:
    """Return an engine whose sessions may only read, as far as the database knows such sessions."""
    import sqlalchemy as sa  # noqa: PLC0415

    name = engine.url.database or ""
    if engine.url.get_driver_name() == "pysqlite" and (file is not None or name.startswith("file:")):
        name = name if file is None else f"file:{quote(os.fsencode(file.absolute()))}"
        url = engine.url.set(database=name, query={**engine.url.query, "mode": "ro", "uri": "true"})
        engine.dispose()
        engine = sa.create_engine(url)
    order = _READ_ONLY.get(engine.url.get_backend_name())

    def begin(connection: Any, _record: object) -> None:  # noqa: ANN401 - of whichever driver
        cursor = connection.cursor()
        cursor.execute(order)
        cursor.close()
        connection.commit()  # or the setting would end with the first transaction

    if order is not None:
        sa.event.listen(engine, "connect", begin)
    return engine


def _sqlite_file(url: sa.URL) -> Path | None:
    name = url.database or ""
    if url.get_backend_name() != "sqlite" or name in ("", ":memory:") or name.startswith("file:"):
        return None
    return Path(name)


def _cause(error: Exception) -> str:
    return type(getattr(error, "orig", None) or error).__name__


def _tables_hint(engine: sa.Engine) -> str:
    import sqlalchemy as sa  # noqa: PLC0415

    names: list[str] = []
    with suppress(sa.exc.SQLAlchemyError):
        names = sa.inspect(engine).get_table_names()
    if names:
        return f"check the query; the tables are {', '.join(names[:20])}"
    return "check address, password and query with the database's own client, which shows its message"
