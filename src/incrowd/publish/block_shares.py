"""Shares of sensitive values in blocks, with which members count in NSVDist's hardened mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.nsvdist import mean_shares
from incrowd.publish.blocks import Limited

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_PARTS = 10_000  # a distribution is written in so many parts; docs/release-format.md has the same number


class BlockShares(NamedTuple):
    """What members count with instead of their values.

    Attributes
    ----------
    block_of
        The block of each row.
    shares
        Of each sensitive column, shares of values in each block, [blocks x values].
    caps
        The most of `_PARTS` parts that a value may have, of each sensitive column.
    """

    block_of: Int64
    shares: tuple[Float64, ...]
    caps: tuple[int, ...]

    @classmethod
    def of(cls, block_of: Int64, secrets: Sequence[Limited]) -> BlockShares:
        """Count the values in blocks; no share of a mean may be above 1/l."""
        n_blocks = int(block_of.max()) + 1
        shares = []
        for secret in secrets:
            counts = np.bincount(block_of * secret.n_values + secret.codes, minlength=n_blocks * secret.n_values)
            table = counts.astype(np.float64).reshape(-1, secret.n_values)
            shares.append(table / table.sum(axis=1, keepdims=True))
        return cls(block_of, tuple(shares), tuple(int(_PARTS / secret.l) for secret in secrets))

    def mean_parts(self, members: Int64) -> Int32:
        """Return the mean shares of members' blocks, [rows x members], in parts, one sensitive column after another."""
        means = (mean_shares(self.block_of, shares, members) for shares in self.shares)
        return np.hstack([in_parts(mean, _PARTS, cap) for mean, cap in zip(means, self.caps, strict=True)])


def in_parts(shares: Float64, n_parts: int, cap: int) -> Int32:
    """Write shares as whole numbers of parts: none above the cap, and at least one for whatever occurs.

    Parts that rounding leaves over go to the shares that lack most; there are fewer than `n_parts` if the cap says so.

    >>> in_parts(np.array([[0.34561, 0.65437, 0.00002], [1 / 3, 1 / 3, 1 / 3]]), 10000, 9090).tolist()
    [[3456, 6543, 1], [3334, 3333, 3333]]
    """
    exactly = shares * n_parts
    parts = np.minimum(np.maximum(np.floor(exactly + 1e-9), shares > 0), cap)
    lacks = np.where(parts < cap, exactly - parts, 0)
    order = np.argsort(-lacks, axis=1, kind="stable")
    given = np.arange(shares.shape[1]) < (n_parts - parts.sum(axis=1))[:, None]
    at = np.arange(len(shares))[:, None]
    parts[at, order] += given & (lacks[at, order] > 0)
    for row in np.flatnonzero(parts.sum(axis=1) != n_parts):
        _even_out(parts[row], exactly[row], n_parts, cap)
    return parts.astype(np.int32)


def _even_out(parts: Float64, exactly: Float64, n_parts: int, cap: int) -> None:
    """Take or give one part at a time, where the error is largest, until the sum is right or all have the cap."""
    while (left := n_parts - parts.sum()) != 0:
        if left > 0:
            lacks = np.where((exactly > 0) & (parts < cap), exactly - parts, -np.inf)
            worst = lacks.argmax()
            if lacks[worst] == -np.inf:
                return
        else:
            worst = (parts - exactly - 2 * (parts <= 1)).argmax()
        parts[worst] += np.sign(left)
