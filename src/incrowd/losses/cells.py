"""Cells: what a loss looks at, the same for homogeneous, local and non-homogeneous releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from incrowd.errors import ParameterError
from incrowd.hierarchy import Hierarchy
from incrowd.kernels.groups import label_groups

Codes = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_SMALL_TABLE = 1 << 16  # this many pairs of leaves are always counted in a table


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """Generalized rows as arrays, with what is known of the originals behind them.

    Parameters
    ----------
    hierarchies
        One per quasi-identifier.
    lo, hi
        First and last leaf rank of each cell, [rows x quasi], best in Fortran order.
    marginals
        How often each leaf occurs among the originals, one array per quasi-identifier.
    sensitive
        Exact sensitive code of each row.
    counts
        Distribution of sensitive values of each row, [rows x values].
    classes
        Code of each row's target when that is not the sensitive column.
    n_values
        Number of sensitive values.
    n_suppressed
        Rows that were left out of the release.
    k
        The promised size of the crowd.
    originals
        Leaf ranks of each row's own original, [rows x quasi].
    """

    hierarchies: Sequence[Hierarchy]
    lo: Codes
    hi: Codes
    marginals: Sequence[Counts | Floats]
    sensitive: Codes | None = None
    counts: Codes | None = None
    classes: Codes | None = None
    n_values: int = 0
    n_suppressed: int = 0
    k: int = 1
    originals: Codes | None = None

    def __post_init__(self) -> None:
        shape = self.lo.shape
        per_row = {"sensitive": self.sensitive, "counts": self.counts, "classes": self.classes}
        sizes = [len(marginal) for marginal in self.marginals]
        fits = (
            len(shape) == 2
            and self.hi.shape == shape
            and (self.originals is None or self.originals.shape == shape)
            and all(array is None or len(array) == shape[0] for array in per_row.values())
            and len(self.hierarchies) == shape[1]
            and sizes == [hierarchy.n_leaves for hierarchy in self.hierarchies]
        )
        if not fits:
            fact = f"The arrays of a release do not fit together: lo is {shape}, hi is {self.hi.shape}"
            raise ParameterError(fact, "give one row per released row, one column, hierarchy and marginal per quasi")
        if self.k < 1 or self.n_suppressed < 0:
            fact = f"A release has k={self.k} and {self.n_suppressed} suppressed rows"
            raise ParameterError(fact, "k is at least 1, and rows are counted from 0")

    @property
    def n_rows(self) -> int:
        """Rows in the release."""
        return int(self.lo.shape[0])

    @property
    def n_total(self) -> int:
        """Rows in the release and rows left out."""
        return self.n_rows + self.n_suppressed

    @property
    def n_quasi(self) -> int:
        """Number of quasi-identifiers."""
        return int(self.lo.shape[1])

    @cached_property
    def groups(self) -> tuple[Counts, int]:
        """Label of each row and number of groups: rows whose cells are all equal form a group."""
        both = np.empty((self.n_rows, 2 * self.n_quasi), np.int32, order="F")
        both[:, : self.n_quasi] = self.lo
        both[:, self.n_quasi :] = self.hi
        return label_groups(both)

    def distinct(self, attribute: int) -> tuple[Codes, Codes, Counts]:
        """Return the cells of one attribute as (lo, hi, how often): each once if the domain is small."""
        lo, hi = self.lo[:, attribute], self.hi[:, attribute]
        n_leaves = self.hierarchies[attribute].n_leaves
        if n_leaves**2 > max(_SMALL_TABLE, self.n_rows) or not self.n_rows:
            return lo, hi, np.ones(self.n_rows, np.int64)
        times = np.bincount(lo.astype(np.int64) * n_leaves + hi)
        pair = np.flatnonzero(times)
        first, last = np.divmod(pair.astype(np.int32), np.int32(n_leaves))
        return first, last, times[pair]


def mean_over_attributes(cells: Cells, losses: Sequence[float]) -> float:
    """Divide the summed losses of each attribute by rows and attributes; nothing to lose is no loss."""
    return float(sum(losses)) / (cells.n_total * cells.n_quasi) if losses and cells.n_total else 0.0
