"""Rows with equal cells, found by relabelling one column after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incrowd.verify.domain import Array


@dataclass(frozen=True)
class Cells:
    """The generalized cells of all rows.

    Attributes
    ----------
    lo, hi
        Per column, the distinct cells.
    cell
        Per column, which distinct cell each row has.
    group
        Per row, which combination of cells it has.
    first, size
        Per group, its first row and its number of rows.
    """

    lo: list[Array]
    hi: list[Array]
    cell: list[Array]
    group: Array
    first: Array
    size: Array

    @property
    def n_groups(self) -> int:
        """Number of distinct boxes."""
        return len(self.first)

    def of_groups(self, column: int) -> Array:
        """Which distinct cell of a column each group has."""
        return self.cell[column][self.first]


def distinct_cells(lo: Array, hi: Array, n_codes: int) -> tuple[Array, Array, Array]:
    """Return both ends of the distinct cells of a column, and which of them each row has; codes are below `n_codes`."""
    cell, distinct = relabel(lo.astype(np.int64) * n_codes + hi, n_codes * n_codes)
    return distinct // n_codes, distinct % n_codes, cell


def make_cells(columns: list[tuple[Array, Array, Array]], n_rows: int) -> Cells:
    """Group rows by the `distinct_cells` of their columns."""
    los, his, cells = ([column[part] for column in columns] for part in range(3))
    group = combine(cells, [len(x) for x in los], n_rows)
    n_groups = int(group.max()) + 1 if n_rows else 0
    first = np.zeros(n_groups, np.int64)
    first[group[::-1]] = np.arange(n_rows - 1, -1, -1)
    return Cells(los, his, cells, group, first, np.bincount(group, minlength=n_groups))


def count_weights(numbers: Array, weights: Array, n: int) -> Array:
    """Add up the weights of each of `n` numbers, in whole numbers."""
    total = np.zeros(n, np.int64)
    np.add.at(total, numbers, weights)
    return total


def combine(columns: list[Array], sizes: list[int], n_rows: int) -> Array:
    """Return dense numbers for the combinations of several columns of small numbers."""
    key, size = np.zeros(n_rows, np.int64), 1
    for column, n in zip(columns, sizes, strict=True):
        if size * n > _table_limit(n_rows):
            # relabelled keys stay below the number of rows, so the product cannot overflow
            key, distinct = relabel(key, size)
            size = max(1, len(distinct))
        key = key.astype(np.int64) * n + column
        size *= n
    return relabel(key, size)[0]


def number_rows(columns: list[Array], n_rows: int) -> Array:
    """Return dense numbers for the combinations of several columns of numbers from 0."""
    return combine(columns, [int(column.max(initial=0)) + 1 for column in columns], n_rows)


def relabel(key: Array, size: int) -> tuple[Array, Array]:
    """Return dense numbers for keys below `size`, and the distinct keys in order."""
    if size > _table_limit(len(key)):
        distinct, dense = np.unique(key, return_inverse=True)
        return dense.astype(np.int64), distinct
    seen = np.zeros(size, np.bool_)
    seen[key] = True
    distinct = np.flatnonzero(seen)
    rank = np.empty(size, np.int32)
    rank[distinct] = np.arange(len(distinct), dtype=np.int32)
    return rank[key], distinct


def _table_limit(n_rows: int) -> int:
    return max(1 << 12, 16 * n_rows)
