"""Hierarchies and recipes from plain data: the inverse of ``to_dict``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from incrowd.errors import HierarchyError
from incrowd.hierarchy.builders import BUILDERS, Builder
from incrowd.hierarchy.hierarchy import Spec, check_known_keys, leaves_from_data
from incrowd.hierarchy.intervals import Intervals
from incrowd.hierarchy.taxonomy import Taxonomy
from incrowd.hierarchy.tree_files import KINDS


def from_dict(data: Mapping[str, Any], folder: Path | None = None) -> Spec | None:
    """Make a hierarchy, a recipe or ``None`` (suppress-only) from plain data.

    Parameters
    ----------
    data
        What ``to_dict`` returned, or the hierarchy of a column in a schema file.
    folder
        Where relative files are looked up.
    """
    kind = data.get("kind")
    if kind == "suppress":
        check_known_keys(data, {"kind"}, "A suppress-only hierarchy")
        return None
    if kind == "intervals":
        return _intervals(data)
    if kind in KINDS:
        return _taxonomy(data, folder or Path())
    if isinstance(kind, str) and kind in BUILDERS:
        return Builder.from_data(data)
    fact = f"A hierarchy is of unknown kind {kind!r}"
    raise HierarchyError(fact, f"use one of suppress, intervals, taxonomy, {', '.join(BUILDERS)}, codes, pairs, nested")


def _intervals(data: Mapping[str, Any]) -> Intervals:
    check_known_keys(data, {"kind", "type", "values", "low", "high"}, "An intervals hierarchy")
    if "values" not in data:
        return Intervals(low=data.get("low"), high=data.get("high"))
    values = list(data["values"])
    return Intervals(leaves_from_data(values, data["type"]) if "type" in data else values)


def _taxonomy(data: Mapping[str, Any], folder: Path) -> Taxonomy:
    if "file" in data:
        check_known_keys(data, {"kind", "file", "column", "inner_values"}, "A hierarchy in a file")
        settings = {name: value for name, value in data.items() if name != "file"}
        return Taxonomy.read(folder / data["file"], **settings)
    if data["kind"] != "taxonomy":
        fact = f"A hierarchy of kind {data['kind']!r} has no file"
        raise HierarchyError(fact, f"name one: kind = {data['kind']!r}, file = 'column.csv'")
    check_known_keys(data, {"kind", "type", "leaves", "levels", "file", "nested"}, "A taxonomy")
    if "nested" in data:
        return Taxonomy.from_nested(data["nested"])
    if "leaves" in data:
        return Taxonomy.from_data(data)
    fact = "A taxonomy has neither a file nor leaves nor nested names"
    raise HierarchyError(fact, 'write hierarchy = { kind = "taxonomy", file = "column.csv" }')
