"""Trees given by the parent of each name: checked for circles and second parents, and turned into a level table.

*Unbalanced trees* are padded: a leaf that is less deep than others stands alone, under its own name, in the levels
between itself and its parent. So every level has one node for every leaf, and no two leaves are joined earlier than
their parents say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from incrowd.errors import HierarchyError

ROOT = "*"

Where = Callable[[int], str]
"""Says where the n-th entry stands, for messages: ``line 7``."""

Levels = tuple[list[Any], list[list[str]]]
"""The leaves, and one list of ancestors for each level above."""

_SHOWN = 6  # names of a circle that are listed


def entry_number(at: int) -> str:
    """Say where an entry stands that has no line.

    >>> entry_number(0)
    'entry 1'
    """
    return f"entry {at + 1}"


def pairs_of(given: object) -> list[tuple[Any, Any]]:
    """Return (child, parent) pairs from a frame with two columns, a mapping, or pairs."""
    if isinstance(given, pl.DataFrame):
        if given.width != 2:
            fact = f"A table of children and parents has {given.width} columns"
            raise HierarchyError(fact, "give it two: the child and its parent")
        return given.rows()
    if isinstance(given, Mapping):
        return list(given.items())
    found: list[tuple[Any, Any]] = []
    for entry in given if isinstance(given, Iterable) else [given]:
        if isinstance(entry, str) or not isinstance(entry, Sequence) or len(entry) != 2:
            fact = f"{entry_number(len(found)).capitalize()} of a tree is not a pair of a child and its parent"
            raise HierarchyError(fact, "give (child, parent) pairs; of a pandas frame, those of its columns zipped")
        found.append((entry[0], entry[1]))
    return found


def parents_of(
    pairs: Sequence[tuple[Any, Any]], where: Where = entry_number
) -> tuple[dict[str, str | None], list[Any]]:
    """Return the parent of each name, and the children as they were given.

    A child without a parent (nothing, an empty text, or itself) is a root. A pair that is repeated counts once.
    """
    parents: dict[str, str | None] = {}
    first: dict[str, int] = {}
    children: list[Any] = []
    for at, (child, above) in enumerate(pairs):
        if _is_nothing(child):
            fact = f"{where(at).capitalize()} of a tree has no child"
            raise HierarchyError(fact, "name a child and its parent; missing values need no entry")
        name = str(child)
        parent = None if _is_nothing(above) or str(above) == name else str(above)
        if name not in parents:
            parents[name], first[name] = parent, at
            children.append(child)
        elif parents[name] != parent:
            one, other = (f"{p!r}" if p is not None else "none" for p in (parents[name], parent))
            fact = f"{name!r} has two parents: {one} in {where(first[name])} and {other} in {where(at)}"
            raise HierarchyError(fact, "keep one of the two, or give the two places different names")
    if not parents:
        fact = "A tree has no pairs of a child and its parent"
        raise HierarchyError(fact, "give at least one: ('Nurse', 'Health')")
    return parents, children


def levels_of_parents(
    parents: Mapping[str, str | None],
    values: Sequence[Any] = (),
    *,
    inner_values: bool = False,
    named: Callable[[str], str] = str,
) -> Levels:
    """Return the level table of a tree.

    Parameters
    ----------
    parents
        The parent of each name; one that is only a parent is a root.
    values
        Leaves as they are to be kept, where they are not text.
    inner_values
        Whether names with others below them are values too, each with a leaf of its own among those below it.
    named
        What a node is called.
    """
    own = {str(value): value for value in values}
    tree = {**parents, **{p: None for p in parents.values() if p is not None and p not in parents}}
    inner = {parent for parent in tree.values() if parent is not None}
    _refuse_circles(tree)
    roots = [name for name, parent in tree.items() if parent is None]
    top = [] if len(roots) == 1 and roots[0] in inner else [ROOT]
    leaves = [name for name in tree if inner_values or name not in inner]
    called = _node_names(inner, set(leaves), named)
    paths = []
    for leaf in leaves:
        above, node = [], leaf if leaf in inner else tree[leaf]
        while node is not None:
            above.append(called[node])
            node = tree[node]
        paths.append((own.get(leaf, leaf), [*above, *top]))
    return padded(paths)


def padded(paths: Sequence[tuple[Any, Sequence[str]]]) -> Levels:
    """Return the level table of leaves and their ancestors, nearest first; short paths repeat the leaf's name.

    >>> padded([("a", ["x", "*"]), ("b", ["*"])])
    (['a', 'b'], [['x', 'b'], ['*', '*']])
    """
    height = max(len(above) for _, above in paths)
    table = [[str(leaf)] * (height - len(above)) + list(above) for leaf, above in paths]
    return [leaf for leaf, _ in paths], [list(level) for level in zip(*table, strict=True)]


def _is_nothing(name: Any) -> bool:  # noqa: ANN401
    return name is None or str(name) == "" or name != name  # noqa: PLR0124 - NaN, as pandas writes a missing parent


def _refuse_circles(tree: Mapping[str, str | None]) -> None:
    ends: set[str] = set()  # names from which the way up is known to end
    for name in tree:
        way: dict[str, None] = {}
        node: str | None = name
        while node is not None and node not in ends:
            if node in way:
                names = list(way)
                circle = [*names[names.index(node) :], node]
                shown = " below ".join(map(repr, circle[:_SHOWN])) + (" ..." if len(circle) > _SHOWN else "")
                fact = f"A tree goes in a circle: {shown}"
                raise HierarchyError(fact, "take one of these pairs out; a root has no parent")
            way[node] = None
            node = tree[node]
        ends.update(way)


def _node_names(inner: Iterable[str], leaves: set[str], named: Callable[[str], str]) -> dict[str, str]:
    """Name the nodes; one that would be called like a leaf has a star: E11* holds the leaf E11 and others."""
    called: dict[str, str] = {}
    for node in inner:
        name = named(node)
        while name in leaves:
            name += "*"
        called[node] = name
    return called
