"""NSVDist's greedy search: for a seed row, the k - 1 rows that keep the loss of the closure smallest.

Distinct rows hang in a tree of boxes. A heap holds boxes and rows by a lower bound of the loss that taking them would
leave; closures only grow, so an old bound stays a bound and is renewed only when it comes to the top. Losses are whole
numbers, so ties are ties in whatever order they are added up; the row of lower rank wins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import inlined, kernel

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Unsigned = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]

TREE, PAIR, LINE = range(3)
KIND, N_LEAVES, HAS_MISSING, COST, TABLE = range(5)
START, STOP, LEFT, RANK = range(4)
NONE = -1


class Prices(NamedTuple):
    """What every cell costs, in whole numbers.

    ``shape[m]`` tells an attribute's kind, its number of leaves, whether the first one is the missing value, where its
    costs begin in `exact` and `lower`, and where its look-up table begins. `TREE`: costs of the node of each leaf per
    level, and `ends` the node's first and last leaf. `PAIR`: costs of ``[lo, hi]`` at ``lo * leaves + hi``. `LINE`:
    positions, whose difference is the cost; the only kind without a table, and the last attributes. `lower` never falls
    when a cell grows and is nowhere above `exact`; for monotone losses they are the same.
    """

    shape: Int64
    exact: Int32
    lower: Int32
    ends: Int32
    n_tables: int
    n_table: int
    monotone: bool


class Index(NamedTuple):
    """Distinct rows in the order of the tree, their rows by rank, and the tree.

    Attributes
    ----------
    codes
        Places of the leaves in the look-up tables (leaf ranks where there is none), [distinct x quasi].
    first
        Where the rows of each distinct row begin.
    owner, sensitive, rank
        Per row: its distinct row, its sensitive value, its place among ties.
    nodes, box
        Per node: first and last distinct row, first child, lowest rank; and the codes that it spans, [nodes x 2 quasi].
    """

    codes: Unsigned
    first: Int32
    owner: Int32
    sensitive: Int32
    rank: Int32
    nodes: Int32
    box: Unsigned


class State(NamedTuple):
    """The closure of the members so far.

    Attributes
    ----------
    cell
        [quasi x 4]: seed's leaf, first and last leaf of the closure, its height in a tree.
    lower, exact
        Per leaf of every domain that has a table: cost of the closure with the leaf added. In a tree, `lower` is that
        of the seed with the leaf, and the cost is the larger of it and what is paid.
    paid
        Lower cost of each attribute's closure.
    places
        The seed's codes.
    """

    cell: Int64
    lower: Int32
    exact: Int32
    paid: Int32
    places: Unsigned


@kernel
def _cost(prices: Prices, costs: Int32, m: int, lo: int, hi: int) -> int:
    """Return the cost of the closure of a range of leaves."""
    kind, n, begin = prices.shape[m, KIND], prices.shape[m, N_LEAVES], prices.shape[m, COST]
    if kind == TREE:
        at = begin + lo
        while prices.ends[1, at] < hi:
            at += n
        return int(costs[at])
    if prices.shape[m, HAS_MISSING] and lo == 0 and hi > 0:  # missing joins the others in the whole domain
        hi = n - 1
    return int(costs[begin + lo * n + hi] if kind == PAIR else costs[begin + hi] - costs[begin + lo])


@kernel
def _fill_range(prices: Prices, costs: Int32, cell: Int64, m: int, table: Int32) -> None:
    """Write the costs of a range with each leaf added."""
    begin, lo, hi = prices.shape[m, TABLE], cell[m, 1], cell[m, 2]
    inside = _cost(prices, costs, m, lo, hi)
    for x in range(prices.shape[m, N_LEAVES]):
        if x < lo:
            table[begin + x] = _cost(prices, costs, m, x, hi)
        elif x > hi:
            table[begin + x] = _cost(prices, costs, m, lo, x)
        else:
            table[begin + x] = inside


@kernel
def _fill_tree(prices: Prices, costs: Int32, cell: Int64, m: int, table: Int32) -> None:
    """Write the costs of a leaf's ancestors, each over the leaves that it adds to the one below."""
    n, begin = prices.shape[m, N_LEAVES], prices.shape[m, TABLE]
    at = prices.shape[m, COST] + cell[m, 0]
    lo, hi = cell[m, 0], cell[m, 0]
    table[begin + lo] = costs[at]
    while lo > 0 or hi < n - 1:
        at += n
        cost, first, last = costs[at], prices.ends[0, at], prices.ends[1, at]
        for x in range(begin + first, begin + lo):
            table[x] = cost
        for x in range(begin + hi + 1, begin + last + 1):
            table[x] = cost
        lo, hi = first, last


@kernel
def _take(prices: Prices, index: Index, state: State, distinct: int) -> bool:
    """Add a distinct row to the closure; tell whether it grew."""
    grown = False
    cell = state.cell
    for m in range(len(cell)):
        x = index.codes[distinct, m] - max(0, prices.shape[m, TABLE])
        if cell[m, 1] <= x <= cell[m, 2]:
            continue
        grown = True
        n = prices.shape[m, N_LEAVES]
        if prices.shape[m, KIND] == TREE:
            at = prices.shape[m, COST] + cell[m, 3] * n + cell[m, 0]
            while prices.ends[0, at] > x or prices.ends[1, at] < x:
                at += n
                cell[m, 3] += 1
            cell[m, 1], cell[m, 2] = prices.ends[0, at], prices.ends[1, at]
            state.paid[m] = prices.lower[at]
            if not prices.monotone:  # outside the closure nothing has changed: the leaf's ancestors are the same
                cost = prices.exact[at]
                for inside in range(prices.shape[m, TABLE] + cell[m, 1], prices.shape[m, TABLE] + cell[m, 2] + 1):
                    state.exact[inside] = cost
            continue
        cell[m, 1], cell[m, 2] = min(cell[m, 1], x), max(cell[m, 2], x)
        if prices.shape[m, HAS_MISSING] and cell[m, 1] == 0:
            cell[m, 2] = n - 1
        state.paid[m] = _cost(prices, prices.lower, m, cell[m, 1], cell[m, 2])
        if prices.shape[m, KIND] == PAIR:
            _fill_range(prices, prices.lower, cell, m, state.lower)
            if not prices.monotone:
                _fill_range(prices, prices.exact, cell, m, state.exact)
    return grown


@inlined
def _row_cost(table: Int32, paid: Int32, codes: Unsigned, row: int, begin: int, end: int) -> int:
    """Return the loss of the closure with a distinct row added, over some attributes with tables."""
    total = 0
    for m in range(begin, end):
        total += max(table[codes[row, m]], paid[m])
    return total


@inlined
def _node_cost(table: Int32, paid: Int32, places: Unsigned, box: Unsigned, node: int, n_tables: int) -> int:
    """Return a lower bound for all rows of a node: per attribute, of its leaf that is nearest to the seed's."""
    total = 0
    for m in range(n_tables):
        total += max(table[min(max(places[m], box[node, 2 * m]), box[node, 2 * m + 1])], paid[m])
    return total


@kernel
def _rest_of_row(prices: Prices, cell: Int64, codes: Unsigned, row: int) -> int:
    """Return what the attributes without tables add to the loss of a row."""
    total = 0
    for m in range(prices.n_tables, len(cell)):
        x = int(codes[row, m])
        total += _cost(prices, prices.lower, m, min(cell[m, 1], x), max(cell[m, 2], x))
    return total


@kernel
def _rest_of_node(prices: Prices, cell: Int64, box: Unsigned, node: int) -> int:
    """Return what the attributes without tables add to the bound of a node."""
    total = 0
    for m in range(prices.n_tables, len(cell)):
        x = min(max(cell[m, 0], int(box[node, 2 * m])), int(box[node, 2 * m + 1]))
        total += _cost(prices, prices.lower, m, min(cell[m, 1], x), max(cell[m, 2], x))
    return total


@inlined
def _push(keys: Int64, items: Int32, versions: Int32, n: int, key: int, item: int, version: int) -> int:
    """Add an entry to a heap; return the new size."""
    at = n
    while at > 0:
        above = (at - 1) >> 1
        if keys[above] <= key:
            break
        keys[at], items[at], versions[at] = keys[above], items[above], versions[above]
        at = above
    keys[at], items[at], versions[at] = key, item, version
    return n + 1


@inlined
def _replace(keys: Int64, items: Int32, versions: Int32, n: int, key: int, item: int, version: int) -> None:
    """Put an entry in place of the top one of a heap."""
    at = 0
    while True:
        below = 2 * at + 1
        if below >= n:
            break
        if below + 1 < n and keys[below + 1] < keys[below]:
            below += 1
        if keys[below] >= key:
            break
        keys[at], items[at], versions[at] = keys[below], items[below], versions[below]
        at = below
    keys[at], items[at], versions[at] = key, item, version


@kernel
def _begin(prices: Prices, index: Index, state: State, seed: int) -> None:
    """Start with the seed alone."""
    distinct = index.owner[seed]
    for m in range(len(state.cell)):
        state.places[m] = index.codes[distinct, m]
        x = index.codes[distinct, m] - max(0, prices.shape[m, TABLE])
        state.cell[m, 0] = state.cell[m, 1] = state.cell[m, 2] = x
        state.cell[m, 3] = 0
        state.paid[m] = _cost(prices, prices.lower, m, int(x), int(x))
        if prices.shape[m, KIND] == TREE:
            _fill_tree(prices, prices.lower, state.cell, m, state.lower)
            if not prices.monotone:
                _fill_tree(prices, prices.exact, state.cell, m, state.exact)
        elif prices.shape[m, KIND] == PAIR:
            _fill_range(prices, prices.lower, state.cell, m, state.lower)
            if not prices.monotone:
                _fill_range(prices, prices.exact, state.cell, m, state.exact)


@kernel
def build_tree(codes: Int32, leaf_size: int, spread: Int64, prices: Prices) -> tuple[Int64, Int32, Int32]:
    """Hang distinct rows into a tree of boxes, cut where the two parts are dear to join and alike in size.

    Parameters
    ----------
    codes
        Leaf ranks of distinct rows, [distinct x quasi].
    spread
        Room for a histogram of the largest domain.

    Returns
    -------
    order, nodes, box
        The rows in the order of the tree; per node first and last row, first child, and no rank yet; its codes.
    """
    n_rows, n_quasi = codes.shape
    order, moved = np.arange(n_rows), np.empty(n_rows, np.int64)
    most = 2 * n_rows + 1  # both parts of a node have rows
    nodes, box = np.zeros((most, 4), np.int32), np.zeros((most, 2 * n_quasi), np.int32)
    stack = np.zeros(most, np.int64)
    nodes[0, STOP] = n_rows
    n_nodes, n_stack = 1, 1
    while n_stack > 0:
        n_stack -= 1
        node = stack[n_stack]
        start, stop = nodes[node, START], nodes[node, STOP]
        nodes[node, LEFT] = NONE
        best, cut, along = 0.0, 0, 0
        for m in range(n_quasi):
            lo, hi = codes[order[start], m], codes[order[start], m]
            for i in range(start + 1, stop):
                lo, hi = min(lo, codes[order[i], m]), max(hi, codes[order[i], m])
            box[node, 2 * m], box[node, 2 * m + 1] = lo, hi
            if lo < hi and stop - start > leaf_size:
                worth, code = _best_cut(codes, order, spread, start, stop, m, lo, hi, prices)
                if worth > best:
                    best, cut, along = worth, code, m
        if best == 0.0:
            continue
        n_left = _part(codes, order, moved, start, stop, along, cut)
        nodes[node, LEFT] = n_nodes
        nodes[n_nodes, START], nodes[n_nodes, STOP] = start, start + n_left
        nodes[n_nodes + 1, START], nodes[n_nodes + 1, STOP] = start + n_left, stop
        stack[n_stack], stack[n_stack + 1] = n_nodes, n_nodes + 1
        n_stack += 2
        n_nodes += 2
    return order, nodes[:n_nodes], box[:n_nodes]


@kernel
def _best_cut(
    codes: Int32, order: Int64, spread: Int64, start: int, stop: int, m: int, lo: int, hi: int, prices: Prices
) -> tuple[float, int]:
    """Return the worth of the best cut of an attribute, and the last code below it.

    A cut is worth what it costs to join its nearest codes, times the rows of the smaller part: the bound that it lends
    to the part that a search is not in, times how much can be left aside by it.
    """
    for offset in range(hi - lo + 1):
        spread[offset] = 0
    for i in range(start, stop):
        spread[codes[order[i], m] - lo] += 1
    best, cut, below, previous = 0.0, 0, 0, NONE
    for offset in range(hi - lo + 1):
        if spread[offset] == 0:
            continue
        if previous != NONE:
            gap = _cost(prices, prices.lower, m, previous + lo, offset + lo)
            worth = float(gap) * min(below, stop - start - below)
            if worth > best:
                best, cut = worth, previous + lo
        below += spread[offset]
        previous = offset
    return best, cut


@kernel
def _part(codes: Int32, order: Int64, moved: Int64, start: int, stop: int, m: int, cut: int) -> int:
    """Bring the rows of codes up to the cut to the front; return how many they are."""
    n_left, n_right = 0, 0
    for i in range(start, stop):
        if codes[order[i], m] <= cut:
            order[start + n_left] = order[i]
            n_left += 1
        else:
            moved[n_right] = order[i]
            n_right += 1
    for i in range(n_right):
        order[start + n_left + i] = moved[i]
    return n_left


@inlined
def _rest_at_least(paid: Int32, n_tables: int) -> int:
    """Return what the second half of the attributes with tables costs at least, whatever row is added."""
    total = 0
    for m in range(n_tables // 2, n_tables):
        total += paid[m]
    return total


@inlined
def _scan(
    table: Int32, floor: Int32, rest: int, index: Index, marks: Int32, taken: Int32, leaf: int, seed: int, cap: int,
    n_tables: int, n_quasi: int, prices: Prices, cell: Int64,
) -> tuple[int, int]:  # fmt: skip
    """Look at the rows of a leaf of the tree; return the key of the best that may be taken and that row, or `NONE`."""
    codes, first, sensitive, rank = index.codes, index.first, index.sensitive, index.rank
    key, best, half = NONE, NONE, n_tables // 2
    for distinct in range(index.nodes[leaf, START], index.nodes[leaf, STOP]):
        cost = _row_cost(table, floor, codes, distinct, 0, half)
        if key != NONE and cost + rest > key >> 32:
            continue
        cost += _row_cost(table, floor, codes, distinct, half, n_tables)
        if n_tables < n_quasi:
            cost += _rest_of_row(prices, cell, codes, distinct)
        if key != NONE and cost > key >> 32:
            continue
        row = marks[1, distinct] if marks[0, distinct] == seed else first[distinct]
        last = first[distinct + 1]
        while row < last and (row == seed or taken[sensitive[row]] >= cap):
            row += 1
        if row < last:
            found = (cost << 32) | rank[row]
            if key == NONE or found < key:
                key, best = found, row
    return key, best


@kernel
def search(
    jobs: Int64, begin: int, end: int, k: int, cap: int, prices: Prices, index: Index, lo: Int32, hi: Int32,
    counts: Int32, members: Int32,
) -> None:  # fmt: skip
    """Find the members of some seeds (Alg. 1, lines 2 to 8).

    Parameters
    ----------
    jobs
        Seeds, as rows of the index; those from `begin` to `end` are done.
    cap
        Largest number of members with the same sensitive value.
    lo, hi, counts
        Results per job: the closure, and the sensitive values of the members.
    members
        Per job the members in the order in which they were taken, as rows of the index; empty when nobody asks.
    """
    owner, sensitive, nodes, box, n_tables = index.owner, index.sensitive, index.nodes, index.box, prices.n_tables
    n_distinct, n_quasi = index.codes.shape
    room = len(nodes) + 2
    keys, items, versions = np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room, np.int32)
    tried, n_tried = np.empty(room, np.int32), 0
    # Per distinct row, the seed that its next row holds for, and that row; per leaf of the tree, its best row.
    marks, best_of = np.full((2, n_distinct), NONE, np.int32), np.empty(room, np.int32)
    lower = np.zeros(prices.n_table, np.int32)
    exact = lower if prices.monotone else np.zeros(prices.n_table, np.int32)
    cell, places = np.zeros((n_quasi, 4), np.int64), np.zeros(n_quasi, index.codes.dtype)
    paid, nothing = np.zeros(n_quasi, np.int32), np.zeros(n_quasi, np.int32)
    state = State(cell, lower, exact, paid, places)
    for job in range(begin, end):
        seed, taken = jobs[job], counts[job]
        for v in range(len(taken)):
            taken[v] = 0
        taken[sensitive[seed]] = 1
        if members.shape[1] > 0:
            members[job, 0] = seed
        _begin(prices, index, state, seed)
        keys[0], items[0], versions[0] = 0, 0, 0
        n, size, version = 1, 1, 0
        best_key, best_row = NONE, NONE
        while size < k:
            # With a loss that is not monotone, leaves are tried until no bound is below the best row in them.
            if best_key == NONE or (n > 0 and keys[0] < best_key):
                item = items[0]
                node = item if item >= 0 else -1 - item
                if versions[0] != version:  # what was found in a leaf stays a bound, and looking again can wait
                    cost = _node_cost(lower, paid, places, box, node, n_tables)
                    if n_tables < n_quasi:
                        cost += _rest_of_node(prices, cell, box, node)
                    key = (max(keys[0] >> 32, cost) << 32) | nodes[node, RANK]
                    _replace(keys, items, versions, n, key, node, version)
                    continue
                left = nodes[node, LEFT]
                if left != NONE:
                    for part in range(left, left + 2):
                        cost = _node_cost(lower, paid, places, box, part, n_tables)
                        if n_tables < n_quasi:
                            cost += _rest_of_node(prices, cell, box, part)
                        key = (cost << 32) | nodes[part, RANK]
                        if part == left:
                            _replace(keys, items, versions, n, key, part, version)
                        else:
                            n = _push(keys, items, versions, n, key, part, version)
                    continue
                if item >= 0:
                    rest = _rest_at_least(paid, n_tables)
                    key, row = _scan(
                        lower, paid, rest, index, marks, taken, node, seed, cap, n_tables, n_quasi, prices, cell
                    )
                    best_of[node] = row
                    if key == NONE:
                        n -= 1
                        _replace(keys, items, versions, n, keys[n], items[n], versions[n])
                    else:
                        _replace(keys, items, versions, n, key, -1 - node, version)
                    continue
                if not prices.monotone:
                    rest = _rest_at_least(paid, n_tables)
                    key, row = _scan(
                        exact, nothing, rest, index, marks, taken, node, seed, cap, n_tables, n_quasi, prices, cell
                    )
                    n -= 1
                    _replace(keys, items, versions, n, keys[n], items[n], versions[n])
                    if key != NONE:
                        tried[n_tried] = node
                        n_tried += 1
                        if best_key == NONE or key < best_key:
                            best_key, best_row = key, row
                    continue
                best_row = best_of[node]
                if taken[sensitive[best_row]] >= cap:  # its value has filled up since
                    versions[0] = NONE
                    continue
            taken[sensitive[best_row]] += 1
            if members.shape[1] > 0:
                members[job, size] = best_row
            size += 1
            distinct = owner[best_row]
            marks[0, distinct], marks[1, distinct] = seed, best_row + 1
            version += _take(prices, index, state, distinct)
            best_key = NONE
            if prices.monotone:
                versions[0] = NONE  # the leaf on top has lost its best row
            for i in range(n_tried):
                n = _push(keys, items, versions, n, 0, -1 - tried[i], NONE)
            n_tried = 0
        for m in range(n_quasi):
            lo[job, m], hi[job, m] = cell[m, 1], cell[m, 2]
