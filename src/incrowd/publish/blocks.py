"""Blocks of rows whose sensitive values are told together: at least k rows, no value with more than 1/l of them.

A table is cut in two again and again while both sides keep k and l, so that rows of a block have about the same chances
of each value; a row's chances come from a naive Bayes model of the quasi-identifiers, fitted to the other rows.
Where a cut by the chances of a value would break l, other values and then single quasi-identifiers are tried.

What blocks tell: if only the counts of values in blocks are published, and everything else is made of
quasi-identifiers alone, then any two people of a block could exchange their values without a trace, and somebody who
has no other reason to prefer one of them believes in a value no more than its share in the block, at most 1/l. That is
exact for blocks that are drawn without a look at the values. Ours look in two ways, each kept small. (1) The model:
averages over the whole table. A person's own value has no part in the model that places them (`_FOLDS` parts, dealt out
by chance), and every average is drawn towards the table's with the weight of k rows. (2) With l > 1, a cut that was not
made may be one that would have broken l (*minimality*). Both sides of a cut are as near to equal in size as blocks of k
allow: that one of two equal sides would break l, and not which, is no reason to believe in a value of anybody.

Cost: O(rows x log(rows / k)) sorting steps.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.table import Table

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_FOLDS = 5
_MOST_BINS = 8


class _Chances(NamedTuple):
    """What the quasi-identifiers say about rows.

    Attributes
    ----------
    of_values
        Chance of each sensitive value, [rows x values].
    positions
        Place of each row in each quasi-identifier's order, from 0 to 1, times what it says about the values.
    """

    of_values: Float64
    positions: Float64


def blocks_of(table: Table, k: int, l: Fraction, rng: np.random.Generator) -> Int64:
    """Return the block of each row, numbered from 0; the whole table must keep k and l."""
    assert table.sensitive is not None
    values, n_values = table.sensitive.astype(np.int64), len(table.sensitive_values)
    chances = _chances(table, values, n_values, k, rng)
    block_of = np.empty(table.n_rows, np.int64)
    stack, n_blocks = [rng.permutation(table.n_rows)], 0  # stable sorting keeps ties in random order
    while stack:
        rows = stack.pop()
        sides = _cut(rows, chances, values, n_values, k, l, rng)
        if sides is None:
            block_of[rows] = n_blocks
            n_blocks += 1
        else:
            stack += sides
    return block_of


def _cut(
    rows: Int64, chances: _Chances, values: Int64, n_values: int, k: int, l: Fraction, rng: np.random.Generator
) -> tuple[Int64, Int64] | None:
    """Return two sides of about equal size that keep k and l, or ``None``."""
    n_blocks = len(rows) // k
    if n_blocks < 2:
        return None
    for axes in chances:
        places = axes[rows]
        spread = places.max(axis=0) - places.min(axis=0)
        for axis in np.argsort(-spread, kind="stable"):
            if spread[axis] <= 0:
                break
            n_left = n_blocks // 2 + n_blocks % 2 * int(rng.integers(2))
            order = rows[np.argsort(places[:, axis], kind="stable")]
            at = round(len(rows) * n_left / n_blocks)
            sides = order[:at], order[at:]
            if all(np.bincount(values[side], minlength=n_values).max() * l <= len(side) for side in sides):
                return sides
    return None


def _chances(table: Table, values: Int64, n_values: int, k: int, rng: np.random.Generator) -> _Chances:
    """Fit naive Bayes to all folds but one, and apply it to that one; no cell of it counts with less than k rows."""
    n = table.n_rows
    positions = _positions(table)
    binned = [_bins(table.codes[:, m], positions[:, m], n // (2 * k)) for m in range(table.n_quasi)]
    fold_of = rng.permutation(n) % min(_FOLDS, n)
    logs = np.empty((n, n_values))
    told = np.zeros(table.n_quasi)
    for fold in range(int(fold_of.max()) + 1):
        inside = fold_of == fold
        others = ~inside if inside.sum() < n else inside
        prior = (np.bincount(values[others], minlength=n_values) + 1.0) / (others.sum() + n_values)
        logs[inside] = np.log(prior)
        for m, bins in enumerate(binned):
            n_bins = int(bins.max()) + 1
            counts = np.bincount(bins[others] * n_values + values[others], minlength=n_bins * n_values)
            of_bin = counts.reshape(n_bins, n_values)
            shares = (of_bin + k * prior) / (of_bin.sum(axis=1, keepdims=True) + k)
            logs[inside] += np.log(shares / prior)[bins[inside]]
            told[m] += np.ptp(shares, axis=0).max()
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    return _Chances(chances / chances.sum(axis=1, keepdims=True), positions * told)


def _positions(table: Table) -> Float64:
    """Return the share of rows below each row's value, half of its equals counted, [rows x quasi]."""
    below = np.empty(table.codes.shape)
    for m, marginal in enumerate(table.marginals):
        middle = (np.cumsum(marginal) - marginal / 2) / table.n_rows
        below[:, m] = middle[table.codes[:, m]]
    return below


def _bins(codes: Int32, positions: Float64, n_bins: int) -> Int64:
    """Return few values as they are, and many in bins of about equal size."""
    found = np.unique(codes)
    if len(found) <= _MOST_BINS:
        return np.searchsorted(found, codes).astype(np.int64)
    return np.asarray(positions * max(2, min(_MOST_BINS, n_bins)), np.int64)
