"""Several sensitive columns in a part of the cases, drawn by a generator of its own: all others stay as they are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import polars as pl

import incrowd as ic
from checks.gauntlet.columns import sensitive_values
from incrowd.schema.schema import Attribute, Role

SHARE = 0.2
"""Part of the cases that is changed here."""

ONE_ONLY = ("nhaa", "pais", "dmpd", "pareto_dmpd")
"""Methods that protect one sensitive column."""

KINDS = (
    "frequency", "frequency", "distinct", "entropy", "recursive", "t", "tree", "ordered", "alpha", "beta", "delta",
    "all",
)  # fmt: skip
_LIMITS = ("l", "l_kind", "c", "t", "ordered", "alpha", "beta", "enhanced", "delta", "tree", "width")


@dataclass(frozen=True)
class Asking:
    """What a case asks for; `must` is the only error that is right, if there is one."""

    frame: pl.DataFrame
    schema: ic.Schema
    parameters: dict[str, Any]
    must: str | None = None


def more_secrets(
    rng: random.Random, method: str, asking: Asking, tokens: tuple[str, ...], *, plain: bool, always: bool = False
) -> Asking:
    """Return what is asked for, at times with more sensitive columns, or with limits of its own for the one."""
    if rng.random() >= SHARE and not always:
        return asking
    frame, first = asking.frame, asking.schema.secrets[0]
    ways = (("+",), ("+",), ("+", "-")) if always else ((), ("+",), ("+",), ("+",), ("+", "-"))
    names = [first, *(f"{first}{end}" for end in rng.choice(ways))]
    for name in names[1:]:
        values = frame[first] if rng.random() < 0.05 else _values(rng, frame.height, tokens, plain=plain)
        frame = frame.insert_column(rng.randrange(frame.width + 1), values.alias(name))
    rng.shuffle(names)
    codes = {name: _codes(rng, frame[name]) for name in names} if not plain else {}
    parameters = {name: value for name, value in asking.parameters.items() if name not in _LIMITS}
    ranges = {name: starts for name in names if not codes.get(name) and (starts := _ranges(rng, frame[name]))}
    given, limits = _limits(rng, method, frame.select(names), plain=plain)
    if parameters.get("C") is not None:
        given, limits = {}, {}
    if (
        any((given, *limits.values()))
        and method not in (*ONE_ONLY, "nsvdist")
        and len(names) > 1
        and rng.random() < 0.35
    ):
        given["others_known"] = True
    must = _must(rng, method, names, parameters, given, limits)
    schema = _schema(rng, asking.schema, names, codes, limits, ranges)
    return Asking(frame, schema, parameters | given, must)


def _values(rng: random.Random, n: int, tokens: tuple[str, ...], *, plain: bool) -> pl.Series:
    if plain or rng.random() < 0.4:
        return pl.Series([rng.choice(("a", "b", "c")[: rng.choice((2, 3))]) for _ in range(n)], dtype=pl.String())
    if rng.random() < 0.3:
        return pl.Series([rng.choice((None, 12)) if rng.random() < 0.05 else rng.randrange(40) for _ in range(n)])
    return sensitive_values(rng, n, tokens, plain=plain)


def _ranges(rng: random.Random, column: pl.Series) -> tuple[float, ...]:
    """Return where ranges of a column of numbers begin, at times."""
    values = _numbers(column)
    if len(values) < 2 or rng.random() < 0.7:
        return ()
    return tuple(sorted({values[0], *rng.sample(values[1:], rng.randint(1, min(4, len(values) - 1)))}))


def _numbers(column: pl.Series) -> list[float]:
    """Return the distinct numbers of a column in order; nothing of any other column."""
    values = set(column.drop_nulls().to_list()) if column.dtype.is_numeric() else set()
    return sorted(value for value in values if isfinite(value))


def _codes(rng: random.Random, column: pl.Series) -> tuple[str, ...]:
    """Return a value that means missing in this column, and one that nobody has."""
    values = column.drop_nulls().unique(maintain_order=True).to_list()
    if rng.random() < 0.8 or not values or type(values[0]) not in (int, str):
        return ()
    text = str(rng.choice(values))
    return (text, "-9") if text and text == text.strip() and len(text) < 40 and text != "-9" else ("-9",)


def _limits(
    rng: random.Random, method: str, frame: pl.DataFrame, *, plain: bool
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the parameters that the method is given, and the limits that the schema has for each column."""
    names = frame.columns
    each = {name: _of_one(rng, method, _numbers(frame[name]), plain=plain) for name in names}
    if rng.random() < 0.4:
        each[rng.choice(names)] = {}
    way = rng.choice(("one", "mapping", "mapping", "schema", "mixed", "both"))
    if way == "one":
        return _of_one(rng, method, plain=plain), {}
    if way == "schema" or method in ONE_ONLY:
        return {}, each
    if way == "both":  # one setting for all, and another kind for one
        more = {} if method == "nsvdist" else {"alpha": rng.choice((0.8, 0.9))}
        return {"l": rng.choice((1.1, 1.2))}, {rng.choice(names): more}
    held = {rng.choice(names)} if way == "mixed" else set()
    mapped = [name for name in rng.sample(names, len(names)) if name not in held]
    keys = [key for key in _LIMITS if any(key in each[name] for name in mapped)]
    given = {key: {name: each[name][key] for name in mapped if key in each[name]} for key in keys}
    return given, {name: each[name] for name in held}


def _of_one(rng: random.Random, method: str, numbers: Sequence[float] = (), *, plain: bool) -> dict[str, Any]:
    """Return the limits of one column."""
    l = rng.choice((1.1, 1.2, 1.3)) if plain else rng.choice((1, 1.1, 1.25, 1.5, 2))
    if method in (*ONE_ONLY, "nsvdist"):
        return {"l": rng.choice((1, 2)) if method == "nhaa" else l}
    kind = rng.choice((*KINDS, "width", "width", "width", "width") if len(numbers) > 1 else KINDS)
    found: dict[str, dict[str, Any]] = {
        "t": {"t": rng.choice((0.2, 0.4, 0.6))},
        "tree": {"t": rng.choice((0.2, 0.4)), "tree": True},
        "ordered": {"t": 0.4, "ordered": not plain},
        "alpha": {"alpha": rng.choice((0.8, 0.9) if plain else (0.5, 0.7, 0.9))},
        "beta": {"beta": rng.choice((0.6, 1.5)), "enhanced": rng.random() < 0.5},
        "delta": {"delta": rng.choice((1.2, 2.5))},
        "width": _width(rng, numbers),
        "all": {"l": l, "t": 0.6, "alpha": 0.95},
        "distinct": {"l": 2, "l_kind": "distinct"},
        "recursive": {"l": 2, "l_kind": "recursive", "c": rng.choice((3.0, 5.0))},
    }
    return found.get(kind, {"l": l, "l_kind": kind})


def _width(rng: random.Random, numbers: Sequence[float]) -> dict[str, Any]:
    """Return how far numbers are to be apart: as some of them are, or a bit less or more."""
    if len(numbers) < 2:
        return {}
    apart = float(abs(rng.choice(numbers[1:]) - numbers[0]) * rng.choice((0.2, 0.5, 0.5, 1, 1.01)))
    asked = {"width": apart if 1e-9 < apart < 1e15 else 1}
    return asked if rng.random() < 0.6 else asked | {"l": 1.2}


def with_trees(asking: Asking) -> ic.Schema:
    """Return the schema with a tree for each sensitive column, if closeness is to be measured along one."""
    own = asking.schema.attributes.values()
    if not asking.parameters.get("tree") and not any("tree" in each.limits for each in own):
        return asking.schema
    return ic.Schema.of(
        [replace(e, hierarchy=ic.balanced(2)) if e.role is Role.SENSITIVE and not e.ranges else e for e in own],
        target=asking.schema.target,
        missing=asking.schema.missing,
        missing_tokens=asking.schema.missing_tokens,
        rest=asking.schema.rest,
    )


def _must(
    rng: random.Random, method: str, names: list[str], parameters: dict[str, Any], given: dict[str, Any],
    limits: dict[str, dict[str, Any]],
) -> str | None:  # fmt: skip
    """Say which error is the only right one; at times ask for what cannot be."""
    if len(names) > 1 and (method in ONE_ONLY or parameters.get("mode") == "paper"):
        return "IncompatibleError"
    if method == "nsvdist" and rng.random() < 0.05:
        limits[names[0]] = limits.get(names[0], {}) | {"t": 0.5}
        return "IncompatibleError"
    if len(names) > 1 and method != "nsvdist" and rng.random() < 0.05:
        given["alpha"] = {names[0]: 0.9} if rng.random() < 0.5 else 0.9
        limits[names[0]] = {"alpha": 0.8}
        return "ParameterError"
    return None


def _schema(
    rng: random.Random, before: ic.Schema, names: list[str], codes: dict[str, tuple[str, ...]],
    limits: dict[str, dict[str, Any]], ranges: dict[str, tuple[float, ...]],
) -> ic.Schema:  # fmt: skip
    """Return the schema with all sensitive columns among the others, in their own order."""
    attributes = [own for own in before.attributes.values() if own.role is not Role.SENSITIVE]
    places = sorted(rng.randrange(len(attributes) + 1) for _ in names)
    for at, name in reversed(list(zip(places, names, strict=True))):
        about = {"limits": limits.get(name, {}), "ranges": ranges.get(name, ())}
        own = Attribute(name, Role.SENSITIVE, missing=codes.get(name, ()), **about)
        attributes.insert(at, own)
    kept = before.target if before.target in before.other else None
    return ic.Schema.of(
        [replace(own) for own in attributes],
        target=kept or rng.choice((None, *names)),
        missing=before.missing,
        missing_tokens=before.missing_tokens,
        rest=before.rest,
    )
