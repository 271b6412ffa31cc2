"""incrowd attack, and publish --attack and --ledger, from files."""

import json

import numpy as np
import polars as pl
import pytest
from test_publish_errors import run

import incrowd as ic


@pytest.fixture
def incrowd(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    ill = [f"v{v}" for v in rng.integers(0, 4, 90)]
    frame = pl.DataFrame({"age": rng.integers(0, 900, 90), "zip": rng.integers(0, 900, 90), "ill": ill})
    frame.write_csv(tmp_path / "data.csv")
    frame.with_columns(ill=pl.col("ill").reverse()).write_csv(tmp_path / "others.csv")
    ic.Schema(quasi={"age": ic.Intervals(), "zip": ic.Intervals()}, sensitive="ill").to_toml(tmp_path / "data.toml")
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: run(monkeypatch, capsys, *arguments)


def test_a_release_that_withstands_is_exit_code_0(incrowd):
    publish = ("publish", "data.csv", "-s", "data.toml", "-k", "15", "-l", "2", "-o", "safe", "--attack", "--seed", "1")
    assert incrowd(*publish)[0] == 0
    code, out, _ = incrowd("attack", "safe", "--original", "data.csv", "--non-members", "others.csv", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["ok"] is True
    assert [f["attack"] for f in found["findings"]][:2] == ["linking", "matching"]
    code, out, _ = incrowd("attack", "safe", "--original", "data.csv", "--attacks", "linking,matching")
    assert code == 0
    assert "withstood linking, matching" in out


def test_a_release_that_does_not_is_exit_code_3_and_is_not_written(incrowd, tmp_path):
    paper = ("-m", "nsvdist", "-k", "3", "--seed", "1", "--set", "mode=paper")
    code, _, err = incrowd("publish", "data.csv", "-s", "data.toml", "-o", "weak", *paper, "--attack")
    assert code == 3
    assert "broke the promise" in err
    assert not (tmp_path / "weak").exists()
    assert incrowd("publish", "data.csv", "-s", "data.toml", "-o", "weak", *paper)[0] == 0
    code, out, _ = incrowd("attack", "weak", "--original", "data.csv", "--attacks", "reconstruction")
    assert code == 3
    assert "PROMISE BROKEN by reconstruction" in out


def test_the_ledger_warns_the_second_time(incrowd):
    publish = ("publish", "data.csv", "-s", "data.toml", "-k", "15", "--ledger", "ledger.json", "--json")
    first = json.loads(incrowd(*publish, "-o", "one")[1])
    second = json.loads(incrowd(*publish, "-o", "two")[1])
    assert not any("published before" in note for note in first["warnings"])
    assert any("published before" in note for note in second["warnings"])


def test_wrong_names_are_exit_code_2(incrowd):
    incrowd("publish", "data.csv", "-s", "data.toml", "-k", "15", "-o", "safe")
    code, _, err = incrowd("attack", "safe", "--original", "data.csv", "--attacks", "guessing")
    assert code == 2
    assert "no attack 'guessing'" in err


def test_people_with_other_numbers_are_compared_by_the_nearest(incrowd, tmp_path):
    frame = pl.read_csv(tmp_path / "data.csv").with_columns(pl.col("age") + 0.5)
    frame.write_csv(tmp_path / "between.csv")
    incrowd("publish", "data.csv", "-s", "data.toml", "-k", "15", "-o", "safe")
    asked = ("attack", "safe", "--original", "data.csv", "--attacks", "classifier", "--non-members", "between.csv")
    found = json.loads(incrowd(*asked, "--json")[1])["findings"][0]
    assert found["baseline"]["people"] == 90


def test_a_ledger_that_cannot_be_written_is_refused_before_anything_is(incrowd, tmp_path):
    code, _, err = incrowd("publish", "data.csv", "-s", "data.toml", "-k", "15", "-o", "r", "--ledger", "no/led.json")
    assert (code, (tmp_path / "r").exists()) == (2, False)
    assert "ledger" in err


def test_publish_tells_what_a_release_withstood(incrowd):
    found = json.loads(
        incrowd("publish", "data.csv", "-s", "data.toml", "-k", "15", "-o", "r", "--attack", "--json")[1]
    )
    assert any("withstood linking, matching, reconstruction" in note for note in found["notes"])
