"""The rows against the manifest's numbers: the row accounting, and what counts may say at all."""

from __future__ import annotations

import numpy as np

from incrowd.verify.manifest import Claims
from incrowd.verify.published import Leaves
from incrowd.verify.verdict import Findings


def check_rows(findings: Findings, claims: Claims, n_rows: int) -> None:
    """Rows add up: input = missing + suppressed + released, and the released ones are there."""
    rows = claims.rows
    problems = []
    filler = rows.get("filler", 0)
    if rows["input"] != rows["missing"] + rows["suppressed"] + rows["released"] - filler:
        problems.append(f"input is not missing + suppressed + released{' - filler' if filler else ''}")
    if rows["released"] != n_rows:
        problems.append(f"{rows['released']} rows are announced and {n_rows} are there")
    if n_rows == 0:
        problems.append("the release is empty")
    if claims.policy == "value" and rows["missing"]:
        problems.append(f"{rows['missing']} rows are counted as missing, and a missing value is a value here")
    added = f", {filler} of them filler" if filler else ""
    findings.judge("rows", problems, f"{rows['input']} in, {n_rows} out{added}")


def check_counts(findings: Findings, claims: Claims) -> None:
    """Exact counts add up; rounded ones are multiples of k, and no listed value has fewer than k rows."""
    problems, released, least = [], claims.n_people, claims.least
    columns = [(q.name, q.all_counts) for q in claims.quasi]
    columns += [(secret.name, secret.counts) for secret in claims.secrets if secret.counts is not None]
    for name, counts in columns:
        if not claims.joined and int(counts.sum()) != released:
            problems.append(f"column {name!r} adds up to {int(counts.sum())}, not to {released} released rows")
        elif claims.joined and (counts % least).any():
            problems.append(f"column {name!r} has counts that are not multiples of k = {least}")
        elif claims.joined and abs(int(counts.sum()) - released) >= least * len(counts):
            problems.append(f"column {name!r} adds up to {int(counts.sum())}, too far from {released} released rows")
    for q in claims.quasi if claims.joined else ():
        if isinstance(q, Leaves):
            single = np.ones(len(q.leaves), np.bool_)
            single[list(q.rest)] = False
            single[0] &= not q.has_missing
            rare = int((q.counts[single] < least).sum())
        else:
            rare = int((q.counts < least).sum()) if len(q.counts) > 1 else 0
        if rare:
            problems.append(f"column {q.name!r} tells {rare} values or ranges of fewer than k = {least} rows")
    fine = f"multiples of {least}" if claims.joined else f"each column adds up to {released}"
    findings.judge("counts", problems, fine)
