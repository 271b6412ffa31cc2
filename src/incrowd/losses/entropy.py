"""Entropy losses: how many bits about the original value a cell leaves open.

A reader who sees a cell knows that the original is one of its leaves, and how often each leaf occurs in the table. What
remains unknown is the entropy of the attribute's empirical distribution conditioned on the cell. That can shrink when a
cell grows (a frequent leaf joins two rare ones); multiplied by the cell's probability it cannot: the monotone variant.
A row left out counts as the whole domain; when no original is known at all, its leaves count as equally likely.

References
----------
Gionis and Tassa, "k-Anonymization with minimal loss of information", TKDE 2009: the entropy measure and the monotone
entropy measure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from incrowd.hierarchy import Hierarchy
from incrowd.losses.cells import Cells, Codes, Counts, Floats, mean_over_attributes

_BLOCK = 1 << 16  # the half dozen arrays on the way to a cell's loss stay in the cache


class PrefixSums(NamedTuple):
    """Sums over an attribute's first 0, 1, ... leaves: all that the entropy of a range needs.

    Attributes
    ----------
    mass
        Of f, how often each leaf occurs.
    weighted
        Of f log2 f.
    """

    mass: Counts
    weighted: Floats


def prefix_sums(marginal: Counts | Floats) -> PrefixSums:
    """Return the sums from which the entropy losses of any cell follow in four look-ups."""
    f = np.rint(marginal).astype(np.int64)
    mass, weighted = np.zeros(len(f) + 1, np.int64), np.zeros(len(f) + 1)
    np.cumsum(f, out=mass[1:])
    np.cumsum(f * np.log2(np.maximum(f, 1)), out=weighted[1:])
    return PrefixSums(mass, weighted)


def _open_bits(sums: PrefixSums, lo: Codes, hi: Codes) -> tuple[Counts, Floats]:
    """Return the mass p of each cell and p log2 p - sum of f log2 f, which is p times its entropy."""
    after = np.asarray(hi) + 1
    p = sums.mass[after] - sums.mass[lo]
    bits = p * np.log2(np.maximum(p, 1)) - (sums.weighted[after] - sums.weighted[lo])
    # Two leaves that occur leave at least 2 open, and each further original adds as much. Less is the rounding error of
    # a cell with one such leaf: exactly 0, so that it breaks no ties, and monotone is monotone in floating point too.
    return p, np.where(bits < 1.0, 0.0, bits)


def _entropy(sums: PrefixSums, lo: Codes, hi: Codes) -> Floats:
    p, bits = _open_bits(sums, lo, hi)
    return np.asarray(bits / np.maximum(p, 1))


def _monotone_entropy(sums: PrefixSums, lo: Codes, hi: Codes) -> Floats:
    _, bits = _open_bits(sums, lo, hi)
    return np.asarray(bits / max(int(sums.mass[-1]), 1))


def entropy_cells(hierarchy: Hierarchy, marginal: Counts, lo: Codes, hi: Codes) -> Floats:
    """Return the entropy (bits) of the attribute conditioned on each cell; 0 where no original falls."""
    del hierarchy
    return _entropy(prefix_sums(marginal), lo, hi)


def monotone_entropy_cells(hierarchy: Hierarchy, marginal: Counts, lo: Codes, hi: Codes) -> Floats:
    """Return the entropy conditioned on each cell times the cell's probability: never less for a larger cell."""
    del hierarchy
    return _monotone_entropy(prefix_sums(marginal), lo, hi)


def entropy(cells: Cells) -> float:
    """Return the mean over rows and attributes of the entropy left by a cell."""
    return _mean(cells, _entropy)


def monotone_entropy(cells: Cells) -> float:
    """Return the mean over rows and attributes of the entropy left by a cell times the cell's probability."""
    return _mean(cells, _monotone_entropy)


def _mean(cells: Cells, of_cells: Callable[[PrefixSums, Codes, Codes], Floats]) -> float:
    losses = []
    for attribute, marginal in enumerate(cells.marginals):
        sums = prefix_sums(marginal if np.any(marginal) else np.ones_like(marginal))
        whole = of_cells(sums, np.zeros(1, np.int32), np.full(1, len(marginal) - 1, np.int32))
        lost = cells.n_suppressed * float(whole[0])
        lo, hi, times = cells.distinct(attribute)
        for start in range(0, len(lo), _BLOCK):
            block = slice(start, start + _BLOCK)
            lost += float(np.sum(times[block] * of_cells(sums, lo[block], hi[block])))
        losses.append(lost)
    return mean_over_attributes(cells, losses)
