"""Inducing a k-anonymous decision tree (Algorithm 1), with the people of the table partitioned by span.

A leaf knows its rows and its *members*: everybody whose span contains it, that is, all who pass the public tests above
it whatever their private values are. A public split of a leaf divides the spans of its members; a private one turns
them *multiple*. A split that would leave a multiple span with too few people is not made.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from incrowd.domains import flatten
from incrowd.hierarchy import Hierarchy
from incrowd.hierarchy.hierarchy import Codes
from incrowd.kernels.domains import N_LEAVES, N_LEVELS, NODE_START
from incrowd.kernels.information import n_log_n
from incrowd.kernels.limits import Limits
from incrowd.kernels.tree import (
    NONE,
    People,
    best_split,
    best_splits,
    descend,
    divide_spans,
    forbid_thresholds,
    part_rows,
)

Bool = npt.NDArray[np.bool_]
Int64 = npt.NDArray[np.int64]
Gain = Literal["information", "gini"]
Place = int | tuple[int, int]
"""A leaf, or a part of a split without rows: its node and its number."""


@dataclass(frozen=True)
class Tree:
    """A tree of multi-way splits over leaf ranks.

    Attributes
    ----------
    nodes
        int64 [nodes x 3]: attribute (-1: a leaf), first and last + 1 place of its parts; node 0 is the root.
    ends, children
        Last leaf rank of each part, and its node; -1 for a part that has no rows.
    counts
        Rows of each class, [nodes x classes].
    """

    nodes: Int64
    ends: Int64
    children: Int64
    counts: Int64

    @property
    def n_leaves(self) -> int:
        """Number of leaves with rows."""
        return int((self.nodes[:, 0] == NONE).sum())

    @property
    def depth(self) -> int:
        """Largest number of tests on a path."""
        depth = np.zeros(len(self.nodes), np.int64)
        for node in range(len(self.nodes)):  # children come behind their parents
            for _, child in self.parts(node):
                if child != NONE:
                    depth[child] = depth[node] + 1
        return int(depth.max())

    def parts(self, node: int) -> list[tuple[int, int]]:
        """Return last leaf rank and child of each part of a node; none for a leaf."""
        _, first, end = self.nodes[node]
        return list(zip(self.ends[first:end].tolist(), self.children[first:end].tolist(), strict=True))

    def descend(self, codes: Codes) -> Int64:
        """Return the node at which each row ends."""
        return descend(codes, self.nodes, self.ends, self.children)

    def reach(self, row: Sequence[int], public: Bool) -> tuple[set[Place], dict[int, tuple[int, int]]]:
        """Return the places that a person can be in when private values vary, and the ranks that pass the same tests.

        Parameters
        ----------
        row
            Leaf ranks of the person; only public ones are looked at.
        """
        places: set[Place] = set()
        box: dict[int, tuple[int, int]] = {}
        pending = [0]
        while pending:
            node = pending.pop()
            m, parts = int(self.nodes[node, 0]), self.parts(node)
            if not parts:
                places.add(node)
                continue
            taken = range(len(parts))
            if public[m]:
                at = next(p for p, (end, _) in enumerate(parts) if row[m] <= end)
                first, last = box.get(m, (0, parts[at][0]))
                box[m] = (max(first, parts[at - 1][0] + 1 if at else 0), min(last, parts[at][0]))
                taken = range(at, at + 1)
            for p in taken:
                child = parts[p][1]
                if child == NONE:
                    places.add((node, p))
                else:
                    pending.append(child)
        return places, box


@dataclass(frozen=True)
class Training:
    """What a tree is induced from.

    Attributes
    ----------
    codes
        Leaf ranks, int32 [rows x attributes], columns contiguous.
    hierarchies
        One per attribute: a taxonomy is split into the nodes of a level, intervals at a threshold.
    classes, n_classes
        The class of each row.
    sensitive, n_values
        What the limits look at; ``n_values`` is 0 when they do not.
    public
        Which attributes everybody may know.
    weights
        How many equal rows each row stands for; ``None``: itself.
    """

    codes: Codes
    hierarchies: tuple[Hierarchy, ...]
    classes: Codes
    n_classes: int
    sensitive: Codes | None
    n_values: int
    public: Bool
    weights: Int64 | None = None


@dataclass(frozen=True)
class Induced:
    """A tree, and the spans of the people that it was induced from.

    Attributes
    ----------
    span_of
        Number of each person's span.
    multiple
        Which spans have more than one class.
    """

    tree: Tree
    span_of: Int64
    multiple: Bool

    def somebody(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the values of one person of each span."""
        some = np.empty(len(self.multiple), np.int64)
        some[self.span_of] = np.arange(len(self.span_of))
        return np.asarray(values[some])


@dataclass(frozen=True)
class _Leaf:
    rows: Int64
    members: Int64
    alone: bool
    """Whether rows and members are the same and one span, so that the limits are tested when candidates are sought."""
    lo: tuple[int, ...]
    hi: tuple[int, ...]


@dataclass
class _Growing:
    """The tree as lists, and the queue of candidates."""

    nodes: list[tuple[int, int, int]] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    children: list[int] = field(default_factory=list)
    counts: list[Int64] = field(default_factory=list)
    leaves: dict[int, _Leaf] = field(default_factory=dict)
    queue: list[tuple[float, int, int, int]] = field(default_factory=list)

    def finished(self) -> Tree:
        nodes, ends, children = (np.array(x, np.int64) for x in (self.nodes, self.ends, self.children))
        return Tree(nodes, ends, children, np.array(self.counts))


class Induction:
    """Algorithm 1.

    Parameters
    ----------
    training
        The table.
    limits
        What every multiple span keeps.
    class_public
        Whether the class is known to everybody: people of different classes then have different spans.
    gain
        What a split is judged by.
    """

    def __init__(self, training: Training, limits: Limits, *, class_public: bool = False, gain: Gain) -> None:
        n = len(training.codes)
        self._training, self._limits = training, limits
        self._domains = flatten(training.hierarchies)
        sensitive = training.classes if training.sensitive is None else training.sensitive
        labels = np.asfortranarray(np.column_stack([training.classes, sensitive]).astype(np.int32))
        n_labels = np.array([training.n_classes, training.n_values], np.int64)
        weights = np.ones(n, np.int64) if training.weights is None else training.weights
        logs = n_log_n(int(weights.sum())) if gain == "information" else np.zeros(0)
        self._people = People(np.asfortranarray(training.codes, np.int32), labels, n_labels, logs, weights)
        self._class_public = class_public
        self._span_of = training.classes.astype(np.int64) if class_public else np.zeros(n, np.int64)
        self._n_spans = training.n_classes if class_public else 1
        self._multiple = np.full(n + training.n_classes, not class_public, np.bool_)
        self._local = np.full(n + training.n_classes, NONE, np.int64)
        self._grown = _Growing()
        self._refused: set[tuple[object, ...]] = set()

    def run(self, progress: Callable[[int], None] = lambda _: None) -> Induced:
        """Return the tree; `progress` is called with the number of leaves."""
        training, grown = self._training, self._grown
        everybody = np.arange(len(training.codes))
        whole = tuple(hierarchy.n_leaves - 1 for hierarchy in training.hierarchies)
        root = _Leaf(everybody, everybody, not self._class_public, (0,) * len(whole), whole)
        self._add(root)  # lines 2 and 3
        while grown.queue:  # line 4: only candidates with positive gain are queued
            _, node, m, at = heapq.heappop(grown.queue)  # line 5
            leaf = grown.leaves.get(node)
            if leaf is None:  # line 8
                continue
            ends = self._ends(leaf, m, at)
            if self._keeps_anonymity(leaf, m, ends):  # line 6
                self._split(node, m, ends)  # lines 7 and 9
                progress(len(grown.leaves))
            else:
                self._generalize(node, m, at)  # line 11
        spans, span_of = np.unique(self._span_of, return_inverse=True)
        return Induced(grown.finished(), span_of.astype(np.int64), self._multiple[spans])

    def _add(self, leaf: _Leaf) -> int:
        """Add a leaf to the tree and its candidates, each attribute at its lowest level, to the queue."""
        grown, training = self._grown, self._training
        node = len(grown.nodes)
        grown.nodes.append((NONE, 0, 0))
        counts = np.bincount(training.classes[leaf.rows], self._people.weights[leaf.rows], training.n_classes)
        counts = counts.astype(np.int64)
        grown.counts.append(counts)
        grown.leaves[node] = leaf
        if np.count_nonzero(counts) > 1:
            gains, places = np.zeros(len(leaf.lo)), np.zeros(len(leaf.lo), np.int64)
            tested = training.public & leaf.alone
            best_splits(self._people, leaf.rows, tested, self._limits, self._domains, gains, places)
            for m in np.flatnonzero(places != NONE).tolist():
                heapq.heappush(grown.queue, (-float(gains[m]), node, m, int(places[m])))
        return node

    def _ends(self, leaf: _Leaf, m: int, at: int) -> Int64:
        """Return the last code of each part: nodes of a level, or the two sides of a threshold."""
        shape, lo, hi = self._domains.shape[m], leaf.lo[m], leaf.hi[m]
        if shape[N_LEVELS] == 0:
            return np.array([at, hi], np.int64)
        level = shape[NODE_START] + at * shape[N_LEAVES]
        return np.unique(self._domains.nodes[1, level + lo : level + hi + 1]).astype(np.int64)

    def _keeps_anonymity(self, leaf: _Leaf, m: int, ends: Int64) -> bool:
        """Divide the spans of a leaf's members, or turn them multiple, unless one would be left with too few people."""
        public = bool(self._training.public[m])
        if not public and not self._class_public:
            return True  # multiple already, and as large as before
        boxes = [(lo, hi) for lo, hi, known in zip(leaf.lo, leaf.hi, self._training.public, strict=True) if known]
        split = (*boxes, m, *(ends.tolist() if public else ()))
        if split in self._refused:  # for another leaf that the same people can reach: spans only get smaller since
            return False
        kept = ends if public else ends[-1:]
        n_spans = divide_spans(
            self._people, leaf.members, m, kept, not public, self._limits, self._span_of, self._multiple,
            self._n_spans, self._local,
        )  # fmt: skip
        self._n_spans = n_spans or self._n_spans
        if n_spans == 0:
            self._refused.add(split)
        return n_spans > 0

    def _split(self, node: int, m: int, ends: Int64) -> None:
        grown = self._grown
        leaf = grown.leaves.pop(node)
        public = bool(self._training.public[m])
        codes = self._people.codes[:, m]
        rows, begins = part_rows(codes, leaf.rows, ends)
        members, members_begin = rows, begins
        if leaf.members is not leaf.rows and public:
            members, members_begin = part_rows(codes, leaf.members, ends)
        first = len(grown.ends)
        grown.nodes[node] = (m, first, first + len(ends))
        grown.ends += ends.tolist()
        grown.children += [NONE] * len(ends)
        starts = [leaf.lo[m], *(ends[:-1] + 1).tolist()]
        for p, (lo, hi) in enumerate(zip(starts, ends.tolist(), strict=True)):
            if begins[p] == begins[p + 1]:
                continue
            own = rows[begins[p] : begins[p + 1]]
            reaching = members[members_begin[p] : members_begin[p + 1]] if public else leaf.members
            reaching = own if public and leaf.members is leaf.rows else reaching
            low, high = list(leaf.lo), list(leaf.hi)
            low[m], high[m] = lo, hi
            child = _Leaf(own, reaching, leaf.alone and public, tuple(low), tuple(high))
            grown.children[first + p] = self._add(child)

    def _generalize(self, node: int, m: int, at: int) -> None:
        """Queue a refused candidate again: a taxonomy one level up, a number at the best threshold that is allowed."""
        if not self._training.public[m]:
            return  # refused because of the spans that it would turn multiple, whatever the level or threshold
        leaf = self._grown.leaves[node]
        forbidden = np.zeros(0, np.bool_)
        if self._domains.shape[m, N_LEVELS] == 0:
            codes = self._people.codes[leaf.members, m]
            ordered = leaf.members[np.lexsort((codes, self._span_of[leaf.members]))]
            forbidden = np.zeros(int(self._domains.shape[m, N_LEAVES]), np.bool_)
            forbid_thresholds(self._people, ordered, m, self._limits, self._span_of, self._multiple, forbidden)
        gain, place = best_split(
            self._people, leaf.rows, m, at + 1, leaf.alone, self._limits, forbidden, self._domains
        )  # fmt: skip
        if place != NONE:
            heapq.heappush(self._grown.queue, (-float(gain), node, m, int(place)))


def places_of(tree: Tree, people: Codes, public: Bool) -> Iterator[set[Place]]:
    """Yield the places in the span of each of these people."""
    for row in people.tolist():
        yield tree.reach(row, public)[0]


def boxes_of(tree: Tree, people: Codes, public: Bool, hierarchies: Sequence[Hierarchy]) -> tuple[Codes, Codes]:
    """Return as legal cells the public leaf ranks that pass the same tests as each of these people."""
    lo = np.zeros(people.shape, np.int32)
    hi = np.tile(np.array([hierarchy.n_leaves - 1 for hierarchy in hierarchies], np.int32), (len(people), 1))
    for i, row in enumerate(people.tolist()):
        for m, (first, last) in tree.reach(row, public)[1].items():
            lo[i, m], hi[i, m] = first, last
    for m, hierarchy in enumerate(hierarchies):
        lo[:, m], hi[:, m] = hierarchy.closure(lo[:, m], hi[:, m])
    return lo, hi
