"""Names of joined values and of nodes that tell no rare value.

Recipes name a node after the values below it. What is published is named after those that enough rows have, and of
numbers and dates by bounds that are no rare values either: the range of the name holds every value of the node, and
may be wider.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.hierarchy import Taxonomy
from incrowd.hierarchy.hierarchy import number_text
from incrowd.hierarchy.taxonomy import Step
from incrowd.release.atoms import numbers_of
from incrowd.release.cut_points import between

OTHERS = "|others"
"""Behind the names of a joined leaf: rare ones, which are not told."""

_WRITTEN_OUT = 4


def name_together(names: Sequence[str], common: Sequence[bool]) -> str | None:
    """Name values after the common ones among them; ``None`` if there is none.

    >>> name_together(["low", "mid", "high"], [True, False, True])
    'low|high|others'
    """
    listed = [name for name, told in zip(names, common, strict=True) if told]
    more = len(listed) < len(names)
    if not listed:
        return None
    if len(listed) <= _WRITTEN_OUT:
        return "|".join(listed) + (OTHERS if more else "")
    return f"{listed[0]} to {listed[-1]}" + (" and others" if more else "")


def without_rare_names(tree: Taxonomy, counts: npt.NDArray[np.int64], least: int) -> Taxonomy:
    """Return a tree whose nodes are named after values, with names that tell only values of at least `least` rows.

    Nodes with fewer rows stay as they are: they are not published.
    """
    common = counts >= least
    if (not tree.named_by_leaves and not tree.steps) or common.all():
        return tree
    up_to = np.concatenate([[0], np.cumsum(counts)])
    bounds = _Bounds(tree.leaves, common.tolist(), tree.level_names[0]) if tree.ordered else None
    uppers = [list(level) for level in tree.level_names[1:]]
    for height in range(1, tree.n_levels - 1):
        step = tree.steps.get(height) or (Step(0, tree.n_levels - 1) if tree.named_by_leaves else None)
        if step is not None:
            _rename(tree, uppers[height - 1], height, step, up_to, least, bounds if tree.named_by_leaves else None)
    return tree.renamed(uppers)


def _rename(
    tree: Taxonomy,
    level: list[str],
    height: int,
    step: Step,
    up_to: npt.NDArray[np.int64],
    least: int,
    bounds: _Bounds | None,
) -> None:
    """Rename the nodes of a level whose names tell nodes below them that have few rows."""
    first_of, last_of = tree.levels()
    names = tree.level_names[step.below]
    units = np.unique(first_of[step.below])  # where the nodes begin that names are made of
    rows = up_to[last_of[step.below][units] + 1] - up_to[units]
    is_common = (rows >= least).tolist()
    starts = np.unique(first_of[height])
    ends = last_of[height][starts]
    published = (up_to[ends + 1] - up_to[starts] >= least) & (starts < ends)
    taken = set(level)
    others = 0
    for first, last in zip(starts[published].tolist(), ends[published].tolist(), strict=True):
        a, b = (int(at) for at in np.searchsorted(units, [first, last], side="right") - 1)
        if all(is_common[at] for at in _told(a, b, ordered=bounds is not None)):
            continue
        told = (
            bounds.name(first, last)
            if bounds
            else name_together([names[unit] for unit in units[a : b + 1].tolist()], is_common[a : b + 1])
        )
        if told is None and step.above < tree.n_levels - 1:
            told = f"part of {tree.level_names[step.above][first]}"
        if told is None:
            others += 1
            told = f"others {others}"
        told = _distinct(told, taken)
        taken.add(told)
        level[first : last + 1] = [told] * (last + 1 - first)


def _distinct(name: str, taken: set[str]) -> str:
    """Return the name, or with a number that tells it from others."""
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name} ({number})"
    return found


def _told(first: int, last: int, *, ordered: bool) -> list[int]:
    """Return the leaves that the name of a node tells."""
    return list(range(first, last + 1)) if not ordered and last - first < _WRITTEN_OUT else [first, last]


class _Bounds:
    """Bounds of ranges that are no rare values."""

    def __init__(self, leaves: pl.Series, common: Sequence[bool], names: Sequence[str]) -> None:
        self._missing = int(leaves[0] is None)
        self._numbers, self._common, self._names = numbers_of(leaves).tolist(), common, names
        self._kind = "date" if leaves.dtype == pl.Date else "float" if leaves.dtype.is_float() else "int"

    def name(self, first: int, last: int) -> str:
        """Write the range of these leaves, or a little more."""
        low, high = self._below(first), self._above(last)
        if low is None or high is None:
            return "all" if low is high else f"up to {high}" if low is None else f"from {low}"
        return f"{low} to {high}" if self._kind == "date" or low.startswith("-") else f"{low}-{high}"

    def _below(self, at: int) -> str | None:
        while not self._common[at]:
            if at <= self._missing:
                return None
            if (cut := self._cut(at - 1)) is not None:
                return cut
            at -= 1
        return self._names[at]

    def _above(self, at: int) -> str | None:
        while not self._common[at]:
            if at + 1 == len(self._numbers):
                return None
            if (cut := self._cut(at)) is not None:
                return cut
            at += 1
        return self._names[at]

    def _cut(self, before: int) -> str | None:
        cut: Any = between(self._numbers[before], self._numbers[before + 1], self._kind)
        return cut if cut is None or isinstance(cut, str) else number_text(cut)
