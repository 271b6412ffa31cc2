"""Numeric quasi-identifiers as intervals in which the classes come apart, before features are partitioned (DMPD).

The cuts are those of `incrowd.mdl`, the finest of them; each lies midway between two neighbouring values of the table.
A column in which no cut is worth its description becomes one interval. A missing value stays missing. Cuts are
published, and whoever knows one of the two values beside a cut knows the other.

Reference: Fayyad, Irani: Multi-interval discretization of continuous-valued attributes for classification learning,
IJCAI 1993; Matatov, Rokach, Maimon, Information Sciences 2010, section 4.

>>> import polars as pl
>>> age = pl.Series("age", [20, 25, 30, 40, 50, 60] * 9)
>>> cuts = mdl_cuts(age, age > 33)
>>> cuts, in_intervals(age, cuts).unique(maintain_order=True).to_list()
((35.0,), ['(-inf-35]', '(35-inf)'])
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from incrowd.hierarchy.entropy_cuts import nested_cuts
from incrowd.hierarchy.hierarchy import type_of
from incrowd.release.intervals import Cuts, in_intervals
from incrowd.table import clean, code_classes

__all__ = ["Cuts", "discretized", "in_intervals", "mdl_cuts"]


def mdl_cuts(column: pl.Series, target: pl.Series) -> Cuts:
    """Return where to cut a numeric column, from low to high."""
    values = clean(column, None, None, ()).cast(pl.Float64())
    known = values.is_not_null().to_numpy()
    if not known.any():
        return ()
    distinct, codes = np.unique(values.to_numpy()[known], return_inverse=True)
    classes, names = code_classes(target)
    assert classes is not None
    cells = codes.ravel().astype(np.int64) * len(names) + classes[known]
    counts = np.bincount(cells, minlength=len(distinct) * len(names)).reshape(len(distinct), len(names))
    levels = nested_cuts(counts.astype(np.int64))
    finest = sorted(levels[-1]) if levels else []
    # Half of each, and not half of the sum, which can be too large; a cut that rounds to a neighbour still cuts.
    return tuple(float(max(distinct[c] / 2 + distinct[c - 1] / 2, distinct[c - 1])) for c in finest)


def discretized(frame: pl.DataFrame, target: str, columns: Iterable[str]) -> tuple[pl.DataFrame, dict[str, Cuts]]:
    """Return the frame with the numeric ones of these columns in intervals, and their cuts."""
    cuts = {name: mdl_cuts(frame[name], frame[target]) for name in columns if type_of(frame[name]) in ("int", "float")}
    return frame.with_columns(in_intervals(frame[name], points) for name, points in cuts.items()), cuts
