"""C4.5's tree, written to be read: rows are dicts, and nothing is fast."""

from math import log2, sqrt
from statistics import NormalDist

SLACK, TIE = 0.1, 1e-9


def bits(rows):
    sizes = {c: sum(w for _, k, w in rows if k == c) for _, c, _ in rows}
    total = sum(sizes.values())
    return -sum(n / total * log2(n / total) for n in sizes.values())


def weight(rows):
    return sum(w for _, _, w in rows)


def branches(rows, m, is_number, least):
    """Return the rows of each branch by code, and what choosing the threshold costs; nothing if it is not allowed."""
    if not is_number:
        parts = {v: [row for row in rows if row[0][m] == v] for v in sorted({row[0][m] for row in rows})}
        return (parts, 0.0) if sum(weight(part) >= least for part in parts.values()) >= 2 else None
    best, n_thresholds = None, 0
    values = sorted({row[0][m] for row in rows})
    for value in values[:-1]:
        low, high = [row for row in rows if row[0][m] <= value], [row for row in rows if row[0][m] > value]
        if min(weight(low), weight(high)) < least:
            continue
        n_thresholds += 1
        left = weight(low) * bits(low) + weight(high) * bits(high)
        if best is None or left < best[0] - TIE * weight(rows):
            best = left, {value: low, values[-1]: high}
    return None if best is None else (best[1], log2(n_thresholds) / weight(rows))


def grow(rows, is_number, least):
    """Return (class weights, attribute, children by code)."""
    classes = {}
    for _, c, w in rows:
        classes[c] = classes.get(c, 0) + w
    leaf = (classes, None, {})
    n = weight(rows)
    if len(classes) == 1 or n < 2 * least:
        return leaf
    found = {}
    for m, ordered in enumerate(is_number):
        split = branches(rows, m, ordered, least)
        if split is None:
            continue
        parts, cost = split
        gain = bits(rows) - sum(weight(part) / n * bits(part) for part in parts.values()) - cost
        info = -sum(weight(part) / n * log2(weight(part) / n) for part in parts.values())
        if gain > TIE:
            found[m] = gain, gain / info, parts
    if not found:
        return leaf
    average = sum(gain for gain, _, _ in found.values()) / len(found)
    chosen, ratio = None, 0.0
    for m, (gain, its_ratio, _) in found.items():
        if gain >= average - TIE and its_ratio > ratio + TIE:
            chosen, ratio = m, its_ratio
    return classes, chosen, {code: grow(part, is_number, least) for code, part in found[chosen][2].items()}


def expected(n, wrong, confidence):
    z = NormalDist().inv_cdf(1 - confidence)
    if wrong == 0:
        return n * (1 - confidence ** (1 / n))
    if wrong + 0.5 >= n:
        return n
    share = (wrong + 0.5) / n
    spread = z * sqrt(share / n - share * share / n + z * z / (4 * n * n))
    return n * (share + z * z / (2 * n) + spread) / (1 + z * z / n)


def prune(node, confidence):
    """Return the pruned node and its expected errors."""
    classes, m, children = node
    n = sum(classes.values())
    here = expected(n, n - max(classes.values()), confidence)
    if m is None:
        return node, here
    pruned = {code: prune(child, confidence) for code, child in children.items()}
    below = sum(errors for _, errors in pruned.values())
    if here > below + SLACK + TIE:
        return (classes, m, {code: child for code, (child, _) in pruned.items()}), below
    return (classes, None, {}), here


def shares(node, row, is_number, n_classes):
    """Return Laplace's shares of the classes where a row ends."""
    classes, m, children = node
    while m is not None:
        codes = sorted(children)
        code = next((c for c in codes if row[m] <= c), codes[-1]) if is_number[m] else row[m]
        if code not in children:
            break
        classes, m, children = children[code]
    total = sum(classes.values()) + n_classes
    return [(classes.get(c, 0) + 1) / total for c in range(n_classes)]
