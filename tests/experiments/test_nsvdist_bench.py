"""The NSVDist experiments, end to end on a generated table, and their arithmetic."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import incrowd as ic
from incrowd import datasets
from incrowd.cli.app import app
from incrowd.experiments import (
    Options,
    experiment,
    experiments,
    nsvdist,
    nsvdist_curves,
    nsvdist_table4,
    run_experiment,
)
from incrowd.experiments.nsvdist_ranks import rank_tests


@pytest.fixture
def small(monkeypatch):
    """CMC replaced by 120 rows whose class follows from one column; k = 10 in place of 50."""
    rng = np.random.default_rng(0)
    age = rng.integers(20, 40, 120)
    rows = pl.DataFrame(
        {
            "wife_age": age,
            "wife_education": rng.integers(1, 5, 120),
            "num_children": rng.integers(0, 9, 120),
            "class": np.where(age < 30, 1, 2),
        }
    )
    monkeypatch.setattr(datasets, "load", lambda _name: rows)
    monkeypatch.setattr("incrowd.datasets.schemas.load", lambda _name: rows)
    monkeypatch.setattr(nsvdist_table4, "K", 10)
    monkeypatch.setattr(nsvdist_curves, "KS", {"cmc": (2, 4, 8, 10, 12, 15)})
    for cached in (nsvdist.fold_of, nsvdist.release_of, nsvdist._schema):
        cached.cache_clear()
    yield rows
    for cached in (nsvdist.fold_of, nsvdist.release_of, nsvdist._schema):
        cached.cache_clear()


OPTIONS = Options(quick=True, classifiers=("tree",), datasets=("cmc",))


def test_table4_end_to_end(small, tmp_path):
    found = run_experiment(experiment("nsvdist-table4"), OPTIONS, store=tmp_path)
    figures = next(section.frame for section in found.sections if section.title == "All figures")
    assert not any("failed" in note for note in found.notes)
    asked = (*nsvdist.PAPER_METHODS, *nsvdist.OUR_METHODS, "majority", "original")
    assert set(figures["method"]) == {nsvdist.LABELS[name] for name in asked}
    original = figures.filter(pl.col("method") == "original")["ours"][0]
    assert original == 100
    assert figures["paper"].null_count() == figures.height  # the paper has no such classifier
    kept = found.sections[0].frame
    assert kept["learned from"].len() == 5
    assert kept["average"].max() <= 1
    found.draw()


def test_a_quick_run_spares_large_tables_slow_classifiers():
    quick, asked = Options(quick=True), Options(quick=True, classifiers=("libsvm",))
    for name in ("nsvdist-table4", "nsvdist-figs2-4", "class-aware-unseen"):
        tasks = experiment(name).tasks(quick)
        large = {task["classifier"] for task in tasks if task["dataset"] in nsvdist.LARGE}
        assert large <= {"j48", "nb"}
        assert any(task["classifier"] not in large for task in tasks)
        assert any(task["dataset"] in nsvdist.LARGE for task in experiment(name).tasks(asked))


def test_experiments_refuse_what_they_do_not_have():
    with pytest.raises(ic.ParameterError, match="no table 'cmc'"):
        run_experiment(experiment("nsvdist-fig6"), Options(datasets=("cmc",)))
    with pytest.raises(ic.InputError, match="nothing to compute"):
        run_experiment(experiment("nsvdist-fig1"), Options(quick=True, datasets=("adult",)))


def test_a_tie_is_no_lead_and_some_cases_decide_nothing():
    def joined(learners, pais):
        figures = {"nsvdist": 50.0, "pais": pais, "seqa": 40.0, "mondrian_single": 40.0}
        rows = [
            {"dataset": name, "classifier": learner, "level": level, "method": method, "label": method, "ours": ours}
            for name in nsvdist.TABLES
            for learner in learners
            for level in (1, 2)
            for method, ours in figures.items()
        ]
        return nsvdist_table4._exceptions(pl.DataFrame(rows))[0]

    assert joined(nsvdist.TITLES, 49.0).holds
    tied = joined(nsvdist.TITLES, 50.0)
    assert (tied.found, tied.holds) == ("0 of 64; equal were: pais 64", False)
    assert joined(["j48"], 49.0).holds is None


def test_what_cannot_be_retained_is_not_told():
    rows = [
        {"dataset": "cmc", "classifier": "tree", "method": method, "ours": ours}
        for method, ours in (("majority", 40.0), ("original", 40.0), ("nsvdist", 45.0))
    ]
    assert nsvdist_table4.retention(pl.DataFrame(rows))["retention"].to_list() == [None, None, None]


def test_support_vectors_see_names_in_several_ways(monkeypatch):
    rows = pl.DataFrame({"name": ["b", "a", "c", "d"], "x": [1.0, 2.0, 3.0, 4.0], "class": ["q", "p", "p", "q"]})
    monkeypatch.setattr(datasets, "load", lambda _name: rows)
    schema = ic.Schema(quasi={"name": None, "x": ic.Intervals()}, sensitive="class")
    monkeypatch.setattr(nsvdist, "_schema", lambda _name: schema)
    parts = [nsvdist.Rows.of(rows[part], schema) for part in ([0, 1], [2, 3])]
    fold = nsvdist.Fold(0, *parts)
    assert nsvdist.as_seen(fold, "any") is fold
    by_class = nsvdist.as_seen(fold, "any", None, "by_class")
    assert [part.features["name"].to_list() for part in (by_class.train, by_class.test)] == [[2, 0], [1, 3]]
    wide = nsvdist.as_seen(fold, "any", None, "columns").test.features
    assert wide.columns == ["name_a", "name_b", "name_c", "name_d", "x"]
    assert wide.row(0) == (0, 0, 1, 0, 3.0)
    alphabetical = nsvdist.as_seen(fold, "any", None, "alphabetical")
    assert [part.features["name"].to_list() for part in (alphabetical.train, alphabetical.test)] == [[1, 0], [2, 3]]
    assert nsvdist.as_seen(fold, "any", "x").train.features.columns == ["name"]
    assert nsvdist.as_seen(fold, "any", "x", "everything").train.features.columns == ["name", "x"]


def test_support_vectors_do_not_see_the_final_weight(small, monkeypatch):
    task = {"dataset": "cmc", "fold": 0, "seed": 1, "classifier": "libsvm"}

    def accuracy():
        released = task | {"method": "mondrian", "k": 4, "l": 1.0, "samples": 1}
        return np.mean([nsvdist.run(released | {"fold": fold})["accuracy"] for fold in range(5)])

    assert accuracy() > 80
    monkeypatch.setattr(nsvdist, "UNSEEN", {("cmc", "libsvm"): "wife_age"})  # from which the class follows
    assert accuracy() < 70
    original = nsvdist.run(task | {"method": "original"})["accuracy"]
    assert original < nsvdist.run(task | {"method": "original", "seen": "everything"})["accuracy"]


def test_tasks_of_one_release_share_it(small):
    shared = {"dataset": "cmc", "fold": 0, "seed": 1, "method": "mondrian", "k": 10, "l": 1.0, "samples": 2}
    nsvdist.run(shared | {"classifier": "tree"})
    before = nsvdist.release_of.cache_info()
    nsvdist.run(shared | {"classifier": "naive_bayes"})
    after = nsvdist.release_of.cache_info()
    assert (after.hits, after.misses) == (before.hits + 1, before.misses)


@pytest.mark.slow
def test_curves_and_ranks(small):
    curves = run_experiment(experiment("nsvdist-figs2-4"), OPTIONS)
    shown = [section.title for section in curves.sections if section.shown]
    assert shown == ["CMC, tree, l = 1", "CMC, tree, l > 1"]
    assert curves.sections[0].frame["k"].to_list() == [4, 10, 15]
    curves.draw()
    ranks = run_experiment(experiment("nsvdist-tables5-8"), OPTIONS)
    assert ranks.verdicts[-1].holds  # of the paper's own ranks


@pytest.mark.slow
def test_loss_falls_with_nsvdist(small):
    found = run_experiment(experiment("nsvdist-fig1"), Options(quick=True, datasets=("cmc",)))
    assert [verdict.holds for verdict in found.verdicts] == [True, True]
    found.draw()


def test_rank_tests_need_three_cases():
    scores = pl.DataFrame({label: [float(i), i + 1.0] for i, label in enumerate(["NSVDist", "PAIS", "majority"])})
    assert rank_tests(scores) is None
    tests = rank_tests(pl.concat([scores, scores]))
    assert tests[0].averages == {"NSVDist": 3, "PAIS": 2, "majority": 1}


def test_retention_and_differences():
    plain = pl.DataFrame(
        [
            {"dataset": "cmc", "classifier": "j48", "method": method, "level": level, "accuracy": value, "sd": 0.0,
             "lm": None, "folds": 1}
            for method, level, value in (("majority", None, 40.0), ("original", None, 60.0), ("nsvdist", 1, 55.0))
        ],
        schema_overrides={"level": pl.Int64, "lm": pl.Float64},
    )  # fmt: skip
    joined = nsvdist_table4.side_by_side(plain)
    ours = joined.filter(pl.col("method") == "nsvdist").to_dicts()[0]
    assert (ours["paper"], round(ours["difference"], 2)) == (50.08, 4.92)
    kept = nsvdist_table4.retention(joined).filter(pl.col("method") == "nsvdist")
    assert kept["retention"].item() == pytest.approx(0.75)


def test_averages_over_folds():
    base = {"dataset": "cmc", "classifier": "j48", "method": "nsvdist", "k": 50, "l": 1.0}
    done = [({**base, "fold": fold}, {"accuracy": 50.0 + fold, "lm": 0.5}) for fold in range(3)]
    done.append(({**base, "fold": 3}, {"failed": "no"}))
    means = nsvdist.means(done)
    assert means.select("accuracy", "folds", "sd").row(0) == (51.0, 3, 1.0)
    assert nsvdist.means(done[3:]).height == 0


def test_tasks_are_json_and_quick_ones_few():
    for found in experiments().values():
        assert json.loads(json.dumps(found.tasks(Options(quick=True)))) == found.tasks(Options(quick=True))
        assert len(found.tasks(Options(quick=True))) <= len(found.tasks(Options()))


def test_classifiers_by_family():
    assert nsvdist.classifiers(Options()) == list(nsvdist.PAPER_CLASSIFIERS)
    assert nsvdist.classifiers(Options(classifiers=("weka", "j48"))) == list(nsvdist.PAPER_CLASSIFIERS)
    with pytest.raises(ic.ParameterError):
        nsvdist.classifiers(Options(classifiers=("oracle",)))


def test_command(small, tmp_path):
    listed = CliRunner().invoke(app, ["bench", "--json"])
    assert "nsvdist-table4" in [row["experiment"] for row in json.loads(listed.stdout)]
    asked = ["bench", "nsvdist-fig1", "--quick", "--datasets", "cmc", "-o", str(tmp_path), "--json"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert data["made_by"]["command"] == "incrowd bench nsvdist-fig1 --quick --datasets cmc"
    assert (tmp_path / "nsvdist-fig1.svg").exists()
    assert json.loads((tmp_path / "nsvdist-fig1.json").read_text()) == data


def test_unknown_experiment():
    with pytest.raises(ic.ParameterError, match="no experiment called 'table4'"):
        experiment("table4")


def test_weka_learns_from_rows_as_from_samples(small):
    """The short way past the matrices draws the same rows, and they are learned from."""
    from incrowd.evaluate.classifiers import classifier
    from incrowd.evaluate.training_data import training_data

    learner = classifier("j48")
    if learner.require is not None:
        try:
            learner.require()
        except ic.MissingDependencyError:
            pytest.skip("Weka needs the extra and Java")
    task = {"dataset": "cmc", "fold": 0, "seed": 1, "method": "nsvdist", "k": 4, "l": 1.0, "samples": 2}
    found = nsvdist.run(task | {"classifier": "j48"})
    fold = nsvdist.fold_of("cmc", 0)
    release = nsvdist.release_of("cmc", 0, "nsvdist", 4, 1.0, 1, "alphabetical")
    pairs = training_data(release, fold.test.source, fold.classes, samples=2, seed=1)
    plain = [learner.predict(each.train, each.test, 0).argmax(axis=1) == fold.truth for each in pairs]
    assert found["accuracies"] == [100 * float(right.mean()) for right in plain]
    assert found["accuracy"] > 80


def test_what_class_aware_releases_keep_end_to_end(small, tmp_path):
    found = run_experiment(experiment("class-aware"), OPTIONS, store=tmp_path)
    assert not any("failed" in note for note in found.notes)
    overview = found.sections[0].frame
    assert overview.height == 10
    assert overview["release"][0] == "BestCuts, free ranges, recommended"
    assert (
        overview["tree, k = 50"][0] > overview.filter(pl.col("release") == "NSVDist, trees, samples")["tree, k = 50"][0]
    )
