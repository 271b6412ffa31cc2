"""What cells cost, in whole numbers, and a tree of boxes over rows: where NSVDist searches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import kernel

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

TREE, PAIR, LINE = range(3)
KIND, N_LEAVES, HAS_MISSING, COST, TABLE = range(5)
START, STOP, LEFT, RANK = range(4)
NONE = -1


class Prices(NamedTuple):
    """What every cell costs, in whole numbers.

    ``shape[m]`` tells an attribute's kind, its number of leaves, whether the first one is the missing value, where its
    costs begin in `exact` and `lower`, and where its look-up table begins. `TREE`: costs of the node of each leaf per
    level, and `ends` the node's first and last leaf. `PAIR`: costs of ``[lo, hi]`` at ``lo * leaves + hi``. `LINE`:
    positions, whose difference is the cost; the only kind without a table, and the last attributes. `lower` never falls
    when a cell grows and is nowhere above `exact`; for monotone losses they are the same.
    """

    shape: Int64
    exact: Int32
    lower: Int32
    ends: Int32
    n_tables: int
    n_table: int
    monotone: bool


@kernel
def cost_of(prices: Prices, costs: Int32, m: int, lo: int, hi: int) -> int:
    """Return the cost of the closure of a range of leaves."""
    kind, n, begin = prices.shape[m, KIND], prices.shape[m, N_LEAVES], prices.shape[m, COST]
    if kind == TREE:
        at = begin + lo
        while prices.ends[1, at] < hi:
            at += n
        return int(costs[at])
    if prices.shape[m, HAS_MISSING] and lo == 0 and hi > 0:  # missing joins the others in the whole domain
        hi = n - 1
    return int(costs[begin + lo * n + hi] if kind == PAIR else costs[begin + hi] - costs[begin + lo])


@kernel
def build_tree(codes: Int32, leaf_size: int, spread: Int64, prices: Prices) -> tuple[Int64, Int32, Int32]:
    """Hang distinct rows into a tree of boxes, cut where joining the two parts costs much and their sizes are similar.

    Parameters
    ----------
    codes
        Leaf ranks of distinct rows, [distinct x quasi].
    spread
        Room for a histogram of the largest domain.

    Returns
    -------
    order, nodes, box
        The rows in the order of the tree; per node first and last row, first child, and no rank yet; its codes.
    """
    n_rows, n_quasi = codes.shape
    order, moved = np.arange(n_rows), np.empty(n_rows, np.int64)
    most = 2 * n_rows + 1  # both parts of a node have rows
    nodes, box = np.zeros((most, 4), np.int32), np.zeros((most, 2 * n_quasi), np.int32)
    stack = np.zeros(most, np.int64)
    nodes[0, STOP] = n_rows
    n_nodes, n_stack = 1, 1
    while n_stack > 0:
        n_stack -= 1
        node = stack[n_stack]
        start, stop = nodes[node, START], nodes[node, STOP]
        nodes[node, LEFT] = NONE
        best, cut, along = 0.0, 0, 0
        for m in range(n_quasi):
            lo, hi = codes[order[start], m], codes[order[start], m]
            for i in range(start + 1, stop):
                lo, hi = min(lo, codes[order[i], m]), max(hi, codes[order[i], m])
            box[node, 2 * m], box[node, 2 * m + 1] = lo, hi
            if lo < hi and stop - start > leaf_size:
                worth, code = _best_cut(codes, order, spread, start, stop, m, lo, hi, prices)
                if worth > best:
                    best, cut, along = worth, code, m
        if best == 0.0:
            continue
        n_left = _part(codes, order, moved, start, stop, along, cut)
        nodes[node, LEFT] = n_nodes
        nodes[n_nodes, START], nodes[n_nodes, STOP] = start, start + n_left
        nodes[n_nodes + 1, START], nodes[n_nodes + 1, STOP] = start + n_left, stop
        stack[n_stack], stack[n_stack + 1] = n_nodes, n_nodes + 1
        n_stack += 2
        n_nodes += 2
    return order, nodes[:n_nodes], box[:n_nodes]


@kernel
def _best_cut(
    codes: Int32, order: Int64, spread: Int64, start: int, stop: int, m: int, lo: int, hi: int, prices: Prices
) -> tuple[float, int]:
    """Return the worth of the best cut of an attribute, and the last code below it.

    A cut is worth what it costs to join its nearest codes, times the rows of the smaller part: the bound that it lends
    to the part that a search is not in, times how much can be left aside by it.
    """
    for offset in range(hi - lo + 1):
        spread[offset] = 0
    for i in range(start, stop):
        spread[codes[order[i], m] - lo] += 1
    best, cut, below, previous = 0.0, 0, 0, NONE
    for offset in range(hi - lo + 1):
        if spread[offset] == 0:
            continue
        if previous != NONE:
            gap = cost_of(prices, prices.lower, m, previous + lo, offset + lo)
            worth = float(gap) * min(below, stop - start - below)
            if worth > best:
                best, cut = worth, previous + lo
        below += spread[offset]
        previous = offset
    return best, cut


@kernel
def _part(codes: Int32, order: Int64, moved: Int64, start: int, stop: int, m: int, cut: int) -> int:
    """Bring the rows of codes up to the cut to the front; return how many they are."""
    n_left, n_right = 0, 0
    for i in range(start, stop):
        if codes[order[i], m] <= cut:
            order[start + n_left] = order[i]
            n_left += 1
        else:
            moved[n_right] = order[i]
            n_right += 1
    for i in range(n_right):
        order[start + n_left + i] = moved[i]
    return n_left
