"""Names of leaves that join values: each is made in one way, so that a name has no room for anything else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from incrowd.verify.labels import MISSING
from incrowd.verify.published import REST, Leaves

Node = tuple[int, str]
"""A node of the owner's tree by the height of its level and its name."""


def unused(name: str, taken: set[str], others: Collection[str | None]) -> str:
    """Return a name with ``(rest)`` appended until nothing else is called so, and take it."""
    while name in taken or name in others:
        name += REST
    taken.add(name)
    return name


def misnamed(q: Leaves, nodes: Mapping[Node, int], values: Sequence[str | None], levels: list[list[str]]) -> list[int]:
    """Return the places of joined leaves that are not called as the nodes of the owner's tree ask for.

    Parameters
    ----------
    nodes
        The nodes whose values were joined, and the place of each one's leaf.
    values, levels
        The owner's tree.
    """
    if not nodes:
        return []
    heights = {height for height, _ in nodes}
    last = {height: {name: at for at, name in enumerate(levels[height])} for height in heights}
    below: list[set[str]] = [{MISSING if value is None else value for value in values}]
    for level in levels[: max(heights)]:
        below.append(below[-1].union(level))
    taken: set[str] = set()
    wrong = []
    # a node is named after all that end before it, and after those that it holds
    for height, base in sorted(nodes, key=lambda node: (last[node[0]][node[1]], node[0])):
        place = nodes[height, base]
        name = unused(base, taken, below[height])
        told = {level[place] for level in q.levels[:height]} | ({str(q.leaves[place])} if q.is_text else set())
        wrong += [place] if told - {name} else []
    return wrong
