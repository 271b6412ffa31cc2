from __future__ import annotations

import datetime as dt
import sqlite3
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from incrowd.errors import InputError, MissingDependencyError
from incrowd.io import read, write

FULL = pl.DataFrame(
    {
        "whole": [1, None, -3],
        "real": [1.5, None, -2.25],
        "text": ['naïve, "q"\nline', None, "日本 ' ; \t x"],
        "flag": [True, None, False],
        "day": [dt.date(2020, 2, 29), None, dt.date(1999, 12, 31)],
        "moment": [dt.datetime(2020, 1, 1, 12, 30, 15), None, dt.datetime(1999, 1, 1, 1, 1, 1)],
    }
)
SECRET = "Smith4711"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def text_file(folder: Path, content: str, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_text(content)
    return path


def fails(source: str | Path, fact: str, **options: object) -> InputError:
    with pytest.raises(InputError, match=fact) as caught:
        read(source, **options)
    assert SECRET not in str(caught.value)
    assert caught.value.hint
    return caught.value


def test_database_round_trip(tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    write(FULL, url, table="people")
    back = read(url, query="select * from people")
    # SQLite stores bools as numbers and dates as text.
    assert back["text"].to_list() == FULL["text"].to_list()
    assert back["whole"].to_list() == FULL["whole"].to_list()
    assert back["real"].to_list() == FULL["real"].to_list()
    typed = read(url, query="select * from people where ':x' = ':x'", types={"flag": "bool", "day": "date"})
    assert_frame_equal(typed.drop("moment"), FULL.drop("moment"))
    write(FULL, url, table="more")
    assert names(tmp_path) == ["a.db"]


def test_database_progress(tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    write(FULL, url, table="people")
    calls: list[tuple[str, int, int]] = []
    read(url, query="select * from people", progress=lambda *call: calls.append(call))
    assert calls == [("reading", 0, 0), ("reading", 3, 0), ("reading", 3, 3)]


def test_existing_table_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    write(FULL, url, table="people")
    with pytest.raises(InputError, match="already has a table 'people'"):
        write(FULL.head(1), url, table="people")
    assert read(url, query="select count(*) as n from people")["n"].to_list() == [3]
    with pytest.raises(InputError, match="needs the name of a table"):
        write(FULL, url)


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("failure", [KeyboardInterrupt(), None])
def test_failed_table_leaves_nothing(tmp_path, monkeypatch, fresh, failure):
    import sqlalchemy as sa

    url = f"sqlite:///{tmp_path}/a.db"
    if not fresh:
        write(FULL, url, table="first")
    execute = sa.Connection.execute
    error = failure or sa.exc.OperationalError("insert", {"v": SECRET}, sqlite3.OperationalError(SECRET))

    def fail(self, statement, *args, **kwargs):
        if isinstance(statement, sa.sql.Insert):
            raise error
        return execute(self, statement, *args, **kwargs)

    monkeypatch.setattr(sa.Connection, "execute", fail)
    with pytest.raises((InputError, KeyboardInterrupt)) as caught:
        write(FULL, url, table="second")
    assert SECRET not in str(caught.value)
    monkeypatch.undo()
    if fresh:
        assert names(tmp_path) == []
    else:
        assert read(url, query="select name from sqlite_master")["name"].to_list() == ["first"]


def test_database_errors(tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    fails(url, "There is no database file", query="select 1 as a")
    assert names(tmp_path) == []
    write(pl.DataFrame({"a": [SECRET, "x"]}), url, table="people")
    fails(url, "needs a query or a table")
    error = fails(url, "has no table 'nobody'", query=f"select * from nobody -- {SECRET}")
    assert "the tables are people" in error.hint
    fails(url, "has no column 'b'", query=f"select b from people -- {SECRET}")
    fails(url, "could not parse the query", query=f"select from people where {SECRET}")
    fails(url, "returns no table", query="pragma foreign_keys = 1")
    fails(url, "has 2 columns named 'a'", query="select a, a from people")
    fails(url, "has no rows", query="select * from people where 0")
    mixed = "select a as v from people union all select 1"
    fails(url, "column 'v' mixes values of type int, str", query=mixed)
    fails(url, "column 'v' has values of type bytes", query="select x'00' as v")
    assert read(url, query="select count(*) as n from people")["n"].to_list() == [2]
    fails(text_file(tmp_path, "a\n1\n"), "takes no query", query="select 1")
    fails(
        f"sqlite:///{text_file(tmp_path, SECRET * 100, 'no.db')}",
        "is not a database, or it is damaged",
        query="select * from x",
    )


ORDERS = [
    "drop table people",
    " -- a comment\n /* another\none */ DROP table people",
    "delete from people",
    "delete from people returning a",
    "update people set a = 'x' returning a",
    "with x as (select 1) delete from people returning a",
    "insert into people values ('x')",
    "create table more (a)",
    "create table more as select * from people",
    "select 1; drop table people",
    "attach database 'more.db' as more",
    "vacuum",
    "pragma user_version = 7",
    "pragma query_only = off",
    "begin",
    ";",
    "--",
]


@pytest.mark.parametrize("query", ORDERS)
@pytest.mark.parametrize("form", ["sqlite:///{}", "sqlite+pysqlite:///{}?timeout=3", "sqlite:///file:{}?uri=true"])
def test_a_query_changes_nothing(tmp_path, monkeypatch, query, form):
    monkeypatch.chdir(tmp_path)
    name = "a.db" if "file" in form else "a b%25#ü.db"
    write(pl.DataFrame({"a": [SECRET, "x"]}), f"sqlite:///{name}", table="people")
    (path,) = tmp_path.iterdir()
    before = path.read_bytes()
    fails(form.format(name), "database", query=query)
    assert path.read_bytes() == before
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize("form", ["file:{}/no.db?uri=true", "file:{}/no.db?mode=rwc&uri=true", "{}/no.db"])
def test_asking_makes_no_database(tmp_path, form):
    fails("sqlite:///" + form.format(tmp_path), "database", query="select 1 as a")
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "query",
    [
        "select a from people",
        "\n\tSELECT a FROM people",
        "/* all */ with x as (select a from people) select * from x",
        "values ('x'), ('y')",
        "-- which\nselect a from people;",
    ],
)
def test_questions_are_answered(tmp_path, query):
    write(pl.DataFrame({"a": ["x", "y"]}), f"sqlite:///{tmp_path}/a.db", table="people")
    assert read(f"sqlite:///{tmp_path}/a.db", query=query).rows() == [("x",), ("y",)]


@pytest.mark.parametrize(
    "url",
    [
        f"nosuchthing://user:{SECRET}@host/name",
        f"postgresql://user:{SECRET}@host:port/name",
        f"https://user:{SECRET}@host/name.csv",
        f"sqlite://user:{SECRET}@host/name",
    ],
)
def test_bad_urls_keep_the_password(url):
    for action in (lambda: read(url, query="select 1"), lambda: write(FULL, url, table="t")):
        with pytest.raises(InputError) as caught:
            action()
        assert SECRET not in str(caught.value)
        assert caught.value.__cause__ is None


def test_missing_driver_and_missing_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg2", None)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingDependencyError, match="driver") as caught:
        read(f"postgresql://user:{SECRET}@host/name", query="select 1")
    assert SECRET not in str(caught.value)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(MissingDependencyError, match=r"incrowd\[sql\]"):
        read("sqlite:///a.db", query="select 1")
