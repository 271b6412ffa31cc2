"""Sequential clustering as the paper writes it, every loss from scratch, over lists of rows."""

from fractions import Fraction
from functools import cache

import naive_mondrian


class Losses:
    """What clusters of rows cost, in the whole numbers that decide."""

    def __init__(self, codes, hierarchies, price):
        self.codes = codes

        @cache
        def of_range(m, lo, hi):
            return price(m, *naive_mondrian.closure(hierarchies[m], [lo, hi]))

        self.of_range = of_range

    def of(self, cluster):
        """Size times loss of the closure."""
        columns = list(zip(*(self.codes[row] for row in cluster), strict=True))
        return len(cluster) * sum(self.of_range(m, min(column), max(column)) for m, column in enumerate(columns))

    def total(self, clusters):
        return sum(self.of(cluster) for cluster in clusters)


def numbered(groups, rows):
    """Clusters in the order in which their first rows come."""
    place = {row: p for p, row in enumerate(rows)}
    return sorted((sorted(group, key=place.get) for group in groups), key=lambda group: place[group[0]])


def random_start(rows, k):
    n_clusters = max(1, len(rows) // max(2, -(-k // 2)))
    return [rows[c::n_clusters] for c in range(n_clusters)]


def move(clusters, row, losses, dissolve):
    """Move a row to where the total loss is lowest, in place; tell whether it moved."""
    own = next(c for c, cluster in enumerate(clusters) if row in cluster)
    alone = len(clusters[own]) == 1
    others = [c for c, cluster in enumerate(clusters) if cluster and c != own]
    if not others or (alone and not dissolve):
        return False

    def change(c):
        rest = [other for other in clusters[own] if other != row]
        grown = losses.of([*clusters[c], row]) - losses.of(clusters[c])
        return grown + losses.of(rest) - losses.of(clusters[own])

    target = min(others, key=lambda c: (change(c), c))
    if change(target) >= 0 and not alone:
        return False
    clusters[own].remove(row)
    clusters[target].append(row)
    return True


def improve(start, rows, losses, k, omega, passes, dissolve, rng):
    """Passes over the rows, with random splits in between; the cheapest clustering at the end of a pass."""
    place = {row: p for p, row in enumerate(rows)}
    clusters = [list(cluster) for cluster in start]
    best = [list(cluster) for cluster in start]
    largest = Fraction(str(omega)) * k
    for turn in range(passes):
        n_clusters = sum(1 for cluster in clusters if cluster)
        moved = [move(clusters, rows[p], losses, dissolve) for p in rng.permutation(len(rows))]
        if losses.total(clusters) < losses.total(best):
            best = [list(cluster) for cluster in clusters]
        elif turn > 0 and n_clusters * int(largest) >= len(rows):
            break
        large = [c for c, cluster in enumerate(clusters) if len(cluster) > largest]
        if not any(moved) and not large:
            break
        for c in large:
            mixed = [rows[p] for p in rng.permutation(sorted(place[row] for row in clusters[c]))]
            clusters[c] = mixed[len(mixed) // 2 :]
            clusters.append(mixed[: len(mixed) // 2])
    return best


def merge(clusters, losses, keeps):
    """Join the nearest clusters of those that do not keep the constraints; the last one to the nearest of all."""
    clusters = {c: cluster for c, cluster in enumerate(clusters) if cluster}

    def rise(a, b):
        return losses.of(clusters[a] + clusters[b]) - losses.of(clusters[a]) - losses.of(clusters[b])

    while True:
        small = [c for c in clusters if not keeps(clusters[c])]
        if not small:
            return list(clusters.values())
        if len(small) > 1:
            _, a, b = min((rise(a, b), a, b) for a in small for b in small if a < b)
        else:
            a = small[0]
            _, b = min((rise(a, b), b) for b in clusters if b != a)
        clusters[a] = clusters[a] + clusters.pop(b)
