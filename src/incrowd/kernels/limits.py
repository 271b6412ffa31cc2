"""What every group must keep: the one decision procedure for privacy constraints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import kernel

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

(
    SIZE, SHARE_NUMERATOR, SHARE_DENOMINATOR, DISTINCT, RECURSIVE_L, C_NUMERATOR, C_DENOMINATOR, ORDERED, OTHERS_KNOWN,
    LEVELS,
) = range(10)  # fmt: skip
ENTROPY, T, T_OF_TREE = range(3)
LEAST_NUMERATOR, LEAST_DENOMINATOR, MOST_NUMERATOR, MOST_DENOMINATOR = range(4)
TOLERANCE = 1e-12  # of entropies and distances, which are sums of rounded terms


class Limits(NamedTuple):
    """What every group must keep; see `incrowd.privacy`.

    Attributes
    ----------
    whole, real
        Limits of each sensitive column, [columns x limits]; without such a column there is one row, with the size.
    overall
        The table's own distribution of each column's values, one behind the other.
    first
        Where each column's values begin in `overall`, and the end.
    value_of
        Which value of each column a combination has, [columns x combinations]: groups are counted by combinations.
    shares
        The least and the largest share of each value in a group, [values x 4] as numerators and denominators; no row
        where no constraint is about single values.
    nodes
        The node of each value in each level of its column's tree between values and root, [levels x values]; one column
        without levels where no distance is measured along a tree.
    reach
        The first value of the column that is far enough above each value; ``-1`` where a value is no number, and the
        number of values where none is. Nothing where no range has to be wide.
    """

    whole: Int64
    real: Float64
    overall: Float64
    first: Int64
    value_of: Int32
    shares: Int64
    nodes: Int32
    reach: Int32


@kernel
def holds(counts: Int64, n: int, limits: Limits) -> bool:
    """Tell whether a group of n rows with these counts of sensitive values keeps every limit of every column."""
    if n < limits.whole[0, SIZE]:
        return False
    if len(counts) == 0:
        return True
    if len(limits.whole) == 1:
        if not _is_diverse(counts, n, limits.whole[0], limits.real[0], limits.overall):
            return False
        if len(limits.reach) > 0 and not _is_wide(counts, limits.reach):
            return False
        return (len(limits.shares) == 0 or _are_between(counts, n, limits.shares)) and (
            limits.whole[0, LEVELS] == 0
            or _is_near(counts, n, limits.whole[0], limits.real[0], limits.overall, limits.nodes)
        )
    for j in range(len(limits.whole)):
        begin, end = limits.first[j], limits.first[j + 1]
        own = np.zeros(end - begin, np.int64)
        for v in range(len(counts)):
            own[limits.value_of[j, v]] += counts[v]
        if not _is_diverse(own, n, limits.whole[j], limits.real[j], limits.overall[begin:end]):
            return False
        if len(limits.shares) > 0 and not _are_between(own, n, limits.shares[begin:end]):
            return False
        if len(limits.reach) > 0 and not _is_wide(own, limits.reach[begin:end]):
            return False
        if limits.whole[j, LEVELS] > 0 and not _is_near(
            own, n, limits.whole[j], limits.real[j], limits.overall[begin:end], limits.nodes[:, begin:end]
        ):
            return False
        if limits.whole[j, OTHERS_KNOWN] > 0 and not _hold_for_who_knows(counts, j, limits):
            return False
    return True


@kernel
def _hold_for_who_knows(counts: Int64, j: int, limits: Limits) -> bool:
    """Tell whether a column's limits hold in each part of a group that shares a value of another column."""
    begin, end = limits.first[j], limits.first[j + 1]
    for other in range(len(limits.whole)):
        if other == j:
            continue
        parts = np.zeros((limits.first[other + 1] - limits.first[other], end - begin), np.int64)
        sizes = np.zeros(len(parts), np.int64)
        for v in range(len(counts)):
            parts[limits.value_of[other, v], limits.value_of[j, v]] += counts[v]
            sizes[limits.value_of[other, v]] += counts[v]
        for p in range(len(parts)):
            if sizes[p] == 0:
                continue
            if not _is_diverse(parts[p], sizes[p], limits.whole[j], limits.real[j], limits.overall[begin:end]):
                return False
            if len(limits.shares) > 0 and not _are_between(parts[p], sizes[p], limits.shares[begin:end]):
                return False
            if len(limits.reach) > 0 and not _is_wide(parts[p], limits.reach[begin:end]):
                return False
            if limits.whole[j, LEVELS] > 0 and not _is_near(
                parts[p],
                sizes[p],
                limits.whole[j],
                limits.real[j],
                limits.overall[begin:end],
                limits.nodes[:, begin:end],
            ):
                return False
    return True


@kernel
def _is_diverse(counts: Int64, n: int, whole: Int64, real: Float64, overall: Float64) -> bool:
    """Tell whether n rows with these counts of one column's values keep its limits, size aside."""
    largest, distinct = 0, 0
    for count in counts:
        largest = max(largest, count)
        distinct += count > 0
    if largest * whole[SHARE_DENOMINATOR] > n * whole[SHARE_NUMERATOR] or distinct < whole[DISTINCT]:
        return False
    if real[ENTROPY] > 0.0:
        entropy = 0.0
        for count in counts:
            if count > 0:
                entropy -= count / n * np.log(count / n)
        if entropy < real[ENTROPY] - TOLERANCE:
            return False
    if whole[RECURSIVE_L] > 0:
        tail = _tail(counts, n, whole[RECURSIVE_L] - 1)
        if largest * whole[C_DENOMINATOR] >= tail * whole[C_NUMERATOR]:
            return False
    return bool(real[T] >= 1.0 or _distance(counts, n, overall, whole[ORDERED] > 0) <= real[T] + TOLERANCE)


@kernel
def _are_between(counts: Int64, n: int, shares: Int64) -> bool:
    """Tell whether each value's share of n rows is between its least and its largest one."""
    for v in range(len(counts)):
        if counts[v] * shares[v, MOST_DENOMINATOR] > n * shares[v, MOST_NUMERATOR]:
            return False
        if counts[v] * shares[v, LEAST_DENOMINATOR] < n * shares[v, LEAST_NUMERATOR]:
            return False
    return True


@kernel
def _is_wide(counts: Int64, reach: Int32) -> bool:
    """Tell whether the greatest number among these values is far enough above the least."""
    least, greatest = -1, -1
    for v in range(len(counts)):
        if counts[v] > 0 and reach[v] >= 0:
            if least < 0:
                least = v
            greatest = v
    return least >= 0 and greatest >= reach[least]


@kernel
def _is_near(counts: Int64, n: int, whole: Int64, real: Float64, overall: Float64, nodes: Int32) -> bool:
    """Tell whether n rows are near the table's distribution along the tree of a column's values.

    The distance of two values is the height at which they meet over the height of the root (Li et al. 2007), so the
    earth mover's distance is the mean over the levels below the root of half the sum of absolute differences there.
    """
    total = _distance(counts, n, overall, False)
    for level in range(whole[LEVELS] - 1):
        apart = np.zeros(len(counts))
        for v in range(len(counts)):
            apart[nodes[level, v]] += counts[v] / n - overall[v]
        for v in range(len(counts)):
            total += 0.5 * abs(apart[v])
    return bool(total / whole[LEVELS] <= real[T_OF_TREE] + TOLERANCE)


@kernel
def groups_hold(counts: Int64, sizes: Int64, limits: Limits) -> Bools:
    """Tell of each group whether it keeps every limit; counts are [groups x sensitive values]."""
    found = np.empty(len(sizes), np.bool_)
    for g in range(len(sizes)):
        found[g] = holds(counts[g], int(sizes[g]), limits)
    return found


@kernel
def unions_hold(counts: Int64, sizes: Int64, order: Int64, limits: Limits) -> Bools:
    """Tell whether the first 1, 2, ... groups of an order keep every limit when they are made one."""
    found = np.empty(len(order), np.bool_)
    together = np.zeros(counts.shape[1], np.int64)
    n = 0
    for i in range(len(order)):
        n += int(sizes[order[i]])
        for v in range(len(together)):
            together[v] += counts[order[i], v]
        found[i] = holds(together, n, limits)
    return found


@kernel
def _tail(counts: Int64, n: int, n_top: int) -> int:
    """Return the number of rows without the `n_top` most frequent values."""
    left = counts.copy()
    for _ in range(min(n_top, len(counts))):
        top = 0
        for v in range(len(left)):
            if left[v] > left[top]:
                top = v
        n -= left[top]
        left[top] = 0
    return n


@kernel
def _distance(counts: Int64, n: int, overall: Float64, ordered: bool) -> float:
    """Earth mover's distance from the table's distribution, by equal or by ordered ground distance."""
    total, cumulated = 0.0, 0.0
    for v in range(len(counts)):
        difference = counts[v] / n - overall[v]
        cumulated += difference
        total += abs(cumulated) if ordered else 0.5 * abs(difference)
    return total / max(1, len(counts) - 1) if ordered else total
