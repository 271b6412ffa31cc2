"""Dictionaries of levels, as programs keep them.

*Lists*: ``{0: values, 1: their groups, 2: ...}``, the n-th entry of each list about the same value, as anjana has them.
A value may be listed many times, always with the same groups.
*Mappings*: ``{1: {value: group}, 2: {group: larger group}}``, as recodings with sdcMicro are written down. A level maps
the names of the level below, or the values themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from incrowd.errors import HierarchyError, counted
from incrowd.hierarchy.parents import Levels, Where, entry_number

_EXAMPLE = '{0: ["Nurse", "Cook"], 1: ["Health", "Food"]}'


def is_levels(data: object) -> bool:
    """Whether this is a mapping from levels 0, 1, ... or 1, 2, ... to lists or mappings."""
    if not isinstance(data, Mapping) or not all(_is_collection(entry) for entry in data.values()):
        return False
    keys = sorted(map(str, data), key=lambda key: (len(key), key))
    return keys in ([str(n) for n in range(len(data))], [str(n) for n in range(1, len(data) + 1)]) and len(data) > 0


def levels_of_maps(data: object) -> Levels:
    """Return the leaves and the names of each level above them."""
    if not is_levels(data) or not isinstance(data, Mapping):
        fact = "A dictionary of levels has other keys than 0, 1, 2, ..., or values that are no lists"
        raise HierarchyError(fact, f"write {_EXAMPLE}")
    levels = {int(str(key)): entry for key, entry in data.items()}
    mapped = [height for height, entry in levels.items() if isinstance(entry, Mapping)]
    if not mapped:
        return _of_lists([[_plain(name) for name in levels[height]] for height in sorted(levels)], 0 in levels)
    if any(height > 0 and height not in mapped for height in levels):
        fact = "A dictionary of levels has both lists and mappings above its values"
        raise HierarchyError(fact, "use one of them for all levels")
    return _of_maps(levels)


def unrepeated(leaves: Sequence[Any], uppers: Sequence[Sequence[str]]) -> Levels:
    """Return a level table in which every leaf is listed once; repeated ones must have equal ancestors."""
    rows = list(zip(leaves, *uppers, strict=True))
    check_nested(rows, entry_number)
    once = list({str(row[0]): row for row in reversed(rows)}.values())[::-1]
    return [row[0] for row in once], [[str(row[height]) for row in once] for height in range(1, len(uppers) + 1)]


def check_nested(rows: Sequence[Sequence[Any]], where: Where) -> None:
    """Every name of a level has one name above it; else say which has two, and where."""
    height = len(rows[0])
    for level in range(height - 1):
        above: dict[str, tuple[str, int]] = {}
        for at, row in enumerate(rows):
            name, parent = str(row[level]), str(row[level + 1])
            known, first = above.setdefault(name, (parent, at))
            if known != parent:
                what = f"{name!r} of level {level}" if level else repr(name)
                fact = f"The levels are not nested: {what} is under {known!r} in {where(first)} and under {parent!r} "
                fact += f"in {where(at)}"
                raise HierarchyError(fact, "give each name one parent, or use different names for different nodes")


def _of_lists(levels: list[list[Any]], from_values: bool) -> Levels:  # noqa: FBT001
    if not from_values:
        fact = "A dictionary of levels has no level 0, the values themselves"
        raise HierarchyError(fact, f"write {_EXAMPLE}")
    sizes = [len(level) for level in levels]
    wrong = next((height for height, size in enumerate(sizes) if size != sizes[0]), None)
    if wrong is not None:
        fact = f"Level {wrong} of a dictionary has {counted(sizes[wrong], 'entry', 'entries')}, and level 0 {sizes[0]}"
        raise HierarchyError(fact, "give every level one entry for each value of level 0")
    if not sizes[0]:
        fact = "A dictionary of levels has no values"
        raise HierarchyError(fact, f"write {_EXAMPLE}")
    return unrepeated(levels[0], [[str(name) for name in level] for level in levels[1:]])


def _of_maps(levels: Mapping[int, Any]) -> Levels:
    heights = sorted(height for height in levels if height > 0)
    lowest = {_plain(value): str(group) for value, group in levels[heights[0]].items()}
    leaves = [_plain(value) for value in levels.get(0, lowest)]
    values = below = [str(leaf) for leaf in leaves]
    uppers: list[list[str]] = []
    for height in heights:
        names = {str(name): str(group) for name, group in levels[height].items()}
        known = next((keys for keys in (below, values) if set(keys) <= set(names)), None)
        if known is None:
            lacking = counted(len(set(below) - set(names)), "name")
            fact = f"Level {height} of a dictionary says nothing about {lacking} of the level below"
            raise HierarchyError(
                fact, "map every name of the level below, or every value; one that stays maps to itself"
            )
        below = [names[name] for name in known]
        uppers.append(below)
    return unrepeated(leaves, uppers)


def _is_collection(entry: object) -> bool:
    return isinstance(entry, Collection | Iterable) and not isinstance(entry, str)


def _plain(value: Any) -> Any:  # noqa: ANN401
    return value.item() if hasattr(value, "item") else value
