"""Clusters of rows whose closures are kept up to date while rows move: the loops of SeqA."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.boxes import Prices, cost_of
from incrowd.kernels.jit import inlined, kernel
from incrowd.kernels.limits import Limits, holds

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

N_ROWS, LOSS, FIRST_ROW, CHANGED = range(4)
VALUE, N_VALUE, NEXT, N_NEXT = range(4)
AFTER, BEFORE = range(2)
CLUSTER, NEAREST, GAP, IS_SMALL = range(4)
NONE = -1
FAR = 1 << 62


class Clusters(NamedTuple):
    """Clusters, their rows, and what their closures cost.

    Attributes
    ----------
    about
        Per cluster: number of rows, loss of the closure, first row of its list, when a row last came or went.
    box
        First and last leaf that occurs, [clusters x 2 quasi].
    paid
        Loss of each attribute's closure, [clusters x quasi].
    ends
        What is left when a row goes: per cluster, attribute and end of the range, the outermost leaf, how many rows
        have it, the next leaf, and how many have that. The upper end is kept as negative numbers, so that outermost
        always means smallest.
    links
        Per row the next and the previous row of its cluster.
    """

    about: Int64
    box: Int32
    paid: Int32
    ends: Int32
    links: Int32


@inlined
def _note(end: Int32, value: int) -> None:
    """Add one row's leaf to an end of a range."""
    if end[N_VALUE] > 0 and value == end[VALUE]:
        end[N_VALUE] += 1
    elif end[N_VALUE] == 0 or value < end[VALUE]:
        end[NEXT], end[N_NEXT] = end[VALUE], end[N_VALUE]
        end[VALUE], end[N_VALUE] = value, 1
    elif end[N_NEXT] > 0 and value == end[NEXT]:
        end[N_NEXT] += 1
    elif end[N_NEXT] == 0 or value < end[NEXT]:
        end[NEXT], end[N_NEXT] = value, 1


@inlined
def _forget(end: Int32, value: int) -> bool:
    """Take one row's leaf from an end of a range; tell whether the rows must be looked at again."""
    if value == end[VALUE]:
        end[N_VALUE] -= 1
        return bool(end[N_VALUE] == 0)
    if end[N_NEXT] > 0 and value == end[NEXT]:
        end[N_NEXT] -= 1
        return bool(end[N_NEXT] == 0)
    return False


@inlined
def _without(end: Int32, value: int) -> int:
    """Return the outermost leaf when one row goes."""
    return int(end[NEXT] if value == end[VALUE] and end[N_VALUE] == 1 else end[VALUE])


@kernel
def _price(clusters: Clusters, prices: Prices, c: int, m: int) -> None:
    """Bring an attribute's box and loss in line with its ends."""
    lo, hi = int(clusters.ends[c, m, 0, VALUE]), -int(clusters.ends[c, m, 1, VALUE])
    if lo == clusters.box[c, 2 * m] and hi == clusters.box[c, 2 * m + 1]:
        return
    clusters.box[c, 2 * m], clusters.box[c, 2 * m + 1] = lo, hi
    loss = cost_of(prices, prices.exact, m, lo, hi)
    clusters.about[c, LOSS] += loss - int(clusters.paid[c, m])
    clusters.paid[c, m] = loss


@kernel
def _add(clusters: Clusters, prices: Prices, codes: Int32, row: int, c: int) -> None:
    """Put a row into a cluster."""
    head = clusters.about[c, FIRST_ROW]
    clusters.links[AFTER, row], clusters.links[BEFORE, row] = head, NONE
    if head != NONE:
        clusters.links[BEFORE, head] = row
    clusters.about[c, FIRST_ROW] = row
    clusters.about[c, N_ROWS] += 1
    for m in range(codes.shape[1]):
        _note(clusters.ends[c, m, 0], int(codes[row, m]))
        _note(clusters.ends[c, m, 1], -int(codes[row, m]))
        _price(clusters, prices, c, m)


@kernel
def _remove(clusters: Clusters, prices: Prices, codes: Int32, row: int, c: int) -> None:
    """Take a row out of a cluster; ranges whose ends it held alone are read from the rows that stay."""
    after, before = clusters.links[AFTER, row], clusters.links[BEFORE, row]
    if after != NONE:
        clusters.links[BEFORE, after] = before
    if before != NONE:
        clusters.links[AFTER, before] = after
    else:
        clusters.about[c, FIRST_ROW] = after
    clusters.about[c, N_ROWS] -= 1
    if clusters.about[c, N_ROWS] == 0:
        return
    for m in range(codes.shape[1]):
        for side in range(2):
            sign = 1 - 2 * side
            end = clusters.ends[c, m, side]
            if _forget(end, sign * int(codes[row, m])):
                end[N_VALUE] = end[N_NEXT] = 0
                other = clusters.about[c, FIRST_ROW]
                while other != NONE:
                    _note(end, sign * int(codes[other, m]))
                    other = clusters.links[AFTER, other]
        _price(clusters, prices, c, m)


@kernel
def fill_clusters(clusters: Clusters, prices: Prices, codes: Int32, cluster_of: Int64) -> None:
    """Put every row into its cluster; all clusters are empty."""
    for row in range(len(cluster_of)):
        _add(clusters, prices, codes, row, cluster_of[row])


@kernel
def _saved(clusters: Clusters, prices: Prices, codes: Int32, row: int, c: int) -> int:
    """Return by how much the total loss falls when a row leaves its cluster."""
    n = int(clusters.about[c, N_ROWS])
    rest = 0
    for m in range(codes.shape[1]):
        code = int(codes[row, m])
        lo, hi = _without(clusters.ends[c, m, 0], code), -_without(clusters.ends[c, m, 1], -code)
        same = lo == clusters.box[c, 2 * m] and hi == clusters.box[c, 2 * m + 1]
        rest += int(clusters.paid[c, m]) if same else cost_of(prices, prices.exact, m, lo, hi)
    return n * int(clusters.about[c, LOSS]) - (n - 1) * rest


@kernel
def _best_cluster(
    about: Int64, box: Int32, paid: Int32, prices: Prices, codes: Int32, row: int, own: int, limit: int, since: int
) -> int:
    """Return the other cluster, changed since then, in which a row adds least to the total loss, if below the limit.

    A row adds the loss of the closure with it, and to every other row of the cluster what the closure grows by. With
    a monotone loss no term is negative, and a cluster is out as soon as the sum reaches the least so far. Of equally
    good clusters the first is taken.
    """
    n_quasi, monotone = codes.shape[1], prices.monotone
    best, target = limit, NONE
    if monotone and limit <= 0:
        return target
    for c in range(len(about)):
        n = int(about[c, N_ROWS])
        if about[c, CHANGED] <= since or n == 0 or c == own:
            continue
        added = int(about[c, LOSS])
        for m in range(n_quasi):
            if monotone and added >= best:
                break
            code, lo, hi = int(codes[row, m]), int(box[c, 2 * m]), int(box[c, 2 * m + 1])
            if code < lo or code > hi:
                wider = cost_of(prices, prices.exact, m, min(lo, code), max(hi, code))
                added += (n + 1) * (wider - int(paid[c, m]))
        if added < best:
            best, target = added, c
    return target


@kernel
def move_rows(
    clusters: Clusters, prices: Prices, codes: Int32, cluster_of: Int64, stays: Int64, order: Int64, begin: int,
    end: int, clock: int, dissolve: bool,
) -> int:  # fmt: skip
    """Move some rows, in this order, each to the cluster that lowers the total loss most; return how many moved.

    Parameters
    ----------
    cluster_of
        The cluster of each row; changed in place.
    stays
        When each row was last found to be in its best place. As long as its own cluster stays as it was, only those
        that changed since can have become better.
    order, begin, end
        Rows from `begin` to `end` of this order are looked at.
    clock
        The time at the beginning of the order.
    dissolve
        Whether a row that is alone has to go where it adds least.
    """
    about, n_moved = clusters.about, 0
    for i in range(begin, end):
        row = order[i]
        own = cluster_of[row]
        alone = about[own, N_ROWS] == 1
        if alone and not dissolve:
            continue
        limit = FAR if alone else _saved(clusters, prices, codes, row, own)
        since = stays[row] if about[own, CHANGED] <= stays[row] else NONE
        target = _best_cluster(about, clusters.box, clusters.paid, prices, codes, row, own, limit, since)
        if target == NONE:
            stays[row] = clock + i
            continue
        _remove(clusters, prices, codes, row, own)
        _add(clusters, prices, codes, row, target)
        about[own, CHANGED] = about[target, CHANGED] = clock + i
        cluster_of[row] = target
        n_moved += 1
    return n_moved


@kernel
def find_small(clusters: Clusters, counts: Int64, limits: Limits) -> Int64:
    """Return the clusters that do not keep the limits, as `join_nearest` wants them; `counts` are sensitive counts."""
    n_small = 0
    for c in range(len(clusters.about)):
        n_small += not holds(counts[c], int(clusters.about[c, N_ROWS]), limits)
    small = np.zeros((n_small, 4), np.int64)
    i = 0
    for c in range(len(clusters.about)):
        if not holds(counts[c], int(clusters.about[c, N_ROWS]), limits):
            small[i, CLUSTER], small[i, NEAREST], small[i, IS_SMALL] = c, NONE, 1
            i += 1
    return small


@kernel
def _gap(clusters: Clusters, prices: Prices, a: int, b: int, limit: int) -> int:
    """Return what the total loss rises by when two clusters become one; at least the limit, if it is not below it."""
    about, box, paid = clusters.about, clusters.box, clusters.paid
    n_a, n_b = int(about[a, N_ROWS]), int(about[b, N_ROWS])
    gap = 0
    for m in range(paid.shape[1]):
        if prices.monotone and gap >= limit:
            break
        lo = min(int(box[a, 2 * m]), int(box[b, 2 * m]))
        hi = max(int(box[a, 2 * m + 1]), int(box[b, 2 * m + 1]))
        joined = cost_of(prices, prices.exact, m, lo, hi)
        gap += n_a * (joined - int(paid[a, m])) + n_b * (joined - int(paid[b, m]))
    return gap


@kernel
def _look_around(clusters: Clusters, prices: Prices, small: Int64, i: int) -> None:
    """Find the nearest of the small clusters to one of them, of equally near ones the first."""
    best, nearest = FAR, NONE
    for j in range(len(small)):
        if j != i and small[j, IS_SMALL]:
            gap = _gap(clusters, prices, small[i, CLUSTER], small[j, CLUSTER], best)
            if gap < best:
                best, nearest = gap, j
                if prices.monotone and best == 0:
                    break
    small[i, GAP], small[i, NEAREST] = best, nearest


@kernel
def find_nearest(clusters: Clusters, prices: Prices, small: Int64, begin: int, end: int) -> None:
    """Find the nearest small cluster of some of the small clusters."""
    for i in range(begin, end):
        _look_around(clusters, prices, small, i)


@kernel
def _join(clusters: Clusters, prices: Prices, counts: Int64, joined: Int64, a: int, b: int) -> None:
    """Make two clusters one; only sizes, boxes and losses are kept from here on."""
    about, box, paid = clusters.about, clusters.box, clusters.paid
    about[a, N_ROWS] += about[b, N_ROWS]
    about[b, N_ROWS] = about[a, LOSS] = 0
    for m in range(paid.shape[1]):
        lo = min(int(box[a, 2 * m]), int(box[b, 2 * m]))
        hi = max(int(box[a, 2 * m + 1]), int(box[b, 2 * m + 1]))
        box[a, 2 * m], box[a, 2 * m + 1] = lo, hi
        paid[a, m] = cost_of(prices, prices.exact, m, lo, hi)
        about[a, LOSS] += int(paid[a, m])
    for v in range(counts.shape[1]):
        counts[a, v] += counts[b, v]
    joined[b] = a


@kernel
def join_nearest(
    clusters: Clusters, prices: Prices, small: Int64, counts: Int64, joined: Int64, limits: Limits, n_joins: int
) -> int:
    """Join the two nearest small clusters, some times over; return how many small ones are left.

    Parameters
    ----------
    small
        Per small cluster: its number, the position of its nearest, the gap between them, whether it still counts. When
        the nearest is gone its position is `NONE`, and the gap stands for what it is at least.
    counts
        Sensitive counts of all clusters.
    joined
        Which cluster each cluster became part of; `NONE` if it is its own.
    """
    n_small = 0
    for i in range(len(small)):
        n_small += small[i, IS_SMALL]
    while n_small > 1 and n_joins > 0:
        i = NONE
        for j in range(len(small)):
            if small[j, IS_SMALL] and (i == NONE or small[j, GAP] < small[i, GAP]):
                i = j
        if small[i, NEAREST] == NONE:
            _look_around(clusters, prices, small, i)
            continue
        n_joins -= 1
        gone = small[i, NEAREST]
        a = small[i, CLUSTER]
        _join(clusters, prices, counts, joined, a, small[gone, CLUSTER])
        small[gone, IS_SMALL] = 0
        small[i, IS_SMALL] = not holds(counts[a], int(clusters.about[a, N_ROWS]), limits)
        n_small -= 2 - small[i, IS_SMALL]
        for j in range(len(small)):
            if not small[j, IS_SMALL] or j == i:
                continue
            if small[j, NEAREST] == i or small[j, NEAREST] == gone:
                small[j, NEAREST] = NONE
            if small[i, IS_SMALL]:
                gap, least = _gap(clusters, prices, small[j, CLUSTER], a, int(small[j, GAP]) + 1), small[j, GAP]
                if gap < least or (gap == least and i < small[j, NEAREST]):
                    small[j, GAP], small[j, NEAREST] = gap, i
        if small[i, IS_SMALL]:
            _look_around(clusters, prices, small, i)
    return int(n_small)


@kernel
def join_last(
    clusters: Clusters, prices: Prices, counts: Int64, joined: Int64, limits: Limits, last: int, n_joins: int
) -> bool:
    """Join a cluster to the nearest of all, some times over; tell whether it keeps the limits."""
    for _ in range(n_joins):
        if holds(counts[last], int(clusters.about[last, N_ROWS]), limits):
            return True
        best, nearest = FAR, NONE
        for c in range(len(joined)):
            if c != last and clusters.about[c, N_ROWS] > 0:
                gap = _gap(clusters, prices, last, c, best)
                if gap < best:
                    best, nearest = gap, c
        if nearest == NONE:
            return True
        _join(clusters, prices, counts, joined, last, nearest)
    return False
