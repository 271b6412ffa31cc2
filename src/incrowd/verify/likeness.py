"""How much likelier or less likely sensitive values are in a group than in the whole table: beta and delta.

Counts are arrays of [groups x values]; `marginal` are the counts of the whole table. Values that do not occur in it are
in no group.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from incrowd.verify.domain import Array
from incrowd.verify.levels import TOLERANCE, below


def gains(counts: Array, marginal: Array) -> Array:
    """Return the largest relative gain (q - p) / p of each group; at least 0, since some share does not fall."""
    return np.asarray(np.max(_ratios(counts, marginal) - 1, axis=1, initial=0.0))


def shifts(counts: Array, marginal: Array) -> Array:
    """Return the largest |log2(q / p)| of each group; infinite where a value of the table is not in the group."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.abs(np.log2(_ratios(counts, marginal))).max(axis=1, initial=0.0))


def broken_beta(counts: Array, marginal: Array, beta: float, *, enhanced: bool) -> Array:
    """Tell which groups have a value whose share gains more than beta, or -ln of its share in the table (enhanced)."""
    occurs = marginal > 0
    counts, marginal = counts[:, occurs].astype(np.int64), marginal[occurs].astype(np.int64)
    size, n = counts.sum(axis=1, keepdims=True), int(marginal.sum())
    factor = 1 + Fraction(str(beta))
    wrong = below(size * marginal, factor.numerator, counts * n, factor.denominator)
    if enhanced:
        allowed = 1 - np.log(marginal / n) + TOLERANCE
        wrong = wrong | (_ratios(counts, marginal) > allowed)
    return np.asarray(wrong.any(axis=1))


def broken_delta(counts: Array, marginal: Array, delta: float) -> Array:
    """Tell which groups have a value that is 2 ** delta times as frequent as in the table, or as rare, or more."""
    return np.asarray(shifts(counts, marginal) >= delta)


def _ratios(counts: Array, marginal: Array) -> Array:
    """Return q / p of each value that occurs in the table."""
    occurs = marginal > 0
    share = counts[:, occurs] * float(marginal.sum()) / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return np.asarray(share / marginal[occurs])
