"""Minimality: what the choice of the cells tells about the people in them (Wong et al. 2007).

A method that looks at sensitive values or classes puts its cuts where they pay. Whoever stands beside a cut had a part
in that: so the adversary bets that people at an end of their cell, where the domain goes on, have the most frequent
value of their group. The baseline is what the group's counts say about anybody in it.

It measures one way to reason, and bounds none. Where l stopped the cuts, people beside them rather have *less* of the
top value; and that a group was cut no further tells that its parts would not keep l.

Beside it stands what an adversary with far more knowledge could do: all values but those of two mates of a group, and
the randomness of the run. He tries both ways round; where they give different groups, he knows who has which. No method
that looks at values withstands that one, and no promise is made against him; it is a number to compare methods by.

Compared with the promise: the bets may not be right more often than the largest share that the release allows (95 %
interval), where it allows less than certainty. Without l, t or alpha it is reported, and not judged.

Cost: counting; the method runs once for each of 40 pairs, up to 10 000 people.

Reference: Wong, Fu, Wang, Pei: Minimality attack in privacy preserving data publishing, VLDB 2007.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from incrowd.attacks.finding import Finding, Number, Outcome, Score, not_applicable, worst
from incrowd.attacks.registry import Given
from incrowd.attacks.scene import UNKNOWN, Int64, Scene, schema_of
from incrowd.coding import Table
from incrowd.errors import IncrowdError
from incrowd.kernels.groups import label_groups
from incrowd.publish import CellPublisher, make

_NAME = "minimality"
_PAIRS, _MOST_PEOPLE = 40, 10_000


def attack(given: Given) -> Finding:
    """Bet on the most frequent value of people beside a cut; count swaps that would have changed the groups."""
    scene = given.scene
    release, row_of = scene.release, scene.row_of
    if release.sensitive is None or scene.truth is None:
        return not_applicable(_NAME, "no sensitive value is published row by row")
    if row_of is None:
        return not_applicable(_NAME, "who is in which group is with the owner: try it where the private folder lies")
    if not release.manifest.homogeneous:
        return not_applicable(_NAME, "the cells are not those of groups")
    people = np.flatnonzero(row_of != UNKNOWN)
    box, codes, truth = scene.box_of[row_of[people]], scene.codes[people], scene.truth[people]
    counts = np.zeros((len(scene.box_size), scene.n_values), np.int64)
    np.add.at(counts, (scene.box_of, release.sensitive), 1)
    edge = _beside_cuts(scene, box, codes)
    top, size = counts.argmax(axis=1)[box], scene.box_size[box]
    n, right = int(edge.sum()), float((truth == top)[edge].sum())
    expected = float((counts.max(axis=1)[box] / size)[edge].sum())
    success = Score("the most frequent value of the group, about people beside a cut", right, n, scene.n_people)
    baseline = Score("the same, about anybody in these groups", expected, n, scene.n_people)
    broken = scene.limit < 1 and n > 0 and success.interval[0] > scene.limit
    numbers: dict[str, Number] = {
        "people_beside_a_cut": n,
        "more_often_than_the_share": None if n == 0 else (right - expected) / n,
        "swaps_that_change_the_groups": _swaps(given, people, box, truth),
    }
    outcome: Outcome = "promise broken" if broken else "withstood" if scene.limit < 1 or n == 0 else "reported"
    at_risk = np.zeros(scene.n_people, np.bool_)
    at_risk[people[edge & (truth == top)]] = broken
    return Finding(
        _NAME,
        "everybody's quasi-identifiers, who is in which group, and that cuts are made where they pay",
        outcome,
        _reason(success, baseline, scene.limit),
        success,
        baseline,
        numbers,
        worst(scene.rows, at_risk.astype(np.float64), at_risk),
        int(at_risk.sum()),
    )


def _reason(success: Score, baseline: Score, limit: float) -> str:
    if success.precision is None or baseline.precision is None:
        return "no cell ends inside its domain, so nobody stands beside a cut"
    told = f"right for {success.precision:.1%} of the people beside a cut, where shares say {baseline.precision:.1%}"
    return f"{told}; {f'{limit:.1%} is promised' if limit < 1 else 'no limit of belief is promised'}"


def _beside_cuts(scene: Scene, box: Int64, codes: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Tell who stands at an end of their cell where the domain goes on."""
    lo, hi = scene.boxes
    last = np.array([domain.hierarchy.n_leaves - 1 for domain in scene.release.domains])
    at_first = (codes == lo[box]) & (lo[box] > 0)
    at_last = (codes == hi[box]) & (hi[box] < last)
    wide = lo[box] < hi[box]  # a single value has no inside
    return np.asarray(((at_first | at_last) & wide).any(axis=1))


def _swaps(given: Given, people: Int64, box: Int64, truth: npt.NDArray[np.int32]) -> float | None:
    """Return the share of pairs of mates whose values, exchanged, would give other groups; ``None`` if not tried."""
    scene = given.scene
    about = scene.release.manifest.method
    pairs = _mates(given.rng, box, truth)
    if len(people) > _MOST_PEOPLE or not len(pairs):
        return None
    try:
        method = make(about.name, **about.parameters)
        table = Table.encode(scene.people[people], schema_of(scene.release))
    except IncrowdError:
        return None
    if not isinstance(method, CellPublisher) or table.sensitive is None or table.n_rows != len(people):
        return None
    seed = int(given.rng.integers(2**32))
    as_it_is = _groups(method, table, seed)
    changed = 0
    for number, (a, b) in enumerate(pairs):
        given.progress("swapping", number, len(pairs))
        swapped = table.sensitive.copy()
        swapped[[a, b]] = swapped[[b, a]]
        changed += not np.array_equal(as_it_is, _groups(method, replace(table, sensitive=swapped), seed))
    return changed / len(pairs)


def _groups(method: CellPublisher, table: Table, seed: int) -> Int64:
    chosen = method.choose(table, np.random.default_rng(seed), lambda _stage, _done, _total: None)
    return label_groups(np.asfortranarray(chosen.cell_of[:, None].astype(np.int32)))[0]


def _mates(rng: np.random.Generator, box: Int64, truth: npt.NDArray[np.int32]) -> list[tuple[int, int]]:
    """Return random pairs of people of one group with different values."""
    pairs: list[tuple[int, int]] = []
    for who in rng.permutation(len(box))[: 10 * _PAIRS]:
        mates = np.flatnonzero((box == box[who]) & (truth != truth[who]))
        if len(mates) and len(pairs) < _PAIRS:
            pairs.append((int(who), int(rng.choice(mates))))
    return pairs
