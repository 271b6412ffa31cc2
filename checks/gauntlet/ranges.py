"""Sensitive numbers in ranges in a part of the cases, drawn by a generator of its own: all others stay as they are."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import polars as pl

import incrowd as ic
from checks.gauntlet.columns import real_numbers, skewed
from checks.gauntlet.several import Asking
from incrowd.schema.schema import Role

SHARE = 0.15
"""Part of the cases that is changed here."""

_MOST = 1e15  # numbers up to which starts between them are exact


def more_ranges(rng: random.Random, asking: Asking, *, projections: bool, plain: bool) -> Asking:
    """Return what is asked for, at times with sensitive numbers in ranges, which may be new columns of that name."""
    if rng.random() >= SHARE:
        return asking
    frame, names = asking.frame, [name for name in asking.schema.secrets if rng.random() < 0.7]
    starts: dict[str, list[float]] = {}
    wrong = asking.must is None and not plain and not projections and rng.random() < 0.05
    for name in names:
        if asking.schema.attributes[name].hierarchy is not None:
            continue
        if plain or not frame[name].dtype.is_numeric() or rng.random() < 0.5:
            frame = frame.with_columns(_numbers(rng, frame.height, plain=plain).alias(name))
        if own := _starts(rng, frame[name], off=plain):
            starts[name] = [start + (max(own) - min(own) + 1e6) for start in own] if wrong else own
    if not starts:
        return replace(asking, frame=frame)
    must = "SchemaError" if wrong else "IncompatibleError" if projections else asking.must
    return Asking(frame, _with_ranges(asking.schema, starts), asking.parameters, must)


def _with_ranges(schema: ic.Schema, starts: dict[str, list[float]]) -> ic.Schema:
    own = schema.attributes.values()
    return ic.Schema.of(
        [replace(one, ranges=tuple(starts.get(one.name, ()))) if one.role is Role.SENSITIVE else one for one in own],
        target=schema.target,
        missing=schema.missing,
        missing_tokens=schema.missing_tokens,
        rest=schema.rest,
    )


def _numbers(rng: random.Random, n: int, *, plain: bool) -> pl.Series:
    """Return numbers of few sizes, so that ranges keep limits."""
    if plain:  # numbers that no range begins with
        kind = rng.choice((pl.Int64(), pl.Int32(), pl.Float64()))
        values = [rng.choice((10, 10, 20, 20, 30)) + rng.randrange(1, 9) for _ in range(n)]
        return pl.Series([value + 0.5 for value in values] if kind.is_float() else values, dtype=kind)
    kind = rng.choice(("pay", "small", "real", "narrow"))
    if kind == "real":
        return real_numbers(rng, n)
    if kind == "narrow":
        return pl.Series(
            skewed(rng, list(range(-3, 40)), n), dtype=rng.choice((pl.Int8(), pl.UInt16(), pl.Int32())), strict=False
        )
    values = [rng.randrange(900, 9000) if kind == "pay" else rng.randrange(6) for _ in range(n)]
    gaps = [None if rng.random() < 0.1 else value for value in values] if rng.random() < 0.3 else values
    return pl.Series(gaps, dtype=pl.Int64())


def _starts(rng: random.Random, column: pl.Series, *, off: bool) -> list[float]:
    """Return where ranges begin, the first at or below the least value; `off` the values of the column."""
    known = sorted({value for value in column.to_list() if value is not None and math.isfinite(value)})
    if not known or max(map(abs, known)) > _MOST:
        return []
    if off:
        return [10, 20, 30]
    whole = column.dtype.is_integer()
    between = rng.sample(known, min(len(known), rng.choice((1, 2, 3, 5))))
    moved = [value + rng.choice((0, 0, 1, -1) if whole else (0, 0.5, -0.25)) for value in between]
    beyond = [known[-1] + 3, known[-1] + 10**12] if rng.random() < 0.2 else []
    least = known[0] - rng.choice((0, 1, 100))
    found = sorted({start for start in [least, *moved, *beyond] if start >= least})
    if rng.random() < 0.2:
        found = [float(start) for start in found] if whole else [int(s) if float(s).is_integer() else s for s in found]
    if 0 in found and rng.random() < 0.3:
        found[found.index(0)] = -0.0
    return found if len(found) > 1 else []
