"""What every group must keep: the one decision procedure for privacy constraints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import kernel

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

SIZE, SHARE_NUMERATOR, SHARE_DENOMINATOR, DISTINCT, RECURSIVE_L, C_NUMERATOR, C_DENOMINATOR, ORDERED = range(8)
ENTROPY, T, OVERALL = range(3)
TOLERANCE = 1e-12  # of entropies and distances, which are sums of rounded terms


class Limits(NamedTuple):
    """What every group must keep; see `incrowd.privacy`. The table's own distribution stands behind the real limits."""

    whole: Int64
    real: Float64


@kernel
def holds(counts: Int64, n: int, limits: Limits) -> bool:
    """Tell whether a group of n rows with these sensitive counts keeps every limit."""
    whole, real = limits.whole, limits.real
    if n < whole[SIZE]:
        return False
    if len(counts) == 0:
        return True
    largest, distinct, entropy = 0, 0, 0.0
    for count in counts:
        largest = max(largest, count)
        if count > 0:
            distinct += 1
            entropy -= count / n * np.log(count / n)
    if largest * whole[SHARE_DENOMINATOR] > n * whole[SHARE_NUMERATOR] or distinct < whole[DISTINCT]:
        return False
    if entropy < real[ENTROPY] - TOLERANCE:
        return False
    if whole[RECURSIVE_L] > 0:
        tail = _tail(counts, n, whole[RECURSIVE_L] - 1)
        if largest * whole[C_DENOMINATOR] >= tail * whole[C_NUMERATOR]:
            return False
    return bool(real[T] >= 1.0 or _distance(counts, n, real, whole[ORDERED] > 0) <= real[T] + TOLERANCE)


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
def _distance(counts: Int64, n: int, real: Float64, ordered: bool) -> float:
    """Earth mover's distance from the table's distribution, by equal or by ordered ground distance."""
    total, cumulated = 0.0, 0.0
    for v in range(len(counts)):
        difference = counts[v] / n - real[OVERALL + v]
        cumulated += difference
        total += abs(cumulated) if ordered else 0.5 * abs(difference)
    return total / max(1, len(counts) - 1) if ordered else total
