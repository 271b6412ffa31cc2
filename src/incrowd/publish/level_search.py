"""The best node of a lattice of levels: what `Lattice` publishes, once for the table, or of each part of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.domains import limits
from incrowd.errors import IncompatibleError, InfeasibleError
from incrowd.kernels.groups import label_groups
from incrowd.kernels.lattice import Rows, failing_rows, find_groups, small_groups
from incrowd.kernels.limits import Limits
from incrowd.losses import cell_loss
from incrowd.privacy import Privacy
from incrowd.publish.iac import Generalized, Suppression, at_levels, level_bounds, n_levels
from incrowd.publish.prices import Loss
from incrowd.publish.publisher import Progress

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_MOST_NODES = 2_000_000
MOST_LOOKS = 100_000
"""Nodes that are looked at without a limit of time: some seconds for a small table; Adult takes hundreds, and 60 000
where it is recoded locally."""
_LARGEST_KEY = 1 << 62
SAME = 1e-9
"""Losses that differ by less, relative to the whole, are equal: they are sums of rounded numbers."""


def part_of(table: Table, rows: Int64) -> Table:
    """Return some rows of a table, as far as searches look at them."""
    sensitive = None if table.sensitive is None else table.sensitive[rows]
    return replace(table, codes=np.asfortranarray(table.codes[rows]), sensitive=sensitive, rows=table.rows[rows])


def level_costs(table: Table, loss: Loss) -> list[list[Floats]]:
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
    is_complete
        Whether the search came to its end; if not, patience was over before.
    """

    generalized: Generalized
    left: npt.NDArray[np.bool_]
    loss: float
    looked_at: int
    is_complete: bool = True


@dataclass(frozen=True)
class Patience:
    """How long to look: until some time, or without one at so many nodes."""

    end: float | None = None

    @classmethod
    def of(cls, seconds: float | None) -> Patience:
        """Begin to wait."""
        return cls(None if seconds is None else time.monotonic() + seconds)

    def is_over(self, looked_at: int) -> bool:
        """Tell whether enough nodes were looked at."""
        return looked_at >= MOST_LOOKS if self.end is None else time.monotonic() > self.end


def group_rows(rows: Rows, n_values: Int64, lines: Int64) -> None:
    """Find the groups at these lines, of which each attribute has one."""
    strides, size = [], 1
    for n in n_values[lines].tolist():
        strides.append(size)
        size *= n
        if size >= _LARGEST_KEY:
            break
    else:
        find_groups(rows, lines, np.array(strides, np.int64))
        return
    label, n_groups = label_groups(np.asfortranarray(rows.values[:, lines]))
    rows.at[:] = label
    rows.sizes[:n_groups] = np.bincount(label, rows.weights, n_groups)


@dataclass
class Search:
    """A table, or a part of one, at every level, in the form that the kernel takes.

    Attributes
    ----------
    starts
        First line of each attribute, its root; lines of an attribute go down to its leaves.
    least
        What all rows cost at least at each line: no more than suppressed.
    more
        How much more each distinct row costs than that when it is suppressed.
    row_of
        The distinct row of each row.
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
    least: Floats
    more: Floats
    row_of: Int64

    @cached_property
    def bounds(self) -> Limits:
        """Limits of the whole table, which hold in every part of it."""
        return limits(self.privacy, self.whole)

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
        values = np.empty((n_distinct, sum(n_lines)), np.int32, order="F")
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
        least = np.minimum(priced, roots)
        return cls(
            *(table, whole, privacy, k, most, left, n_lines, starts, np.array(sizes), rows),
            least=least.sum(axis=0), more=roots - least, row_of=row_of,
        )  # fmt: skip

    def best(self, progress: Progress, patience: Patience, looked_at: int = 0) -> Found:
        """Return the node that loses least, of equal ones the first from the top."""
        bound, layer = self.of_nodes(self.least), self.of_nodes(np.concatenate([*map(np.arange, self.n_lines)]))
        above = _Above(self, len(bound))
        best: Found | None = None
        is_complete = True
        for depth in range(int(layer.max()) + 1):
            progress("levels", depth, int(layer.max()) + 1)
            nodes = np.flatnonzero(layer == depth)
            lines = self.lines_of(nodes)
            at_least = bound[nodes] + above.inherit(nodes, lines - self.starts, lines)
            for place in np.argsort(at_least, kind="stable"):
                if best is not None and at_least[place] >= best.loss * (1 - SAME):
                    break
                if not np.isfinite(at_least[place]):
                    break
                if best is not None and patience.is_over(looked_at):
                    is_complete = False
                    break
                looked_at += 1
                found = self._look(nodes[place], lines[place], above, None if best is None else best.loss)
                best = found or best
            if not is_complete:
                break
        if best is None:
            fact = f"No levels keep the privacy asked for when at most {self.most:.0f} rows may be suppressed"
            raise InfeasibleError(fact, "allow more rows to be suppressed, or ask for less")
        return replace(best, looked_at=looked_at, is_complete=is_complete)

    def of_nodes(self, of_lines: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the sum over the lines of each node, of a number for each line; the last attribute changes first."""
        total = np.zeros(1, of_lines.dtype)
        for start, n in zip(self.starts, self.n_lines, strict=True):
            total = np.add.outer(total, of_lines[start : start + n]).ravel()
        return total

    def lines_of(self, nodes: Int64) -> Int64:
        """Return the lines of each node."""
        return np.stack(np.unravel_index(nodes, self.n_lines), axis=1) + self.starts

    def _look(self, node: int, lines: Int64, above: _Above, best: float | None) -> Found | None:
        """Return the node at these lines if it may be published and loses less than the best one."""
        sums = np.empty(len(self.least))
        group_rows(self.rows, self.sizes, lines)
        n_gone = int(small_groups(self.rows, self.k, self.more, sums))
        above.note(node, sums, allowed=n_gone <= self.most)
        at_least = float((self.least[lines] + sums[lines]).sum())
        if n_gone <= self.most and self.privacy.about_sensitive and (sensitive := self.table.sensitive) is not None:
            gone = failing_rows(self.rows, self.k, self.row_of, sensitive, self.table.n_values, self.bounds)
            n_gone = int(self.rows.weights[gone].sum())
            at_least = float(self.least[lines].sum() + self.more[gone][:, lines].sum())
        if n_gone > self.most or (best is not None and at_least >= best * (1 - SAME)):
            return None
        generalized = at_levels(
            self.table, [int(line - start) + 1 for line, start in zip(lines, self.starts, strict=True)]
        )
        suppression = Suppression.of(generalized, self.privacy, self.bounds)
        gone = np.zeros(len(generalized.sizes), np.bool_)
        gone[suppression.order[: suppression.at(self.k)]] = True
        left = gone[generalized.group_of]
        if left.sum() > self.most:
            return None
        loss = self._exactly(lines, left)
        return None if best is not None and loss >= best * (1 - SAME) else Found(generalized, left, loss, 0)

    def _exactly(self, lines: Int64, left: npt.NDArray[np.bool_]) -> float:
        share = np.bincount(self.row_of, left, len(self.rows.weights)) / self.rows.weights
        kept = (self.rows.costs[:, lines].sum(axis=1) * (1 - share)).sum()
        return float(kept + self.left * (self.rows.costs[:, self.starts].sum(axis=1) * share).sum())


class _Above:
    """What the nodes above a node say about it: rows in groups of fewer than k stay so when they are told apart."""

    def __init__(self, search: Search, n_nodes: int) -> None:
        self._strides = [int(np.prod(search.n_lines[m + 1 :])) for m in range(len(search.n_lines))]
        self._of = np.zeros(n_nodes, np.int32)  # which of `_more` holds for each node
        self._more: list[Floats] = [np.zeros(len(search.least))]

    def inherit(self, nodes: Int64, depths: Int64, lines: Int64) -> Floats:
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
        """Keep how much more the small groups of a node cost when suppressed, at every line."""
        self._of[node] = len(self._more)
        self._more.append(sums if allowed else np.full(len(sums), np.inf))
