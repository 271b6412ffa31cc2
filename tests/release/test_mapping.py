"""What was applied, told to its owner: each row of a mapping is what `transform` and the release show."""

import json
import sys

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from claims import ALWAYS
from incrowd.cli import main
from incrowd.publish import PUBLISHERS
from incrowd.recoding import TreeRecoding
from incrowd.release.mapping import explain

RECODING = [name for name, found in PUBLISHERS.items() if found.recodes]


def people(n=120):
    rng = np.random.default_rng(3)
    return pl.DataFrame({
        "age": [None, *rng.integers(18, 80, n - 1).tolist()],
        "zip": [f"{x:05d}" for x in rng.integers(10000, 10030, n)],
        "sex": rng.choice(["f", "m"], n),
        "ill": rng.choice(["flu", "gout", "none"], n),
    })  # fmt: skip


SCHEMA = ic.Schema(quasi={"age": ic.Intervals(), "zip": ic.prefixes(), "sex": None}, sensitive="ill")


@pytest.mark.parametrize("name", RECODING)
def test_a_mapping_is_what_transform_does(name):
    method = PUBLISHERS[name](k=6, **ALWAYS.get(name, {}))
    release = method.publish(people(), SCHEMA, seed=1)
    if not method.can_recode():
        return
    table, again = release.mapping(), release.transform(people())
    if isinstance(release.private.recoding, TreeRecoding):
        for row, shown in zip(people().rows(named=True), again.rows(named=True), strict=True):
            assert walk(table, row) == "; ".join(f"{q} {shown[q]}" for q in ("age", "zip", "sex"))
        return
    for column in release.quasi:
        known = dict(table.filter(column=column).select("value", "published").rows())
        texts = people()[column].cast(pl.String).fill_null("(missing)")
        missing = next((value for value in known if value not in set(people()[column].cast(pl.String))), None)
        assert [known[missing if text == "(missing)" else text] for text in texts] == again[column].to_list()


def walk(table, row):
    """Follow the cuts with nothing but what the table says."""
    node = table.row(0, named=True)
    while node["column"] is not None:
        value, said = row[node["column"]], node["goes left"]
        if node["column"] == "age" and " to " in said:
            low, high = map(int, said.split(" to "))
            left = value is not None and low <= value <= high
        else:
            texts = said.split(", ")
            left = str(value) in texts if value is not None else any(not text.isalnum() for text in texts)
        node = table.row(node["left"] if left else node["right"], named=True)
    return node["published"]


def test_only_the_owner_has_it(tmp_path):
    release = ic.Mondrian(k=6).publish(people(), SCHEMA, seed=1)
    release.save(tmp_path / "out")
    assert ic.Release.load(tmp_path / "out").mapping().equals(release.mapping())
    (tmp_path / "out.private").rename(tmp_path / "elsewhere")
    with pytest.raises(ic.IncompatibleError, match="no recoding"):
        ic.Release.load(tmp_path / "out").mapping()
    with pytest.raises(ic.IncompatibleError, match="no recoding"):
        ic.TightGroups(k=6).publish(people(), SCHEMA, seed=1).mapping()


@pytest.mark.parametrize("method", [ic.Mondrian(k=6), ic.Lattice(k=6), ic.NSVDist(k=6)], ids=lambda m: m.name)
def test_an_explanation_counts_what_the_release_shows(method):
    release = method.publish(people(), SCHEMA, seed=1)
    for column in release.quasi:
        found = explain(release, column)
        counts = dict(release.frame[column].value_counts().rows())
        assert dict(found.values.select("value", "rows").rows()) == counts
        mean = (found.values["rows"] * found.values["lost"]).sum() / release.n_rows
        assert found.lost == pytest.approx(mean)
    each = [explain(release, column).lost for column in release.quasi]
    assert sum(each) / len(each) == pytest.approx(release.loss("lm"))
    with pytest.raises(ic.SchemaError, match="'ill' is not a quasi-identifier"):
        explain(release, "ill")


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["incrowd", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    return stop.value.code, printed.out, printed.err


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ic.Lattice(k=6).publish(people(), SCHEMA, seed=1).save("out")
    code, out, _ = run(monkeypatch, capsys, "explain", "out", "--column", "sex")
    assert code == 0
    assert out.startswith("sex: groups of a tree; ")
    code, out, _ = run(monkeypatch, capsys, "explain", "out", "--mapping", "own.csv", "--json")
    assert code == 0
    assert [one["column"] for one in json.loads(out)["columns"]] == ["age", "zip", "sex"]
    assert pl.read_csv("own.csv").columns == ["column", "value", "published"]
    code, _, err = run(monkeypatch, capsys, "explain", "out", "--column", "ill")
    assert code == 2
    assert "Hint: use one of" in err
