"""Histogram-based gradient boosting: its trees, and what it keeps to sort numbers into bins.

The borders of the bins lie between all values of a column, tested or not. Of a private column that would be all its
values; predictions do not need them, and `repair` takes them out, with the gains of splits that were not made. With
early stopping the trees were fitted with a part of the table, which the seed tells: it is repeated for the audit, and
taken out as well. What the trees say about their nodes is computed again, stage by stage, from their tests and the
table alone; after a repair from the whole of it.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from incrowd.audit import trees
from incrowd.audit.contents import by_row, without_rows
from incrowd.audit.inputs import Inputs
from incrowd.audit.stages import class_columns
from incrowd.audit.steps import is_bare, kind_of
from incrowd.audit.subject import SAME_TABLE, Limits, Subject, back_in_place
from incrowd.errors import IncompatibleError, SchemaError

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

_CLOSE = 1e-3  # gradients are computed in single precision
_TESTS = ("left", "right", "feature_idx", "num_threshold", "missing_go_to_left", "bin_threshold", "is_categorical",
          "bitset_idx")  # fmt: skip


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
        """Return the leaf of each of these people."""
        return trees.leaves_reached(self, among)


def read_histograms(model: Any, proper: Any, inputs: Inputs, limits: Limits) -> Subject:  # noqa: ANN401
    """Return histogram-based boosting as the audit sees it."""
    if getattr(proper, "is_categorical_", None) is not None:
        fact = f"There is no audit for {kind_of(proper)} with categorical features"
        raise IncompatibleError(fact, "code the categories in a step before the model")
    held = by_row(proper)
    if any(type(stage) is not list for stage in proper._predictors):
        fact = "The stages of the model hold more than trees, which the audit does not understand"
        raise IncompatibleError(fact, "audit the model as fit leaves it, without anything added")
    views = [HistogramTree(_nodes(tree), inputs) for stage in proper._predictors for tree in stage]
    if any(view.nodes["is_categorical"].any() for view in views):
        fact = "A tree of the model tests categories, and the model says that it has none"
        raise IncompatibleError(fact, "audit the model as fit leaves it, without anything added")
    among, is_drawn = _training_rows(proper, inputs)
    target = _require_same_stages(proper, views, inputs, among)
    held += ["the seed by which rows were drawn"] if is_drawn else []
    held += _needless(proper, views, inputs, among, int(limits.k))
    span_of, multiple = trees.find_spans(views, inputs)

    def rebuild(kept: Sequence[set[int] | None]) -> Any:  # noqa: ANN401
        changed = _bare(proper)
        splits = iter([one or set() for one in kept])
        for stage in changed._predictors:
            for tree in stage:
                tree.nodes = _pruned(tree.nodes, next(splits))
        return back_in_place(model, _refitted(changed, inputs, target))

    def bare() -> Any:  # noqa: ANN401
        return back_in_place(model, _refitted(_bare(proper), inputs, target))

    name = f"{type(proper).__name__} of {len(views)} trees"
    return Subject(name, model, inputs, span_of, multiple, tuple(held), views=views, rebuild=rebuild, bare=bare)


def _nodes(tree: Any) -> Any:  # noqa: ANN401
    """Return the nodes of a tree, if it is one and holds nothing else."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE  # noqa: PLC0415
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor  # noqa: PLC0415

    known = {"nodes", "binned_left_cat_bitsets", "raw_left_cat_bitsets"}
    is_tree = type(tree) is TreePredictor and set(vars(tree)) <= known
    is_tree = is_tree and all(type(one) is np.ndarray and is_bare(one) for one in vars(tree).values())
    is_tree = is_tree and tree.nodes.dtype == PREDICTOR_RECORD_DTYPE
    if is_tree:
        splits = tree.nodes[tree.nodes["is_leaf"] == 0]
        below = sorted([*splits["left"].tolist(), *splits["right"].tolist()])
        leaves = tree.nodes[tree.nodes["is_leaf"] == 1]
        is_tree = below == list(range(1, len(tree.nodes))) and not any(leaves[name].any() for name in _TESTS)
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


@dataclass(frozen=True)
class _Figures:
    """What boosting begins with, and what each tree says about its nodes."""

    start: Float64
    people: list[Int64]
    values: list[Float64]
    gains: list[Float64]


def _figures(model: Any, views: Sequence[HistogramTree], leaves: Sequence[Int64], target: Float64) -> _Figures:  # noqa: ANN401
    """Compute a model again, stage by stage; `target` has its classes in the order of the model."""
    n_trees, is_class, penalty = int(model.n_trees_per_iteration_), hasattr(model, "classes_"), model.l2_regularization
    shares = target.mean(axis=0)
    start = shares if not is_class else np.log(shares)
    start = start[1:] - start[:1] if n_trees == 1 and is_class else start - (start.mean() if is_class else 0)
    aims = target[:, 1:] if n_trees == 1 and is_class else target
    raw = np.tile(start, (len(target), 1))
    found = _Figures(start, [], [], [])
    for first in range(0, len(views), n_trees):
        if not is_class:
            wanted, slope = aims - raw, np.ones_like(raw)
        else:
            share = expit(raw) if n_trees == 1 else softmax(raw, axis=1)
            wanted, slope = aims - share, share * (1 - share)
        for c in range(n_trees):
            nodes, leaf_of = views[first + c].nodes, leaves[first + c]
            columns = [np.ones(len(target)), wanted[:, c], slope[:, c]]
            sums = np.stack([np.bincount(leaf_of, column, len(nodes)) for column in columns], axis=1)
            gains = np.zeros(len(nodes))
            worth = np.zeros(len(nodes))
            for node in range(len(nodes) - 1, -1, -1):  # children come behind their parents
                below = [] if nodes[node]["is_leaf"] else [int(nodes[node][side]) for side in ("left", "right")]
                sums[node] += sums[below].sum(axis=0)
                worth[node] = sums[node, 1] ** 2 / (sums[node, 2] + penalty + 1e-15)
                gains[node] = worth[below].sum() - worth[node]
            steps = sums[:, 1] / (sums[:, 2] + penalty + 1e-15)
            found.people.append(sums[:, 0].astype(np.int64))
            found.values.append(np.where(nodes["is_leaf"] == 1, model.learning_rate * steps, steps))
            found.gains.append(gains)
            raw[:, c] += found.values[-1][leaf_of]
    return found


def _require_same_stages(model: Any, views: Sequence[HistogramTree], inputs: Inputs, among: Int64) -> Float64:  # noqa: ANN401
    """Refuse a model that says anything else about its nodes than the table; return the class in its order."""
    if model.loss not in ("log_loss", "squared_error"):
        fact = f"The audit does not know the loss {model.loss} of {kind_of(model)}"
        raise IncompatibleError(fact, "fit it with the loss log_loss or squared_error: others predict single people")
    leaves = [view.reached(among) for view in views]
    for view, leaf_of in zip(views, leaves, strict=True):
        sizes = np.bincount(leaf_of, minlength=len(view.nodes))
        if (sizes != view.nodes["count"])[view.nodes["is_leaf"] == 1].any():
            fact = "The table does not send as many people to the leaves of the model as it was fitted with"
            raise SchemaError(fact, SAME_TABLE)
    target = class_columns(model, inputs)
    orders = [np.arange(target.shape[1])]
    if hasattr(model, "classes_"):  # which may be named in another order than those of the table
        stored = np.ravel(model._baseline_prediction)
        stored = np.append(0.0, stored) if target.shape[1] == 2 else stored
        order = np.empty(len(stored), np.int64)
        order[np.argsort(stored, kind="stable")] = np.argsort(target[among].mean(axis=0), kind="stable")
        orders.append(order)
    for order in orders:
        found = _figures(model, views, leaves, target[among][:, order])
        if _is_same(model, views, found):
            return np.asarray(target[:, order])
    fact = "The trees of the model say something else about their nodes than the table, or it was fitted with weights"
    hint = "name the column that the model predicts as target in the schema; fit without class_weight and monotonic_cst"
    raise SchemaError(fact, hint)


def _is_same(model: Any, views: Sequence[HistogramTree], found: _Figures) -> bool:  # noqa: ANN401
    stored = np.ravel(model._baseline_prediction)
    if stored.shape != found.start.shape or not np.allclose(stored, found.start, rtol=_CLOSE, atol=_CLOSE):
        return False
    for view, people, values, gains in zip(views, found.people, found.values, found.gains, strict=True):
        nodes, inner = view.nodes, view.nodes["is_leaf"] == 0
        depth = np.zeros(len(nodes), np.int64)
        for node in np.flatnonzero(inner):
            depth[[nodes[node]["left"], nodes[node]["right"]]] = depth[node] + 1
        said = nodes["value"][1:] if len(nodes) > 1 else nodes["value"]  # nothing is said about a root with children
        meant = values[1:] if len(nodes) > 1 else values
        if (nodes["count"] != people).any() or (nodes["depth"] != depth).any() or nodes["value"][0] not in (0, said[0]):
            return False
        scale = float(np.abs(meant).max(initial=0.0))
        if not np.allclose(said, meant, rtol=_CLOSE, atol=_CLOSE * scale):
            return False
        scale = float(np.abs(gains).max(initial=0.0))
        if not np.allclose(nodes["gain"][inner], gains[inner], rtol=_CLOSE, atol=_CLOSE * scale):
            return False
    return True


def _needless(model: Any, views: Sequence[HistogramTree], inputs: Inputs, among: Int64, k: int) -> list[str]:  # noqa: ANN401
    """Return in words what predictions do not need, and what fewer than k people stand behind."""
    found = []
    if any((view.nodes["gain"][view.nodes["is_leaf"] == 1] > 0).any() for view in views):
        found.append("the gains of splits that were not made")
    borders = model._bin_mapper.bin_thresholds_
    for j in range(inputs.values.shape[1]):
        given = borders[j] if j < len(borders) else np.empty(0)
        values, counts = np.unique(inputs.values[among, j], return_counts=True)
        values, counts = values[~np.isnan(values)], counts[~np.isnan(values)]
        middles = np.concatenate([values, (values[:-1] + values[1:]) / 2])
        is_own = all(np.isclose(middles, one, rtol=1e-9, atol=1e-12).any() for one in given)
        if len(given) and (not is_own or len(given) >= len(middles) or (inputs.secret[j] and counts.min() < k)):
            found.append("the borders of bins of private columns" if inputs.secret[j] else "the borders of bins")
    return list(dict.fromkeys(found))


def _bare(model: Any) -> Any:  # noqa: ANN401
    """Return a copy without what predictions do not need: borders of bins, gains not made, seeds, generators."""
    changed = without_rows(copy.deepcopy(model))
    changed._bin_mapper.bin_thresholds_ = [np.empty(0) for _ in changed._bin_mapper.bin_thresholds_]
    changed._bin_mapper.random_state = None
    for stage in changed._predictors:
        for tree in stage:
            tree.nodes["gain"][tree.nodes["is_leaf"] == 1] = -1.0
            tree.nodes["bin_threshold"] = 0
    if _holds_rows_back(changed):
        for name in ("_random_seed", "random_state"):
            vars(changed).pop(name, None)
        changed.random_state = None
        changed._use_validation_data = False  # from now on it is a model of the whole table
    return changed


def _refitted(changed: Any, inputs: Inputs, target: Float64) -> Any:  # noqa: ANN401
    """Give a changed model of one's own the figures of the whole table."""
    made = [tree for stage in changed._predictors for tree in stage]
    views = [HistogramTree(tree.nodes, inputs) for tree in made]
    everybody = np.arange(inputs.n_people)
    found = _figures(changed, views, [view.reached(everybody) for view in views], target)
    changed._baseline_prediction = found.start.reshape(changed._baseline_prediction.shape)
    for tree, people, values, gains in zip(made, found.people, found.values, found.gains, strict=True):
        inner = tree.nodes["is_leaf"] == 0
        tree.nodes["count"], tree.nodes["value"] = people, values
        tree.nodes["gain"][inner] = gains[inner]
        tree.nodes["value"][0] = 0.0 if len(tree.nodes) > 1 else values[0]
    return changed


def _pruned(nodes: Any, kept: set[int]) -> Any:  # noqa: ANN401
    """Return the nodes with only these splits; their figures are still to be computed."""
    order, depth = [0], [0]
    for node in order:  # grows while it is walked
        if node in kept:
            order += [int(nodes[node]["left"]), int(nodes[node]["right"])]
            depth += [depth[order.index(node)] + 1] * 2
    place = {node: i for i, node in enumerate(order)}
    found = nodes[order].copy()
    found["depth"] = depth
    for i, node in enumerate(order):
        if node in kept:
            found[i]["left"], found[i]["right"] = (place[int(nodes[node][side])] for side in ("left", "right"))
        else:
            for name in _TESTS:
                found[i][name] = 0
            found[i]["is_leaf"], found[i]["gain"] = 1, -1.0
    return found
