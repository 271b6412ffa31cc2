"""Which nodes take the place of items: greedy global recoding with whole subtrees (Terrovitis et al. 2008).

A set of at most m published items that some basket holds must be held by at least k. Where a set is too rare, its
items are replaced by nodes above them, with everything else below these nodes: the cheapest way in which the set is
held by k baskets. Sets that share an item with one that was just generalized are looked at again in the next round, as
the paper goes back in its count tree. *Direct* anonymization looks at sets of all sizes at once, *Apriori-based* one
size after the other: what the small sets make general need not be counted in large ones.

The loss of a recoding is the normalized certainty penalty of the paper: an item costs nothing, a node the share of all
items that are below it, each as often as it occurs.

Where the paper is silent. (1) Its tree counts sets of generalized items along with those of items; here a set that
might do is counted when it is tried, over the baskets of each node. (2) Of rare sets the rarest comes first, among
equals the one with the first items. (3) Of equally cheap ways the first in the order of nodes is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from incrowd.baskets.tree import ItemTree
from incrowd.errors import ParameterError
from incrowd.kernels.baskets import count_sets, hold_all

Int64 = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]

_PLACES = 1 << 16
_MOST_PLACES = 1 << 25


@dataclass
class Search:
    """A cut of the tree that is raised until nothing is rare.

    Attributes
    ----------
    basket, item
        One pair for each item of each basket, without repeats, in order.
    cut
        The node that stands for each item.
    """

    tree: ItemTree
    basket: Int64
    item: Int64
    k: int
    progress: Progress
    cut: Int64
    _starts: Int64
    _baskets: Int64
    _often: Int64

    @classmethod
    def of(cls, tree: ItemTree, basket: Int64, item: Int64, k: int, progress: Progress) -> Search:
        """Note which baskets hold each node of the tree."""
        n_baskets = int(basket.max(initial=-1)) + 1
        pairs, nodes = [], np.arange(tree.n_items)
        at = item
        while True:
            pairs.append(np.unique(at * n_baskets + basket))
            if (tree.parent[at] == at).all():
                break
            at = tree.parent[at]
        together = np.unique(np.concatenate(pairs))
        node, baskets = np.divmod(together, max(1, n_baskets))
        starts = np.searchsorted(node, np.arange(len(tree.names) + 1))
        return cls(tree, basket, item, k, progress, nodes, starts, baskets, np.bincount(item, minlength=tree.n_items))

    def run(self, m: int, *, by_size: bool) -> None:
        """Raise the cut until every set of at most m items that is there is there k times."""
        for sizes in [range(size, size + 1) for size in range(1, m + 1)] if by_size else [range(1, m + 1)]:
            while True:
                rare = self.rare(sizes)
                if not rare:
                    break
                self._raise(rare)
            self.progress("sizes of sets", sizes[-1], m)

    def recoded(self) -> tuple[Int64, Int64]:
        """Return the published node of each basket, without repeats, in order."""
        n = len(self.tree.names)
        return np.divmod(np.unique(self.basket * n + self.cut[self.item]), n)

    def rare(self, sizes: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the sets of nodes that fewer than k baskets hold, and some do; the rarest first."""
        basket, node = self.recoded()
        nodes, dense = np.unique(node, return_inverse=True)
        dense = dense.reshape(-1).astype(np.int64)
        starts = np.flatnonzero(np.append(True, basket[1:] != basket[:-1])) if len(basket) else np.empty(0, np.int64)
        found: list[tuple[int, tuple[int, ...]]] = []
        for size in sizes:
            counted = counted_sets(np.append(starts, len(basket)), dense, len(nodes), size, self.progress)
            for keys, counts in counted:
                few = counts < self.k
                digits = keys[few][:, None] // len(nodes) ** np.arange(size - 1, -1, -1) % len(nodes)
                found += zip(counts[few].tolist(), map(tuple, nodes[digits].tolist()), strict=True)
        return [nodes for _, nodes in sorted(found)]

    def _raise(self, rare: Sequence[tuple[int, ...]]) -> None:
        cost = self._costs()
        raised: set[int] = set()
        for done, nodes in enumerate(rare):
            if any(node in raised for node in nodes):
                continue
            for above in self._ways(nodes, cost):
                if hold_all(self._starts, self._baskets, np.array(above), self.k):
                    break
            for node in above:
                below = slice(int(self.tree.lo[node]), int(self.tree.hi[node]) + 1)
                changed = {int(own) for own in np.unique(self.cut[below])} - {node}
                if changed:
                    raised |= changed | {node}
                    self.cut[below] = node
            cost = self._costs()
            if done % 64 == 0:
                self.progress("rare sets", done, len(rare))

    def _ways(self, nodes: tuple[int, ...], cost: Floats) -> Iterator[list[int]]:
        """Yield what may take the place of a set, the cheapest first; last the root alone."""
        chains = [self.tree.above(node) for node in nodes]
        ways = {self._highest(way) for way in product(*chains)}
        yield from map(list, sorted(ways, key=lambda way: (self._price(way, cost), len(way), way)))

    def _highest(self, way: tuple[int, ...]) -> tuple[int, ...]:
        """Return the nodes that are below no other of them."""
        lo, hi = self.tree.lo, self.tree.hi
        own = sorted(set(way))
        return tuple(a for a in own if not any(b != a and lo[b] <= lo[a] and hi[a] <= hi[b] for b in own))

    def _price(self, way: Sequence[int], cost: Floats) -> float:
        """Return how much loss it adds to put these nodes in the place of what is below them."""
        before, occurs = cost
        added = 0.0
        for node in way:
            lo, hi = self.tree.lo[node], self.tree.hi[node] + 1
            added += penalty(self.tree, node) * (occurs[hi] - occurs[lo]) - (before[hi] - before[lo])
        return float(added)

    def _costs(self) -> Floats:
        """Return sums over items, up to each, of what the cut costs and of how often they occur."""
        width = (self.tree.hi - self.tree.lo + 1)[self.cut]
        own = np.where(width > 1, width / self.tree.n_items, 0.0) * self._often
        return np.stack([np.append(0, np.cumsum(own)), np.append(0, np.cumsum(self._often))])

    @property
    def loss(self) -> float:
        """The normalized certainty penalty: 0 where every item is published, 1 where only the root is."""
        return float(self._costs()[0, -1] / max(1, self._often.sum()))


def penalty(tree: ItemTree, node: int) -> float:
    """Return the share of all items that are below a node; nothing for an item."""
    width = int(tree.hi[node] - tree.lo[node]) + 1
    return width / tree.n_items if width > 1 else 0.0


def counted_sets(
    starts: Int64, items: Int64, n_items: int, size: int, progress: Progress
) -> Iterator[tuple[Int64, Int64]]:
    """Yield sets of items and how many baskets hold each, as numbers with items for digits; a range after another."""
    if n_items**size >= 1 << 62:
        fact = f"Sets of {size} among {n_items} items cannot be numbered"
        raise ParameterError(fact, "use a smaller m")
    first, step, places = 0, max(1, n_items), _PLACES
    while first < n_items:
        last = min(n_items, first + step)
        keys, counts = np.full(places, -1, np.int64), np.empty(places, np.int64)
        if count_sets(starts, items, size, n_items, first, last, keys, counts) < 0:
            if places < _MOST_PLACES:
                places *= 4
            elif step == 1:
                fact = f"More than {3 * _MOST_PLACES // 4} sets of {size} items begin with one item: too many to count"
                raise ParameterError(fact, "use a smaller m, or a tree whose lowest groups take the place of items")
            else:
                step = max(1, step // 4)
            continue
        there = keys >= 0
        yield keys[there], counts[there]
        first = last
        progress("sets of items", last, n_items)
