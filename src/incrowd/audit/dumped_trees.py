"""Trees of other libraries, as they stand in files: what they test, and what they say about their nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from incrowd.audit import trees
from incrowd.audit.inputs import Inputs

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

LEAF = -1


@dataclass(frozen=True)
class DumpedTree:
    """One tree of a file.

    Attributes
    ----------
    feature, threshold, left, right
        Its tests and what is below them; leaves have no nodes below.
    rule
        How a test compares to go left: "<" in single precision, "<=" in double.
    missing
        Bit 0: missing goes left; 1: a missing value counts as 0; 2: so it is with zero. (LightGBM's three kinds.)
    value
        What each node predicts; inner nodes of XGBoost before they are shrunk.
    people
        Number of people of each node, if the file counts them.
    weight
        Sum of second derivatives of each node.
    gain
        What each split gains.
    """

    feature: Int64
    threshold: Float64
    left: Int64
    right: Int64
    rule: str
    missing: Int64
    value: Float64
    people: Int64 | None
    weight: Float64
    gain: Float64


@dataclass(frozen=True)
class Dump:
    """The trees of a file.

    Attributes
    ----------
    objective
        What is predicted: two classes, classes, or a number.
    start
        What boosting begins with, if the file says it.
    names
        Names of the columns, if they have any.
    ranges
        Smallest and largest value of each column, if the file has them.
    """

    library: str
    objective: str
    start: tuple[float, ...] | None
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
        return np.array([] if left == LEAF else [left, self.tree.right[node]], np.int64)

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
        return trees.leaves_reached(self, np.arange(self.inputs.n_people))
