"""The contract of experiments: tasks, run, report; files that say how they were made; runs that go on."""

import json
import sys
from dataclasses import replace
from itertools import product

import polars as pl
import pytest

import incrowd as ic
from incrowd import plots
from incrowd.evaluate.provenance import code_of
from incrowd.experiments import Experiment, Options, Report, Section, Verdict, beside, run_experiment, write_report
from incrowd.experiments.experiment import incomplete

RUNS = []


def square(task):
    RUNS.append(task["x"])
    if task["x"] == 3:
        raise ic.ParameterError("three is too many")
    return {"square": task["x"] ** 2}


def tasks(options):
    return [{"x": x} for x in range(2 if options.quick else 4)]


def report(done, options):
    rows = [{"x": task["x"], "ours": result.get("square"), "paper": 1.0} for task, result in done]
    frame = beside(pl.DataFrame(rows))

    def draw():
        drawn = plots.figure()
        plots.lines(drawn.axes[0], frame.drop_nulls(), "x", "ours")
        return drawn

    verdict = Verdict("squares grow", "they do", holds=True)
    return Report([Section("squares", frame)], [verdict], ["measured by hand"], draw)


EXAMPLE = Experiment("example", "Anon 2000", "Table 0", "squares | cubes", tasks, square, report)


@pytest.fixture(autouse=True)
def fresh():
    RUNS.clear()


def test_report_has_ours_beside_theirs():
    found = run_experiment(EXAMPLE, Options(quick=True))
    assert found.sections[0].frame["difference"].to_list() == [-1.0, 0.0]
    assert list(found.notes) == ["measured by hand"]


def test_failed_tasks_are_told_of():
    found = run_experiment(EXAMPLE)
    assert found.notes[-1] == "1 of 4 tasks failed: three is too many"
    assert found.sections[0].frame["ours"].to_list() == [0, 1, 4, None]


def test_nothing_at_all_is_an_error():
    with pytest.raises(ic.InputError, match="No task of example could be computed: three is too many"):
        run_experiment(replace(EXAMPLE, tasks=lambda _options: [{"x": 3}]))


def test_a_stopped_run_goes_on(tmp_path):
    def stop(_stage, done, _total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(EXAMPLE, store=tmp_path, progress=stop)
    assert RUNS == [0, 1]
    run_experiment(EXAMPLE, store=tmp_path)
    assert RUNS == [0, 1, 2, 3]
    run_experiment(EXAMPLE, store=tmp_path)
    assert RUNS == [0, 1, 2, 3, 3]  # what failed is tried again


def test_what_is_finished_can_be_reported_without_the_rest(tmp_path):
    with pytest.raises(ic.InputError, match="no finished task of example"):
        run_experiment(EXAMPLE, store=tmp_path, finished_only=True)
    run_experiment(EXAMPLE, Options(quick=True), store=tmp_path)
    found = run_experiment(EXAMPLE, store=tmp_path, finished_only=True)
    assert RUNS == [0, 1]
    assert found.sections[0].frame["ours"].to_list() == [0, 1]
    assert found.notes[0].startswith("2 of 4 tasks")
    assert found.notes[0].endswith("Incomplete: in all 2 of 4.")


def test_what_other_code_computed_is_computed_again_and_told_of_in_a_report_without_that(tmp_path, monkeypatch):
    run_experiment(EXAMPLE, Options(quick=True), store=tmp_path)
    for module in ("incrowd.evaluate.runner", "incrowd.experiments.experiment"):
        monkeypatch.setattr(sys.modules[module], "code_of", lambda _function: "newer")
    told = run_experiment(EXAMPLE, Options(quick=True), store=tmp_path, finished_only=True)
    assert RUNS == [0, 1]
    assert told.notes[0].startswith("2 of 2 cells were computed by earlier code")
    assert (told.origin.code, told.origin.earlier) == ("newer", 2)
    renewed = run_experiment(EXAMPLE, Options(quick=True), store=tmp_path)
    assert RUNS == [0, 1, 0, 1]
    assert renewed.origin.earlier == 0


def test_what_is_incomplete_is_told_by_table_and_classifier():
    named = product(("cmc", "yeast"), ("nb", "j48"), (0, 1))
    wanted = [{"dataset": dataset, "classifier": learner, "fold": fold} for dataset, learner, fold in named]
    (told,) = incomplete(wanted, [task for task in wanted if task["classifier"] == "j48" or task["fold"] == 0][:-1])
    assert told.startswith("5 of 8 tasks of this experiment were computed")
    assert told.endswith("Incomplete: cmc by nb 1 of 2, yeast by nb 1 of 2, yeast by j48 1 of 2.")
    assert incomplete(wanted, wanted) == []


def test_files(tmp_path):
    written = write_report(run_experiment(EXAMPLE), EXAMPLE, tmp_path, "incrowd bench example")
    assert [path.name for path in written] == ["example.json", "example.md", "example.svg"]
    data = json.loads((tmp_path / "example.json").read_text())
    assert data["sections"][0]["rows"][2] == {"x": 2, "ours": 4, "paper": 1.0, "difference": 3.0}
    assert data["made_by"]["command"] == "incrowd bench example"
    assert data["made_by"]["versions"]["incrowd"] == ic.__version__
    assert data["made_by"]["code"] == code_of(square)
    assert list(data["made_by"]["commits"].values()) == [4]
    assert data["made_by"]["settings"] == {"quick": False, "classifiers": [], "datasets": []}
    assert data["made_by"]["seconds"] >= 0
    text = (tmp_path / "example.md").read_text()
    assert "| 2 | 4 | 1.00 | 3.00 |" in text
    assert "| squares grow | they do | holds |" in text
    assert "![squares | cubes](example.svg)" in text
    assert "`incrowd bench example`" in text
    assert f"code {code_of(square)}; 0 seconds of one process. Settings: all of it." in text


def test_tables_that_an_experiment_lacks():
    assert Options(datasets=("b",)).among(["a", "b"]) == ["b"]
    assert Options().among(["a", "b"]) == ["a", "b"]
    with pytest.raises(ic.ParameterError, match="no table 'c'"):
        Options(datasets=("c",)).among(["a", "b"])
