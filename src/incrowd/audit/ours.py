"""Audit of our own estimators, which can be fitted again with another k. Their code is not imported.

Each is fitted again with the table as it says it was, and must come out the same: so it holds nothing but what such a
model holds. Its spans are then found from its tests alone, as those of everybody's trees and centroids.
"""

from __future__ import annotations

import copy
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from incrowd.audit import centroids, trees
from incrowd.audit.centroid_models import require_same_clusters
from incrowd.audit.contents import by_row, kind_of_model
from incrowd.audit.inputs import Inputs
from incrowd.audit.steps import is_bare, is_plain, is_short
from incrowd.audit.subject import SAME_TABLE, Limits, Subject, back_in_place
from incrowd.audit.tree_states import figures
from incrowd.errors import IncompatibleError, SchemaError
from incrowd.schema import Schema

_TYPES = {
    "incrowd.learn.tree": "KAnonymousTreeClassifier",
    "incrowd.learn.forest": "KAnonymousForestClassifier",
    "incrowd.learn.clusters": "KAnonymousClusters",
}
_HELD = {
    "KAnonymousTreeClassifier": (
        "classes_", "public_", "hierarchies_", "tree_", "n_leaves_", "_span_of", "_span_class", "_span_codes",
        "n_features_in_", "feature_names_in_",
    ),
    "KAnonymousForestClassifier": (
        "classes_", "public_", "teacher_", "forest_", "n_features_in_", "feature_names_in_",
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
    target = None if schema.target is None else people[schema.target]
    taught = name == "KAnonymousForestClassifier"
    _require_same(proper.teacher_ if taught else proper, inputs, target)
    changes: dict[str, Any] = {"k": int(limits.k)}
    behind, parts = np.empty(0, np.int64), None
    if name == "KAnonymousClusters":
        centers = np.asarray(proper.cluster_centers_, np.float64)
        parts = centroids.nearest(centers, inputs)
        require_same_clusters(proper, parts)
        span_of, multiple = centroids.find_spans(centers, inputs)
        changes["min_people"] = None
        behind = _behind(proper, centers, inputs, int(limits.k))
    else:
        if taught:
            _require_taught(proper, inputs)
        view = trees.RankTree((proper.teacher_ if taught else proper).tree_, inputs)
        span_of, multiple = trees.find_spans([view], inputs)
        changes |= {"l": limits.l, "max_confidence": limits.max_confidence}
        changes |= {} if taught else {"class_public": inputs.class_public}
    changes["public"] = np.flatnonzero(inputs.public).tolist()
    known = ", ".join(source for source, is_known in zip(inputs.sources, inputs.public, strict=True) if is_known)
    step = f"fit it again with k = {limits.k} and as public: {known or 'nothing'}"

    def mend(limits: Limits) -> tuple[Any, list[str]]:
        del limits
        again = copy.deepcopy(proper).set_params(**changes)
        return back_in_place(model, again.fit(inputs.given, None if target is None else target.to_list())), [step]

    return Subject(
        name, model, inputs, span_of, multiple, behind=behind, parts=parts, mend=mend, steps=(step,),
        has_class=name != "KAnonymousClusters",
    )  # fmt: skip


def _require_same(model: Any, inputs: Inputs, target: pl.Series | None) -> None:  # noqa: ANN401
    """Fit a model again with the table, and refuse if it comes out otherwise, save for the names of the classes."""
    again = copy.deepcopy(model)
    if hasattr(model, "classes_"):
        if target is None:
            fact = "The schema names no class, and the model was fitted with one"
            raise SchemaError(fact, "name the column that the model predicts as target in the schema")
        labels = target.to_list()
        own = {str(label): label for label in model.classes_.tolist()}
        again.fit(inputs.given, [own[str(one)] for one in labels] if {*map(str, labels)} <= own.keys() else labels)
        pairs = [(vars(model.tree_)[part], vars(again.tree_)[part]) for part in sorted(_TREE)]
        pairs += [(model._span_codes, again._span_codes), (model._span_class, again._span_class)]
        same = len(model.classes_) == len(again.classes_) and all(map(is_short, model.classes_.tolist()))
        same &= all(map(_same_domain, model.hierarchies_, again.hierarchies_))
    else:
        again.fit(inputs.given)
        pairs, same = [(model.cluster_centers_, again.cluster_centers_)], True
    if not same or not all(one.shape == other.shape and np.allclose(one, other, rtol=1e-9) for one, other in pairs):
        fact = f"The {type(model).__name__} is not what it becomes when it is fitted with this table"
        raise SchemaError(fact, SAME_TABLE + "; and the model as fit left it")


def _same_domain(one: Any, other: Any) -> bool:  # noqa: ANN401
    """Tell whether two hierarchies have the same leaves, as numbers or text, and one holds nothing else."""
    looked_up = {"n_leaves", "type", "has_missing", "ordered"}
    if type(one) is not type(other) or not set(vars(one)) <= set(vars(other)) | looked_up:
        return False
    both = [
        domain.leaves.cast(pl.Float64() if domain.leaves.dtype.is_numeric() else pl.String()) for domain in (one, other)
    ]
    return both[0].dtype == both[1].dtype and bool(both[0].equals(both[1], null_equal=True))


def _require_taught(model: Any, inputs: Inputs) -> None:  # noqa: ANN401
    """Refuse a forest that holds more than public values and the class shares of its teacher's spans.

    A forest of that kind is computed from what an attacker knows and from the teacher, so its spans are the teacher's.
    """
    from sklearn.ensemble import RandomForestRegressor  # noqa: PLC0415 - the model has loaded it

    teacher, forest = model.teacher_, model.forest_
    if not is_ours(teacher) or type(teacher).__name__ != "KAnonymousTreeClassifier":
        fact = "The teacher of the forest is not a KAnonymousTreeClassifier"
        raise IncompatibleError(fact, "fit the forest again")
    _require_nothing_else(teacher, "KAnonymousTreeClassifier")
    if type(forest) is not RandomForestRegressor or forest.bootstrap or by_row(forest) or inputs.class_public:
        fact = "The forest is not of the kind that a teacher has taught, or the class is public"
        raise IncompatibleError(fact, "fit the forest again; a class that everybody knows needs no teacher")
    seen = np.flatnonzero(model.public_)
    if inputs.secret[seen].any() or (model.public_ != teacher.public_).any():
        fact = "The forest was fitted with columns as public that the schema says are private"
        raise IncompatibleError(fact, "fit it again with public as the schema says")
    view = trees.RankTree(teacher.tree_, replace(inputs, public=teacher.public_, secret=~teacher.public_))
    span_of, _ = trees.find_spans([view], view.inputs)
    if inputs.target is None:
        fact = "The schema names no class, and the forest was taught one"
        raise SchemaError(fact, "name the column that the model predicts as target in the schema")
    numbers = np.unique(inputs.target.rank("dense").fill_null(0).to_numpy(), return_inverse=True)[1]
    counts = np.zeros((int(span_of.max()) + 1, int(numbers.max()) + 1))
    np.add.at(counts, (span_of, numbers), 1)
    shares = (counts / counts.sum(axis=1, keepdims=True))[span_of]
    rows = np.ascontiguousarray(inputs.values[:, seen].astype(np.float32))
    for member in forest.estimators_:
        if kind_of_model(member).audit != "tree" or by_row(member):
            fact = "A tree of the forest holds more than its tests and shares"
            raise IncompatibleError(fact, "fit the forest again")
        _require_shares(member.tree_, rows, shares)


def _require_shares(tree: Any, rows: Any, shares: Any) -> None:  # noqa: ANN401
    """Compare what each node says with the mean of what the teacher says about its people."""
    leaf_of = tree.apply(rows)
    found = figures(tree, leaf_of, np.ones(len(rows)), shares, "squared_error", is_class=False)
    if found.differ(tree, close=1e-6):
        fact = "The trees of the forest say something else than its teacher about the people of the table"
        raise SchemaError(fact, SAME_TABLE)


def _behind(model: Any, centers: Any, inputs: Inputs, k: int) -> Any:  # noqa: ANN401
    """Return the people of clusters whose centroid may be the mean of fewer than k.

    A centroid of ours is the mean of a branch of the spanning tree, which the model does not keep: its own parameters,
    with which it was fitted again, say of how many people at least. A centroid that is somebody's row is found anyway.
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
        if not is_known or not _is_as_fit_leaves_it(model, attribute, value):
            fact = f"The {name} holds '{attribute}', which the audit does not understand"
            raise IncompatibleError(fact, "audit the model as fit leaves it, without anything added")


def _is_as_fit_leaves_it(model: Any, name: str, value: Any) -> bool:  # noqa: ANN401
    """Tell whether a fitted attribute has its type, and tells of spans only what is public."""
    n = int(model.n_features_in_)
    if name == "n_leaves_":
        return type(value) is int
    if name in ("public_", "feature_names_in_", "classes_"):
        return (
            type(value) is np.ndarray and is_bare(value) and value.ndim == 1 and (name == "classes_" or len(value) == n)
        )
    if name == "tree_":
        return type(value).__module__ == "incrowd.learn.induction" and set(vars(value)) == _TREE
    if name == "hierarchies_":
        kinds = {type(one).__module__.split(".")[1] for one in value}
        return type(value) is tuple and len(value) == n and kinds <= {"hierarchy"}
    if name == "_span_codes":
        return value.ndim == 2 and not value[:, ~model.public_].any()
    if name == "_span_class":
        return value.ndim == 1 and (bool(model.class_public) or not value.any())
    return True


_TREE = {"nodes", "ends", "children", "counts"}


def _is_setting(value: Any) -> bool:  # noqa: ANN401
    if isinstance(value, dict):  # how columns are split
        return all(
            one is None or is_plain(one) or type(one).__module__.startswith("incrowd.hierarchy")
            for one in value.values()
        )
    return is_plain(value) and (is_short(value) or isinstance(value, list | tuple))  # a list names columns
