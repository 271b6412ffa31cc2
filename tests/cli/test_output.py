"""What --json prints is described by a JSON Schema per command, which ships with the package."""

import json
from importlib.resources import files
from pathlib import Path

import joblib
import jsonschema
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier
from test_publish_errors import SECRET, home, run  # noqa: F401
from test_settings import every_command

from incrowd.cli import settings

TABLE = ("data.csv", "-s", "schema.toml")
EVALUATE = ("--cv", "2", "--samples", "1", "--classifiers", "tree")
PUBLISH = ("publish", *TABLE, "-o", "out")
RULES = "antecedents,consequents,support,confidence\ncherries,viagra,0.084,0.75\ncherries|candles,tylenol,0.024,0.8\n"


def schema(name):
    return json.loads((files("incrowd.cli") / "output" / f"{name}.json").read_text(encoding="utf-8"))


def conforms(text, name):
    found = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    jsonschema.Draft202012Validator(schema(name)).validate(found)
    return found


def checked(monkeypatch, capsys, *arguments, codes=(0,), name=None):
    code, out, err = run(monkeypatch, capsys, *arguments, "--json")
    assert code in codes, out + err
    return conforms(out, name or arguments[0])


def test_every_command_with_json_has_a_schema():
    here = {path.name.removesuffix(".json") for path in (files("incrowd.cli") / "output").iterdir()}
    asked = {
        " ".join(path) for path, command in every_command().items() if "json" in map(settings.key_of, command.params)
    }
    assert here == asked | {"error"}
    for name in here:
        jsonschema.Draft202012Validator.check_schema(schema(name))


def test_init_publish_verify_attack(home, monkeypatch, capsys):  # noqa: F811
    found = checked(monkeypatch, capsys, "init", "data.csv", "-o", "new.toml", "--sensitive", "ill")
    assert found["unique"] == {"rows": 20, "unique": 20, "without": {"age": 0, "work": 6}}
    found = checked(monkeypatch, capsys, *PUBLISH, "-k", "2", "-l", "1.2")
    lost = [column["detail_lost"] for column in found["columns"]]
    assert lost == list(found["loss"]["lm_by_column"].values())
    assert all(isinstance(number, float) for number in lost)
    checked(monkeypatch, capsys, "verify", "out", "--original", "data.csv")
    checked(monkeypatch, capsys, "attack", "out", "--original", "data.csv")
    checked(monkeypatch, capsys, "attack", "out", "--original", "data.csv", "--attacks", "intersection")
    Path("foreign.csv").write_text("a,s\n1,u\n2,u\n", encoding="utf-8")
    broken = checked(
        monkeypatch, capsys, "verify", "foreign.csv", "--quasi", "a", "--sensitive", "s", "-k", "2", codes=(3,)
    )
    assert broken["ok"] is False


def test_init_with_findings(home, monkeypatch, capsys):  # noqa: F811
    rows = "".join(
        f"{999 if i % 7 == 0 else 20 + i},{'?' if i % 9 == 0 else i},{('unknown', 'a', 'b')[i % 3]},{'xy'[i % 2]}\n"
        for i in range(40)
    )
    Path("found.csv").write_text(f"age,height,work,ill\n{rows}", encoding="utf-8")
    asked = ("init", "found.csv", "-o", "found.toml", "--sensitive", "ill")
    found = checked(monkeypatch, capsys, *asked)
    assert any("missing_tokens" in note for note in found["notes"])
    assert found["missing_suspects"] == {"age": ["999"], "work": ["unknown"]}
    assert checked(monkeypatch, capsys, *asked, "--if-exists", "skip") == {"skipped": "found.toml"}


def test_hierarchy(home, monkeypatch, capsys):  # noqa: F811
    for column, kind in (("work", "suppress"), ("age", "intervals"), ("name", "common")):
        found = checked(monkeypatch, capsys, "hierarchy", "data.csv", column)
        assert (found["kind"], found["origin"]) == (kind, "proposed")
        assert SECRET not in json.dumps(found)
    assert checked(monkeypatch, capsys, "hierarchy", *TABLE[:1], "work", *TABLE[1:])["origin"] == "schema"
    chosen = checked(monkeypatch, capsys, "hierarchy", "data.csv", "name", "--kind", "balanced", "-k", "3")
    assert chosen["origin"] == "kind"
    assert chosen["levels"][0] == {"nodes": 20, "with_k": 0, "rows_of_others": 20}


def test_hierarchy_with_a_file(home, monkeypatch, capsys):  # noqa: F811
    Path("tree.csv").write_text("a,letters,*\nb,letters,*\nc,others,*\nd,others,*\n", encoding="utf-8")
    asked = ("hierarchy", "data.csv", "work", "--file")
    found = checked(monkeypatch, capsys, *asked, "tree.csv")
    assert found["groups"] == [{"name": "letters", "leaves": 2, "rows": 20}]
    assert (found["unused"], found["unused_values"]) == (["others"], 2)
    found = checked(monkeypatch, capsys, *asked, "tree.csv", "-k", "30")
    assert (found["groups"], found["levels"][0]["rows_of_others"]) == ([], None)
    Path("short.csv").write_text("a,letters,*\nc,letters,*\n", encoding="utf-8")
    found = checked(monkeypatch, capsys, *asked, "short.csv", codes=(2,))
    assert found["lacking"] == {"values": 1, "rows": 10, "inner": 0, "alike": 0}
    assert "output" not in found
    written = (*asked, "short.csv", "-o", "new.csv")
    assert checked(monkeypatch, capsys, *written)["output"] == "new.csv"
    assert checked(monkeypatch, capsys, *written, "--if-exists", "skip") == {"skipped": "new.csv"}


def test_report(home, monkeypatch, capsys):  # noqa: F811
    checked(monkeypatch, capsys, *PUBLISH, "-k", "2", "-l", "1.2")
    quick = ("report", "out", "--no-evaluate")
    found = checked(monkeypatch, capsys, *quick)
    assert (found["written"], found["judgement"]["with_original"]) == ([], False)
    assert found["adversaries"]["lines"] == []
    found = checked(monkeypatch, capsys, *quick, "--original", "data.csv", "-o", "report.html")
    assert (found["written"], found["judgement"]["with_original"]) == (["report.html"], True)
    assert {line["outcome"] for line in found["adversaries"]["lines"]} >= {"withstood", "not applicable"}
    assert not any(line["rows"] or line["numbers"] for line in found["adversaries"]["lines"])


def test_report_for_the_owner(home, monkeypatch, capsys):  # noqa: F811
    checked(monkeypatch, capsys, *PUBLISH, "-k", "2")
    owner = ("report", "out", "--original", "data.csv", "--for-owner", "--attacks", "linking")
    found = checked(monkeypatch, capsys, *owner)
    assert found["for_owner"]
    assert found["adversaries"]["lines"][0]["numbers"]
    assert len(found["usefulness"]["lines"]) == 3


def test_report_on_a_broken_release(home, monkeypatch, capsys):  # noqa: F811
    checked(monkeypatch, capsys, *PUBLISH, "-k", "2")
    Path("other.csv").write_text(Path("data.csv").read_text(encoding="utf-8").replace(",a,", ",b,"), encoding="utf-8")
    found = checked(monkeypatch, capsys, "report", "out", "--original", "other.csv", codes=(3,))
    assert (found["ok"], found["judgement"]["status"]) == (False, "broken")


def test_rules_of_a_release(home, monkeypatch, capsys):  # noqa: F811
    checked(monkeypatch, capsys, *PUBLISH, "-k", "2")
    asked = ("rules", "out", "--min-support", "0.1", "--min-confidence", "0.3", "--cut", "age=40")
    found = checked(monkeypatch, capsys, *asked, "--original", "data.csv", "-o", "rules.csv")
    assert found["comparison"]["matched"] + found["comparison"]["false"] == len(found["rules"]) > 0
    alone = checked(monkeypatch, capsys, *asked)
    assert (alone["rules"], alone["comparison"]) == (found["rules"], None)
    checked(monkeypatch, capsys, "audit", "rules.csv", "--public", "work=a", "--people", "20", "-k", "1", codes=(0, 3))
    checked(monkeypatch, capsys, "rules", "out", "--cut", "age", codes=(2,), name="error")


def test_projections(home, monkeypatch, capsys):  # noqa: F811
    typed = (*PUBLISH, "-k", "2", "-m", "dmpd", "--set", "generations=2")
    found = checked(monkeypatch, capsys, *typed)
    assert (found["kind"], found["loss"]) == ("projections", None)
    checked(monkeypatch, capsys, "verify", "out")
    assert checked(monkeypatch, capsys, "report", "out", "--no-evaluate")["columns"]["lost"] is None


@pytest.mark.parametrize("method", ["pais", "nsvdist", "nhaa"])
def test_other_promises_and_forms(home, monkeypatch, capsys, method):  # noqa: F811
    own = {"pais": ("--set", "L=1", "--set", "C=0.9"), "nhaa": ("-l", "2")}.get(method, ())
    checked(monkeypatch, capsys, *PUBLISH, "-k", "2", "-m", method, *own, "--domains", "exact")


def test_evaluate_and_compare(home, monkeypatch, capsys):  # noqa: F811
    checked(monkeypatch, capsys, "evaluate", *TABLE, "-m", "mondrian", "-k", "2", *EVALUATE)
    found = checked(monkeypatch, capsys, "compare", *TABLE, "-m", "mondrian", "-k", "2,30", *EVALUATE)
    assert [set(row) for row in found["rows"]] == [set(found["rows"][0])] * 2
    checked(monkeypatch, capsys, "compare", *TABLE, "-m", "mondrian", "-k", "30", *EVALUATE, codes=(3,))
    checked(monkeypatch, capsys, *PUBLISH, "-k", "2")
    checked(monkeypatch, capsys, "evaluate", "out", "--test", "data.csv", *EVALUATE[2:])


def test_audits(home, monkeypatch, capsys):  # noqa: F811
    Path("rules.csv").write_text(RULES, encoding="utf-8")
    rules = ("audit", "rules.csv", "--public", "cherries,candles", "--people", "1000")
    checked(monkeypatch, capsys, *rules, "-k", "31", codes=(3,))
    checked(monkeypatch, capsys, *rules, "-k", "30")
    frame = pl.read_csv("data.csv")
    joblib.dump(DecisionTreeClassifier(random_state=0).fit(frame[["age"]].to_pandas(), frame["ill"]), "model.joblib")
    for k, codes in (("1", (0,)), ("20", (3,))):
        model = ("audit", "model.joblib", "data.csv", "-s", "schema.toml", "-k", k, "--trust")
        checked(monkeypatch, capsys, *model, codes=codes)
    public = checked(monkeypatch, capsys, *model, "--class-public", codes=(0, 3))
    assert [public[name] for name in ("exposed", "confidence", "diversity")] == [None] * 3


def test_lists(monkeypatch, capsys):
    checked(monkeypatch, capsys, "methods")
    assert checked(monkeypatch, capsys, "methods", "Mondrian")["name"] == "mondrian"
    checked(monkeypatch, capsys, "bench")


def test_a_report_of_an_experiment():
    reports = sorted((Path(__file__).parents[2] / "docs" / "results").rglob("*.json"))
    assert len(reports) > 10
    for report in reports:
        conforms(report.read_text(encoding="utf-8"), "bench")


@pytest.mark.parametrize(("k", "code"), [("0", 2), ("30", 3)])
def test_errors(home, monkeypatch, capsys, k, code):  # noqa: F811
    checked(monkeypatch, capsys, *PUBLISH, "-k", k, codes=(code,), name="error")


def test_null_stands_for_what_is_no_number(capsys):
    from incrowd.cli.show import Screen

    Screen(as_json=True).data({"a": [float("nan"), 1.5], "b": {"c": float("inf")}})
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.5], "b": {"c": None}}
