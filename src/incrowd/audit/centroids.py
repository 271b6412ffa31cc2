"""Spans of centroids: the clusters that a person may be in when their private coordinates vary.

Over what they vary can be read in two ways: over the whole box of their ranges, or, where private columns have few
values, such as 0 and 1, over those values only. Neither implies the other, so people count as alike only if
they are alike in both readings, which is the careful choice.

Values: who is nearest to which centroid, of tied ones the first, as `predict` says. Box: with a person's public
coordinates fixed, the difference of the squared distances to two centroids is linear in the private coordinates.
Cluster j is reachable if some point of the box is as near to it as to every other one: a linear feasibility problem.
Most of them are decided without solving it: a cluster that some other one beats in the whole box is out (the least of a
linear function over a box is at a corner, coordinate by coordinate), and one that wins at a point that was tried is
in. Only the rest goes to a linear program. A border counts as reachable. All is computed from the middle of the
centroids, so that it does not matter where the origin is.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from incrowd.audit.inputs import Inputs

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_MOST_TRIED = 256
_TOLERANCE = 1e-9  # of squared distances, relative to the largest
_CHUNK = 20_000
_MOST_COMBINATIONS = 256


def nearest(centers: Float64, inputs: Inputs) -> Int64:
    """Return the cluster that each person is in."""
    return np.asarray(((inputs.values[:, None, :] - centers[None]) ** 2).sum(axis=2).argmin(axis=1))


def reachable(centers: Float64, inputs: Inputs) -> list[Bools]:
    """Return which clusters each person may be in, [people x clusters], in one reading or more.

    A private column that public ones tell is read in both ways: as known, and as private.
    """
    found = _reachable(centers, inputs.values, inputs.public)
    if (inputs.public & inputs.secret).any():
        found += _reachable(centers, inputs.values, ~inputs.secret)
    return found


def _reachable(centers: Float64, values: Float64, known: Bools) -> list[Bools]:
    middle = centers.mean(axis=0)
    centers, values = centers - middle, values - middle
    public, private = values[:, known], values[:, ~known]
    seen, person_of = np.unique(public, axis=0, return_inverse=True)
    low, high = private.min(axis=0), private.max(axis=0)
    readings: list[list[Bools]] = []
    tried = _points(private, low, high)
    some_values = _combinations(private)
    for start in range(0, len(seen), _CHUNK):
        part = seen[start : start + _CHUNK]
        found = []
        if private.shape[1]:
            found.append(_in_box(part, centers, known, low, high, tried))
        if some_values is not None:
            found.append(_by_values(part, centers, known, some_values))
        readings.append(found)
    return [np.concatenate(parts)[person_of.ravel()] for parts in zip(*readings, strict=True)]


def _combinations(private: Float64) -> Float64 | None:
    """Return all combinations of private values, if they are few."""
    values = [np.unique(column) for column in private.T]
    if math.prod(map(len, values)) > _MOST_COMBINATIONS:
        return None
    grid = np.meshgrid(*values, indexing="ij")
    return np.stack([axis.ravel() for axis in grid], axis=1) if values else np.empty((1, 0))


def _by_values(seen: Float64, centers: Float64, public: Bools, combinations: Float64) -> Bools:
    found = np.zeros((len(seen), len(centers)), np.bool_)
    known = ((seen[:, None, :] - centers[None, :, public]) ** 2).sum(axis=2)
    for point in combinations:
        nearest = (known + ((point - centers[:, ~public]) ** 2).sum(axis=1)).argmin(axis=1)
        found[np.arange(len(seen)), nearest] = True
    return found


def _points(private: Float64, low: Float64, high: Float64) -> Float64:
    """Return points of the box at which it is tried who wins: some corners, and rows of the table."""
    n_private = len(low)
    corners = np.array([[(c >> i) & 1 for i in range(n_private)] for c in range(2 ** min(n_private, 7))], np.float64)
    corners = corners.reshape(len(corners), n_private) * (high - low) + low
    step = max(1, len(private) // _MOST_TRIED)
    return np.unique(np.concatenate([corners, private[::step]]), axis=0)


def _in_box(seen: Float64, centers: Float64, public: Bools, low: Float64, high: Float64, tried: Float64) -> Bools:
    n, n_clusters = len(seen), len(centers)
    there, hidden = centers[:, public], centers[:, ~public]
    # The squared distance to centroid j is fixed[j] + slope[j] . x + |x|^2 for private coordinates x; |x|^2 is common.
    fixed = ((seen[:, None, :] - there[None]) ** 2).sum(axis=2) + (hidden**2).sum(axis=1)
    slope = -2 * hidden
    tolerance = _TOLERANCE * max(1.0, float(np.abs(fixed).max()))
    inside = np.zeros((n, n_clusters), np.bool_)
    for point in tried:
        scores = fixed + slope @ point
        inside |= scores <= scores.min(axis=1, keepdims=True) + tolerance
    outside = np.zeros((n, n_clusters), np.bool_)
    for j in range(n_clusters):
        for i in range(n_clusters):
            difference = slope[j] - slope[i]
            least = fixed[:, j] - fixed[:, i] + np.minimum(difference * low, difference * high).sum()
            outside[:, j] |= least > tolerance
    for row, j in np.argwhere(~inside & ~outside):
        inside[row, j] = _feasible(fixed[row], slope, int(j), low, high, tolerance)
    return inside


def _feasible(fixed: Float64, slope: Float64, j: int, low: Float64, high: Float64, tolerance: float) -> bool:
    """Tell whether some point of the box is nearest to centroid j."""
    from scipy.optimize import linprog  # noqa: PLC0415 - only for what nothing simpler decides

    others = np.arange(len(fixed)) != j
    bounds = list(zip(low, high, strict=True))
    solved = linprog(
        np.zeros(len(low)), A_ub=slope[j] - slope[others], b_ub=fixed[others] - fixed[j] + tolerance, bounds=bounds
    )
    return bool(solved.status == 0)


def find_spans(centers: Float64, inputs: Inputs) -> tuple[Int64, Bools]:
    """Return the number of each person's span, and which spans have several classes."""
    readings = reachable(centers, inputs)
    several = np.any([reading.sum(axis=1) > 1 for reading in readings], axis=0)
    _, one_of, span_of = np.unique(np.hstack(readings), axis=0, return_index=True, return_inverse=True)
    return span_of.ravel(), several[one_of]


def with_centers(model: Any, centers: Float64) -> Any:  # noqa: ANN401
    """Return a copy of a model of centroids that has these."""
    changed = copy.deepcopy(model)
    changed.cluster_centers_ = centers.astype(model.cluster_centers_.dtype)
    for name in ("n_clusters", "_n_clusters"):
        if hasattr(changed, name):
            setattr(changed, name, len(centers))
    if hasattr(changed, "_counts"):  # of the people that each centroid was made of in batches
        del changed._counts
    return changed
