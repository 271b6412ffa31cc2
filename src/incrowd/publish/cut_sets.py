"""Cut sets: single-dimensional generalizations as sets of items, as KOptimal and Iyengar search them.

An item parts values of one attribute: a cut point an ordered domain, an inner node of a taxonomy its children. A set
of items is a recoding of the whole table. It must hold the parent of each of its items, which is the node above; in an
ordered domain with missing values, the cut that parts them from the others, as they join only at the root.
An attribute's values that no item parts are one *atom*. Of an ordered domain with many values, only some cut points
are items: quantiles of the rows.

Costs are the papers' (Bayardo and Agrawal 2005): groups that do not keep the constraints are suppressed. In DM each
row costs the size of its group, a suppressed one the size of the table; in CM each row outside the majority class of
its group costs 1, and each suppressed one. In LM (Iyengar 2002) each cell costs its extent, that of a suppressed row 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.domains import flatten, limits
from incrowd.errors import IncompatibleError
from incrowd.hierarchy import Hierarchy
from incrowd.kernels.cut_sets import CM, DM, N_FOUND, SPLITS, Items, Rows, score_items
from incrowd.kernels.groups import label_groups
from incrowd.kernels.limits import SIZE, groups_hold
from incrowd.losses import cell_loss
from incrowd.privacy import Privacy
from incrowd.publish.global_recoding import Range, release_ranges
from incrowd.publish.group_cuts import distinct_rows
from incrowd.publish.iac import Generalized, Suppression, cells_without
from incrowd.publish.publisher import Choice
from incrowd.recoding import GlobalRecoding

Bools = npt.NDArray[np.bool_]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
GroupLoss = Literal["dm", "cm"]
SetLoss = Literal["dm", "cm", "lm"]

_KERNEL = {"dm": DM, "cm": CM}
_MOST_PARTS = 1 << 26  # entries of the table that says which part of an item each atom is in


class Item(NamedTuple):
    """What parts the values of an attribute.

    Attributes
    ----------
    m
        The attribute.
    starts
        First leaf of each part but the first.
    parent
        The item without which this one parts nothing; -1: none.
    """

    m: int
    starts: tuple[int, ...]
    parent: int


def list_items(table: Table, points: int) -> list[Item]:
    """Return the items of all attributes, parents before their children; of an ordered domain at most so many."""
    found: list[Item] = []
    for m, hierarchy in enumerate(table.hierarchies):
        lo, hi = hierarchy.levels()
        if len(lo):
            _list_nodes(found, m, lo, hi)
        else:
            _list_cuts(found, m, hierarchy, table.marginals[m], points)
    return found


def _list_nodes(found: list[Item], m: int, lo: Int32, hi: Int32) -> None:
    """Add the inner nodes of a tree whose leaves' nodes are [levels x leaves], the root last."""
    pending = [(len(lo) - 1, 0, lo.shape[1] - 1, -1)]
    while pending:
        height, first, last, parent = pending.pop()
        while height > 0 and lo[height - 1, first] == first and hi[height - 1, first] == last:
            height -= 1
        if height == 0:
            continue
        starts = np.unique(lo[height - 1, first : last + 1]).tolist()
        found.append(Item(m, tuple(starts[1:]), parent))
        ends = [*(start - 1 for start in starts[1:]), last]
        parts = [part for part in zip(starts, ends, strict=True) if part[0] < part[1]]
        pending += [(height - 1, *part, len(found) - 1) for part in reversed(parts)]


def _list_cuts(found: list[Item], m: int, hierarchy: Hierarchy, marginal: Int64, points: int) -> None:
    first = int(hierarchy.has_missing)
    parent = -1
    if first and hierarchy.n_leaves > 1:
        found.append(Item(m, (1,), -1))
        parent = len(found) - 1
    starts = np.arange(first + 1, hierarchy.n_leaves)
    if len(starts) > points:
        up_to = np.cumsum(marginal[first:])
        at = np.searchsorted(up_to, np.arange(1, points + 1) * up_to[-1] / (points + 1))
        starts = np.unique(np.minimum(at + first + 1, hierarchy.n_leaves - 1))
    found += [Item(m, (int(start),), parent) for start in starts]


class Score(NamedTuple):
    """What sets of items cost that have one item more than a head: of each tried item, see `score_items`."""

    cost: Floats
    bound: Floats
    impurity: Floats
    splits: Int64
    useless: Bools


@dataclass(frozen=True)
class Head:
    """A set of items, and the groups that it makes.

    Attributes
    ----------
    chosen
        Whether each item is in it.
    members, label, n_groups
        Rows in groups of at least k, and the group of each.
    n_small
        Rows in smaller groups.
    """

    chosen: Bools
    members: Int64
    label: Int64
    n_groups: int
    n_small: int


@dataclass(frozen=True)
class CutSets:
    """A table in the form in which sets of items are judged.

    Attributes
    ----------
    parts
        [items + 1]: the last item parts nothing.
    borders
        Of each attribute, whether each of its items has each of its atoms as the first of a part.
    atom_starts
        First leaf of each atom, per attribute.
    """

    table: Table
    privacy: Privacy
    loss: SetLoss
    items: list[Item]
    parts: Items
    rows: Rows
    borders: list[Bools]
    atom_starts: list[Int64]
    own: list[Int64]
    parents: Int64
    leaves: Bools

    @classmethod
    def of(cls, table: Table, privacy: Privacy, loss: SetLoss, points: int) -> CutSets:
        """Prepare a table."""
        if loss == "cm" and table.classes[1] < 2:
            fact = "The loss 'cm' counts rows outside the majority class of their group, and there are no classes"
            raise IncompatibleError(fact, "name a target or a sensitive column of several values, or use loss='dm'")
        items = list_items(table, points)
        own = [np.array([i for i, item in enumerate(items) if item.m == m], np.int64) for m in range(table.n_quasi)]
        atom_starts, borders = [], []
        for mine in own:
            starts = np.array(sorted({0, *(start for i in mine for start in items[i].starts)}), np.int64)
            border = np.zeros((len(mine), len(starts)), np.bool_)
            for at, i in enumerate(mine):
                border[at, np.searchsorted(starts, items[i].starts)] = True
            atom_starts.append(starts)
            borders.append(border)
        if sum(border.size for border in borders) > _MOST_PARTS:
            fact = f"The {len(items)} cut points and nodes of these hierarchies are too many to search"
            raise IncompatibleError(fact, "give wide columns hierarchies of fewer values, such as bins or prefixes")
        parents = np.array([item.parent for item in items], np.int64)
        leaves = ~np.isin(np.arange(len(items)), parents)
        rows = _distinct(table, privacy, atom_starts)
        return cls(
            table,
            privacy,
            loss,
            items,
            _parts_of(items, own, borders),
            rows,
            borders,
            atom_starts,
            own,
            parents,
            leaves,
        )

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def star(self) -> float:
        """What a suppressed row costs."""
        return float(self.rows.n) if self.loss == "dm" else 1.0

    def open_to(self, chosen: Bools) -> Int64:
        """Return the items that may be added."""
        return np.flatnonzero(~chosen & ((self.parents < 0) | chosen[self.parents]))

    def removable(self, chosen: Bools) -> Int64:
        """Return the items that no other one of the set needs."""
        needed = np.zeros(self.n_items + 1, np.bool_)
        needed[self.parents[chosen]] = True
        return np.flatnonzero(chosen & ~needed[:-1])

    def closed(self, chosen: Bools) -> Bools:
        """Return a set without the items whose parents it has not."""
        kept = chosen.copy()
        for i in np.flatnonzero(chosen & (self.parents >= 0)):  # parents come first
            kept[i] = kept[self.parents[i]]
        return kept

    def with_descendants(self, chosen: Bools, more: Iterable[int]) -> Bools:
        """Return all items that are in a set, or among some more, or need one of those more."""
        found = np.zeros(self.n_items, np.bool_)
        found[list(more)] = True
        for i in np.flatnonzero(self.parents >= 0):
            found[i] |= found[self.parents[i]]
        return found | chosen

    def labels(self, chosen: Bools) -> tuple[Int64, int]:
        """Return the group of each distinct row."""
        values = np.empty_like(self.rows.atoms)
        for m, (mine, border) in enumerate(zip(self.own, self.borders, strict=True)):
            part = np.cumsum(border[chosen[mine]].any(axis=0)).astype(np.int32)
            values[:, m] = part[self.rows.atoms[:, m]]
        return label_groups(values)

    def head(self, chosen: Bools) -> Head:
        """Return a set with its groups, without those that are too small already."""
        label, n_groups = self.labels(chosen)
        sizes = np.bincount(label, self.rows.weights, n_groups).astype(np.int64)
        large = sizes >= self.privacy.limits().size
        number = np.cumsum(large) - 1
        members = np.flatnonzero(large[label])
        n_small = int(sizes[~large].sum())
        return Head(chosen, members, number[label[members]], int(large.sum()), n_small)

    def score(self, head: Head, tried: Int64, floors: Floats | None = None) -> Score:
        """Return what the head costs with each of some items; item number `n_items` is none."""
        found = np.empty((len(tried), N_FOUND))
        least = np.zeros(len(self.rows.weights)) if floors is None else floors
        bounds = limits(self.privacy, self.table)
        score_items(
            self.rows, self.parts, tried, head.members, head.label, head.n_groups, least, bounds,
            _KERNEL[self.loss], found,
        )  # fmt: skip
        gone = head.n_small * self.star
        cost, bound, impurity = found[:, 0] + gone, found[:, 1] + gone, found[:, 2] + head.n_small
        return Score(cost, bound, impurity, found[:, SPLITS].astype(np.int64), found[:, -1] > 0)

    def itself(self, head: Head, floors: Floats | None = None) -> Score:
        """Return what the head costs as it is."""
        return self.score(head, np.array([self.n_items]), floors)

    def total(self, chosen: Bools) -> float:
        """Return what a set costs; in LM the sum over all cells, and a suppressed row costs as much as ``*`` does."""
        if self.loss != "lm":
            return float(self.itself(self.head(chosen)).cost[0])
        label, n_groups = self.labels(chosen)
        sizes = np.bincount(label, self.rows.weights, n_groups).astype(np.int64)
        counts = np.zeros((n_groups, self.rows.n_values), np.int64)
        if self.rows.n_values:
            np.add.at(counts, (label, self.rows.values), self.rows.weights)
        keeps = groups_hold(counts, sizes, limits(self.privacy, self.table))[label]
        lost = np.zeros(len(label))
        for m, ranges in enumerate(self._ranges(chosen)):
            first, last = (np.array(ends, np.int32) for ends in zip(*ranges, strict=True))
            of_range = cell_loss("lm", self.table.hierarchies[m], self.table.marginals[m], first, last)
            at = np.searchsorted(first, self.atom_starts[m], side="right") - 1
            lost += of_range[at][self.rows.atoms[:, m]]
        return float((np.where(keeps, lost, self.table.n_quasi) * self.rows.weights).sum())

    def floors(self, chosen: Bools) -> Floats:
        """Return what each distinct row costs at least, all copies together, in any subset of a set of items.

        In DM its group is at least as large as here, and at least k; in CM at least the rows outside the majority
        class of each group here are outside that of theirs.
        """
        label, n_groups = self.labels(chosen)
        weights = self.rows.weights
        if self.loss == "dm":
            sizes = np.bincount(label, weights, n_groups)
            return np.asarray(weights * np.maximum(sizes[label], self.privacy.limits().size), np.float64)
        counts = np.zeros((n_groups, self.rows.n_classes))
        np.add.at(counts, (label, self.rows.classes), weights)
        return np.where(self.rows.classes == counts.argmax(axis=1)[label], 0.0, weights)

    def choice(self, chosen: Bools, numbers: dict[str, float | int | None]) -> Choice:
        """Return the cells of a set of items: groups that do not keep the constraints become ``*``.

        Suppressed rows must keep them as well; until they do, the smallest groups join them.
        """
        table, ranges = self.table, self._ranges(chosen)
        codes = np.empty_like(table.codes)
        for m, pieces in enumerate(ranges):
            starts = np.array([first for first, _ in pieces])
            codes[:, m] = np.searchsorted(starts, table.codes[:, m], side="right")
        group_of, n_groups = label_groups(codes)
        found = release_ranges(table, flatten(table.hierarchies), group_of, n_groups, ranges)
        assert isinstance(found.recoding, GlobalRecoding)
        sizes = np.bincount(group_of, minlength=n_groups)
        generalized = Generalized(table, (), found.recoding, group_of, found.lo, found.hi, sizes)
        suppression = Suppression.of(generalized, self.privacy)
        n_gone = suppression.at(int(limits(self.privacy, table).whole[0, SIZE]))
        lo, hi, cell_of = cells_without(generalized, suppression.order[n_gone:])
        numbers = {"star_rows": int(suppression.rows[n_gone]), **numbers}
        return replace(found, lo=lo, hi=hi, cell_of=cell_of, numbers=numbers)

    def _ranges(self, chosen: Bools) -> list[list[Range]]:
        """Return the range of leaves of each value of a recoding, per attribute."""
        found = []
        for m, (mine, border) in enumerate(zip(self.own, self.borders, strict=True)):
            begins = np.flatnonzero(border[chosen[mine]].any(axis=0))
            starts = self.atom_starts[m][np.union1d([0], begins)].tolist()
            ends = [*(start - 1 for start in starts[1:]), self.table.hierarchies[m].n_leaves - 1]
            found.append(list(zip(starts, ends, strict=True)))
        return found


def _parts_of(items: list[Item], own: list[Int64], borders: list[Bools]) -> Items:
    """Lay out which part of each item an atom is in; one more item has one part."""
    n_atoms = [border.shape[1] for border in borders]
    part_of = [np.cumsum(border, axis=1, dtype=np.int32).ravel() for border in borders]
    start, at = np.zeros(len(items) + 1, np.int64), 0
    for m, mine in enumerate(own):
        start[mine] = at + np.arange(len(mine)) * n_atoms[m]
        at += len(mine) * n_atoms[m]
    start[-1] = at
    part_of.append(np.zeros(max(n_atoms), np.int32))
    attribute = np.array([*(item.m for item in items), int(np.argmax(n_atoms))], np.int64)
    n_parts = np.array([*(len(item.starts) + 1 for item in items), 1], np.int64)
    return Items(attribute, n_parts, start, np.concatenate(part_of))


def _distinct(table: Table, privacy: Privacy, atom_starts: list[Int64]) -> Rows:
    """Return the distinct rows by atoms, class and, if the constraints look at it, sensitive value."""
    atoms = np.empty_like(table.codes)
    for m, starts in enumerate(atom_starts):
        atoms[:, m] = np.searchsorted(starts, table.codes[:, m], side="right") - 1
    classes, n_classes = table.classes
    about = privacy.about_sensitive and table.sensitive is not None
    coded = replace(table, codes=np.asfortranarray(atoms))
    found, _ = distinct_rows(coded, [classes, table.sensitive if about else None], strict=True)
    n = table.n_quasi
    return Rows(
        np.asfortranarray(found[:, :n]), found[:, n + 2].astype(np.int64), found[:, n].copy(), found[:, n + 1].copy(),
        table.n_rows, n_classes, table.n_values if about else 0,
    )  # fmt: skip
