"""Projections from the command line."""

import json
import sys
from pathlib import Path

import polars as pl
import pytest

from incrowd.cli import main

SCHEMA = """
[columns.name]
role = "identifier"
[columns.job]
role = "quasi"
hierarchy = { kind = "suppress" }
[columns.town]
role = "quasi"
hierarchy = { kind = "suppress" }
[columns.zip]
role = "quasi"
hierarchy = { kind = "suppress" }
[columns.risk]
role = "sensitive"
"""
QUICK = ["--set", "generations=3", "--set", "population=8"]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jobs, towns, risks = list("aabb") * 20, list("xyxy") * 20, list("+--+") * 20
    people = {"name": [f"Zaphod{i}" for i in range(80)], "job": jobs, "town": towns, "risk": risks}
    pl.DataFrame(people | {"zip": [str(10000 + i) for i in range(80)]}).write_csv("data.csv")
    Path("schema.toml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["incrowd", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    return stop.value.code, printed.out, printed.err


def publish(monkeypatch, capsys, *extra, k=20, quick=QUICK):
    return run(
        monkeypatch, capsys, "publish", "data.csv", "-s", "schema.toml", "-m", "dmpd", "-o", "out", "-k", str(k),
        "--seed", "1", *quick, *extra,
    )  # fmt: skip


def test_projections_are_published_and_verified(home, monkeypatch, capsys):
    code, out, err = publish(monkeypatch, capsys)
    assert code == 0
    assert "80 of 80 rows as 1 projection with dmpd: k = 20" in out
    assert "not published: zip" in out
    assert "Warning: k alone does not hide 'risk'" in err
    files = ["manifest.json", "projection-1.csv", "projection-1.parquet"]
    assert sorted(path.name for path in (home / "out").iterdir()) == files
    assert b"Zaphod" not in b"".join(path.read_bytes() for path in (home / "out").iterdir())
    code, out, _ = run(monkeypatch, capsys, "verify", "out", "--original", "data.csv")
    assert code == 0
    assert "Every promise that could be checked holds" in out
    assert "smallest crowd 20" in out


def test_a_changed_folder_is_broken(home, monkeypatch, capsys):
    publish(monkeypatch, capsys)
    file = home / "out" / "projection-1.csv"
    file.write_text(file.read_text().replace("a,x", "a,q", 1))
    code, out, _ = run(monkeypatch, capsys, "verify", "out")
    assert code == 3
    assert "BROKEN csv" in out


def test_the_class_alone_is_said_plainly(home, monkeypatch, capsys):
    code, out, _ = publish(monkeypatch, capsys, k=70)
    assert code == 0
    assert "80 of 80 rows, but only the class, with dmpd" in out
    assert "no other column is released" in out


def test_as_json(home, monkeypatch, capsys):
    code, out, _ = publish(monkeypatch, capsys, "--json", "-l", "1")
    summary = json.loads(out)
    assert code == 0
    assert summary["parts"] == [["job", "town"]]
    assert summary["left_out"] == ["zip"]
    assert summary["levels"]["k_partial"] == 20


def test_more_people_asked_for_than_there_are(home, monkeypatch, capsys):
    code, _, err = publish(monkeypatch, capsys, k=81)
    assert code == 3
    assert "k = 80" in err
    assert not (home / "out").exists()


def test_sets_of_quasi_identifiers_by_name(home, monkeypatch, capsys):
    code, _, err = publish(monkeypatch, capsys, "--set", 'quasi_sets=[["job", "town"], ["street"]]')
    assert code == 2
    assert "'street'" in err
    code, _, _ = publish(monkeypatch, capsys, "--set", 'quasi_sets=[["job"], ["town", "zip"]]')
    assert code == 0
    assert json.loads((home / "out" / "manifest.json").read_text())["quasi_sets"] == [["job"], ["town", "zip"]]


def test_methods_tell_about_it(monkeypatch, capsys):
    _, out, _ = run(monkeypatch, capsys, "methods")
    assert "dmpd" in out
    _, out, _ = run(monkeypatch, capsys, "methods", "dmpd")
    assert "which is no number of people" in out or "not people" in out
    assert "quasi_sets" in out


def test_a_search_that_was_stopped_says_so(home, monkeypatch, capsys):
    code, out, _ = publish(monkeypatch, capsys, "--set", "seconds=0")
    assert code == 0
    assert "ended after 0 of 3 generations" in out
