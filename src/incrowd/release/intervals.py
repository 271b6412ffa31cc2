"""Numbers as the intervals between cuts, in which projections show them.

>>> in_intervals(pl.Series([20, 48, 49, None]), (48.0,)).to_list()
['(-inf-48]', '(-inf-48]', '(48-inf)', None]
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl

from incrowd.coding import clean

Cuts = tuple[float, ...]
"""Where a numeric column is cut, from low to high."""


def in_intervals(column: pl.Series, cuts: Cuts) -> pl.Series:
    """Return the interval of each value as text; the upper end belongs to it."""
    ends = ["-inf", *(f"{cut:g}" if float(f"{cut:g}") == cut else repr(cut) for cut in cuts), "inf"]
    names = [f"({low}-{high}]" for low, high in pairwise(ends[:-1])] + [f"({ends[-2]}-inf)"]
    values = clean(column, None, None, ()).cast(pl.Float64())
    places = np.searchsorted(np.array(cuts), values.fill_null(0.0).to_numpy(), side="left")
    text = pl.Series(column.name, np.array(names)[places])
    return text.set(values.is_null(), None)
