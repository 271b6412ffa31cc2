"""NSVDist's greedy search: for a seed row, the k - 1 rows that keep the loss of the closure smallest.

Distinct rows hang in a tree of boxes. A heap holds boxes and rows by a lower bound of the loss that taking them would
leave; closures only grow, so an old bound stays a bound and is renewed only when it comes to the top. Losses are whole
numbers, so ties are ties in whatever order they are added up; the row of lower rank wins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.boxes import (
    COST,
    HAS_MISSING,
    KIND,
    LEFT,
    N_LEAVES,
    NONE,
    PAIR,
    RANK,
    START,
    STOP,
    TABLE,
    TREE,
    Prices,
    cost_of,
)
from incrowd.kernels.jit import inlined, kernel

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Unsigned = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]


class Index(NamedTuple):
    """Distinct rows in the order of the tree, their rows by rank, and the tree.

    Attributes
    ----------
    codes
        Places of the leaves in the look-up tables (leaf ranks where there is none), [distinct x quasi].
    first, last
        Where the rows of each distinct row begin, and where those end that can become members: of equal rows with
        equal values no more than fit under the cap, and one for the seed.
    owner, sensitive, rank
        Per row: its distinct row, its sensitive value, its place among ties.
    nodes, box
        Per node: first and last distinct row, first child, lowest rank; and the codes that it spans, [nodes x 2 quasi].
    """

    codes: Unsigned
    first: Int32
    last: Int32
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
def _fill_range(prices: Prices, costs: Int32, cell: Int64, m: int, table: Int32) -> None:
    """Write the costs of a range with each leaf added."""
    begin, lo, hi = prices.shape[m, TABLE], cell[m, 1], cell[m, 2]
    inside = cost_of(prices, costs, m, lo, hi)
    for x in range(prices.shape[m, N_LEAVES]):
        if x < lo:
            table[begin + x] = cost_of(prices, costs, m, x, hi)
        elif x > hi:
            table[begin + x] = cost_of(prices, costs, m, lo, x)
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
        state.paid[m] = cost_of(prices, prices.lower, m, cell[m, 1], cell[m, 2])
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
        total += int(max(table[codes[row, m]], paid[m]))
    return total


@inlined
def _node_cost(table: Int32, paid: Int32, places: Unsigned, box: Unsigned, node: int, n_tables: int) -> int:
    """Return a lower bound for all rows of a node: per attribute, of its leaf that is nearest to the seed's."""
    total = 0
    for m in range(n_tables):
        total += int(max(table[min(max(places[m], box[node, 2 * m]), box[node, 2 * m + 1])], paid[m]))
    return total


@kernel
def _rest_of_row(prices: Prices, cell: Int64, codes: Unsigned, row: int) -> int:
    """Return what the attributes without tables add to the loss of a row."""
    total = 0
    for m in range(prices.n_tables, len(cell)):
        x = int(codes[row, m])
        total += cost_of(prices, prices.lower, m, min(cell[m, 1], x), max(cell[m, 2], x))
    return total


@kernel
def _rest_of_node(prices: Prices, cell: Int64, box: Unsigned, node: int) -> int:
    """Return what the attributes without tables add to the bound of a node."""
    total = 0
    for m in range(prices.n_tables, len(cell)):
        x = min(max(cell[m, 0], int(box[node, 2 * m])), int(box[node, 2 * m + 1]))
        total += cost_of(prices, prices.lower, m, min(cell[m, 1], x), max(cell[m, 2], x))
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
        state.paid[m] = cost_of(prices, prices.lower, m, int(x), int(x))
        if prices.shape[m, KIND] == TREE:
            _fill_tree(prices, prices.lower, state.cell, m, state.lower)
            if not prices.monotone:
                _fill_tree(prices, prices.exact, state.cell, m, state.exact)
        elif prices.shape[m, KIND] == PAIR:
            _fill_range(prices, prices.lower, state.cell, m, state.lower)
            if not prices.monotone:
                _fill_range(prices, prices.exact, state.cell, m, state.exact)


@inlined
def _scan(
    table: Int32, floor: Int32, paid: Int32, index: Index, marks: Int32, counts: Int32, leaf: int, seed: int, cap: int,
    prices: Prices, cell: Int64,
) -> tuple[int, int]:  # fmt: skip
    """Look at the rows of a leaf of the tree; return the key of the best that may be taken and that row, or `NONE`."""
    codes, first, sensitive, rank = index.codes, index.first, index.sensitive, index.rank
    n_tables, n_quasi = prices.n_tables, codes.shape[1]
    key, best, half = NONE, NONE, n_tables // 2
    rest = 0  # what the second half of the attributes costs at least: many rows are out after the first
    for m in range(half, n_tables):
        rest += int(paid[m])
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
        last = index.last[distinct]
        while row < last and (row == seed or counts[sensitive[row]] >= cap):
            row += 1
        if row < last:
            found = (cost << 32) | int(rank[row])
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
    n_quasi, room = index.codes.shape[1], len(index.nodes) + 2
    lower = np.zeros(prices.n_table, np.int32)
    exact = lower if prices.monotone else np.zeros(prices.n_table, np.int32)
    places = np.zeros(n_quasi, index.codes.dtype)
    state = State(np.zeros((n_quasi, 4), np.int64), lower, exact, np.zeros(n_quasi, np.int32), places)
    # Per distinct row, the seed that its next row holds for, and that row.
    marks = np.full((2, len(index.codes)), NONE, np.int32)
    keys, items, versions = np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room, np.int32)
    best_of, tried = np.empty(room, np.int32), np.empty(room, np.int32)
    taken = np.empty(max(k, 1), np.int32)
    for job in range(begin, end):
        _begin(prices, index, state, jobs[job])
        _find(jobs[job], k, cap, prices, index, state, marks, keys, items, versions, best_of, tried, counts[job], taken)
        for i in range(members.shape[1]):
            members[job, i] = taken[i]
        for m in range(n_quasi):
            lo[job, m], hi[job, m] = state.cell[m, 1], state.cell[m, 2]


@kernel
def _find(
    seed: int, k: int, cap: int, prices: Prices, index: Index, state: State, marks: Int32, keys: Int64, items: Int32,
    versions: Int32, best_of: Int32, tried: Int32, counts: Int32, members: Int32,
) -> None:  # fmt: skip
    """Find the members of one seed, best first.

    The heap holds nodes by key: loss in the upper half, rank in the lower one. A node stands for itself with a bound
    from its box; ``-1 - node`` is a leaf of the tree whose rows were looked at, with the best of them (`best_of`). A
    version tells for which closure the key holds.
    """
    owner, sensitive, nodes, box, n_tables = index.owner, index.sensitive, index.nodes, index.box, prices.n_tables
    cell, lower, exact, paid, places = state.cell, state.lower, state.exact, state.paid, state.places
    nothing, n_quasi = np.zeros(len(paid), np.int32), len(paid)
    for v in range(len(counts)):
        counts[v] = 0
    counts[sensitive[seed]], members[0] = 1, seed
    keys[0], items[0], versions[0] = 0, 0, 0
    n, size, version, n_tried = 1, 1, 0, 0
    best_key, best_row = NONE, NONE
    while size < k and n + n_tried > 0:
        # With a loss that is not monotone, leaves are tried until no bound is below the best row in them.
        if best_key == NONE or (n > 0 and keys[0] < best_key):
            looked_at = items[0] < 0
            node = -1 - items[0] if looked_at else items[0]
            if versions[0] != version:  # what was found in a leaf stays a bound, and looking again can wait
                cost = _node_cost(lower, paid, places, box, node, n_tables)
                if n_tables < n_quasi:
                    cost += _rest_of_node(prices, cell, box, node)
                key = (max(int(keys[0]) >> 32, cost) << 32) | int(nodes[node, RANK])
                _replace(keys, items, versions, n, key, node, version)
                continue
            left = nodes[node, LEFT]
            if left != NONE:
                for part in range(left, left + 2):
                    cost = _node_cost(lower, paid, places, box, part, n_tables)
                    if n_tables < n_quasi:
                        cost += _rest_of_node(prices, cell, box, part)
                    key = (cost << 32) | int(nodes[part, RANK])
                    if part == left:
                        _replace(keys, items, versions, n, key, part, version)
                    else:
                        n = _push(keys, items, versions, n, key, part, version)
                continue
            if not looked_at or not prices.monotone:
                table, floor = (exact, nothing) if looked_at else (lower, paid)
                key, best_of[node] = _scan(table, floor, paid, index, marks, counts, node, seed, cap, prices, cell)
                if not looked_at and key != NONE:
                    _replace(keys, items, versions, n, key, -1 - node, version)
                    continue
                n -= 1
                _replace(keys, items, versions, n, keys[n], items[n], versions[n])
                if key != NONE:
                    tried[n_tried] = node
                    n_tried += 1
                    if best_key == NONE or key < best_key:
                        best_key, best_row = key, best_of[node]
                continue
            best_row = best_of[node]
            versions[0] = NONE  # it leaves the heap, or its value has filled up: look again in either case
            if counts[sensitive[best_row]] >= cap:
                continue
        counts[sensitive[best_row]] += 1
        members[size] = best_row
        size += 1
        distinct = owner[best_row]
        marks[0, distinct], marks[1, distinct] = seed, best_row + 1
        version += _take(prices, index, state, distinct)
        best_key = NONE
        for i in range(n_tried):
            n = _push(keys, items, versions, n, 0, -1 - tried[i], NONE)
        n_tried = 0


@kernel
def mean_shares(block_of: Int64, shares: Float64, members: Int64) -> Float64:
    """Return the mean over members of the shares in their blocks, [rows x values], from [rows x members]."""
    means, n = np.zeros((len(members), shares.shape[1])), members.shape[1]
    for i in range(len(members)):
        for member in members[i]:
            for v in range(shares.shape[1]):
                means[i, v] += shares[block_of[member], v] / n
    return means
