"""Trees while somebody makes them: as pairs of child and parent, which are easy to change, and as pictures."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.errors import HierarchyError, ParameterError, counted

if TYPE_CHECKING:
    import polars as pl

    from incrowd.hierarchy import Hierarchy, Taxonomy

_MOST_BARS = 24
_PAIR = 2

FORMS = {
    "pairs": "a value and its group in each line",
    "taxonomy": "a value and all its groups in each line (ARX), or JSON",
    "codes": "codes that begin alike (ICD, ISCO), with or without labels",
}
"""The forms of a tree that somebody may paste, and what is in them."""


@dataclass(frozen=True)
class Strip:
    """Neighbouring leaves of a hierarchy, and how many rows have them; for the owner's eyes."""

    first: str
    last: str
    rows: int


def read_text(text: str, form: str, folder: Path) -> Path:
    """Write a pasted tree to a file, as `workflow.hierarchy` reads it.

    Parameters
    ----------
    form
        One of `FORMS`.
    folder
        The owner's private folder.
    """
    if form not in FORMS:
        fact = f"There is no form {form!r} of trees"
        raise ParameterError(fact, f"use one of {', '.join(FORMS)}")
    is_json = form == "taxonomy" and text.lstrip()[:1] in ("{", "[")
    path = folder / ("tree.json" if is_json else "tree.csv")
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8", newline="")
    return path


def read_tree(address: str, kind: str | None, settings: Mapping[str, Any]) -> Taxonomy:
    """Read a tree from a table of a database: pairs of child and parent, codes, or a column per level.

    Parameters
    ----------
    address
        A URL with the table, such as ``sqlite:///jobs.db#jobs``; its first columns are taken.
    kind
        ``pairs`` (of two columns the default), ``codes`` or ``taxonomy``.
    settings
        More settings, as of a file of this kind.
    """
    import polars as pl

    from incrowd.hierarchy import Taxonomy
    from incrowd.io import public_url, read

    frame = read(address).cast(pl.String())
    kind = kind or ("pairs" if frame.width == _PAIR else "taxonomy")
    if kind not in FORMS or (kind == "pairs" and frame.width < _PAIR):
        fact = f"The table '{public_url(address)}' has {counted(frame.width, 'column')}, and no tree of kind {kind!r}"
        raise ParameterError(fact, f"use one of {', '.join(FORMS)}; pairs have two columns, the child and its parent")
    if unknown := [name for name in settings if name != "inner_values" or kind == "taxonomy"]:
        fact = f"A table of kind {kind!r} has no setting {unknown[0]!r}"
        raise ParameterError(fact, "leave it out; inner_values belongs to pairs and codes")
    inner = settings.get("inner_values") is True
    if kind == "taxonomy":
        return Taxonomy.from_levels({level: column.to_list() for level, column in enumerate(frame.iter_columns())})
    pair = frame.select(frame.columns[:_PAIR])
    return (
        Taxonomy.from_pairs(pair, inner_values=inner)
        if kind == "pairs"
        else Taxonomy.from_codes(pair, inner_values=inner)
    )


def parents_of(tree: Taxonomy) -> dict[str, str]:
    """Return the parent of each name of a tree; an empty text for what is directly below the root."""
    from incrowd.hierarchy.parents import ROOT

    first = int(tree.has_missing)
    lo, hi = tree.levels()
    found: dict[str, str] = {}
    for leaf in range(first, tree.n_leaves):
        path = [(tree.level_names[0][leaf], leaf, leaf)]
        for level in range(1, tree.n_levels):
            node = (tree.level_names[level][leaf], int(lo[level, leaf]), int(hi[level, leaf]))
            if node != path[-1]:  # short branches are padded with their own name
                path.append(node)
        names = [name for name, _, _ in path]
        if len(names) > 1 and names[-1] == ROOT:
            names.pop()
        for child, parent in zip(names, [*names[1:], ""], strict=True):
            if found.setdefault(child, parent) != parent:
                fact = f"The tree has two different groups that are called {child!r}"
                raise HierarchyError(fact, "give them different names; until then change the tree as a file")
    return found


def moved(parents: Mapping[str, str], names: Sequence[str], group: str) -> dict[str, str]:
    """Return a tree in which names have another parent; groups that nothing is left in are gone.

    Parameters
    ----------
    parents
        The parent of each name.
    names
        Values and groups to move; values that are new to the tree are added.
    group
        The group that they go to, which may be new; an empty text for the top.
    """
    above, seen = group, set[str]()
    while above and above not in seen:
        if above in names:
            fact = f"Group {group!r} cannot go into itself"
            raise HierarchyError(fact, "choose another group")
        seen.add(above)
        above = parents.get(above, "")
    groups = set(parents.values()) - {""}
    if group in parents and group not in groups:
        fact = f"{group!r} is a value, not a group"
        raise HierarchyError(fact, "give the group another name")
    groups.add(group)
    changed = {**parents, **dict.fromkeys(names, group)}
    if group:
        changed.setdefault(group, "")
    while empty := (groups & set(changed)) - set(changed.values()):
        changed = {name: parent for name, parent in changed.items() if name not in empty}
    return changed


def pairs_text(parents: Mapping[str, str]) -> str:
    """Write a tree as lines of child and parent."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("child", "parent"))
    writer.writerows(parents.items())
    return out.getvalue()


def level_text(tree: Taxonomy, folder: Path, *, arx: bool) -> str:
    """Write a tree as a level table: one row per value, one column per level; for ARX with ``;`` and no header."""
    path = folder / "levels.csv"
    tree.write_csv(path, separator=";" if arx else ",", header=not arx)
    text = path.read_text(encoding="utf-8")
    path.unlink()
    return text


def strips(column: pl.Series, hierarchy: Hierarchy) -> tuple[Strip, ...]:
    """Return the leaves of a hierarchy in their order, a few together, with their rows."""
    import numpy as np

    from incrowd.hierarchy.hierarchy import OUTSIDE, text

    codes = hierarchy.encode(column)
    counts = np.bincount(codes[codes != OUTSIDE], minlength=hierarchy.n_leaves)
    names = text(hierarchy.leaves)
    first = int(hierarchy.has_missing)
    n = len(names) - first
    if n <= 0:
        return ()
    starts = np.unique(np.arange(min(n, _MOST_BARS)) * n // min(n, _MOST_BARS)) + first
    ends = [*(starts[1:] - 1).tolist(), len(names) - 1]
    rows = np.add.reduceat(counts, starts).tolist()
    return tuple(Strip(names[a], names[b], r) for a, b, r in zip(starts.tolist(), ends, rows, strict=True))
