"""Rows as classifiers see them: numbers, and one column per value of a name.

scikit-learn's learners get the matrix; Weka gets the rows themselves where there are any. The columns of the matrix are
found in the training rows: a test row's name that is not among them has zeros, which says nothing; a missing number is
the average, beside a column that says so if training rows lack some too. Of a name with very many values the rare
ones share a column. Dates are numbers of days.

>>> train = pl.DataFrame({"age": [20, 40], "town": ["x", "y"]})
>>> Encoding.of(train).encode(pl.DataFrame({"age": [30, None], "town": ["y", "z"]})).X.tolist()
[[30.0, 0.0, 1.0], [30.0, 0.0, 0.0]]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.hierarchy.hierarchy import as_leaves, convert, type_of

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

_MOST_VALUES = 255  # that have a column of their own


@dataclass(frozen=True)
class Block:
    """The columns of one attribute: of a number one, or two if it can be missing; of a name one per value."""

    name: str
    width: int
    is_number: bool


@dataclass(frozen=True)
class Features:
    """Rows without their class.

    Attributes
    ----------
    X
        Numbers, [rows x columns].
    blocks
        Which columns belong together, in their order.
    frame
        The rows themselves; ``None`` if they are not concrete.
    """

    X: Floats
    blocks: tuple[Block, ...]
    frame: pl.DataFrame | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.X)

    def without(self, name: str) -> Features:
        """Return the rows without one of their columns."""
        kept = np.repeat([block.name != name for block in self.blocks], [block.width for block in self.blocks])
        blocks = tuple(block for block in self.blocks if block.name != name)
        return Features(self.X[:, kept], blocks, None if self.frame is None else self.frame.drop(name, strict=False))

    def is_number(self) -> npt.NDArray[np.bool_]:
        """Tell which columns of the matrix are numbers themselves, not whether one is missing."""
        firsts = np.cumsum([0, *(block.width for block in self.blocks)])
        found = np.zeros(firsts[-1], np.bool_)
        found[[at for at, block in zip(firsts, self.blocks, strict=False) if block.is_number]] = True
        return found


@dataclass(frozen=True)
class Examples:
    """Rows with their class: what a classifier is trained with.

    Attributes
    ----------
    labels
        Number of each row's class.
    n_classes
        Number of classes that there are, among these rows or not.
    weights
        How much each row counts; ``None`` is the same for all.
    """

    features: Features
    labels: Labels
    n_classes: int
    weights: Floats | None = None

    def shares(self) -> Floats:
        """Return the share of each class."""
        counts = np.bincount(self.labels, self.weights, minlength=self.n_classes)
        return np.asarray(counts / counts.sum(), np.float64)


@dataclass(frozen=True)
class Column:
    """How one attribute becomes numbers.

    Attributes
    ----------
    values
        Values that have a column; ``None`` for numbers and dates.
    rare
        Values that share one more.
    can_miss
        Whether a number has a column that tells when it is missing.
    average
        What a missing number counts as.
    """

    name: str
    kind: str
    values: pl.Series | None = None
    rare: pl.Series | None = None
    can_miss: bool = False
    average: float = 0.0

    @classmethod
    def of(cls, name: str, values: pl.Series, counts: npt.NDArray[np.int64] | Floats) -> Column:
        """Find the columns of an attribute from its distinct values and how often each occurs."""
        kind = type_of(values)
        if kind in ("str", "bool"):
            if len(values) <= _MOST_VALUES:
                return cls(name, kind, values)
            frequent = np.sort(np.argsort(-counts, kind="stable")[:_MOST_VALUES])
            rest = np.setdiff1d(np.arange(len(values)), frequent)
            return cls(name, kind, values.gather(frequent), values.gather(rest))
        numbers = values.to_physical().cast(pl.Float64()).to_numpy()
        known = ~np.isnan(numbers) & (counts > 0)
        average = float(np.average(numbers[known], weights=counts[known])) if known.any() else 0.0
        return cls(name, kind, can_miss=bool((counts[np.isnan(numbers)] > 0).any()), average=average)

    @property
    def block(self) -> Block:
        """The columns of the matrix."""
        if self.values is None:
            return Block(self.name, 1 + self.can_miss, is_number=True)
        return Block(self.name, len(self.values) + (self.rare is not None), is_number=False)

    def encode(self, values: pl.Series, out: Floats) -> None:
        """Write values into their columns."""
        if self.values is None:
            numbers = convert(as_leaves(values), self.kind if self.kind == "date" else "float")
            found = numbers.to_physical().cast(pl.Float64()).to_numpy()
            missing = np.isnan(found)
            out[:, 0] = np.where(missing, self.average, found)
            if self.can_miss:
                out[:, 1] = missing
            return
        at = self.places(values)
        rows = np.flatnonzero(at >= 0)
        out[rows, at[rows]] = 1

    def places(self, values: pl.Series) -> Labels:
        """Return the column of each value of a name; -1 for one that has none."""
        assert self.values is not None
        known = self.values if self.rare is None else pl.concat([self.values, self.rare])
        columns = pl.Series(np.minimum(np.arange(len(known)), len(self.values)))
        leaves = convert(as_leaves(values), self.kind)
        return leaves.replace_strict(known, columns, default=-1, return_dtype=pl.Int64()).to_numpy()


@dataclass(frozen=True)
class Encoding:
    """How rows become numbers."""

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Encoding:
        """Find the columns of a table of training rows."""
        return cls(tuple(_column(series) for series in frame.get_columns()))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Which columns of the matrix belong together."""
        return tuple(column.block for column in self.columns)

    def encode(self, frame: pl.DataFrame) -> Features:
        """Return rows as numbers, and themselves."""
        blocks = self.blocks
        ends = np.cumsum([block.width for block in blocks], dtype=np.int64)
        X = np.zeros((frame.height, int(ends[-1]) if len(ends) else 0))
        for column, block, end in zip(self.columns, blocks, ends, strict=True):
            column.encode(frame[column.name], X[:, end - block.width : end])
        return Features(X, blocks, frame.select([column.name for column in self.columns]))


def beside(parts: Sequence[Features]) -> Features:
    """Put features of the same rows beside each other; only their matrices."""
    blocks = tuple(block for part in parts for block in part.blocks)
    return Features(np.hstack([part.X for part in parts]), blocks)


def names_as_numbers(train: Features, test: Features) -> tuple[Floats, Floats]:
    """Return both matrices with one column per name: its number in the order of the values of both; missing is -1.

    Rows have to be concrete.

    >>> rows = [pl.DataFrame({"age": [20, 40], "town": ["x", "z"]}), pl.DataFrame({"age": [30], "town": ["y"]})]
    >>> [X.tolist() for X in names_as_numbers(*(Encoding.of(rows[0]).encode(part) for part in rows))]
    [[[20.0, 0.0], [40.0, 2.0]], [[30.0, 1.0]]]
    """
    assert train.frame is not None
    assert test.frame is not None
    learn, ask, start = [], [], 0
    for block in train.blocks:
        part, start = slice(start, start + block.width), start + block.width
        if block.is_number:
            learn.append(train.X[:, part])
            ask.append(test.X[:, part])
            continue
        texts = [convert(as_leaves(frame[block.name]), "str") for frame in (train.frame, test.frame)]
        values = pl.concat(texts).drop_nulls().unique().sort()
        for text, found in zip(texts, (learn, ask), strict=True):
            numbers = text.cast(pl.Enum(values)).to_physical().cast(pl.Float64()).fill_null(-1)
            found.append(numbers.to_numpy().reshape(-1, 1))
    return np.hstack([np.empty((train.n_rows, 0)), *learn]), np.hstack([np.empty((test.n_rows, 0)), *ask])


def _column(series: pl.Series) -> Column:
    counts = as_leaves(series).value_counts(name="n", sort=False).sort(by=pl.nth(0), nulls_last=False)
    return Column.of(series.name, counts.to_series(0), counts["n"].to_numpy().astype(np.int64))
