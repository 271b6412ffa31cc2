"""--if-exists: fail, skip or replace what is there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_output import RULES, checked
from test_publish_errors import home, publish, run  # noqa: F401

import incrowd as ic


def tree(folder="."):
    return {str(path): path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()}


def test_fail_is_what_happens_by_itself(home, monkeypatch, capsys):  # noqa: F811
    assert publish(monkeypatch, capsys)[0] == 0
    before = tree()
    for words in ((), ("--if-exists", "fail")):
        code, _, err = publish(monkeypatch, capsys, *words)
        assert (code, "'out' already exists" in err) == (2, True)
    code, _, err = publish(monkeypatch, capsys, "--if-exists", "maybe")
    assert (code, err.endswith("Hint: use fail, skip or replace\n")) == (2, True)
    assert tree() == before


def test_skip_does_nothing(home, monkeypatch, capsys):  # noqa: F811
    assert publish(monkeypatch, capsys, "--if-exists", "skip")[0] == 0
    before = tree()
    code, out, err = publish(monkeypatch, capsys, "--if-exists", "skip", k=30)  # which would be infeasible
    assert (code, out, err) == (0, "out exists already, and was left as it is.\n", "")
    typed = ("publish", "data.csv", "-s", "schema.toml", "-o", "out", "-k", "2", "--if-exists", "skip")
    assert checked(monkeypatch, capsys, *typed) == {"skipped": "out"}
    assert checked(monkeypatch, capsys, "init", "data.csv", "-o", "schema.toml", "--if-exists", "skip")
    assert tree() == before


def test_replace(home, monkeypatch, capsys):  # noqa: F811
    assert publish(monkeypatch, capsys, "--excel-safe", "--if-exists", "replace")[0] == 0
    assert publish(monkeypatch, capsys, "--excel-safe", "--if-exists", "replace", k=5)[0] == 0
    assert ic.Release.load("out").manifest.k == 5
    assert run(monkeypatch, capsys, "verify", "out", "--original", "data.csv")[0] == 0
    assert run(monkeypatch, capsys, "init", "data.csv", "-o", "schema.toml", "--if-exists", "replace")[0] == 0


def test_what_cannot_be_published_replaces_nothing(home, monkeypatch, capsys):  # noqa: F811
    assert publish(monkeypatch, capsys)[0] == 0
    before = tree()
    assert publish(monkeypatch, capsys, "--if-exists", "replace", k=30)[0] == 3
    assert tree() == before


@pytest.mark.parametrize("where", ["out", "out.private"])
def test_only_releases_are_replaced(home, monkeypatch, capsys, where):  # noqa: F811
    assert publish(monkeypatch, capsys)[0] == 0
    Path(where, "thesis.txt").write_text("ten years", encoding="utf-8")
    before = tree()
    code, _, err = publish(monkeypatch, capsys, "--if-exists", "replace")
    assert (code, f"'{where}' exists and is not only a release" in err) == (2, True)
    assert tree() == before


def test_a_file_or_a_link_is_not_replaced(home, monkeypatch, capsys):  # noqa: F811
    Path("out").write_text("x", encoding="utf-8")
    assert publish(monkeypatch, capsys, "--if-exists", "replace")[0] == 2
    Path("out").unlink()
    assert publish(monkeypatch, capsys)[0] == 0
    Path("link").symlink_to("out")
    code, _, err = publish(monkeypatch, capsys, "-o", "link", "--if-exists", "replace")
    assert (code, "'link' exists" in err) == (2, True)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is sure to let folders change places")
def test_killed_between_both_folders_the_next_reader_finds_the_old_release(home, monkeypatch, capsys):  # noqa: F811
    assert publish(monkeypatch, capsys)[0] == 0
    before = tree()
    code = (
        "import os, signal\nfrom incrowd.io import staging\nstep = staging.exchange\n"
        "staging.exchange = lambda *a: (step(*a), os.kill(os.getpid(), signal.SIGKILL))\n"
        "from incrowd.cli import main; main()"
    )
    typed = ["publish", "data.csv", "-s", "schema.toml", "-o", "out", "-k", "5", "--if-exists", "replace"]
    subprocess.run([sys.executable, "-c", code, *typed], check=False, env=os.environ, capture_output=True)
    assert tree() != before
    code, out, _ = run(monkeypatch, capsys, "verify", "out", "--original", "data.csv", "--json")
    assert (code, json.loads(out)["complete"]) == (0, True)
    assert tree() == before


def test_repairs_and_figures(home, monkeypatch, capsys):  # noqa: F811
    Path("rules.csv").write_text(RULES, encoding="utf-8")
    typed = ("audit", "rules.csv", "--public", "cherries,candles", "--people", "1000", "-k", "31", "--repair", "a.csv")
    Path("a.csv").write_text("mine", encoding="utf-8")
    assert run(monkeypatch, capsys, *typed)[0] == 2
    assert run(monkeypatch, capsys, *typed, "--if-exists", "skip")[0] == 3
    assert Path("a.csv").read_text(encoding="utf-8") == "mine"
    assert run(monkeypatch, capsys, *typed, "--if-exists", "replace")[0] == 3
    assert Path("a.csv").read_text(encoding="utf-8").startswith("antecedents")
    evaluate = ("evaluate", "data.csv", "-s", "schema.toml", "-m", "mondrian", "-k", "2", "--cv", "2", "--samples", "1")
    evaluate = (*evaluate, "--classifiers", "tree", "--plot", "a.svg")
    Path("a.svg").write_text("mine", encoding="utf-8")
    assert run(monkeypatch, capsys, *evaluate)[0] == 2
    assert run(monkeypatch, capsys, *evaluate, "--if-exists", "skip")[0] == 0
    assert Path("a.svg").read_text(encoding="utf-8") == "mine"
