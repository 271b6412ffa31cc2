"""TightGroups: groups of near rows with the smallest loss of detail.

Rows are put in an order in which neighbours are alike: that of the leaves of cuts by loss (see `Mondrian`), which go on
below k. Dynamic programming cuts this order into groups of k to 2k - 1 rows with the least total loss: the sum over
groups of their size times the loss of their closure. Then groups are improved in sweeps. Each one is joined with each
of the groups that grow least with it, and with two of them; the rows are cut anew, again and again, by the better of
*cuts*, as above, and *poles*: two rows far apart, all rows in the order of being nearer to one than to the other, and
the best place in that order. The best of these unions is kept if it loses less than its groups did.

Guarantee: every group of rows with equal cells keeps k and whatever else was asked for; each cut was allowed by all of
it. The loss is never above that of ``Mondrian(cut="loss")``. Nothing is random, and threads change nothing.
Cost: O(n M k) for the order's groups, and about O(n M^2) per sweep, plus the search for near groups.
Use it when groups are to share one cell, exact sensitive values are wanted, and detail counts: counts, averages, tables
by age or region. On Adult with 8 attributes and k = 50, LM is 0.148 after Mondrian's 0.426. Not when a classifier
is to be trained: it learns hardly more from it than from Mondrian (a tree is right for 0.813 after 0.809); see
`BestCuts`. Not when new rows must be recoded: boxes overlap and equal rows may be parted, so where a row goes depends
on all others.

Where we are on our own: this is no published algorithm. (1) Where l, t or alpha allow no group of fewer than 2k rows,
the order's groups may be larger, up to 8k; if no grouping of the order keeps the limits, or Mondrian's cuts by loss are
better, the sweeps start from those. (2) Groups without loss are not joined with others, only others with them; unions
of more than 16k rows are left alone. (3) Several groups look for a better union at the same time; where two want the
same group the first one gets it, and the other looks again. (4) The numbers of near groups and of sweeps were chosen on
Adult, and more of either gains little. (5) Losses are compared as whole numbers, as in SeqA.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"age": [20, 21, 22, 40, 41, 60, 61, 62], "ill": ["a", "b"] * 4})
>>> schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill")
>>> sorted(ic.TightGroups(k=2).publish(people, schema).frame["age"].unique())
['20-22', '40-41', '60-62']
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.errors import ParameterError
from incrowd.kernels.boxes import NONE, Prices
from incrowd.kernels.domains import close_groups
from incrowd.kernels.limits import SIZE, Limits
from incrowd.kernels.loss_cuts import WORST, Room
from incrowd.kernels.partition import NUMBER, SENSITIVE, WEIGHT
from incrowd.kernels.tight_groups import (
    GROUP,
    MOST_PARTS,
    N_NEAR,
    N_ROWS,
    Bench,
    Groups,
    accept,
    carry_out,
    fill_groups,
    label_rows,
    plan,
    propose,
    refresh,
    total_loss,
)
from incrowd.privacy import Privacy
from incrowd.publish.group_cuts import cut_groups
from incrowd.publish.loss_cuts import LossCuts, make_room
from incrowd.publish.publisher import Choice, GroupPublisher, Progress
from incrowd.runs import workers

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_SLICE = 20_000_000  # rows visited between two looks at progress and Ctrl-C
_LONGEST = 8  # times k: groups of the order where a limit allows no smaller one
_LARGEST = 16  # times k: unions that are cut anew
_BATCHES = 60  # of groups that look for a better union at the same time: few of them want the same one
_MOST_ASKED = 256  # groups in a batch


@dataclass(frozen=True, kw_only=True)
class TightGroups(GroupPublisher):
    """Groups of near rows.

    Parameters
    ----------
    k, l, l_kind, c, t, ordered, alpha
        What every group keeps: see `GroupPublisher`.
    sweeps
        How often all groups are joined with near ones and cut anew.
    """

    sweeps: int = 4

    name: ClassVar[str] = "tight_groups"
    paper: ClassVar[str] = "ours"
    kind: ClassVar[str] = "local, clusters"
    cost: ClassVar[str] = "n M (k + M sweeps)"

    def __post_init__(self) -> None:
        sweeps = self.sweeps
        if isinstance(sweeps, bool) or not isinstance(sweeps, int | np.integer) or sweeps < 0:
            fact = f"sweeps is {sweeps!r}"
            raise ParameterError(fact, "use a whole number, at least 0")
        super().__post_init__()

    def n_steps(self, table: Table) -> float:
        """Return about how often the innermost loops run."""
        return table.codes.size * float(2 * self.k + 100 * table.n_quasi * self.sweeps)

    def choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells."""
        del rng
        cuts = LossCuts.of(table, self.privacy(), self.k)
        by_cuts = cut_groups(cuts.cutting, cuts.cut, progress).cell_of
        order = order_rows(table, max(2, self.k // 8))
        space, groups = _start(table, cuts, order, by_cuts, progress)
        if self.sweeps > 0:
            sweep_groups(space, groups, int(self.sweeps), progress)
        labels, n_groups = label_rows(groups)
        cell_of = np.empty(table.n_rows, np.int64)
        cell_of[space.order] = labels
        lo, hi = close_groups(table.codes, cell_of, n_groups, cuts.cutting.domains)
        return Choice(lo, hi, cell_of)


def order_rows(table: Table, size: int) -> Int64:
    """Return the rows in the order of the leaves of cuts by loss, each of at least so many rows."""
    cuts = LossCuts.of(table, Privacy.of(size), size)
    work, partition = cuts.cutting.start(cuts.cutting.rows)
    while partition.state[0] > 0:
        cuts.cut(work, partition)
    place = np.empty(len(work.rows), np.int64)
    place[work.rows[:, NUMBER]] = np.arange(len(work.rows))
    return np.argsort(place[cuts.cutting.row_of], kind="stable")


class Space(NamedTuple):
    """The rows in some order, what their cells cost, and what groups must keep.

    Attributes
    ----------
    rows
        As the kernels of cuts take them, [rows x quasi + 3].
    n_values
        Number of sensitive values, if a constraint is about them.
    """

    table: Table
    order: Int64
    rows: Int32
    prices: Prices
    bounds: Limits
    n_values: int

    @classmethod
    def of(cls, table: Table, cuts: LossCuts, order: Int64) -> Space:
        """Prepare the rows of a table."""
        n_values = cuts.room.counts.shape[1]
        rows = np.zeros((table.n_rows, table.n_quasi + 3), np.int32)
        rows[:, : table.n_quasi] = table.codes[order]
        if n_values and table.sensitive is not None:
            rows[:, SENSITIVE] = table.sensitive[order]
        rows[:, WEIGHT] = 1
        return cls(table, order, rows, cuts.prices, cuts.bounds, n_values)

    @property
    def least(self) -> int:
        """Return the least number of rows of a group."""
        return int(self.bounds.whole[0, SIZE])

    def plan(self, progress: Progress) -> Int64 | None:
        """Return the ends of the best groups of neighbours; ``None`` if there are none that keep the limits."""
        n = len(self.rows)
        longest = min(n, 2 * self.least - 1 if self.n_values == 0 else _LONGEST * self.least)
        least, last = np.zeros(n + 1, np.int64), np.full(n + 1, NONE, np.int64)
        counts, step = np.zeros(self.n_values, np.int64), max(1, _SLICE // longest)
        for begin in range(0, n, step):
            progress("grouping", begin, n)
            end = min(n, begin + step)
            plan(self.rows, begin, end, self.prices, self.bounds, longest, counts, least, last)
        progress("grouping", n, n)
        if least[n] == WORST:
            return None
        ends = [n]
        while last[ends[-1]] > 0:
            ends.append(int(last[ends[-1]]))
        return np.array(ends[::-1])

    def fill(self, ends: Int64) -> Groups:
        """Return the groups of neighbours with these ends, and room for more."""
        n, n_quasi = self.table.codes.shape
        most = n // self.least + MOST_PARTS * _MOST_ASKED  # what a batch leaves empty is not used before its end
        half = 1 << (most - 1).bit_length()
        groups = Groups(
            np.zeros((most, 5), np.int64),
            np.full((most, N_NEAR), NONE, np.int64),
            np.zeros((most, 2 * n_quasi), np.int32),
            np.full(n, NONE, np.int32),
            np.zeros((2 * half, 2 * n_quasi + 1), np.int32),
        )
        fill_groups(groups, self.rows, self.prices, ends)
        return groups

    def bench(self, largest: int) -> tuple[Room, Bench]:
        """Return room for one thread to cut so many rows anew."""
        n_quasi, depth = self.table.n_quasi, 2 * len(self.rows).bit_length() + 2 * MOST_PARTS
        rows = np.empty((2, largest, n_quasi + 3), np.int32)
        return make_room(self.table, largest, self.n_values), Bench(
            rows[0],
            rows[1],
            np.empty(2 * depth, np.int64),
            np.empty(MOST_PARTS, np.int64),
            np.empty(largest + 1, np.int64),
            np.empty((2, 2 * n_quasi), np.int32),
            np.empty((3, max(N_NEAR, n_quasi)), np.int64),
        )


def _start(table: Table, cuts: LossCuts, order: Int64, by_cuts: Int64, progress: Progress) -> tuple[Space, Groups]:
    """Return the better ones of the groups of neighbours in the order, and the groups of cuts by loss."""
    regrouped = order[np.argsort(by_cuts[order], kind="stable")]
    space = Space.of(table, cuts, regrouped)
    groups = space.fill(np.cumsum(np.bincount(by_cuts)))
    in_order = Space.of(table, cuts, order)
    ends = in_order.plan(progress)
    if ends is not None:
        neighbours = in_order.fill(ends)
        if total_loss(neighbours) <= total_loss(groups):
            return in_order, neighbours
    return space, groups


def sweep_groups(space: Space, groups: Groups, n_sweeps: int, progress: Progress) -> None:
    """Join groups with near ones and cut them anew, as long as that loses less, so many times over all groups."""
    largest, n_threads = min(len(space.rows), _LARGEST * space.least), workers()
    benches = [space.bench(largest) for _ in range(n_threads)]
    arguments = groups, space.rows, space.prices, space.bounds
    clock = 1
    with ThreadPoolExecutor(n_threads) as pool:

        def in_threads(kernel: Callable[..., None], n: int, *rest: object) -> None:
            bounds = [n * i // n_threads for i in range(n_threads + 1)]
            jobs = [
                pool.submit(copy_context().run, partial(kernel, *arguments, *bench, start, stop, *rest))
                for bench, start, stop in zip(benches, bounds[:-1], bounds[1:], strict=True)
                if start < stop
            ]
            for job in jobs:
                job.result()

        for sweep in range(n_sweeps):
            queue, free, batch = _deal_out(groups)
            again, at = queue[:0], 0
            while at < len(queue) or len(again) > 0:
                progress("regrouping", sweep * len(queue) + at, n_sweeps * len(queue))
                n_new = max(0, batch - len(again))
                asked = np.concatenate([again, queue[at : at + n_new]])
                at = min(len(queue), at + n_new)
                proposals = np.full((len(asked), GROUP + MOST_PARTS), NONE, np.int64)
                in_threads(propose, len(asked), asked, proposals, clock, largest)
                again = asked[: accept(groups, asked, proposals, free, clock)]
                in_threads(carry_out, len(asked), proposals)
                refresh(groups, proposals, free)
                clock += 1
    progress("regrouping", 1, 1)


def _deal_out(groups: Groups) -> tuple[Int64, Int64, int]:
    """Return the groups, those of a batch far from each other; free numbers behind how many they are; batch size."""
    filled, empty = (np.flatnonzero((groups.about[:, N_ROWS] > 0) == is_filled) for is_filled in (True, False))
    free = np.zeros(len(groups.about) + 1, np.int64)
    free[0], free[1 : len(empty) + 1] = len(empty), empty[::-1]
    batch = min(max(1, len(filled) // _BATCHES), _MOST_ASKED)
    n_batches = -(-len(filled) // batch)
    return filled[np.argsort(np.arange(len(filled)) % n_batches, kind="stable")], free, batch
