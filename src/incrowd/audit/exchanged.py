"""Trees from files for exchange (ONNX, PMML): their tests, and whether their leaves say what the table says.

Such a file holds the tests and, at each leaf, the shares of the classes or the mean value. Both are compared with the
people of the table, to the digits that the file has. Trees that were fitted with draws of rows, with weights, or one
after another (boosting) say something else there, and are refused: they are to be audited as they were fitted. How many
people come to a leaf is seldom in these files; where it is not, the report says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from incrowd.audit import trees
from incrowd.audit.inputs import Inputs
from incrowd.audit.stages import class_columns
from incrowd.audit.subject import SAME_TABLE, Subject
from incrowd.errors import IncompatibleError, SchemaError

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

UNCOUNTED = -1
_CLOSE = 2e-6  # of a share in single precision, or a mean beside the largest
_UNCOUNTED = "the file does not say how many people its leaves hold: only their shares were compared with the table"


@dataclass(frozen=True)
class Test:
    """A comparison of a column with a number, in single precision if the format says so."""

    __test__ = False  # for pytest

    feature: int
    rule: str
    threshold: float
    single: bool = True
    missing_is_true: bool = False

    def holds(self, values: Float64) -> npt.NDArray[np.bool_]:
        """Tell for whom it holds."""
        kind = np.float32 if self.single else np.float64
        rows, at = values[:, self.feature].astype(kind), kind(self.threshold)
        compare = {"<=": np.less_equal, "<": np.less, ">": np.greater, ">=": np.greater_equal}[self.rule]
        return np.asarray(np.where(np.isnan(rows), self.missing_is_true, compare(rows, at)))


@dataclass(frozen=True)
class PlainTree:
    """A tree of a file.

    Attributes
    ----------
    tests
        Of each node, none for a leaf.
    below
        Of each node, where people go for whom the test holds, and for whom not.
    says
        Of each node, what it predicts if it is a leaf: shares of the classes, or a number.
    people
        Of each leaf, how many people there are, if the file says it.
    """

    tests: tuple[Test | None, ...]
    below: tuple[tuple[int, int], ...]
    says: Float64
    people: Int64


@dataclass(frozen=True)
class Exchanged:
    """The trees of a file.

    Attributes
    ----------
    format_
        ONNX or PMML.
    labels
        Names of the classes, in their order; empty for trees of numbers.
    names
        Names of the columns, if they have any.
    """

    format_: str
    trees_: tuple[PlainTree, ...]
    labels: tuple[str, ...]
    n_features_in_: int
    names: tuple[str, ...] = ()
    refuses_missing: bool = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name == "feature_names_in_" and self.names:  # as estimators have them: only where there are any
            return np.array(self.names, object)
        if name == "classes_" and self.labels:
            return np.array(self.labels, object)
        raise AttributeError(name)


@dataclass(frozen=True)
class PlainView:
    """A tree of a file, as the audit wants to see it."""

    tree: PlainTree
    inputs: Inputs

    def children(self, node: int) -> Int64:
        """Return where the test sends people."""
        return np.array([] if self.tree.tests[node] is None else self.tree.below[node], np.int64)

    def is_public(self, node: int) -> bool:
        """Look the column up."""
        return bool(self.inputs.public[self._test(node).feature])

    def is_secret(self, node: int) -> bool:
        """Look the column up."""
        return bool(self.inputs.secret[self._test(node).feature])

    def branch(self, node: int, people: Int64) -> Int64:
        """Compare as the format says."""
        return np.asarray(~self._test(node).holds(self.inputs.values[people]), np.int64)

    def leaves(self, people: Int64) -> Int64 | None:
        """Leave it to the walk."""
        del people
        return None

    def reached(self) -> Int64:
        """Return the leaf of each person."""
        return trees.leaves_reached(self, np.arange(self.inputs.n_people))

    def _test(self, node: int) -> Test:
        test = self.tree.tests[node]
        assert test is not None
        return test


def read_exchanged(model: Any, proper: Exchanged, inputs: Inputs) -> Subject:  # noqa: ANN401
    """Return the trees of a file as the audit sees them."""
    views = [PlainView(tree, inputs) for tree in proper.trees_]
    tested = sorted({test.feature for tree in proper.trees_ for test in tree.tests if test is not None})
    if tested and max(tested) >= inputs.values.shape[1]:
        fact = f"The file tests column {max(tested) + 1}, and the table has {inputs.values.shape[1]}"
        raise SchemaError(fact, SAME_TABLE)
    if proper.refuses_missing and np.isnan(inputs.values[:, tested]).any():
        fact = f"The table has missing values in columns that the {proper.format_} file tests"
        raise IncompatibleError(fact, "fill them in before the model is fitted")
    aims = _aims(proper, inputs)
    for view in views:
        _require_same(proper, view, aims)
    span_of, multiple = trees.find_spans(views, inputs)
    n = len(views)
    name = f"{proper.format_} of {n} trees" if n > 1 else f"{proper.format_} of a tree"
    is_counted = all((tree.people != UNCOUNTED).any() for tree in proper.trees_)
    return Subject(name, model, inputs, span_of, multiple, notes=() if is_counted else (_UNCOUNTED,))


def _aims(proper: Exchanged, inputs: Inputs) -> Float64:
    """Return the classes of the table as columns in the order of the file's, or the number that is predicted."""
    if not proper.labels:
        return class_columns(proper, inputs)
    if inputs.target is None:
        fact = f"The schema names no class, and the {proper.format_} file predicts one"
        raise SchemaError(fact, "name the column that the model predicts as target in the schema")
    here = [_label(value) for value in inputs.target.to_list()]
    asked = [_label(value) for value in proper.labels]
    if set(here) != set(asked) or len(set(asked)) != len(asked):
        fact = f"The {proper.format_} file predicts other classes than column '{inputs.target.name}' has"
        raise SchemaError(fact, "name the column that the model predicts as target in the schema")
    place = {label: i for i, label in enumerate(asked)}
    return np.asarray(np.eye(len(asked))[[place[label] for label in here]])


def _label(value: Any) -> str:  # noqa: ANN401
    """Write a class as files do: 1, 1.0 and True are the same."""
    text = {"true": "1", "false": "0"}.get(str(value).lower(), str(value))
    try:
        return f"{float(text):g}" if float(text) == float(f"{float(text):g}") else text
    except ValueError:
        return text


def _require_same(proper: Exchanged, view: PlainView, aims: Float64) -> None:
    """Refuse a tree whose leaves are empty, or say anything else than the people of the table who are in them."""
    leaf_of, n = view.reached(), len(view.tree.tests)
    sizes = np.bincount(leaf_of, minlength=n)
    at = np.array([test is None for test in view.tree.tests])
    sums = np.stack([np.bincount(leaf_of, aim, n) for aim in aims.T], axis=1)
    found = sums / np.maximum(sizes, 1)[:, None]
    scale = max(1.0, float(np.abs(aims).max(initial=0.0)))
    counted = view.tree.people != UNCOUNTED
    if (
        (sizes[at] == 0).any()
        or (sizes != view.tree.people)[counted].any()
        or np.abs(found - view.tree.says)[at].max(initial=0.0) > _CLOSE * scale
    ):
        fact = (
            f"The leaves of the {proper.format_} file say something else than the people of the table who are in them"
        )
        hint = (
            "give the table and the class that the model was fitted with; trees that were fitted with draws of rows, "
            "weights or after one another are audited as they were fitted, before they are exported"
        )
        raise SchemaError(fact, hint)


def tree_of(
    tests: Sequence[Test | None], below: Sequence[tuple[int, int]], says: Sequence[Any], people: Sequence[int] = ()
) -> PlainTree:
    """Return a tree whose nodes are all reached, each from one other."""
    reached = [child for test, pair in zip(tests, below, strict=True) if test is not None for child in pair]
    if sorted(reached) != list(range(1, len(tests))):
        fact = "A tree of the file has nodes that nobody can reach, or that are reached in two ways"
        raise IncompatibleError(fact, "export the model again, without anything added")
    counts = np.array(people or [UNCOUNTED] * len(tests), np.int64)
    return PlainTree(tuple(tests), tuple(below), np.asarray(says, np.float64), counts)
