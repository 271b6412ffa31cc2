"""Distributions as bars of at least k people each: before from the manifest's counts, after from the published rows.

*Before* is what the manifest tells about the original: counts of ranges or values, rounded to multiples of k. *After*
is what a reader sees who spreads every row evenly over its cell. Values of fewer than k people are joined; where even
together they are fewer than k, they are not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.errors import counted
from incrowd.hierarchy.hierarchy import MISSING, text
from incrowd.manifest import Leaves, Ranges
from incrowd.release import RowRelease
from incrowd.release.atoms import Atoms, numbers_of
from incrowd.release.cut_points import starts_of
from incrowd.report.summary import Bar

Floats = npt.NDArray[np.float64]

_MOST_RANGES, _MOST_NAMES = 24, 10


@dataclass(frozen=True)
class Picture:
    """Bars, and what they leave out."""

    bars: tuple[Bar, ...]
    note: str = ""


def quasi_picture(release: RowRelease, m: int) -> Picture:
    """Draw the m-th quasi-identifier before and after."""
    domain = release.domains[m]
    entry, k = domain.entry, release.manifest.k
    lo, hi = release.lo[:, m].astype(np.int64), release.hi[:, m].astype(np.int64)
    if isinstance(entry, Ranges):
        return _of_ranges(entry, domain.hierarchy, lo, hi, k)
    assert isinstance(entry, Leaves)
    after = spread(lo, hi, np.ones(len(entry.leaves)))
    return picture_of_names(leaf_names(entry, domain.hierarchy.leaves), np.array(entry.counts, np.float64), after, k)


def spread(lo: npt.NDArray[np.int64], hi: npt.NDArray[np.int64], widths: Floats) -> Floats:
    """Spread every row evenly over the leaves of its cell, by their widths; return how many rows each leaf gets."""
    up_to = np.concatenate([[0.0], np.cumsum(widths)])
    density = 1.0 / (up_to[hi + 1] - up_to[lo])
    change = np.zeros(len(widths) + 1)
    np.add.at(change, lo, density)
    np.add.at(change, hi + 1, -density)
    return np.asarray(np.cumsum(change)[:-1] * widths)


def leaf_names(entry: Leaves, leaves: pl.Series) -> list[str]:
    """Name the published leaves for people: those that stand for several values by the group they are the rest of."""
    names = text(leaves)
    for at in entry.rest:
        if entry.levels:
            group = entry.levels[0][at]
            names[at] = group if group.endswith("(rest)") else f"{group} (rest)"
    return names


def picture_of_names(names: Sequence[str], before: Floats | None, after: Floats, k: int) -> Picture:
    """Draw a list of values: the most frequent ones, those of fewer than k people joined."""
    weight = after if before is None else before
    rare = weight < k
    order = np.argsort(-np.where(rare, -1, weight), kind="stable")
    shown = np.sort(order[: min(_MOST_NAMES, int((~rare).sum()))])
    left = np.setdiff1d(np.arange(len(names)), shown)
    totals = None if before is None else max(1.0, float(before.sum())), max(1.0, float(after.sum()))

    def bar(label: str, which: npt.NDArray[np.intp]) -> Bar:
        shares = [
            None if counts is None or total is None else float(counts[which].sum()) / total
            for counts, total in zip((before, after), totals, strict=True)
        ]
        return Bar(label, *shares)

    bars = [bar(names[at], np.array([at])) for at in shown]
    if len(left) and weight[left].sum() >= k:
        bars.append(bar(f"{counted(len(left), 'other value')}, joined", left))
        return Picture(tuple(bars))
    note = f"{counted(len(left), 'value')} of fewer than {k} people in all: not shown." if len(left) else ""
    return Picture(tuple(bars) if shown.size else (), note)


def picture_of_values(column: pl.Series, k: int) -> Picture:
    """Draw the values of a published column as they are; after only."""
    found = column.value_counts(name="rows", sort=False).sort(column.name, nulls_last=False)
    return picture_of_names(shown_values(found[column.name]), None, found["rows"].to_numpy().astype(np.float64), k)


def shown_values(values: pl.Series) -> list[str]:
    """Write values of any type for people."""
    return [MISSING if value is None else str(value) for value in values.to_list()]


def _of_ranges(entry: Ranges, hierarchy: Any, lo: npt.NDArray[np.int64], hi: npt.NDArray[np.int64], k: int) -> Picture:  # noqa: ANN401
    """Draw numbers or dates: published ranges, neighbours joined until they are wide enough to be seen."""
    first = int(entry.missing is not None)
    if hierarchy.n_leaves == first:  # nobody has a value
        return Picture((), "All values are missing.")
    starts, stops, widths = _extents(hierarchy, first)
    everywhere = np.concatenate([[_missing_width(entry, widths)], widths]) if first else widths
    after = spread(lo, hi, everywhere)[first:]
    place = np.arange(len(starts)) if entry.cuts is None else np.searchsorted(
        np.array(starts_of(entry.cuts, entry.type), np.float64), starts, side="right"
    )  # fmt: skip
    n = len(entry.counts)
    gained = np.bincount(place, weights=after, minlength=n).astype(np.float64)
    begins = [float(starts[place == at].min()) if (place == at).any() else None for at in range(n)]
    ends = [float(stops[place == at].max()) if (place == at).any() else None for at in range(n)]
    total_before = max(1, sum(entry.counts) + (entry.missing or 0))
    bars: list[Bar] = []
    least_width = (float(stops[-1]) - float(starts[0])) / _MOST_RANGES
    pending: list[int] = []
    for at in range(n):
        pending.append(at)
        if begins[at] is None:
            continue
        count = sum(entry.counts[i] for i in pending)
        known = [i for i in pending if begins[i] is not None]
        start, end = cast("float", begins[known[0]]), cast("float", ends[known[-1]])
        if count >= k and end - start >= least_width:
            bars.append(_range_bar(entry, start, end, count / total_before, float(gained[pending].sum()) / len(lo)))
            pending = []
    if any(begins[at] is not None for at in pending):
        bars = _with_rest(entry, bars, pending, ends, gained, (total_before, len(lo)), starts)
    return Picture(tuple(bars), _about_missing(entry, k, total_before))


def _with_rest(
    entry: Ranges,
    bars: list[Bar],
    rest: list[int],
    ends: list[float | None],
    gained: Floats,
    totals: tuple[int, int],
    starts: Floats,
) -> list[Bar]:
    """Join the last ranges, which are too narrow or too few, with the bar before them."""
    before = sum(entry.counts[at] for at in rest) / totals[0]
    after = float(gained[rest].sum()) / totals[1]
    end = max(cast("float", ends[at]) for at in rest if ends[at] is not None)
    if not bars:
        return [_range_bar(entry, float(starts[0]), end, before, after)]
    last = bars[-1]
    start = cast("float", last.start)
    return [
        *bars[:-1],
        _range_bar(entry, start, end, (last.before or 0.0) + before, (last.after or 0.0) + after),
    ]


def _extents(hierarchy: Any, first: int) -> tuple[Floats, Floats, Floats]:  # noqa: ANN401
    """Return where the known leaves start and stop, and how wide they are; nothing has no width."""
    if isinstance(hierarchy, Atoms):
        starts, stops = hierarchy.starts.astype(np.float64), hierarchy.stops.astype(np.float64)
        widths = hierarchy.widths()
    else:
        starts = stops = numbers_of(hierarchy.leaves)[first:].astype(np.float64)
        widths = np.ones(len(starts))
    smallest = widths[widths > 0].min() if (widths > 0).any() else 1.0
    return starts, stops, np.where(widths > 0, widths, smallest)


def _missing_width(entry: Ranges, widths: Floats) -> float:
    share = (entry.missing or 0) / max(1, sum(entry.counts))
    return max(float(widths.sum()) * share, float(widths.min()))


def _range_bar(entry: Ranges, start: float, end: float, before: float, after: float) -> Bar:
    first, last = (_value_text(entry, value) for value in (start, end))
    label = first if first == last else f"{first} to {last}"
    return Bar(label, before, after, start, end if entry.type == "float" else end + 1)


def _value_text(entry: Ranges, value: float) -> str:
    if entry.type == "date":
        return str(pl.Series([int(value)], dtype=pl.Int32()).cast(pl.Date())[0])
    return f"{value:.6g}" if entry.type == "float" or abs(value) >= 1e15 else str(int(value))


def _about_missing(entry: Ranges, k: int, total: int) -> str:
    if entry.missing is None:
        return ""
    if entry.missing < k:
        return f"Beside it: missing values, of fewer than {2 * k} people."
    return f"Beside it: missing values, of about {entry.missing / total:.0%} of the people."
