"""Distinct rows of few values, as numbers of 63 bits: some for the code of each column's value.

Rows of texts are compared text by text; numbers are grouped several times faster. Columns of too many values, or of
another type, do not fit, and whoever asked goes on with the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from incrowd.verify.domain import Array

_MOST_BITS = 63
_WIDEST = 1 << 20  # whole numbers in a range up to this are looked up in a table, of 4 MB
_MOST_FLOATS = 1 << 14  # distinct floats of a column, which are looked up one by one


class _Codes:
    """The values of one column, by the order in which they first occur; 0 is the missing value."""

    def __init__(self) -> None:
        self._values = pl.Series()
        self._names = pl.Enum([])
        self._table, self._low = np.empty(0, np.int32), 0
        self._floats: dict[int, int] = {}
        self.n = 1

    def encode(self, column: pl.Series) -> Array | None:
        """Return the code of each value; ``None`` if they cannot have one."""
        if self.n == 1 and not len(self._values):
            self._values = pl.Series(column.name, [None], column.dtype)
        if column.dtype != self._values.dtype:
            return None
        if column.dtype == pl.String:
            return self._of_names(column)
        if column.dtype.is_float():
            return self._of_floats(column)
        if column.dtype.is_integer() or column.dtype in (pl.Date, pl.Boolean):
            return self._of_whole_numbers(column)
        return None

    def values(self, codes: Array) -> pl.Series:
        """Return what codes stand for."""
        return self._values.gather(codes)

    def _add(self, late: pl.Series) -> None:
        self._values = pl.concat([self._values, late.alias(self._values.name)])
        self.n = len(self._values)

    def _of_names(self, column: pl.Series) -> Array:
        found = column.cast(self._names, strict=False)
        if found.null_count() > column.null_count():
            self._add(column.filter(found.is_null() & column.is_not_null()).unique())
            self._names = pl.Enum(self._values.slice(1))
            found = column.cast(self._names)
        return np.asarray((found.to_physical().cast(pl.Int32()) + 1).fill_null(0).to_numpy())

    def _of_whole_numbers(self, column: pl.Series) -> Array | None:
        numbers = column.cast(pl.Int8()) if column.dtype == pl.Boolean else column.to_physical()
        least, most = numbers.min(), numbers.max()
        if least is None or most is None:
            return np.zeros(len(column), np.int32)
        low, high = int(least), int(most)  # type: ignore[arg-type]
        if len(self._table):
            low, high = min(low, self._low), max(high, self._low + len(self._table) - 1)
        if high - low >= _WIDEST or high >= 1 << 62 or low <= -(1 << 62):
            return None
        if high - low >= len(self._table) or low < self._low:
            wider = np.zeros(high - low + 1, np.int32)
            wider[self._low - low : self._low - low + len(self._table)] = self._table
            self._table, self._low = wider, low
        place = numbers.cast(pl.Int64()).fill_null(self._low).to_numpy() - self._low
        known = place[column.is_not_null().to_numpy()] if column.null_count() else place
        codes = self._table[place]
        if not self._table[known].all():
            seen = np.zeros(len(self._table), np.bool_)
            seen[known] = True
            late = np.flatnonzero(seen & (self._table == 0))
            self._table[late] = np.arange(self.n, self.n + len(late), dtype=np.int32)
            plain = pl.Series(late + self._low)
            self._add(plain.cast(pl.Boolean()) if column.dtype == pl.Boolean else plain.cast(column.dtype))
            codes = self._table[place]
        return np.where(column.is_null().to_numpy(), np.int32(0), codes) if column.null_count() else codes

    def _of_floats(self, column: pl.Series) -> Array | None:
        numbers = column.fill_null(0.0).to_numpy() + 0.0  # one zero
        distinct, which = np.unique(numbers, return_inverse=True)
        if len(distinct) > _MOST_FLOATS:
            return None
        bits = np.where(np.isnan(distinct), np.nan, distinct).astype(np.float64).view(np.int64).tolist()
        late = [at for at, own in enumerate(bits) if own not in self._floats]
        for at in late:
            self._floats[bits[at]] = len(self._floats) + 1
        self._add(pl.Series(distinct[late], dtype=column.dtype))
        codes = np.array([self._floats[own] for own in bits], np.int32)[which]
        return np.where(column.is_null().to_numpy(), np.int32(0), codes) if column.null_count() else codes


class Packed:
    """Distinct rows of some columns, each with a number from -1, and how often they occur.

    Parameters
    ----------
    names
        The columns.
    together
        Rows that are collected before equal ones are joined.
    """

    def __init__(self, names: Sequence[str], together: int) -> None:
        self._names, self._together = list(names), together
        self._columns = [_Codes() for _ in names]
        self._bits = [0] * (len(names) + 1)
        self._keys, self._counts = np.empty(0, np.int64), np.empty(0, np.int64)
        self._waiting: list[Array] = []
        self._n_waiting = 0

    def add(self, rows: pl.DataFrame, numbers: Array) -> bool:
        """Take in more rows; tell whether they fit. If not, nothing has changed."""
        codes = []
        for name, column in zip(self._names, self._columns, strict=True):
            found = column.encode(rows[name])
            if found is None:
                return False
            codes.append(found)
        codes.append(numbers + 1)
        sizes = [*(column.n for column in self._columns), int(numbers.max(initial=0)) + 2]
        bits = [max(own, (size - 1).bit_length()) for own, size in zip(self._bits, sizes, strict=True)]
        if sum(bits) > _MOST_BITS:
            return False
        if bits != self._bits:
            self._join()
            self._keys, self._bits = _pack(self._unpacked(), bits, len(self._keys)), bits
        self._waiting.append(_pack(codes, bits, rows.height))
        self._n_waiting += rows.height
        if self._n_waiting > self._together:
            self._join()
        return True

    @property
    def n(self) -> int:
        """How many there are, as far as they are known to differ."""
        return len(self._keys)

    def rows(self) -> tuple[pl.DataFrame, Array, Array]:
        """Return the distinct rows, their numbers, and how often each occurs."""
        self._join()
        *codes, numbers = self._unpacked()
        named = zip(self._names, self._columns, codes, strict=True)
        columns = [column.values(own).alias(name) for name, column, own in named]
        return pl.DataFrame(columns), (numbers - 1).astype(np.int32), self._counts

    def _unpacked(self) -> list[Array]:
        ends = np.cumsum(self._bits[::-1])[::-1]
        return [(self._keys >> low) & ((1 << (high - low)) - 1) for high, low in pairwise([*ends.tolist(), 0])]

    def _join(self) -> None:
        if not self._waiting:
            return
        ones = np.ones(self._n_waiting, np.int64)
        keys = pl.Series("key", np.concatenate([self._keys, *self._waiting]))
        frame = pl.DataFrame([keys, pl.Series("n", np.concatenate([self._counts, ones]))])
        found = frame.group_by("key").agg(pl.col("n").sum())
        self._keys, self._counts = found["key"].to_numpy(), found["n"].to_numpy()
        self._waiting, self._n_waiting = [], 0


def _pack(codes: Sequence[Array], bits: Sequence[int], n: int) -> Array:
    keys = np.zeros(n, np.int64)
    for own, width in zip(codes, bits, strict=True):
        keys <<= width
        keys |= own
    return keys
