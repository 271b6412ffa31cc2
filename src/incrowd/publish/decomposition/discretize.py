"""Numeric quasi-identifiers as intervals in which the classes come apart, before features are partitioned (DMPD).

The cuts are those of `incrowd.mdl`, the finest of them; each lies midway between two neighbouring values of the table.
A missing value stays missing. Cuts are published, and whoever knows one of the two values beside a cut knows the other.

Where the paper is silent: DMPD cuts quasi-identifiers in two ways, and publishes the fitter partition of both: by MDL,
and on two levels in any case, into up to four intervals, even where a cut is not worth its description, if both sides
have k rows and an eighth of all. MDL's rule chooses columns too, and in a few hundred rows it finds no cut in columns
that help, or one instead of three; here the search of partitions chooses columns, by accuracy. More intervals leave
less to join under a large k: hence both ways. The rule was chosen by cross-validation within halves of small tables.
On large tables MDL mostly cuts two levels by itself, and both ways are one.

Reference: Fayyad, Irani: Multi-interval discretization of continuous-valued attributes for classification learning,
IJCAI 1993; Matatov, Rokach, Maimon, Information Sciences 2010, section 4.

>>> import polars as pl
>>> age = pl.Series("age", [20, 25, 30, 40, 50, 60] * 9)
>>> cuts = mdl_cuts(age, age > 33)
>>> cuts, in_intervals(age, cuts).unique(maintain_order=True).to_list()
((35.0,), ['(-inf-35]', '(35-inf)'])
>>> works = pl.Series(["yes"] * 3 + ["no"] + ["yes"] * 3 + ["no"] * 2 + ["yes"] + ["no"] * 2)
>>> mdl_cuts(age[:12], works), quasi_cuts(age[:12], works, k=4)
((), (27.5,))
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
import polars as pl

from incrowd.coding import clean, code_classes
from incrowd.hierarchy.entropy_cuts import Criterion, nested_cuts
from incrowd.hierarchy.hierarchy import type_of
from incrowd.release.intervals import Cuts, in_intervals

__all__ = ["Cuts", "discretized", "in_intervals", "mdl_cuts", "quasi_cuts"]

_LEVELS, _SHARE = 2, 8  # of cuts in any case, if both sides have one row of so many


def mdl_cuts(
    column: pl.Series, target: pl.Series, *, levels: int = 0, rows: int = 1, criterion: Criterion = "fayyad"
) -> Cuts:
    """Return where to cut a numeric column, from low to high.

    Parameters
    ----------
    column, target
        Numbers and classes.
    levels, rows
        So many levels are cut whether it pays or not, with so many rows on both sides.
    criterion
        When a cut pays: ``"fayyad"`` or ``"kononenko"``.
    """
    values = clean(column, None, None, ()).cast(pl.Float64())
    known = values.is_not_null().to_numpy()
    if not known.any():
        return ()
    distinct, codes = np.unique(values.to_numpy()[known], return_inverse=True)
    classes, names = code_classes(target)
    assert classes is not None
    cells = codes.ravel().astype(np.int64) * len(names) + classes[known]
    counts = np.bincount(cells, minlength=len(distinct) * len(names)).reshape(len(distinct), len(names))
    nested = nested_cuts(counts.astype(np.int64), levels=levels, rows=rows, criterion=criterion)
    finest = sorted(nested[-1]) if nested else []
    # Half of each, and not half of the sum, which can be too large; a cut that rounds to a neighbour still cuts.
    return tuple(float(max(distinct[c] / 2 + distinct[c - 1] / 2, distinct[c - 1])) for c in finest)


def quasi_cuts(column: pl.Series, target: pl.Series, *, k: int, criterion: Criterion = "fayyad") -> Cuts:
    """Return where to cut a quasi-identifier that is to keep k: MDL's cuts, and two levels in any case."""
    n_known = len(column) - column.null_count()
    return mdl_cuts(column, target, levels=_LEVELS, rows=max(k, -(-n_known // _SHARE)), criterion=criterion)


def discretized(
    frame: pl.DataFrame, target: str, columns: Iterable[str], *, k: int | None = None
) -> tuple[pl.DataFrame, dict[str, Cuts]]:
    """Return the frame with the numeric ones of these columns in intervals, and their cuts; MDL's alone without k."""
    numbers = [name for name in columns if type_of(frame[name]) in ("int", "float")]
    cut = mdl_cuts if k is None else partial(quasi_cuts, k=k)
    cuts = {name: cut(frame[name], frame[target]) for name in numbers}
    return frame.with_columns(in_intervals(frame[name], points) for name, points in cuts.items()), cuts
