"""A decision tree over coded rows: the best split of a leaf, spans divided by a split, rows sent down."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.domains import N_LEAVES, N_LEVELS, NODE_START, Domains
from incrowd.kernels.information import entropy_times_n
from incrowd.kernels.jit import kernel
from incrowd.kernels.limits import SIZE, Limits, holds
from incrowd.kernels.partition import sort

Bool = npt.NDArray[np.bool_]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

CLASS, SENSITIVE = 0, 1  # columns of labels
N_CLASSES, N_VALUES = 0, 1
NONE = -1


class People(NamedTuple):
    """Coded rows and what a split of them must keep.

    Attributes
    ----------
    codes
        Leaf ranks, [rows x attributes], columns contiguous.
    labels
        Class and sensitive value of each row, [rows x 2], columns contiguous.
    n_labels
        Number of classes; number of sensitive values, 0 when the limits do not look at them.
    logs
        x log2 x for x = 0 ... rows; empty for the Gini index.
    weights
        How many equal rows each row stands for.
    """

    codes: Int32
    labels: Int32
    n_labels: Int64
    logs: Float64
    weights: Int64


@kernel
def impurity_times_n(counts: Int64, n: int, logs: Float64) -> float:
    """Return n times the entropy in bits of class counts, or without logs n times their Gini index."""
    if len(logs) > 0:
        return float(entropy_times_n(counts, logs))
    squares = 0
    for count in counts:
        squares += int(count) * int(count)
    return float(n - squares / n)


@kernel
def _differs(part: Int64, n_part: int, whole: Int64, n: int) -> bool:
    """Tell exactly whether the classes of a part are shared out differently from those of the whole."""
    for c in range(len(whole)):
        if int(part[c]) * n != int(whole[c]) * n_part:
            return True
    return False


@kernel
def _tabulate(people: People, rows: Int64, m: int) -> tuple[Int64, Int64, Int64]:
    """Return the codes of an attribute that occur, in order, with their class counts and sensitive counts."""
    codes, labels = people.codes, people.labels
    n_classes, n_values = people.n_labels[N_CLASSES], people.n_labels[N_VALUES]
    n = len(rows)
    lo = hi = int(codes[rows[0], m])
    for i in range(n):
        code = int(codes[rows[i], m])
        lo, hi = min(lo, code), max(hi, code)
    width = hi - lo + 1
    place = np.empty(0, np.int64)  # of each code; where the domain is sparse, of each row
    if width <= 4 * n:
        place = np.zeros(width, np.int64)
        for i in range(n):
            place[codes[rows[i], m] - lo] = 1
        n_found = 0
        for offset in range(width):
            if place[offset] > 0:
                place[offset] = n_found
                n_found += 1
            else:
                place[offset] = NONE
        found = np.empty(n_found, np.int64)
        for offset in range(width):
            if place[offset] != NONE:
                found[place[offset]] = lo + offset
    else:
        keys = np.empty(n, np.int64)
        for i in range(n):
            keys[i] = (np.int64(codes[rows[i], m]) << 32) | i
        sort(keys)
        place = np.empty(n, np.int64)
        n_found = 0
        for j in range(n):
            if j > 0 and keys[j] >> 32 != keys[j - 1] >> 32:
                n_found += 1
            place[keys[j] & 0xFFFFFFFF] = n_found
        n_found += 1
        found = np.empty(n_found, np.int64)
        for j in range(n):
            found[place[keys[j] & 0xFFFFFFFF]] = keys[j] >> 32
    counts, secret_counts = np.zeros((n_found, n_classes), np.int64), np.zeros((n_found, n_values), np.int64)
    for i in range(n):
        row = rows[i]
        at = place[codes[row, m] - lo] if width <= 4 * n else place[i]
        counts[at, labels[row, CLASS]] += people.weights[row]
        if n_values > 0:
            secret_counts[at, labels[row, SENSITIVE]] += people.weights[row]
    return found, counts, secret_counts


@kernel
def _total(counts: Int64) -> int:
    n = 0
    for count in counts:
        n += count
    return int(n)


@kernel
def _best_level(
    people: People, found: Int64, counts: Int64, secret_counts: Int64, m: int, first_level: int, alone: bool,
    limits: Limits, domains: Domains,
) -> tuple[float, int]:  # fmt: skip
    """Return gain and level of the lowest split into nodes of one level, of those that are allowed."""
    n_classes, n_values = counts.shape[1], secret_counts.shape[1]
    whole = np.zeros(n_classes, np.int64)
    for j in range(len(found)):
        for c in range(n_classes):
            whole[c] += counts[j, c]
    n = _total(whole)
    own = impurity_times_n(whole, n, people.logs)
    part, part_secrets = np.zeros(n_classes, np.int64), np.zeros(n_values, np.int64)
    for level in range(first_level, domains.shape[m, N_LEVELS] - 1):
        start = domains.shape[m, NODE_START] + level * domains.shape[m, N_LEAVES]
        gain, differs, allowed = own, False, True
        for j in range(len(found)):
            for c in range(n_classes):
                part[c] += counts[j, c]
            for v in range(n_values):
                part_secrets[v] += secret_counts[j, v]
            if j + 1 < len(found) and found[j + 1] <= domains.nodes[1, start + found[j]]:
                continue
            n_part = _total(part)
            gain -= impurity_times_n(part, n_part, people.logs)
            differs = differs or _differs(part, n_part, whole, n)
            allowed = allowed and (not alone or holds(part_secrets, n_part, limits))
            part[:] = 0
            part_secrets[:] = 0
        if not differs:
            break
        if allowed and gain > 0.0:
            return gain, level
    return 0.0, NONE


@kernel
def _best_threshold(
    people: People, found: Int64, counts: Int64, secret_counts: Int64, alone: bool, limits: Limits, forbidden: Bool
) -> tuple[float, int]:
    """Return gain and last code of the left side of the best threshold, of those that are allowed."""
    n_classes, n_values = counts.shape[1], secret_counts.shape[1]
    left, right = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    left_secrets, right_secrets = np.zeros(n_values, np.int64), np.zeros(n_values, np.int64)
    for j in range(len(found)):
        for c in range(n_classes):
            right[c] += counts[j, c]
        for v in range(n_values):
            right_secrets[v] += secret_counts[j, v]
    whole = right.copy()
    n = _total(right)
    own = impurity_times_n(right, n, people.logs)
    best, at, n_left = 0.0, NONE, 0
    for j in range(len(found) - 1):
        for c in range(n_classes):
            left[c] += counts[j, c]
            right[c] -= counts[j, c]
            n_left += counts[j, c]
        for v in range(n_values):
            left_secrets[v] += secret_counts[j, v]
            right_secrets[v] -= secret_counts[j, v]
        if len(forbidden) > 0 and forbidden[found[j]]:
            continue
        if alone and (n_left < limits.whole[0, SIZE] or n - n_left < limits.whole[0, SIZE]):
            continue
        gain = own - impurity_times_n(left, n_left, people.logs) - impurity_times_n(right, n - n_left, people.logs)
        if gain > best and _differs(left, n_left, whole, n):
            if alone and n_values > 0 and not (
                holds(left_secrets, n_left, limits) and holds(right_secrets, n - n_left, limits)
            ):  # fmt: skip
                continue
            best, at = gain, int(found[j])
    return best, at


@kernel
def best_split(
    people: People, rows: Int64, m: int, first_level: int, alone: bool, limits: Limits, forbidden: Bool,
    domains: Domains,
) -> tuple[float, int]:  # fmt: skip
    """Return the gain (times the rows) of the best split of a leaf along an attribute, and where: level or threshold.

    Parameters
    ----------
    rows
        The rows of the leaf.
    first_level
        Level of a taxonomy to begin with.
    alone
        Whether the leaf's rows are one span that the split divides, so that the limits can be tested here.
    forbidden
        Thresholds that must not be used, by code; empty if none is known to be.
    """
    found, counts, secret_counts = _tabulate(people, rows, m)
    if len(found) < 2:
        return 0.0, NONE
    if domains.shape[m, N_LEVELS] == 0:
        return _best_threshold(people, found, counts, secret_counts, alone, limits, forbidden)
    return _best_level(people, found, counts, secret_counts, m, first_level, alone, limits, domains)


@kernel
def best_splits(
    people: People, rows: Int64, tested: Bool, limits: Limits, domains: Domains, gains: Float64, places: Int64
) -> None:
    """Find the best split of a leaf along every attribute, at its lowest level; `tested` as `alone` of `best_split`."""
    free = np.zeros(0, np.bool_)
    for m in range(len(gains)):
        gains[m], places[m] = best_split(people, rows, m, 0, tested[m], limits, free, domains)


@kernel
def part_of(code: int, ends: Int64) -> int:
    """Return the part that a code is in; part p ends at ``ends[p]``."""
    lo, hi = 0, len(ends) - 1
    while lo < hi:
        middle = (lo + hi) // 2
        if code <= ends[middle]:
            hi = middle
        else:
            lo = middle + 1
    return lo


@kernel
def divide_spans(
    people: People, members: Int64, m: int, ends: Int64, turn: bool, limits: Limits, span_of: Int64, multiple: Bool,
    n_spans: int, local: Int64,
) -> int:  # fmt: skip
    """Divide the spans of people by the part that they are in, if every multiple span that comes out keeps the limits.

    Parameters
    ----------
    members
        Everybody whose span contains the leaf that is split.
    ends
        Last code of each part of attribute m; one part leaves the spans as they are.
    turn
        Whether the spans become multiple.
    span_of, multiple
        Span of each person, flag of each span; changed in place when the split is allowed.
    local
        Room per span, filled with -1, and left so.

    Returns
    -------
    int
        New number of spans, 0 when the split is not allowed.
    """
    n_values, n_parts, n_local = people.n_labels[N_VALUES], len(ends), 0
    for i in members:
        if local[span_of[i]] == NONE:
            local[span_of[i]] = n_local
            n_local += 1
    sizes, part_secrets = np.zeros((n_local, n_parts), np.int64), np.zeros((n_local, n_parts, n_values), np.int64)
    spans = np.empty(n_local, np.int64)
    for i in members:
        at, p = local[span_of[i]], part_of(int(people.codes[i, m]), ends)
        spans[at] = span_of[i]
        sizes[at, p] += people.weights[i]
        if n_values > 0:
            part_secrets[at, p, people.labels[i, SENSITIVE]] += people.weights[i]
    allowed = True
    for at in range(n_local):
        for p in range(n_parts):
            if sizes[at, p] > 0 and (turn or multiple[spans[at]]):
                allowed = allowed and holds(part_secrets[at, p], sizes[at, p], limits)
    if allowed:
        new = np.zeros((n_local, n_parts), np.int64)
        for at in range(n_local):
            multiple[spans[at]] = multiple[spans[at]] or turn
            fresh = False
            for p in range(n_parts):
                if sizes[at, p] > 0:
                    new[at, p] = n_spans if fresh else spans[at]
                    multiple[new[at, p]] = multiple[spans[at]]
                    n_spans += fresh
                    fresh = True
        for i in members:
            span = span_of[i]
            span_of[i] = new[local[span], part_of(int(people.codes[i, m]), ends)]
    for at in range(n_local):
        local[spans[at]] = NONE
    return int(n_spans) if allowed else 0


@kernel
def forbid_thresholds(
    people: People, members: Int64, m: int, limits: Limits, span_of: Int64, multiple: Bool, forbidden: Bool
) -> None:
    """Mark the thresholds that would break a span; people come sorted by span and by code."""
    n_values, n = people.n_labels[N_VALUES], len(members)
    blocked = np.zeros(len(forbidden) + 1, np.int64)  # changes from code to code of the number of spans against it
    left, right = np.zeros(n_values, np.int64), np.zeros(n_values, np.int64)
    first = 0
    while first < n:
        span = span_of[members[first]]
        end, n_left, n_right = first, 0, 0
        left[:] = 0
        right[:] = 0
        while end < n and span_of[members[end]] == span:
            weight = people.weights[members[end]]
            n_right += weight
            if n_values > 0:
                right[people.labels[members[end], SENSITIVE]] += weight
            end += 1
        for j in range(first, end - 1):
            weight = people.weights[members[j]]
            n_left += weight
            n_right -= weight
            if n_values > 0:
                left[people.labels[members[j], SENSITIVE]] += weight
                right[people.labels[members[j], SENSITIVE]] -= weight
            code, following = people.codes[members[j], m], people.codes[members[j + 1], m]
            tested = multiple[span] and code < following
            if tested and not (holds(left, n_left, limits) and holds(right, n_right, limits)):
                blocked[code] += 1
                blocked[following] -= 1
        first = end
    against = 0
    for code in range(len(forbidden)):
        against += blocked[code]
        forbidden[code] = against > 0


@kernel
def part_rows(codes: Int32, rows: Int64, ends: Int64) -> tuple[Int64, Int64]:
    """Return rows ordered by part, each part in the old order, and where each part begins."""
    begins = np.zeros(len(ends) + 1, np.int64)
    for i in rows:
        begins[part_of(int(codes[i]), ends) + 1] += 1
    for p in range(len(ends)):
        begins[p + 1] += begins[p]
    ordered, at = np.empty(len(rows), np.int64), begins.copy()
    for i in rows:
        p = part_of(int(codes[i]), ends)
        ordered[at[p]] = i
        at[p] += 1
    return ordered, begins


@kernel
def descend(codes: Int32, nodes: Int64, ends: Int64, children: Int64) -> Int64:
    """Return the node at which each row of codes ends; a negative code, or a part without rows, ends the way.

    Parameters
    ----------
    nodes
        [nodes x 3]: attribute (-1: a leaf), first and last + 1 place of its parts in `ends` and `children`.
    ends, children
        Last code of each part, and its node (-1: none).
    """
    found = np.empty(len(codes), np.int64)
    for i in range(len(codes)):
        node = 0
        while nodes[node, 0] != NONE:
            code = codes[i, nodes[node, 0]]
            place, last = nodes[node, 1], nodes[node, 2] - 1
            while place < last and code > ends[place]:
                place += 1
            if code < 0 or children[place] == NONE:
                break
            node = children[place]
        found[i] = node
    return found
