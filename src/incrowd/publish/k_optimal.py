"""KOptimal: the best single-dimensional generalization, with suppression, found by searching sets of cut points.

A generalization of ordered domains is a set of cut points, one of a taxonomy a set of nodes that are replaced by their
children; see `cut_sets`. Sets are enumerated as a tree: a node is a head (a set) and a tail (what may be added to it
below), and a child takes an item of the tail into the head and keeps what comes after it. Groups that do not keep the
constraints are suppressed; of all sets the one of least cost is wanted, DM or CM as in the paper. A node is passed over
if nothing below can cost less than the best set so far: a row that is suppressed in the head stays suppressed, and the
others cost at least what they do when everything in the tail is cut (`CutSets.floors`). An item leaves the tail if no
set with it can cost less, by the same bound, and if it is *useless*: if it parts each group into parts that are too
small and at most one that is not, leaving it out never costs more. What is left is put into a new order in each node.

Anytime: before the tree, sets are improved by single steps (add, leave out, exchange), the best of several starts; and
open nodes are taken by their bound, the lowest first. So the search may stop at any time, and the lowest bound of an
open node says how far from the best of all the set that was found can be at most: `levels` of the release has `cost`,
`cost_at_least`, their `gap` in percent, and `proved_optimal`.

Guarantee: every group of rows with equal cells keeps k and whatever else was asked for, the group of ``*`` rows too.
The optimum is that of the paper's cost; of single-dimensional recodings with at most `points` cut points per ordered
column. Cost: a node costs n times the items of its tail; their number is exponential in the items.
Use it to know how good a single-dimensional recoding can be, or as the rival that papers name. Not on wide tables in a
hurry: `TDS` and `Mondrian` with ``recoding="single"`` take a fraction of the time.

Where we are on our own: (1) The paper fixes an order of a name's values and cuts anywhere; a taxonomy here is recoded
by its nodes. Give names as `Intervals` over a list to cut them anywhere. (2) In DM the paper's argument for useless
items needs groups of less than about half the table; that is looked at. (3) The tail is ordered by how many groups an
item parts, most first. (4) Lowest bound first instead of depth first: the gap is then as small as can be. (5) The
starts by single steps, without which good sets are found late. (6) With l, t or alpha the bounds hold, but items are
useless only if every part is too small. (7) Fewer than k suppressed rows are a group smaller than k themselves: the
smallest groups join them, and the release then costs more than `cost`.

Reference: Bayardo, Agrawal: Data privacy through optimal k-anonymization, ICDE 2005.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"age": [21, 22, 30, 31, 47, 48, 55, 56], "sex": list("ffmmfmmf")})
>>> schema = ic.Schema(quasi={"age": ic.Intervals(), "sex": None})
>>> release = ic.KOptimal(k=2).publish(people, schema, seed=1)
>>> sorted(release.frame.unique().rows()), release.levels["proved_optimal"]
([('21-31', 'f'), ('21-31', 'm'), ('47-56', 'f'), ('47-56', 'm')], 1)
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field
from typing import ClassVar, get_args

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.errors import ParameterError
from incrowd.publish.cut_sets import CutSets, GroupLoss, list_items
from incrowd.publish.cut_steps import Looks, Steps
from incrowd.publish.publisher import Choice, GroupPublisher, Progress

Bools = npt.NDArray[np.bool_]
Int64 = npt.NDArray[np.int64]

_OF_STARTS = 0.5  # share of the looks that single steps may take


@dataclass(frozen=True, kw_only=True)
class KOptimal(GroupPublisher):
    """The best set of cut points, with suppression.

    Parameters
    ----------
    k, l, l_kind, c, t, ordered, alpha
        What every group keeps: see `GroupPublisher`.
    loss
        ``"dm"`` (discernibility) or ``"cm"`` (rows outside the majority class of their group).
    points
        Most cut points of an ordered column: of more values, quantiles of the rows.
    looks
        Stop after so many looks at a set with all that could be added to it; the result is the same each time.
    seconds
        Stop after so long at the latest.
    """

    loss: GroupLoss = "dm"
    points: int = 100
    looks: int = 2000
    seconds: float | None = None

    name: ClassVar[str] = "k_optimal"
    paper: ClassVar[str] = "Bayardo and Agrawal 2005"
    kind: ClassVar[str] = "single-dimensional, with suppression"
    cost: ClassVar[str] = "looks n items"
    recodes: ClassVar[bool] = True
    needs_hierarchies: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.loss not in get_args(GroupLoss):
            fact = f"loss is {self.loss!r}"
            raise ParameterError(fact, f"use one of {', '.join(get_args(GroupLoss))}")
        for name in ("points", "looks"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                fact = f"{name} is {value!r}"
                raise ParameterError(fact, "use a whole number, at least 1")
        if self.seconds is not None and not self.seconds > 0:
            fact = f"seconds is {self.seconds!r}"
            raise ParameterError(fact, "use a number above 0, or None to stop by looks alone")
        super().__post_init__()

    def n_steps(self, table: Table) -> float:
        """Return about how often the innermost loops run."""
        n_items = len(list_items(table, self.points))
        return float(table.n_rows) * n_items * min(2.0**n_items, self.looks)

    def choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells."""
        del rng
        sets = CutSets.of(table, self.privacy(), self.loss, self.points)
        end = None if self.seconds is None else time.monotonic() + self.seconds
        looks = Looks(int(self.looks), end, progress)
        search = _Search(sets, looks)
        for start in Steps(sets, looks, _OF_STARTS).starts(np.random.default_rng(0)):
            search.consider(start)
        at_least = search.run()
        best = search.best_cost
        gap = 100 * (best - at_least) / best if best > 0 else 0.0
        numbers: dict[str, float | int | None] = {
            "cost": best, "cost_at_least": at_least, "gap": gap, "proved_optimal": int(at_least >= best),
            "looks": looks.done,
        }  # fmt: skip
        return sets.choice(search.best, numbers)


@dataclass(frozen=True)
class _Node:
    """A node of the tree: what is below it is the head, and sets of it and of what the tail leads to."""

    head: Bools
    tail: tuple[int, ...]


@dataclass
class _Search:
    """The tree of all sets, of which the best is wanted."""

    sets: CutSets
    looks: Looks
    best: Bools = field(init=False)
    best_cost: float = field(init=False)

    def __post_init__(self) -> None:
        self.best = np.zeros(self.sets.n_items, np.bool_)
        self.best_cost = float(self.sets.itself(self.sets.head(self.best)).cost[0])

    def consider(self, chosen: Bools) -> None:
        """Keep a set if it costs less than the best one."""
        cost = float(self.sets.itself(self.sets.head(chosen)).cost[0])
        if cost < self.best_cost:
            self.best, self.best_cost = chosen, cost

    def run(self) -> float:
        """Search until nothing is left or no look is; return what any set costs at least."""
        nothing = np.zeros(self.sets.n_items, np.bool_)
        roots = tuple(self.sets.open_to(nothing).tolist())
        waiting: list[tuple[float, int, int, _Node]] = [(0.0, 0, 0, _Node(nothing, roots))]
        n_seen = 0
        while waiting and waiting[0][0] < self.best_cost:
            if self.looks.over():
                return waiting[0][0]
            at_least, _, _, node = heapq.heappop(waiting)
            for bound, child in self._expand(node):
                n_seen += 1
                if bound < self.best_cost:
                    heapq.heappush(waiting, (max(bound, at_least), -int(child.head.sum()), n_seen, child))
        return self.best_cost

    def _expand(self, node: _Node) -> list[tuple[float, _Node]]:
        """Return the children that may hold something better, each with what it costs at least."""
        head, sets = self.sets.head(node.head), self.sets
        tail = np.array(node.tail, np.int64)
        while len(tail):
            floors = sets.floors(sets.with_descendants(node.head, tail.tolist()))
            score = sets.score(head, tail, floors)
            self.looks.done += 1
            place = int(np.argmin(score.cost))
            if score.cost[place] < self.best_cost:
                self._improve(node.head, int(tail[place]))
            useless = score.useless & sets.leaves[tail]
            keep = (score.bound < self.best_cost) & ~useless
            if keep.all():
                break
            tail = tail[keep]
        if not len(tail):
            return []
        order = np.lexsort((tail, -score.splits))
        tail, bounds = tail[order], score.bound[order]
        return [(float(bound), self._child(node.head, tail, place)) for place, bound in enumerate(bounds)]

    def _child(self, head: Bools, tail: Int64, place: int) -> _Node:
        item = int(tail[place])
        chosen = head.copy()
        chosen[item] = True
        freed = np.flatnonzero(self.sets.parents == item).tolist()
        return _Node(chosen, (*tail[place + 1 :].tolist(), *freed))

    def _improve(self, head: Bools, item: int) -> None:
        """Keep a set that is better than the best one, after improving it."""
        chosen = head.copy()
        chosen[item] = True
        self.consider(Steps(self.sets, self.looks).improve(chosen)[0])
