"""Slow, obvious versions of kernels, losses and exact algorithms: plain loops over rows, one section per function.

Nothing here is shared with the code under test: a test compares the two on random tables.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

# kernels.groups.label_groups


def label_groups(codes):
    seen = {}
    labels = [seen.setdefault(tuple(int(code) for code in row), len(seen)) for row in codes]
    return labels, len(seen)


# kernels.groups.count_by_group


def count_by_group(labels, values, n_groups, n_values):
    counts = [[0] * n_values for _ in range(n_groups)]
    for label, value in zip(labels, values, strict=True):
        counts[label][value] += 1
    return counts


# losses: shared vocabulary


def rows_of(cells):
    """Each row as a tuple of (lo, hi), one per attribute."""
    return [tuple(zip(map(int, lo), map(int, hi), strict=True)) for lo, hi in zip(cells.lo, cells.hi, strict=True)]


def class_shares(cells):
    """The class distribution of each row as a dict."""
    if cells.classes is not None:
        return [{int(c): 1.0} for c in cells.classes]
    if cells.sensitive is not None:
        return [{int(c): 1.0} for c in cells.sensitive]
    return [{v: int(c) / int(sum(row)) for v, c in enumerate(row) if c} for row in cells.counts]


def entropy_of(masses):
    total = sum(masses)
    return -sum(m / total * math.log2(m / total) for m in masses if m)


def mean(numbers):
    numbers = list(numbers)
    return sum(numbers) / len(numbers) if numbers else 0.0


# losses.lm


def lm_cell(pos, lo, hi):
    return float((pos[hi] - pos[lo]) / (pos[-1] - pos[0])) if len(pos) > 1 else 0.0


def lm(cells):
    losses = [
        mean(lm_cell(h.pos, lo, hi) for h, (lo, hi) in zip(cells.hierarchies, row, strict=True))
        for row in rows_of(cells)
    ]
    return mean(losses + [1.0] * cells.n_suppressed)


# losses.entropy


def entropy_cell(marginal, lo, hi):
    inside = [int(f) for f in marginal[lo : hi + 1]]
    return entropy_of(inside) if sum(inside) else 0.0


def monotone_entropy_cell(marginal, lo, hi):
    total = int(sum(marginal))
    return entropy_cell(marginal, lo, hi) * int(sum(marginal[lo : hi + 1])) / total if total else 0.0


def entropy(cells, cell=entropy_cell):
    marginals = [m if sum(m) else [1] * len(m) for m in cells.marginals]
    star = tuple((0, len(m) - 1) for m in marginals)
    rows = rows_of(cells) + [star] * cells.n_suppressed
    return mean(mean(cell(m, lo, hi) for m, (lo, hi) in zip(marginals, row, strict=True)) for row in rows)


def monotone_entropy(cells):
    return entropy(cells, monotone_entropy_cell)


# losses.dm


def dm(cells):
    rows = rows_of(cells)
    alike = sum(1 for a in rows for b in rows if a == b)
    return float(alike + cells.n_suppressed * (len(rows) + cells.n_suppressed))


# losses.aecs


def aecs(cells):
    rows = rows_of(cells)
    return (len(rows) + cells.n_suppressed) / max(len(set(rows)), 1) / cells.k


# losses.cm


def cm(cells):
    rows, shares = rows_of(cells), class_shares(cells)
    pooled = {}
    for row, share in zip(rows, shares, strict=True):
        pooled.setdefault(row, Counter()).update(share)
    majority = {row: max(sorted(pool), key=pool.__getitem__) for row, pool in pooled.items()}
    outside = [1 - share.get(majority[row], 0.0) for row, share in zip(rows, shares, strict=True)]
    return mean(outside + [1.0] * cells.n_suppressed)


# losses.kl


def kl(cells):
    rows, n_total = rows_of(cells), len(cells.lo) + cells.n_suppressed
    sizes = [h.n_leaves for h in cells.hierarchies]
    if not rows:
        return math.log(math.prod(sizes)) if n_total else 0.0
    q = dict.fromkeys(product(*(range(size) for size in sizes)), cells.n_suppressed / math.prod(sizes) / n_total)
    for row in rows:
        inside = list(product(*(range(lo, hi + 1) for lo, hi in row)))
        for x in inside:
            q[x] += 1 / len(inside) / n_total
    p = Counter(tuple(map(int, x)) for x in cells.originals)
    return sum(n / len(rows) * math.log(n / len(rows) / q[x]) if q[x] else math.inf for x, n in p.items())


# losses.nmi


def normalized_mutual_information(table):
    n = sum(map(sum, table))
    attribute = [sum(row) for row in table]
    classes = [sum(row[c] for row in table) for c in range(len(table[0]))]
    left = sum(sum(row) / n * entropy_of(row) for row in table if sum(row))
    return (entropy_of(classes) - left) / entropy_of(attribute) if entropy_of(attribute) > 1e-12 else 0.0


def nmi(cells):
    rows, shares = rows_of(cells), class_shares(cells)
    n_total = len(rows) + cells.n_suppressed
    if not n_total or not cells.hierarchies:
        return 0.0
    kept = []
    for m, hierarchy in enumerate(cells.hierarchies):
        told = [(r[m], s) for r, s in zip(rows, shares, strict=True) if r[m] != (0, hierarchy.n_leaves - 1)]
        values = sorted({value for value, _ in told})
        names = sorted({c for _, share in told for c in share})
        table = [[sum(s.get(c, 0.0) for v, s in told if v == value) for c in names] for value in values]
        kept.append(len(told) / n_total * normalized_mutual_information(table) if told else 0.0)
    return 1 - mean(kept)
