import numpy as np
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import incrowd as ic
from incrowd.errors import ParameterError
from incrowd.evaluate import effort, evaluation
from incrowd.evaluate.effort import Effort

THREE = list(evaluation.DEFAULT_CLASSIFIERS)
SCHEMA = ic.Schema(quasi={"age": ic.Intervals(), "job": ic.balanced(2)}, sensitive="risk")


def people(n=120):
    rng = np.random.default_rng(3)
    age, job = rng.integers(20, 60, n), rng.choice(["a", "b", "c", "d"], n)
    return pl.DataFrame({"age": age, "job": job, "risk": np.where((age > 40) ^ (job == "a"), "high", "low")})


def plan(n_rows, n_columns=10, learners=THREE, n_ways=2, **own):
    return Effort.of(n_rows, n_columns, learners, n_ways, **own)


def test_small_tables_get_the_protocol_of_the_paper_and_larger_ones_no_more():
    plans = [plan(n) for n in (100, 1000, 10_000, 30_000, 100_000, 1_000_000)]
    tried = [(found.cv, found.samples) for found in plans]
    assert tried[0] == tried[1] == (10, 10)
    assert tried == sorted(tried, reverse=True)
    assert tried[-1] == (3, 1)
    assert all(found.seconds <= effort._ENOUGH for found in plans[:-1])
    assert plan(50_000, learners=["tree"]).samples >= plan(50_000, learners=["boosting", "forest"]).samples


def test_what_was_asked_for_is_kept():
    assert (plan(10**6, cv=10).cv, plan(10**6, cv=10).samples) == (10, 1)
    assert (plan(10**6, samples=10).cv, plan(10**6, samples=10).samples) == (3, 10)
    assert str(plan(10**6, cv="5x2", samples=4)) == "cv=5x2, samples=4"
    assert str(plan(10**6, folded=False)) == "samples=1"
    assert plan(1000, 10, THREE, 2, cv=10, samples=2).seconds < plan(1000, 10, THREE, 2, cv=10, samples=8).seconds
    with pytest.raises(ParameterError, match="cv is 'x'"):
        plan(10, cv="x")


def test_an_evaluation_of_a_large_table_says_what_it_left_out_and_what_comes(monkeypatch):
    monkeypatch.setattr(effort, "_ENOUGH", 0.0)
    monkeypatch.setattr(evaluation, "_LONG", 0.0)
    told, steps = [], []
    found = ic.evaluate(
        "mondrian", people(), SCHEMA, k=5, classifiers="tree", notice=told.append,
        progress=lambda *step: steps.append(step),
    )  # fmt: skip
    assert (found.about["folds"], found.about["samples"]) == (3, 1)
    assert any("chosen by the size of the table (cv=3, samples=1)" in note for note in found.notes)
    assert told[0].startswith("This takes about ")
    assert told[0].endswith("(cv=3, samples=1).")
    assert [line.split(",")[0] for line in told[1:]] == ["After 1 of 3 folds", "After 2 of 3 folds"]
    assert " to go: accuracy tree " in told[1]
    assert steps[0] == ("folds", 0, 12)
    assert steps[-1] == ("folds", 12, 12)
    assert [done for _, done, _ in steps] == sorted({done for _, done, _ in steps})


def test_a_quick_look_is_one_split_and_what_is_given_counts():
    found = ic.evaluate("mondrian", people(), SCHEMA, k=5, quick=True)
    assert found.frame["classifier"].to_list() == ["tree", "naive_bayes"]
    assert (found.about["folds"], found.about["samples"], found.about["training"]) == (1, 1, ["recommended"])
    assert found.about["rows"] == {"train": 80, "test": 40}
    assert "one split" in str(found)
    more = ic.evaluate("mondrian", people(), SCHEMA, k=5, quick=True, cv=2, samples=2, classifiers="tree")
    assert (more.about["folds"], more.about["samples"], more.frame.height) == (2, 2, 1)
    release = ic.Mondrian(k=5).publish(people(), SCHEMA, seed=0)
    held = ic.evaluate(release, holdout=people(40), original=people(), quick=True)
    assert (held.about["samples"], held.frame.height) == (1, 2)


def test_estimators_and_pipelines_are_evaluated_beside_our_classifiers():
    coded = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["job"]), remainder="passthrough")
    brought = [RandomForestClassifier(3), make_pipeline(coded, RandomForestClassifier(3)), "tree"]
    found = ic.evaluate("mondrian", people(), SCHEMA, k=5, cv=2, samples=1, classifiers=brought)
    assert found.frame["classifier"].unique(maintain_order=True).to_list() == [
        "RandomForestClassifier", "pipeline of RandomForestClassifier", "tree",
    ]  # fmt: skip
    assert found.frame["original"].min() > found.frame["majority"][0]
    with pytest.raises(ParameterError, match="takes classifiers by name"):
        ic.compare(people(), SCHEMA, k=5, classifiers=brought)
