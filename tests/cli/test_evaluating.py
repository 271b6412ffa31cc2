"""The commands evaluate and compare, as a person types them."""

import json
import sys
from pathlib import Path

import polars as pl
import pytest
from test_publish_errors import run

import incrowd as ic
from incrowd.evaluate import comparison


@pytest.fixture
def office(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ages = [20 + i * 7 % 40 for i in range(120)]
    frame = pl.DataFrame(
        {"zip": [f"0{a % 5}" for a in ages], "age": ages, "ill": ["no" if a < 40 else "yes" for a in ages]}
    )
    frame.write_csv("data.csv")
    frame[:40].write_csv("test.csv")
    schema = ic.Schema(quasi={"zip": ic.prefixes(), "age": ic.Intervals()}, sensitive="ill")
    schema.to_toml("data.toml")
    ic.publish(frame, schema, method="mondrian", k=5).save("release")


@pytest.mark.usefixtures("office")
def test_evaluate_a_release(monkeypatch, capsys):
    given = ("evaluate", "release", "--test", "test.csv", "--classifiers", "tree", "--samples", "2")
    code, out, err = run(monkeypatch, capsys, *given, "--original", "data.csv", "--plot", "a.svg")
    assert (code, err) == (0, "")
    assert "retention" in out
    assert "<svg" in Path("a.svg").read_text()
    code, out, _ = run(monkeypatch, capsys, *given, "--json")
    found = json.loads(out)
    assert (code, found["method"], found["rows"]["test"]) == (0, "mondrian", 40)
    assert found["classifiers"][0]["retention"] is None


@pytest.mark.usefixtures("office")
def test_evaluate_a_method(monkeypatch, capsys):
    given = ("evaluate", "data.csv", "-s", "data.toml", "-m", "mondrian", "-k", "5", "--cv", "2", "--samples", "1")
    code, out, _ = run(monkeypatch, capsys, *given, "--classifiers", "tree,naive_bayes", "--json")
    found = json.loads(out)
    assert code == 0
    assert [row["classifier"] for row in found["classifiers"]] == ["tree", "naive_bayes"] * 2
    assert [row["training"] for row in found["classifiers"]] == ["recommended"] * 2 + ["samples"] * 2
    assert found["classifiers"][0]["original"] == 1


@pytest.mark.usefixtures("office")
def test_compare_and_go_on(monkeypatch, capsys):
    given = ("compare", "data.csv", "-s", "data.toml", "-m", "mondrian,tds", "--cv", "2", "--samples", "1")
    given = (*given, "--classifiers", "tree", "--store", "store.jsonl")
    code, out, _ = run(monkeypatch, capsys, *given, "-k", "5,500", "--plot", "a.png")
    assert code == 0
    assert out.count("infeasible") == 2
    assert Path("a.png").stat().st_size > 1000
    lines = Path("store.jsonl").read_text()
    code, out, _ = run(monkeypatch, capsys, *given, "-k", "5,500", "--json")
    assert Path("store.jsonl").read_text() == lines
    assert {(row["method"], row["k"]) for row in json.loads(out)["rows"]} == {
        ("mondrian", 5), ("mondrian", 500), ("tds", 5), ("tds", 500),
    }  # fmt: skip


@pytest.mark.usefixtures("office")
def test_methods_get_their_own_parameters(monkeypatch, capsys):
    table = ("data.csv", "-s", "data.toml", "--cv", "2", "--samples", "1", "--classifiers", "tree", "-k", "5")
    made, make = [], comparison.make

    def spying(method, **given):
        made.append((method, given))
        return make(method, **given)

    monkeypatch.setattr(comparison, "make", spying)
    code, _, err = run(monkeypatch, capsys, "compare", *table, "-m", "mondrian,dmpd", "--set", "generations=0")
    assert (code, err) == (0, "")
    own = ("dmpd", {"k": 5, "generations": 0})
    assert made == [own] + [("mondrian", {"k": 5})] * 2 + [own] * 2  # once to see that they are allowed
    code, _, err = run(monkeypatch, capsys, "compare", *table, "-m", "mondrian,dmpd", "--set", "generations=-1")
    assert code == 2
    assert "generations is -1" in err
    code, _, err = run(monkeypatch, capsys, "evaluate", *table, "-m", "dmpd", "--set", "generations=-1")
    assert code == 2
    assert "generations is -1" in err


@pytest.mark.parametrize("command", ["evaluate", "compare"])
@pytest.mark.parametrize(
    ("plot", "said"), [("a.pdf", "cannot be written"), ("no/a.svg", "no folder"), ("a.svg", "needs matplotlib")]
)
@pytest.mark.usefixtures("office")
def test_a_picture_that_cannot_be_written_is_refused_before_anything_is_computed(
    monkeypatch, capsys, command, plot, said
):
    if "matplotlib" in said:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(f"incrowd.workflow.{command}", None)  # nobody may call it
    code, out, err = run(monkeypatch, capsys, command, "data.csv", "-s", "data.toml", "-k", "5", "--plot", plot)
    assert (code, out) == (2, "")
    assert said in err
    assert "Hint:" in err or "pip install" in err


@pytest.mark.parametrize("shown", [(), ("--json",)])
@pytest.mark.usefixtures("office")
def test_scores_are_shown_although_the_picture_fails(monkeypatch, capsys, shown):
    def full(*_):
        fact = "No space left"
        raise ic.InputError(fact)

    monkeypatch.setattr("incrowd.plots.save", full)
    given = ("evaluate", "release", "--test", "test.csv", "--original", "data.csv", "--classifiers", "tree")
    code, out, err = run(monkeypatch, capsys, *given, "--samples", "2", "--plot", "a.svg", *shown)
    told = [json.loads(line) for line in out.splitlines()] if shown else []
    assert code == 2
    assert "retention" in out
    assert "No space left" in (told[1]["fact"] if shown else err)
    assert "Wrote" not in out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("evaluate", "release"), "is a release folder: it needs test rows"),
        (("evaluate", "data.csv", "-k", "5"), "needs a schema"),
        (("evaluate", "nowhere", "-k", "5"), "neither a table nor a release folder"),
        (("evaluate", "data.csv", "-s", "data.toml"), "for example -k 10"),
        (
            ("evaluate", "data.csv", "-s", "data.toml", "-k", "5", "--original", "data.csv"),
            "--original data.csv is only for release folders",
        ),
        (("evaluate", "data.csv", "-s", "data.toml", "-k", "5", "--classifiers", "trees"), "no classifier 'trees'"),
        (("evaluate", "data.csv", "-s", "data.toml", "-k", "5", "--plot", "data.toml"), "already exists"),
        (("compare", "data.csv", "-s", "data.toml", "-k", "five"), "-k is 'five'"),
        (("compare", "data.csv", "-s", "data.toml", "--samples", "0"), "--samples is 0"),
        (("compare", "data.csv", "-s", "data.toml", "--loss", "lm,lmm"), "no loss 'lmm'"),
        (("compare", "data.csv", "-s", "data.toml", "--set", "speed=1"), "None of the methods has a parameter 'speed'"),
        (("compare", "data.csv", "-s", "data.toml", "--set", "k=1"), "has an option of its own"),
        (("evaluate", "data.csv", "-s", "data.toml", "-k", "5", "--set", "seed=1"), "no parameter 'seed'"),
        (("evaluate", "release", "--test", "test.csv", "--set", "a=1"), "no schema, method, parameters or folds"),
    ],
)
@pytest.mark.usefixtures("office")
def test_mistakes_have_a_next_step(monkeypatch, capsys, given, said):
    code, _, err = run(monkeypatch, capsys, *given)
    assert code == 2
    assert said in err
    assert "Hint:" in err


@pytest.mark.usefixtures("office")
def test_a_comparison_of_which_nothing_can_be_published(monkeypatch, capsys):
    given = ("compare", "data.csv", "-s", "data.toml", "-m", "mondrian", "-k", "900", "--cv", "2", "--samples", "1")
    code, out, _ = run(monkeypatch, capsys, *given, "--classifiers", "tree", "--plot", "a.svg")
    assert code == 3
    assert "mondrian, k = 900, l = 1: infeasible" in out
    assert not Path("a.svg").exists()


@pytest.mark.usefixtures("office")
def test_python_goes_on_with_the_store_of_the_command(monkeypatch, capsys):
    given = ("compare", "data.csv", "-s", "data.toml", "-m", "mondrian", "-k", "5", "--cv", "2", "--samples", "1")
    code, _, err = run(monkeypatch, capsys, *given, "--classifiers", "tree", "--store", "run.jsonl")
    assert (code, err) == (0, "")
    before = Path("run.jsonl").read_text()
    schema = ic.Schema.from_toml("data.toml")
    asked = {"methods": "mondrian", "k": 5, "cv": 2, "samples": 1, "classifiers": "tree"}
    frame = ic.read("data.csv", types={"zip": "str"})
    ic.compare(frame, schema, store="run.jsonl", **asked)
    assert Path("run.jsonl").read_text() == before
