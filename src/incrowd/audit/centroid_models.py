"""Models of centroids: whether they are of this table, and how many people stand behind each centroid.

Spans tell about the regions of clusters. A centroid tells more: it is the mean of people, and that of one person is
that person. So where any column is private, each centroid must be the mean of at least k people, who are nearest to
it. A centroid that is not their mean was computed from others, of whom the model does not tell how many they are.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from incrowd.audit import centroids
from incrowd.audit.contents import by_row, without_rows
from incrowd.audit.inputs import Inputs
from incrowd.audit.subject import SAME_TABLE, Limits, Subject, back_in_place
from incrowd.errors import InfeasibleError, SchemaError

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]

_TIED = 0.01  # share of people that may be as near to two centroids, and rounded to either
_CLOSE = 1e-4  # of a column's spread: how far from the mean of its people a centroid may be


def read_centroids(model: Any, proper: Any, inputs: Inputs, limits: Limits) -> Subject:  # noqa: ANN401
    """Return k-means as the audit sees it."""
    held = by_row(proper)
    centers = np.asarray(proper.cluster_centers_, np.float64)
    if centers.ndim != 2 or centers.shape[1] != inputs.values.shape[1]:
        fact = f"The centroids of the model are not of {inputs.values.shape[1]} columns each"
        raise SchemaError(fact, SAME_TABLE)
    if np.isnan(inputs.values).any():
        fact = "The table has missing values, and the model has no place for them"
        raise SchemaError(fact, SAME_TABLE)
    labels = centroids.nearest(centers, inputs)
    require_same_clusters(proper, labels)
    span_of, multiple = centroids.find_spans(centers, inputs)
    behind = behind_centroids(centers, inputs, int(limits.k))

    def mend(limits: Limits) -> tuple[Any, list[str]]:
        found, steps = mended(centers, inputs, int(limits.k))
        return back_in_place(model, centroids.with_centers(without_rows(copy.copy(proper)), found)), steps

    def bare() -> Any:  # noqa: ANN401
        return back_in_place(model, without_rows(copy.copy(proper)))

    name = f"{type(proper).__name__} of {len(centers)} centroids"
    return Subject(
        name, model, inputs, span_of, multiple, tuple(held), behind, parts=labels, mend=mend, bare=bare, has_class=False
    )


def require_same_clusters(proper: Any, here: Int64) -> None:  # noqa: ANN401
    """Refuse a table whose people are in other clusters than the model noted when it was fitted, if it still knows."""
    then = getattr(proper, "labels_", None)
    if then is not None and (len(then) != len(here) or (then != here).mean() > _TIED):
        fact = f"The model noted the clusters of {len(then)} people, and they are not those of the table's {len(here)}"
        raise SchemaError(fact, SAME_TABLE)


def behind_centroids(centers: Float64, inputs: Inputs, k: int) -> Int64:
    """Return the people of clusters whose centroid fewer than k people, or nobody can tell how many, stand behind."""
    if not inputs.secret.any():
        return np.empty(0, np.int64)
    labels = centroids.nearest(centers, inputs)
    sizes = np.bincount(labels, minlength=len(centers))
    small = (sizes < k) | ~_are_means(centers, labels, sizes, inputs)
    if (small & (sizes == 0)).any():  # whose values it has cannot be told
        return np.arange(inputs.n_people)
    return np.flatnonzero(small[labels])


def _are_means(centers: Float64, labels: Int64, sizes: Int64, inputs: Inputs) -> npt.NDArray[np.bool_]:
    spread = np.maximum(inputs.values.std(axis=0), 1e-12)
    return np.asarray((np.abs(centers - _means(centers, labels, sizes, inputs)) <= _CLOSE * spread).all(axis=1))


def _means(centers: Float64, labels: Int64, sizes: Int64, inputs: Inputs) -> Float64:
    sums = np.zeros_like(centers)
    np.add.at(sums, labels, inputs.values)
    return np.asarray(np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centers))


def mended(centers: Float64, inputs: Inputs, k: int) -> tuple[Float64, list[str]]:
    """Join centroids, and move them to the means of their people, until k people stand behind each and in each span."""
    steps: list[str] = []
    if inputs.n_people < k and inputs.secret.any():
        fact = f"The table has {inputs.n_people} people, fewer than k = {k}: even one centroid tells too much"
        raise InfeasibleError(fact, f"use k = {inputs.n_people} or less", best={"k": inputs.n_people})
    centers, moved = _settled(centers, inputs)
    steps += ["move centroids to the means of their people"] if moved else []
    while True:
        labels = centroids.nearest(centers, inputs)
        sizes = np.bincount(labels, minlength=len(centers))
        span_of, multiple = centroids.find_spans(centers, inputs)
        people = np.bincount(span_of)
        broken = np.flatnonzero(multiple & (people < k))
        small = np.flatnonzero(sizes < k) if inputs.secret.any() else np.empty(0, np.int64)
        if len(centers) == 1 or (len(broken) == 0 and len(small) == 0):
            return centers, steps
        if len(small):
            among = np.array([small[np.argmin(sizes[small])]])
        else:
            somebody = int(np.argmax(span_of == broken[np.argmin(people[broken])]))
            reach = np.any([reading[somebody] for reading in centroids.reachable(centers, inputs)], axis=0)
            among = np.flatnonzero(reach)
        a, b = _nearest_pair(centers, among)
        steps.append(f"join centroids {min(a, b) + 1} and {max(a, b) + 1} of {len(centers)}")
        labels = np.where(labels == b, a, labels)
        weights = np.maximum(sizes[[a, b]], 1e-9)
        centers[a] = np.average(centers[[a, b]], axis=0, weights=weights)
        centers = np.delete(centers, b, axis=0)
        centers, _ = _settled(centers, inputs)


def _nearest_pair(centers: Float64, among: Int64) -> tuple[int, int]:
    """Return the two nearest centroids of a span, or a centroid and the one that is nearest to it."""
    others = among if len(among) > 1 else np.arange(len(centers))
    gaps = ((centers[among][:, None] - centers[others][None]) ** 2).sum(axis=2)
    gaps[among[:, None] == others[None]] = np.inf
    row, column = np.unravel_index(np.argmin(gaps), gaps.shape)
    return int(others[column]), int(among[row])


def _settled(centers: Float64, inputs: Inputs) -> tuple[Float64, bool]:
    """Move centroids to the means of the people who are nearest to them until they stay, and drop those of nobody."""
    moved = False
    for _ in range(300):
        labels = centroids.nearest(centers, inputs)
        sizes = np.bincount(labels, minlength=len(centers))
        if not inputs.secret.any():
            return centers.copy(), moved
        if _are_means(centers, labels, sizes, inputs).all() and (sizes > 0).all():
            return _means(centers, labels, sizes, inputs), moved
        moved = True
        centers = _means(centers, labels, sizes, inputs)[sizes > 0]
    fact = "The centroids do not come to rest at the means of their people"
    raise InfeasibleError(fact, "fit the model again with fewer clusters")
