"""SQL Server, as far as it goes without one: SQLAlchemy's dialect, on a stand-in that really has transactions."""

import datetime as dt
import sys

import polars as pl
import pytest
from mssql_by_sqlite import Server

import incrowd as ic
from incrowd import workflow
from incrowd.errors import InputError, MissingDependencyError
from incrowd.io import database_tables, read, write

N = 24
PEOPLE = pl.DataFrame(
    {
        "größe": [1.5 + i % 4 / 10 for i in range(N)],
        "age [y]": [20 + i % 5 for i in range(N)],
        "ill": ["日本", "b", None, "c'); drop table t;--"] * (N // 4),
        "ok": [True, False] * (N // 2),
        "day": [dt.date(2020, 1, 1 + i % 9) for i in range(N)],
    }
)
SCHEMA = ic.Schema(
    quasi={"größe": ic.Intervals(), "age [y]": ic.Intervals()}, sensitive="ill", other=["ok", "day"],
)  # fmt: skip


@pytest.fixture
def server(monkeypatch, tmp_path):
    found = Server()
    found.path = tmp_path
    monkeypatch.setitem(sys.modules, "pyodbc", found.module())
    monkeypatch.setenv("INCROWD_DB_PASSWORD", found.password)
    monkeypatch.chdir(tmp_path)
    return found


URL = "mssql://sa@db.example/shop?driver=ODBC+Driver+18+for+SQL+Server"


def publish(k=2, **given):
    return workflow.publish(
        PEOPLE, SCHEMA, f"{URL}#dbo.shared", method="mondrian", parameters={"k": k}, private=f"p{k}", **given
    )


def test_tables_are_written_and_read(server):
    write(PEOPLE, URL, table="dbo.people")
    assert read(f"{URL}#dbo.people").equals(PEOPLE, null_equal=True)
    assert read(URL, query="select count(*) as n from dbo.people").rows() == [(N,)]
    made = next(statement for statement in server.sent if "CREATE TABLE" in statement)
    assert "CREATE TABLE [dbo].[people]" in made
    for column in ("[größe] DOUBLE PRECISION", "[age [y]]] BIGINT", "[ill] NVARCHAR(max)", "[ok] BIT", "[day] DATE"):
        assert column in made
    with pytest.raises(InputError, match="has no sessions that may only read"):
        read(URL, query="select * into dbo.copy from dbo.people")


def test_a_release_is_published_verified_replaced_and_appended(server):
    done = publish()
    assert done.folder == "mssql://sa@db.example/shop?driver=ODBC+Driver+18+for+SQL+Server#dbo.shared"
    verdict = workflow.verify(f"{URL}#dbo.shared", PEOPLE, private="p2")
    assert verdict.ok, verdict.violations
    with pytest.raises(InputError, match="already has the table"):
        publish(3)
    publish(3, replace=True)
    assert ic.Release.load(f"{URL}#dbo.shared").manifest.k == 3
    publish(4, append=True)
    assert read(f"{URL}#dbo.shared").height == 2 * N
    assert not any(server.password in statement for statement in server.sent)


def test_a_failure_takes_the_tables_back(server, monkeypatch):
    publish()
    before = read(f"{URL}#dbo.shared")

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(database_tables, "_read_back", fail)
    for how in ({"replace": True}, {"append": True}):
        with pytest.raises(KeyboardInterrupt):
            publish(3, **how)
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "pyodbc", server.module())
    monkeypatch.setenv("INCROWD_DB_PASSWORD", server.password)
    assert read(f"{URL}#dbo.shared").equals(before, null_equal=True)
    assert not (server.path / "p3").exists()


def test_the_newest_odbc_driver_is_taken(server):
    plain = "mssql://sa@db.example/shop"
    write(PEOPLE, plain, table="dbo.people")
    assert read(f"{plain}#dbo.people").height == N
    assert all("DRIVER={ODBC Driver 18 for SQL Server}" in words for words in server.asked)
    server.drivers = ["SQLite3"]
    with pytest.raises(MissingDependencyError, match="No ODBC driver for SQL Server is installed"):
        read(f"{plain}#dbo.people")


def test_what_is_wrong_is_said_without_the_password(server, monkeypatch):
    write(PEOPLE, URL, table="dbo.people")
    with pytest.raises(InputError, match="has no table") as missing:
        read(f"{URL}#dbo.nobody")
    assert missing.value.hint == "check the name; the tables are people"
    monkeypatch.setenv("INCROWD_DB_PASSWORD", "geheim-falsch")
    with pytest.raises(InputError, match="did not accept the user or the password of user 'sa'") as refused:
        read(f"{URL}#dbo.people")
    assert "sqlcmd -S db.example -U sa -d shop" in refused.value.hint
    for error in (missing, refused):
        assert "geheim" not in str(error.value)
