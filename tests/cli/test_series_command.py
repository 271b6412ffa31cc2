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
