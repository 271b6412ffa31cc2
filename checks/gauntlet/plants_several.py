"""Planted where several sensitive columns make it possible: in what is promised and told of each of them."""

from __future__ import annotations

import random
from collections import Counter as Counts
from collections.abc import Iterator
from typing import Any

from checks.gauntlet.forger import Forger
from checks.gauntlet.oracle.asked import key
from checks.gauntlet.oracle.guarantees import LATER, NOTHING
from checks.gauntlet.oracle.promises import along_tree, holds
from checks.gauntlet.oracle.told import share_columns, told_secrets
from checks.gauntlet.plants import plant


def _names(f: Forger) -> list[str]:
    """Return the sensitive columns of a release with several, in order."""
    several = f.is_rows and isinstance(f.manifest["sensitive"], list)
    return [about["name"] for about in f.manifest["sensitive"]] if several else []


def _only(f: Forger) -> str | None:
    """Return the sensitive column of a release with one."""
    return f.manifest["sensitive"]["name"] if f.is_rows and isinstance(f.manifest["sensitive"], dict) else None


def _promises(f: Forger) -> list[dict[str, Any]]:
    """Return the promises about sensitive values."""
    return (
        [g for g in f.manifest["guarantees"] if g["kind"] in ("l", "t", "alpha", "beta", "delta", "width")]
        if f.is_rows
        else []
    )


def _exact(f: Forger) -> bool:
    return all(about["form"] == "exact" for about in told_secrets(f.manifest))


@plant(sure=True)
def column_of_a_guarantee_dropped(f: Forger, rng: random.Random) -> bool:
    """A promise does not say any more which column it is about."""
    if not _names(f) or not _promises(f):
        return False
    del rng.choice(_promises(f))["column"]
    return True


@plant(sure=True)
def guarantee_moved_to_another_column(f: Forger, rng: random.Random) -> bool:
    """A promise is about another sensitive column, a column that is not sensitive, or none that exists."""
    if not _names(f) or not _promises(f):
        return False
    promise = rng.choice(_promises(f))
    others = [*_names(f), f.manifest["quasi"][0]["name"], "nobody"]
    promise["column"] = rng.choice([name for name in others if name != promise["column"]])
    return True


@plant(sure=True)
def columns_of_guarantees_exchanged(f: Forger, rng: random.Random) -> bool:
    """What is promised of one column is said of another, and the other way."""
    one, two = rng.sample(_names(f), 2) if _names(f) else ("", "")
    changed = [g for g in _promises(f) if one and g["column"] in (one, two)]
    for promise in changed:
        promise["column"] = two if promise["column"] == one else one
    return bool(changed)


@plant(sure=True)
def column_of_a_guarantee_elsewhere(f: Forger, rng: random.Random) -> bool:
    """The column of a promise is its first key, is said of k, is a list, or of a release with one column."""
    promises = _promises(f) if _names(f) else []
    ways = [{"column": name} for name in [_only(f)] if name] + [{"others_known": True}]
    if not promises:
        f.manifest["guarantees"][0 if f.is_rows else -1].update(rng.choice(ways))
        return f.is_rows
    promise = rng.choice(promises)
    way = rng.choice(("first", "k", "list", "both"))
    if way == "k":
        f.manifest["guarantees"][0]["column"] = promise["column"]
    elif way == "first":
        items = list(promise.items())
        at = list(promise).index("column")
        promise.clear()
        promise.update([items[at], *items[:at], *items[at + 1 :]])
    else:
        promise["column"] = _names(f) if way == "list" else None
    return True


@plant(sure=True)
def column_said_where_there_is_one(f: Forger, rng: random.Random) -> bool:
    """A release with one sensitive column says which it is, or that others are known."""
    promises = _promises(f)
    if _only(f) is None or not promises:
        return False
    rng.choice(promises).update(rng.choice(({"column": _only(f)}, {"others_known": True})))
    return True


@plant(sure=True)
def others_known_taken_back(f: Forger, rng: random.Random) -> bool:
    """What was to hold for who knows another column is not promised for them any more."""
    told = [g for g in _promises(f) if g.get("others_known")]
    if not told:
        return False
    way = rng.choice(("one", "all", "parameter", "false"))
    for promise in told if way == "all" else [rng.choice(told)] if way == "one" else []:
        del promise["others_known"]
    if way == "parameter":
        del f.manifest["method"]["parameters"]["others_known"]
    if way == "false":
        rng.choice(told)["others_known"] = rng.choice((False, None, 1, "true"))
    return True


@plant(sure=True)
def others_known_said_only(f: Forger, rng: random.Random) -> bool:
    """Guarantees or parameters say that others are known, and not both, or not as true."""
    told = [g for g in _promises(f) if _names(f) and "others_known" not in g]
    parameters = f.manifest["method"]["parameters"]
    if not told:
        return False
    way = rng.choice(("one", "all", "parameter", "false"))
    for promise in told if way == "all" else [rng.choice(told)] if way == "one" else []:
        promise["others_known"] = True
    if way in ("parameter", "false"):
        _insert(parameters, "others_known", way == "parameter")
    return True


def _insert(parameters: dict[str, Any], name: str, value: object) -> None:
    """Write a parameter behind the last limit, where it belongs."""
    last = max((at for at, own in enumerate(parameters) if own in NOTHING and own not in LATER), default=0)
    items = [item for item in parameters.items() if item[0] != name]
    parameters.clear()
    parameters.update([*items[: last + 1], (name, value), *items[last + 1 :]])


def _crowds(f: Forger, column: str, *, others_known: bool) -> Iterator[tuple[int, Counts[Any], Counts[Any]]]:
    """Yield size and values of each group or block (and of its parts, if others are known), and the table's values."""
    if "blocks" in f.private:
        return  # who has which value is not told there
    bounds = [f"{entry['name']}{end}" for entry in f.manifest["quasi"] for end in (".lo", ".hi")]
    groups: dict[Any, list[int]] = {}
    for row, cell in enumerate(f.table.select(bounds).rows()):
        groups.setdefault(cell, []).append(row)
    values = {name: [key(value) for value in f.table[name]] for name in _names(f)}
    whole = Counts(values[column])
    others = [name for name in values if name != column] if others_known else []
    for rows in groups.values():
        parts = [rows]
        parts += [[r for r in rows if values[o][r] == v] for o in others for v in {values[o][r] for r in rows}]
        for part in parts:
            yield len(part), Counts(values[column][row] for row in part), whole


def _broken(f: Forger, promise: dict[str, Any]) -> bool:
    known = bool(promise.get("others_known"))
    asked = along_tree(promise, f.manifest, {name: f.table[name].to_list() for name in _names(f)})
    return any(not holds(asked, *crowd) for crowd in _crowds(f, promise["column"], others_known=known))


@plant(sure=True)
def others_known_promised_and_broken(f: Forger, rng: random.Random) -> bool:
    """All of the manifest says that others are known, and some part of a group breaks a promise."""
    del rng
    told = [g for g in _promises(f) if _names(f) and "others_known" not in g]
    if not told or f.manifest["recoding"] != "homogeneous":
        return False
    for promise in told:
        promise["others_known"] = True
    _insert(f.manifest["method"]["parameters"], "others_known", value=True)
    return any(_broken(f, promise) for promise in told)


def _set_limit(f: Forger, promise: dict[str, Any], name: str, value: float) -> None:
    """Ask for another limit of one column, in the parameters and the guarantee alike."""
    parameters = f.manifest["method"]["parameters"]
    before = parameters[name]
    each = dict(before) if isinstance(before, dict) else dict.fromkeys(_names(f), before)
    parameters[name], promise[name] = each | {promise["column"]: value}, value


@plant(sure=True)
def limit_of_one_column_broken(f: Forger, rng: random.Random) -> bool:
    """One column's limit is a little more than its groups keep, and all of the manifest says so."""
    promises = [g for g in _promises(f) if _names(f) and _exact(f)]
    promises = [g for g in promises if g.get("l_kind") != "recursive"]
    if not promises or f.manifest["recoding"] != "homogeneous":
        return False
    promise = rng.choice(promises)
    name = promise["kind"]
    steps: dict[str, list[float]] = {
        "l": [2, 3, 4, 5] if promise.get("l_kind") == "distinct" else [1 + n / 20 for n in range(1, 80)],
        "t": [n / 50 for n in range(50, -1, -1)],
        "alpha": [n / 50 for n in range(50, 0, -1)],
        "beta": [2.0**-n for n in range(-4, 10)],
        "delta": [2.0**-n for n in range(-4, 10)],
        "width": [2.0**n for n in range(-4, 40)],
    }
    for value in steps[name]:
        _set_limit(f, promise, name, value)
        if _broken(f, promise):
            return True
    return False


@plant(sure=True)
def limit_of_one_columns_shares_broken(f: Forger, rng: random.Random) -> bool:
    """One column's l is more than the shares in its rows keep, and all of the manifest says so."""
    promises = [g for g in _promises(f) if _names(f) and not _exact(f)]
    if not promises:
        return False
    promise = rng.choice(promises)
    shares = share_columns(f.manifest, f.table.columns)[promise["column"]]
    top = max(max(row) / sum(row) for row in f.table.select(shares).rows())
    _set_limit(f, promise, "l", round(1 / top + 0.05, 4))
    return promise["l"] > 1


@plant(sure=True)
def values_of_two_columns_exchanged(f: Forger, rng: random.Random) -> bool:
    """Rows have the value of one sensitive column in another: one row, a group, or all."""
    names = _names(f) if _names(f) and _exact(f) else []
    if not names:
        return False
    one, two = rng.sample(names, 2)
    if f.table.schema[one] != f.table.schema[two]:
        return False
    first, second = f.table[one].to_list(), f.table[two].to_list()
    rows = [row for row in range(len(first)) if first[row] != second[row]]
    rows = rows if rng.random() < 0.5 else rng.sample(rows, min(1, len(rows)))
    f.set_cells(one, rows, [second[row] for row in rows])
    f.set_cells(two, rows, [first[row] for row in rows])
    f.sort()
    return bool(rows)


@plant(sure=True)
def values_of_one_column_exchanged_within_a_group(f: Forger, rng: random.Random) -> bool:
    """Two people of a group have each other's value of one sensitive column: every column keeps its counts."""
    names = _names(f) if _names(f) and _exact(f) else []
    if not names:
        return False
    name = rng.choice(names)
    values, cells = f.table[name].to_list(), f.table.select(e["name"] for e in f.manifest["quasi"]).rows()
    pairs = [
        (one, two)
        for one in range(len(values))
        for two in range(one)
        if cells[one] == cells[two] and values[one] != values[two]
    ]
    if not pairs:
        return False
    one, two = rng.choice(pairs)
    f.set_cells(name, [one, two], [values[two], values[one]])
    f.sort()
    return True


@plant(sure=True)
def part_moved_between_columns(f: Forger, rng: random.Random) -> bool:
    """A row tells a part of one column's shares as another column's, or both columns' shares in each other's place."""
    if not _names(f) or _exact(f):
        return False
    shares = share_columns(f.manifest, f.table.columns)
    one, two = rng.sample(list(shares), 2)
    row = rng.randrange(f.table.height)
    first, second = (f.table.select(shares[name]).row(row) for name in (one, two))
    if len(first) == len(second) and rng.random() < 0.5:
        new = dict(zip([*shares[one], *shares[two]], [*second, *first], strict=True))
    else:
        new = {shares[one][0]: first[0] + 1, shares[two][0]: second[0] - 1}
    changed = {name: value for name, value in new.items() if f.table[name][row] != value}
    for name, value in changed.items():
        f.set_cells(name, [row], value)
    f.sort()
    return bool(changed)


@plant(sure=True)
def columns_of_the_table_exchanged(f: Forger, rng: random.Random) -> bool:
    """Sensitive columns stand in another order than the manifest has them."""
    names = _names(f)
    if not names:
        return False
    if rng.random() < 0.5:
        f.manifest["sensitive"].reverse()
        return True
    shares = share_columns(f.manifest, f.table.columns) or {name: [name] for name in names}
    last = [column for name in reversed(names) for column in shares[name]]
    f.table = f.table.select([*(name for name in f.table.columns if name not in last), *last])
    f.sort()
    return True


@plant(sure=True)
def counts_of_two_columns_exchanged(f: Forger, rng: random.Random) -> bool:
    """The manifest tells one column's values or counts as another's."""
    if not _names(f) or _exact(f):
        return False
    one, two = rng.sample(f.manifest["sensitive"], 2)
    name = rng.choice(("values", "counts"))
    if one[name] == two[name]:
        return False
    if name == "counts" and len(one[name]) == len(two[name]) and sorted(one[name]) == sorted(two[name]):
        return False
    one[name], two[name] = two[name], one[name]
    near = name == "counts" and len(one[name]) == len(two[name])
    return not near or any(abs(a - b) > 2 * f.k for a, b in zip(one[name], two[name], strict=True))


@plant(sure=True)
def another_format(f: Forger, rng: random.Random) -> bool:
    """The format is that of a release with another number of sensitive columns."""
    del rng
    if not f.is_rows:
        f.manifest["format"] = 3
        return True
    f.manifest["format"] = 2 if _names(f) else 3
    return True


@plant(sure=True)
def list_of_one_column(f: Forger, rng: random.Random) -> bool:
    """One sensitive column is a list, or a list is empty, has something twice, or nothing in it."""
    if not f.is_rows:
        return False
    about = f.manifest["sensitive"]
    if isinstance(about, dict):
        f.manifest["sensitive"] = [about]
        f.manifest["format"] = rng.choice((2, 3))
    elif isinstance(about, list):
        ways: tuple[Any, ...] = ([], about[:1], [*about, about[0]], [about], [*about, None], dict(about[0]), None)
        f.manifest["sensitive"] = rng.choice(ways)
        f.manifest["format"] = rng.choice((2, 3))
    else:
        f.manifest["sensitive"], f.manifest["format"] = [], 3
    return True


@plant(sure=True)
def forms_mixed(f: Forger, rng: random.Random) -> bool:
    """One sensitive column is said to be told in another form."""
    if not _names(f):
        return False
    about = rng.choice(f.manifest["sensitive"])
    about["form"] = "counts" if about["form"] == "shares" else rng.choice(("shares", "counts"))
    if rng.random() < 0.5:
        about |= {"values": [], "counts": []}
    return True


@plant(sure=True)
def parameter_of_other_columns(f: Forger, rng: random.Random) -> bool:
    """A limit for each column has a key too much, too few, of another column, or in another order."""
    if not f.is_rows:
        return False
    parameters = f.manifest["method"]["parameters"]
    limits = [name for name in NOTHING if name in parameters]
    if not limits:
        return False
    name = rng.choice(limits)
    names = _names(f) or [about["name"] for about in told_secrets(f.manifest)]
    value = parameters[name]
    each = dict(value) if isinstance(value, dict) else dict.fromkeys(names, value)
    own = list(each.items())
    ways: list[dict[str, Any]] = [each | {"row 7 is Alice": NOTHING[name]}, {}, dict(own[:1])]
    if len(own) > 1:
        ways += [dict(reversed(own)), dict([*own[:-1], ("row 7", own[-1][1])]), dict([*own[:-1], (own[-1][0], [])])]
    parameters[name] = rng.choice(ways)
    return True


@plant(sure=True)
def limit_in_a_parameter_only(f: Forger, rng: random.Random) -> bool:
    """The parameters ask for more, or less, of one column than the guarantees promise."""
    names = _names(f)
    if not names:
        return False
    parameters, column = f.manifest["method"]["parameters"], rng.choice(names)
    before = parameters["l"]
    each = dict(before) if isinstance(before, dict) else dict.fromkeys(names, before)
    each[column] = 1.05 if each[column] == 1 else 1 if rng.random() < 0.5 else each[column] + 0.05
    parameters["l"] = each
    return "recursive" not in str(parameters.get("l_kind"))
