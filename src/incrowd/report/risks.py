"""Who is most at risk, in numbers of rows and never by their cells: counted from the release as everybody has it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.hierarchy.hierarchy import Floats
from incrowd.release import ProjectionRelease, RowRelease
from incrowd.report.summary import Band, RiskTable

Counts = npt.NDArray[np.int64]

_TIMES = (2, 5, 10)  # bands of crowds, in multiples of k
_SHARES = (0.5, 0.75, 0.9)


def risks_of(release: RowRelease | ProjectionRelease) -> tuple[RiskTable, ...]:
    """Count released rows by the size of their crowd, by how much it tells, and by their unprotected columns."""
    if not release.has_cells:
        return ()
    k, tables = release.manifest.k, []
    group, size = _groups(release)
    if release.manifest.homogeneous:
        tables.append(_by_size(size[group], k))
    shares = [(_largest_shares(view, group, size), view) for view in release.each_secret()]
    tables += [_by_share(own, view) for own, view in shares if own is not None]
    if release.other.width:
        tables.append(_by_others(release.other, k))
    return tuple(tables)


def _groups(release: RowRelease) -> tuple[Counts, Counts]:
    """Return the group of each row (rows with equal cells), and the size of each."""
    cells = np.hstack([release.cell_lo, release.cell_hi])
    _, group_of_cell = np.unique(cells, axis=0, return_inverse=True)
    group = group_of_cell.reshape(-1)[release.cell_of].astype(np.int64)
    return group, np.bincount(group).astype(np.int64)


def _by_size(size: Counts, k: int) -> RiskTable:
    edges = [k, *(k * times for times in _TIMES)]
    labels = [f"{a} to {b - 1} people" for a, b in pairwise(edges)]
    labels.append(f"{edges[-1]} people or more")
    at = np.searchsorted(np.array(edges[1:]), size, side="right")
    bands = [Band(label, int((at == i).sum())) for i, label in enumerate(labels)]
    if (size < k).any():  # a release that does not keep its promise
        bands.insert(0, Band(f"fewer than {k} people", int((size < k).sum())))
        bands[1] = Band(labels[0], int(((at == 0) & (size >= k)).sum()))
    meaning = "The smaller the crowd, the surer somebody can be whose row it is: one in so many."
    return RiskTable("How large is the crowd around each row?", "size of the crowd", tuple(bands), meaning)


def _largest_shares(release: RowRelease, group: Counts, size: Counts) -> Floats | None:
    """Return the largest share of one sensitive value in what is published around each row."""
    if release.distributions is not None:
        return np.asarray(release.distributions.max(axis=1))
    if release.sensitive is None or not release.manifest.homogeneous:
        return None
    counts = np.zeros((len(size), len(release.sensitive_values)), np.int64)
    np.add.at(counts, (group, release.sensitive), 1)
    return np.asarray((counts.max(axis=1) / size)[group], np.float64)


def _by_share(shares: Floats, release: RowRelease) -> RiskTable:
    about = release.manifest.sensitive
    assert about is not None
    labels = ["up to 50%", "above 50%, up to 75%", "above 75%, up to 90%", "above 90%, below 100%", "100%"]
    at = np.searchsorted(np.array([*_SHARES]), shares - 1e-9, side="left")
    at = np.where(shares > 1 - 1e-9, len(labels) - 1, at)
    bands = tuple(Band(label, int((at == i).sum())) for i, label in enumerate(labels))
    meaning = f"Where the share is high, '{about.name}' can be guessed without knowing whose row it is."
    asked = "does the crowd around each row" if release.distributions is None else "do the shares of each row"
    title = f"How much {asked} tell about '{about.name}'?"
    return RiskTable(title, "largest share of one value", bands, meaning)


def _by_others(other: pl.DataFrame, k: int) -> RiskTable:
    size = other.select(pl.len().over(other.columns)).to_series().to_numpy()
    bands = _bands([("one row alone", size == 1), (f"2 to {k - 1} rows", (size > 1) & (size < k)),
                    (f"{k} rows or more", size >= max(k, 2))])  # fmt: skip
    meaning = (
        "These columns are published as they came. Somebody who knows all of them about a person, and finds one row "
        "alone, has found that row, whatever the crowd is."
    )
    return RiskTable("How many rows share their unprotected values?", "rows with the same values", bands, meaning)


def _bands(found: Sequence[tuple[str, npt.NDArray[np.bool_]]]) -> tuple[Band, ...]:
    return tuple(Band(label, int(which.sum())) for label, which in found if not label.startswith("2 to 1 "))
