"""Cuts chosen by loss: of the allowed ones, the one that leaves the least.

A cut is judged by the rows of each side times the loss of the side's closure. Looked at are all thresholds of all
attributes and each single value or node of a taxonomy against the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.boxes import COST, KIND, N_LEAVES, NONE, TREE, Prices, cost_of
from incrowd.kernels.jit import kernel
from incrowd.kernels.limits import SIZE, Limits, holds
from incrowd.kernels.partition import (
    SENSITIVE,
    WEIGHT,
    Partition,
    Work,
    part_by_band,
    part_by_code,
    settle,
    settle_band,
    sort,
    take,
)

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

VALUE, BEFORE, BEHIND, SIDES = range(4)
CODE, N_BEFORE, BEGIN = range(3)
INSIDE, ALL, OTHER = range(3)
WORST = 2**62


class Room(NamedTuple):
    """Room for one look at a set of rows; nothing in it is kept.

    Attributes
    ----------
    keys
        Code and number of each row, 32 bits each, in the order of codes.
    begin
        A histogram of the largest domain, with two places more.
    values
        For each value that occurs, [3 x values + 1]: its code, the number of rows before it, its first key.
    boxes
        Boxes [4 x values + 1 x 2 quasi], first codes before last codes: of the rows with each value, up to it, and from
        it on; then of the two sides of a cut.
    counts
        Sensitive counts, [3 x values].
    """

    keys: Int64
    begin: Int64
    values: Int64
    boxes: Int32
    counts: Int64


@kernel
def loss_of(prices: Prices, box: Int32) -> int:
    """Return the loss of the closure of a box."""
    n_quasi, found = len(prices.shape), 0
    for m in range(n_quasi):
        found += cost_of(prices, prices.exact, m, box[m], box[n_quasi + m])
    return found


@kernel
def _clear(box: Int32) -> None:
    """Make a box empty."""
    n_quasi = len(box) // 2
    for m in range(n_quasi):
        box[m], box[n_quasi + m] = 2**31 - 1, NONE


@kernel
def _join(box: Int32, other: Int32) -> None:
    """Make a box hold another one."""
    n_quasi = len(box) // 2
    for m in range(n_quasi):
        box[m] = min(box[m], other[m])
        box[n_quasi + m] = max(box[n_quasi + m], other[n_quasi + m])


@kernel
def bound(rows: Int32, start: int, stop: int, box: Int32) -> None:
    """Write the box of a slice of rows."""
    n_quasi = len(box) // 2
    _clear(box)
    for i in range(start, stop):
        for m in range(n_quasi):
            box[m] = min(box[m], rows[i, m])
            box[n_quasi + m] = max(box[n_quasi + m], rows[i, m])


@kernel
def _order(rows: Int32, start: int, stop: int, m: int, lo: int, hi: int, room: Room) -> None:
    """Write code and number of each row of a slice, in the order of codes."""
    keys, begin = room.keys, room.begin
    if hi - lo > 8 * (stop - start):  # a sparse domain: sorting the few codes is cheaper than walking over it
        for i in range(start, stop):
            keys[i - start] = (np.int64(rows[i, m]) << 32) | i
        sort(keys[: stop - start])
        return
    for offset in range(hi - lo + 2):
        begin[offset] = 0
    for i in range(start, stop):
        begin[rows[i, m] - lo + 1] += 1
    for offset in range(1, hi - lo + 1):
        begin[offset] += begin[offset - 1]
    for i in range(start, stop):
        offset = rows[i, m] - lo
        keys[begin[offset]] = (np.int64(rows[i, m]) << 32) | i
        begin[offset] += 1


@kernel
def _bucket(rows: Int32, start: int, stop: int, m: int, lo: int, hi: int, room: Room) -> int:
    """Find the values that occur, with their rows and boxes, and the boxes up to them and from them on; count them."""
    _order(rows, start, stop, m, lo, hi, room)
    keys, values, boxes = room.keys, room.values, room.boxes
    n_quasi = len(boxes[VALUE, 0]) // 2
    at, n = NONE, 0
    for i in range(stop - start):
        code, row = keys[i] >> 32, keys[i] & 0xFFFFFFFF
        if at == NONE or code != values[CODE, at]:
            at += 1
            values[CODE, at], values[N_BEFORE, at], values[BEGIN, at] = code, n, i
            for j in range(n_quasi):
                boxes[VALUE, at, j] = boxes[VALUE, at, n_quasi + j] = rows[row, j]
        else:
            for j in range(n_quasi):
                boxes[VALUE, at, j] = min(boxes[VALUE, at, j], rows[row, j])
                boxes[VALUE, at, n_quasi + j] = max(boxes[VALUE, at, n_quasi + j], rows[row, j])
        n += rows[row, WEIGHT]
    n_codes = at + 1
    values[N_BEFORE, n_codes], values[BEGIN, n_codes] = n, stop - start
    for side, first, step in ((BEFORE, 0, 1), (BEHIND, n_codes - 1, -1)):
        for j in range(2 * n_quasi):
            boxes[side, first, j] = boxes[VALUE, first, j]
        for i in range(1, n_codes):
            to = first + i * step
            for j in range(n_quasi):
                boxes[side, to, j] = min(boxes[side, to - step, j], boxes[VALUE, to, j])
                h = n_quasi + j
                boxes[side, to, h] = max(boxes[side, to - step, h], boxes[VALUE, to, h])
    return n_codes


@kernel
def _count(rows: Int32, room: Room, begin: int, end: int) -> None:
    """Add the sensitive values of a range of keys to those inside."""
    for i in range(begin, end):
        row = room.keys[i] & 0xFFFFFFFF
        room.counts[INSIDE, rows[row, SENSITIVE]] += rows[row, WEIGHT]


@kernel
def sides_hold(counts: Int64, n_inside: int, n: int, limits: Limits) -> bool:
    """Tell whether both what is counted inside and the others of all keep every limit."""
    if counts.shape[1] == 0:
        return bool(min(n_inside, n - n_inside) >= limits.whole[0, SIZE])
    for v in range(counts.shape[1]):
        counts[OTHER, v] = counts[ALL, v] - counts[INSIDE, v]
    return holds(counts[INSIDE], n_inside, limits) and holds(counts[OTHER], n - n_inside, limits)


@kernel
def _best_threshold(
    rows: Int32, n: int, n_codes: int, prices: Prices, room: Room, limits: Limits, best: int, best_uneven: int
) -> tuple[int, int, int]:
    """Return loss, unevenness and last value before the best threshold of an attribute that is better than the best."""
    values, boxes, least, found = room.values, room.boxes, limits.whole[0, SIZE], NONE
    n_values, counted = room.counts.shape[1], 0
    for v in range(n_values):
        room.counts[INSIDE, v] = 0
    for at in range(n_codes - 1):
        n_left = values[N_BEFORE, at + 1]
        if n_left < least:
            continue
        if n - n_left < least:
            break
        loss = n_left * loss_of(prices, boxes[BEFORE, at])
        if loss > best:  # what lies before only grows
            break
        loss += (n - n_left) * loss_of(prices, boxes[BEHIND, at + 1])
        uneven = abs(n - 2 * n_left)
        if loss > best or (loss == best and uneven >= best_uneven):
            continue
        if n_values > 0:
            _count(rows, room, counted, values[BEGIN, at + 1])
            counted = values[BEGIN, at + 1]
        if sides_hold(room.counts, n_left, n, limits):
            best, best_uneven, found = loss, uneven, at
    return best, best_uneven, found


@kernel
def _best_node(
    rows: Int32, m: int, n: int, n_codes: int, prices: Prices, room: Room, limits: Limits, best: int, best_uneven: int
) -> tuple[int, int, int, int]:
    """Return loss, unevenness, and first and last value of the best node, if it is better than the best.

    Of a range, each value is a node. From low to high, leaves before their parents; nodes at either end are thresholds,
    and were looked at as such.
    """
    values, boxes, least = room.values, room.boxes, limits.whole[0, SIZE]
    n_values, found, found_end = room.counts.shape[1], NONE, NONE
    inside, outside = boxes[SIDES, 0], boxes[SIDES, 1]
    is_tree, level, n_leaves = prices.shape[m, KIND] == TREE, prices.shape[m, COST], prices.shape[m, N_LEAVES]
    more = True
    while more:
        end = 0
        while end < n_codes - 1:
            at, end = end, end + 1
            if is_tree:
                last_leaf = prices.ends[1, level + values[CODE, at]]
                while end < n_codes and values[CODE, end] <= last_leaf:
                    end += 1
            size = values[N_BEFORE, end] - values[N_BEFORE, at]
            if at == 0 or end == n_codes or min(size, n - size) < least:
                continue
            _clear(inside)
            _clear(outside)
            for i in range(at, end):
                _join(inside, boxes[VALUE, i])
            _join(outside, boxes[BEFORE, at - 1])
            _join(outside, boxes[BEHIND, end])
            loss = size * loss_of(prices, inside) + (n - size) * loss_of(prices, outside)
            uneven = abs(n - 2 * size)
            if loss > best or (loss == best and uneven >= best_uneven):
                continue
            if n_values > 0:
                for v in range(n_values):
                    room.counts[INSIDE, v] = 0
                _count(rows, room, values[BEGIN, at], values[BEGIN, end])
            if sides_hold(room.counts, size, n, limits):
                best, best_uneven, found, found_end = loss, uneven, at, end - 1
        level += n_leaves
        more = is_tree and prices.ends[1, level + values[CODE, 0]] < values[CODE, n_codes - 1]
    return best, best_uneven, found, found_end


@kernel
def _last_leaf(prices: Prices, m: int, code: int, following: int) -> int:
    """Return the last leaf of the largest node with the first code and not the second: where to cut between them."""
    if prices.shape[m, KIND] != TREE:
        return code
    at, last = prices.shape[m, COST] + code, code
    while prices.ends[1, at] < following:
        last = int(prices.ends[1, at])
        at += prices.shape[m, N_LEAVES]
    return last


@kernel
def best_cut(
    rows: Int32, start: int, stop: int, n: int, prices: Prices, room: Room, limits: Limits
) -> tuple[int, int, int, int]:
    """Return the loss of the best allowed cut, its attribute, the last leaf before it, and its own last leaf.

    A threshold has no leaf before it; where no cut is allowed there is no attribute. Of equally good cuts the most even
    one, of equally even ones the first attribute, thresholds first, the lowest.
    """
    n_quasi, values, counts = len(prices.shape), room.values, room.counts
    box = room.boxes[SIDES, 0].copy()
    bound(rows, start, stop, box)
    if counts.shape[1] > 0:
        for v in range(counts.shape[1]):
            counts[ALL, v] = 0
        for i in range(start, stop):
            counts[ALL, rows[i, SENSITIVE]] += rows[i, WEIGHT]
    best, uneven, best_m, before, last = WORST, n, NONE, NONE, NONE
    for m in range(n_quasi):
        if box[m] == box[n_quasi + m]:
            continue
        n_codes = _bucket(rows, start, stop, m, box[m], box[n_quasi + m], room)
        best, uneven, at = _best_threshold(rows, n, n_codes, prices, room, limits, best, uneven)
        if at != NONE:
            best_m, before = m, NONE
            last = _last_leaf(prices, m, values[CODE, at], values[CODE, at + 1])
        if n_codes > 2:
            best, uneven, at, end = _best_node(rows, m, n, n_codes, prices, room, limits, best, uneven)
            if at != NONE:
                best_m = m
                before = _last_leaf(prices, m, values[CODE, at - 1], values[CODE, at])
                last = _last_leaf(prices, m, values[CODE, end], values[CODE, end + 1])
    return best, best_m, before, last


@kernel
def cut_by_loss(work: Work, partition: Partition, room: Room, prices: Prices, limits: Limits, budget: int) -> None:
    """Cut groups of rows, at no gain too, until none can be cut or the budget of visited rows is spent."""
    while partition.state[0] > 0 and budget > 0:
        start, stop, n, node = take(partition)
        budget -= stop - start
        m = NONE
        if n >= 2 * limits.whole[0, SIZE]:
            _, m, before, last = best_cut(work.rows, start, stop, n, prices, room, limits)
        if m == NONE:
            settle(work, partition, start, stop, n, node, 0, 0)
        elif before == NONE:
            part_by_code(work, start, stop, n, m, last, n)
            settle(work, partition, start, stop, n, node, m, 2)
        else:
            part_by_band(work, start, stop, n, m, before, last)
            settle_band(work, partition, start, stop, node, m, before, last)
