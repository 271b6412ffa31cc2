"""Shares of sensitive values in whole parts, recomputed from blocks and members as docs/release-format.md says."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from incrowd.verify.domain import Array

PARTS = 10_000
_ALMOST = 1e-9  # of a part: what sums of floats lack to a whole number


def block_shares(block: Array, value: Array, n_blocks: int, n_values: int) -> Array:
    """Return the share of each value in each block, [blocks x values]."""
    counts = np.bincount(block * n_values + value, minlength=n_blocks * n_values).reshape(n_blocks, n_values)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def mean_shares(shares: Array, blocks: Array) -> Array:
    """Return the means of shares over some blocks, [rows x values] from [rows x members], added from left to right."""
    total = np.zeros((len(blocks), shares.shape[1]))
    per_member = shares / blocks.shape[1]
    for column in range(blocks.shape[1]):
        total += per_member[blocks[:, column]]
    return total


def in_parts(shares: Array, l: Fraction) -> Array:
    """Write shares as whole numbers of parts, rounded as the format says; at most PARTS / l of them each."""
    most = int(PARTS / l)
    exact = shares * PARTS
    occurs = shares > 0
    parts = np.clip(np.floor(exact + _ALMOST), occurs, most)
    # one more part each for those that lack most, as far as there are parts left; the first of equals comes first
    lack = np.where(parts < most, exact - parts, 0)
    rank = np.empty(parts.shape, np.int64)
    order = np.argsort(-lack, axis=1, kind="stable")
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(parts.shape[1]), parts.shape), axis=1)
    left = PARTS - parts.sum(axis=1, keepdims=True)
    parts += (rank < left) & (lack > 0)
    for row in np.flatnonzero(parts.sum(axis=1) != PARTS):
        _settle(parts[row], exact[row], most)
    return parts.astype(np.int64)


def _settle(parts: Array, exact: Array, most: int) -> None:
    """Add or take single parts until there are PARTS of them, or no value may have more."""
    while parts.sum() > PARTS:
        parts[np.argmax(parts - exact - np.where(parts <= 1, 2, 0))] -= 1
    while parts.sum() < PARTS:
        open_ = (exact > 0) & (parts < most)
        if not open_.any():
            return
        parts[np.argmax(np.where(open_, exact - parts, -np.inf))] += 1
