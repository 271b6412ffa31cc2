"""Sensitive values that are told by blocks of rows: blocks keep k and l, and nothing else about values is told."""

from __future__ import annotations

import numpy as np

from incrowd.verify.domain import Array
from incrowd.verify.groups import relabel
from incrowd.verify.levels import Distributions
from incrowd.verify.manifest import Claims
from incrowd.verify.payload import Payload, wrong_rows
from incrowd.verify.promises import broken
from incrowd.verify.verdict import Findings


def check_blocks(
    findings: Findings, claims: Claims, payload: Payload, sensitive: Array | None, blocks: Array | None
) -> None:
    """Check that every block keeps what is promised of rows, and that shares are means of shares in blocks.

    A mean lies between the least and the greatest of what it is the mean of; a released row may be off by the parts
    that rounding moves, at most one for each value.
    """
    if blocks is None or sensitive is None:
        findings.skip("blocks", "needs the original and the owner's private folder, which knows the blocks")
        return
    if blocks.ndim != 1 or blocks.dtype.kind not in "iu" or len(blocks) != len(sensitive) or blocks.min(initial=0) < 0:
        findings.judge("blocks", [f"they are not told by one whole number for each of {len(sensitive)} rows"], "")
        return
    block, first = relabel(blocks.astype(np.int64), int(blocks.max(initial=0)) + 1)[:2]
    sizes = np.bincount(block, minlength=len(first))
    n_values = len(claims.sensitive.marginal) if claims.sensitive else 0
    found = Distributions.of_rows(block, sensitive, len(sizes), n_values)
    problems = []
    if claims.k is not None and (few := sizes < claims.k).any():
        problems.append(f"{few.sum()} of {len(sizes)} blocks have fewer than k = {claims.k} rows")
    about_values = [promise for promise in claims.promises if promise.kind in ("l", "t", "alpha")]
    problems += [
        f"{wrong.sum()} of {len(sizes)} blocks break {promise.kind} = {promise.given[promise.kind]}"
        for promise in about_values
        if (wrong := broken(promise, found, claims)).any()
    ]
    problems += _outside(payload, found, sizes)
    smallest = int(sizes.min()) if len(sizes) else 0
    findings.levels["block_min"] = smallest
    findings.judge("blocks", problems, f"{len(sizes)} blocks of at least {smallest} rows keep every promise")


def _outside(payload: Payload, found: Distributions, sizes: Array) -> list[str]:
    """Say which rows have a share that no mean of blocks can have."""
    if payload.counts is None:
        return []
    least, most = np.full(found.n_values, np.inf), np.zeros(found.n_values)
    shares = found.count / sizes[found.owner]
    np.maximum.at(most, found.value, shares)
    np.minimum.at(least, found.value, shares)
    least[np.bincount(found.value, minlength=found.n_values) < found.n_owners] = 0.0
    parts = payload.counts.sum(axis=1, keepdims=True)
    slack = (found.n_values + 1) / parts
    told = payload.counts / parts
    wrong = (told < least - slack) | (told > most + slack)
    return wrong_rows(np.asarray(wrong.any(axis=1)), "have a share that no mean of blocks has")
