"""The clusters that a person may be in, when their private coordinates vary over their range.

The region of a cluster is the set of points to which its centroid is the nearest, with the border. With public
coordinates fixed, "nearer to centroid j than to i" is a linear inequality in the private ones, so the private values
that lead to cluster j form a polytope in the box of their ranges. With one private coordinate it is an interval, found
from all inequalities at once; with more, a linear program tells whether it is empty.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

Float64 = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_SLACK = 1e-9


def reachable(known: Float64, low: Float64, high: Float64, centers: Float64, public: Bools) -> Bools:
    """Return which clusters people can be in, [people x clusters].

    Parameters
    ----------
    known
        Public coordinates of people.
    low, high
        Range of each private coordinate.
    centers
        Centroids.
    public
        Which coordinates are public.
    """
    # Nearer to j than to i: 2 (c_i - c_j) . x <= |c_i|^2 - |c_j|^2, over all coordinates of x.
    gaps = 2 * (centers[None, :, :] - centers[:, None, :])
    squares = (centers**2).sum(axis=1)
    limits = squares[None, :] - squares[:, None]
    slack = _SLACK * max(1.0, float(squares.max()))
    found = np.zeros((len(known), len(centers)), np.bool_)
    likely = _likely(np.clip(centers[:, ~public], low, high), low, high)
    for j in range(len(centers)):
        room = limits[j] - known @ gaps[j][:, public].T + slack
        found[:, j] = _not_empty(gaps[j][:, ~public], room, low, high, likely)
    return found


def _likely(hidden: Float64, low: Float64, high: Float64) -> Float64:
    """Return private values at which clusters often win: at centroids, and at corners of the box as far as few."""
    n = len(low)
    n_corners = 2 ** min(n, 6)
    corners = (np.arange(n_corners)[:, None] >> np.arange(n)) & 1
    return np.concatenate([hidden, np.where(corners > 0, high, low)])


def _not_empty(slopes: Float64, room: Float64, low: Float64, high: Float64, likely: Float64) -> Bools:
    """Tell for each person whether ``slopes @ x <= room`` has a solution in the box; `room` is [people x rows]."""
    least = np.minimum(slopes * low, slopes * high).sum(axis=1)
    possible: Bools = (least <= room).all(axis=1)
    if slopes.shape[1] == 0:
        return possible
    if slopes.shape[1] == 1:
        slope = slopes[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = room / slope
        up = np.where(slope > 0, ends, np.inf).min(axis=1)
        down = np.where(slope < 0, ends, -np.inf).max(axis=1)
        return np.asarray(possible & (np.maximum(down, low[0]) <= np.minimum(up, high[0])))
    easy = np.zeros_like(possible)
    for needed in likely @ slopes.T:
        easy |= (needed <= room).all(axis=1)
    bounds = list(zip(low, high, strict=True))
    for person in np.flatnonzero(possible & ~easy):
        solved = linprog(np.zeros(len(low)), A_ub=slopes, b_ub=room[person], bounds=bounds, method="highs")
        easy[person] = solved.status == 0
    return easy
