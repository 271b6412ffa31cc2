"""InfoGain Mondrian in its plainest form: every cut of every attribute is tried, entropies are compared exactly."""

from collections import Counter
from fractions import Fraction
from math import prod

from naive_mondrian import children, closure, width


def disorder(parts):
    """2 ** (n H) of lists of classes, as a fraction: products of x ** x in place of sums of x log x."""
    found = Fraction(1)
    for part in parts:
        found *= Fraction(len(part) ** len(part), prod(x**x for x in Counter(part).values()))
    return found


def by_code(codes, last):
    """Row positions up to a code, and behind it."""
    return [[i for i, x in enumerate(codes) if x <= last], [i for i, x in enumerate(codes) if x > last]]


def cuts_of_codes(hierarchy, codes, allowed):
    """The cuts that rows with these codes may choose from, as lists of row positions; only allowed ones."""
    present = sorted(set(codes))
    missing_first = [by_code(codes, 0)] if hierarchy.has_missing and present[0] == 0 else []
    if hierarchy.to_dict()["kind"] == "intervals":
        others = [by_code(codes, last) for last in present[:-1]]
    else:
        parts = children(hierarchy, *closure(hierarchy, codes))
        of = [next((a, b) for a, b in parts if a <= x <= b) for x in codes]
        filled = [[i for i, child in enumerate(of) if child == c] for c in sorted(set(of))]
        if allowed(filled):
            return [filled]
        others = [by_code(codes, last) for last in (max(of[filled[0][0]]), min(of[filled[-1][0]]) - 1)]
    for found in (missing_first, others):
        if kept := [cut for cut in found if allowed(cut)]:
            return kept
    return []


def infogain(codes, classes, sensitive, hierarchies, keeps):
    """Groups of row numbers; `keeps` tests a list of sensitive values."""

    def cut(rows):
        def allowed(parts):
            return all(part and keeps([sensitive[rows[i]] for i in part]) for part in parts)

        found = []
        for m, hierarchy in enumerate(hierarchies):
            here = [codes[i][m] for i in rows]
            if min(here) == max(here):
                continue
            wide = width(hierarchy, here)
            for parts in cuts_of_codes(hierarchy, here, allowed):
                left = disorder([[classes[rows[i]] for i in part] for part in parts])
                uneven = abs(len(rows) - 2 * len(parts[0]))
                last = max(here[i] for i in parts[0])
                found.append((left, -wide, m, uneven, last, parts))
        if not found:
            return [rows]
        best = min(found, key=lambda one: one[:-1])
        return [group for part in best[-1] for group in cut([rows[i] for i in part])]

    return cut(list(range(len(codes))))
