"""Intervals: any contiguous range of an ordered domain is a legal generalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from incrowd.errors import HierarchyError, counted
from incrowd.hierarchy.hierarchy import (
    Codes,
    Hierarchy,
    Weights,
    as_leaves,
    count_missing,
    domain_of,
    leaves_to_data,
    present,
    require_values,
    text,
    type_of,
)

_WRITTEN_OUT = 4  # this many names are listed in a label, more are written "first to last"


def join_names(names: Sequence[str]) -> str:
    """Name several names together.

    >>> join_names(["a", "b"]), join_names(["a", "b", "c", "d", "e"])
    ('a|b', 'a to e')
    """
    return "|".join(names) if len(names) <= _WRITTEN_OUT else f"{names[0]} to {names[-1]}"


class Intervals(Hierarchy):
    """Every range of an ordered domain; the position of a number is the number itself.

    Parameters
    ----------
    values
        The declared domain in its order, for ordinal names (``["low", "mid", "high"]``) or numbers.
    low, high
        Declared ends of a numeric domain; the values between them are read from the data.
        Without any parameter the whole domain is read from the data.

    Examples
    --------
    >>> import polars as pl
    >>> ages = Intervals().build(pl.Series("age", [30, 21, 55]))
    >>> ages.label(0, 1), ages.label(2, 2)
    ('21-30', '55')
    """

    def __init__(
        self, values: Sequence[Any] | pl.Series | None = None, *, low: float | None = None, high: float | None = None
    ) -> None:
        if values is not None and (low is not None or high is not None):
            fact = "Intervals got both values= and low=/high="
            raise HierarchyError(fact, "declare the values, or the two ends")
        if low is not None and high is not None and low > high:
            fact = f"Intervals got low={low} above high={high}"
            raise HierarchyError(fact, "swap them")
        if values is not None and len(values) == 0:
            fact = "Intervals got an empty list of values"
            raise HierarchyError(fact, "leave values= out to read the domain from the data")
        self.low, self.high = low, high
        self.declared = values is not None
        try:
            domain = values if isinstance(values, pl.Series) else pl.Series(values)
        except (TypeError, pl.exceptions.PolarsError):
            fact = "Intervals got values of different types"
            raise HierarchyError(fact, "give numbers only, dates only or names only") from None
        self._set_leaves(as_leaves(domain))

    def _set_leaves(self, leaves: pl.Series) -> None:
        if leaves.n_unique() != len(leaves):
            fact = f"Intervals got {len(leaves) - leaves.n_unique()} values more than once"
            raise HierarchyError(fact, "list each value of the domain once")
        known = present(leaves)
        if known.dtype not in (pl.String, pl.Boolean) and not known.is_sorted():
            fact = "Intervals got numbers or dates that are not in increasing order"
            raise HierarchyError(fact, "sort them")
        if known.dtype.is_float() and known.is_infinite().any():
            fact = "Intervals got an infinite number"
            raise HierarchyError(fact, "a range has finite ends")
        self.leaves = leaves = pl.concat([leaves.filter(leaves.is_null()), known]) if leaves.null_count() else leaves
        self._names = text(leaves)
        numeric = known.dtype.is_numeric() or known.dtype == pl.Date
        pos = known.to_physical().cast(pl.Float64()).to_numpy() if numeric else np.arange(len(known), dtype=np.float64)
        if len(known) < len(leaves):  # missing sits one average step below the smallest value
            step = (pos[-1] - pos[0]) / (len(pos) - 1) if len(pos) > 1 else 1.0
            pos = np.concatenate([[pos[0] - step if len(pos) else 0.0], pos])
        self.pos = pos

    def build(self, column: pl.Series, target: pl.Series | None = None, weights: Weights | None = None) -> Intervals:
        """Return the intervals over this column's values, unless the domain was declared."""
        del target
        if self.declared:
            built = Intervals(self.leaves)
        else:
            require_values(column)
            built = Intervals(self._observed(column, weights))
        return built.with_missing() if count_missing(column) else built

    def _observed(self, column: pl.Series, weights: Weights | None) -> pl.Series:
        leaves = domain_of(column)
        ends = [end for end in (self.low, self.high) if end is not None]
        if not ends:
            return leaves
        if not leaves.dtype.is_numeric():
            fact = f"Column {column.name!r} holds {type_of(leaves)} values, and its intervals have numeric ends"
            raise HierarchyError(fact, "declare the domain with values=[...]")
        if leaves.dtype.is_integer() and not all(-(2**63) <= end < 2**63 for end in ends):
            fact = f"Column {column.name!r} holds whole numbers of 64 bits, and its intervals have an end beyond them"
            raise HierarchyError(fact, "leave that end out")
        low, high = ends[0] if self.low is not None else -np.inf, ends[-1] if self.high is not None else np.inf
        outside = (~as_leaves(column).is_between(low, high)).fill_null(value=False).to_numpy()
        n_outside = int(outside.sum() if weights is None else weights[outside].sum())
        if n_outside:
            rows = counted(n_outside, "row")
            fact = f"Column {column.name!r} has {rows} outside its declared ends [{self.low}, {self.high}]"
            raise HierarchyError(fact, "widen low and high, or fix the data")
        kind = leaves.dtype if all(float(e).is_integer() for e in ends) else pl.Float64()
        return pl.concat([leaves.cast(kind), pl.Series(ends).cast(kind).alias("")]).unique().sort()

    def closure(self, lo: Codes, hi: Codes) -> tuple[Codes, Codes]:
        """Every interval is its own closure; only one that joins missing with a value is the whole domain."""
        if not self.has_missing:
            return lo, hi
        joined = (lo == 0) & (hi > 0)
        return lo, np.where(joined, np.int32(self.n_leaves - 1), hi)

    def levels(self) -> tuple[Codes, Codes]:
        """Return no level."""
        none = np.empty((0, self.n_leaves), np.int32)
        return none, none

    def label(self, lo: int, hi: int) -> str:
        """Write ``21-30`` for numbers, ``low|mid`` for names, ``*`` for all names or with missing ones."""
        if lo == hi:
            return self._names[lo]
        if self.has_missing and lo == 0:
            return "*"
        first, last = self._names[lo], self._names[hi]
        if not self.ordered:
            if hi - lo + 1 == self.n_leaves:
                return "*"
            return join_names(self._names[lo : hi + 1])
        return f"{first} to {last}" if self.type == "date" or first.startswith("-") else f"{first}-{last}"

    def __repr__(self) -> str:
        return super().__repr__() if self.declared else "Intervals()"

    def with_missing(self) -> Intervals:
        """Return these intervals with a leaf for missing values in front."""
        return self if self.has_missing else Intervals(pl.concat([self.leaves.clear(1), self.leaves]))

    def to_dict(self) -> dict[str, Any]:
        """Return ``{"kind": "intervals", ...}``."""
        data: dict[str, Any] = {"kind": "intervals"}
        if self.declared:
            data |= {"type": self.type, "values": leaves_to_data(self.leaves)}
        if self.low is not None:
            data["low"] = self.low
        if self.high is not None:
            data["high"] = self.high
        return data
