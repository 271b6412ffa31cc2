"""Random models beside the definition of a span: ``python -m checks.models [N] [SEED]``.

Each case is a small table, a model of a random kind, and random columns that are public. Spans are found by trying all
private values. The audit must give the same verdict, or refuse; what `repair` returns must be safe by the definition.
Nothing here is shared with the audit. Prints what was tried, what was refused, and the seeds of wrong verdicts.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import incrowd as ic

NAMES = ("a", "b", "c")
_PRIVATE_CLASS = (0, 1)
Cell = Callable[[np.ndarray], np.ndarray]


@dataclass
class Tally:
    """What came out of many cases."""

    tried: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    broken: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {n}" for kind, n in sorted(self.tried.items()))
        refusals = "; ".join(f"{reason}: {n}" for reason, n in self.refused.most_common())
        lines = [
            f"{sum(self.tried.values())} models: {kinds}",
            f"{self.broken} of them broken, {sum(self.refused.values())} refused ({refusals or 'none'})",
            f"{len(self.wrong)} wrong verdicts",
        ]
        return "\n".join(lines + self.wrong)


def table(rng: np.random.Generator) -> pl.DataFrame:
    """Return a small table of three columns of few values, and a class that follows them loosely."""
    n = int(rng.integers(20, 70))
    rows = rng.integers(0, rng.integers(2, 4), (n, 3))
    labels = ((rows @ [2, 1, 2] + rng.integers(0, 3, n)) > 5).astype(int)
    labels[:2] = 0, 1
    return pl.DataFrame({name: rows[:, i] for i, name in enumerate(NAMES)} | {"y": labels})


def model(kind: str, rng: np.random.Generator) -> Any:  # noqa: ANN401
    """Return an unfitted model of a kind."""
    from sklearn import cluster, ensemble, linear_model, naive_bayes, pipeline, preprocessing, tree  # noqa: PLC0415

    depth, seed = int(rng.integers(1, 4)), int(rng.integers(0, 1000))
    grown = tree.DecisionTreeClassifier(max_depth=depth, random_state=seed)
    made: dict[str, Callable[[], Any]] = {
        "tree": lambda: grown,
        "random tree": lambda: tree.ExtraTreeClassifier(max_depth=depth, random_state=seed),
        "tree of numbers": lambda: tree.DecisionTreeRegressor(max_depth=depth, random_state=seed),
        "forest": lambda: ensemble.RandomForestClassifier(3, max_depth=depth, random_state=seed),
        "extra trees": lambda: ensemble.ExtraTreesClassifier(3, max_depth=depth, random_state=seed),
        "bagging": lambda: ensemble.BaggingClassifier(grown, 3, max_features=2, random_state=seed),
        "boosting": lambda: ensemble.GradientBoostingClassifier(n_estimators=2, max_depth=depth, random_state=seed),
        "adaboost": lambda: ensemble.AdaBoostClassifier(grown, n_estimators=2, random_state=seed),
        "histograms": lambda: ensemble.HistGradientBoostingClassifier(
            max_iter=2, max_depth=depth, min_samples_leaf=3, early_stopping=bool(rng.integers(2)), random_state=seed
        ),
        "pipeline": lambda: pipeline.make_pipeline(preprocessing.StandardScaler(), grown),
        "coded pipeline": lambda: pipeline.make_pipeline(preprocessing.OneHotEncoder(sparse_output=False), grown),
        "k-means": lambda: cluster.KMeans(int(rng.integers(2, 4)), n_init=1, random_state=seed),
        "logistic": linear_model.LogisticRegression,
        "naive bayes": naive_bayes.GaussianNB,
        "xgboost": lambda: _Xgboost(depth, seed),
        "lightgbm": lambda: _Lightgbm(depth, seed),
    }
    return prepared(kind, grown) if kind.startswith("behind ") else made[kind]()


def prepared(kind: str, grown: Any) -> Any:  # noqa: ANN401
    """Return a tree behind a transformer of scikit-learn, which works on each column by itself if it can."""
    from sklearn import compose, pipeline  # noqa: PLC0415
    from sklearn.utils import all_estimators  # noqa: PLC0415

    name = kind.removeprefix("behind ")
    given: dict[str, dict[str, Any]] = {
        "KBinsDiscretizer": {"encode": "ordinal", "strategy": "uniform"}, "TruncatedSVD": {"n_components": 1},
    }  # fmt: skip
    made = dict(all_estimators("transformer"))[name](**given.get(name, {}))
    apart = compose.ColumnTransformer([(str(m), made, [m]) for m in range(3)], sparse_threshold=0)
    return pipeline.make_pipeline(apart, grown)


# Those that the audit follows, and some that it must refuse; tests/audit/test_audit_every_estimator.py has all others.
STEPS = ("Binarizer", "FunctionTransformer", "KBinsDiscretizer", "KNNImputer", "MaxAbsScaler", "MinMaxScaler",
         "Normalizer", "OneHotEncoder", "OrdinalEncoder", "PCA", "PolynomialFeatures", "PowerTransformer",
         "QuantileTransformer", "RobustScaler", "SelectKBest", "SimpleImputer", "SplineTransformer", "StandardScaler",
         "TargetEncoder", "TruncatedSVD", "VarianceThreshold")  # fmt: skip


@dataclass
class _Xgboost:
    """A model of XGBoost that `fit` gives from its file, with the leaves that the library says."""

    depth: int
    seed: int

    def fit(self, rows: np.ndarray, labels: np.ndarray) -> _Read:
        import xgboost  # noqa: PLC0415

        options = {"max_depth": self.depth, "min_child_weight": 1, "random_state": self.seed, "n_jobs": 1}
        model = xgboost.XGBClassifier(n_estimators=2, **options).fit(rows, labels)
        return _Read.of(model.get_booster().save_model, ".json", model.apply)


@dataclass
class _Lightgbm:
    """The same of LightGBM."""

    depth: int
    seed: int

    def fit(self, rows: np.ndarray, labels: np.ndarray) -> _Read:
        import lightgbm  # noqa: PLC0415

        options = {"objective": "binary", "max_depth": self.depth, "min_data_in_leaf": 3, "min_data_in_bin": 1,
                   "seed": self.seed, "verbose": -1, "num_threads": 1}  # fmt: skip
        model = lightgbm.train(options, lightgbm.Dataset(rows, labels), 2)
        return _Read.of(model.save_model, ".txt", lambda asked: model.predict(asked, pred_leaf=True))


@dataclass
class _Read:
    """A model that was read from a file, and how its library finds leaves."""

    dump: Any
    apply: Cell

    @classmethod
    def of(cls, save: Callable[[str], object], suffix: str, apply: Cell) -> _Read:
        from incrowd.audit.dumps import read_dump  # noqa: PLC0415

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model" + suffix)
            save(str(path))
            return cls(read_dump(path), apply)


KINDS = ("tree", "random tree", "tree of numbers", "forest", "extra trees", "bagging", "boosting", "adaboost",
         "histograms", "pipeline", "coded pipeline", "k-means", "logistic", "naive bayes", "xgboost",
         "lightgbm", *(f"behind {name}" for name in STEPS))  # fmt: skip


def cell(fitted: Any, rows: np.ndarray, public: list[int]) -> np.ndarray:  # noqa: ANN401
    """Return what a model tells of rows: leaves, the nearest centroid, or for sums the public values themselves."""
    if hasattr(fitted, "steps"):
        return cell(fitted[-1], fitted[:-1].transform(rows), public)
    if hasattr(fitted, "_predictors"):
        stages = [one for stage in fitted._predictors for one in stage]
        return np.stack([_leaves(one.nodes, rows) for one in stages], axis=1)
    if hasattr(fitted, "estimators_features_"):
        pairs = zip(fitted.estimators_, fitted.estimators_features_, strict=True)
        return np.stack([one.apply(rows[:, seen]) for one, seen in pairs], axis=1)
    if hasattr(fitted, "estimators_") and not hasattr(fitted, "apply"):
        return np.stack([one.apply(rows) for one in fitted.estimators_], axis=1)
    if hasattr(fitted, "apply"):
        return np.asarray(fitted.apply(rows)).reshape(len(rows), -1)
    if hasattr(fitted, "cluster_centers_"):
        distances = ((rows[:, None] - fitted.cluster_centers_) ** 2).sum(axis=2)
        return distances.argmin(axis=1)[:, None]
    return rows[:, public]


def _leaves(nodes: Any, rows: np.ndarray) -> np.ndarray:  # noqa: ANN401
    found = np.zeros(len(rows), int)
    for i, row in enumerate(rows):
        node = 0
        while not nodes[node]["is_leaf"]:
            one = nodes[node]
            node = int(one["left"] if row[one["feature_idx"]] <= one["num_threshold"] else one["right"])
        found[i] = node
    return found


def at_risk(fitted: Any, frame: pl.DataFrame, public: list[int], k: int, *, class_public: bool) -> set[int]:  # noqa: ANN401
    """Return the people whose span has several classes and fewer than k people, by trying all private values."""
    rows = frame.select(NAMES).to_numpy().astype(float)
    hidden = [m for m in range(3) if m not in public]
    domains = [sorted(set(rows[:, m])) for m in hidden]
    labels = frame["y"].to_list()
    has_class = not hasattr(fitted, "cluster_centers_")
    spans = []
    for i, row in enumerate(rows):
        tried = np.repeat(row[None], max(1, int(np.prod([len(d) for d in domains]))), axis=0)
        for j, values in enumerate(product(*domains)):
            tried[j, hidden] = values
        classes = {tuple(one) for one in cell(fitted, tried, public).tolist()}
        bins = ([labels[i]] if class_public else _PRIVATE_CLASS) if has_class else [0]
        known = (tuple(row[public]), labels[i] if class_public else None) if _is_sum(fitted) else None
        told = len(classes) > 1 or len(bins) > 1 or (_is_sum(fitted) and bool(hidden))
        spans.append((frozenset(product(classes, bins)), known, told))
    sizes = Counter((span, known) for span, known, _ in spans)
    return {i for i, (span, known, told) in enumerate(spans) if told and sizes[span, known] < k}


def _is_sum(fitted: Any) -> bool:  # noqa: ANN401
    return hasattr(fitted, "coef_") or hasattr(fitted, "theta_")


def try_one(seed: int, tally: Tally) -> None:
    """Make a case, audit it, and compare."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    frame = table(rng)
    public = sorted(rng.choice(3, int(rng.integers(1, 4)), replace=False).tolist())
    class_public, k = bool(rng.integers(2)), int(rng.integers(1, 12))
    tally.tried[kind] += 1
    try:
        fitted = model(kind, rng).fit(frame.select(NAMES).to_numpy().astype(float), frame["y"].to_numpy())
    except ValueError:  # a step left nothing to learn from
        tally.refused["cannot be fitted"] += 1
        return
    except ic.errors.IncrowdError as refused:  # a file that holds more than trees
        tally.refused[refused.fact[:60]] += 1
        return
    names = [NAMES[m] for m in public]
    schema = ic.Schema(quasi=names, sensitive="y", other=[name for name in NAMES if name not in names])
    asked = fitted.dump if isinstance(fitted, _Read) else fitted
    try:
        found = ic.audit(asked, frame, schema, k, class_public=class_public)
    except ic.errors.IncrowdError as refused:
        tally.refused[refused.fact[:60]] += 1
        return
    expected = at_risk(fitted, frame, public, k, class_public=class_public)
    here = set(found.at_risk.tolist())
    told = bool(found.notes)  # columns that public ones tell make crowds smaller, never larger
    same = expected <= here if told or kind == "k-means" else expected == here
    if not same or (found.ok and expected):
        tally.wrong.append(f"seed {seed}: {kind}, {len(here)} people at risk, by the definition {len(expected)}")
    tally.broken += not found.ok
    _try_repair(seed, kind, found, frame, public, schema, class_public=class_public, tally=tally)


def _try_repair(
    seed: int,
    kind: str,
    found: Any,  # noqa: ANN401
    frame: pl.DataFrame,
    public: list[int],
    schema: ic.Schema,
    *,
    class_public: bool,
    tally: Tally,
) -> None:
    try:
        mended = found.repair()
    except (ic.InfeasibleError, ic.IncompatibleError):
        return
    if kind in ("xgboost", "lightgbm"):  # nothing was wrong: it is the file itself, which only its library can ask
        return
    if at_risk(mended, frame, public, found.k, class_public=class_public):
        tally.wrong.append(f"seed {seed}: {kind}, the repaired model is not safe")
        return
    try:
        if not ic.audit(mended, frame, schema, found.k, class_public=class_public).ok:
            tally.wrong.append(f"seed {seed}: {kind}, the repaired model is flagged")
    except ic.errors.IncrowdError as refused:
        tally.refused["repaired: " + refused.fact[:50]] += 1


def run(n: int, seed: int = 0) -> Tally:
    """Try this many models."""
    tally = Tally()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in range(seed, seed + n):
            try_one(case, tally)
    return tally


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:]]
    outcome = run(*(numbers or [1000]))
    print(outcome)
    sys.exit(bool(outcome.wrong))
