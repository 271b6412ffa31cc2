"""publish and verify with databases, files of other programs and datasets."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from incrowd.cli import main
from incrowd.publish import BestCuts
from postgres_server import PASSWORD

GOOD = "name,age,work,ill\n" + "".join(
    f"Zaphod{i},{20 + 7 * i % 13},{'ab'[i % 2]},{'xy'[i // 2 % 2]}\n" for i in range(20)
)
SCHEMA = """
[columns.name]
role = "identifier"
[columns.age]
role = "quasi"
hierarchy = { kind = "intervals" }
[columns.work]
role = "quasi"
hierarchy = { kind = "suppress" }
[columns.ill]
role = "sensitive"
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(GOOD, encoding="utf-8")
    Path("schema.toml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["incrowd", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        for text in (printed.out, printed.err):
            assert PASSWORD not in text
            assert "Zaphod" not in text
            assert "Traceback" not in text
        return stop.value.code, " ".join(printed.out.split()), printed.err

    return call


PUBLISH = ("publish", "data.csv", "-s", "schema.toml", "-k", "2", "-o")


@pytest.mark.parametrize(
    ("output", "private"),
    [
        pytest.param("out.xlsx", "out.xlsx.private", marks=pytest.mark.slow),
        ("sqlite:///a.db#t", "t.private"),
        pytest.param("duckdb:///a.duckdb#main.t", "main.t.private", marks=pytest.mark.slow),
    ],
)
def test_publish_and_verify(run, output, private):
    code, out, _ = run(*PUBLISH, output)
    assert code == 0
    assert f"Share: {output}" in out
    assert f"Keep private: {private}" in out
    assert Path(private).is_dir()
    code, out, _ = run("verify", output)
    assert code == 0
    assert "NOT CHECKED: place" in out
    code, out, _ = run("verify", output, "--original", "data.csv")
    assert code == 4  # what else is in there, nobody can see
    assert "NOT CHECKED: place" in out
    assert "private files" in out


def test_the_manifest_is_to_be_shared_with_a_file(run):
    assert "Share: out.sav and out.sav.manifest.json Keep private: out.sav.private" in run(*PUBLISH, "out.sav")[1]


def test_a_dataset_is_checked_completely(run):
    assert run(*PUBLISH, "out", "--dataset")[0] == 0
    assert run("verify", "out", "--original", "data.csv")[0] == 0
    assert sorted(path.name for path in Path("out").iterdir()) == ["_manifest.json", "part-00000.parquet"]
    assert pl.scan_parquet("out/*.parquet").collect().height == 20


def test_a_folder_may_have_its_private_part_elsewhere(run):
    Path("vault").mkdir()
    assert run(*PUBLISH, "out", "--private", "vault/mine")[0] == 0
    assert run("verify", "out", "--private", "vault/mine", "--original", "data.csv")[0] == 0
    code, _, err = run("verify", "out", "--private", "vault/nothing")
    assert (code, "There is no private folder 'vault/nothing'" in err) == (2, True)


def test_existing_tables(run):
    assert run(*PUBLISH, "sqlite:///a.db#t")[0] == 0
    code, _, err = run(*PUBLISH, "sqlite:///a.db#t")
    assert code == 2
    assert "Hint: name another folder for it, for example --private release-2.private" in err
    code, _, err = run(*PUBLISH, "sqlite:///a.db#t", "--private", "two")
    assert code == 2
    assert "already has the tables 't' and 't_manifest'" in err
    assert "say --replace or --append" in err
    assert run(*PUBLISH, "sqlite:///a.db#t", "--private", "two", "--replace")[0] == 0
    code, _, err = run(*PUBLISH, "sqlite:///a.db#t", "--private", "three", "--append")
    assert code == 0
    assert "Warning: the table now holds rows of several releases" in err
    code, out, _ = run("verify", "sqlite:///a.db#t")
    assert code == 4
    assert "No promise was checked." in out
    code, _, err = run(*PUBLISH, "new.xlsx", "--append")
    assert (code, "'new.xlsx' is not a table of a database, and only those are appended to" in err) == (2, True)
    code, _, err = run(*PUBLISH, "sqlite:///a.db#t", "--append", "--replace")
    assert (code, "exclude each other" in err) == (2, True)


def test_what_is_not_there_is_written_whatever_is_to_happen_to_what_is(run):
    assert run(*PUBLISH, "sqlite:///none.db#t", "--if-exists", "skip")[0] == 0
    assert "exists already" in run(*PUBLISH, "sqlite:///none.db#t", "--if-exists", "skip")[1]
    assert run(*PUBLISH, "one.csv", "--if-exists", "replace")[0] == 0
    code, _, err = run(*PUBLISH, "one.csv", "--if-exists", "replace")
    assert (code, "'one.csv' is neither a table of a database nor a release folder" in err) == (2, True)


def test_a_changed_table_breaks_the_promise(run):
    import sqlite3

    assert run(*PUBLISH, "sqlite:///a.db#t")[0] == 0
    raw = sqlite3.connect("a.db")
    with raw:
        raw.execute("delete from t where rowid = 1")
    raw.close()
    code, out, _ = run("verify", "sqlite:///a.db#t")
    assert code == 3
    assert "BROKEN rows: 20 rows are announced and 19 are there" in out


def test_a_server_that_is_wrong_is_found_before_the_search(run, postgres, monkeypatch):
    monkeypatch.setattr(BestCuts, "choose", lambda *_: pytest.fail("it searched"))
    wrong = postgres.url(password=f"x{PASSWORD}")
    for output, words in [
        (f"{wrong}#t", "did not accept the user or the password of user 'owner'"),
        (f"{postgres.url(port=1)}#t", "No database server answers"),
        (f"{postgres.url(user='reader')}#t", "does not let you write the table 't'"),
        (postgres.url(), "names no table"),
        ("sqlite:///no/folder/a.db#t", "check that the folder 'no/folder' exists"),
    ]:
        code, _, err = run(*PUBLISH, output)
        assert (code, words in err) == (2, True), err
    assert sorted(path.name for path in Path().iterdir()) == ["data.csv", "schema.toml"]


def test_postgres_from_end_to_end(run, postgres):
    postgres.execute("drop schema if exists shared cascade", "create schema shared")
    url = postgres.url()
    postgres.execute("drop table if exists patients", "create table patients (name text, age int, work text, ill text)")
    rows = [line.split(",") for line in GOOD.splitlines()[1:]]
    for name, age, work, ill in rows:
        postgres.execute(f"insert into patients values ('{name}', {age}, '{work}', '{ill}')")
    code, out, _ = run("init", f"{url}#patients", "-o", "p.toml", "--sensitive", "ill")
    assert code == 0
    assert f"incrowd publish '{postgres.url(password=None)}#patients' -s p.toml" in out
    code, out, _ = run("publish", f"{url}#patients", "-s", "p.toml", "-k", "2", "-o", f"{url}#shared.release", "--json")
    assert code == 0
    told = json.loads(out)
    assert told["release"] == f"{postgres.url(password=None)}#shared.release"
    assert told["private"] == "shared.release.private"
    assert run("verify", f"{url}#shared.release", "--original", f"{url}#patients")[0] == 4
    columns = {name for (name,) in postgres.execute(
        "select column_name from information_schema.columns where table_schema = 'shared' and table_name = 'release'"
    )}  # fmt: skip
    assert columns == {"age", "age.lo", "age.hi", "work", "work.lo", "work.hi", "ill"}
    files = b"".join(path.read_bytes() for path in Path().rglob("*") if path.is_file() and path.name != "data.csv")
    assert PASSWORD.encode() not in files


def test_the_ledger_knows_the_address_and_no_password(run, postgres):
    postgres.execute("drop table if exists ledgered", "drop table if exists ledgered_manifest")
    assert run(*PUBLISH, f"{postgres.url()}#ledgered", "--ledger", "book.jsonl")[0] == 0
    text = Path("book.jsonl").read_text(encoding="utf-8")
    assert f"{postgres.url(password=None)}#ledgered" in text
    assert PASSWORD not in text
    code, _, err = run(*PUBLISH, "second", "--ledger", "book.jsonl", "--attack")
    assert (code, "people of this table were published before" in err) == (0, True)


KILLED = """
import os, signal, sys
import sqlalchemy as sa
from incrowd.cli import main
from incrowd.publish import BestCuts
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
sa.Connection.commit = die
sys.argv = ["incrowd", "publish", "data.csv", "-s", "schema.toml", "-k", "2", "-o", sys.argv[1]]
main()
"""


@pytest.mark.parametrize("kind", [pytest.param("sqlite", marks=pytest.mark.slow), "postgres"])
def test_killed_before_the_commit(run, request, kind):
    output = "sqlite:///a.db#killed"
    if kind == "postgres":
        server = request.getfixturevalue("postgres")
        server.execute("drop table if exists killed", "drop table if exists killed_manifest")
        output = f"{server.url()}#killed"
    done = subprocess.run([sys.executable, "-c", KILLED, output], capture_output=True, check=False)
    assert done.returncode == -9, done.stderr
    code, _, err = run("verify", output)
    assert (code, "has no table 'killed'" in err) == (2, True)
    assert Path("killed.private").is_dir()  # it got its name first, and no release is out
    assert run(*PUBLISH, output)[0] == 2
    assert run(*PUBLISH, output, "--private", "again")[0] == 0
