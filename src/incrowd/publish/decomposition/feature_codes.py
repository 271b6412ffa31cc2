"""Columns of any kind as the numbers that scikit-learn's classifiers take; learned from training rows only.

A number is itself, and a date its day; where it is missing it is the training rows' median, and a second column says
so if training rows had missing values. Anything else is a value among values, a missing one too. For decision trees
it is the rank of its value by the share of the class that comes last in order (with more than two classes: of the
most frequent one), so that a threshold parts the values as a subset test would; an unseen value is put where the
average share is. For `NaiveBayes` it is the number of its value, and a number that of its interval, the intervals
being those in which the classes come apart. For `C45` it is -1, -2 and so on, and a number is its rank. For all other
inducers it is one column per value, and an unseen value is none of them.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.tree import BaseDecisionTree

from incrowd.coding import clean
from incrowd.hierarchy.hierarchy import type_of
from incrowd.learn.c45 import C45
from incrowd.learn.naive_bayes import NaiveBayes
from incrowd.publish.decomposition.discretize import mdl_cuts
from incrowd.release.intervals import in_intervals

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]

_MICROSECONDS_PER_DAY = 86_400_000_000


class Coder(Protocol):
    """Turns a column into numbers, [rows x some columns]."""

    def code(self, column: pl.Series) -> Float64:
        """Return the numbers of a column."""


def coder_of(column: pl.Series, classes: Int64, inducer: Any) -> Coder:  # noqa: ANN401
    """Learn how to code a column for an inducer, from training rows and their classes."""
    values = clean(column, None, None, ())
    if isinstance(inducer, NaiveBayes):
        return _Codes(values, classes)
    if isinstance(inducer, C45):
        return _NumberRanks(values) if type_of(values) in ("int", "float", "date") else _Names(values)
    if type_of(values) in ("int", "float", "date"):
        return _Number(values)
    return _Ranks(values, classes) if isinstance(inducer, BaseDecisionTree) else _OneHot(values)


class _Number:
    def __init__(self, values: pl.Series) -> None:
        numbers = _floats(values)
        known = numbers[~np.isnan(numbers)]
        self._fill = float(np.median(known)) if len(known) else 0.0
        self._tells_missing = len(known) < len(numbers)

    def code(self, column: pl.Series) -> Float64:
        numbers = _floats(clean(column, None, None, ()))
        missing = np.isnan(numbers)
        filled = np.where(missing, self._fill, numbers)
        return np.column_stack([filled, missing]) if self._tells_missing else filled[:, np.newaxis]


class _OneHot:
    def __init__(self, values: pl.Series) -> None:
        self._place_of = {name: place for place, name in enumerate(_texts(values).unique().sort().to_list())}

    def code(self, column: pl.Series) -> Float64:
        places = _places(column, self._place_of)
        return np.asarray(places[:, np.newaxis] == np.arange(len(self._place_of)), np.float64)


class _Ranks:
    def __init__(self, values: pl.Series, classes: Int64) -> None:
        counts = np.bincount(classes)
        of_class = (classes == (len(counts) - 1 if len(counts) == 2 else counts.argmax())).astype(np.float64)
        shares = (
            pl.DataFrame({"value": _texts(values), "share": of_class})
            .group_by("value")
            .agg(pl.col("share").sum() / pl.len())
            .sort("share", "value")
        )
        self._place_of = {name: place for place, name in enumerate(shares["value"].to_list())}
        self._unseen = float(np.abs(shares["share"].to_numpy() - of_class.mean()).argmin())

    def code(self, column: pl.Series) -> Float64:
        places = _places(column, self._place_of)
        return np.where(places < 0, self._unseen, places.astype(np.float64))[:, np.newaxis]


class _Names:
    def __init__(self, values: pl.Series) -> None:
        found = _texts(values).unique().sort().to_list()
        self._place_of = {name: -1 - place for place, name in enumerate(found)}

    def code(self, column: pl.Series) -> Float64:
        texts = _texts(clean(column, None, None, ()))
        places = texts.replace_strict(self._place_of, default=-1 - len(self._place_of), return_dtype=pl.Int64())
        return places.to_numpy().astype(np.float64)[:, np.newaxis]


class _NumberRanks:
    def __init__(self, values: pl.Series) -> None:
        self._number = _Number(values)
        self._values = np.unique(self._number.code(values)[:, 0])

    def code(self, column: pl.Series) -> Float64:
        numbers = self._number.code(column)
        # A threshold is a value of the training rows: a number between two of them is on the side of the upper one.
        numbers[:, 0] = np.searchsorted(self._values, numbers[:, 0], side="left")
        numbers[:, 1:] = -1 - numbers[:, 1:]
        return numbers


class _Codes:
    def __init__(self, values: pl.Series, classes: Int64) -> None:
        self._cuts = None
        if type_of(values) in ("int", "float", "date"):
            self._cuts = mdl_cuts(pl.Series(_floats(values)).fill_nan(None), pl.Series(classes))
        found = self._names(values).unique().sort().to_list()
        self._place_of = {name: place for place, name in enumerate(found)}

    def code(self, column: pl.Series) -> Float64:
        places = self._names(clean(column, None, None, ())).replace_strict(
            self._place_of, default=-1, return_dtype=pl.Int64()
        )
        return places.to_numpy().astype(np.float64)[:, np.newaxis]

    def _names(self, values: pl.Series) -> pl.Series:
        if self._cuts is None:
            return _texts(values)
        return in_intervals(pl.Series(_floats(values)).fill_nan(None), self._cuts)


def _floats(values: pl.Series) -> Float64:
    if type_of(values) == "date":
        days = values.cast(pl.Datetime("us")).to_physical().cast(pl.Float64()) / _MICROSECONDS_PER_DAY
        return days.to_numpy().astype(np.float64)
    return values.cast(pl.Float64()).to_numpy().astype(np.float64)


def _texts(values: pl.Series) -> pl.Series:
    return values.cast(pl.String())


def _places(column: pl.Series, place_of: dict[str | None, int]) -> Int64:
    texts = _texts(clean(column, None, None, ()))
    places = texts.replace_strict(place_of, default=-1, return_dtype=pl.Int64())
    return np.asarray(places.to_numpy(), np.int64)
