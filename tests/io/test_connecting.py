"""Addresses of databases: drivers, passwords, and statements for servers that tests cannot have."""

import sys

import polars as pl
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mssql, mysql, postgresql, sqlite

from incrowd.cli.settings import without_password
from incrowd.errors import InputError, MissingDependencyError
from incrowd.io import read
from incrowd.io.connecting import Database, opened, public_url, split_table
from incrowd.io.covers import TYPES, StoredColumn
from incrowd.io.database_errors import cause_of, explain
from incrowd.io.database_rows import sql_table
from incrowd.io.places import find_place, place_of

SECRET = "geheim"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"postgresql://ada:{SECRET}@host:5432/db#s.t", "postgresql://ada@host:5432/db#s.t"),
        (f"postgresql://ada:{SECRET}@x@host/db", "postgresql://ada@host/db"),
        (f"postgresql://ada:a#{SECRET}@host/db", "postgresql://ada@host/db"),
        (f"postgresql://ada:{SECRET}#@host/db#t", "postgresql://ada@host/db#t"),
        (f"mysql+pymysql://:{SECRET}@host/db", "mysql+pymysql://@host/db"),
        (f"mssql://u@host/db?password={SECRET}&x=1#dbo.t", "mssql://u@host/db#dbo.t"),
        (f"mssql+pyodbc:///?odbc_connect=PWD%3D{SECRET}", "mssql+pyodbc:///"),
        ("sqlite:////tmp/a@b:c.db#t", "sqlite:////tmp/a@b:c.db#t"),
        ("people.csv", "people.csv"),
    ],
)
def test_an_address_is_shown_without_its_password(url, shown):
    assert public_url(url) == shown
    if "#" in shown:
        assert SECRET not in repr(place_of(url))


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("sqlite:///a.db#t", ("sqlite:///a.db", "t")),
        ("sqlite:///a#b.db#t", ("sqlite:///a#b.db", "t")),
        ("postgresql://u:a#b@host/db", ("postgresql://u:a#b@host/db", None)),
        ("postgresql://host/db#", ("postgresql://host/db#", None)),
        ("people#1.csv", ("people#1.csv", None)),
    ],
)
def test_the_table_of_an_address(address, parts):
    assert split_table(address) == parts


@pytest.mark.parametrize("url", [f"postgresql://u:{SECRET}@h/d", "sqlite:///a.db"])
def test_a_release_needs_a_table(url):
    with pytest.raises(InputError, match="names no table") as caught:
        place_of(url)
    assert "#release" in caught.value.hint
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "driver"),
    [
        ("postgresql://u@h/d", "psycopg"),
        ("postgres://u@h/d", "psycopg"),
        ("postgresql+psycopg://u@h/d", "psycopg"),
        ("mysql://u@h/d", "pymysql"),
        ("mariadb://u@h/d", "pymysql"),
        ("duckdb:///:memory:", "duckdb_engine"),
        ("sqlite://", "pysqlite"),
    ],
)
def test_a_driver_that_is_installed_is_used(url, driver):
    with opened(url, read_only=False) as database:
        assert database.engine.driver == driver


@pytest.mark.parametrize(
    ("url", "module", "package"),
    [
        ("postgresql://u:geheim@h/d", "psycopg", "incrowd[postgresql]"),
        ("postgresql+psycopg2://u:geheim@h/d", "psycopg2", "psycopg2-binary"),
        ("mysql://u:geheim@h/d", "pymysql", "incrowd[mysql]"),
        ("mssql://u:geheim@h/d", "pyodbc", "pyodbc"),
        ("duckdb:///a.duckdb", "duckdb_engine", "incrowd[duckdb]"),
    ],
)
def test_a_missing_driver_says_what_to_install(monkeypatch, url, module, package):
    for name in ("psycopg", "psycopg2", "pg8000", "pymysql", "MySQLdb", "pyodbc", "pymssql", "duckdb_engine"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingDependencyError, match=f"The driver '{module}'") as caught:
        read(url, query="select 1")
    assert package in caught.value.hint
    assert SECRET not in str(caught.value)


COLUMNS = [StoredColumn(f"a.{name}", f"a.{name}", name) for name in TYPES]


@pytest.mark.parametrize(
    ("dialect", "words"),
    {
        mysql.dialect(): ["`a.Int64` BIGINT", "`a.String` LONGTEXT", "DATETIME(6)", "CHARSET=utf8mb4", "InnoDB"],
        mssql.dialect(): ["[a.Int64] BIGINT", "[a.String] NVARCHAR(max)", "DATETIME2(6)", "DOUBLE PRECISION", "BIT"],
        postgresql.dialect(): ['"a.Int64" BIGINT', '"a.String" TEXT', "TIMESTAMP WITHOUT", "DOUBLE PRECISION", "DATE"],
        sqlite.dialect(): ['"a.Int64" BIGINT', '"a.String" TEXT', '"a.Boolean" BOOLEAN'],
    }.items(),
    ids=lambda value: getattr(value, "name", ""),
)
def test_statements_of_servers(dialect, words):
    table = sql_table("dbo.release", COLUMNS)
    made = str(sa.schema.CreateTable(table).compile(dialect=dialect))
    assert [word for word in words if word not in made] == []
    added = str(table.insert().compile(dialect=dialect))
    assert "a.Int64" in added


# As the drivers of servers that are not here raise them.
@pytest.mark.parametrize(
    ("raised", "cause"),
    [
        ((1045, "Access denied for user 'u'@'h' (using password: YES)"), "password"),
        ((1049, "Unknown database 'd'"), "database"),
        ((1142, "SELECT command denied to user"), "permission"),
        ((1146, "Table 'd.t' doesn't exist"), "table"),
        ((1792, "Cannot execute statement in a READ ONLY transaction."), "changes"),
        ((2003, "Can't connect to MySQL server on 'h' ([Errno 111] Connection refused)"), "server"),
        ((2003, "Can't connect to MySQL server on 'h' ([Errno -2] Name or service not known)"), "host"),
        ((1044, "Access denied for user 'u'@'h' to database 'd'"), "database"),
        ((2005, "Unknown MySQL server host 'h'"), "host"),
        (("28000", "[28000] Login failed for user 'u'. (18456) (SQLDriverConnect)"), "password"),
        (("42S02", "[42S02] Invalid object name 't'. (208)"), "table"),
        (("HYT00", "[HYT00] Login timeout expired (0)"), "server"),
        ((4060, "Cannot open database requested by the login"), "database"),
        ((229, "The SELECT permission was denied on the object"), "permission"),
        (("something else",), None),
    ],
)
def test_causes_of_other_servers(raised, cause):
    assert cause_of(Exception(*raised)) == cause


@pytest.mark.parametrize(
    ("url", "raised", "fact", "hint"),
    [
        (
            "mysql://u@h/d",
            (1146, "Table 'd.poeple' doesn't exist"),
            "has no table 'd.poeple'",
            "did you mean 'people'?",
        ),
        ("mysql://u@h/d", (1054, "Unknown column 'x' in 'SELECT'"), "has no column 'x'", "check the names"),
        ("mysql://u@h/d", (1142, "CREATE command denied"), "does not let you", "insert, delete on d.* to u"),
        (
            "mssql+pyodbc://u@h/d",
            ("42S02", "[42S02] Invalid object name 'poeple'. (208)"),
            "table 'poeple'",
            "'people'?",
        ),
        (
            "mssql+pyodbc://u@h/d",
            (262, "CREATE TABLE permission denied"),
            "does not let you",
            "delete on schema::dbo to u",
        ),
        ("postgresql+psycopg://u@h/d", ("permission denied",), "does not let you", "grant create on schema ... to u"),
    ],
)
def test_words_about_servers(url, raised, fact, hint):
    url = sa.make_url(url)
    database = Database(None, url, str(url), "The database 'd'")
    error = explain(Exception(*raised), database, doing="write the table 't'", tables=["people"])
    assert fact in error.fact
    assert hint in error.hint


@pytest.mark.parametrize(
    "query",
    [
        "select 1 drop table t",
        "select * into more from t",
        "select 1 exec sp_who",
        "with x as (select 1 a) delete from x",
    ],
)
def test_where_no_session_may_only_read_words_are_refused(monkeypatch, query):
    monkeypatch.setattr("incrowd.io.databases.READ_ONLY", {})
    with pytest.raises(InputError, match="has no sessions that may only read, and the query has the word"):
        read("sqlite:///:memory:", query=query)
    assert read("sqlite:///:memory:", query="select 1 as a").equals(pl.DataFrame({"a": [1]}))


@pytest.mark.parametrize(
    ("address", "fact", "hint"),
    [
        ("postgresql://hans:p@geheim@localhost:5999/klinik#t", "more than one '@'", "%40"),
        ("postgresql:/hans:geheim@localhost:5999/klinik#t", "too few slashes after 'postgresql:'", "postgresql://user"),
        ("postgresql//hans:geheim@localhost/klinik#t", "no '://' after its kind", "postgresql://user@host:5432/name"),
        ("postgresql:hans:geheim@localhost/klinik#t", "too few slashes", "postgresql://user@host:5432/name"),
        ("mysql:/localhost/geheim#t", "too few slashes after 'mysql:'", "mysql://user@host:3306/name"),
        ("postgresql://hans:geheim@localhost:99999/klinik#t", "port .* from 1 to 65535", "host:5432"),
        ("postgresql://hans:geheim@localhost:0/klinik#t", "port .* from 1 to 65535", "host:5432"),
        ("postgresql://hans:ge/heim@localhost/klinik#t", "port .* from 1 to 65535", "%2F"),
        ("postgresql://hans:geheim", "port .* from 1 to 65535", "host:5432"),
        ("mssql+pyodbc://sa:geheim@h:14x/klinik#t", "port .* from 1 to 65535", "mssql://user@host:1433/name"),
        ("sqlite:/geheim.db", "too few slashes after 'sqlite:'", "sqlite:///name.db for a file in the working folder"),
        ("sqlite://geheim.db#t", "two slashes after 'sqlite:'", "sqlite:////folder/name.db"),
        ("duckdb://geheim.duckdb#t", "two slashes after 'duckdb:'", "duckdb:///name.db"),
        ("https://geheim.example/a.csv", "Addresses of the kind 'https://' are not read", "copy the file"),
        ("file:///geheim/a.csv", "Addresses of the kind 'file://'", "without 'file://'"),
    ],
)
def test_a_broken_address_is_refused_and_not_repeated(address, fact, hint):
    for use in (read, place_of, find_place):
        with pytest.raises(InputError, match=fact) as refused:
            use(address)
        assert hint in refused.value.hint
        assert "geheim" not in str(refused.value)
    if "@" in address:
        assert "geheim" not in without_password(address)


@pytest.mark.parametrize("address", ["postgresql://a:b@[::1]:5432/x#t", "mysql://h/x#t", "sqlite:////x.db#t"])
def test_good_addresses_pass(address):
    assert place_of(address).table == "t"


def test_a_file_may_be_called_like_an_address(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sqlite:a.csv").write_text("a\n1\n", encoding="utf-8")
    assert read("sqlite:a.csv").height == 1
