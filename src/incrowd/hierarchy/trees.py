"""From a column to its tree: what stands behind each recipe of `incrowd.hierarchy.builders`."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.errors import HierarchyError
from incrowd.hierarchy.entropy_cuts import Criterion, nested_cuts
from incrowd.hierarchy.hierarchy import Weights, count_missing, domain_of, text, type_of
from incrowd.hierarchy.intervals import Intervals, join_names
from incrowd.hierarchy.parents import ROOT
from incrowd.hierarchy.steps import Starts, with_steps
from incrowd.hierarchy.taxonomy import Step, Taxonomy, suppress_only

Name = Callable[[int, int, int], str]

_MOST_COUNTS = 1 << 25  # class counts that supervised cuts hold in memory
_ISO = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?(Z|[+-]\d{2}(:?\d{2})?)?)?$"


def balanced_tree(column: pl.Series, *, branching: int) -> Taxonomy:
    """Build the tree of `incrowd.balanced`."""
    leaves = domain_of(column)
    levels: list[Starts] = []
    n_nodes = branching
    while n_nodes < len(leaves):
        levels.append(np.unique(np.arange(n_nodes) * len(leaves) // n_nodes))
        n_nodes *= branching
    return make_tree(leaves, levels[::-1])


def bins_tree(
    column: pl.Series,
    *,
    width: float = 0,
    start: float | None = None,
    edges: tuple[Any, ...] = (),
    levels: int | None = None,
) -> Taxonomy:
    """Build the tree of `incrowd.bins`."""
    leaves = _numbers(column, "bins")
    values = leaves.to_numpy()
    if edges:
        lists = edges if isinstance(edges[0], tuple) else (edges,)
        return make_tree(leaves, [starts_of(np.searchsorted(np.array(level), values, side="right")) for level in lists])
    index = _bin_numbers(column.name, values, width, start)
    found: list[Starts] = []
    while levels is None or len(found) < levels:
        found.append(starts_of(index))
        # Bins on the two sides of a stated start never become one by doubling.
        if index[0] == index[-1] or (index[0] == -1 and index[-1] == 0):
            break
        index = index >> 1
    return make_tree(leaves, found)


def _bin_numbers(name: str, values: npt.NDArray[Any], width: float, start: float | None) -> npt.NDArray[Any]:
    """Return the number of each value's bin, as Python integers where 64 bits may not be enough."""
    lowest = values[0].item()
    if start is None:
        start = 0 if lowest >= 0 else lowest // width * width
    if values.dtype.kind == "i" and isinstance(width, int) and isinstance(start, int):
        largest = max(abs(lowest), abs(values[-1].item())) + abs(start) + width
        exact: npt.NDArray[Any] = (values.astype(object) if largest >= 1 << 62 else values) - start
        return exact // width
    with np.errstate(over="ignore"):
        quotient = (values - float(start)) / width
    if not np.isfinite(quotient).all():
        fact = f"Column {name!r} has values too far apart for bins of width {width}"
        raise HierarchyError(fact, "take wider bins")
    nearest = np.rint(quotient)
    # 0.3 / 0.1 is a little less than 3, and 0.3 begins a bin all the same.
    begins = np.abs(quotient - nearest) <= 1e-9 + 1e-15 * np.abs(nearest)
    whole = np.where(begins, nearest, np.floor(quotient))
    if np.abs(whole).max() >= 1 << 62:
        return np.array([int(number) for number in whole], dtype=object)
    return whole.astype(np.int64)


def prefixes_tree(
    column: pl.Series, *, step: int, branching: int | None = None, weights: Weights | None = None
) -> Taxonomy:
    """Build the tree of `incrowd.prefixes`."""
    kind = type_of(column)
    leaves = domain_of(column)
    if kind not in ("str", "int") or (kind == "int" and leaves[0] < 0):
        what = "negative numbers" if kind == "int" else f"{kind} values"
        fact = f"Column {column.name!r} holds {what}, and prefixes() needs text or whole numbers from 0"
        raise HierarchyError(fact, "turn the column into text, or use bins(), dates() or balanced()")
    values = [str(value) for value in leaves.to_list()]
    width = max(map(len, values))
    if kind == "int":
        values = [value.zfill(width) for value in values]
    shared = np.array([-1, *(_shared(*pair) for pair in pairwise(values))])
    keeps = range(width - step, 0, -step)

    levels = [np.flatnonzero(shared < keep) for keep in keeps]
    origin: list[int | None] = list(range(len(levels)))
    if branching is not None:
        levels, origin = with_steps(levels, count_rows(column, leaves, weights), branching)

    def name(level: int, lo: int, hi: int) -> str:
        keep = keeps[level]
        return values[lo] if lo == hi and len(values[lo]) <= keep else values[lo][:keep].ljust(width, "*")

    common = values[0][: _shared(values[0], values[-1])]
    tops = [common.ljust(width, "*") if common else ROOT]
    if count_missing(column) and common:
        tops.append(ROOT)  # a missing value does not begin like the others
    return make_tree(leaves, levels, name, tops, origin)


def dates_tree(column: pl.Series) -> Taxonomy:
    """Build the tree of `incrowd.dates`."""
    leaves = domain_of(column)
    kind = type_of(column)
    days = leaves
    if kind == "str":
        days = leaves.str.head(10).str.to_date("%Y-%m-%d", strict=False)
        n_wrong = len(leaves) - int((leaves.str.contains(_ISO) & days.is_not_null()).sum())
        if n_wrong:
            fact = f"Column {column.name!r} has {n_wrong} distinct values that are not ISO dates"
            raise HierarchyError(fact, "write dates as 2024-03-05, or turn the column into dates when reading it")
    elif kind != "date":
        fact = f"Column {column.name!r} holds {kind} values, and dates() needs dates or ISO text"
        raise HierarchyError(fact, "turn the column into dates when reading it, or use bins()")
    years, months = days.dt.year().to_list(), days.dt.month().to_list()
    pairs = list(zip(years, months, strict=True))
    keys = [
        days.dt.to_string("%Y-%m-%d").to_list(),
        [f"{year:04d}-{month:02d}" for year, month in pairs],
        [f"{year:04d}-Q{(month + 2) // 3}" for year, month in pairs],
        [f"{year:04d}" for year in years],
        [f"{year // 10:03d}0s" for year in years],
    ]
    return make_tree(leaves, [starts_of(np.array(key, object)) for key in keys], lambda level, lo, _: keys[level][lo])


def frequency_tree(column: pl.Series, *, branching: int, weights: Weights | None = None) -> Taxonomy:
    """Build the tree of `incrowd.frequency`."""
    leaves = domain_of(column)
    counts = count_rows(column, leaves, weights)
    n_rows = int(counts.sum())
    middle = 2 * np.cumsum(counts) - counts  # in half rows
    if 2 * branching * n_rows**2 >= 1 << 63:
        middle = middle.astype(object)
    levels: list[Starts] = []
    n_parts = branching
    while not levels or len(levels[-1]) < len(leaves):
        levels.append(starts_of(middle * n_parts // (2 * n_rows)))
        n_parts *= branching
    return make_tree(leaves, levels[::-1])


def mdl_tree(
    column: pl.Series, *, target: pl.Series | None, weights: Weights | None = None, criterion: Criterion = "fayyad"
) -> Taxonomy:
    """Build the tree of `incrowd.mdl`."""
    leaves = _numbers(column, "mdl")
    if target is None:
        fact = f"Column {column.name!r} is to be cut by mdl(), and there is no target"
        raise HierarchyError(fact, "name the class in the schema (target or sensitive), or use frequency()")
    if len(target) != len(column):
        fact = f"Column {column.name!r} has {len(column)} rows, and the target has {len(target)}"
        raise HierarchyError(fact, "take both from the same frame")
    classes = suppress_only(target)
    if len(leaves) * classes.n_leaves > _MOST_COUNTS:
        fact = f"Column {column.name!r} has {len(leaves)} values and the target {classes.n_leaves}, too many for mdl()"
        raise HierarchyError(fact, "name a target with few classes, or use frequency()")
    codes = Intervals(leaves).encode(column).astype(np.int64)
    cells = np.where(codes >= 0, codes * classes.n_leaves + classes.encode(target), codes)
    counts = _counted(cells, weights, len(leaves) * classes.n_leaves).reshape(len(leaves), classes.n_leaves)
    return make_tree(leaves, [np.array([0, *cuts]) for cuts in nested_cuts(counts, criterion=criterion)[::-1]])


def count_rows(column: pl.Series, leaves: pl.Series, weights: Weights | None) -> Weights:
    """Count the rows of each leaf; with weights, an entry of the column stands for so many."""
    return _counted(Intervals(leaves).encode(column), weights, len(leaves))


def _counted(codes: npt.NDArray[Any], weights: Weights | None, size: int) -> Weights:
    """Count the rows of each code that is not negative; with weights, an entry stands for so many."""
    known = codes >= 0
    counts = np.zeros(size, np.int64)
    np.add.at(counts, codes[known], 1 if weights is None else weights[known])
    return counts


def _shared(one: str, other: str) -> int:
    """Count the characters with which both begin."""
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return i
    return min(len(one), len(other))


def make_tree(
    leaves: pl.Series,
    levels: Sequence[Starts],
    name: Name | None = None,
    tops: Sequence[str] = (ROOT,),
    origin: Sequence[int | None] | None = None,
) -> Taxonomy:
    """Make the tree whose levels, finest first, have nodes that begin at these leaves; ``tops`` hold all leaves.

    Without `name`, nodes are named after their leaves. With the `origin` of levels from `with_steps`, `name` gets the
    number of the level there, and steps are named after the nodes below them.
    """
    ranges = Intervals(leaves)
    uppers: list[list[str]] = []
    is_step: list[bool] = []
    units = text(leaves)  # the names of the last level that is no step
    n_below = len(leaves)
    for level, starts in enumerate(levels):
        if len(starts) in (n_below, 1):
            continue
        n_below = len(starts)
        ends = np.append(starts[1:], len(leaves))
        bounds = [(lo, end - 1) for lo, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        number = level if origin is None else origin[level]
        if number is None:
            names = [join_names(list(dict.fromkeys(units[lo : hi + 1]))) for lo, hi in bounds]
        else:
            names = [name(number, *b) if name else ranges.label(*b) for b in bounds]
        uppers.append(np.array(_distinct(names), object).repeat(ends - starts).tolist())
        is_step.append(number is None)
        units = units if number is None else uppers[-1]
    uppers += [[top] * len(leaves) for top in tops]
    named = [0, *(at for at, step in enumerate(is_step, start=1) if not step), len(is_step) + 1]
    steps = {at: _step(at, named) for at, step in enumerate(is_step, start=1) if step}
    return Taxonomy(leaves, uppers, named_by_leaves=name is None, steps=steps)


def _step(at: int, named: Sequence[int]) -> Step:
    place = bisect(named, at)
    return Step(named[place - 1], named[place])


def _distinct(names: list[str]) -> list[str]:
    """Tell nodes of equal name apart: a text value may read like the name of a group."""
    if len(set(names)) == len(names):
        return names
    taken = set(names)
    seen: Counter[str] = Counter()
    for i, name in enumerate(names):
        seen[name] += 1
        if seen[name] > 1:
            while (new := f"{name} ({seen[name]})") in taken:
                seen[name] += 1
            names[i] = new
            taken.add(new)
    return names


def starts_of(keys: npt.NDArray[Any]) -> Starts:
    """Return where runs of equal keys begin."""
    return np.flatnonzero(np.append([True], keys[1:] != keys[:-1]))


def _numbers(column: pl.Series, recipe: str) -> pl.Series:
    if type_of(column) not in ("int", "float"):
        fact = f"Column {column.name!r} holds {type_of(column)} values, and {recipe}() needs numbers"
        raise HierarchyError(fact, "use balanced(), frequency(), prefixes() or dates()")
    leaves = domain_of(column)
    if leaves.dtype.is_float() and not leaves.is_finite().all():
        fact = f"Column {column.name!r} holds infinite values, and {recipe}() needs finite numbers"
        raise HierarchyError(fact, "fix the data, or make them missing")
    return leaves
