"""Fayyad and Irani's discretization, row by row and in the words of the paper; and Kononenko's criterion."""

from __future__ import annotations

from collections import Counter
from math import comb, factorial, log2, prod

TIE = 1e-12


def entropy(rows):
    n = len(rows)
    return -sum(c / n * log2(c / n) for c in Counter(y for _, y in rows).values())


def naive_levels(xs, ys, pays=None):
    """Return the lowest values of all bins, for each depth of the recursion that adds a cut."""
    segments = [sorted(zip(xs, ys, strict=True), key=lambda row: row[0])]
    levels = []
    while True:
        parts = []
        for rows in segments:
            parts += split(rows, pays or fayyad) or [rows]
        if len(parts) == len(segments):
            return levels
        segments = parts
        levels.append([rows[0][0] for rows in segments])


def split(rows, pays):
    candidates = []
    for value in sorted({x for x, _ in rows})[1:]:
        below, above = [r for r in rows if r[0] < value], [r for r in rows if r[0] >= value]
        after = len(below) / len(rows) * entropy(below) + len(above) / len(rows) * entropy(above)
        candidates.append((after, below, above))
    if not candidates:
        return None
    least = min(after for after, _, _ in candidates)
    _, below, above = next(c for c in candidates if c[0] <= least + TIE)
    return [below, above] if pays(rows, below, above, len(candidates)) else None


def fayyad(rows, below, above, _n_cuts):
    after = len(below) / len(rows) * entropy(below) + len(above) / len(rows) * entropy(above)
    k, k1, k2 = (len({y for _, y in part}) for part in (rows, below, above))
    delta = log2(3**k - 2) - (k * entropy(rows) - k1 * entropy(below) - k2 * entropy(above))
    gain = entropy(rows) - after
    return gain > (log2(len(rows) - 1) + delta) / len(rows)


def kononenko(rows, below, above, n_cuts):
    """Classes told by how often each of the whole's occurs in a part, and by the order they stand in."""
    n_classes = len({y for _, y in rows})

    def told(part):
        counts = Counter(y for _, y in part).values()
        orders = factorial(len(part)) // prod(factorial(n) for n in counts)
        return log2(comb(len(part) + n_classes - 1, n_classes - 1)) + log2(orders)

    return told(rows) > told(below) + told(above) + log2(n_cuts) + TIE
