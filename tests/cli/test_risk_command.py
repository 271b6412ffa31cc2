"""The risk command: what it prints, what it writes for the owner, and its JSON."""

from pathlib import Path

import polars as pl
import pytest
from test_output import checked
from test_publish_errors import SECRET, home, run  # noqa: F401

TABLE = ("data.csv", "-s", "schema.toml")


@pytest.mark.usefixtures("home")
def test_risk(monkeypatch, capsys):
    found = checked(monkeypatch, capsys, "risk", *TABLE, "--population", "data.csv")
    assert found["population"]["unique_in_both"] == found["unique"]
    found = checked(monkeypatch, capsys, "risk", *TABLE, "--sampling-fraction", "0.1", "--specials", "own.csv")
    assert found["population"]["known"] is False
    assert found["prosecutor"]["highest"] == 1
    own = pl.read_csv("own.csv")
    assert own.columns == ["row", "score", "size", "columns", "values"]
    assert own.height >= found["rows_with_special_uniques"]
    code, _, err = run(monkeypatch, capsys, "risk", *TABLE, "--specials", "own.csv")
    assert code == 2
    assert "own.csv" in err
    code, out, err = run(monkeypatch, capsys, "risk", *TABLE)
    assert code == 0
    assert "prosecutor" in out
    assert SECRET not in out + err


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--sampling-fraction", "2"), "--sampling-fraction"),
        (("--population", "data.csv", "--sampling-fraction", "0.5"), "Both a population"),
        (("--population", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_what_is_wrong_is_said(monkeypatch, capsys, more, words):
    code, out, err = run(monkeypatch, capsys, "risk", *TABLE, *more)
    assert (code, out) == (2, "")
    assert words in err
    assert "Hint: " in err
    assert not Path("own.csv").exists()


@pytest.mark.usefixtures("home")
def test_likeness_is_asked_for_and_checked(monkeypatch, capsys):
    asked = ("publish", *TABLE, "-o", "out", "-k", "2", "--beta", "0.9", "--delta", "2")
    found = checked(monkeypatch, capsys, *asked)
    assert [(g["kind"], g.get("enhanced")) for g in found["guarantees"]] == [
        ("k", None),
        ("beta", False),
        ("delta", None),
    ]
    verdict = checked(monkeypatch, capsys, "verify", "out", "--original", "data.csv")
    assert verdict["levels"]["beta"] <= 0.9
    told = ("verify", "out/release.csv", "--quasi", "age,work", "--sensitive", "ill", "--beta", "0.001")
    assert checked(monkeypatch, capsys, *told, codes=(0, 3))["levels"]["beta"] == verdict["levels"]["beta"]
    code, _, err = run(monkeypatch, capsys, *asked[:-1], "-1", "--if-exists", "replace")
    assert code == 2
    assert "--delta" in err
