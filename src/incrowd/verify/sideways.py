"""What may not leave the house by a side door: untouched columns that were touched, identifiers under another name."""

from __future__ import annotations

import numpy as np
import polars as pl

from incrowd.verify.domain import Array
from incrowd.verify.manifest import Claims
from incrowd.verify.payload import Payload, wrong_rows
from incrowd.verify.verdict import Findings

_PROBE = 256


def check_other(findings: Findings, claims: Claims, payload: Payload, original: pl.DataFrame, rows: Array) -> None:
    """Columns that are kept as they are hold their originals' values."""
    problems = []
    for name in claims.other:
        wrong = ~equal_values(payload.frame[name], original[name].gather(rows))
        problems += wrong_rows(wrong, f"have a value of {name!r} that is not their original's")
    findings.judge("other columns", problems, f"{len(claims.other)} columns as they came")


def equal_values(a: pl.Series, b: pl.Series) -> Array:
    """Tell where two columns hold the same value, whatever type each was read as."""
    if a.dtype != b.dtype:
        if a.dtype.is_numeric() and b.dtype.is_numeric():
            a, b = a.cast(pl.Float64()), b.cast(pl.Float64())
        else:
            a, b = as_text(a), as_text(b)
    return a.eq_missing(b).to_numpy()


def as_text(column: pl.Series) -> pl.Series:
    """Write values as text, whole floats as integers."""
    if column.dtype.is_float():
        whole = column.cast(pl.Int64(), strict=False)
        if (whole == column).all():
            column = whole
    try:
        return column.cast(pl.String())
    except pl.exceptions.PolarsError:
        return pl.Series(column.name, [None if v is None else str(v) for v in column.to_list()], pl.String())


def check_identifiers(
    findings: Findings, claims: Claims, frame: pl.DataFrame, original: pl.DataFrame, rows: Array | None
) -> None:
    """No published column repeats a column that was to be dropped."""
    dropped = [name for name in claims.dropped if name in original.columns]
    codes = {f"{q.name}{end}" for q in claims.quasi for end in ("", ".lo", ".hi")}
    counts = set(claims.sensitive.columns) if claims.sensitive and claims.sensitive.form == "counts" else set()
    problems = []
    for name in (c for c in frame.columns if c not in codes | counts):
        for secret in dropped:
            hidden = original[secret]
            repeats = _repeats_shuffled(frame[name], hidden) if rows is None else _repeats(frame[name], hidden, rows)
            if repeats:
                problems.append(f"column {name!r} repeats the dropped column {secret!r}")
    lost = len(claims.dropped) - len(dropped)
    unseen = f"; {lost} dropped columns are not in the original that was given" if lost else ""
    findings.judge("identifiers", problems, f"no column repeats one of {len(dropped)} dropped ones{unseen}")


def _repeats(column: pl.Series, hidden: pl.Series, rows: Array) -> bool:
    """Tell whether a column is the hidden one; a constant says nothing about anybody."""
    probe = equal_values(column[:_PROBE], hidden.gather(rows[:_PROBE]))
    if not probe.all():
        return False
    own = hidden.gather(rows)
    return own.n_unique() > 1 and bool(equal_values(column, own).all())


def _repeats_shuffled(column: pl.Series, hidden: pl.Series) -> bool:
    """Tell whether a column holds values of a hidden one that tells people apart, in whatever order."""
    if hidden.n_unique() <= max(1, len(hidden) // 2) or column.n_unique() <= max(1, len(column) // 2):
        return False
    return bool(np.all(as_text(column).is_in(as_text(hidden).implode(), nulls_equal=True).to_numpy()))
