"""Trees in ONNX files, as skl2onnx writes decision trees, extremely random trees and forests of the whole table.

The package onnx parses the file; nothing in it is run. Only one operator of trees may be in it, behind it the ones that
rename or cast outputs; whatever else a file holds is refused by its name, notes included. A scaler or a linear model
is refused too: its figures cannot be compared with the table without the settings that it was fitted with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from incrowd.audit.exchanged import Exchanged, Test, tree_of
from incrowd.errors import IncompatibleError, InputError, MissingDependencyError

_MOST_TEXT = 64
_MOST_TEXTS = 80  # names of a few nodes, of their inputs and outputs, and of attributes
_MOST_VERSIONS = 1000
_FIELDS = {1: "f", 2: "i", 3: "s", 6: "floats", 7: "ints", 8: "strings"}
_AS_EXPORTED = "export the model again with skl2onnx, without anything added"
_AUDIT_ITSELF = "audit the fitted pipeline itself, before it is exported"
_BEHIND = ("Cast", "Identity", "ZipMap")
_NODES = (
    "nodes_treeids nodes_nodeids nodes_featureids nodes_modes nodes_values nodes_truenodeids nodes_falsenodeids "
    "nodes_missing_value_tracks_true nodes_hitrates"
)
_CLASSES = "class_treeids class_nodeids class_ids class_weights classlabels_strings classlabels_int64s"
_NUMBERS = "target_treeids target_nodeids target_ids target_weights n_targets"
_RULES = {"BRANCH_LEQ": "<=", "BRANCH_LT": "<", "BRANCH_GTE": ">=", "BRANCH_GT": ">"}


def read_onnx(path: str | Path) -> Exchanged:
    """Read the trees of a file."""
    path = Path(path)
    onnx = _onnx()
    given = path.read_bytes()
    try:
        model = onnx.ModelProto.FromString(given)
    except Exception as error:
        fact = f"'{path.name}' cannot be read as ONNX: {type(error).__name__}"
        raise InputError(fact, "give a file that skl2onnx wrote") from None
    _require_plain(model, len(given))
    trees = [node for node in model.graph.node if node.op_type.startswith("TreeEnsemble")]
    others = [node.op_type for node in model.graph.node if node not in trees and node.op_type not in _BEHIND]
    if others or len(trees) != 1:
        what = f"'{others[0][:40]}'" if others else f"{len(trees)} operators of trees"
        fact = f"The ONNX file holds {what}, which the audit does not compare with a table"
        raise IncompatibleError(fact, _AUDIT_ITSELF)
    node = trees[0]
    if node.op_type not in ("TreeEnsembleClassifier", "TreeEnsembleRegressor"):
        fact = f"The ONNX file holds the operator {node.op_type[:40]}, which the audit does not know"
        raise IncompatibleError(
            fact, "export the model for an older version of the operators of machine learning, such as 3"
        )
    if len(model.graph.input) != 1 or list(node.input) != [model.graph.input[0].name]:
        fact = "The ONNX file takes its columns one by one, or prepared"
        raise IncompatibleError(fact, _AUDIT_ITSELF)
    found = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    own = [found.get(name) for name in ("classlabels_strings", "classlabels_int64s")]
    maps = [one for each in model.graph.node if each.op_type == "ZipMap" for one in each.attribute]
    if any(onnx.helper.get_attribute_value(one) not in own for one in maps) or len(found) != len(node.attribute):
        fact = "The ONNX file names other classes behind its trees, or an attribute twice"
        raise IncompatibleError(fact, _AS_EXPORTED)
    return _trees(found, is_class=node.op_type == "TreeEnsembleClassifier", width=_width(model.graph.input[0]))


def _onnx() -> Any:  # noqa: ANN401
    try:
        import onnx  # noqa: PLC0415 - an extra
    except ImportError:
        fact = "An .onnx file needs the package onnx"
        raise MissingDependencyError(fact, extra="models") from None
    return onnx


def _require_plain(model: Any, size: int) -> None:  # noqa: ANN401
    """Refuse notes, tables and fields that no export of trees has: a file has room for anything."""
    known = "ir_version producer_name producer_version domain model_version graph opset_import"
    _only(_filled(model), known, "the model")
    graph = model.graph
    _only(_filled(graph), "node name input output", "the graph")
    for node in graph.node:
        _only(_filled(node), "op_type name input output domain attribute", "a node")
        for one in node.attribute:
            _only(_filled(one), f"name type {_FIELDS.get(one.type, '')}", "an attribute")
        if node.op_type == "Cast":
            _only([one.name for one in node.attribute], "to", "a cast")
        if node.op_type == "ZipMap":
            _only([one.name for one in node.attribute], "classlabels_strings classlabels_int64s", "a map")
    texts = list(_texts(model))
    again = type(model).FromString(model.SerializeToString())
    again.DiscardUnknownFields()
    is_long = len(texts) > _MOST_TEXTS or any(len(text) > _MOST_TEXT for text in texts)
    if is_long or not _is_one_way(graph) or len(again.SerializeToString()) != size:
        fact = "The ONNX file holds texts or fields that no export of trees has"
        raise IncompatibleError(fact, _AS_EXPORTED)
    versions = [model.ir_version, model.model_version, *(one.version for one in model.opset_import)]
    casts = [one.i for node in graph.node if node.op_type == "Cast" for one in node.attribute]
    if not all(0 <= number <= _MOST_VERSIONS for number in (*versions, *casts)):
        fact = "The ONNX file has versions that there are not"
        raise IncompatibleError(fact, _AS_EXPORTED)


def _texts(part: Any) -> Iterator[str]:  # noqa: ANN401
    """Return the texts of a file but those of the attributes, which are compared with the classes of the table."""
    for field, value in part.ListFields():
        if field.name in ("s", "strings"):
            continue
        for one in value if field.is_repeated else [value]:
            if isinstance(one, str | bytes):
                yield _text(one)
            elif hasattr(one, "ListFields"):
                yield from _texts(one)


def _is_one_way(graph: Any) -> bool:  # noqa: ANN401
    """Tell whether every result is named once, and used or given out, of all columns to two outputs at most."""
    made = [name for node in graph.node for name in node.output]
    used = {name for node in graph.node for name in node.input} | {one.name for one in graph.output}
    return len(made) == len(set(made)) and set(made) <= used and len(graph.output) <= 2 and len(graph.node) <= 8


def _filled(part: Any) -> list[str]:  # noqa: ANN401
    """Return the names of fields that hold anything; exports write empty notes."""
    return [str(field.name) for field, value in part.ListFields() if value != ""]


def _only(names: list[str], known: str, where: str) -> None:
    foreign = sorted(set(names) - set(known.split()))
    if foreign:
        fact = f"The ONNX file holds '{foreign[0][:40]}' in {where}, which the audit does not understand"
        raise IncompatibleError(fact, _AS_EXPORTED)


def _width(given: Any) -> int:  # noqa: ANN401
    """Return the number of columns."""
    sizes = given.type.tensor_type.shape.dim
    width = int(sizes[-1].dim_value) if len(sizes) == 2 else 0
    if width < 1:
        fact = "The ONNX file does not say how many columns it takes"
        raise IncompatibleError(fact, "export it with the rows or their type: to_onnx(model, rows[:1])")
    return width


def _trees(found: dict[str, Any], *, is_class: bool, width: int) -> Exchanged:
    if found.get("post_transform", b"NONE") != b"NONE" or found.get("n_targets", 1) != 1 or "base_values" in found:
        fact = "The ONNX file adds up or transforms what its trees say, as boosted trees do"
        raise IncompatibleError(fact, "audit boosted trees as they were fitted, or from the file of their own library")
    _only(list(found), f"{_NODES} post_transform {_CLASSES if is_class else _NUMBERS}", "the trees")
    labels = [_text(one) for one in found.get("classlabels_strings", found.get("classlabels_int64s", []))]
    if is_class and ({"classlabels_strings", "classlabels_int64s"} <= set(found) or len(labels) < 2):
        fact = "The ONNX file does not name two classes or more once"
        raise IncompatibleError(fact, _AS_EXPORTED)
    kind = "class" if is_class else "target"
    keys = list(zip(found["nodes_treeids"], found["nodes_nodeids"], strict=True))
    numbers = sorted(set(found["nodes_treeids"]))
    sizes = Counter(found["nodes_treeids"])
    if numbers != list(range(len(numbers))) or any(not 0 <= node < sizes[tree] for tree, node in keys):
        fact = "The ONNX file does not number its trees and their nodes one after another"
        raise IncompatibleError(fact, _AS_EXPORTED)
    said = _said(found, kind, keys, len(labels), len(numbers))
    columns = [found[name] for name in _NODES.split()[2:7]]
    if len(set(keys)) != len(keys) or any(len(one) != len(keys) for one in columns):
        fact = "The ONNX file names a node twice, or says not of each what it is"
        raise IncompatibleError(fact, _AS_EXPORTED)
    tracks = found.get("nodes_missing_value_tracks_true") or [0] * len(keys)
    if set(found.get("nodes_hitrates") or [1.0]) - {1.0} or len(found.get("nodes_hitrates") or keys) != len(keys):
        fact = "The ONNX file holds hit rates of nodes"
        raise IncompatibleError(fact, _AS_EXPORTED)
    made = []
    for number in numbers:
        mine = [i for i, (tree, _) in enumerate(keys) if tree == number]
        place = {keys[i][1]: j for j, i in enumerate(mine)}
        tests, below = [], []
        for i in mine:
            feature, mode, threshold, yes, no = (one[i] for one in columns)
            is_leaf = mode == b"LEAF"
            if is_leaf and (feature, threshold, yes, no, tracks[i]) != (0, 0, 0, 0, 0):
                fact = "A tree of the ONNX file says something about its leaves that no tree says"
                raise IncompatibleError(fact, _AS_EXPORTED)
            if not is_leaf and (mode.decode(errors="replace") not in _RULES or (keys[i] in said)):
                fact = "A tree of the ONNX file has tests that are no comparisons, or classes at them"
                raise IncompatibleError(fact, _AS_EXPORTED)
            test = None if is_leaf else Test(feature, _RULES[mode.decode()], threshold, True, bool(tracks[i]))  # noqa: FBT003
            tests.append(test)
            below.append((0, 0) if is_leaf else (place.get(yes, -1), place.get(no, -1)))
        empty = np.full(max(1, len(labels)), np.nan)
        made.append(
            tree_of(
                tests, below, [said.get(keys[i], empty if tests[j] is None else 0 * empty) for j, i in enumerate(mine)]
            )
        )
    return Exchanged("ONNX", tuple(made), tuple(labels), width)


def _said(
    found: dict[str, Any], kind: str, keys: list[tuple[int, int]], n_classes: int, n_trees: int
) -> dict[tuple[int, int], Any]:
    """Return what leaves predict; of two classes only the share of the second is written."""
    parts = [found[f"{kind}_{name}"] for name in ("treeids", "nodeids", "ids", "weights")]
    is_short = kind == "class" and n_classes == 2 and set(parts[2]) == {0}
    said: dict[tuple[int, int], Any] = {}
    for tree, node, column, weight in zip(*parts, strict=True):
        values = said.setdefault((tree, node), np.full(max(1, n_classes), np.nan))
        if column >= len(values) or not np.isnan(values[column]) or (tree, node) not in keys:
            fact = "The ONNX file says twice what a leaf predicts, or of no node"
            raise IncompatibleError(fact, _AS_EXPORTED)
        values[column] = weight * n_trees
    if is_short:
        return {key: np.array([1 - values[0], values[0]]) for key, values in said.items()}
    return said


def _text(value: Any) -> str:  # noqa: ANN401
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)
