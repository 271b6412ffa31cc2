"""Rings of rows: an order with diverse neighbours, the closure of every window, and random matchings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.domains import Domains, close
from incrowd.kernels.jit import kernel

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

NONE = -1
RING, TURN, BOX, AT = range(4)


class Values(NamedTuple):
    """The sensitive values of one ring, each under a number of its own in order of first appearance.

    Attributes
    ----------
    number
        Own number of each value of the table, `NONE` outside the ring.
    row, own
        Rows value by value, each in given order; and the own number of each row's value.
    code
        The value behind each own number.
    total, begin
        How many rows have it, and where they begin in `row`.
    left, head
        The same of the rows that have no place yet.
    first, last
        The places of the first and the last of its rows that have one, or `NONE`.
    due
        How many values must have their next row at each of the places to come, or before.
    """

    number: Int64
    row: Int64
    own: Int64
    code: Int64
    total: Int64
    begin: Int64
    left: Int64
    head: Int64
    first: Int64
    last: Int64
    due: Int64


@kernel
def arrange(value: Int32, start: Int64, begin: int, end: int, l: int, most: int, values: Values, ring: Int64) -> None:
    """Give the rows of some rings their places: any l consecutive ones differ in value, around the ring.

    Parameters
    ----------
    value
        The value of each row; rows of a ring lie together and stand in the order that should be kept where possible.
    start
        Ring r holds rows ``start[r]`` to ``start[r + 1] - 1``, and no value more than 1/l of them.
    begin, end
        The rings to arrange.
    most
        Rows times values of a ring up to which the given order is followed; beyond, the columns decide.
    ring
        Filled with the row at each place.
    """
    for r in range(begin, end):
        first, n = int(start[r]), int(start[r + 1] - start[r])
        n_values = _count(value, first, n, values)
        if n * n_values > most or not _follow(first, n, l, n_values, values, ring):
            _fill_columns(first, n, l, n_values, values, ring)
        for v in range(n_values):
            values.number[values.code[v]] = NONE


@kernel
def _count(value: Int32, first: int, n: int, values: Values) -> int:
    """Number the values of a ring and list its rows value by value."""
    n_values = 0
    for i in range(n):
        code = value[first + i]
        if values.number[code] == NONE:
            values.number[code] = n_values
            values.code[n_values] = code
            values.total[n_values] = 0
            n_values += 1
        values.own[i] = values.number[code]
        values.total[values.own[i]] += 1
    total = 0
    for v in range(n_values):
        values.begin[v] = values.head[v] = total
        total += values.total[v]
    for i in range(n):
        v = values.own[i]
        values.row[values.head[v]] = i
        values.head[v] += 1
    return n_values


@kernel
def _follow(first: int, n: int, l: int, n_values: int, values: Values, ring: Int64) -> bool:
    """Take the earliest row whose value may stand here, minding values that are due; tell whether all found a place."""
    left, head, row = values.left, values.head, values.row
    for v in range(n_values):
        left[v], head[v] = values.total[v], values.begin[v]
        values.first[v] = values.last[v] = NONE
    for place in range(n):
        horizon = _horizon(place, n, l, n_values, values)
        best = NONE
        for v in range(n_values):
            if left[v] == 0 or _latest(v, n, l, values) > horizon:
                continue
            near = values.last[v] != NONE and place - values.last[v] < l
            if not near and (best == NONE or row[head[v]] < row[head[best]]):
                best = v
        # a value past its time never gets a place again
        if best == NONE or horizon < place:
            return False
        ring[first + place] = first + row[head[best]]
        head[best] += 1
        left[best] -= 1
        values.last[best] = place
        if values.first[best] == NONE:
            values.first[best] = place
    return True


@kernel
def _latest(v: int, n: int, l: int, values: Values) -> int:
    """Return the last place at which the next row of a value can stand if the rest of them are to follow."""
    final = n - 1 if values.first[v] == NONE else n - l + values.first[v]
    return int(final - (values.left[v] - 1) * l)


@kernel
def _horizon(place: int, n: int, l: int, n_values: int, values: Values) -> int:
    """Return the first place up to which as many values are due as there are places, or 2 n when there is none."""
    due = values.due
    for j in range(n_values):
        due[j] = 0
    for v in range(n_values):
        if values.left[v] > 0:
            latest = _latest(v, n, l, values) - place
            if latest < 0:
                return place - 1
            if latest < n_values:
                due[latest] += 1
    total = 0
    for j in range(n_values):
        total += due[j]
        if total > j:
            return place + j
    return 2 * n


@kernel
def _fill_columns(first: int, n: int, l: int, n_values: int, values: Values, ring: Int64) -> None:
    """Lay n // l rounds of at least l places under each other and fill them by columns, value after value.

    Values with a row for every round come first, so that they fill columns of their own. Another value that begins
    in one column and ends at the top of the next one has at least two rounds between the two parts.
    """
    n_rounds = n // l
    length, n_longer = n // n_rounds, n % n_rounds
    filled = 0
    for whole in (True, False):
        for v in range(n_values):
            count = values.total[v]
            if (count == n_rounds) != whole:
                continue
            top = (filled + count - 1) // n_rounds * n_rounds  # where its last column begins
            n_first = max(0, top - filled)
            for i in range(count):
                # rows in order take places in order: first those at the top of the next column
                at = filled + (i + n_first if i < count - n_first else i - (count - n_first))
                column, turn = at // n_rounds, at % n_rounds
                place = turn * length + min(turn, n_longer) + column
                ring[first + place] = first + values.row[values.begin[v] + i]
            filled += count


@kernel
def chop(value: Int32, start: Int64, begin: int, end: int, l: int, block: int, n_pieces: int, piece: Int64) -> int:
    """Chop rings into pieces of `block` to twice as many rows in which no value has more than 1/l of the rows.

    Where any l neighbours differ, any c l neighbours have each value at most c times. The n % l rows that are left over
    go to the nearest piece of c l rows with fewer than c of their value. There is one: c summed over all pieces is
    n // l, and so often a value occurs at most, here and in the pieces. Rows left over are neighbours, so they differ.

    Parameters
    ----------
    value
        The value of each row, in ring order.
    block
        A multiple of l.
    n_pieces
        Number of the first piece.
    piece
        Filled with the piece of each row.

    Returns
    -------
    int
        Number of the next piece.
    """
    for r in range(begin, end):
        first, n = int(start[r]), int(start[r + 1] - start[r])
        whole = n - n % l
        n_blocks = max(1, whole // block)
        for i in range(whole):
            piece[first + i] = n_pieces + min(i // block, n_blocks - 1)
        for i in range(whole, n):
            b, stop = n_blocks - 1, whole
            while b > 0:
                same = 0
                for j in range(b * block, stop):
                    same += value[first + j] == value[first + i]
                if same < (stop - b * block) // l:
                    break
                stop = b * block
                b -= 1
            piece[first + i] = n_pieces + b
        n_pieces += n_blocks
    return n_pieces


@kernel
def close_windows(
    codes: Int32, start: Int64, begin: int, end: int, width: int, domains: Domains, lo: Int32, hi: Int32
) -> None:
    """Return the closure of each window of a ring: place b holds that of places b ... b + width - 1, cyclically.

    Runs from both sides of blocks as long as the window: a window is the end of one run and the beginning of another.

    Parameters
    ----------
    codes
        [rows x quasi] in ring order.
    start
        Ring r holds rows ``start[r]`` to ``start[r + 1] - 1``; in a ring shorter than `width` a window is all of it.
    lo, hi
        Filled with the cells, [rows x quasi].
    """
    longest = 0
    for r in range(begin, end):
        longest = max(longest, int(start[r + 1] - start[r]))
    ahead, behind = np.empty((2, 2 * longest), np.int32), np.empty((2, 2 * longest), np.int32)
    for r in range(begin, end):
        first, n = int(start[r]), int(start[r + 1] - start[r])
        w = min(width, n)
        n_unrolled = n + w - 1
        for m in range(codes.shape[1]):
            for i in range(n_unrolled):
                code = codes[first + i % n, m]
                fresh = i % w == 0
                behind[0, i] = code if fresh else min(behind[0, i - 1], code)
                behind[1, i] = code if fresh else max(behind[1, i - 1], code)
            for i in range(n_unrolled - 1, -1, -1):
                code = codes[first + i % n, m]
                fresh = i % w == w - 1 or i == n_unrolled - 1
                ahead[0, i] = code if fresh else min(ahead[0, i + 1], code)
                ahead[1, i] = code if fresh else max(ahead[1, i + 1], code)
            for i in range(n):
                a = min(ahead[0, i], behind[0, i + w - 1])
                b = max(ahead[1, i], behind[1, i + w - 1])
                cell_lo, cell_hi, _ = close(domains, m, int(a), int(b))
                lo[first + i, m], hi[first + i, m] = cell_lo, cell_hi


class Walk(NamedTuple):
    """Where a random walk over the edges of a ring stands.

    Attributes
    ----------
    offset
        [boxes x edges]: how far the originals are from each box along the edges that are left.
    state
        Ring, turn, box that looks for an original, box at which the walk stands: kept between calls.
    chosen
        The edge by which the walk last left each box.
    taken, edge
        The matching that is being made: the box of each original, or `NONE`; and the edge of each box in it.
    """

    offset: Int32
    state: Int64
    chosen: Int64
    taken: Int64
    edge: Int64


@kernel
def draw_matchings(start: Int64, offsets: Int32, turns: Int64, numbers: Float64, walk: Walk, box: Int64) -> None:
    """Draw a random perfect matching of each ring until the random numbers are used up.

    Box b of a ring has an edge to each of the originals b + d for the offsets d of the ring. A walk from a box without
    an original leaves along a random edge; if the original there has a box, the walk goes on from that box, else the
    edges by which it last left each box change the matching. Edges of a finished matching are removed, and after
    ``turns[r]`` of them the next one is kept (Goel, Kapralov and Khanna 2010: O(n log n) steps for each).

    Parameters
    ----------
    offsets
        [rings x edges], different ones below the number of rows of the ring; `NONE` first: every box gets its own.
    turns
        How many matchings to remove in each ring, below the number of edges.
    numbers
        Random, in [0, 1).
    box
        Filled with the place of each original's box.
    """
    state, offset, chosen, taken = walk.state, walk.offset, walk.chosen, walk.taken
    edge = walk.edge
    n_used = 0
    while state[RING] < len(start) - 1:
        r = int(state[RING])
        first, n = int(start[r]), int(start[r + 1] - start[r])
        n_edges = offsets.shape[1]
        if state[TURN] == NONE:
            if offsets[r, 0] == NONE:
                for i in range(n):
                    box[first + i] = i
                state[RING] += 1
                continue
            for b in range(n):
                taken[b] = NONE
                for e in range(n_edges):
                    offset[b, e] = offsets[r, e]
            state[TURN], state[BOX], state[AT] = 0, 0, 0
        degree = n_edges - int(state[TURN])
        while state[BOX] < n:
            if n_used == len(numbers):
                return
            b = int(state[AT])
            chosen[b] = int(numbers[n_used] * degree)
            n_used += 1
            original = (b + offset[b, chosen[b]]) % n
            if taken[original] != NONE:
                state[AT] = taken[original]
                continue
            b = int(state[BOX])
            while b != NONE:
                original = (b + offset[b, chosen[b]]) % n
                other = int(taken[original])
                taken[original] = b
                edge[b] = chosen[b]
                b = other
            state[BOX] += 1
            state[AT] = state[BOX]
        if state[TURN] == turns[r]:
            for i in range(n):
                box[first + i] = taken[i]
            state[RING] += 1
            state[TURN] = NONE
            continue
        for b in range(n):
            taken[b] = NONE
            offset[b, edge[b]] = offset[b, degree - 1]
        state[TURN] += 1
        state[BOX] = state[AT] = 0
