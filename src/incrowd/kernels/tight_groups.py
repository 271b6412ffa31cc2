"""Groups that lose little: rows in an order cut by dynamic programming, then near groups joined and cut anew."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.boxes import NONE, Prices, cost_of
from incrowd.kernels.jit import kernel
from incrowd.kernels.limits import SIZE, Limits, holds
from incrowd.kernels.loss_cuts import INSIDE, WORST, Room, best_cut, bound, loss_of, sides_hold
from incrowd.kernels.partition import SENSITIVE, sort

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

FIRST, N_ROWS, LOSS, CHANGED, TRIED = range(5)
GAIN, N_PARTS, GROUP = range(3)  # of a proposal: then up to three groups, then room for the numbers of more parts
N_NEAR = 6
MOST_PARTS = 8  # that three groups are cut into
NUMBER = -1
BITS = 28  # of a row's place in a union


class Groups(NamedTuple):
    """Groups by number, some of them empty.

    Attributes
    ----------
    about
        First row, number of rows, loss, when it was changed, and when it was last tried to be cut anew.
    near
        The nearest groups when it was last tried.
    box
        Codes, first ones before last ones.
    following
        The row behind each row of the same group.
    tree
        A binary tree over the groups, the root at 1: per node the largest first and the smallest last codes, which any
        box joined with one of the node's groups holds, and the largest loss. Nothing in the node: -1.
    """

    about: Int64
    near: Int64
    box: Int32
    following: Int32
    tree: Int32


class Bench(NamedTuple):
    """Room for joining groups and cutting them anew; nothing in it is kept.

    Attributes
    ----------
    rows, spare
        The joined rows, and room for as many.
    stack, ends
        Slices to be cut, and ends of the parts.
    losses
        Of all rows before each place.
    boxes
        Two boxes.
    found
        The nearest groups: growth and number; then room for a loss per attribute.
    """

    rows: Int32
    spare: Int32
    stack: Int64
    ends: Int64
    losses: Int64
    boxes: Int32
    found: Int64


@kernel
def plan(
    rows: Int32, begin: int, end: int, prices: Prices, limits: Limits, longest: int, counts: Int64, least: Int64,
    last: Int64,
) -> None:  # fmt: skip
    """Find the least loss of the first rows in groups of neighbours, for each number of rows up to the end.

    Groups have fewer than 2k rows; where a limit allows none of them, the smallest that are allowed, up to `longest`.

    Parameters
    ----------
    least, last
        The least loss of the first i rows, and where their last group begins.
    """
    n_quasi, k = len(prices.shape), limits.whole[0, SIZE]
    box, costs = np.empty((2, n_quasi), np.int32), np.zeros(n_quasi, np.int64)
    for i in range(begin + 1, end + 1):
        least[i], last[i], loss = WORST, NONE, 0
        for v in range(len(counts)):
            counts[v] = 0
        for m in range(n_quasi):
            box[0, m] = box[1, m] = rows[i - 1, m]
            costs[m] = cost_of(prices, prices.exact, m, box[0, m], box[1, m])
            loss += costs[m]
        for j in range(i - 1, max(0, i - longest) - 1, -1):
            for m in range(n_quasi):
                code = rows[j, m]
                if code < box[0, m] or code > box[1, m]:
                    box[0, m], box[1, m] = min(box[0, m], code), max(box[1, m], code)
                    loss -= costs[m]
                    costs[m] = cost_of(prices, prices.exact, m, box[0, m], box[1, m])
                    loss += costs[m]
            if len(counts) > 0:
                counts[rows[j, SENSITIVE]] += 1
            size = i - j
            if size < k or least[j] == WORST:
                continue
            if size >= 2 * k and last[i] != NONE:
                break
            total = least[j] + size * loss
            if total < least[i] and holds(counts, size, limits):
                least[i], last[i] = total, j


@kernel
def _write_leaf(groups: Groups, group: int) -> None:
    """Write a group into the tree, which is correct above it only afterwards."""
    tree, box, n_quasi = groups.tree, groups.box, groups.box.shape[1] // 2
    node = len(tree) // 2 + group
    if groups.about[group, N_ROWS] == 0:
        _empty(tree[node])
    else:
        for m in range(2 * n_quasi):
            tree[node, m] = box[group, m]
        tree[node, 2 * n_quasi] = groups.about[group, LOSS]


@kernel
def _empty(node: Int32) -> None:
    """Write that nothing is in a node of the tree."""
    n_quasi = len(node) // 2
    for m in range(n_quasi):
        node[m], node[n_quasi + m] = NONE, 2**31 - 1
    node[2 * n_quasi] = NONE


@kernel
def _write_node(groups: Groups, node: int) -> None:
    tree, n_quasi = groups.tree, groups.box.shape[1] // 2
    tree[node, 2 * n_quasi] = max(tree[2 * node, 2 * n_quasi], tree[2 * node + 1, 2 * n_quasi])
    for m in range(n_quasi):
        tree[node, m] = max(tree[2 * node, m], tree[2 * node + 1, m])
        h = n_quasi + m
        tree[node, h] = min(tree[2 * node, h], tree[2 * node + 1, h])


@kernel
def fill_groups(groups: Groups, rows: Int32, prices: Prices, ends: Int64) -> None:
    """Make groups of neighbours, given the end of each."""
    begin = 0
    for g in range(len(groups.about)):
        groups.about[g, TRIED], groups.about[g, CHANGED] = NONE, 0
        groups.about[g, N_ROWS], groups.about[g, LOSS] = 0, 0
        if g < len(ends):
            end = ends[g]
            groups.about[g, FIRST], groups.about[g, N_ROWS] = begin, end - begin
            for i in range(begin, end):
                groups.following[i] = i + 1 if i + 1 < end else NONE
            bound(rows, begin, end, groups.box[g])
            groups.about[g, LOSS] = loss_of(prices, groups.box[g])
            begin = end
        _write_leaf(groups, g)
    half = len(groups.tree) // 2
    for node in range(half + len(groups.about), 2 * half):
        _empty(groups.tree[node])
    for node in range(half - 1, 0, -1):
        _write_node(groups, node)


@kernel
def _growth(groups: Groups, group: int, node: int, prices: Prices, most: int) -> int:
    """Return by how much the losses of a group and one of a node's rise when they are joined, at least; or `most`."""
    tree, box, n_quasi, joined = groups.tree, groups.box, groups.box.shape[1] // 2, 0
    own, others = groups.about[group, LOSS], np.int64(tree[node, 2 * n_quasi])
    for m in range(n_quasi):
        lo, hi = min(box[group, m], tree[node, m]), max(box[group, n_quasi + m], tree[node, n_quasi + m])
        joined += cost_of(prices, prices.exact, m, lo, hi)
        if joined - own + max(0, joined - others) >= most:
            return most
    return int(joined - own + max(0, joined - others))


@kernel
def find_near(groups: Groups, group: int, prices: Prices, bench: Bench) -> int:
    """Find the groups that grow least when they are joined with a group, the nearest first; return how many."""
    found, stack, tree = bench.found, bench.stack, groups.tree
    half = len(tree) // 2
    n_found = 0
    up = half + group
    while up > 1:  # from the group outwards, so that near ones are met early
        stack[0], n_stack = up ^ 1, 1
        while n_stack > 0:
            n_stack -= 1
            node = stack[n_stack]
            if tree[node, 0] == NONE:
                continue
            most = found[0, N_NEAR - 1] if n_found == N_NEAR else WORST
            growth = _growth(groups, group, node, prices, most)
            if growth >= most:
                continue
            if node < half:
                first = 2 * node if up & 1 == 0 else 2 * node + 1
                stack[n_stack], stack[n_stack + 1] = first ^ 1, first
                n_stack += 2
                continue
            at = min(n_found, N_NEAR - 1)
            n_found = min(n_found + 1, N_NEAR)
            while at > 0 and found[0, at - 1] > growth:
                found[0, at], found[1, at] = found[0, at - 1], found[1, at - 1]
                at -= 1
            found[0, at], found[1, at] = growth, node - half
        up >>= 1
    return n_found


@kernel
def _gather(groups: Groups, rows: Int32, bench: Bench, union: Int64) -> int:
    """Copy the rows of some groups to the bench; return how many they are."""
    n, width = 0, rows.shape[1]
    for g in union:
        if g == NONE:
            continue
        row = groups.about[g, FIRST]
        while row != NONE:
            for j in range(width):
                bench.rows[n, j] = rows[row, j]
            bench.rows[n, NUMBER] = row
            n += 1
            row = groups.following[row]
    return n


@kernel
def _apart(rows: Int32, i: int, j: int, prices: Prices) -> int:
    """Return the loss of two rows together."""
    found = 0
    for m in range(len(prices.shape)):
        a, b = rows[i, m], rows[j, m]
        found += cost_of(prices, prices.exact, m, min(a, b), max(a, b))
    return found


@kernel
def _farthest(rows: Int32, start: int, stop: int, row: int, prices: Prices) -> int:
    found, most = row, 0
    for i in range(start, stop):
        distance = _apart(rows, i, row, prices)
        if distance > most:
            found, most = i, distance
    return found


@kernel
def _grow(box: Int32, costs: Int64, rows: Int32, row: int, prices: Prices) -> int:
    """Make a box hold a row; return what the loss rises by."""
    n_quasi, rise = len(costs), 0
    for m in range(n_quasi):
        code = rows[row, m]
        if code < box[m] or code > box[n_quasi + m]:
            box[m], box[n_quasi + m] = min(box[m], code), max(box[n_quasi + m], code)
            cost = cost_of(prices, prices.exact, m, box[m], box[n_quasi + m])
            rise += cost - costs[m]
            costs[m] = cost
    return rise


@kernel
def _best_between_poles(
    bench: Bench, start: int, stop: int, prices: Prices, room: Room, limits: Limits
) -> tuple[int, int]:
    """Return the least loss of two sides, rows in the order of nearness to one pole rather than the other.

    And the number of rows on the first side. The poles are two rows far apart: the farthest from the first row, and
    the farthest from that one. The order is left in the keys of the room.
    """
    rows, keys, counts, least, n = bench.rows, room.keys, room.counts, limits.whole[0, SIZE], stop - start
    pole = _farthest(rows, start, stop, start, prices)
    other = _farthest(rows, start, stop, pole, prices)
    for i in range(start, stop):
        nearness = _apart(rows, i, pole, prices) - _apart(rows, i, other, prices)
        keys[i - start] = ((np.int64(nearness) + 2**31) << BITS) | i
    sort(keys[:n])
    costs, box, mask = bench.found[2], bench.boxes[0], 2**BITS - 1
    n_quasi, loss = len(prices.shape), 0
    costs = costs[:n_quasi]
    for m in range(n_quasi):
        box[m], box[n_quasi + m], costs[m] = 2**31 - 1, NONE, 0
    for at in range(n - least):
        loss += _grow(box, costs, rows, keys[at] & mask, prices)
        bench.losses[at + 1] = (at + 1) * loss
    loss = 0
    for m in range(n_quasi):
        box[m], box[n_quasi + m], costs[m] = 2**31 - 1, NONE, 0
    for v in range(counts.shape[1]):
        counts[INSIDE, v] = 0
    best, place = WORST, NONE
    for at in range(n - 1, least - 1, -1):
        row = keys[at] & mask
        loss += _grow(box, costs, rows, row, prices)
        if counts.shape[1] > 0:
            counts[INSIDE, rows[row, SENSITIVE]] += 1
        if n - at < least:
            continue
        total = bench.losses[at] + (n - at) * loss
        if total < best and sides_hold(counts, n - at, n, limits):
            best, place = total, at
    return best, place


@kernel
def _move(bench: Bench, start: int, stop: int, room: Room, m: int, before: int, last: int) -> int:
    """Bring what lies inside a cut to the front, or put rows into the order of the keys; return where to cut."""
    rows, spare, n_in = bench.rows, bench.spare, start
    width = rows.shape[1]
    if m == NONE:
        for i in range(stop - start):
            row = room.keys[i] & (2**BITS - 1)
            for j in range(width):
                spare[start + i, j] = rows[row, j]
    else:
        for i in range(start, stop):
            n_in += before < rows[i, m] <= last
        at, to = start, n_in
        for i in range(start, stop):
            inside = before < rows[i, m] <= last
            for j in range(width):
                spare[at if inside else to, j] = rows[i, j]
            at, to = (at + 1, to) if inside else (at, to + 1)
    for i in range(start, stop):
        for j in range(width):
            rows[i, j] = spare[i, j]
    return n_in


@kernel
def recut(bench: Bench, n: int, prices: Prices, room: Room, limits: Limits, most: int) -> tuple[int, int]:
    """Cut the rows on the bench, by the better of cuts and poles, until nothing is allowed; return loss and parts.

    Gives up when the loss reaches `most`.
    """
    stack, total, n_parts, n_stack = bench.stack, 0, 0, 1
    stack[0], stack[1] = 0, n
    while n_stack > 0:
        n_stack -= 1
        start, stop = stack[2 * n_stack], stack[2 * n_stack + 1]
        m, place, loss = NONE, NONE, WORST
        if stop - start >= 2 * limits.whole[0, SIZE] and n_parts + n_stack + 2 <= MOST_PARTS:
            loss, m, before, last = best_cut(bench.rows, start, stop, stop - start, prices, room, limits)
            between, place = _best_between_poles(bench, start, stop, prices, room, limits)
            if place != NONE and between < loss:
                _move(bench, start, stop, room, NONE, 0, 0)
                middle, loss = start + place, between
            elif m != NONE:
                middle = _move(bench, start, stop, room, m, before, last)
        if loss == WORST:
            bound(bench.rows, start, stop, bench.boxes[1])
            total += (stop - start) * loss_of(prices, bench.boxes[1])
            if total >= most:
                return total, n_parts
            bench.ends[n_parts] = stop
            n_parts += 1
        else:
            stack[2 * n_stack], stack[2 * n_stack + 1] = middle, stop
            stack[2 * n_stack + 2], stack[2 * n_stack + 3] = start, middle
            n_stack += 2
    return total, n_parts


@kernel
def _find_known(groups: Groups, group: int, bench: Bench, n_near: int) -> int:
    """Return a bit for each near group with which a group was already tried, neither of them having changed since.

    The bit behind them tells whether the nearest one is such a group, and was the nearest.
    """
    about, tried, known = groups.about, groups.about[group, TRIED], 0
    for i in range(n_near):
        near = bench.found[1, i]
        if max(about[group, CHANGED], about[near, CHANGED]) >= tried:  # groups are changed after they were tried
            continue
        for j in range(N_NEAR):
            if groups.near[group, j] == near:
                known |= 1 << i
                if i == 0 and j == 0:
                    known |= 1 << N_NEAR
    return known


@kernel
def propose(
    groups: Groups, rows: Int32, prices: Prices, limits: Limits, room: Room, bench: Bench, start: int, stop: int,
    asked: Int64, proposals: Int64, clock: int, largest: int,
) -> None:  # fmt: skip
    """Find for some of the groups asked for how much is gained at best by cutting them anew with near ones."""
    union = np.full(3, NONE, np.int64)
    for at in range(start, stop):
        group = asked[at]
        proposals[at, GAIN] = 0
        if groups.about[group, N_ROWS] == 0 or groups.about[group, LOSS] == 0:
            continue
        n_near = find_near(groups, group, prices, bench)
        known = _find_known(groups, group, bench, n_near)
        groups.about[group, TRIED] = clock
        for i in range(N_NEAR):
            groups.near[group, i] = bench.found[1, i] if i < n_near else NONE
        for turn in range(2 * n_near - 1):
            if turn < n_near:
                union[0], union[1], union[2] = group, groups.near[group, turn], NONE
                skip = known >> turn & 1
            else:
                other = turn - n_near + 1
                union[0], union[1], union[2] = group, groups.near[group, 0], groups.near[group, other]
                skip = known >> N_NEAR & known >> other & 1
            if skip:
                continue
            old, n = 0, 0
            for g in union:
                if g != NONE:
                    old += groups.about[g, N_ROWS] * groups.about[g, LOSS]
                    n += groups.about[g, N_ROWS]
            if n > largest or old <= proposals[at, GAIN]:
                continue
            _gather(groups, rows, bench, union)
            most = old - proposals[at, GAIN]
            new, n_parts = recut(bench, n, prices, room, limits, most)
            if new < most:
                proposals[at, GAIN], proposals[at, N_PARTS] = old - new, n_parts
                for i in range(3):
                    proposals[at, GROUP + i] = union[i]


@kernel
def accept(groups: Groups, asked: Int64, proposals: Int64, free: Int64, clock: int) -> int:
    """Take the proposals in their order unless a group of theirs was taken before; return how many are left.

    Those that were not taken lose their gain, and their groups are asked for again: they come to the front of `asked`.
    The others get numbers for their parts. ``free[0]`` is how many numbers are free; they follow.
    """
    n_again = 0
    for at in range(len(asked)):
        if proposals[at, GAIN] == 0:
            continue
        taken = False
        for i in range(3):
            g = proposals[at, GROUP + i]
            taken |= g != NONE and groups.about[g, CHANGED] == clock
        if taken:
            proposals[at, GAIN] = 0
            groups.about[asked[at], TRIED] = NONE
            asked[n_again] = asked[at]
            n_again += 1
            continue
        n_groups = 0
        for i in range(3):
            g = proposals[at, GROUP + i]
            if g != NONE:
                groups.about[g, CHANGED] = clock
                n_groups += 1
        for i in range(n_groups, proposals[at, N_PARTS]):
            proposals[at, GROUP + i] = free[free[0]]
            groups.about[free[free[0]], CHANGED] = clock
            free[0] -= 1
    return n_again


@kernel
def carry_out(
    groups: Groups, rows: Int32, prices: Prices, limits: Limits, room: Room, bench: Bench, start: int, stop: int,
    proposals: Int64,
) -> None:  # fmt: skip
    """Cut the groups of accepted proposals anew."""
    for at in range(start, stop):
        if proposals[at, GAIN] == 0:
            continue
        n_parts = proposals[at, N_PARTS]
        union = np.full(3, NONE, np.int64)
        for i in range(3):
            g = proposals[at, GROUP + i]
            if g != NONE and groups.about[g, N_ROWS] > 0:
                union[i] = g
        n = _gather(groups, rows, bench, union)
        recut(bench, n, prices, room, limits, WORST)
        for g in union:
            if g != NONE:
                groups.about[g, N_ROWS] = 0
        begin = 0
        for i in range(n_parts):
            g, end = proposals[at, GROUP + i], bench.ends[i]
            groups.about[g, FIRST], groups.about[g, N_ROWS] = bench.rows[begin, NUMBER], end - begin
            for j in range(begin, end):
                groups.following[bench.rows[j, NUMBER]] = bench.rows[j + 1, NUMBER] if j + 1 < end else NONE
            bound(bench.rows, begin, end, groups.box[g])
            groups.about[g, LOSS] = loss_of(prices, groups.box[g])
            begin = end


@kernel
def refresh(groups: Groups, proposals: Int64, free: Int64) -> None:
    """Write the groups of accepted proposals into the tree; numbers that they left empty become free."""
    for at in range(len(proposals)):
        if proposals[at, GAIN] == 0:
            continue
        for i in range(max(3, proposals[at, N_PARTS])):
            g = proposals[at, GROUP + i]
            if g == NONE:
                continue
            if groups.about[g, N_ROWS] == 0:
                free[0] += 1
                free[free[0]] = g
            _write_leaf(groups, g)
            node = (len(groups.tree) // 2 + g) // 2
            while node > 0:
                _write_node(groups, node)
                node //= 2


@kernel
def label_rows(groups: Groups) -> tuple[Int64, int]:
    """Return the number of each row's group, without gaps, and how many groups there are."""
    labels, n_groups = np.empty(len(groups.following), np.int64), 0
    for g in range(len(groups.about)):
        if groups.about[g, N_ROWS] == 0:
            continue
        row = groups.about[g, FIRST]
        while row != NONE:
            labels[row] = n_groups
            row = groups.following[row]
        n_groups += 1
    return labels, n_groups


@kernel
def total_loss(groups: Groups) -> int:
    """Return the rows of each group times its loss."""
    total = 0
    for g in range(len(groups.about)):
        total += groups.about[g, N_ROWS] * groups.about[g, LOSS]
    return total
