"""Projections: each row against its original, groups and joins of two parts."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

from checks.gauntlet.oracle.asked import Asked, key, same
from checks.gauntlet.oracle.files import Folder, Unreadable
from checks.gauntlet.oracle.rows import judge_about, rank

KEYS = (
    "format", "incrowd", "polars", "payload", "method", "guarantees", "rows", "missing", "class", "quasi_sets", "parts",
    "columns", "left_out", "dropped",
)  # fmt: skip


def judge_projections(found: Folder, asked: Asked, problems: list[str]) -> None:
    """Collect what is wrong with a release of projections."""
    manifest = found.manifest
    if tuple(manifest) != KEYS:
        fact = "the keys of the manifest are not those of the format"
        raise Unreadable(fact)
    judge_about(manifest, asked, problems)
    label = asked.target
    role = "sensitive" if label == asked.sensitive else "other"
    if manifest["class"]["name"] != label or manifest["class"]["role"] != role:
        problems.append("the class is not that of the schema")
    named = {name for known in manifest["quasi_sets"] for name in known}
    if not named <= set(asked.quasi) or set(asked.quasi) - named - set(manifest["left_out"]):
        problems.append("the sets of quasi-identifiers are not those of the schema")
    shown = [name for part in manifest["parts"] for name in part]
    if len(set(shown)) < len(shown) or set(shown) & set(asked.dropped) or label in shown:
        problems.append("parts share columns, or show what never leaves")
    about = {column["name"]: column for column in manifest["columns"]}
    if set(about) != set(shown) or any((about[n]["role"] == "quasi") != (n in asked.quasi) for n in shown):
        problems.append("the columns are not described as they are")
    features = {*asked.quasi, *asked.other, asked.sensitive} - {None, label}
    if set(shown) | set(manifest["left_out"]) != features or set(shown) & set(manifest["left_out"]):
        problems.append("a feature is neither shown nor left out, or both")
    if problems:
        return
    for place, part in enumerate(manifest["parts"]):
        _judge_part(found, asked, place, part, label or "", about, problems)
    if not problems:
        _judge_levels(found, [set(known) for known in manifest["quasi_sets"]], label or "", problems)


def _judge_part(
    found: Folder, asked: Asked, place: int, part: list[str], label: str, about: dict[str, Any], problems: list[str]
) -> None:
    table = found.tables[f"projection-{place + 1}"]
    rows = found.private[f"rows-{place + 1}"]["row"]
    if (
        list(table) != [*part, label]
        or len(rows) != len(table[label])
        or len(rows) != found.manifest["rows"]["released"]
    ):
        problems.append(f"projection {place + 1} has other columns or rows than the manifest says")
        return
    if sorted(rows) != asked.kept:
        problems.append(f"the row map of projection {place + 1} does not name every kept row once")
        return
    ranks = [tuple(map(rank, row)) for row in zip(*table.values(), strict=True)]
    if any(one > two for one, two in pairwise(ranks)):
        problems.append(f"projection {place + 1} is not in the order of what is published")
    own_class = asked.meant.get(label) or [_day(value) for value in asked.shown[label]]
    if not all(same(own_class[row], cell) for row, cell in zip(rows, table[label], strict=True)):
        problems.append(f"projection {place + 1} shows classes that are not their originals'")
    for name in part:
        _judge_column(about[name], asked, rows, table[name], problems)


def _day(value: Any) -> Any:  # noqa: ANN401
    """Return the day of a time: a class that is not sensitive is shown by days."""
    return value.date() if isinstance(value, dt.datetime) else value


def _judge_column(column: dict[str, Any], asked: Asked, rows: list[int], told: list[Any], problems: list[str]) -> None:
    name = column["name"]
    values = (asked.meant if column["role"] == "quasi" else asked.shown)[name]
    own = [values[row] for row in rows]
    if column["cuts"] is not None:
        cuts = column["cuts"]
        if sorted(set(cuts)) != cuts:
            problems.append(f"the cuts of {name!r} are not increasing")
        own = [None if value is None else _interval(cuts, float(value)) for value in own]
    lost = Counter(key(a) for a, b in zip(own, told, strict=True) if a is not None and b is None)
    if sum(lost.values()) != column["suppressed"]:
        problems.append(f"the suppressed rows of {name!r} are counted wrongly")
    if any(count != sum(1 for a in own if key(a) == value) for value, count in lost.items()):
        problems.append(f"a value of {name!r} is suppressed in some rows only")
    if not all(b is None or same(a, b) for a, b in zip(own, told, strict=True)):
        problems.append(f"{name!r} does not show its originals")


def _interval(cuts: list[float], value: float) -> str:
    place = sum(1 for cut in cuts if cut < value)
    words = [f"{cut:.6g}" if float(f"{cut:.6g}") == cut else repr(cut) for cut in cuts]
    if not cuts:
        return "(-inf-inf)"
    if place == 0:
        return f"(-inf-{words[0]}]"
    return f"({words[-1]}-inf)" if place == len(cuts) else f"({words[place - 1]}-{words[place]}]"


def _judge_levels(found: Folder, sets: list[set[str]], label: str, problems: list[str]) -> None:
    limits = {g["kind"]: g for g in found.manifest["guarantees"]}
    k = limits["k"]["k"]
    tables = [found.tables[f"projection-{place + 1}"] for place in range(len(found.manifest["parts"]))]
    for known in sets:
        joint: list[Counter[Any]] = []
        for table in tables:
            own = [name for name in table if name in known and name != label]
            groups = [tuple(key(table[name][row]) for name in own) for row in range(len(table[label]))]
            sizes = Counter(groups)
            both = Counter(zip(groups, map(key, table[label]), strict=True))
            if min(sizes.values()) < k:
                problems.append("a combination of a projection is shared by fewer than k rows")
            if "l" in limits and any(
                Fraction(n, sizes[group]) > 1 / Fraction(str(limits["l"]["l"])) for (group, _), n in both.items()
            ):
                problems.append("a group of a projection has a class with more than 1/l")
            joint.append(both)
        for one, two in combinations(joint, 2):
            if any(n * m < k for (_, c), n in one.items() for (_, d), m in two.items() if c == d):
                problems.append("a combination of two joined projections occurs fewer than k times")
