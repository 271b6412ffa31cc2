"""Models that reveal people although their spans look large: each must be refused, flagged or noted."""

import pickle

import numpy as np
import polars as pl
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import KNNImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import Binarizer, FunctionTransformer, StandardScaler, TargetEncoder
from sklearn.tree import DecisionTreeClassifier

import incrowd as ic

N = 60


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pl.DataFrame({"a": rng.integers(0, 2, N), "b": np.arange(N), "y": np.arange(N) // 3 % 2})


def schema(*public, other=(), **more):
    return ic.Schema(quasi=dict.fromkeys(public, ic.Intervals()), sensitive="y", other=list(other), **more)


def test_who_knows_a_person_knows_their_identifiers(frame):
    model = DecisionTreeClassifier(random_state=0).fit(frame.select("a", "b").to_numpy(), frame["y"])
    found = ic.audit(model, frame, schema("a", identifiers=["b"]), 5)
    assert not found.ok
    assert found.level == ic.audit(model, frame, schema("a", "b"), 5).level


def test_a_model_of_several_columns_is_refused(frame):
    """Its leaves tell the second column too, which is nobody's class."""
    model = DecisionTreeClassifier().fit(frame.select("b").to_numpy(), frame.select("y", "a").to_numpy())
    with pytest.raises(ic.IncompatibleError, match="predicts 2 columns"):
        ic.audit(model, frame.select("b", "y"), schema("b"), 5, class_public=True)


def test_a_model_of_another_class_is_refused(frame):
    model = DecisionTreeClassifier(random_state=0).fit(frame.select("b").to_numpy(), frame["b"] % 3)
    with pytest.raises(ic.SchemaError, match="knows 3 classes, and column 'y' has 2"):
        ic.audit(model, frame.select("b", "y"), schema("b"), 5, class_public=True)
    without = ic.Schema(quasi={"b": ic.Intervals()})
    with pytest.raises(ic.SchemaError, match="names no class, and DecisionTreeClassifier was fitted with one"):
        ic.audit(model, frame.select("b"), without, 5)
    with pytest.raises(ic.ParameterError, match="does not say which column the class is"):
        ic.audit(model, frame.select("b"), without, 5, class_public=True)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("step", [TargetEncoder(), KNNImputer(), FeatureUnion([("one", StandardScaler())])])
def test_steps_that_may_hold_people_are_refused(frame, step, inside):
    """The only person with a value gives a target encoder its class; an imputer of neighbours holds the table."""
    whole = ColumnTransformer([("in", step, ["b"])]) if inside else step
    model = make_pipeline(whole, DecisionTreeClassifier(max_depth=1, min_samples_leaf=20))
    model.fit(frame.select("b").to_pandas(), frame["y"].to_numpy())
    with pytest.raises(ic.IncompatibleError, match=f"step {type(step).__name__} may hold more"):
        ic.audit(model, frame.select("b", "y").to_pandas(), schema("b"), 5)


def test_a_step_that_is_refused_is_not_run(frame):
    ran = []

    class Spy(Binarizer):
        def transform(self, rows):
            ran.append(1)
            return super().transform(rows)

    tree = DecisionTreeClassifier().fit(frame.select("b").to_numpy(), frame["y"])
    model = Pipeline([("spy", Spy().fit(frame.select("b").to_numpy())), ("tree", tree)])
    with pytest.raises(ic.IncompatibleError, match=r"test_audit_all_clear\.Spy may hold more"):
        ic.audit(model, frame.select("b", "y"), schema("b"), 5)
    assert ran == []


def test_a_type_that_only_has_the_name_of_a_tree_is_refused(frame):
    double = type("DecisionTreeClassifier", (DecisionTreeClassifier,), {"__module__": __name__})
    model = double().fit(frame.select("b").to_numpy(), frame["y"])
    model.everybody_ = frame.rows()
    with pytest.raises(ic.IncompatibleError, match=r"no audit for models of type test_audit_all_clear\.Dec"):
        ic.audit(model, frame.select("b", "y"), schema("b"), 5)
    ours = type("Ours", (), {"spans_": None})()
    ours.fitted_ = 1
    with pytest.raises(ic.IncompatibleError, match=r"no audit for models of type test_audit_all_clear\.Ours"):
        ic.audit(ours, frame, schema("a", "b"), 5)


@pytest.mark.parametrize("n_trees", [1, 3])
def test_columns_in_another_order_are_refused(frame, n_trees):
    """The tree tells everybody apart by b, which is taken for the private a."""
    model = DecisionTreeClassifier() if n_trees == 1 else RandomForestClassifier(n_trees, random_state=0)
    model.fit(frame.select("b", "a").to_numpy(), frame["y"])
    assert not ic.audit(model, frame.select("b", "a", "y"), schema("b", other=["a"]), 5).ok
    with pytest.raises(ic.SchemaError, match="as many people to the leaves"):
        ic.audit(model, frame.select("a", "b", "y"), schema("b", other=["a"]), 5)


def test_clusters_of_another_table_are_refused(frame):
    rows = frame.select("b", "a").to_numpy().astype(float)
    model = KMeans(3, n_init=1, random_state=0).fit(rows)
    plain = ic.Schema(quasi={"b": ic.Intervals()}, other=["a"])
    assert len(ic.audit(model, frame.select("b", "a"), plain, 5).span_of) == N
    for other in (frame.select("a", "b"), frame.select("b", "a").head(30), pl.concat([frame.select("b", "a")] * 2)):
        with pytest.raises(ic.SchemaError, match="clusters of 60 people"):
            ic.audit(model, other, plain, 5)
    model.labels_[0] = (model.labels_[0] + 1) % 3  # one of sixty is too many for a tie; one of a hundred is not
    many = KMeans(3, n_init=1, random_state=0).fit(np.vstack([rows, rows[:40]]))
    many.labels_[0] = (many.labels_[0] + 1) % 3
    ic.audit(many, pl.concat([frame, frame.head(40)]).select("b", "a"), plain, 5)
    with pytest.raises(ic.SchemaError, match="clusters of 60 people"):
        ic.audit(model, frame.select("b", "a"), plain, 5)


def test_a_missing_class_is_not_an_empty_one():
    """Whoever knows that the class is missing finds two people, not four."""
    frame = pl.DataFrame({"a": [0, 1] * 4, "y": ["", "", None, None, "x", "x", "x", "x"]})
    labels = frame["y"].fill_null("?").to_list()
    model = DecisionTreeClassifier(random_state=0).fit(frame.select("a").to_numpy(), labels)
    found = ic.audit(model, frame, ic.Schema(quasi={"a": ic.Intervals()}, sensitive="y"), 2, class_public=True)
    assert [found.span_of[i] == found.span_of[0] for i in (2, 4)] == [False, False]


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
@pytest.mark.parametrize("k", [3, 50])
def test_what_a_model_holds_by_row_is_noted_and_not_in_what_repair_returns(frame, k):
    forest = RandomForestClassifier(4, oob_score=True, max_depth=2, min_samples_leaf=12, random_state=0)
    forest.fit(frame.select("b").to_numpy(), frame["y"])
    clusters = KMeans(2, n_init=1, random_state=0).fit(frame.select("a", "b").to_numpy().astype(float))
    for model, people, roles, name in [
        (forest, frame.select("b", "y"), schema("b"), "oob_decision_function_"),
        (clusters, frame.select("a", "b"), ic.Schema(quasi={"b": ic.Intervals()}, other=["a"]), "labels_"),
        (Pipeline([("no", "passthrough"), ("yes", clusters)]), frame.select("a", "b"),
         ic.Schema(quasi={"b": ic.Intervals()}, other=["a"]), "labels_"),
    ]:  # fmt: skip
        before = pickle.dumps(model)
        found = ic.audit(model, people, roles, k)
        assert not found.ok
        assert name in found.held
        assert f"repair: take out {found.held[0]}" in str(found)
        assert found.to_dict()["held"] == list(found.held)
        assert name in found._repr_html_()
        mended = found.repair()
        assert not hasattr(mended[-1] if hasattr(mended, "steps") else mended, name)
        assert ic.audit(mended, people, roles, k).ok
        assert pickle.dumps(model) == before


def test_a_function_without_a_function_keeps_its_columns(frame):
    model = make_pipeline(FunctionTransformer(), DecisionTreeClassifier(random_state=0))
    model.fit(frame.select("a", "b").to_pandas(), frame["y"].to_numpy())
    found = ic.audit(model, frame.to_pandas(), schema("a", other=["b"]), 2)
    assert sorted(found.people.tolist()) == sorted(frame["a"].value_counts()["count"].to_list())
    assert found.repair() is model
