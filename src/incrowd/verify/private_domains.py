"""The owner's exact domains: whether they are the originals' and lead to the leaves that were published."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np
import polars as pl

from incrowd.verify.domain import Array, are_whole, is_day, is_number, level_problems, read_values, value_problems
from incrowd.verify.fields import Reading
from incrowd.verify.joined_names import Node, misnamed, unused
from incrowd.verify.labels import write_value
from incrowd.verify.manifest import Claims
from incrowd.verify.originals import Column, Originals
from incrowd.verify.payload import Payload
from incrowd.verify.published import Leaves, Quasi, Ranges, numbers_of
from incrowd.verify.verdict import Findings

_WRITTEN_OUT = 4
_EPOCH = date(1970, 1, 1).toordinal()
_KEYS = ("name", "hierarchy", "counts", "leaf_of")
_TREE_KEYS = (("kind", "type", "leaves", "levels"), ("kind", "type", "values"))


def check_domains(
    findings: Findings,
    claims: Claims,
    payload: Payload,
    originals: Originals,
    entries: Sequence[dict[str, Any]],
    counts: Sequence[Array],
) -> list[Array | None]:
    """Judge the owner's domains; return the published leaf of each distinct value and of the missing one, by column."""
    problems: list[str] = []
    found: list[Array | None] = []
    declared: list[str] = []
    for m, (q, column, entry) in enumerate(zip(claims.quasi, originals.quasi, entries, strict=True)):
        wrong, leaf_of = _check_domain(q, column, entry, counts[m], payload.scales[m].ends, claims.least)
        problems += [f"column {q.name!r} {problem}" for problem in wrong]
        found.append(leaf_of)
        if isinstance(q, Ranges) and not wrong:
            listed = read_values(entry["hierarchy"]["values"], q.type)
            assert listed is not None
            numbers = numbers_of(listed.drop_nulls())
            declared += [q.name] if _end_at_nobody(payload.scales[m].ends, numbers, column) else []
    findings.judge("domains", problems, "every value of the originals, its count, and its published leaf")
    if declared and not problems:
        names = ", ".join(map(repr, declared))
        findings.skip(
            "declared values", f"cells of {names} end at values that nobody has: that they were declared cannot be seen"
        )
    return found


def _end_at_nobody(ends: Array | None, numbers: Array, column: Column) -> bool:
    """Tell whether cells begin or end at something that no original has, and that is no end of the domain either."""
    if ends is None or not len(numbers):
        return False
    strange = ends[~np.isin(ends, numbers_of(column.values))]
    return bool((~np.isin(strange, [numbers[0], numbers[-1]])).any())


def _check_domain(
    q: Quasi, column: Column, entry: dict[str, Any], counts: Array, ends: Array | None, least: int
) -> tuple[list[str], Array | None]:
    values, levels, problems = _read(q, entry)
    if values is None or problems:
        return problems or ["cannot be read"], None
    own = column.ranks_in(values)
    lost = int(((own < 0) & (counts > 0)).sum())
    if lost:
        return [f"lacks {lost} values of the originals"], None
    true = np.zeros(len(values), np.int64)
    true[own[own >= 0]] = counts[own >= 0]
    if entry["counts"] != true.tolist():
        problems.append("has counts that are not those of the originals")
    if isinstance(q, Ranges):
        numbers = numbers_of(values.drop_nulls())
        if ends is not None and not np.isin(ends, numbers).all():
            problems.append("has cells that begin or end at something else than a value")
        if q.exact and not np.array_equal(numbers, q.marks):
            problems.append("has other values than the manifest lists")
        return problems, None
    leaf_of = np.array(entry["leaf_of"], np.int64)
    problems += _leaf_problems(q, values, levels, leaf_of, true >= least)
    return problems, np.where(own < 0, -1, leaf_of[own]).astype(np.int32)


def _read(q: Quasi, entry: dict[str, Any]) -> tuple[pl.Series | None, list[list[str]], list[str]]:
    """Return the exact values, the names of their ancestors, and what is wrong with them."""
    reading = Reading()
    hierarchy = reading.field(entry, "hierarchy", "an object") or {}
    counts = reading.field(entry, "counts", "a list of counts")
    is_tree = q.kind == "taxonomy"
    listed = reading.field(hierarchy, "leaves" if is_tree else "values", "a list")
    levels = reading.field(hierarchy, "levels", "a list of lists of texts") if is_tree else []
    values = None if listed is None else read_values(listed, q.type)
    problems = reading.manifest
    if tuple(entry) != _KEYS or tuple(hierarchy) != _TREE_KEYS[not is_tree]:
        problems.append("has other keys than the format's, or in another order")
    if entry.get("name") != q.name or hierarchy.get("kind") != ("taxonomy" if is_tree else "intervals"):
        problems.append("is another column's, or of another kind")
    if hierarchy.get("type") != q.type or values is None or counts is None or levels is None:
        return None, [], [*problems, f"lists something that is not of type {q.type}"]
    problems += value_problems(values) + level_problems(levels, len(values))
    if isinstance(q, Leaves) and len(levels) != len(q.levels):
        problems.append(f"has {len(levels)} levels, and {len(q.levels)} were published")
    if isinstance(q, Ranges) and not values.is_sorted(nulls_last=False):
        problems.append("lists values that are not in increasing order")
    if len(counts) != len(values):
        problems.append(f"has {len(counts)} counts for {len(values)} values")
    leaf_of = entry.get("leaf_of")
    if isinstance(q, Ranges):
        problems += ["has leaves, and numbers speak for themselves"] if leaf_of is not None else []
    elif not isinstance(leaf_of, list) or len(leaf_of) != len(values) or not are_whole(leaf_of, 0, len(q.leaves)):
        problems.append("does not tell the published leaf of each value")
    return values, levels, problems


def _leaf_problems(q: Leaves, exact: pl.Series, levels: list[list[str]], leaf_of: Array, common: Array) -> list[str]:
    """Say where the published leaves are not those of the exact values."""
    names = _written(exact, q.type)
    order = np.argsort(leaf_of, kind="stable")
    ends = np.searchsorted(leaf_of[order], np.arange(len(q.leaves) + 1))
    joined, others = sorted(set(q.rest)), 0
    wrong = _wrong_alone(q, np.setdiff1d(np.arange(len(q.leaves)), joined), names, levels, order, ends)
    values = set(names)
    nodes: dict[Node, int] = {}
    taken: set[str] = set()
    bounds: dict[int, dict[str, tuple[float, float]]] = {}
    for place in joined:
        own = order[ends[place] : ends[place + 1]].tolist()
        if not own or names[own[0]] is None or write_value(q.leaves[place]) in values:
            fine = False
        elif q.kind == "names":
            told = _joined_name([str(names[at]) for at in own if common[at]], len(own))
            others += told is None
            told = unused(told or f"others {others}", taken, values)
            fine = own == [*range(own[0], own[-1] + 1)] and q.leaves[place] == told
        else:
            node = _ancestor_of(q, place, own, levels)
            fine = node is not None and nodes.setdefault(node, place) == place
            if fine and node is not None and not q.is_text:
                if node[0] not in bounds:
                    bounds[node[0]] = _bounds_of_nodes(exact, levels[node[0]])
                fine = _lies_in(q, place, bounds[node[0]][node[1]], len(names))
        if not fine:
            wrong.append(place)
    wrong += misnamed(q, nodes, names, levels)
    wrong += _with_a_closer_node(nodes, levels, order, ends)
    problems = [f"has a leaf, number {min(wrong) + 1}, that is not what the owner's domain says"] if wrong else []
    if q.kind == "names" and (np.diff(leaf_of) < 0).any():
        problems.append("has its names in another order")
    return problems[:1]


def _written(values: pl.Series, kind: str) -> list[str | None]:
    """Write values as labels do; the missing one stays missing."""
    if kind in ("str", "int", "date"):
        return values.cast(pl.String()).to_list()
    return [None if value is None else write_value(value) for value in values.to_list()]


def _wrong_alone(
    q: Leaves, places: Array, names: list[str | None], levels: list[list[str]], order: Array, ends: Array
) -> list[int]:
    """Return which of these leaves is not one exact value with the same ancestors."""
    alone = ends[places + 1] - ends[places] == 1
    wrong: list[int] = places[~alone].tolist()
    places = places[alone]
    own = order[ends[places]]
    told: list[Any] = [None if leaf is None else write_value(leaf) for leaf in q.leaves]
    differ = np.zeros(len(places), np.bool_)
    for published, exact in zip([told, *q.levels], [names, *levels], strict=True):
        differ |= np.array(published, object)[places] != np.array(exact, object)[own]
    return [*wrong, *places[differ].tolist()]


def _joined_name(listed: list[str], n_values: int) -> str | None:
    """Return the name of values that are joined, of which only the listed ones may be told."""
    if not listed:
        return None
    more = n_values > len(listed)
    if len(listed) > _WRITTEN_OUT:
        return f"{listed[0]} to {listed[-1]}" + (" and others" if more else "")
    return "|".join([*listed, *(["others"] if more else [])])


def _ancestor_of(q: Leaves, place: int, own: list[int], levels: list[list[str]]) -> tuple[int, str] | None:
    """Return the node, by level and name, whose rare values a leaf joins; ``None`` if it is in none."""
    for height in range(len(levels)):
        # nodes are contiguous and nested: what holds the first and the last holds all, and so do those above
        pairs = zip(levels[height:], q.levels[height:], strict=True)
        if all(exact[own[0]] == exact[own[-1]] == published[place] for exact, published in pairs):
            return height, levels[height][own[0]]
    return None


def _with_a_closer_node(nodes: dict[Node, int], levels: list[list[str]], order: Array, ends: Array) -> list[int]:
    """Return the joined leaves with a value that lies in a lower node whose values are joined, too."""
    lower: list[set[str]] = [set() for _ in levels]
    for height, name in nodes:
        lower[height].add(name)
    return [
        place
        for (height, _), place in nodes.items()
        for below in range(height)
        if lower[below]
        and any(levels[below][at] in lower[below] for at in order[ends[place] : ends[place + 1]].tolist())
    ]


def _bounds_of_nodes(values: pl.Series, level: list[str]) -> dict[str, tuple[float, float]]:
    """Return the smallest and the largest number or day below each node of a level."""
    table = pl.DataFrame({"node": level, "value": values.to_physical().cast(pl.Float64())}).drop_nulls()
    found = table.group_by("node").agg(pl.min("value").alias("low"), pl.max("value").alias("high"))
    return {node: (low, high) for node, low, high in found.iter_rows()}


def _lies_in(q: Leaves, place: int, bounds: tuple[float, float], n_values: int) -> bool:
    """Tell whether a number or date that stands for others lies among the values of their node.

    Where all whole numbers or days are taken, the next free one is behind as many as there are values.
    """
    leaf = q.leaves[place]
    if not (is_day(leaf) if q.type == "date" else is_number(leaf)):
        return False
    number = date.fromisoformat(leaf).toordinal() - _EPOCH if q.type == "date" else float(leaf)
    low, high = bounds
    beyond = n_values + 0.5 if q.type != "float" else n_values * math.ulp(max(abs(low), abs(high)))
    if low == high:  # around a single value
        beyond += max(10.0, abs(low))
    return low - beyond <= number <= high + beyond
