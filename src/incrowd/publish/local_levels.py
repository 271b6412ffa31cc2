"""Local recoding by levels: nodes of a lattice one after the other, each publishes what it is good for.

After ARX's local recoding, which repeats its search on what was suppressed. Here a row that is left over is expected to
lose a share of what suppressing it costs. In each round the node is taken that saves most against that: its groups are
published, and the rest is looked at again. The share begins small, so that only groups that keep much are published,
and rises as soon as no node saves anything. What is left at the end is recoded by the best node of its own.

Rounds are cheap because little is looked at twice. Groups only get smaller when rows are gone, so what a node saved
when it was last looked at, without the rows for which it costs more, is no less than what it can save now. Nodes are
looked at in the order of that bound, until the best one saves more than the next can.
What is left over keeps the constraints as one group after each round (`Suppression`), so a release is always possible.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.kernels.groups import label_groups
from incrowd.kernels.lattice import kept_groups
from incrowd.privacy import Privacy
from incrowd.publish.iac import Suppression, at_levels
from incrowd.publish.level_search import Found, Search, part_of
from incrowd.publish.publisher import Progress

Bools = npt.NDArray[np.bool_]
Int64 = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SHARES = (0.13, 0.17, 0.22, 0.29, 0.37, 0.48, 0.63, 0.82)
"""What a row that is left over is expected to lose, of what suppressing it costs, in turn. Chosen on Adult at k = 50,
where they lead to an LM of 0.156; from 0.1 on it is 0.152, in a tenth more time, and from 0.17 on 0.171."""
_LARGEST_KEY = 1 << 62


def recode_locally(
    table: Table, costs: list[list[Floats]], privacy: Privacy, k: int, progress: Progress, end: float | None
) -> list[tuple[Int64, Found]]:
    """Return the rows and the node of each round; what the last one leaves over is suppressed."""
    rounds = Rounds(table, Search.of(table, table, costs, privacy, k, 1.0), progress, end)
    for share in SHARES:
        rounds.raise_share(share)
        while rounds.publish_best():
            pass
    rest = rounds.rows
    if len(rest):
        last = Search.of(part_of(table, rest), table, costs, privacy, k, 1.0).best(progress, end)
        rounds.looked_at += last.looked_at
        rounds.done.append((rest, last))
    rows, found = rounds.done.pop()
    return [*rounds.done, (rows, replace(found, looked_at=rounds.looked_at))]


@dataclass
class Rounds:
    """What is left over, and what each node of the lattice can save at most.

    Attributes
    ----------
    rows
        Rows of the table that are left.
    share
        What a row that is left over is expected to lose.
    bounds, roots
        Of each node: what it saves at most; what the roots of the rows cost that it can still publish.
    waiting
        Nodes by their bounds.
    """

    table: Table
    search: Search
    progress: Progress
    end: float | None
    share: float = 0.0
    looked_at: int = 0
    done: list[tuple[Int64, Found]] = field(default_factory=list)

    def __post_init__(self) -> None:
        search = self.search
        shape = tuple(search.n_lines)
        depths = np.indices(shape, dtype=np.int64).reshape(len(shape), -1).T
        self.lines = np.ascontiguousarray(depths + search.starts)
        self.row_of, _ = label_groups(self.table.codes)
        self.rows = np.arange(self.table.n_rows)
        self.kept, self.left = np.arange(len(search.rows.weights)), search.rows
        self.bounds = np.zeros(len(self.lines))
        self.roots = np.full(len(self.lines), search.all_of[search.starts].sum())

    def raise_share(self, share: float) -> None:
        """Expect more of what is left over to be lost."""
        if not self.share:
            costs, of_roots = self.left.costs, np.repeat(self.left.costs[:, self.search.starts], self.search.n_lines, 1)
            at_least = np.minimum(costs, share * of_roots).sum(axis=0)[self.lines].sum(axis=1)
            self.bounds = share * self.roots - at_least
        else:
            self.bounds += (share - self.share) * self.roots
        self.share = share
        self.saved = share * self.left.costs[:, self.search.starts].sum(axis=1)
        self.waiting = [(-bound, node) for node, bound in enumerate(self.bounds.tolist()) if bound > 0]
        heapq.heapify(self.waiting)

    def publish_best(self) -> bool:
        """Publish the groups of the node that saves most; tell whether there were any."""
        most, best, seen = 0.0, -1, []
        while self.waiting and -self.waiting[0][0] > most and not self._is_late():
            node = heapq.heappop(self.waiting)[1]
            saved = self._look(node, most)
            seen.append((-self.bounds[node], node))
            if saved > most:
                most, best = saved, node
        for bound, node in seen:
            if bound < 0 and node != best:
                heapq.heappush(self.waiting, (bound, node))
        if best < 0:
            return False
        self.progress("recoding", self.table.n_rows - len(self.rows), self.table.n_rows)
        found = self._found(best)
        if found.left.all():
            return True  # of this node nothing can be published now, because the rest would be too small
        heapq.heappush(self.waiting, (-self.bounds[best], best))
        self._take(found)
        return len(self.rows) > 0

    def _is_late(self) -> bool:
        return self.end is not None and time.monotonic() > self.end

    def _look(self, node: int, most: float) -> float:
        """Return what a node saves, and bring its bound up to date; less than `most` need not be exact."""
        self.looked_at += 1
        search, found = self.search, np.zeros(3)
        strides, size = [], 1
        for line in self.lines[node].tolist():
            strides.append(min(size, _LARGEST_KEY))
            size *= int(search.sizes[line])
        left = self.left
        lines, steps = self.lines[node], np.array(strides, np.int64)
        if size >= _LARGEST_KEY:  # one column that numbers the groups
            label, _ = label_groups(np.asfortranarray(left.values[:, lines]))
            values = left.values.copy(order="F")
            values[:, lines] = 0
            values[:, lines[0]] = label
            left, steps = left._replace(values=values), np.ones(len(lines), np.int64)
        kept_groups(left, lines, steps, search.k, self.saved, found)
        self.bounds[node], self.roots[node] = found[2], found[0] / self.share
        if search.privacy.about_sensitive and found[2] > most:
            exact = self._found(node)
            return self._saved(node, exact.left)
        return float(found[1])

    def _saved(self, node: int, left: Bools) -> float:
        kept = np.bincount(self.row_of[self.rows], ~left, len(self.search.rows.weights))[self.kept] / self.left.weights
        return float(((self.saved - self.left.costs[:, self.lines[node]].sum(axis=1)) * kept).sum())

    def _found(self, node: int) -> Found:
        """Return a node with what of its rows is left over, so that these keep the constraints as one group."""
        levels = (self.lines[node] - self.search.starts + 1).tolist()
        generalized = at_levels(part_of(self.table, self.rows), levels)
        suppression = Suppression.of(generalized, self.search.privacy, self.search.bounds)
        gone = np.zeros(len(generalized.sizes), np.bool_)
        gone[suppression.order[: suppression.at(self.search.k)]] = True
        return Found(generalized, gone[generalized.group_of], 0.0, 0)

    def _take(self, found: Found) -> None:
        """Publish what a node does not leave over."""
        self.done.append((self.rows, found))
        self.rows = self.rows[found.left]
        stays = np.zeros(len(self.search.rows.weights), np.bool_)
        stays[self.row_of[self.rows]] = True
        still = stays[self.kept]
        left = self.left
        self.kept, self.saved = self.kept[still], self.saved[still]
        self.left = left._replace(
            slots=1 << (2 * len(self.kept)).bit_length(),
            values=np.asfortranarray(left.values[still]),
            costs=np.ascontiguousarray(left.costs[still]),
            weights=left.weights[still],
        )
