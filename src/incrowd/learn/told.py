"""Private columns that public ones tell: a test of one tells people apart, so it is not private.

A private column counts as told if people with the same values in one public column, in two, or in all of them have the
same value in it, save for 1 in 20 of those that its most frequent value gets wrong, and beyond chance; if it
rises or falls with a public column; or if it is a weighted sum of public numbers. Learners refuse such a column: the
spans that they keep would be smaller than they believe.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import lgamma, log

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.errors import ParameterError

Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int64]

_SHARE_WRONG = 0.05
_LUCK = log(1e6)
_MOST_PUBLIC = 25
_UNEXPLAINED = 1e-4


def refuse_told(columns: Sequence[pl.Series], public: Bools, known: pl.Series | None = None) -> None:
    """Refuse a private column that public ones tell.

    Parameters
    ----------
    columns
        The training table.
    public
        Which columns an attacker knows.
    known
        The class, if everybody knows it.
    """
    if public.all():
        return
    visible = [column for column, is_known in zip(columns, public, strict=True) if is_known]
    visible += [] if known is None else [known]
    coded = [_ranks(column) for column in visible]
    for column, is_known in zip(columns, public, strict=True):
        if is_known:
            continue
        hidden = _ranks(column)
        if len(np.unique(hidden)) > 1 and (_is_told(coded, hidden) or _is_weighted_sum(visible, column)):
            fact = f"Column {column.name!r} is private, and public columns tell it"
            raise ParameterError(fact, "name it as public as well, or leave it out")


def _ranks(column: pl.Series) -> Codes:
    if not (column.dtype.is_numeric() or column.dtype.is_temporal()):
        column = column.cast(pl.String())
    if column.dtype.is_float():
        column = column.fill_nan(None)
    return np.asarray(column.rank("dense").fill_null(0).to_numpy(), np.int64)


def _is_told(public: list[Codes], hidden: Codes) -> bool:
    if any(_follows(one, hidden) or _is_in_order(one, hidden) or _is_in_order(one, -hidden) for one in public):
        return True
    pairs = combinations(public, 2) if len(public) <= _MOST_PUBLIC else ()
    if any(_follows(_both(one, other), hidden) for one, other in pairs):
        return True
    everything = np.zeros_like(hidden)
    for one in public:
        everything = _both(everything, one)
    return len(public) > 2 and _follows(everything, hidden)


def _both(one: Codes, other: Codes) -> Codes:
    return np.asarray(np.unique(one * (int(other.max()) + 1) + other, return_inverse=True)[1], np.int64)


def _follows(public: Codes, hidden: Codes) -> bool:
    """Tell whether the hidden value follows from the public one, in more cases than luck explains."""
    table = pl.DataFrame({"known": public, "hidden": hidden}).group_by("known", "hidden").len("n")
    best = table.group_by("known").agg(pl.col("n").max())
    n, totals = len(hidden), table.group_by("hidden").agg(pl.col("n").sum())["n"].to_numpy()
    n_wrong, n_wrong_alone = n - int(best["n"].sum()), n - int(totals.max())
    luck = (n - best.height) * -log(float(((totals / n) ** 2).sum()))
    return n_wrong <= _SHARE_WRONG * n_wrong_alone and luck > _LUCK


def _is_in_order(public: Codes, hidden: Codes) -> bool:
    """Tell whether the hidden values never fall when the public ones rise."""
    sizes = np.unique(hidden, return_counts=True)[1]
    if len(np.unique(public)) < 3 or lgamma(len(hidden) + 1) - sum(lgamma(n + 1) for n in sizes.tolist()) <= _LUCK:
        return False
    order = np.lexsort((hidden, public))
    return bool((hidden[order][1:] >= hidden[order][:-1]).all())


def _is_weighted_sum(public: Sequence[pl.Series], hidden: pl.Series) -> bool:
    numbers = [column.cast(pl.Float64()).to_numpy() for column in public if column.dtype.is_numeric()]
    if not numbers or not hidden.dtype.is_numeric():
        return False
    table = np.column_stack([*numbers, hidden.cast(pl.Float64()).to_numpy()])
    table = table[~np.isnan(table).any(axis=1)]
    if len(table) < 2 * len(numbers) + 12 or np.ptp(table[:, -1]) == 0:
        return False
    spread = table.std(axis=0)
    table = (table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    weights, *_ = np.linalg.lstsq(table[:, :-1], table[:, -1], rcond=None)
    return float(np.mean((table[:, -1] - table[:, :-1] @ weights) ** 2)) < _UNEXPLAINED
