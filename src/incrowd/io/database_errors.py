"""What is wrong with a database: the causes that people can do something about, told apart.

Drivers say it in a code (SQLSTATE, or a number) or only in words. Both are looked at and never repeated: words of a
driver may quote cells.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from incrowd.errors import InputError
from incrowd.io.connecting import PASSWORD, Database

if TYPE_CHECKING:
    import sqlalchemy as sa

SHOWN = 20  # names of tables in a hint


@dataclass(frozen=True)
class _Cause:
    """How drivers name a cause: codes of SQL's standard, numbers of MySQL and SQL Server, and words."""

    name: str
    states: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    words: str = r"(?!)"


# In the order in which they are tried: a driver's words about a server may mention its database too.
_CAUSES = (
    _Cause(
        "host", (), (2005,),
        r"could not translate host name|failed to resolve|name or service not known|nodename nor servname|"
        r"getaddrinfo failed|no address associated|unknown mysql server host|temporary failure in name resolution",
    ),
    _Cause(
        "server", ("08001", "08004", "08006", "HYT00"), (2002, 2003, 2013, 20009),
        r"connection refused|is the server running|timeout expired|timed out|network is unreachable|no route to host|"
        r"connection reset|server closed the connection|can't connect to|unable to connect",
    ),
    _Cause(
        "password", ("28P01", "28000"), (1045, 18456),
        r"password authentication failed|no password supplied|access denied for user .*using password|"
        r"authentication failed|login failed for user|role .* does not exist|no pg_hba.conf entry",
    ),
    _Cause(
        "database", ("3D000",), (1044, 1049, 4060), r"database .* does not exist|unknown database|cannot open database",
    ),
    _Cause("column", ("42703",), (1054, 207), r"no such column|column .* does not exist|referenced column"),
    _Cause("schema", ("3F000",), (2760,), r"schema .* does not exist"),
    _Cause(
        "table", ("42P01", "42S02"), (1146, 208),
        r"no such table|relation .* does not exist|table with name .* does not exist|"
        r"unknown database",
    ),
    _Cause(
        "changes", ("25006",), (1792,),
        r"read-only transaction|readonly database|read.only mode|in read.only|query_only",
    ),
    _Cause(
        "permission", ("42501",), (1142, 1143, 1227, 229, 230, 262),
        r"permission denied|unable to open database file|must be owner|command denied|not authorized|cannot open file",
    ),
    _Cause("busy", ("55P03", "40P01"), (1205, 1213), r"database is locked|could not set lock|lock timeout|deadlock"),
    _Cause("space", ("53100",), (1021, 1114), r"disk is full|disk i/o error|no space left|could not extend file"),
    _Cause("damage", (), (), r"file is not a database|malformed|not a valid duckdb|corrupt"),
    _Cause("syntax", ("42601",), (1064, 102, 156), r"syntax error|parser error|incorrect syntax|incomplete input"),
    _Cause("dependents", ("2BP01",), (), r"other objects depend on it|depend on it"),
)  # fmt: skip
_NAMED = re.compile(
    r"no such (?:table|column): (\S+)|(?:relation|column) \"([^\"]+)\" does not exist|"
    r"table with name (\S+) does not exist|table '([^']+)' doesn't exist|unknown column '([^']+)'|"
    r"invalid (?:object|column) name '([^']+)'",
    re.IGNORECASE,
)


def cause_of(error: BaseException) -> str | None:
    """Return the name of what is wrong, if it is one of those that are told apart."""
    origin = getattr(error, "orig", None) or error
    state = getattr(origin, "sqlstate", None) or getattr(origin, "pgcode", None)
    codes = [part for part in origin.args if isinstance(part, int)]
    states = {state} | {part for part in origin.args if isinstance(part, str)}
    words = str(origin).lower()
    if re.search(_CAUSES[0].words, words):  # a host, which some drivers give the number of a server
        return _CAUSES[0].name
    for cause in _CAUSES:
        if states & set(cause.states) or set(codes) & set(cause.numbers):
            return cause.name
    return next((cause.name for cause in _CAUSES if re.search(cause.words, words, re.DOTALL)), None)


def explain(error: BaseException, database: Database, *, doing: str, tables: list[str] | None = None) -> InputError:
    """Return an error that says what is wrong and what to do next; raise it outside the handler of the driver's.

    Parameters
    ----------
    error
        What SQLAlchemy or the driver raised.
    doing
        What could not be done, as a verb and its object.
    tables
        Tables that are there, if they are known.
    """
    url, label = database.url, database.label
    cause, server = cause_of(error), _server(url)
    user, name = url.username or "", _named(error)
    wanted = name.strip("'")
    near = get_close_matches(wanted, tables or (), n=1) or get_close_matches(
        wanted.rpartition(".")[2], tables or (), n=1
    )
    listed = f"; the tables are {', '.join(tables[:SHOWN])}" if tables else ""
    guess = f"did you mean '{near[0]}'?" if near else f"check the name{listed}"
    who = f" of user '{user}'" if user else ""
    facts = {
        "host": (f"There is no host named '{url.host or ''}'", f"check the name: {database.address}"),
        "server": (f"No database server answers at {server}", f"check host and port, and that it runs: {_probe(url)}"),
        "password": (
            f"The server at {server} did not accept the user or the password{who}",
            f"check both, try it with {_client(url)}, and give the password by the variable {PASSWORD}",
        ),
        "database": (
            f"The server at {server} has no database '{url.database or ''}', or it is closed to you",
            f"check the name; list the databases with {_databases(url)}",
        ),
        "column": (f"{label} has no column {name or 'that the query names'}", "check the names of columns"),
        "schema": (
            f"{label} has no schema '{_schema(doing)}'",
            "check the part of the table's name before the dot, or leave it out; create schema makes one",
        ),
        "table": (f"{label} has no table {name or 'that the query names'}", guess),
        "changes": (f"{label}: the query would change something, and was opened for reading", "use a select statement"),
        "permission": (f"{label} does not let you {doing}", _rights(database, doing)),
        "busy": (f"{label} is in use by another program", "close the other program, and run it again"),
        "space": (f"{label} has no space left", "free some space; nothing was written"),
        "damage": (f"{label} is not a database, or it is damaged", "check the file, or restore it from a copy"),
        "syntax": (f"{label} could not parse the query", "check the query with the database's own client"),
        "dependents": (
            f"{label}: views or other objects use the table that would be replaced",
            "drop them first, or write to a new table; nothing was written",
        ),
    }
    if cause is not None:
        return InputError(*facts[cause])
    kind = type(getattr(error, "orig", None) or error).__name__
    hint = f"check it with {_client(url)}, which shows the database's own message{listed}"
    return InputError(f"{label}: could not {doing} ({kind})", hint)


def _named(error: BaseException) -> str:
    found = _NAMED.search(str(getattr(error, "orig", None) or error))
    return f"'{next(filter(None, found.groups()))}'" if found else ""


def _server(url: sa.URL) -> str:
    port = f":{url.port}" if url.port else ""
    return f"'{url.host or 'the local socket'}{port}'"


def _at(url: sa.URL, host: str, port: str, user: str) -> str:
    # A socket's folder and its port are options of the URL.
    given = ((host, url.host or url.query.get("host")), (port, url.port or url.query.get("port")), (user, url.username))
    return "".join(f" {option} {value}" for option, value in given if value)


def _client(url: sa.URL) -> str:
    """Return the command of the database's own client; it asks for the password."""
    name = url.database or ""
    commands = {
        "postgresql": f"psql{_at(url, '-h', '-p', '-U')} -d {name}",
        "mysql": f"mysql{_at(url, '-h', '-P', '-u')} -p {name}",
        "mariadb": f"mariadb{_at(url, '-h', '-P', '-u')} -p {name}",
        "mssql": f"sqlcmd -S {url.host or ''}{f',{url.port}' if url.port else ''} -U {url.username or ''} -d {name}",
        "sqlite": f"sqlite3 {name}",
        "duckdb": f"duckdb {name}",
    }
    return commands.get(url.get_backend_name(), "the database's own client")


def _probe(url: sa.URL) -> str:
    at = _at(url, "-h", "-p", "-U")
    return f"pg_isready{at}" if url.get_backend_name() == "postgresql" else _client(url)


def _databases(url: sa.URL) -> str:
    at = _at(url, "-h", "-p", "-U")
    return f"psql{at} -l" if url.get_backend_name() == "postgresql" else _client(url.set(database=""))


def _schema(doing: str) -> str:
    """Return the schema of the table that something is done with."""
    named = re.search(r"'(.+)\.[^.]+'", doing)
    return named[1] if named else "..."


def _rights(database: Database, doing: str) -> str:
    if database.file is not None:
        return f"check that the folder '{database.file.parent}' exists and that you may write and read there"
    named, schema = re.search("'(.+)'", doing), _schema(doing)
    right = f"select on {named[1] if named else '...'}"
    if doing.startswith("write"):
        named_schema = None if schema == "..." else schema
        right = {
            "mysql": f"create, drop, select, insert, delete on {named_schema or database.url.database}.*",
            "mssql": f"alter, select, insert, delete on schema::{named_schema or 'dbo'}",
        }.get(_family(database.backend), f"create on schema {schema}")
    return f"ask its owner for the right: grant {right} to {database.url.username or 'you'}"


def _family(backend: str) -> str:
    return "mysql" if backend == "mariadb" else backend
