"""Random columns: what people keep in tables, and what nobody should."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable
from typing import Any

import polars as pl

TOKENS = ("?", "n/a")
"""Texts that mean missing, in cases that declare them."""

_TEXTS = (
    ("red", "green", "blue", "grey"),
    ("Ärzte", "Żółw", "日本語", "naïve", "nai\u0308ve", "עברית", "🙂🙃", "ß", "SS"),
    ("a,b", 'say "x"', "two\nlines", "cr\rlf", " padded ", "", " ", "*", "(missing)", "=1+1", "-2", "@x", "tab\tbed"),
    ("10023", "10055", "10165", "10224", "2", "22", "0222"),
    ("1-2", "a|b", "a to b", "a (rest)", "* (rest)", "true", "null", "nan", "\u202eabc", "\u00a0"),
    ("low", "mid", "high", "top", "lower", "peak"),
    tuple(f"n{number:02d}" for number in range(30)),
)
_WEIRD_NUMBERS = (0.0, -0.0, 0.1, 0.1 + 0.2, 1e-7, 1e300, -1e300, 5e-324, 2.0**53, 2.0**53 + 2, 1 / 3, 123456.789, 1e22)
_HUGE = (2**63 - 1, -(2**63), 2**53, 2**53 + 1, -(2**53) - 1, 10**18, 0, 1, -1)


def skewed(rng: random.Random, values: list[Any], n: int) -> list[Any]:
    """Draw with repetition, some values much more often than others."""
    power = rng.choice((0.0, 1.0, 3.0))
    weights = [1 / (place + 1) ** power for place in range(len(values))]
    return rng.choices(values, weights, k=n)


def whole_numbers(rng: random.Random, n: int) -> pl.Series:
    """Return a column of whole numbers."""
    kind = rng.choice(("few", "ages", "negative", "huge", "wide", "one", "distinct"))
    if kind == "huge":
        return pl.Series(skewed(rng, list(_HUGE), n), dtype=pl.Int64())
    spread = {"few": 3, "ages": 80, "negative": 40, "wide": 10**6, "one": 1, "distinct": 10**9}[kind]
    low = -20 if kind == "negative" else rng.choice((0, 1, 17, 1000))
    values = [low + rng.randrange(spread) for _ in range(n)]
    small = rng.choice((pl.Int64(), pl.Int64(), pl.Int32(), pl.UInt32(), pl.Int16()))
    fits = min(values) >= 0 if small == pl.UInt32() else max(map(abs, values)) < 2**15 or small != pl.Int16()
    return pl.Series(values, dtype=small if fits else pl.Int64())


def real_numbers(rng: random.Random, n: int, *, infinite: bool = False) -> pl.Series:
    """Return a column of floats: round, long, huge, tiny; infinite ones only where asked for."""
    kind = rng.choice(("round", "long", "weird", "whole", "tenths"))
    if kind == "weird":
        values = skewed(rng, list(_WEIRD_NUMBERS), n)
    else:
        make: dict[str, Callable[[], float]] = {
            "round": lambda: rng.randrange(40) / 2,
            "long": lambda: rng.gauss(0, 100),
            "whole": lambda: float(rng.randrange(-5, 30)),
            "tenths": lambda: rng.randrange(12) * 0.1,
        }
        values = [make[kind]() for _ in range(n)]
    if infinite:
        values[rng.randrange(n)] = rng.choice((math.inf, -math.inf))
    narrow = kind in ("round", "whole") and rng.random() < 0.2
    return pl.Series(values, dtype=pl.Float32() if narrow else pl.Float64())


def texts(rng: random.Random, n: int) -> pl.Series:
    """Return a column of text, plain or nasty; sometimes categorical."""
    words = list(rng.choice(_TEXTS))
    rng.shuffle(words)
    column = pl.Series(skewed(rng, words[: rng.randint(1, len(words))], n), dtype=pl.String())
    return column.cast(pl.Categorical()) if rng.random() < 0.1 else column


def days(rng: random.Random, n: int) -> pl.Series:
    """Return a column of dates, or of timestamps at midnight."""
    start = dt.date(rng.choice((1, 1899, 1970, 2001, 9990)), 1, 1)
    spread = rng.choice((3, 40, 3000))
    values = [start + dt.timedelta(days=rng.randrange(spread)) for _ in range(n)]
    column = pl.Series(values, dtype=pl.Date())
    return column.cast(pl.Datetime("us")) if rng.random() < 0.2 else column


def truths(rng: random.Random, n: int) -> pl.Series:
    """Return a column of true and false."""
    return pl.Series(skewed(rng, rng.sample((True, False), 2), n), dtype=pl.Boolean())


def number_texts(rng: random.Random, n: int) -> pl.Series:
    """Return numbers that were read as text."""
    return pl.Series([str(rng.randrange(12)) for _ in range(n)], dtype=pl.String())


MAKERS: dict[str, Callable[[random.Random, int], pl.Series]] = {
    "int": whole_numbers,
    "float": real_numbers,
    "str": texts,
    "date": days,
    "bool": truths,
    "text numbers": number_texts,
}


def with_gaps(rng: random.Random, column: pl.Series, tokens: tuple[str, ...]) -> pl.Series:
    """Make some values missing: null, NaN, or a token."""
    share = rng.choice((0.02, 0.1, 0.4))
    values = column.to_list()
    for place in range(len(values)):
        if rng.random() < share:
            values[place] = None
            if column.dtype.is_float() and rng.random() < 0.5:
                values[place] = math.nan
            if column.dtype == pl.String() and tokens and rng.random() < 0.5:
                values[place] = rng.choice(tokens)
    return pl.Series(values, dtype=column.dtype)


def sensitive_values(rng: random.Random, n: int, tokens: tuple[str, ...], *, plain: bool) -> pl.Series:
    """Return a column that must not become known: few names, or anything."""
    if plain or rng.random() < 0.5:
        return pl.Series(skewed(rng, ["flu", "cold", "cough", "ache"], n), dtype=pl.String())
    column = MAKERS[rng.choice(list(MAKERS))](rng, n)
    if column.dtype.is_numeric() and rng.random() < 0.7:
        values = column.to_list()
        column = pl.Series([values[rng.randrange(min(4, n))] for _ in range(n)], dtype=column.dtype)
    return with_gaps(rng, column, tokens) if rng.random() < 0.2 else column
