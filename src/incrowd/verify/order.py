"""Whether rows stand in the one order that tells nothing more than they do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from incrowd.verify.verdict import Findings, first_row


def check_order(findings: Findings, frames: Sequence[pl.DataFrame]) -> None:
    """Rows are sorted by all columns from the first to the last, missing values first."""
    places = [first_unsorted(frame) for frame in frames]
    problems = [
        f"rows{f' of table {number}' if len(frames) > 1 else ''} are not sorted, {first_row(place)}"
        for number, place in enumerate(places, start=1)
        if place is not None
    ]
    findings.judge("order", problems, "rows are sorted by what they show")


def first_unsorted(frame: pl.DataFrame) -> int | None:
    """Return the place of the first row that belongs before the one above it; ``None`` in a sorted table."""
    alike = np.ones(max(frame.height - 1, 0), np.bool_)  # rows that equal the one above them in all columns so far
    wrong = ~alike
    for column in frame.get_columns():
        above, below = column.head(len(alike)), column.slice(1)
        falls, same = above > below, above == below
        if column.null_count():
            falls = falls.fill_null(value=False) | (above.is_not_null() & below.is_null())
            same = above.eq_missing(below)
        wrong |= alike & falls.to_numpy()
        alike &= same.to_numpy()
        if not alike.any():
            break
    return int(np.argmax(wrong)) + 1 if wrong.any() else None
