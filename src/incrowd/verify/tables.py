"""Files against each other and against the manifest's numbers: the CSV, the row accounting, the marginals."""

from __future__ import annotations

import numpy as np
import polars as pl

from incrowd.verify.domain import Array, value_name
from incrowd.verify.levels import TOLERANCE
from incrowd.verify.manifest import Claims
from incrowd.verify.payload import Payload, column_problems, expected_columns, wrong_rows
from incrowd.verify.verdict import Findings

_STRIPE = 1 << 22


def check_rows(findings: Findings, claims: Claims, n_rows: int) -> None:
    """Rows add up: input = missing + suppressed + released, and the released ones are there."""
    rows = claims.rows
    problems = []
    if rows["input"] != rows["missing"] + rows["suppressed"] + rows["released"]:
        problems.append("input is not missing + suppressed + released")
    if rows["released"] != n_rows:
        problems.append(f"{rows['released']} rows are announced and {n_rows} are there")
    if n_rows == 0:
        problems.append("the release is empty")
    if claims.policy == "value" and rows["missing"]:
        problems.append(f"{rows['missing']} rows are counted as missing, and a missing value is a value here")
    findings.judge("rows", problems, f"{rows['input']} in, {n_rows} out")


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
                problems += wrong_rows(_differs(csv[name], frame[name]), f"of release.csv differ in {name!r}")
        problems += _share_problems(claims, payload, csv)
    findings.judge("csv", problems, "the same rows as release.parquet")


def _share_problems(claims: Claims, payload: Payload, csv: pl.DataFrame) -> list[str]:
    if claims.sensitive is None or payload.counts is None:
        return []
    total = payload.counts.sum(axis=1, dtype=np.int64)
    problems = []
    for number, name in enumerate(claims.sensitive.columns):
        if name not in csv.columns:
            continue
        share = csv[name].cast(pl.Float64(), strict=False).fill_null(np.nan).to_numpy()
        wrong = ~(np.abs(share - payload.counts[:, number] / total) <= TOLERANCE)
        problems += wrong_rows(wrong, f"of release.csv have a wrong share in distribution column {number}")
    return problems


def _differs(text: pl.Series, column: pl.Series) -> Array:
    """Compare a column of CSV text with the typed one; an empty text is a missing value."""
    dtype = column.dtype
    text = text.cast(pl.String()) if text.dtype != pl.String else text
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return (text.fill_null("") != column.cast(pl.String()).fill_null("")).to_numpy()
    if dtype.is_numeric():
        read = text.cast(pl.Float64() if not dtype.is_integer() else dtype, strict=False)
        return read.ne_missing(column.cast(read.dtype)).to_numpy()
    if dtype == pl.Boolean:
        return (text.str.to_lowercase().fill_null("") != column.cast(pl.String()).fill_null("")).to_numpy()
    if dtype == pl.Datetime:
        return (
            text.str.slice(0, 19).str.replace("T", " ").ne_missing(column.dt.strftime("%Y-%m-%d %H:%M:%S")).to_numpy()
        )
    written = [None if value is None else value_name(value) for value in column.to_list()]
    return text.ne_missing(pl.Series(written, dtype=pl.String())).to_numpy()


def check_marginals(findings: Findings, claims: Claims, payload: Payload) -> None:
    """Every marginal adds up to the released rows and leaves room for the cells that were published."""
    problems = []
    released = claims.rows["released"]
    for m, q in enumerate(claims.quasi):
        if int(q.marginal.sum()) != released:
            problems.append(f"column {q.name!r} adds up to {int(q.marginal.sum())}, not to {released} released rows")
        lo, hi = payload.cells.lo[m], payload.cells.hi[m]
        count = np.bincount(payload.cells.cell[m], minlength=len(lo))
        mass = np.append(0, np.cumsum(q.marginal))
        short = rows_inside(lo, hi, count) > mass[hi + 1] - mass[lo]
        if short.any():
            problems.append(f"column {q.name!r} has {short.sum()} cells with more rows inside than its marginal holds")
    sensitive = claims.sensitive
    if sensitive is not None and int(sensitive.marginal.sum()) != released:
        problems.append(f"column {sensitive.name!r} adds up to {int(sensitive.marginal.sum())}, not to {released}")
    if sensitive is not None and payload.exact is not None:
        off = np.bincount(payload.exact, minlength=len(sensitive.marginal)) != sensitive.marginal
        if off.any():
            problems.append(f"column {sensitive.name!r} has {off.sum()} counts that are not those of its values")
    findings.judge("marginals", problems, f"each adds up to {released} and has room for every cell")


def rows_inside(lo: Array, hi: Array, count: Array) -> Array:
    """Return, for each distinct cell, how many rows have a cell that lies inside it."""
    lows, low_rank = np.unique(lo, return_inverse=True)
    highs, high_rank = np.unique(hi, return_inverse=True)
    row = len(lows) - 1 - low_rank
    inside = np.zeros(len(lo), np.int64)
    carried = np.zeros(len(highs), np.int64)
    step = max(1, _STRIPE // max(1, len(highs)))
    for start in range(0, len(lows), step):
        n = min(step, len(lows) - start)
        here = (row >= start) & (row < start + n)
        at = (row[here] - start) * len(highs) + high_rank[here]
        table = np.bincount(at, weights=count[here], minlength=n * len(highs)).reshape(n, -1).astype(np.int64)
        table[0] += carried
        table = np.cumsum(table, axis=0)
        carried = table[-1].copy()
        inside[here] = np.cumsum(table, axis=1).ravel()[at]
    return inside
