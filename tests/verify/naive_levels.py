"""The slow, obvious version of every level: plain loops over lists of values."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations


def groups(keys, values):
    found = {}
    for key, value in zip(keys, values, strict=True):
        found.setdefault(key, []).append(value)
    return list(found.values())


def frequency(values):
    return Fraction(len(values), max(Counter(values).values()))


def distinct(values):
    return len(set(values))


def entropy_level(values):
    return math.exp(-sum(c / len(values) * math.log(c / len(values)) for c in Counter(values).values()))


def recursive(values, c, domain):
    counts = sorted((Counter(values)[v] for v in domain), reverse=True)
    levels = [l for l in range(1, len(counts) + 1) if counts[0] < Fraction(str(c)) * sum(counts[l - 1 :])]
    return max(levels, default=0)


def distance(values, everything, domain, *, ordered):
    gaps = [values.count(v) / len(values) - everything.count(v) / len(everything) for v in domain]
    if not ordered:
        return sum(map(abs, gaps)) / 2
    return sum(abs(sum(gaps[: i + 1])) for i in range(len(gaps))) / max(1, len(gaps) - 1)


def lkc(rows, values, L):
    """Return the smallest group and the largest share over all combinations of at most L columns."""
    smallest, surest = len(rows), Fraction(0)
    for size in range(1, min(L, len(rows[0])) + 1):
        for columns in combinations(range(len(rows[0])), size):
            for group in groups([tuple(row[c] for c in columns) for row in rows], values):
                smallest = min(smallest, len(group))
                surest = max(surest, 1 / frequency(group))
    return smallest, surest


def covered(box, point):
    return all(lo <= x <= hi for (lo, hi), x in zip(box, point, strict=True))
