"""The quasi-identifiers as the manifest describes them: which cells are legal, and how a cell is told in numbers.

All of it is read from plain data with code of its own, so that a mistake in a hierarchy cannot vouch for itself. Cells
and originals are compared by *codes*, whole numbers in the order of the domain, per column:

- of listed leaves (a taxonomy, or names in an order of their own) the code is the place in the list;
- of numbers and dates it is made from the ends of all published cells, the only places where something can begin or
  stop: 0 for the missing value, 2 i + 2 for the i-th end, and the odd numbers for what lies between two ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from incrowd.verify.domain import TYPES, Array, level_problems, read_values, runs
from incrowd.verify.fields import Reading

REST = " (rest)"
"""What is appended to the name of an ancestor when a leaf stands for its values that are not listed."""

_KEYS: dict[str, tuple[str, ...]] = {
    "intervals": ("name", "kind", "type", "missing", "cuts", "values", "counts"),
    "taxonomy": ("name", "kind", "type", "leaves", "levels", "rest", "counts"),
    "names": ("name", "kind", "type", "leaves", "rest", "counts"),
}
_TYPES_OF = {"intervals": ("int", "float", "date"), "taxonomy": tuple(TYPES), "names": ("str", "bool")}


@dataclass(frozen=True)
class Ranges:
    """Numbers or dates, of which any range is a cell.

    Attributes
    ----------
    missing
        How many rows have no value; ``None`` where the column has no missing value.
    marks
        The values themselves (`exact`), or the smallest value after each cut, as numbers in increasing order.
    cuts
        The cuts as they are written; none if `exact`.
    counts
        Rows in each range between cuts, or rows with each value.
    """

    name: str
    type: str
    missing: int | None
    marks: Array
    cuts: tuple[Any, ...]
    exact: bool
    counts: Array
    kind: ClassVar[str] = "intervals"

    @property
    def dtype(self) -> pl.DataType:
        """Type of the columns that hold the ends of cells."""
        return TYPES[self.type]

    @property
    def all_counts(self) -> Array:
        """The counts, that of the missing value first."""
        return self.counts if self.missing is None else np.append(self.missing, self.counts)

    def place(self, values: Array) -> Array:
        """Return the place in `counts` of each of some numbers, -1 for one that has none."""
        if not self.exact:
            return np.searchsorted(self.marks, values, side="right")
        at = np.minimum(np.searchsorted(self.marks, values), len(self.marks) - 1)
        return np.where(self.marks[at] == values, at, -1)


@dataclass(frozen=True)
class Leaves:
    """Listed values: a ``taxonomy``, or ``names`` in an order of their own.

    Attributes
    ----------
    leaves
        The values, a missing one (``None``) first; text or numbers of their own for those that are in `rest`.
    levels
        The name of each leaf's ancestor, from the lowest level to the root; empty for names.
    rest
        Places of the leaves that stand for all values that are not listed there.
    """

    name: str
    kind: str
    type: str
    leaves: tuple[Any, ...]
    levels: tuple[tuple[str, ...], ...]
    rest: tuple[int, ...]
    counts: Array

    @property
    def dtype(self) -> pl.DataType:
        """Type of the columns that hold the ends of cells."""
        return pl.Int32()

    @property
    def all_counts(self) -> Array:
        """The counts, that of the missing value first."""
        return self.counts

    @property
    def is_text(self) -> bool:
        """Whether leaves are names, so that a joined one can be called like its ancestor."""
        return self.type in ("str", "bool")

    @property
    def has_missing(self) -> bool:
        """Whether the first leaf is the missing value."""
        return self.leaves[0] is None

    def legal(self, lo: Array, hi: Array) -> Array:
        """Tell which cells are a leaf, a node, or an allowed range."""
        if self.kind == "names":
            fine: Array = ~((lo == 0) & (hi > 0) & self.has_missing) | (hi == len(self.leaves) - 1)
            return fine
        fine = (lo == hi) & ~np.isin(lo, self.rest)
        for level in self.levels:
            first, last = runs(level)
            at = np.searchsorted(first, lo, side="right") - 1
            fine |= (first[at] == lo) & (last[at] == hi)
        return fine


Quasi = Ranges | Leaves


def read_quasi(reading: Reading, entry: dict[str, Any], where: str, *, exact: bool) -> Quasi | None:
    """Return one entry of ``quasi``, or ``None`` after noting why it cannot be read."""
    kind = reading.field(entry, "kind", "text", where)
    if kind not in _KEYS:
        reading.manifest.append(f"{where}kind is not one of {', '.join(_KEYS)}")
        return None
    unused = {"cuts" if exact else "values"} if kind == "intervals" else set()
    reading.closed(entry, [key for key in _KEYS[kind] if key not in unused], where.rstrip("."))
    name = reading.field(entry, "name", "text", where)
    type_ = reading.field(entry, "type", "text", where)
    counts = reading.field(entry, "counts", "a list of counts", where)
    if type_ is not None and type_ not in _TYPES_OF[kind]:
        reading.manifest.append(f"{where}type is not one of {', '.join(_TYPES_OF[kind])}")
        return None
    if None in (name, type_, counts):
        return None
    if kind == "intervals":
        return _read_ranges(reading, entry, where, np.array(counts, np.int64), exact=exact)
    return _read_leaves(reading, entry, where, np.array(counts, np.int64), exact=exact)


def _read_ranges(reading: Reading, entry: dict[str, Any], where: str, counts: Array, *, exact: bool) -> Ranges | None:
    missing = reading.field(entry, "missing", "a count or null", where)
    key = "values" if exact else "cuts"
    listed = reading.field(entry, key, "a list", where)
    if listed is None:
        return None
    kind, name = entry["type"], entry["name"]
    between = kind == "int" and not exact
    series = read_values([math.ceil(mark) if between and is_half(mark) else mark for mark in listed], kind)
    if series is None or series.null_count():
        reading.manifest.append(f"{where}{key} holds something that is not of type {kind}")
        return None
    marks = numbers_of(series)
    if (marks[1:] <= marks[:-1]).any():
        reading.hierarchies.append(f"column {name!r} lists {key} that are not in increasing order")
    if exact and not len(marks) and missing is None:
        reading.hierarchies.append(f"column {name!r} lists no values")
    if len(counts) != len(marks) + (not exact):
        reading.marginals.append(f"column {name!r} has {len(counts)} counts for {len(marks)} {key}")
    return Ranges(name, kind, missing, marks, () if exact else tuple(listed), exact, counts)


def is_half(cut: object) -> bool:
    """Tell whether a cut lies in the middle between two whole numbers."""
    return isinstance(cut, float) and cut % 1 == 0.5


def _read_leaves(reading: Reading, entry: dict[str, Any], where: str, counts: Array, *, exact: bool) -> Leaves | None:
    leaves = reading.field(entry, "leaves", "a list", where)
    rest = reading.field(entry, "rest", "a list of counts", where)
    levels = reading.field(entry, "levels", "a list of lists of texts", where) if entry["kind"] == "taxonomy" else []
    if leaves is None or rest is None or levels is None:
        return None
    problems = _leaf_problems(entry["type"], leaves, rest) + level_problems(levels, len(leaves))
    if entry["kind"] == "taxonomy" and not (levels and len(set(levels[-1])) == 1):
        problems.append("has no single root")
    if exact and rest:
        problems.append("has joined leaves, and domains are said to be exact")
    reading.hierarchies += [f"column {entry['name']!r} {problem}" for problem in problems]
    if len(counts) != len(leaves):
        reading.marginals.append(f"column {entry['name']!r} has {len(counts)} counts for {len(leaves)} leaves")
    return Leaves(
        entry["name"], entry["kind"], entry["type"], tuple(leaves), tuple(map(tuple, levels)), tuple(rest), counts
    )


def _leaf_problems(kind: str, leaves: Sequence[Any], rest: Sequence[int]) -> list[str]:
    """Say what keeps leaves from being a domain; a leaf that stands for several values may be of a wider type."""
    problems = []
    if not leaves:
        problems.append("lists no values")
    if None in leaves[1:]:
        problems.append("has a missing leaf that is not the first")
    if list(rest) != sorted(set(rest)) or any(place >= len(leaves) or leaves[place] is None for place in rest):
        return [*problems, "has a list of rest that is not one of its leaves in increasing order"]
    wider = {"int": "float", "bool": "str"}.get(kind, kind) if rest else kind
    joined = set(rest)
    listed = [leaf for place, leaf in enumerate(leaves) if place not in joined]
    own = kind if kind != "bool" or not rest else "str"
    if read_values(listed, own) is None or read_values([leaves[place] for place in rest], wider) is None:
        return [*problems, f"has leaves that are not of type {kind}"]
    if kind == "bool" and rest and not {leaf for leaf in listed if leaf is not None} <= {"true", "false"}:
        problems.append(f"has leaves that are not of type {kind}")
    twice = len(leaves) - len({(type(leaf) is bool, leaf) for leaf in leaves})
    if twice:
        problems.append(f"lists {twice} values more than once")
    return problems


def is_rest_name(name: str, base: str) -> bool:
    """Tell whether a name is another one with ``(rest)`` appended, any number of times."""
    return name.startswith(base) and name[len(base) :].replace(REST, "") == ""


def numbers_of(values: pl.Series) -> Array:
    """Return numbers, or the days of dates, as 64-bit numbers; a missing one is 0."""
    numbers = values if values.dtype == pl.Float64 else values.cast(pl.Int64())
    return (numbers.fill_null(0) if numbers.null_count() else numbers).to_numpy()


@dataclass(frozen=True)
class Scale:
    """The codes of one column.

    Attributes
    ----------
    ends
        The ends of all published cells as increasing numbers; ``None`` for listed leaves.
    n_codes
        One more than the largest code.
    """

    ends: Array | None
    n_codes: int

    def code(self, values: Array) -> Array:
        """Return the codes of numbers."""
        assert self.ends is not None
        at = np.searchsorted(self.ends, values)
        if not len(self.ends):
            return np.ones(len(values), np.int32)
        hit = self.ends[np.minimum(at, len(self.ends) - 1)] == values
        return np.asarray(2 * at + 1 + hit, np.int32)


def read_cells(q: Quasi, lo: pl.Series, hi: pl.Series) -> tuple[list[str], Scale, Array, Array]:
    """Return what is wrong with the ends of cells, their scale, and the code of both ends of each row."""
    if isinstance(q, Leaves):
        return _read_places(q, lo, hi)
    low, high = numbers_of(lo), numbers_of(hi)
    no_low, no_high = _missing(lo), _missing(hi)
    ends = np.unique(np.concatenate([_distinct(low[~no_low]), _distinct(high[~no_high])]))
    scale = Scale(ends, 2 * len(ends) + 2)
    what = f"a cell of {q.name!r}"
    problems = []
    if ends.dtype.kind == "f" and (~np.isfinite(ends)).any():
        return [f"{what} has an end that is not a finite number"], scale, low, high
    if ends.dtype.kind == "f" and any((np.signbit(side) & (side == 0)).any() for side in (low, high)):
        problems.append(f"{what} has a negative zero as an end")
    if (no_high & ~no_low).any():
        problems.append(f"{what} has a first value and no last one")
    if q.missing is None and no_low.any():
        problems.append(f"{what} has a missing value, and the column has none")
    if ((low > high) & ~no_low & ~no_high).any():
        problems.append(f"{what} has lo above hi")
    everything = no_low & ~no_high
    if everything.any() and (high[everything] != ends[-1]).any():
        problems.append(f"{what} joins the missing value with some of the others")
    if q.exact and (q.place(ends) < 0).any():
        problems.append(f"{what} has an end that the manifest does not list")
    first = np.where(no_low, 0, scale.code(low)).astype(np.int32)
    last = np.where(no_high, 0, np.where(no_low, scale.n_codes - 1, scale.code(high))).astype(np.int32)
    return problems, scale, first, last


def wider_cells(q: Quasi, scale: Scale, cells: tuple[Array, Array], least: Array, most: Array) -> Array:
    """Tell which cells are not the smallest legal ones that hold all codes from `least` to `most`."""
    lo, hi = least.copy(), most.copy()
    if isinstance(q, Leaves) and q.kind == "taxonomy":
        alone = (least == most) & np.isin(least, q.rest)  # below its ancestor, such a leaf has nodes of its own
        asks = (least < most) | alone
        for level in q.levels:
            first, last = runs(level)
            at = np.searchsorted(first, least, side="right") - 1
            found = asks & (last[at] >= most) & ~(alone & (first[at] == last[at]))
            lo[found], hi[found] = first[at][found], last[at][found]
            asks &= ~found
    else:
        has_missing = q.has_missing if isinstance(q, Leaves) else q.missing is not None
        hi[has_missing & (least == 0) & (most > 0)] = scale.n_codes - 1
    exactly = (cells[0] == least) & (cells[1] == most)
    return np.asarray(((cells[0] != lo) | (cells[1] != hi)) & ~exactly)


def _read_places(q: Leaves, lo: pl.Series, hi: pl.Series) -> tuple[list[str], Scale, Array, Array]:
    scale = Scale(None, len(q.leaves))
    if lo.null_count() or hi.null_count():
        return [f"column {q.name!r} has rows without codes"], scale, np.empty(0), np.empty(0)
    first, last = lo.to_numpy(), hi.to_numpy()
    problems = []
    if len(first) and (min(first.min(), last.min()) < 0 or max(first.max(), last.max()) >= len(q.leaves)):
        problems.append(f"a cell of {q.name!r} lies outside its domain")
    elif (first > last).any():
        problems.append(f"a cell of {q.name!r} has lo above hi")
    return problems, scale, first, last


def _missing(values: pl.Series) -> Array:
    return values.is_null().to_numpy() if values.null_count() else np.zeros(len(values), np.bool_)


def _distinct(numbers: Array) -> Array:
    """Return the distinct ones of many numbers; few for a table of cells."""
    return pl.Series(numbers).unique().to_numpy()
