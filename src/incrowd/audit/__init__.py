"""Audit of models that somebody made: whether every person of the table is hidden in a crowd of at least k.

The audit shares no code with the learners of `incrowd.learn`. It reads the model, finds the span of each person (see
Friedman, Wolff, Schuster 2008) and counts. ``incrowd.audit(model, frame, schema, k=30)``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from incrowd import io
from incrowd.audit import centroids, trees
from incrowd.audit.inputs import Inputs, kind_of, read
from incrowd.audit.report import Audit
from incrowd.errors import IncompatibleError, InfeasibleError, ParameterError, SchemaError
from incrowd.schema import Schema

__all__ = ["Audit", "audit"]


def audit(model: Any, frame: Any, schema: Schema, k: int, *, class_public: bool = False) -> Audit:  # noqa: ANN401
    """Find the spans of a model, and who is in too small a crowd.

    Parameters
    ----------
    model
        A fitted scikit-learn decision tree, forest or boosted trees, k-means or other centroids, one of our own
        estimators, or a pipeline that ends in one. Columns may be scaled, coded or one-hot coded on the way. For
        association rules see `audit_rules`.
    frame
        The people that the model was fitted with, with the class.
    schema
        Quasi-identifiers and identifiers are public: an attacker knows them. Every other column is private. The class
        is the target.
    k
        Least size of the crowd.
    class_public
        Whether an attacker knows the class too.

    Returns
    -------
    Audit
        With `ok`, `level`, `at_risk` (row numbers), `repairs` in words, and `repair()`.
    """
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        fact = f"k is {k!r}"
        raise ParameterError(fact, "use a whole number from 1")
    proper, inputs = read(model, frame, schema, class_public=class_public)
    if hasattr(type(proper), "spans_") and type(proper).__module__.startswith("incrowd."):
        return _audit_ours(model, proper, inputs, io.to_polars(frame), schema, int(k))
    kind = kind_of(proper)
    if kind in _CENTROIDS:
        return _audit_centroids(model, proper, inputs, int(k))
    if kind in _TREES or (kind in _ENSEMBLES and _is_understood(proper)):
        return _audit_trees(model, proper, inputs, int(k))
    fact = f"There is no audit for models of type {kind}" + (" with these parts" if kind in _ENSEMBLES else "")
    raise IncompatibleError(fact, "it knows trees, forests, boosted trees, k-means, and rules (audit_rules)")


_SAME_TABLE = "give the table that the model was fitted with, its columns in the same order: spans are about its people"
_TIED = 0.01  # share of people that may be as near to two centroids, and rounded to either
# Only models whose every part is read: a type that is not listed may hide more than its trees or centroids tell.
_CENTROIDS = ("KMeans", "MiniBatchKMeans")
_TREES = ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor")
_ENSEMBLES = tuple(
    f"{name}{kind}"
    for name in ("RandomForest", "ExtraTrees", "GradientBoosting", "AdaBoost", "Bagging")
    for kind in ("Classifier", "Regressor")
)


def _is_understood(ensemble: Any) -> bool:  # noqa: ANN401
    """Tell whether all parts of an ensemble are trees, and it begins with a constant."""
    begins = getattr(ensemble, "init_", None)
    return (
        begins is None or isinstance(begins, str) or kind_of(begins) in ("DummyClassifier", "DummyRegressor")
    ) and all(kind_of(member) in _TREES for member in _members(ensemble))


def _members(model: Any) -> list[Any]:  # noqa: ANN401
    """Return the estimators that are trees: the model itself, or its members."""
    if kind_of(model) in _TREES:
        return [model]
    return list(np.ravel(np.asarray(model.estimators_, dtype=object)))


def _audit_trees(model: Any, proper: Any, inputs: Inputs, k: int) -> Audit:  # noqa: ANN401
    fitted = _members(proper)
    rows = inputs.values.astype(np.float32)
    every = np.arange(inputs.values.shape[1])
    columns = getattr(proper, "estimators_features_", [every] * len(fitted))
    _require_same_table(fitted, columns, rows)
    views: list[trees.PrunableTree] = [
        trees.SklearnTree(member.tree_, inputs, rows, np.asarray(seen))
        for member, seen in zip(fitted, columns, strict=True)
    ]
    span_of, multiple = trees.find_spans(views, inputs)

    def mend() -> tuple[list[set[int]], list[str]]:
        return trees.grow_back(views, inputs, k)

    def repair() -> Any:  # noqa: ANN401
        kept, _ = mend()
        changed = _without_rows(copy.deepcopy(proper))
        for member, splits in zip(_members(changed), kept, strict=True):
            member.tree_ = trees.pruned(member.tree_, splits)
        return _back_in_place(model, changed)

    name = type(proper).__name__ + (f" of {len(fitted)} trees" if len(fitted) > 1 else "")
    return _report(name, k, span_of, multiple, _as_shared(model, proper), lambda: mend()[1], repair)


def _require_same_table(fitted: list[Any], columns: Any, rows: Any) -> None:  # noqa: ANN401
    """Refuse a table that cannot be the one that the trees were fitted with; a bootstrap sees fewer rows of it."""
    most = max(int(member.tree_.n_node_samples[0]) for member in fitted)
    if most > len(rows) or (len(fitted) == 1 and most != len(rows)):
        fact = f"The model was fitted with {most} rows, and the table has {len(rows)}"
        raise SchemaError(fact, _SAME_TABLE)
    for member, seen in zip(fitted, columns, strict=True):
        tree = member.tree_
        leaf_of = tree.apply(np.ascontiguousarray(rows[:, seen]))
        here, then = np.bincount(leaf_of, minlength=tree.node_count), tree.n_node_samples
        is_leaf = tree.children_left < 0
        if (here < then)[is_leaf].any():
            fact = "The table sends fewer people to a leaf of the model than it was fitted with"
            raise SchemaError(fact, _SAME_TABLE)


def _audit_ours(
    model: Any,  # noqa: ANN401
    proper: Any,  # noqa: ANN401
    inputs: Inputs,
    people: pl.DataFrame,
    schema: Schema,
    k: int,
) -> Audit:
    """Audit an estimator of ours, which can be fitted again with another k."""
    if hasattr(proper, "cluster_centers_"):
        centers = np.asarray(proper.cluster_centers_, np.float64)
        _require_same_clusters(proper, centroids.nearest(centers, inputs))
        span_of, multiple = centroids.find_spans(centers, inputs)
        changes: dict[str, Any] = {"k": k}
    else:
        view = trees.RankTree(proper.tree_, inputs)
        if (view.reached() != proper.tree_.counts.sum(axis=1)).any():
            fact = "The table does not send as many people to each node of the model as it was fitted with"
            raise SchemaError(fact, _SAME_TABLE)
        span_of, multiple = trees.find_spans([view], inputs)
        changes = {"k": k, "class_public": inputs.class_public}
    changes["public"] = np.flatnonzero(inputs.public).tolist()

    def repair() -> Any:  # noqa: ANN401
        again = copy.deepcopy(proper).set_params(**changes)
        target = None if schema.target is None else people[schema.target].to_list()
        return _back_in_place(model, again.fit(inputs.given, target))

    known = ", ".join(name for name, is_known in zip(inputs.sources, inputs.public, strict=True) if is_known)
    step = f"fit it again with k = {k} and as public: {known or 'nothing'}"
    return _report(type(proper).__name__, k, span_of, multiple, (model, ()), lambda: [step], repair)


def _audit_centroids(model: Any, proper: Any, inputs: Inputs, k: int) -> Audit:  # noqa: ANN401
    centers = np.asarray(proper.cluster_centers_, np.float64)
    labels = centroids.nearest(centers, inputs)
    _require_same_clusters(proper, labels)
    span_of, multiple = centroids.find_spans(centers, inputs)
    sizes = np.bincount(labels, minlength=len(centers)).astype(np.float64)

    def mend() -> tuple[Any, list[str]]:
        return centroids.joined(centers.copy(), sizes.copy(), inputs, k)

    def repair() -> Any:  # noqa: ANN401
        return _back_in_place(model, centroids.with_centers(proper, mend()[0]))

    name = f"{type(proper).__name__} of {len(centers)} centroids"
    return _report(name, k, span_of, multiple, _as_shared(model, proper), lambda: mend()[1], repair)


def _require_same_clusters(proper: Any, here: Any) -> None:  # noqa: ANN401
    """Refuse a table whose people are in other clusters than the model noted when it was fitted, if it still knows."""
    then = getattr(proper, "labels_", None)
    if then is not None and (len(then) != len(here) or (then != here).mean() > _TIED):
        fact = f"The model noted the clusters of {len(then)} people, and they are not those of the table's {len(here)}"
        raise SchemaError(fact, _SAME_TABLE)


# What scikit-learn keeps of each person, by row: whoever knows the order of the table reads it off.
_BY_ROW = ("labels_", "oob_decision_function_", "oob_prediction_")


def _without_rows(model: Any) -> Any:  # noqa: ANN401
    """Take out of a model of one's own what it keeps by row."""
    for name in _BY_ROW:
        if name in vars(model):
            delattr(model, name)
    return model


def _as_shared(model: Any, proper: Any) -> tuple[Any, tuple[str, ...]]:  # noqa: ANN401
    """Return the model as it can be shared if k holds, and notes about what has to be taken out for that."""
    kept = [name for name in _BY_ROW if name in vars(proper)]
    if not kept:
        return model, ()
    note = f"{' and '.join(kept)} has an entry for each person, by row: share what repair() returns, which lacks it"
    return _back_in_place(model, _without_rows(copy.copy(proper))), (note,)


def _report(
    name: str,
    k: int,
    span_of: Any,  # noqa: ANN401
    multiple: Any,  # noqa: ANN401
    shared: tuple[Any, tuple[str, ...]],
    steps: Callable[[], list[str]],
    repair: Callable[[], Any],
) -> Audit:
    model, notes = shared
    found = Audit(name, k, span_of, multiple)
    if found.ok:
        return Audit(name, k, span_of, multiple, (), notes, lambda: model)
    try:
        return Audit(name, k, span_of, multiple, tuple(steps()), notes, repair)
    except InfeasibleError as nothing_helps:
        return Audit(name, k, span_of, multiple, (nothing_helps.fact,), notes, repair)


def _back_in_place(model: Any, changed: Any) -> Any:  # noqa: ANN401
    """Return a copy of a pipeline that ends in the changed model, or that model itself."""
    if not hasattr(model, "steps"):
        return changed
    whole = copy.copy(model)
    whole.steps = [*model.steps[:-1], (model.steps[-1][0], changed)]
    return whole
