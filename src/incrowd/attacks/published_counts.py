"""What a release counts, column by column: the values or ranges that are told apart, and how many rows have each.

Counts are exact, or rounded at random to multiples of a base: a count c becomes a with the chance 1 - |c - a| / base.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from incrowd.attacks.other_columns import hash_rows
from incrowd.attacks.scene import Floats, Int64, Scene
from incrowd.manifest import Leaves, Quasi, Ranges
from incrowd.release.atoms import Atoms
from incrowd.release.cut_points import starts_of
from incrowd.release.domains import Domain

QUASI, SENSITIVE, OTHER = "quasi", "sensitive", "other"


@dataclass(frozen=True)
class Counts:
    """What is told about one column, or about all *other* columns together.

    Attributes
    ----------
    name, role
        The column, and whether it is a quasi-identifier, the sensitive one, or the *other* ones.
    labels, counts
        What is told apart, and the count of each.
    base
        Counts are multiples of it, rounded at random; 1 if they are exact.
    is_one_value
        Which labels are one value, and not a range or several values.
    ordered
        Whether labels are neighbours that were joined one after the other, from the first to the last.
    """

    name: str
    role: str
    labels: tuple[Any, ...]
    counts: Int64
    base: int
    is_one_value: tuple[bool, ...]
    ordered: bool

    def of(self, labels: Sequence[Any]) -> Int64:
        """Return the counts of some labels, 0 for unknown ones."""
        known = dict(zip(self.labels, self.counts.tolist(), strict=True))
        return np.array([known.get(label, 0) for label in labels], np.int64)


def collect(scene: Scene) -> dict[str, Counts]:
    """Return everything that a release counts, by column."""
    release = scene.release
    base = 1 if release.manifest.domains == "exact" else release.manifest.k
    found = {entry.name: _of_quasi(entry, base) for entry in release.manifest.quasi}
    about = release.manifest.sensitive
    if about is not None:
        own = 1 if scene.totals_are_exact else base
        values = tuple(release.sensitive_values.to_list())
        found[about.name] = _plain(about.name, SENSITIVE, values, release.sensitive_counts(), own)
    if release.other.width:
        tuples, counts = np.unique(hash_rows(release.other), return_counts=True)
        names = "\0".join(release.other.columns)
        found[names] = _plain(names, OTHER, tuple(tuples.tolist()), counts, 1)
    return found


def _plain(name: str, role: str, labels: tuple[Any, ...], counts: Int64, base: int) -> Counts:
    return Counts(name, role, labels, np.asarray(counts, np.int64), base, (True,) * len(labels), ordered=False)


def _of_quasi(entry: Quasi, base: int) -> Counts:
    if isinstance(entry, Leaves):
        is_one_value = tuple(place not in entry.rest for place in range(len(entry.leaves)))
        names = entry.levels is None and base > 1
        return Counts(entry.name, QUASI, entry.leaves, np.array(entry.counts, np.int64), base, is_one_value, names)
    none = () if entry.missing is None else (entry.missing,)
    counts = np.array([*none, *entry.counts], np.int64)
    if entry.values is not None:
        labels = (*(None for _ in none), *entry.values)
        return Counts(entry.name, QUASI, labels, counts, base, (True,) * len(labels), ordered=False)
    cuts = entry.cuts or ()
    ranges = tuple(zip((None, *cuts), (*cuts, None), strict=True))
    is_one_value = (*(True for _ in none), *(False for _ in ranges))
    return Counts(entry.name, QUASI, (*(None for _ in none), *ranges), counts, base, is_one_value, ordered=True)


def label_of_people(scene: Scene, name: str) -> Int64:
    """Return the label of each person in a quasi-identifier, by its place; below 0 for a value that is not known."""
    m = scene.release.quasi.index(name)
    return _label_of_leaf(scene.release.domains[m])[scene.codes[:, m]]


def _label_of_leaf(domain: Domain) -> Int64:
    """Return the label of each published leaf, and -1 for the places after them."""
    entry, hierarchy = domain.entry, domain.hierarchy
    labels = np.arange(hierarchy.n_leaves)
    if isinstance(entry, Ranges) and isinstance(hierarchy, Atoms):
        first = int(hierarchy.has_missing)
        cuts = np.array(starts_of(entry.cuts or (), entry.type), hierarchy.starts.dtype)
        labels = np.concatenate([np.zeros(first, np.int64), np.searchsorted(cuts, hierarchy.starts, "right") + first])
    return np.concatenate([labels, [-1, -1]])  # a leaf after the last one, and one outside


def likelihood(more: Sequence[tuple[int, int]], less: Sequence[tuple[int, int]], moved: int) -> float:
    """Return how likely these (count, base) are told about a value, if it occurs `moved` times more in the first.

    The true count may be any: all whole numbers are alike before.
    """
    seen = np.array([*more, *less], np.float64)
    shift = np.array([0.0] * len(more) + [float(moved)] * len(less))
    least, most = (seen[:, 0] - seen[:, 1] + shift).max(), (seen[:, 0] + seen[:, 1] + shift).min()
    true = np.arange(max(np.floor(least), moved), np.ceil(most) + 1)
    if not len(true):
        return 0.0
    chance = np.maximum(0.0, 1 - np.abs(true[:, None] - shift - seen[:, 0]) / seen[:, 1])
    return float(chance.prod(axis=1).sum())


def shares(counts: Int64) -> Floats:
    """Return counts as shares; a label that is told occurs, also where its count was rounded to nothing."""
    some = np.maximum(counts, 1).astype(np.float64)
    return np.asarray(some / some.sum())
