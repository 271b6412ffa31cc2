"""Audit of our own estimators, which can be fitted again with another k. Their code is not imported."""

from __future__ import annotations

import copy
import sys
from typing import Any

import numpy as np
import polars as pl

from incrowd.audit import centroids, trees
from incrowd.audit.centroid_models import require_same_clusters
from incrowd.audit.inputs import Inputs
from incrowd.audit.steps import is_plain
from incrowd.audit.subject import SAME_TABLE, Limits, Subject, back_in_place
from incrowd.errors import IncompatibleError, SchemaError
from incrowd.schema import Schema

_TYPES = {"incrowd.learn.tree": "KAnonymousTreeClassifier", "incrowd.learn.clusters": "KAnonymousClusters"}
_HELD = {
    "KAnonymousTreeClassifier": (
        "classes_", "public_", "hierarchies_", "tree_", "n_leaves_", "_span_of", "_span_class", "_span_codes",
        "n_features_in_", "feature_names_in_",
    ),
    "KAnonymousClusters": (
        "public_", "cluster_centers_", "labels_", "_spans", "_span_of", "n_features_in_", "feature_names_in_",
    ),
}  # fmt: skip


def is_ours(model: Any) -> bool:  # noqa: ANN401
    """Tell whether a model is of the exact type of one of ours; whoever has made it has loaded its module."""
    return any(
        type(model) is getattr(sys.modules.get(module), name, None) for module, name in _TYPES.items()
    )  # fmt: skip


def read_ours(
    model: Any,  # noqa: ANN401
    proper: Any,  # noqa: ANN401
    inputs: Inputs,
    people: pl.DataFrame,
    schema: Schema,
    limits: Limits,
) -> Subject:
    """Return an estimator of ours as the audit sees it; what it has by row is not in its files."""
    name = type(proper).__name__
    _require_nothing_else(proper, name)
    changes: dict[str, Any] = {"k": int(limits.k)}
    behind = np.empty(0, np.int64)
    if name == "KAnonymousClusters":
        centers = np.asarray(proper.cluster_centers_, np.float64)
        require_same_clusters(proper, centroids.nearest(centers, inputs))
        span_of, multiple = centroids.find_spans(centers, inputs)
        changes["min_people"] = None
        behind = _behind(proper, centers, inputs, int(limits.k))
    else:
        view = trees.RankTree(proper.tree_, inputs)
        if (view.reached() != proper.tree_.counts.sum(axis=1)).any():
            fact = "The table does not send as many people to each node of the model as it was fitted with"
            raise SchemaError(fact, SAME_TABLE)
        span_of, multiple = trees.find_spans([view], inputs)
        changes |= {"class_public": inputs.class_public, "l": limits.l, "max_confidence": limits.max_confidence}
    changes["public"] = np.flatnonzero(inputs.public).tolist()
    known = ", ".join(source for source, is_known in zip(inputs.sources, inputs.public, strict=True) if is_known)
    step = f"fit it again with k = {limits.k} and as public: {known or 'nothing'}"

    def mend(limits: Limits) -> tuple[Any, list[str]]:
        del limits
        again = copy.deepcopy(proper).set_params(**changes)
        target = None if schema.target is None else people[schema.target].to_list()
        return back_in_place(model, again.fit(inputs.given, target)), [step]

    return Subject(
        name, model, inputs, span_of, multiple, behind=behind, mend=mend, steps=(step,),
        has_class=name != "KAnonymousClusters",
    )  # fmt: skip


def _behind(model: Any, centers: Any, inputs: Inputs, k: int) -> Any:  # noqa: ANN401
    """Return the people of clusters whose centroid may be the mean of fewer than k.

    A centroid of ours is the mean of a branch of the spanning tree, which the model does not keep: its own parameters
    say of how many people at least. A centroid that is somebody's row is found whatever they say.
    """
    if not inputs.secret.any():
        return np.empty(0, np.int64)
    promised = model.k if model.min_people is None else model.min_people
    if promised < k:
        return np.arange(inputs.n_people)
    rows, kind_of, n_alike = np.unique(inputs.values, axis=0, return_inverse=True, return_counts=True)
    gaps = np.array([np.abs(centers - row).max(axis=1).min() for row in rows])
    alone = (gaps <= 1e-9 * np.maximum(1.0, np.abs(rows).max(axis=1))) & (n_alike < k)
    return np.flatnonzero(alone[kind_of.ravel()])


def _require_nothing_else(model: Any, name: str) -> None:  # noqa: ANN401
    parameters = model.get_params(deep=False)
    for attribute, value in vars(model).items():
        is_known = attribute in _HELD[name] or (attribute in parameters and _is_setting(value))
        if not is_known:
            fact = f"The {name} holds '{attribute}', which the audit does not understand"
            raise IncompatibleError(fact, "audit the model as fit leaves it, without anything added")


def _is_setting(value: Any) -> bool:  # noqa: ANN401
    if isinstance(value, dict):  # how columns are split
        return all(
            one is None or is_plain(one) or type(one).__module__.startswith("incrowd.hierarchy")
            for one in value.values()
        )
    return is_plain(value)
