"""Hierarchies and privacy limits in the form that kernels take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incrowd.hierarchy import Hierarchy
from incrowd.kernels.partition import Domains, Limits
from incrowd.privacy import Privacy
from incrowd.table import Table


def flatten(hierarchies: Sequence[Hierarchy]) -> Domains:
    """Lay hierarchies end to end."""
    bounds = [hierarchy.levels() for hierarchy in hierarchies]
    sizes = [lo.size for lo, _ in bounds]
    n_leaves = np.array([hierarchy.n_leaves for hierarchy in hierarchies], np.int64)
    return Domains(
        n_leaves=n_leaves,
        n_levels=np.array([len(lo) for lo, _ in bounds], np.int64),
        has_missing=np.array([hierarchy.has_missing for hierarchy in hierarchies]),
        node_start=np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64),
        node_lo=np.concatenate([lo.ravel() for lo, _ in bounds]).astype(np.int32),
        node_hi=np.concatenate([hi.ravel() for _, hi in bounds]).astype(np.int32),
        pos_start=np.concatenate([[0], np.cumsum(n_leaves)[:-1]]).astype(np.int64),
        pos=np.concatenate([hierarchy.pos for hierarchy in hierarchies]),
    )


def limits(privacy: Privacy, table: Table) -> Limits:
    """Return what every group of this table must keep."""
    whole, real = privacy.limits().arrays()
    counts = table.sensitive_counts
    return Limits(whole, real, counts / max(1, counts.sum()))
