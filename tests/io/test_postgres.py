"""PostgreSQL at the door: what is wrong is told apart, asking changes nothing, no password and no cell is shown."""

import re

import polars as pl
import pytest

from incrowd.errors import InputError
from incrowd.io import place_of, read, try_table, write
from postgres_server import PASSWORD

SECRET = "Zaphod"
ASK = "select * from open_to_all"


def refused(action, fact, hint):
    with pytest.raises(InputError, match=fact) as caught:
        action()
    error = caught.value
    assert re.search(hint, error.hint), error.hint
    for text in (str(error), repr(error), repr(error.__cause__), repr(error.__context__)):
        assert PASSWORD not in text
        assert SECRET not in text


def test_what_is_wrong_with_a_server_is_told_apart(postgres):
    cases = [
        ({"password": "wrong-" + PASSWORD}, "did not accept the user or the password of user 'owner'", "psql -h 127"),
        ({"password": None}, "did not accept the user or the password", "INCROWD_DB_PASSWORD"),
        ({"user": "nobody_here"}, "did not accept the user or the password of user 'nobody_here'", "psql"),
        ({"database": "nowhere"}, "has no database 'nowhere'", r"psql -h 127.0.0.1 -p \d+ -U owner -l"),
        ({"port": 1}, "No database server answers at '127.0.0.1:1'", "pg_isready -h 127.0.0.1 -p 1"),
    ]
    for parts, fact, hint in cases:
        url = postgres.url(**parts)
        refused(lambda url=url: read(url, query=ASK), fact, hint)
        refused(lambda url=url: try_table(place_of(f"{url}#release"), "refuse"), fact, hint)
    url = postgres.url().replace("127.0.0.1", "no-such-host.invalid")
    refused(lambda: read(url, query=ASK), "There is no host named 'no-such-host.invalid'", "postgresql://owner@no-such")


def test_what_is_wrong_with_a_query_is_told_apart(postgres):
    reader = postgres.url(user="reader")
    cases = [
        ("select * from nobody", "has no table 'nobody'", "open_to_all"),
        ("select b from open_to_all", "has no column 'b'", "check the names"),
        (f"select from where '{SECRET}'", "could not parse the query", "own client"),
        ("select * from secrets", "does not let you run the query", "grant select on ... to reader"),
        (f"select '{SECRET}'::int", "could not run the query", "psql"),
    ]
    for query, fact, hint in cases:
        refused(lambda query=query: read(reader, query=query), fact, hint)
    refused(
        lambda: read(f"{reader}#secrets"), "does not let you read the table 'secrets'", "grant select on secrets to"
    )
    refused(lambda: read(reader), "needs a query or a table", "the tables are .*open_to_all")
    absent = place_of(f"{postgres.url()}#absent.mine")
    refused(lambda: try_table(absent, "refuse"), "has no schema 'absent'", "create schema makes one")
    refused(lambda: try_table(place_of(f"{reader}#mine"), "refuse"), "does not let you write the table 'mine'", "grant")
    refused(
        lambda: write(pl.DataFrame({"a": [SECRET]}), reader, table="mine"), "does not let you write", "grant create"
    )


def test_identifiers_times_and_addresses_of_machines_are_text(postgres):
    query = "select '0b9b7a34-6f7e-4c1e-9d4a-3d2f1b0c9a88'::uuid as u, '08:30'::time as t, '10.0.0.1'::inet as i"
    found = read(postgres.url(), query=query)
    assert found.row(0) == ("0b9b7a34-6f7e-4c1e-9d4a-3d2f1b0c9a88", "08:30:00", "10.0.0.1")
    refused(
        lambda: read(postgres.url(), query="select '{}'::jsonb as j"),
        "column 'j' has values of type dict",
        "name the columns",
    )


def test_the_password_may_come_from_the_environment(postgres, monkeypatch):
    monkeypatch.setenv("INCROWD_DB_PASSWORD", PASSWORD)
    assert read(postgres.url(password=None), query=ASK)["a"].to_list() == [1, 2]
    assert read(postgres.url(password=None) + "#open_to_all").height == 2
    assert read(postgres.url(password=None) + "#public.open_to_all").height == 2


ORDERS = [
    "drop table open_to_all",
    "with x as (delete from open_to_all returning a) select * from x",
    "select 1; rollback; begin read write; drop table open_to_all; commit",
    "select 1; commit; set session characteristics as transaction read write; drop table open_to_all",
    "select 'x;' ; drop table open_to_all",
    "select set_config('transaction_read_only', 'off', false), 1",
    "select * into more from open_to_all",
    "explain analyze delete from open_to_all",
    "select nextval('counter')",
    "select lo_create(4711)",
    "select lo_export(1, '/tmp/x')",
    "select pg_terminate_backend(1)",
    "table open_to_all; drop table open_to_all",
    "values (1); truncate open_to_all",
]


@pytest.mark.parametrize("query", ORDERS)
def test_a_query_changes_nothing(postgres, query):
    postgres.execute("create sequence if not exists counter")
    state = "select (select count(*) from open_to_all), last_value from counter"
    tables = "select count(*) from information_schema.tables"
    before = postgres.execute(state), postgres.execute(tables)
    with pytest.raises(InputError) as caught:
        read(postgres.url(), query=query)
    assert PASSWORD not in str(caught.value)
    assert (postgres.execute(state), postgres.execute(tables)) == before


def test_a_table_that_fails_midway_leaves_nothing(postgres):
    frame = pl.DataFrame({"a": ["fine", f"{SECRET}\0"]})  # PostgreSQL has no text with a NUL
    refused(lambda: write(frame, postgres.url(), table="half"), "could not write the table 'half'", "psql")
    assert postgres.execute("select to_regclass('half')") == [(None,)]
