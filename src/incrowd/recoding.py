"""Recoding: the function of a row that a method learned, for rows that it has not seen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.errors import ParameterError, SchemaError
from incrowd.hierarchy import Hierarchy, Intervals
from incrowd.hierarchy.hierarchy import OUTSIDE, Codes, as_leaves
from incrowd.kernels.mondrian import walk

Unseen = Literal["error", "suppress", "nearest"]


class Recoding(ABC):
    """A function from the leaves around a row's values to its cell."""

    @abstractmethod
    def cells(self, first: Codes, last: Codes, hierarchies: tuple[Hierarchy, ...]) -> tuple[Codes, Codes]:
        """Return ends of a cell that holds ``[first, last]``, [rows x quasi] each; not yet closed."""

    @abstractmethod
    def arrays(self) -> dict[str, npt.NDArray[np.int32]]:
        """Return everything to be kept on disk."""

    def transform(
        self, columns: list[pl.Series], hierarchies: tuple[Hierarchy, ...], unseen: Unseen
    ) -> tuple[Codes, Codes]:
        """Return the cell of each new row, [rows x quasi] each.

        A row gets the released cell of its group. Where that does not hold the row's own value, the cell is
        widened to all that the cuts leave to the group, never to the value itself, which would show it. A number
        between two leaves is inside the domain.
        """
        if unseen not in get_args(Unseen):
            fact = f"unseen is {unseen!r}"
            raise ParameterError(fact, f"use one of {', '.join(get_args(Unseen))}")
        placed = [_place(h, column, unseen) for h, column in zip(hierarchies, columns, strict=True)]
        first = np.column_stack([low for low, _, _ in placed])
        last = np.column_stack([high for _, high, _ in placed])
        lo, hi = self.cells(first, last, hierarchies)
        for m, hierarchy in enumerate(hierarchies):
            lo[:, m], hi[:, m] = hierarchy.closure(lo[:, m], hi[:, m])
            outside = placed[m][2]
            lo[outside, m], hi[outside, m] = 0, hierarchy.n_leaves - 1
        return np.asfortranarray(lo), np.asfortranarray(hi)


@dataclass(frozen=True)
class TreeRecoding(Recoding):
    """A tree of cuts whose leaves are the released cells.

    Attributes
    ----------
    cuts
        int32 [nodes x 4]: attribute (-1: a leaf), last leaf rank of the left side (or the cell's number), left, right.
    lo, hi
        The released cell of each group, int32 [groups x quasi].
    """

    cuts: npt.NDArray[np.int32]
    lo: Codes
    hi: Codes

    def cells(self, first: Codes, last: Codes, hierarchies: tuple[Hierarchy, ...]) -> tuple[Codes, Codes]:
        """Walk down the cuts."""
        group = walk(first, self.cuts)
        lo, hi = self.lo[group], self.hi[group]
        region_lo, region_hi = self._regions(hierarchies)
        outside = (first < lo) | (last > hi)
        wide_lo = np.minimum(np.minimum(region_lo[group], first), lo)
        wide_hi = np.maximum(np.maximum(region_hi[group], last), hi)
        return np.where(outside, wide_lo, lo), np.where(outside, wide_hi, hi)

    def _regions(self, hierarchies: tuple[Hierarchy, ...]) -> tuple[Codes, Codes]:
        """Return the part of the domain that the cuts leave to each group."""
        region_lo, region_hi = np.zeros_like(self.lo), np.zeros_like(self.hi)
        pending = [(0, [0] * len(hierarchies), [h.n_leaves - 1 for h in hierarchies])]
        while pending:
            node, first, last = pending.pop()
            m, at, left, right = (int(x) for x in self.cuts[node])
            if m < 0:
                region_lo[at], region_hi[at] = first, last
                continue
            left_last, right_first = last.copy(), first.copy()
            left_last[m], right_first[m] = at, at + 1
            pending += [(left, first, left_last), (right, right_first, last)]
        return region_lo, region_hi

    def arrays(self) -> dict[str, npt.NDArray[np.int32]]:
        """Return cuts and cells."""
        return {"cuts": self.cuts, "lo": self.lo, "hi": self.hi}


@dataclass(frozen=True)
class GlobalRecoding(Recoding):
    """One recoding of each attribute's domain.

    Attributes
    ----------
    lo_of, hi_of
        Ends of the cell of each leaf, one array per attribute.
    """

    lo_of: tuple[Codes, ...]
    hi_of: tuple[Codes, ...]

    def cells(self, first: Codes, last: Codes, hierarchies: tuple[Hierarchy, ...]) -> tuple[Codes, Codes]:
        """Look each leaf up."""
        del hierarchies
        lo = np.column_stack([of[first[:, m]] for m, of in enumerate(self.lo_of)])
        hi = np.column_stack([of[last[:, m]] for m, of in enumerate(self.hi_of)])
        return lo, hi

    def arrays(self) -> dict[str, npt.NDArray[np.int32]]:
        """Return the cells of all domains, end to end."""
        sizes = np.array([len(of) for of in self.lo_of], np.int32)
        return {"sizes": sizes, "lo_of": np.concatenate(self.lo_of), "hi_of": np.concatenate(self.hi_of)}


def from_arrays(arrays: Mapping[str, npt.NDArray[np.int32]]) -> Recoding:
    """Make a recoding from what `Recoding.arrays` returned."""
    if "cuts" in arrays:
        return TreeRecoding(arrays["cuts"], arrays["lo"], arrays["hi"])
    ends = np.cumsum(arrays["sizes"])[:-1]
    return GlobalRecoding(tuple(np.split(arrays["lo_of"], ends)), tuple(np.split(arrays["hi_of"], ends)))


def _place(hierarchy: Hierarchy, column: pl.Series, unseen: Unseen) -> tuple[Codes, Codes, npt.NDArray[np.bool_]]:
    """Return the leaves around each value, and which values are outside the domain."""
    codes = hierarchy.encode(column)
    low, high = codes.copy(), codes.copy()
    unknown = codes == OUTSIDE
    if unknown.any() and isinstance(hierarchy, Intervals) and hierarchy.ordered:
        values = as_leaves(column, "float" if hierarchy.type == "int" else hierarchy.type).to_physical()
        numbers = values.cast(pl.Float64()).fill_null(np.nan).to_numpy()
        n_missing = int(hierarchy.has_missing)
        known = hierarchy.pos[n_missing:]
        at = np.searchsorted(known, numbers) + n_missing
        between = unknown & (numbers > known[0]) & (numbers < known[-1])
        low[between], high[between] = at[between] - 1, at[between]
        unknown &= ~between
        if unseen == "nearest":
            clamp = unknown & ~np.isnan(numbers)
            end = np.where(numbers <= known[0], n_missing, hierarchy.n_leaves - 1)
            low[clamp] = high[clamp] = end[clamp]
            unknown &= ~clamp
    if unknown.any() and unseen != "suppress":
        fact = f"Column {column.name!r} has {int(unknown.sum())} rows with values outside the domain of the release"
        raise SchemaError(fact, "use unseen='suppress' to release them as the whole domain")
    low[unknown] = high[unknown] = 0
    return low, high, unknown
