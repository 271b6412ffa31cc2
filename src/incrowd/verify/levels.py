"""How far a distribution of sensitive values goes: the arithmetic of the privacy models, exact where it can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from incrowd.verify.domain import Array
from incrowd.verify.groups import count_weights, relabel

TOLERANCE = 1e-9
_BLOCK = 1 << 20
_LARGEST_WHOLE = 4e18  # fits into 64 bits with a sign


@dataclass(frozen=True)
class Distributions:
    """Counts of sensitive values per group or row, kept sparse: the nonzero counts sorted by owner.

    Attributes
    ----------
    owner, value, count
        One entry per owner and value that occurs.
    n_owners, n_values
        Shape of the full table of counts.
    """

    owner: Array
    value: Array
    count: Array
    n_owners: int
    n_values: int

    @classmethod
    def of_rows(
        cls, owner: Array, value: Array, n_owners: int, n_values: int, weights: Array | None = None
    ) -> Distributions:
        """Count the values of each owner's rows, of which each may stand for several."""
        which, distinct = relabel(owner.astype(np.int64) * n_values + value, n_owners * n_values)
        count = np.bincount(which) if weights is None else count_weights(which, weights, len(distinct))
        return cls(distinct // n_values, distinct % n_values, count, n_owners, n_values)

    @classmethod
    def of_matrix(cls, counts: Array) -> Distributions:
        """Take counts as they were published, one row per owner."""
        owner, value = np.nonzero(counts)
        return cls(owner, value, counts[owner, value].astype(np.int64), *counts.shape)

    def blocks(self) -> Iterator[Array]:
        """Yield the full table in pieces of bounded size."""
        step = max(1, _BLOCK // max(1, self.n_values))
        for start in range(0, self.n_owners, step):
            stop = min(start + step, self.n_owners)
            a, b = np.searchsorted(self.owner, [start, stop])
            table = np.zeros((stop - start, self.n_values), np.int64)
            table[self.owner[a:b] - start, self.value[a:b]] = self.count[a:b]
            yield table

    def measure(self, what: Callable[[Array], Array]) -> Array:
        """Apply a measure to every owner's counts."""
        parts = [what(block) for block in self.blocks()]
        return np.concatenate(parts) if parts else np.empty(0)


def totals(counts: Array) -> Array:
    """Return the size of each distribution."""
    return np.asarray(counts.sum(axis=1))


def tops(counts: Array) -> Array:
    """Return the count of the most frequent value."""
    return np.asarray(counts.max(axis=1))


def distinct(counts: Array) -> Array:
    """Return the number of values that occur."""
    return np.asarray(np.count_nonzero(counts, axis=1))


def entropies(counts: Array) -> Array:
    """Return the entropy in nats."""
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    logs = np.log(share, out=np.zeros_like(share), where=share > 0)
    return np.asarray(-(share * logs).sum(axis=1))


def recursive_levels(counts: Array, c: float) -> Array:
    """Return the largest l with r1 < c (r_l + r_(l+1) + ...), 0 when there is none."""
    ordered = -np.sort(-counts, axis=1)
    tails = np.cumsum(ordered[:, ::-1], axis=1)[:, ::-1]
    exact = Fraction(str(c))
    r1 = np.broadcast_to(ordered[:, :1], tails.shape)
    return np.asarray(below(r1, exact.denominator, tails, exact.numerator).sum(axis=1))


def distances(counts: Array, marginal: Array, *, ordered: bool) -> Array:
    """Return how far each distribution is from the whole table's."""
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    gap = share - marginal / max(1, marginal.sum())
    if not ordered:
        return np.asarray(np.abs(gap).sum(axis=1) / 2)
    return np.asarray(np.abs(np.cumsum(gap, axis=1)).sum(axis=1) / max(1, counts.shape[1] - 1))


def distances_in_tree(counts: Array, marginal: Array, nodes: Array) -> Array:
    """Return the distances along a tree of the values: each edge carries the difference of what is below it.

    `nodes` are those of the values in each level above them, the root last. Values are apart as the height at which
    they meet over that of the root, so an edge is worth half of one over that height.
    """
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    gap = share - marginal / max(1, marginal.sum())
    height, carried = len(nodes), np.abs(gap).sum(axis=1)
    for level in nodes[:-1]:
        below = np.zeros((len(gap), int(level.max()) + 1))
        np.add.at(below.T, level, gap.T)
        carried = carried + np.abs(below).sum(axis=1)
    return np.asarray(carried / (2 * height))


def above_share(top: Array, total: Array, limit: Fraction) -> Array:
    """Tell where top / total > limit, without rounding."""
    return below(total, limit.numerator, top, limit.denominator)


def below(a: Array, a_times: int, b: Array, b_times: int) -> Array:
    """Tell where a * a_times < b * b_times, without rounding or overflow."""
    if a.size == 0:
        return np.zeros(a.shape, np.bool_)
    if max(int(a.max()) * a_times, int(b.max()) * b_times) < _LARGEST_WHOLE:
        return np.asarray(a * a_times < b * b_times)
    return np.asarray(a.astype(object) * a_times < b.astype(object) * b_times, np.bool_)
