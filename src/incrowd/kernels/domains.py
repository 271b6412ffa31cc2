"""Hierarchies as arrays: closures and extents of cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import kernel

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

N_LEAVES, N_LEVELS, HAS_MISSING, NODE_START, POS_START = range(5)


class Domains(NamedTuple):
    """All hierarchies of a table, laid end to end: few arrays, because each one costs compile time.

    ``shape[m]`` tells an attribute's number of leaves and levels (none for intervals), whether its first leaf is the
    missing value, and where it begins in `nodes` and `pos`. The node of leaf ``i`` at height ``h`` reaches from
    ``nodes[0, at]`` to ``nodes[1, at]`` with ``at = shape[m, NODE_START] + h * shape[m, N_LEAVES] + i``.
    """

    shape: Int64
    nodes: Int32
    pos: Float64


@kernel
def close(domains: Domains, m: int, lo: int, hi: int) -> tuple[int, int, int]:
    """Return the smallest legal cell that holds ``[lo, hi]``, and its height in a taxonomy."""
    n_leaves = domains.shape[m, N_LEAVES]
    if domains.shape[m, N_LEVELS] == 0:
        if domains.shape[m, HAS_MISSING] and lo == 0 and hi > 0:
            return 0, n_leaves - 1, 0
        return lo, hi, 0
    at = domains.shape[m, NODE_START] + lo
    height = 0
    while domains.nodes[1, at] < hi:
        at += n_leaves
        height += 1
    return int(domains.nodes[0, at]), int(domains.nodes[1, at]), height


@kernel
def extent(domains: Domains, m: int, lo: int, hi: int) -> float:
    """Return the normalized extent of a cell: its LM loss."""
    first = domains.shape[m, POS_START]
    whole = domains.pos[first + domains.shape[m, N_LEAVES] - 1] - domains.pos[first]
    return (domains.pos[first + hi] - domains.pos[first + lo]) / whole if whole > 0.0 else 0.0


@kernel
def close_groups(codes: Int32, labels: Int64, n_groups: int, domains: Domains) -> tuple[Int32, Int32]:
    """Return the closure of each group of rows, [groups x quasi] each; codes are [rows x quasi], columns contiguous."""
    n_rows, n_quasi = codes.shape
    lo, hi = np.empty((n_groups, n_quasi), np.int32), np.empty((n_groups, n_quasi), np.int32)
    for g in range(n_groups):
        for m in range(n_quasi):
            lo[g, m], hi[g, m] = domains.shape[m, N_LEAVES], -1
    for m in range(n_quasi):
        for i in range(n_rows):
            g, code = labels[i], codes[i, m]
            lo[g, m] = min(lo[g, m], code)
            hi[g, m] = max(hi[g, m], code)
        for g in range(n_groups):
            if hi[g, m] >= 0:
                first, last, _ = close(domains, m, int(lo[g, m]), int(hi[g, m]))
                lo[g, m], hi[g, m] = first, last
    return lo, hi
