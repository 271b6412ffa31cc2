"""Spans of decision trees and forests.

A leaf is reached by everybody whose public values pass the public tests on its path, whatever the private tests: those
can come out either way. So two people have the same span exactly when every public test that both reach sends them
the same way; a private test sends them both ways, and makes their span one of several classes. Every path of a trained
tree was taken by some row, so the private values that it needs exist. In a forest the classes are combinations of
leaves, and spans differ when they differ in any tree: the leaves that a person can reach in a tree tell how each
public test on the way came out, so they determine the combinations too. The test of a private column that public ones
tell counts as both: it cuts spans, and still everybody is sent both ways.

Repair: begin with every tree cut down to its root and put splits back, those that help prediction most first, as
long as no span falls below k. What is refused is refused for good, because spans only shrink; so no split could be
added to the result. The leaves of many trees together tell people apart, so little of a forest can stay; where one of
its trees predicts more when it is mended alone, it stays alone.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from incrowd.audit.inputs import Inputs
from incrowd.audit.subject import Limits
from incrowd.errors import InfeasibleError

Int64 = npt.NDArray[np.int64]
_LEAF = -1
_MOST_ALONE = 3  # trees of a forest that are tried alone: each takes as long as a tree's repair


class TreeView(Protocol):
    """A tree of anybody's, as the audit wants to see it."""

    def children(self, node: int) -> Int64:
        """Return the nodes below, none for a leaf."""

    def is_public(self, node: int) -> bool:
        """Tell whether the node's test is of a value that an attacker knows."""

    def is_secret(self, node: int) -> bool:
        """Tell whether it is of a private value; one that public values tell is both."""

    def branch(self, node: int, people: Int64) -> Int64:
        """Return the place, among the children, of the one that each person is sent to."""

    def leaves(self, people: Int64) -> Int64 | None:
        """Return the leaf of each person if no test of the tree is of a private value."""


def leaves_reached(tree: TreeView, among: Int64) -> Int64:
    """Return the leaf of each of these people, found by sending them down the tree."""
    found = np.zeros(len(among), np.int64)
    pending = [(0, np.arange(len(among)))]
    while pending:
        node, at = pending.pop()
        found[at] = node
        below = tree.children(node)
        if len(below):
            branch = tree.branch(node, among[at])
            pending += [(int(child), at[branch == place]) for place, child in enumerate(below)]
    return found


class PrunableTree(TreeView, Protocol):
    """A tree that can be mended by taking splits away."""

    def worth(self, node: int) -> float:
        """Return how much the split helps prediction."""

    def name(self, node: int) -> str:
        """Return the test in words."""


@dataclass(frozen=True)
class SklearnTree:
    """A tree as scikit-learn keeps it.

    `columns` are the features that it was given, of all that the model has.
    """

    tree: Any
    inputs: Inputs
    rows: npt.NDArray[np.float32] = field(repr=False)
    columns: Int64

    def children(self, node: int) -> Int64:
        """Return left and right."""
        left = self.tree.children_left[node]
        return np.array([] if left == _LEAF else [left, self.tree.children_right[node]], np.int64)

    def is_public(self, node: int) -> bool:
        """Look the feature up."""
        return bool(self.inputs.public[self.columns[self.tree.feature[node]]])

    def is_secret(self, node: int) -> bool:
        """Look the feature up."""
        return bool(self.inputs.secret[self.columns[self.tree.feature[node]]])

    def branch(self, node: int, people: Int64) -> Int64:
        """Compare with the threshold, in the precision that scikit-learn uses."""
        values = self.rows[people, self.columns[self.tree.feature[node]]]
        right = ~(values <= self.tree.threshold[node])
        if hasattr(self.tree, "missing_go_to_left") and self.tree.missing_go_to_left[node]:
            right &= ~np.isnan(values)
        return np.asarray(right, np.int64)

    def leaves(self, people: Int64) -> Int64 | None:
        """Ask the tree itself."""
        tested = self.columns[self.tree.feature[self.tree.children_left != _LEAF]]
        if self.inputs.secret[tested].any():
            return None
        return np.asarray(self.tree.apply(np.ascontiguousarray(self.rows[people][:, self.columns])))

    def worth(self, node: int) -> float:
        """Return the decrease of impurity, by number of training rows."""
        weighted = self.tree.weighted_n_node_samples * self.tree.impurity
        return float(weighted[node] - weighted[self.children(node)].sum())

    def name(self, node: int) -> str:
        """Return the comparison."""
        source = self.inputs.sources[int(self.columns[self.tree.feature[node]])]
        return f"{source} <= {self.tree.threshold[node]:.6g}"


@dataclass(frozen=True)
class RankTree:
    """A tree of multi-way tests of leaf ranks, as `KAnonymousTreeClassifier` keeps it.

    A node tests one attribute; part p holds ranks up to its end, and a part without people has no node of its own.
    """

    tree: Any
    inputs: Inputs

    def children(self, node: int) -> Int64:
        """Return the nodes of all parts, and one place more for values that no part holds."""
        if node == _LEAF or self.tree.nodes[node, 0] == _LEAF:
            return np.empty(0, np.int64)
        _, first, end = self.tree.nodes[node]
        return np.append(self.tree.children[first:end], _LEAF)

    def is_public(self, node: int) -> bool:
        """Look the attribute up."""
        return bool(self.inputs.public[self.tree.nodes[node, 0]])

    def is_secret(self, node: int) -> bool:
        """Look the attribute up."""
        return bool(self.inputs.secret[self.tree.nodes[node, 0]])

    def branch(self, node: int, people: Int64) -> Int64:
        """Find the part that each rank is in."""
        m, first, end = self.tree.nodes[node]
        ranks = self.inputs.values[people, m]
        return np.asarray(np.where(ranks < 0, end - first, np.searchsorted(self.tree.ends[first:end], ranks)))

    def leaves(self, people: Int64) -> Int64 | None:
        """Leave it to the walk: such trees are small."""
        del people
        return None

    def reached(self) -> Int64:
        """Return how many people come to each node."""
        reached = np.zeros(len(self.tree.nodes), np.int64)
        pending = [(0, np.arange(self.inputs.n_people))]
        while pending:
            node, people = pending.pop()
            reached[node] = len(people)
            children = self.children(node)
            if len(children):
                branch = self.branch(node, people)
                below = [(int(child), people[branch == place]) for place, child in enumerate(children)]
                pending += [(child, there) for child, there in below if child != _LEAF]
        return reached


class Partition:
    """People by span, refined test by test."""

    def __init__(self, inputs: Inputs, among: Int64) -> None:
        classes = np.zeros(inputs.n_people, np.int64) if inputs.classes is None else inputs.classes
        self.classes = inputs.classes
        self.span_of = classes.copy() if inputs.class_public else np.zeros_like(classes)
        self.n_spans = int(classes.max()) + 1
        several = not inputs.class_public and (inputs.classes is None or len(np.unique(classes)) > 1)
        self.multiple = np.full(self.n_spans, several)
        self.people = np.bincount(self.span_of[among], minlength=self.n_spans)

    def parts(self, people: Int64, branch: Int64, n_branches: int) -> tuple[Int64, Int64, Int64, Int64]:
        """Return the parts into which a public test cuts the spans of people: (span, size, part of each person)."""
        pairs, part_of, sizes = np.unique(
            self.span_of[people] * n_branches + branch, return_inverse=True, return_counts=True
        )
        return pairs // n_branches, sizes, part_of, people

    def cut(self, parts: tuple[Int64, Int64, Int64, Int64]) -> None:
        """Make each part a span of its own."""
        old, sizes, part_of, people = parts
        first, last = self.n_spans, self.n_spans + len(sizes)
        while last > len(self.people):  # room for twice as many, so that it is seldom made
            self.people = np.concatenate([self.people, np.zeros_like(self.people)])
            self.multiple = np.concatenate([self.multiple, np.zeros_like(self.multiple)])
        self.span_of[people] = first + part_of
        self.people[first:last] = sizes
        self.multiple[first:last] = self.multiple[old]
        self.n_spans = last

    def class_counts(self, people: Int64, part_of: Int64, n_parts: int) -> Int64 | None:
        """Count the classes of the people in each part."""
        if self.classes is None:
            return None
        width = int(self.classes.max()) + 1
        counts = np.bincount(part_of * width + self.classes[people], minlength=n_parts * width)
        return np.asarray(counts.reshape(n_parts, width))

    def tell(self, people: Int64) -> None:
        """Note that a private test sends people both ways."""
        self.multiple[self.span_of[people]] = True

    def unsettled(self, people: Int64) -> Int64:
        """Return those of these people for whom a test can still change anything."""
        spans = self.span_of[people]
        open_ = (self.people[spans] > 1) | ~self.multiple[spans]
        return np.asarray(people[open_])

    def numbered(self, people: Int64) -> tuple[Int64, npt.NDArray[np.bool_]]:
        """Return the spans of these people, numbered from 0."""
        used, span_of = np.unique(self.span_of[people], return_inverse=True)
        return span_of, self.multiple[used]


def find_spans(trees: Sequence[TreeView], inputs: Inputs) -> tuple[Int64, npt.NDArray[np.bool_]]:
    """Send everybody down every tree; return the number of each person's span, and which spans have several classes."""
    alike, person_of = inputs.known_alike()
    span_of, multiple = _find_spans(trees, inputs, alike)
    return span_of[person_of], multiple


def _find_spans(trees: Sequence[TreeView], inputs: Inputs, everybody: Int64) -> tuple[Int64, npt.NDArray[np.bool_]]:
    """Send one of each kind of people down every tree."""
    partition = Partition(inputs, everybody)
    for tree in trees:
        leaves = tree.leaves(everybody)
        if leaves is not None:
            partition.cut(partition.parts(everybody, leaves, int(leaves.max()) + 1))
        pending = [(0, everybody)] if leaves is None else []
        while pending:
            node, reaching = pending.pop()
            children, people = tree.children(node), partition.unsettled(reaching)
            if len(children) == 0 or len(people) == 0:
                continue
            if tree.is_secret(node):
                partition.tell(people)
            if not tree.is_public(node):
                pending += [(int(child), people) for child in children]
                continue
            branch = tree.branch(node, people)
            if branch.min() < branch.max():
                partition.cut(partition.parts(people, branch, len(children)))
            pending += _sent(tree, node, people, branch)
    return partition.numbered(everybody)


@dataclass(frozen=True)
class Grown:
    """What can stay of trees: their splits, in words what has to go, and the node at which each person ends."""

    kept: list[set[int]]
    dropped: list[str]
    node_of: list[Int64]

    def accuracy(self, inputs: Inputs) -> float:
        """Return the share of people whose class is the likeliest by the mean of the trees."""
        assert inputs.classes is not None
        classes = np.unique(inputs.classes, return_inverse=True)[1]
        votes = np.zeros((len(classes), int(classes.max()) + 1))
        for nodes in self.node_of:
            counts = np.zeros((int(nodes.max()) + 1, votes.shape[1]))
            np.add.at(counts, (nodes, classes), 1)
            votes += (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))[nodes]
        return float((votes.argmax(axis=1) == classes).mean())


def grow_back(trees: Sequence[PrunableTree], inputs: Inputs, limits: Limits) -> Grown:
    """Put back the splits of trees, the most useful first, as long as every crowd is kept."""
    everybody = np.arange(inputs.n_people)
    partition = Partition(inputs, everybody)
    _require_feasible(partition, everybody, inputs, limits)
    grown = Grown([set() for _ in trees], [], [np.zeros(len(everybody), np.int64) for _ in trees])
    queue = [(-tree.worth(0), t, 0, everybody) for t, tree in enumerate(trees) if _splits(tree, 0)]
    heapq.heapify(queue)
    while queue:
        _, t, node, people = heapq.heappop(queue)
        tree = trees[t]
        below = _put_back(tree, node, people, partition, limits)
        if below is None:
            where = f"tree {t + 1}, " if len(trees) > 1 else ""
            grown.dropped.append(f"collapse {where}node {node} ({tree.name(node)}), reached by {len(people)} people")
            continue
        grown.kept[t].add(node)
        here = np.flatnonzero(grown.node_of[t] == node)
        grown.node_of[t][here] = tree.children(node)[tree.branch(node, here)]
        for child, there in below:
            if _splits(tree, child):
                heapq.heappush(queue, (-tree.worth(child), t, child, there))
    return grown


def best_tree(trees: Sequence[PrunableTree], inputs: Inputs, limits: Limits) -> tuple[int, Grown]:
    """Return the tree of a forest that predicts most when it is mended alone, of those that begin best."""
    order = sorted(range(len(trees)), key=lambda t: -trees[t].worth(0) if _splits(trees[t], 0) else 0.0)
    found = [(t, grow_back([trees[t]], inputs, limits)) for t in order[:_MOST_ALONE]]
    return max(found, key=lambda one: one[1].accuracy(inputs))


def _require_feasible(partition: Partition, everybody: Int64, inputs: Inputs, limits: Limits) -> None:
    """Refuse what not even models without splits keep."""
    n = inputs.n_people
    if not partition.multiple.any():
        return
    if n < limits.k:
        fact = f"The table has {n} people, fewer than k = {limits.k}: even a model without splits tells too much"
        raise InfeasibleError(fact, f"use k = {n} or less", best={"k": n})
    whole = np.zeros(n, np.int64)
    if limits.broken(np.array([n]), partition.class_counts(everybody, whole, 1))[0]:
        fact = "The classes of the whole table are less diverse than asked for: even a model without splits tells them"
        raise InfeasibleError(fact, "ask for a smaller l, or a larger max_confidence")


def _splits(tree: TreeView, node: int) -> bool:
    return len(tree.children(node)) > 0


def _put_back(
    tree: TreeView, node: int, people: Int64, partition: Partition, limits: Limits
) -> list[tuple[int, Int64]] | None:
    """Put a split back if every span keeps its crowd, and return who can reach each child."""
    children = tree.children(node)
    branch = tree.branch(node, people) if tree.is_public(node) else np.zeros(len(people), np.int64)
    parts = partition.parts(people, branch, len(children))
    counts = partition.class_counts(people, parts[2], len(parts[1])) if limits.about_classes else None
    # A private test goes both ways for everybody who has the span, and only some of them may come here.
    sizes = parts[1] if tree.is_public(node) else partition.people[parts[0]]
    tells = partition.multiple[parts[0]] | tree.is_secret(node)
    if (limits.broken(sizes, counts) & tells).any():
        return None
    if tree.is_public(node):
        partition.cut(parts)
    if tree.is_secret(node):
        partition.tell(people)
    return _sent(tree, node, people, branch)


def _sent(tree: TreeView, node: int, people: Int64, branch: Int64) -> list[tuple[int, Int64]]:
    """Return who can reach each child: by a private test everybody can reach all, however well public columns tell it.

    What tells a private column may be wrong about some people, and to those the test can still come out either way.
    """
    children = tree.children(node)
    if tree.is_secret(node):
        return [(int(child), people) for child in children]
    return [(int(child), people[branch == place]) for place, child in enumerate(children)]
