"""BestCuts' trees of cuts in their plainest form: every cut of every attribute that a group looks at is tried."""

from collections import Counter
from math import log2

from naive_infogain_mondrian import cuts_of_codes
from naive_mondrian import children, closure, width

_DIGITS = 9  # entropies are sums of rounded terms


def entropy(classes):
    """n H."""
    n = len(classes)
    return -sum(x * log2(x / n) for x in Counter(classes).values())


def loss_left_out(groups):
    """Bits to tell each class by the others of its group, with the whole table as one more member."""
    overall = Counter(c for group in groups for c in group)
    n = sum(overall.values())
    found = 0.0
    for group in groups:
        for i, own in enumerate(group):
            others = group[:i] + group[i + 1 :]
            found -= log2((others.count(own) + overall[own] / n) / (len(others) + 1))
    return found


def weighed(parts, power):
    """The entropy that parts of classes leave, with the gain divided by the entropy of their sizes to a power."""
    whole = [c for part in parts for c in part]
    sizes = entropy([i for i, part in enumerate(parts) for _ in part]) / len(whole)
    gain = entropy(whole) - sum(map(entropy, parts))
    return entropy(whole) - gain / sizes**power


def bands(hierarchy, codes, most_ends=32):
    """The bands that may be cut out, as (first, last) codes, from low to high."""
    present = sorted(set(codes))
    if hierarchy.to_dict()["kind"] == "intervals":
        ends, n_since = [], 0
        for x in present[:-1]:
            n_since += codes.count(x)
            if n_since * (most_ends + 1) >= len(codes):
                ends.append(x)
                n_since = 0
        return [(a + 1, b) for i, a in enumerate(ends) for b in ends[i + 1 :]]
    filled = [(a, b) for a, b in children(hierarchy, *closure(hierarchy, codes)) if any(a <= x <= b for x in codes)]
    return filled[1:-1]


def best_band(rows, codes, classes, hierarchies, allowed):
    found = []
    for m, hierarchy in enumerate(hierarchies):
        here = [codes[i][m] for i in rows]
        for a, b in bands(hierarchy, here) if min(here) < max(here) else []:
            inside = [i for i, x in enumerate(here) if a <= x <= b]
            outside = [i for i, x in enumerate(here) if not a <= x <= b]
            if allowed([inside, outside]):
                left = sum(entropy([classes[rows[i]] for i in part]) for part in (inside, outside))
                found.append((round(left, _DIGITS), m, a, b, [inside, outside]))
    return min(found, default=None, key=lambda one: one[:-1])


def best_cut(rows, codes, classes, hierarchies, allowed, looks, power):
    found = []
    for m, hierarchy in enumerate(hierarchies):
        here = [codes[i][m] for i in rows]
        if min(here) == max(here) or not looks(m):
            continue
        for parts in cuts_of_codes(hierarchy, here, allowed):
            left = weighed([[classes[rows[i]] for i in part] for part in parts], power)
            uneven = abs(len(rows) - 2 * len(parts[0]))
            last = max(here[i] for i in parts[0])
            found.append((round(left, _DIGITS), -width(hierarchy, here), m, uneven, last, parts))
    return min(found, default=None, key=lambda one: one[:-1])


def best_cuts(codes, classes, sensitive, hierarchies, keeps, search, *, k=1):
    """Groups of row numbers; `keeps` tests a list of sensitive values, `search` is what the kernel is given."""
    n_nodes = 1

    def cut(rows, node):
        nonlocal n_nodes

        def allowed(parts):
            return all(part and keeps([sensitive[rows[i]] for i in part]) for part in parts)

        draws = search.draws[node % len(search.draws)]
        given = (rows, codes, classes, hierarchies, allowed)
        best = None
        if len(rows) >= 2 * k:
            best = best_cut(*given, lambda m: draws[m] < search.share, search.power)
            best = best or best_cut(*given, lambda m: draws[m] >= search.share, search.power)
        if best is not None:
            parts, nodes = best[-1], []
            for _ in parts[1:]:  # a chain of cuts in two
                nodes, node, n_nodes = [*nodes, n_nodes], n_nodes + 1, n_nodes + 2
            nodes.append(node)
        elif search.bands and len(rows) >= 2 * k and (best := best_band(*given)):
            parts, nodes, n_nodes = best[-1], [n_nodes + 1, n_nodes + 2], n_nodes + 3
        else:
            return [rows]
        return [g for part, child in zip(parts, nodes, strict=True) for g in cut([rows[i] for i in part], child)]

    return cut(list(range(len(codes))), 0)
