"""Members by repetition: the adversary runs NSVDist himself, with ties broken at random, and sees whom it takes.

With l = 1 members depend on quasi-identifiers and the order of ties alone; with l > 1 also on sensitive values, for
which worlds that fit the release are tried (`worlds`). Whenever a run comes to a box and a distribution that were
published, it shows one way in which they may have come about. People whom no run took are left out of the statement,
and people whom every run took are counted for certain. That is likelihood, not proof: `propagation` never uses it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from incrowd.attacks.scene import Int64, Scene
from incrowd.attacks.statements import Statement
from incrowd.coding import Secret, Table
from incrowd.hierarchy import Spec
from incrowd.hierarchy.hierarchy import Codes
from incrowd.kernels.nsvdist import search
from incrowd.publish.nsvdist import NSVDist, make_index, make_jobs
from incrowd.publish.prices import make_prices, tables_first
from incrowd.schema import Schema

_LEAST_SIGHTINGS = 6
_MOST_PEOPLE = 10_000  # beyond, a run takes longer than it is worth


def method_of(scene: Scene) -> NSVDist | None:
    """Return the method with its published parameters, if it is one that can be repeated."""
    about = scene.release.manifest.method
    given = about.parameters
    if about.name != NSVDist.name or given.get("mode") == "hardened":
        return None
    if scene.n_suppressed or scene.n_people > _MOST_PEOPLE:
        return None
    if scene.release.private is None and scene.release.manifest.domains != "exact":
        return None  # the leaves that it searched are not known
    names = ("k", "l", "loss", "presplit")
    method = NSVDist(mode="paper", **{name: given[name] for name in names if name in given})
    return method if method.part_rows(scene.n_people) is None else None


class Sightings:
    """Which members led to which published box and distribution.

    Parameters
    ----------
    scene
        The release and the people.
    statements
        What is to be explained.
    """

    def __init__(self, scene: Scene, statements: Sequence[Statement], method: NSVDist) -> None:
        self._scene, self._method = scene, method
        self._place = {_key(s.people, s.counts): j for j, s in enumerate(statements) if not s.whole}
        self._statements = statements
        self._taken = {j: np.zeros(len(statements[j].people), np.int64) for j in self._place.values()}
        self._seen = dict.fromkeys(self._place.values(), 0)

    def run(self, world: Codes, rng: np.random.Generator) -> None:
        """Run the method in one world, and note the members of every statement that comes out."""
        scene, method = self._scene, self._method
        table = _table(scene, world if method.cap < method.k else np.zeros_like(world))
        columns = tables_first(table, method.loss)
        prices = make_prices(table, columns, method.loss)
        rank = rng.permutation(table.n_rows)
        index, rows = make_index(table, columns, np.arange(table.n_rows), rank, method.cap, prices)
        n_values = scene.n_values
        jobs, _ = make_jobs(index, method.k, method.cap, n_values)
        lo, hi = np.empty((len(jobs), table.n_quasi), np.int32), np.empty((len(jobs), table.n_quasi), np.int32)
        counts, members = np.empty((len(jobs), n_values), np.int32), np.empty((len(jobs), method.k), np.int32)
        search(jobs, 0, len(jobs), method.k, method.cap, prices, index, lo, hi, counts, members)
        back = np.argsort(columns)
        self._note(*self._published(lo[:, back], hi[:, back]), np.sort(rows[members], axis=1), world)

    def _published(self, lo: Codes, hi: Codes) -> tuple[Codes, Codes]:
        release = self._scene.release
        found = (lo, hi) if release.private is None else release.published_cells(lo, hi)
        return np.ascontiguousarray(found[0]), np.ascontiguousarray(found[1])

    def _note(self, lo: Codes, hi: Codes, members: Int64, world: Codes) -> None:
        boxes = self._boxes
        blind = self._method.cap >= self._method.k  # sensitive values take no part, so any distribution will do
        for job in range(len(lo)):
            for j in boxes.get((lo[job].tobytes(), hi[job].tobytes()), ()):
                statement = self._statements[j]
                counts = np.bincount(world[members[job]], minlength=len(statement.counts))
                if blind or bool((counts == statement.counts).all()):
                    self._taken[j][np.searchsorted(statement.people, members[job])] += 1
                    self._seen[j] += 1

    @property
    def _boxes(self) -> dict[tuple[bytes, bytes], list[int]]:
        if not hasattr(self, "_found"):
            self._found: dict[tuple[bytes, bytes], list[int]] = {}
            scene = self._scene
            pairs, release = scene.pairs, scene.release
            assert pairs is not None
            assert release.cell_counts is not None
            lo, hi = scene.boxes
            shown = np.column_stack([scene.box_of, release.cell_counts[release.cell_of]]).astype(np.int64)
            for row in np.unique(shown, axis=0):
                box = int(row[0])
                people = np.sort(scene.people_at(pairs.points[pairs.first[box] : pairs.first[box + 1]]))
                j = self._place.get(_key(people, row[1:]))
                if j is not None:
                    self._found.setdefault((lo[box].tobytes(), hi[box].tobytes()), []).append(j)
        return self._found

    def refined(self) -> list[Statement]:
        """Return the statements with the members that were seen."""
        better = list(self._statements)
        for j, seen in self._seen.items():
            if seen < _LEAST_SIGHTINGS:
                continue
            old, taken = self._statements[j], self._taken[j]
            ever = taken > 0
            better[j] = Statement(old.people[ever], old.counts, taken[ever] == seen)
        return better


def _key(people: Int64, counts: Int64) -> tuple[bytes, bytes]:
    return people.tobytes(), counts.tobytes()


def _table(scene: Scene, world: Codes) -> Table:
    """Return the people as a table, with the values of a world."""
    release = scene.release
    name = str(release.manifest.recognized_by[-1])
    quasi: dict[str, Spec | None] = dict.fromkeys(release.quasi)  # roles only: the hierarchies are built
    schema = Schema(quasi=quasi, sensitive=name, rest="drop")
    private = release.private
    hierarchies = release.hierarchies if private is None else tuple(domain.hierarchy for domain in private.domains)
    values = release.sensitive_values.alias(name)
    about = release.manifest.sensitive
    levels = () if about is None or about.levels is None else about.levels
    secrets = (Secret(values, np.arange(len(values), dtype=np.int32), levels),)
    return Table(
        schema, hierarchies, scene.exact_codes, world, secrets, pl.DataFrame(),
        np.arange(scene.n_people), scene.n_people, [],
    )  # fmt: skip
