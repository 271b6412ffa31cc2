"""NSVDist as the paper writes it (Algorithms 1 and 2), row by row, over lists."""

from itertools import combinations

import numpy as np

import naive_mondrian
from incrowd.losses import cell_loss


def price_of(hierarchies, marginals, loss):
    """The loss of a cell in the whole numbers that decide: (attribute, lo, hi) -> int."""
    most = [1.0 if loss == "lm" else np.log2(max(2, h.n_leaves)) for h in hierarchies]
    scale = (2**31 - 1 - 2 * sum(h.n_leaves for h in hierarchies)) / sum(most)

    def price(m, lo, hi):
        h = hierarchies[m]
        if loss == "lm" and h.to_dict()["kind"] == "intervals":
            half = [p / 2 for p in h.pos]
            extent = max(half[-1] - half[0], 1e-300)
            places = [round(float((p - half[0]) / extent * scale)) for p in half]
            return sum(max(1, places[i + 1] - places[i]) for i in range(lo, hi))
        lost = float(cell_loss(loss, h, marginals[m], np.array([lo], np.int32), np.array([hi], np.int32))[0])
        return max(1, round(lost * scale)) if lost > 0 else 0

    return price


def loss_of(members, codes, hierarchies, price):
    """Algorithm 2: the loss of the closure of some rows."""
    total = 0
    for m, hierarchy in enumerate(hierarchies):
        lo, hi = naive_mondrian.closure(hierarchy, [codes[i][m] for i in members])
        total += price(m, lo, hi)
    return total


def members_of(n, codes, sensitive, hierarchies, k, cap, rank, price):
    """Algorithm 1, lines 2 to 7: the members of row n, in the order in which they are taken."""
    members = [n]
    counts = {sensitive[n]: 1}
    while len(members) < k:
        allowed = [i for i in range(len(codes)) if i not in members and counts.get(sensitive[i], 0) < cap]
        best = min(allowed, key=lambda i: (loss_of([*members, i], codes, hierarchies, price), rank[i]))
        members.append(best)
        counts[sensitive[best]] = counts.get(sensitive[best], 0) + 1
    return members


def best_loss(n, codes, sensitive, hierarchies, k, cap, price):
    """The smallest loss of any k rows with row n and at most `cap` equal sensitive values, by trying all."""
    others = [i for i in range(len(codes)) if i != n]
    fine = (
        [n, *rows]
        for rows in combinations(others, k - 1)
        if max(sum(sensitive[i] == v for i in [n, *rows]) for v in set(sensitive)) <= cap
    )
    return min(loss_of(rows, codes, hierarchies, price) for rows in fine)
