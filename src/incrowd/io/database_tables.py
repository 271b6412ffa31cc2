"""Tables of a release in a database: created, filled, read back, and committed in one transaction.

Beside a table `t` there is a table `t_manifest` with one column `content` and one row for each release that is in `t`:
its cover. Only a table with such a companion is ever appended to or replaced, so that nothing else can be lost.

Where creating a table ends a transaction (MySQL, MariaDB), the rows of both tables are still written in one; what was
created is dropped if they are not. A killed process leaves empty tables there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from incrowd.errors import InputError
from incrowd.io.atomic import note_written
from incrowd.io.connecting import Database, opened, split_table
from incrowd.io.covers import TYPES, Cover, Rule, StoredColumn, shortened
from incrowd.io.database_errors import explain
from incrowd.io.database_rows import (
    driver_errors,
    full_name,
    insert,
    is_same,
    quoted_name,
    read_all,
    sql_table,
)
from incrowd.io.staging import uninterrupted

if TYPE_CHECKING:
    import sqlalchemy as sa

MANIFEST = "_manifest"
_TRANSACTIONAL = ("sqlite", "postgresql", "duckdb", "mssql")  # whose transactions create and drop tables
_WRITABLE = (*_TRANSACTIONAL, "mysql", "mariadb")
_LONGEST = {"postgresql": 63, "mysql": 64, "mariadb": 64, "mssql": 128}  # bytes or characters of a name


def name_rule(url: str) -> Rule:
    """Return how the columns of a database may be named."""
    backend = url.partition("://")[0].partition("+")[0].replace("postgres:", "postgresql:")
    return shortened(_LONGEST.get("postgresql" if backend == "postgres" else backend, 1000))


@contextmanager
def storing_tables(
    url: str, table: str, cover: Cover, tables: Mapping[str, pl.DataFrame], existing: str, done: Callable[[], None]
) -> Iterator[Callable[[], dict[str, pl.DataFrame]]]:
    """Write tables and their cover, and yield what reads them back; they are committed when the block has ended.

    `done` is called as soon as they are.
    """
    with opened(url, read_only=False) as database:
        targets = _targets(database, table, cover)
        created = None if database.file is None or database.file.exists() else database.file
        made: list[sa.Table] = []
        committed = False
        try:
            with _connection(database) as connection:
                before = _prepare(connection, database, targets, cover, existing, made)
                for stem, frame in tables.items():
                    insert(connection, database, targets[stem], frame)
                connection.execute(targets[MANIFEST].insert(), [{"c0": cover.to_json()}])
                yield lambda: _read_back(connection, database, targets, cover, before, tables)
                with uninterrupted():
                    connection.commit()
                    committed = True
                    done()
                    note_written(f"{database.address}#{table}")
        except BaseException as error:
            if committed:  # a signal that had to wait
                raise
            _undo(database, made, created)
            if not isinstance(error, driver_errors(database)):
                raise
            failed = explain(error, database, doing=f"write the table '{table}'")
        else:
            return
    raise failed


def try_creating(url: str, table: str, existing: str) -> None:
    """Find out whether a table could be written: the address, the password, the rights, and what is there already."""
    with opened(url, read_only=False) as database:
        import sqlalchemy as sa  # noqa: PLC0415

        target, manifest = sql_table(table, [StoredColumn("c", "c", "String")]), _manifest_table(table)
        _check_name(database, table)
        created = None if database.file is None or database.file.exists() else database.file
        try:
            with _connection(database) as connection:
                there = [each for each in (target, manifest) if _has(connection, full_name(each))]
                _refuse_tables(database, there, manifest, existing)
                if not there and database.backend in _TRANSACTIONAL:
                    manifest.create(connection)  # never committed
                connection.rollback()
        except sa.exc.SQLAlchemyError as error:
            failed = explain(error, database, doing=f"write the table '{table}'")
        else:
            return
        finally:
            _undo(database, [], created)
    raise failed


def fetch_tables(url: str, table: str) -> tuple[tuple[str, ...], dict[str, pl.DataFrame]]:
    """Return the covers beside a table, and its rows restored by the first of them."""
    with opened(url, read_only=True) as database:
        import sqlalchemy as sa  # noqa: PLC0415

        try:
            with database.engine.connect() as connection:
                if not _has(connection, f"{table}{MANIFEST}"):
                    raise _no_release(connection, database, table)
                content = _manifest_table(table)
                covers = tuple(sorted(str(row[0]) for row in connection.execute(sa.select(content))))
                if not covers:
                    raise _no_release(connection, database, table)
                cover = Cover.from_json(covers[0], f"{database.label}: '{table}{MANIFEST}'")
                return covers, read_all(connection, database, _named_tables(table, cover), cover)
        except sa.exc.SQLAlchemyError as error:
            failed = explain(error, database, doing=f"read the table '{table}'")
    raise failed


def has_manifest(address: str) -> bool:
    """Tell whether this is the address of a table that is a release."""
    url, table = split_table(address)
    if table is None:
        return False
    with opened(url, read_only=False) as database:
        if database.file is not None and not database.file.exists():
            return False
    with opened(url, read_only=True) as database:
        import sqlalchemy as sa  # noqa: PLC0415

        try:
            with database.engine.connect() as connection:
                return _has(connection, f"{table}{MANIFEST}")
        except sa.exc.SQLAlchemyError as error:
            failed = explain(error, database, doing=f"read the table '{table}'")
    raise failed


def _no_release(connection: sa.Connection, database: Database, table: str) -> InputError:
    has_table = _has(connection, table)
    if has_table:
        fact = f"{database.label}: table '{table}' has no manifest in '{table}{MANIFEST}', so it is not a release"
        return InputError(fact, "give quasi=[...] (--quasi) to check a table from elsewhere")
    return InputError(f"{database.label} has no table '{table}'", "check the name after the #")


def _named_tables(table: str, cover: Cover) -> dict[str, str]:
    """Return the name of the table of each stem: `t`, or of several `t_1`, `t_2`, ..."""
    stems = list(cover.tables)
    return {stem: table if len(stems) == 1 else f"{table}_{number}" for number, stem in enumerate(stems, start=1)}


def _targets(database: Database, table: str, cover: Cover) -> dict[str, sa.Table]:
    _check_name(database, table)
    targets = {stem: sql_table(name, cover.tables[stem]) for stem, name in _named_tables(table, cover).items()}
    return targets | {MANIFEST: _manifest_table(table)}


def _check_name(database: Database, table: str) -> None:
    """Refuse databases that releases are not written to, and names that they would cut off."""
    backend = database.backend
    if backend not in _WRITABLE:
        fact = f"Releases are not written to {backend}"
        raise InputError(fact, f"use one of {', '.join(_WRITABLE)}, or publish to a folder and load it from there")
    longest = max(len(part.encode()) for part in f"{table}{MANIFEST}".split("."))
    if longest > _LONGEST.get(backend, 1000):
        fact = f"The name of the table has too many letters for {backend}, with '{MANIFEST}' for its manifest"
        raise InputError(fact, f"use at most {_LONGEST[backend] - len(MANIFEST)}")


def _manifest_table(table: str) -> sa.Table:
    return sql_table(f"{table}{MANIFEST}", [StoredColumn("content", "content", "String")])


@contextmanager
def _connection(database: Database) -> Iterator[sa.Connection]:
    """Yield a connection in a transaction that creates tables too, as far as the database can; it is not committed."""
    import sqlalchemy as sa  # noqa: PLC0415

    if database.backend == "sqlite":
        # Its driver would begin a transaction only before the first row, and leave a created table behind.
        sa.event.listen(database.engine, "connect", lambda raw, _record: setattr(raw, "isolation_level", None))
        sa.event.listen(database.engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    with database.engine.connect() as connection, connection.begin():
        try:
            yield connection
        finally:
            if connection.in_transaction():
                with suppress(sa.exc.SQLAlchemyError):
                    connection.rollback()


def _has(connection: sa.Connection, table: str) -> bool:
    import sqlalchemy as sa  # noqa: PLC0415

    schema, _, name = table.rpartition(".")
    return sa.inspect(connection).has_table(name, schema=schema or None)


def _prepare(
    connection: sa.Connection, database: Database, targets: dict[str, sa.Table], cover: Cover, existing: str,
    made: list[sa.Table],
) -> dict[str, pl.DataFrame]:  # fmt: skip
    """Make empty tables, or find those to append to; return the rows that are in them already."""
    there = [target for target in targets.values() if _has(connection, full_name(target))]
    _refuse_tables(database, there, targets[MANIFEST], existing)
    before: dict[str, pl.DataFrame] = {}
    for stem, target in targets.items():
        if target not in there:
            _create(connection, database, target, made)
        elif existing == "append":
            _lock(connection, database, target)
            if stem != MANIFEST:
                before |= read_all(connection, database, {stem: full_name(target)}, cover)
        else:
            _empty(connection, database, target, made)
    return before


def _refuse_tables(database: Database, there: Sequence[sa.Table], manifest: sa.Table, existing: str) -> None:
    names = " and ".join(f"'{full_name(target)}'" for target in there)
    if there and existing == "refuse":
        fact = f"{database.label} already has the {'table' if len(there) == 1 else 'tables'} {names}"
        raise InputError(fact, "choose another name, or say replace=True or append=True")
    if there and manifest not in there:
        fact = f"{database.label}: {names} has no manifest beside it, so it is not a release of incrowd"
        raise InputError(fact, "choose another name; only releases are replaced or appended to")


def _lock(connection: sa.Connection, database: Database, target: sa.Table) -> None:
    """Check that rows can be appended to a table, and let nobody else add some meanwhile."""
    if not is_same(connection, target):
        fact = f"{database.label}: table '{full_name(target)}' has other columns than this release"
        raise InputError(fact, "write to a new table, or say replace=True")
    if database.backend == "postgresql":
        connection.exec_driver_sql(f"LOCK TABLE {quoted_name(database, target)} IN EXCLUSIVE MODE")


def _empty(connection: sa.Connection, database: Database, target: sa.Table, made: list[sa.Table]) -> None:
    """Empty a table, which keeps the rights of others and views of it; make it anew if it has other columns."""
    if is_same(connection, target):
        connection.execute(target.delete())
    elif database.backend in _TRANSACTIONAL:
        target.drop(connection)
        _create(connection, database, target, made)
    else:
        fact = f"{database.label}: table '{full_name(target)}' has other columns than this release"
        raise InputError(fact, f"drop it first: {database.backend} could not take that back if writing fails")


def _create(connection: sa.Connection, database: Database, target: sa.Table, made: list[sa.Table]) -> None:
    target.create(connection)
    if database.backend not in _TRANSACTIONAL:
        made.append(target)


def _read_back(
    connection: sa.Connection, database: Database, targets: dict[str, sa.Table], cover: Cover,
    before: dict[str, pl.DataFrame], tables: Mapping[str, pl.DataFrame],
) -> dict[str, pl.DataFrame]:  # fmt: skip
    """Return what reads back of the new rows; rows that were there before must be there still."""
    found = read_all(
        connection, database, {stem: full_name(target) for stem, target in targets.items() if stem != MANIFEST}, cover
    )
    for stem, earlier in before.items():
        expected = pl.concat([earlier, tables[stem]])
        expected = expected.sort(expected.columns, nulls_last=False, maintain_order=True)
        if not found[stem].equals(expected, null_equal=True):
            fact = f"{database.label}: the table does not hold its earlier rows and the new ones after appending"
            raise InputError(fact, "nothing was written; write to a new table")
        found[stem] = tables[stem]
    return found


def _undo(database: Database, made: Sequence[sa.Table], created: Path | None) -> None:
    """Remove what a transaction that failed has left: tables where creating one ends it, and a new file."""
    import sqlalchemy as sa  # noqa: PLC0415

    for target in made:
        with suppress(sa.exc.SQLAlchemyError):
            target.drop(database.engine, checkfirst=True)
    if created is not None:
        database.engine.dispose()
        for path in (created, created.with_name(f"{created.name}.wal"), created.with_name(f"{created.name}-journal")):
            path.unlink(missing_ok=True)


def write_table(frame: pl.DataFrame, url: str, table: str | None) -> None:
    """Create a plain table and fill it in one transaction."""
    if not table:
        fact = "Writing to a database needs the name of a table"
        raise InputError(fact, 'give one, for example table="release"')
    with opened(url, read_only=False) as database:
        created = None if database.file is None or database.file.exists() else database.file
        columns = [StoredColumn(name, name, _plain_type(dtype)) for name, dtype in frame.schema.items()]
        target = sql_table(table, columns)
        made: list[sa.Table] = []
        try:
            with _connection(database) as connection:
                _refuse_table(connection, database, table)
                _create(connection, database, target, made)
                insert(connection, database, target, frame)
                connection.commit()
        except BaseException as error:
            _undo(database, made, created)
            if not isinstance(error, driver_errors(database)):
                raise
            failed = explain(error, database, doing=f"write the table '{table}'")
        else:
            return
    raise failed


def _refuse_table(connection: sa.Connection, database: Database, table: str) -> None:
    if _has(connection, table):
        fact = f"{database.label} already has a table '{table}'"
        raise InputError(fact, "choose another name, or drop the table; nothing is ever overwritten")


def _plain_type(dtype: pl.DataType) -> str:
    if isinstance(dtype, pl.Datetime):
        return f"Datetime({dtype.time_unit})"
    return str(dtype) if str(dtype) in TYPES else "String"
