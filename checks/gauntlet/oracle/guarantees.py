"""The guarantees that a method's parameters ask for."""

from __future__ import annotations

from fractions import Fraction
from math import nextafter
from typing import Any

from checks.gauntlet.oracle.asked import Asked

MORE_K = ("iacc", "pareto_dmpd")
"""Methods that may promise a larger k than they were asked for."""


def asked_guarantees(asked: Asked) -> list[dict[str, Any]]:
    """Return the guarantees that must stand in the manifest; a method may promise more."""
    given = asked.parameters
    k, l = given.get("k", 1), given.get("l", 1)
    if asked.method == "pais" and given.get("L") is not None:
        confidence = 1 / Fraction(str(l)) if l > 1 else Fraction(str(given.get("C", 1.0)))
        share = float(confidence)
        while Fraction(str(share)) < confidence:
            share = nextafter(share, 2)
        return [{"kind": "lkc", "L": min(given["L"], len(asked.quasi)), "K": k, "C": share}]
    found: list[dict[str, Any]] = [] if asked.method in MORE_K else [{"kind": "k", "k": k}]
    kind = given.get("l_kind", "frequency")
    if l > 1 or kind == "recursive":
        recursive = {"c": given.get("c", 3.0)} if kind == "recursive" else {}
        found.append({"kind": "l", "l": l, "l_kind": kind} | recursive)
    if given.get("t") is not None:
        found.append({"kind": "t", "t": given["t"], "ordered": given.get("ordered", False)})
    if given.get("alpha") is not None:
        found.append({"kind": "alpha", "alpha": given["alpha"]})
    if asked.method == "pais" and given.get("C", 1.0) < 1:
        found.append({"kind": "alpha", "alpha": given["C"]})
    return found
