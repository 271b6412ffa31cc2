"""C4.5's decision tree over coded columns: DMPD's own inducer.

Each node tests the column of highest gain ratio among those of at least average gain: a name by all its values, a
number at one threshold, which costs log2(thresholds) / rows of the gain. At least two branches have `min_rows` rows.
Subtrees that are not expected to be better than a leaf, at the upper limit of `confidence`, become leaves. The
probabilities of a leaf have Laplace's correction; a row whose value has no branch gets those of the node it ends at.

It takes rows with weights as so many equal rows, exactly. Cost: O(rows x columns) per level of the tree.

How it differs from Weka's J48: a missing number counts as the median, beside a column that says so, and is not shared
out among branches; subtrees are replaced by leaves and not raised.

Reference: Quinlan: C4.5: Programs for machine learning, Morgan Kaufmann 1993.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"job": list("aabbb") * 4, "age": [20, 30, 20, 40, 60] * 4})
>>> model = ic.PartitionClassifier(inducer=C45()).fit(people, list("+++--") * 4)
>>> model.predict(people[:5]).tolist()
['+', '+', '+', '-', '-']
"""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin

from incrowd.kernels.c45 import class_counts, node_of
from incrowd.kernels.domains import N_LEVELS, Domains
from incrowd.kernels.information import n_log_n
from incrowd.kernels.kactus import N_EXTRA, N_FIELDS, NONE, START, STOP, Growth, grow, prune

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]

_SLICE = 1 << 40


class C45(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """C4.5's tree. Columns of ranks from 0 are numbers; columns of names have -1, -2 and so on for their values.

    Parameters
    ----------
    min_rows
        Rows that at least two branches must have.
    confidence
        Of pruning: less prunes more; ``None`` does not prune.

    Attributes
    ----------
    classes_
        The classes in order.
    nodes_, counts_
        The tree as `incrowd.kernels.kactus` has it, and rows of each class at each node.
    """

    def __init__(self, min_rows: int = 2, confidence: float | None = 0.25) -> None:
        self.min_rows = min_rows
        self.confidence = confidence

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> C45:
        """Grow and prune.

        Parameters
        ----------
        X, y
            Coded rows, and the class of each.
        sample_weight
            Whole numbers: how many rows a row stands for.
        """
        coded = np.asarray(X)
        self.classes_, classes = np.unique(np.asarray(y), return_inverse=True)
        n, n_columns = coded.shape
        self.is_number_ = coded.min(axis=0) >= 0
        rows = np.empty((n, n_columns + N_EXTRA), np.int32)
        rows[:, :n_columns] = self._codes(coded)
        rows[:, n_columns] = classes
        rows[:, n_columns + 1] = 1 if sample_weight is None else np.asarray(sample_weight)
        rows[:, n_columns + 2] = np.arange(n)
        self.nodes_, n_classes = np.full((2 * n, N_FIELDS), NONE, np.int32), len(self.classes_)
        self.nodes_[0, START], self.nodes_[0, STOP] = 0, n
        most = int(rows[:, :n_columns].max(initial=0)) + 1
        growth = Growth(
            rows,
            spare=np.empty_like(rows),
            part=np.empty(n, np.int32),
            keys=np.empty(n, np.int64),
            sizes=np.empty(n, np.int64),
            histogram=np.empty(most * n_classes, np.int64),
            counts=np.zeros((2, n_classes), np.int64),
            gains=np.zeros((n_columns, 3), np.float64),
            logs=_logs(int(rows[:, n_columns + 1].sum())),
        )
        shape = np.zeros((n_columns, 5), np.int64)
        shape[:, N_LEVELS] = ~self.is_number_
        domains = Domains(shape, np.zeros((2, 0), np.int32), np.zeros(0))
        state = np.array([0, 1, 0], np.int64)
        grow(growth, self.nodes_, state, n_classes, int(self.min_rows), domains, _SLICE)
        self.nodes_ = self.nodes_[: state[1]].copy()
        if self.confidence is not None:
            prune(self.nodes_, float(self.confidence), NormalDist().inv_cdf(1 - self.confidence))
        self.counts_ = class_counts(rows, self.nodes_, n_classes)
        return self

    def predict_proba(self, X: npt.ArrayLike) -> Float64:
        """Return each class's probability, with Laplace's correction."""
        more = self.counts_[node_of(self._codes(np.asarray(X)), self.nodes_, self.is_number_)] + 1
        return np.asarray(more / more.sum(axis=1, keepdims=True), np.float64)

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the most likely class, of tied ones the first."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _codes(self, coded: npt.NDArray[Any]) -> Int32:
        """Return ranks as they are, and names numbered from 0."""
        whole = coded.astype(np.int32)
        return np.ascontiguousarray(np.where(self.is_number_, whole, -1 - whole))


@lru_cache(maxsize=16)
def _logs(n: int) -> Float64:
    return n_log_n(n)
