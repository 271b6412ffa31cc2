"""The columns that tell most about the class, one by one as C4.5 would ask for them (DMPD, section 5.4).

The first is the one that C4.5 tests at the root of its tree, the next the one that it tests there when the first is
taken away, and so on. Experiments with DMPD, TDS and TDR declare the top 5, 7 or 9 quasi-identifiers, so that
anonymity costs something. It is a rule for experiments: who publishes people knows which columns others know.

C4.5's root: a name is split into all its values, a number at one threshold, which costs log2(thresholds) / rows of its
information gain; at least two parts must have `min_rows` rows. Of the columns whose gain is at least average (names
with as many values as 30 percent of the rows do not count in it) the one with the highest gain ratio is tested. A
missing value counts as Quinlan has it: the gain is that of the known rows times their share, and missing ones are a
part of their own in the denominator of the ratio. Cost: O(rows log rows) per number, O(rows) per name, once each.

Where the paper is silent: (1) roots are those of Weka's J48 with its defaults, on all rows (the paper speaks of a
10-fold procedure that evaluates the tree, but not of what follows from it); (2) when nothing is worth a test any more
the list ends, and can be shorter than asked for; (3) of equal columns the first one is better.

Reference: Matatov, Rokach, Maimon, Information Sciences 2010, section 5.4; Quinlan: C4.5: Programs for machine
learning, Morgan Kaufmann 1993; Fung, Wang, Yu: Top-down specialization for information and privacy preservation,
ICDE 2005.

>>> import polars as pl
>>> people = pl.DataFrame({"town": list("xyzx") * 5, "age": range(20), "job": ["a"] * 9 + ["b"] * 11})
>>> top_features(people.with_columns(risk=pl.col("age") > 9), "risk", 2)
['age', 'job']
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import io
from incrowd.coding import clean, code_classes
from incrowd.errors import ParameterError
from incrowd.hierarchy.entropy_cuts import TIE
from incrowd.hierarchy.hierarchy import type_of
from incrowd.publish.decomposition.feature_search import require_whole

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]

_MANY_VALUES = 0.3  # of the rows: such names do not count in the average gain
_SLACK = 1e-3  # by which a gain may be below the average
_MOST_MIN_ROWS = 25


def top_features(
    frame: Any,  # noqa: ANN401
    target: str,
    n: int,
    *,
    columns: Iterable[str] | None = None,
    min_rows: int = 2,
) -> list[str]:
    """Return the names of the columns that tell most about the class, the best first.

    Parameters
    ----------
    frame
        A polars, pandas or pyarrow table.
    target
        The class.
    n
        How many; fewer come back when no other column is worth a test.
    columns
        Which may be among them; all but the class if it is ``None``.
    min_rows
        Least number of rows of at least two parts of a split.
    """
    require_whole("n", n, 1)
    require_whole("min_rows", min_rows, 1)
    table = io.to_polars(frame)
    names = [name for name in table.columns if name != target] if columns is None else list(columns)
    unknown = [name for name in (target, *names) if name not in table.columns]
    if unknown:
        fact = f"There is no column {', '.join(map(repr, unknown))}"
        raise ParameterError(fact, f"columns are {', '.join(map(repr, table.columns))}")
    classes, values = code_classes(table[target])
    assert classes is not None
    splits = {name: _split(table[name], classes.astype(np.int64), len(values), min_rows) for name in names}
    useful = {name: split for name, split in splits.items() if split is not None}
    ranking: list[str] = []
    while useful and len(ranking) < n:
        ranking.append(_root(useful, table.height))
        del useful[ranking[-1]]
    return ranking


@dataclass(frozen=True)
class _Split:
    """What a test of a column at the root is worth."""

    gain: float
    ratio: float
    n_values: int | None
    """Of a name; a number has none."""


def _root(splits: dict[str, _Split], n_rows: int) -> str:
    few = [s.n_values is None or s.n_values < _MANY_VALUES * n_rows for s in splits.values()]
    counted = [s.gain for s, is_few in zip(splits.values(), few, strict=True) if is_few or not any(few)]
    average = sum(counted) / len(counted)
    good = [name for name, split in splits.items() if split.gain >= average - _SLACK]
    return max(good, key=lambda name: splits[name].ratio)


def _split(column: pl.Series, classes: Int64, n_classes: int, min_rows: int) -> _Split | None:
    """Return the best split by a column, or nothing if there is none."""
    values = clean(column, None, None, ())
    known = values.is_not_null().to_numpy()
    n_known = int(known.sum())
    if n_known == 0:
        return None
    is_name = type_of(values) not in ("int", "float", "date")
    _, codes = np.unique(values.drop_nulls().to_numpy(), return_inverse=True)
    n_values = int(codes.max()) + 1
    cells = codes.ravel() * n_classes + classes[known]
    counts = np.bincount(cells, minlength=n_values * n_classes).reshape(n_values, n_classes)
    cost = 0.0
    if not is_name:
        thresholds = _thresholds(counts, min_rows)
        if thresholds is None:
            return None
        counts, n_thresholds = thresholds
        cost = math.log2(n_thresholds) / len(classes)
    sizes = counts.sum(axis=1)
    if (sizes >= min_rows).sum() < 2:
        return None
    before, after = float(_bits(counts.sum(axis=0)[np.newaxis])[0]), float(_bits(counts).sum())
    gain = (before - after) / len(classes) - cost
    if gain <= TIE:
        return None
    split_bits = float(_bits(np.append(sizes, len(classes) - n_known)[np.newaxis])[0]) / len(classes)
    return _Split(gain, gain / split_bits, n_values if is_name else None)


def _thresholds(counts: Int64, min_rows: int) -> tuple[Int64, int] | None:
    """Return the class counts below and above the best threshold, and how many thresholds there are to choose from."""
    n_known, n_classes = int(counts.sum()), counts.shape[1]
    least = min(max(0.1 * n_known / n_classes, min_rows), max(_MOST_MIN_ROWS, min_rows))
    below = np.cumsum(counts, axis=0)[:-1]
    above = counts.sum(axis=0) - below
    allowed = (below.sum(axis=1) >= least) & (above.sum(axis=1) >= least)
    if not allowed.any():
        return None
    after = np.where(allowed, _bits(below) + _bits(above), np.inf)
    best = int(after.argmin())
    return np.vstack([below[best], above[best]]), int(allowed.sum())


def _bits(counts: Int64) -> Float64:
    """Return the entropy of each row of counts, in bits, times its sum."""
    logs = np.log2(counts, out=np.zeros(counts.shape), where=counts > 0)
    totals = counts.sum(axis=-1)
    of_totals = np.log2(totals, out=np.zeros(totals.shape), where=totals > 0)
    return np.asarray(totals * of_totals - (counts * logs).sum(axis=-1), np.float64)
