"""Published domains: nothing rare in them, counts rounded as the format says, every original where it belongs."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from typing import Any

from checks.gauntlet.oracle.asked import key
from checks.gauntlet.oracle.labels import bounds_of, names_of, value_of

_NAMED = ("balanced", "bins", "frequency", "mdl")  # recipes that name nodes after their values
_MARKS = ("|", " to ", "others", "*", "up to", "from", "(rest)")


@dataclass(frozen=True)
class Values:
    """What the released originals are in one quasi-identifier: values of a range, or published leaves."""

    originals: list[Any]
    is_range: bool

    def fits(self, cell: tuple[Any, Any], place: int) -> bool:
        """Say whether the original at this place of the release is in a cell."""
        own, (lo, hi) = self.originals[place], cell
        if not self.is_range:
            return bool(lo <= own <= hi)
        if lo is None:
            return hi is not None or own is None
        return own is not None and bool(lo <= own <= hi)


def judge_domain(
    entry: dict[str, Any],
    own: dict[str, Any],
    originals: list[Any],
    kind: str,
    least: int,
    form: str,
    problems: list[str],
) -> Values:
    """Check the entry of a quasi-identifier, public and private, and return what the originals are in it."""
    name = entry["name"]
    if list(own) != ["name", "hierarchy", "counts", "leaf_of"] or own["name"] != name:
        problems.append(f"domains.json tells {name!r} otherwise than the format says")
    if form not in ("joined", "exact") or ((form == "joined") != (least > 1) and form == "joined"):
        problems.append("domains are neither joined nor exact")
    exact_leaves = [value_of(leaf, own["hierarchy"]["type"]) for leaf in _leaves(own["hierarchy"])]
    counted = Counter(map(key, originals))
    if [counted[key(leaf)] for leaf in exact_leaves] != own["counts"] or sum(own["counts"]) != len(originals):
        problems.append(f"domains.json counts {name!r} wrongly")
    if entry["kind"] == "intervals":
        _judge_ranges(entry, originals, least, form, problems)
        return Values(originals, is_range=True)
    leaf_of = dict(zip(map(key, exact_leaves), own["leaf_of"], strict=True))
    places = [leaf_of.get(key(value), -1) for value in originals]
    _judge_leaves(entry, exact_leaves, leaf_of, places, least, form, problems)
    _judge_tree(entry, own["hierarchy"], leaf_of, exact_leaves, kind, problems)
    rare = [leaf for leaf in exact_leaves if leaf is not None and 0 < counted[key(leaf)] < least]
    if form == "joined" and kind in _NAMED and entry["kind"] == "taxonomy" and _tells(entry, rare):
        problems.append(f"a node of {name!r} is named after a value that fewer than k rows have")
    return Values(places, is_range=False)


def _tells(entry: dict[str, Any], rare: list[Any]) -> bool:
    """Say whether a name of a node names a rare value; text that reads like a name of several is not looked at."""
    own = [place for place, leaf in enumerate(entry["leaves"]) if leaf is not None]  # "(missing)" may be a name, too
    names = {level[place] for level in entry["levels"] for place in own}
    if entry["type"] in ("str", "bool"):
        parts = {part for name in names for range_ in name.split("|") for part in range_.split(" to ")}
        texts = {text for value in rare for text in names_of(value)}
        return any(text in parts for text in texts if not any(mark in text for mark in _MARKS))
    ends = {end for name in names for pair in bounds_of(name, dates=entry["type"] == "date") for end in pair}
    return any(value in ends for value in rare)


def _leaves(hierarchy: dict[str, Any]) -> list[Any]:
    return list(hierarchy["leaves" if hierarchy["kind"] == "taxonomy" else "values"])


def allowed_counts(count: int, least: int, form: str) -> set[int]:
    """Return what may be told of a count."""
    if form == "exact":
        return {count}
    down = count // least * least
    return {down, down + least} if count % least else {down}


def _judge_ranges(entry: dict[str, Any], originals: list[Any], least: int, form: str, problems: list[str]) -> None:
    name, known = entry["name"], [value for value in originals if value is not None]
    n_missing = len(originals) - len(known)
    if (entry["missing"] is None and n_missing) or (
        entry["missing"] is not None and entry["missing"] not in allowed_counts(n_missing, least, form)
    ):
        problems.append(f"the missing values of {name!r} are counted wrongly")
    if form == "exact":
        values = [value_of(value, entry["type"]) for value in entry["values"]]
        counts = Counter(known)
        if sorted(set(values)) != values or not set(known) <= set(values):
            problems.append(f"the values of {name!r} are not listed in order")
        if [counts[value] for value in values] != entry["counts"]:
            problems.append(f"the values of {name!r} are counted wrongly")
        return
    cuts = [dt.date.fromisoformat(cut) if entry["type"] == "date" else cut for cut in entry["cuts"]]
    if sorted(set(cuts)) != cuts or set(cuts) & set(known) or len(entry["counts"]) != len(cuts) + 1:
        problems.append(f"the cuts of {name!r} are out of order, or values of the table")
        return
    inside = [sum(1 for value in known if _between(cuts, place, value)) for place in range(len(cuts) + 1)]
    if cuts and min(inside) < least:
        problems.append(f"a range of {name!r} has fewer than k rows")
    if any(told not in allowed_counts(n, least, form) for told, n in zip(entry["counts"], inside, strict=True)):
        problems.append(f"the ranges of {name!r} are counted wrongly")


def _between(cuts: list[Any], place: int, value: Any) -> bool:  # noqa: ANN401
    return (place == 0 or cuts[place - 1] < value) and (place == len(cuts) or value < cuts[place])


def _judge_leaves(
    entry: dict[str, Any],
    exact_leaves: list[Any],
    leaf_of: dict[Any, int],
    places: list[int],
    least: int,
    form: str,
    problems: list[str],
) -> None:
    name, leaves, rest = entry["name"], entry["leaves"], entry["rest"]
    inside = Counter(places)
    if len(entry["counts"]) != len(leaves) or any(
        told not in allowed_counts(inside[place], least, form) for place, told in enumerate(entry["counts"])
    ):
        problems.append(f"the leaves of {name!r} are counted wrongly")
    if set(leaf_of.values()) != set(range(len(leaves))) or -1 in inside:
        problems.append(f"the leaves of {name!r} are not those of domains.json")
    if form == "exact" and rest:
        problems.append(f"{name!r} has joined leaves in exact domains")
    for place in range(len(leaves)):
        members = [leaf for leaf in exact_leaves if leaf_of[key(leaf)] == place]
        rare = form == "joined" and inside[place] < least
        wrong = _rest_problem(entry, place, exact_leaves) if place in rest else _leaf_problem(entry, place, members)
        if place not in rest and rare and members != [None]:
            wrong = "is a value that fewer than k rows have"
        if (
            place in rest
            and entry["kind"] == "names"
            and rare
            and len([leaf for leaf in leaves if leaf is not None]) > 1
        ):
            wrong = "joins fewer than k rows"
        if wrong:
            problems.append(f"leaf {place} of {name!r} {wrong}")


def _leaf_problem(entry: dict[str, Any], place: int, members: list[Any]) -> str | None:
    single = len(members) == 1 and told_is(entry["leaves"][place], members[0])
    return None if single else "is not the value that it says"


def _rest_problem(entry: dict[str, Any], place: int, exact_leaves: list[Any]) -> str | None:
    """Say what is wrong with the name of a joined leaf: it is nobody's value, and in text its ancestor's name."""
    told = entry["leaves"][place]
    if not isinstance(told, str) or entry["type"] == "date":
        return "is called like a value" if value_of(told, entry["type"]) in exact_leaves else None
    if entry["kind"] == "taxonomy" and _bare(told) not in {_bare(level[place]) for level in entry["levels"]}:
        return "is not called like its ancestor"
    return None


def _bare(name: str) -> str:
    while name.endswith(" (rest)"):
        name = name.removesuffix(" (rest)")
    return name


def told_is(told: Any, value: Any) -> bool:  # noqa: ANN401
    """Say whether a leaf of the manifest is this value: text, where others were joined to text."""
    if told is None or value is None:
        return told is value
    return told == value or told in names_of(value)


def _judge_tree(
    entry: dict[str, Any],
    hierarchy: dict[str, Any],
    leaf_of: dict[Any, int],
    exact_leaves: list[Any],
    kind: str,
    problems: list[str],
) -> None:
    """A value's ancestors are the same in both trees, but for nodes that were joined into a leaf."""
    if entry["kind"] != "taxonomy":
        return
    name, levels = entry["name"], hierarchy["levels"]
    if len(entry["levels"]) != len(levels) or len(set(entry["levels"][-1])) != 1:
        problems.append(f"the tree of {name!r} has another height, or no root")
        return
    for told, exact in zip(entry["levels"], levels, strict=True):
        nodes = [node for place, node in enumerate(told) if place == 0 or told[place - 1] != node]
        if len(set(nodes)) != len(nodes):
            problems.append(f"a node of {name!r} is not contiguous")
        for leaf, node in zip(exact_leaves, exact, strict=True):
            place = leaf_of[key(leaf)]
            joined = place in entry["rest"] and told[place] not in exact
            if told[place] != node and not joined:
                problems.append(f"a value of {name!r} stands below another node than in its hierarchy")
                return
    if kind == "none" and len(levels) != 1:
        problems.append(f"{name!r} was to be suppressed or shown, and has a tree")


def judge_sensitive_counts(
    about: dict[str, Any], secret: list[Any], least: int, form: str, problems: list[str]
) -> None:
    """Check the values and counts of a sensitive column that is published as distributions."""
    values = [value_of(value, about["type"]) for value in about["values"]]
    counts = Counter(map(key, secret))
    right = [allowed_counts(counts[key(value)], least, form) for value in values]
    if len(values) != len(about["counts"]) or not {key(v) for v in secret} <= {key(v) for v in values}:
        problems.append("sensitive values are not all listed")
    elif any(told not in allowed for told, allowed in zip(about["counts"], right, strict=True)):
        problems.append("sensitive values are counted wrongly")
