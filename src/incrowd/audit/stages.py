"""Boosted trees of scikit-learn, computed again stage by stage from the tests of the trees and the table alone.

Every stage follows from those before it: gradient boosting looks at what they leave over, AdaBoost at whom they get
wrong. So nothing has to be believed of what a model says about its nodes, and one that lost splits is computed anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import expit, logsumexp, softmax

from incrowd.audit.inputs import Inputs
from incrowd.audit.steps import kind_of
from incrowd.audit.tree_states import Figures, figures
from incrowd.errors import SchemaError

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]


def class_columns(model: Any, inputs: Inputs) -> Float64:  # noqa: ANN401
    """Return the classes as columns of zeros and ones, or the number that a regressor predicts."""
    if inputs.target is None:
        fact = f"The schema names no class, and {kind_of(model)} was fitted with one"
        raise SchemaError(fact, "name the column that the model predicts as target in the schema")
    if hasattr(model, "classes_") or getattr(model, "objective", "a number") != "a number":
        numbers = inputs.target.rank("dense").fill_null(0).to_numpy().astype(np.int64)
        numbers = np.unique(numbers, return_inverse=True)[1]
        return np.asarray(np.eye(int(numbers.max()) + 1)[numbers])
    if not inputs.target.dtype.is_numeric() and inputs.target.dtype != pl.Boolean():
        fact = f"The model predicts a number, and column '{inputs.target.name}' is not one"
        raise SchemaError(fact, "name the column that the model predicts as target in the schema")
    return np.asarray(inputs.target.cast(pl.Float64()).to_numpy(), np.float64)[:, None]


@dataclass(frozen=True)
class Stages:
    """What every tree says about its nodes, and what the model notes of its stages, by attribute."""

    figures: list[Figures]
    notes: dict[str, Float64]


def gradient_stages(model: Any, members: Sequence[Any], leaves: Sequence[Int64], target: Float64) -> Stages:  # noqa: ANN401
    """Return the stages of gradient boosting; `target` has its classes in the order of the model."""
    n_trees, n = int(model.n_trees_per_iteration_), len(target)
    is_class = hasattr(model, "classes_")
    raw = np.zeros((n, n_trees)) + _start(model, n_trees, is_class=is_class)
    aims = target[:, 1:] if n_trees == 1 and is_class else target
    found: list[Figures] = []
    scores = []
    for first in range(0, len(members), n_trees):
        wanted, slope = _wanted(aims, raw, is_class=is_class)
        for c in range(n_trees):
            tree, leaf_of = members[first + c].tree_, leaves[first + c]
            node = figures(tree, leaf_of, np.ones(n), wanted[:, [c]], "squared_error", is_class=False)
            left_over = np.bincount(leaf_of, wanted[:, c], tree.node_count)
            steps = _ratio(left_over, np.bincount(leaf_of, slope[:, c], tree.node_count))
            at_leaves = tree.children_left < 0
            found.append(replace(node, values=np.where(at_leaves, steps, node.values[:, 0])[:, None]))
            raw[:, c] += model.learning_rate * steps[leaf_of]
        scores.append(_loss(aims, raw, is_class=is_class))
    return Stages(found, {"train_score_": np.array(scores)})


def _start(model: Any, n_trees: int, *, is_class: bool) -> Float64:  # noqa: ANN401
    start = getattr(model, "init_", None)
    if start is None or isinstance(start, str):
        return np.zeros(n_trees)
    if not is_class:
        return np.ravel(start.constant_)[:1].astype(np.float64)
    shares = np.asarray(start.class_prior_, np.float64)
    return np.asarray(np.log(shares[1:] / shares[:1]) if n_trees == 1 else np.log(shares))


def _wanted(aims: Float64, raw: Float64, *, is_class: bool) -> tuple[Float64, Float64]:
    """Return what is left over for each person and tree, and by how much a step changes it: Newton's method."""
    if not is_class:
        return aims - raw, np.ones_like(raw)
    if raw.shape[1] == 1:
        share, factor = expit(raw), 1.0
    else:
        share, factor = softmax(raw, axis=1), raw.shape[1] / (raw.shape[1] - 1)
    return aims - share, share * (1 - share) * factor


def _loss(aims: Float64, raw: Float64, *, is_class: bool) -> float:
    if not is_class:
        return float(((aims - raw) ** 2).mean())
    if raw.shape[1] == 1:
        return float(2 * (np.logaddexp(0, raw) - aims * raw).mean())
    return float((logsumexp(raw, axis=1) - (aims * raw).sum(axis=1)).mean())


def _ratio(above: npt.NDArray[Any], below: npt.NDArray[Any]) -> Float64:
    return np.asarray(np.divide(above, below, out=np.zeros(len(above)), where=below > 1e-150))


def adaptive_stages(
    model: Any,  # noqa: ANN401
    members: Sequence[Any],
    leaves: Sequence[Int64],
    target: Float64,
    *,
    as_stored: bool,
) -> Stages:
    """Return the stages of AdaBoost; with `as_stored`, ties between classes are broken as the trees break them."""
    n, n_classes = target.shape
    weights = np.full(n, 1 / n)
    found: list[Figures] = []
    given, errors = np.zeros(model.n_estimators), np.ones(model.n_estimators)
    for i, (member, leaf_of) in enumerate(zip(members, leaves, strict=True)):
        node = figures(member.tree_, leaf_of, weights, target, member.criterion, is_class=True)
        found.append(node)
        said = member.tree_.value[:, 0, :] if as_stored else node.values
        wrong = target[np.arange(n), said.argmax(axis=1)[leaf_of]] == 0
        errors[i] = weights[wrong].sum() / weights.sum()
        if errors[i] <= 0:
            given[i] = 1.0
        elif errors[i] < 1 - 1 / n_classes:
            given[i] = model.learning_rate * (np.log((1 - errors[i]) / errors[i]) + np.log(n_classes - 1))
            weights = np.maximum(weights * np.exp(given[i] * wrong), np.finfo(np.float64).eps)
            weights /= weights.sum()
    return Stages(found, {"estimator_weights_": given, "estimator_errors_": errors})
