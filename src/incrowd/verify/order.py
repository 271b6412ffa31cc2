"""Whether rows are shuffled: seen by a row map, or by values that stand where they would not by chance."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import lgamma

import numpy as np

from incrowd.verify.domain import Array
from incrowd.verify.verdict import Findings

SHUFFLED_FROM = 10
"""Rows from which an order is told from chance."""

IN_ORDER = 0.99
"""Rank correlation from which rows count as not shuffled."""

_FAR = 8.0  # standard deviations
_SOME = 10
_MANY_ORDERS = 30.0


def check_order(findings: Findings, rows: Array | None) -> None:
    """Rows that stand in the order of the originals, or nearly, say who is who to whoever knows that order."""
    if rows is None or rows.ndim != 1 or rows.dtype.kind not in "iu":
        findings.skip("order", "needs the row map: whether rows are shuffled cannot be seen without it")
        return
    problems = []
    if len(rows) >= SHUFFLED_FROM:
        alike = rank_correlation(rows)
        if abs(alike) >= IN_ORDER:
            way = "order" if alike > 0 else "reversed order"
            problems.append(f"the rows stand in the {way} of the originals (rank correlation {alike:.3f})")
    findings.judge("order", problems, "rows are shuffled")


def rank_correlation(rows: Array) -> float:
    """Return Spearman's correlation of row numbers with their positions."""
    n = len(rows)
    gap = (np.argsort(rows, kind="stable") - np.arange(n)).astype(np.float64)
    return 1 - 6 * float(gap @ gap) / (n * (float(n) ** 2 - 1))


def stand_alike(one: Array, other: Array) -> bool:
    """Tell whether two columns of numbers agree in more places than two shuffled ones ever would, or one turned round.

    The places where they agree have, under a random order, the mean and variance of a permutation statistic.
    """
    n = len(one)
    if n < SHUFFLED_FROM:
        return False
    size = int(max(one.max(), other.max())) + 1
    a, b = np.bincount(one, minlength=size).astype(np.float64), np.bincount(other, minlength=size).astype(np.float64)
    pairs = float(a @ b)
    variance = (pairs - float(a @ (b * b) + b @ (a * a)) / n + (pairs / n) ** 2) / (n - 1)
    orders = lgamma(n + 1) - sum(map(lgamma, a + 1))  # logarithm of how many there are
    if orders > _MANY_ORDERS and any(np.array_equal(turned, other) for turned in (one, one[::-1])):
        return True
    limit = max(pairs / n + _FAR * max(variance, 0.0) ** 0.5, _SOME)
    return any(int((turned == other).sum()) > limit for turned in (one, one[::-1]))


def check_orders(findings: Findings, classes: Sequence[Array], rows: Sequence[Array] | None) -> None:
    """Projections whose rows stand in the order of each other can be put together again, row by row."""
    problems = []
    for (p, one), (r, other) in combinations(enumerate(classes, start=1), 2):
        if len(one) == len(other) and stand_alike(one, other):
            problems.append(f"projections {p} and {r} have their classes in the same order")
    maps = [own for own in rows or () if own.ndim == 1 and own.dtype.kind in "iu" and len(own) >= SHUFFLED_FROM]
    for number, own in enumerate(maps, start=1):
        if abs(rank_correlation(own)) >= IN_ORDER:
            problems.append(f"the rows of projection {number} stand in the order of the originals")
    for (p, one), (r, other) in combinations(enumerate(maps, start=1), 2):
        if len(one) == len(other) and abs(rank_correlation(_places(one)[np.argsort(np.argsort(other))])) >= IN_ORDER:
            problems.append(f"projections {p} and {r} have their rows in the same order")
    seen = "rows of each are shuffled by themselves" if maps else "no order is seen; without row maps not all can be"
    findings.judge("order", problems, seen)


def _places(rows: Array) -> Array:
    """Return where the person of each rank stands."""
    return np.argsort(rows, kind="stable")
