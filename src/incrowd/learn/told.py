"""Private columns that public ones tell: a test of one tells people apart, so it is not private.

A private column counts as told if people with the same values in one public column, in two, or in all of them have the
same value in it; if it rises or falls with a public column; or if it is a weighted sum or a product of public numbers.
Each save for 1 in 20 of those that its most frequent value gets wrong, and beyond chance, among all people or those who
have a value. Learners refuse such a column: the spans that they keep would be smaller than they believe.
"""

from __future__ import annotations

from bisect import bisect_right
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
_SAMPLE = 2000
_TRIALS = 8


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
        there = np.flatnonzero(hidden > 0)
        is_told = _is_told(coded, hidden) or any(_is_weighted_sum(*each) for each in _scales(visible, column))
        if not is_told and len(there) < len(hidden):
            is_told = _is_told([one[there] for one in coded], hidden[there])
        if is_told:
            fact = f"Column {column.name!r} is private, and public columns tell it"
            raise ParameterError(fact, "name it as public as well, or leave it out")


def _ranks(column: pl.Series) -> Codes:
    if not (column.dtype.is_numeric() or column.dtype.is_temporal()):
        column = column.cast(pl.String())
    if column.dtype.is_float():
        column = column.fill_nan(None)
    return np.asarray(column.rank("dense").fill_null(0).to_numpy(), np.int64)


def _is_told(public: list[Codes], hidden: Codes) -> bool:
    if len(np.unique(hidden)) < 2:
        return False
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
    """Tell whether the hidden values never fall when the public ones rise, save for few and beyond luck."""
    public, hidden = public[public > 0], hidden[public > 0]
    sizes, n = np.unique(hidden, return_counts=True)[1], len(hidden)
    if len(np.unique(public)) < 3:
        return False
    rising = hidden[np.lexsort((hidden, public))]
    allowed = int(_SHARE_WRONG * (n - int(sizes.max())))
    sample = rising[:: max(1, n // _SAMPLE)]
    if n - allowed > _SAMPLE and len(sample) - _longest_rise(sample) > 0.1 * len(sample):
        return False
    wrong = n - _longest_rise(rising)
    both = pl.DataFrame({"public": public, "hidden": hidden})
    within = sum(
        _log_orders(part["n"].to_numpy()) for part in both.group_by("public", "hidden").len("n").partition_by("public")
    )
    excuses = wrong * (log(n) + log(n / max(wrong, 1)) + 1)
    return wrong <= allowed and _log_orders(sizes) - within - excuses > _LUCK


def _log_orders(sizes: npt.NDArray[np.integer]) -> float:
    """Return the logarithm of the number of orders of values of which there are so many each."""
    return lgamma(int(sizes.sum()) + 1) - sum(lgamma(n + 1) for n in sizes.tolist())


def _longest_rise(values: Codes) -> int:
    """Return the most values that can stay so that they never fall."""
    lowest: list[int] = []
    for value in values.tolist():
        at = bisect_right(lowest, value)
        lowest[at : at + 1] = [value]
    return len(lowest)


def _scales(public: Sequence[pl.Series], hidden: pl.Series) -> list[tuple[list[pl.Series], pl.Series]]:
    """Return numbers as they are, and their logarithms, whose sums are products; what has none is missing."""
    if not hidden.dtype.is_numeric():
        return []
    numbers = [column for column in public if column.dtype.is_numeric()]
    positive = [column for column in numbers if int((column > 0).sum()) > (1 - _SHARE_WRONG) * len(column)]
    return [(numbers, hidden), ([_log(column) for column in positive], _log(hidden))]


def _log(column: pl.Series) -> pl.Series:
    return pl.select(pl.when(column > 0).then(column.cast(pl.Float64())).log()).to_series()


def _is_weighted_sum(public: Sequence[pl.Series], hidden: pl.Series) -> bool:
    table = np.column_stack([column.cast(pl.Float64()).to_numpy() for column in (*public, hidden)])
    table = table[~np.isnan(table).any(axis=1)]
    if not public or len(table) < 2 * len(public) + 12 or np.ptp(table[:, -1]) == 0:
        return False
    most_frequent = int(np.unique(table[:, -1], return_counts=True)[1].max())
    n_wrong = int(_SHARE_WRONG * (len(table) - most_frequent))
    kept = table
    for _ in range(_TRIALS):
        spread = kept.std(axis=0)
        centred = (table - kept.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        inside = (kept - kept.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        weights, *_ = np.linalg.lstsq(inside[:, :-1], inside[:, -1], rcond=None)
        gaps = np.square(centred[:, -1] - centred[:, :-1] @ weights)
        best = np.argsort(gaps, kind="stable")[: len(table) - n_wrong]
        kept = table[best]
        if np.ptp(kept[:, -1]) == 0:
            return False
        if float(gaps[best].mean()) < _UNEXPLAINED * float(centred[best, -1].var()):
            return True
    return False
