"""Private columns that public ones tell: an attacker who knows the latter knows the former.

Spans let private values vary over their whole domain, whatever the public ones are. That is wrong for a column that
copies or follows from public ones, such as a birth year beside an age: a test of it tells people apart. Such a column
counts as known, and as private. It is found in four ways: as text it is the same; one public column, two, or all
together have the same values only where it has the same value; it rises or falls with a public column; it is a sum or a
product of public numbers or their powers, such as a body-mass index. Each of it in 19 of 20 cases and more often than
by chance, among all people or those whose value is not missing: real tables have errors. Columns that are only likely
from each other are not found, nor is what takes knowledge from outside.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import gammaln

Int64 = npt.NDArray[np.int64]

_MOST_ERRORS = 0.05  # of those that the most frequent value alone would make
_CHANCE = math.log(1e6)  # one in a million that values go together by chance
_MOST_FOR_PAIRS = 25  # public columns; with more, two at a time are too many to look at
_SUM = 1e-4  # unexplained part of the variance
_MOST_ROUNDS = 8
_MOST_LOOKED_AT = 2000


def told_columns(people: pl.DataFrame, public: Sequence[str], private: Sequence[str]) -> dict[str, str]:
    """Return the private columns that public ones tell, each with the name of what tells it."""
    told: dict[str, str] = {}
    for name in private:
        has_value = people[name].is_not_null() & (people[name].is_not_nan() if people[name].dtype.is_float() else True)
        for some in [people] if has_value.all() else [people, people.filter(has_value)]:
            known = {other: _codes(some[other]) for other in public if other in some.columns}
            hidden = _codes(some[name])
            if len(hidden) and hidden.min() < hidden.max():  # else there is one value, and nothing to tell
                by = next(_tellers(some, known, name, hidden), None)
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
    n_other = len(a) - int(a.eq_missing(b).sum())
    n_rare = len(a) - int(
        a.value_counts()["count"].to_numpy().max(initial=0)
    )  # that most people have nothing, in both, is no copy
    return len(a) >= 5 and n_other <= _MOST_ERRORS * n_rare and a.n_unique() > 2


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
    """Tell whether the hidden column never falls, or never rises, with the known one, but for errors, beyond chance."""
    known, hidden = known[known > 0], hidden[known > 0]  # a missing value has no place in an order
    if len(np.unique(known)) < 3:
        return False
    n, counts = len(hidden), np.bincount(hidden)
    most = int(_MOST_ERRORS * (n - int(counts.max())))
    for values in (hidden, hidden.max() - hidden):
        inside = values[np.lexsort((values, known))]
        step = max(1, n // _MOST_LOOKED_AT)
        some = inside[::step]
        if _n_falls(some) > 2 * most / step + 2:  # a look at some of them is enough to see that there are many
            continue
        n_wrong = _n_falls(inside)
        slack = n_wrong * (
            math.log(n) + math.log(n / max(n_wrong, 1)) + 1
        )  # ways to choose who is wrong, and their values
        if n_wrong <= most and _n_ways(known, hidden) - slack > _CHANCE:
            return True
    return False


def _n_falls(values: Int64) -> int:
    """Return how many values have to be left out so that the others never fall."""
    if (np.diff(values) >= 0).all():
        return 0
    ends: list[int] = []  # of the chains of each length, the least last value
    for value in values.tolist():
        place = bisect_right(ends, value)
        ends[place : place + 1] = [value]
    return len(values) - len(ends)


def _n_ways(known: Int64, hidden: Int64) -> float:
    """Return the logarithm of the number of ways in which the hidden values could be dealt to what is known."""

    def orders(keys: Int64) -> float:
        return float(gammaln(np.unique(keys, return_counts=True)[1] + 1.0).sum())

    within = orders(known) - orders(known * (int(hidden.max()) + 1) + hidden)
    return math.lgamma(len(hidden) + 1) - orders(hidden) - within


def _is_sum(people: pl.DataFrame, known: Sequence[str], name: str, *, of_logs: bool = False) -> bool:
    """Tell whether a number is a weighted sum of public numbers, or its logarithm one of theirs, but for errors."""
    if not people[name].dtype.is_numeric():
        return False
    numbers = [other for other in known if people[other].dtype.is_numeric()]
    table = people.select(*dict.fromkeys([*numbers, name])).cast(pl.Float64()).drop_nulls().drop_nans().to_numpy()
    if of_logs and len(table):
        positive = np.asarray((table > 0).mean(axis=0) >= 1 - _MOST_ERRORS)
        if not positive[-1]:
            return False
        table, numbers = table[:, positive], numbers[: int(positive.sum()) - 1]
        table = np.log(table[(table > 0).all(axis=1)])
    if not numbers or len(table) < 2 * len(numbers) + 12:
        return False
    n_alike = int(np.unique(table[:, -1], return_counts=True)[1].max())
    n_right = len(table) - int(_MOST_ERRORS * (len(table) - n_alike))
    among = np.arange(len(table))
    for _ in range(_MOST_ROUNDS):  # each time without those who fit worst
        middle, scale = table[among].mean(axis=0), table[among].std(axis=0)
        if scale[-1] == 0:
            return False
        even = (table - middle) / np.where(scale > 0, scale, 1.0)
        weights = np.linalg.lstsq(even[among, :-1], even[among, -1], rcond=None)[0]
        left = np.abs(even[:, -1] - even[:, :-1] @ weights)
        among = np.argpartition(left, n_right - 1)[:n_right]
        if (left[among] ** 2).mean() < _SUM * float(even[among, -1].var()):
            return True
    return False
