"""A k-anonymous tree for people: as text, as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from incrowd import plots
from incrowd.hierarchy import Hierarchy, Intervals
from incrowd.hierarchy.hierarchy import text
from incrowd.kernels.tree import NONE
from incrowd.learn.induction import Bool, Tree


@dataclass(frozen=True)
class View:
    """A tree with the names of what it looks at."""

    tree: Tree
    hierarchies: tuple[Hierarchy, ...]
    names: Sequence[str]
    public: Bool
    classes: Sequence[Any]

    def branches(
        self, node: int, box: dict[int, tuple[int, int]]
    ) -> Iterator[tuple[str, int, dict[int, tuple[int, int]]]]:
        """Yield test, child and the ranges of leaf ranks of each part that has rows."""
        m, parts = int(self.tree.nodes[node, 0]), self.tree.parts(node)
        first, last = box.get(m, (0, self.hierarchies[m].n_leaves - 1))
        for end, child in parts:
            piece = (first, min(end, last))
            first = end + 1
            if child != NONE:
                yield self._test(m, piece, last), child, box | {m: piece}

    def _test(self, m: int, piece: tuple[int, int], last: int) -> str:
        hierarchy, name = self.hierarchies[m], self.names[m]
        if isinstance(hierarchy, Intervals) and hierarchy.ordered:
            below = piece[1] < last
            at = piece[1] if below else piece[0] - 1
            leaves = text(hierarchy.leaves[at : at + 2])
            missing = " or missing" if below and piece[0] == 0 and hierarchy.has_missing else ""
            if hierarchy.has_missing and at == 0:
                return f"{name} is missing" if below else f"{name} is known"
            if hierarchy.type == "date":
                return f"{name} up to {leaves[0]}{missing}" if below else f"{name} from {leaves[1]}"
            low, high = hierarchy.leaves[at : at + 2].cast(pl.Float64()).to_list()
            return f"{name} {'<=' if below else '>'} {_between(low, high)}{missing}"
        lo, hi = hierarchy.closure(*(np.array([end], np.int32) for end in piece))
        return f"{name} = {hierarchy.label(int(lo[0]), int(hi[0]))}"

    def outcome(self, node: int) -> str:
        """Write the classes of a node, the most frequent first."""
        counts = self.tree.counts[node]
        order = np.argsort(-counts, kind="stable")
        return ", ".join(f"{self.classes[c]}: {counts[c]}" for c in order if counts[c] > 0)

    def lines(self, node: int = 0, indent: str = "", box: dict[int, tuple[int, int]] | None = None) -> Iterator[str]:
        """Yield one line for each test, with the classes behind a test that leads to a leaf."""
        if self.tree.nodes[node, 0] == NONE:
            yield indent + self.outcome(node)
            return
        for test, child, inside in self.branches(node, box or {}):
            mark = "" if self.public[self.tree.nodes[node, 0]] else " (private)"
            if self.tree.nodes[child, 0] == NONE:
                yield f"{indent}{test}{mark}  ->  {self.outcome(child)}"
            else:
                yield f"{indent}{test}{mark}"
                yield from self.lines(child, indent + "|   ", inside)

    def draw(self, theme: plots.Theme) -> Any:  # noqa: ANN401
        """Draw the tree from left to right: a test on every branch, the classes at every leaf."""
        height = max(3.0, 0.28 * self.tree.n_leaves)
        figure = plots.figure(width=2.6 * (self.tree.depth + 1), height=height, theme=theme)
        axes = figure.axes[0]
        axes.set_axis_off()
        colours = plots.PALETTE[theme]
        next_row = iter(range(self.tree.n_leaves))

        def place(node: int, depth: int, box: dict[int, tuple[int, int]]) -> float:
            if self.tree.nodes[node, 0] == NONE:
                row = float(-next(next_row))
                colour = colours[int(self.tree.counts[node].argmax()) % len(colours)]
                axes.text(depth + 0.04, row, self.outcome(node), va="center", fontsize=7, color=colour)
                return row
            below = [(test, place(child, depth + 1, inside)) for test, child, inside in self.branches(node, box)]
            row = sum(y for _, y in below) / len(below)
            for test, y in below:
                axes.plot([depth, depth + 0.12, depth + 1], [row, y, y], color=colours[-1], linewidth=0.8)
                axes.text(depth + 0.15, y, test, va="bottom", fontsize=7)
            return row

        place(0, 0, {})
        axes.set_xlim(-0.05, self.tree.depth + 1)
        axes.set_ylim(-self.tree.n_leaves + 0.2, 0.8)
        return figure


def _between(low: float, high: float) -> str:
    """Write a number that parts two values: in six digits if they are enough, else in full; the lower one belongs."""
    middle = low / 2 + high / 2
    middle = middle if low <= middle < high else low
    short = f"{middle:.6g}"
    return short if low <= float(short) < high else repr(middle)
