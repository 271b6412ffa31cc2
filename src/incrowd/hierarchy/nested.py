"""Trees as nested mappings and lists: mappings hold groups, lists hold leaves (and groups)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from incrowd.errors import HierarchyError
from incrowd.hierarchy.parents import ROOT, Levels, padded

Nested = Mapping[str, Any] | Sequence[Any]


def levels_of_nested(nested: Nested) -> Levels:
    """Return the level table of a nested tree, below a root ``*``; short branches are padded."""
    paths = [(path[-1], [str(node) for node in path[-2::-1]]) for path in _paths(nested)]
    if not paths:
        fact = "A nested taxonomy has no leaves"
        raise HierarchyError(fact, 'name at least one: {"group": ["leaf"]}')
    groups = {above for _, ancestors in paths for above in ancestors}
    both = next((str(leaf) for leaf, _ in paths if str(leaf) in groups), None)
    if both is not None:
        fact = f"A nested taxonomy has {both!r} at two depths: as a value and as a group"
        raise HierarchyError(fact, f"give the group another name, such as '{both} (all)'")
    return padded(paths)


def _paths(nested: Nested, above: tuple[str, ...] = (ROOT,)) -> Iterator[tuple[Any, ...]]:
    if isinstance(nested, Mapping):
        for name, below in nested.items():
            if below is None or (isinstance(below, Sequence | Mapping) and len(below) == 0):
                yield (*above, name)
            elif isinstance(below, str) or not isinstance(below, Sequence | Mapping):
                fact = f"A nested taxonomy has neither a list nor a mapping under {name!r}"
                raise HierarchyError(fact, f'put leaves into a list: {{"{name}": ["{below}"]}}')
            else:
                yield from _paths(below, (*above, str(name)))
    else:
        for leaf in nested:
            if isinstance(leaf, Mapping):
                yield from _paths(leaf, above)
            else:
                yield (*above, leaf)
