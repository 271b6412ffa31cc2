"""The originals, read once more from the table that they came from: cleaned, and each distinct value looked at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from incrowd.runs import in_threads
from incrowd.verify.domain import Array, convert, without_codes, without_tokens
from incrowd.verify.manifest import Claims
from incrowd.verify.published import numbers_of

_WIDEST_TABLE = 1 << 22  # whole numbers in a range up to this are looked up in a table, of 16 MB at most
_FIRST_ROWS = 50_000  # in most columns of names, all names occur here


@dataclass(frozen=True)
class Column:
    """One column of the originals.

    Attributes
    ----------
    values
        Its distinct values in increasing order, without the missing one.
    index
        The place of each row's value; ``len(values)`` for a missing one.
    n_odd
        Rows whose value is not of the column's type.
    """

    values: pl.Series
    index: Array
    n_odd: int

    @property
    def missing(self) -> Array:
        """Tell which rows have no value."""
        return np.asarray(self.index == len(self.values))

    def ranks_in(self, listed: pl.Series) -> Array:
        """Return the place of each distinct value, and of the missing one, in a list; -1 where it is not there."""
        if listed.dtype.is_numeric() and listed.is_sorted(nulls_last=False):
            known, first = numbers_of(listed.drop_nulls()), listed.null_count()
            own = numbers_of(self.values)
            at = np.minimum(np.searchsorted(known, own), max(len(known) - 1, 0))
            found = np.where(known[at] == own, at + first, -1) if len(known) else np.full(len(own), -1)
            return np.append(found, first - 1).astype(np.int32)
        place = {value: at for at, value in enumerate(listed.to_list())}
        return np.array([place.get(value, -1) for value in [*self.values.to_list(), None]], np.int32)

    def count(self, rows: Array) -> Array:
        """Count the values in some rows, the missing one last."""
        return np.bincount(self.index[rows], minlength=len(self.values) + 1)


@dataclass(frozen=True)
class Originals:
    """All columns that the release speaks of, and the originals that are dropped for a missing value."""

    quasi: list[Column]
    secrets: list[Column]
    dropped: Array


def read_originals(claims: Claims, original: pl.DataFrame) -> Originals:
    """Read the quasi-identifiers and the sensitive columns; they must be there."""
    wanted = [(q.name, q.type) for q in claims.quasi]
    wanted += [(secret.name, secret.type) for secret in claims.secrets]
    found = list(in_threads(lambda about: _read(original[about[0]], about[1], claims), wanted, original.height))
    for at, secret in enumerate(claims.secrets, start=len(claims.quasi)):
        if secret.ranges is not None:
            found[at] = _in_ranges(found[at], secret.ranges)
    dropped = np.zeros(original.height, np.bool_)
    if claims.policy == "drop":
        for column in found:
            dropped |= column.missing
    n_quasi = len(claims.quasi)
    return Originals(found[:n_quasi], found[n_quasi:], dropped)


def _read(column: pl.Series, kind: str, claims: Claims) -> Column:
    return read_column(without_codes(column, kind, claims.codes.get(column.name, ())), kind, claims.tokens)


def _in_ranges(column: Column, starts: pl.Series) -> Column:
    """Replace each number by the beginning of its range; one below all ranges is odd."""
    place = np.searchsorted(numbers_of(starts), numbers_of(column.values), side="right") - 1
    n_below = int((place[column.index[~column.missing]] < 0).sum())
    seen, which = np.unique(np.maximum(place, 0), return_inverse=True)
    index = np.append(which, len(seen))[column.index].astype(np.int32)
    return Column(starts.gather(seen).alias(column.values.name), index, column.n_odd + n_below)


def read_column(column: pl.Series, kind: str, tokens: Sequence[str]) -> Column:
    """Read a column as a type; what stands for a missing value is missing."""
    if kind == "str" and column.dtype != pl.String:
        column = convert(without_tokens(column, ()), "str")
    cleaned = without_tokens(column, tokens)
    typed = without_tokens(convert(cleaned, kind), ())
    n_odd = typed.null_count() - cleaned.null_count()
    if typed.dtype == pl.String:
        return Column(*_read_names(typed), n_odd)
    values = typed.drop_nulls().unique().sort()
    return Column(values, _places(typed, values), n_odd)


def _read_names(column: pl.Series) -> tuple[pl.Series, Array]:
    """Return the names in order, and the place of each row's.

    They are looked up among those of the first rows, which is faster than finding all of them before.
    """
    values = column.head(_FIRST_ROWS).drop_nulls().unique().sort()
    found = column.cast(pl.Enum(values), strict=False)
    if found.null_count() > column.null_count():
        late = column.filter(found.is_null()).drop_nulls().unique()
        values = pl.concat([values, late]).sort()
        found = column.cast(pl.Enum(values))
    return values, found.to_physical().cast(pl.Int32()).fill_null(len(values)).to_numpy()


def _places(column: pl.Series, values: pl.Series) -> Array:
    """Return the place of each row's number, day or truth value among all values."""
    n = len(values)
    if column.dtype == pl.Boolean:
        column, values = column.cast(pl.Int8()), values.cast(pl.Int8())
    found, known = numbers_of(column), numbers_of(values)
    if known.dtype.kind == "i" and n and int(known[-1]) - int(known[0]) < _WIDEST_TABLE:
        place_of = np.zeros(int(known[-1]) - int(known[0]) + 1, np.int32)
        place_of[known - known[0]] = np.arange(n, dtype=np.int32)
        place = place_of[np.clip(found, known[0], known[-1]) - known[0]]
    else:
        place = np.searchsorted(known, found).astype(np.int32)
    return np.where(column.is_null().to_numpy(), np.int32(n), place) if column.null_count() else place
