"""The tree of items as numbers: leaves first, then every inner node once, the root last."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from incrowd.errors import HierarchyError
from incrowd.hierarchy import Taxonomy

Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ItemTree:
    """A tree over items.

    Attributes
    ----------
    names
        The name of each node; leaves, which are the items, come first.
    lo, hi
        The first and the last item below each node.
    parent
        The node above; the root's is itself.
    n_items
        Number of items.
    """

    names: list[str]
    lo: Int64
    hi: Int64
    parent: Int64
    n_items: int

    @classmethod
    def of(cls, tree: Taxonomy) -> ItemTree:
        """Number the nodes of a taxonomy; nodes with the same items are one."""
        lows, highs = tree.levels()
        n = tree.n_leaves
        bounds = {(leaf, leaf): leaf for leaf in range(n)}
        chains = np.empty((len(lows), n), np.int64)
        for level, (low, high) in enumerate(zip(lows, highs, strict=True)):
            for leaf in range(n):
                chains[level, leaf] = bounds.setdefault((int(low[leaf]), int(high[leaf])), len(bounds))
        places = list(bounds)
        parent = np.arange(len(places))
        for below, above in pairwise(chains):
            moved = below != above
            parent[below[moved]] = above[moved]
        names = [tree.label(low, high) for low, high in places]
        if len(set(names)) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            fact = f"{len(twice)} names in the tree of items stand for several nodes"
            raise HierarchyError(fact, "give every item and every group of items a name of its own")
        lo, hi = (np.array(side, np.int64) for side in zip(*places, strict=True))
        return cls(names, lo, hi, parent, n)

    def above(self, node: int) -> list[int]:
        """Return a node and those above it."""
        found = [node]
        while self.parent[found[-1]] != found[-1]:
            found.append(int(self.parent[found[-1]]))
        return found

    @property
    def root(self) -> int:
        """The node above all."""
        return self.above(0)[-1]
