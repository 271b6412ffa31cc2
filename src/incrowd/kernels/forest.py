"""A random forest's trees over few bins: which bin of which column is cut, and the shares of values in leaves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import inlined, kernel

Bins = npt.NDArray[np.uint8]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

# Of a node: what is cut, the last bin on its left, the left child (the right is next).
COLUMN, LAST_BIN, CHILD = range(3)
LEAF = -1  # in place of a column
_LEAST_GAIN = 1e-7  # of an entropy times rows, which is a sum of rounded terms


@kernel
def grow(
    bins: Bins, values: Int64, sample: Int64, n_bins: int, n_values: int, least: int, draws: Float64, logs: Float64
) -> tuple[Int64, Float64, Float64]:
    """Return a tree's nodes, the shares of values in each [nodes x values], and the entropy that each column took away.

    A node looks at columns in random order until it has seen the square root of their number that vary, and a cut that
    leaves both sides enough rows; it takes the one that leaves the least entropy, of equals the first that it saw, and
    the lowest bin.

    Parameters
    ----------
    bins
        [rows x columns], below `n_bins`.
    values
        The value of each row.
    sample
        Rows of this tree, some of them more than once; their order is changed.
    least
        Least rows of a leaf.
    draws
        Random numbers, [nodes x columns], enough for all nodes there can be: 2 x sample / least.
    logs
        x log2 x for every number of rows.
    """
    n_columns = bins.shape[1]
    n_tried = max(1, int(np.sqrt(n_columns)))
    most = 2 * (len(sample) // least) + 1
    nodes = np.full((most, 3), LEAF, np.int64)
    bounds = np.zeros((most, 2), np.int64)
    shares, gains = np.zeros((most, n_values)), np.zeros(n_columns)
    bounds[0, 1] = len(sample)
    left, counts, ends = np.zeros(n_values, np.int64), np.zeros(n_values, np.int64), np.zeros(n_bins + 1, np.int64)
    room = np.empty(len(sample), np.int64)
    n_nodes, node = 1, 0
    while node < n_nodes:
        start, stop = bounds[node]
        n = stop - start
        counts[:] = 0
        for i in range(start, stop):
            counts[values[sample[i]]] += 1
        within = logs[n]
        for v in range(n_values):
            shares[node, v] = counts[v] / n
            within -= logs[counts[v]]
        best, best_column, best_bin = np.inf, LEAF, 0
        order = np.argsort(draws[node]) if n >= 2 * least and within > _LEAST_GAIN else np.empty(0, np.int64)
        n_seen = 0
        for m in order:
            if n_seen >= n_tried and best_column != LEAF:
                break
            lo, hi = _sort_values(bins[:, m], values, sample[start:stop], ends, room)
            if lo == hi:
                continue
            n_seen += 1
            found, last = _best_cut(room, ends, lo, hi, counts, left, n, least, logs, best)
            if found < best:
                best, best_column, best_bin = found, m, last
        if best < within - _LEAST_GAIN:
            gains[best_column] += within - best
            middle = start + _divide(bins[:, best_column], best_bin, sample[start:stop], room)
            nodes[node, COLUMN], nodes[node, LAST_BIN], nodes[node, CHILD] = best_column, best_bin, n_nodes
            bounds[n_nodes, 0], bounds[n_nodes, 1] = start, middle
            bounds[n_nodes + 1, 0], bounds[n_nodes + 1, 1] = middle, stop
            n_nodes += 2
        node += 1
    return nodes[:n_nodes], shares[:n_nodes], gains / len(sample)


@inlined
def _sort_values(column: Bins, values: Int64, rows: Int64, ends: Int64, ordered: Int64) -> tuple[int, int]:
    """Write the rows' values in the order of their bins, and where each bin ends; return the first and the last bin."""
    lo, hi = len(ends), -1
    for i in rows:
        code = int(column[i])
        lo, hi = min(lo, code), max(hi, code)
    if lo == hi:
        return lo, hi
    ends[lo : hi + 2] = 0
    for i in rows:
        ends[int(column[i]) + 1] += 1
    for code in range(lo + 1, hi + 2):
        ends[code] += ends[code - 1]
    for i in rows:  # ends of bins are starts until their rows are here
        code = int(column[i])
        ordered[ends[code]] = values[i]
        ends[code] += 1
    return lo, hi


@inlined
def _best_cut(
    ordered: Int64, ends: Int64, lo: int, hi: int, right: Int64, left: Int64, n: int, least: int, logs: Float64,
    best: float,
) -> tuple[float, int]:  # fmt: skip
    """Return the least entropy times rows that a cut leaves, and its last bin on the left; `best` if none is better.

    `right` holds the counts of all values, and does so again in the end.
    """
    best_bin, at = 0, 0
    left[:] = 0
    inside = 0.0  # the sum of x log2 x over values and sides
    for v in range(len(right)):
        inside += logs[right[v]]
    for code in range(lo, hi):
        if at == ends[code]:
            continue
        for i in range(at, ends[code]):
            v = ordered[i]
            inside -= logs[left[v]] + logs[right[v]]
            left[v] += 1
            right[v] -= 1
            inside += logs[left[v]] + logs[right[v]]
        at = ends[code]
        if n - at < least:
            break
        if at >= least and logs[at] + logs[n - at] - inside < best - _LEAST_GAIN:
            best, best_bin = logs[at] + logs[n - at] - inside, code
    for v in range(len(right)):
        right[v] += left[v]
    return best, best_bin


@inlined
def _divide(column: Bins, last: int, rows: Int64, room: Int64) -> int:
    """Move rows up to the last bin to the front, the others to the back; return how many are in front."""
    front, back = 0, len(rows)
    for i in rows:
        if column[i] <= last:
            room[front] = i
            front += 1
        else:
            back -= 1
            room[back] = i
    rows[:] = room[: len(rows)]
    return front


@kernel
def add_shares(bins: Bins, nodes: Int64, shares: Float64, into: Float64) -> None:
    """Add to every row the shares of the leaf in which it ends, [rows x values]."""
    for i in range(len(bins)):
        node = 0
        while nodes[node, COLUMN] != LEAF:
            child = nodes[node, CHILD]
            node = child if bins[i, nodes[node, COLUMN]] <= nodes[node, LAST_BIN] else child + 1
        for v in range(shares.shape[1]):
            into[i, v] += shares[node, v]
