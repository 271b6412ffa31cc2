"""Top-down partitioning of coded rows: constraint test, closures and Mondrian's cuts.

Kernels that call each other share this file, because the on-disk cache does not see edits elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import kernel

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

TOLERANCE = 1e-12  # of entropies and distances, which are sums of rounded terms
LEAF = -1


class Domains(NamedTuple):
    """All hierarchies of a table, laid end to end.

    The node of leaf ``i`` at height ``h`` in attribute ``m`` reaches from ``node_lo[at]`` to ``node_hi[at]``
    with ``at = node_start[m] + h * n_leaves[m] + i``. An attribute of intervals has no levels.
    """

    n_leaves: Int64
    n_levels: Int64
    has_missing: npt.NDArray[np.bool_]
    node_start: Int64
    node_lo: Int32
    node_hi: Int32
    pos_start: Int64
    pos: Float64


class Limits(NamedTuple):
    """What every group must keep; see `incrowd.privacy`."""

    whole: Int64
    real: Float64
    overall: Float64


@kernel
def holds(counts: Int64, n: int, limits: Limits) -> bool:
    """Tell whether a group of n rows with these sensitive counts keeps every limit."""
    whole, real = limits.whole, limits.real
    if n < whole[0]:
        return False
    n_values = len(counts)
    if n_values == 0:
        return True
    largest = counts.max()
    if largest * whole[2] > n * whole[1]:
        return False
    if whole[3] > 1 and np.count_nonzero(counts) < whole[3]:
        return False
    if real[0] > 0.0:
        entropy = 0.0
        for v in range(n_values):
            if counts[v] > 0:
                entropy -= counts[v] / n * np.log(counts[v] / n)
        if entropy < real[0] - TOLERANCE:
            return False
    if whole[4] > 0:
        ranked = np.sort(counts)[::-1]
        if not largest < real[1] * ranked[whole[4] - 1 :].sum():
            return False
    return not (real[2] < 1.0 and _distance(counts, n, limits.overall, whole[5] > 0) > real[2] + TOLERANCE)


@kernel
def _distance(counts: Int64, n: int, overall: Float64, ordered: bool) -> float:
    """Earth mover's distance from the table's distribution, by equal or by ordered ground distance."""
    total, cumulated = 0.0, 0.0
    for v in range(len(counts)):
        difference = counts[v] / n - overall[v]
        cumulated += difference
        total += abs(cumulated) if ordered else 0.5 * abs(difference)
    return total / max(1, len(counts) - 1) if ordered else total


@kernel
def close(domains: Domains, m: int, lo: int, hi: int) -> tuple[int, int, int]:
    """Return the smallest legal cell that holds ``[lo, hi]``, and its height in a taxonomy."""
    n_leaves = domains.n_leaves[m]
    if domains.n_levels[m] == 0:
        if domains.has_missing[m] and lo == 0 and hi > 0:
            return 0, n_leaves - 1, 0
        return lo, hi, 0
    at = domains.node_start[m] + lo
    height = 0
    while domains.node_hi[at] < hi:
        at += n_leaves
        height += 1
    return int(domains.node_lo[at]), int(domains.node_hi[at]), height


@kernel
def extent(domains: Domains, m: int, lo: int, hi: int) -> float:
    """Return the normalized extent of a cell: its LM loss."""
    first = domains.pos_start[m]
    whole = domains.pos[first + domains.n_leaves[m] - 1] - domains.pos[first]
    return float((domains.pos[first + hi] - domains.pos[first + lo]) / whole) if whole > 0.0 else 0.0


@kernel
def close_groups(codes: Int32, labels: Int64, n_groups: int, domains: Domains) -> tuple[Int32, Int32]:
    """Return the closure of each group of rows, [groups x quasi] each; codes are [rows x quasi], columns contiguous."""
    n_rows, n_quasi = codes.shape
    lo = np.full((n_groups, n_quasi), np.int32(2147483647))
    hi = np.full((n_groups, n_quasi), np.int32(-1))
    for m in range(n_quasi):
        for i in range(n_rows):
            g, code = labels[i], codes[i, m]
            lo[g, m] = min(lo[g, m], code)
            hi[g, m] = max(hi[g, m], code)
        for g in range(n_groups):
            if hi[g, m] >= 0:
                first, last, _ = close(domains, m, lo[g, m], hi[g, m])
                lo[g, m], hi[g, m] = first, last
    return lo, hi


@kernel
def _ranges(rows: Int32, start: int, stop: int, lo: Int32, hi: Int32) -> None:
    """Find the smallest and largest code of each attribute in a slice of rows."""
    n_quasi = len(lo)
    for m in range(n_quasi):
        lo[m] = hi[m] = rows[start, m]
    for i in range(start + 1, stop):
        for m in range(n_quasi):
            code = rows[i, m]
            lo[m] = min(lo[m], code)
            hi[m] = max(hi[m], code)


@kernel
def _median(
    rows: Int32, start: int, stop: int, m: int, lo: int, hi: int, histogram: Int64
) -> tuple[int, int, int, int]:
    """Return the median code, the largest code below it, and how many rows lie below and up to it."""
    n = stop - start
    half = (n + 1) // 2
    if hi - lo > 8 * n:  # a sparse domain: sorting the few codes is cheaper than walking over it
        codes = np.sort(rows[start:stop, m])
        median = codes[half - 1]
        n_below = np.searchsorted(codes, median)
        n_up_to = np.searchsorted(codes, median, side="right")
        return int(median), int(codes[n_below - 1]) if n_below > 0 else -1, int(n_below), int(n_up_to)
    histogram[: hi - lo + 1] = 0
    for i in range(start, stop):
        histogram[rows[i, m] - lo] += 1
    below, previous, offset = 0, -1, 0
    while below + histogram[offset] < half:
        if histogram[offset] > 0:
            below += histogram[offset]
            previous = offset + lo
        offset += 1
    return offset + lo, previous, int(below), int(below + histogram[offset])


@kernel
def _part_by_code(
    rows: Int32, start: int, stop: int, m: int, code: int, n_ties: int, part: Int32, sizes: Int64
) -> None:
    """Assign rows below `code`, and the first `n_ties` rows at it, to part 0, the others to part 1."""
    sizes[:2] = 0
    for i in range(start, stop):
        value = rows[i, m]
        p = 1
        if value < code:
            p = 0
        elif value == code and n_ties > 0:
            n_ties -= 1
            p = 0
        part[i] = p
        sizes[p] += 1


@kernel
def _part_by_child(rows: Int32, start: int, stop: int, m: int, child_of: Int32, part: Int32, sizes: Int64) -> None:
    """Assign rows to the child of the node that holds their code."""
    for i in range(start, stop):
        p = child_of[rows[i, m]]
        part[i] = p
        sizes[p] += 1


@kernel
def _parts_hold(
    rows: Int32, start: int, stop: int, part: Int32, sizes: Int64, n_parts: int, n_values: int, limits: Limits
) -> bool:
    """Test every part that has rows."""
    for p in range(n_parts):
        if 0 < sizes[p] < limits.whole[0]:
            return False
    if n_values == 0:
        return True
    counts = np.zeros((n_parts, n_values), np.int64)
    at = rows.shape[1] - 2
    for i in range(start, stop):
        counts[part[i], rows[i, at]] += 1
    for p in range(n_parts):
        if sizes[p] > 0 and not holds(counts[p], sizes[p], limits):
            return False
    return True


@kernel
def _move(rows: Int32, spare: Int32, start: int, stop: int, part: Int32, sizes: Int64, n_parts: int) -> None:
    """Bring the rows of each part together, in part order; within a part rows keep their order."""
    begin = np.zeros(n_parts, np.int64)
    for p in range(1, n_parts):
        begin[p] = begin[p - 1] + sizes[p - 1]
    width = rows.shape[1]
    for i in range(start, stop):
        at = begin[part[i]]
        begin[part[i]] += 1
        for j in range(width):
            spare[at, j] = rows[i, j]
    rows[start:stop] = spare[: stop - start]


@kernel
def _cut_interval(
    rows: Int32, start: int, stop: int, m: int, lo: int, hi: int, strict: bool,
    part: Int32, sizes: Int64, bounds: Int32, histogram: Int64, n_values: int, limits: Limits, domains: Domains,
) -> int:  # fmt: skip
    """Cut a range at its median; return the number of parts, 0 when no cut is allowed."""
    n = stop - start
    if (
        domains.has_missing[m] and lo == 0
    ):  # missing first leaves the range: it joins the others only in the whole domain
        _part_by_code(rows, start, stop, m, 0, n, part, sizes)
        if _parts_hold(rows, start, stop, part, sizes, 2, n_values, limits):
            bounds[0] = 0
            return 2
    median, previous, n_below, n_up_to = _median(rows, start, stop, m, lo, hi, histogram)
    if not strict:
        n_ties = max(0, (n + 1) // 2 - n_below)
        _part_by_code(rows, start, stop, m, median, n_ties, part, sizes)
        bounds[0] = median
        return 2 if _parts_hold(rows, start, stop, part, sizes, 2, n_values, limits) else 0
    behind_first = n_up_to - n // 2 <= n // 2 - n_below
    for attempt in range(2):
        behind = behind_first == (attempt == 0)
        n_left = n_up_to if behind else n_below
        if n_left < limits.whole[0] or n - n_left < limits.whole[0] or n_left == n or n_left == 0:
            continue
        code = median if behind else previous
        _part_by_code(rows, start, stop, m, code, n, part, sizes)
        if _parts_hold(rows, start, stop, part, sizes, 2, n_values, limits):
            bounds[0] = code
            return 2
    return 0


@kernel
def _cut_node(
    rows: Int32, start: int, stop: int, m: int, lo: int, hi: int,
    part: Int32, sizes: Int64, bounds: Int32, child_of: Int32, n_values: int, limits: Limits, domains: Domains,
) -> int:  # fmt: skip
    """Cut a node of a taxonomy into its children; return the number of parts, 0 when the cut is not allowed."""
    first, last, height = close(domains, m, lo, hi)
    below = domains.node_start[m] + (height - 1) * domains.n_leaves[m]
    n_parts, leaf = 0, first
    while leaf <= last:
        child_hi = domains.node_hi[below + leaf]
        child_of[leaf : child_hi + 1] = n_parts
        bounds[n_parts] = child_hi
        sizes[n_parts] = 0
        n_parts += 1
        leaf = child_hi + 1
    _part_by_child(rows, start, stop, m, child_of, part, sizes)
    return n_parts if _parts_hold(rows, start, stop, part, sizes, n_parts, n_values, limits) else 0


@kernel
def mondrian(
    rows: Int32, spare: Int32, part: Int32, stack: Int64, groups: Int64, cuts: Int32, state: Int64,
    strict: bool, n_values: int, limits: Limits, domains: Domains, budget: int,
) -> None:  # fmt: skip
    """Cut groups of rows until none can be cut or the budget of visited rows is spent.

    Parameters
    ----------
    rows
        [rows x (quasi + 2)]: leaf ranks, sensitive code, row number. Reordered so that groups are contiguous.
    stack
        Groups still to be cut: first row, end, node of the cut tree.
    groups
        Finished groups: first row and end, in the order of rows.
    cuts
        The tree of cuts: attribute (`LEAF`: a group), last code of the left side (or the group's number), left, right.
    state
        Sizes of stack, groups and cuts, and the number of finished rows; kept between calls.
    """
    n_quasi = rows.shape[1] - 2
    most = domains.n_leaves.max()
    histogram, sizes = np.zeros(most, np.int64), np.zeros(most + 2, np.int64)
    child_of, bounds = np.zeros(most, np.int32), np.zeros(most + 2, np.int32)
    lo, hi, width = np.zeros(n_quasi, np.int32), np.zeros(n_quasi, np.int32), np.zeros(n_quasi)
    while state[0] > 0 and budget > 0:
        state[0] -= 1
        start, stop, node = stack[state[0], 0], stack[state[0], 1], stack[state[0], 2]
        budget -= stop - start
        n_parts, m = 0, -1
        if stop - start >= 2 * limits.whole[0]:
            _ranges(rows, start, stop, lo, hi)
            for j in range(n_quasi):
                first, last, _ = close(domains, j, lo[j], hi[j])
                width[j] = extent(domains, j, first, last) if lo[j] < hi[j] else -1.0
            for _ in range(n_quasi):  # the widest attribute that can be cut; the first of equally wide ones
                m = int(np.argmax(width))
                if width[m] < 0.0:
                    break
                width[m] = -1.0
                if domains.n_levels[m] == 0:
                    n_parts = _cut_interval(
                        rows,
                        start,
                        stop,
                        m,
                        lo[m],
                        hi[m],
                        strict,
                        part,
                        sizes,
                        bounds,
                        histogram,
                        n_values,
                        limits,
                        domains,
                    )
                else:
                    n_parts = _cut_node(
                        rows, start, stop, m, lo[m], hi[m], part, sizes, bounds, child_of, n_values, limits, domains
                    )
                if n_parts > 0:
                    break
        if n_parts == 0:
            groups[state[1], 0], groups[state[1], 1] = start, stop
            cuts[node, 0], cuts[node, 1] = LEAF, state[1]
            state[1] += 1
            state[3] += stop - start
            continue
        _move(rows, spare, start, stop, part, sizes, n_parts)
        _grow(stack, cuts, state, start, node, m, sizes, bounds, n_parts)


@kernel
def _grow(
    stack: Int64, cuts: Int32, state: Int64, start: int, node: int, m: int, sizes: Int64, bounds: Int32, n_parts: int
) -> None:
    """Put the parts on the stack, the first on top, and write the cut as a chain of two-way cuts."""
    n_filled = np.count_nonzero(sizes[:n_parts])
    at_stack = state[0] + n_filled
    state[0] = at_stack
    seen = 0
    for p in range(n_parts):
        if sizes[p] == 0:
            continue
        seen += 1
        child = node
        if seen < n_filled:
            child = state[2]
            cuts[node, 0], cuts[node, 1], cuts[node, 2], cuts[node, 3] = m, bounds[p], child, child + 1
            state[2] += 2
        stack[at_stack - seen, 0], stack[at_stack - seen, 1], stack[at_stack - seen, 2] = start, start + sizes[p], child
        start += sizes[p]
        node = child + 1


@kernel
def walk(codes: Int32, cuts: Int32) -> Int64:
    """Return the group that each row of codes falls into by the tree of cuts."""
    found = np.empty(len(codes), np.int64)
    for i in range(len(codes)):
        node = 0
        while cuts[node, 0] != LEAF:
            node = cuts[node, 2] if codes[i, cuts[node, 0]] <= cuts[node, 1] else cuts[node, 3]
        found[i] = cuts[node, 1]
    return found


@kernel
def refine_groups(
    codes: Int32, first: int, ends: Int64, group: Int64, n_groups: int, sensitive: Int32, n_values: int, limits: Limits
) -> int:
    """Cut all groups whose rows lie in one range of an attribute, if every part keeps the limits.

    Parameters
    ----------
    codes
        Leaf ranks of the attribute.
    first, ends
        The range begins at `first`; part p ends at ``ends[p]``.
    group
        Number of each row's group; changed in place when the cut is allowed.

    Returns
    -------
    int
        New number of groups, 0 when the cut is not allowed.
    """
    n_parts, last = len(ends), ends[-1]
    part_of = np.zeros(last - first + 1, np.int64)
    for p in range(1, n_parts):
        part_of[ends[p - 1] + 1 - first :] = p
    sizes = np.zeros((n_groups, n_parts), np.int64)
    counts = np.zeros((n_groups, n_parts, n_values), np.int64)
    for i in range(len(codes)):
        if first <= codes[i] <= last:
            p = part_of[codes[i] - first]
            sizes[group[i], p] += 1
            if n_values > 0:
                counts[group[i], p, sensitive[i]] += 1
    new = np.zeros((n_groups, n_parts), np.int64)
    n_new = n_groups
    for g in range(n_groups):
        fresh = False
        for p in range(n_parts):
            if sizes[g, p] == 0:
                continue
            if not holds(counts[g, p], sizes[g, p], limits):
                return 0
            new[g, p] = n_new if fresh else g
            n_new += fresh
            fresh = True
    for i in range(len(codes)):
        if first <= codes[i] <= last:
            group[i] = new[group[i], part_of[codes[i] - first]]
    return int(n_new)
