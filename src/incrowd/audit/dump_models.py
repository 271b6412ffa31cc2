"""Audit of boosted trees of other libraries: what their files say about people is compared with the table.

Boosting is computed again from the tests of the trees: what each stage finds left over follows from those before it. A
leaf of people whose first derivatives sum to G and second ones to H has the value -s G / (H + p), with two numbers that
are the same in the whole model; they are solved for, and all values, weights and gains have to follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from incrowd.audit import trees
from incrowd.audit.dumped_trees import LEAF, Dump, DumpedTree, DumpView
from incrowd.audit.inputs import Inputs
from incrowd.audit.stages import class_columns
from incrowd.audit.subject import SAME_TABLE, Limits, Subject
from incrowd.errors import IncompatibleError, SchemaError

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

_REST = 2e-3  # of the largest: files have values in single precision, or six digits


def read_dumped(model: Any, proper: Dump, inputs: Inputs, limits: Limits) -> Subject:  # noqa: ANN401
    """Return the trees of a file as the audit sees them."""
    views = [DumpView(tree, inputs) for tree in proper.trees_]
    _require_ranges(proper, inputs, int(limits.k))
    leaves = [view.reached() for view in views]
    for view, leaf_of in zip(views, leaves, strict=True):
        _require_people(view.tree, leaf_of)
    _require_same_stages(proper, leaves, inputs)
    span_of, multiple = trees.find_spans(views, inputs)
    return Subject(f"{proper.library} of {len(views)} trees", model, inputs, span_of, multiple)


def _require_ranges(model: Dump, inputs: Inputs, k: int) -> None:
    """Refuse ends of columns that nobody has, and those of a private column that fewer than k people have."""
    for j, ends in enumerate(model.ranges):
        if ends is None:
            continue
        people = min(int(np.isclose(inputs.values[:, j], end, rtol=1e-9).sum()) for end in ends)
        if not people:
            fact = f"The file says that column {inputs.sources[j]} has a smallest or largest value that nobody has"
            raise SchemaError(fact, SAME_TABLE)
        if inputs.secret[j] and people < k:
            fact = f"The file keeps the smallest and largest value of the private column {inputs.sources[j]}"
            raise IncompatibleError(fact, f"fewer than k = {k} people have them: write none in feature_infos")


def _summed(tree: DumpedTree, leaf_of: Int64, *columns: Float64) -> list[Float64]:
    """Return the sums of columns over the people of each node."""
    found = []
    order = [0]
    for node in order:  # grows while it is walked
        order += [] if tree.left[node] == LEAF else [int(tree.left[node]), int(tree.right[node])]
    for column in columns:
        sums = np.bincount(leaf_of, column, len(tree.left)).astype(np.float64)
        for node in reversed(order):
            if tree.left[node] != LEAF:
                sums[node] = sums[tree.left[node]] + sums[tree.right[node]]
        found.append(sums)
    return found


def _require_people(tree: DumpedTree, leaf_of: Int64) -> None:
    (here,) = _summed(tree, leaf_of, np.ones(len(leaf_of)))
    if (tree.people is not None and (here != tree.people).any()) or (here == 0).any():
        raise _other_table()


def _other_table() -> SchemaError:
    fact = "The table does not send as many people to the leaves of the model as it was fitted with"
    return SchemaError(fact, SAME_TABLE + "; rows must not have been drawn or weighted")


@dataclass
class _Stages:
    """Boosting computed again: of each tree the sums of first and second derivatives at its nodes."""

    first: list[Float64]
    second: list[Float64]


def _require_same_stages(model: Dump, leaves: Sequence[Int64], inputs: Inputs) -> None:
    """Refuse a file that says anything else about its nodes than the table."""
    target = class_columns(model, inputs)
    if model.objective == "two classes":
        target = target[:, 1:] if target.shape[1] == 2 else target[:, :0]
    if target.shape[1] != model.n_per_stage:
        fact = (
            f"The model predicts {model.objective}, and column '{getattr(inputs.target, 'name', '')}' is something else"
        )
        raise SchemaError(fact, "name the column that the model predicts as target in the schema")
    aims = [target, 1 - target] if model.objective == "two classes" else [target]
    alike = False
    for aim in aims:
        for start, folded in _starts(model, aim):
            stages = _computed(model, leaves, aim, start, folded=folded)
            weights = [_close(tree.weight, second) for tree, second in zip(model.trees_, stages.second, strict=True)]
            alike |= all(weights[: model.n_per_stage])
            if all(weights) and _follow(model, stages, start, folded=folded):
                return
    if not alike and model.trees_[0].people is None:
        raise _other_table()
    fact = "The values of the trees do not follow the class of the people in their leaves, or these are too few"
    hint = "name the column that the model predicts as target in the schema; fit trees of more than three leaves"
    raise SchemaError(fact, hint + ", without weights, draws or penalties on absolute values")


def _starts(model: Dump, aim: Float64) -> list[tuple[Float64, bool]]:
    """Return what boosting may have begun with; LightGBM adds it to the values of the first trees."""
    if model.start is not None:
        return [(np.array(model.start), False)]
    mean = aim.mean(axis=0)
    average = {"a number": mean, "classes": np.log(np.maximum(mean, 1e-15))}.get(model.objective)
    if average is None:
        average = np.log(mean / (1 - mean))
    return [(average, True), (np.zeros_like(mean), True)]


def _computed(model: Dump, leaves: Sequence[Int64], aim: Float64, start: Float64, *, folded: bool) -> _Stages:
    raw = np.tile(start, (len(aim), 1))
    found = _Stages([], [])
    for first in range(0, len(model.trees_), model.n_per_stage):
        share = raw
        second = np.ones_like(raw)
        if model.objective == "two classes":
            share = expit(raw)
            second = share * (1 - share)
        elif model.objective == "classes":
            share = softmax(raw, axis=1)
            n_classes = raw.shape[1]
            second = share * (1 - share) * (2.0 if model.library == "XGBoost" else n_classes / (n_classes - 1))
        wanted = share - aim
        for c in range(model.n_per_stage):
            tree, leaf_of = model.trees_[first + c], leaves[first + c]
            sums = _summed(tree, leaf_of, wanted[:, c], second[:, c])
            found.first.append(sums[0])
            found.second.append(sums[1])
            moved = tree.value[leaf_of]
            raw[:, c] = moved if folded and first == 0 else raw[:, c] + moved
    return found


def _close(said: Float64, found: Float64) -> bool:
    return bool(np.abs(said - found).max() <= _REST * max(1e-9, float(np.abs(found).max())))


def _follow(model: Dump, stages: _Stages, start: Float64, *, folded: bool) -> bool:
    """Tell whether one step size and one penalty give all values and gains."""
    said = [
        tree.value - (start[i % model.n_per_stage] if folded and i < model.n_per_stage else 0.0)
        for i, tree in enumerate(model.trees_)
    ]
    leaf = [tree.left == LEAF for tree in model.trees_]
    v, g, h = (
        np.concatenate([a[b] for a, b in zip(part, leaf, strict=True)]) for part in (said, stages.first, stages.second)
    )
    if len(v) <= 3 or not np.abs(v * h).max() > 0:
        return False
    step, penalty = np.linalg.lstsq(np.stack([-g, -v], axis=1), v * h, rcond=None)[0]
    if np.abs(-step * g - penalty * v - v * h).max() > _REST * np.abs(v * h).max() or step <= 0:
        return False
    return all(
        _is_own(model, tree, value, first, second + max(penalty, 0.0), step)
        for tree, value, first, second in zip(model.trees_, said, stages.first, stages.second, strict=True)
    )


def _is_own(model: Dump, tree: DumpedTree, value: Float64, first: Float64, second: Float64, step: float) -> bool:
    """Compare the values and gains of inner nodes."""
    inner = np.flatnonzero(tree.left != LEAF)
    if not len(inner):
        return True
    pull = first**2 / second
    gain = pull[tree.left[inner]] + pull[tree.right[inner]] - pull[inner]
    wanted = -first / second * (1.0 if model.library == "XGBoost" else step)
    scale = float(np.abs(wanted).max())  # at inner nodes, positive and negative ones may cancel out
    return bool(np.abs(value - wanted)[inner].max() <= _REST * scale) and _close(tree.gain[inner], gain)
