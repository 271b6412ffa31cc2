"""A report on a folder: the same as on the release in memory, with the files; it can be watched and stopped."""

import hashlib
import json
from dataclasses import replace

import polars as pl
import pytest

import incrowd as ic
from incrowd import workflow

N = 60
FRAME = pl.DataFrame(
    {
        "age": [20 + i * 7 % 40 for i in range(N)],
        "zip": [f"0{100 + i % 6}" for i in range(N)],  # numbers to a reader who does not know better
        "ill": ["no" if i * 7 % 40 < 20 else "yes" for i in range(N)],
    }
)
SCHEMA = ic.Schema(quasi={"age": ic.Intervals(), "zip": ic.prefixes()}, sensitive="ill")
QUICK = ["linking", "matching"]


@pytest.fixture
def home(tmp_path):
    ic.Mondrian(k=5).publish(FRAME, SCHEMA, seed=1).save(tmp_path / "r")
    FRAME.write_csv(tmp_path / "data.csv")
    return tmp_path


def test_a_report_on_a_folder_is_that_on_the_release_with_its_files(home):
    found = workflow.report(home / "r", home / "data.csv", attacks=QUICK)
    memory = ic.Release.load(home / "r").report(FRAME, attacks=QUICK).summary
    assert found.summary.usefulness.lines
    for part in ("promise", "columns", "usefulness", "adversaries", "risks", "limits"):
        assert getattr(found.summary, part) == getattr(memory, part)
    manifest = (home / "r" / "manifest.json").read_bytes()
    assert dict(found.summary.making.files)["manifest.json"] == hashlib.sha256(manifest).hexdigest()
    assert replace(found.summary.making, files=()) == memory.making
    names = {line.name for line in found.summary.judgement.checks}
    assert {"files", "csv", "parquet", "order", "private files"} <= names
    assert json.loads(json.dumps(found.to_dict()))["ok"] is True


def test_a_report_tells_every_stage_and_writes_what_was_asked_for(home):
    stages = []
    run = workflow.Run(lambda stage, *_: stages.append(stage))
    workflow.report(home / "r", FRAME, attacks=QUICK, output=home / "r.html", run=run)
    assert [stage for stage in dict.fromkeys(stages) if stage != "reading"] == [
        "checking", "folds", "attacking", "writing",
    ]  # fmt: skip
    assert (home / "r.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    with pytest.raises(ic.InputError, match="already exists"):
        workflow.report(home / "r", output=home / "r.html")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("wanted", ["checking", "folds", "attacking", "writing"])
def test_a_cancelled_report_leaves_nothing(home, wanted):
    def progress(stage, *_):
        if stage == wanted:
            run.cancel()

    run = workflow.Run(progress)
    with pytest.raises(ic.Cancelled):
        workflow.report(home / "r", FRAME, attacks=QUICK, output=home / "r.html", run=run)
    assert not (home / "r.html").exists()


def test_earlier_releases_are_compared(home):
    ic.Mondrian(k=5).publish(FRAME, SCHEMA, seed=2).save(home / "other")
    found = workflow.report(home / "r", FRAME, earlier=[home / "other"], attacks=["intersection"], evaluate=False)
    (line,) = found.summary.adversaries.lines
    assert line.family == "Linkability"
    assert line.outcome != "not applicable"
