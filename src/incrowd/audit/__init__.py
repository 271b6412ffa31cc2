"""Audit of models that somebody made: whether every person of the table is hidden in a crowd of at least k.

The audit shares no code with the learners of `incrowd.mining`. It reads the model, finds the span of each person (see
Friedman, Wolff, Schuster 2008) and counts. Call the module itself: ``incrowd.audit(model, frame, schema, k=30)``.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl

from incrowd import io
from incrowd.audit import centroids, trees
from incrowd.audit.inputs import Inputs, read
from incrowd.audit.report import Audit
from incrowd.errors import IncompatibleError, ParameterError
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
        Quasi-identifiers are public: an attacker knows them. Every other column is private. The class is the target.
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
    if hasattr(proper, "spans_"):
        return _audit_ours(model, proper, inputs, io.to_polars(frame), schema, int(k))
    if hasattr(proper, "cluster_centers_"):
        return _audit_centroids(model, proper, inputs, int(k))
    fitted = _fitted_trees(proper)
    if fitted:
        return _audit_trees(model, proper, fitted, inputs, int(k))
    fact = f"There is no audit for models of type {type(proper).__name__}"
    raise IncompatibleError(fact, "it knows trees, forests, boosted trees, centroids, and rules (audit_rules)")


def _fitted_trees(model: Any) -> list[Any]:  # noqa: ANN401
    """Return the estimators that are trees: the model itself, or its members."""
    if hasattr(getattr(model, "tree_", None), "children_left"):
        return [model]
    members = np.ravel(np.asarray(getattr(model, "estimators_", []), dtype=object))
    return list(members) if len(members) and all(_fitted_trees(member) for member in members) else []


def _audit_trees(model: Any, proper: Any, fitted: list[Any], inputs: Inputs, k: int) -> Audit:  # noqa: ANN401
    rows = inputs.values.astype(np.float32)
    views: list[trees.TreeView] = [trees.SklearnTree(member.tree_, inputs, rows) for member in fitted]
    span_of, multiple = trees.find_spans(views, inputs)

    def mend() -> tuple[list[set[int]], list[str]]:
        return trees.grow_back(views, inputs, k)

    def repair() -> Any:  # noqa: ANN401
        kept, _ = mend()
        changed = copy.deepcopy(proper)
        for member, splits in zip(_fitted_trees(changed), kept, strict=True):
            member.tree_ = trees.pruned(member.tree_, splits)
        return _back_in_place(model, changed)

    name = type(proper).__name__ + (f" of {len(fitted)} trees" if len(fitted) > 1 else "")
    return _report(name, k, span_of, multiple, model, lambda: mend()[1], repair)


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
        span_of, multiple = centroids.find_spans(np.asarray(proper.cluster_centers_, np.float64), inputs)
        changes: dict[str, Any] = {"k": k}
    else:
        span_of, multiple = trees.find_spans([trees.RankTree(proper.tree_, inputs)], inputs)
        changes = {"k": k, "class_public": inputs.class_public}
    changes["public"] = np.flatnonzero(inputs.public).tolist()

    def repair() -> Any:  # noqa: ANN401
        again = copy.deepcopy(proper).set_params(**changes)
        target = None if schema.target is None else people[schema.target].to_list()
        return _back_in_place(model, again.fit(inputs.given, target))

    known = ", ".join(name for name, is_known in zip(inputs.sources, inputs.public, strict=True) if is_known)
    step = f"fit it again with k = {k} and as public: {known or 'nothing'}"
    return _report(type(proper).__name__, k, span_of, multiple, model, lambda: [step], repair)


def _audit_centroids(model: Any, proper: Any, inputs: Inputs, k: int) -> Audit:  # noqa: ANN401
    centers = np.asarray(proper.cluster_centers_, np.float64)
    span_of, multiple = centroids.find_spans(centers, inputs)
    labels = ((inputs.values[:, None, :] - centers[None]) ** 2).sum(axis=2).argmin(axis=1)
    sizes = np.bincount(labels, minlength=len(centers)).astype(np.float64)

    def mend() -> tuple[Any, list[str]]:
        return centroids.joined(centers.copy(), sizes.copy(), inputs, k)

    def repair() -> Any:  # noqa: ANN401
        return _back_in_place(model, centroids.with_centers(proper, mend()[0], inputs))

    name = f"{type(proper).__name__} of {len(centers)} centroids"
    return _report(name, k, span_of, multiple, model, lambda: mend()[1], repair)


def _report(
    name: str,
    k: int,
    span_of: Any,  # noqa: ANN401
    multiple: Any,  # noqa: ANN401
    model: Any,  # noqa: ANN401
    steps: Callable[[], list[str]],
    repair: Callable[[], Any],
) -> Audit:
    found = Audit(name, k, span_of, multiple)
    if found.ok:
        return Audit(name, k, span_of, multiple, (), lambda: model)
    too_few = found.multiple.any() and len(span_of) < k
    return Audit(name, k, span_of, multiple, () if too_few else tuple(steps()), repair)


def _back_in_place(model: Any, changed: Any) -> Any:  # noqa: ANN401
    """Return a copy of a pipeline that ends in the changed model, or that model itself."""
    if not hasattr(model, "steps"):
        return changed
    whole = copy.copy(model)
    whole.steps = [*model.steps[:-1], (model.steps[-1][0], changed)]
    return whole


class _Verb(ModuleType):
    """Lets ``incrowd.audit`` be both this package and the function that people call."""

    def __call__(self, *args: Any, **kwargs: Any) -> Audit:  # noqa: ANN401
        return audit(*args, **kwargs)


sys.modules[__name__].__class__ = _Verb
