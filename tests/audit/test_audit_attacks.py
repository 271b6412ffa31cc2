"""Ways in which a fitted model carries people that its spans do not show: each is refused by name, or flagged."""

import pickle

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import incrowd as ic

N = 120
K = 5
RNG = np.random.default_rng(3)
FRAME = pl.DataFrame({
    "age": RNG.integers(0, 6, N), "pay": RNG.integers(0, 4, N), "job": RNG.choice(["clerk", "nurse", "smith"], N),
    "y": RNG.integers(0, 2, N),
})  # fmt: skip
SCHEMA = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="y", other=["pay", "job"])
NUMBERS = ["age", "pay"]
PANDAS = FRAME.to_pandas()
LABELS = FRAME["y"].to_numpy()


def stump(**more):
    return DecisionTreeClassifier(max_depth=1, random_state=0, **more)


def tree():
    return stump().fit(PANDAS[NUMBERS], LABELS)


def audit(model, frame=PANDAS, k=K, schema=SCHEMA, **more):
    return ic.audit(model, frame, schema, k, **more)


def test_the_model_that_is_tampered_with_below_is_cleared():
    assert audit(tree()).ok
    assert audit(make_pipeline(StandardScaler(), stump()).fit(PANDAS[NUMBERS], LABELS)).ok


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rows_", FRAME.rows()), ("predict", lambda rows: rows), ("_cache", sparse.csr_matrix(np.eye(3))),
        ("sample_weight_", np.arange(N)), ("_fit_X", np.arange(N)), ("note", "Ada earns 90000"),
        ("staged_", [1, 2]), ("__doc__", "Ada"), ("n_features_in_", [1, 2]), ("max_features_", np.arange(9)),
        ("class_weight", dict(enumerate(range(99)))),
        ("classes_", np.array(["no", "Ada earns 90000 " * 9], object)),
    ],
)  # fmt: skip
def test_an_attribute_that_fit_does_not_leave_is_refused_by_name(name, value):
    model = tree()
    setattr(model, name, value)
    with pytest.raises(ic.IncompatibleError, match=f"DecisionTreeClassifier holds '{name}'"):
        audit(model)


@pytest.mark.parametrize(
    ("name", "value"),
    [("random_state", object()), ("criterion", lambda: 0), ("splitter", "Ada earns 90000 " * 9),
     ("monotonic_cst", list(range(99))), ("splitter", FRAME)],
)  # fmt: skip
def test_a_parameter_that_may_hold_anything_is_refused_by_name(name, value):
    model = tree().set_params(**{name: value})
    with pytest.raises(ic.IncompatibleError, match=f"parameter {name} of DecisionTreeClassifier"):
        audit(model)


def test_a_generator_of_random_numbers_is_taken_out():
    model = stump().set_params(random_state=np.random.RandomState(3)).fit(PANDAS[NUMBERS], LABELS)
    found = audit(model)
    assert (found.ok, found.held) == (False, ("random_state",))
    assert found.headline == (f"DecisionTreeClassifier: k = 5 is BROKEN for all {N} people: it tells about them by row")
    assert audit(found.repair()).ok
    assert found.repair().random_state is None


def test_nodes_that_nobody_can_reach_are_refused():
    """A tree whose root was turned into a leaf still has the nodes below it in its file."""
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(PANDAS[NUMBERS], LABELS)
    state = model.tree_.__getstate__()
    state["nodes"]["left_child"][0] = state["nodes"]["right_child"][0] = -1
    model.tree_.__setstate__(state)
    with pytest.raises(ic.IncompatibleError, match="holds 'tree_'"):
        audit(model)


class Same(DecisionTreeClassifier):
    """A subclass, which may hold more."""


@pytest.mark.parametrize(
    "model",
    [
        Same(), KNeighborsClassifier(), StackingClassifier([("t", stump())], stump(), cv=2),
        CalibratedClassifierCV(stump(), cv=2), VotingClassifier([("t", stump())]),
    ],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_wrappers_subclasses_and_models_of_rows_are_refused(model):
    with pytest.raises(ic.IncompatibleError, match=f"no audit for models of type .*{type(model).__name__}"):
        audit(model.fit(PANDAS[NUMBERS], LABELS))


def test_why_neighbours_are_refused():
    with pytest.raises(ic.IncompatibleError, match="KNeighborsClassifier: it holds the rows"):
        audit(KNeighborsClassifier().fit(PANDAS[NUMBERS], LABELS))


def closure(rows=FRAME):
    return lambda values: values if rows is not None else None


@pytest.mark.parametrize(
    ("step", "match"),
    [
        (FunctionTransformer(closure()), "parameter func of the step FunctionTransformer"),
        (FunctionTransformer(np.abs, inverse_func=closure()), "parameter inverse_func"),
        (FunctionTransformer(np.abs, kw_args={"where": closure()}), "parameter kw_args"),
        (FunctionTransformer(np.abs, feature_names_out=closure()), "parameter feature_names_out"),
        (FeatureUnion([("one", StandardScaler())]), "The step FeatureUnion"),
        (ColumnTransformer([("one", StandardScaler(), lambda frame: list(frame.columns))]), "chooses columns by an"),
        (ColumnTransformer([("one", StandardScaler(), NUMBERS)], remainder=QuantileTransformer(
            n_quantiles=5, random_state=np.random.RandomState(0))), "parameter random_state of the step Quant"),
    ],
)  # fmt: skip
def test_functions_and_objects_in_steps_are_refused(step, match):
    model = make_pipeline(step, stump())
    model.steps[-1][1].fit(PANDAS[NUMBERS], LABELS)
    if not isinstance(step, ColumnTransformer):
        model.steps[0][1].fit(PANDAS[NUMBERS])
    with pytest.raises(ic.IncompatibleError, match=match):
        audit(model)


@pytest.mark.parametrize("memory", ["/tmp/cache", object()])
def test_a_pipeline_with_a_cache_or_more_is_refused(memory):
    model = make_pipeline(StandardScaler(), stump()).fit(PANDAS[NUMBERS], LABELS)
    with pytest.raises(ic.IncompatibleError, match="Pipeline holds 'memory'"):
        audit(model.set_params(memory=memory))
    model.set_params(memory=None).rows_ = FRAME.rows()
    with pytest.raises(ic.IncompatibleError, match="Pipeline holds 'rows_'"):
        audit(model)


@pytest.mark.parametrize("change", ["mean_", "rows_", "var_"])
def test_a_step_is_fitted_again_and_must_come_out_the_same(change):
    """Somebody's values in place of the means, or an attribute of their own."""
    model = make_pipeline(StandardScaler(), stump()).fit(PANDAS[NUMBERS], LABELS)
    setattr(model[0], change, np.array([33.0, 90000.0]))
    with pytest.raises(ic.SchemaError, match=f"step StandardScaler holds another {change}"):
        audit(model)


def outlier(column):
    """The table with one person whose value nobody else has."""
    value = {"pay": 90000, "job": "astronaut", "age": 99}[column]
    return FRAME.with_columns(
        pl.when(pl.int_range(pl.len()) == 7).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)
    )


@pytest.mark.parametrize(
    ("step", "column"),
    [
        (MinMaxScaler(), "pay"), (RobustScaler(), "only"), (QuantileTransformer(n_quantiles=20), "pay"),
        (KBinsDiscretizer(2, encode="ordinal", quantile_method="averaged_inverted_cdf"), "pay"),
        (OrdinalEncoder(), "job"), (OneHotEncoder(sparse_output=False), "job"),
        (OrdinalEncoder(categories=[["astronaut", "clerk", "nurse", "pope", "smith"]]), "job"),
    ],
    ids=lambda part: part if isinstance(part, str) else type(part).__name__,
)  # fmt: skip
def test_a_step_keeps_no_private_value_that_fewer_than_k_people_have(step, column):
    frame = outlier("job" if column == "job" else "pay").to_pandas()
    if column == "only":  # the median is one person's
        column, frame["pay"] = "pay", np.arange(N) * 7919 % 1009
        frame = frame.iloc[: N - 1]
    both = ColumnTransformer([("in", step, [column])], remainder="drop")
    model = make_pipeline(both, stump()).fit(frame[["age", "pay", "job"]], frame["y"])
    with pytest.raises(ic.IncompatibleError, match=rf"{type(step).__name__} keeps \d+ values? of the private column"):
        audit(model, frame)
    known = ic.Schema(quasi=dict.fromkeys(("age", "pay", "job")), sensitive="y")
    if getattr(step, "categories", "auto") == "auto":
        ic.audit(model, frame, known, K)  # who knows the column knows the value


def test_a_figure_of_few_people_is_refused():
    frame = PANDAS.assign(pay=[1.0, 5.0] + [np.nan] * (N - 2))
    model = make_pipeline(StandardScaler(), stump()).fit(frame[NUMBERS], frame["y"])
    with pytest.raises(ic.IncompatibleError, match="keeps figures of the private column pay, which 2 people have"):
        audit(model, frame)


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
@pytest.mark.parametrize(
    ("model", "held"),
    [
        (RandomForestClassifier(3, max_depth=1, random_state=0), ["the seeds by which rows were drawn"]),
        (RandomForestClassifier(3, max_depth=1), ["the seeds by which rows were drawn"]),
        (RandomForestClassifier(3, max_depth=1, oob_score=True), ["oob_decision_function_"]),
        (RandomForestRegressor(3, max_depth=1, oob_score=True), ["oob_prediction_"]),
        (BaggingClassifier(stump(), 3), ["_seeds", "the seeds by which rows were drawn"]),
        (RandomForestClassifier(3, max_depth=1, warm_start=True), ["the seeds by which rows were drawn"]),
        (GradientBoostingClassifier(n_estimators=2, max_depth=1), ["_rng", "random_state of a tree"]),
        (HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=2, early_stopping=True),
         ["the seed by which rows were drawn"]),
        (AdaBoostClassifier(stump(), n_estimators=2), []),
    ],
    ids=lambda one: type(one).__name__ if not isinstance(one, list) else "",
)  # fmt: skip
def test_what_tells_about_rows_is_flagged_and_repair_takes_it_out(model, held):
    model.fit(PANDAS[NUMBERS], LABELS)
    hidden = ic.Schema(quasi={"job": None}, sensitive="y", other=["age", "pay"])
    found = audit(model, schema=hidden)
    assert set(held) <= set(found.held)
    assert found.ok == (not held)
    mended = found.repair()
    assert audit(mended, schema=hidden).ok
    assert audit(pickle.loads(pickle.dumps(mended)), schema=hidden).ok
    assert len(mended.predict(PANDAS[NUMBERS])) == N


def test_with_its_seeds_a_forest_tells_everybody():
    """Each tree counts the classes of the rows that were drawn, and the seed says how often each was."""
    frame = pl.DataFrame({"x": np.zeros(12), "y": RNG.integers(0, 2, 12)})
    model = RandomForestClassifier(40, random_state=1).fit(frame.select("x").to_numpy(), frame["y"])
    drawn = np.stack([np.bincount(rows, minlength=12) for rows in model.estimators_samples_])
    counted = np.array(
        [tree.tree_.value[0, 0, 1] * tree.tree_.weighted_n_node_samples[0] for tree in model.estimators_]
    )
    assert np.linalg.lstsq(drawn, counted, rcond=None)[0].round().tolist() == frame["y"].to_list()
    found = ic.audit(model, frame, ic.Schema(quasi=["x"], sensitive="y"), 12)
    assert (found.level, found.ok) == (12, False)
    mended = found.repair()
    assert {tree.tree_.value[0, 0, 1] for tree in mended.estimators_} == {frame["y"].mean()}


def test_initial_centroids_of_k_means_are_rows():
    rows = PANDAS[NUMBERS].to_numpy(float)
    model = KMeans(2, n_init=1, init=rows[:2], max_iter=300).fit(rows)
    found = ic.audit(model, FRAME.select(NUMBERS), ic.Schema(quasi=["age"], other=["pay"]), 2)
    assert {"init", "labels_"} <= set(found.held)
    mended = found.repair()
    assert mended.init == "k-means++"
    assert ic.audit(mended, FRAME.select(NUMBERS), ic.Schema(quasi=["age"], other=["pay"]), 2).ok


def test_a_centroid_that_is_one_person_is_flagged():
    """Nobody's public value tells who it is, and still the values are there."""
    pay = np.append(RNG.normal(50, 5, 60), 900.0)
    frame = pl.DataFrame({"age": RNG.integers(20, 60, 61), "pay": pay})
    model = KMeans(2, n_init=3, random_state=0).fit(frame.select("pay").to_pandas())
    del model.labels_
    roles = ic.Schema(quasi=["age"], other=["pay"])
    found = ic.audit(model, frame.to_pandas(), roles, 5)
    assert (found.ok, found.at_risk.tolist(), len(found.breaches)) == (False, [60], 0)
    assert found.headline == (
        "KMeans of 2 centroids: k = 5 is BROKEN for 1 person who stand behind figures of fewer than k people"
    )
    mended = found.repair()
    assert len(mended.cluster_centers_) == 1
    assert ic.audit(mended, frame.to_pandas(), roles, 5).ok


def test_another_table_of_the_same_size_and_another_target_are_refused():
    deep = DecisionTreeClassifier(random_state=0).fit(PANDAS[NUMBERS], LABELS)
    forest = RandomForestClassifier(3, random_state=0).fit(PANDAS[NUMBERS], LABELS)
    other = PANDAS.assign(age=np.roll(PANDAS["age"], 1))
    wrong = PANDAS.assign(y=1 - np.roll(LABELS, 3))
    for model in (deep, forest):
        audit(model)
        with pytest.raises(ic.SchemaError, match="as many people to the leaves"):
            audit(model, other)
        with pytest.raises(ic.SchemaError, match="other classes, or other values"):
            audit(model, wrong)
    names = PANDAS.assign(y=np.where(LABELS == 1, "a", "b"))  # the model has numbers for names, in another order
    assert audit(deep, names).level == audit(deep).level
    boosted = GradientBoostingClassifier(n_estimators=2), AdaBoostClassifier(stump(), n_estimators=2)
    for model in (
        *boosted,
        BaggingClassifier(stump(), 2),
        RandomForestRegressor(2),
        LogisticRegression(),
        GaussianNB(),
    ):
        model.fit(PANDAS[NUMBERS], LABELS)
        audit(model)
        with pytest.raises((ic.SchemaError, ic.IncompatibleError), match=r"other (classes|shares)|holds another"):
            audit(model, wrong)
    weighted = stump().fit(PANDAS[NUMBERS], LABELS, sample_weight=RNG.random(N) + 0.1)
    with pytest.raises(ic.SchemaError, match="other classes, or other values"):
        audit(weighted)


def test_boosting_by_random_parts_and_leaves_of_medians_are_refused():
    for more in ({"subsample": 0.5}, {"n_iter_no_change": 2}):
        model = GradientBoostingClassifier(n_estimators=3, **more).fit(PANDAS[NUMBERS], LABELS)
        with pytest.raises((ic.IncompatibleError, ic.SchemaError), match=r"random parts|was fitted with"):
            audit(model)
    with pytest.raises(ic.IncompatibleError, match="loss exponential"):
        audit(GradientBoostingClassifier(n_estimators=3, loss="exponential").fit(PANDAS[NUMBERS], LABELS))
    median = DecisionTreeRegressor(criterion="absolute_error", max_depth=1).fit(PANDAS[NUMBERS], LABELS)
    with pytest.raises(ic.IncompatibleError, match="value of one person"):
        audit(median)


@pytest.mark.parametrize(
    ("hidden", "by"),
    [
        (pl.col("age"), "'age'"), (pl.col("age") * 365.25 + 3, "'age'"), (2000 - pl.col("age"), "'age'"),
        (pl.col("age") // 2, "'age'"), (pl.col("age") * 7 % 5, "'age'"), (pl.col("age").cast(pl.String()), "'age'"),
        (pl.col("age") * pl.col("height") % 7, "'age' and 'height'"),
        (pl.col("age") * 2.5 + pl.col("height") * 1.5, "a sum of public columns"),
    ],
)  # fmt: skip
def test_a_private_column_that_public_ones_tell_counts_as_known(hidden, by):
    rng = np.random.default_rng(0)
    n = 400
    frame = pl.DataFrame({"age": rng.integers(0, 40, n), "height": rng.integers(0, 30, n)})
    frame = frame.with_columns(copy=hidden, y=pl.Series(rng.integers(0, 2, n)))
    if frame["copy"].dtype == pl.String():
        frame = frame.with_columns(copy=pl.col("copy").cast(pl.Int64()))
    roles = ic.Schema(quasi=["age", "height"], sensitive="y", other=["copy"])
    model = DecisionTreeClassifier(random_state=0).fit(frame.select("copy").to_pandas(), frame["y"].to_numpy())
    found = ic.audit(model, frame, roles, 90)
    assert not found.ok
    assert found.notes == (f"'copy' is private, and {by} tells it: it counts as known",)
    with pytest.raises(ic.ParameterError, match="'copy' is private, and public columns tell it"):
        ic.KAnonymousTreeClassifier(k=30, public=["age", "height"]).fit(frame.drop("y"), frame["y"])
    with pytest.raises(ic.ParameterError, match="'copy' is private, and public columns tell it"):
        ic.KAnonymousClusters(k=30, public=["age", "height"]).fit(frame.drop("y"))
    free = frame.with_columns(copy=pl.Series(rng.integers(0, 40, n)))
    model = DecisionTreeClassifier(random_state=0).fit(free.select("copy").to_pandas(), free["y"].to_numpy())
    assert ic.audit(model, free, roles, 30).level == n


def test_a_copy_of_the_class_is_known_when_the_class_is():
    frame = FRAME.with_columns(copy=pl.col("y") * 3)
    model = DecisionTreeClassifier(random_state=0).fit(frame.select("age", "copy").to_pandas(), LABELS)
    roles = ic.Schema(quasi=["age"], sensitive="y", other=["copy"])
    assert "copy" in ic.audit(model, frame.drop("pay", "job"), roles, 5, class_public=True).notes[0]


def test_figures_of_linear_models_and_naive_bayes_are_of_k_people_or_flagged():
    shared = FRAME.select("age", "y")
    roles = ic.Schema(quasi=["age"], sensitive="y")
    lonely = shared.with_columns(age=pl.when(pl.int_range(pl.len()) == 7).then(6).otherwise(pl.col("age")))
    least = int(shared["age"].value_counts()["count"].min())
    for model in (LogisticRegression(), GaussianNB(), CategoricalNB()):
        found = ic.audit(model.fit(shared.select("age").to_numpy(), LABELS), shared, roles, 5)
        assert (found.ok, found.level) == (True, least)
        found = ic.audit(model.fit(lonely.select("age").to_numpy(), LABELS), lonely, roles, 5)
        assert (found.ok, found.at_risk.tolist()) == (False, [7])
        with pytest.raises(ic.IncompatibleError, match="no repair"):
            found.repair()


def test_models_that_are_released_together_are_joined():
    one = stump().fit(PANDAS[["age"]], LABELS)
    frame = FRAME.with_columns(b=pl.Series(np.arange(N) % 4))
    other = stump().fit(frame.select("b").to_pandas(), LABELS)
    roles = ic.Schema(quasi=["age", "b"], sensitive="y", other=["pay", "job"])
    apart = [ic.audit(model, frame.to_pandas(), roles, 5) for model in (one, other)]
    found = ic.audit([one, other], frame.to_pandas(), roles, 5)
    pairs = set(zip(apart[0].span_of.tolist(), apart[1].span_of.tolist(), strict=True))
    assert len(found.multiple) == len(pairs) == 4
    assert found.level < min(part.level for part in apart)
    assert ic.audit([one, other], frame.to_pandas(), roles, found.level).repair() == [one, other]
    broken = ic.audit([one, other], frame.to_pandas(), roles, found.level + 1)
    assert not broken.ok
    assert ic.audit(broken.repair(), frame.to_pandas(), roles, found.level + 1).ok
    with pytest.raises(ic.ParameterError, match="no model in the list"):
        ic.audit([], frame, roles, 5)


def test_diversity_and_confidence_limit_what_is_told_about_the_class():
    """Section 6.3: with two classes, 85 % of confidence are an entropy diversity of 1.526."""
    frame = pl.DataFrame({"age": [0] * 20 + [1] * 20 + [2] * 20, "y": [0] * 20 + [1] * 3 + [0] * 17 + [1, 0] * 10})
    model = DecisionTreeClassifier(max_leaf_nodes=3).fit(frame.select("age").to_numpy(), frame["y"])
    roles = ic.Schema(quasi=["age"], sensitive="y")
    found = ic.audit(model, frame, roles, 20)
    assert (found.ok, found.exposed, found.confidence, found.diversity) == (True, 20, 1.0, 1.0)
    assert "the class of 20 people is told for certain" in str(found)
    assert not ic.audit(model, frame, roles, 20, max_confidence=0.9).ok
    assert not ic.audit(model, frame, roles, 20, l=1.2).ok
    two = ic.audit(model, frame, roles, 20, max_confidence=0.85)
    assert [len(two.breaches), two.at_risk.tolist()] == [1, list(range(20))]
    mended = ic.audit(model, frame, roles, 20, l=1.3)
    again = ic.audit(mended.repair(), frame, roles, 20, l=1.3)
    assert again.ok
    assert again.diversity >= 1.3
    assert "l = 1.3" in again.headline
    with pytest.raises(ic.ParameterError, match="class_public is true"):
        ic.audit(model, frame, roles, 20, class_public=True, l=2)
    for wrong in ({"l": 0.5}, {"max_confidence": 0}, {"max_confidence": 2}):
        with pytest.raises(ic.ParameterError, match=" is "):
            ic.audit(model, frame, roles, 20, **wrong)
    impossible = ic.audit(model, frame, roles, 20, l=1.99)
    with pytest.raises(ic.InfeasibleError, match="less diverse"):
        impossible.repair()


def test_a_repair_says_what_it_keeps_and_warns_when_that_is_nothing():
    frame = pl.DataFrame({"age": np.arange(40), "y": [0] * 18 + [1] * 22})
    model = DecisionTreeClassifier(random_state=0).fit(frame.select("age").to_numpy(), frame["y"])
    roles = ic.Schema(quasi=["age"], sensitive="y")
    found = ic.audit(model, frame, roles, 30)
    with pytest.warns(ic.errors.QualityWarning, match="no better than guessing: 55.0%"):
        mended = found.repair()
    assert found.compare(mended) == {"before": 1.0, "after": 0.55, "majority": 0.55}
    assert found.compare(mended, frame.head(18)) == {"before": 1.0, "after": 0.0, "majority": 1.0}


class Rows(list):
    """A list that carries more."""


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("train_score_", lambda _: np.arange(N)), ("estimators_", lambda model: Rows(model.estimators_)),
        ("_loss", lambda model: setattr(model._loss, "xp", FRAME) or model._loss),
        ("init_", lambda model: setattr(model.init_, "constant", np.arange(N)) or model.init_),
    ],
)  # fmt: skip
def test_parts_of_boosting_that_hold_more_are_refused(name, change):
    model = GradientBoostingClassifier(n_estimators=2, max_depth=1).fit(PANDAS[NUMBERS], LABELS)
    setattr(model, name, change(model))
    with pytest.raises(ic.IncompatibleError, match=f"GradientBoostingClassifier holds '{name}'"):
        audit(model)


def test_bins_of_histograms_that_hold_more_are_refused():
    model = HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=2).fit(PANDAS[NUMBERS], LABELS)
    model._bin_mapper.n_threads = FRAME.rows()
    with pytest.raises(ic.IncompatibleError, match="holds '_bin_mapper'"):
        audit(model)
    model = HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=2).fit(PANDAS[NUMBERS], LABELS)
    model._predictors[0][0].rows = FRAME
    with pytest.raises(ic.IncompatibleError, match="more than its nodes"):
        audit(model)


def test_names_that_hold_more_are_refused():
    long = "Ada earns 90000 " * 9
    model = make_pipeline(StandardScaler(), stump()).fit(PANDAS[NUMBERS], LABELS)
    model.steps[0] = (long, model.steps[0][1])
    with pytest.raises(ic.IncompatibleError, match="name of a step"):
        audit(model)
    model = make_pipeline(StandardScaler(), stump()).fit(PANDAS[NUMBERS], LABELS)
    model[-1].feature_names_in_ = np.array(["Ada", "90000"], object)
    with pytest.raises(ic.IncompatibleError, match="'feature_names_in_' that the steps before it do not give"):
        audit(model)
    forest = RandomForestClassifier(2).fit(PANDAS[NUMBERS], LABELS)
    forest.estimators_[0].feature_names_in_ = np.array(["Ada", "90000"], object)
    with pytest.raises(ic.IncompatibleError, match="A tree of RandomForestClassifier holds 'feature_names_in_'"):
        audit(forest)
    model = make_pipeline(FunctionTransformer(kw_args={"rows": FRAME.rows()}), stump())
    model[-1].fit(PANDAS[NUMBERS].to_numpy(), LABELS)
    with pytest.raises(ic.IncompatibleError, match="parameter kw_args"):
        audit(model, PANDAS[[*NUMBERS, "y"]], schema=ic.Schema(quasi=["age"], sensitive="y", other=["pay"]))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("rows_", lambda _: FRAME), ("n_leaves_", lambda _: [1, 2]), ("hierarchies_", lambda _: (FRAME, FRAME)),
        ("_span_class", lambda model: model._span_class + 1), ("_span_codes", lambda model: model._span_codes + 1),
        ("classes_", lambda _: [0, 1]), ("predict", lambda _: len), ("tree_", lambda model: Rows([model.tree_])),
    ],
)  # fmt: skip
def test_a_tree_of_ours_that_holds_more_is_refused(name, change):
    model = ic.KAnonymousTreeClassifier(k=K, public=["age"]).fit(FRAME.select(NUMBERS), FRAME["y"])
    assert audit(model, FRAME).ok
    setattr(model, name, change(model))
    with pytest.raises(ic.IncompatibleError, match=f"holds '{name}'"):
        audit(model, FRAME)
