"""Planted in sensitive numbers that are published in ranges: where these begin, and which of them a row shows."""

from __future__ import annotations

import random
from typing import Any

import polars as pl

from checks.gauntlet.forger import Forger
from checks.gauntlet.oracle.told import share_columns, told_secrets
from checks.gauntlet.plants import plant


def _told(f: Forger) -> dict[str, Any] | None:
    """Return what is told of the first sensitive column in ranges."""
    return next((about for about in told_secrets(f.manifest) if "ranges" in about), None) if f.is_rows else None


def _shown(f: Forger, about: dict[str, Any]) -> list[Any]:
    """Return the ranges that some row shows."""
    if about["form"] == "exact":
        return sorted({value for value in f.table[about["name"]] if value is not None})
    return [value for value in about["values"] if value is not None]


@plant(sure=True)
def range_begins_elsewhere(f: Forger, rng: random.Random) -> bool:
    """A range that rows show begins a little above or below where it did."""
    about = _told(f)
    if about is None or not _shown(f, about):
        return False
    at = about["ranges"].index(rng.choice(_shown(f, about)))
    about["ranges"][at] += rng.choice((-1, 1, 0.5)) if about["type"] == "float" else rng.choice((-1, 1))
    return True


@plant(sure=True)
def range_gone(f: Forger, rng: random.Random) -> bool:
    """A range that rows show is not listed."""
    about = _told(f)
    if about is None or not _shown(f, about):
        return False
    about["ranges"].remove(rng.choice(_shown(f, about)))
    return True


@plant(sure=True)
def ranges_out_of_order(f: Forger, rng: random.Random) -> bool:
    """Ranges begin in another order, twice, or one only; or they are no numbers of the column's type."""
    about = _told(f)
    if about is None:
        return False
    starts, odd = about["ranges"], {"int": 0.5, "float": "0.5"}[about["type"]]
    about["ranges"] = rng.choice((
        starts[::-1], [starts[0], *starts], starts[:1], [], [*starts, odd], [*starts, True], [*starts, None],
        [None, *starts], [*map(str, starts)], {"starts": starts}, "0, 10", None, 0, [starts], [*starts, 10**400],
        [*starts, -10**30], [*starts, float("inf")], [*starts, float("nan")],
    ))  # fmt: skip
    return True


@plant(sure=True)
def ranges_written_otherwise(f: Forger, rng: random.Random) -> bool:
    """The same numbers, in a notation of another type: room for a bit in each of them."""
    about = _told(f)
    if about is None:
        return False
    at, told = rng.randrange(len(about["ranges"])), about["ranges"]
    if about["type"] == "float" and not float(told[at]).is_integer():
        return False
    told[at] = float(told[at]) if about["type"] == "int" else -0.0 if told[at] == 0 else int(told[at])
    return True


@plant(sure=True)
def ranges_kept_secret(f: Forger, rng: random.Random) -> bool:
    """Nothing is said of ranges any more, so that the beginning of a range looks like somebody's number."""
    about = _told(f)
    if about is None:
        return False
    del about["ranges"]
    f.manifest["format"] = rng.choice((2, 3, 4, 5, 6))
    return True


@plant(sure=True)
def ranges_told_of_plain_values(f: Forger, rng: random.Random) -> bool:
    """Ranges are told of a column that is published as it is, or of one of texts."""
    plain = [about for about in told_secrets(f.manifest) if "ranges" not in about] if f.is_rows else []
    if not plain:
        return False
    about = rng.choice(plain)
    listed = rng.choice(([0, 10], [-(10**9), 10**9], ["a", "b"], [0.5, 1.5], []))
    items = list(about.items())
    about.clear()
    about.update(dict([*items[:3], ("ranges", listed), *items[3:]]))
    f.manifest["format"] = rng.choice((6, f.manifest["format"]))
    return True


@plant(sure=True)
def format_of_ranges(f: Forger, rng: random.Random) -> bool:
    """The format is not that of what is told of ranges."""
    if not f.is_rows:
        return False
    f.manifest["format"] = rng.choice((2, 3, 4, 5, 7, "6", 6.0, True)) if _told(f) else 6
    return True


@plant(sure=True)
def ranges_at_another_place(f: Forger, rng: random.Random) -> bool:
    """The key stands at the end, at the beginning, or has another name."""
    about = _told(f)
    if about is None:
        return False
    starts = about.pop("ranges")
    way = rng.choice(("first", "begin", "starts"))
    items = list(about.items())
    about.clear()
    own = ("ranges" if way == "first" else way, starts)
    about.update(dict([own, *items] if way == "first" else [*items[:3], own, *items[3:]]))
    return True


@plant(sure=True)
def number_inside_a_range(f: Forger, rng: random.Random) -> bool:
    """A row shows a number with which no range begins."""
    about = _told(f)
    if about is None or about["form"] != "exact" or not _shown(f, about):
        return False
    rows = [row for row, value in enumerate(f.table[about["name"]]) if value is not None]
    row = rng.choice(rows)
    old = f.table[about["name"]][row]
    f.set_cells(about["name"], [row], next(old + step for step in range(1, 9**9) if old + step not in about["ranges"]))
    f.sort()
    return True


@plant(sure=True)
def person_in_another_range(f: Forger, rng: random.Random) -> bool:
    """A row shows another range than its original's, or none."""
    about = _told(f)
    if about is None or about["form"] != "exact":
        return False
    row = rng.randrange(f.table.height)
    others = [start for start in [*about["ranges"], None] if start != f.table[about["name"]][row]]
    f.set_cells(about["name"], [row], rng.choice(others))
    f.sort()
    return True


@plant(sure=True)
def two_exchange_ranges(f: Forger, rng: random.Random) -> bool:
    """Two rows of different ranges show each other's: all counts stay as they are."""
    about = _told(f)
    if about is None or about["form"] != "exact":
        return False
    values, bounds = f.table[about["name"]].to_list(), [name for name in f.table.columns if name != about["name"]]
    others = f.table.select(bounds).rows()
    pairs = [
        (a, b)
        for a in range(len(values))
        for b in range(a)
        if values[a] != values[b] and others[a] != others[b]
    ]  # fmt: skip
    if not pairs:
        return False
    one, two = rng.choice(pairs)
    f.set_cells(about["name"], [one, two], [values[two], values[one]])
    f.sort()
    return True


@plant(sure=True)
def share_of_a_range_moved(f: Forger, rng: random.Random) -> bool:
    """A part of a row's distribution is said to be in the next range."""
    about = _told(f)
    if about is None or about["form"] == "exact":
        return False
    names = share_columns(f.manifest, f.table.columns)[about["name"]]
    places = [(row, a, b) for row in range(f.table.height) for a in names for b in names if a != b and f.table[a][row]]
    if not places:
        return False
    row, one, two = rng.choice(places)
    f.set_cells(one, [row], f.table[one][row] - 1)
    f.set_cells(two, [row], f.table[two][row] + 1)
    f.sort()
    return True


@plant(sure=True)
def range_of_values_shifted(f: Forger, rng: random.Random) -> bool:
    """All rows of a range, and what is told of it, are shifted together; somebody's number lies below it."""
    about = _told(f)
    if about is None or about["form"] != "exact" or about["type"] != "int" or len(about["ranges"]) < 2:
        return False
    if len(_shown(f, about)) < 2:
        return False
    old = rng.choice(_shown(f, about)[:-1])
    following = about["ranges"][about["ranges"].index(old) + 1]
    if following - old < 2 or following - old > 1000 or about["ranges"] != [10, 20, 30]:
        return False
    about["ranges"][about["ranges"].index(old)] = following - 1  # as drawn, numbers end before that
    shown = f.table[about["name"]].to_list()
    f.set_cells(about["name"], [row for row, v in enumerate(shown) if v == old], following - 1)
    f.table = f.table.with_columns(pl.col(about["name"]))
    f.sort()
    return True
