"""Scikit-learn's trees and ensembles of trees: their parts, whether they are of this table, and how they are mended.

Every node of every tree is compared with the table: how many people come to its leaves, and with which classes. A
forest draws rows; with its seeds the draws are repeated, and without them the trees must be those of the whole table,
which is what `repair` leaves. Boosted trees are computed again, stage by stage, from the tests alone.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from incrowd.audit import tree_states, trees
from incrowd.audit.contents import by_row, kind_of_model, known_models, without_rows
from incrowd.audit.inputs import Inputs
from incrowd.audit.stages import Stages, adaptive_stages, class_columns, gradient_stages
from incrowd.audit.steps import kind_of
from incrowd.audit.subject import SAME_TABLE, Subject, back_in_place
from incrowd.errors import IncompatibleError, SchemaError

Float64 = npt.NDArray[np.float64]
Float32 = npt.NDArray[np.float32]
Int64 = npt.NDArray[np.int64]

_CLOSE = 1e-4  # of what is computed again in another order, or was stored in single precision


def read_trees(model: Any, proper: Any, inputs: Inputs) -> Subject:  # noqa: ANN401
    """Return a tree, forest, bagged or boosted trees as the audit sees them."""
    held = list(by_row(proper))
    members = members_of(proper)
    for member in members:
        if kind_of_model(member).audit != "tree":
            fact = f"There is no audit for models of type {kind_of(proper)} with these parts"
            raise IncompatibleError(fact, "it knows ensembles of decision trees")
        if member is not proper:
            held += [f"{name} of a tree" for name in by_row(member)]
            foreign = "feature_names_in_" if hasattr(member, "feature_names_in_") else _foreign_classes(proper, member)
            if foreign:
                fact = f"A tree of {kind_of(proper)} holds '{foreign}', which the audit does not understand"
                raise IncompatibleError(fact, "audit the model as fit leaves it, without anything added")
    rows = inputs.values.astype(np.float32)
    columns = columns_of(proper, rows.shape[1])
    target = require_same_table(proper, members, columns, rows, inputs)
    views = [trees.SklearnTree(m.tree_, inputs, rows, seen) for m, seen in zip(members, columns, strict=True)]
    span_of, multiple = trees.find_spans(views, inputs)

    def rebuild(kept: Sequence[set[int] | None]) -> Any:  # noqa: ANN401
        stay = [i for i, splits in enumerate(kept) if splits is not None]
        lean = proper if len(stay) == len(members) else _only(proper, stay)
        changed = without_rows(copy.deepcopy(lean))
        for member, i in zip(members_of(changed), stay, strict=True):
            member.tree_ = tree_states.pruned(member.tree_, kept[i] or set())
        seen = [columns[i] for i in stay]
        return back_in_place(model, _refitted(changed, lean, seen, rows, target))

    def bare() -> Any:  # noqa: ANN401
        changed = without_rows(copy.deepcopy(proper))
        return back_in_place(model, _refitted(changed, proper, columns, rows, target))

    name = type(proper).__name__ + (f" of {len(members)} trees" if len(members) > 1 else "")
    votes = kind_of_model(proper).audit in ("forest", "bagging") and hasattr(proper, "classes_")
    return Subject(
        name, model, inputs, span_of, multiple, tuple(dict.fromkeys(held)), views=views, rebuild=rebuild, bare=bare,
        votes=votes,
    )  # fmt: skip


def _foreign_classes(model: Any, member: Any) -> str | None:  # noqa: ANN401
    """Return the name of the classes of a tree in an ensemble if they are neither numbered nor those of the whole."""
    own = getattr(member, "classes_", None)
    whole = getattr(model, "classes_", np.empty(0))
    if own is None or np.array_equal(own, np.arange(len(whole))) or np.array_equal(own, whole):
        return None
    return "classes_"


def _only(model: Any, stay: list[int]) -> Any:  # noqa: ANN401
    """Return a forest with some of its trees."""
    lean = copy.copy(model)
    lean.estimators_ = [model.estimators_[i] for i in stay]
    lean.n_estimators = len(stay)
    if hasattr(model, "estimators_features_"):
        lean.estimators_features_ = [model.estimators_features_[i] for i in stay]
    return lean


def members_of(model: Any) -> list[Any]:  # noqa: ANN401
    """Return the trees of a model: itself, or its members."""
    if known_models()[type(model)].audit == "tree":
        return [model]
    return list(np.ravel(np.asarray(model.estimators_, dtype=object)))


def columns_of(model: Any, n_features: int) -> list[Int64]:  # noqa: ANN401
    """Return the features that each tree of a model was given."""
    every = np.arange(n_features)
    given = getattr(model, "estimators_features_", None)
    return [every] * len(members_of(model)) if given is None else [np.asarray(seen, np.int64) for seen in given]


def require_same_table(
    model: Any,  # noqa: ANN401
    members: Sequence[Any],
    columns: Sequence[Int64],
    rows: Float32,
    inputs: Inputs,
) -> Float64:
    """Refuse a table, or a class, that the trees were not fitted with; return the class in the order of the model."""
    most = max(int(member.tree_.n_node_samples[0]) for member in members)
    kind = known_models()[type(model)].audit
    if kind == "boosting":
        _require_whole(model)
    if most > len(rows) or (kind in ("tree", "ada", "boosting") and most != len(rows)):
        fact = f"The model was fitted with {most} rows, and the table has {len(rows)}"
        raise SchemaError(fact, SAME_TABLE)
    leaves = leaves_of(members, columns, rows)
    target = class_columns(model, inputs)
    for member, leaf_of, drawn in zip(members, leaves, _draws(model, len(rows)), strict=True):
        weights = np.ones(len(rows)) if drawn is None else np.bincount(drawn, minlength=len(rows)).astype(np.float64)
        _require_same_counts(member.tree_, leaf_of, weights)
        if kind in ("tree", "forest", "bagging") or (kind == "ada" and member is members[0]):
            target = _require_same_target(member, leaf_of, weights, target)
    if kind in ("ada", "boosting"):
        target = _in_order(model, target) if kind == "boosting" else target
        _require_same_stages(model, members, _stages(model, members, leaves, target, as_stored=True))
    return target


def leaves_of(members: Sequence[Any], columns: Sequence[Int64], rows: Float32) -> list[Int64]:
    """Return the leaf of each person in each tree."""
    return [
        np.asarray(member.tree_.apply(np.ascontiguousarray(rows[:, seen])))
        for member, seen in zip(members, columns, strict=True)
    ]


def _stages(
    model: Any,  # noqa: ANN401
    members: Sequence[Any],
    leaves: Sequence[Int64],
    target: Float64,
    *,
    as_stored: bool,
) -> Stages:
    if known_models()[type(model)].audit == "boosting":
        return gradient_stages(model, members, leaves, target)
    return adaptive_stages(model, members, leaves, target, as_stored=as_stored)


def _require_same_stages(model: Any, members: Sequence[Any], found: Stages) -> None:  # noqa: ANN401
    """Compare all trees, and what the model notes of its stages, with what they come to with this table."""
    for name, values in found.notes.items():
        if np.shape(vars(model)[name]) != values.shape or not np.allclose(vars(model)[name], values, rtol=_CLOSE):
            raise _other_target()
    for member, figures in zip(members, found.figures, strict=True):
        if figures.differ(member.tree_, close=_CLOSE):
            raise _other_target()


def _require_whole(model: Any) -> None:  # noqa: ANN401
    """Refuse boosting whose stages saw parts of the table that nobody can tell."""
    if model.subsample != 1.0 or model.n_iter_no_change is not None:
        fact = f"The {kind_of(model)} was fitted with random parts of the table, which cannot be compared with it"
        raise IncompatibleError(fact, "fit it with all rows in every stage, and without early stopping")
    if model.loss not in ("log_loss", "squared_error"):
        fact = f"The audit does not know the loss {model.loss} of {kind_of(model)}"
        raise IncompatibleError(fact, "fit it with the loss log_loss or squared_error")


def _draws(model: Any, n_rows: int) -> list[Int64 | None]:  # noqa: ANN401
    """Return the rows that each tree was fitted with, by its seed; nothing for all of them."""
    members = members_of(model)
    is_drawn = bool(getattr(model, "bootstrap", False)) or getattr(model, "max_samples", 1.0) not in (1.0, None)
    seeds = getattr(model, "_seeds", None)
    has_seeds = seeds is not None or all(isinstance(member.random_state, int | np.integer) for member in members)
    if (len(members) == 1 and members[0] is model) or not is_drawn or not has_seeds:
        return [None] * len(members)
    drawn = [np.asarray(rows, np.int64) for rows in model.estimators_samples_]
    if max(int(rows.max()) for rows in drawn) >= n_rows or getattr(model, "_n_samples", n_rows) != n_rows:
        fact = f"The model was fitted with {getattr(model, '_n_samples', 'other')} rows, and the table has {n_rows}"
        raise SchemaError(fact, SAME_TABLE)
    return list(drawn)


def _require_same_counts(tree: Any, leaf_of: Int64, weights: Float64) -> None:  # noqa: ANN401
    """Compare the number of people at each leaf with what the tree says, and its inner nodes with their children."""
    is_leaf = tree.children_left < 0
    here = np.bincount(leaf_of[weights > 0], minlength=tree.node_count)
    then = tree.n_node_samples
    inner = np.flatnonzero(~is_leaf)
    below = then[tree.children_left[inner]] + then[tree.children_right[inner]]
    if (here != then)[is_leaf].any() or (below != then[inner]).any():
        fact = "The table does not send as many people to the leaves of the model as it was fitted with"
        raise SchemaError(fact, SAME_TABLE)


def _other_target() -> SchemaError:
    fact = "The leaves of the model have other classes, or other values, than the people of the table who are in them"
    hint = "name the column that the model predicts as target in the schema; rows must have been fitted without weights"
    return SchemaError(fact, hint)


def _require_same_target(member: Any, leaf_of: Int64, weights: Float64, target: Float64) -> Float64:  # noqa: ANN401
    """Compare what a tree says about all its nodes with the classes, up to their weights, or with the mean value."""
    tree, is_class = member.tree_, hasattr(member, "classes_")
    if member.criterion == "absolute_error":
        fact = f"The leaves of {kind_of(member)} hold the value of one person each: criterion is absolute_error"
        raise IncompatibleError(fact, "fit it with the criterion squared_error")
    if is_class:
        at_leaf = tree.children_left < 0
        sums = np.stack([np.bincount(leaf_of, weights * c, tree.node_count) for c in target.T], axis=1)[at_leaf]
        order = same_columns((tree.value[:, 0, :] * tree.weighted_n_node_samples[:, None])[at_leaf], sums)
        if order is None:
            raise _other_target()
        target = target[:, order]
        weights = weights * (target @ _class_weights(member, target.T @ weights))
    found = tree_states.figures(tree, leaf_of, weights, target, member.criterion, is_class=is_class)
    if found.differ(tree, close=_CLOSE):
        raise _other_target()
    return target


def _class_weights(member: Any, n_people: Float64) -> Float64:  # noqa: ANN401
    """Return the weight of a person of each class, by what the root says of so many people."""
    stored = member.tree_.value[0, 0] * member.tree_.weighted_n_node_samples[0]
    return np.asarray(stored / np.maximum(n_people, 1))


def same_columns(stored: Float64, here: Float64) -> Int64 | None:
    """Return for each stored column the one here that is like it, but for a factor, which is the weight of a class."""
    if stored.shape[1] != here.shape[1]:
        return None
    one, other = (table / np.maximum(table.sum(axis=0), 1e-300) for table in (stored, here))
    left = list(range(other.shape[1]))
    order = []
    for c in range(one.shape[1]):
        nearest = [d for d in sorted(left, key=lambda d: d != c) if np.allclose(one[:, c], other[:, d], _CLOSE, 1e-9)]
        if not nearest:
            return None
        order.append(nearest[0])
        left.remove(nearest[0])
    return np.array(order, np.int64)


def _refitted(changed: Any, before: Any, columns: Sequence[Int64], rows: Float32, target: Float64) -> Any:  # noqa: ANN401
    """Give the nodes of a changed model the classes of the whole table, stage by stage where it has stages."""
    members = members_of(changed)
    leaves = leaves_of(members, columns, rows)
    if known_models()[type(changed)].audit in ("ada", "boosting"):
        stages = _stages(changed, members, leaves, target, as_stored=False)
        for name, values in stages.notes.items():
            setattr(changed, name, values)
        found = stages.figures
    else:
        found = [
            tree_states.figures(
                member.tree_, leaf_of, _weights_of_all(old, target), target, member.criterion,
                is_class=hasattr(changed, "classes_"),
            )
            for member, old, leaf_of in zip(members, members_of(before), leaves, strict=True)
        ]  # fmt: skip
    for member, figures in zip(members, found, strict=True):
        member.tree_ = tree_states.with_figures(member.tree_, figures)
    return changed


def _weights_of_all(member: Any, target: Float64) -> Float64:  # noqa: ANN401
    """Return the weight of each person of the table in a tree, by their class."""
    if getattr(member, "class_weight", None) is None:
        return np.ones(len(target))
    return np.asarray(target @ _class_weights(member, target.sum(axis=0)))


def _in_order(model: Any, target: Float64) -> Float64:  # noqa: ANN401
    """Return the classes of the table in the order of the model's, by how frequent they are."""
    shares = getattr(getattr(model, "init_", None), "class_prior_", None)
    if shares is None:
        return target
    here = target.mean(axis=0)
    order = np.arange(target.shape[1])
    if len(shares) == len(here) and not np.allclose(shares, here, atol=_CLOSE):
        order[np.argsort(shares, kind="stable")] = np.argsort(here, kind="stable")
    if len(shares) != len(here) or not np.allclose(shares, here[order], atol=_CLOSE):
        raise _other_target()
    return np.asarray(target[:, order])
