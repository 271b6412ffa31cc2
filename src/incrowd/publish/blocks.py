"""Blocks of rows whose sensitive values are told together: at least k rows, no value with more than 1/l of them.

A table is cut in two again and again while both sides keep k and l, so that rows of a block have about the same chances
of each value; a row's chances come from a forest over the quasi-identifiers that was grown on other rows. The first cut
tried is along the direction in which chances vary most; where it would break l, other directions and then single
quasi-identifiers are tried. Tables of fewer than 200 rows are cut by quasi-identifiers alone: little can be learned
from them, and single values would show.

What blocks tell: if only the counts of values in blocks are published, and everything else is made of
quasi-identifiers alone, then any two people of a block could exchange their values without a trace, and somebody who
has no other reason to prefer one of them believes in a value no more than its share in the block, at most 1/l. That is
exact for blocks that are drawn without a look at the values: those of small tables with l = 1. Others look in two ways,
and how little that tells is measured, not proved. (1) The forest: a person's own value has no part in the trees that
place them (`_FOLDS` parts, dealt out by chance), but it has a part in placing those who are like them, and people of a
block have been placed alike. So leaves are large: with leaves of k / 2 rows, somebody who knew the blocks found most
values of people who come in pairs of equals; with `_LEAF` rows, hardly more than the blocks' shares tell. (2) With
l > 1, a cut that was not made may be one that would have broken l (*minimality*). Both sides of a cut are as near to
equal in size as blocks of k allow: that one of two equal sides would break l, and not which, is no reason to believe in
a value of anybody. Over all worlds of some tiny tables (2) adds 0.00 to 0.03 to the mean belief, and up to a third to a
single one. Both are in tests/publish/test_hardened.py.

Cost: a small forest, and O(rows x log(rows / k)) sorting steps.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.table import Table

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_FEW_ROWS = 200
_NO_SPREAD = 1e-9  # below it, an order is one of rounding errors
_FOLDS = 5
_TREES, _MOST_ROWS = 10, 5000  # of the forest, and that each of its trees sees
_LEAF = 20  # least rows of a leaf: fewer would place people by the values of those few who are like them


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


def blocks_of(table: Table, k: int, l: Fraction, rng: np.random.Generator) -> Int64:
    """Return the block of each row, numbered from 0; the whole table must keep k and l."""
    assert table.sensitive is not None
    values, n_values = table.sensitive.astype(np.int64), len(table.sensitive_values)
    axes = _axes(table, values, n_values, k, rng)
    block_of = np.empty(table.n_rows, np.int64)
    stack, n_blocks = [rng.permutation(table.n_rows)], 0  # stable sorting keeps ties in random order
    while stack:
        rows = stack.pop()
        sides = _cut(rows, axes, values, n_values, k, l, rng)
        if sides is None:
            block_of[rows] = n_blocks
            n_blocks += 1
        else:
            stack += sides
    return block_of


def _cut(
    rows: Int64, axes: _Axes, values: Int64, n_values: int, k: int, l: Fraction, rng: np.random.Generator
) -> tuple[Int64, Int64] | None:
    """Return two sides of about equal size that keep k and l, or ``None``."""
    n_blocks = len(rows) // k
    if n_blocks < 2:
        return None
    for orders in axes:
        places = orders[rows]
        spread = places.max(axis=0) - places.min(axis=0)
        for axis in np.argsort(-spread, kind="stable"):
            if spread[axis] < _NO_SPREAD:
                break
            n_left = n_blocks // 2 + n_blocks % 2 * int(rng.integers(2))
            order = rows[np.argsort(places[:, axis], kind="stable")]
            at = round(len(rows) * n_left / n_blocks)
            sides = order[:at], order[at:]
            if all(np.bincount(values[side], minlength=n_values).max() * l <= len(side) for side in sides):
                return sides
    return None


def _axes(table: Table, values: Int64, n_values: int, k: int, rng: np.random.Generator) -> _Axes:
    """Return the orders in which rows can be cut: by their chances, and by single quasi-identifiers."""
    if table.n_rows < _FEW_ROWS:
        return _Axes(np.empty((table.n_rows, 0)), _positions(table))
    chances, told = chances_of(table, values, n_values, k, rng)
    centred = chances - chances.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    return _Axes(centred @ directions, _positions(table) * told)


def chances_of(table: Table, values: Int64, n_values: int, k: int, rng: np.random.Generator) -> tuple[Float64, Float64]:
    """Return each row's chances of the values by forests that did not see it, and how much each attribute tells."""
    n_folds = min(_FOLDS, table.n_rows)
    fold_of = rng.permutation(table.n_rows) % n_folds
    chances, told = np.zeros((table.n_rows, n_values)), np.zeros(table.n_quasi)
    for fold in range(n_folds):
        inside = fold_of == fold
        others = ~inside if n_folds > 1 else inside
        forest = _forest(table.codes[others], values[others], k, int(rng.integers(2**31)))
        chances[np.ix_(inside, forest.classes_)] = forest.predict_proba(table.codes[inside])
        told += np.mean(
            [tree.tree_.compute_feature_importances(normalize=False) for tree in forest.estimators_], axis=0
        )
    return chances, told


def _forest(codes: Int32, values: Int64, k: int, seed: int) -> Any:  # noqa: ANN401
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415 - loading it takes longer than a small table

    forest = RandomForestClassifier(
        _TREES,
        criterion="entropy",
        min_samples_leaf=max(_LEAF, -(-k // 2)),
        max_samples=min(len(codes), _MOST_ROWS),
        random_state=seed,
    )
    return forest.fit(codes, values)


def _positions(table: Table) -> Float64:
    """Return the share of rows below each row's value, half of its equals counted, [rows x quasi]."""
    below = np.empty(table.codes.shape)
    for m, marginal in enumerate(table.marginals):
        middle = (np.cumsum(marginal) - marginal / 2) / table.n_rows
        below[:, m] = middle[table.codes[:, m]]
    return below
