"""What a release says about people, as statements: among these people, value v occurs c_v times.

A distribution counts the members of its row, who all lie in its box; rows with equal cells and exact values count
their own people, who lie in that box. Whoever else lies in the box may or may not be counted. Where a box holds exactly
as many people as are counted, the statement names them all: it is *whole*. Distributions that are mixed from shares of
blocks count nobody; all that they can tell is what the blocks count (`of_blocks`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from incrowd.attacks.scene import Int64, Scene
from incrowd.release import Blocks

_MOST_ENTRIES = 4 * 10**6


@dataclass(frozen=True)
class Statement:
    """Some people, and how often each value occurs among those of them who are counted.

    Attributes
    ----------
    people
        Their places in the scene, in increasing order.
    counts
        Per value; the sum is the number of people who are counted.
    certain
        Which of the people are known to be counted: all of them when the statement is whole.
    """

    people: Int64
    counts: Int64
    certain: npt.NDArray[np.bool_]

    @property
    def slack(self) -> int:
        """People who are not counted, whoever they are."""
        return len(self.people) - int(self.counts.sum())

    @property
    def whole(self) -> bool:
        """Whether all of the people are counted."""
        return self.slack == 0


def state(people: Int64, counts: Int64) -> Statement:
    """Make a statement in which nobody, or everybody, is known to be counted."""
    order = np.sort(people)
    return Statement(order, counts, np.full(len(order), len(order) == int(counts.sum())))


def collect(scene: Scene) -> list[Statement]:
    """Return what the release says about people, the tightest statements first, each once."""
    if tells_blocks(scene):
        return []
    statements = list(_of_boxes(scene))
    if scene.release.sensitive is not None:
        statements += _of_components(scene)
    statements.sort(key=lambda s: (s.slack / max(1, int(s.counts.sum())), len(s.people)))
    kept, seen, n_entries = [], set(), 0
    for statement in statements:
        key = (statement.people.tobytes(), statement.counts.tobytes())
        n_entries += len(statement.people)
        if key not in seen and n_entries <= _MOST_ENTRIES:
            seen.add(key)
            kept.append(statement)
    return kept


def tells_blocks(scene: Scene) -> bool:
    """Tell whether distributions are made of shares of blocks, and count nobody in the box of a row."""
    about = scene.release.manifest.sensitive
    return about is not None and about.form == Blocks.form


def of_blocks(scene: Scene) -> list[Statement]:
    """Return what blocks of people count: all that shares of blocks can tell, and only the owner knows the blocks."""
    evidence = None if scene.release.private is None else scene.release.private.evidence
    if not isinstance(evidence, Blocks) or scene.row_of is None or scene.truth is None:
        return []
    found = []
    inside = np.flatnonzero(scene.row_of >= 0)
    block_of = evidence.block[scene.row_of[inside]]
    for block in np.unique(block_of):
        people = inside[block_of == block]
        found.append(state(people, np.bincount(scene.truth[people], minlength=scene.n_values)))
    return found


def _of_boxes(scene: Scene) -> Iterator[Statement]:
    """One statement per box and distribution, or per box and the exact values in it."""
    release, pairs = scene.release, scene.pairs
    assert pairs is not None
    if release.cell_counts is None:
        assert release.sensitive is not None
        counts = np.zeros((len(scene.box_size), scene.n_values), np.int64)
        np.add.at(counts, (scene.box_of, release.sensitive), 1)
        shown = [(box, counts[box]) for box in range(len(counts))]
    else:
        published = np.column_stack([scene.box_of, release.cell_counts[release.cell_of]]).astype(np.int64)
        shown = [(int(row[0]), row[1:]) for row in np.unique(published, axis=0)]
    for box, found in shown:
        yield state(scene.people_at(pairs.points[pairs.first[box] : pairs.first[box + 1]]), found)


def _of_components(scene: Scene) -> Iterator[Statement]:
    """One statement per part of the table whose people and rows fit nobody and nothing outside it."""
    pairs, release = scene.pairs, scene.release
    assert pairs is not None
    assert release.sensitive is not None
    n_points = len(scene.points)
    size = n_points + len(scene.box_size)
    graph = coo_array((np.ones(len(pairs.points), np.int8), (pairs.points, n_points + pairs.boxes)), shape=(size, size))
    n_parts, part = connected_components(graph, directed=False)
    counts = np.zeros((n_parts, scene.n_values), np.int64)
    np.add.at(counts, (part[n_points + scene.box_of], release.sensitive), 1)
    of_person = part[scene.point_of]
    order = np.argsort(of_person, kind="stable")
    ends = np.searchsorted(of_person[order], np.arange(n_parts + 1))
    for p in range(n_parts):
        if counts[p].any():
            yield state(order[ends[p] : ends[p + 1]], counts[p])
