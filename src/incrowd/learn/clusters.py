"""Clusters that may be given away: their centroids link nobody's private values to fewer than k people.

Build the minimum spanning tree of the points: one cluster. Take its edges from the longest to the shortest; deleting
one cuts a cluster in two. Each span that held the cluster becomes up to three: the people who may be in one part only,
in the other only, or in either. Keep the cut if every span that tells anything still holds k people, or none.

Guarantee: for each person of the training table, the set of clusters that they may be in, when their private
coordinates vary over the range of the table, has one element or is shared by at least k people (Claim 3); and every
centroid is the mean of at least k people. Centroids and the number of people in each cluster may be published. Cost:
O(n^2 d) for the tree, O(n c d) per edge that is tried; with more than one private coordinate, linear programs on top.
Use it to hand out the groups that a population falls into.

Where the paper is silent, or we differ: (1) the region of a cluster is the set of points to which its centroid is
nearest, as in the paper's section 4.2; `labels_` are regions, so a point may count to another cluster than its branch
of the tree, whose mean the centroid is; (2) a cut moves centroids and so all regions, and we check all spans anew,
not only those of the cluster that was cut; a span of one class may hold fewer than k people, as Claim 3 has it; (3)
spans tell about regions, not about centroids: that of a branch with one person would be that person, so branches
below k are refused, which the paper does not ask for (``min_people=1`` is its form); (4) of edges of equal length the
one that joined the tree first is tried first, and equal points are never parted; (5) an edge that was refused is
tried again after other cuts were made, until none is allowed; (6) what private values may be is read in two ways, see
`regions`, and both must hold; (7) coordinates count as they are: scale them first; (8) at most `max_tries` edges are
looked at; (9) a private column that public ones tell is refused, see `told`.
A file of the fitted object leaves `labels_` and `spans_` out: they are about single people, by row.

Reference: Friedman, Wolff, Schuster: Providing k-anonymity in data mining, VLDB Journal 2008, section 5.2.

>>> import incrowd as ic, numpy as np
>>> points = np.array([[20, 1.0], [21, 2.0], [22, 1.0], [50, 9.0], [51, 2.0], [52, 3.0], [51, 1.0]])
>>> clusters = ic.KAnonymousClusters(k=3, public=[0]).fit(points)
>>> clusters.labels_.tolist(), clusters.spans_.people.tolist()
([0, 0, 0, 1, 1, 1, 1], [4, 3])
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from incrowd import io
from incrowd.errors import InfeasibleError, ParameterError
from incrowd.kernels.jit import interpreted
from incrowd.kernels.mst import grow
from incrowd.learn.columns import Column, numbers_of
from incrowd.learn.regions import combinations, readings
from incrowd.learn.spans import Spans
from incrowd.learn.told import refuse_told

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]

_FEW_STEPS = 150_000
_POINTS_PER_SLICE = 256  # between two chances for Ctrl-C


class KAnonymousClusters(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Centroids whose spans each hold at least k people.

    Parameters
    ----------
    k
        Least number of people that private values may be linked to.
    n_clusters
        Stop at this many; ``None`` goes on until no cut is allowed.
    public
        Columns that an attacker may know, by name or number; ``"all"`` by default.
    min_people
        Least number of people that a centroid is the mean of; ``None`` is k.
    max_tries
        Edges to look at, from the longest.

    Attributes
    ----------
    cluster_centers_
        The centroids.
    labels_
        Cluster of each person: the nearest centroid.
    spans_
        The people of the training table by span.
    """

    def __init__(
        self,
        k: int = 5,
        *,
        n_clusters: int | None = None,
        public: Literal["all"] | Iterable[Column] = "all",
        min_people: int | None = None,
        max_tries: int = 1000,
    ) -> None:
        self.k = k
        self.n_clusters = n_clusters
        self.public = public
        self.min_people = min_people
        self.max_tries = max_tries

    def fit(self, X: Any, y: Any = None) -> KAnonymousClusters:  # noqa: ANN401
        """Cut the spanning tree.

        Parameters
        ----------
        X
            An array or frame of numbers: one row per person.
        y
            Not used.
        """
        del y
        self._check_parameters()
        points = _numbers(self, X, reset=True)
        names = [str(name) for name in getattr(self, "feature_names_in_", range(points.shape[1]))]
        self.public_ = np.zeros(points.shape[1], np.bool_)
        everything = isinstance(self.public, str)
        self.public_[list(range(len(names))) if everything else numbers_of(self.public, names, "public")] = True
        if len(points) < self._least or (len(points) < self.k and not self.public_.all()):
            fact = f"k is {self.k}, and with n_samples = {len(points)} there are not so many people"
            raise InfeasibleError(fact, f"use k = {len(points)} or less, or more rows", best={"k": len(points)})
        refuse_told([pl.Series(names[m], points[:, m]) for m in range(len(names))], self.public_)
        people = _People(points, self.public_)
        self.cluster_centers_ = self._cut(points, people)
        self.labels_ = _nearest(points, self.cluster_centers_)
        self._spans, self._span_of = people.spans(self.cluster_centers_)
        return self

    def predict(self, X: Any) -> Int64:  # noqa: ANN401
        """Return the nearest centroid of each row, of tied ones the first."""
        check_is_fitted(self)
        return _nearest(_numbers(self, X, reset=False), self.cluster_centers_)

    @property
    def spans_(self) -> Spans:
        """The people of the training table by span; the classes are clusters."""
        check_is_fitted(self)
        if not hasattr(self, "_span_of"):
            fact = "Spans are about the training table, and a model that was read from a file does not hold them"
            raise AttributeError(fact)
        return Spans(self._spans, self._span_of)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("labels_", "_span_of", "_spans")}

    @property
    def _least(self) -> int:
        return self.k if self.min_people is None else self.min_people

    def _check_parameters(self) -> None:
        given = {"k": self.k, "n_clusters": self.n_clusters, "min_people": self.min_people, "max_tries": self.max_tries}
        for name, value in given.items():
            if value is None and name in ("n_clusters", "min_people"):
                continue
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                fact = f"{name} is {value!r}"
                raise ParameterError(fact, "use a whole number from 1")
        if isinstance(self.public, str) and self.public != "all":
            fact = f"public is {self.public!r}"
            raise ParameterError(fact, f"use 'all' or a list: [{self.public!r}]")

    def _cut(self, points: Float64, people: _People) -> Float64:
        """Delete edges from the longest while that is allowed; return the centroids."""
        forest = _Forest(points)
        waiting, cut = forest.edges[: self.max_tries].tolist(), True
        while cut and not self._is_enough(forest):
            cut = False
            for edge in waiting.copy():
                if forest.least(edge) >= self._least and people.hold(forest.without(edge), self.k):
                    forest.delete(edge)
                    waiting.remove(edge)
                    cut = True
                    if self._is_enough(forest):
                        break
        return forest.centers

    def _is_enough(self, forest: _Forest) -> bool:
        return self.n_clusters is not None and len(forest.centers) >= self.n_clusters


class _People:
    """What an attacker knows of people, and what their private values may be."""

    def __init__(self, points: Float64, public: npt.NDArray[np.bool_]) -> None:
        self._public = public
        self._known, kind_of = np.unique(points[:, public], axis=0, return_inverse=True)
        self._kind_of = kind_of.ravel()
        private = points[:, ~public]
        self._low, self._high = private.min(axis=0), private.max(axis=0)
        self._values = combinations(private)
        self._n_of_kind = np.bincount(self._kind_of)

    def _readings(self, centers: Float64) -> list[npt.NDArray[np.bool_]]:
        return readings(self._known, self._low, self._high, self._values, centers, self._public)

    def hold(self, centers: Float64, k: int) -> bool:
        """Tell whether every span of these centroids has one class or k people."""
        if self._public.all():
            return True
        found = self._readings(centers)
        several = np.any([reading.sum(axis=1) > 1 for reading in found], axis=0)
        _, one_of, span_of = np.unique(np.hstack(found), axis=0, return_index=True, return_inverse=True)
        people = np.bincount(span_of.ravel(), weights=self._n_of_kind)
        return bool((~several[one_of] | (people >= k)).all())

    def spans(self, centers: Float64) -> tuple[tuple[frozenset[int], ...], Int64]:
        """Return the clusters of each span, and the span of each person."""
        found = self._readings(centers)
        _, one_of, span_of = np.unique(np.hstack(found), axis=0, return_index=True, return_inverse=True)
        either = np.any(found, axis=0)
        classes = tuple(frozenset(np.flatnonzero(either[one]).tolist()) for one in one_of)
        return classes, span_of.ravel()[self._kind_of]


class _Forest:
    """Branches of the minimum spanning tree and their centroids, while edges are deleted.

    An edge goes by the number of its lower point. `edges` has them from the longest.
    """

    def __init__(self, points: Float64) -> None:
        self._points = points
        self._branch = np.zeros(len(points), np.int64)
        self.centers: Float64 = points.mean(axis=0, keepdims=True)
        parent, order = _tree(points)
        lengths = ((points[order[1:]] - points[parent[order[1:]]]) ** 2).sum(axis=1)
        self.edges = order[1:][np.argsort(-lengths, kind="stable")][: int((lengths > 0).sum())]
        below: list[list[int]] = [[] for _ in points]
        for i in order[1:]:
            below[parent[i]].append(int(i))
        # Points by depth first search: everything below an edge is one run.
        self._place, self._end = np.empty(len(points), np.int64), np.empty(len(points), np.int64)
        pending, n_seen = [(0, False)], 0
        while pending:
            point, left = pending.pop()
            if left:
                self._end[point] = n_seen
                continue
            self._place[point] = n_seen
            n_seen += 1
            pending.append((point, True))
            pending += [(child, False) for child in reversed(below[point])]

    def _part(self, edge: int) -> npt.NDArray[np.bool_]:
        """Return which points of the branch an edge cuts off."""
        under = (self._place >= self._place[edge]) & (self._place < self._end[edge])
        return np.asarray(under & (self._branch == self._branch[edge]))

    def least(self, edge: int) -> int:
        """Return the number of points in the smaller part that deleting an edge makes."""
        n_part = int(self._part(edge).sum())
        return min(n_part, int((self._branch == self._branch[edge]).sum()) - n_part)

    def without(self, edge: int) -> Float64:
        """Return the centroids after deleting an edge."""
        part, own = self._part(edge), self._branch == self._branch[edge]
        centers = np.vstack([self.centers, self._points[part].mean(axis=0)])
        centers[self._branch[edge]] = self._points[own & ~part].mean(axis=0)
        return centers

    def delete(self, edge: int) -> None:
        """Delete an edge: its branch becomes two."""
        self.centers, part = self.without(edge), self._part(edge)
        self._branch[part] = len(self.centers) - 1


def _tree(points: Float64) -> tuple[Int64, Int64]:
    """Return the parent of each point in the minimum spanning tree, and the order in which points joined it."""
    n = len(points)
    nearest, parent, order = np.full(n, np.inf), np.full(n, -1, np.int64), np.zeros(n, np.int64)
    nearest[0] = -1.0
    with interpreted(n * points.size < _FEW_STEPS):
        for n_done in range(1, n, _POINTS_PER_SLICE):
            grow(points, nearest, parent, order, n_done, _POINTS_PER_SLICE)
    return parent, order


def _nearest(points: Float64, centers: Float64) -> Int64:
    best, label = np.full(len(points), np.inf), np.zeros(len(points), np.int64)
    for number, center in enumerate(centers):
        distance = ((points - center) ** 2).sum(axis=1)
        nearer = distance < best
        best[nearer], label[nearer] = distance[nearer], number
    return label


def _numbers(estimator: BaseEstimator, X: Any, *, reset: bool) -> Float64:  # noqa: ANN401
    """Return the coordinates, after scikit-learn's checks."""
    if io.kind_of(X) == "pyarrow":
        X = io.to_polars(X)
    return np.asarray(validate_data(estimator, X, reset=reset, dtype=np.float64), np.float64)
