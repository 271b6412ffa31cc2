"""One classifier per part of the features, combined as naive Bayes combines features (DMPD, Procedure 3).

Each part is a projection of the table that is published with the class, and the rows of different projections cannot
be put together again. So an inducer learns from each projection alone, and a class c is scored by Eq. (1):

    P(c | part 1) x ... x P(c | part w) / P(c)^(w - 1)

which is right if the parts are independent given the class. Sums of logarithms are used. Without any part the most
frequent class is predicted; with one part this is the inducer itself.

This estimator promises nothing about privacy: that is a matter of the parts, see `levels`.

Where the paper is silent: (1) Laplace's correction of a leaf is (count + 1) / (rows + classes), with counts of training
rows; an inducer that is not a single decision tree gives its own probabilities; (2) P(c) is the share of training rows,
as in section 4.2, without correction; (3) a probability of 0 counts as the smallest positive number; (4) of tied
classes the first is predicted; (5) `predict_proba` scales the scores of Eq. (1) to 1; (6) how columns that are not
numbers are coded is told in `feature_codes`; (7) the paper used C4.5; the default here is scikit-learn's
tree by entropy, pruned by size: a leaf has at least 5 rows and a split lowers the entropy of the whole by 0.0005.

Reference: Matatov, Rokach, Maimon: Privacy-preserving data mining: A feature set partitioning approach,
Information Sciences 2010, section 4.1.3.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"job": list("aaaaabbbbb") * 2, "town": list("xxxxx") * 2 + list("yyyyy") * 2, "age": 20})
>>> risk = ["low"] * 12 + ["high"] * 8
>>> model = ic.PartitionClassifier(parts=[["job"], ["town", "age"]]).fit(people, risk)
>>> model.predict(people[[0, 19]]).tolist()
['low', 'high']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import logsumexp
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from incrowd import io
from incrowd.errors import ParameterError
from incrowd.learn.c45 import C45
from incrowd.learn.columns import Column, checked_classes, columns_of, numbers_of
from incrowd.learn.naive_bayes import NaiveBayes
from incrowd.publish.decomposition.feature_codes import coder_of
from incrowd.publish.decomposition.feature_search import partition_of
from incrowd.schema.schema import require_columns

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]

_LEAST = float(np.finfo(np.float64).tiny)


class PartitionClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifiers of disjoint parts of the features, combined by Eq. (1).

    Parameters
    ----------
    parts
        Disjoint lists of columns, by name or number; columns in none are not used. ``None`` is one part of all columns.
    inducer
        Any scikit-learn classifier with `predict_proba`, the same for all parts; by default a decision tree.
    random_state
        Given to an inducer that has one and does not say what it is.

    Attributes
    ----------
    classes_
        The classes in order.
    parts_
        The parts by number of column.
    models_
        The classifier of each part.
    """

    def __init__(
        self,
        parts: Iterable[Iterable[Column]] | None = None,
        *,
        inducer: Any = None,  # noqa: ANN401
        random_state: int | None = 0,
    ) -> None:
        self.parts = parts
        self.inducer = inducer
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    _names: list[str] | None  # of columns that are found by name: after `fit_projections`
    _prepare: Callable[[Any], pl.DataFrame] | None

    def fit(self, X: Any, y: Any) -> PartitionClassifier:  # noqa: ANN401
        """Train one classifier per part.

        Parameters
        ----------
        X
            An array, or a polars, pandas or pyarrow frame: one row per person.
        y
            The class of each person.
        """
        self._names, self._prepare = None, None
        columns = columns_of(self, X, reset=True)
        self.classes_, classes = np.unique(checked_classes(columns, y, type(self).__name__), return_inverse=True)
        self.parts_ = self._numbered([column.name for column in columns])
        inducer = inducer_of(self.inducer, self.random_state)
        used = {m for part in self.parts_ for m in part}
        self._coders = {m: coder_of(columns[m], classes, inducer) for m in used}
        self._log_prior = log_shares(classes, len(self.classes_))
        self.models_ = []
        coded = self._coded(columns)
        for part in self.parts_:
            self.models_.append(PartModel(inducer, stacked(coded, part), classes, len(self.classes_)))
        return self

    def fit_projections(
        self, frames: Sequence[Any], target: str, *, prepare: Callable[[Any], pl.DataFrame] | None = None
    ) -> PartitionClassifier:
        """Train one classifier per projection: rows of different projections need not belong together.

        Parameters
        ----------
        frames
            Frames that each have the class and other columns of their own; these are the parts, whatever `parts` is.
        target
            Name of the class.
        prepare
            Turns the rows of later predictions into columns like those of the frames. The columns are found by name.
        """
        tables = [io.to_polars(frame) for frame in frames]
        features = [table.drop(target).columns for table in tables]
        names = [name for part in features for name in part]
        self._names, self._prepare = names, prepare
        self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, object)
        self.classes_ = np.unique(tables[0][target].to_numpy())
        self.parts_ = [[names.index(name) for name in part] for part in features if part]
        inducer = inducer_of(self.inducer, self.random_state)
        self._coders, self.models_ = {}, []
        for table, part in zip(tables, features, strict=True):
            seen, classes = np.unique(table[target].to_numpy(), return_inverse=True)
            if seen.tolist() != self.classes_.tolist():
                fact = "The projections do not have the same classes"
                raise ParameterError(fact, "take the projections of one release")
            self._log_prior = log_shares(classes, len(seen))
            own = {names.index(name): coder_of(table[name], classes, inducer) for name in part}
            if own:
                coded = np.hstack([coder.code(table[names[m]]) for m, coder in own.items()])
                self.models_.append(PartModel(inducer, coded, classes, len(seen)))
            self._coders |= own
        return self

    def predict_log_proba(self, X: Any) -> Float64:  # noqa: ANN401
        """Return the logarithm of each class's probability."""
        scores = self._scores(X)
        return np.asarray(scores - logsumexp(scores, axis=1, keepdims=True), np.float64)

    def predict_proba(self, X: Any) -> Float64:  # noqa: ANN401
        """Return the scores of Eq. (1), scaled to 1."""
        shares = np.exp(self.predict_log_proba(X))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True), np.float64)

    def predict(self, X: Any) -> npt.NDArray[Any]:  # noqa: ANN401
        """Return the class with the highest score, of tied ones the first."""
        scores = self._scores(X)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def _scores(self, X: Any) -> Float64:  # noqa: ANN401
        check_is_fitted(self)
        columns, n_rows = self._columns(X)
        coded = self._coded(columns)
        logs = [
            model.log_probabilities(stacked(coded, part)) for model, part in zip(self.models_, self.parts_, strict=True)
        ]
        return combined(np.tile(self._log_prior, (n_rows, 1)), logs)

    def _columns(self, X: Any) -> tuple[list[pl.Series], int]:  # noqa: ANN401
        if self._names is None:
            columns = columns_of(self, X, reset=False)
            return columns, len(columns[0])
        frame = io.to_polars(X)
        shown = frame if self._prepare is None else self._prepare(frame)
        require_columns(self._names, shown.columns)
        return [shown[name] for name in self._names], frame.height

    def _coded(self, columns: Sequence[pl.Series]) -> dict[int, Float64]:
        return {m: coder.code(columns[m]) for m, coder in self._coders.items()}

    def _numbered(self, names: list[str]) -> list[list[int]]:
        if self.parts is None:
            return [list(range(len(names)))]
        if isinstance(self.parts, str) or any(isinstance(part, str) for part in self.parts):
            fact = f"parts is {self.parts!r}"
            raise ParameterError(fact, "use a list of lists of columns: [['age', 'sex'], ['job']]")
        parts = [numbers_of(part, names, "parts") for part in self.parts]
        if any(not part for part in parts):
            fact = "parts has a part without columns"
            raise ParameterError(fact, "leave it out; [] is the partition without parts")
        partition_of(parts)
        return parts


class PartModel:
    """An inducer trained on one part, and what it thinks of the classes.

    Parameters
    ----------
    inducer
        A classifier, which is copied.
    numbers, classes
        Coded training rows, and their classes from 0 to ``n_classes - 1``, all of which occur.
    weights
        How many people each row stands for, if not one.
    """

    def __init__(
        self,
        inducer: Any,  # noqa: ANN401
        numbers: Float64,
        classes: Int64,
        n_classes: int,
        weights: Float64 | None = None,
    ) -> None:
        weighted = {} if weights is None else {"sample_weight": weights}
        self._log_leaves: Float64 | None = None
        if not isinstance(inducer, BaseDecisionTree):
            new = copy(inducer) if isinstance(inducer, C45 | NaiveBayes) else clone(inducer)
            self.classifier = new.fit(numbers, classes, **weighted)
            return
        self.classifier = clone(inducer) if isinstance(inducer.random_state, np.random.RandomState) else copy(inducer)
        coded = _for_trees(numbers)
        with config_context(skip_parameter_validation=True):  # checking takes longer than learning from a small table
            self.classifier.fit(coded, classes, check_input=False, **weighted)
        tree = self.classifier.tree_
        cells = tree.apply(coded) * n_classes + classes
        counts = np.bincount(cells, weights, minlength=tree.node_count * n_classes)
        self._log_leaves = np.log(laplace(counts.reshape(tree.node_count, n_classes)))

    def log_probabilities(self, numbers: Float64) -> Float64:
        """Return the logarithm of each class's probability, [rows x classes]."""
        if self._log_leaves is not None:
            return np.asarray(self._log_leaves[self.classifier.tree_.apply(_for_trees(numbers))], np.float64)
        shares = np.asarray(self.classifier.predict_proba(numbers), np.float64)
        return np.log(np.maximum(shares, _LEAST))


def for_weighted_rows(inducer: Any, n_rows: int) -> Any:  # noqa: ANN401
    """Return the inducer that learns from distinct rows with weights what this one learns from all `n_rows`.

    ``None`` if there is none. A limit on the rows of a leaf becomes one on their weight; nothing else may count rows.
    """
    if isinstance(inducer, C45 | NaiveBayes):
        return inducer
    if type(inducer) is not DecisionTreeClassifier:
        return None
    given = inducer.get_params()
    least, plain = given["min_samples_leaf"], DecisionTreeClassifier().get_params()
    same = ("splitter", "min_samples_split", "min_weight_fraction_leaf", "max_features", "class_weight")
    if not isinstance(least, int) or least > n_rows / 2 or any(given[name] != plain[name] for name in same):
        return None
    return clone(inducer).set_params(min_samples_leaf=1, min_weight_fraction_leaf=least * (1 - 1e-9) / n_rows)


def _for_trees(numbers: Float64) -> npt.NDArray[np.float32]:
    """Return numbers as scikit-learn's trees keep them."""
    most = np.finfo(np.float32).max
    return np.ascontiguousarray(np.clip(numbers, -most, most), np.float32)


def laplace(counts: npt.ArrayLike) -> Float64:
    """Return class shares of leaves with Laplace's correction: one more row of each class.

    >>> laplace([[1, 2], [9, 1]]).round(3).tolist()
    [[0.4, 0.6], [0.833, 0.167]]
    """
    more = np.asarray(counts, np.float64) + 1
    return np.asarray(more / more.sum(axis=-1, keepdims=True), np.float64)


def combined(log_prior: Float64, logs: Sequence[Float64]) -> Float64:
    """Return the logarithm of Eq. (1) from the parts' log probabilities, added in their order.

    Parameters
    ----------
    log_prior
        Of each class, [rows x classes].
    logs
        Of each part, the same shape.
    """
    total = np.zeros_like(log_prior)
    for log in logs:
        total += log
    return np.asarray(total - (len(logs) - 1) * log_prior, np.float64)


def log_shares(classes: Int64, n_classes: int) -> Float64:
    """Return the logarithm of P(c): shares of classes that all occur."""
    return np.log(np.bincount(classes, minlength=n_classes) / len(classes))


def stacked(coded: dict[int, Float64], part: Iterable[int]) -> Float64:
    """Return the columns of a part side by side."""
    return np.hstack([coded[m] for m in part])


def inducer_of(inducer: Any, random_state: int | None) -> Any:  # noqa: ANN401
    """Return the inducer to use: a decision tree if none is given, seeded if it is not."""
    if inducer is None:
        return DecisionTreeClassifier(
            criterion="entropy", min_samples_leaf=5, min_impurity_decrease=0.0005, random_state=random_state
        )
    if isinstance(inducer, type):
        fact = f"inducer is the class {inducer.__name__}"
        raise ParameterError(fact, f"use a classifier: {inducer.__name__}()")
    if not hasattr(inducer, "predict_proba"):
        fact = f"inducer is {type(inducer).__name__}, which has no predict_proba"
        raise ParameterError(fact, "use a classifier that gives probabilities, or calibrate it")
    inducer = clone(inducer)
    if "random_state" in inducer.get_params() and inducer.get_params()["random_state"] is None:
        inducer.set_params(random_state=random_state)
    return inducer
