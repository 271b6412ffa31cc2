"""Planted in the rows of a release: cells, labels, sensitive values, order, what the owner keeps."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import polars as pl

from checks.gauntlet.forger import Forger
from checks.gauntlet.oracle.labels import names_of, order_names, range_names, tree_names
from checks.gauntlet.oracle.told import share_columns, told_secrets
from checks.gauntlet.plants import plant


def _pick(rng: random.Random, f: Forger, kind: str | None = None) -> dict[str, Any] | None:
    """Return one of the quasi-identifiers of a kind."""
    entries = [e for e in f.manifest["quasi"] if kind is None or e["kind"] == kind] if f.is_rows else []
    return rng.choice(entries) if entries else None


def _relabel(f: Forger, entry: dict[str, Any], row: int, lo: Any, hi: Any) -> bool:  # noqa: ANN401
    """Write a cell with its right label; false if it is not a legal one."""
    if entry["kind"] == "intervals":
        if lo > hi:
            return False
        names: set[str] | None = names_of(lo) if lo == hi else range_names(lo, hi)
    else:
        if not 0 <= lo <= hi < len(entry["leaves"]):
            return False
        names = tree_names(entry, lo, hi) if entry["kind"] == "taxonomy" else order_names(entry, lo, hi)
    if names is None:
        return False
    for column, value in (
        (entry["name"], min(names, key=len)),
        (f"{entry['name']}.lo", lo),
        (f"{entry['name']}.hi", hi),
    ):
        f.set_cells(column, [row], value)
    f.sort()
    return True


def _move(f: Forger, rng: random.Random, low: int, high: int) -> bool:
    """Move the ends of one row's cell by so many steps."""
    entry = _pick(rng, f)
    if entry is None:
        return False
    row = rng.randrange(f.table.height)
    lo, hi = f.table[f"{entry['name']}.lo"][row], f.table[f"{entry['name']}.hi"][row]
    if lo is None or hi is None:
        return False
    step = dt.timedelta(days=1) if isinstance(lo, dt.date) else 1
    if isinstance(lo, int) and max(abs(lo), abs(hi)) > 2**62:
        return False
    try:
        return _relabel(f, entry, row, lo + low * step, hi + high * step)
    except OverflowError:  # the first or the last day of the calendar
        return False


@plant(sure=False)
def cell_widened(f: Forger, rng: random.Random) -> bool:
    """One row's cell reaches a step further."""
    return _move(f, rng, 0, 1) if rng.random() < 0.5 else _move(f, rng, -1, 0)


@plant(sure=False)
def cell_narrowed(f: Forger, rng: random.Random) -> bool:
    """One row's cell ends a step earlier."""
    return _move(f, rng, 0, -1) if rng.random() < 0.5 else _move(f, rng, 1, 0)


@plant(sure=False)
def cell_shifted(f: Forger, rng: random.Random) -> bool:
    """One row's cell lies a step beside."""
    step = rng.choice((-1, 1))
    return _move(f, rng, step, step)


@plant(sure=False)
def cells_of_a_group_shifted(f: Forger, rng: random.Random) -> bool:
    """A whole group gets a cell beside its own, with the right label."""
    entry = _pick(rng, f)
    if entry is None:
        return False
    name = entry["name"]
    cells = list(zip(f.table[f"{name}.lo"].to_list(), f.table[f"{name}.hi"].to_list(), strict=True))
    lo, hi = rng.choice(cells)
    other = rng.choice(cells)
    rows = [place for place, cell in enumerate(cells) if cell == (lo, hi)]
    if (lo, hi) == other:
        return False
    source = cells.index(other)
    for column in (name, f"{name}.lo", f"{name}.hi"):
        f.set_cells(column, rows, f.table[column][source])
    f.sort()
    return True


@plant(sure=True)
def group_widened(f: Forger, rng: random.Random) -> bool:
    """All cells of a group reach further than its rows do, with the right label: k is kept, and a message is told."""
    about = f.manifest["method"]
    closes = dict.fromkeys(("infogain_mondrian", "best_cuts", "seqa", "tight_groups", "mdav"), True)
    closes |= {"mondrian": about["parameters"].get("recoding") != "single", "tree": about["parameters"].get("tighten")}
    entry = _pick(rng, f, "intervals")
    if entry is None or not closes.get(about["name"]):
        return False
    name = entry["name"]
    keys = f.table.select(f"{e['name']}{end}" for e in f.manifest["quasi"] for end in (".lo", ".hi")).rows()
    group = rng.choice(keys)
    rows = [row for row, key in enumerate(keys) if key == group]
    lo, hi = f.table[f"{name}.lo"][rows[0]], f.table[f"{name}.hi"][rows[0]]
    further = [end for end in set(f.table[f"{name}.hi"].drop_nulls()) if hi is not None and end > hi]
    if lo is None or not further:
        return False
    end = rng.choice(sorted(further))
    names = range_names(lo, end)
    f.set_cells(f"{name}.hi", rows, end)
    f.set_cells(name, rows, min(names, key=len))
    changed = f.table.select(f"{e['name']}{end}" for e in f.manifest["quasi"] for end in (".lo", ".hi")).rows()
    f.sort()
    return changed[rows[0]] not in keys


@plant(sure=True)
def label_off_by_one(f: Forger, rng: random.Random) -> bool:
    """A label says something else than its cell."""
    entry = _pick(rng, f)
    if entry is None:
        return False
    row = rng.randrange(f.table.height)
    old = f.table[entry["name"]][row]
    digits = [place for place, c in enumerate(old) if c.isdigit()]
    new = old + "." if not digits else old[: digits[-1]] + str((int(old[digits[-1]]) + 1) % 10) + old[digits[-1] + 1 :]
    f.set_cells(entry["name"], [row], new)
    f.sort()
    return True


@plant(sure=True)
def label_made_a_star(f: Forger, rng: random.Random) -> bool:
    """A label hides less or more than its cell."""
    entry = _pick(rng, f)
    if entry is None:
        return False
    rows = [row for row, label in enumerate(f.table[entry["name"]]) if label != "*"]
    if not rows or (entry["kind"] == "taxonomy" and entry["levels"][-1][0] != "*"):
        return False
    f.set_cells(entry["name"], [rng.choice(rows)], "*")
    f.sort()
    return True


def _exact(f: Forger, rng: random.Random) -> str | None:
    """Return a sensitive column that is told value by value."""
    told = [a["name"] for a in told_secrets(f.manifest) if a["form"] == "exact"] if f.is_rows else []
    return (rng.choice(told) if len(told) > 1 else told[0]) if told else None


def _shares(f: Forger, rng: random.Random, form: str) -> list[str]:
    """Return the columns in which a sensitive column is told as shares, or counts."""
    told = [a["name"] for a in told_secrets(f.manifest) if a["form"] == form] if f.is_rows else []
    columns = share_columns(f.manifest, f.table.columns) if told else {}
    return columns[rng.choice(told) if len(told) > 1 else told[0]] if told else []


@plant(sure=True)
def sensitive_values_swapped(f: Forger, rng: random.Random) -> bool:
    """Two rows have each other's sensitive value."""
    name = _exact(f, rng)
    if name is None:
        return False
    values = f.table[name].to_list()
    one, two = rng.randrange(len(values)), rng.randrange(len(values))
    if values[one] == values[two]:
        return False
    f.set_cells(name, [one, two], [values[two], values[one]])
    f.sort()
    return True


@plant(sure=True)
def sensitive_value_changed(f: Forger, rng: random.Random) -> bool:
    """A row has the sensitive value of another."""
    name = _exact(f, rng)
    if name is None:
        return False
    values = f.table[name].to_list()
    one, two = rng.randrange(len(values)), rng.randrange(len(values))
    if values[one] == values[two]:
        return False
    f.set_cells(name, [one], values[two])
    f.sort()
    return True


def _move_part(f: Forger, rng: random.Random, names: list[str], rows: list[int]) -> bool:
    if len(names) < 2:
        return False
    one, two = rng.sample(names, 2)
    if any(f.table[one][row] < 1 for row in rows):
        return False
    for name, step in ((one, -1), (two, 1)):
        f.set_cells(name, rows, [f.table[name][row] + step for row in rows])
    f.sort()
    return True


@plant(sure=True)
def one_part_moved(f: Forger, rng: random.Random) -> bool:
    """A part of a row's shares goes to another value."""
    names = _shares(f, rng, "shares")
    return bool(names) and _move_part(f, rng, names, [rng.randrange(f.table.height)])


@plant(sure=True)
def one_part_moved_everywhere(f: Forger, rng: random.Random) -> bool:
    """A part of every row's shares goes to another value."""
    names = _shares(f, rng, "shares")
    return bool(names) and _move_part(f, rng, names, list(range(f.table.height)))


@plant(sure=False)
def one_count_moved(f: Forger, rng: random.Random) -> bool:
    """A member of a row has another value."""
    names = _shares(f, rng, "counts")
    return bool(names) and _move_part(f, rng, names, [rng.randrange(f.table.height)])


@plant(sure=True)
def one_part_added(f: Forger, rng: random.Random) -> bool:
    """A row's shares have a part more."""
    names = _shares(f, rng, "shares")
    if not names:
        return False
    row, name = rng.randrange(f.table.height), rng.choice(names)
    f.set_cells(name, [row], f.table[name][row] + 1)
    f.sort()
    return True


@plant(sure=True)
def rows_exchanged(f: Forger, rng: random.Random) -> bool:
    """Two rows stand in each other's place, and the owner's files say so."""
    if not f.is_rows:
        return False
    rows = f.table.rows()
    one, two = rng.randrange(len(rows)), rng.randrange(len(rows))
    if rows[one] == rows[two]:
        return False
    order = list(range(len(rows)))
    order[one], order[two] = two, one
    f.take(order)
    return True


@plant(sure=True)
def rows_in_the_order_of_the_original(f: Forger, rng: random.Random) -> bool:
    """The order of rows is that of the table that nobody else has."""
    del rng
    if not f.is_rows:
        return False
    numbers = f.private["rows"]["row"].to_list()
    order = sorted(range(len(numbers)), key=lambda row: numbers[row])
    if f.table[order].equals(f.table, null_equal=True):
        return False
    f.take(order)
    return True


@plant(sure=False)
def row_dropped(f: Forger, rng: random.Random) -> bool:
    """A row is gone, and counted as suppressed."""
    if not f.is_rows or f.table.height < 2:
        return False
    gone = rng.randrange(f.table.height)
    f.take([row for row in range(f.table.height) if row != gone])
    f.manifest["rows"]["released"] -= 1
    f.manifest["rows"]["suppressed"] += 1
    return True


@plant(sure=True)
def row_doubled(f: Forger, rng: random.Random) -> bool:
    """A row stands there twice, to make a group larger."""
    if not f.is_rows:
        return False
    again = rng.randrange(f.table.height)
    f.take(sorted([*range(f.table.height), again]))
    f.manifest["rows"]["released"] += 1
    f.manifest["rows"]["input"] += 1
    return True


@plant(sure=True)
def bounds_of_another_type(f: Forger, rng: random.Random) -> bool:
    """Bounds or counts are written in a wider type, which has room for more."""
    if not f.is_rows:
        return False
    names = [
        name
        for name, dtype in f.table.schema.items()
        if dtype in (pl.Int32, pl.Int64) and name not in f.manifest["other"]
    ]
    names = [name for name in names if name not in [about["name"] for about in told_secrets(f.manifest)]]
    if not names:
        return False
    f.table = f.table.with_columns(pl.col(rng.choice(names)).cast(pl.Float64()))
    return True


@plant(sure=True)
def sensitive_column_copied(f: Forger, rng: random.Random) -> bool:
    """The sensitive column is published once more, under another name."""
    name = _exact(f, rng)
    if name is None:
        return False
    at = 3 * len(f.manifest["quasi"]) + len(f.manifest["other"])
    f.table = f.table.insert_column(at, f.table[name].alias("copy"))
    f.manifest["other"].append("copy")
    f.sort()
    return True


@plant(sure=True)
def negative_zero(f: Forger, rng: random.Random) -> bool:
    """A zero with a sign, which equals any other and is not it."""
    names = [name for name, dtype in (f.table.schema if f.is_rows else {}).items() if dtype == pl.Float64]
    places = [(name, row) for name in names for row, value in enumerate(f.table[name]) if value == 0]
    if not places:
        return False
    name, row = rng.choice(places)
    f.set_cells(name, [row], -0.0)
    return True
