"""Mondrian and the privacy constraints in their plainest form, over lists of rows."""

import math
from collections import Counter
from fractions import Fraction


def holds(
    values, table, *, k=1, l=1, l_kind="frequency", c=3.0, t=None, ordered=False, alpha=None, beta=None,
    enhanced=False, delta=None,
):  # fmt: skip
    """Does a group with these sensitive values keep the constraints, given all values of the table?"""
    n, counts = len(values), Counter(values)
    if n < k:
        return False
    largest = max(counts.values())
    if alpha is not None and Fraction(largest, n) > Fraction(str(alpha)):
        return False
    if l_kind == "frequency" and Fraction(largest, n) > 1 / Fraction(str(l)):
        return False
    if l_kind == "distinct" and len(counts) < l:
        return False
    if l_kind == "entropy":
        entropy = -sum(x / n * math.log(x / n) for x in counts.values())
        if entropy < math.log(l) - 1e-12:
            return False
    if l_kind == "recursive":
        ranked = sorted(counts.values(), reverse=True)
        if not ranked[0] < Fraction(str(c)) * sum(ranked[l - 1 :]):
            return False
    if not alike(counts, n, Counter(table), beta, enhanced, delta):
        return False
    return t is None or distance(values, table, ordered) <= t + 1e-12


def alike(counts, n, table, beta, enhanced, delta):
    """Does no value gain too much on its share in the table, or change it too much?"""
    for value, total in table.items():
        p, q = Fraction(total, sum(table.values())), Fraction(counts[value], n)
        gain = (q - p) / p
        if beta is not None and (gain > Fraction(str(beta)) or (enhanced and gain > -math.log(p) + 1e-12)):
            return False
        if delta is not None and (q == 0 or abs(math.log2(q / p)) >= delta):
            return False
    return True


def distance(values, table, ordered):
    domain = sorted(set(table))
    p = [values.count(v) / len(values) for v in domain]
    q = [table.count(v) / len(table) for v in domain]
    if not ordered:
        return sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
    if len(domain) == 1:
        return 0.0
    return sum(abs(sum(p[: i + 1]) - sum(q[: i + 1])) for i in range(len(domain))) / (len(domain) - 1)


def legal_cells(hierarchy):
    n, data = hierarchy.n_leaves, hierarchy.to_dict()
    if data["kind"] == "intervals":
        cells = {(a, b) for a in range(n) for b in range(a, n)}
        return {(a, b) for a, b in cells if not (hierarchy.has_missing and a == 0 < b < n - 1)}
    cells = {(i, i) for i in range(n)}
    for level in data["levels"]:
        for name in set(level):
            members = [i for i, other in enumerate(level) if other == name]
            assert members == list(range(members[0], members[-1] + 1))
            cells.add((members[0], members[-1]))
    return cells


def closure(hierarchy, codes):
    inside = [(b - a, a, b) for a, b in legal_cells(hierarchy) if a <= min(codes) and max(codes) <= b]
    _, a, b = min(inside)
    return a, b


def width(hierarchy, codes):
    a, b = closure(hierarchy, codes)
    whole = hierarchy.pos[-1] - hierarchy.pos[0]
    return (hierarchy.pos[b] - hierarchy.pos[a]) / whole if whole > 0 else 0.0


def children(hierarchy, a, b):
    """The largest legal cells strictly inside [a, b], in order."""
    inside = [(x, y) for x, y in legal_cells(hierarchy) if a <= x and y <= b and (x, y) != (a, b)]
    return sorted((x, y) for x, y in inside if not any(p <= x and y <= q and (p, q) != (x, y) for p, q in inside))


def cuts_of_codes(hierarchy, codes, strict):
    """The cuts to try for rows with these codes; each maps row positions to parts."""
    if hierarchy.to_dict()["kind"] == "taxonomy":
        parts = children(hierarchy, *closure(hierarchy, codes))
        yield [[i for i, x in enumerate(codes) if a <= x <= b] for a, b in parts]
        return
    if hierarchy.has_missing and min(codes) == 0:
        yield [[i for i, x in enumerate(codes) if x == 0], [i for i, x in enumerate(codes) if x > 0]]
    n = len(codes)
    median = sorted(codes)[(n + 1) // 2 - 1]
    before = [i for i, x in enumerate(codes) if x < median]
    ties = [i for i, x in enumerate(codes) if x == median]
    if not strict:
        room = max(0, (n + 1) // 2 - len(before))
        left = set(before) | set(ties[:room])
        yield [sorted(left), [i for i in range(n) if i not in left]]
        return
    behind = sorted(before + ties)
    two = [behind, before] if len(behind) + len(before) <= n else [before, behind]
    for left in two:
        yield [left, [i for i in range(n) if i not in set(left)]]


def multi(codes, sensitive, hierarchies, keeps, strict=True):
    """Groups of row numbers; `keeps` tests a list of sensitive values."""

    def cut(rows):
        wide = [(-width(h, [codes[i][m] for i in rows]), m) for m, h in enumerate(hierarchies)]
        for _, m in sorted(wide):
            here = [codes[i][m] for i in rows]
            if min(here) == max(here):
                continue
            for parts in cuts_of_codes(hierarchies[m], here, strict):
                filled = [[rows[i] for i in part] for part in parts if part]
                if len(filled) > 1 and all(keeps([sensitive[i] for i in part]) for part in filled):
                    return [group for part in filled for group in cut(part)]
        return [rows]

    return cut(list(range(len(codes))))


def single(codes, sensitive, hierarchies, keeps):
    """Groups of row numbers under global cuts: every range of every attribute is a list of codes that occur."""
    n = len(codes)
    ranges = [[sorted({row[m] for row in codes})] for m in range(len(hierarchies))]
    blocked = set()

    def groups(ranges):
        found = {}
        for i in range(n):
            key = tuple(next(j for j, r in enumerate(ranges[m]) if codes[i][m] in r) for m in range(len(ranges)))
            found.setdefault(key, []).append(i)
        return list(found.values())

    while True:
        wide = [
            (-width(hierarchies[m], piece), m, min(piece))
            for m in range(len(ranges))
            for piece in ranges[m]
            if len(piece) > 1 and (m, tuple(piece)) not in blocked
        ]
        if not wide:
            return groups(ranges)
        _, m, first = min(wide)
        piece = next(p for p in ranges[m] if min(p) == first)
        here = [row[m] for row in codes if row[m] in piece]
        for parts in cuts_of_codes(hierarchies[m], here, strict=True):
            pieces = [sorted({here[i] for i in part}) for part in parts if part]
            trial = [list(r) for r in ranges]
            trial[m] = [p for p in ranges[m] if p != piece] + pieces
            if len(pieces) > 1 and all(keeps([sensitive[i] for i in group]) for group in groups(trial)):
                ranges = trial
                break
        else:
            blocked.add((m, tuple(piece)))
