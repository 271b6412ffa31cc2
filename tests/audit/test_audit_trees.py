"""Audits of scikit-learn's trees and forests, beside the definition of a span."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import incrowd as ic
from incrowd.learn.spans import find_spans

NAMES = ["a", "b", "c"]


@st.composite
def people(draw):
    n = draw(st.integers(4, 40))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    rows = rng.integers(0, 4, (n, 3))
    labels = ((rows @ [3, 1, 2] + rng.integers(0, 4, n)) > 9).astype(int)
    labels[:2] = 0, 1
    frame = pl.DataFrame({name: rows[:, i] for i, name in enumerate(NAMES)} | {"y": labels})
    public = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1))
    return frame, public, draw(st.booleans())


def schema_of(public):
    return ic.Schema(
        quasi=dict.fromkeys(public, ic.Intervals()), sensitive="y", other=[name for name in NAMES if name not in public]
    )


def by_definition(leaves_of, frame, public, class_public):
    """Spans by trying all private values; the model is the leaf, or the leaves, and the class."""
    private = {name: frame[name].unique().sort().to_list() for name in [*NAMES, "y"] if name not in public}
    if class_public:
        del private["y"]
    cache = {}

    def model(person):
        row = tuple(person[name] for name in NAMES)
        if row not in cache:
            cache[row] = tuple(leaves_of(np.array([row], np.float64)).ravel())
        return cache[row], person["y"]

    return find_spans(model, frame.rows(named=True), private)


def same_partition(a, b):
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return len(pairs) == len(set(a.tolist())) == len(set(b.tolist()))


@given(people(), st.integers(1, 8), st.sampled_from(["tree", "forest"]))
def test_spans_are_those_of_the_definition(drawn, k, kind):
    frame, public, class_public = drawn
    rows, labels = frame.select(NAMES).to_numpy(), frame["y"].to_numpy()
    model = DecisionTreeClassifier(random_state=0, max_depth=4)
    if kind == "forest":
        model = RandomForestClassifier(3, max_depth=3, random_state=0)
    model.fit(rows, labels)
    expected = by_definition(model.apply, frame, public, class_public)
    report = ic.audit(model, frame, schema_of(public), k, class_public=class_public)
    assert same_partition(report.span_of, expected.span_of)
    assert set(report.at_risk) == set(expected.at_risk(k))
    assert report.level == expected.level
    assert len(report.breaches) == len(expected.breaches(k))
    assert report.ok == (len(expected.breaches(k)) == 0 and kind == "tree")  # a forest has its seeds


@given(people(), st.integers(1, 8), st.sampled_from(["tree", "forest"]))
def test_what_repair_returns_is_safe_and_still_a_model(drawn, k, kind):
    frame, public, class_public = drawn
    rows, labels = frame.select(NAMES).to_numpy(), frame["y"].to_numpy()
    model = DecisionTreeClassifier(random_state=0)
    if kind == "forest":
        model = RandomForestClassifier(3, random_state=0)
    model.fit(rows, labels)
    schema = schema_of(public)
    report = ic.audit(model, frame, schema, k, class_public=class_public)
    before = pickle.dumps(model)
    if len(report.breaches) and frame.height < k and not class_public:
        with pytest.raises(ic.InfeasibleError, match="fewer than k"):
            report.repair()
        return
    mended = report.repair()
    assert ic.audit(mended, frame, schema, k, class_public=class_public).ok
    assert len(by_definition(mended.apply, frame, public, class_public).breaches(k)) == 0
    assert mended.predict(rows).shape == labels.shape
    assert pickle.dumps(model) == before
    assert bool(report.repairs) == (not report.ok)


def adultish(n=400):
    rng = np.random.default_rng(5)
    age, sex = rng.integers(18, 80, n), rng.choice(["f", "m"], n)
    job = rng.choice(["clerk", "nurse", "smith"], n)
    rich = np.where((age > 40) ^ (job == "nurse"), "yes", "no")
    return pl.DataFrame({"age": age, "sex": sex, "job": job, "rich": np.where(rng.random(n) < 0.1, "no", rich)})


PUBLIC = ic.Schema(quasi={"age": ic.Intervals(), "sex": None}, sensitive="rich", other=["job"])


@pytest.mark.parametrize("kind", ["polars", "pandas"])
def test_a_pipeline_is_followed_to_the_columns_it_began_with(kind):
    frame = adultish()
    coded = ColumnTransformer([("names", OneHotEncoder(), ["sex", "job"]), ("numbers", StandardScaler(), ["age"])])
    model = make_pipeline(coded, DecisionTreeClassifier(random_state=0, min_samples_leaf=3))
    given_frame = frame.to_pandas() if kind == "pandas" else frame
    model.fit(given_frame[["age", "sex", "job"]], frame["rich"].to_list())
    report = ic.audit(model, given_frame, PUBLIC, 10)
    assert not report.ok
    mended = report.repair()
    assert ic.audit(mended, given_frame, PUBLIC, 10).ok
    assert mended.score(given_frame[["age", "sex", "job"]], frame["rich"].to_list()) > 0.5
    private = ic.Schema(quasi={"sex": None}, sensitive="rich", other=["job", "age"])
    by_sex = ic.audit(model, given_frame, private, 10)
    assert same_partition(by_sex.span_of, frame["sex"].rank("dense").to_numpy())
    assert by_sex.multiple.all()


def test_ordinal_codes_and_scales_keep_their_columns():
    frame = adultish()
    coded = ColumnTransformer([("names", OrdinalEncoder(), ["sex", "job"])], remainder="passthrough")
    model = make_pipeline(coded, StandardScaler(), DecisionTreeClassifier(max_depth=3, random_state=0))
    model.fit(frame.select("age", "sex", "job").to_pandas(), frame["rich"].to_list())
    job_known = ic.Schema(quasi={"job": None}, sensitive="rich", other=["age", "sex"])
    found = ic.audit(model, frame.to_pandas(), job_known, 2)
    assert same_partition(found.span_of, frame["job"].rank("dense").to_numpy())


def test_features_made_of_public_and_private_columns_are_refused():
    frame = adultish().drop("sex", "job").with_columns(weight=pl.col("age") * 2.0 + 1)
    model = make_pipeline(PCA(1), DecisionTreeClassifier()).fit(
        frame.select("age", "weight").to_pandas(), frame["rich"]
    )
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="rich", other=["weight"])
    with pytest.raises(ic.IncompatibleError, match="PCA keeps components of the private column weight"):
        ic.audit(model, frame.to_pandas(), schema, 2)
    both = ic.Schema(quasi={"age": ic.Intervals(), "weight": ic.Intervals()}, sensitive="rich")
    found = ic.audit(model, frame.to_pandas(), both, 2)
    assert same_partition(found.span_of, model[-1].apply(model[:-1].transform(frame.drop("rich").to_pandas())))
    assert found.multiple.all()


def test_nothing_of_a_collapsed_subtree_stays_in_the_file():
    frame = adultish()
    rows, labels = frame.select("age").to_numpy(), frame["rich"].to_numpy()
    model = DecisionTreeClassifier(random_state=0).fit(rows, labels)
    report = ic.audit(
        model, frame.select("age", "rich"), ic.Schema(quasi={"age": ic.Intervals()}, sensitive="rich"), 60
    )
    mended = report.repair()
    assert mended.tree_.node_count == 2 * mended.get_n_leaves() - 1 < model.tree_.node_count
    thresholds = mended.tree_.threshold[mended.tree_.children_left >= 0]
    assert set(thresholds) < set(model.tree_.threshold)
    assert (np.bincount(mended.apply(rows))[mended.tree_.children_left < 0] >= 60).all()


def test_missing_values_go_where_the_model_sends_them():
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    labels = (x > 0).astype(int)
    x[rng.random(300) < 0.2] = np.nan
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(x[:, None], labels)
    frame = pl.DataFrame({"x": x, "y": labels})
    report = ic.audit(model, frame, ic.Schema(quasi={"x": ic.Intervals()}, sensitive="y"), 5)
    assert same_partition(report.span_of, model.apply(x[:, None]))


def test_boosted_trees_are_audited_too():
    frame, schema = adultish().select("age", "rich"), ic.Schema(quasi={"age": ic.Intervals()}, sensitive="rich")
    model = GradientBoostingClassifier(n_estimators=5, random_state=0)
    model.fit(frame.select("age").to_numpy(), frame["rich"])
    report = ic.audit(model, frame, schema, 20)
    assert not report.ok
    assert ic.audit(report.repair(), frame, schema, 20).ok


def planted(n=40):
    """Public b tells everybody apart, public a nobody."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.integers(0, 2, n), "b": np.arange(n), "y": np.arange(n) // 3 % 2})
    return frame, ic.Schema(quasi={"a": ic.Intervals(), "b": ic.Intervals()}, sensitive="y")


def test_bagged_trees_are_read_by_their_own_columns():
    frame, schema = planted()
    model = BaggingClassifier(DecisionTreeClassifier(), 4, max_features=1, random_state=0)
    model.fit(frame.select("a", "b").to_numpy(), frame["y"])
    report = ic.audit(model, frame, schema, 5)
    leaves = [
        tree.apply(frame.select("a", "b").to_numpy()[:, seen])
        for tree, seen in zip(model.estimators_, model.estimators_features_, strict=True)
    ]
    assert same_partition(report.span_of, np.unique(np.stack(leaves), axis=1, return_inverse=True)[1].ravel())
    assert not report.ok
    assert ic.audit(report.repair(), frame, schema, 5).ok


def test_a_function_on_the_way_may_swap_columns():
    frame, _ = planted()
    schema = ic.Schema(quasi={"a": ic.Intervals()}, sensitive="y", other=["b"])
    model = make_pipeline(FunctionTransformer(lambda rows: np.asarray(rows)[:, ::-1]), DecisionTreeClassifier())
    model.fit(frame.select("a", "b").to_pandas(), frame["y"])
    with pytest.raises(ic.IncompatibleError, match="FunctionTransformer"):
        ic.audit(model, frame.to_pandas(), schema, 2)


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(init=DecisionTreeClassifier(), n_estimators=1),
        StackingClassifier([("t", DecisionTreeClassifier())], DecisionTreeClassifier(), passthrough=True, cv=2),
        IsolationForest(n_estimators=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_ensembles_with_parts_that_are_not_read_are_refused(model):
    frame, schema = planted()
    model.fit(frame.select("a", "b").to_numpy(), frame["y"])
    with pytest.raises(ic.IncompatibleError, match="no audit for models of type") as refused:
        ic.audit(model, frame, schema, 2)
    assert refused.value.fact.endswith(" with these parts") == isinstance(model, GradientBoostingClassifier)


def test_another_table_a_path_and_an_unfitted_model_are_refused():
    frame, schema = planted()
    model = DecisionTreeClassifier().fit(frame.select("a", "b").to_numpy(), frame["y"])
    for other in (frame.head(20), pl.concat([frame, frame])):
        with pytest.raises(ic.SchemaError, match="fitted with 40 rows"):
            ic.audit(model, other, schema, 2)
    with pytest.raises(ic.SchemaError, match="no people"):
        ic.audit(model, frame.head(0), schema, 2)
    with pytest.raises(ic.ParameterError, match="path"):
        ic.audit("model.joblib", frame, schema, 2)
    with pytest.raises(ic.IncompatibleError, match="not fitted"):
        ic.audit(DecisionTreeClassifier(), frame, schema, 2)


def test_the_report_has_row_numbers_and_no_values():
    frame = adultish().with_columns(age=pl.col("age") + 1000)
    model = DecisionTreeClassifier(random_state=0).fit(frame.select("age").to_numpy(), frame["rich"])
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="rich")
    report = ic.audit(model, frame.select("age", "rich"), schema, 30)
    plain = report.to_dict()
    assert plain["at_risk"] == report.at_risk.tolist()
    assert sum(plain["people_per_span"]) == plain["people"] == 400
    assert "BROKEN" in str(report)
    with pytest.raises(ic.VerificationError) as refused:
        report.raise_for_breaches()
    assert len(refused.value.violations) == len(report.repairs)
    ic.audit(report.repair(), frame.select("age", "rich"), schema, 30).raise_for_breaches()


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "2"])
def test_k_must_be_a_whole_number_from_1(k):
    frame = adultish()
    with pytest.raises(ic.ParameterError, match="k is"):
        ic.audit(DecisionTreeClassifier(), frame, PUBLIC, k)


def test_unknown_models_and_columns_are_said_plainly():
    frame = adultish()
    with pytest.raises(ic.IncompatibleError, match="no audit for models of type StandardScaler"):
        ic.audit(StandardScaler().fit(frame.select("age").to_pandas()), frame, PUBLIC, 2)
    model = DecisionTreeClassifier().fit(pd.DataFrame({"height": [1.0, 2.0]}), [0, 1])
    with pytest.raises(ic.SchemaError, match="'height'"):
        ic.audit(model, frame, PUBLIC, 2)
    unnamed = DecisionTreeClassifier().fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ic.SchemaError, match="1 features without names"):
        ic.audit(unnamed, frame, PUBLIC, 2)
    with pytest.raises(ic.SchemaError, match="text"):
        ic.audit(DecisionTreeClassifier().fit([[1.0, 2, 3], [2.0, 2, 1]], [0, 1]), frame, PUBLIC, 2)
