"""A population that a table is a sample of: k-map and delta-presence, for every method that generalizes rows.

*k-map* (Sweeney 2002): every released row fits at least `k_map` people of the population, however few of them are in
the table. *delta-presence* (Nergiz, Atzori and Clifton 2007): how likely it is that somebody of the population is in
the table, by their quasi-identifiers, stays between two bounds. It is the number of released rows of a cell over the
people who fit that cell; for somebody who fits several cells, the sum of these.

How a method keeps them: it publishes with a larger k. A crowd of the table is a crowd of its population, so at k =
`k_map` a k-map always holds if the population has the people of the table; mostly a smaller k does. From the k that
was asked for on it is doubled until both hold, and then halved; the release promises the k that it has in the end.
Hierarchies should know all names of the population: a recipe such as `prefixes` is built from the table alone, and a
name that it lacks fits nothing but ``*``.

This is simple and sound, and not the least loss: a dense part of the table is generalized as much as a thin one.

The manifest does not promise either, because nobody could check it without the population. `RowRelease.verify` and
``incrowd verify --population`` do, by code of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import io
from incrowd.errors import InfeasibleError, ParameterError
from incrowd.hierarchy.hierarchy import OUTSIDE
from incrowd.manifest import Ranges
from incrowd.privacy.constraint import is_number
from incrowd.release import RowRelease
from incrowd.release.rows import bounds_of

Bools = npt.NDArray[np.bool_]

SLACK = 1e-12  # of sums of rounded shares
_AT_ONCE = 1 << 22


@dataclass(frozen=True, kw_only=True)
class Population:
    """Everybody who could be in the table, and what has to hold among them.

    Parameters
    ----------
    people
        A table of them, with the quasi-identifiers; the people of the table to be published are among them.
    k_map
        Least number of people whom each released row fits.
    presence
        Least and largest chance that somebody of the population is in the table: (0, 0.5) only asks that nobody can be
        surer than 50 % that somebody is. A least chance above 0 also asks that nobody is known not to be in it.
    """

    people: Any
    k_map: int | None = None
    presence: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.k_map is None and self.presence is None:
            fact = "A population was given, and neither k_map nor presence"
            raise ParameterError(fact, "give k_map=10 or presence=(0, 0.5), or leave the population out")
        k_map = self.k_map
        if k_map is not None and (isinstance(k_map, bool) or not isinstance(k_map, int | np.integer) or k_map < 1):
            fact = f"k_map is {k_map!r}"
            raise ParameterError(fact, "use a whole number, at least 1")
        if self.presence is not None and not _is_range(self.presence):
            fact = f"presence is {self.presence!r}"
            raise ParameterError(fact, "use two shares from 0 to 1, the least and the largest: (0, 0.5)")

    def holds(self, found: Presence) -> bool:
        """Tell whether both bounds are kept."""
        least, most = self.presence or (0.0, np.inf)
        return found.k_map >= (self.k_map or 1) and least - SLACK <= found.least and found.most <= most + SLACK


class Presence(NamedTuple):
    """What a release keeps: its k-map, and the least and the largest chance of anybody to be in it."""

    k_map: int
    least: float
    most: float


def _is_range(given: object) -> bool:
    if not isinstance(given, tuple | list) or len(given) != 2 or not all(map(is_number, given)):
        return False
    least, most = given
    return bool(0 <= least <= most <= 1)


def publish_within(publish: Callable[[int], RowRelease], k: int, population: Population) -> RowRelease:
    """Return the release of the smallest k found, from the one asked for, that keeps k-map and presence."""
    people, tried, failed = io.to_polars(population.people), k, k - 1
    while True:
        release = publish(tried)
        found = measure(release, people)
        if population.holds(found):
            break
        n = release.manifest.rows.input - release.manifest.rows.missing
        if tried >= n:
            raise _infeasible(population, found)
        failed, tried = tried, min(2 * tried, n)
    best = release, found
    while tried - failed > max(1, failed // 8):
        middle = (tried + failed) // 2
        release = publish(middle)
        found = measure(release, people)
        if population.holds(found):
            tried, best = middle, (release, found)
        else:
            failed = middle
    release, found = best
    numbers = {"k_map": found.k_map, "presence_least": found.least, "presence_most": found.most}
    return replace(release, levels={**(release.levels or {}), **numbers})


def _infeasible(population: Population, found: Presence) -> InfeasibleError:
    asked = [] if population.k_map is None else [f"k_map = {population.k_map}"]
    asked += [] if population.presence is None else ["presence = ({:g}, {:g})".format(*population.presence)]
    fact = f"No release of this table in this population keeps {' and '.join(asked)}, not even one group of all rows"
    hint = (
        f"one group of all rows reaches k_map = {found.k_map} and presence from {found.least:.4g} to {found.most:.4g}"
    )
    best = {"k_map": float(found.k_map), "presence_least": found.least, "presence_most": found.most}
    return InfeasibleError(fact, hint, best=best)


def measure(release: RowRelease, people: pl.DataFrame) -> Presence:
    """Count the people who fit each cell, and the chance of each of them to be in the release."""
    release.require_columns(people, release.quasi)
    places, number = _distinct(release, people)
    rows = np.bincount(release.cell_of, minlength=len(release.cell_lo))
    step = max(1, _AT_ONCE // max(1, len(number)))
    parts = [slice(at, at + step) for at in range(0, len(rows), step)]
    fits = np.concatenate([number @ _fit(release, places, part) for part in parts])
    shown = rows > 0
    chance = np.zeros(len(number))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(shown, rows / fits, 0.0)
    share[shown & (fits == 0)] = 0.0  # nobody fits: k-map says so
    for part in parts:
        chance += _fit(release, places, part) @ share[part]
    return Presence(int(fits[shown].min()), float(chance.min()), float(chance.max()))


def _distinct(release: RowRelease, people: pl.DataFrame) -> tuple[list[npt.NDArray[Any]], npt.NDArray[np.int64]]:
    """Return the numbers or published leaves of the different people, by column, and how many each of them is."""
    cleaned, columns = release.clean_quasi(people), []
    codes = release.encode(people)
    for m, (column, domain) in enumerate(zip(cleaned, release.domains, strict=True)):
        plain = isinstance(domain.entry, Ranges)
        own = column.to_physical().cast(pl.Float64) if plain else pl.Series(codes[:, m])
        columns.append(own.fill_nan(None).alias(str(m)) if plain else own.alias(str(m)))
    table = pl.DataFrame(columns).group_by(pl.all()).len("n")
    return [table[str(m)].to_numpy() for m in range(len(columns))], table["n"].to_numpy().astype(np.int64)


def _fit(release: RowRelease, places: list[npt.NDArray[Any]], part: slice) -> Bools:
    """Tell which people fit which of some cells, [people x cells]."""
    found = np.ones((len(places[0]), len(release.cell_lo[part])), np.bool_)
    for m, (place, domain) in enumerate(zip(places, release.domains, strict=True)):
        lo, hi = release.cell_lo[part, m], release.cell_hi[part, m]
        whole = (lo == 0) & (hi == domain.hierarchy.n_leaves - 1)
        if not isinstance(domain.entry, Ranges):
            found &= ((place[:, None] >= lo) & (place[:, None] <= hi)) | ((place == OUTSIDE)[:, None] & whole)
            continue
        first, last = (side.to_physical().cast(pl.Float64).to_numpy() for side in bounds_of(domain, lo, hi))
        only_missing, any_missing = np.isnan(last), np.isnan(first)
        low = np.where(any_missing, -np.inf, first)
        inside = (place[:, None] >= low) & (place[:, None] <= last)  # false where either is missing
        found &= np.where(np.isnan(place)[:, None], any_missing, inside & ~only_missing)
    return found
