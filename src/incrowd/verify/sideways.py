"""Untouched columns: they are their originals' values, and reveal no column that the release hides."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from math import lgamma, log

import numpy as np
import polars as pl

from incrowd.errors import counted
from incrowd.verify.compare import as_text, equal_values, is_comparable, shows
from incrowd.verify.domain import Array
from incrowd.verify.manifest import Claims
from incrowd.verify.payload import Payload, wrong_rows
from incrowd.verify.rows import Frame
from incrowd.verify.verdict import Findings

Rule = Callable[[pl.Series, pl.Series], tuple[int, int]]
"""Counts the rows that a rule gets wrong, and the values of the secret that it takes to write the rule down."""

FEW_WRONG = 0.05
"""Share of rows that a column may get wrong and still reveal another one."""

_BEYOND_CHANCE = 14.0  # logarithm: columns that have nothing to do with each other look like it once in 10^6 tables
_PROBE, _PROBE_WRONG = 2048, 2 * FEW_WRONG
_FEW_ROWS, _MANY_ROWS = 10, 20
_NEARLY_UNIQUE = 0.9


def check_other(findings: Findings, claims: Claims, payload: Payload, original: pl.DataFrame, rows: Array) -> None:
    """Columns that are kept as they are hold their originals' values, and reveal none that the release hides.

    Where they are shuffled within blocks, whose they are is a question for the check of blocks.
    """
    if not claims.other:
        findings.judge("other columns", [], "0 columns, none reveals what is hidden")
        return
    problems = []
    behind = original[rows]
    for name in claims.other if not claims.in_shares else ():
        same = shows(payload.frame[name], behind[name], claims.tokens)
        problems += wrong_rows(~same, f"have a value of {name!r} that is not their original's")
    problems += revealing(claims, payload, behind)
    unique = [name for name in claims.other if is_nearly_unique(payload.frame[name])]
    noted = f"; nearly unique, so be sure that nobody knows them: {', '.join(map(repr, unique))}" if unique else ""
    problems = [*problems, noted.removeprefix("; ")] if problems and noted else problems
    findings.judge(
        "other columns", problems, f"{counted(len(claims.other), 'column')}, none reveals what is hidden{noted}"
    )


def revealing(claims: Claims, payload: Payload, behind: pl.DataFrame) -> list[str]:
    """Say which columns that are kept as they are reveal one that the release hides, by the originals of its rows."""
    hidden = list(_hidden(claims, payload, behind))
    return [
        f"column {name!r} reveals the originals of {secret!r}"
        for name in claims.other
        for secret in hidden
        if reveals(behind[name], behind[secret])
    ]


def _hidden(claims: Claims, payload: Payload, behind: pl.DataFrame) -> Iterator[str]:
    """Name the columns whose values the rows do not show: generalized ones, and a sensitive one told in shares."""
    for name in (q.name for q in claims.quasi):
        cells = payload.frame.select([f"{name}.lo", f"{name}.hi"])
        lo, hi = cells
        if lo.ne_missing(hi).any() or cells.n_unique() < behind[name].n_unique():
            yield name
    yield from (secret.name for secret in claims.secrets if secret.form != "exact")


def is_nearly_unique(column: pl.Series) -> bool:
    """Tell whether a column has a value of its own for nearly every row."""
    return len(column) >= _MANY_ROWS and column.n_unique() > _NEARLY_UNIQUE * len(column)


def reveals(column: pl.Series, secret: pl.Series) -> bool:
    """Tell whether a column reveals another one in all but a few rows: by the same value, by a value, by its order.

    The values of the secret could stand in many orders. A rule (both are the same; each value of the column goes with
    one of the secret; one rises with the other) describes few of them, with its exceptions. If they are so few that
    chance does not explain it, the column tells the secret.
    """
    if len(secret) < _FEW_ROWS or not is_comparable(column.dtype) or not is_comparable(secret.dtype):
        return False
    step = max(1, len(secret) // _PROBE)
    probe, own = column[::step], secret[::step]
    known = [_same, _by_value, *_by_order(column, secret)] if len(secret) >= _MANY_ROWS else [_same]
    rules = [rule for rule in known if rule(probe, own)[0] <= _PROBE_WRONG * len(own)]
    if not rules:
        return False
    counts = _counts(secret)
    by_majority = len(secret) - max(counts)  # rows that the most frequent value gets wrong
    for rule in rules:
        wrong, n_choices = rule(column, secret)
        described = log_choose(len(secret), wrong) + (wrong + n_choices) * log(len(counts))
        few = wrong <= FEW_WRONG * len(secret) and 2 * wrong <= by_majority
        if few and _log_orders(counts) - described >= _BEYOND_CHANCE:
            return True
    return False


def copies(column: pl.Series, other: pl.Series) -> bool:
    """Tell whether two columns are the same by other names, in every row; where nearly all differ, by their order."""
    n = len(other)
    if n < _FEW_ROWS or not is_comparable(column.dtype) or not is_comparable(other.dtype):
        return False
    n_values = other.n_unique()
    if column.n_unique() != n_values or _log_orders(_counts(other)) < _BEYOND_CHANCE:
        return False
    if _same(column, other)[0] == 0 or n < _MANY_ROWS:
        return _same(column, other)[0] == 0
    if n_values <= n // 2:
        return pl.DataFrame([column.alias("a"), other.alias("b")]).n_unique() == n_values
    return any(rule(column, other)[0] == rule(other, column)[0] == 0 for rule in _by_order(column, other))


def _counts(column: pl.Series) -> list[int]:
    return column.alias("").value_counts(name="n")["n"].to_list()


def _log_orders(counts: list[int]) -> float:
    """Return the logarithm of the number of orders in which values can stand that occur so often."""
    return lgamma(sum(counts) + 1) - sum(lgamma(count + 1) for count in counts)


def _same(column: pl.Series, secret: pl.Series) -> tuple[int, int]:
    return len(secret) - int(equal_values(column, secret).sum()), 0


def _by_value(column: pl.Series, secret: pl.Series) -> tuple[int, int]:
    """Each value goes with the most frequent one of the secret; what stands in a single row is nobody else's guess."""
    pairs = pl.DataFrame([column.alias("a"), secret.alias("b")]).group_by("a", "b").len()
    best = pairs.group_by("a").agg(pl.max("len"), pl.sum("len").alias("rows")).filter(pl.col("rows") > 1)["len"]
    return len(secret) - int(best.sum()), len(best)


def _rising(column: pl.Series, secret: pl.Series, *, falling: bool = False) -> tuple[int, int]:
    table = pl.DataFrame([column.alias("a"), secret.alias("b")])
    # rows that are equal in one stand in the order that helps least: it does not tell which is which
    ranks = table.sort("a", "b", descending=[False, not falling])["b"].rank("dense", descending=falling)
    return len(secret) - longest_rise(ranks.fill_null(len(secret) if falling else 0).to_list()), 1


def _falling(column: pl.Series, secret: pl.Series) -> tuple[int, int]:
    return _rising(column, secret, falling=True)


def _by_order(column: pl.Series, secret: pl.Series) -> list[Rule]:
    """Return the rules that are about numbers and days."""
    ordered = all(own.dtype.is_numeric() or own.dtype.is_temporal() for own in (column, secret))
    return [_rising, _falling] if ordered else []


def longest_rise(numbers: list[int]) -> int:
    """Return the length of the longest subsequence that never falls."""
    ends: list[int] = []
    for number in numbers:
        at = bisect_right(ends, number)
        ends[at : at + 1] = [number]
    return len(ends)


def log_choose(n: int, m: int) -> float:
    """Return the logarithm of the number of ways to choose m of n."""
    return lgamma(n + 1) - lgamma(m + 1) - lgamma(n - m + 1)


def check_identifiers(
    findings: Findings, claims: Claims, frame: Frame, original: pl.DataFrame, rows: Array | None
) -> None:
    """No published column repeats a column of the original that was not announced."""
    announced = {*(q.name for q in claims.quasi), *claims.other, *(secret.name for secret in claims.secrets)}
    hidden = [c for c in original.columns if c not in announced and is_comparable(original[c].dtype)]
    shown = [*claims.other, *(secret.name for secret in claims.secrets if secret.form == "exact")]
    problems = []
    for name in shown:
        for secret in hidden:
            known = secret in claims.dropped
            repeats = _repeats(original[name], original[secret])
            # numbers of equal range may be anything, unless the manifest itself says that they were to go
            if rows is None and (known or original[secret].dtype == pl.String) and is_comparable(frame[name].dtype):
                repeats |= repeats_shuffled(frame[name], original[secret])
            if repeats:
                problems.append(f"column {name!r} repeats the {'dropped' if known else 'unreleased'} column {secret!r}")
    findings.judge(
        "identifiers",
        problems,
        f"no column repeats {'the' if len(hidden) == 1 else 'one of'} {counted(len(hidden), 'unreleased one')}",
    )


def _repeats(column: pl.Series, hidden: pl.Series) -> bool:
    """Tell whether a column is a hidden one; a constant says nothing about anybody."""
    if not is_comparable(column.dtype) or not equal_values(column[:_PROBE], hidden[:_PROBE]).all():
        return False
    return hidden.n_unique() > 1 and bool(equal_values(column, hidden).all())


def repeats_shuffled(column: pl.Series, hidden: pl.Series) -> bool:
    """Tell whether a column holds values of a hidden one that tells people apart, in whatever order."""
    if hidden.n_unique() <= max(1, len(hidden) // 2) or column.n_unique() <= max(1, len(column) // 2):
        return False
    return bool(np.all(as_text(column).is_in(as_text(hidden).implode(), nulls_equal=True).to_numpy()))
