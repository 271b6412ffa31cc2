"""A series on the command line: published, published after, verified in its chain."""

import json

import numpy as np
import polars as pl
from test_publish_errors import run

SCHEMA = """

[columns.name]
role = "identifier"

[columns.age]
role = "quasi"
hierarchy = { kind = "intervals" }

[columns.ill]
role = "sensitive"
"""


def test_months(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    people = pl.DataFrame(
        {"name": [f"p{i}" for i in range(30)], "age": rng.integers(20, 60, 30), "ill": list("abc") * 10}
    )
    people[:26].write_csv("one.csv")
    people[4:].write_csv("two.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    common = ("-s", "schema.toml", "--ledger", "book.jsonl", "-k", "3")
    code, _, err = run(monkeypatch, capsys, "publish", "one.csv", *common, "-m", "m_invariance", "-l", "2", "-o", "one")
    assert code == 0, err
    code, out, err = run(
        monkeypatch, capsys, "publish", "two.csv", *common, "--after", "one.private/", "-o", "two", "--json"
    )
    assert code == 0, err
    rows = json.loads(out)["rows"]
    assert rows["input"] == rows["suppressed"] + rows["released"] - rows.get("filler", 0) == 26
    assert run(monkeypatch, capsys, "verify", "two", "--original", "two.csv", "--after", "one.private")[0] == 0
    assert run(monkeypatch, capsys, "verify", "one", "--original", "one.csv", "--after", "two")[0] == 3
    code, _, err = run(monkeypatch, capsys, "publish", "two.csv", *common, "-m", "mondrian", "-o", "three")
    assert code == 3
    assert "--insist" in err
    assert run(monkeypatch, capsys, "publish", "two.csv", *common, "-m", "mondrian", "--insist", "-o", "three")[0] == 0
    code, _, err = run(
        monkeypatch, capsys, "publish", "two.csv", "-s", "schema.toml", "-k", "4", "--after", "two", "-o", "four"
    )
    assert code == 2
    assert "began with k = 3" in err


def test_limits_of_single_columns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    columns = {"age": rng.integers(20, 60, 60), "ill": list("abc") * 20, "faith": rng.permutation(["x", "y", "z"] * 20)}
    pl.DataFrame(columns).write_csv("data.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA.replace("name", "faith").replace("identifier", "sensitive"))
    given = ("publish", "data.csv", "-s", "schema.toml", "-k", "3", "-m", "mondrian")
    kinds = ("--l-kind", "ill=distinct", "--alpha", "faith=0.9", "-t", "0.9")
    code, out, err = run(monkeypatch, capsys, *given, "-l", "ill=2", "-l", "faith=1.2", *kinds, "-o", "out", "--json")
    assert code == 0, err
    told = [(g["kind"], g.get("column"), g.get("l", g.get("alpha"))) for g in json.loads(out)["guarantees"]]
    assert ("l", "ill", 2) in told
    assert ("l", "faith", 1.2) in told
    assert ("alpha", "faith", 0.9) in told
    assert not any(kind == "alpha" and column == "ill" for kind, column, _ in told)
    for wrong, fact in (
        (("-l", "ill=2", "-l", "2"), "not always as NAME=VALUE"),
        (("-l", "ill=2", "-l", "ill=3"), "names a column twice"),
        (("-l", "ill=x"), "The value of option -l is not valid"),
        (("-l", "age=2"), "has not as sensitive"),
        (("--width", "ill=2"), "whose values are no numbers"),
        (("--width", "x"), "use a number above 0, or --width NAME=VALUE"),
    ):
        code, _, err = run(monkeypatch, capsys, *given, *wrong, "-o", "not")
        assert (code, fact in err) == (2, True), err


def test_width_of_a_sensitive_number(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    columns = {"age": rng.integers(20, 60, 60), "ill": list("abc") * 20, "faith": rng.integers(0, 900, 60)}
    pl.DataFrame(columns).write_csv("data.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA.replace("name", "faith").replace("identifier", "sensitive"))
    given = ("publish", "data.csv", "-s", "schema.toml", "-k", "3", "-m", "mondrian", "-o", "out", "--json")
    code, out, err = run(monkeypatch, capsys, *given, "--width", "faith=300.5")
    assert code == 0, err
    assert {"kind": "width", "width": 300.5, "column": "faith"} in json.loads(out)["guarantees"]
    code, out, _ = run(monkeypatch, capsys, "verify", "out", "--original", "data.csv")
    assert code == 0
    assert "(width)" in out
