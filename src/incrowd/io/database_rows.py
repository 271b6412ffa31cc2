"""Rows of tables in databases: which types columns have there, and how rows come in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from incrowd.errors import InputError, VerificationError
from incrowd.io.connecting import Database
from incrowd.io.covers import CHANGED, TYPES, Cover, StoredColumn
from incrowd.io.databases import FETCH
from incrowd.io.frames import from_objects

if TYPE_CHECKING:
    import sqlalchemy as sa

_MYSQLS = ("mysql", "mariadb")
_MYSQL = {"charset": "utf8mb4", "collate": "utf8mb4_bin", "engine": "InnoDB"}  # every text, compared letter by letter
_PART = 10_000  # rows that are sent at a time


def sql_table(name: str, columns: Sequence[StoredColumn]) -> sa.Table:
    """Describe a table, with or without its schema; its columns have the keys `c0`, `c1`, ..."""
    import sqlalchemy as sa  # noqa: PLC0415

    schema, _, own = name.rpartition(".")
    # By keys of our own: names of columns may have any letters, and parameters of statements not.
    made = [
        sa.Column(column.stored, sql_type(TYPES[column.type]), key=f"c{at}", quote=True)
        for at, column in enumerate(columns)
    ]
    options: dict[str, Any] = {f"{kind}_{name}": value for kind in _MYSQLS for name, value in _MYSQL.items()}
    return sa.Table(own, sa.MetaData(), *made, schema=schema or None, quote=True, quote_schema=True, **options)


def sql_type(dtype: pl.DataType) -> sa.types.TypeEngine[Any]:
    """Return the type of a column in databases that holds every value of a type of polars."""
    import sqlalchemy as sa  # noqa: PLC0415
    from sqlalchemy.dialects import mssql, mysql  # noqa: PLC0415

    if dtype.is_integer():
        return sa.BigInteger()
    if dtype.is_float():
        return sa.Double()
    if dtype == pl.Boolean:
        return sa.Boolean()
    if dtype == pl.Date:
        return sa.Date()
    if isinstance(dtype, pl.Datetime):
        fine = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
        return fine.with_variant(mssql.DATETIME2(6), "mssql")  # type: ignore[no-untyped-call]
    return sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb").with_variant(sa.Unicode(), "mssql")


def is_same(connection: sa.Connection, target: sa.Table) -> bool:
    """Tell whether the database has a table with the columns that are described."""
    return stored_names(connection, target) == [column.name for column in target.columns]


def stored_names(connection: sa.Connection, target: sa.Table) -> list[str]:
    """Return the names of the columns that a table really has."""
    import sqlalchemy as sa  # noqa: PLC0415

    everything = sa.select(sa.text("*")).select_from(target).where(sa.false())
    return [str(name) for name in tuple(connection.execute(everything).keys())]


def insert(connection: sa.Connection, database: Database, target: sa.Table, frame: pl.DataFrame) -> None:
    """Add rows to a table."""
    keys = [column.key for column in target.columns]
    if database.engine.driver in _AT_ONCE:
        _AT_ONCE[database.engine.driver](connection, database, target, frame)
        return
    for part in frame.iter_slices(_PART):
        connection.execute(target.insert(), [dict(zip(keys, row, strict=True)) for row in part.rows()])


def _insert_into_duckdb(connection: sa.Connection, database: Database, target: sa.Table, frame: pl.DataFrame) -> None:
    """Hand over all rows at once: one at a time takes DuckDB a millisecond each."""
    raw: Any = connection.connection.driver_connection
    view = "incrowd_rows"
    raw.register(view, frame.rename({name: f"c{at}" for at, name in enumerate(frame.columns)}).to_arrow())
    try:
        connection.exec_driver_sql(f"INSERT INTO {quoted_name(database, target)} SELECT * FROM {view}")
    finally:
        raw.unregister(view)


def _copy_into_postgresql(connection: sa.Connection, database: Database, target: sa.Table, frame: pl.DataFrame) -> None:
    """Stream the rows, which takes a third of the time of statements."""
    raw: Any = connection.connection.driver_connection
    with raw.cursor() as cursor, cursor.copy(f"COPY {quoted_name(database, target)} FROM STDIN") as copy:
        for part in frame.iter_slices(_PART):
            for row in part.iter_rows():
                copy.write_row(row)


_AT_ONCE = {"psycopg": _copy_into_postgresql, "duckdb_engine": _insert_into_duckdb}
"""Drivers with a faster way than statements for rows."""


def driver_errors(database: Database) -> tuple[type[BaseException], ...]:
    """Return what SQLAlchemy raises, and what the driver does where it is called directly."""
    import sqlalchemy as sa  # noqa: PLC0415

    return sa.exc.SQLAlchemyError, database.engine.dialect.loaded_dbapi.Error


def read_all(
    connection: sa.Connection, database: Database, names: Mapping[str, str], cover: Cover
) -> dict[str, pl.DataFrame]:
    """Return the rows of tables, restored as their cover says."""
    import sqlalchemy as sa  # noqa: PLC0415

    found = {}
    for stem, name in names.items():
        where = f"{database.label}: table '{name}'"
        target = sql_table(name, cover.tables[stem])
        stored = stored_names(connection, target)
        wanted = [column.name for column in target.columns]
        frame = pl.DataFrame({each: [] for each in stored}) if stored != wanted else None
        if frame is None:
            columns: list[list[Any]] = [[] for _ in wanted]
            for rows in connection.execute(sa.select(target)).partitions(FETCH):
                for column, values in zip(columns, zip(*rows, strict=True), strict=True):
                    column.extend(values)
            frame = _frame(wanted, columns, where)
        found[stem] = cover.restore(stem, frame, where)
    return found


def _frame(names: Sequence[str], columns: Sequence[Sequence[Any]], where: str) -> pl.DataFrame:
    try:
        return pl.DataFrame([from_objects(name, values, where) for name, values in zip(names, columns, strict=True)])
    except InputError as error:  # SQLite keeps a text among numbers
        raise VerificationError(error.fact, CHANGED, violations=[error.fact]) from None


def full_name(target: sa.Table) -> str:
    """Return the name of a table with its schema."""
    return f"{target.schema}.{target.name}" if target.schema else str(target.name)


def quoted_name(database: Database, target: sa.Table) -> str:
    """Return the name of a table as statements have it."""
    return database.engine.dialect.identifier_preparer.format_table(target)
