"""A release as the losses see it: exactly, if it is the owner's; else by its published domains."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.coding import encode_column
from incrowd.errors import ParameterError
from incrowd.losses import Cells
from incrowd.release.evidence import NOBODY
from incrowd.release.rows import RowRelease


def cells(release: RowRelease, original: pl.DataFrame | None) -> Cells:
    """Return the arrays that losses look at; the originals of the rows only if their frame is given."""
    hierarchies = release.hierarchies
    marginals: list[npt.NDArray[Any]] = list(release.marginals)
    lo, hi = release.cell_lo, release.cell_hi
    if release.private is not None:
        exact = release.private.domains
        bounds = [d.cells(h, lo[:, m], hi[:, m]) for m, (d, h) in enumerate(zip(exact, hierarchies, strict=True))]
        lo, hi = (np.asfortranarray(np.column_stack(side)) for side in zip(*bounds, strict=True))
        hierarchies, marginals = tuple(d.hierarchy for d in exact), [d.counts for d in exact]
    originals, shown = None, np.arange(release.n_rows)
    if original is not None:
        if release.private is None:
            fact = "Which original belongs to which released row is not known here"
            raise ParameterError(fact, "load the release where its private folder lies beside it")
        shown = np.flatnonzero(release.private.rows != NOBODY)  # filler has no original
        cleaned = release.clean_quasi(original[release.private.rows[shown]])
        columns = [encode_column(h, column) for h, column in zip(hierarchies, cleaned, strict=True)]
        originals = np.asfortranarray(np.column_stack(columns))
    classes = release.classes()
    drawn = release.target_secret or (release.secrets[0] if len(release.secrets) == 1 else None)
    counts = None if drawn is None else drawn.cell_counts
    return Cells(
        hierarchies=hierarchies,
        lo=np.asfortranarray(lo[release.cell_of[shown]]),
        hi=np.asfortranarray(hi[release.cell_of[shown]]),
        marginals=marginals,
        sensitive=None if drawn is None or drawn.codes is None else drawn.codes[shown],
        counts=None if counts is None else counts[release.cell_of[shown]],
        n_values=0 if drawn is None else len(drawn.values),
        n_suppressed=release.manifest.rows.suppressed,
        k=release.manifest.k,
        originals=originals,
        classes=None if classes is None else classes[0][shown],
    )
