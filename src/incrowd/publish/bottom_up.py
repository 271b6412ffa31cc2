"""BottomUp: bottom-up generalization for classification, the way back from where top-down specialization goes.

All values stand as they are. Each step replaces all children of one node by the node, for all rows, until every group
keeps the constraints. Of the nodes whose children are all in use, the one is taken that loses least information about
the class for the anonymity that it gains: IP(G) = I(G) / P(G), or I(G) where nothing is gained. I(G) is the information
gain of the split that is undone, for all its rows; P(G) by how much the smallest group grows. Only what stands in a
group that still breaks a constraint is generalized.

Guarantee: every group of rows with equal cells keeps k and whatever else was asked for. Cost: a step costs the groups
times the attributes, O(n M) at most; there are at most as many steps as nodes, so give columns of many numbers bins.
Use it to compare with TDS, which it mirrors; a greedy search that goes down sees more at once than one that goes up.
Without a class nothing is lost anywhere, and attributes are generalized in schema order.

Where we differ: I(G) is the paper's times the rows of the node. Groups of one row keep P(G) at 0 for most of the
search; I(G) of a node's own rows then saves small nodes and gives up whole columns (Adult, k = 50: CM 0.249, which is
that of a table without quasi-identifiers; with all rows 0.214, and TDS has 0.205).

Where the paper is silent: (1) Where no node makes the smallest group larger, I(G) decides. (2) The smallest group is
what P(G) is about, whatever the constraint is that still breaks. (3) Only nodes with a value of a group that breaks a
constraint are looked at; if none of these has all its children in use, all are. (4) Values without rows are not there:
a node is its values that occur. (5) Of equal IP(G) the first attribute is taken, and there the first node in domain
order; the gain is rounded to 2^-32 bits. (6) `Intervals` have the nodes of a balanced binary tree over their values; a
missing value joins the others at the root. (7) A cell is the closure of the rows that share a value, as in TDS.

Reference: Wang, Yu, Chakraborty: Bottom-up generalization: a data mining solution to privacy protection, ICDM 2004.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"age": [21, 22, 30, 31, 47, 48, 55, 56], "sex": list("fmfmfmfm"), "ill": list("nnnyyyyy")})
>>> release = ic.BottomUp(k=2).publish(people, ic.Schema(quasi={"age": ic.Intervals(), "sex": None}, sensitive="ill"))
>>> sorted(release.frame.select("age", "sex").unique().rows())
[('21-22', '*'), ('30-31', '*'), ('47-56', '*')]
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.domains import flatten, limits
from incrowd.kernels.groups import count_by_group, label_groups
from incrowd.kernels.information import conditional_entropy, n_log_n
from incrowd.kernels.limits import groups_hold
from incrowd.publish.global_recoding import Range, release_ranges
from incrowd.publish.iac import level_bounds, n_levels
from incrowd.publish.publisher import Choice, GroupPublisher, Progress
from incrowd.publish.specialize import UNITS, count_classes

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Node = tuple[int, int]
"""The first and the last of the values of an attribute that occur, by their place among these."""


@dataclass(frozen=True, kw_only=True)
class BottomUp(GroupPublisher):
    """Bottom-up generalization by information lost per anonymity gained.

    Parameters
    ----------
    k, l, l_kind, c, t, ordered, alpha
        What every group keeps: see `GroupPublisher`.
    """

    name: ClassVar[str] = "bottom_up"
    paper: ClassVar[str] = "Wang et al. 2004"
    kind: ClassVar[str] = "single-dimensional"
    cost: ClassVar[str] = "n M per node at most"
    recodes: ClassVar[bool] = True
    needs_hierarchies: ClassVar[bool] = True

    def n_steps(self, table: Table) -> float:
        """Return about how often the innermost loops run."""
        return float(table.codes.size) * sum(int((counts > 0).sum()) for counts in table.marginals)

    def choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells."""
        del rng
        trees = [Tree.of(table, m, counts) for m, counts in enumerate(count_classes(table, *table.classes))]
        cut = Cut(table, trees, table.n_values if self.privacy().about_sensitive else 0)
        bounds = limits(self.privacy(), table)
        n_nodes = sum(len(tree.children) for tree in trees)
        for done in range(n_nodes + 1):
            progress("generalizing", done, n_nodes)
            fails = ~groups_hold(cut.counts, cut.sizes, bounds)
            if not fails.any():
                break
            cut.generalize(*cut.best(fails))
        return cut.choice()


@dataclass
class Tree:
    """The nodes of an attribute, of values that occur only.

    Attributes
    ----------
    used
        The leaves that occur.
    leaves
        First and last leaf of each node.
    children, parent
        What is below and above each node; a node with one child is the child.
    lost
        I(G) of each node with children, in `UNITS`, times its rows.
    """

    used: Int64
    leaves: dict[Node, Range] = field(default_factory=dict)
    children: dict[Node, list[Node]] = field(default_factory=dict)
    parent: dict[Node, Node] = field(default_factory=dict)
    lost: dict[Node, float] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, m: int, counts: Int64) -> Tree:
        """Read the tree of an attribute, with how often each class occurs at each leaf."""
        hierarchy = table.hierarchies[m]
        tree = cls(np.flatnonzero(table.marginals[m]))
        above: list[Node] = []
        for level in range(1, n_levels(hierarchy) + 1):
            lo, hi = level_bounds(hierarchy, level)
            first = np.searchsorted(tree.used, lo[tree.used])
            last = np.searchsorted(tree.used, hi[tree.used], side="right") - 1
            ends = zip(first.tolist(), last.tolist(), lo[tree.used].tolist(), hi[tree.used].tolist(), strict=True)
            here = {(a, b): (low, high) for a, b, low, high in ends}
            tree.leaves |= here
            below = list(here)
            tree._put_below(above, below)
            above = below
        up_to = np.concatenate([np.zeros((1, counts.shape[1]), np.int64), np.cumsum(counts[tree.used], axis=0)])
        for node, parts in tree.children.items():
            tree.lost[node] = _information(np.array([up_to[b + 1] - up_to[a] for a, b in parts]))
        return tree

    def _put_below(self, above: list[Node], below: list[Node]) -> None:
        at = 0
        for node in above:
            own = []
            while at < len(below) and below[at][1] <= node[1]:
                own.append(below[at])
                at += 1
            if len(own) > 1:
                self.children[node] = own
                self.parent |= dict.fromkeys(own, node)


class Cut:
    """The nodes in use, and the groups of rows by them; a node in use is named by its first value.

    Attributes
    ----------
    values
        The nodes of each group, [groups x attributes].
    sizes, counts
        Rows of each group, and how many have which sensitive value, if that matters.
    """

    def __init__(self, table: Table, trees: list[Tree], n_values: int) -> None:
        self.table, self.trees, self.n_values = table, trees, n_values
        self.n_waiting = [{node: len(own) for node, own in tree.children.items()} for tree in trees]
        self.open: list[list[Node]] = [[] for _ in trees]
        self.in_use = [{(at, at) for at in range(len(tree.used))} for tree in trees]
        for m, nodes in enumerate(self.in_use):
            for node in sorted(nodes):
                self._tell_parent(m, node)
        codes = [np.searchsorted(tree.used, table.codes[:, m]) for m, tree in enumerate(trees)]
        self.group_of = np.arange(table.n_rows)
        self._group(np.asfortranarray(np.column_stack(codes).astype(np.int32)))

    def best(self, fails: npt.NDArray[np.bool_]) -> tuple[int, Node]:
        """Return the attribute and the node of the best step, where these groups break a constraint."""
        smallest = self.values[self.sizes == self.sizes.min()]
        least, best, otherwise = np.inf, None, None
        for m, tree in enumerate(self.trees):
            broken = np.unique(self.values[fails, m])
            low, high = int(smallest[:, m].min()), int(smallest[:, m].max())
            for node in self.open[m]:
                first, last = node
                price = tree.lost[node]
                if otherwise is None or price < otherwise[0]:
                    otherwise = price, m, node
                at = int(np.searchsorted(broken, first))
                if at == len(broken) or broken[at] > last:
                    continue
                if first <= low and high <= last and price > 0:  # only then can the smallest group grow
                    price /= max(1, self._smallest_with(m, node) - int(self.sizes.min()))
                if price < least:
                    least, best = price, (m, node)
        if best is None:
            assert otherwise is not None  # one group of all rows keeps the constraints, or the table was refused
            return otherwise[1:]
        return best

    def generalize(self, m: int, node: Node) -> None:
        """Replace the children of a node by it."""
        self.in_use[m] = (self.in_use[m] - set(self.trees[m].children[node])) | {node}
        self.open[m].remove(node)
        self._tell_parent(m, node)
        self._group(self._with(m, node))

    def choice(self) -> Choice:
        """Return the cells."""
        ranges: list[list[Range]] = []
        for tree, nodes, hierarchy in zip(self.trees, self.in_use, self.table.hierarchies, strict=True):
            unused = [(leaf, leaf) for leaf in range(hierarchy.n_leaves)]
            ranges.append([*unused, *(tree.leaves[node] for node in sorted(nodes))])
        return release_ranges(self.table, flatten(self.table.hierarchies), self.group_of, len(self.sizes), ranges)

    def _tell_parent(self, m: int, node: Node) -> None:
        parent = self.trees[m].parent.get(node)
        if parent is not None:
            self.n_waiting[m][parent] -= 1
            if self.n_waiting[m][parent] == 0:
                bisect.insort(self.open[m], parent)

    def _with(self, m: int, node: Node) -> Int32:
        values = self.values.copy(order="F")
        column = values[:, m]
        column[(column >= node[0]) & (column <= node[1])] = node[0]
        return values

    def _smallest_with(self, m: int, node: Node) -> int:
        label, n_groups = label_groups(self._with(m, node))
        return int(np.bincount(label, self.sizes, n_groups).min())

    def _group(self, values: Int32) -> None:
        label, n_groups = label_groups(values)
        first = np.empty(n_groups, np.int64)
        first[label[::-1]] = np.arange(len(label) - 1, -1, -1)
        self.values, self.group_of = np.asfortranarray(values[first]), label[self.group_of]
        self.sizes = np.bincount(self.group_of, minlength=n_groups)
        self.counts = np.zeros((n_groups, 0), np.int64)
        if self.n_values and (sensitive := self.table.sensitive) is not None:
            self.counts = count_by_group(self.group_of, sensitive, n_groups, self.n_values)


def _information(parts: Int64) -> float:
    """Return the information gain of a split into parts with these classes, in `UNITS`, times its rows."""
    logs, whole = n_log_n(int(parts.sum())), parts.sum(axis=0)[None]
    gain = conditional_entropy(whole, logs) - conditional_entropy(parts, logs)
    return float(np.rint(gain * UNITS)) * int(parts.sum())
