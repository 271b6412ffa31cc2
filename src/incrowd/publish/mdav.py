"""Microaggregation (MDAV): groups of k near rows, whose numbers may then be published as means.

Idea (Domingo-Ferrer and Mateo-Sanz 2002, in the generic form of Domingo-Ferrer and Torra 2005): the row farthest from
the middle of the table and its k - 1 nearest are a group, and so are the row farthest from that one and its nearest;
so on with what is left, until fewer than 3 k rows are. The distance adds up squares: of numbers and dates, each in
standard deviations of its column; of names, 1 where they differ. The middle of names is the most frequent one.

With `class_weight` the class is one more name of that weight, so that rows of one class come together.

Guarantee: every group keeps k and whatever else was asked for. Cost: n^2 M / k.
When to use it: a few thousand rows whose quasi-identifiers are numbers that should stay numbers; `RowRelease.means`
then shows their means in place of ranges. For ranges of least loss use `TightGroups`, for classifiers `BestCuts`.

Where we are on our own: MDAV knows k only. A group that does not keep the other limits is joined with the nearest one
with which it does (of the 32 nearest; else with the nearest), until all keep them. Of rows equally far the first in
the order of values is taken.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"age": [21, 22, 23, 61, 62, 66], "pay": [10, 12, 11, 40, 41, 45]})
>>> schema = ic.Schema(quasi={"age": ic.Intervals(), "pay": ic.Intervals()})
>>> release = ic.Microaggregation(k=3).publish(people, schema, seed=1)
>>> release.means(people).unique().sort("age").rows()
[(22.0, 11.0), (63.0, 42.0)]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.domains import flatten, limits
from incrowd.errors import ParameterError
from incrowd.kernels.domains import close_groups
from incrowd.kernels.groups import count_by_group
from incrowd.kernels.limits import groups_hold
from incrowd.privacy.constraint import is_number
from incrowd.publish.publisher import Choice, GroupPublisher, Progress

Int64 = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Microaggregation(GroupPublisher):
    """Groups of k near rows, whose numbers may be published as means.

    Parameters
    ----------
    k, l, l_kind, c, t, ordered, alpha
        What every group keeps: see `GroupPublisher`.
    class_weight
        What two rows of different classes are apart, as a distance: 0 does not look at the class, 1 counts it like a
        name, more forms groups of one class where it can.
    """

    class_weight: float = 0.0

    name: ClassVar[str] = "mdav"
    paper: ClassVar[str] = "Domingo-Ferrer and Torra 2005"
    kind: ClassVar[str] = "local, clusters"
    cost: ClassVar[str] = "n^2 M / k"

    def __post_init__(self) -> None:
        weight = self.class_weight
        if not is_number(weight) or not (weight == 0 or _LIGHTEST <= weight <= _HEAVIEST):
            fact = f"class_weight is {weight!r}"
            raise ParameterError(fact, f"use 0, or a number from {_LIGHTEST:g} to {_HEAVIEST:g}")
        super().__post_init__()

    def choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells."""
        del rng
        places = Places.of(table, float(self.class_weight))
        groups = join_failing(table, places, form_groups(places, int(self.k), progress), self)
        cell_of = np.empty(table.n_rows, np.int64)
        for number, rows in enumerate(groups):
            cell_of[rows] = number
        lo, hi = close_groups(table.codes, cell_of, len(groups), flatten(table.hierarchies))
        return Choice(lo, hi, cell_of)


_LIGHTEST, _HEAVIEST = 1e-12, 1e9
_MOST_TRIED = 32


@dataclass(frozen=True)
class Places:
    """Where rows are.

    Attributes
    ----------
    numbers
        Numbers and dates in standard deviations, [rows x columns]; a missing one is in the middle.
    names
        Codes of names, [rows x columns].
    weights
        What two different names of a column are apart, squared.
    order
        The rows in the order of their values.
    """

    numbers: Floats
    names: Int64
    weights: Floats
    order: Int64

    @classmethod
    def of(cls, table: Table, class_weight: float) -> Places:
        """Look at the rows of a table."""
        numbers, names, weights = [], [], []
        for m, hierarchy in enumerate(table.hierarchies):
            if not hierarchy.ordered:
                names.append(table.codes[:, m].astype(np.int64))
                weights.append(1.0)
                continue
            own = hierarchy.pos[table.codes[:, m]].astype(np.float64)
            known = table.codes[:, m] > 0 if hierarchy.has_missing else np.ones(len(own), np.bool_)
            spread = float(own[known].std()) if known.any() else 0.0
            middle = float(own[known].mean()) if known.any() else 0.0
            numbers.append(np.where(known, (own - middle) / spread, 0.0) if spread > 0 else np.zeros(len(own)))
            names.append((~known).astype(np.int64))  # a missing number is a name of its own
            weights.append(1.0)
        classes = table.classes[0].astype(np.int64)
        if class_weight > 0:
            names.append(classes)
            weights.append(class_weight**2)
        n = table.n_rows
        order = np.lexsort((classes, *table.codes.T[::-1]))
        shape = np.column_stack(numbers) if numbers else np.zeros((n, 0))
        return cls(shape, np.column_stack(names), np.array(weights), order)

    def middle(self, rows: Int64) -> tuple[Floats, Int64]:
        """Return the mean of numbers and the most frequent of each column's names."""
        return self.numbers[rows].mean(axis=0), np.array([np.bincount(own).argmax() for own in self.names[rows].T])

    def distances(self, rows: Int64, place: tuple[Floats, Int64]) -> Floats:
        """Return the squared distance of rows from a place; rounded, so that equal ones are equal."""
        far = ((self.numbers[rows] - place[0]) ** 2).sum(axis=1)
        return np.asarray((far + (self.names[rows] != place[1]) @ self.weights).round(9))

    def at(self, row: int) -> tuple[Floats, Int64]:
        """Return the place of a row."""
        return self.numbers[row], self.names[row]


def form_groups(places: Places, k: int, progress: Progress) -> list[Int64]:
    """Return groups of k rows; the last one of up to 2 k - 1."""
    left, groups, n = places.order, [], len(places.order)

    def take(row: int) -> None:
        nonlocal left
        near = np.argsort(places.distances(left, places.at(row)), kind="stable")
        own = np.zeros(len(left), np.bool_)
        own[near[:k]] = True
        groups.append(left[own])
        left = left[~own]

    while len(left) >= 3 * k:
        progress("grouping", n - len(left), n)
        first = int(left[places.distances(left, places.middle(left)).argmax()])
        second_from = places.at(first)
        take(first)
        take(int(left[places.distances(left, second_from).argmax()]))
    if len(left) >= 2 * k:
        take(int(left[places.distances(left, places.middle(left)).argmax()]))
    progress("grouping", n, n)
    return [*groups, left] if len(left) else groups


def join_failing(table: Table, places: Places, groups: list[Int64], asked: GroupPublisher) -> list[Int64]:
    """Join groups that do not keep what was asked for with the nearest ones, until all do."""
    privacy = asked.privacy()
    if not privacy.about_sensitive or table.sensitive is None:
        return groups
    bounds, groups = limits(privacy, table), list(groups)

    def keep(some: list[Int64]) -> npt.NDArray[np.bool_]:
        rows, sizes = np.concatenate(some), np.array([len(own) for own in some])
        number = np.repeat(np.arange(len(some)), sizes)
        counts = count_by_group(number, table.sensitive[rows], len(some), table.n_values)  # type: ignore[index]
        return np.asarray(groups_hold(counts, sizes, bounds))

    fine = keep(groups).tolist()
    middles = [places.middle(own) for own in groups]
    while not all(fine) and len(groups) > 1:
        at = fine.index(False)
        far = [_apart(places, middles[at], other) if g != at else np.inf for g, other in enumerate(middles)]
        nearest = np.argsort(far, kind="stable")[: min(_MOST_TRIED, len(groups) - 1)].tolist()
        unions = [np.concatenate([groups[at], groups[near]]) for near in nearest]
        tried = keep(unions)
        chosen = int(np.argmax(tried)) if tried.any() else 0
        near, union = nearest[chosen], unions[chosen]
        for gone in sorted((at, near), reverse=True):
            del groups[gone], fine[gone], middles[gone]
        groups.append(union)
        fine.append(bool(tried[chosen]))
        middles.append(places.middle(union))
    return groups


def _apart(places: Places, one: tuple[Floats, Int64], other: tuple[Floats, Int64]) -> float:
    return round(float(((one[0] - other[0]) ** 2).sum() + (one[1] != other[1]) @ places.weights), 9)
