"""The rows for people against the coded ones: the same cells, each written in the one way that leaves no room."""

from __future__ import annotations

import numpy as np
import polars as pl

from incrowd.verify.domain import Array
from incrowd.verify.levels import TOLERANCE
from incrowd.verify.manifest import Claims
from incrowd.verify.payload import Payload, column_problems, expected_columns, wrong_rows
from incrowd.verify.verdict import Findings

_NUMBER = r"^-?(?:0|[1-9]\d*)(?:\.(?:0|\d*[1-9]))?(?:[eE][+-]?\d{1,3})?$"
_DIGITS, _DIGITS_32 = 17, 9
_ROUNDING = 4e-16


def check_csv(findings: Findings, claims: Claims, payload: Payload, csv: pl.DataFrame | None) -> None:
    """Compare the CSV with the parquet row by row; labels are compared with the codes elsewhere."""
    if csv is None:
        findings.skip("csv", "no release.csv was given")
        return
    frame = payload.frame
    problems = column_problems(claims, csv.columns, expected_columns(claims, labels=True, codes=False), "release.csv")
    if csv.height != frame.height:
        problems.append(f"release.csv has {csv.height} rows for {frame.height}")
    else:
        same = [*claims.other, *([claims.sensitive.name] if claims.sensitive and payload.exact is not None else [])]
        for name in same:
            if name in csv.columns and name in frame.columns:
                text = csv[name].cast(pl.String())
                problems += wrong_rows(differs(text, frame[name]), f"of release.csv differ in {name!r}")
        problems += _share_problems(claims, payload, csv)
    findings.judge("csv", problems, "the same rows as release.parquet")


def differs(text: pl.Series, column: pl.Series) -> Array:
    """Tell where a cell of text is not the typed value written plainly; an empty one is a missing value."""
    if column.dtype == pl.String:
        return (text.fill_null("") != column.fill_null("")).to_numpy()
    try:
        written = column.cast(pl.String())
    except pl.exceptions.PolarsError:
        return np.ones(len(column), np.bool_)
    if column.dtype == pl.Datetime:
        text, written = _short_time(text), _short_time(written)
    wrong = text.ne_missing(written)
    if column.dtype.is_float() and wrong.any():
        # another writer may choose another form of the same number
        read = text.cast(column.dtype, strict=False)
        most = _DIGITS_32 if column.dtype == pl.Float32 else _DIGITS
        wrong &= read.ne_missing(column) | (_digits(text) > most)
    return wrong.to_numpy()


def _short_time(text: pl.Series) -> pl.Series:
    """Bring times to one form: a space before the hour, no empty fraction, no colon in the zone."""
    plain = text.str.replace(r"^(\d{4}-\d\d-\d\d)T", "$1 ").str.replace(r"\.0{3}(?:0{3}){0,2}($|[+-])", "$1")
    return plain.str.replace(r"([+-]\d\d):(\d\d)$", "$1$2")


def _digits(text: pl.Series) -> pl.Series:
    """Count the significant digits of plainly written numbers; what is not plainly written has far too many."""
    digits = text.str.replace(r"[eE].*$", "").str.replace(r"\.0$", "").str.replace_all(r"[-.]", "")
    count = digits.str.strip_chars_start("0").str.len_chars().cast(pl.Int64())
    plain = text.str.contains(_NUMBER)
    return pl.select(pl.when(plain).then(count).otherwise(1000)).to_series()


def _share_problems(claims: Claims, payload: Payload, csv: pl.DataFrame) -> list[str]:
    if claims.sensitive is None or payload.counts is None:
        return []
    total = payload.counts.sum(axis=1, dtype=np.int64)
    problems = []
    for number, name in enumerate(claims.sensitive.columns):
        if name not in csv.columns:
            continue
        text = csv[name].cast(pl.String())
        wrong = _wrong_share(text, payload.counts[:, number] / total)
        problems += wrong_rows(wrong, f"of release.csv have a wrong share in distribution column {number + 1}")
    return problems


def _wrong_share(text: pl.Series, share: Array) -> Array:
    """Tell where a text is not its share, rounded to as many digits as it has."""
    if (text == pl.Series(share).cast(pl.String())).fill_null(value=False).all():
        return np.zeros(len(share), np.bool_)
    read = text.cast(pl.Float64(), strict=False).fill_null(np.nan).to_numpy()
    digits = _digits(text).fill_null(1000).to_numpy()
    room = np.minimum(TOLERANCE, 10.0 ** -np.minimum(digits, 300)) + _ROUNDING
    return np.asarray(~(np.abs(read - share) <= room) | (digits > _DIGITS))
