"""Distinct rows: a table of any length becomes the different rows that it has, each with how often it occurs.

What a method that cuts looks at are a few columns, of which even long tables have few different rows: they fit the
memory where the rows do not. Every row keeps the number of its distinct row, on disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.errors import InputError, counted
from incrowd.io import Batches
from incrowd.kernels.groups import label_more
from incrowd.publish.publisher import Progress

Codes = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_SLOTS = 1 << 10
_WIDEST = 1 << 20  # whole numbers in a range up to this are looked up in a table, of 4 MB at most
_MISSING = 0  # the code of a missing value


class TooManyRowsError(InputError):
    """There are more distinct rows, or values of a column, than fit the memory."""


@dataclass(frozen=True)
class Distinct:
    """The distinct rows of some columns.

    Attributes
    ----------
    rows
        The values of each distinct row, as they came.
    weights
        How many rows are equal to it.
    file
        The number of each row's distinct row, int32, in the order of the table.
    batches
        The table; of a text file the types are known now.
    """

    rows: pl.DataFrame
    weights: Int64
    file: Path
    batches: Batches
    n_input: int = 0

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return self.n_input or int(self.weights.sum())

    def of_rows(self, size: int) -> Iterator[Codes]:
        """Yield the numbers of the rows' distinct rows, so many at a time."""
        with self.file.open("rb") as handle:
            while len(numbers := np.fromfile(handle, np.int32, size)):
                yield numbers


class _Labels:
    """Numbers for distinct rows of codes, in the order in which they first occur, over many batches."""

    def __init__(self, n_columns: int) -> None:
        self._slots = np.full(_SLOTS, -1, np.int32)
        self._hashes = np.empty(_SLOTS // 2, np.uint64)
        self._firsts = np.empty((_SLOTS // 2, n_columns), np.int32)
        self.n = 0

    def label(self, codes: Codes) -> Int64:
        """Return the number of each row."""
        labels, self._slots, self._hashes, self._firsts, n = label_more(
            codes, self._slots, self._hashes, self._firsts, self.n
        )
        self.n = int(n)
        return labels

    @property
    def firsts(self) -> Codes:
        """The distinct rows."""
        return self._firsts[: self.n]


class _Near:
    """Whole numbers near each other: one table of all numbers between them says which is which.

    Attributes
    ----------
    low
        The least number of the table.
    values
        The numbers that occurred; the place of each is its label.
    """

    def __init__(self) -> None:
        self.low, self.values = 0, np.empty(0, np.int64)
        self._place = np.empty(0, np.int32)

    def take(self, numbers: Int64) -> bool:
        """Make room for more numbers; tell whether they are near enough. If not, nothing has changed."""
        if not len(numbers):
            return True
        low, high = int(numbers.min()), int(numbers.max())
        if len(self._place):
            low, high = min(low, self.low), max(high, self.low + len(self._place) - 1)
        if high - low >= _WIDEST:
            return False
        if not len(self._place) or low < self.low or high - low >= len(self._place):
            place = np.full(high - low + 1, -1, np.int32)
            place[self.values - low] = np.arange(len(self.values), dtype=np.int32)
            self.low, self._place = low, place
        seen = np.zeros(len(self._place), np.bool_)
        seen[numbers - self.low] = True
        new = np.flatnonzero(seen & (self._place < 0))
        self._place[new] = np.arange(len(self.values), len(self.values) + len(new), dtype=np.int32)
        self.values = np.concatenate([self.values, new + self.low])
        return True

    def label(self, numbers: Int64) -> Codes:
        """Return the label of each number, all of which are known."""
        return np.asarray(self._place[numbers - self.low] if len(self._place) else np.zeros(len(numbers), np.int32))


class Dictionary:
    """The distinct values of a column, by codes in the order in which they first occur; 0 is the missing value."""

    def __init__(self, name: str, most: int) -> None:
        self._name, self._most = name, most
        self._names = pl.Series(name, [], pl.String())
        self._enum = pl.Enum([])
        self._numbers = _Labels(2)
        self._near: _Near | None = _Near()
        self._dtype: pl.DataType | None = None

    def encode(self, column: pl.Series) -> Codes:
        """Return the code of each value."""
        self._dtype = column.dtype
        codes = self._encode_text(column) if column.dtype == pl.String else self._encode_numbers(column)
        if len(self._names) + self._n_numbers > self._most:
            fact = f"Column {self._name!r} has more than {self._most} distinct values"
            raise TooManyRowsError(fact, "give it bins or round it, drop it, or give the run more memory")
        return codes

    def _encode_text(self, column: pl.Series) -> Codes:
        found = column.cast(self._enum, strict=False)
        if found.null_count() > column.null_count():
            late = column.filter(found.is_null() & column.is_not_null()).unique(maintain_order=True)
            self._names = pl.concat([self._names, late])
            self._enum = pl.Enum(self._names)
            found = column.cast(self._enum)
        codes = found.to_physical().cast(pl.Int32()) + (_MISSING + 1)
        return codes.fill_null(_MISSING).to_numpy()

    def _encode_numbers(self, column: pl.Series) -> Codes:
        bits = _bits(column)
        if self._near is not None and not column.dtype.is_float():
            known = bits[column.is_not_null().to_numpy()] if column.null_count() else bits
            if self._near.take(known):
                bits = bits if known is bits else np.where(column.is_null().to_numpy(), self._near.low, bits)
                return self._with_missing(self._near.label(bits), column)
        if self._near is not None:  # from now on numbers are looked up one by one, those of before first
            self._numbers.label(self._near.values.view(np.int32).reshape(-1, 2))
            self._near = None
        return self._with_missing(self._numbers.label(bits.view(np.int32).reshape(-1, 2)), column)

    def _with_missing(self, labels: npt.NDArray[np.int32] | Int64, column: pl.Series) -> Codes:
        codes = labels.astype(np.int32) + np.int32(_MISSING + 1)
        return np.where(column.is_null().to_numpy(), np.int32(_MISSING), codes) if column.null_count() else codes

    @property
    def _n_numbers(self) -> int:
        return self._numbers.n if self._near is None else len(self._near.values)

    @property
    def values(self) -> pl.Series:
        """The value of each code, the missing one first."""
        missing = pl.Series(self._name, [None], self._dtype or pl.String())
        if self._dtype is None or self._dtype == pl.String:
            return pl.concat([missing, self._names])
        firsts = np.ascontiguousarray(self._numbers.firsts).view(np.int64).ravel()
        bits = firsts if self._near is None else self._near.values
        numbers = bits.view(np.float64) if self._dtype.is_float() else bits
        return pl.concat([missing, pl.Series(self._name, numbers).cast(self._dtype)])


def _bits(column: pl.Series) -> Int64:
    """Return numbers, days, times and truth values as 64 bits, equal ones alike."""
    if column.dtype.is_float():
        floats = column.cast(pl.Float64()).fill_null(0.0).to_numpy() + 0.0  # one zero
        return np.ascontiguousarray(floats).view(np.int64)
    plain = column.cast(pl.Int8()) if column.dtype == pl.Boolean else column.to_physical()
    return np.ascontiguousarray(plain.cast(pl.Int64()).fill_null(0).to_numpy())


class Counter:
    """Counts the distinct rows of some columns, batch by batch.

    Parameters
    ----------
    columns
        The columns.
    most
        How many distinct rows, or values of a column, may be kept.
    also
        Columns of which the distinct values are wanted, too.
    """

    def __init__(self, columns: Sequence[str], most: int, also: Sequence[str] = ()) -> None:
        self.known = {name: Dictionary(name, most) for name in dict.fromkeys([*columns, *also])}
        self.n_rows = 0
        self._columns, self._most = list(columns), most
        self._labels = _Labels(len(columns))
        self._weights = np.zeros(_SLOTS, np.int64)

    def add(self, batch: pl.DataFrame) -> Int64:
        """Take in the rows that come next; return the number of each one's distinct row."""
        labels = self._labels
        codes = {name: each.encode(batch[name]) for name, each in self.known.items()}
        numbers = labels.label(np.column_stack([codes[name] for name in self._columns]))
        if labels.n > self._most:
            raise _too_many(self._most, self.n_rows + batch.height, labels.n)
        if len(self._weights) < labels.n:
            self._weights = np.concatenate([self._weights, np.zeros(max(labels.n, len(self._weights)), np.int64)])
        self._weights += np.bincount(numbers, minlength=len(self._weights))
        self.n_rows += batch.height
        return numbers

    @property
    def n_distinct(self) -> int:
        """Number of distinct rows so far."""
        return self._labels.n

    @property
    def weights(self) -> Int64:
        """How many rows are equal to each distinct row."""
        return self._weights[: self._labels.n].copy()

    def rows(self, values: Mapping[str, pl.Series] | None = None) -> pl.DataFrame:
        """Return the distinct rows, of the values of each code."""
        own = values or {name: each.values for name, each in self.known.items()}
        firsts = self._labels.firsts
        return pl.DataFrame([own[name].gather(firsts[:, m]) for m, name in enumerate(self._columns)])


def find_distinct(
    batches: Batches, columns: Sequence[str], file: Path, most: int, progress: Progress, also: Sequence[str] = ()
) -> Distinct:
    """Go through a table once, and return the distinct rows of some columns.

    Parameters
    ----------
    file
        Where to write the number of each row's distinct row.
    most
        How many distinct rows, or values of a column, may be kept.
    also
        Columns of which the distinct values are wanted, too: of text, to find its type.
    """
    counter = Counter(columns, most, also if batches.is_text else ())
    progress("counting rows", 0, 0)
    with file.open("wb") as handle:
        for batch in batches.iterate(list(counter.known)):
            counter.add(batch).astype(np.int32).tofile(handle)
            progress("counting rows", counter.n_rows, 0)
    typed, values = settle(batches, counter.known)
    return Distinct(counter.rows(values), counter.weights, file, typed)


def settle(batches: Batches, known: Mapping[str, Dictionary]) -> tuple[Batches, Mapping[str, pl.Series]]:
    """Return the table with the types that all its values ask for, and the values."""
    from incrowd.io import Findings  # noqa: PLC0415

    return batches.settled({name: each.values for name, each in known.items()}, Findings())


def _too_many(most: int, n_rows: int, n_distinct: int) -> TooManyRowsError:
    fact = (
        f"The table has too many different rows for the memory that was given: {n_distinct} in the first "
        f"{counted(n_rows, 'row')}, and {most} fit"
    )
    return TooManyRowsError(fact, "allow more with memory=..., give numbers bins, or use fewer quasi-identifiers")
