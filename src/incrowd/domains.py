"""Hierarchies and privacy limits in the form that kernels take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.hierarchy import Hierarchy
from incrowd.kernels.domains import Domains
from incrowd.kernels.limits import Limits
from incrowd.privacy import Privacy


def flatten(hierarchies: Sequence[Hierarchy]) -> Domains:
    """Lay hierarchies end to end."""
    bounds = [hierarchy.levels() for hierarchy in hierarchies]
    sizes = [lo.size for lo, _ in bounds]
    n_leaves = [hierarchy.n_leaves for hierarchy in hierarchies]
    shape = [
        n_leaves,
        [len(lo) for lo, _ in bounds],
        [hierarchy.has_missing for hierarchy in hierarchies],
        [0, *np.cumsum(sizes)[:-1]],
        [0, *np.cumsum(n_leaves)[:-1]],
    ]
    nodes = [np.concatenate([side[i].ravel() for side in bounds]) for i in range(2)]
    positions = np.concatenate([hierarchy.pos for hierarchy in hierarchies])
    return Domains(np.ascontiguousarray(np.array(shape, np.int64).T), np.array(nodes, np.int32), positions)


def limits(privacy: Privacy, table: Table) -> Limits:
    """Return what every group of this table must keep."""
    return limits_of(privacy, table.n_rows, table.sensitive_counts)


def limits_of(privacy: Privacy, n_rows: int, counts: npt.NDArray[np.int64]) -> Limits:
    """Return what every group of so many rows with these sensitive counts must keep."""
    whole, real = privacy.limits().arrays(n_rows)
    return Limits(whole, np.concatenate([real, counts / max(1, counts.sum())]))
