"""People left out: the release without the rows of some people, who stay among those who may be behind a row.

An adversary who does not know who was left out treats them like everybody else. So whatever he is right about as often
for them as for the others is the pattern of the population, and whatever he is right about more often for the others
came from their own rows. Cells are those that were published: what their choice tells is for `minimality`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from incrowd.attacks.scene import UNKNOWN, Int64, Scene

_PARTS = 10  # a tenth at a time: of a fifth, so much is missing that claims become rare
_ENOUGH = 3000  # people left out, in one part of a large table or in all parts of a small one


def parts(scene: Scene, asked: npt.NDArray[np.bool_], rng: np.random.Generator) -> Iterator[tuple[Scene, Int64]]:
    """Yield scenes, each with the people whose rows it lacks; none if nobody can tell which row is whose."""
    row_of = scene.row_of
    if row_of is None or scene.release.sensitive is None:
        return
    people = rng.permutation(np.flatnonzero(asked & (row_of != UNKNOWN)))
    size = -(-len(people) // _PARTS)
    for first in range(0, min(len(people), _ENOUGH), max(1, size)):
        gone = np.sort(people[first : first + size])
        yield _without(scene, row_of[gone]), gone


def _without(scene: Scene, rows: Int64) -> Scene:
    """Return the scene without some released rows."""
    release = scene.release
    kept = np.ones(release.n_rows, np.bool_)
    kept[rows] = False
    secrets = tuple(replace(s, codes=None if s.codes is None else s.codes[kept]) for s in release.secrets)
    counts = release.manifest.rows
    manifest = replace(
        release.manifest,
        rows=replace(counts, released=counts.released - len(rows), suppressed=counts.suppressed + len(rows)),
    )
    left = replace(
        release,
        cell_of=release.cell_of[kept],
        secrets=secrets,
        other=release.other.filter(kept) if release.other.width else release.other,
        private=None,
        manifest=manifest,
    )
    return replace(scene, release=left)
