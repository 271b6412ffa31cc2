"""Names in the order of the classes of their rows, so that ranges of names hold rows of like classes."""

from __future__ import annotations

import numpy as np
import polars as pl

from incrowd.errors import HierarchyError
from incrowd.hierarchy.hierarchy import Weights, as_leaves, domain_of
from incrowd.hierarchy.intervals import Intervals

_MOST_COUNTS = 50_000_000  # numbers of values times classes
_ROUNDED = 9  # digits of a place in the order: values with equal shares of classes stay in alphabetical order


def class_order(
    column: pl.Series, *, target: pl.Series | None, at_least: float, weights: Weights | None = None
) -> Intervals:
    """Build the order of `incrowd.by_class`."""
    if target is None:
        fact = f"Column {column.name!r} is to be put in the order of the classes, and there is no target"
        raise HierarchyError(fact, "name the class in the schema (target or sensitive), or use balanced()")
    leaves = domain_of(column)
    if leaves.dtype not in (pl.String, pl.Boolean):
        fact = f"Column {column.name!r} holds numbers or dates, which have an order of their own"
        raise HierarchyError(fact, "use Intervals() for it")
    rows = np.ones(len(column), np.int64) if weights is None else weights
    entries = pl.DataFrame({"value": as_leaves(column), "class": as_leaves(target).cast(pl.String()), "rows": rows})
    entries = entries.drop_nulls("value").group_by("value", "class").agg(pl.col("rows").sum())
    classes = entries["class"].unique().sort()
    if len(leaves) * len(classes) > _MOST_COUNTS:
        fact = f"Column {column.name!r} has {len(leaves)} values and the target {len(classes)} classes, too many"
        raise HierarchyError(fact, "name a target with few classes, or use balanced()")
    counts = np.zeros((len(leaves), len(classes)))
    place = [pl.Series(np.arange(len(known))) for known in (leaves, classes)]
    at = [
        entries[name].replace_strict(known, number, return_dtype=pl.Int64()).to_numpy()
        for name, known, number in zip(("value", "class"), (leaves, classes), place, strict=True)
    ]
    counts[at[0], at[1]] = entries["rows"].to_numpy()
    return Intervals(leaves.gather(np.argsort(_places(counts, at_least), kind="stable")))


def _places(counts: np.ndarray[tuple[int, int], np.dtype[np.float64]], at_least: float) -> np.ndarray:
    """Return each value's place on the axis along which the class shares of values differ most; 0 for rare values.

    With two classes this is the share of one of them. Counts are [values x classes].
    """
    sizes = counts.sum(axis=1)
    known = sizes >= at_least
    places = np.zeros(len(counts))
    if not known.any():
        return places
    overall = counts.sum(axis=0) / sizes.sum()
    apart = counts[known] / sizes[known, None] - overall
    axis = np.linalg.svd(apart * np.sqrt(sizes[known, None]), full_matrices=False)[2][0]
    axis *= np.sign(axis[np.argmax(np.round(np.abs(axis), _ROUNDED))]) or 1.0  # of equal ones the first
    places[known] = apart @ axis
    return np.round(places, _ROUNDED)
