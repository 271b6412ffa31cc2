"""DMPD's experiments: published figures agree with each other, and a small run goes from rows to report."""

import numpy as np
import polars as pl
import pytest

from incrowd import datasets
from incrowd.experiments import dmpd, dmpd_rivals, dmpd_search, dmpd_table1, run_experiment, write_report
from incrowd.experiments.experiment import Options
from incrowd.experiments.registry import experiment, published
from incrowd.publish.decomposition.levels import Levels


def people(n=180, seed=2):
    rng = np.random.default_rng(seed)
    job, town, age = rng.integers(0, 4, n), rng.integers(0, 3, n), rng.integers(18, 70, n)
    score = (job == 2) + (town == 1) * (age > 40) + rng.normal(0, 0.3, n)
    return pl.DataFrame(
        {
            "job": [f"j{code}" for code in job],
            "town": [f"t{code}" for code in town],
            "age": age,
            "wage": rng.normal(size=n).round(2) + (job == 2),
            "risk": np.where(score > 0.7, "high", "low"),
        }
    )


@pytest.fixture
def small(monkeypatch):
    """Every table is a small one of people, with three missing values and a class of two rows."""
    frame = people()
    frame[0, "job"] = frame[1, "town"] = frame[2, "age"] = None
    frame[3, "risk"] = frame[4, "risk"] = "rare"
    for known in (dmpd.table_of, dmpd.quasi_of, dmpd.copies):
        known.cache_clear()
    monkeypatch.setattr(datasets, "load", lambda _name: frame)
    yield frame
    for known in (dmpd.table_of, dmpd.quasi_of, dmpd.copies):
        known.cache_clear()


def test_published_tables_agree_with_each_other():
    paper = published("dmpd")
    assert set(dmpd.LEVELS) | {"portfolio"} == set(paper["table1"]["levels"])
    for name, levels in dmpd.LEVELS.items():
        assert list(levels) == paper["table1"]["levels"][name]
    for kind in ("mean", "deviation", "mark"):
        for inducer in dmpd.INDUCERS:
            assert {len(row) for row in paper["table1"][kind][inducer].values()} == {6}
        for number, (_, rival) in dmpd_rivals.TABLES.items():
            rows = paper[f"table{number}"][kind]
            assert set(rows) == {f"{m}_top{top}" for m in ("dmpd", rival) for top in (5, 7, 9)}
            assert {len(row) for row in rows.values()} == {8}
    for one, other in ((3, 4), (5, 6)):  # the same DMPD figures stand in both
        for top in (5, 7, 9):
            for kind in ("mean", "deviation"):
                assert paper[f"table{one}"][kind][f"dmpd_top{top}"] == paper[f"table{other}"][kind][f"dmpd_top{top}"]
    for number, (name, _) in dmpd_rivals.TABLES.items():
        assert paper[f"table{number}"]["levels"] == list(dmpd.LEVELS[name])
        top9 = paper[f"table{number}"]["mean"]["dmpd_top9"]
        gaps = {
            (inducer, k): round(theirs - first, 2)
            for i, inducer in enumerate(dmpd.INDUCERS)
            for k, theirs, first in zip(
                dmpd.LEVELS[name], top9[4 * i : 4 * i + 4], paper["table1"]["mean"][inducer][name][2:], strict=True
            )
            if theirs != first
        }
        assert gaps == ({("tree", 200): 0.37, ("tree", 500): 0.02} if name == "adult" else {})


def test_no_two_methods_are_both_marked_and_marks_follow_means():
    for number, (_, rival) in dmpd_rivals.TABLES.items():
        table = published("dmpd")[f"table{number}"]
        for top in (5, 7, 9):
            for i in range(8):
                ours, theirs = (table["mark"][f"{method}_top{top}"][i] for method in ("dmpd", rival))
                gap = table["mean"][f"dmpd_top{top}"][i] - table["mean"][f"{rival}_top{top}"][i]
                assert not (ours and theirs)
                assert not ours or gap > 0
                assert not theirs or gap < 0
    marks = [sum(map(sum, published("dmpd")[f"table{n}"]["mark"].values())) for n in (3, 4, 5, 6)]
    assert marks[2:] == [0, 2]  # "2 of 24 experiments show significant DMPD superiority"


def test_halves_and_rows(small):
    frame = dmpd.table_of("german")
    assert frame.height == small.height - 5
    assert frame["class"].unique().sort().to_list() == ["high", "low"]
    one, other = dmpd.halves(frame, 0)
    assert sorted([*one, *other]) == list(range(frame.height))
    shares = [(frame[rows]["class"] == "high").mean() for rows in (one, other)]
    assert abs(shares[0] - shares[1]) < 0.02
    assert dmpd.halves(frame, 1)[0].tolist() != one.tolist()
    first, second = (dmpd.run(task) for task in dmpd.tasks_of("german", "original", ["tree"], Options())[:2])
    assert first != second


def test_what_is_published_keeps_k_in_the_training_half(small):
    task = dmpd.tasks_of("german", "dmpd", ["tree"], Options(quick=True), top=3, one=True)[0]
    result = dmpd.run(task)
    assert list(result["accuracy"]) == ["1", "10", "20", "30", "50"]
    for k in ("10", "20", "30", "50"):
        assert result["level"][k] is None or result["level"][k] >= int(k)
        assert 0.4 < result["accuracy"][k] <= 1
    assert result["fitness"]["1"] >= result["fitness"]["50"] - 0.05
    train = dmpd.table_of("german")[dmpd.halves(dmpd.table_of("german"), 0)[0]]
    quasi = list(dmpd.quasi_of("german", 3))
    names = [name for name in quasi if train[name].dtype == pl.String]
    for part in result["parts"]["50"]:  # intervals are coarser than numbers, so names alone must do
        known = [name for name in part if name in names]
        if known:
            assert train.group_by(known).len()["len"].min() >= 50
    assert Levels.of(train, "class", quasi).partial([[0]]) > 0


def test_cuts_of_the_whole_table_are_told_apart(small, monkeypatch):
    task = dmpd.tasks_of("german", "dmpd", ["naive_bayes"], Options(quick=True), top=3)[0] | {"levels": [1]}
    heights, known = [], dmpd.discretized

    def spy(rows, *rest, **given):
        heights.append(rows.height)
        return known(rows, *rest, **given)

    monkeypatch.setattr(dmpd, "discretized", spy)
    for where in ({}, {"cuts": "whole"}):
        assert dmpd.run(task | where)["accuracy"]["1"] > 0.4
    assert heights == [small.height - 5]  # what is published cuts by itself
    done = [
        (each, {"accuracy": {"1": 0.5, "10": 0.6}}) for each in dmpd.tasks_of("german", "dmpd", ["tree"], Options())
    ]
    done += [(each | {"cuts": "whole"}, {"accuracy": {"1": 0.9, "10": 0.8}}) for each, _ in done]
    report = dmpd_table1.report(done, Options())
    assert report.verdicts[0].found == "0 of 2 (0%)"
    assert report.verdicts[1].found == "2 of 2 (100%)"


@pytest.mark.parametrize("method", ["original", "dmpd", "tds"])
def test_a_copy_of_a_quasi_identifier_is_left_out_for_every_method(small, monkeypatch, method):
    twice = people().with_columns(copy=pl.col("job").str.to_uppercase()).select(pl.exclude("risk"), "risk")
    monkeypatch.setattr(datasets, "load", lambda _name: twice)
    monkeypatch.setattr(dmpd, "top_features", lambda *_: ["job", "town"])
    seen = []
    monkeypatch.setitem(dmpd._METHODS, method, lambda _task, train, _test: seen.append(train.columns) or {})
    dmpd.run(dmpd.tasks_of("german", method, ["tree"], Options(quick=True))[0])
    assert seen == [["job", "town", "age", "wage", "class"]]


@pytest.mark.parametrize("method", ["tds", "tdr"])
def test_rivals_learn_from_their_releases(small, method):
    tasks = dmpd.tasks_of("german", method, ["tree", "naive_bayes"], Options(quick=True), top=3)
    for task in tasks[:2]:
        found = dmpd.run(task)["accuracy"]
        assert list(found) == ["10", "20", "30", "50"]
        assert all(0.4 < accuracy <= 1 for accuracy in found.values())


@pytest.mark.slow
def test_table_1_from_rows_to_report(small, tmp_path):
    options = Options(quick=True, datasets=("german",))
    found = run_experiment(dmpd_table1.EXPERIMENTS[0], options, store=tmp_path / "store")
    frame = found.sections[-3].frame
    assert frame.height == 2 * 6
    assert frame["halves"].unique().to_list() == [2]
    assert (frame["ours"] - frame["paper"] - frame["difference"]).abs().max() < 1e-9
    assert [section.title for section in found.sections[:2]] == ["C4.5", "naive Bayes"]
    assert found.verdicts[0].found.startswith(
        f"{frame.filter((pl.col('k') > 0) & (pl.col('difference') >= -1.5)).height} of 10"
    )
    written = write_report(found, dmpd_table1.EXPERIMENTS[0], tmp_path, "a test")
    assert {path.suffix for path in written} == {".json", ".md", ".svg"}


@pytest.mark.slow
def test_rivals_report(small, monkeypatch):
    monkeypatch.setattr(dmpd_rivals, "TOPS", (5,))
    found = run_experiment(experiment("dmpd-table6"), Options(quick=True))
    frame = found.sections[-2].frame
    assert frame.height == 8
    assert found.sections[-1].frame["folds"].unique().to_list() == [2]
    assert frame["p"].null_count() == 8  # needs all ten halves
    assert found.verdicts[0].claim.endswith("(8 of 24 in the paper)")
    assert len(found.verdicts) == 2


def done(method, accuracy, spread=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return [
        (task, {"accuracy": {str(k): accuracy + spread * rng.normal() for k in task["levels"]}})
        for top in (5, 7, 9)
        for task in dmpd.tasks_of(
            "german", method, dmpd.INDUCERS, Options(), top=top, one=method == "dmpd" and top == 9
        )
    ]


def test_marks_and_verdicts_follow_the_tests():
    clear = dmpd_rivals.report([*done("dmpd", 0.8, 0.01), *done("tds", 0.7, 0.01, 1)], Options(), 5)
    assert [verdict.holds for verdict in clear.verdicts] == [True, True]
    assert clear.verdicts[1].found.startswith("DMPD is better than TDS.")
    assert clear.sections[0].frame["DMPD"].str.contains("*", literal=True).mean() > 0.9
    partly = dmpd_rivals.report([*done("dmpd", 0.8, 0.01)[:-1], *done("tds", 0.7, 0.01, 1)], Options(), 5)
    assert [verdict.holds for verdict in partly.verdicts] == [None, None]
    equal = dmpd_rivals.report([*done("dmpd", 0.7, 0.01), *done("tds", 0.7, 0.01, 1)], Options(), 5)
    assert equal.sections[0].frame["DMPD"].str.contains("*", literal=True).mean() < 0.2


@pytest.mark.slow
def test_time_and_settings_of_the_search(small, monkeypatch):
    monkeypatch.setattr(dmpd_search, "GENERATIONS", (1, 2))
    found = run_experiment(experiment("dmpd-table2"), Options(quick=True))
    frame = found.sections[0].frame
    assert frame["rows"].to_list() == [175, 875]
    assert frame["minutes (paper)"].to_list() == [1.41, 6.55]
    assert found.verdicts[0].holds is None  # quick
    found = run_experiment(experiment("dmpd-fig11"), Options(quick=True, datasets=("german",)))
    assert found.sections[0].frame["generations"].to_list() == [1, 2]
    assert not any("failed" in note for note in found.notes)


def test_variations_of_rows_are_drawn_from_the_domains():
    frame = people(40)
    larger = dmpd_search.enlarged(frame, 3)
    assert larger.height == 120
    assert larger.head(40).equals(frame)
    assert all(larger[name].is_in(frame[name].implode()).all() for name in frame.columns)


def surfaces(*corners):
    return [{"surface": "median", "level": level, "accuracy": accuracy} for level, accuracy in corners]


@pytest.mark.parametrize(
    ("corners", "holds"),
    [
        (((3, 0.86), (655, 0.855), (1000, 0.81)), [True, True, True]),
        (((3, 0.80), (655, 0.70), (1000, 0.69)), [False, False, False]),
        (((3, 0.86),), [True, None, None]),
    ],
)
def test_what_the_text_says_of_the_frontier(corners, holds):
    done = [({"top": 5}, {"surfaces": surfaces(*corners)})]
    assert [verdict.holds for verdict in dmpd_search.frontier_report(done, Options()).verdicts] == holds
