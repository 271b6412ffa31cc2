"""Fayyad and Irani's discretization, row by row and in the words of the paper."""

from __future__ import annotations

from collections import Counter
from math import log2

TIE = 1e-12


def entropy(rows):
    n = len(rows)
    return -sum(c / n * log2(c / n) for c in Counter(y for _, y in rows).values())


def naive_levels(xs, ys):
    """Return the lowest values of all bins, for each depth of the recursion that adds a cut."""
    segments = [sorted(zip(xs, ys, strict=True), key=lambda row: row[0])]
    levels = []
    while True:
        parts = []
        for rows in segments:
            parts += split(rows) or [rows]
        if len(parts) == len(segments):
            return levels
        segments = parts
        levels.append([rows[0][0] for rows in segments])


def split(rows):
    candidates = []
    for value in sorted({x for x, _ in rows})[1:]:
        below, above = [r for r in rows if r[0] < value], [r for r in rows if r[0] >= value]
        after = len(below) / len(rows) * entropy(below) + len(above) / len(rows) * entropy(above)
        candidates.append((after, below, above))
    if not candidates:
        return None
    least = min(after for after, _, _ in candidates)
    after, below, above = next(c for c in candidates if c[0] <= least + TIE)
    k, k1, k2 = (len({y for _, y in part}) for part in (rows, below, above))
    delta = log2(3**k - 2) - (k * entropy(rows) - k1 * entropy(below) - k2 * entropy(above))
    gain = entropy(rows) - after
    return [below, above] if gain > (log2(len(rows) - 1) + delta) / len(rows) else None
