"""Specialization: all partitions that hold a value of an attribute are split by its parts.

These are the partitions and links of the TIPS structure (Fung et al. 2005): the rows of a partition lie together, and
each partition knows its value of every attribute, so the partitions of a value are found without a look at rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import kernel
from incrowd.kernels.limits import SIZE, Limits, holds
from incrowd.kernels.partition import HISTOGRAM, SENSITIVE, SIZES, WEIGHT, Work, move

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NOTHING, PARTS, EACH_LEAF = range(3)  # what is counted of a value: nothing, its parts, each leaf against the others


class Leaves(NamedTuple):
    """Rows grouped by their values; the leaf partitions of the paper's tree.

    Attributes
    ----------
    bounds
        First row and end of each partition, int64 [2 x partitions].
    size
        Number of rows, equal ones counted.
    value
        Number of the partition's value of each attribute, int32 [quasi x partitions].
    changed
        Partitions that were split, or got another value, since `count_smallest`.
    """

    bounds: Int64
    size: Int64
    value: Int32
    changed: Bools


class Parts(NamedTuple):
    """What the partitions of a value would be split into.

    Attributes
    ----------
    group, part, size
        Of each new partition: the one that it comes from, its part of the value, its rows.
    owner, sensitive, times
        How often a sensitive value occurs in a new partition, for those that occur.
    """

    group: Int32
    part: Int32
    size: Int64
    owner: Int32
    sensitive: Int32
    times: Int64


@kernel
def list_parts(
    work: Work, leaves: Leaves, n_groups: int, m: int, value: int, part_of: Int32, n_values: int, counts: Int64,
    parts: Parts,
) -> tuple[int, int]:  # fmt: skip
    """List what the partitions of a value would be split into; return the numbers of new partitions and of counts.

    Parameters
    ----------
    part_of
        Part of each leaf of the attribute.
    n_values
        Number of sensitive values, 0 when they are not looked at.
    counts
        Zeros, [parts x sensitive values], flat; left as zeros.
    """
    rows, sizes, number = work.rows, work.scratch[SIZES], work.scratch[HISTOGRAM]
    n_parts, n_counts = 0, 0
    for g in range(n_groups):
        if leaves.value[m, g] != value:
            continue
        first_part, first_count = n_parts, n_counts
        for i in range(leaves.bounds[0, g], leaves.bounds[1, g]):
            part, weight = int(part_of[rows[i, m]]), rows[i, WEIGHT]
            if sizes[part] == 0:
                parts.group[n_parts], parts.part[n_parts], number[part] = g, part, n_parts
                n_parts += 1
            sizes[part] += weight
            if n_values > 0:
                at = part * n_values + rows[i, SENSITIVE]
                if counts[at] == 0:
                    parts.owner[n_counts], parts.sensitive[n_counts] = number[part], rows[i, SENSITIVE]
                    n_counts += 1
                counts[at] += weight
        for j in range(first_part, n_parts):
            parts.size[j] = sizes[parts.part[j]]
            sizes[parts.part[j]] = 0
        for j in range(first_count, n_counts):
            at = int(parts.part[parts.owner[j]]) * n_values + parts.sensitive[j]
            parts.times[j] = counts[at]
            counts[at] = 0
    return n_parts, n_counts


@kernel
def parts_keep(
    parts: Parts, n_parts: int, n_counts: int, label: Int64, n_labels: int, n_values: int, limits: Limits
) -> bool:
    """Tell whether the listed partitions keep the limits when those of equal label are one."""
    sizes = np.zeros(n_labels, np.int64)
    for j in range(n_parts):
        sizes[label[j]] += parts.size[j]
    for group in range(n_labels):
        if sizes[group] < limits.whole[0, SIZE]:
            return False
    if n_values == 0:
        return True
    counts = np.zeros((n_labels, n_values), np.int64)
    for j in range(n_counts):
        counts[label[parts.owner[j]], parts.sensitive[j]] += parts.times[j]
    for group in range(n_labels):
        if not holds(counts[group], int(sizes[group]), limits):
            return False
    return True


@kernel
def split(
    work: Work, leaves: Leaves, n_groups: int, m: int, value: int, part_of: Int32, value_of_part: Int32, rest: int,
    squares: Int64,
) -> int:  # fmt: skip
    """Split all partitions of a value; return the new number of partitions.

    Parameters
    ----------
    part_of
        Part of each leaf of the attribute.
    value_of_part
        Number of the value that each part becomes.
    rest
        The part that is the same value afterwards, without the others; -1 if none is.
    squares
        For each value the sum of its partitions' squared sizes. Those of the values that the parts become must be 0.
    """
    rows, part, sizes, n_rows = work.rows, work.part, work.scratch[SIZES], work.scratch[HISTOGRAM]
    n_parts, n_quasi, n_new = len(value_of_part), len(leaves.value), n_groups
    for g in range(n_groups):
        if leaves.value[m, g] != value:
            continue
        start, stop, old_size, fresh = int(leaves.bounds[0, g]), int(leaves.bounds[1, g]), int(leaves.size[g]), False
        for p in range(n_parts):
            sizes[p] = 0
        for i in range(start, stop):
            part[i] = part_of[rows[i, m]]
            sizes[part[i]] += rows[i, WEIGHT]
        first = int(part[start])
        whole = sizes[first] == old_size
        if not whole:
            move(work, start, stop, n_parts)
        leaves.changed[g] = not whole or first != rest
        for p in range(n_parts):
            if sizes[p] == 0:
                continue
            to = n_new if fresh else g
            if fresh:
                for other in range(n_quasi):
                    leaves.value[other, to] = leaves.value[other, g]
                leaves.changed[to] = True
                n_new += 1
            end = stop if whole else start + int(n_rows[p])
            leaves.bounds[0, to], leaves.bounds[1, to], leaves.size[to] = start, end, sizes[p]
            leaves.value[m, to] = value_of_part[p]
            start, fresh = end, True
            for other in range(n_quasi):
                squares[leaves.value[other, to]] += int(sizes[p]) ** 2
        for other in range(n_quasi):
            if other != m:
                squares[leaves.value[other, g]] -= old_size**2
        for p in range(n_parts):
            sizes[p] = 0
    return n_new


@kernel
def count_smallest(
    work: Work, leaves: Leaves, n_groups: int, counted: Int32, offset: Int64, part_of: Int32, sizes: Int64,
    smallest: Int64,
) -> None:  # fmt: skip
    """Lower the size of the smallest partition that each specialization would make, by the changed partitions.

    Partitions only get smaller, so what was found before stays a bound.

    Parameters
    ----------
    counted
        What to count of each value: `NOTHING`, `PARTS`, or `EACH_LEAF` against the others.
    offset
        Where the leaves of each attribute begin in `part_of` and, for `EACH_LEAF`, in `smallest`.
    part_of
        Part of each leaf in its value.
    sizes
        Zeros, [quasi x parts]; left as zeros.
    """
    rows, n_quasi = work.rows, len(leaves.value)
    active = np.empty(n_quasi, np.int64)
    for g in range(n_groups):
        if not leaves.changed[g]:
            continue
        leaves.changed[g] = False
        n_active = 0
        for m in range(n_quasi):
            if counted[leaves.value[m, g]] != NOTHING:
                active[n_active] = m
                n_active += 1
        start, stop, size = leaves.bounds[0, g], leaves.bounds[1, g], int(leaves.size[g])
        for i in range(start, stop):
            for a in range(n_active):
                m = active[a]
                sizes[m, part_of[offset[m] + rows[i, m]]] += rows[i, WEIGHT]
        for i in range(start, stop):
            for a in range(n_active):
                m = active[a]
                part = part_of[offset[m] + rows[i, m]]
                least, value = int(sizes[m, part]), int(leaves.value[m, g])
                if least == 0:
                    continue
                sizes[m, part] = 0
                if counted[value] == EACH_LEAF:
                    value = int(offset[m]) + rows[i, m]
                    least = min(least, size - least) if least < size else least
                smallest[value] = min(smallest[value], least)
