"""How well the classifiers of a partition would do: cross-validated accuracy (DMPD, Procedure 2).

The fitness of a partition is the average, over folds, of the share of a fold's rows that `PartitionClassifier` gets
right after training on the other folds; 0 where the partial anonymity level is below k (Alg. 1, lines 12-14).

The same subset of features returns in thousands of partitions, and what its classifier says about a row does not depend
on the other parts. So the log probabilities of each subset's classifiers, each row by the fold that it was left out of,
are kept, and the fitness of a partition is one sum of arrays. Both ways give equal numbers: the sums are the same.

Cost: one inducer per fold for each subset that was not seen before; O(rows x classes x parts) per partition otherwise.
Memory: rows x classes x 8 bytes per subset, up to a limit; those not used for longest are forgotten, and made anew.

Where the paper is silent: (1) 5 folds, each with its share of every class; (2) a class that the other folds do not have
is not predicted.

Reference: Matatov, Rokach, Maimon: Privacy-preserving data mining: A feature set partitioning approach,
Information Sciences 2010, section 4.1.2.

>>> import polars as pl
>>> people = pl.DataFrame({"job": list("aabb") * 20, "town": list("xyxy") * 20})
>>> fitness = WrapperFitness(people, people["job"] == "a")
>>> fitness(()), fitness(((0,), (1,)))
(0.5, 1.0)
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.tree import BaseDecisionTree

from incrowd.errors import ParameterError
from incrowd.mining.columns import checked_classes, columns_of
from incrowd.mining.feature_codes import coder_of
from incrowd.mining.feature_search import Partition, partition_of
from incrowd.mining.levels import Levels
from incrowd.mining.partition_classifier import (
    Float64,
    Int64,
    PartitionClassifier,
    PartModel,
    combined,
    inducer_of,
    log_shares,
    stacked,
)

_GIBIBYTE = 2**30


class WrapperFitness:
    """Cross-validated accuracy of partitions, with what was learned about subsets of features kept.

    Parameters
    ----------
    X, y
        Training rows, numeric quasi-identifiers already in intervals, and their classes.
    levels, k
        Partitions whose partial level is below k have fitness 0; without levels none has.
    inducer
        As in `PartitionClassifier`.
    n_folds
        Number of folds; as many as there are rows, if those are fewer.
    seed
        Deals rows out to folds, and is given to an inducer without one.
    reuse
        Whether log probabilities are kept. Without, each partition is trained as a whole: slow and obvious.
    memory
        Bytes that they may take.

    Attributes
    ----------
    n_trained
        How many times subsets were trained, each on all folds.
    """

    def __init__(
        self,
        X: Any,  # noqa: ANN401
        y: Any,  # noqa: ANN401
        *,
        levels: Levels | None = None,
        k: int = 1,
        inducer: Any = None,  # noqa: ANN401
        n_folds: int = 5,
        seed: int = 0,
        reuse: bool = True,
        memory: int = _GIBIBYTE,
    ) -> None:
        self._columns = columns_of(PartitionClassifier(), X, reset=True)
        names, classes = np.unique(checked_classes(self._columns, y, "WrapperFitness"), return_inverse=True)
        if len(classes) < 2 or n_folds < 2:
            fact = f"There are {len(classes)} rows and {n_folds} folds"
            raise ParameterError(fact, "at least two of both are needed to train on some and test on others")
        self._classes = np.asarray(classes, np.int64)
        self._n_classes = len(names)
        self._levels, self._k = levels, k
        self._given, self._seed = inducer, seed
        self._inducer = inducer_of(inducer, seed)
        self._fold_of = dealt(self._classes, min(n_folds, len(classes)), seed)
        self._reuse, self._most_bytes = reuse, memory
        self._kept: OrderedDict[tuple[int, ...], Float64] = OrderedDict()
        self._coded: dict[tuple[int, int], tuple[Float64, Float64]] = {}
        self._log_prior, self._unseen = self._priors()
        self.n_trained = 0

    def __call__(self, parts: Partition) -> float:
        """Return the fitness of a partition (EvaluatePartitioning)."""
        parts = partition_of(parts)
        if self._levels is not None and self._levels.partial(parts) < self._k:
            return 0.0
        right = self._right(parts) if self._reuse else self._right_anew(parts)
        n_folds = int(self._fold_of.max()) + 1
        sizes = np.bincount(self._fold_of, minlength=n_folds)
        hits = np.bincount(self._fold_of[right], minlength=n_folds)
        return float((hits / sizes).mean())

    def _right(self, parts: Partition) -> npt.NDArray[np.bool_]:
        """Return which rows are classified right, from what is known of the parts."""
        scores = combined(self._log_prior, [self._log_probabilities(part) for part in parts])
        scores[self._unseen] = -np.inf
        return np.asarray(scores.argmax(axis=1) == self._classes)

    def _right_anew(self, parts: Partition) -> npt.NDArray[np.bool_]:
        """The same by the estimator itself."""
        right = np.zeros(len(self._classes), np.bool_)
        frame = pl.DataFrame(self._columns)
        for fold in range(int(self._fold_of.max()) + 1):
            inside = self._fold_of == fold
            rows, others = np.flatnonzero(inside), np.flatnonzero(~inside)
            model = PartitionClassifier(parts, inducer=self._given, random_state=self._seed)
            model.fit(frame[others], self._classes[others])
            right[rows] = model.predict(frame[rows]) == self._classes[rows]
            self.n_trained += len(parts) * (fold == 0)
        return right

    def _log_probabilities(self, part: tuple[int, ...]) -> Float64:
        """Return what the classifiers of a subset say about the rows that they were not trained on."""
        if part in self._kept:
            self._kept.move_to_end(part)
            return self._kept[part]
        self.n_trained += 1
        logs = np.zeros((len(self._classes), self._n_classes))
        for fold in range(int(self._fold_of.max()) + 1):
            inside = self._fold_of == fold
            seen, classes = np.unique(self._classes[~inside], return_inverse=True)
            coded = {m: self._code(m, fold) for m in part}
            model = PartModel(
                self._inducer, stacked({m: both[0] for m, both in coded.items()}, part), classes, len(seen)
            )
            numbers = stacked({m: both[1] for m, both in coded.items()}, part)
            logs[np.ix_(inside, seen)] = model.log_probabilities(numbers)
        self._kept[part] = logs
        while len(self._kept) > 1 and len(self._kept) * logs.nbytes > self._most_bytes:
            self._kept.popitem(last=False)
        return logs

    def _code(self, m: int, fold: int) -> tuple[Float64, Float64]:
        """Return a column in numbers as the other folds code it: of their rows, and of the fold's."""
        if (m, fold) not in self._coded:
            inside = self._fold_of == fold
            column, others = self._columns[m].filter(inside), self._columns[m].filter(~inside)
            _, classes = np.unique(self._classes[~inside], return_inverse=True)
            coder = coder_of(others, classes, ranks=isinstance(self._inducer, BaseDecisionTree))
            self._coded[m, fold] = coder.code(others), coder.code(column)
        return self._coded[m, fold]

    def _priors(self) -> tuple[Float64, npt.NDArray[np.bool_]]:
        """Return for each row the log shares of the classes in the other folds, and which do not occur there."""
        log_prior = np.zeros((len(self._classes), self._n_classes))
        unseen = np.ones(log_prior.shape, np.bool_)
        for fold in range(int(self._fold_of.max()) + 1):
            inside = self._fold_of == fold
            seen, classes = np.unique(self._classes[~inside], return_inverse=True)
            log_prior[np.ix_(inside, seen)] = log_shares(classes, len(seen))
            unseen[np.ix_(inside, seen)] = False
        return log_prior, unseen


def dealt(classes: Int64, n_folds: int, seed: int) -> Int64:
    """Deal rows out to folds, class by class and shuffled within each: no two folds differ by more than one row."""
    shuffled = np.random.default_rng(seed).permutation(len(classes))
    order = shuffled[np.argsort(classes[shuffled], kind="stable")]
    fold_of = np.empty(len(classes), np.int64)
    fold_of[order] = np.arange(len(classes)) % n_folds
    return fold_of
