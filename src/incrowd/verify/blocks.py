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

_LEAST_PARTS = 5000
_ROUNDING = 1e-3  # of a part, for sums of many shares
_STEPS = 100_000_000  # of a box, an original and a column; of more boxes, some that are spread evenly are looked into
_STEPS_AT_ONCE = 1 << 24


def check_blocks(
    findings: Findings,
    claims: Claims,
    payload: Payload,
    codes: list[Array],
    sensitive: Array | None,
    blocks: Array | None,
) -> None:
    """Check that every block keeps what is promised of rows, and that shares are means of shares in blocks.

    A row's shares are means over k originals in its cell. What the others in it have beyond them is bounded by the
    least and the greatest share that a block has; where a cell covers k originals and no more, the mean is known. A
    released row may be off by the parts that rounding moves: one, and one for each value that is told as a single part,
    for what occurs is told; at most one for each value where one is as frequent as l allows.
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
    most = min((1 / promise.given["l"] for promise in about_values if promise.kind == "l"), default=np.inf)
    problems += _no_means(payload, codes, block, found, sizes, claims.k or 1, most)
    smallest = int(sizes.min()) if len(sizes) else 0
    findings.levels["block_min"] = smallest
    n_boxes, n_looked = payload.cells.n_groups, _n_boxes(payload, codes)
    some = "" if n_looked == n_boxes else f"; shares were held against the originals in {n_looked} of {n_boxes} cells"
    findings.judge("blocks", problems, f"{len(sizes)} blocks of at least {smallest} rows keep every promise{some}")


def _n_boxes(payload: Payload, codes: list[Array]) -> int:
    """Return how many cells are looked into."""
    return min(payload.cells.n_groups, max(1, _STEPS // max(1, payload.frame.height * len(codes))))


def _no_means(
    payload: Payload, codes: list[Array], block: Array, found: Distributions, sizes: Array, k: int, cap: float
) -> list[str]:
    """Say which rows have a share that no mean of blocks can have; none may be above the cap."""
    if payload.counts is None or not len(sizes):
        return []
    parts = payload.counts.sum(axis=1, keepdims=True)
    coarse = wrong_rows(np.asarray(parts[:, 0] < _LEAST_PARTS), f"tell shares in fewer than {_LEAST_PARTS} parts")
    if coarse:
        return coarse
    shares = np.zeros((len(sizes), found.n_values))
    shares[found.owner, found.value] = found.count / sizes[found.owner]
    least, most = shares.min(axis=0), shares.max(axis=0)
    told = payload.counts / parts
    at_cap = told.max(axis=1, keepdims=True) > cap - 2 / parts
    moved = np.where(at_cap, found.n_values + 1, 1 + (payload.counts == 1).sum(axis=1, keepdims=True))
    slack = (moved + _ROUNDING) / parts
    wrong = (told < least - slack) | (told > most + slack)
    outside = np.asarray(wrong.any(axis=1))
    cells = payload.cells
    boxes = np.linspace(0, cells.n_groups - 1, _n_boxes(payload, codes)).astype(np.int64)
    size, total = _covered(payload, codes, block, shares, boxes)
    place = np.full(cells.n_groups, -1)
    place[boxes] = np.arange(len(boxes))
    rows = np.flatnonzero(place[cells.group] >= 0)
    at = place[cells.group[rows]]
    spare = (size[at] - k)[:, None]  # originals in the cell who are not counted
    low, high = (total[at] - spare * most) / k, (total[at] - spare * least) / k
    off = (told[rows] < low - slack[rows]) | (told[rows] > high + slack[rows])
    outside[rows[off.any(axis=1)]] = True
    return wrong_rows(outside, "have a share that no mean of blocks has")


def _covered(payload: Payload, codes: list[Array], block: Array, shares: Array, boxes: Array) -> tuple[Array, Array]:
    """Return how many originals lie in each box, and the sum of the shares in their blocks, [boxes x values]."""
    order = np.argsort(block, kind="stable")
    starts = np.searchsorted(block[order], np.arange(len(shares)))
    ranks = [column[order] for column in codes]
    size, total = np.zeros(len(boxes), np.int64), np.zeros((len(boxes), shares.shape[1]))
    step = max(1, _STEPS_AT_ONCE // max(1, len(block)))
    for begin in range(0, len(boxes), step):
        some = slice(begin, begin + step)
        inside = np.ones((len(boxes[some]), len(block)), np.bool_)
        for m, rank in enumerate(ranks):
            cell = payload.cells.of_groups(m)[boxes[some]]
            inside &= (payload.cells.lo[m][cell][:, None] <= rank) & (rank <= payload.cells.hi[m][cell][:, None])
        per_block = np.add.reduceat(inside, starts, axis=1, dtype=np.int64)
        size[some] = per_block.sum(axis=1)
        total[some] = per_block @ shares
    return size, total
