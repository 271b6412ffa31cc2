"""The rows against the manifest's numbers: the row accounting, the marginals."""

from __future__ import annotations

import numpy as np

from incrowd.verify.domain import Array
from incrowd.verify.manifest import Claims
from incrowd.verify.payload import Payload
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
