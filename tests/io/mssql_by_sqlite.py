"""A stand-in for pyodbc and SQL Server: SQLAlchemy's own dialect speaks to it, and SQLite does what it is told.

There is no SQL Server that runs here. This one holds what a dialect can be held to without one: SQLAlchemy writes every
statement for SQL Server, names are in square brackets, tables are in the schema `dbo`, types are those of SQL Server,
and creating, filling, emptying and dropping tables happens in transactions that really are taken back. It does not know
what a real server would refuse.
"""

import datetime as dt
import importlib.machinery
import re
import sqlite3
import types

_ANSWERS = (
    (r"(?i)SERVERPROPERTY\('productversion'\)", [("16.0.1000.6",)]),
    (r"schema_name\(\)", [("dbo",)]),
    (r"db_name\(\)", [("shop",)]),
    (r"test max support", [("test max support",)]),
    (r"sys\.system_views|fn_listextendedproperty", [("dm_exec_sessions",)]),
    (r"(?s)SCHEMA_NAME.*FROM \[INFORMATION_SCHEMA\]\.\[SCHEMATA\]|FROM sys\.schemas", [("dbo",), ("sys",)]),
    (r"transaction_isolation_level", [("READ COMMITTED",)]),
)
_CATALOGUE = re.compile(r"FROM (?:\[INFORMATION_SCHEMA\]\.\[TABLES\]|sys\.objects|\[INFORMATION_SCHEMA\]\.\[VIEWS\])")
_WORDS = ("dbo", "BASE TABLE", "VIEW", "U", "V")
_BRACKETS = re.compile(r"\[((?:[^\]]|\]\])*)\]")
_NATIVE = {
    "BIT": bool,
    "DATE": lambda text: dt.date.fromisoformat(text[:10]),
    "DATETIME2(6)": dt.datetime.fromisoformat,
}


def _quoted(found):
    """Write a name as SQLite does, which knows no brackets in brackets."""
    name = found[1].replace("]]", "]").replace('"', '""')
    return f'"{name}"'


class Error(Exception):
    """As pyodbc raises them: SQLSTATE and a message."""


class Server:
    """What is in the database, and every statement that was sent."""

    def __init__(self):
        self.path = None
        self.sent, self.asked = [], []
        self.drivers = ["SQLite3", "ODBC Driver 17 for SQL Server", "ODBC Driver 18 for SQL Server"]
        self.password = "geheim-4711"

    def module(self):
        """Return a module that takes the place of pyodbc."""
        found = types.ModuleType("pyodbc")
        found.__spec__ = importlib.machinery.ModuleSpec("pyodbc", None)
        found.paramstyle, found.version, found.apilevel, found.threadsafety = "qmark", "5.1.0", "2.0", 1
        for name in ("Error", "DatabaseError", "OperationalError", "ProgrammingError", "InterfaceError", "DataError",
                     "IntegrityError", "InternalError", "NotSupportedError", "Warning"):  # fmt: skip
            setattr(found, name, Error)
        found.NUMBER = found.STRING = found.DATETIME = found.BINARY = found.ROWID = object()
        found.SQL_DRIVER_NAME, found.SQL_DBMS_VER, found.SQL_WVARCHAR, found.SQL_VARCHAR = 6, 18, -9, 12
        found.Binary, found.Cursor, found.pooling = bytes, _Cursor, False
        found.drivers = lambda: self.drivers
        found.connect = lambda *words, **_options: _Connection(self, ";".join(map(str, words)))
        return found


class _Connection:
    def __init__(self, server, words):
        if f"PWD={server.password}" not in words:
            raise Error("28000", f"[28000] Login failed for user 'sa'. (18456) ({words})")
        server.asked.append(words)
        self.server, self.autocommit, self.timeout = server, False, 0
        self.base = sqlite3.connect(server.path / "tempdb.db", isolation_level=None)
        self.base.execute("ATTACH ? AS dbo", [str(server.path / "shop.db")])

    def getinfo(self, what):
        return "16.00.1000" if what == 18 else "msodbcsql18"

    def add_output_converter(self, *_):
        pass

    def setencoding(self, *_, **__):
        pass

    setdecoding = setencoding

    def cursor(self):
        return _Cursor(self)

    def commit(self):
        if self.base.in_transaction:
            self.base.execute("COMMIT")

    def rollback(self):
        if self.base.in_transaction:
            self.base.execute("ROLLBACK")

    def close(self):
        self.base.close()


class _Cursor:
    fast_executemany = False
    arraysize = 1

    def __init__(self, connection):
        self.connection = connection
        self.found = connection.base.cursor()
        self.answer = None
        self.kinds = []

    def setinputsizes(self, *_):
        pass

    def execute(self, statement, *parameters):
        self._send(statement, self.found.execute, parameters[0] if len(parameters) == 1 else parameters)
        return self

    def executemany(self, statement, rows):
        self._send(statement, self.found.executemany, rows)

    def _send(self, statement, send, parameters):
        self.connection.server.sent.append(statement)
        self.answer = next((list(rows) for pattern, rows in _ANSWERS if re.search(pattern, statement)), None)
        if self.answer is not None:
            return
        if _CATALOGUE.search(statement):
            known = {name for (name,) in self.found.execute("SELECT name FROM dbo.sqlite_master WHERE type = 'table'")}
            asked = [value for value in parameters if value.strip() not in _WORDS]
            self.answer = [(name,) for name in sorted(known) if not asked or name in asked]
            return
        if not self.connection.base.in_transaction and not self.connection.autocommit:
            self.found.execute("BEGIN")
        try:
            plain = re.sub(r"CAST\(\? AS NVARCHAR\(max\)\)", "?", statement).replace("NVARCHAR(max)", "NVARCHAR")
            send(_BRACKETS.sub(_quoted, plain), parameters)
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                raise Error("42S02", f"[42S02] Invalid object name 'x'. (208) {parameters}") from None
            raise Error("42000", f"[42000] {error} {parameters}") from None
        self.kinds = self._types(statement)

    def _types(self, statement):
        """Return the types of the columns of the table that a query asks, to give values as the driver does."""
        table = re.search(r"FROM \[?dbo\]?\.\[([^\]]+)\]", statement)
        if table is None or self.found.description is None:
            return []
        columns = self.connection.base.execute(f"SELECT name, type FROM dbo.pragma_table_info('{table[1]}')")
        known = dict(columns.fetchall())
        return [_NATIVE.get(known.get(column[0], "")) for column in self.found.description]

    def _row(self, row):
        return tuple(
            kind(value) if kind is not None and value is not None else value
            for kind, value in zip(self.kinds or [None] * len(row), row, strict=True)
        )

    @property
    def description(self):
        if self.answer is not None:
            return [("answer", None, None, None, None, None, None)]
        return self.found.description

    @property
    def rowcount(self):
        return self.found.rowcount

    def fetchone(self):
        if self.answer is not None:
            return self.answer.pop(0) if self.answer else None
        row = self.found.fetchone()
        return None if row is None else self._row(row)

    def fetchmany(self, size=1):
        if self.answer is not None:
            return self.fetchall()
        return [self._row(row) for row in self.found.fetchmany(size)]

    def fetchall(self):
        if self.answer is not None:
            rows, self.answer = self.answer, []
            return rows
        return [self._row(row) for row in self.found.fetchall()]

    def close(self):
        self.found.close()
