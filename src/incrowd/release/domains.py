"""Published domains: what a manifest tells about the values of a quasi-identifier.

By default no value and no count is told that fewer than k rows share (*joined* domains). Numbers and dates are told by
cut points that are no values of the table; rare values of a taxonomy are joined in their closest ancestor, rare names
of an order with their neighbours; counts are rounded at random to multiples of k. Cells stay as they are, except that
cells of ordered names are widened to the names that were joined. ``exact`` domains list everything.

What is kept by the owner (`ExactDomain`) leads from the original's values to the published leaves.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.errors import InputError
from incrowd.hierarchy import Hierarchy, Intervals, Taxonomy
from incrowd.hierarchy.hierarchy import Codes, Floats, leaves_from_data, leaves_to_data, text
from incrowd.manifest import Leaves, Quasi, Ranges
from incrowd.release.atoms import Atoms, after, numbers_of
from incrowd.release.cut_points import cut_points, draw_size, starts_of
from incrowd.release.node_names import OTHERS, name_together, without_rare_names

Int64 = npt.NDArray[np.int64]

_REST = " (rest)"
_TRIES = 100
_HALVES = 2**52  # below it, halves of whole numbers can be written as floats
_FIRST = {"int": -(2**63) + 1, "float": -math.inf, "date": date.min.toordinal() - date(1970, 1, 1).toordinal()}
_LAST = {"int": 2**63 - 1, "float": math.inf, "date": date(9999, 12, 31).toordinal() - date(1970, 1, 1).toordinal()}


@dataclass(frozen=True)
class ExactDomain:
    """What the owner keeps of a quasi-identifier: all its leaves, how often each occurs, and where it was published.

    Attributes
    ----------
    leaf_of
        The published leaf of each leaf; ``None`` for numbers and dates, which speak for themselves.
    """

    hierarchy: Hierarchy
    counts: Int64
    leaf_of: Codes | None

    def cells(self, published: Hierarchy, lo: Codes, hi: Codes) -> tuple[Codes, Codes]:
        """Return published cells in leaves of the exact hierarchy."""
        if self.leaf_of is None:
            ends = published.ends if isinstance(published, Atoms) else published.leaves
            first, last = published.leaves[lo], ends[hi]
            return self.hierarchy.encode(first), self.hierarchy.encode(last)
        key = lo.astype(np.int64) * published.n_leaves + hi
        distinct, inverse = np.unique(key, return_inverse=True)
        exact = np.empty((len(distinct), 2), np.int32)
        for number, (a, b) in enumerate(zip(*divmod(distinct, published.n_leaves), strict=True)):
            inside = np.flatnonzero((self.leaf_of >= a) & (self.leaf_of <= b))
            exact[number] = inside[0], inside[-1]
        return exact[inverse, 0], exact[inverse, 1]

    def published(self, published: Hierarchy, lo: Codes, hi: Codes) -> tuple[Codes, Codes]:
        """Return cells of the exact hierarchy in the published leaves that hold them."""
        if self.leaf_of is not None:
            return _published_cells(self.leaf_of, lo, hi)
        first, last = (published.encode(self.hierarchy.leaves.gather(end)) for end in (lo, hi))
        # a value that no row has may lie outside of what was published
        last_leaf = np.int32(published.n_leaves - 1)
        return np.where(first < 0, np.int32(0), first), np.where(last < 0, last_leaf, last)


@dataclass(frozen=True)
class Domain:
    """A quasi-identifier as it is published.

    Attributes
    ----------
    entry
        What the manifest says.
    hierarchy
        The published leaves.
    weights
        How often each of them occurs, about.
    """

    entry: Quasi
    hierarchy: Hierarchy
    weights: Floats

    @property
    def rest(self) -> tuple[int, ...]:
        """The leaves that stand for several values of a list."""
        return self.entry.rest if isinstance(self.entry, Leaves) else ()

    @property
    def drawn_names(self) -> pl.Series:
        """The leaves as samples show them: where a leaf joins one name with others that are not told, that name."""
        leaves = self.hierarchy.leaves
        if not self.rest or leaves.dtype != pl.String:
            return leaves
        known = set(leaves.to_list())
        named = leaves.to_list()
        for leaf in self.rest:
            name = str(named[leaf]).removesuffix(OTHERS)
            if name != named[leaf] and "|" not in name and name not in known:
                named[leaf] = name
        return pl.Series(leaves.name, named, pl.String())


def publish_domain(
    name: str, exact: Hierarchy, counts: Int64, lo: Codes, hi: Codes, *, least: int, rng: np.random.Generator | None
) -> tuple[Domain, Codes, Codes, ExactDomain]:
    """Return a published domain, cells in its leaves, and what the owner keeps.

    Parameters
    ----------
    exact
        The hierarchy that the cells were chosen in.
    counts
        Rows that have each of its leaves.
    lo, hi
        The cells.
    least
        Rows that must share whatever is told.
    rng
        Rounds counts; ``None`` tells everything exactly.
    """
    if isinstance(exact, Intervals) and exact.ordered:
        entry: Quasi = _ranges(name, exact, counts, least, rng)
        domain, first, last = read_ranges(entry, exact.leaves[lo], exact.leaves[hi])
        return domain, first, last, ExactDomain(exact, counts, None)
    if rng is None:
        joined = [_Leaf(name, i, 0) for i, name in enumerate(text(exact.leaves))]
        number_of = np.arange(exact.n_leaves)
    elif isinstance(exact, Intervals):
        joined, number_of = _join_names(exact, counts, least, rng)
    else:
        assert isinstance(exact, Taxonomy)
        exact = without_rare_names(exact, counts, least)
        joined, number_of = _join_tree(exact, counts, least)
    hierarchy, order = _assemble(exact, joined, rng)
    place_of = np.empty(len(joined), np.int32)
    place_of[order] = np.arange(len(joined), dtype=np.int32)
    leaf_of = place_of[number_of]
    totals = np.bincount(leaf_of, weights=counts, minlength=len(joined)).astype(np.int64)
    told = totals if rng is None else rounded(totals, least, rng)
    entry = Leaves(
        name=name,
        kind="names" if isinstance(exact, Intervals) else "taxonomy",
        type=exact.type,
        leaves=tuple(_whole(leaf) if exact.type == "int" else leaf for leaf in leaves_to_data(hierarchy.leaves)),
        levels=tuple(map(tuple, hierarchy.level_names[1:])) if isinstance(hierarchy, Taxonomy) else None,
        rest=tuple(place for place, number in enumerate(order) if joined[number].is_rest),
        counts=tuple(told.tolist()),
    )
    domain = Domain(entry, hierarchy, np.asarray(told, np.float64))
    return domain, *_published_cells(leaf_of, lo, hi), ExactDomain(exact, counts, leaf_of)


def _whole(leaf: float | None) -> float | None:
    """Write a whole number as one; beside joined leaves, which are none, it is a float."""
    return int(leaf) if leaf is not None and float(leaf).is_integer() else leaf


def _published_cells(leaf_of: Codes, lo: Codes, hi: Codes) -> tuple[Codes, Codes]:
    """Return the first and the last published leaf of each cell; siblings may stand in another order."""
    distinct, inverse = np.unique(lo.astype(np.int64) * len(leaf_of) + hi, return_inverse=True)
    begin, end = divmod(distinct, len(leaf_of))
    # at even places stands the reduction of [begin, end + 1); one more leaf, so that the last end is a place, too
    spans = np.column_stack([begin, end + 1]).ravel()
    padded = np.append(leaf_of, leaf_of[-1:])
    first, last = np.minimum.reduceat(padded, spans)[::2], np.maximum.reduceat(padded, spans)[::2]
    return first[inverse], last[inverse]


def rounded(counts: Int64, base: int, rng: np.random.Generator) -> Int64:
    """Round counts at random to multiples of a number, so that they are right in the mean."""
    down, over = np.divmod(counts, base)
    return np.asarray((down + (rng.random(len(counts)) * base < over)) * base)


def _ranges(name: str, exact: Intervals, counts: Int64, least: int, rng: np.random.Generator | None) -> Ranges:
    first = int(exact.has_missing)
    missing = int(counts[0]) if first else None
    if rng is None:
        values = leaves_to_data(exact.leaves.slice(first))
        return Ranges(name, exact.type, missing, None, tuple(values), tuple(counts[first:].tolist()))
    present = np.flatnonzero(counts[first:]) + first
    numbers = numbers_of(exact.leaves)[present]
    cuts = cut_points(numbers.tolist(), counts[present].tolist(), least=least, kind=exact.type, rng=rng)
    starts = np.array(starts_of(cuts, exact.type), numbers.dtype)
    place = np.searchsorted(starts, numbers, side="right")
    totals = np.bincount(place, weights=counts[present], minlength=len(cuts) + 1).astype(np.int64)
    if missing is not None:
        missing = int(rounded(np.array([missing]), least, rng)[0])
    return Ranges(name, exact.type, missing, tuple(cuts), None, tuple(rounded(totals, least, rng).tolist()))


def read_ranges(entry: Quasi, lo: pl.Series, hi: pl.Series) -> tuple[Domain, Codes, Codes]:
    """Return the domain of numbers or dates, and cells given by their first and last values in its leaves."""
    assert isinstance(entry, Ranges)
    has_missing = entry.missing is not None
    if entry.values is not None:
        hierarchy: Hierarchy = Intervals(
            leaves_from_data([*([None] if has_missing else []), *entry.values], entry.type)
        )
        weights = np.array([*([entry.missing] if has_missing else []), *entry.counts], np.float64)
        return Domain(entry, hierarchy, weights), hierarchy.encode(lo), hierarchy.encode(hi)
    ends = numbers_of(hi.drop_nulls()), numbers_of(lo.drop_nulls())
    if not len(ends[0]):  # every cell is the missing value
        return _only_missing(entry, lo)
    known_lo = ends[1] if len(ends[1]) else ends[0]
    bottom, top = min(known_lo.min(), ends[0].min()), ends[0].max()
    cuts = np.array(starts_of(entry.cuts or (), entry.type), known_lo.dtype)
    starts = np.unique(np.concatenate([[bottom], known_lo, after(ends[0][ends[0] < top]), cuts]).astype(known_lo.dtype))
    starts = starts[(starts >= bottom) & (starts <= top)]
    open_below = bool((lo.is_null() & hi.is_not_null()).any())  # the smallest value of such a cell is not told
    atoms = Atoms(starts, top, entry.type, missing=has_missing, open_below=open_below)
    place = np.searchsorted(cuts, atoms.starts, side="right")
    width = atoms.widths()
    whole = np.bincount(place, weights=width, minlength=len(cuts) + 1)
    pieces = np.bincount(place, minlength=len(cuts) + 1)
    share = np.where(whole[place] > 0, width / np.where(whole > 0, whole, 1)[place], 1 / np.maximum(pieces, 1)[place])
    weights = np.array(entry.counts, np.float64)[place] * share
    if has_missing:
        weights = np.concatenate([[float(entry.missing or 0)], weights])
    first = np.where(
        lo.is_null().to_numpy(), 0, np.searchsorted(starts, numbers_of(lo), side="right") - 1 + has_missing
    )
    last = np.where(hi.is_null().to_numpy(), 0, np.searchsorted(starts, numbers_of(hi), side="right") - 1 + has_missing)
    return Domain(entry, atoms, weights), first.astype(np.int32), last.astype(np.int32)


def _only_missing(entry: Ranges, lo: pl.Series) -> tuple[Domain, Codes, Codes]:
    hierarchy = Intervals(leaves_from_data([None], entry.type))
    none = np.zeros(len(lo), np.int32)
    return Domain(entry, hierarchy, np.ones(1)), none, none


def read_leaves(entry: Leaves) -> Domain:
    """Return the domain of a taxonomy or of ordered names."""
    kind = _leaf_type(entry.leaves, entry.type)
    leaves = leaves_from_data(list(entry.leaves), kind)
    if entry.levels is None:
        hierarchy: Hierarchy = Intervals(leaves)
    else:
        hierarchy = PublishedTaxonomy(leaves, entry.levels, rest=[entry.leaves[i] for i in entry.rest])
    if leaves_to_data(hierarchy.leaves) != list(entry.leaves):
        fact = f"The leaves of {entry.name!r} do not stand in the order of their tree"
        raise InputError(fact, "the manifest was edited: get the release again")
    return Domain(entry, hierarchy, np.array(entry.counts, np.float64))


def _leaf_type(leaves: Sequence[Any], kind: str) -> str:
    """Return the type that holds all leaves: a joined leaf may be text, or a number that is not whole."""
    known = [leaf for leaf in leaves if leaf is not None]
    if kind == "int":
        return "int" if all(isinstance(leaf, int) for leaf in known) else "float"
    return "str" if kind == "bool" and any(isinstance(leaf, str) for leaf in known) else kind


class PublishedTaxonomy(Taxonomy):
    """A taxonomy some of whose leaves stand for several values; such a leaf alone has the label of its node."""

    def __init__(self, leaves: Any, uppers: Sequence[Sequence[str]], *, rest: Sequence[Any]) -> None:  # noqa: ANN401
        super().__init__(leaves, uppers)
        place = {value: number for number, value in enumerate(leaves_to_data(self.leaves))}
        self._rest = frozenset(place[value] for value in rest)

    def label(self, lo: int, hi: int) -> str:
        """Return the name of the lowest node that is exactly ``[lo, hi]``."""
        for level in range(int(lo in self._rest), self.n_levels):
            if self._lo[level, lo] == lo and self._hi[level, lo] == hi:
                return self._names[level][lo]
        return super().label(lo, hi)


@dataclass(frozen=True)
class _Leaf:
    """A published leaf: the first leaf that it joins, and the level of the node that they are joined in (0: one)."""

    name: str | None
    first: int
    level: int

    @property
    def is_rest(self) -> bool:
        """Whether it stands for values that are not listed."""
        return self.level > 0


def _join_names(
    exact: Intervals, counts: Int64, least: int, rng: np.random.Generator
) -> tuple[list[_Leaf], npt.NDArray[np.intp]]:
    """Join neighbouring names until each leaf has enough rows; the missing value stays alone.

    Returns the published leaves, and the number of each leaf's own.
    """
    first = int(exact.has_missing)
    names = text(exact.leaves)
    groups: list[list[int]] = []
    open_group: list[int] = []
    needed = draw_size(least, rng)
    for leaf in range(first, exact.n_leaves):
        open_group.append(leaf)
        if counts[open_group].sum() >= needed:
            groups.append(open_group)
            open_group, needed = [], draw_size(least, rng)
    if open_group:
        groups = [*groups[:-1], [*(groups[-1] if groups else []), *open_group]]
    taken: set[str] = set()
    others = 0
    found = [_Leaf(None, 0, 0)] if first else []
    number_of = np.zeros(exact.n_leaves, np.intp)
    for group in groups:
        number_of[group] = len(found)
        if len(group) == 1 and counts[group[0]] >= least:
            found.append(_Leaf(names[group[0]], group[0], 0))
        else:
            told = name_together([names[leaf] for leaf in group], [counts[leaf] >= least for leaf in group])
            if told is None:
                others += 1
                told = f"others {others}"
            found.append(_Leaf(_unused(told, taken, [names]), group[0], 1))
    return found, number_of


def _join_tree(exact: Taxonomy, counts: Int64, least: int) -> tuple[list[_Leaf], npt.NDArray[np.intp]]:
    """Join the rare values below each node that has enough rows; the missing value stays alone.

    Returns the published leaves, and the number of each leaf's own.
    """
    last_of = [level.tolist() for level in exact.levels()[1]]
    names = exact.level_names
    up_to = np.concatenate([[0], np.cumsum(counts)]).tolist()
    found: list[_Leaf] = []
    number_of = np.empty(exact.n_leaves, np.intp)
    names_of_levels = [set(level) for level in names]
    taken: set[str] = set()
    has_missing = exact.has_missing

    def walk(level: int, a: int, b: int) -> None:
        if level == 0 or (has_missing and b == 0):
            number_of[a] = len(found)
            found.append(_Leaf(None if has_missing and a == 0 else names[0][a], a, 0))
            return
        rare: list[tuple[int, int]] = []
        for i, j in _children(last_of[level - 1], a, b):
            if up_to[j + 1] - up_to[i] >= least or (has_missing and j == 0):
                walk(level - 1, i, j)
            else:
                rare.append((i, j))
        if rare:
            for i, j in rare:
                number_of[i : j + 1] = len(found)
            found.append(_Leaf(_unused(names[level][a], taken, names_of_levels[:level]), rare[0][0], level))

    walk(len(last_of) - 1, 0, exact.n_leaves - 1)
    return found, number_of


def _children(last: Sequence[int], a: int, b: int) -> Iterator[tuple[int, int]]:
    while a <= b:
        yield a, last[a]
        a = last[a] + 1


def _unused(name: str, taken: set[str], others: Sequence[Collection[str]]) -> str:
    """Return a name that nothing else has, and take it."""
    while name in taken or any(name in level for level in others):
        name += _REST
    taken.add(name)
    return name


def _assemble(exact: Hierarchy, joined: list[_Leaf], rng: np.random.Generator | None) -> tuple[Hierarchy, list[int]]:
    """Return the hierarchy of the published leaves, and which leaf stands at each of its places."""
    values = _values(exact, joined, rng)
    if isinstance(exact, Intervals):
        return Intervals(values), list(range(len(joined)))
    assert isinstance(exact, Taxonomy)
    names = exact.level_names
    uppers = [
        [str(leaf.name) if height < leaf.level else names[height][leaf.first] for leaf in joined]
        for height in range(1, len(names))
    ]
    plain = leaves_to_data(values)
    rest = [value for value, leaf in zip(plain, joined, strict=True) if leaf.is_rest]
    hierarchy = PublishedTaxonomy(values, uppers, rest=rest)
    place = {value: number for number, value in enumerate(plain)}
    return hierarchy, [place[value] for value in leaves_to_data(hierarchy.leaves)]


def _values(exact: Hierarchy, joined: list[_Leaf], rng: np.random.Generator | None) -> pl.Series:
    """Return the values of the published leaves: text for joined names, a number or day that no leaf is otherwise."""
    if rng is None or not any(leaf.is_rest for leaf in joined):
        return exact.leaves.gather([leaf.first for leaf in joined])
    if not exact.ordered:
        return pl.Series("", [leaf.name for leaf in joined], pl.String())
    numbers = numbers_of(exact.leaves)
    first_of, last_of = exact.levels()
    first_known = int(exact.has_missing)
    plain = numbers.tolist()
    stand_ins = _StandIns(plain, exact.type, rng)
    values: list[Any] = []
    for leaf in joined:
        at = leaf.first
        if at < first_known:
            values.append(None)
        elif not leaf.is_rest:
            values.append(plain[at])
        else:
            below = numbers[max(first_of[leaf.level, at], first_known) : last_of[leaf.level, at] + 1]
            values.append(stand_ins.within(below.min().item(), below.max().item()))
    kind: pl.DataType = pl.Int64() if all(v is None or isinstance(v, int) for v in values) else pl.Float64()
    series = pl.Series("", values, kind, strict=False)
    return series.cast(pl.Int32()).cast(pl.Date()) if exact.type == "date" else series


class _StandIns:
    """Numbers or days that no leaf is otherwise, for leaves that stand for several values.

    They are drawn anywhere among the values of the node, so that they tell none of them.
    """

    def __init__(self, numbers: list[Any], kind: str, rng: np.random.Generator) -> None:
        self._taken, self._kind, self._rng = set(numbers), kind, rng
        self._halves = kind == "int" and max(map(abs, numbers)) < _HALVES

    def within(self, low: Any, high: Any) -> Any:  # noqa: ANN401
        """Return one from this range, or from around a single value, and take it."""
        if low == high:
            low, high = self._around(low)
        found = self._draw(low, high)
        for _ in range(_TRIES):
            if found not in self._taken:
                break
            found = self._draw(low, high)
        first, last = _FIRST[self._kind], _LAST[self._kind]
        while found in self._taken and found < last:
            found = self._step(found, last)
        while found in self._taken:
            found = self._step(found, first)
        self._taken.add(found)
        return found

    def _around(self, value: Any) -> tuple[Any, Any]:  # noqa: ANN401
        if self._kind == "float":
            return value - max(1.0, abs(value)), value + max(1.0, abs(value))
        room = max(10, abs(value))
        return max(value - room, _FIRST[self._kind]), min(value + room, _LAST[self._kind])

    def _draw(self, low: Any, high: Any) -> Any:  # noqa: ANN401
        if self._kind == "float":
            share = self._rng.random()
            return low * (1 - share) + high * share
        return int(self._rng.integers(low, high, endpoint=True)) + (0.5 if self._halves else 0)

    def _step(self, number: Any, end: Any) -> Any:  # noqa: ANN401
        if self._kind == "float":
            return math.nextafter(number, end)
        return number + (1 if end > 0 else -1)
