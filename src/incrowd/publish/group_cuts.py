"""Cuts of groups: what every method that cuts each group by itself has in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.hierarchy.hierarchy import Codes
from incrowd.kernels.domains import Domains, close_groups
from incrowd.kernels.groups import label_groups
from incrowd.kernels.partition import NUMBER, WEIGHT, Partition, Work
from incrowd.publish.publisher import Choice, Progress
from incrowd.recoding import TreeRecoding

Cut = Callable[[Work, Partition], None]
"""Cuts some of the groups on the stack."""


@dataclass(frozen=True)
class Cutting:
    """A table that is to be cut, perhaps several times, in the form that kernels take.

    Attributes
    ----------
    rows, row_of
        Distinct rows, and which of them each row of the table is: see `distinct_rows`.
    """

    table: Table
    k: int
    domains: Domains
    rows: npt.NDArray[np.int32]
    row_of: npt.NDArray[np.int64]
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
        return cls(table, k, domains, *distinct_rows(table, columns, strict=strict), strict)

    def start(self, rows: npt.NDArray[np.int32]) -> tuple[Work, Partition]:
        """Return all rows as one group on the stack; the rows are moved about."""
        n = self.table.n_rows
        most = min(n // self.k, len(rows)) + 2
        most_leaves = max(hierarchy.n_leaves for hierarchy in self.table.hierarchies)
        work = Work(rows, np.empty_like(rows), np.empty(len(rows), np.int32), np.zeros((4, most_leaves + 2), np.int64))
        groups, cuts = np.empty((most, 2), np.int64), np.zeros((3 * most, 4), np.int32)
        partition = Partition(np.zeros((most, 4), np.int64), groups, cuts, np.array([1, 0, 1, 0], np.int64))
        partition.stack[0] = 0, len(rows), n, 0
        return work, partition

    def close(self, work: Work, partition: Partition) -> Choice:
        """Return the groups of a finished partition, each as the closure of its rows."""
        n_groups = int(partition.state[1])
        bounds = partition.groups[:n_groups]
        group_of = np.empty(len(work.rows), np.int64)
        group_of[work.rows[:, NUMBER]] = np.repeat(np.arange(n_groups), bounds[:, 1] - bounds[:, 0])
        cell_of = group_of[self.row_of]
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
