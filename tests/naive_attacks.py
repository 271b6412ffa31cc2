"""Attacks by trying everything: all perfect matchings, all worlds."""

from itertools import permutations, product
from math import comb


def fits(person, row):
    """Whether a row's box covers a person."""
    lo, hi = row
    return all(a <= x <= b for x, a, b in zip(person, lo, hi, strict=True))


def possible_pairs(people, rows):
    """Pairs of a person and a row that are in some assignment of a person of their own to all rows."""
    found = set()
    for behind in permutations(range(len(people)), len(rows)):
        if all(fits(people[i], row) for i, row in zip(behind, rows, strict=True)):
            found |= {(i, r) for r, i in enumerate(behind)}
    return found


def worlds(statements, possible):
    """All assignments of values to people that leave every statement its counts; statements are (people, counts)."""
    domains = [[v for v, may in enumerate(values) if may] for values in possible]
    for world in product(*domains):
        if all(
            sum(world[i] == v for i in people) >= count
            for people, counts in statements
            for v, count in enumerate(counts)
        ):
            yield world


def left_possible(statements, possible):
    """Values that each person has in some world."""
    left = [set() for _ in possible]
    for world in worlds(statements, possible):
        for i, v in enumerate(world):
            left[i].add(v)
    return left


def beliefs(statements, prior):
    """Share of each value over all worlds, each weighted by its prior and by the ways to choose who is counted."""
    n_values = len(prior[0])
    total = [[0.0] * n_values for _ in prior]
    for world in worlds(statements, [[p > 0 for p in row] for row in prior]):
        weight = 1.0
        for i, v in enumerate(world):
            weight *= prior[i][v]
        for people, counts in statements:
            for v, count in enumerate(counts):
                weight *= comb(sum(world[i] == v for i in people), count)
        for i, v in enumerate(world):
            total[i][v] += weight
    return [[w / sum(row) for w in row] for row in total]
