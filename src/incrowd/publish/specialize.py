"""Top-down specialization: the search that TDS, TDR and PAIS share.

The cut holds one or more values of each attribute, at first only the root. Each step replaces one value by its parts,
for all rows: a taxonomy's node by its children, a range by the two sides of its best cut point. With `disclose`, an
attribute without a taxonomy has the value ``*`` for all its leaves, and a step takes one leaf out of it.

Every row that holds a value is split by the value's parts, whatever its other values are. So information gain needs
only the class counts of each leaf, and does not change as long as the value is in the cut. What changes are the
partitions, and they only get smaller: a specialization that was not valid once is not valid later (all constraints
are monotone), so validity is looked at only when a candidate is the best one. A step costs the rows that hold its
value, times the attributes where the score looks at the sizes of partitions, and one look at every partition.

Gains are rounded to whole multiples of 2^-32 bits: gains that are equal are then equal in whatever order their
logarithms were added, and one that rounds to nothing is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.domains import flatten
from incrowd.errors import IncompatibleError
from incrowd.kernels.domains import N_LEAVES, N_LEVELS
from incrowd.kernels.groups import count_by_group, label_groups
from incrowd.kernels.information import n_log_n
from incrowd.kernels.limits import SIZE, Limits
from incrowd.kernels.partition import NUMBER, Work
from incrowd.kernels.specialize import (
    EACH_LEAF,
    NOTHING,
    PARTS,
    Leaves,
    Parts,
    count_smallest,
    list_parts,
    parts_keep,
    split,
)
from incrowd.publish.global_recoding import Range, child_ends, release_ranges
from incrowd.publish.group_cuts import distinct_rows
from incrowd.publish.publisher import Choice, Progress

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

UNITS = 2.0**32
"""Gains are counted in this part of a bit."""

_MOST_COUNTS = 1 << 25  # of classes per leaf, in memory


class Rule(NamedTuple):
    """What partitions must keep: the limits, by the values of any `n_together` attributes.

    That is all attributes, but for LKC-privacy. `n_values` sensitive values are looked at: all of them, or 0.
    """

    limits: Limits
    n_values: int
    n_together: int


class Step(NamedTuple):
    """A specialization: the value number `value` of attribute `m` is replaced.

    Leaf i goes to part ``part_of[i]``, which becomes the value number ``values[part]``; -1 for a part without rows.
    """

    m: int
    value: int
    part_of: Int32
    values: Int32


class Cut:
    """The values in use, the partitions of the rows by them, and all candidates for the next step.

    Values and candidates share numbers; attribute m has ``n_leaves + 1`` of them, from ``offset[m]``. The candidate
    that specializes a value has the value's number. An attribute that is disclosed leaf by leaf keeps its last number
    for ``*``, and the others for its leaves: each is the candidate that takes the leaf out, and then its value.

    Attributes
    ----------
    gain
        Information gain of each candidate, in `UNITS`.
    squares
        For each value, the sum of the squared sizes of the partitions that hold it.
    """

    def __init__(self, table: Table, rule: Rule, classes: tuple[Int32, int], *, disclose: bool) -> None:
        self.table, self.rule, self.domains = table, rule, flatten(table.hierarchies)
        n_leaves = self.domains.shape[:, N_LEAVES]
        self._offset = np.concatenate([[0], np.cumsum(n_leaves + 1)])
        self._attribute = np.repeat(np.arange(table.n_quasi), n_leaves + 1)
        n_numbers = len(self._attribute)
        self.gain, self.squares = np.zeros(n_numbers), np.zeros(n_numbers, np.int64)
        self._open = np.zeros(n_numbers, np.bool_)
        self._place = np.arange(n_numbers)  # decides between equal scores
        self._counted, self._smallest = np.zeros(n_numbers, np.int32), np.full(n_numbers, table.n_rows)
        self._part_of, self._ends = np.zeros(n_numbers, np.int32), dict[int, Int64]()
        self._n_used = np.ones(table.n_quasi, np.int64)
        self._ranges: list[dict[int, Range]] = [{} for _ in table.hierarchies]
        self._empty: list[list[Range]] = [[] for _ in table.hierarchies]
        self._logs = n_log_n(table.n_rows)
        self._class_counts = count_classes(table, *classes)
        self._make_partition(max(2, int((n_leaves * (self.domains.shape[:, N_LEVELS] > 0)).max())))
        self._stars = [disclose and _is_flat(table, m) for m in range(table.n_quasi)]
        for m in range(table.n_quasi):
            root = self._enter_star(m) if self._stars[m] else self._enter_root(m)
            self.squares[root], self._leaves.value[m, 0] = table.n_rows**2, root

    def _make_partition(self, most_parts: int) -> None:
        """Put all rows into one partition."""
        n_quasi, n_values = self.table.n_quasi, self.rule.n_values
        rows, self._row_of = distinct_rows(self.table, [self.table.sensitive if n_values else None], strict=True)
        n = len(rows)
        self._work = Work(rows, np.empty_like(rows), np.empty(n, np.int32), np.zeros((4, most_parts), np.int64))
        value, changed = np.empty((n_quasi, n), np.int32), np.zeros(n, np.bool_)
        self._leaves = Leaves(np.empty((2, n), np.int64), np.empty(n, np.int64), value, changed)
        self._leaves.bounds[:, 0], self._leaves.size[0], self._leaves.changed[0] = (0, n), self.table.n_rows, True
        self.n_groups = 1
        int32, int64 = np.empty((4, n), np.int32), np.empty((2, n), np.int64)
        self._parts = Parts(int32[0], int32[1], int64[0], int32[2], int32[3], int64[1])
        self._counts = np.zeros(most_parts * n_values, np.int64)
        self._sizes = np.zeros((n_quasi, most_parts), np.int64)

    def _enter_root(self, m: int) -> int:
        self._class_counts[m] = np.cumsum(np.pad(self._class_counts[m], ((1, 0), (0, 0))), axis=0)
        root = int(self._offset[m])
        self._enter(m, root, (0, self.table.hierarchies[m].n_leaves - 1))
        return root

    def _enter(self, m: int, value: int, piece: Range) -> None:
        """Take a value into the cut; it is a candidate if rows hold several leaves of it."""
        first, last = self._ranges[m][value] = piece
        self._place[value], self._smallest[value] = self._offset[m] + first, self.table.n_rows
        several = np.count_nonzero(self.table.marginals[m][first : last + 1]) > 1
        self._open[value], self._counted[value] = several, PARTS if several else NOTHING
        if several:
            ends, self.gain[value] = self._best_parts(m, piece)
            self._ends[value] = ends
            part_of = self._part_of[self._offset[m] + first : self._offset[m] + last + 1]
            part_of[:] = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=first - 1))

    def _best_parts(self, m: int, piece: Range) -> tuple[Int64, float]:
        """Return the last leaf of each part, and the gain: a node's children, or the sides of a range's best cut.

        Of cuts with equal gains the most even one is taken, then the first.
        """
        first, last = piece
        up_to = self._class_counts[m]
        if self.domains.shape[m, N_LEVELS]:
            ends = child_ends(self.table, self.domains, m, piece)
            return ends, float(self._gain(np.diff(up_to[np.append(first, ends + 1)], axis=0)[None])[0])
        left = up_to[first + 1 : last + 1] - up_to[first]
        right = up_to[last + 1] - up_to[first + 1 : last + 1]
        n_less = np.minimum(left.sum(axis=1), right.sum(axis=1))
        gain = np.where(n_less > 0, self._gain(np.stack([left, right], axis=1)), -1.0)
        best = np.flatnonzero(gain == gain.max())
        at = best[np.argmax(n_less[best])]
        return np.array([first + at, last]), float(gain[at])

    def _gain(self, counts: Int64) -> Float64:
        """Return the information gain of candidates in `UNITS`, from counts [candidates x parts x classes]."""
        whole = counts.sum(axis=1)
        n = whole.sum(axis=1)
        before = self._logs[n] - self._logs[whole].sum(axis=1)
        after = (self._logs[counts.sum(axis=2)] - self._logs[counts].sum(axis=2)).sum(axis=1)
        gain: Float64 = np.maximum(0.0, np.rint((before - after) / n * UNITS))
        return gain

    def _enter_star(self, m: int) -> int:
        first, n_leaves = int(self._offset[m]), self.table.hierarchies[m].n_leaves
        star = first + n_leaves
        self._ranges[m][star] = 0, n_leaves - 1
        self._open[first:star] = self.table.marginals[m] > 0
        self._part_of[first:star], self._counted[star] = np.arange(n_leaves), EACH_LEAF
        self._score_disclosures(m)
        return star

    def _score_disclosures(self, m: int) -> None:
        """Find what taking each leaf out of ``*`` would tell; leaves that are disclosed are not counted any more."""
        inside = self._class_counts[m]
        gain = self._gain(np.stack([inside, inside.sum(axis=0) - inside], axis=1))
        self.gain[self._offset[m] : self._offset[m + 1] - 1] = gain

    @property
    def anonymity(self) -> int:
        """A(QID): the size of the smallest partition."""
        return int(self._leaves.size[: self.n_groups].min())

    @property
    def smallest(self) -> Int64:
        """The size of the smallest partition that each candidate would make."""
        arguments = self._counted, self._offset, self._part_of, self._sizes, self._smallest
        count_smallest(self._work, self._leaves, self.n_groups, *arguments)
        return self._smallest

    def best(self, score: Score) -> int | None:
        """Return the candidate of the highest score above 0; of equal ones that of the first attribute, first leaf."""
        candidates = np.flatnonzero(self._open)
        scores = score(self, candidates)
        top = scores.max(initial=0)
        if top <= 0:
            return None
        ties = candidates[scores == top]
        return int(ties[np.argmin(self._place[ties])])

    def drop(self, candidate: int) -> None:
        """Forget a candidate that is not valid."""
        self._open[candidate] = False
        self._counted[candidate] = NOTHING

    def step(self, candidate: int) -> Step:
        """Return what specializing a candidate means."""
        m = int(self._attribute[candidate])
        start, stop = int(self._offset[m]), int(self._offset[m + 1]) - 1
        if self._stars[m]:
            part_of = (np.arange(start, stop) != candidate).astype(np.int32)
            return Step(m, stop, part_of, np.array([candidate, stop], np.int32))
        ends = self._ends[candidate]
        borders = np.append(self._ranges[m][candidate][0], ends + 1)
        filled = np.diff(self._class_counts[m][borders].sum(axis=1)) > 0
        values = np.full(len(ends), -1, np.int32)
        values[filled] = start + self._n_used[m] + np.arange(-1, filled.sum() - 1)
        values[np.argmax(filled)] = candidate
        return Step(m, candidate, self._part_of[start:stop], values)

    def keeps(self, step: Step) -> bool:
        """Tell whether a specialization is valid: what it would make of the partitions keeps the rule."""
        (limits, n_values, _), (m, value, part_of, _) = self.rule, step
        n_parts, n_counts = list_parts(
            self._work, self._leaves, self.n_groups, m, value, part_of, n_values, self._counts, self._parts
        )
        return all(
            parts_keep(self._parts, n_parts, n_counts, label, n_labels, n_values, limits)
            for label, n_labels in self._combined(m, n_parts)
        )

    def _combined(self, m: int, n_parts: int) -> Iterator[tuple[Int64, int]]:
        """Yield, for all combinations of attributes that the rule is about and m is in, which parts are one group."""
        others = [other for other in range(self.table.n_quasi) if other != m]
        if self.rule.n_together > len(others):
            yield np.arange(n_parts), n_parts
            return
        values = np.asfortranarray(self._leaves.value[:, self._parts.group[:n_parts]].T)
        values[:, m] = self._parts.part[:n_parts]
        others.sort(key=lambda other: -len(self._ranges[other]))  # what breaks the rule is sooner found
        for chosen in combinations(others, self.rule.n_together - 1):
            yield label_groups(values[:, [m, *chosen]])

    def specialize(self, step: Step) -> None:
        """Replace a value by its parts, in the cut and in all partitions."""
        m, value, part_of, values = step
        self.squares[values[values >= 0]] = self.squares[value] = 0
        rest = 1 if self._stars[m] else -1
        self.n_groups = split(self._work, self._leaves, self.n_groups, m, value, part_of, values, rest, self.squares)
        if self._stars[m]:
            candidate = int(values[0])
            leaf = candidate - int(self._offset[m])
            self._ranges[m][candidate] = leaf, leaf
            self._open[candidate] = False
            self._class_counts[m][leaf] = 0
            self._score_disclosures(m)
            return
        first, _ = self._ranges[m].pop(value)
        for last, new in zip(self._ends.pop(value).tolist(), values.tolist(), strict=True):
            if new < 0:
                self._empty[m].append((first, last))
            else:
                self._enter(m, new, (first, last))
            first = last + 1
        self._n_used[m] += np.count_nonzero(values >= 0) - 1

    def choice(self) -> Choice:
        """Release the partitions with the values of the cut; ``*`` of disclosed attributes stands behind its leaves."""
        start, stop = self._leaves.bounds[:, : self.n_groups]
        in_order = np.argsort(start)
        group_of = np.empty(len(self._work.rows), np.int64)
        group_of[self._work.rows[:, NUMBER]] = np.repeat(in_order, (stop - start)[in_order])
        ranges = [[*used.values(), *empty] for used, empty in zip(self._ranges, self._empty, strict=True)]
        return release_ranges(self.table, self.domains, group_of[self._row_of], self.n_groups, ranges)


Score = Callable[[Cut, Int64], npt.NDArray[np.float64 | np.int64]]
"""Scores candidates of a cut; only those above 0 are beneficial."""


def gain_per_loss(cut: Cut, candidates: Int64) -> Float64:
    """Score(v) = InfoGain(v) / (AnonyLoss(v) + 1), where AnonyLoss(v) = A(QID) - A_v(QID); 0 where A_v(QID) < k."""
    smallest = cut.smallest[candidates]
    loss = np.maximum(0, cut.anonymity - smallest)
    return np.where(smallest < cut.rule.limits.whole[0, SIZE], 0.0, cut.gain[candidates] / (loss + 1))


def info_gain(cut: Cut, candidates: Int64) -> Float64:
    """Score(v) = InfoGain(v)."""
    return cut.gain[candidates]


def discernibility(cut: Cut, candidates: Int64) -> Int64:
    """Score(v) = sum of |partition|^2 over the partitions that hold v: what they add to the discernibility cost."""
    return cut.squares[candidates]


def specialize(
    table: Table,
    rule: Rule,
    score: Score,
    progress: Progress,
    *,
    classes: tuple[Int32, int] | None = None,
    disclose: bool = False,
) -> Choice:
    """Specialize the best valid and beneficial candidate until there is none.

    Parameters
    ----------
    score
        What makes a candidate good.
    classes
        Class of each row and the number of classes; those of the table by default.
    disclose
        Whether the values of attributes without a taxonomy leave ``*`` one by one, not together.
    """
    cut = Cut(table, rule, classes or table.classes, disclose=disclose)
    n_most = max(1, table.n_rows // int(rule.limits.whole[0, SIZE]))
    while (best := cut.best(score)) is not None:
        progress("specializing", cut.n_groups, max(cut.n_groups, n_most))
        step = cut.step(best)
        if cut.keeps(step):
            cut.specialize(step)
        else:
            cut.drop(best)
    return cut.choice()


def count_classes(table: Table, classes: Int32, n_classes: int) -> list[Int64]:
    """Return how often each class occurs at each leaf, per attribute."""
    n_counts = sum(hierarchy.n_leaves for hierarchy in table.hierarchies) * n_classes
    if n_counts > _MOST_COUNTS:
        fact = f"{n_classes} classes times the values of all quasi-identifiers are {n_counts} counts, too many"
        raise IncompatibleError(fact, "name a target with few classes, or give columns of many values bins")
    if table.weights is not None:
        pairs = [(table.codes[:, m].astype(np.int64) * n_classes + classes, h) for m, h in enumerate(table.hierarchies)]
        return [table.count(pair, h.n_leaves * n_classes).reshape(-1, n_classes) for pair, h in pairs]
    return [
        count_by_group(table.codes[:, m].astype(np.int64), classes, hierarchy.n_leaves, n_classes)
        for m, hierarchy in enumerate(table.hierarchies)
    ]


def _is_flat(table: Table, m: int) -> bool:
    """Tell whether a hierarchy says no more than: a value, or ``*``."""
    lo, hi = table.hierarchies[m].levels()
    return len(lo) > 0 and bool(((lo == hi) | ((lo == 0) & (hi == lo.shape[1] - 1))).all())
