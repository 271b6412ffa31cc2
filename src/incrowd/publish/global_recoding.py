"""Global recoding: single-dimensional cuts, one recoding of each attribute's domain for all rows."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.kernels.domains import HAS_MISSING, N_LEAVES, N_LEVELS, NODE_START, Domains, close, extent
from incrowd.kernels.limits import SIZE, Limits
from incrowd.kernels.refine import refine_groups
from incrowd.publish.publisher import Choice, Progress
from incrowd.recoding import GlobalRecoding

Range = tuple[int, int]


def cut_globally(table: Table, domains: Domains, bounds: Limits, n_values: int, progress: Progress) -> Choice:
    """Cut the widest range of any attribute while all groups of the whole table keep the limits.

    A range whose cut is not allowed is never tried again: groups only get smaller, and a constraint that fails for a
    group fails for some part of it.
    """
    n, k = table.n_rows, int(bounds.whole[0, SIZE])
    n_kept = len(table.codes)
    weights = np.empty(0, np.int64) if table.weights is None else table.weights
    sensitive = np.zeros(n_kept, np.int32) if table.sensitive is None else table.sensitive
    group, n_groups = np.zeros(n_kept, np.int64), 1
    ranges: list[list[Range]] = [[] for _ in table.hierarchies]
    queue: list[tuple[float, int, Range]] = []

    def keep(m: int, piece: Range) -> None:
        """Queue a range that can still be cut, by its width; set others aside."""
        lo, hi, n_present = _tight(table, domains, m, piece)
        if n_present > 1:
            heapq.heappush(queue, (-extent(domains, m, lo, hi), m, piece))
        else:
            ranges[m].append(piece)

    for m, hierarchy in enumerate(table.hierarchies):
        keep(m, (0, hierarchy.n_leaves - 1))
    while queue:
        progress("cutting", n_groups, max(n_groups, n // k))
        _, m, piece = heapq.heappop(queue)
        for ends in _candidates(table, domains, m, piece):
            n_refined = refine_groups(
                table.codes[:, m], weights, piece[0], ends, group, n_groups, sensitive, n_values, bounds
            )
            if n_refined:
                n_groups = n_refined
                for first, last in zip([piece[0], *(ends[:-1] + 1)], ends, strict=True):
                    keep(m, (int(first), int(last)))
                break
        else:
            ranges[m].append(piece)
    return release_ranges(table, domains, group, n_groups, ranges)


def _tight(table: Table, domains: Domains, m: int, piece: Range) -> tuple[int, int, int]:
    """Return the closure of the leaves of a range that occur, and their number; its own closure if none does."""
    first, last = piece
    present = np.flatnonzero(table.marginals[m][first : last + 1]) + first
    ends = (int(present[0]), int(present[-1])) if len(present) else piece
    lo, hi, _ = close(domains, m, *ends)
    return lo, hi, len(present)


def _candidates(table: Table, domains: Domains, m: int, piece: Range) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the cuts to try, each as the last leaf of every part."""
    first, last = piece
    counts = table.marginals[m][first : last + 1]
    if domains.shape[m, N_LEVELS]:
        yield child_ends(table, domains, m, piece)
        return
    if domains.shape[m, HAS_MISSING] and first == 0:
        yield np.array([0, last])
    up_to = np.cumsum(counts)
    n = up_to[-1]
    median = int(np.searchsorted(up_to, (n + 1) // 2))
    below = int(np.flatnonzero(counts[:median])[-1]) if counts[:median].any() else -1
    behind = (median, int(up_to[median]))
    before = (below, int(up_to[below]) if below >= 0 else 0)
    behind_first = behind[1] + before[1] <= n
    for offset, n_left in (behind, before) if behind_first else (before, behind):
        if 0 < n_left < n:
            yield np.array([first + offset, last])


def child_ends(table: Table, domains: Domains, m: int, piece: Range) -> npt.NDArray[np.int64]:
    """Return the last leaf of each child of a range's node, which is the lowest one that holds all its rows."""
    first, last = piece
    present = np.flatnonzero(table.marginals[m][first : last + 1]) + first
    lo, hi, height = close(domains, m, int(present[0]), int(present[-1]))
    below = domains.shape[m, NODE_START] + (height - 1) * domains.shape[m, N_LEAVES]
    ends = np.unique(domains.nodes[1, below + lo : below + hi + 1]).astype(np.int64)
    ends[-1] = last  # leaves of the range beyond the node have no rows
    return ends


def release_ranges(
    table: Table, domains: Domains, group: npt.NDArray[np.int64], n_groups: int, ranges: list[list[Range]]
) -> Choice:
    """Release each range of each attribute as the closure of its leaves that occur; a later range goes before."""
    lo_of, hi_of, wide_lo, wide_hi = [], [], [], []
    for m, hierarchy in enumerate(table.hierarchies):
        bounds = np.zeros((4, hierarchy.n_leaves), np.int32)
        for first, last in ranges[m]:
            lo, hi, _ = _tight(table, domains, m, (first, last))
            wide = close(domains, m, min(lo, first), max(hi, last))
            bounds[:, first : last + 1] = np.array([[lo], [hi], [wide[0]], [wide[1]]])
        leaf = np.arange(hierarchy.n_leaves)
        outside = (leaf < bounds[0]) | (leaf > bounds[1])  # in the range, but not in the released cell
        lo_of.append(bounds[0])
        hi_of.append(bounds[1])
        wide_lo.append(np.where(outside, bounds[2], bounds[0]))
        wide_hi.append(np.where(outside, bounds[3], bounds[1]))
    some_row = np.empty(n_groups, np.int64)
    some_row[group] = np.arange(len(group))
    leaves = table.codes[some_row]
    cell_lo = np.column_stack([of[leaves[:, m]] for m, of in enumerate(lo_of)])
    cell_hi = np.column_stack([of[leaves[:, m]] for m, of in enumerate(hi_of)])
    return Choice(cell_lo, cell_hi, group, recoding=GlobalRecoding(tuple(wide_lo), tuple(wide_hi)))
