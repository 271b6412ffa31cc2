"""Matching: who can be behind which row when every row has exactly one person.

Rows that fit a person are candidates (see `linking`). Only candidates that are part of some perfect matching between
people and rows can be true; dropping all others leaves smaller crowds. The least number that is left is the level of
k-concealment (Gionis, Mazza, Tassa 2008; Tassa, Mazza, Gionis 2012). Where rows show a value of their person (an exact
sensitive value, or columns that are released as they are), a level below k breaks the promise. Distributions
say nothing more about somebody whose row is known, and *other* columns that are shuffled in blocks are somebody else's;
then the level is reported, and what those columns reveal is measured (`other_columns`).

Given one perfect matching, an edge outside it is in some perfect matching exactly when it lies on an alternating
cycle: when its ends are in one strongly connected component of the graph with arcs person -> row for every candidate
and row -> person for every matched pair. Equal people and equal cells are joined into nodes with capacities, which
changes nothing: the members of a node can change places. People whose rows were suppressed are matched with blank rows.
With the private row map the true assignment serves as the first matching; the result does not depend on it.

Cost: linear in pairs of a distinct person and a distinct cell; without a row map a maximum flow on top.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, maximum_flow

from incrowd.attacks.finding import Finding, Outcome, Score, not_applicable, worst
from incrowd.attacks.linking import count
from incrowd.attacks.other_columns import judge, shuffled_in_blocks
from incrowd.attacks.registry import Given
from incrowd.attacks.scene import Int64, Pairs, Scene
from incrowd.errors import counted
from incrowd.hierarchy.hierarchy import Codes

_FLOW_BUDGET = 2 * 10**7


def attack(given: Given) -> Finding:
    """Drop the candidates that are in no perfect matching, and count again."""
    scene = given.scene
    if scene.pairs is None:
        return not_applicable("matching", "too many pairs of a row and a person to list")
    if scene.row_of is None and len(scene.pairs.points) > _FLOW_BUDGET:
        return not_applicable("matching", "without the private row map, a matching of so many pairs takes too long")
    possible = prune(scene)
    if possible is None:
        return not_applicable("matching", "no assignment of people to rows fits: this is not the original")
    rows_before, people_before = count(scene, scene.pairs)
    rows, people = count(scene, possible)
    others = scene.release.other.width > 0
    own = scene.release.sensitive is not None or (
        others and not shuffled_in_blocks(scene)
    )  # whether a row shows values of its own person
    few = rows < scene.k
    disclosed = judge(scene, possible, rows)
    broken = (own and bool((people < scene.k).any() or few.any())) or (disclosed is not None and disclosed.broken)
    numbers: dict[str, float | int | None] = {
        "concealment_level": int(rows.min()),
        "people_per_row_min": int(people.min()),
        "people_below_k": int(few.sum()),
        "people_below_k_before": int((rows_before < scene.k).sum()),
        "rows_below_k": int((people < scene.k).sum()),
        "rows_below_k_before": int((people_before < scene.k).sum()),
        "row_known": int((rows == 1).sum()),
        "pairs": len(scene.pairs.points),
        "pairs_dropped": len(scene.pairs.points) - len(possible.points),
    }
    why = f"without impossible pairs, every row fits at least {counted(int(people.min()), 'person', 'people')}, and "
    why += f"every person at least {counted(int(rows.min()), 'row')}; the promise is {scene.k}"
    if not own and (few.any() or (people < scene.k).any()):
        why += " people per published row. Knowing somebody's row breaks no promise: its shares are those of at least "
        why += f"{scene.k} people"
        why += ", and its other columns belong to somebody from a block of as many" if others else ""
    if disclosed is not None:
        why += f"; {disclosed.why}"
        numbers |= disclosed.numbers
    outcome: Outcome = "promise broken" if broken else "withstood"
    at_risk = few if broken else np.zeros(scene.n_people, np.bool_)
    n = scene.n_people
    return Finding(
        "matching",
        "everybody's quasi-identifiers, who is in the table, and that each row is one person's",
        outcome,
        why,
        Score("row of a person, guessed among those that are left", float((1 / np.maximum(1, rows)).sum()), n, n),
        Score("row of a person, guessed among those that fit", float((1 / np.maximum(1, rows_before)).sum()), n, n),
        numbers,
        worst(scene.rows, 1 / np.maximum(1, rows), at_risk),
        int(at_risk.sum()),
    )


def prune(scene: Scene) -> Pairs | None:
    """Return the pairs that are in some perfect matching; ``None`` if there is no perfect matching at all."""
    pairs = scene.pairs
    assert pairs is not None
    n_points, n_boxes, n_blank = len(scene.points), len(scene.box_size), scene.n_suppressed
    if n_blank < 0:
        return None
    box, point = pairs.boxes, pairs.points
    if n_blank:  # one more box, which fits everybody
        box = np.concatenate([box, np.full(n_points, n_boxes, np.int32)])
        point = np.concatenate([point, np.arange(n_points, dtype=np.int32)])
    n_all = n_boxes + (n_blank > 0)
    size = np.append(scene.box_size, n_blank)[:n_all]
    people = scene.point_size
    if scene.n_filler:  # one more point, which fits every box: nobody
        box = np.concatenate([box, np.arange(n_boxes, dtype=np.int32)])
        point = np.concatenate([point, np.full(n_boxes, n_points, np.int32)])
        n_points, people = n_points + 1, np.append(people, scene.n_filler)
    matched = _known(scene, n_boxes) if scene.row_of is not None else _flow(people, size, point, box)
    if matched is None:
        return None
    taken_point, taken_box = matched
    tail = np.concatenate([point, n_points + taken_box.astype(np.int32)])
    head = np.concatenate([n_points + box, taken_point.astype(np.int32)])
    graph = csr_array((np.ones(len(tail), np.int8), (tail, head)), shape=(n_points + n_all,) * 2)
    del tail, head
    _, part = connected_components(graph, directed=True, connection="strong")
    return pairs.some(part[pairs.points] == part[n_points + pairs.boxes])


def _known(scene: Scene, n_boxes: int) -> tuple[Int64, Int64]:
    """Return the true assignment: distinct pairs of a point and a box that somebody is in."""
    assert scene.row_of is not None
    box = np.where(scene.row_of >= 0, scene.box_of[scene.row_of], n_boxes)
    point, private = scene.point_of, scene.release.private
    if scene.n_filler and private is not None:
        empty = scene.box_of[private.rows < 0]
        point = np.concatenate([point, np.full(len(empty), len(scene.points))])
        box = np.concatenate([box, empty])
    key = np.unique(point * (n_boxes + 1) + box)
    return key // (n_boxes + 1), key % (n_boxes + 1)


def _flow(points: Int64, boxes: Int64, point: Codes, box: Codes) -> tuple[Int64, Int64] | None:
    """Find a perfect matching by maximum flow; return the pairs that it uses."""
    n_points, n_boxes = len(points), len(boxes)
    start, end = n_points + n_boxes, n_points + n_boxes + 1
    tail = np.concatenate([np.full(n_points, start), point, n_points + np.arange(n_boxes)])
    head = np.concatenate([np.arange(n_points), n_points + box, np.full(n_boxes, end)])
    capacity = np.concatenate([points, np.minimum(points[point], boxes[box]), boxes]).astype(np.int32)
    graph = coo_array((capacity, (tail.astype(np.int32), head.astype(np.int32))), shape=(end + 1, end + 1)).tocsr()
    found = maximum_flow(graph, start, end)
    if found.flow_value < points.sum():
        return None
    flow = found.flow.tocoo()
    used = (flow.data > 0) & (flow.row < n_points) & (flow.col < start)
    return flow.row[used].astype(np.int64), flow.col[used].astype(np.int64) - n_points
