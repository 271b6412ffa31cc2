"""KmBaskets: k^m-anonymity of transactions (Terrovitis, Mamoulis and Kalnis, VLDB 2008).

Idea: whoever knows at most m items of somebody's basket finds at least k baskets that hold them all. Items are replaced
by nodes of a tree of items, the same everywhere and with whole subtrees, until every set of at most m published items
that some basket holds is held by k.

Guarantee: as said, against who knows m items of the tree's leaves; an adversary with more finds fewer. Nothing is
promised about what else is in the baskets that fit: if all k share an item, it is known.

Cost: a count of all sets of m items in each round; rounds end, because each raises at least one node.

When to use it: market baskets, diagnoses, visited places. Which items exist (the leaves of the tree) counts as public.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.baskets.reading import read_baskets
from incrowd.baskets.release import BasketRelease
from incrowd.baskets.search import Search
from incrowd.baskets.tree import ItemTree
from incrowd.errors import HierarchyError, InfeasibleError, ParameterError, counted
from incrowd.hierarchy import Builder, Taxonomy, balanced

Search_ = Literal["apriori", "direct"]
Int64 = npt.NDArray[np.int64]
_MOST_M = 8


@dataclass(frozen=True, kw_only=True)
class KmBaskets:
    """Publishes baskets so that any m items of one are in at least k.

    Parameters
    ----------
    k, m
        At least k baskets hold any set of at most m published items that one of them holds.
    hierarchy
        The tree of items: a `Taxonomy`, or a recipe such as ``ic.prefixes()``; by default a balanced one over the items
        in their order.
    search
        ``"apriori"``: sets of one item, then of two, and so on; ``"direct"``: all sizes at once.

    Examples
    --------
    >>> import incrowd as ic
    >>> tree = ic.Taxonomy.from_nested({"A": ["a1", "a2"], "B": ["b1", "b2"]})
    >>> baskets = [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]]
    >>> ic.KmBaskets(k=2, m=2, hierarchy=tree).publish(baskets).baskets
    [['A', 'b1'], ['A', 'b1', 'b2'], ['A', 'b1', 'b2'], ['A', 'b2']]
    """

    k: int
    m: int = 2
    hierarchy: Taxonomy | Builder | None = None
    search: Search_ = "apriori"

    def __post_init__(self) -> None:
        for name in ("k", "m"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                fact = f"{name} is {value!r}"
                raise ParameterError(fact, "use a whole number, at least 1")
        if self.m > _MOST_M:
            fact = f"m is {self.m}"
            raise ParameterError(fact, f"use at most {_MOST_M}: sets of more items are too many to be checked")
        if self.search not in get_args(Search_):
            fact = f"search is {self.search!r}"
            raise ParameterError(fact, f"use one of {', '.join(get_args(Search_))}")

    def publish(
        self,
        data: Any,  # noqa: ANN401 - any frame, or lists
        *,
        basket: str | None = None,
        item: str | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> BasketRelease:
        """Publish baskets.

        Parameters
        ----------
        data
            A list of baskets, or a table with a row for each item of each basket.
        basket, item
            The columns of such a table; not needed if it has these two alone, in this order.
        progress
            Called with (stage, done, total); what it raises ends the run.

        Returns
        -------
        BasketRelease
            Checked against the original by code that the search does not share.
        """
        read = read_baskets(data, basket, item)
        names, n_full = read.frame["item"], read.frame["basket"].n_unique()
        if n_full < self.k:
            fact = f"No release of {counted(n_full, 'basket')} with items can keep k = {self.k}"
            raise InfeasibleError(fact, f"use k = {n_full}, or less", best={"k": n_full})
        tree = self._tree(names)
        numbered = ItemTree.of(tree)
        place = {value: at for at, value in enumerate(tree.leaves.to_list())}
        codes = names.replace_strict(place, default=None, return_dtype=pl.Int64)
        if codes.null_count():
            n = names.filter(codes.is_null()).n_unique()
            fact = f"The tree of items lacks {counted(n, 'item')} of the baskets"
            raise HierarchyError(fact, "add them to the tree, under the group that they belong to")
        pairs = np.unique(read.frame["basket"].to_numpy() * numbered.n_items + codes.to_numpy())
        number, code = np.divmod(pairs, numbered.n_items)
        search = Search.of(numbered, number, code, int(self.k), progress or (lambda *_: None))
        search.run(int(self.m), by_size=self.search == "apriori")
        release = BasketRelease.of(search, read, m=int(self.m), name=self.search)
        release.verify(data, basket=basket, item=item).raise_for_violations()
        return release

    def _tree(self, names: pl.Series) -> Taxonomy:
        given = self.hierarchy if self.hierarchy is not None else balanced(5)
        built = given if isinstance(given, Taxonomy) else given.build(names, None, None, 1)
        if not isinstance(built, Taxonomy):
            fact = "The hierarchy of items is no tree"
            raise HierarchyError(fact, "give a taxonomy, or a recipe that makes one, such as balanced(5)")
        return built
