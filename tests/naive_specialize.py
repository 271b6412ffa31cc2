"""Top-down specialization in its plainest form: everything is counted again for every candidate of every step."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

from naive_mondrian import children, closure


def entropy(labels):
    n = len(labels)
    return -sum(x / n * math.log2(x / n) for x in Counter(labels).values())


def gain(parts):
    """Information gain of splitting rows with these labels, in whole multiples of 2^-32 bits."""
    everything = [label for part in parts for label in part]
    rest = sum(len(part) / len(everything) * entropy(part) for part in parts)
    return round((entropy(everything) - rest) * 2**32)


class Search:
    """A cut is a list of values per attribute; a value is the set of leaves that occur in it.

    The first value of an attribute that discloses is ``*``, and the others are single leaves.
    """

    def __init__(self, codes, classes, hierarchies, disclose):
        self.codes, self.classes, self.hierarchies = codes, classes, hierarchies
        self.discloses = [disclose and is_flat(hierarchy) for hierarchy in hierarchies]

    def labels_in(self, m, leaves):
        return [label for row, label in zip(self.codes, self.classes, strict=True) if row[m] in leaves]

    def groups(self, cut, attributes):
        found = {}
        for i, row in enumerate(self.codes):
            key = tuple(next(j for j, value in enumerate(cut[m]) if row[m] in value) for m in attributes)
            found.setdefault(key, []).append(i)
        return list(found.values())

    def specializations(self, cut):
        """Each as (attribute, place in the domain, value, parts)."""
        for m, values in enumerate(cut):
            for value in values:
                if len(value) < 2:
                    continue
                if self.discloses[m]:
                    for leaf in sorted(value):
                        yield m, leaf, value, [value - {leaf}, {leaf}]
                elif self.hierarchies[m].to_dict()["kind"] == "taxonomy":
                    nodes = children(self.hierarchies[m], *closure(self.hierarchies[m], value))
                    parts = [{x for x in value if a <= x <= b} for a, b in nodes]
                    yield m, min(value), value, [part for part in parts if part]
                else:
                    yield m, min(value), value, self.best_cut(m, value)

    def best_cut(self, m, value):
        rated = []
        for cut in sorted(value)[:-1]:
            parts = [{x for x in value if x <= cut}, {x for x in value if x > cut}]
            sides = [self.labels_in(m, part) for part in parts]
            rated.append((-gain(sides), -min(map(len, sides)), cut, parts))
        return min(rated, key=lambda found: found[:3])[3]

    def run(self, score, keeps, n_together):
        """Specialize the best until none is valid and beneficial; `keeps` tests the rows of a group."""
        every = range(len(self.hierarchies))
        cut = [[{row[m] for row in self.codes}] for m in every]
        while True:
            rated = []
            for m, place, value, parts in self.specializations(cut):
                after = list(cut)
                at = cut[m].index(value)
                after[m] = cut[m][:at] + parts + cut[m][at + 1 :]
                points = score(self, cut, after, m, value, parts)
                fits = all(
                    keeps(group)
                    for n in range(1, n_together + 1)
                    for some in combinations(every, n)
                    for group in self.groups(after, some)
                )
                if fits and points > 0:
                    rated.append((-points, m, place, after))
            if not rated:
                return cut
            cut = min(rated, key=lambda found: found[:3])[3]

    def cells(self, cut):
        """The released cell of every row."""
        found = []
        for row in self.codes:
            cells = []
            for m, hierarchy in enumerate(self.hierarchies):
                value = next(v for v in cut[m] if row[m] in v)
                if self.discloses[m] and value is cut[m][0]:
                    value = {other[m] for other in self.codes}
                cells.append(closure(hierarchy, value))
            found.append(tuple(cells))
        return found


def is_flat(hierarchy):
    data = hierarchy.to_dict()
    return data["kind"] == "taxonomy" and all(
        level.count(name) in (1, len(level)) for level in data["levels"] for name in level
    )


def gain_per_loss(search, cut, after, m, value, parts):
    every = range(len(search.hierarchies))
    before = min(len(group) for group in search.groups(cut, every))
    left = min(len(group) for group in search.groups(after, every))
    return gain([search.labels_in(m, part) for part in parts]) / (before - left + 1)


def info_gain(search, cut, after, m, value, parts):
    return gain([search.labels_in(m, part) for part in parts])


def discernibility(search, cut, after, m, value, parts):
    holding = [g for g in search.groups(cut, range(len(search.hierarchies))) if search.codes[g[0]][m] in value]
    return sum(len(group) ** 2 for group in holding)


def lkc(sensitive, k, confidence):
    """The test of a group under LKC-privacy."""

    def keeps(group):
        counts = Counter(sensitive[i] for i in group)
        return len(group) >= k and Fraction(max(counts.values()), len(group)) <= confidence

    return keeps
