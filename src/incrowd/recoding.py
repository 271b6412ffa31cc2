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
from incrowd.hierarchy import Hierarchy
from incrowd.hierarchy.hierarchy import OUTSIDE, Codes, convert
from incrowd.kernels.jit import interpreted
from incrowd.kernels.partition import walk

_FEW_LEAVES = 10_000  # to look up: loading compiled loops takes longer

Unseen = Literal["error", "suppress", "nearest"]


class Recoding(ABC):
    """A function from the leaves of a row to its cell."""

    @abstractmethod
    def cells(self, leaves: Codes, hierarchies: tuple[Hierarchy, ...]) -> tuple[Codes, Codes]:
        """Return ends of a cell that holds each leaf, [rows x quasi] each; not yet closed."""

    @abstractmethod
    def arrays(self) -> dict[str, npt.NDArray[np.int32]]:
        """Return everything to be kept on disk."""

    def transform(
        self, columns: list[pl.Series], hierarchies: tuple[Hierarchy, ...], unseen: Unseen
    ) -> tuple[Codes, Codes]:
        """Return the cell of each new row, [rows x quasi] each.

        A row gets the released cell of its group. Where that does not hold the row's own leaf, the cell is
        widened to all that the cuts leave to the group, never to the leaf itself, which would show it. A number
        or date between two leaves counts as the nearer one.
        """
        if unseen not in get_args(Unseen):
            fact = f"unseen is {unseen!r}"
            raise ParameterError(fact, f"use one of {', '.join(get_args(Unseen))}")
        placed = [_place(h, column, unseen) for h, column in zip(hierarchies, columns, strict=True)]
        lo, hi = self.cells(np.column_stack([codes for codes, _ in placed]), hierarchies)
        for m, hierarchy in enumerate(hierarchies):
            lo[:, m], hi[:, m] = hierarchy.closure(lo[:, m], hi[:, m])
            outside = placed[m][1]
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

    def cells(self, leaves: Codes, hierarchies: tuple[Hierarchy, ...]) -> tuple[Codes, Codes]:
        """Walk down the cuts."""
        with interpreted(leaves.size < _FEW_LEAVES):
            group = walk(leaves, self.cuts)
        lo, hi = self.lo[group], self.hi[group]
        region_lo, region_hi = self._regions(hierarchies)
        outside = (leaves < lo) | (leaves > hi)
        wide_lo, wide_hi = np.minimum(region_lo[group], lo), np.maximum(region_hi[group], hi)
        return np.where(outside, wide_lo, lo), np.where(outside, wide_hi, hi)

    def _regions(self, hierarchies: tuple[Hierarchy, ...]) -> tuple[Codes, Codes]:
        """Return the part of the domain that the cuts leave to each group, all leaves of the tree that are it."""
        region_lo, region_hi = self.hi.copy(), self.lo.copy()
        n_nodes, ends = len(self.cuts), [h.n_leaves - 1 for h in hierarchies]
        first, last = np.tile(np.array(ends, np.int32), (n_nodes, 1)), np.zeros((n_nodes, len(ends)), np.int32)
        first[0], last[0] = 0, ends
        for node, (m, at, left, right) in enumerate(self.cuts.tolist()):  # children have higher numbers
            if m < 0:
                region_lo[at] = np.minimum(region_lo[at], first[node])
                region_hi[at] = np.maximum(region_hi[at], last[node])
                continue
            left_last, right_first = last[node].copy(), first[node].copy()
            left_last[m], right_first[m] = at, at + 1
            first[left], last[left] = np.minimum(first[left], first[node]), np.maximum(last[left], left_last)
            first[right], last[right] = np.minimum(first[right], right_first), np.maximum(last[right], last[node])
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

    def cells(self, leaves: Codes, hierarchies: tuple[Hierarchy, ...]) -> tuple[Codes, Codes]:
        """Look each leaf up."""
        del hierarchies
        lo = np.column_stack([of[leaves[:, m]] for m, of in enumerate(self.lo_of)])
        hi = np.column_stack([of[leaves[:, m]] for m, of in enumerate(self.hi_of)])
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


def _place(hierarchy: Hierarchy, column: pl.Series, unseen: Unseen) -> tuple[Codes, npt.NDArray[np.bool_]]:
    """Return the leaf that each value is or, between two numbers, is nearest to; and which values have none."""
    codes = hierarchy.encode(column)
    unknown = codes == OUTSIDE
    if unknown.any() and hierarchy.ordered:
        nearest, inside = nearest_leaves(hierarchy, column)
        placed = unknown & ((nearest != OUTSIDE) if unseen == "nearest" else inside)
        codes[placed] = nearest[placed]
        unknown &= ~placed
    if unknown.any() and unseen != "suppress":
        where = f"outside the domain of the release, first in row {int(np.argmax(unknown)) + 1}"
        fact = f"Column {column.name!r} has {int(unknown.sum())} rows with values {where}"
        hint = "use unseen='suppress' to release them as the whole domain"
        names_only = unseen == "nearest" and not hierarchy.ordered
        raise SchemaError(fact, f"names have no nearest value: {hint}" if names_only else hint)
    codes[unknown] = 0
    return codes, unknown


def nearest_leaves(hierarchy: Hierarchy, column: pl.Series) -> tuple[Codes, npt.NDArray[np.bool_]]:
    """Return the leaf nearest to each number or date, the lower of two, and which lie between two leaves."""
    numbers = _as_floats(convert(column, hierarchy.type if hierarchy.type == "date" else "float"))
    leaves = _as_floats(hierarchy.leaves)
    order = np.argsort(leaves)[: len(leaves) - int(hierarchy.has_missing)]  # NaN, the missing leaf, sorts last
    known = leaves[order]
    after = np.clip(np.searchsorted(known, numbers), 1, max(1, len(known) - 1)) if len(known) > 1 else 0
    before = np.maximum(after - 1, 0)
    nearest = order[np.where(numbers - known[before] <= known[after] - numbers, before, after)]
    inside = (numbers > known[0]) & (numbers < known[-1])
    return np.where(np.isnan(numbers), OUTSIDE, nearest).astype(np.int32), inside


def _as_floats(values: pl.Series) -> npt.NDArray[np.float64]:
    return values.to_physical().cast(pl.Float64()).fill_null(np.nan).to_numpy()
