"""Cuts that part the classes: of the allowed ones, the one that leaves the least class entropy.

InfoGain Mondrian takes the best cut of all attributes. BestCuts may look at some of the attributes only, weigh gains by
the evenness of a cut, and, where no threshold is allowed, cut a band of values out of a range.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.class_entries import CLASS, Entries, in_order
from incrowd.kernels.domains import HAS_MISSING, N_LEVELS, Domains
from incrowd.kernels.information import conditional_entropy
from incrowd.kernels.jit import kernel
from incrowd.kernels.limits import SIZE, Limits, holds
from incrowd.kernels.partition import (
    CHILD_OF,
    LAST_LEAF,
    SENSITIVE,
    SIZES,
    WEIGHT,
    Partition,
    Work,
    argmax,
    cut_node,
    measure,
    part_by_band,
    part_by_code,
    settle,
    settle_band,
    take,
)

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]

LEFT, RIGHT = range(2)
WHOLE_NODE = -1  # in place of a threshold: cut into all children
TOLERANCE = 1e-9  # of entropies, relative to n log n: they are sums of rounded terms, in no fixed order
MOST_ENDS = 32  # places where a band may begin or end: all pairs of them are tried


class Sides(NamedTuple):
    """What lies to the left and to the right while a threshold passes over a group.

    Attributes
    ----------
    classes, values
        Rows per class and per sensitive value on either side, [2 x classes] and [2 x sensitive values].
    logs
        x log2 x for every number of rows.
    """

    classes: Int64
    values: Int64
    logs: Float64


class Search(NamedTuple):
    """How a group's cut is looked for.

    Attributes
    ----------
    draws
        Random numbers, [any number x quasi]: a group looks at an attribute if its draw is below `share`, and at all of
        them where that allows no cut.
    share
        Part of the attributes that a group looks at; 1 for all.
    power
        Gains are divided by the entropy of the sizes of the parts to this power: 0 is information gain, 1 gain ratio.
    bands
        Whether a band of values may be cut out of a range, or a child out of a node, where nothing else is allowed.
    """

    draws: Float64
    share: float
    power: float
    bands: bool


@kernel
def _count(work: Work, start: int, stop: int, sides: Sides) -> None:
    """Count the rows of a group, all on the right side."""
    for c in range(sides.classes.shape[1]):
        sides.classes[LEFT, c] = sides.classes[RIGHT, c] = 0
    for v in range(sides.values.shape[1]):
        sides.values[LEFT, v] = sides.values[RIGHT, v] = 0
    for i in range(start, stop):
        sides.classes[RIGHT, work.rows[i, CLASS]] += work.rows[i, WEIGHT]
        if sides.values.shape[1] > 0:
            sides.values[RIGHT, work.rows[i, SENSITIVE]] += work.rows[i, WEIGHT]


@kernel
def _all_right(sides: Sides) -> float:
    """Bring all rows back to the right side; return the sum of x log2 x over classes."""
    total = 0.0
    for c in range(sides.classes.shape[1]):
        sides.classes[RIGHT, c] += sides.classes[LEFT, c]
        sides.classes[LEFT, c] = 0
        total += sides.logs[sides.classes[RIGHT, c]]
    for v in range(sides.values.shape[1]):
        sides.values[RIGHT, v] += sides.values[LEFT, v]
        sides.values[LEFT, v] = 0
    return total


@kernel
def _parts_children(child_of: Int64, lo: int, code: int, following: int, hi: int) -> bool:
    """Tell whether a cut between two codes splits the first child of a node, or the last one, off."""
    if child_of[code] == child_of[following]:
        return False
    return bool(child_of[code] == child_of[lo] or child_of[following] == child_of[hi])


@kernel
def _weighed(left: float, all_: float, sizes: float, logs: Float64, n: int, power: float) -> float:
    """Return the entropy (times n) that a cut leaves, its gain divided by the entropy of the sizes to a power.

    Parameters
    ----------
    left, all_
        Class entropy (times n) behind the cut and before it.
    sizes
        The sum of x log2 x over the sizes of the parts.
    """
    if power == 0.0:
        return left
    return float(all_ - (all_ - left) / ((logs[n] - sizes) / n) ** power)


@kernel
def _best_threshold(
    work: Work, start: int, stop: int, n: int, m: int, lo: int, hi: int, sides: Sides, limits: Limits, domains: Domains,
    power: float,
) -> tuple[float, int]:  # fmt: skip
    """Return the least entropy (times n) that an allowed threshold leaves, and the last code on its left side.

    Of equally good thresholds the most even one, of equally even ones the lower. Missing first leaves the others, if
    that is allowed, because it joins them only in the whole domain. Infinite when nothing is allowed. In a node, whose
    children `cut_node` has just numbered, a threshold must split the first or the last one off: other cuts would leave
    the node to both sides.
    """
    classes, values, logs = sides.classes, sides.values, sides.logs
    in_node, child_of = domains.shape[m, N_LEVELS] > 0, work.scratch[CHILD_OF]
    entries = in_order(work, start, stop, m, lo, hi, sides.classes.shape[1], sides.values.shape[1])
    within = _all_right(sides)  # the sum of x log2 x over the classes of both sides
    whole = logs[n] - within
    best, best_code, best_uneven, n_left = np.inf, -1, n, 0
    for at in range(len(entries.codes) - 1):
        code, following = entries.codes[at], entries.codes[at + 1]
        c, weight = entries.classes[at], entries.weights[at]
        within -= logs[classes[LEFT, c]] + logs[classes[RIGHT, c]]
        classes[LEFT, c] += weight
        classes[RIGHT, c] -= weight
        within += logs[classes[LEFT, c]] + logs[classes[RIGHT, c]]
        n_left += weight
        if values.shape[1] > 0:
            values[LEFT, entries.values[at]] += weight
            values[RIGHT, entries.values[at]] -= weight
        if code == following or min(n_left, n - n_left) < limits.whole[0, SIZE]:
            continue
        if in_node and not _parts_children(child_of, lo, code, following, hi):
            continue
        sizes, uneven = logs[n_left] + logs[n - n_left], abs(n - 2 * n_left)
        score = _weighed(sizes - within, whole, sizes, logs, n, power)
        worse = score - best
        if worse > TOLERANCE * logs[n] or (worse >= -TOLERANCE * logs[n] and uneven >= best_uneven):
            continue
        if holds(values[LEFT], n_left, limits) and holds(values[RIGHT], n - n_left, limits):
            best, best_uneven = score, uneven
            best_code = work.scratch[LAST_LEAF, child_of[code]] if in_node else code
            if domains.shape[m, HAS_MISSING] and code == 0:
                break
    return float(best), int(best_code)


@kernel
def _node_entropy(work: Work, start: int, stop: int, n: int, n_parts: int, sides: Sides, power: float) -> float:
    """Return the entropy (times n) that the parts of a node leave; `_count` has counted the whole."""
    counts = np.zeros((n_parts, sides.classes.shape[1]), np.int64)
    for i in range(start, stop):
        counts[work.part[i], work.rows[i, CLASS]] += work.rows[i, WEIGHT]
    whole, sizes = sides.logs[n], 0.0
    for c in range(sides.classes.shape[1]):
        whole -= sides.logs[sides.classes[LEFT, c] + sides.classes[RIGHT, c]]
    for p in range(n_parts):
        sizes += sides.logs[work.scratch[SIZES, p]]
    left = float(conditional_entropy(counts, sides.logs) * n)
    return float(_weighed(left, whole, sizes, sides.logs, n, power))


@kernel
def _place_ends(
    work: Work, entries: Entries, n: int, sides: Sides, domains: Domains, m: int
) -> tuple[Int64, Int64, Int64, Int64]:
    """Return places where a band may begin or end: last codes before them, and what lies before them.

    That is rows, rows per class and per sensitive value; the first place lies before all rows, the last behind them.
    Children of a node, which `cut_node` has just numbered, are kept apart; values of a range so that about as many
    rows lie between two places.
    """
    n_classes, n_values = sides.classes.shape[1], sides.values.shape[1]
    in_node, child_of = domains.shape[m, N_LEVELS] > 0, work.scratch[CHILD_OF]
    n_entries = len(entries.codes)
    most = n_entries if in_node else MOST_ENDS
    codes, sizes = np.zeros(most + 2, np.int64), np.zeros(most + 2, np.int64)
    classes, values = np.zeros((most + 2, n_classes), np.int64), np.zeros((most + 2, n_values), np.int64)
    at = 1
    for i in range(n_entries):
        code, weight = entries.codes[i], entries.weights[i]
        sizes[at] += weight
        classes[at, entries.classes[i]] += weight
        if n_values > 0:
            values[at, entries.values[i]] += weight
        if i + 1 == n_entries:
            codes[at] = code
            break
        following = entries.codes[i + 1]
        if in_node:
            ends = child_of[code] != child_of[following]
        else:
            ends = code != following and (sizes[at] - sizes[at - 1]) * (MOST_ENDS + 1) >= n
        if ends:
            codes[at] = work.scratch[LAST_LEAF, child_of[code]] if in_node else code
            sizes[at + 1], classes[at + 1], values[at + 1] = sizes[at], classes[at], values[at]
            at += 1
    return codes[: at + 1], sizes[: at + 1], classes[: at + 1], values[: at + 1]


@kernel
def _best_band(
    work: Work, start: int, stop: int, n: int, m: int, lo: int, hi: int, sides: Sides, limits: Limits, domains: Domains
) -> tuple[float, int, int]:
    """Return the least entropy (times n) that an allowed band leaves, the last code before it, and its own last code.

    A band of a range begins and ends inside it; a band of a node is one child. Of equally good ones the first.
    """
    logs, least = sides.logs, limits.whole[0, SIZE]
    entries = in_order(work, start, stop, m, lo, hi, sides.classes.shape[1], sides.values.shape[1])
    codes, sizes, classes, values = _place_ends(work, entries, n, sides, domains, m)
    n_places, one_child = len(codes), domains.shape[m, N_LEVELS] > 0
    best, before, last = np.inf, -1, -1
    inside, outside = np.zeros(values.shape[1], np.int64), np.zeros(values.shape[1], np.int64)
    for i in range(1, n_places - 2):
        for j in range(i + 1, i + 2 if one_child else n_places - 1):
            size = sizes[j] - sizes[i]
            if size < least or n - size < least:
                continue
            score = logs[size] + logs[n - size]
            for c in range(classes.shape[1]):
                x = classes[j, c] - classes[i, c]
                score -= logs[x] + logs[classes[n_places - 1, c] - x]
            if score >= best - TOLERANCE * logs[n]:
                continue
            for v in range(values.shape[1]):
                inside[v] = values[j, v] - values[i, v]
                outside[v] = values[n_places - 1, v] - inside[v]
            if holds(inside, size, limits) and holds(outside, n - size, limits):
                best, before, last = score, codes[i], codes[j]
    return float(best), int(before), int(last)


@kernel
def _cut_purest(
    work: Work, start: int, stop: int, n: int, node: int, sides: Sides, limits: Limits, domains: Domains, search: Search
) -> tuple[int, int]:
    """Make the allowed cut that leaves the least class entropy; return the number of parts and the attribute.

    Of the attributes that the group looks at; of all of them if those allow none.
    """
    n_values, draws = sides.values.shape[1], search.draws[node % len(search.draws)]
    lo, hi, widths = measure(work, start, stop, domains)
    _count(work, start, stop, sides)
    best, best_m, best_code = np.inf, -1, WHOLE_NODE
    for attempt in range(2 if search.share < 1.0 else 1):
        width = widths.copy()
        for _ in range(len(width)):  # wider attributes first: they win when several are equally good
            m = argmax(width)
            if width[m] < 0.0:
                break
            width[m] = -1.0
            if (attempt == 0) != (draws[m] < search.share):
                continue
            n_parts = 0
            if domains.shape[m, N_LEVELS] > 0:
                n_parts = cut_node(work, start, stop, m, lo[m], hi[m], n_values, limits, domains)
            if n_parts > 0:
                score, code = _node_entropy(work, start, stop, n, n_parts, sides, search.power), WHOLE_NODE
            else:
                score, code = _best_threshold(
                    work, start, stop, n, m, lo[m], hi[m], sides, limits, domains, search.power
                )
            if score < best - TOLERANCE * sides.logs[n]:
                best, best_m, best_code = score, m, code
        if best_m >= 0:
            break
    if best_m < 0:
        return 0, 0
    if best_code == WHOLE_NODE:
        return cut_node(work, start, stop, best_m, lo[best_m], hi[best_m], n_values, limits, domains), best_m
    part_by_code(work, start, stop, n, best_m, best_code, n)
    return 2, best_m


@kernel
def _cut_band(
    work: Work, start: int, stop: int, n: int, sides: Sides, limits: Limits, domains: Domains
) -> tuple[int, int, int]:
    """Cut out the allowed band that leaves the least class entropy; return its attribute (-1: none) and ends."""
    n_values = sides.values.shape[1]
    lo, hi, width = measure(work, start, stop, domains)
    best, best_m, before, last = np.inf, -1, -1, -1
    for m in range(len(width)):
        if width[m] < 0.0:
            continue
        if domains.shape[m, N_LEVELS] > 0:  # numbers the children
            cut_node(work, start, stop, m, lo[m], hi[m], n_values, limits, domains)
        score, first, end = _best_band(work, start, stop, n, m, lo[m], hi[m], sides, limits, domains)
        if score < best - TOLERANCE * sides.logs[n]:
            best, best_m, before, last = score, m, first, end
    if best_m >= 0:
        part_by_band(work, start, stop, n, best_m, before, last)
    return best_m, before, last


@kernel
def cut_classes(
    work: Work, partition: Partition, sides: Sides, limits: Limits, domains: Domains, search: Search, budget: int
) -> None:
    """Cut groups of rows until none can be cut or the budget of visited rows is spent."""
    while partition.state[0] > 0 and budget > 0:
        start, stop, n, node = take(partition)
        budget -= stop - start
        n_parts, m = 0, 0
        if n >= 2 * limits.whole[0, SIZE]:
            n_parts, m = _cut_purest(work, start, stop, n, node, sides, limits, domains, search)
            if n_parts == 0 and search.bands:
                m, before, last = _cut_band(work, start, stop, n, sides, limits, domains)
                if m >= 0:
                    settle_band(work, partition, start, stop, node, m, before, last)
                    continue
        settle(work, partition, start, stop, n, node, m, n_parts)


@kernel
def loss_left_out(rows: Int32, groups: Int64, n_classes: int) -> float:
    """Return the log-loss in bits of telling each row's class by the others of its group.

    The whole table's distribution counts as one more row: so a class that nobody else of the group has is not
    impossible.
    """
    overall = np.zeros(n_classes, np.int64)
    for i in range(len(rows)):
        overall[rows[i, CLASS]] += rows[i, WEIGHT]
    n_rows, total = overall.sum(), 0.0
    counts = np.zeros(n_classes, np.int64)
    for g in range(len(groups)):
        counts[:] = 0
        n = 0
        for i in range(groups[g, 0], groups[g, 1]):
            counts[rows[i, CLASS]] += rows[i, WEIGHT]
            n += rows[i, WEIGHT]
        for c in range(n_classes):
            if counts[c] > 0:
                total -= counts[c] * np.log2((counts[c] - 1 + overall[c] / n_rows) / n)
    return float(total)
