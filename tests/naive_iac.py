"""Algorithms 1 and 2 of Li et al. 2011, line by line over plain lists and dicts."""

from __future__ import annotations

import math

import polars as pl

import incrowd as ic
import naive
from naive_mondrian import holds


def levels(hierarchy):
    """For each level, root first, the cell of every leaf."""
    lo, hi = hierarchy.levels()
    if not len(lo):
        known = list(range(hierarchy.n_leaves - hierarchy.has_missing))
        lo, hi = ic.balanced(2).build(pl.Series(known + [None] * hierarchy.has_missing)).levels()
    return [list(zip(map(int, a), map(int, b), strict=True)) for a, b in zip(lo, hi, strict=True)][::-1]


def information(values, classes):
    names, labels = sorted(set(values)), sorted(set(classes))
    if not names:
        return 0.0
    pairs = list(zip(values, classes, strict=True))
    return naive.normalized_mutual_information([[pairs.count((v, c)) for c in labels] for v in names])


def generalize(codes, classes, hierarchies):
    """Lines 1-5: the level of every attribute, and each row as a tuple of cells."""
    chosen, columns = [], []
    for m, hierarchy in enumerate(hierarchies):
        at = [[cells[row[m]] for row in codes] for cells in levels(hierarchy)]
        curve = [information(values, classes) for values in at]
        best = max(i for i, x in enumerate(curve) if x >= max(curve) - 1e-9)
        chosen.append(best + 1)
        columns.append(at[best])
    return chosen, list(zip(*columns, strict=True))


def suppress(rows, sensitive, constraints):
    """Lines 6-8: the rows that become stars, so many that they too keep the constraints."""
    groups = {}
    for i, row in enumerate(rows):
        groups.setdefault(row, []).append(i)

    def keeps(members):
        return holds([sensitive[i] for i in members], sensitive, **constraints)

    stars = [i for members in groups.values() if not keeps(members) for i in members]
    left = [row for row, members in groups.items() if keeps(members)]
    left.sort(key=lambda row: (len(groups[row]), [lo for lo, _ in row]))
    while stars and not keeps(stars):
        stars += groups[left.pop(0)]
    return set(stars)


def change(rows, classes, hierarchies, stars):
    """Lines 9-10: alpha and beta, and how many values are gone."""
    kept = [i for i in range(len(rows)) if i not in stars]
    alpha, beta, gone = 0.0, 0.0, 0
    for m, hierarchy in enumerate(hierarchies):
        before = [row[m] for row in rows]
        after = [rows[i][m] for i in kept]
        differs = information(after, [classes[i] for i in kept]) - information(before, classes)
        alpha = max(alpha, abs(differs))
        if hierarchy.n_leaves == 1:
            continue
        n, divergence = len(rows), 0.0
        for value in set(before):
            p, q = before.count(value) / n, max(after.count(value), 1) / n
            gone += value not in after
            divergence += p * math.log2(p / q)
        entropy = naive.entropy_of([before.count(value) for value in set(before)])
        beta = max(beta, divergence / entropy if entropy else 0.0)
    return alpha, beta, gone


def cells(rows, hierarchies, stars):
    star = tuple((0, hierarchy.n_leaves - 1) for hierarchy in hierarchies)
    return [star if i in stars else row for i, row in enumerate(rows)]


def largest_k(rows, classes, sensitive, hierarchies, constraints, delta_c, delta_d, keep_values):
    """Algorithm 2 for k = 1, 2, ... one by one: the last k before something is exceeded, and its stars."""
    found = 0, set()
    for k in range(1, len(rows) + 1):
        stars = suppress(rows, sensitive, {**constraints, "k": k})
        alpha, beta, gone = change(rows, classes, hierarchies, stars)
        if delta_c is not None and alpha > delta_c + 1e-9:
            break
        if delta_d is not None and (beta > delta_d + 1e-9 or (keep_values and gone)):
            break
        found = k, stars
    return found
