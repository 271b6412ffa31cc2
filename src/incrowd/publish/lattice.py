"""Lattice: the best level of each attribute for the whole table, found with certainty; small groups are suppressed.

Full-domain recoding: all values of an attribute are shown at one level of its hierarchy. The levels form a lattice,
from the values themselves up to ``*`` everywhere. For each node of it, groups that do not keep the constraints lose
all their quasi-identifiers; what is lost is then known, and the node that loses least is published. Nodes are visited
from the top down. What a node loses at least is known before its rows are looked at: each attribute's loss at its
level, and, where k is the only constraint, everything for the rows that are in small groups at a node above it (rows
that are too few together stay too few when they are told apart). A node that loses at least as much as the best one
so far is passed over; a node below one that suppresses too many rows is as well. With l, t or alpha only the first
bound holds, because parts of a group that fails may keep them.

With ``local=True``, what would be suppressed is recoded again by the best node of its own, and so on, so that dense
parts of the table keep more detail than sparse ones; that is no longer the best of anything, but loses much less.

Guarantee: every group of rows with equal cells keeps k and whatever else was asked for, the group of ``*`` rows too.
Cost: nodes that are looked at, times n M. A lattice of more than two million nodes is refused.
Use it where every value of a column must be recoded alike, as ARX does it, or to know how much that costs. For the
smallest loss use `TightGroups`, for classifiers `BestCuts`.

Where we are on our own: after Incognito (LeFevre 2005), OLA (El Emam 2009) and Flash (Kohlmayer 2012), whose tagging
of nodes the second bound refines. `Intervals` have no levels, and get those of a balanced binary tree over their
values. Fewer than k rows of ``*`` are a group smaller than k themselves: the next smallest groups join them. Of nodes
with equal loss the first from the top is taken.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"age": [21, 22, 31, 32], "sex": list("ffmm")})
>>> schema = ic.Schema(quasi={"age": ic.Intervals(), "sex": None})
>>> sorted(ic.Lattice(k=2).publish(people, schema, seed=1).frame.unique().rows())
[('21-22', 'f'), ('31-32', 'm')]
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar, get_args

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.errors import IncompatibleError, InfeasibleError, ParameterError
from incrowd.kernels.groups import label_groups
from incrowd.kernels.lattice import Rows, small_groups
from incrowd.losses import cell_loss
from incrowd.privacy import Privacy
from incrowd.publish.iac import Generalized, Suppression, at_levels, level_bounds, n_levels
from incrowd.publish.prices import Loss
from incrowd.publish.publisher import Choice, GroupPublisher, Progress

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_MOST_NODES = 2_000_000
_SAME = 1e-9  # losses that differ by less, relative to the whole, are equal: they are sums of rounded numbers
_LEFT = 0.5  # what a row that is left over is expected to lose in a later round, see `Lattice.choose`


@dataclass(frozen=True, kw_only=True)
class Lattice(GroupPublisher):
    """The best level of each attribute for the whole table, with suppression.

    Parameters
    ----------
    k, l, l_kind, c, t, ordered, alpha
        What every group keeps: see `GroupPublisher`.
    suppress
        Largest share of the rows that may be suppressed: 1 leaves it to the loss, 0 suppresses nothing.
    loss
        What is made as small as possible: ``"lm"``, ``"entropy"`` or ``"monotone_entropy"``.
    local
        Recode what would be suppressed again, by levels of its own.
    seconds
        Stop looking after so long, and take the best node so far; the best of all may then be another.
    """

    suppress: float = 1.0
    loss: Loss = "lm"
    local: bool = False
    seconds: float | None = None

    name: ClassVar[str] = "lattice"
    paper: ClassVar[str] = "LeFevre et al. 2005, Kohlmayer et al. 2012"
    kind: ClassVar[str] = "one level per attribute, with suppression"
    cost: ClassVar[str] = "nodes n M"
    recodes: ClassVar[bool] = True
    needs_hierarchies: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.suppress, bool) or not 0 <= self.suppress <= 1:
            fact = f"suppress is {self.suppress!r}"
            raise ParameterError(fact, "use a share of the rows, from 0 to 1")
        if self.loss not in get_args(Loss):
            fact = f"loss is {self.loss!r}"
            raise ParameterError(fact, f"use one of {', '.join(get_args(Loss))}")
        if self.seconds is not None and not self.seconds > 0:
            fact = f"seconds is {self.seconds!r}"
            raise ParameterError(fact, "use a number above 0, or None to look until the best is found")
        if self.local and self.suppress < 1:
            fact = f"local is True, and suppress is {self.suppress!r}"
            raise ParameterError(fact, "leave suppress at 1: what is left over is recoded again, and not suppressed")
        super().__post_init__()

    def n_steps(self, table: Table) -> float:
        """Return about how often the innermost loops run."""
        return super().n_steps(table) * float(np.prod([n_levels(h) for h in table.hierarchies]))

    def choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells.

        Locally, a row that is left over counts half of what suppressing it costs, for it will be recoded; in the last
        round, when nothing more can be told apart, all of it.
        """
        del rng
        end = None if self.seconds is None else time.monotonic() + self.seconds
        costs = _costs(table, self.loss)
        if not self.local:
            found = Search.of(table, table, costs, self.privacy(), self.k, self.suppress).best(progress, end)
            return _assemble(table, [(np.arange(table.n_rows), found)], found)
        rounds, rows = [], np.arange(table.n_rows)
        while True:
            part = _part(table, rows)
            found = Search.of(part, table, costs, self.privacy(), self.k, 1.0, left=_LEFT).best(progress, end)
            if not found.left.any() or found.left.all():
                found = Search.of(part, table, costs, self.privacy(), self.k, 1.0).best(progress, end)
                rounds.append((rows, found))
                break
            rounds.append((rows, found))
            rows = rows[found.left]
        return _assemble(table, rounds, None)


def _part(table: Table, rows: Int64) -> Table:
    sensitive = None if table.sensitive is None else table.sensitive[rows]
    return replace(table, codes=np.asfortranarray(table.codes[rows]), sensitive=sensitive, rows=table.rows[rows])


def _costs(table: Table, loss: Loss) -> list[list[Floats]]:
    """Return what each leaf of each attribute costs at each level, the root first."""
    found = []
    for m, hierarchy in enumerate(table.hierarchies):
        levels = [level_bounds(hierarchy, level) for level in range(1, n_levels(hierarchy) + 1)]
        found.append([cell_loss(loss, hierarchy, table.marginals[m], lo, hi) for lo, hi in levels])
    return found


@dataclass(frozen=True)
class Found:
    """A node of a lattice, and what of its rows is left over.

    Attributes
    ----------
    generalized
        The rows at its levels.
    left
        Whether each row is suppressed.
    loss
        What it costs.
    looked_at
        How many nodes were looked at to find it.
    """

    generalized: Generalized
    left: npt.NDArray[np.bool_]
    loss: float
    looked_at: int


@dataclass
class Search:
    """A table, or a part of one, at every level, in the form that the kernel takes.

    Attributes
    ----------
    starts
        First line of each attribute, its root; lines of an attribute go down to its leaves.
    least
        What all rows cost at least at each line: no more than suppressed.
    most
        Most rows that may be suppressed.
    left
        What a suppressed row costs, as a share of the roots' cost.
    """

    table: Table
    whole: Table
    privacy: Privacy
    k: int
    most: float
    left: float
    n_lines: list[int]
    starts: Int64
    sizes: Int64
    rows: Rows
    all_of: Floats
    least: Floats

    @classmethod
    def of(
        cls,
        table: Table,
        whole: Table,
        costs: list[list[Floats]],
        privacy: Privacy,
        k: int,
        suppress: float,
        left: float = 1.0,
    ) -> Search:
        """Prepare a table, which may be a part of a `whole`."""
        n_lines = [len(levels) for levels in costs]
        if float(np.prod(np.array(n_lines, np.float64))) > _MOST_NODES:
            fact = f"The hierarchies have {'·'.join(map(str, n_lines))} combinations of levels: too many to look at"
            raise IncompatibleError(fact, "give wide columns hierarchies of fewer levels, such as bins or balanced(10)")
        row_of, n_distinct = label_groups(table.codes)
        first = np.empty(n_distinct, np.int64)
        first[row_of[::-1]] = np.arange(table.n_rows - 1, -1, -1)
        weights = np.bincount(row_of, minlength=n_distinct)
        values = np.empty((n_distinct, sum(n_lines)), np.int32)
        priced = np.empty((n_distinct, sum(n_lines)))
        sizes, line = [], 0
        for m, hierarchy in enumerate(table.hierarchies):
            leaves = table.codes[first, m]
            for level in range(1, n_lines[m] + 1):
                lo, _ = level_bounds(hierarchy, level)
                found, values[:, line] = np.unique(lo[leaves], return_inverse=True)
                sizes.append(len(found))
                priced[:, line] = costs[m][level - 1][leaves] * weights
                line += 1
        starts = np.append(0, np.cumsum(n_lines))[:-1]
        roots = np.repeat(left * priced[:, starts], n_lines, axis=1)
        slots = 1 << (2 * n_distinct).bit_length()
        keys, counts = np.empty(slots, np.int64), np.empty(slots, np.int64)
        rows = Rows(values, priced, weights, slots, keys, counts, np.empty(n_distinct, np.int64))
        most = suppress * table.n_rows
        least = np.minimum(priced, roots).sum(axis=0)
        return cls(
            table, whole, privacy, k, most, left, n_lines, starts, np.array(sizes), rows, priced.sum(axis=0), least
        )

    def best(self, progress: Progress, end: float | None) -> Found:
        """Return the node that loses least, of equal ones the first from the top."""
        shape = tuple(self.n_lines)
        depths = np.indices(shape, dtype=np.int32).reshape(len(shape), -1).T
        lines = depths + self.starts.astype(np.int32)
        bound = self.least[lines].sum(axis=1)
        layer = depths.sum(axis=1)
        above = _Above(self, shape, len(lines))
        best: Found | None = None
        looked_at, exhausted = 0, False
        for depth in range(int(layer.max()) + 1):
            progress("levels", depth, int(layer.max()) + 1)
            nodes = np.flatnonzero(layer == depth)
            at_least = bound[nodes] + above.inherit(nodes, depths[nodes], lines[nodes])
            for place in np.argsort(at_least, kind="stable"):
                if best is not None and at_least[place] >= best.loss * (1 - _SAME):
                    break
                if not np.isfinite(at_least[place]):
                    break
                if end is not None and best is not None and time.monotonic() > end:
                    exhausted = True
                    break
                looked_at += 1
                found = self._look(nodes[place], lines[nodes[place]], above, None if best is None else best.loss)
                best = found or best
            if exhausted:
                break
        if best is None:
            fact = f"No levels keep the privacy asked for when at most {self.most:.0f} rows may be suppressed"
            raise InfeasibleError(fact, "allow more rows to be suppressed, or ask for less")
        return replace(best, looked_at=looked_at)

    def _look(self, node: int, lines: Int32, above: _Above, best: float | None) -> Found | None:
        """Return the node at these lines if it may be published and loses less than the best one."""
        monotone = not self.privacy.about_sensitive
        if monotone:
            sums = np.empty(len(self.all_of))
            n_small = self._count(lines, sums)
            above.note(node, sums, allowed=n_small <= self.most)
            kept = float((self.all_of[lines] - sums[lines]).sum())
            loss = kept + self.left * float(sums[self.starts].sum())
            if n_small > self.most or (best is not None and loss >= best * (1 - _SAME)):
                return None
        generalized = at_levels(
            self.table, [int(line - start) + 1 for line, start in zip(lines, self.starts, strict=True)]
        )
        suppression = Suppression.of(generalized, self.privacy, self.whole)
        gone = np.zeros(len(generalized.sizes), np.bool_)
        gone[suppression.order[: suppression.at(self.k)]] = True
        left = gone[generalized.group_of]
        if left.sum() > self.most:
            return None
        loss = self._exactly(lines, left)
        return None if best is not None and loss >= best * (1 - _SAME) else Found(generalized, left, loss, 0)

    def _count(self, lines: Int32, sums: Floats) -> int:
        strides, size = [], 1
        for line in lines:
            strides.append(size)
            size *= int(self.sizes[line])
        if size < 1 << 62:
            return int(small_groups(self.rows, lines.astype(np.int64), np.array(strides, np.int64), self.k, sums))
        group, n_groups = label_groups(np.asfortranarray(self.rows.values[:, lines]))
        small = np.bincount(group, self.rows.weights, n_groups)[group] < self.k
        sums[:] = self.rows.costs[small].sum(axis=0)
        return int(self.rows.weights[small].sum())

    def _exactly(self, lines: Int32, left: npt.NDArray[np.bool_]) -> float:
        row_of, _ = label_groups(self.table.codes)
        share = np.bincount(row_of, left, len(self.rows.weights)) / self.rows.weights
        kept = (self.rows.costs[:, lines].sum(axis=1) * (1 - share)).sum()
        return float(kept + self.left * (self.rows.costs[:, self.starts].sum(axis=1) * share).sum())


class _Above:
    """What the nodes above a node say about it: the rows that they suppress, it suppresses as well."""

    def __init__(self, search: Search, shape: tuple[int, ...], n_nodes: int) -> None:
        self._roots = np.repeat(search.starts, search.n_lines)
        self._left = search.left
        self._strides = np.array([int(np.prod(shape[m + 1 :])) for m in range(len(shape))])
        self._of = np.zeros(n_nodes, np.int32)  # which of `_more` holds for each node
        self._more: list[Floats] = [np.zeros(len(self._roots))]

    def inherit(self, nodes: Int64, depths: Int32, lines: Int32) -> Floats:
        """Return how much more than the bound each node loses at least, and remember the node above that says so."""
        more = np.array(self._more)
        best = np.full(len(nodes), -1.0)
        for m, stride in enumerate(self._strides):
            has = depths[:, m] > 0
            above = self._of[nodes[has] - stride]
            said = more[above[:, None], lines[has]].sum(axis=1)
            better = said > best[has]
            at = np.flatnonzero(has)[better]
            best[at] = said[better]
            self._of[nodes[at]] = above[better]
        return np.asarray(np.maximum(best, 0.0))

    def note(self, node: int, sums: Floats, *, allowed: bool) -> None:
        """Keep what the small groups of a node cost at every line, beside what they cost when suppressed."""
        more = np.maximum(self._left * sums[self._roots] - sums, 0.0) if allowed else np.full(len(sums), np.inf)
        self._of[node] = len(self._more)
        self._more.append(more)


def _assemble(table: Table, rounds: list[tuple[Int64, Found]], once: Found | None) -> Choice:
    """Return the cells of all rounds; what the last one leaves over is one group of ``*``."""
    los, his, cell_of, n_cells = [], [], np.empty(table.n_rows, np.int64), 0
    for rows, found in rounds:
        kept = np.unique(found.generalized.group_of[~found.left])
        number = np.empty(len(found.generalized.sizes), np.int64)
        number[kept] = np.arange(len(kept)) + n_cells
        cell_of[rows[~found.left]] = number[found.generalized.group_of[~found.left]]
        los.append(found.generalized.lo[kept])
        his.append(found.generalized.hi[kept])
        n_cells += len(kept)
    rows, found = rounds[-1]
    if found.left.any():
        cell_of[rows[found.left]] = n_cells
        los.append(np.zeros((1, table.n_quasi), np.int32))
        his.append(np.array([[hierarchy.n_leaves - 1 for hierarchy in table.hierarchies]], np.int32))
    numbers = {"star_rows": int(found.left.sum()), "nodes_looked_at": sum(found.looked_at for _, found in rounds)}
    recoding = once.generalized.recoding if once else None
    return Choice(np.concatenate(los), np.concatenate(his), cell_of, recoding=recoding, numbers=numbers)
