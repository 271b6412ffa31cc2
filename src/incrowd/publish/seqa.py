"""SeqA: sequential clustering, in which row after row moves to the cluster where it costs least.

Start from a partition of the rows. Pass over them in random order and move each one to the cluster that lowers the
total loss most: the sum over clusters of their size times the loss of their closure. A row that is alone has to move,
and clusters larger than omega k are split at random. When no row moves any more, the nearest of the clusters that
are too small, or not diverse enough, become one, until none is left. Each cluster is released as its closure.

Guarantee: every group of rows with equal cells keeps k and whatever else was asked for. From Mondrian's partition it
never ends with a higher loss than Mondrian's own release; from a random one the passes never end above where they
began. Cost: O(n^2 M / k) per pass, less in later ones: a row looks only at clusters that changed since it last looked.
Ten to thirty passes are common. Use it when groups are to share one cell, exact sensitive values are wanted, and the
loss counts more than time; not for millions of rows, and not when new rows must be recoded: where a row goes depends
on all others.

Where the papers are silent, or we differ: (1) of equally good clusters the one with the lowest number is taken; they
are numbered by their first row in a random order, drawn once per run, and new ones come last. (2) Rows of dissolved and
of split clusters can chase each other for ever: a pass that does not lower the total loss ends the passes, and `passes`
bounds them; the clustering with the lowest loss at the end of a pass, or at the start, is what is merged. The first
pass may fail to lower it as long as there is something to split, and every pass while clusters are so few that some
must be too large: halves that are drawn at random have the closure of the whole until they are small. (3) Goldberger
and Tassa start at random, Last et al. (footnote 1) from single-dimensional Mondrian, which is
``start="single_mondrian"``; the default is the multi-dimensional one. The random start deals rows out to floor(n / k0)
clusters in turn, with k0 = k / 2, rounded up, at least 2. (4) The distance of two clusters is what the total loss rises
by when they become one; the last one that does not keep the constraints joins the nearest of all. (5) A row alone may
stay if k = 1 and nothing else is asked for. (6) When merging takes the loss above that of Mondrian's partition, the
latter is released. (7) Losses are compared as whole numbers of 31 bits, as in NSVDist, so that results do not depend on
the order of adding.

References: Goldberger, Tassa: Efficient anonymizations with enhanced utility, Transactions on Data Privacy 3, 2010.
Last, Tassa, Zhmudyak, Shmueli: Improving accuracy of classification models induced from anonymized datasets, 2014.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"age": [20, 21, 22, 40, 41, 60, 61, 62], "ill": ["a", "b"] * 4})
>>> schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill")
>>> sorted(ic.SeqA(k=2).publish(people, schema, seed=1).frame["age"].unique())
['20-22', '40-41', '60-62']
>>> sorted(ic.Mondrian(k=2).publish(people, schema, seed=1).frame["age"].unique())
['20-21', '22-40', '41-60', '61-62']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.domains import flatten, limits
from incrowd.errors import ParameterError
from incrowd.kernels.boxes import Prices
from incrowd.kernels.domains import close_groups
from incrowd.kernels.groups import count_by_group
from incrowd.kernels.limits import Limits
from incrowd.kernels.seqa import (
    CHANGED,
    CLUSTER,
    FIRST_ROW,
    IS_SMALL,
    LOSS,
    N_ROWS,
    NONE,
    Clusters,
    fill_clusters,
    find_nearest,
    find_small,
    join_last,
    join_nearest,
    move_rows,
)
from incrowd.privacy import Privacy, exact
from incrowd.publish.mondrian import Mondrian
from incrowd.publish.prices import Loss, make_prices, tables_first
from incrowd.publish.publisher import Choice, GroupPublisher, Progress

Start = Literal["mondrian", "single_mondrian", "random", "best"]
Int64 = npt.NDArray[np.int64]

_STARTS = ("mondrian", "single_mondrian", "random")
_SLICE = 20_000_000  # clusters looked at between two looks at progress and Ctrl-C


@dataclass(frozen=True, kw_only=True)
class SeqA(GroupPublisher):
    """Sequential clustering.

    Parameters
    ----------
    k, l, l_kind, c, t, ordered, alpha
        What every group keeps: see `GroupPublisher`.
    loss
        What is kept small: ``"lm"``, ``"entropy"`` or ``"monotone_entropy"``.
    start
        The first partition: ``"mondrian"``, ``"single_mondrian"``, ``"random"``, or ``"best"``: all three are tried,
        in three times the time, and the clustering with the lowest loss is released.
    omega
        Clusters of more than omega k rows are split.
    passes
        Largest number of passes over the rows.
    """

    loss: Loss = "lm"
    start: Start = "mondrian"
    omega: float = 1.5
    passes: int = 50

    name: ClassVar[str] = "seqa"
    paper: ClassVar[str] = "Goldberger and Tassa 2010"
    kind: ClassVar[str] = "local, clusters"
    cost: ClassVar[str] = "n^2 M / k per pass"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, kinds in (("loss", Loss), ("start", Start)):
            if getattr(self, name) not in get_args(kinds):
                fact = f"{name} is {getattr(self, name)!r}"
                raise ParameterError(fact, f"use one of {', '.join(get_args(kinds))}")
        is_number = isinstance(self.omega, int | float | np.integer | np.floating)
        if isinstance(self.omega, bool) or not is_number or not 1 <= self.omega <= 1e9:
            fact = f"omega is {self.omega!r}"
            raise ParameterError(fact, "use a number, at least 1")
        if isinstance(self.passes, bool) or not isinstance(self.passes, int | np.integer) or self.passes < 1:
            fact = f"passes is {self.passes!r}"
            raise ParameterError(fact, "use a whole number, at least 1")

    def n_steps(self, table: Table) -> float:
        """Return about how often the innermost loops run."""
        n_starts = len(_STARTS) if self.start == "best" else 1
        return n_starts * 5 * float(table.codes.size) * (1 + 2 * table.n_rows / self.k)

    def choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells."""
        rows = rng.permutation(table.n_rows)
        space = Space.of(table, rows, self.loss, self.privacy())
        starts = _STARTS if self.start == "best" else (self.start,)
        clusterings = [self._from(start, space, table, rows, rng, progress) for start in starts]
        found = min(clusterings, key=space.loss)
        cell_of = np.empty(table.n_rows, np.int64)
        cell_of[rows] = found
        lo, hi = close_groups(table.codes, cell_of, int(found.max()) + 1, flatten(table.hierarchies))
        return Choice(lo, hi, cell_of)

    def _from(
        self, start: str, space: Space, table: Table, rows: Int64, rng: np.random.Generator, progress: Progress
    ) -> Int64:
        """Return the cluster of each of the rows, with one way to start."""
        first = self._start(start, table, rows, rng, progress)
        found = merge(space, self._improve(space, first, rng, progress), progress)
        return first if start != "random" and space.loss(found) > space.loss(first) else found

    def _start(self, start: str, table: Table, rows: Int64, rng: np.random.Generator, progress: Progress) -> Int64:
        """Return the first cluster of each of the rows (step 1)."""
        if start == "random":
            size = max(2, (self.k + 1) // 2)
            return np.arange(len(rows)) % max(1, len(rows) // size)
        cuts = Mondrian(**self.asked, recoding="single" if start == "single_mondrian" else "multi")
        return number(cuts.choose(table, rng, progress).cell_of[rows])

    def _improve(self, space: Space, start: Int64, rng: np.random.Generator, progress: Progress) -> Int64:
        """Pass over the rows while that lowers the total loss, and split large clusters in between (steps 2 to 4)."""
        n, dissolve = len(start), self.k > 1 or self.privacy().about_sensitive
        largest = int(exact(self.omega) * self.k)
        best, least = start, space.loss(start)
        cluster_of, n_clusters = start.copy(), int(start.max()) + 1
        stays, changed = np.full(n, NONE, np.int64), np.zeros(n_clusters, np.int64)
        for turn in range(self.passes):
            clusters = space.fill(cluster_of, n_clusters)
            clusters.about[:, CHANGED] = changed
            order, clock, n_moved = rng.permutation(n), turn * (n + 1), 0
            step = max(1, _SLICE // n_clusters)
            for begin in range(0, n, step):
                progress("moving rows", turn * n + begin, self.passes * n)
                end = min(n, begin + step)
                n_moved += move_rows(
                    clusters, space.prices, space.codes, cluster_of, stays, order, begin, end, clock, dissolve
                )
            total = total_loss(clusters)
            if total < least:
                best, least = cluster_of.copy(), total
            elif turn > 0 and n_clusters * largest >= n:  # else some cluster must be split, however good it is
                break
            large = np.flatnonzero(clusters.about[:, N_ROWS] > largest)
            if n_moved == 0 and len(large) == 0:
                break
            split(cluster_of, large, n_clusters, rng)
            clusters.about[large, CHANGED] = clock + n
            changed = np.concatenate([clusters.about[:, CHANGED], np.full(len(large), clock + n)])
            kept, cluster_of = np.unique(cluster_of, return_inverse=True)
            changed, n_clusters = changed[kept], len(kept)
        progress("moving rows", self.passes * n, self.passes * n)
        return np.unique(best, return_inverse=True)[1]


class Space(NamedTuple):
    """The rows in the order of the run, what their cells cost, and what clusters must keep.

    Attributes
    ----------
    codes
        Leaf ranks, [rows x quasi]: attributes that cost much between any two rows come first.
    sensitive, n_values
        Sensitive codes and their number, if a constraint is about them; no values otherwise.
    """

    codes: npt.NDArray[np.int32]
    prices: Prices
    sensitive: npt.NDArray[np.int32]
    n_values: int
    limits: Limits

    @classmethod
    def of(cls, table: Table, rows: Int64, loss: Loss, privacy: Privacy) -> Space:
        """Prepare the rows of a table."""
        columns = tables_first(table, loss)
        prices = make_prices(table, columns, loss)
        codes = np.ascontiguousarray(table.codes[rows][:, columns])
        if table.sensitive is None or not privacy.about_sensitive:
            return cls(codes, prices, np.zeros(len(rows), np.int32), 0, limits(privacy, table))
        return cls(codes, prices, table.sensitive[rows], table.n_values, limits(privacy, table))

    def fill(self, cluster_of: Int64, n_clusters: int) -> Clusters:
        """Return the clusters with these rows."""
        n_rows, n_quasi = self.codes.shape
        about = np.zeros((n_clusters, 4), np.int64)
        about[:, FIRST_ROW] = NONE
        clusters = Clusters(
            about,
            np.full((n_clusters, 2 * n_quasi), NONE, np.int32),
            np.zeros((n_clusters, n_quasi), np.int32),
            np.zeros((n_clusters, n_quasi, 2, 4), np.int32),
            np.full((2, n_rows), NONE, np.int32),
        )
        fill_clusters(clusters, self.prices, self.codes, cluster_of)
        return clusters

    def counts(self, cluster_of: Int64, n_clusters: int) -> Int64:
        """Return the sensitive counts of each cluster, if anybody asks for them."""
        if self.n_values == 0:
            return np.zeros((n_clusters, 0), np.int64)
        return count_by_group(cluster_of, self.sensitive, n_clusters, self.n_values)

    def loss(self, cluster_of: Int64) -> int:
        """Return the total loss of a clustering."""
        return total_loss(self.fill(cluster_of, int(cluster_of.max()) + 1))


def total_loss(clusters: Clusters) -> int:
    """Return the sum over clusters of size times loss of the closure."""
    return int(clusters.about[:, N_ROWS] @ clusters.about[:, LOSS])


def number(labels: Int64) -> Int64:
    """Number clusters in the order in which their first rows come."""
    _, first, label_of = np.unique(labels, return_index=True, return_inverse=True)
    place = np.empty(len(first), np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return place[label_of]


def split(cluster_of: Int64, large: Int64, n_clusters: int, rng: np.random.Generator) -> None:
    """Send half of the rows of each large cluster, drawn at random, to a new one (step 3)."""
    by_cluster = np.argsort(cluster_of, kind="stable")
    ends = np.searchsorted(cluster_of[by_cluster], large, side="right")
    begins = np.searchsorted(cluster_of[by_cluster], large)
    for i, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        members = rng.permutation(by_cluster[begin:end])
        cluster_of[members[: len(members) // 2]] = n_clusters + i


def merge(space: Space, cluster_of: Int64, progress: Progress) -> Int64:
    """Join clusters that do not keep the limits (steps 5 and 6)."""
    n_clusters = int(cluster_of.max()) + 1
    clusters, counts = space.fill(cluster_of, n_clusters), space.counts(cluster_of, n_clusters)
    joined = np.full(n_clusters, NONE, np.int64)
    small = find_small(clusters, counts, space.limits)
    n_small = len(small)
    step = max(1, _SLICE // max(1, n_small))
    for begin in range(0, n_small, step):
        progress("comparing clusters", begin, n_small)
        find_nearest(clusters, space.prices, small, begin, min(n_small, begin + step))
    n_left = n_small
    while n_left > 1:
        progress("merging", n_small - n_left, n_small)
        n_left = join_nearest(clusters, space.prices, small, counts, joined, space.limits, max(1, step // 10))
    done = n_left == 0
    while not done:
        last = int(small[small[:, IS_SMALL] == 1, CLUSTER][0])
        done = join_last(clusters, space.prices, counts, joined, space.limits, last, max(1, _SLICE // n_clusters))
        progress("merging", n_small - 1, n_small)
    progress("merging", n_small, n_small)
    root = np.arange(n_clusters)
    for c in range(n_clusters):
        while joined[root[c]] != NONE:
            root[c] = joined[root[c]]
    return np.unique(root[cluster_of], return_inverse=True)[1]
