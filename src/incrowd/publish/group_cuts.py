"""Cuts of groups: what every method that cuts each group by itself has in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.coding.stored import SLICE
from incrowd.coding.table import Arrays
from incrowd.hierarchy.hierarchy import Codes
from incrowd.kernels.domains import Domains, close_groups
from incrowd.kernels.groups import label_groups
from incrowd.kernels.partition import NUMBER, WEIGHT, Partition, Work
from incrowd.publish.publisher import Choice, Progress
from incrowd.recoding import TreeRecoding

_GROUPS = 1 << 18  # groups whose rows are numbered at once

Cut = Callable[[Work, Partition], None]
"""Cuts some of the groups on the stack."""


@dataclass(frozen=True)
class Cutting:
    """A table that is to be cut, perhaps several times, in the form that kernels take.

    Attributes
    ----------
    rows, row_of
        Distinct rows, and which of them each row of the table is, ``None``: itself; see `distinct_rows`.
    """

    table: Table
    k: int
    domains: Domains
    rows: npt.NDArray[np.int32]
    row_of: npt.NDArray[np.int64] | None
    strict: bool

    @classmethod
    def of(cls, table: Table, k: int, domains: Domains, columns: list[Codes | None], *, strict: bool = True) -> Cutting:
        """Prepare a table.

        Parameters
        ----------
        columns
            What the cuts look at beside the leaf ranks, the sensitive codes last; ``None`` for what they leave alone.
        strict
            Whether equal rows stay together; only then is there a recoding, for it is a function of the row.
        """
        if table.disk is not None:
            return cls(table, k, domains, stored_rows(table, columns, table.disk), None, strict)
        return cls(table, k, domains, *distinct_rows(table, columns, strict=strict), strict)

    def copy(self) -> npt.NDArray[np.int32]:
        """Return the rows, to be moved about while others move them, too."""
        return self.rows.copy() if self.table.disk is None else self.table.disk.copy(self.rows)

    def start(self, rows: npt.NDArray[np.int32]) -> tuple[Work, Partition]:
        """Return all rows as one group on the stack; the rows are moved about."""
        n = self.table.n_rows
        most = min(n // self.k, len(rows)) + 2
        most_leaves = max(hierarchy.n_leaves for hierarchy in self.table.hierarchies)
        new = np.zeros if self.table.disk is None else self.table.disk.empty
        spare, part = new(rows.shape, np.int32), new(len(rows), np.int32)
        work = Work(rows, spare, part, np.zeros((4, most_leaves + 2), np.int64))
        groups, cuts = np.empty((most, 2), np.int64), np.zeros((3 * most, 4), np.int32)
        partition = Partition(np.zeros((most, 4), np.int64), groups, cuts, np.array([1, 0, 1, 0], np.int64))
        partition.stack[0] = 0, len(rows), n, 0
        return work, partition

    def close(self, work: Work, partition: Partition) -> Choice:
        """Return the groups of a finished partition, each as the closure of its rows."""
        n_groups = int(partition.state[1])
        bounds = partition.groups[:n_groups]
        new = np.zeros if self.table.disk is None else self.table.disk.empty
        group_of = new(len(work.rows), np.int64)
        sizes = bounds[:, 1] - bounds[:, 0]
        for start in range(0, n_groups, _GROUPS):
            some, stop = sizes[start : start + _GROUPS], min(start + _GROUPS, n_groups)
            numbers = work.rows[bounds[start, 0] : bounds[stop - 1, 1], NUMBER]
            group_of[numbers] = np.repeat(np.arange(start, stop), some)
        cell_of = group_of if self.row_of is None else group_of[self.row_of]
        lo, hi = close_groups(self.table.codes, cell_of, n_groups, self.domains)
        recoding = TreeRecoding(partition.cuts[: partition.state[2]].copy(), lo, hi) if self.strict else None
        return Choice(lo, hi, cell_of, recoding=recoding)


def cut_groups(cutting: Cutting, cut: Cut, progress: Progress) -> Choice:
    """Cut the table until `cut` leaves no group on the stack; each group is released as the closure of its rows."""
    work, partition = cutting.start(cutting.rows)
    n = cutting.table.n_rows
    progress("cutting", 0, n)
    while partition.state[0] > 0:
        cut(work, partition)
        progress("cutting", int(partition.state[3]), n)
    return cutting.close(work, partition)


def stored_rows(table: Table, columns: list[Codes | None], disk: Arrays) -> npt.NDArray[np.int32]:
    """Return the rows of a table on the disk as the kernels want them, each by itself."""
    n, n_quasi = table.codes.shape
    rows: npt.NDArray[np.int32] = disk.empty((n, n_quasi + len(columns) + 2), np.int32)
    for start in range(0, n, SLICE):
        some = slice(start, min(start + SLICE, n))
        rows[some, :n_quasi] = table.codes[some]
        for at, column in enumerate(columns, n_quasi):
            rows[some, at] = 0 if column is None else column[some]
        rows[some, WEIGHT] = 1
        rows[some, NUMBER] = np.arange(some.start, some.stop)
    return rows


def distinct_rows(
    table: Table, columns: list[Codes | None], *, strict: bool
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Return rows as the kernels want them, equal ones once, and which of them each row of the table is.

    Relaxed cuts part equal rows, so they get each row by itself.
    """
    n, n_quasi = table.codes.shape
    used = [column for column in columns if column is not None]
    if strict:
        row_of, n_distinct = label_groups(np.column_stack([table.codes, *used]) if used else table.codes)
    else:
        row_of, n_distinct = np.arange(n), n
    first = np.empty(n_distinct, np.int64)
    first[row_of[::-1]] = np.arange(n - 1, -1, -1)
    rows = np.zeros((n_distinct, n_quasi + len(columns) + 2), np.int32)
    rows[:, :n_quasi] = table.codes[first]
    for at, column in enumerate(columns, n_quasi):
        if column is not None:
            rows[:, at] = column[first]
    if table.weights is None:
        rows[:, WEIGHT] = np.bincount(row_of, minlength=n_distinct)
    else:
        np.add.at(rows[:, WEIGHT], row_of, table.weights.astype(np.int32))
    rows[:, NUMBER] = np.arange(n_distinct)
    return rows, row_of
