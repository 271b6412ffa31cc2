"""Mondrian's cuts: at the median, along the widest attribute."""

from __future__ import annotations

import numpy as np

from incrowd.kernels.domains import HAS_MISSING, N_LEVELS, Domains
from incrowd.kernels.jit import kernel
from incrowd.kernels.limits import SIZE, Limits
from incrowd.kernels.partition import (
    HISTOGRAM,
    WEIGHT,
    Partition,
    Work,
    argmax,
    cut_node,
    measure,
    part_by_code,
    parts_hold,
    settle,
    sort,
    take,
)


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
        sort(keys)
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
            if n_left < limits.whole[0, SIZE] or n - n_left < limits.whole[0, SIZE]:
                continue
        part_by_code(work, start, stop, n, m, code, n_ties)
        if parts_hold(work, start, stop, 2, n_values, limits):
            return 2
    return 0


@kernel
def _cut_widest(
    work: Work, start: int, stop: int, n: int, strict: bool, n_values: int, limits: Limits, domains: Domains
) -> tuple[int, int]:
    """Cut a group along the widest attribute that allows it; return the number of parts and the attribute."""
    lo, hi, width = measure(work, start, stop, domains)
    for _ in range(len(width)):
        m = argmax(width)
        if width[m] < 0.0:
            break
        width[m] = -1.0
        if domains.shape[m, N_LEVELS] == 0:
            n_parts = _cut_range(work, start, stop, n, m, lo[m], hi[m], strict, n_values, limits, domains)
        else:
            n_parts = cut_node(work, start, stop, m, lo[m], hi[m], n_values, limits, domains)
        if n_parts > 0:
            return n_parts, m
    return 0, 0


@kernel
def mondrian(
    work: Work, partition: Partition, strict: bool, n_values: int, limits: Limits, domains: Domains, budget: int
) -> None:
    """Cut groups of rows until none can be cut or the budget of visited rows is spent."""
    while partition.state[0] > 0 and budget > 0:
        start, stop, n, node = take(partition)
        budget -= stop - start
        n_parts, m = 0, 0
        if n >= 2 * limits.whole[0, SIZE]:
            n_parts, m = _cut_widest(work, start, stop, n, strict, n_values, limits, domains)
        settle(work, partition, start, stop, n, node, m, n_parts)
