"""Histogram-based gradient boosting: its trees, and what it keeps to sort numbers into bins.

The borders of the bins lie between all values of a column, tested or not. Of a private column that would be all its
values; predictions do not need them, and `repair` takes them out. With early stopping the trees were fitted with a part
of the table, which the seed tells: it is repeated for the audit, and taken out as well.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from incrowd.audit import trees
from incrowd.audit.contents import by_row, without_rows
from incrowd.audit.inputs import Inputs
from incrowd.audit.steps import kind_of
from incrowd.audit.subject import SAME_TABLE, Limits, Subject, back_in_place
from incrowd.errors import IncompatibleError, SchemaError

Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HistogramTree:
    """A tree of histogram-based boosting; `nodes` is its table of nodes."""

    nodes: Any
    inputs: Inputs

    def children(self, node: int) -> Int64:
        """Return left and right."""
        one = self.nodes[node]
        return np.array([] if one["is_leaf"] else [one["left"], one["right"]], np.int64)

    def is_public(self, node: int) -> bool:
        """Look the feature up."""
        return bool(self.inputs.public[self.nodes[node]["feature_idx"]])

    def is_secret(self, node: int) -> bool:
        """Look the feature up."""
        return bool(self.inputs.secret[self.nodes[node]["feature_idx"]])

    def branch(self, node: int, people: Int64) -> Int64:
        """Compare with the threshold, in double precision."""
        one = self.nodes[node]
        values = self.inputs.values[people, one["feature_idx"]]
        missing = np.isnan(values)
        left = np.where(missing, bool(one["missing_go_to_left"]), values <= one["num_threshold"])
        return np.asarray(~left, np.int64)

    def leaves(self, people: Int64) -> Int64 | None:
        """Leave it to the walk."""
        del people
        return None

    def worth(self, node: int) -> float:
        """Return the gain that the model noted."""
        return float(self.nodes[node]["gain"])

    def name(self, node: int) -> str:
        """Return the comparison."""
        one = self.nodes[node]
        return f"{self.inputs.sources[int(one['feature_idx'])]} <= {float(one['num_threshold']):.6g}"

    def reached(self, among: Int64) -> Int64:
        """Return how many of these people come to each node."""
        found = np.zeros(len(self.nodes), np.int64)
        pending = [(0, among)]
        while pending:
            node, people = pending.pop()
            found[node] = len(people)
            below = self.children(node)
            if len(below):
                branch = self.branch(node, people)
                pending += [(int(child), people[branch == place]) for place, child in enumerate(below)]
        return found


def read_histograms(model: Any, proper: Any, inputs: Inputs, limits: Limits) -> Subject:  # noqa: ANN401
    """Return histogram-based boosting as the audit sees it."""
    held = by_row(proper)
    views = [HistogramTree(_nodes(tree), inputs) for stage in proper._predictors for tree in stage]
    if any(view.nodes["is_categorical"].any() for view in views):
        fact = f"There is no audit for {kind_of(proper)} with categorical features"
        raise IncompatibleError(fact, "code the categories in a step before the model")
    among, is_drawn = _training_rows(proper, inputs)
    for view in views:
        here, then = view.reached(among), view.nodes["count"].astype(np.int64)
        if (here != then).any():
            fact = "The table does not send as many people to the nodes of the model as it was fitted with"
            raise SchemaError(fact, SAME_TABLE)
    _require_same_start(proper, inputs, among)
    held += ["the seed by which rows were drawn"] if is_drawn else []
    held += _rare_borders(proper, inputs, int(limits.k))
    span_of, multiple = trees.find_spans(views, inputs)

    def rebuild(kept: Sequence[set[int] | None]) -> Any:  # noqa: ANN401
        changed = _bare(proper)
        splits = iter([one or set() for one in kept])
        for stage in changed._predictors:
            for tree in stage:
                tree.nodes = _pruned(tree.nodes, next(splits))
        return back_in_place(model, changed)

    def bare() -> Any:  # noqa: ANN401
        return back_in_place(model, _bare(proper))

    name = f"{type(proper).__name__} of {len(views)} trees"
    return Subject(name, model, inputs, span_of, multiple, tuple(held), views=views, rebuild=rebuild, bare=bare)


def _nodes(tree: Any) -> Any:  # noqa: ANN401
    """Return the nodes of a tree, if it is one and holds nothing else."""
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor  # noqa: PLC0415

    known = {"nodes", "binned_left_cat_bitsets", "raw_left_cat_bitsets"}
    is_tree = type(tree) is TreePredictor and set(vars(tree)) <= known
    if is_tree:
        splits = tree.nodes[tree.nodes["is_leaf"] == 0]
        below = sorted([*splits["left"].tolist(), *splits["right"].tolist()])
        is_tree = below == list(range(1, len(tree.nodes)))
    if not is_tree or any(len(getattr(tree, name)) for name in known - {"nodes"}):
        fact = "A tree of the model holds more than its nodes, which the audit does not understand"
        raise IncompatibleError(fact, "audit the model as fit leaves it, without anything added")
    return tree.nodes


def _holds_rows_back(model: Any) -> bool:  # noqa: ANN401
    """Tell whether a part of the table was kept to see when to stop."""
    return bool(getattr(model, "do_early_stopping_", True) and getattr(model, "_use_validation_data", True))


def _training_rows(model: Any, inputs: Inputs) -> tuple[Int64, bool]:  # noqa: ANN401
    """Return the rows that the trees were fitted with, and whether a seed chose them."""
    everybody = np.arange(inputs.n_people)
    if not _holds_rows_back(model):
        return everybody, False
    from sklearn.model_selection import train_test_split  # noqa: PLC0415 - as the model parts rows

    if inputs.target is None or not hasattr(model, "_random_seed"):
        fact = f"The {kind_of(model)} was fitted with a part of the table that can no longer be told"
        raise IncompatibleError(fact, "fit it without early stopping")
    seed = int(model._random_seed)
    classes = inputs.target.rank("dense").to_numpy() if hasattr(model, "classes_") else None
    kept, _ = train_test_split(
        everybody, test_size=model.validation_fraction, stratify=classes, random_state=seed
    )  # fmt: skip
    return np.asarray(kept, np.int64), True


def _require_same_start(model: Any, inputs: Inputs, among: Int64) -> None:  # noqa: ANN401
    """Refuse a class with other shares, or a number with another mean, than boosting began with."""
    if inputs.target is None:
        return
    start = np.sort(np.ravel(model._baseline_prediction))
    if hasattr(model, "classes_"):
        _, counts = np.unique(inputs.target.to_numpy()[among], return_counts=True)
        shares = np.sort(counts / counts.sum())
        logs = np.log(shares)
        either = [np.log(shares[1] / shares[0]), np.log(shares[0] / shares[1])] if len(shares) == 2 else []
        same = any(np.allclose(start, one, atol=1e-4) for one in either) or (
            len(start) == len(logs) and np.allclose(start - start.mean(), logs - logs.mean(), atol=1e-4)
        )
    else:
        same = model.loss != "squared_error" or np.allclose(
            start, inputs.target.to_numpy()[among].astype(np.float64).mean(), rtol=1e-4
        )
    if not same:
        fact = "The model began with other shares of the classes, or another mean, than the table has"
        raise SchemaError(fact, "name the column that the model predicts as target in the schema")


def _rare_borders(model: Any, inputs: Inputs, k: int) -> list[str]:  # noqa: ANN401
    """Return in words the borders of bins that tell private values of fewer than k people."""
    borders = getattr(model._bin_mapper, "bin_thresholds_", [])
    for j in np.flatnonzero(inputs.secret):
        _, counts = np.unique(inputs.values[:, j], return_counts=True)
        if j < len(borders) and len(borders[j]) and counts.min() < k:
            return ["the borders of bins of private columns"]
    return []


def _bare(model: Any) -> Any:  # noqa: ANN401
    """Return a copy without what predictions do not need: borders of bins, seeds, generators."""
    changed = without_rows(copy.deepcopy(model))
    changed._bin_mapper.bin_thresholds_ = [np.empty(0) for _ in changed._bin_mapper.bin_thresholds_]
    changed._bin_mapper.random_state = None
    if _holds_rows_back(changed):
        for name in ("_random_seed", "random_state"):
            vars(changed).pop(name, None)
        changed.random_state = None
    return changed


def _pruned(nodes: Any, kept: set[int]) -> Any:  # noqa: ANN401
    """Return the nodes with only these splits; a collapsed one predicts the mean of its leaves."""
    order = [0]
    for node in order:  # grows while it is walked
        if node in kept:
            order += [int(nodes[node]["left"]), int(nodes[node]["right"])]
    place = {node: i for i, node in enumerate(order)}
    means = np.zeros(len(nodes))
    for node in range(len(nodes) - 1, -1, -1):  # children come behind their parents
        one = nodes[node]
        if one["is_leaf"]:
            means[node] = one["value"]
        else:
            below = [int(one["left"]), int(one["right"])]
            means[node] = np.average(means[below], weights=nodes["count"][below])
    found = nodes[order].copy()
    for i, node in enumerate(order):
        found[i]["value"] = means[node]
        if node in kept:
            found[i]["left"], found[i]["right"] = (place[int(nodes[node][side])] for side in ("left", "right"))
        else:
            for name in ("left", "right", "feature_idx", "num_threshold", "missing_go_to_left", "bin_threshold"):
                found[i][name] = 0
            found[i]["is_leaf"], found[i]["gain"] = 1, -1.0
    return found
