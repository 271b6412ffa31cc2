"""Ranges of numbers or dates as a reader of a release knows them: the pieces between all ends that were published."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.errors import IncompatibleError
from incrowd.hierarchy.hierarchy import OUTSIDE, Codes, Floats, Hierarchy, convert, text

Numbers = npt.NDArray[Any]


class Atoms(Hierarchy):
    """Leaves that are ranges: leaf i holds every value from ``leaves[i]`` to ``ends[i]``; the next one follows at once.

    Parameters
    ----------
    starts
        First value of each leaf, increasing: 64-bit integers (numbers, or days of dates) or floats.
    last
        Last value of the last leaf.
    kind
        ``int``, ``float`` or ``date``.
    missing
        Whether a leaf for missing values stands before the others.
    open_below
        Whether the first value is not known, so that smaller ones belong to the first leaf, too.
    """

    def __init__(self, starts: Numbers, last: float, kind: str, *, missing: bool, open_below: bool = False) -> None:
        self.starts, self.open_below = starts, open_below
        self.stops = np.append(before(starts[1:]), starts.dtype.type(last))
        none = [None] if missing else []
        self.leaves = pl.concat([_series(none, kind), _series(starts, kind)])
        self.ends = pl.concat([_series(none, kind), _series(self.stops, kind)])
        self._names, self._end_names = text(self.leaves), text(self.ends)
        known = self.starts.astype(np.float64), self.stops.astype(np.float64)
        below = known[0][0] - 1.0
        self.pos = np.concatenate([[below], known[0]]) if missing else known[0]
        self._last_pos = np.concatenate([[below], known[1]]) if missing else known[1]

    @property
    def last_pos(self) -> Floats:
        """Position of the last value of each leaf."""
        return self._last_pos

    def widths(self) -> Floats:
        """Return how many whole numbers or days each known leaf holds, or how long it is."""
        length = self.stops.astype(np.float64) - self.starts.astype(np.float64)
        return length + 1 if self.starts.dtype.kind == "i" else length

    def draw(self, codes: npt.NDArray[np.int64], rng: np.random.Generator) -> pl.Series:
        """Return a value of each of these leaves, all equally likely."""
        first = int(self.has_missing)
        at = np.maximum(codes - first, 0)
        if self.starts.dtype.kind == "i":
            drawn: Numbers = rng.integers(self.starts[at], self.stops[at], endpoint=True)
        else:
            share = rng.random(len(at))
            drawn = np.clip(self.starts[at] * (1 - share) + self.stops[at] * share, self.starts[at], self.stops[at])
        values = _series(drawn, self.type)
        return values.set(pl.Series(codes < first), None) if first else values

    def middles(self) -> Floats:
        """Return the middle of each leaf as a number; 0 for the missing one."""
        middle = self.starts.astype(np.float64) / 2 + self.stops.astype(np.float64) / 2
        return np.concatenate([[0.0], middle]) if self.has_missing else middle

    def share_below(self, value: float) -> Floats:
        """Return which share of the values of each known leaf is smaller than `value`, all being equally likely."""
        width = self.widths()
        whole = self.starts.dtype.kind == "i"
        below = (np.ceil(value) if whole else value) - self.starts.astype(np.float64)
        share = below / np.where(width > 0, width, 1.0)
        return np.asarray(np.where(width > 0, np.clip(share, 0, 1), below > 0), np.float64)

    def encode(self, column: pl.Series) -> Codes:
        """Return the leaf of each value, `OUTSIDE` where it lies in none."""
        values = convert(column, self.type)
        first = int(self.has_missing)
        numbers = values.to_physical().fill_null(0).to_numpy()
        at = np.searchsorted(self.starts, numbers, side="right") - 1
        at = np.maximum(at, 0) if self.open_below else at
        inside = (at >= 0) & (numbers <= self.stops[-1]) & values.is_not_null().to_numpy()
        codes = np.where(inside, at + first, OUTSIDE).astype(np.int32)
        if first:
            missing = column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()
            codes[missing.fill_null(value=True).to_numpy()] = 0
        return codes

    def closure(self, lo: Codes, hi: Codes) -> tuple[Codes, Codes]:
        """Every range is its own closure; only one that joins missing with a value is the whole domain."""
        joined = (lo == 0) & (hi > 0) & self.has_missing
        return lo, np.where(joined, np.int32(self.n_leaves - 1), hi)

    def levels(self) -> tuple[Codes, Codes]:
        """Return no level."""
        none = np.empty((0, self.n_leaves), np.int32)
        return none, none

    def label(self, lo: int, hi: int) -> str:
        """Write ``21-30``, or the value if there is only one; ``*`` for all with missing ones."""
        first, last = self._names[lo], self._end_names[hi]
        if self.has_missing and lo == 0:
            return first if hi == 0 else "*"
        if first == last:
            return first
        return f"{first} to {last}" if self.type == "date" or first.startswith("-") else f"{first}-{last}"

    def with_missing(self) -> Hierarchy:
        """Return these leaves with one for missing values in front."""
        return (
            self
            if self.has_missing
            else Atoms(self.starts, self.stops[-1], self.type, missing=True, open_below=self.open_below)
        )

    def to_dict(self) -> dict[str, Any]:
        """Refuse: a reader's ranges are made of a release, not kept by themselves."""
        fact = "The ranges of a published release are no hierarchy that can be kept"
        raise IncompatibleError(fact, "use the hierarchies of the schema")


def before(values: Numbers) -> Numbers:
    """Return the number or day before each of these."""
    return values - 1 if values.dtype.kind == "i" else np.nextafter(values, -np.inf)


def after(values: Numbers) -> Numbers:
    """Return the number or day after each of these."""
    return values + 1 if values.dtype.kind == "i" else np.nextafter(values, np.inf)


def numbers_of(values: pl.Series) -> Numbers:
    """Return numbers, or days of dates, as 64-bit numbers; a missing one is 0."""
    numbers = values if values.dtype == pl.Float64 else values.cast(pl.Int64())
    return (numbers.fill_null(0) if numbers.null_count() else numbers).to_numpy()


def _series(values: Any, kind: str) -> pl.Series:  # noqa: ANN401
    if kind == "date":
        return pl.Series("", values, pl.Int64()).cast(pl.Int32()).cast(pl.Date())
    return pl.Series("", values, pl.Int64() if kind == "int" else pl.Float64())
