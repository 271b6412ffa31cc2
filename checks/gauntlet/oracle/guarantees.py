"""The parameters that a manifest must tell, and the guarantees that they ask for."""

from __future__ import annotations

from fractions import Fraction
from math import nextafter
from typing import Any

from checks.gauntlet.oracle.asked import Asked

MORE_K = ("iacc", "pareto_dmpd")
"""Methods that may promise a larger k than they were asked for."""

NOTHING = {"l": 1, "l_kind": "frequency", "c": 3.0, "t": None, "ordered": False, "alpha": None,
           "beta": None, "enhanced": False, "delta": None, "tree": False, "width": None}  # fmt: skip
"""What is asked of a column of which nothing is."""

LATER = ("beta", "enhanced", "delta", "tree", "width")
"""What a manifest names only where it is asked for."""


def told_parameters(asked: Asked) -> dict[str, Any]:
    """Return the parameters with the schema's limits: of several sensitive columns one, or one for each."""
    found, given = {}, asked.parameters
    by_schema = {key for own in asked.limits.values() for key in own}
    for key in [*given, *(key for key in NOTHING if key in by_schema and key not in given)]:
        value = given.get(key, NOTHING.get(key))
        if key not in by_schema and not isinstance(value, dict):
            found[key] = value
            continue
        each = {}
        for column in asked.secrets:
            mine = value.get(column, NOTHING[key]) if isinstance(value, dict) else value
            each[column] = asked.limits[column].get(key, mine)
        found[key] = each if asked.several else each[asked.secrets[0]]
    return found


def asked_guarantees(asked: Asked) -> list[dict[str, Any]]:
    """Return the guarantees that must stand in the manifest; with one sensitive column, a method may promise more."""
    given = told_parameters(asked)
    k = given.get("k", 1)
    if asked.method == "pais" and given.get("L") is not None:
        l = given.get("l", 1)
        confidence = 1 / Fraction(str(l)) if l > 1 else Fraction(str(given.get("C", 1.0)))
        share = float(confidence)
        while Fraction(str(share)) < confidence:
            share = nextafter(share, 2)
        return [{"kind": "lkc", "L": min(given["L"], len(asked.quasi)), "K": k, "C": share}]
    found: list[dict[str, Any]] = [] if asked.method in MORE_K or _as_printed(asked) else [{"kind": "k", "k": k}]
    if not asked.several:
        found += _of_column(given)
    for column in asked.secrets if asked.several else ():
        own = {key: value[column] if isinstance(value, dict) else value for key, value in given.items()}
        about = {"column": column} | ({"others_known": True} if given.get("others_known") else {})
        found += [promise | about for promise in _of_column(own)]
    if _conceals(asked, given):
        found.append({"kind": "concealment", "k": k})
    if asked.method == "pais" and given.get("C", 1.0) < 1:
        found.append({"kind": "alpha", "alpha": given["C"]})
    return found


def _as_printed(asked: Asked) -> bool:
    """Whether suppressed rows may be a smaller group than was asked for, which the release then promises."""
    return asked.method == "iack" and asked.parameters.get("mode") == "paper"


def _conceals(asked: Asked, given: dict[str, Any]) -> bool:
    """Whether everybody is to be left with k rows: by default where columns are published as they are."""
    if asked.method == "nhaa":
        return bool(asked.other) if given.get("concealment") is None else bool(given["concealment"])
    if asked.method != "nsvdist" or given.get("mode", "hardened") != "hardened" or given.get("loss", "lm") != "lm":
        return False
    asked_for = given.get("concealment")
    return bool(asked.other) and given.get("presplit", "auto") in (None, "auto") if asked_for is None else asked_for


def _of_column(given: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    l, kind = given.get("l", 1), given.get("l_kind", "frequency")
    if l > 1 or kind == "recursive":
        recursive = {"c": given.get("c", 3.0)} if kind == "recursive" else {}
        found.append({"kind": "l", "l": l, "l_kind": kind} | recursive)
    if given.get("t") is not None:
        along = {"tree": True} if given.get("tree") else {}
        found.append({"kind": "t", "t": given["t"], "ordered": given.get("ordered", False)} | along)
    if given.get("alpha") is not None:
        found.append({"kind": "alpha", "alpha": given["alpha"]})
    if given.get("beta") is not None:
        found.append({"kind": "beta", "beta": given["beta"], "enhanced": given.get("enhanced", False)})
    if given.get("delta") is not None:
        found.append({"kind": "delta", "delta": given["delta"]})
    if given.get("width") is not None:
        found.append({"kind": "width", "width": given["width"]})
    return found
