"""Rows hidden where a model has room for them: in figures, parameters and parts that predictions do not need."""

import copy
import pickle

import numpy as np
import polars as pl
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, QuantileTransformer, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import incrowd as ic

N = 200
RNG = np.random.default_rng(0)
PAY = RNG.normal(size=N).round(3)
PAY[7] = 1e6
A, B = RNG.integers(0, 3, (2, N))
Y = ((A + B + (PAY > 0) + RNG.integers(0, 2, N)) > 3).astype(int)
FRAME = pl.DataFrame({"a": A, "b": B, "pay": PAY, "y": Y}).to_pandas()
X = FRAME[["a", "b"]]
SCHEMA = ic.Schema(quasi={"a": ic.Intervals(), "b": ic.Intervals()}, sensitive="y", other=["pay"])
REFUSED = (ic.IncompatibleError, ic.SchemaError)


def tree(**more):
    return DecisionTreeClassifier(max_depth=2, min_samples_leaf=20, random_state=0, **more)


def hist(**more):
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=20, max_leaf_nodes=3, **more).fit(X, Y)
    return ic.audit(model, FRAME, SCHEMA, 5).repair()


def boosted():
    model = GradientBoostingClassifier(n_estimators=3, max_depth=1, min_samples_leaf=20, random_state=0).fit(X, Y)
    return ic.audit(model, FRAME, SCHEMA, 5).repair()


def ada():
    return AdaBoostClassifier(tree(), n_estimators=3, random_state=0).fit(X, Y)


def ours():
    return ic.KAnonymousTreeClassifier(k=5).fit(X, Y)


def our_forest():
    return ic.KAnonymousForestClassifier(k=5, n_estimators=2, random_state=0).fit(X, Y)


MAKERS = {
    "tree": lambda: tree().fit(X, Y),
    "entropy": lambda: tree(criterion="entropy", class_weight="balanced").fit(X, Y),
    "numbers": lambda: DecisionTreeRegressor(max_depth=2, min_samples_leaf=20).fit(X, Y),
    "poisson": lambda: DecisionTreeRegressor(max_depth=2, min_samples_leaf=20, criterion="poisson").fit(X, Y),
    "ada": ada,
    "boosted": boosted,
    "hist": hist,
    "stopped": lambda: hist(early_stopping=True, random_state=3),
    "logistic": lambda: LogisticRegression().fit(X, Y),
    "bayes": lambda: GaussianNB().fit(X, Y),
    "ours": ours,
    "our forest": our_forest,
}


def members(model):
    return [model] if hasattr(model, "tree_") else list(np.ravel(model.estimators_))


def said(field, node, value, *, place=-1):
    """Write a value over what the last tree of a model says about a node."""

    def change(model):
        one = members(model)[place]
        state = one.tree_.__getstate__()
        if field == "value":
            state["values"] = state["values"].copy()
            state["values"][node] = value
        else:
            state["nodes"] = state["nodes"].copy()
            state["nodes"][field][node] = value
        other = type(one.tree_)(*one.tree_.__reduce__()[1])
        other.__setstate__(state)
        one.tree_ = other

    return change


def put(path, value):
    def change(model):
        *way, last = path.split(".")
        for name in way:
            model = getattr(model, name)
        object.__setattr__(model, last, value(model) if callable(value) else value)

    return change


def in_nodes(field, node, value):
    def change(model):
        model._predictors[1][0].nodes[field][node] = value

    return change


class Several(list):
    rows = PAY


class Whole(int):
    rows = PAY


def in_a_list(model):
    model._predictors[0] = Several(model._predictors[0])


HUGE = int.from_bytes(PAY.tobytes(), "big")
CHANGES = [
    ("tree", said("value", 0, [123.0, 456.0])),
    ("tree", said("impurity", 0, 0.123456)),
    ("tree", said("impurity", -1, 77.0)),
    ("tree", said("weighted_n_node_samples", 1, 77.0)),
    ("tree", said("n_node_samples", 0, 77)),
    ("entropy", said("impurity", 0, 0.123456)),
    ("numbers", said("value", 0, 0.9)),
    ("numbers", said("impurity", 0, 0.9)),
    ("poisson", said("impurity", 0, 0.9)),
    ("tree", put("random_state", HUGE)),
    ("tree", put("max_features_", HUGE)),
    ("tree", put("max_features_", Whole(2))),
    ("tree", put("class_weight", [[[1.5] * 60] * 60] * 60)),
    ("tree", put("monotonic_cst", [[1.5] * 60] * 60)),
    ("tree", put("criterion", "earns 90000")),
    ("ada", said("value", 0, [0.3, 0.7])),
    ("ada", said("value", -1, [0.3, 0.7])),
    ("ada", said("impurity", 0, 0.3, place=0)),
    ("ada", put("estimator_weights_", np.array([1.2345, 2.0, 3.0]))),
    ("ada", put("estimator_errors_", np.array([0.1, 0.2, 0.3]))),
    ("boosted", put("train_score_", np.array([1.0, 2.0, 3.0]))),
    ("boosted", said("impurity", 0, 0.3)),
    ("boosted", said("value", 0, 0.3)),
    ("boosted", put("_loss.link.rows", PAY)),
    ("hist", in_nodes("value", -1, 3.33)),
    ("hist", in_nodes("value", 0, 3.33)),
    ("hist", in_nodes("num_threshold", -1, 3.33)),
    ("hist", in_nodes("feature_idx", -1, 1)),
    ("hist", in_nodes("gain", 0, 3.33)),
    ("hist", in_nodes("depth", -1, 77)),
    ("hist", in_nodes("count", 0, 77)),
    ("hist", put("_bin_mapper.known_categories", [PAY])),
    ("hist", put("_bin_mapper.is_categorical_", PAY > 0)),
    ("hist", put("_loss.link.rows", PAY)),
    ("hist", put("is_categorical_", PAY > 0)),
    ("hist", put("_label_encoder.classes_", np.array(["0", "1" * 99]))),
    ("hist", put("_baseline_prediction", np.array([[0.5]]))),
    ("hist", in_a_list),
    ("stopped", in_nodes("value", -1, 3.33)),
    ("logistic", put("coef_", lambda model: model.coef_ * 1.001)),
    ("bayes", put("class_count_", lambda model: model.class_count_ + 0.3)),
    ("ours", put("tree_.counts", lambda part: part.counts[:, ::-1].cumsum(axis=0))),
    ("ours", put("_span_codes", lambda model: np.vstack([model._span_codes, [[1, 2]]]))),
    ("ours", put("classes_", np.array(["0", "1" * 99]))),
    ("ours", put("k", HUGE)),
    ("ours", put("gain", "earns 90000")),
    ("ours", lambda model: vars(model.hierarchies_[0]).update(rows=PAY)),
    ("our forest", lambda model: said("impurity", 0, 9.0)(model.forest_)),
    ("our forest", lambda model: said("value", 0, 9.0)(model.forest_)),
]  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
def test_without_anything_hidden_they_are_cleared(name):
    assert ic.audit(MAKERS[name](), FRAME, SCHEMA, 5).ok


@pytest.mark.parametrize("place", range(len(CHANGES)))
def test_what_is_hidden_is_found(place):
    name, change = CHANGES[place]
    model = copy.deepcopy(MAKERS[name]())
    change(model)
    with pytest.raises(ic.errors.IncrowdError):
        ic.audit(model, FRAME, SCHEMA, 5)


def test_borders_of_public_columns_and_gains_of_splits_that_were_not_made_have_to_go():
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=20, max_leaf_nodes=3).fit(X, Y)
    assert "the gains of splits that were not made" in ic.audit(model, FRAME, SCHEMA, 5).held
    assert "the borders of bins" not in ic.audit(model, FRAME, SCHEMA, 5).held
    model._bin_mapper.bin_thresholds_[0] = PAY.copy()
    found = ic.audit(model, FRAME, SCHEMA, 5)
    assert "the borders of bins" in found.held
    assert [len(borders) for borders in found.repair()._bin_mapper.bin_thresholds_] == [0, 0]


WEIGHTS = np.where(np.arange(N) == 3, 1.3, 1.0)


@pytest.mark.parametrize(
    "model",
    [tree(), AdaBoostClassifier(tree(), n_estimators=2), GaussianNB(),
     RandomForestClassifier(2, max_depth=1, bootstrap=False),
     HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=20),
     GradientBoostingClassifier(n_estimators=2, max_depth=1, min_samples_leaf=20)],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_weights_of_single_people_are_found(model):
    with pytest.raises(REFUSED):
        ic.audit(model.fit(X, Y, sample_weight=WEIGHTS), FRAME, SCHEMA, 5)


@pytest.mark.parametrize("loss", ["absolute_error", "quantile"])
def test_leaves_that_hold_the_value_of_one_person_are_refused(loss):
    model = HistGradientBoostingRegressor(loss=loss, quantile=0.5, max_iter=2, min_samples_leaf=20).fit(X, PAY)
    schema = ic.Schema(quasi={"a": ic.Intervals(), "b": ic.Intervals()}, sensitive="pay")
    with pytest.raises(ic.IncompatibleError, match=f"does not know the loss {loss}"):
        ic.audit(model, FRAME[["a", "b", "pay"]], schema, 5)


@pytest.mark.parametrize(
    "step",
    [VarianceThreshold(), QuantileTransformer(n_quantiles=N - 1), RobustScaler(), SimpleImputer(strategy="median"),
     RobustScaler(with_centering=False, quantile_range=(0.0, 99.9)),
     *(KBinsDiscretizer(4, encode="ordinal", strategy=kind) for kind in ("quantile", "kmeans", "uniform"))],
    ids=str,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
def test_steps_that_keep_what_lies_between_two_peoples_values_are_refused(step):
    """The distance from the least to the largest value is that of one outlier; so are quantiles, and means of a few."""
    whole = ColumnTransformer([("pay", step, ["pay"]), ("rest", "passthrough", ["a", "b"])])
    model = make_pipeline(whole, tree()).fit(FRAME[["a", "b", "pay"]], Y)
    with pytest.raises(ic.IncompatibleError, match="of the private column pay that fewer than k people have"):
        ic.audit(model, FRAME, SCHEMA, 5)


def test_sums_over_all_people_may_be_kept():
    for step in (StandardScaler(), SimpleImputer()):
        whole = ColumnTransformer([("pay", step, ["pay"]), ("rest", "passthrough", ["a", "b"])])
        model = make_pipeline(whole, tree(max_features=None)).fit(FRAME[["a", "b", "pay"]], Y)
        assert ic.audit(model, FRAME, SCHEMA, 2).limits.k == 2


def test_centroids_of_two_models_tell_who_is_in_one_group_and_not_in_the_other():
    """The mean of 101 people and that of 100 of them are the last one's value."""
    pay = np.r_[np.linspace(0, 1, 100), np.linspace(5, 6, 99), 3.0]
    frame = pl.DataFrame({"zero": np.zeros(200), "pay": pay}).to_pandas()
    schema = ic.Schema(quasi={"zero": ic.Intervals()}, other=["pay"])
    one = KMeans(2, init=np.array([[0, 0.5], [0, 5.5]]), n_init=1).fit(frame)
    one = ic.audit(one, frame, schema, 5).repair()
    other = copy.deepcopy(one)
    last = np.arange(200) < 100
    other.cluster_centers_ = np.array([[0, pay[last].mean()], [0, pay[~last].mean()]])
    for model in (one, other):
        assert ic.audit(model, frame, schema, 5).ok
    found = ic.audit([one, other], frame, schema, 5)
    assert (found.ok, found.at_risk.tolist()) == (False, [199])
    assert ic.audit([one, copy.deepcopy(one)], frame, schema, 5).ok


def test_our_clusters_do_not_say_themselves_how_many_people_they_are_the_means_of():
    frame = FRAME[["a", "pay"]].iloc[:40]
    schema = ic.Schema(quasi={"a": ic.Intervals()}, other=["pay"])
    model = ic.KAnonymousClusters(k=1, public=["a"], min_people=1, n_clusters=3).fit(frame)
    assert not ic.audit(model, frame, schema, 5).ok
    model.set_params(k=5, min_people=None)
    with pytest.raises(ic.SchemaError, match="not what it becomes when it is fitted"):
        ic.audit(model, frame, schema, 5)


@pytest.mark.parametrize("name", ["classes_", "coef_", "intercept_"])
def test_notes_in_the_types_of_numbers_are_refused(name):
    """NumPy keeps a dict with a type, and pickles it."""
    model = LogisticRegression().fit(X, Y)
    assert ic.audit(model, FRAME, SCHEMA, 1).ok
    value = getattr(model, name)
    setattr(model, name, value.astype(np.dtype(value.dtype.str, metadata={"rows": PAY.tolist()})))
    with pytest.raises(ic.IncompatibleError, match=f"holds '{name}'"):
        ic.audit(pickle.loads(pickle.dumps(model)), FRAME, SCHEMA, 1)


def test_notes_in_steps_trees_of_histograms_and_our_own_are_refused():
    noted = {"metadata": {"rows": PAY.tolist()}}
    model = make_pipeline(StandardScaler(), tree()).fit(X, Y)
    model[0].mean_ = model[0].mean_.astype(np.dtype("f8", **noted))
    with pytest.raises(ic.SchemaError, match="another mean_"):
        ic.audit(model, FRAME, SCHEMA, 1)
    model = hist()
    one = model._predictors[0][0]
    one.nodes = one.nodes.view(np.dtype(one.nodes.dtype.descr, **noted))
    with pytest.raises(ic.IncompatibleError, match="holds more than its nodes"):
        ic.audit(model, FRAME, SCHEMA, 1)
    model = ours()
    model.classes_ = model.classes_.astype(np.dtype("i8", **noted))
    with pytest.raises(ic.IncompatibleError, match="holds 'classes_'"):
        ic.audit(model, FRAME, SCHEMA, 1)


def test_categories_of_histograms_are_refused_with_what_to_do():
    model = HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]).fit(X, Y)
    with pytest.raises(ic.IncompatibleError, match="with categorical features"):
        ic.audit(model, FRAME, SCHEMA, 5)


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("name", ["_sklearn_output_config", "_metadata_request", "_skl_callbacks"])
def test_what_scikit_learn_copies_without_looking_is_refused(place, name):
    """A clone of a step has its output settings and requests, whatever they are: they have no room for rows."""
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), tree()).fit(X, Y)
    assert ic.audit(model, FRAME, SCHEMA, 1).ok
    setattr(model[place], name, {"transform": "pandas", "rows": PAY[:9].tolist()})
    with pytest.raises(ic.IncompatibleError, match=f"holds '{name}'"):
        ic.audit(model, FRAME, SCHEMA, 1)
    setattr(model[place], name, {"transform": "Ada earns 90000"})
    with pytest.raises(ic.IncompatibleError, match=f"holds '{name}'"):
        ic.audit(model, FRAME, SCHEMA, 1)


@pytest.mark.parametrize("limits", [{"l": "2"}, {"max_confidence": "0.5"}, {"l": True}, {"max_confidence": True}])
def test_limits_are_numbers(limits):
    with pytest.raises(ic.ParameterError, match=r"(l|max_confidence) is"):
        ic.audit(tree().fit(X, Y), FRAME, SCHEMA, 1, **limits)


def test_classes_of_trees_and_numbers_of_steps_have_no_room():
    secret = PAY[:100]
    forest = RandomForestClassifier(2, max_depth=1, bootstrap=False, random_state=0).fit(X, Y)
    made = {
        "forest": ic.audit(forest, FRAME, SCHEMA, 1).repair(),
        "ada": ada(),
        "logistic": LogisticRegression().fit(X, Y),
    }
    for name, model in made.items():
        assert ic.audit(model, FRAME, SCHEMA, 1).ok
        part, attribute = (model, "n_iter_") if name == "logistic" else (model.estimators_[0], "classes_")
        for more in (np.concatenate([getattr(part, attribute), secret]), getattr(part, attribute) + 0.37):
            changed = copy.deepcopy(model)
            part = changed if name == "logistic" else changed.estimators_[0]
            setattr(part, attribute, more)
            with pytest.raises(ic.IncompatibleError, match=f"holds '{attribute}'"):
                ic.audit(changed, FRAME, SCHEMA, 1)
    made["ada"].n_classes_ = [1.0, 2.0]
    with pytest.raises(ic.IncompatibleError, match="holds 'n_classes_'"):
        ic.audit(made["ada"], FRAME, SCHEMA, 1)


def test_centroids_and_steps_of_another_shape_are_refused():
    model = KMeans(2, n_init=1, random_state=0).fit(X)
    model.cluster_centers_ = np.ravel(model.cluster_centers_)
    with pytest.raises(ic.SchemaError, match="centroids of the model are not of 2 columns"):
        ic.audit(model, FRAME, SCHEMA, 1)
    model = make_pipeline(StandardScaler(), tree()).fit(X, Y)
    for steps in (PAY.tolist(), [*model.steps, PAY.tolist()], []):
        changed = copy.copy(model)
        changed.steps = steps
        with pytest.raises(ic.IncompatibleError, match="holds 'steps'"):
            ic.audit(changed, FRAME, SCHEMA, 1)
