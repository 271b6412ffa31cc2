"""The classification tree of kACTUS: C4.5's splits over coded rows, and its pessimistic pruning."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.domains import HAS_MISSING, N_LEVELS, Domains
from incrowd.kernels.jit import kernel
from incrowd.kernels.partition import LEAF, NUMBER, WEIGHT

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

Bools = npt.NDArray[np.bool_]

N_EXTRA, CLASS = 3, -3  # columns of rows behind the leaf ranks; the class is the first of them
START, STOP, N_ROWS, N_WRONG, ATTRIBUTE, FIRST, N_BRANCHES, PARENT, LAST_CODE = range(9)
N_FIELDS = 9
NONE = -1
TIE = 1e-9  # gains and ratios that differ by less are equal: they are sums of rounded terms
_DENSE = 8  # cells of a histogram per row up to which walking over it beats sorting
_SLACK = 0.1  # C4.5's: a leaf may be so many errors worse than the subtree that it replaces


class Growth(NamedTuple):
    """What growing moves about.

    Attributes
    ----------
    rows
        [distinct rows x (quasi + 3)]: leaf ranks, class, number of equal rows, row number. Reordered so that the rows
        of a node are contiguous.
    spare
        Room for as many rows.
    part
        The branch that each row goes to.
    keys, sizes
        The (leaf, class) pairs of a node in order, as ``leaf * classes + class``, and how many rows each has.
    histogram
        Room to count pairs in, and to look up the branch of a leaf.
    counts
        Rows per class below and above a threshold, [2 x classes]; zero between calls.
    gains
        Gain, gain ratio and threshold of each attribute.
    logs
        x log2 x.
    """

    rows: Int32
    spare: Int32
    part: Int32
    keys: Int64
    sizes: Int64
    histogram: Int64
    counts: Int64
    gains: Float64
    logs: Float64


@kernel
def _sort(keys: Int64, sizes: Int64, n: int) -> None:
    """Sort pairs in place by key (Shell's method)."""
    gap = n // 2
    while gap > 0:
        for i in range(gap, n):
            key, size, j = keys[i], sizes[i], i
            while j >= gap and keys[j - gap] > key:
                keys[j], sizes[j] = keys[j - gap], sizes[j - gap]
                j -= gap
            keys[j], sizes[j] = key, size
        gap = 1 if gap == 2 else gap * 5 // 11


@kernel
def _range(rows: Int32, start: int, stop: int, m: int) -> tuple[int, int]:
    """Return the smallest and the largest code in a slice of rows."""
    lo = hi = int(rows[start, m])
    for i in range(start + 1, stop):
        lo, hi = min(lo, int(rows[i, m])), max(hi, int(rows[i, m]))
    return lo, hi


@kernel
def _tally(growth: Growth, start: int, stop: int, m: int, n_classes: int) -> int:
    """Count the (leaf, class) pairs of a slice of rows; return how many occur."""
    rows, keys, sizes, histogram = growth.rows, growth.keys, growth.sizes, growth.histogram
    lo, hi = _range(rows, start, stop, m)
    n_pairs, span = 0, (hi - lo + 1) * n_classes
    if span <= len(histogram) and span <= _DENSE * (stop - start):
        for key in range(span):
            histogram[key] = 0
        for i in range(start, stop):
            histogram[(rows[i, m] - lo) * n_classes + rows[i, CLASS]] += rows[i, WEIGHT]
        for key in range(span):
            if histogram[key] > 0:
                keys[n_pairs], sizes[n_pairs] = lo * n_classes + key, histogram[key]
                n_pairs += 1
        return n_pairs
    n = stop - start
    for i in range(n):
        keys[i] = np.int64(rows[start + i, m]) * n_classes + rows[start + i, CLASS]
        sizes[i] = rows[start + i, WEIGHT]
    _sort(keys, sizes, n)
    for i in range(n):
        if n_pairs > 0 and keys[i] == keys[n_pairs - 1]:
            sizes[n_pairs - 1] += sizes[i]
        else:
            keys[n_pairs], sizes[n_pairs] = keys[i], sizes[i]
            n_pairs += 1
    return n_pairs


@kernel
def _by_value(growth: Growth, n_pairs: int, n: int, n_classes: int, least: int) -> tuple[float, float]:
    """Return n x the entropy left behind a branch per value, and n x that of the branching: 0 if it is not allowed."""
    keys, sizes, logs = growth.keys, growth.sizes, growth.logs
    left, branching = 0.0, float(logs[n])
    n_large, at = 0, 0
    while at < n_pairs:
        value, size = keys[at] // n_classes, 0
        while at < n_pairs and keys[at] // n_classes == value:
            size += sizes[at]
            left -= logs[sizes[at]]
            at += 1
        left += logs[size]
        branching -= logs[size]
        n_large += 1 if size >= least else 0
    if n_large < 2:
        return -1.0, 0.0
    return left, branching


@kernel
def _by_threshold(
    growth: Growth, n_pairs: int, n: int, n_classes: int, least: int, missing: bool
) -> tuple[float, float, int]:
    """Return the same for the best threshold, and the last code below it; missing rows get a branch of their own."""
    keys, sizes, counts, logs = growth.keys, growth.sizes, growth.counts, growth.logs
    first, n_missing, apart = 0, 0, 0.0
    while missing and first < n_pairs and keys[first] < n_classes:
        n_missing += sizes[first]
        apart -= logs[sizes[first]]
        first += 1
    apart += logs[n_missing]
    n_known, n_below, above, below = n - n_missing, 0, 0.0, 0.0
    for at in range(first, n_pairs):
        c = keys[at] % n_classes
        above += logs[counts[1, c] + sizes[at]] - logs[counts[1, c]]
        counts[1, c] += sizes[at]
    best, best_below, threshold, n_thresholds = -1.0, 0, NONE, 0
    if n_missing >= least and n_known >= least:  # when no threshold is allowed: missing or not
        best, threshold = apart + logs[n_known] - above, 0
    at = first
    while at < n_pairs:
        value = keys[at] // n_classes
        while at < n_pairs and keys[at] // n_classes == value:
            c, size = keys[at] % n_classes, sizes[at]
            below += logs[counts[0, c] + size] - logs[counts[0, c]]
            above += logs[counts[1, c] - size] - logs[counts[1, c]]
            counts[0, c] += size
            counts[1, c] -= size
            n_below += size
            at += 1
        if n_below < least or n_known - n_below < least:
            continue
        left = apart + logs[n_below] - below + logs[n_known - n_below] - above
        if n_thresholds == 0 or left < best - TIE * n:
            best, best_below, threshold = left, n_below, value
        n_thresholds += 1
    for at in range(first, n_pairs):
        counts[0, keys[at] % n_classes] = 0
    if threshold == NONE:
        return -1.0, 0.0, NONE
    branching = logs[n] - logs[n_missing] - logs[best_below] - logs[n_known - best_below]
    if n_thresholds > 1:
        best += np.log2(n_thresholds)  # C4.5's price of choosing among thresholds
    return best, branching, int(threshold)


@kernel
def _best_split(
    growth: Growth, start: int, stop: int, n: int, entropy: float, n_classes: int, least: int, domains: Domains
) -> tuple[int, int]:
    """Return the attribute of highest gain ratio among those of at least average gain, and its threshold."""
    gains = growth.gains
    total, n_useful = 0.0, 0
    for m in range(len(gains)):
        n_pairs = _tally(growth, start, stop, m, n_classes)
        threshold = NONE
        if domains.shape[m, N_LEVELS] == 0:
            missing = domains.shape[m, HAS_MISSING] > 0
            left, branching, threshold = _by_threshold(growth, n_pairs, n, n_classes, least, missing)
        else:
            left, branching = _by_value(growth, n_pairs, n, n_classes, least)
        gain = (entropy - left) / n if branching > 0.0 else 0.0
        gains[m, 0], gains[m, 1], gains[m, 2] = 0.0, 0.0, threshold
        if gain > TIE:
            gains[m, 0], gains[m, 1] = gain, gain * n / branching
            total += gain
            n_useful += 1
    chosen, ratio = NONE, 0.0
    for m in range(len(gains)):
        if gains[m, 0] > 0.0 and gains[m, 0] >= total / n_useful - TIE and gains[m, 1] > ratio + TIE:
            chosen, ratio = m, gains[m, 1]
    return chosen, int(gains[chosen, 2]) if chosen != NONE else NONE


@kernel
def _by_code(growth: Growth, nodes: Int32, node: int, new: int, m: int) -> int:
    """Part the rows of a node by value; return the number of branches, whose last codes stand at the new nodes."""
    rows, part, branch_of = growth.rows, growth.part, growth.histogram
    start, stop = nodes[node, START], nodes[node, STOP]
    lo, hi = _range(rows, start, stop, m)
    for code in range(hi - lo + 1):
        branch_of[code] = 0
    for i in range(start, stop):
        branch_of[rows[i, m] - lo] = 1
    n_branches = 0
    for code in range(hi - lo + 1):
        if branch_of[code] > 0:
            branch_of[code] = n_branches
            nodes[new + n_branches, LAST_CODE] = lo + code
            n_branches += 1
    for i in range(start, stop):
        part[i] = branch_of[rows[i, m] - lo]
    return n_branches


@kernel
def _at_threshold(growth: Growth, nodes: Int32, node: int, new: int, m: int, threshold: int, missing: bool) -> int:
    """Part the rows of a node into missing ones, those up to the threshold and the others; as `_by_code`."""
    rows, part = growth.rows, growth.part
    start, stop = nodes[node, START], nodes[node, STOP]
    lo, hi = _range(rows, start, stop, m)
    n_branches = 0
    if missing and lo == 0:
        nodes[new, LAST_CODE] = 0
        n_branches = 1
    if n_branches == 0 or threshold > 0:
        nodes[new + n_branches, LAST_CODE] = threshold
        n_branches += 1
    nodes[new + n_branches, LAST_CODE] = hi
    for i in range(start, stop):
        b = 0
        while rows[i, m] > nodes[new + b, LAST_CODE]:
            b += 1
        part[i] = b
    return n_branches + 1


@kernel
def _send(growth: Growth, nodes: Int32, node: int, new: int, n_branches: int) -> None:
    """Bring the rows of each branch together, in their order, and hand them to the new nodes."""
    rows, spare, part = growth.rows, growth.spare, growth.part
    start, stop, width = nodes[node, START], nodes[node, STOP], rows.shape[1]
    for b in range(n_branches):
        nodes[new + b, STOP] = 0
    for i in range(start, stop):
        nodes[new + part[i], STOP] += 1
    at = start
    for b in range(n_branches):
        size = nodes[new + b, STOP]
        nodes[new + b, START] = nodes[new + b, STOP] = at
        nodes[new + b, PARENT] = node
        at += size
    for i in range(start, stop):
        at = nodes[new + part[i], STOP]
        nodes[new + part[i], STOP] += 1
        for j in range(width):
            spare[at, j] = rows[i, j]
    for i in range(start, stop):
        for j in range(width):
            rows[i, j] = spare[i, j]


@kernel
def grow(growth: Growth, nodes: Int32, state: Int64, n_classes: int, least: int, domains: Domains, budget: int) -> None:
    """Split nodes until none is left or the budget of visited rows is spent.

    Parameters
    ----------
    nodes
        [nodes x fields]: slice of distinct rows; rows, and those not of the majority class; attribute (`NONE`: a leaf)
        and branches: first node and number; parent, and last code of the branch that leads here. Children come later
        than their parents, in the order of codes.
    state
        Next node to look at, number of nodes, and rows in finished leaves; kept between calls.
    least
        Rows that at least two branches must have.
    """
    rows, counts, logs = growth.rows, growth.counts, growth.logs
    while state[0] < state[1] and budget > 0:
        node, new = int(state[0]), int(state[1])
        state[0] += 1
        start, stop = int(nodes[node, START]), int(nodes[node, STOP])
        budget -= stop - start
        n, largest, total = 0, 0, 0.0
        for i in range(start, stop):
            c, weight = rows[i, CLASS], rows[i, WEIGHT]
            total += logs[counts[0, c] + weight] - logs[counts[0, c]]
            counts[0, c] += weight
            largest = max(largest, int(counts[0, c]))
            n += int(weight)
        for i in range(start, stop):
            counts[0, rows[i, CLASS]] = 0
        nodes[node, N_ROWS], nodes[node, N_WRONG], nodes[node, ATTRIBUTE] = n, n - largest, NONE
        m, threshold = NONE, NONE
        if largest < n and n >= 2 * least:
            m, threshold = _best_split(growth, start, stop, n, float(logs[n] - total), n_classes, least, domains)
        if m == NONE:
            state[2] += n
            continue
        if domains.shape[m, N_LEVELS] > 0:
            n_branches = _by_code(growth, nodes, node, new, m)
        else:
            n_branches = _at_threshold(growth, nodes, node, new, m, threshold, domains.shape[m, HAS_MISSING] > 0)
        _send(growth, nodes, node, new, n_branches)
        nodes[node, ATTRIBUTE], nodes[node, FIRST], nodes[node, N_BRANCHES] = m, new, n_branches
        state[1] += n_branches


@kernel
def _expected_errors(n: int, wrong: int, confidence: float, z: float) -> float:
    """Return the errors of a leaf at the upper limit of this confidence, as C4.5 takes it from the binomial."""
    if wrong == 0:
        return float(n * (1.0 - confidence ** (1.0 / n)))
    if wrong + 0.5 >= n:
        return float(n)
    share = (wrong + 0.5) / n
    spread = z * np.sqrt(share / n - share * share / n + z * z / (4.0 * n * n))
    return float(n * (share + z * z / (2.0 * n) + spread) / (1.0 + z * z / n))


@kernel
def prune(nodes: Int32, confidence: float, z: float) -> None:
    """Make leaves of nodes whose subtree is not expected to be better (C4.5's subtree replacement), from the bottom."""
    n_nodes = len(nodes)
    expected = np.zeros(n_nodes, np.float64)
    for node in range(n_nodes - 1, -1, -1):
        here = _expected_errors(int(nodes[node, N_ROWS]), int(nodes[node, N_WRONG]), confidence, z)
        if nodes[node, ATTRIBUTE] != NONE:
            below, first = 0.0, nodes[node, FIRST]
            for child in range(first, first + nodes[node, N_BRANCHES]):
                below += expected[child]
            if here > below + _SLACK + TIE:
                here = below
            else:
                nodes[node, ATTRIBUTE] = NONE
        expected[node] = here


@kernel
def leaves_of(rows: Int32, nodes: Int32) -> Int64:
    """Return the leaf of each distinct row; nodes below a leaf were pruned."""
    n_nodes, leaf = len(nodes), np.empty(len(rows), np.int64)
    alive = np.zeros(n_nodes, np.bool_)
    alive[0] = True
    for node in range(n_nodes):
        if not alive[node]:
            continue
        if nodes[node, ATTRIBUTE] == NONE:
            for i in range(nodes[node, START], nodes[node, STOP]):
                leaf[rows[i, NUMBER]] = node
        else:
            for b in range(nodes[node, N_BRANCHES]):
                alive[nodes[node, FIRST] + b] = True
    return leaf


@kernel
def on_path(nodes: Int32, ends: Int64, n_quasi: int) -> Bools:
    """Tell which attributes are split above each of these nodes."""
    found = np.zeros((len(ends), n_quasi), np.bool_)
    for g in range(len(ends)):
        node = nodes[ends[g], PARENT]
        while node != NONE:
            found[g, nodes[node, ATTRIBUTE]] = True
            node = nodes[node, PARENT]
    return found


@kernel
def write_cuts(nodes: Int32, group_of: Int64) -> Int32:
    """Return the tree as two-way cuts, as `kernels.partition` has them; a node without a group has its parent's."""
    n_nodes = len(nodes)
    place, group = np.full(n_nodes, NONE, np.int64), group_of.copy()
    cuts = np.zeros((2 * n_nodes, 4), np.int32)
    place[0], n_cuts = 0, 1
    for node in range(n_nodes):
        at = place[node]
        if at == NONE:  # below a pruned node
            continue
        if group[node] == NONE and nodes[node, PARENT] != NONE:
            group[node] = group[nodes[node, PARENT]]
        m, first, n_branches = nodes[node, ATTRIBUTE], nodes[node, FIRST], nodes[node, N_BRANCHES]
        if m == NONE:
            cuts[at, 0], cuts[at, 1] = LEAF, group[node]
            continue
        for child in range(first, first + n_branches - 1):
            cuts[at, 0], cuts[at, 1], cuts[at, 2], cuts[at, 3] = m, nodes[child, LAST_CODE], n_cuts, n_cuts + 1
            place[child] = n_cuts
            at = n_cuts + 1
            n_cuts += 2
        place[first + n_branches - 1] = at
    return cuts[:n_cuts].copy()
