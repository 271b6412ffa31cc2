"""The recoding of a release as a table for its owner, and what became of each column for anybody.

A mapping has every value of the original in it, rare ones too: it belongs to the owner, as the original does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.errors import IncompatibleError, SchemaError, counted
from incrowd.hierarchy import Hierarchy
from incrowd.hierarchy.hierarchy import text
from incrowd.losses import cell_loss
from incrowd.recoding import GlobalRecoding, TreeRecoding
from incrowd.release.evidence import NOBODY
from incrowd.release.release import Release
from incrowd.release.rows import RowRelease
from incrowd.release.view import cells

_KINDS = {"intervals": "ranges of an ordered column", "taxonomy": "groups of a tree", "names": "names in an order"}
_SHOWN = 12


def rows_of(release: Release) -> RowRelease:
    """Return a release of generalized rows as what it is; refuse any other."""
    if isinstance(release, RowRelease):
        return release
    fact = "This release has no generalized rows"
    raise IncompatibleError(fact, "its manifest tells the cut points of each column")


def mapping(release: RowRelease) -> pl.DataFrame:
    """Return the applied recoding; see `RowRelease.mapping`."""
    recoding = release.own_recoding()
    assert release.private is not None
    hierarchies = tuple(domain.hierarchy for domain in release.private.domains)
    if isinstance(recoding, TreeRecoding):
        return _cuts(recoding, release.quasi, hierarchies)
    assert isinstance(recoding, GlobalRecoding)
    parts = []
    for m, (name, hierarchy) in enumerate(zip(release.quasi, hierarchies, strict=True)):
        lo, hi = hierarchy.closure(recoding.lo_of[m], recoding.hi_of[m])
        parts.append(
            pl.DataFrame({"column": name, "value": text(hierarchy.leaves), "published": hierarchy.labels(lo, hi)})
        )
    return pl.concat(parts)


def _cuts(recoding: TreeRecoding, names: list[str], hierarchies: tuple[Hierarchy, ...]) -> pl.DataFrame:
    """Return a row for each node: where a row of the table goes from it, or the cell that it gets."""
    rows: list[tuple[int, str | None, str | None, int | None, int | None, str | None]] = []
    ends = [hierarchy.n_leaves - 1 for hierarchy in hierarchies]
    region = {0: ([0] * len(ends), ends)}
    for node, (m, at, left, right) in enumerate(recoding.cuts.tolist()):  # children have higher numbers
        first, last = region[node]
        if m < 0:
            cell = zip(hierarchies, recoding.lo[at].tolist(), recoding.hi[at].tolist(), names, strict=True)
            shown = "; ".join(f"{name} {_name(hierarchy, lo, hi)}" for hierarchy, lo, hi, name in cell)
            rows.append((node, None, None, None, None, shown))
            continue
        below, above = last.copy(), first.copy()
        below[m], above[m] = at, at + 1
        region[left], region[right] = (first, below), (above, last)
        rows.append((node, names[m], _span(hierarchies[m], first[m], at), left, right, None))
    schema = {"node": pl.Int64, "column": pl.String, "goes left": pl.String, "left": pl.Int64, "right": pl.Int64}
    return pl.DataFrame(rows, schema=schema | {"published": pl.String}, orient="row")


def _span(hierarchy: Hierarchy, lo: int, hi: int) -> str:
    """Write a range of leaves: both ends of an ordered one, otherwise all of them."""
    names = text(hierarchy.leaves[lo : hi + 1])
    ordered = hierarchy.ordered and len(names) > 1 and not (hierarchy.has_missing and lo == 0)
    return f"{names[0]} to {names[-1]}" if ordered else ", ".join(names)


def _name(hierarchy: Hierarchy, lo: int, hi: int) -> str:
    first, last = hierarchy.closure(np.array([lo], np.int32), np.array([hi], np.int32))
    return hierarchy.label(int(first[0]), int(last[0]))


def means(release: RowRelease, original: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with means in place of ranges; see `RowRelease.means`."""
    if release.private is None or not release.manifest.homogeneous or (release.private.rows == NOBODY).any():
        fact = f"This release (method {release.manifest.method.name!r}) has no groups of which means could be told"
        raise IncompatibleError(fact, "only the owner can, and only of rows that form groups, such as those of mdav")
    release.require_columns(original, release.quasi)
    if original.height != release.manifest.rows.input:
        fact = f"The table has {original.height} rows, and the release was made from {release.manifest.rows.input}"
        raise SchemaError(fact, "give the table that it was made from")
    shown = release.labelled()
    group = pl.Series("", release.cell_of)
    for name, own in zip(release.quasi, release.clean_quasi(original[release.private.rows]), strict=True):
        if own.dtype.is_numeric() or own.dtype == pl.Date:
            column = own.cast(pl.Float64) if own.dtype.is_numeric() else own
            shown = shown.with_columns(
                pl.select(column.alias(name)).with_columns(pl.col(name).mean().over(group))[name]
            )
    return shown


@dataclass(frozen=True)
class Explanation:
    """What became of one quasi-identifier.

    Attributes
    ----------
    column, form
        Its name, and of what its published values are.
    rows
        Released rows.
    lost
        The detail that it lost: 0 unchanged, 1 suppressed.
    values
        Each published value, the number of rows that show it, and its share of detail that is lost; the most frequent
        first.
    sources
        For the owner: how many different values of the original are inside each; ``None`` for anybody else.
    """

    column: str
    form: str
    rows: int
    lost: float
    values: pl.DataFrame
    sources: tuple[int, ...] | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; nothing in it is not in the release, but for the numbers of sources."""
        listed = self.values.to_dicts()
        known = self.sources or (None,) * len(listed)
        told = [dict(one) | {"sources": own} for one, own in zip(listed, known, strict=True)]
        return {"column": self.column, "form": self.form, "rows": self.rows, "lost": self.lost, "values": told}

    def __str__(self) -> str:
        shown = f"{counted(self.values.height, 'published value')} in {counted(self.rows, 'row')}"
        lines = [f"{self.column}: {self.form}; {shown}, {self.lost:.1%} of the detail lost"]
        first = self.values.head(_SHOWN).rows()
        width = max((len(value) for value, *_ in first), default=0)
        for at, (value, n, lost) in enumerate(first):
            behind = "" if self.sources is None else f", {counted(self.sources[at], 'original value')}"
            lines.append(
                f"  {value:<{width}}  {counted(n, 'row')} ({n / max(1, self.rows):.1%}), {lost:.1%} lost{behind}"
            )
        if self.values.height > _SHOWN:
            lines.append(f"  and {self.values.height - _SHOWN} more")
        return "\n".join(lines)


def explain(release: RowRelease, column: str) -> Explanation:
    """Say how one quasi-identifier is published, from the release alone; its owner is told a little more."""
    if column not in release.quasi:
        fact = f"Column {column!r} is not a quasi-identifier of this release"
        raise SchemaError(fact, f"use one of {', '.join(map(repr, release.quasi))}")
    m = release.quasi.index(column)
    seen, rows = cells(release, None), np.bincount(release.cell_of, minlength=len(release.cell_lo))
    names = release.hierarchies[m].labels(release.cell_lo[:, m], release.cell_hi[:, m])
    of_row = np.asarray(cell_loss("lm", seen.hierarchies[m], seen.marginals[m], seen.lo[:, m], seen.hi[:, m]))  # type: ignore[arg-type]
    lost = np.bincount(release.cell_of, of_row, len(release.cell_lo))
    table = pl.DataFrame(
        {"value": names, "rows": rows, "lost": lost, "lo": release.cell_lo[:, m], "hi": release.cell_hi[:, m]}
    )
    found = (
        table.group_by("value", maintain_order=True)
        .agg(pl.col("rows", "lost").sum(), pl.col("lo").min(), pl.col("hi").max())
        .sort("rows", "value", descending=[True, False])
    )
    entry = release.manifest.quasi[m]
    return Explanation(
        column,
        _KINDS[entry.kind],
        release.n_rows,
        float(of_row.mean()) if release.n_rows else 0.0,
        found.select("value", pl.col("rows").cast(pl.Int64), (pl.col("lost") / pl.col("rows")).alias("lost")),
        _sources(release, m, found["lo"].to_numpy(), found["hi"].to_numpy()),
    )


def _sources(
    release: RowRelease, m: int, lo: npt.NDArray[np.int32], hi: npt.NDArray[np.int32]
) -> tuple[int, ...] | None:
    """Count the values of the original inside published values; only its owner knows them."""
    if release.private is None or not release.private.domains:
        return None
    own = release.private.domains[m]
    occurs = np.flatnonzero(own.counts > 0)
    first, last = own.published(release.hierarchies[m], occurs.astype(np.int32), occurs.astype(np.int32))
    return tuple(int(((first >= a) & (last <= b)).sum()) for a, b in zip(lo, hi, strict=True))
