"""DuckDB at the door: it is opened for reading only, and what is wrong with it is told apart."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from incrowd.errors import InputError
from incrowd.io import read, write

URL = "duckdb:///a.duckdb"
HOLD = "import duckdb, sys; c = duckdb.connect('a.duckdb'); print('open', flush=True); sys.stdin.read()"


@pytest.fixture(autouse=True)
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(pl.DataFrame({"a": ["Zaphod", "x"]}), URL, table="people")


@pytest.mark.parametrize(
    ("query", "fact"),
    [
        ("select * from nobody", "has no table"),
        ("select b from people", "has no column"),
        ("select from where", "could not parse the query"),
        ("drop table people", "only queries are sent"),
        ("with x as (select 1) delete from people", "would change something|could not parse"),
        ("from people; drop table people", "only one query is sent"),
        ("copy people to 'copy.csv'", "only queries are sent"),
        ("attach 'more.duckdb'", "only queries are sent"),
        ("pragma force_checkpoint", "no rows"),
        ("explain analyze insert into people values ('y')", "would change something"),
    ],
)
def test_a_query_changes_nothing(query, fact):
    before = Path("a.duckdb").read_bytes()
    try:
        with pytest.raises(InputError, match=fact) as caught:
            read(URL, query=query)
        assert "Zaphod" not in str(caught.value)
    finally:
        assert Path("a.duckdb").read_bytes() == before
        assert [path.name for path in Path().iterdir()] == ["a.duckdb"]


def test_reading_a_table_or_a_query():
    assert read(f"{URL}#people").rows() == read(URL, query="from people").rows() == [("Zaphod",), ("x",)]


def test_what_is_wrong_with_the_file():
    with pytest.raises(InputError, match=r"There is no database file 'b\.duckdb'"):
        read("duckdb:///b.duckdb#people")
    Path("c.duckdb").write_text("Zaphod" * 1000)
    with pytest.raises(InputError, match="is not a database, or it is damaged") as caught:
        read("duckdb:///c.duckdb#people")
    assert "Zaphod" not in str(caught.value)
    holder = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline()
        with pytest.raises(InputError, match="is in use by another program"):
            read(f"{URL}#people")
    finally:
        holder.communicate()
