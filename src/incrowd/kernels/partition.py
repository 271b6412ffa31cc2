"""A table cut into groups: rows in one array, each group contiguous, groups to be cut on a stack, cuts as a tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.domains import N_LEAVES, NODE_START, Domains, close, extent
from incrowd.kernels.jit import kernel
from incrowd.kernels.limits import SIZE, Limits, holds

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

HISTOGRAM, SIZES, CHILD_OF, LAST_LEAF = range(4)
SENSITIVE, WEIGHT, NUMBER = -3, -2, -1  # columns of rows behind the leaf ranks
LEAF = -1


class Work(NamedTuple):
    """Rows that are moved about.

    Attributes
    ----------
    rows
        [distinct rows x columns]: leaf ranks first, last the sensitive code, the number of equal rows and the row
        number; between them what a method adds. Reordered so that groups are contiguous.
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


class Partition(NamedTuple):
    """Groups, finished and still to be cut.

    Attributes
    ----------
    stack
        Groups still to be cut: first distinct row, end, number of rows, node of the cut tree.
    groups
        Finished groups: first distinct row and end, in the order of rows.
    cuts
        The tree of cuts: attribute (`LEAF`: a group), last code of the left side (or the group's number), left, right.
        Two cuts may lead to the rest beside a band; children have higher numbers than what leads to them.
    state
        Sizes of stack, groups and cuts, and the number of finished rows.
    """

    stack: Int64
    groups: Int64
    cuts: Int32
    state: Int64


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
def measure(work: Work, start: int, stop: int, domains: Domains) -> tuple[Int64, Int64, Float64]:
    """Return smallest and largest code and normalized extent of each attribute in a group; -1 for a single code."""
    n_quasi = len(domains.shape)
    lo, hi, width = np.empty(n_quasi, np.int64), np.empty(n_quasi, np.int64), np.empty(n_quasi, np.float64)
    _ranges(work.rows, start, stop, lo, hi)
    for m in range(n_quasi):
        first, last, _ = close(domains, m, lo[m], hi[m])
        width[m] = extent(domains, m, first, last) if lo[m] < hi[m] else -1.0
    return lo, hi, width


@kernel
def argmax(width: Float64) -> int:
    """Return the first of the largest."""
    m = 0
    for other in range(1, len(width)):
        if width[other] > width[m]:
            m = other
    return m


@kernel
def sort(codes: Int64) -> None:
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
def part_by_code(work: Work, start: int, stop: int, n: int, m: int, code: int, n_ties: int) -> None:
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
def part_by_band(work: Work, start: int, stop: int, n: int, m: int, before: int, last: int) -> None:
    """Assign rows with a code above `before`, up to `last`, to part 0, the others to part 1."""
    n_inside = 0
    for i in range(start, stop):
        inside = before < work.rows[i, m] <= last
        work.part[i] = 0 if inside else 1
        n_inside += work.rows[i, WEIGHT] if inside else 0
    work.scratch[SIZES, 0], work.scratch[SIZES, 1] = n_inside, n - n_inside


@kernel
def parts_hold(work: Work, start: int, stop: int, n_parts: int, n_values: int, limits: Limits) -> bool:
    """Test every part that has rows."""
    sizes = work.scratch[SIZES]
    for p in range(n_parts):
        if 0 < sizes[p] < limits.whole[0, SIZE]:
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
def cut_node(
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
    return n_parts if parts_hold(work, start, stop, n_parts, n_values, limits) else 0


@kernel
def move(work: Work, start: int, stop: int, n_parts: int) -> None:
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
def take(partition: Partition) -> tuple[int, int, int, int]:
    """Take a group from the stack: first distinct row, end, number of rows, node of the cut tree."""
    stack, state = partition.stack, partition.state
    state[0] -= 1
    at = state[0]
    return stack[at, 0], stack[at, 1], stack[at, 2], stack[at, 3]


@kernel
def settle(work: Work, partition: Partition, start: int, stop: int, n: int, node: int, m: int, n_parts: int) -> None:
    """Finish a group without parts; of another, bring the parts together and put them on the stack."""
    groups, cuts, state = partition.groups, partition.cuts, partition.state
    if n_parts == 0:
        groups[state[1], 0], groups[state[1], 1] = start, stop
        cuts[node, 0], cuts[node, 1] = LEAF, state[1]
        state[1] += 1
        state[3] += n
    else:
        move(work, start, stop, n_parts)
        _grow(work.scratch, partition, start, node, m, n_parts)


@kernel
def _grow(scratch: Int64, partition: Partition, start: int, node: int, m: int, n_parts: int) -> None:
    """Put the parts on the stack, the first on top, and write the cut as a chain of two-way cuts."""
    stack, cuts, state = partition.stack, partition.cuts, partition.state
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
def settle_band(
    work: Work, partition: Partition, start: int, stop: int, node: int, m: int, before: int, last: int
) -> None:
    """Put a band and the rest on the stack, the band on top; two cuts lead to the rest, from below and from above."""
    move(work, start, stop, 2)
    stack, cuts, state, scratch = partition.stack, partition.cuts, partition.state, work.scratch
    above, band, rest = state[2], state[2] + 1, state[2] + 2
    cuts[node, 0], cuts[node, 1], cuts[node, 2], cuts[node, 3] = m, before, rest, above
    cuts[above, 0], cuts[above, 1], cuts[above, 2], cuts[above, 3] = m, last, band, rest
    middle, at = start + scratch[HISTOGRAM, 0], state[0]
    stack[at, 0], stack[at, 1], stack[at, 2], stack[at, 3] = middle, stop, scratch[SIZES, 1], rest
    stack[at + 1, 0], stack[at + 1, 1], stack[at + 1, 2], stack[at + 1, 3] = start, middle, scratch[SIZES, 0], band
    state[0] += 2
    state[2] += 3


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
