"""Planted around promises that compare each sensitive value's share with the table's: beta and delta."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from checks.gauntlet.forger import Forger
from checks.gauntlet.oracle.asked import key
from checks.gauntlet.oracle.guarantees import LATER
from checks.gauntlet.oracle.promises import alike
from checks.gauntlet.oracle.told import told_secrets
from checks.gauntlet.plants import plant


def _groups(f: Forger) -> list[Counter[Any]]:
    """Return the sensitive values of each group of a release with one sensitive column, exactly told."""
    about = f.manifest["sensitive"] if f.is_rows else None
    if not isinstance(about, dict) or about["form"] != "exact" or f.manifest["recoding"] != "homogeneous":
        return []
    bounds = [f"{entry['name']}{end}" for entry in f.manifest["quasi"] for end in (".lo", ".hi")]
    groups: dict[Any, Counter[Any]] = {}
    for cell, value in zip(f.table.select(bounds).rows(), f.table[about["name"]], strict=True):
        groups.setdefault(cell, Counter())[key(value)] += 1
    return list(groups.values())


def _promises(f: Forger) -> list[dict[str, Any]]:
    return [g for g in f.manifest["guarantees"] if g["kind"] in ("beta", "delta")]


@plant(sure=True)
def likeness_promised_and_broken(f: Forger, rng: random.Random) -> bool:
    """Parameters, guarantees and format say beta or delta alike, and some group does not keep it."""
    groups, parameters = _groups(f), f.manifest["method"]["parameters"]
    if (
        not groups
        or _promises(f)
        or "tree" in parameters
        or "alpha" not in parameters
        or "max_confidence" in parameters
    ):
        return False
    whole: Counter[Any] = sum(groups, Counter())
    kind = rng.choice(("beta", "delta"))
    promise: dict[str, Any] = {"kind": kind, kind: 4.0} | ({"enhanced": rng.random() < 0.5} if kind == "beta" else {})
    while promise[kind] > 1e-6 and all(alike(promise, group.total(), group, whole) for group in groups):
        promise[kind] /= 2
    if promise[kind] <= 1e-6:
        return False
    own = {name: value for name, value in promise.items() if name in LATER}
    items = list(parameters.items())
    at = list(parameters).index("alpha") + 1
    parameters.clear()
    parameters.update(dict([*items[:at], *own.items(), *items[at:]]))
    f.manifest["guarantees"].append(promise)
    f.manifest["format"] = 4
    return True


@plant(sure=True)
def format_of_another_promise(f: Forger, rng: random.Random) -> bool:
    """The format is that of releases with other promises."""
    if not f.is_rows:
        return False
    newer = _promises(f) or any("tree" in promise for promise in f.manifest["guarantees"])
    f.manifest["format"] = rng.choice((2, 3)) if newer else 4
    return True


def _trees(f: Forger) -> list[dict[str, Any]]:
    return [about for about in told_secrets(f.manifest) if "levels" in about] if f.is_rows else []


@plant(sure=True)
def tree_of_values_changed(f: Forger, rng: random.Random) -> bool:
    """The tree along which closeness is measured is gone, is no tree, or lists other values."""
    told = _trees(f)
    if not told or len(told[0]["leaves"]) < 2:
        return False
    about, way = told[0], rng.choice(("gone", "no root", "twice", "short", "swapped"))
    if way == "gone":
        del about["leaves"], about["levels"]
    elif way == "no root":
        about["levels"][-1][0] = "row 7 is Alice"
    elif way == "short":
        about["levels"][0] = about["levels"][0][:-1]
    elif way == "twice":
        about["leaves"][0] = about["leaves"][1]
    else:
        about["leaves"][0], about["leaves"][1] = about["leaves"][1], about["leaves"][0]
    return True


@plant(sure=True)
def tree_taken_back(f: Forger, rng: random.Random) -> bool:
    """A guarantee does not say any more that closeness is measured along a tree, or does not say it as true."""
    told = [g for g in f.manifest["guarantees"] if g.get("tree")]
    if not told:
        return False
    promise = rng.choice(told)
    if rng.random() < 0.5:
        del promise["tree"]
    else:
        promise["tree"] = rng.choice((False, None, "yes"))
    return True


@plant(sure=True)
def enhanced_taken_back(f: Forger, rng: random.Random) -> bool:
    """What was promised as enhanced is promised as basic, in parameters or guarantees, or is no word of the format."""
    told = [g for g in _promises(f) if g.get("enhanced") is not None]
    if not told:
        return False
    promise = rng.choice(told)
    promise["enhanced"] = rng.choice((not promise["enhanced"], None, "yes"))
    return True
