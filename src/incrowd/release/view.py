"""A release as the losses see it."""

from __future__ import annotations

import numpy as np
import polars as pl

from incrowd.coding import encode_column
from incrowd.errors import ParameterError
from incrowd.losses import Cells
from incrowd.release.release import Release


def cells(release: Release, original: pl.DataFrame | None) -> Cells:
    """Return the arrays that losses look at; the originals of the rows only if their frame is given."""
    originals = None
    if original is not None:
        if release.private is None:
            fact = "Which original belongs to which released row is not known here"
            raise ParameterError(fact, "load the release where its private folder lies beside it")
        source = original[release.private.rows]
        cleaned = release.clean_quasi(source)
        columns = [encode_column(h, column) for h, column in zip(release.hierarchies, cleaned, strict=True)]
        originals = np.asfortranarray(np.column_stack(columns))
    counts, classes = release.cell_counts, release.classes()
    promised = [guarantee["k"] for guarantee in release.manifest["guarantees"] if guarantee["kind"] == "k"]
    return Cells(
        hierarchies=release.hierarchies,
        lo=release.lo,
        hi=release.hi,
        marginals=release.marginals,
        sensitive=release.sensitive,
        counts=None if counts is None else counts[release.cell_of],
        n_values=len(release.sensitive_values),
        n_suppressed=release.manifest["rows"]["suppressed"],
        k=max(promised, default=1),
        originals=originals,
        classes=None if classes is None else classes[0],
    )
