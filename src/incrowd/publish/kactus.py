"""kACTUS: the paths of a classification tree are released; all that the tree did not ask about is suppressed.

Grow a C4.5 tree for the class over the quasi-identifiers. From the bottom up, look at a node whose children are
leaves: children that keep the constraints stay, those that do not are rolled up into the node, where they become one
leaf without the node's attribute. If they do not keep the constraints together either, they borrow rows from complying
siblings. Each leaf that is left is a group: the attributes on its path keep a value (or, for numbers, a range), every
other attribute is suppressed.

Guarantee: every group of rows with equal cells keeps k and whatever else was asked for; no row is left out.
Cost: O(n M) per level of the tree, in which equal rows of a class count once. Needs no hierarchies, and uses only
leaves and root of a taxonomy.
Use it when classifiers will be trained on the release and hierarchies are missing or poor; not when recipients have
questions of their own, and not without a class: what does not help to tell the class is gone.

The tree, which the paper leaves to C4.5 (J48): (1) highest gain ratio among attributes of at least average gain; a
branch per occurring value of a name, two around a threshold for a number, whose gain pays log2(thresholds) / n; a
missing number has a branch of its own. (2) Two branches, for numbers both sides of the threshold, must have `min_rows`
rows, by default k: smaller ones would be rolled up anyway. (3) Nodes of one class, or without a gain, are leaves.
(4) Pessimistic pruning by subtree replacement, at a `confidence` of 0.5, the mildest that C4.5 knows, because rolling
up prunes too. Gains that differ by less than 1e-9 are equal; the first attribute and the lowest threshold win.

Rolling up, where the paper is silent or we differ: (5) the sibling that has most rows beyond k lends first, as many as
it can, then the next; equals in the order of branches. Which rows it lends is decided by a random order of all rows,
drawn once per run (`seed` repeats it). (6) Borrowing repairs size only: nothing is borrowed unless both sides then keep
l, t and alpha too. (7) When borrowing does not do, the smallest complying sibling is rolled up as well, then the next
smallest, until the constraints hold: the whole node is pruned only if nothing less does. If even that does not hold,
siblings stay and the rest is rolled up one node further. (8) What does not keep the constraints at the root, which the
paper removes, borrows from or takes in groups from anywhere in the tree by the same rules, and is released
with every attribute suppressed. (9) Ranges are tightened to the rows of the group.

New rows (`Release.transform`) get the group at the end of their path. So would the few rows that were lent, which the
release itself shows with a shorter path: do not hand out the original table recoded by `transform`.

Reference: Kisilevich, Rokach, Elovici, Shapira: Efficient multidimensional suppression for k-anonymity, IEEE TKDE
22 (3), 2010. The tree: Quinlan: C4.5: Programs for Machine Learning, 1993.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"sex": list("ffffmmmm"), "age": [21, 52, 43, 34, 51, 22, 33, 44], "ill": list("yyynnnnn")})
>>> release = ic.KACTUS(k=4).publish(people, ic.Schema(quasi={"sex": None, "age": ic.Intervals()}, sensitive="ill"))
>>> sorted(release.frame.select("sex", "age").unique().rows())
[('f', '21-52'), ('m', '21-52')]
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.domains import flatten, limits
from incrowd.errors import ParameterError
from incrowd.kernels.domains import Domains, close_groups
from incrowd.kernels.information import n_log_n
from incrowd.kernels.kactus import (
    ATTRIBUTE,
    FIRST,
    N_BRANCHES,
    N_FIELDS,
    NONE,
    START,
    STOP,
    Growth,
    grow,
    leaves_of,
    on_path,
    prune,
    write_cuts,
)
from incrowd.kernels.limits import Limits, holds
from incrowd.publish.group_cuts import distinct_rows
from incrowd.publish.publisher import Choice, GroupPublisher, Progress
from incrowd.recoding import TreeRecoding

Int64 = npt.NDArray[np.int64]
Nodes = npt.NDArray[np.int32]
Leaves = dict[int, Int64]
"""The rows of each leaf, by its node of the tree."""

_SLICE = 4_000_000  # rows visited between two looks at progress and Ctrl-C
_HISTOGRAM = 8  # cells per row that counting may take


@dataclass(frozen=True, kw_only=True)
class KACTUS(GroupPublisher):
    """k-anonymity of classification trees using suppression.

    Parameters
    ----------
    k, l, l_kind, c, t, ordered, alpha
        What every group keeps; see `GroupPublisher`.
    min_rows
        Rows that at least two branches of a split must have; k if not given. C4.5's own is 2.
    confidence
        Of pessimistic pruning, above 0 and up to 0.5: smaller prunes more. C4.5's own is 0.25. ``None`` does not prune.
    """

    min_rows: int | None = None
    confidence: float | None = 0.5

    name: ClassVar[str] = "kactus"
    paper: ClassVar[str] = "Kisilevich et al. 2010"
    kind: ClassVar[str] = "multi-dimensional suppression"
    cost: ClassVar[str] = "n M depth"
    recodes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = isinstance(self.min_rows, int | np.integer) and not isinstance(self.min_rows, bool)
        if self.min_rows is not None and (not whole or self.min_rows < 1):
            fact = f"min_rows is {self.min_rows!r}"
            raise ParameterError(fact, "use a whole number from 1, or leave it out for k")
        number = isinstance(self.confidence, int | float | np.number) and not isinstance(self.confidence, bool)
        if self.confidence is not None and not (number and 0 < self.confidence <= 0.5):
            fact = f"confidence is {self.confidence!r}"
            raise ParameterError(fact, "use a number above 0 and up to 0.5, or None not to prune")

    def choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells."""
        lends = rng.permutation(table.n_rows)  # a row with a low number lends itself before others
        domains = flatten(table.hierarchies)
        nodes, leaves = self._grow(table, domains, progress)
        groups, taken_in = _Rolling(self._needs(table), self.k, lends).roll_up(nodes, leaves)
        return _release(table, domains, nodes, groups, taken_in)

    def _grow(self, table: Table, domains: Domains, progress: Progress) -> tuple[Nodes, Leaves]:
        """Grow and prune the tree; return its nodes, children behind their parents, and the rows of each leaf."""
        n, n_quasi = table.codes.shape
        classes, n_classes = table.classes
        rows, row_of = distinct_rows(table, [classes], strict=True)
        n_distinct, most_leaves = len(rows), max(hierarchy.n_leaves for hierarchy in table.hierarchies)
        growth = Growth(
            rows,
            spare=np.empty_like(rows),
            part=np.empty(n_distinct, np.int32),
            keys=np.empty(n_distinct, np.int64),
            sizes=np.empty(n_distinct, np.int64),
            histogram=np.empty(max(most_leaves, min(most_leaves * n_classes, _HISTOGRAM * n_distinct)), np.int64),
            counts=np.zeros((2, n_classes), np.int64),
            gains=np.zeros((n_quasi, 3), np.float64),
            logs=n_log_n(n),
        )
        nodes = np.full((2 * n_distinct, N_FIELDS), NONE, np.int32)
        nodes[0, START], nodes[0, STOP] = 0, n_distinct
        state = np.array([0, 1, 0], np.int64)
        least = int(self.k if self.min_rows is None else self.min_rows)
        while state[0] < state[1]:
            progress("growing", int(state[2]), n)
            grow(growth, nodes, state, n_classes, least, domains, _SLICE)
        nodes = nodes[: state[1]].copy()
        if self.confidence is not None:
            prune(nodes, float(self.confidence), NormalDist().inv_cdf(1 - self.confidence))
        progress("growing", n, n)
        leaf_of = leaves_of(rows, nodes)[row_of]
        order = np.argsort(leaf_of, kind="stable")
        ends, starts = np.unique(leaf_of[order], return_index=True)
        return nodes, dict(zip(ends.tolist(), np.split(order, starts[1:]), strict=True))

    def _needs(self, table: Table) -> _Needs:
        bounds = limits(self.privacy(), table)
        if not self.privacy().about_sensitive or table.sensitive is None:
            return _Needs(bounds, np.zeros(table.n_rows, np.int32), 0)
        return _Needs(bounds, table.sensitive, table.n_values)


@dataclass(frozen=True)
class _Needs:
    """What a group of rows must keep to comply."""

    bounds: Limits
    sensitive: npt.NDArray[np.int32]
    n_values: int

    def count(self, rows: Int64) -> Int64:
        """Return the sensitive counts that matter: none when only k does."""
        return np.bincount(self.sensitive[rows], minlength=self.n_values) if self.n_values else np.empty(0, np.int64)

    def kept_by(self, rows: Int64) -> bool:
        return holds(self.count(rows), len(rows), self.bounds)


@dataclass(frozen=True)
class _Rolling:
    """The paper's algorithm proper; `lends` is the order in which rows lend themselves."""

    needs: _Needs
    k: int
    lends: Int64

    def roll_up(self, nodes: Nodes, leaves: Leaves) -> tuple[Leaves, list[int]]:
        """Turn the leaves of a tree into complying groups; those rolled up stand at the node that they came to.

        Also returns the nodes whose groups the root took in.
        """
        leaves, groups = dict(leaves), {}
        for node in range(len(nodes) - 1, -1, -1):  # children before their parents
            if nodes[node, ATTRIBUTE] == NONE:
                continue
            first = int(nodes[node, FIRST])
            branches = range(first, first + int(nodes[node, N_BRANCHES]))
            children = {child: leaves.pop(child) for child in branches if child in leaves}
            complying = {child: rows for child, rows in children.items() if self.needs.kept_by(rows)}
            others = [rows for child, rows in children.items() if child not in complying]
            if others:
                leaves[node] = self._complete(np.concatenate(others), complying)
            groups.update(complying)
        before = list(groups)
        if 0 in leaves:  # what came up to the root, or a tree without a split
            groups[0] = self._complete(leaves[0], groups)
        return groups, [node for node in before if node not in groups]

    def _complete(self, rest: Int64, siblings: Leaves) -> Int64:
        """Return the rest with what it takes from siblings in order to comply; as it is if they cannot help."""
        if self.needs.kept_by(rest):
            return rest
        borrowed = self._borrow(rest, siblings)
        return self._take_in(rest, siblings) if borrowed is None else borrowed

    def _borrow(self, rest: Int64, siblings: Leaves) -> Int64 | None:
        """Fill the rest up to k rows from siblings that have more; ``None`` if one side would not comply."""
        needed = self.k - len(rest)
        if needed <= 0 or sum(len(rows) - self.k for rows in siblings.values()) < needed:
            return None
        lent, kept = [rest], {}
        for child in sorted(siblings, key=lambda child: (-len(siblings[child]), child)):
            n_lent = min(needed, len(siblings[child]) - self.k)
            if n_lent == 0:
                break
            rows = siblings[child][np.argsort(self.lends[siblings[child]])]
            lent.append(rows[:n_lent])
            kept[child] = rows[n_lent:]
            needed -= n_lent
        together = np.concatenate(lent)
        if not all(self.needs.kept_by(rows) for rows in (together, *kept.values())):
            return None
        siblings.update(kept)
        return together

    def _take_in(self, rest: Int64, siblings: Leaves) -> Int64:
        """Roll up the smallest siblings as well, until all of it complies; the rest as it is if it never does."""
        counts, n = self.needs.count(rest), len(rest)
        smallest_first = sorted(siblings, key=lambda child: (len(siblings[child]), child))
        for n_taken, child in enumerate(smallest_first, start=1):
            counts, n = counts + self.needs.count(siblings[child]), n + len(siblings[child])
            if holds(counts, n, self.needs.bounds):
                return np.concatenate([rest, *(siblings.pop(taken) for taken in smallest_first[:n_taken])])
        return rest


def _release(table: Table, domains: Domains, nodes: Nodes, groups: Leaves, taken_in: list[int]) -> Choice:
    """Release what is on a group's path, as tight as its rows allow, and suppress the rest."""
    cell_of = np.empty(table.n_rows, np.int64)
    for number, rows in enumerate(groups.values()):
        cell_of[rows] = number
    lo, hi = close_groups(table.codes, cell_of, len(groups), domains)
    ends = np.array(list(groups), np.int64)
    known = on_path(nodes, ends, table.n_quasi)
    for m, hierarchy in enumerate(table.hierarchies):
        lo[~known[:, m], m], hi[~known[:, m], m] = 0, hierarchy.n_leaves - 1
    group_of = np.full(len(nodes), NONE, np.int64)
    group_of[ends] = np.arange(len(groups))
    group_of[taken_in] = group_of[0]
    return Choice(lo, hi, cell_of, recoding=TreeRecoding(write_cuts(nodes, group_of), lo, hi))
