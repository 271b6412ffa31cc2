"""Private columns that public ones tell: an attacker who knows the latter knows the former.

Spans let private values vary over their whole domain, whatever the public ones are. That is wrong for a column that
copies or follows from public ones, such as a birth year beside an age: a test of it tells people apart. Such a column
counts as known, and as private. It is found in four ways: as text it is the same; one public column, two, or all
together have the same values only where it has the same value, in 19 of 20 cases and more often than by chance; it
rises or falls with a public number; it is a sum or a product of public numbers or their powers, such as a body-mass
index. Columns that are only likely from each other are not found, nor is what takes knowledge from outside.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl

Int64 = npt.NDArray[np.int64]

_MOST_ERRORS = 0.05  # of those that the most frequent value alone would make
_CHANCE = math.log(1e6)  # one in a million that values go together by chance
_MOST_FOR_PAIRS = 25  # public columns; with more, two at a time are too many to look at
_SUM = 1e-4  # unexplained part of the variance


def told_columns(people: pl.DataFrame, public: Sequence[str], private: Sequence[str]) -> dict[str, str]:
    """Return the private columns that public ones tell, each with the name of what tells it."""
    known = {name: _codes(people[name]) for name in public if name in people.columns}
    told: dict[str, str] = {}
    for name in private:
        hidden = _codes(people[name])
        if hidden.max(initial=0) == 0:
            continue  # one value: nothing to tell
        by = next(_tellers(people, known, name, hidden), None)
        if by is not None:
            told[name] = by
    return told


def _tellers(people: pl.DataFrame, known: dict[str, Int64], name: str, hidden: Int64) -> Iterator[str]:
    for other, codes in known.items():
        if _is_copy(people[name], people[other]) or _goes_with(codes, hidden) or _is_monotone(codes, hidden):
            yield f"'{other}'"
    if _is_sum(people, list(known), name):
        yield "a sum of public columns"
    if _is_sum(people, list(known), name, of_logs=True):
        yield "a product of public columns"
    if len(known) <= _MOST_FOR_PAIRS:
        for (a, one), (b, second) in combinations(known.items(), 2):
            if _goes_with(one * (int(second.max()) + 1) + second, hidden):
                yield f"'{a}' and '{b}'"
    if len(known) > 2:
        _, together = np.unique(np.column_stack(list(known.values())), axis=0, return_inverse=True)
        if _goes_with(together.ravel(), hidden):
            yield "the public columns together"


def _codes(column: pl.Series) -> Int64:
    """Number the values of a column, in their order; a missing one is the first."""
    if not (column.dtype.is_numeric() or column.dtype.is_temporal()):
        column = column.cast(pl.String())
    if column.dtype.is_float():
        column = column.fill_nan(None)
    return np.asarray(column.rank("dense").fill_null(0).to_numpy(), np.int64)


def _is_copy(one: pl.Series, other: pl.Series) -> bool:
    a, b = (_as_text(column) for column in (one, other))
    n_same = int(a.eq_missing(b).sum())
    return len(a) >= 5 and n_same >= (1 - _MOST_ERRORS) * len(a) and a.n_unique() > 2


def _as_text(column: pl.Series) -> pl.Series:
    return (column.cast(pl.Float64()) if column.dtype.is_numeric() else column).cast(pl.String())


def _goes_with(known: Int64, hidden: Int64) -> bool:
    """Tell whether people who are alike in what is known are alike in what is hidden, beyond chance."""
    width = int(hidden.max()) + 1
    pairs, counts = np.unique(known.astype(np.int64) * width + hidden, return_counts=True)
    group = pairs // width
    first = np.flatnonzero(np.diff(group, prepend=-1))
    n_right = int(np.maximum.reduceat(counts, first).sum())
    n, n_groups = len(hidden), len(first)
    shares = np.bincount(hidden) / n
    n_wrong_alone = n - int(np.bincount(hidden).max())
    if n_wrong_alone == 0 or n - n_right > _MOST_ERRORS * n_wrong_alone:
        return False
    return (n - n_groups) * -math.log(float((shares**2).sum())) > _CHANCE


def _is_monotone(known: Int64, hidden: Int64) -> bool:
    """Tell whether the hidden column never falls, or never rises, with the known one, beyond chance."""
    if len(np.unique(known)) < 3:
        return False
    counts = np.bincount(hidden)
    n_orders = math.lgamma(len(hidden) + 1) - sum(math.lgamma(c + 1) for c in counts.tolist())
    if n_orders <= _CHANCE:
        return False
    for values in (hidden, hidden.max() - hidden):
        inside = values[np.lexsort((values, known))]
        if (np.diff(inside) >= 0).all():
            return True
    return False


def _is_sum(people: pl.DataFrame, known: Sequence[str], name: str, *, of_logs: bool = False) -> bool:
    """Tell whether a number is a weighted sum of public numbers, or its logarithm one of theirs."""
    if not people[name].dtype.is_numeric():
        return False
    numbers = [other for other in known if people[other].dtype.is_numeric()]
    table = people.select(*dict.fromkeys([*numbers, name])).cast(pl.Float64()).drop_nulls().drop_nans().to_numpy()
    if of_logs and len(table):
        positive = np.asarray((table > 0).all(axis=0))
        if not positive[-1]:
            return False
        table, numbers = np.log(table[:, positive]), numbers[: int(positive.sum()) - 1]
    if not numbers or len(table) < 2 * len(numbers) + 12:
        return False
    scale = table.std(axis=0)
    table = (table - table.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    if scale[-1] == 0:
        return False
    weights = np.linalg.lstsq(table[:, :-1], table[:, -1], rcond=None)[0]
    left = table[:, -1] - table[:, :-1] @ weights
    return bool((left**2).mean() < _SUM)
