"""SPEA2 over partitions: everything between the most accurate and the most anonymous (ParetoDMPD).

Nobody can say in advance how much accuracy an anonymity level costs. This search looks for all partitions that no
other one *dominates*: is at least as good in both objectives and better in one. Each generation is judged together with
an archive of the best so far, step by step as in the report:

1. strength S(i): how many of them i dominates; raw fitness R(i): the sum of the strengths of those that dominate i;
2. density D(i) = 1 / (distance to the k-th nearest + 2), with k the root of their number, rounded down;
   fitness F = R + D, and below 1 is nobody but who is not dominated;
3. environmental selection: the next archive are those with F < 1; if they are too few the best of the others fill it,
   if they are too many the one whose nearest neighbour is nearest is taken out (of tied ones the one whose second
   nearest is nearer, and so on) until the rest fits;
4. mating: parents are drawn from the archive, the chance falls linearly with the rank by F. Crossover and mutation are
   those of `feature_search`.

Stops, goes on, reports and repeats for a seed as `FeatureSearch` does. Cost: that of the objectives, at most
(generations + 1) x population times, and O(size^2) per generation, size = archive + population; O(size^3) at worst
where the archive overflows.

Where the papers are silent, or we differ: (1) rank-weighted mating in place of binary tournaments is Matatov et al.'s;
(2) of partitions with equal objectives only the first found is kept, as theirs; (3) distances are between points
whose accuracy and logarithm of the level are each divided by its range among those that are judged: a level of 20 is as
far from 10 as 2000 from 1000; (4) the archive is as large as the population if nothing else is said; (5) of equal
fitness the one found first is better, and of equal distances the one found last is taken out; (6) `frontier` looks at
everything that was ever evaluated, so that nothing is lost when the archive overflows; `archive` is SPEA2's; (7) where
Matatov et al. take everything out of the archive that is dominated, it is filled up as in the report.

References
----------
E. Zitzler, M. Laumanns, L. Thiele: SPEA2: Improving the strength Pareto evolutionary algorithm. TIK report 103, ETH
Zurich 2001. Matatov, Rokach, Maimon: Privacy-preserving data mining: A feature set partitioning approach, Information
Sciences 2010, section 4.4.

>>> accuracy, level = {0: 0.1, 1: 0.2}, {0: 10, 1: 100}
>>> def objectives(parts):
...     features = [feature for part in parts for feature in part]
...     return 0.5 + sum(accuracy[f] for f in features), 1000 / (1 + sum(level[f] for f in features))
>>> search = ParetoSearch(2, objectives, generations=5, population=6)
>>> [sum(parts, ()) for parts in search.run()]
[(0, 1), (1,), (0,), ()]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
import numpy.typing as npt

from incrowd.errors import ParameterError
from incrowd.publish.decomposition.feature_search import Partition, PartitionSearch, Progress, require_whole
from incrowd.publish.decomposition.frontier import non_dominated

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]
Point = tuple[float, float]
"""Accuracy and level, both to be large."""


@dataclass(eq=False)
class ParetoSearch(PartitionSearch[Point]):
    """A search for a frontier that can be stopped, asked for the frontier so far, and continued.

    Parameters
    ----------
    n_features, generations, population, crossover, mutation, seed
        See `PartitionSearch`.
    judge
        Returns accuracy and level of a partition: both finite and to be large, the level above 0.
    archive_size
        How many partitions are kept; as many as `population` if it is ``None``.

    Attributes
    ----------
    archive
        SPEA2's archive, the fittest first.
    """

    _: KW_ONLY
    archive_size: int | None = None
    archive: list[Partition] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.archive_size is not None:
            require_whole("archive_size", self.archive_size, 2)

    def run(self, progress: Progress | None = None, stop: Callable[[], bool] | None = None) -> list[Partition]:
        """Search to the last generation, and return the frontier; `progress` and `stop` as in `FeatureSearch`."""
        self._search(progress, stop)
        return self.frontier()

    def frontier(self) -> list[Partition]:
        """Return what nothing found so far dominates, the most accurate first; of equal ones the one found first."""
        found = list(self.scores)
        points = _array([self.scores[parts] for parts in found])
        best = [found[i] for i in np.flatnonzero(non_dominated(points))]
        return sorted(best, key=lambda parts: -self.scores[parts][0])

    def _score(self, parts: Partition) -> Point:
        accuracy, level = map(float, self.judge(parts))
        if not (math.isfinite(accuracy) and math.isfinite(level) and level > 0):
            fact = "The objectives of a partition are not an accuracy and a level above 0"
            raise ParameterError(fact, "return two numbers; where a level has no limit, the number of rows")
        return accuracy, level

    def _parents(self, rng: np.random.Generator) -> list[Partition]:
        return self._drawn(self.archive, rng)

    def _update(self, new: Sequence[Partition]) -> None:
        both = {*self.archive, *new}
        judged: dict[Point, Partition] = {}
        for parts, point in self.scores.items():  # in order of finding
            if parts in both:
                judged.setdefault(point, parts)
        points = _array(list(judged))
        kept = select(points, self.archive_size or self.population)
        members = list(judged.values())
        self.archive = [members[i] for i in kept]


def select(points: Float64, size: int) -> Int64:
    """Return the numbers of the points that make the next archive, the fittest first (environmental selection).

    Parameters
    ----------
    points
        Accuracy and level, [points x 2], no two of them equal.
    size
        How many the archive holds.
    """
    distances = distances_between(points)
    fitness = fitness_of(points, distances)
    order = np.argsort(fitness, kind="stable")
    best = np.flatnonzero(fitness < 1)
    if len(best) <= size:
        return np.asarray(order[:size], np.int64)
    kept = np.zeros(len(points), np.bool_)
    kept[best[truncate(distances[np.ix_(best, best)], size)]] = True
    return np.asarray(order[kept[order]], np.int64)


def fitness_of(points: Float64, distances: Float64) -> Float64:
    """Return F = R + D of each point: small is good, and below 1 are those that no other one dominates."""
    at_least = (points[:, np.newaxis] >= points[np.newaxis]).all(axis=2)
    dominates = at_least & ~at_least.T
    strength = dominates.sum(axis=1)
    raw = strength @ dominates
    if len(points) == 1:
        return np.zeros(1)
    nearest = np.sort(distances, axis=1)  # the point itself comes last
    k = min(math.isqrt(len(points)), len(points) - 1)
    return np.asarray(raw + 1 / (nearest[:, k - 1] + 2), np.float64)


def distances_between(points: Float64) -> Float64:
    """Return the distances of accuracies and logarithms of levels, each by its range; infinite to the point itself."""
    places = np.column_stack([points[:, 0], np.log(points[:, 1])])
    extent = places.max(axis=0) - places.min(axis=0)
    places /= np.where(extent > 0, extent, 1)
    across, up = (places[:, np.newaxis, axis] - places[np.newaxis, :, axis] for axis in (0, 1))
    distances = np.sqrt(across * across + up * up)
    np.fill_diagonal(distances, np.inf)
    return np.asarray(distances, np.float64)


def truncate(distances: Float64, size: int) -> Int64:
    """Take out the most crowded point, one by one, until `size` are left; return the numbers of these."""
    distances = distances.copy()
    left = np.ones(len(distances), np.bool_)
    for _ in range(len(distances) - size):
        nearest = np.where(left, distances.min(axis=1), np.inf)
        tied = np.flatnonzero(left & (nearest == nearest.min()))
        sorted_distances = np.sort(distances[tied], axis=1)
        # Keys from the least to the most important: the first distance decides first, the number of the point last.
        crowded = tied[np.lexsort([-tied, *sorted_distances.T[::-1]])[0]]
        left[crowded] = False
        distances[crowded], distances[:, crowded] = np.inf, np.inf
    return np.flatnonzero(left)


def _array(points: Sequence[Point]) -> Float64:
    return np.array(points, np.float64).reshape(-1, 2)
