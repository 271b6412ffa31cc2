"""Estimates: said before long work, and what cannot fit into the memory is refused."""

import json
from importlib.resources import files

import pytest

from incrowd import workflow
from incrowd.errors import InputError
from incrowd.publish import PUBLISHERS
from incrowd.workflow import estimates, publishing

GB = 10**9


@pytest.fixture
def measured(monkeypatch):
    """A method that takes a millisecond and a megabyte per row."""
    cost = {"fixed": 0.5, "seconds": 0.001, "rows": 1.0, "columns": 0.0, "bytes_per_cell": 10**6 / 2}
    monkeypatch.setattr(estimates, "_costs", lambda: {"mondrian": cost, "best_cuts": cost})


def publish(tmp_path, run=None, **more):
    import polars as pl

    import incrowd as ic

    frame = pl.DataFrame({"age": [i % 7 for i in range(40)], "ill": ["x", "y"] * 20})
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill")
    return workflow.publish(frame, schema, tmp_path / "out", method="mondrian", parameters={"k": 2}, run=run, **more)


def test_every_method_of_ours_was_measured():
    costs = json.loads((files("incrowd.workflow") / "costs.json").read_text(encoding="utf-8"))["methods"]
    assert set(costs) == set(PUBLISHERS) - {
        "lattice",
        "k_optimal",
        "iyengar",
        "mdav",
        "bottom_up",
        "m_invariance",
    }  # theirs depends on levels, cuts, nodes and k
    for name, cost in costs.items():
        assert cost["rows"] >= 1, name  # it never costs less with more rows
        assert cost["bytes_per_cell"] > 0, name


def test_more_rows_and_columns_take_more():
    small, more = estimates.estimate("mondrian", 10**5, 4), estimates.estimate("mondrian", 10**6, 8)
    assert small.seconds < more.seconds
    assert small.memory < more.memory
    assert estimates.estimate("of another package", 10, 2) is None


@pytest.mark.usefixtures("measured")
def test_how_it_is_said():
    assert str(estimates.estimate("mondrian", 40_000, 1)) == "about 40 s and 40.4 GB"
    assert str(estimates.Estimate(130, 3.4e8)) == "about 2 minutes and 340 MB"


@pytest.mark.usefixtures("measured")
def test_long_work_is_announced_and_short_work_is_not(tmp_path, monkeypatch):
    said = []
    run = workflow.Run(notice=said.append)
    publish(tmp_path, run)
    assert said == []
    monkeypatch.setattr(publishing, "_LONG", 2.0)
    publish(tmp_path, run, replace=True)
    assert said == ["This takes about 3 s and 410 MB."]


@pytest.mark.usefixtures("measured")
def test_what_cannot_fit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(estimates, "available_memory", lambda: 130 * 10**6)
    with pytest.raises(
        InputError, match=r"needs about 410 MB of memory for 40 rows and 1 quasi-identifiers?, and 130 MB"
    ):
        publish(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert publish(tmp_path, force=True).folder.is_dir()
    monkeypatch.setattr(estimates, "available_memory", lambda: 140 * 10**6)  # an estimate may be three times too high
    publish(tmp_path, replace=True)


def test_a_file_larger_than_the_memory_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(estimates, "available_memory", lambda: 10 * 10**6)
    with (tmp_path / "data.csv").open("wb") as file:
        file.truncate(31 * 10**6)
    with pytest.raises(InputError, match=r"'.*data\.csv' has 30 MB, and 10 MB of memory are free") as refused:
        estimates.refuse_unreadable(tmp_path / "data.csv")
    assert "force=True" in refused.value.hint
    for fine in (tmp_path / "none.csv", "sqlite:///a.db", {"a": [1]}):
        estimates.refuse_unreadable(fine)


def test_the_memory_that_is_free(monkeypatch, tmp_path):
    free = estimates.available_memory()
    assert free is None or free > 10**6
    (tmp_path / "max").write_text("5000000\n")
    (tmp_path / "used").write_text("2000000\n")
    monkeypatch.setattr(estimates, "_CGROUPS", ((str(tmp_path / "max"), str(tmp_path / "used")),))
    assert estimates.available_memory() == 3 * 10**6
    (tmp_path / "max").write_text("max\n")
    assert estimates.available_memory() != 3 * 10**6
