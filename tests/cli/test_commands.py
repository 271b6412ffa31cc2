"""The story from file to checked release, as a person types it."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from test_publish_errors import GOOD, SECRET, home, publish, run  # noqa: F401

import incrowd as ic


def test_init_publish_verify(home, monkeypatch, capsys):  # noqa: F811
    Path("schema.toml").unlink()
    code, out, _ = run(monkeypatch, capsys, "init", "data.csv", "-o", "schema.toml", "--sensitive", "ill")
    assert code == 0
    assert "identifier" in out
    assert ic.Schema.from_toml("schema.toml").identifiers == ["name"]
    single = ("-m", "mondrian", "--set", "recoding=single")
    assert publish(monkeypatch, capsys, "-l", "1.2", *single, "--json", k=3)[0] == 0
    code, out, _ = run(monkeypatch, capsys, "verify", "out", "--original", "data.csv")
    assert code == 0
    assert "not checked" not in out
    code, out, _ = run(monkeypatch, capsys, "verify", "out", "--json")
    verdict = json.loads(out)
    assert (code, verdict["ok"]) == (0, True)
    assert verdict["levels"]["k"] >= 3
    assert ic.Release.load("out").manifest.method.parameters["recoding"] == "single"


def test_init_keeps_an_existing_schema(home, monkeypatch, capsys):  # noqa: F811
    code, _, err = run(monkeypatch, capsys, "init", "data.csv", "-o", "schema.toml")
    assert code == 2
    assert "already exists" in err


def test_verify_finds_a_spoiled_release(home, monkeypatch, capsys):  # noqa: F811
    assert publish(monkeypatch, capsys)[0] == 0
    frame = pl.read_parquet("out/release.parquet")
    frame.head(19).write_parquet("out/release.parquet")
    code, out, _ = run(monkeypatch, capsys, "verify", "out")
    assert code == 3
    assert "broken" in out


def test_verify_of_a_foreign_table(home, monkeypatch, capsys):  # noqa: F811
    Path("foreign.csv").write_text("a,b,s\n1,x,u\n1,x,v\n2,y,u\n2,y,u\n", encoding="utf-8")
    arguments = ["verify", "foreign.csv", "--quasi", "a,b", "--sensitive", "s"]
    assert run(monkeypatch, capsys, *arguments, "-k", "2")[0] == 0
    assert run(monkeypatch, capsys, *arguments, "-k", "3")[0] == 3
    assert run(monkeypatch, capsys, *arguments, "-k", "2", "-l", "2")[0] == 3
    code, _, err = run(monkeypatch, capsys, "verify", "foreign.csv", "-k", "2")
    assert code == 2
    assert "--quasi" in err


def test_verify_says_what_it_could_not_check(home, monkeypatch, capsys):  # noqa: F811
    assert publish(monkeypatch, capsys, "-m", "NHAA", "-l", "2")[0] == 0
    code, out, _ = run(monkeypatch, capsys, "verify", "out")
    assert code == 0
    assert "\nNOT CHECKED without the original: k, l (frequency)\n" in out
    code, out, _ = run(monkeypatch, capsys, "verify", "out", "--json")
    assert (code, json.loads(out)["unchecked"]) == (0, ["k", "l (frequency)"])
    code, out, _ = run(monkeypatch, capsys, "verify", "out", "--original", "data.csv")
    assert (code, "NOT CHECKED" in out) == (0, False)
    code, out, _ = run(monkeypatch, capsys, "verify", "out", "--original", "data.csv", "--json")
    assert (code, json.loads(out)["unchecked"]) == (0, [])


def test_verify_of_nothing(home, monkeypatch, capsys):  # noqa: F811
    code, _, err = run(monkeypatch, capsys, "verify", "nothere")
    assert code == 2
    assert "nothere" in err
    assert "--quasi" in err


@pytest.mark.parametrize("word", ["None", "none", "null", "NULL"])
def test_words_of_python_and_json_are_understood(home, monkeypatch, capsys, word):  # noqa: F811
    own = [f"delta_c={word}", f"delta_d={word}", f"keep_values={'False' if word == 'None' else 'TRUE'}"]
    code, _, err = publish(monkeypatch, capsys, "-m", "iacc", *(x for option in own for x in ("--set", option)))
    assert code == 0, err
    used = ic.Release.load("out").manifest.method.parameters
    assert (used["delta_c"], used["delta_d"], used["keep_values"]) == (None, None, word != "None")


def notes(monkeypatch, capsys, *arguments, k=2):
    code, out, err = publish(monkeypatch, capsys, *arguments, "--json", k=k)
    assert code == 0, err
    for folder in ("out", "out.private"):
        shutil.rmtree(folder)
    return json.loads(out)["notes"] + json.loads(out)["warnings"]


def test_notes_say_what_no_promise_covers(home, monkeypatch, capsys):  # noqa: F811
    alone = "k alone does not hide 'ill'"
    assert any(alone in note for note in notes(monkeypatch, capsys, "-m", "mondrian"))
    assert not any(alone in note for note in notes(monkeypatch, capsys, "-m", "mondrian", "-l", "1.2"))
    pais = ("-m", "pais", "--set", "L=1", "--set")
    assert any(alone in note for note in notes(monkeypatch, capsys, *pais, "C=1"))
    assert not any(alone in note for note in notes(monkeypatch, capsys, *pais, "C=0.9"))
    rare = "fewer than k people have: age"
    assert any(rare in note for note in notes(monkeypatch, capsys, *pais, "C=1", "--domains", "exact", k=3))
    assert not any(rare in note for note in notes(monkeypatch, capsys, *pais, "C=1", k=3))


def test_one_group_for_all_is_said(home, monkeypatch, capsys):  # noqa: F811
    found = notes(monkeypatch, capsys, k=20)
    assert "all rows are in one group" in found[-1]
    assert not any("k alone" in note for note in found)
    assert not any("in one group," in note for note in notes(monkeypatch, capsys, k=5))


def test_leading_zeros_survive_the_whole_way(home, monkeypatch, capsys):  # noqa: F811
    rows = "".join(f"0{1000 + 10 * (i // 2)},{'xy'[i % 2]}\n" for i in range(20))
    Path("data.csv").write_text("zip,ill\n" + rows, encoding="utf-8")
    Path("schema.toml").unlink()
    assert run(monkeypatch, capsys, "init", "data.csv", "-o", "schema.toml")[0] == 0
    assert publish(monkeypatch, capsys)[0] == 0
    assert all(label.startswith("0") for label in ic.Release.load("out").frame["zip"])
    code, out, _ = run(monkeypatch, capsys, "verify", "out", "--original", "data.csv")
    assert code == 0, out


def test_methods(monkeypatch, capsys):
    code, out, _ = run(monkeypatch, capsys, "methods", "--json")
    assert code == 0
    assert {method["name"] for method in json.loads(out)} >= {"mondrian"}
    assert "mondrian" in run(monkeypatch, capsys, "methods")[1]


def test_version(monkeypatch, capsys):
    assert run(monkeypatch, capsys, "--version")[1].strip() == ic.__version__


def test_quiet_is_quiet(home, monkeypatch, capsys):  # noqa: F811
    assert publish(monkeypatch, capsys, "--quiet", "-l", "1.1") == (0, "", "")


def test_same_seed_same_files(home, monkeypatch, capsys):  # noqa: F811
    assert publish(monkeypatch, capsys, "--seed", "5")[0] == 0
    first = Path("out/release.csv").read_bytes()
    manifest = Path("out/manifest.json").read_text(encoding="utf-8")
    Path("out").rename("first")
    Path("out.private").rename("first.private")
    assert publish(monkeypatch, capsys, "--seed", "5")[0] == 0
    assert Path("out/release.csv").read_bytes() == first
    assert "seed" not in manifest
    assert SECRET in GOOD


def seconds(*command):
    best = 99.0
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        best = min(best, time.perf_counter() - start)
    return best


@pytest.mark.slow
def test_start_is_quick():
    bare = seconds(sys.executable, "-c", "pass")
    assert seconds(sys.executable, "-c", "import incrowd") - bare <= 0.3
    assert seconds(sys.executable, "-m", "incrowd", "--help") <= 0.5


def test_import_loads_nothing_heavy():
    code = (
        "import sys, incrowd, incrowd.cli; print([m for m in ('numpy','polars','numba','pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
