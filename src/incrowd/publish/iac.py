"""What IACk and IACc share: the best level of each attribute, the order of suppression, and what that changes.

Levels are numbered as in the paper: 1 is the root, h the values themselves. `Taxonomy` has levels of its own.
`Intervals` have none, and get those of a balanced binary tree over their values, as in Fig. 1 of the paper (and as
`incrowd.balanced` with two branches builds it); its nodes are ranges and so legal cells. A missing value is a leaf of
its own at every level but the root.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.domains import limits
from incrowd.hierarchy import Hierarchy
from incrowd.hierarchy.hierarchy import Codes
from incrowd.kernels.groups import count_by_group, label_groups
from incrowd.kernels.limits import SIZE, Limits, groups_hold, unions_hold
from incrowd.losses import information_of_sums, normalized_divergence
from incrowd.privacy import Privacy
from incrowd.publish.publisher import Choice, Progress
from incrowd.recoding import GlobalRecoding

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

SAME = 1e-9
"""Information and divergences that differ by less are equal: they are sums of rounded logarithms."""

_FEW_COUNTS = 1 << 16


def n_levels(hierarchy: Hierarchy) -> int:
    """Return h, the number of levels, leaves and root counted."""
    return len(hierarchy.levels()[0]) or _n_inner(hierarchy) + 2


def level_bounds(hierarchy: Hierarchy, level: int) -> tuple[Codes, Codes]:
    """Return the first and the last leaf of each leaf's value at a level, 1 (the root) to h (the leaves)."""
    height, (lo, hi) = n_levels(hierarchy) - level, hierarchy.levels()
    if len(lo):
        return lo[height], hi[height]
    n_leaves, first = hierarchy.n_leaves, int(hierarchy.has_missing)
    if level == 1:
        return np.zeros(n_leaves, np.int32), np.full(n_leaves, n_leaves - 1, np.int32)
    leaves = np.arange(n_leaves, dtype=np.int32)
    if height == 0:
        return leaves, leaves
    n_known, n_nodes = n_leaves - first, 1 << (level - 1)
    starts = np.arange(n_nodes) * n_known // n_nodes + first
    ends = np.append(starts[1:], n_leaves)
    lo, hi = leaves.copy(), leaves.copy()
    lo[first:] = np.repeat(starts, ends - starts)
    hi[first:] = np.repeat(ends - 1, ends - starts)
    return lo, hi


def _n_inner(hierarchy: Hierarchy) -> int:
    """Return the number of levels of 2, 4, 8 ... nodes that are fewer than the values."""
    n_known = hierarchy.n_leaves - int(hierarchy.has_missing)
    return max((n_known - 1).bit_length() - 1, 0)


class Pairs(NamedTuple):
    """How many rows have each (value, class) that occurs: a table that stays small with many of both."""

    value: Int64
    label: Int64
    rows: Float64

    def information(self) -> float:
        """Return I_N(A; C)."""
        return information_of_sums(_sums(self.value, self.rows), _sums(self.label, self.rows), self.rows)


def count_pairs(value: npt.NDArray[np.integer], label: npt.NDArray[np.integer], rows: Float64 | None = None) -> Pairs:
    """Count pairs of codes, each with its number of rows (one if not given)."""
    n_labels = int(label.max()) + 1
    key = value.astype(np.int64) * n_labels + label
    n_keys = (int(value.max()) + 1) * n_labels
    if n_keys <= max(_FEW_COUNTS, 4 * len(key)):
        counts = _sums(key, rows)
        found = np.flatnonzero(counts)
        return Pairs(found // n_labels, found % n_labels, counts[found])
    found, at = np.unique(key, return_inverse=True)
    return Pairs(found // n_labels, found % n_labels, _sums(at, rows))


def _sums(at: npt.NDArray[np.integer], rows: Float64 | None, n: int = 0) -> Float64:
    return np.asarray(np.bincount(at, rows, n), np.float64)


def _weights(table: Table) -> Float64 | None:
    return None if table.weights is None else table.weights.astype(np.float64)


def level_information(table: Table, m: int) -> list[float]:
    """Return I_N of an attribute at each level, the root first (Alg. 1, line 2)."""
    leaves = count_pairs(table.codes[:, m], table.classes[0], _weights(table))
    found = []
    for level in range(1, n_levels(table.hierarchies[m]) + 1):
        lo, _ = level_bounds(table.hierarchies[m], level)
        found.append(count_pairs(lo[leaves.value], leaves.label, leaves.rows).information())
    return found


def best_level(information: list[float]) -> int:
    """Return the level of the highest I_N; of equal ones the nearest to the leaves (Alg. 1, line 3).

    Without a peak, for instance when no level tells anything about the class, that is the leaves: not generalized.
    """
    top = max(information) - SAME
    return max(level for level, found in enumerate(information, start=1) if found >= top)


@dataclass(frozen=True)
class Generalized:
    """A table at one level per attribute (the paper's D' at the best ones), with its groups.

    Attributes
    ----------
    levels
        The level of each attribute, 1 the root.
    recoding
        The value of each leaf at that level.
    group_of
        The group of each row.
    lo, hi
        Cells of each group, int32 [groups x quasi].
    sizes
        Rows of each group.
    """

    table: Table
    levels: tuple[int, ...]
    recoding: GlobalRecoding
    group_of: Int64
    lo: Codes
    hi: Codes
    sizes: Int64


def generalize(table: Table, progress: Progress) -> Generalized:
    """Bring every attribute to its best level, and form groups of equal rows (Alg. 1, lines 1-7)."""
    levels = []
    for m in range(table.n_quasi):
        progress("generalizing", m, table.n_quasi)
        levels.append(best_level(level_information(table, m)))
    progress("generalizing", table.n_quasi, table.n_quasi)
    return at_levels(table, levels)


def at_levels(table: Table, levels: Sequence[int]) -> Generalized:
    """Bring every attribute to a level, and form groups of equal rows."""
    values = np.empty_like(table.codes)
    lo_of, hi_of = [], []
    for m, hierarchy in enumerate(table.hierarchies):
        lo, hi = level_bounds(hierarchy, levels[m])
        values[:, m] = lo[table.codes[:, m]]
        lo_of.append(lo)
        hi_of.append(hi)
    group_of, n_groups = label_groups(values)
    some_row = np.empty(n_groups, np.int64)
    some_row[group_of] = np.arange(len(group_of))
    recoding = GlobalRecoding(tuple(lo_of), tuple(hi_of))
    cells = recoding.cells(table.codes[some_row], table.hierarchies)
    return Generalized(table, tuple(levels), recoding, group_of, *cells, table.count(group_of, n_groups))


@dataclass(frozen=True)
class Suppression:
    """Groups in the order in which they are suppressed: what is suppressed is always a beginning of it.

    First the groups that do not keep l, t or alpha, whatever k is; then the others from small to large, equal ones
    in the order of their cells. The suppressed rows are a group themselves, of cells ``*``: it must keep the
    constraints too, and grows by the next groups until it does.

    Attributes
    ----------
    order
        Groups.
    n_failing
        Number of groups that have to be suppressed for any k.
    sizes
        Rows of the groups, in this order.
    rows
        Rows of the first 0, 1, 2, ... groups.
    together
        Whether the first 0, 1, 2, ... groups, made one, keep l, t and alpha.
    """

    order: Int64
    n_failing: int
    sizes: Int64
    rows: Int64
    together: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, generalized: Generalized, privacy: Privacy, bounds: Limits | None = None) -> Suppression:
        """Order the groups of a table by what this privacy asks for besides k.

        `bounds` are the limits of the whole table that this one may be a part of; by default its own.
        """
        table, n_groups = generalized.table, len(generalized.sizes)
        bounds = bounds or limits(privacy, table)
        asked = bounds.whole.copy()
        asked[0, SIZE] = 1
        bounds = bounds._replace(whole=asked)
        counts = np.zeros((n_groups, 0), np.int64)
        if privacy.about_sensitive and table.sensitive is not None:
            counts = _count_by_group(table, generalized.group_of, n_groups)
        keeps = groups_hold(counts, generalized.sizes, bounds)
        order = np.lexsort((*generalized.lo.T[::-1], generalized.sizes, keeps))
        sizes = generalized.sizes[order]
        together = unions_hold(counts, generalized.sizes, order, bounds)
        n_failing = n_groups - int(keeps.sum())
        return cls(order, n_failing, sizes, np.append(0, np.cumsum(sizes)), np.append(True, together))

    def at(self, k: int) -> int:
        """Return how many groups are suppressed for k (Alg. 1, line 8), at most the number of rows."""
        first = self.n_failing + int(np.searchsorted(self.sizes[self.n_failing :], k))
        if first == 0:
            return 0
        enough = self.together[first:] & (self.rows[first:] >= k)
        return first + int(np.argmax(enough))  # the table as a whole keeps everything, or it was refused

    def smaller_than(self, k: int) -> int:
        """Return how many groups have fewer than k rows (Alg. 1, line 8, to the letter); nothing but k is asked for."""
        return int(np.searchsorted(self.sizes, k))

    def largest_k(self, n_groups: int) -> int:
        """Return the largest k that the table keeps when so many groups are suppressed."""
        smallest = self.sizes[n_groups:][:1].tolist()
        return int(min(smallest + ([self.rows[n_groups]] if n_groups else [])))

    def steps(self) -> Iterator[int]:
        """Yield what is suppressed for k = 1 and each larger k that asks for more (Alg. 2, lines 5-8)."""
        k, n_rows = 1, int(self.rows[-1])
        while k <= n_rows:
            yield (n_groups := self.at(k))
            k = self.largest_k(n_groups) + 1


def _count_by_group(table: Table, group_of: Int64, n_groups: int) -> Int64:
    assert table.sensitive is not None
    if table.weights is None:
        return count_by_group(group_of, table.sensitive, n_groups, table.n_values)
    return table.count(group_of * table.n_values + table.sensitive, n_groups * table.n_values).reshape(n_groups, -1)


class Change(NamedTuple):
    """What suppressing the first groups of an order does.

    Attributes
    ----------
    n_groups, n_rows
        Groups and rows suppressed.
    information
        I_N(A''; C) of each attribute, without the suppressed rows.
    changes
        Its absolute difference from I_N(A'; C).
    divergences
        D_N(A' || A'') of each attribute, where a value that is gone counts as one row that is left.
    gone
        Number of values of each attribute whose rows are all suppressed. By the formula alone one such value makes D_N
        infinite; the paper's largest D_N (section 4) and its Fig. 3 are finite, and leave one row of each value.
    """

    n_groups: int
    n_rows: int
    information: list[float]
    changes: list[float]
    divergences: list[float]
    gone: list[int]

    @property
    def alpha(self) -> float:
        """The paper's alpha: the largest change of I_N."""
        return max(self.changes)

    @property
    def beta(self) -> float:
        """The paper's beta: the largest D_N."""
        return max(self.divergences)


class _Attribute:
    """Value and class counts of one attribute, while rows are suppressed."""

    def __init__(self, value: Codes, label: Int64, rows: Float64, *, is_root: bool) -> None:
        n_labels = int(label.max()) + 1
        key, self.pair_of = np.unique(value.astype(np.int64) * n_labels + label, return_inverse=True)
        self.label = key % n_labels
        self.value = np.unique(key // n_labels, return_inverse=True)[1]
        self.rows = _sums(self.pair_of, rows)
        self.before = _sums(self.value, self.rows)
        self.information_before = self.information()
        self.is_root = is_root

    def suppress(self, entries: slice, rows: Float64) -> None:
        """Take rows away."""
        self.rows -= _sums(self.pair_of[entries], rows, len(self.rows))

    def information(self) -> float:
        """Return I_N of the rows that are left."""
        return Pairs(self.value, self.label, self.rows).information()

    def divergence(self, n_suppressed: int) -> tuple[float, int]:
        """Return D_N, and the number of values that are gone, each of which counts as one row that is left.

        The only value of a domain is the root, and suppressing it changes nothing. The only value that occurs, of a
        domain that has others, has no divergence either, but may be gone.
        """
        if self.is_root:
            return 0.0, 0
        after = _sums(self.value, self.rows)
        n_gone = int((after == 0).sum())
        after = np.append(np.maximum(after, 1), n_suppressed - n_gone)
        return normalized_divergence(np.append(self.before, 0), after), n_gone


def changes(generalized: Generalized, suppression: Suppression, steps: Iterable[int]) -> Iterator[Change]:
    """Yield what each step changes; steps are increasing numbers of suppressed groups (Alg. 1, lines 9-10)."""
    table = generalized.table
    pairs = count_pairs(generalized.group_of, table.classes[0], _weights(table))
    place = np.empty(len(suppression.order), np.int64)
    place[suppression.order] = np.arange(len(place))
    by_place = np.argsort(place[pairs.value], kind="stable")
    group, label, rows = pairs.value[by_place], pairs.label[by_place], pairs.rows[by_place]
    attributes = [
        _Attribute(generalized.lo[group, m], label, rows, is_root=hierarchy.n_leaves == 1)
        for m, hierarchy in enumerate(table.hierarchies)
    ]
    place, done = place[group], 0
    for n_groups in steps:
        entries = slice(done, int(np.searchsorted(place, n_groups)))
        done = entries.stop
        for attribute in attributes:
            attribute.suppress(entries, rows[entries])
        n_rows = int(suppression.rows[n_groups])
        left = [attribute.information() for attribute in attributes]
        changed = [abs(x - attribute.information_before) for x, attribute in zip(left, attributes, strict=True)]
        divergences, gone = zip(*(attribute.divergence(n_rows) for attribute in attributes), strict=True)
        yield Change(n_groups, n_rows, left, changed, list(divergences), list(gone))


def choice(generalized: Generalized, suppression: Suppression, change: Change, privacy: Privacy) -> Choice:
    """Return cells: those of the groups that are left, and one of ``*`` only for all suppressed rows."""
    lo, hi, cell_of = cells_without(generalized, suppression.order[change.n_groups :])
    numbers: dict[str, float | int] = {
        "star_rows": change.n_rows,
        "information_change": change.alpha,
        "divergence": change.beta,
        "values_gone": sum(change.gone),
    }
    return Choice(lo, hi, cell_of, recoding=generalized.recoding, privacy=privacy, numbers=numbers)


def cells_without(generalized: Generalized, kept: Int64) -> tuple[Codes, Codes, Int64]:
    """Return the cells of the groups that are kept, one of ``*`` only for all other rows, and the cell of each row."""
    kept = np.sort(kept)
    cell_of_group = np.full(len(generalized.sizes), len(kept), np.int64)
    cell_of_group[kept] = np.arange(len(kept))
    lo, hi = generalized.lo[kept], generalized.hi[kept]
    if len(kept) < len(generalized.sizes):
        root = np.array([[hierarchy.n_leaves - 1 for hierarchy in generalized.table.hierarchies]], np.int32)
        lo, hi = np.concatenate([lo, np.zeros_like(root)]), np.concatenate([hi, root])
    return lo, hi, cell_of_group[generalized.group_of]
