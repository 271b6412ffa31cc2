"""The clusters that a person may be in, when their private coordinates vary.

The region of a cluster is the set of points to which its centroid is the nearest. Private coordinates may vary over the
box of their ranges, or, where they have few values, such as 0 and 1, over those values only. Neither reading implies
the other; `readings` gives both, and people are alike only if they are alike in each.

Box: with public coordinates fixed, "nearer to centroid j than to i" is a linear inequality in the private ones, so the
private values that lead to cluster j, border included, form a polytope in the box. With one private coordinate it is an
interval, found from all inequalities at once; with more, a linear program tells whether it is empty. Values: each
combination is tried, and of tied centroids the first is taken.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

Float64 = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_SLACK = 1e-9
_MOST_COMBINATIONS = 256


def readings(
    known: Float64, low: Float64, high: Float64, values: Float64 | None, centers: Float64, public: Bools
) -> list[Bools]:
    """Return which clusters people can be in, [people x clusters], for each reading of what private values may be.

    Parameters
    ----------
    known
        Public coordinates of people.
    low, high
        Range of each private coordinate.
    values
        All combinations of private values, if they are few.
    centers
        Centroids.
    public
        Which coordinates are public.
    """
    middle = centers.mean(axis=0)  # far from the origin, squares would drown the differences
    known, low, high, centers = known - middle[public], low - middle[~public], high - middle[~public], centers - middle
    found = [] if public.all() else [reachable(known, low, high, centers, public)]
    if values is not None:
        found.append(_won(known, values - middle[~public], centers, public))
    return found


def combinations(private: Float64) -> Float64 | None:
    """Return all combinations of private values, or ``None`` if they are many."""
    values = [np.unique(column) for column in private.T]
    if math.prod(map(len, values)) > _MOST_COMBINATIONS:
        return None
    found = list(product(*values))
    return np.array(found, np.float64).reshape(len(found), private.shape[1])


def _won(known: Float64, values: Float64, centers: Float64, public: Bools) -> Bools:
    found = np.zeros((len(known), len(centers)), np.bool_)
    by_known = ((known[:, None, :] - centers[None, :, public]) ** 2).sum(axis=2)
    for hidden in values:
        winner = (by_known + ((hidden - centers[:, ~public]) ** 2).sum(axis=1)).argmin(axis=1)
        found[np.arange(len(known)), winner] = True
    return found


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
