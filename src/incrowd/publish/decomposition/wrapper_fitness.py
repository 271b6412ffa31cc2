"""How well the classifiers of a partition would do: cross-validated accuracy (DMPD, Procedure 2).

The fitness of a partition is the average, over folds, of the share of a fold's rows that `PartitionClassifier` gets
right after training on the other folds; 0 where the partial anonymity level is below k (Alg. 1, lines 12-14).

The same subset of features returns in thousands of partitions, and what its classifier says about a row does not depend
on the other parts. So the log probabilities of each subset's classifiers, each row by the fold that it was left out of,
are kept, and the fitness of a partition is one sum of arrays. Both ways give equal numbers: the sums are the same.
Rows that agree on a subset are one row for its classifier, with a weight, where that makes no difference to it.

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
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.errors import ParameterError
from incrowd.learn.columns import checked_classes, columns_of
from incrowd.publish.decomposition.feature_codes import coder_of
from incrowd.publish.decomposition.feature_search import Partition, partition_of
from incrowd.publish.decomposition.levels import Levels
from incrowd.publish.decomposition.partition_classifier import (
    Float64,
    Int64,
    PartitionClassifier,
    PartModel,
    combined,
    for_weighted_rows,
    inducer_of,
    log_shares,
)

_GIBIBYTE = 2**30
_FEW_CELLS = 4  # per row, that may be listed instead of sorting rows


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
        n_folds = min(n_folds, len(classes))
        self._fold_of = assign_folds(self._classes, n_folds, seed)
        self._reuse, self._most_bytes = reuse, memory
        self._kept: OrderedDict[tuple[int, ...], Float64] = OrderedDict()
        self._values = [_distinct(column) for column in self._columns]
        self._coded: dict[tuple[int, int], Float64] = {}
        self._folds = [_Fold(self._classes, self._fold_of == fold, self._inducer) for fold in range(n_folds)]
        self._sizes = np.bincount(self._fold_of, minlength=n_folds)
        self._log_prior, self._unseen = self._priors()
        self.n_trained = 0

    def __call__(self, parts: Partition) -> float:
        """Return the fitness of a partition (EvaluatePartitioning)."""
        parts = partition_of(parts)
        if self._levels is not None and self._levels.partial(parts) < self._k:
            return 0.0
        right = self._right(parts) if self._reuse else self._right_anew(parts)
        hits = np.bincount(self._fold_of[right], minlength=len(self._folds))
        return float((hits / self._sizes).mean())

    def _right(self, parts: Partition) -> npt.NDArray[np.bool_]:
        """Return which rows are classified right, from what is known of the parts."""
        scores = combined(self._log_prior, [self._log_probabilities(part) for part in parts])
        if self._unseen is not None:
            scores[self._unseen] = -np.inf
        best = scores[1] > scores[0] if len(scores) == 2 else scores.argmax(axis=0)
        return np.asarray(best == self._classes)

    def _right_anew(self, parts: Partition) -> npt.NDArray[np.bool_]:
        """The same by the estimator itself."""
        right = np.zeros(len(self._classes), np.bool_)
        frame = pl.DataFrame(self._columns)
        for i, fold in enumerate(self._folds):
            model = PartitionClassifier(parts, inducer=self._given, random_state=self._seed)
            model.fit(frame[fold.others], self._classes[fold.others])
            right[fold.rows] = model.predict(frame[fold.rows]) == self._classes[fold.rows]
            self.n_trained += len(parts) * (i == 0)
        return right

    def _log_probabilities(self, part: tuple[int, ...]) -> Float64:
        """Return what a subset's classifiers say about rows that they were not trained on, [classes x rows]."""
        if part in self._kept:
            self._kept.move_to_end(part)
            return self._kept[part]
        self.n_trained += 1
        logs = np.zeros((self._n_classes, len(self._classes)))
        groups, first = self._groups(part)
        for i, fold in enumerate(self._folds):
            coded = [self._code(m, i)[self._values[m].codes[first]] for m in part]
            numbers = np.hstack(coded)
            if fold.for_weighted_rows is None:
                model = PartModel(self._inducer, numbers[groups[fold.others]], fold.classes, len(fold.seen))
            else:
                cells = groups[fold.others] * len(fold.seen) + fold.classes
                counts = np.bincount(cells, minlength=len(first) * len(fold.seen))
                used = np.flatnonzero(counts)
                which, classes = np.divmod(used, len(fold.seen))
                model = PartModel(
                    fold.for_weighted_rows, numbers[which], classes, len(fold.seen), counts[used].astype(np.float64)
                )
            logs[np.ix_(fold.seen, fold.rows)] = model.log_probabilities(numbers).T[:, groups[fold.rows]]
        self._kept[part] = logs
        while len(self._kept) > 1 and len(self._kept) * logs.nbytes > self._most_bytes:
            self._kept.popitem(last=False)
        return logs

    def _groups(self, part: tuple[int, ...]) -> tuple[Int64, Int64]:
        """Return the group of each row, that agree on a subset, and a row of each group."""
        groups, n_groups = np.zeros(len(self._classes), np.int64), 1
        first = np.zeros(1, np.int64)
        for m in part:
            column = self._values[m]
            n_cells = n_groups * len(column.values)
            cells = groups * len(column.values) + column.codes
            if n_cells > _FEW_CELLS * len(groups):
                _, first, groups = np.unique(cells, return_index=True, return_inverse=True)
            else:  # the same without sorting
                a_row = np.full(n_cells, -1)
                a_row[cells] = np.arange(len(cells))
                used = np.flatnonzero(a_row >= 0)
                first, place = a_row[used], np.zeros(n_cells, np.int64)
                place[used] = np.arange(len(used))
                groups = place[cells]
            n_groups = len(first)
        return groups, first

    def _code(self, m: int, fold: int) -> Float64:
        """Return the distinct values of a column in numbers, as the rows outside a fold code them."""
        if (m, fold) not in self._coded:
            others, classes = self._folds[fold].others, self._folds[fold].classes
            coder = coder_of(self._columns[m].gather(others), classes, self._inducer)
            self._coded[m, fold] = coder.code(self._values[m].values)
        return self._coded[m, fold]

    def _priors(self) -> tuple[Float64, npt.NDArray[np.bool_] | None]:
        """Return for each row the log shares of the classes in the other folds, and which do not occur there."""
        log_prior = np.zeros((self._n_classes, len(self._classes)))
        unseen = np.ones(log_prior.shape, np.bool_)
        for fold in self._folds:
            log_prior[np.ix_(fold.seen, fold.rows)] = log_shares(fold.classes, len(fold.seen))[:, np.newaxis]
            unseen[np.ix_(fold.seen, fold.rows)] = False
        return log_prior, unseen if unseen.any() else None


class _Fold:
    """Rows of a fold, the other rows, and the classes that these have, renumbered."""

    def __init__(self, classes: Int64, inside: npt.NDArray[np.bool_], inducer: Any) -> None:  # noqa: ANN401
        self.rows, self.others = np.flatnonzero(inside), np.flatnonzero(~inside)
        self.seen, self.classes = np.unique(classes[self.others], return_inverse=True)
        self.for_weighted_rows = for_weighted_rows(inducer, len(self.others))


@dataclass(frozen=True)
class _Distinct:
    values: pl.Series
    codes: Int64


def _distinct(column: pl.Series) -> _Distinct:
    """Return the distinct values of a column, and the number of each row's."""
    values = column.unique(maintain_order=True)
    places = pl.Series(np.arange(len(values)))
    return _Distinct(values, column.replace_strict(values, places, return_dtype=pl.Int64()).to_numpy())


def assign_folds(classes: Int64, n_folds: int, seed: int) -> Int64:
    """Deal rows out to folds, class by class and shuffled within each: no two folds differ by more than one row."""
    shuffled = np.random.default_rng(seed).permutation(len(classes))
    order = shuffled[np.argsort(classes[shuffled], kind="stable")]
    fold_of = np.empty(len(classes), np.int64)
    fold_of[order] = np.arange(len(classes)) % n_folds
    return fold_of
