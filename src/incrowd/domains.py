"""Hierarchies and privacy limits in the form that kernels take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.hierarchy import Hierarchy
from incrowd.kernels.domains import Domains
from incrowd.kernels.limits import Limits
from incrowd.privacy import Privacy, Values


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
    counts = {secret.name: secret.counts(table.sensitive_counts) for secret in table.secrets}
    value_of = [secret.value_of for secret in table.secrets]
    combined = np.array(value_of, np.int32) if len(counts) > 1 else None
    nodes = {secret.name: secret.nodes for secret in table.secrets}
    values = {secret.name: secret.values.to_list() for secret in table.secrets} if privacy.has_widths else None
    return limits_of(privacy, table.n_rows, counts, combined, nodes, values)


def limits_of(
    privacy: Privacy,
    n_rows: int,
    counts: Mapping[str, npt.NDArray[np.int64]],
    value_of: npt.NDArray[np.int32] | None = None,
    nodes: Mapping[str, npt.NDArray[np.int32] | None] | None = None,
    values: Values | None = None,
) -> Limits:
    """Return what every group of so many rows with these counts of sensitive values must keep.

    `nodes` are those of the trees of sensitive columns, [levels x values], the root's level among them; `values` are
    the sensitive values, where a group's have to be far apart.
    """
    trees = [None if nodes is None else nodes.get(name) for name in counts]
    heights = [0 if tree is None else len(tree) for tree in trees]
    asked = [privacy.limits(name).arrays(n_rows, height) for name, height in zip(counts, heights, strict=True)]
    each = asked or [privacy.limits().arrays(n_rows)]
    whole, real = (np.array(side) for side in zip(*each, strict=True))
    overall = [own / max(1, own.sum()) for own in counts.values()] or [np.empty(0)]
    first = np.cumsum([0, *map(len, overall)])
    shares = [privacy.shares(name, own) for name, own in counts.items()]
    told = np.concatenate(shares) if any(map(len, shares)) else np.empty((0, 4), np.int64)
    combined = np.empty((0, 0), np.int32) if value_of is None else value_of
    levels = np.zeros((max([0, *heights]), int(first[-1])), np.int32)
    for begin, tree in zip(first, trees, strict=False):
        if tree is not None:
            levels[: len(tree), begin : begin + tree.shape[1]] = tree
    reach = [privacy.reach(name, own) for name, own in (values or {}).items()]
    far = np.concatenate(reach) if reach else np.empty(0, np.int32)
    return Limits(whole, real, np.concatenate(overall), first, combined, told, levels, far)
