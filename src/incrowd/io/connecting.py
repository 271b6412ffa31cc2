"""Connections to databases through SQLAlchemy: which driver, for reading only or not, and what is wrong if it fails.

A message of a driver may quote cells, and a URL may hold a password, so errors repeat neither: `explain` only looks at
the driver's message to tell the causes apart.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from incrowd.errors import InputError, MissingDependencyError
from incrowd.passwords import holds_password

if TYPE_CHECKING:
    import sqlalchemy as sa

PASSWORD = "INCROWD_DB_PASSWORD"
"""Environment variable with the password of a database whose URL has a user and no password."""

_TIMEOUT = 20  # seconds that a server may take to answer at all; networks that drop packets never do
_IN_FILES = ("sqlite", "duckdb")
_MOST_PORT = 65535
_HARMLESS = re.compile(r"(?:host|port|driver|sslmode|charset|unix_socket|Encrypt|TrustServerCertificate)=[\w.+/%-]*")
"""Options of URLs that say where a server is and how to talk to it, without which an address is of no use."""
_NO_DATABASES = dict.fromkeys(
    ("http", "https", "ftp", "s3", "gs", "abfs", "hdfs"), "copy the file to this machine first, and give its name"
) | {"file": "give the name of the file without 'file://'"}
_SERVERS = {
    "postgresql": "PostgreSQL", "mysql": "MySQL", "mariadb": "MariaDB", "mssql": "SQL Server", "sqlite": "SQLite",
    "duckdb": "DuckDB", "oracle": "Oracle",
}  # fmt: skip
# Drivers by preference, as SQLAlchemy names them, with their modules and packages.
_DRIVERS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "postgresql": (
        ("psycopg", "psycopg", "'incrowd[postgresql]'"), ("psycopg2", "psycopg2", "psycopg2-binary"),
        ("pg8000", "pg8000", "pg8000"),
    ),
    "mysql": (("pymysql", "pymysql", "'incrowd[mysql]'"), ("mysqldb", "MySQLdb", "mysqlclient")),
    "mariadb": (("pymysql", "pymysql", "'incrowd[mysql]'"), ("mysqldb", "MySQLdb", "mysqlclient")),
    "mssql": (("pyodbc", "pyodbc", "pyodbc"), ("pymssql", "pymssql", "pymssql")),
    "duckdb": (("", "duckdb_engine", "'incrowd[duckdb]'"),),
}  # fmt: skip
_TIMEOUT_NAMES = {
    "psycopg": "connect_timeout", "psycopg2": "connect_timeout", "pymysql": "connect_timeout", "pg8000": "timeout",
    "pymssql": "login_timeout", "pyodbc": "timeout",
}  # fmt: skip
READ_ONLY = {
    "sqlite": "PRAGMA query_only = ON",
    "postgresql": "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "mysql": "SET SESSION TRANSACTION READ ONLY",
    "mariadb": "SET SESSION TRANSACTION READ ONLY",
    "duckdb": None,  # by how the file is opened
}
"""Databases with sessions that may only read, and the order that makes one."""


@dataclass(frozen=True)
class Database:
    """An open database.

    Attributes
    ----------
    engine
        Makes connections.
    url
        Its URL with the driver that is used.
    address
        Its URL as it may be shown: without a password.
    label
        How sentences name it.
    """

    engine: sa.Engine
    url: sa.URL
    address: str
    label: str

    @property
    def backend(self) -> str:
        """Name of the kind of database: postgresql, sqlite, ..."""
        return self.url.get_backend_name()

    @property
    def file(self) -> Path | None:
        """The file that it is in, if it is in one."""
        return local_file(self.url)


def public_url(text: str) -> str:
    """Return a URL without its password, and of its options those that hold none; anything else as it is.

    >>> public_url("postgresql://ada:lovelace@db.example:5432/hospital?sslpassword=x&sslmode=require#public.release")
    'postgresql://ada@db.example:5432/hospital?sslmode=require#public.release'
    >>> public_url("data.csv")
    'data.csv'
    """
    if not is_url(text):
        return text
    address, table = split_table(text)
    scheme, _, rest = address.partition("://")
    # Up to the last @: a password may have one, and hiding too much is better than too little.
    start, at, end = rest.rpartition("@")
    user = start.partition(":")[0] + "@" if at and not start.startswith("/") else start + at
    end, _, options = end.partition("?")
    kept = "&".join(option for option in options.split("&") if _HARMLESS.fullmatch(option))
    return f"{scheme}://{user}{end}{f'?{kept}' if kept else ''}{'' if table is None else f'#{table}'}"


def split_table(address: str) -> tuple[str, str | None]:
    """Split the address of a table, `URL#table` or `URL#schema.table`, into the URL and the table.

    >>> split_table("sqlite:///people.db#release")
    ('sqlite:///people.db', 'release')
    """
    url, mark, table = address.rpartition("#")
    # What stands before the last / or @ is not the end of a URL: a password or the name of a file may have a #.
    if not mark or not is_url(url) or not table or re.search(r"[/@?=]", table):
        return address, None
    return url, table


def is_url(source: object) -> bool:
    """Tell whether a source is a URL and not a file."""
    return isinstance(source, str) and re.match(r"[A-Za-z][A-Za-z0-9+.\-]*://", source) is not None


def refuse_broken_url(text: object) -> None:
    """Refuse what seems to be the address of a database and cannot be, without repeating it: it may hold a password."""
    if not isinstance(text, str):
        return
    kind, _, rest = text.partition(":")
    plain = kind.lower().partition("+")[0]
    if not is_url(text):
        if plain in (*_SERVERS, "postgres") and not Path(text).exists():
            fact = f"The address has too few slashes after '{plain}:'"
            raise InputError(fact, _example(plain))
        if holds_password(text) and not Path(text).exists():
            fact = "The address looks like that of a database, but has no '://' after its kind"
            raise InputError(fact, _example("postgresql"))
        return
    if plain in _NO_DATABASES:
        fact = f"Addresses of the kind '{plain}://' are not read"
        raise InputError(fact, _NO_DATABASES[plain])
    authority = re.split(r"[/?]", rest[2:], maxsplit=1)[0]
    if plain in _IN_FILES and authority.partition("#")[0]:
        fact = f"The address has two slashes after '{plain}:', and a file needs three or four"
        raise InputError(fact, _example(plain))
    if authority.count("@") > 1:
        fact = "The address of the database has more than one '@' before the name of its host"
        raise InputError(fact, "write %40 for an '@' in a password, or give the password in INCROWD_DB_PASSWORD")
    port = re.search(r":([^\]:]+)$", authority.rpartition("@")[2].partition("#")[0])
    if port is not None and not (re.fullmatch(r"\d{1,5}", port[1], re.ASCII) and 0 < int(port[1]) <= _MOST_PORT):
        fact = f"The port in the address is not a whole number from 1 to {_MOST_PORT}"
        raise InputError(fact, f"{_example(plain)}; write %2F for a '/' in a password, %23 for a '#'")


def _example(kind: str) -> str:
    if kind in _IN_FILES:
        return f"write {kind}:///name.db for a file in the working folder, and {kind}:////folder/name.db for any other"
    port = {"mysql": 3306, "mariadb": 3306, "mssql": 1433, "oracle": 1521}.get(kind, 5432)
    return f"write it like this: {'postgresql' if kind == 'postgres' else kind}://user@host:{port}/name"


def local_file(url: sa.URL) -> Path | None:
    """Return the file of a database that is in one."""
    name = url.database or ""
    if url.get_backend_name() not in _IN_FILES or name in ("", ":memory:") or name.startswith("file:"):
        return None
    return Path(name)


@contextmanager
def opened(address: str, *, read_only: bool) -> Iterator[Database]:
    """Yield a database; what is wrong with its address or lacks here is an error at once, before it is asked anything.

    Parameters
    ----------
    address
        A URL as SQLAlchemy writes them.
    read_only
        Whether sessions may only read, as far as the database knows such sessions.
    """
    engine, url = _engine(address, read_only=read_only)
    database = Database(
        engine, url, public_url(address), f"The {url.get_backend_name()} database '{url.database or ''}'"
    )
    try:
        file = database.file
        # SQLite and DuckDB would create an empty database for a mistyped name.
        if read_only and file is not None and not file.is_file():
            kind = database.backend
            fact = f"There is no database file '{file}'"
            hint = f"check the path: {kind}:///name.db is in the working folder, {kind}:////name.db in the root"
            raise InputError(fact, hint)
        yield database
    finally:
        engine.dispose()


def _engine(address: str, *, read_only: bool) -> tuple[sa.Engine, sa.URL]:
    try:
        import sqlalchemy as sa  # noqa: PLC0415
    except ModuleNotFoundError:
        fact = "Databases need SQLAlchemy, which is not installed"
        raise MissingDependencyError(fact, extra="sql") from None
    refuse_broken_url(address)
    scheme = address.split("://", 1)[0]
    missing = ""
    try:
        url = _with_driver(sa.make_url(_old_names(address)))
        options, order = _options(url, read_only=read_only), READ_ONLY.get(url.get_backend_name())
        engine = sa.create_engine(_read_only_url(url) if read_only else url, connect_args=options)
    except sa.exc.NoSuchModuleError:
        fact = f"'{scheme}' is not a database that SQLAlchemy knows"
        hint = "write a URL such as sqlite:///file.db or postgresql://user@host/name"
    except (sa.exc.ArgumentError, ValueError, TypeError):
        fact = f"The {scheme} address is not a database URL"
        hint = "write it like this: postgresql://user@host:5432/name"
    except ModuleNotFoundError as error:
        missing = error.name or scheme
    else:
        if read_only and order is not None:
            _ask_only(engine, order)
        return engine, url
    # Outside the handlers, so that what SQLAlchemy says of the URL does not travel along.
    if missing:
        raise _no_driver(scheme, missing)
    raise InputError(fact, hint)


def _old_names(address: str) -> str:
    return address.replace("postgres://", "postgresql://", 1) if address.startswith("postgres://") else address


def _with_driver(url: sa.URL) -> sa.URL:
    """Choose a driver that is installed, if the URL names none, and take the password from the environment."""
    import sqlalchemy as sa  # noqa: PLC0415

    backend = url.get_backend_name()
    url = _with_password(url)
    known = _DRIVERS.get(backend, ())
    if "+" in url.drivername:
        module = next((module for name, module, _ in known if name == url.drivername.partition("+")[2]), None)
        if module is not None and not _is_installed(module):
            raise ModuleNotFoundError(name=module)
        return _with_odbc(url)
    if known and not any(_is_installed(module) for _, module, _ in known):
        raise ModuleNotFoundError(name=known[0][1])
    for name, module, _ in known:
        if name and _is_installed(module):
            return _with_odbc(sa.make_url(url).set(drivername=f"{backend}+{name}"))
    return url


def _with_password(url: sa.URL) -> sa.URL:
    backend = url.get_backend_name()
    if backend not in _IN_FILES and url.username and url.password is None and os.environ.get(PASSWORD):
        return url.set(password=os.environ[PASSWORD])
    return url


def _with_odbc(url: sa.URL) -> sa.URL:
    """Name the ODBC driver of SQL Server, which pyodbc wants to be told: the newest that is installed."""
    if url.drivername != "mssql+pyodbc" or not url.host or {"driver", "odbc_connect"} & {*url.query}:
        return url
    found = sorted(name for name in importlib.import_module("pyodbc").drivers() if "SQL Server" in name)
    if not found:
        fact = "No ODBC driver for SQL Server is installed"
        raise MissingDependencyError(fact, "install Microsoft's msodbcsql18; pip install pymssql needs no such driver")
    return url.update_query_dict({"driver": found[-1]})


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # it was forbidden to import it
        return False


def _no_driver(scheme: str, module: str) -> MissingDependencyError:
    backend = _old_names(f"{scheme}://").partition("://")[0].partition("+")[0]
    package = next((package for _, name, package in _DRIVERS.get(backend, ()) if name == module), module)
    fact = f"The driver '{module}' for {_SERVERS.get(backend, backend)} is not installed"
    return MissingDependencyError(fact, f"pip install {package}")


def _options(url: sa.URL, *, read_only: bool) -> dict[str, Any]:
    backend = url.get_backend_name()
    if backend == "duckdb":
        return {"read_only": True} if read_only and local_file(url) is not None else {}
    name = _TIMEOUT_NAMES.get(url.drivername.partition("+")[2])
    return {name: _TIMEOUT} if name and name not in url.query else {}


def _read_only_url(url: sa.URL) -> sa.URL:
    """Let SQLite open its file for reading only."""
    name, file = url.database or "", local_file(url)
    is_plain = url.get_backend_name() == "sqlite" and url.get_driver_name() == "pysqlite"
    if not is_plain or (file is None and not name.startswith("file:")):
        return url
    name = name if file is None else f"file:{quote(os.fsencode(file.absolute()))}"
    return url.set(database=name, query={**url.query, "mode": "ro", "uri": "true"})


def _ask_only(engine: sa.Engine, order: str) -> None:
    import sqlalchemy as sa  # noqa: PLC0415

    def begin(connection: Any, _record: object) -> None:  # noqa: ANN401 - of whichever driver
        cursor = connection.cursor()
        cursor.execute(order)
        cursor.close()
        connection.commit()  # or the setting would end with the first transaction

    sa.event.listen(engine, "connect", begin)
