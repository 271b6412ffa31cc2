"""Boosted trees of other libraries, from their files: XGBoost's JSON and LightGBM's text.

The libraries are not needed, and no code of a file is run. Every key of a file is known, or it is refused: both formats
have room for text of anybody's. A LightGBM file counts the people of each node; XGBoost's has sums of second
derivatives, which in the first tree are in proportion to the people. Both are compared with the table, and so is what
the first tree says about the class. ``incrowd.audit(read_dump("model.json"), frame, schema, k=30)``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from incrowd.audit import trees
from incrowd.audit.inputs import Inputs
from incrowd.audit.subject import SAME_TABLE, Limits, Subject
from incrowd.errors import IncompatibleError, InputError, SchemaError

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

_LEAF = -1
_MOST_TEXT = 200
_REST = 1e-3  # of the largest: files have values in single precision
_MOST_BYTES = 500_000_000
_AS_SAVED = "save the model again as the library does, without anything added"


@dataclass(frozen=True)
class DumpedTree:
    """One tree of a file; `size` is a number that is in proportion to the people of each node."""

    feature: Int64
    threshold: Float64
    left: Int64
    right: Int64
    size: Float64
    value: Float64
    gain: Float64
    rule: str
    missing: Int64
    """Bit 0: missing goes left; 1: a missing value counts as 0; 2: so it is with zero. (LightGBM's three kinds.)"""


@dataclass(frozen=True)
class Dump:
    """The trees of a file, with the names of its columns."""

    library: str
    trees_: tuple[DumpedTree, ...]
    n_per_stage: int
    n_features_in_: int
    names: tuple[str, ...] = ()
    ranges: tuple[tuple[float, float] | None, ...] = ()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name == "feature_names_in_" and self.names:  # as estimators have it: only where columns have names
            return np.array(self.names, object)
        raise AttributeError(name)


@dataclass(frozen=True)
class DumpView:
    """A tree of a file, as the audit wants to see it."""

    tree: DumpedTree
    inputs: Inputs

    def children(self, node: int) -> Int64:
        """Return left and right."""
        left = self.tree.left[node]
        return np.array([] if left == _LEAF else [left, self.tree.right[node]], np.int64)

    def is_public(self, node: int) -> bool:
        """Look the feature up."""
        return bool(self.inputs.public[self.tree.feature[node]])

    def is_secret(self, node: int) -> bool:
        """Look the feature up."""
        return bool(self.inputs.secret[self.tree.feature[node]])

    def branch(self, node: int, people: Int64) -> Int64:
        """Compare as the library does: XGBoost below, in single precision; LightGBM up to, in double."""
        values, at = self.inputs.values[people, self.tree.feature[node]], self.tree.threshold[node]
        goes = int(self.tree.missing[node])
        if self.tree.rule == "<":
            left = values.astype(np.float32) < np.float32(at)
            missing = np.isnan(values)
        else:
            values = np.where(np.isnan(values), 0.0, values) if goes & 2 or goes & 4 else values
            left = values <= at
            missing = (np.abs(values) <= 1e-35) if goes & 4 else np.isnan(values)
        return np.asarray(~np.where(missing, bool(goes & 1), left), np.int64)

    def leaves(self, people: Int64) -> Int64 | None:
        """Leave it to the walk."""
        del people
        return None

    def reached(self) -> Int64:
        """Return the leaf of each person."""
        found = np.zeros(self.inputs.n_people, np.int64)
        pending = [(0, np.arange(self.inputs.n_people))]
        while pending:
            node, people = pending.pop()
            found[people] = node
            below = self.children(node)
            if len(below):
                branch = self.branch(node, people)
                pending += [(int(child), people[branch == place]) for place, child in enumerate(below)]
        return found


def read_dump(path: str | Path) -> Dump:
    """Read a model of XGBoost (`.json`) or LightGBM (`.txt`) from its file."""
    path = Path(path)
    if not path.is_file():
        fact = f"There is no file '{path}'"
        raise InputError(fact, "give the file that the model was saved to")
    if path.stat().st_size > _MOST_BYTES:
        fact = f"'{path.name}' is larger than a model file that the audit reads"
        raise InputError(fact, "audit a model with fewer trees")
    try:
        text = path.read_text(encoding="utf-8")
        return _from_lightgbm(text) if text.startswith("tree\n") else _from_xgboost(json.loads(text))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        fact = f"'{path.name}' cannot be read as a model of XGBoost or LightGBM: {type(error).__name__}"
        raise InputError(fact, "save it with save_model, as JSON (XGBoost) or text (LightGBM)") from None


def read_dumped(model: Any, proper: Dump, inputs: Inputs, limits: Limits) -> Subject:  # noqa: ANN401
    """Return the trees of a file as the audit sees them."""
    views = [DumpView(tree, inputs) for tree in proper.trees_]
    _require_ranges(proper, inputs, int(limits.k))
    for place, view in enumerate(views):
        leaf_of = view.reached()
        _require_sizes(proper, view.tree, leaf_of, is_first=place < proper.n_per_stage)
        if place == 0:
            _require_target(view.tree, leaf_of, inputs)
    span_of, multiple = trees.find_spans(views, inputs)
    return Subject(f"{proper.library} of {len(views)} trees", model, inputs, span_of, multiple)


def _require_ranges(model: Dump, inputs: Inputs, k: int) -> None:
    """Refuse the smallest and largest value of a private column that fewer than k people have."""
    for j, ends in enumerate(model.ranges):
        if ends is None or not inputs.secret[j]:
            continue
        if any(0 < np.isclose(inputs.values[:, j], end, rtol=1e-9).sum() < k for end in ends):
            fact = f"The file keeps the smallest and largest value of the private column {inputs.sources[j]}"
            raise IncompatibleError(fact, f"fewer than k = {k} people have them: write none in feature_infos")


def _require_sizes(model: Dump, tree: DumpedTree, leaf_of: Int64, *, is_first: bool) -> None:
    here = np.bincount(leaf_of, minlength=len(tree.left)).astype(np.float64)
    is_leaf = tree.left == _LEAF
    if model.library == "LightGBM":
        same = np.array_equal(here[is_leaf], tree.size[is_leaf])
    else:
        per_person = tree.size[0] / len(leaf_of)
        same = not is_first or np.allclose(here[is_leaf] * per_person, tree.size[is_leaf], rtol=1e-3, atol=1e-6)
    if not same or (here[is_leaf] == 0).any():
        fact = "The table does not send as many people to the leaves of the model as it was fitted with"
        raise SchemaError(fact, SAME_TABLE + "; rows must not have been drawn or weighted")


def _require_target(tree: DumpedTree, leaf_of: Int64, inputs: Inputs) -> None:
    """Refuse a class that the first tree was not fitted with.

    Boosting begins with the same prediction for everybody, so the value v of a leaf of n people, m of them of the
    class (or m the sum of their values), is v (n h + penalty) = a n + b m, save for a constant that is added to all.
    The unknowns are solved for, and with more leaves than unknowns the rest must vanish.
    """
    if inputs.classes is None or inputs.target is None:
        return
    is_leaf = np.flatnonzero(tree.left == _LEAF)
    n = np.bincount(leaf_of, minlength=len(tree.left))[is_leaf].astype(np.float64)
    v = tree.value[is_leaf]
    columns = [(inputs.classes == one).astype(np.float64) for one in np.unique(inputs.classes)]
    columns += [inputs.target.to_numpy().astype(np.float64)] if inputs.target.dtype.is_numeric() else []
    for column in columns:
        m = np.bincount(leaf_of, column, len(tree.left))[is_leaf]
        for unknowns in ([n, m], [n, m, v], [n, m, v, np.ones_like(v)]):
            design = np.stack(unknowns, axis=1)
            if len(v) <= len(unknowns):
                continue
            solved = np.linalg.lstsq(design, v * n, rcond=None)[0]
            if np.abs(design @ solved - v * n).max() <= _REST * np.abs(v * n).max():
                return
    fact = "The values of the first tree do not follow the class of the people in its leaves, or these are too few"
    hint = "name the column that the model predicts as target in the schema; fit trees of more than three leaves"
    raise SchemaError(fact, hint)


def _only(found: Mapping[str, Any], known: str, where: str) -> None:
    """Refuse keys that are not known: a file has room for anything."""
    foreign = sorted(set(found) - set(known.split()))
    if foreign:
        fact = f"The file holds '{foreign[0][:40]}' in {where}, which the audit does not understand"
        raise IncompatibleError(fact, _AS_SAVED)


def _from_xgboost(found: dict[str, Any]) -> Dump:
    _only(found, "learner version", "the file")
    learner = found["learner"]
    _only(
        learner, "attributes feature_names feature_types gradient_booster learner_model_param objective", "the learner"
    )
    _only(learner["attributes"], "best_iteration best_score scikit_learn", "the attributes")
    _only(learner["objective"], "name reg_loss_param softmax_multiclass_param", "the objective")
    booster = learner["gradient_booster"]
    if booster.get("name") != "gbtree" or learner["learner_model_param"].get("num_target", "1") != "1":
        fact = "The file is not of boosted trees with one target"
        raise IncompatibleError(fact, "audit a model of the booster gbtree")
    _only(booster["model"], "cats gbtree_model_param iteration_indptr tree_info trees", "the booster")
    if any(len(part) for part in booster["model"].get("cats", {}).values()) or _is_long(learner["attributes"]):
        fact = "The file holds a list of categories, or notes"
        raise IncompatibleError(fact, "code categories before the model; save it without attributes")
    made = tuple(_xgboost_tree(one) for one in booster["model"]["trees"])
    n_per_stage = max(1, len(set(booster["model"]["tree_info"])))
    n_features = int(learner["learner_model_param"]["num_feature"])
    return Dump("XGBoost", made, n_per_stage, n_features, tuple(map(str, learner["feature_names"])))


def _is_long(notes: Mapping[str, Any]) -> bool:
    return any(len(str(value)) > _MOST_TEXT for value in notes.values())


def _xgboost_tree(one: dict[str, Any]) -> DumpedTree:
    known = (
        "base_weights categories categories_nodes categories_segments categories_sizes default_left id left_children "
        "loss_changes parents right_children split_conditions split_indices split_type sum_hessian tree_param"
    )
    _only(one, known, "a tree")
    left, right = (np.asarray(one[name], np.int64) for name in ("left_children", "right_children"))
    if any(one["split_type"]) or one["categories"] or one["tree_param"].get("size_leaf_vector", "1") not in ("0", "1"):
        fact = "A tree of the file tests categories, or predicts several numbers"
        raise IncompatibleError(fact, "code categories before the model, and predict one column")
    _require_whole(left, right)
    conditions = np.asarray(one["split_conditions"], np.float64)
    return DumpedTree(
        np.asarray(one["split_indices"], np.int64), conditions, left, right, np.asarray(one["sum_hessian"], np.float64),
        conditions, np.asarray(one["loss_changes"], np.float64), "<", np.asarray(one["default_left"], np.int64),
    )  # fmt: skip


def _require_whole(left: Int64, right: Int64) -> None:
    """Refuse nodes that nobody can reach."""
    splits = left != _LEAF
    if sorted([*left[splits].tolist(), *right[splits].tolist()]) != list(range(1, len(left))):
        fact = "A tree of the file has nodes that nobody can reach"
        raise IncompatibleError(fact, _AS_SAVED)


def _from_lightgbm(text: str) -> Dump:
    head, *parts = re.split(r"^Tree=\d+$", text, flags=re.MULTILINE)
    last, _, rest = parts[-1].partition("end of trees")
    _require_known_end(rest)
    header = _pairs(head.removeprefix("tree\n"))
    known = "version num_class num_tree_per_iteration label_index max_feature_idx objective feature_names feature_infos"
    _only(header, known + " tree_sizes average_output monotone_constraints", "the header")
    names = tuple(header["feature_names"].split())
    is_named = any(name != f"Column_{i}" for i, name in enumerate(names))
    ranges = tuple(_range(one) for one in header.get("feature_infos", "").split())
    made = tuple(_lightgbm_tree(_pairs(part)) for part in [*parts[:-1], last])
    n_per_stage = int(header["num_tree_per_iteration"])
    return Dump("LightGBM", made, n_per_stage, len(names), names if is_named else (), ranges)


def _require_known_end(text: str) -> None:
    """Refuse what is behind the trees but importances, parameters and the word that there are no categories."""
    for line in filter(None, map(str.strip, text.splitlines())):
        is_known = re.fullmatch(r"\[\w+: .{0,200}\]|\[\w+:\]|\S{1,100}=\d+|feature_importances:|parameters:", line)
        if not is_known and line not in ("end of parameters", "pandas_categorical:null", "pandas_categorical:[]"):
            fact = "The file holds more behind its trees than importances and parameters, such as lists of categories"
            raise IncompatibleError(fact, "code categories before the model, and save it again")


def _range(text: str) -> tuple[float, float] | None:
    if text == "none":
        return None
    found = re.fullmatch(r"\[([^:\]]+):([^:\]]+)\]", text)
    if found is None:
        fact = "The file lists categories of a column"
        raise IncompatibleError(fact, "code categories before the model, and save it again")
    return float(found[1]), float(found[2])


def _pairs(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if line.strip()]
    pairs = dict(line.split("=", 1) for line in lines if "=" in line)
    if len(pairs) != len(lines) - lines.count("average_output"):
        fact = "The file has lines that are no settings, which the audit does not understand"
        raise IncompatibleError(fact, _AS_SAVED)
    return pairs


def _lightgbm_tree(one: dict[str, str]) -> DumpedTree:
    known = (
        "num_leaves num_cat split_feature split_gain threshold decision_type left_child right_child leaf_value "
        "leaf_weight leaf_count internal_value internal_weight internal_count is_linear shrinkage"
    )
    _only(one, known, "a tree")
    if one["num_cat"] != "0" or one.get("is_linear", "0") != "0":
        fact = "A tree of the file tests categories, or has linear models in its leaves"
        raise IncompatibleError(fact, "code categories before the model, and fit without linear_tree")
    n_leaves = int(one["num_leaves"])
    n_inner = n_leaves - 1

    def row(name: str, n: int) -> Float64:
        return np.array(one.get(name, "").split(), np.float64) if n else np.empty(0)

    def place(name: str) -> Int64:  # leaves stand behind the inner nodes, and are written as -1, -2, ...
        given = row(name, n_inner).astype(np.int64)
        return np.where(given < 0, n_inner + ~given, given)

    none = np.full(n_leaves, _LEAF)
    left, right = (np.concatenate([place(name), none]) for name in ("left_child", "right_child"))
    _require_whole(left, right)
    kinds = row("decision_type", n_inner).astype(np.int64)
    # LightGBM: bit 1 missing goes left; bits 2 and 3: 0 none (missing counts as 0), 1 zero is missing, 2 NaN is.
    missing = ((kinds >> 1) & 1) | np.where((kinds >> 2) & 3 == 0, 2, 0) | np.where((kinds >> 2) & 3 == 1, 4, 0)
    empty = np.zeros(n_leaves)
    sizes = np.concatenate([row("internal_count", n_inner), row("leaf_count", 1)])
    return DumpedTree(
        np.concatenate([row("split_feature", n_inner), empty]).astype(np.int64),
        np.concatenate([row("threshold", n_inner), empty]), left, right, sizes,
        np.concatenate([row("internal_value", n_inner), row("leaf_value", 1)]),
        np.concatenate([row("split_gain", n_inner), empty]), "<=", np.concatenate([missing, none]),
    )  # fmt: skip
