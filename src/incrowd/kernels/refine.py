"""Global cuts: every group whose rows lie in one range of an attribute is cut alike."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import kernel
from incrowd.kernels.limits import SIZE, Limits, holds

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


@kernel
def refine_groups(
    codes: Int32, weights: Int64, first: int, ends: Int64, group: Int64, n_groups: int, sensitive: Int32, n_values: int,
    limits: Limits,
) -> int:  # fmt: skip
    """Cut all groups whose rows lie in one range of an attribute, if every part keeps the limits.

    Parameters
    ----------
    codes
        Leaf ranks of the attribute.
    weights
        How many rows each of them stands for; empty: one each.
    first, ends
        The range begins at `first`; part p ends at ``ends[p]``.
    group
        Number of each row's group; changed in place when the cut is allowed.

    Returns
    -------
    int
        New number of groups, 0 when the cut is not allowed.
    """
    n_parts, last = len(ends), ends[-1]
    part_of = np.zeros(last - first + 1, np.int64)
    for p in range(1, n_parts):
        for leaf in range(ends[p - 1] + 1, ends[p] + 1):
            part_of[leaf - first] = p
    sizes = np.zeros((n_groups, n_parts), np.int64)
    for i in range(len(codes)):
        if first <= codes[i] <= last:
            sizes[group[i], part_of[codes[i] - first]] += weights[i] if len(weights) > 0 else 1
    for g in range(n_groups):
        for p in range(n_parts):
            if 0 < sizes[g, p] < limits.whole[0, SIZE]:
                return 0
    counts = np.zeros((n_groups, n_parts, n_values), np.int64)
    if n_values > 0:
        for i in range(len(codes)):
            if first <= codes[i] <= last:
                counts[group[i], part_of[codes[i] - first], sensitive[i]] += weights[i] if len(weights) > 0 else 1
    new = np.zeros((n_groups, n_parts), np.int64)
    n_new = n_groups
    for g in range(n_groups):
        fresh = False
        for p in range(n_parts):
            if sizes[g, p] == 0:
                continue
            if not holds(counts[g, p], sizes[g, p], limits):
                return 0
            new[g, p] = n_new if fresh else g
            n_new += fresh
            fresh = True
    for i in range(len(codes)):
        if first <= codes[i] <= last:
            group[i] = new[group[i], part_of[codes[i] - first]]
    return int(n_new)
