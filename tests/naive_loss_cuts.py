"""Cuts chosen by loss in their plainest form: every cut of every attribute is tried."""

import numpy as np

from incrowd.kernels.boxes import cost_of
from incrowd.publish.prices import make_prices
from naive_mondrian import closure, legal_cells


class Losses:
    """What boxes of rows cost, in the whole numbers that the method adds up."""

    def __init__(self, table):
        self.hierarchies = table.hierarchies
        self.codes = [tuple(int(x) for x in row) for row in table.codes]
        prices = make_prices(table, np.arange(table.n_quasi), "lm")
        self.cost = lambda m, lo, hi: cost_of(prices, prices.exact, m, lo, hi)

    def of(self, rows):
        """Rows times the loss of their closure."""
        found = 0
        for m, hierarchy in enumerate(self.hierarchies):
            found += self.cost(m, *closure(hierarchy, [self.codes[i][m] for i in rows]))
        return len(rows) * found


def cuts_of_codes(hierarchy, codes):
    """Row positions inside each threshold and each node that is none, in the order in which they are tried."""
    present = sorted(set(codes))
    thresholds = [set(present[: i + 1]) for i in range(len(present) - 1)]
    if hierarchy.to_dict()["kind"] == "intervals":
        nodes = [(0, x, x) for x in present]
    else:
        sized = [(b - a, a, b) for a, b in legal_cells(hierarchy)]
        height = {(a, b): sum(p >= a and q <= b and (p, q) != (a, b) for _, p, q in sized) for _, a, b in sized}
        nodes = sorted((height[a, b], a, b) for _, a, b in sized)
    inside = [{x for x in present if a <= x <= b} for _, a, b in nodes]
    bands = [band for band in inside if band and present[0] not in band and present[-1] not in band]
    for values in [*thresholds, *bands]:
        yield [i for i, x in enumerate(codes) if x in values]


def best_cut(rows, losses, allowed):
    """The best allowed cut of a list of rows, its two sides last; of equals the most even one, then the first."""
    found = []
    for m, hierarchy in enumerate(losses.hierarchies):
        for inside in cuts_of_codes(hierarchy, [losses.codes[i][m] for i in rows]):
            left = [rows[i] for i in inside]
            right = [i for i in rows if i not in set(left)]
            if allowed(left) and allowed(right):
                found.append((losses.of(left) + losses.of(right), abs(len(rows) - 2 * len(left)), left, right))
    return min(found, default=None, key=lambda cut: cut[:2])


def loss_cuts(losses, allowed):
    """Groups of row numbers."""

    def cut(rows):
        best = best_cut(rows, losses, allowed)
        return [rows] if best is None else [group for part in best[2:] for group in cut(part)]

    return cut(list(range(len(losses.codes))))
