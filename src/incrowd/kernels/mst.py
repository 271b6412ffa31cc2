"""Minimum spanning tree of points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import kernel

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]


@kernel
def grow(points: Float64, nearest: Float64, parent: Int64, order: Int64, n_done: int, n_steps: int) -> None:
    """Add points to a spanning tree, the nearest first (Prim's algorithm); ties go to the point with the lower number.

    Parameters
    ----------
    points
        [points x coordinates].
    nearest, parent
        Squared distance of each point to the tree, and the point of the tree at that distance; -1 in `nearest` once
        the point is in the tree. Changed in place.
    order
        Points in the order in which they were added; the first `n_done` are given.
    n_steps
        How many points to add.
    """
    n, n_coordinates = points.shape
    for step in range(n_done, min(n, n_done + n_steps)):
        new = order[step - 1]
        best = -1
        for i in range(n):
            if nearest[i] < 0.0:
                continue
            distance = 0.0
            for c in range(n_coordinates):
                gap = points[i, c] - points[new, c]
                distance += gap * gap
            if distance < nearest[i]:
                nearest[i] = distance
                parent[i] = new
            if best < 0 or nearest[i] < nearest[best]:
                best = i
        order[step] = best
        nearest[best] = -1.0
