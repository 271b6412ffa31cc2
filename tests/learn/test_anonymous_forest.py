"""A forest that learns from a k-anonymous tree: it tells no more than its teacher, and predicts better."""

import pickle

import numpy as np
import polars as pl
import pytest
from sklearn.utils.estimator_checks import check_estimator

import incrowd as ic
from incrowd.datasets import adult

N = 600


def table(seed=0):
    rng = np.random.default_rng(seed)
    age, pay, sex = rng.integers(18, 80, N), rng.integers(0, 9, N), rng.choice(["f", "m"], N)
    rich = (age + 6 * pay + rng.normal(0, 12, N)) > 75
    return pl.DataFrame({"age": age, "pay": pay, "sex": sex, "rich": np.where(rich, "yes", "no")})


NAMES = ["age", "pay", "sex"]
ALL = ic.Schema(quasi=dict.fromkeys(NAMES), sensitive="rich")
SOME = ic.Schema(quasi=["age", "sex"], sensitive="rich", other=["pay"])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_finds_nothing_wrong():
    results = check_estimator(ic.KAnonymousForestClassifier(n_estimators=3, random_state=0), on_skip=None)
    passed = [result["check_name"] for result in results if result["status"] == "passed"]
    assert len(passed) >= 50
    assert {"check_classifiers_train", "check_estimators_pickle"} <= set(passed)


@pytest.mark.parametrize(("public", "schema"), [("all", ALL), (["age", "sex"], SOME)])
def test_its_spans_are_its_teacher_s_and_the_audit_agrees(public, schema):
    frame = table()
    model = ic.KAnonymousForestClassifier(k=20, n_estimators=5, public=public, random_state=0)
    model.fit(frame.select(NAMES), frame["rich"])
    for one in (model, pickle.loads(pickle.dumps(model))):
        found = ic.audit(one, frame, schema, 20)
        assert found.ok
        assert found.level == model.spans_.level >= 20
    assert not ic.audit(model, frame, schema, found.level + 1).ok
    more = ic.audit(model, frame, schema, 60)
    assert more.repairs[0].startswith("fit it again with k = 60")
    assert ic.audit(more.repair(), frame, schema, 60).ok


def test_it_learns_from_crowds_and_not_from_people():
    """Two people of a span swap their classes: as long as the teacher has the same spans, the forest is the same."""
    frame = table()
    model = ic.KAnonymousForestClassifier(k=20, n_estimators=3, random_state=0).fit(frame.select(NAMES), frame["rich"])
    span_of, classes, n_same = model.spans_.span_of, frame["rich"].to_numpy(), 0
    for span in range(span_of.max() + 1):
        inside = np.flatnonzero(span_of == span)
        if len(set(classes[inside])) < 2:
            continue
        one, other = (inside[classes[inside] == name][0] for name in ("no", "yes"))
        swapped = classes.copy()
        swapped[[one, other]] = classes[[other, one]]
        again = ic.KAnonymousForestClassifier(k=20, n_estimators=3, random_state=0).fit(frame.select(NAMES), swapped)
        if np.array_equal(again.spans_.span_of, span_of):
            n_same += 1
            assert np.array_equal(again.predict_proba(frame.select(NAMES)), model.predict_proba(frame.select(NAMES)))
    assert n_same > 2
    least = min(tree.tree_.n_node_samples[tree.tree_.children_left < 0].min() for tree in model.forest_.estimators_)
    assert least >= 20


def test_a_forest_that_knows_more_than_its_teacher_is_refused():
    frame = table()
    model = ic.KAnonymousForestClassifier(k=20, n_estimators=3, random_state=0).fit(frame.select(NAMES), frame["rich"])
    rich = (frame["rich"] == "yes").to_numpy().astype(float)
    codes = np.column_stack([frame["age"].rank("dense"), frame["pay"].rank("dense"), frame["sex"].rank("dense")])
    cheat = pickle.loads(pickle.dumps(model))
    cheat.forest_.fit(codes - 1, np.column_stack([1 - rich, rich]))
    with pytest.raises(ic.SchemaError, match="say something else than its teacher"):
        ic.audit(cheat, frame, ALL, 20)
    noted = pickle.loads(pickle.dumps(model))
    noted.teacher_.rows_ = frame.rows()
    with pytest.raises(ic.IncompatibleError, match="KAnonymousTreeClassifier holds 'rows_'"):
        ic.audit(noted, frame, ALL, 20)
    with pytest.raises(ic.IncompatibleError, match="as public that the schema says are private"):
        ic.audit(model, frame, SOME, 20)
    with pytest.raises(ic.IncompatibleError, match="class is public"):
        ic.audit(model, frame, ALL, 20, class_public=True)
    with pytest.raises(ic.ParameterError, match="No column is public"):
        ic.KAnonymousForestClassifier(k=20, public=[]).fit(frame.select(NAMES), frame["rich"])


@pytest.mark.slow
def test_on_adult_it_is_half_a_point_better_than_one_tree():
    train, test = adult("train"), adult("test")
    names = [name for name in train.columns if name != "income"]
    model = ic.KAnonymousForestClassifier(k=30, random_state=0).fit(train.select(names), train["income"])
    right = [(one.predict(test.select(names)) == test["income"].to_numpy()).mean() for one in (model, model.teacher_)]
    assert right[0] > right[1] + 0.005
    schema = ic.Schema(quasi=dict.fromkeys(names), sensitive="income")
    assert ic.audit(model, train, schema, 30).ok
