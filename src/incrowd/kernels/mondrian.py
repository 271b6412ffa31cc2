"""Mondrian's cuts: groups of coded rows, cut in place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.domains import HAS_MISSING, N_LEAVES, N_LEVELS, NODE_START, Domains, close, extent
from incrowd.kernels.jit import kernel
from incrowd.kernels.limits import SIZE, Limits, holds

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

HISTOGRAM, SIZES, CHILD_OF, LAST_LEAF = range(4)
N_EXTRA = 3  # columns of rows behind the leaf ranks
SENSITIVE, WEIGHT, NUMBER = -3, -2, -1
LEAF = -1


class Work(NamedTuple):
    """What Mondrian moves about.

    Attributes
    ----------
    rows
        [distinct rows x (quasi + 3)]: leaf ranks, then sensitive code, number of equal rows, row number.
        Reordered so that groups are contiguous.
    spare
        Room for as many rows.
    part
        The part of a cut that each row goes to.
    scratch
        Per code or part, [4 x leaves]: a histogram, sizes of parts, part of each leaf, last leaf of each part.
    """

    rows: Int32
    spare: Int32
    part: Int32
    scratch: Int64


@kernel
def _ranges(rows: Int32, start: int, stop: int, lo: Int64, hi: Int64) -> None:
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
def _sort(codes: Int64) -> None:
    """Sort in place (Shell's method)."""
    gap = len(codes) // 2
    while gap > 0:
        for i in range(gap, len(codes)):
            code, j = codes[i], i
            while j >= gap and codes[j - gap] > code:
                codes[j] = codes[j - gap]
                j -= gap
            codes[j] = code
        gap //= 2


@kernel
def _median(work: Work, start: int, stop: int, n: int, m: int, lo: int, hi: int) -> tuple[int, int, int, int]:
    """Return the median code, the largest code below it, and how many rows lie below and up to it."""
    rows, scratch = work.rows, work.scratch
    half = (n + 1) // 2
    below, previous = 0, -1
    if hi - lo > 8 * (stop - start):  # a sparse domain: sorting the few codes is cheaper than walking over it
        keys = np.empty(stop - start, np.int64)
        for i in range(start, stop):
            keys[i - start] = (np.int64(rows[i, m]) << 32) | rows[i, WEIGHT]
        _sort(keys)
        at = 0
        while True:
            code, same = keys[at] >> 32, 0
            while at < len(keys) and keys[at] >> 32 == code:
                same += keys[at] & 0xFFFFFFFF
                at += 1
            if below + same >= half:
                return code, previous, below, below + same
            below += same
            previous = code
    for offset in range(hi - lo + 1):
        scratch[HISTOGRAM, offset] = 0
    for i in range(start, stop):
        scratch[HISTOGRAM, rows[i, m] - lo] += rows[i, WEIGHT]
    offset = 0
    while below + scratch[HISTOGRAM, offset] < half:
        if scratch[HISTOGRAM, offset] > 0:
            below += scratch[HISTOGRAM, offset]
            previous = offset + lo
        offset += 1
    return offset + lo, previous, below, below + scratch[HISTOGRAM, offset]


@kernel
def _part_by_code(work: Work, start: int, stop: int, n: int, m: int, code: int, n_ties: int) -> None:
    """Assign rows below `code`, and the first `n_ties` rows at it, to part 0, the others to part 1."""
    n_left = 0
    for i in range(start, stop):
        value, weight = work.rows[i, m], work.rows[i, WEIGHT]
        left = value < code
        if value == code and n_ties > 0:
            n_ties -= weight
            left = True
        work.part[i] = 0 if left else 1
        n_left += weight if left else 0
    work.scratch[SIZES, 0], work.scratch[SIZES, 1] = n_left, n - n_left
    work.scratch[LAST_LEAF, 0] = code


@kernel
def _parts_hold(work: Work, start: int, stop: int, n_parts: int, n_values: int, limits: Limits) -> bool:
    """Test every part that has rows."""
    sizes = work.scratch[SIZES]
    for p in range(n_parts):
        if 0 < sizes[p] < limits.whole[SIZE]:
            return False
    if n_values == 0:
        return True
    counts = np.zeros((n_parts, n_values), np.int64)
    for i in range(start, stop):
        counts[work.part[i], work.rows[i, SENSITIVE]] += work.rows[i, WEIGHT]
    for p in range(n_parts):
        if sizes[p] > 0 and not holds(counts[p], sizes[p], limits):
            return False
    return True


@kernel
def _move(work: Work, start: int, stop: int, n_parts: int) -> None:
    """Bring the rows of each part together, in part order; within a part rows keep their order."""
    rows, spare, part = work.rows, work.spare, work.part
    begin = np.zeros(n_parts + 1, np.int64)
    for i in range(start, stop):
        begin[part[i] + 1] += 1
    for p in range(n_parts):
        work.scratch[HISTOGRAM, p] = begin[p + 1]  # distinct rows per part, for the stack
        begin[p + 1] += begin[p]
    width = rows.shape[1]
    for i in range(start, stop):
        at = begin[part[i]]
        begin[part[i]] += 1
        for j in range(width):
            spare[at, j] = rows[i, j]
    for i in range(stop - start):
        for j in range(width):
            rows[start + i, j] = spare[i, j]


@kernel
def _cut_range(
    work: Work, start: int, stop: int, n: int, m: int, lo: int, hi: int, strict: bool, n_values: int, limits: Limits,
    domains: Domains,
) -> int:  # fmt: skip
    """Cut a range at its median; return the number of parts, 0 when no cut is allowed."""
    median, previous, n_below, n_up_to = _median(work, start, stop, n, m, lo, hi)
    cut_behind = n_up_to + n_below <= n
    # Missing first leaves the range, because it joins the others only in the whole domain; then the more even
    # side of the median, then the other one.
    for attempt in range(3):
        if attempt == 0:
            if not (domains.shape[m, HAS_MISSING] and lo == 0):
                continue
            code, n_ties = 0, n
        elif not strict:
            if attempt == 2:
                return 0
            code, n_ties = median, max(0, (n + 1) // 2 - n_below)
        else:
            behind = cut_behind == (attempt == 1)
            code, n_ties = median if behind else previous, n
            n_left = n_up_to if behind else n_below
            if n_left < limits.whole[SIZE] or n - n_left < limits.whole[SIZE]:
                continue
        _part_by_code(work, start, stop, n, m, code, n_ties)
        if _parts_hold(work, start, stop, 2, n_values, limits):
            return 2
    return 0


@kernel
def _cut_node(
    work: Work, start: int, stop: int, m: int, lo: int, hi: int, n_values: int, limits: Limits, domains: Domains
) -> int:
    """Cut a node of a taxonomy into its children; return the number of parts, 0 when the cut is not allowed."""
    scratch = work.scratch
    leaf, last, height = close(domains, m, lo, hi)
    below = domains.shape[m, NODE_START] + (height - 1) * domains.shape[m, N_LEAVES]
    n_parts = 0
    while leaf <= last:
        child_last = domains.nodes[1, below + leaf]
        scratch[LAST_LEAF, n_parts] = child_last
        scratch[SIZES, n_parts] = 0
        for inside in range(leaf, child_last + 1):
            scratch[CHILD_OF, inside] = n_parts
        n_parts += 1
        leaf = int(child_last) + 1
    for i in range(start, stop):
        p = scratch[CHILD_OF, work.rows[i, m]]
        work.part[i] = p
        scratch[SIZES, p] += work.rows[i, WEIGHT]
    return n_parts if _parts_hold(work, start, stop, n_parts, n_values, limits) else 0


@kernel
def _argmax(width: Float64) -> int:
    """Return the first of the largest."""
    m = 0
    for other in range(1, len(width)):
        if width[other] > width[m]:
            m = other
    return m


@kernel
def _cut_widest(
    work: Work, start: int, stop: int, n: int, strict: bool, n_values: int, limits: Limits, domains: Domains
) -> tuple[int, int]:
    """Cut a group along the widest attribute that allows it; return the number of parts and the attribute."""
    n_quasi = work.rows.shape[1] - N_EXTRA
    lo, hi, width = np.empty(n_quasi, np.int64), np.empty(n_quasi, np.int64), np.empty(n_quasi, np.float64)
    _ranges(work.rows, start, stop, lo, hi)
    for m in range(n_quasi):
        first, last, _ = close(domains, m, lo[m], hi[m])
        width[m] = extent(domains, m, first, last) if lo[m] < hi[m] else -1.0
    for _ in range(n_quasi):
        m = _argmax(width)
        if width[m] < 0.0:
            break
        width[m] = -1.0
        if domains.shape[m, N_LEVELS] == 0:
            n_parts = _cut_range(work, start, stop, n, m, lo[m], hi[m], strict, n_values, limits, domains)
        else:
            n_parts = _cut_node(work, start, stop, m, lo[m], hi[m], n_values, limits, domains)
        if n_parts > 0:
            return n_parts, m
    return 0, 0


@kernel
def mondrian(
    work: Work, stack: Int64, groups: Int64, cuts: Int32, state: Int64, strict: bool, n_values: int, limits: Limits,
    domains: Domains, budget: int,
) -> None:  # fmt: skip
    """Cut groups of rows until none can be cut or the budget of visited rows is spent.

    Parameters
    ----------
    stack
        Groups still to be cut: first distinct row, end, number of rows, node of the cut tree.
    groups
        Finished groups: first distinct row and end, in the order of rows.
    cuts
        The tree of cuts: attribute (`LEAF`: a group), last code of the left side (or the group's number), left, right.
    state
        Sizes of stack, groups and cuts, and the number of finished rows; kept between calls.
    """
    while state[0] > 0 and budget > 0:
        state[0] -= 1
        start, stop = stack[state[0], 0], stack[state[0], 1]
        n, node = stack[state[0], 2], stack[state[0], 3]
        budget -= stop - start
        n_parts, m = 0, 0
        if n >= 2 * limits.whole[SIZE]:
            n_parts, m = _cut_widest(work, start, stop, n, strict, n_values, limits, domains)
        if n_parts == 0:
            groups[state[1], 0], groups[state[1], 1] = start, stop
            cuts[node, 0], cuts[node, 1] = LEAF, state[1]
            state[1] += 1
            state[3] += n
        else:
            _move(work, start, stop, n_parts)
            _grow(work.scratch, stack, cuts, state, start, node, m, n_parts)


@kernel
def _grow(scratch: Int64, stack: Int64, cuts: Int32, state: Int64, start: int, node: int, m: int, n_parts: int) -> None:
    """Put the parts on the stack, the first on top, and write the cut as a chain of two-way cuts."""
    n_filled = 0
    for p in range(n_parts):
        n_filled += scratch[SIZES, p] > 0
    state[0] += n_filled
    at = state[0] - 1
    for p in range(n_parts):
        size = scratch[SIZES, p]
        if size == 0:
            continue
        n_filled -= 1
        child = node
        if n_filled > 0:
            child = state[2]
            cuts[node, 0], cuts[node, 1], cuts[node, 2], cuts[node, 3] = m, scratch[LAST_LEAF, p], child, child + 1
            state[2] += 2
        stop = start + scratch[HISTOGRAM, p]
        stack[at, 0], stack[at, 1], stack[at, 2], stack[at, 3] = start, stop, size, child
        at -= 1
        start = stop
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
