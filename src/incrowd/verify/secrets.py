"""The sensitive columns as a manifest describes them: their form, the values where shares are told, and their tree."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from incrowd.verify.domain import TYPES, Array, read_values, value_problems
from incrowd.verify.fields import Reading
from incrowd.verify.labels import write_value


@dataclass(frozen=True)
class Tree:
    """The tree along which closeness is measured: values in order, and their nodes in each level above, as numbers."""

    leaves: pl.Series
    nodes: Array


@dataclass(frozen=True)
class Sensitive:
    """The sensitive column as the manifest describes it; `values` and their `counts` only where shares are told.

    Where it lists `ranges`, every number is the beginning of its range.
    """

    name: str
    type: str
    form: str
    values: pl.Series | None
    counts: Array | None
    tree: Tree | None = None
    ranges: pl.Series | None = None

    @property
    def columns(self) -> list[str]:
        """Names of its columns in the payload."""
        if self.values is None:
            return [self.name]
        return [f"{self.name}={write_value(value)}" for value in self.values.to_list()]


def read_secrets(reading: Reading, manifest: dict[str, Any]) -> tuple[Sensitive, ...]:
    """Return the sensitive columns: one is written by itself, several as a list."""
    data = reading.field(manifest, "sensitive", "an object, a list of objects or null")
    if data is None:
        return ()
    if isinstance(data, list) and len(data) == 1:
        reading.private.append("sensitive is a list of one column, which is written by itself")
    entries = [(entry, f"sensitive[{at}].") for at, entry in enumerate(data)] if isinstance(data, list) else None
    read = [_read_sensitive(reading, entry, where) for entry, where in entries or [(data, "sensitive.")]]
    found = tuple(secret for secret in read if secret is not None)
    if len({secret.form for secret in found}) > 1:
        reading.manifest.append("sensitive columns are told in several forms")
    return found


def _read_sensitive(reading: Reading, data: dict[str, Any], where: str) -> Sensitive | None:
    name = reading.field(data, "name", "text", where)
    kind = reading.field(data, "type", "text", where)
    if kind is not None and kind not in TYPES:
        reading.manifest.append(f"{where}type is not one of {', '.join(TYPES)}")
    form = reading.field(data, "form", "text", where)
    if form not in (None, "exact", "counts", "shares"):
        reading.manifest.append("sensitive.form is none of exact, counts, shares")
    told = form in ("counts", "shares")
    along = ("leaves", "levels") if form == "exact" and "leaves" in data else ()
    ranged = ("ranges",) if "ranges" in data else ()
    known = ("name", "type", "form", *ranged, *along, *(("values", "counts") if told else ()))
    reading.closed(data, known, where.removesuffix("."))
    ranges = _read_ranges(reading, data, kind, where) if ranged else None
    if None in (name, kind, form) or not told:
        if None in (name, kind, form):
            return None
        tree = _read_tree(reading, data, str(kind), where) if along else None
        return Sensitive(str(name), str(kind), str(form), None, None, tree, ranges)
    counts = reading.field(data, "counts", "a list of counts", where)
    listed = reading.field(data, "values", "a list", where)
    if listed is None or counts is None or kind not in TYPES:
        return None
    values = read_values(listed, kind)
    if values is None:
        reading.manifest.append(f"{where}values holds something that is not of type {kind}")
        return None
    reading.manifest += [f"sensitive {problem}" for problem in value_problems(values)]
    if not values.is_sorted(nulls_last=False):
        reading.manifest.append("sensitive lists values that are not in increasing order")
    if len(counts) != len(values):
        reading.marginals.append(f"column {name!r} has {len(counts)} counts for {len(values)} values")
    if ranges is not None and not values.drop_nulls().is_in(ranges.implode()).all():
        reading.manifest.append(f"{where}values holds a number with which no range begins")
    return Sensitive(str(name), str(kind), str(form), values, np.array(counts, np.int64), None, ranges)


def _read_ranges(reading: Reading, data: dict[str, Any], kind: Any, where: str) -> pl.Series | None:  # noqa: ANN401
    """Return where ranges of numbers begin, in increasing order."""
    listed = reading.field(data, "ranges", "a list", where)
    values = None if listed is None or kind not in ("int", "float") else read_values(listed, kind)
    if kind == "float" and any(type(start) is not float or str(start) == "-0.0" for start in listed or ()):
        values = None  # one way to write each number
    if values is None or len(values) < 2 or values.null_count() or not (values[1:] > values[:-1]).all():
        reading.manifest.append(f"{where}ranges are not two or more numbers of its type in increasing order")
        return None
    return values


def _read_tree(reading: Reading, data: dict[str, Any], kind: str, where: str) -> Tree | None:
    """Return the tree of a sensitive column: nodes of a level lie in one of the next, and the last is the root."""
    listed = reading.field(data, "leaves", "a list", where)
    levels = reading.field(data, "levels", "a list of lists of texts", where)
    leaves = None if listed is None or kind not in TYPES else read_values(listed, kind)
    if leaves is None or not levels or any(len(level) != len(leaves) for level in levels):
        reading.manifest.append(f"{where}levels do not name a node for each of the leaves")
        return None
    if len(set(levels[-1])) != 1:
        reading.manifest.append(f"{where}levels do not end in one root")
    for below, above in pairwise(levels):
        if len(set(zip(below, above, strict=True))) != len(set(below)):
            reading.manifest.append(f"{where}levels are not nested")
    places: list[dict[str, int]] = [{} for _ in levels]
    nodes = [[own.setdefault(name, len(own)) for name in level] for own, level in zip(places, levels, strict=True)]
    return Tree(leaves, np.array(nodes, np.int64))
