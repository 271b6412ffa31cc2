"""Every estimator of the installed scikit-learn: the audit is right about it, or refuses it by its name."""

import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

import incrowd as ic
from incrowd.audit.contents import known_models
from incrowd.audit.steps import _CLOSE, difference, known_steps
from incrowd.learn.spans import find_spans

N = 90
K = 6
RNG = np.random.default_rng(7)
ROWS = RNG.integers(0, 3, (N, 3))
LABELS = ((ROWS @ [3, 1, 2] + RNG.integers(0, 3, N)) > 7).astype(int)
FRAME = pl.DataFrame({"a": ROWS[:, 0], "b": ROWS[:, 1], "c": ROWS[:, 2], "y": LABELS}).to_pandas()
SCHEMA = ic.Schema(quasi={"a": ic.Intervals(), "b": ic.Intervals()}, sensitive="y", other=["c"])
NAMES = ["a", "b", "c"]
FEW = {"n_estimators": 3, "n_clusters": 3, "n_init": 1}


def by_definition(cell_of):
    """People at risk, by trying all private values; the model says in which cell a row is."""
    cells = {row: cell_of(row) for row in {(a, b, c) for a in range(3) for b in range(3) for c in range(3)}}
    people = pl.from_pandas(FRAME).rows(named=True)
    private = {"c": [0, 1, 2], "y": [0, 1]}
    return find_spans(lambda p: (cells[p["a"], p["b"], p["c"]], p["y"]), people, private)


def judged(model, cell_of):
    """Audit a model, and compare with the definition: nobody who is at risk is missed."""
    found = ic.audit(model, FRAME, SCHEMA, K)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = by_definition(cell_of(model))
    assert set(expected.at_risk(K)) <= set(found.at_risk.tolist())
    assert not (found.ok and len(expected.breaches(K)))
    if not hasattr(model, "cluster_centers_"):  # centroids are read in two ways, and people stand behind them
        assert found.at_risk.tolist() == expected.at_risk(K).tolist()
    return "judged"


def cells_of_tree(model):
    return lambda row: int(
        model[-1].apply(model[:-1].transform(pl.DataFrame([row], NAMES, orient="row").to_pandas()))[0]
    )


# They mix public and private columns, or keep components: refused here, followed where nothing is private.
MIXING = ("Normalizer", "PolynomialFeatures", "PCA", "TruncatedSVD", "KBinsDiscretizer", "SimpleImputer",
          "VarianceThreshold")  # fmt: skip
TREE = DecisionTreeClassifier(random_state=0, max_depth=3)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("kind", [kind for _, kind in all_estimators("transformer")], ids=lambda kind: kind.__name__)
def test_every_transformer_is_followed_or_refused(kind):
    if kind not in known_steps():  # its type is enough to refuse it, fitted or not
        step = kind.__new__(kind)
        model = Pipeline([("step", step), ("tree", clone(TREE).fit(FRAME[NAMES].to_numpy(), LABELS))])
        with pytest.raises(ic.IncompatibleError, match=f"The step {kind.__name__} may hold more"):
            ic.audit(model, FRAME, SCHEMA, K)
        return
    step = ColumnTransformer([("c", StandardScaler(), NAMES)]) if kind is ColumnTransformer else kind()
    if kind.__name__ not in MIXING:
        model = make_pipeline(step, clone(TREE)).fit(FRAME[NAMES], LABELS)
        assert judged(model, cells_of_tree) == "judged"
        return
    with pytest.raises(ic.IncompatibleError, match=r"mixes public and private|keeps components"):
        ic.audit(make_pipeline(step, clone(TREE)).fit(FRAME[NAMES], LABELS), FRAME, SCHEMA, K)
    apart = [("one", clone(step), ["a", "b"]), ("other", StandardScaler(), ["c"])]
    model = make_pipeline(ColumnTransformer(apart), clone(TREE)).fit(FRAME[NAMES], LABELS)
    assert judged(model, cells_of_tree) == "judged"


def cells_of_model(model):
    """What a model tells of a row: its leaves, its cluster, or all public values of it."""
    if hasattr(model, "apply"):
        return lambda row: tuple(np.ravel(model.apply(np.array([row], float))).tolist())
    if hasattr(model, "cluster_centers_"):
        return lambda row: int(model.predict(np.array([row], float))[0])
    if hasattr(model, "_predictors"):
        trees = [tree for stage in model._predictors for tree in stage]
        none = np.zeros((0, 8), np.uint32), np.zeros(3, np.uint32)
        return lambda row: tuple(float(t.predict(np.array([row], float), *none, 1)[0]) for t in trees)
    if hasattr(model, "estimators_"):
        return lambda row: tuple(int(t.apply(np.array([row], np.float32))[0]) for t in model.estimators_)
    return lambda row: row[:2]


MODELS = sorted(
    {kind for purpose in ("classifier", "regressor", "cluster") for _, kind in all_estimators(purpose)},
    key=lambda kind: kind.__name__,
)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.__name__)
def test_every_model_is_judged_or_refused(kind):
    if kind not in known_models():  # its type is enough to refuse it
        model = kind.__new__(kind)
        model.fitted_ = True
        with pytest.raises(ic.IncompatibleError, match=f"no audit for models of type {kind.__name__}"):
            ic.audit(model, FRAME, SCHEMA, K)
        return
    model = kind()
    if kind.__name__.startswith("Hist"):
        model.set_params(max_iter=2, min_samples_leaf=5)
    few = {name: value for name, value in FEW.items() if name in model.get_params(deep=False)}
    model.set_params(**few).fit(FRAME[NAMES], LABELS)
    assert judged(model, cells_of_model) == "judged"


def test_the_lists_of_estimators_are_of_this_scikit_learn():
    assert len(MODELS) > 90
    assert len(all_estimators("transformer")) > 60
    assert set(known_models()) <= set(MODELS)


@pytest.mark.parametrize(("apart", "alike"), [(0.0, True), (_CLOSE, True), (1.5 * _CLOSE, False), (1.0, False)])
def test_numbers_are_alike_up_to_rounding(apart, alike):
    assert (difference(0.0, apart) is None) == alike
    assert (difference(np.array([0.0]), np.array([apart])) is None) == alike
