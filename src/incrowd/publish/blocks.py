"""Blocks of rows whose sensitive values are published together: at least k rows, no value with more than 1/l of them.

A table is cut in two again and again while both sides keep k and l, so that rows of a block have about the same chances
of each value; a row's chances come from a forest over the quasi-identifiers that was grown on other rows. The first cut
tried is along the direction in which chances vary most; where it would break l, other directions are tried. Where all
break it, because people who are alike have nearly always the same value, people of both sides of the first cut are
exchanged by chance, ten or more at a time, until both keep l: what must not be learned is blurred, the
rest is kept. If that is not enough, the same is tried with single quasi-identifiers. Tables of fewer than 200 rows are
cut by quasi-identifiers alone: little can be learned from them, and single values would show.

What blocks tell: if only the counts of values in blocks are published, and everything else is made of quasi-identifiers
alone, then any two people of a block could exchange their values without a trace, and somebody who has no other reason
to prefer one of them believes in a value no more than its share in the block, at most 1/l. That is exact for blocks
that are drawn without a look at the values: those of small tables with l = 1. Others look in three ways, and how little
that tells is measured, not proved. (1) The forest: a person's own value has no part in the trees that place them
(`_FOLDS` random parts), but it has a part in placing those who are like them, and people of a block have
been placed alike. Somebody who knows the blocks, which the owner keeps, can ask whose values would explain them. So
leaves are large, the more so the smaller blocks are: with leaves of 20 rows and k = 2 or 5, that gave away which of two
block mates has which value in 62 of 100 cases of pure noise; with the 600 / k rows that they have here, in 49 to 53 for
k = 2 and 5, and in 53 to 56 for k = 10 (50 is nothing; each ± 1 to 3). (2) With l > 1, a cut that was not made may be
one that would have broken l (*minimality*). Both sides of a cut are as near to equal in size as blocks of k allow: that
one of two equal sides would break l, and not which, is no reason to believe in a value of anybody; of unequal ones it
is the smaller, more often. Over all worlds of some tiny tables (2) adds 0.00 to 0.03 to the mean belief, and up to a
third to a single one. (3) Exchanges: somebody who knows the blocks, and who was exchanged, finds values of those who
left the half that broke l more frequent than in their blocks, in noise by 0.03 to 0.09, which can be above 1/l. Who
knows the blocks and must guess who was exchanged stays within 1/l in a table of two blocks; for larger ones it was not
computed. Blocks, and who was exchanged, were not found from what is published: for k = 20 and 25 linear equations and
annealing were tried, and integer programming was not. What a release shows of people who are alike is at most 1/l, and
often less than the truth: where shares lie at the bound in a whole region, somebody may guess that nearly all there
have the value. That is the pattern of the population, and no promise is about it. (1) and (2) are in
tests/publish/test_hardened.py; the attack there is simpler than the one that gave 62, and sees leaves of 5 rows
clearly, those of 20 hardly.

Cost: a small forest, and O(rows x log(rows / k)) sorting steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.coding import Secret, Table
from incrowd.kernels.forest import add_shares, grow
from incrowd.kernels.information import n_log_n
from incrowd.runs import workers

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]

_FEW_ROWS = 200
_NO_SPREAD = 1e-9  # below it, an order is one of rounding errors
_FOLDS = 5
_TREES = (10, 40)  # least and most of a forest
_MOST_ROWS, _ALL_ROWS = 5000, 15_000  # that one tree sees, and that all of a forest see if there are few of them
_BINS = 256  # of a quasi-identifier, with about as many rows each, that trees may tell apart
_EXCHANGED = 10  # least people of a side that are exchanged at once
_LEAF, _LEAF_TIMES_K = 20, 600  # least rows of a leaf, and more where blocks are small: see above


class _Axes(NamedTuple):
    """Orders in which rows can be cut.

    Attributes
    ----------
    chances
        Chances of the sensitive values, turned so that they vary along few axes, [rows x values].
    positions
        Place of each row in each quasi-identifier's order, from 0 to 1, times what it says about the values.
    """

    chances: Float64
    positions: Float64


class Limited(NamedTuple):
    """A sensitive column, and the l that blocks keep of it.

    Attributes
    ----------
    codes
        The value of each row.
    """

    codes: Int64
    n_values: int
    l: Fraction

    @classmethod
    def of(cls, table: Table, secret: Secret, l: Fraction) -> Limited:
        """Take a sensitive column of a table."""
        assert table.sensitive is not None
        return cls(secret.codes(table.sensitive).astype(np.int64), len(secret.values), l)


def blocks_of(table: Table, k: int, secrets: Sequence[Limited], rng: np.random.Generator) -> Int64:
    """Return the block of each row, numbered from 0; the whole table must keep k, and l of each sensitive column."""
    axes = _axes(table, secrets, k, rng)
    block_of = np.empty(table.n_rows, np.int64)
    stack, n_blocks = [rng.permutation(table.n_rows)], 0  # stable sorting keeps ties in random order
    while stack:
        rows = stack.pop()
        sides = _cut(rows, axes, secrets, k, rng)
        if sides is None:
            block_of[rows] = n_blocks
            n_blocks += 1
        else:
            stack += sides
    return block_of


def _cut(
    rows: Int64, axes: _Axes, secrets: Sequence[Limited], k: int, rng: np.random.Generator
) -> tuple[Int64, Int64] | None:
    """Return two sides of about equal size that keep k and l, or ``None``."""
    n_blocks = len(rows) // k
    if n_blocks < 2:
        return None
    for orders in axes:
        widest = None
        places = orders[rows]
        spread = places.max(axis=0) - places.min(axis=0)
        for axis in np.argsort(-spread, kind="stable"):
            if spread[axis] < _NO_SPREAD:
                break
            n_left = n_blocks // 2 + n_blocks % 2 * int(rng.integers(2))
            order = rows[np.argsort(places[:, axis], kind="stable")]
            at = round(len(rows) * n_left / n_blocks)
            sides = order[:at], order[at:]
            if _keep(sides, secrets):
                return sides
            widest = order if widest is None else widest
        if widest is not None and (mixed := _mixed(widest, secrets, rng)):
            return mixed
    return None


def _mixed(order: Int64, secrets: Sequence[Limited], rng: np.random.Generator) -> tuple[Int64, Int64] | None:
    """Exchange people of two halves, drawn by chance, until both keep l; ``None`` if half of them are not enough.

    Halves are equal, because the smaller of two sides would most likely be the one that broke l.
    """
    half = len(order) // 2
    left, right = rng.permutation(order[:half]), rng.permutation(order[half:])
    for n in range(step := max(_EXCHANGED, half // 50), half // 2 + 1, step):
        sides = np.concatenate([right[:n], left[n:]]), np.concatenate([left[:n], right[n:]])
        if _keep(sides, secrets):
            return rng.permutation(sides[0]), rng.permutation(sides[1])
    return None


def _keep(sides: Sequence[Int64], secrets: Sequence[Limited]) -> bool:
    """Tell whether no value of a sensitive column has more than 1/l of either side."""
    return all(np.bincount(own.codes[side]).max() <= int(len(side) / own.l) for side in sides for own in secrets)


def _axes(table: Table, secrets: Sequence[Limited], k: int, rng: np.random.Generator) -> _Axes:
    """Return the orders in which rows can be cut: by their chances, and by single quasi-identifiers."""
    if table.n_rows < _FEW_ROWS:
        return _Axes(np.empty((table.n_rows, 0)), _positions(table))
    found = [chances_of(table, own.codes, own.n_values, k, rng) for own in secrets]
    chances, gains = np.hstack([own for own, _ in found]), np.sum([told for _, told in found], axis=0)
    centred = chances - chances.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    return _Axes(centred @ directions, _positions(table) * (gains if gains.any() else 1))


def chances_of(table: Table, values: Int64, n_values: int, k: int, rng: np.random.Generator) -> tuple[Float64, Float64]:
    """Return each row's chances of the values by forests that did not see it, and how much each attribute tells."""
    n_folds = min(_FOLDS, table.n_rows)
    fold_of = rng.permutation(table.n_rows) % n_folds
    bins = np.minimum(_positions(table) * _BINS, _BINS - 1).astype(np.uint8)
    least, logs = max(_LEAF, -(-k // 2), _LEAF_TIMES_K // k), n_log_n(table.n_rows)

    def by_forest(fold: int, own: np.random.Generator) -> tuple[Int64, Float64, Float64]:
        """Return the rows of a part, what trees of other rows say about them, and how much attributes helped."""
        inside = np.flatnonzero(fold_of == fold)
        others = np.flatnonzero(fold_of != fold) if n_folds > 1 else inside
        asked, votes, gains = bins[inside], np.zeros((len(inside), n_values)), np.zeros(table.n_quasi)
        n_trees = int(np.clip(_ALL_ROWS // len(others), *_TREES))
        for _ in range(n_trees):
            sample = own.choice(others, min(len(others), _MOST_ROWS), replace=False)
            draws = own.random((2 * (len(sample) // least) + 1, table.n_quasi))
            nodes, shares, taken = grow(bins, values, sample, _BINS, n_values, least, draws, logs)
            add_shares(asked, nodes, shares, votes)
            gains += taken
        return inside, votes / n_trees, gains

    chances, gains = np.zeros((table.n_rows, n_values)), np.zeros(table.n_quasi)
    with ThreadPoolExecutor(workers()) as pool:
        jobs = [pool.submit(copy_context().run, by_forest, fold, own) for fold, own in enumerate(rng.spawn(n_folds))]
        for job in jobs:
            inside, votes, taken = job.result()
            chances[inside] = votes
            gains += taken
    return chances, gains


def _positions(table: Table) -> Float64:
    """Return the share of rows below each row's value, half of its equals counted, [rows x quasi]."""
    below = np.empty(table.codes.shape)
    for m, marginal in enumerate(table.marginals):
        middle = (np.cumsum(marginal) - marginal / 2) / table.n_rows
        below[:, m] = middle[table.codes[:, m]]
    return below
