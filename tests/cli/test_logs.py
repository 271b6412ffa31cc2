"""The log says what was done, and holds no cell, no content of a file and no password; also when a call fails."""

import json
import os
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from test_publish_errors import home, run  # noqa: F401
from test_settings import every_command

import incrowd as ic
from incrowd.cli import logs, settings
from incrowd.cli.exits import EXIT_CODES

MARK = "Qzx"  # in every text cell, and nowhere else
NUMBER = "98765"  # in every number
NAMES = ["name", "age", "work", "ill", "basket"]
ROWS = [
    (f"{MARK}{i}", f"{NUMBER}{20 + 7 * i % 13}", f"{MARK}{'ab'[i % 2]}", f"{MARK}{'xy'[i // 2 % 2]}", f"{MARK}item")
    for i in range(20)
]
TABLE = "\n".join(",".join(row) for row in [NAMES, *ROWS]) + "\n"


@pytest.fixture
def marked(home):  # noqa: F811
    Path("data.csv").write_text(TABLE, encoding="utf-8")
    with Path("schema.toml").open("a", encoding="utf-8") as file:
        file.write('[columns.basket]\nrole = "other"\n')
    return home


def lines():
    return [json.loads(line) for line in Path("run.log").read_text(encoding="utf-8").splitlines()]


CALLS = [
    ("init", "data.csv", "-o", "new.toml", "--sensitive", "ill", "--missing-token", f"{MARK}a"),
    ("publish", "data.csv", "-s", "schema.toml", "-o", "out", "-k", "2", "--seed", NUMBER),
    ("publish", "data.csv", "-s", "schema.toml", "-o", "out", "-k", "2"),  # exists
    ("publish", "data.csv", "-s", "schema.toml", "-o", "more", "-k", "30"),  # infeasible
    ("publish", "data.csv", "-s", "schema.toml", "-o", "more", "-k", MARK),  # no number
    ("publish", "data.csv", "-s", "schema.toml", "-o", "more", "-k", "2", "--set", f"{MARK}={MARK}"),
    ("publish", "data.csv", "-s", "schema.toml", "-o", "more", "-k", "2", "-m", f"{MARK}"),
    ("publish", f"postgresql://ann:{MARK}@localhost:1/x", "--query", f"select '{MARK}'", "-s", "schema.toml", "-o", "a",
     "-k", "2"),
    ("publish", "broken.csv", "-s", "schema.toml", "-o", "more", "-k", "2"),
    ("verify", "out", "--original", "data.csv"),
    ("verify", "out", "--original", "other.csv"),
    ("verify", "data.csv", "--quasi", "age,work", "--sensitive", "ill", "-k", "2"),
    ("attack", "out", "--original", "data.csv"),
    ("evaluate", "data.csv", "-s", "schema.toml", "-m", "mondrian", "-k", "2", "--cv", "2", "--samples", "1",
     "--classifiers", "tree"),
    ("audit", "rules.csv", "--public", f"{MARK}cherries", "--people", "1000", "-k", "31"),
    ("audit", "data.csv", "--public", f"{MARK}item", "--people", "20"),
    ("verify", "out", "--orignal", MARK),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("marked")
def test_no_cell_and_no_password_in_the_log(monkeypatch, capsys):
    Path("rules.csv").write_text(
        f"antecedents,consequents,support,confidence\n{MARK}cherries,{MARK}viagra,0.03,0.75\n", encoding="utf-8"
    )
    Path("broken.csv").write_text(f"name,age,work,ill\n{MARK},1\n{MARK}", encoding="utf-8")
    Path("other.csv").write_text(TABLE.replace(f"{MARK}a", f"{MARK}b"), encoding="utf-8")
    codes = [run(monkeypatch, capsys, *call, "--log", "run.log")[0] for call in CALLS]
    text = Path("run.log").read_text(encoding="utf-8")
    assert MARK not in text.replace(f'"method": "{MARK}"', "")  # a name that was typed as a method
    assert NUMBER not in text
    assert {0, 2, 3} <= set(codes)
    ends = [line for line in lines() if line["event"] == "end"]
    assert len(ends) == len(CALLS) - 1  # the last one was mistyped, before there was a log
    assert [line["exit_code"] for line in ends] == codes[:-1]
    assert all(line["outcome"] == EXIT_CODES[line["exit_code"]][0] for line in ends)
    errors = {line["error"] for line in ends if "error" in line}
    assert {"InputError", "InfeasibleError", "BadParameter", "ParameterError"} <= errors


@pytest.mark.usefixtures("marked")
def test_what_a_line_says(monkeypatch, capsys):
    assert run(monkeypatch, capsys, *CALLS[1], "--log", "run.log", "-l", "1.1")[0] == 0
    start, end = lines()
    common = {"time", "event", "run", "command", "version"}
    assert set(start) == {*common, "parameters"}
    assert set(end) == {*common, "outcome", "exit_code", "seconds", "stages", "counts"}
    assert (start["event"], end["event"]) == ("start", "end")
    assert start["run"] == end["run"]
    assert (start["command"], start["version"]) == ("publish", ic.__version__)
    assert datetime.fromisoformat(start["time"]).utcoffset().total_seconds() == 0
    given = {"data": "data.csv", "schema": "schema.toml", "output": "out", "k": 2, "l": ["1.1"], "seed": "given"}
    assert start["parameters"] == given
    assert end["counts"]["rows"] == {"input": 20, "missing": 0, "suppressed": 0, "released": 20}
    assert 0 < sum(end["stages"].values()) <= end["seconds"] + 0.01
    assert {"reading", "writing"} <= set(end["stages"])


@pytest.mark.usefixtures("marked")
def test_every_call_is_appended_and_has_its_name(monkeypatch, capsys):
    monkeypatch.setenv("INCROWD_VERIFY_LOG", "run.log")
    Path("incrowd.toml").write_text('[publish]\nlog = "run.log"\n', encoding="utf-8")
    assert run(monkeypatch, capsys, *CALLS[1])[0] == 0
    assert run(monkeypatch, capsys, "verify", "out")[0] == 0
    assert [line["command"] for line in lines()] == ["publish", "publish", "verify", "verify"]
    assert len({line["run"] for line in lines()}) == 2
    assert lines()[-1]["counts"]["checks"] > 5


@pytest.mark.usefixtures("marked")
def test_a_log_that_cannot_be_written(monkeypatch, capsys):
    code, _, err = run(monkeypatch, capsys, *CALLS[1], "--log", "nowhere/run.log")
    assert (code, Path("out").exists()) == (2, False)
    assert err.startswith(
        "Error: Cannot write the log 'nowhere/run.log': No such file or directory\n\nHint: give a file"
    )
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    code, _, err = run(monkeypatch, capsys, *CALLS[1], "--log", "/dev/full")
    assert (code, Path("out").exists()) == (2, False)


@pytest.mark.slow
@pytest.mark.usefixtures("marked")
def test_a_stopped_call_is_logged():
    code = "import os, signal, sys; from incrowd import io; from incrowd.cli import main; "
    code += "io.read_with_findings = lambda *a, **k: os.kill(os.getpid(), signal.SIGTERM); main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *CALLS[1], "--log", "run.log"], capture_output=True, check=False, env=os.environ
    )
    assert done.returncode == 143
    assert [line["event"] for line in lines()] == ["start", "end"]
    assert (lines()[1]["exit_code"], lines()[1]["outcome"]) == (143, "stopped by SIGTERM")


def test_what_is_logged_is_named_one_by_one():
    known = {key for command in every_command().values() for key in settings.settable(command)}
    assert known | {"trust", "if-exists"} >= logs._SAFE
    assert not logs._SAFE & {"query", "public", "missing-token", "seed", "set", "quasi", "sensitive"}


def test_stages_are_ours_to_name():
    """A stage is logged by its name, which is a constant of the code and not a cell."""
    found = set()
    for path in Path(ic.__file__).parent.rglob("*.py"):
        found |= set(re.findall(r'\b(?:progress|work|run|report)\((f?"[^"]*")', path.read_text(encoding="utf-8")))
    assert found
    assert not any(stage.startswith("f") and "{" in stage for stage in found)
