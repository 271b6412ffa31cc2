"""Naive Bayes over names: a fast inducer for DMPD.

A class is scored by its share times the shares of the row's values within it, each with Laplace's correction:
(rows of the class with the value + 1) / (rows of the class + values). A value that training rows do not have says
nothing. Given to `PartitionClassifier`, numbers are names too: the intervals in which the classes come apart (MDL,
as everything that DMPD cuts), learned from training rows only; Weka's naive Bayes does so with its option -D.

With this inducer Eq. (1) of DMPD is the same product whichever parts the columns are in, so a search for a partition is
a search for columns. Cost: O(rows x columns).

Reference: Dougherty, Kohavi, Sahami: Supervised and unsupervised discretization of continuous features, ICML 1995.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"job": list("aaabbb"), "town": list("xxyxyy")})
>>> model = ic.PartitionClassifier([["job"], ["town"]], inducer=NaiveBayes()).fit(people, list("++++--"))
>>> model.predict_proba(people[[0]]).round(3).tolist()
[[0.934, 0.066]]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin

Float64 = npt.NDArray[np.float64]


class NaiveBayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Naive Bayes; its columns are whole numbers from 0 that stand for values, and -1 for one that is not known.

    Attributes
    ----------
    classes_
        The classes in order.
    log_shares_
        Of each column the logarithms of its values' shares, [values x classes]; the last row is of unknown ones.
    """

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> NaiveBayes:
        """Count.

        Parameters
        ----------
        X, y
            Values by number, [rows x columns], and the class of each row.
        sample_weight
            How many rows a row stands for.
        """
        codes = np.asarray(X).astype(np.int64)
        self.classes_, classes = np.unique(np.asarray(y), return_inverse=True)
        n_classes = len(self.classes_)
        weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        sizes = np.bincount(classes, weights, minlength=n_classes)
        self.log_prior_ = np.log(sizes / sizes.sum())
        self.log_shares_ = []
        for column in codes.T:
            n_values = max(int(column.max()) + 1, 0)
            # The number -1 shares a place with nobody: it is counted in a row of its own, which is then forgotten.
            cells = (column + 1) * n_classes + classes
            counts = np.bincount(cells, weights, minlength=(n_values + 1) * n_classes).reshape(-1, n_classes)[1:]
            shares = np.log((counts + 1) / (counts.sum(axis=0) + n_values))
            self.log_shares_.append(np.vstack([shares, np.zeros(n_classes)]))
        return self

    def predict_proba(self, X: npt.ArrayLike) -> Float64:
        """Return each class's probability."""
        scores = self._scores(X)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True), np.float64)

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the most likely class, of tied ones the first."""
        return np.asarray(self.classes_[self._scores(X).argmax(axis=1)])

    def _scores(self, X: npt.ArrayLike) -> Float64:
        codes = np.asarray(X).astype(np.int64)
        scores = np.tile(self.log_prior_, (len(codes), 1))
        for column, shares in zip(codes.T, self.log_shares_, strict=True):
            known = np.where((column >= 0) & (column < len(shares) - 1), column, len(shares) - 1)
            scores += shares[known]
        return scores
