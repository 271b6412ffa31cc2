"""The promises: k, l of four kinds, t, alpha, LKC, beta, delta and width, counted with whole numbers and fractions."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations
from typing import Any

from checks.gauntlet.oracle.asked import key
from checks.gauntlet.oracle.domains import Values
from checks.gauntlet.oracle.matching import rows_left
from checks.gauntlet.oracle.told import Secrets, limits_of, share_columns, told_secrets

Counts = Counter[Any]


def judge_promises(
    manifest: dict[str, Any],
    table: dict[str, list[Any]],
    cells: list[list[Any]],
    values: list[Values],
    secrets: Secrets,
    problems: list[str],
) -> None:
    """Check every guarantee of a release of rows."""
    if manifest["recoding"] == "homogeneous":
        _judge_groups([along_tree(g, manifest, secrets) for g in manifest["guarantees"]], cells, secrets, problems)
    elif manifest["recoding"] == "non-homogeneous":
        _judge_each(manifest, table, cells, values, secrets, problems)
    else:
        problems.append("the recoding is neither homogeneous nor non-homogeneous")


def along_tree(guarantee: dict[str, Any], manifest: dict[str, Any], secrets: Secrets) -> dict[str, Any]:
    """Return a promise with the names of the nodes above each value, where it is measured along a tree."""
    if not guarantee.get("tree"):
        return guarantee
    about = next(a for a in told_secrets(manifest) if guarantee.get("column") in (None, a["name"]))
    values = {key(value): value for value in secrets[about["name"]]}
    order = sorted(values, key=lambda one: (values[one] is not None, _rank(values[one])))
    return guarantee | {"above": {one: [level[at] for level in about["levels"]] for at, one in enumerate(order)}}


def _rank(value: Any) -> Any:  # noqa: ANN401
    return value.encode() if isinstance(value, str) else 0 if value is None else value


def _judge_groups(
    guarantees: list[dict[str, Any]], cells: list[list[Any]], secrets: Secrets, problems: list[str]
) -> None:
    rows = list(zip(*cells, strict=True))
    keyed = {name: [key(value) for value in own] for name, own in secrets.items()}
    for guarantee in guarantees:
        column = guarantee.get("column", next(iter(keyed), None))
        keys = keyed[column] if column is not None else None
        others = [own for name, own in keyed.items() if name != column] if guarantee.get("others_known") else []
        if guarantee["kind"] == "lkc":
            sets = [c for size in range(1, guarantee["L"] + 1) for c in combinations(range(len(cells)), size)]
        else:
            sets = [tuple(range(len(cells)))]
        for known in sets:
            groups: dict[Any, list[int]] = {}
            for place, row in enumerate(rows):
                groups.setdefault(tuple(row[m] for m in known), []).append(place)
            for members in groups.values():
                for part in [members, *_parts(members, others)]:
                    own = Counter(keys[place] for place in part) if keys is not None else None
                    if not holds(guarantee, len(part), own, Counter(keys)):
                        problems.append(f"{len(part)} rows of a group of {len(members)} break {guarantee['kind']}")
                        return


def _parts(members: list[int], others: list[list[Any]]) -> list[list[int]]:
    """Return the parts of a group that share a value of another sensitive column."""
    return [[place for place in members if own[place] == v] for own in others for v in {own[m] for m in members}]


def holds(guarantee: dict[str, Any], size: int, counts: Counts | None, table: Counts) -> bool:
    """Say whether a group keeps a promise."""
    kind = guarantee["kind"]
    if kind == "k":
        return size >= guarantee["k"]
    if counts is None:
        return kind == "lkc" and guarantee["C"] == 1 and size >= guarantee["K"]
    top = Fraction(max(counts.values()), size)
    if kind == "lkc":
        return size >= guarantee["K"] and top <= Fraction(str(guarantee["C"]))
    if kind == "alpha":
        return top <= Fraction(str(guarantee["alpha"]))
    if kind in ("beta", "delta"):
        return alike(guarantee, size, counts, table)
    if kind == "width":
        return apart(counts) >= Fraction(str(guarantee["width"]))
    if kind == "t" and "above" in guarantee:
        return tree_distance(counts, table, guarantee["above"]) <= guarantee["t"] + 1e-9
    if kind == "t":
        return distance(counts, table, ordered=guarantee["ordered"]) <= guarantee["t"] + 1e-9
    return diverse(guarantee, size, counts)


def apart(counts: Counts) -> Any:  # noqa: ANN401 - a fraction, or infinite
    """Return how far apart the least and the greatest number of a group are; a missing one is no number."""
    numbers = [value for (_, value), n in counts.items() if n > 0 and value is not None]
    if not numbers or min(numbers) == max(numbers):
        return Fraction(0)
    if any(math.isinf(number) for number in numbers):
        return math.inf
    return Fraction(str(max(numbers))) - Fraction(str(min(numbers)))


def alike(guarantee: dict[str, Any], size: int, counts: Counts, table: Counts) -> bool:
    """Say whether no value gains too much on its share in the table, or changes it too much."""
    for value, n in table.items():
        p, q = Fraction(n, sum(table.values())), Fraction(counts[value], size)
        if guarantee["kind"] == "delta":
            if q == 0 or abs(math.log2(q / p)) >= guarantee["delta"]:
                return False
            continue
        gain = (q - p) / p
        if gain > Fraction(str(guarantee["beta"])) or (guarantee["enhanced"] and gain > -math.log(p) + 1e-9):
            return False
    return True


def diverse(guarantee: dict[str, Any], size: int, counts: Counts) -> bool:
    """Say whether a group is diverse in the way that is promised."""
    l, ranked = guarantee["l"], sorted(counts.values(), reverse=True)
    if guarantee["l_kind"] == "frequency":
        return Fraction(ranked[0], size) <= 1 / Fraction(str(l))
    if guarantee["l_kind"] == "distinct":
        return len(ranked) >= l
    if guarantee["l_kind"] == "entropy":
        return -sum(n / size * math.log(n / size) for n in ranked) >= math.log(l) - 1e-9
    return ranked[0] < Fraction(str(guarantee["c"])) * sum(ranked[int(l) - 1 :])


def tree_distance(counts: Counts, table: Counts, above: dict[Any, list[str]]) -> float:
    """Return the cost of moving a group's shares to the table's, node by node from the leaves (Li et al. 2007)."""
    size, whole, height = sum(counts.values()), sum(table.values()), len(next(iter(above.values())))
    extra = {(value,): Fraction(counts[value], size) - Fraction(table[value], whole) for value in table}
    cost = Fraction(0)
    for level in range(height):
        inside: dict[Any, list[Fraction]] = {}
        higher: dict[Any, Fraction] = {}
        for node, own in extra.items():
            names = above[node[0]] if level == 0 else above[node[1]]
            parent = (names[level], node[0] if level == 0 else node[1])
            inside.setdefault(parent[0], []).append(own)
            higher.setdefault(parent[0], Fraction(0))
            higher[parent[0]] += own
        for parts in inside.values():
            gained = sum((part for part in parts if part > 0), Fraction(0))
            cost += Fraction(level + 1, height) * min(gained, gained - sum(parts))
        some = {names[level]: value for value, names in above.items()}
        extra = {(name, some[name]): own for name, own in higher.items()}
    return float(cost)


def distance(counts: Counts, table: Counts, *, ordered: bool) -> float:
    """Return how far a group's distribution is from the table's."""
    size, whole = sum(counts.values()), sum(table.values())
    order = sorted(table, key=lambda item: (item[1] is not None, item[1]) if ordered else str(item))
    gaps = [Fraction(counts[value], size) - Fraction(table[value], whole) for value in order]
    if not ordered:
        return float(sum(map(abs, gaps)) / 2)
    if len(order) == 1:
        return 0.0
    total, run = Fraction(0), Fraction(0)
    for gap in gaps:
        run += gap
        total += abs(run)
    return float(total / (len(order) - 1))


def _judge_each(
    manifest: dict[str, Any],
    table: dict[str, list[Any]],
    cells: list[list[Any]],
    values: list[Values],
    secrets: Secrets,
    problems: list[str],
) -> None:
    """Non-homogeneous: every row fits k originals, and what it shows keeps l of each column."""
    shares = share_columns(manifest, table)
    n_rows = len(cells[0])
    if any(g["kind"] not in ("k", "l", "concealment") or "others_known" in g for g in manifest["guarantees"]):
        problems.append("a non-homogeneous release promises more than k, l and concealment")
        return
    k = next(g["k"] for g in manifest["guarantees"] if g["kind"] == "k")
    fitting_of: dict[Any, list[int]] = {}
    fits: list[list[int]] = []
    for place in range(n_rows):
        cell = tuple(column[place] for column in cells)
        if cell not in fitting_of:
            fitting_of[cell] = [
                other for other in range(n_rows) if all(v.fits(c, other) for v, c in zip(values, cell, strict=True))
            ]
        fitting = fitting_of[cell]
        fits.append(fitting)
        if len(fitting) < k:
            problems.append(f"row {place + 1} fits fewer than k originals")
            return
        for about in told_secrets(manifest) if shares else ():
            own = about["name"]
            told = [table[name][place] for name in shares[own]]
            wrong = _told_problem(about, told, place, fitting, secrets[own], limits_of(manifest["guarantees"], own))
            if wrong:
                problems.append(f"row {place + 1} {wrong}")
                return
    for least in (g["k"] for g in manifest["guarantees"] if g["kind"] == "concealment"):
        left = rows_left(fits)
        if min(left) < least:
            problems.append(f"somebody is left with {min(left)} rows after matching, and {least} are promised")


def _told_problem(
    about: dict[str, Any], told: list[int], place: int, fitting: list[int], secret: list[Any], least: dict[str, Any]
) -> str | None:
    """Say what is wrong with the distribution that a row shows."""
    total = sum(told)
    if min(told) < 0 or total <= 0:
        return "shows no distribution"
    if "l" in least and Fraction(max(told), total) > 1 / Fraction(str(least["l"]["l"])):
        return "shows a share above 1/l"
    if about["form"] == "shares":
        return "shows more than 10 000 parts" if total > 10_000 else None
    if total < least["k"]["k"]:
        return "counts fewer than k members"
    counted = Counter(str(secret[other]) for other in fitting)
    listed = [str(value) for value in _as_told(about, secret)]
    if any(n > counted[value] for n, value in zip(told, listed, strict=True)):
        return "counts a value more often than originals that fit have it"
    return "does not count its own value" if told[listed.index(str(secret[place]))] == 0 else None


def _as_told(about: dict[str, Any], secret: list[Any]) -> list[Any]:
    """Return the listed values as they stand in the original: None first, the rest in order."""
    distinct = {str(value): value for value in secret}
    known = sorted(
        (v for v in distinct.values() if v is not None), key=lambda v: v.encode() if isinstance(v, str) else v
    )
    found = ([None] if None in distinct.values() else []) + known
    return found if len(found) == len(about["values"]) else about["values"]
