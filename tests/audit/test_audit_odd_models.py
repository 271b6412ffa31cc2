"""What people give to the audit that is no plain model: it is refused with the next step, and nothing crashes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import incrowd as ic

RNG = np.random.default_rng(0)
N = 90
FRAME = pd.DataFrame({name: RNG.integers(0, 3, N) for name in "abc"})
FRAME["y"] = ((FRAME["a"] + 2 * FRAME["c"] + RNG.integers(0, 2, N)) > 3).astype(int)
NAMES = ["a", "b", "c"]
SCHEMA = ic.Schema(quasi=["a", "b"], sensitive="y", other=["c"])
SMALL = DecisionTreeClassifier(max_depth=2, random_state=0)


def tree():
    return DecisionTreeClassifier(max_depth=2, random_state=0).fit(FRAME[NAMES], FRAME["y"])


@pytest.mark.parametrize("model", [None, {"a": 1}, 3, [[tree()]], DecisionTreeClassifier], ids=str)
def test_what_is_no_estimator_is_refused(model):
    with pytest.raises(ic.errors.ParameterError, match=r"The model is a (NoneType|dict|int|list|class)"):
        ic.audit(model, FRAME, SCHEMA, 5)


@pytest.mark.parametrize("nothing", ["passthrough", None], ids=str)
@pytest.mark.parametrize("as_array", [False, True])
def test_steps_that_do_nothing_are_followed(nothing, as_array):
    rows = FRAME[NAMES].to_numpy() if as_array else FRAME[NAMES]
    scaled = Pipeline([("nothing", nothing), ("scale", StandardScaler()), ("tree", clone(SMALL))]).fit(rows, FRAME["y"])
    alone = Pipeline([("nothing", nothing), ("tree", clone(SMALL))]).fit(rows, FRAME["y"])
    expected = ic.audit(tree(), FRAME, SCHEMA, 5)
    for model in (scaled, alone):
        found = ic.audit(model, FRAME, SCHEMA, 5)
        np.testing.assert_array_equal(found.span_of, expected.span_of)


def test_a_pipeline_that_ends_in_nothing_to_audit_says_so():
    with pytest.raises(ic.IncompatibleError, match="ends in another pipeline"):
        ic.audit(
            make_pipeline(StandardScaler(), make_pipeline(MinMaxScaler(), SMALL)).fit(FRAME[NAMES], FRAME["y"]),
            FRAME,
            SCHEMA,
            5,
        )
    with pytest.raises(ic.errors.ParameterError, match="The model is a str"):
        ic.audit(Pipeline([("a", StandardScaler()), ("b", "passthrough")]).fit(FRAME[NAMES]), FRAME, SCHEMA, 5)


WRAPPED = {
    "best_estimator_": GridSearchCV(SMALL, {"max_depth": [1, 2]}, cv=2),
    "the estimator inside": FixedThresholdClassifier(SMALL),
    "its estimators_ as a list": VotingClassifier([("a", SMALL), ("b", SMALL)]),
    "what these say of single rows": StackingClassifier([("a", SMALL)], cv=2),
    "other parts of the table": CalibratedClassifierCV(SMALL, cv=2),
}


@pytest.mark.parametrize("reason", WRAPPED)
def test_estimators_around_estimators_are_refused_with_what_to_audit(reason):
    model = WRAPPED[reason].fit(FRAME[NAMES], FRAME["y"])
    with pytest.raises(ic.IncompatibleError, match=reason):
        ic.audit(model, FRAME, SCHEMA, 5)
    if reason == "best_estimator_":
        assert ic.audit(model.best_estimator_, FRAME, SCHEMA, 1).ok
    if reason == "its estimators_ as a list":
        assert ic.audit(list(model.estimators_), FRAME, SCHEMA, 1).ok


def test_a_frozen_model_is_refused_by_its_type():
    with pytest.raises(ic.IncompatibleError, match="models of type FrozenEstimator: audit the estimator inside"):
        ic.audit(FrozenEstimator(tree()), FRAME, SCHEMA, 5)


def test_a_centroid_with_the_weight_of_one_person_is_theirs():
    frame = FRAME[["a", "c"]].assign(c=RNG.normal(size=N))
    weights = np.ones(N)
    weights[7] = 1e12
    model = KMeans(2, n_init=1, random_state=0).fit(frame, sample_weight=weights)
    assert np.abs(model.cluster_centers_ - frame.iloc[7].to_numpy()).max(axis=1).min() < 1e-9
    del model.labels_
    found = ic.audit(model, frame, ic.Schema(quasi=["a"], other=["c"]), 5)
    assert not found.ok
    assert 7 in found.behind


def test_a_product_of_public_columns_is_told():
    frame = FRAME.assign(weight=RNG.uniform(50, 100, N).round(1), height=RNG.uniform(1.5, 2, N).round(2))
    frame["bmi"] = (frame["weight"] / frame["height"] ** 2).round(1)
    schema = ic.Schema(quasi=["weight", "height"], sensitive="y", other=["a", "b", "c", "bmi"])
    model = DecisionTreeClassifier(random_state=0).fit(frame[["bmi"]], frame["y"])
    found = ic.audit(model, frame, schema, 5)
    assert not found.ok
    assert any("a product of public columns tells it" in note for note in found.notes)
    shuffled = frame.assign(bmi=frame["bmi"].to_numpy()[RNG.permutation(N)])
    again = DecisionTreeClassifier(random_state=0).fit(shuffled[["bmi"]], shuffled["y"])
    assert ic.audit(again, shuffled, schema, 5).notes == ()


@pytest.mark.parametrize("strategy", ["median", "most_frequent"])
def test_one_person_in_the_middle_is_not_filled_in(strategy):
    frame = FRAME.assign(c=RNG.normal(size=N))
    step = ColumnTransformer([("c", SimpleImputer(strategy=strategy), ["c"])], remainder="passthrough")
    model = make_pipeline(step, SMALL).fit(frame[NAMES], frame["y"])
    with pytest.raises(ic.IncompatibleError, match=r"SimpleImputer keeps .* of the private column c that fewer than k"):
        ic.audit(model, frame, SCHEMA, 5)


def test_weights_of_people_are_refused_in_trees_of_numbers_too():
    weights = np.ones(N)
    weights[7] = 1e12
    model = DecisionTreeRegressor(max_depth=1).fit(FRAME[["a"]], FRAME["c"], sample_weight=weights)
    with pytest.raises(ic.errors.SchemaError, match="without weights"):
        ic.audit(model, FRAME[["a", "c"]], ic.Schema(quasi=["a"], sensitive="c"), 5)


def test_a_column_that_is_told_with_errors_is_free_for_those_it_is_wrong_about():
    """At risk is also who would be if the column could have any value: nobody knows for whom it is told wrong."""
    n_told = n_at_risk = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = 80
        hidden, known = rng.integers(0, 2, n), rng.integers(0, 4, n)
        teller = np.where(rng.random(n) < 0.04, 1 - hidden, hidden)
        labels = ((3 * hidden + known + rng.integers(0, 3, n)) > 4).astype(int)
        frame = pd.DataFrame({"hidden": hidden, "known": known, "teller": teller, "y": labels})
        schema = ic.Schema(quasi=["known", "teller"], sensitive="y", other=["hidden"])
        model = DecisionTreeClassifier(random_state=seed, max_depth=4).fit(frame[["hidden", "known"]], frame["y"])
        found = ic.audit(model, frame, schema, 16, class_public=True)
        rows = [model.apply(frame[["hidden", "known"]].assign(hidden=value)) for value in (0, 1)]
        spans = [frozenset(pair) for pair in zip(*rows, strict=True)]
        keys = list(zip(spans, labels, strict=True))
        expected = {i for i, key in enumerate(keys) if len(key[0]) > 1 and keys.count(key) < 16}
        assert expected <= set(found.at_risk.tolist())
        n_told += bool(found.notes)
        n_at_risk += len(expected)
        repaired = found.repair()
        assert ic.audit(repaired, frame, schema, 16, class_public=True).ok
    assert n_told >= 2
    assert n_at_risk
