"""Cuts of groups: what every method that cuts each group by itself has in common."""

from __future__ import annotations

from collections.abc import Callable

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


def cut_groups(
    table: Table,
    k: int,
    domains: Domains,
    columns: list[Codes | None],
    cut: Cut,
    progress: Progress,
    *,
    strict: bool = True,
) -> Choice:
    """Cut the table until `cut` leaves no group on the stack; each group is released as the closure of its rows.

    Parameters
    ----------
    columns
        What the cuts look at beside the leaf ranks, the sensitive codes last; ``None`` for what they do not look at.
    strict
        Whether equal rows stay together; only then is there a recoding, for it is a function of the row.
    """
    n = table.n_rows
    rows, row_of = distinct_rows(table, columns, strict=strict)
    most, most_leaves = n // k + 2, max(hierarchy.n_leaves for hierarchy in table.hierarchies)
    work = Work(rows, np.empty_like(rows), np.empty(n, np.int32), np.zeros((4, most_leaves + 2), np.int64))
    groups, cuts = np.empty((most, 2), np.int64), np.zeros((2 * most, 4), np.int32)
    partition = Partition(np.zeros((most, 4), np.int64), groups, cuts, np.array([1, 0, 1, 0], np.int64))
    partition.stack[0] = 0, len(rows), n, 0
    progress("cutting", 0, n)
    while partition.state[0] > 0:
        cut(work, partition)
        progress("cutting", int(partition.state[3]), n)
    n_groups = int(partition.state[1])
    group_of = np.empty(len(rows), np.int64)
    group_of[rows[:, NUMBER]] = np.repeat(np.arange(n_groups), groups[:n_groups, 1] - groups[:n_groups, 0])
    cell_of = group_of[row_of]
    del work, rows, row_of
    lo, hi = close_groups(table.codes, cell_of, n_groups, domains)
    recoding = TreeRecoding(cuts[: partition.state[2]].copy(), lo, hi) if strict else None
    return Choice(lo, hi, cell_of, recoding=recoding)


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
    rows[:, WEIGHT] = np.bincount(row_of, minlength=n_distinct)
    rows[:, NUMBER] = np.arange(n_distinct)
    return rows, row_of
