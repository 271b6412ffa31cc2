"""Intersection: two or more releases about the same people.

Each release leaves a person some sensitive values and a crowd of people who could be in the same rows. Whoever holds
several releases keeps only what all of them allow. Beliefs are combined as if the releases were independent given the
value: the product of what each says, divided by the prior once for every further release.

**Releases of a series.** Where everybody's groups have the same values in all releases, each equally often, values may
be swapped among these people, and every release stays as it is: the rows of two releases cannot be told to be one
person's, so that common crowds say nothing, and the crowd is the group. Whether that holds is looked up in what the
owner keeps; without it, crowds are intersected as those of any releases.

Compared with the promise of the release under attack: nobody's crowd may fall below k, nobody may be left with their
value alone (another one is left to somebody whose value changed meanwhile, and tells nothing), and combined beliefs
beyond the promised share may not be right more often than it. People who fit no row of an earlier release were not in
it, and it tells nothing about them, but what it counts may: a breach by `differencing` is one of this attack, too.

Cost: as `linking` for each release; crowds are listed pair by pair, and left out where that is too much.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
from scipy.sparse import csr_array

from incrowd.attacks import differencing
from incrowd.attacks.finding import Finding, Outcome, Score, not_applicable, worst
from incrowd.attacks.linking import beliefs
from incrowd.attacks.registry import Given
from incrowd.attacks.scene import UNKNOWN, Floats, Int64, Scene
from incrowd.release import People

_SURE = 0.9
_MOST_PAIRS = 5 * 10**7
_LEAST = 1e-12
_ROUNDING = 1e-9


def attack(given: Given) -> Finding:
    """Intersect what the releases leave possible about each person."""
    scene, earlier = given.scene, given.earlier
    if not earlier:
        return not_applicable("intersection", "no earlier release was given")
    scenes = [scene, *earlier]
    if any(s.pairs is None for s in scenes):
        return not_applicable("intersection", "too many pairs of a row and a person to list")
    numbers: dict[str, float | int | None] = {"releases": len(scenes), "promised_belief": scene.limit}
    crowd = _crowds_of_series(scenes)
    numbers |= {} if crowd is None else {"series": len(scenes)}
    crowd = _crowds(scenes) if crowd is None else crowd
    few = np.zeros(scene.n_people, np.bool_)
    why = []
    if crowd is not None:
        few = crowd < scene.k
        numbers |= {"crowd_min": int(crowd.min()), "people_below_k": int(few.sum())}
        what = "group" if "series" in numbers else "common crowd"
        why.append(f"the smallest {what} is {crowd.min()}; the promise is {scene.k}")
    at_risk, broken, success, baseline = few, bool(few.any()), None, None
    if scene.truth is not None and all(s.truth is not None for s in scenes) and _same_values(scenes):
        each = [_of_people(s) for s in scenes]
        combined = _combine(each, scene.prior)
        bar = scene.limit if scene.limit < 1 else _SURE
        alone = np.max([b.max(axis=1) for b in each], axis=0)
        left = np.all([b > 0 for b in each], axis=0).sum(axis=1)  # products may be as small as they like
        single = (left == 1) & (alone < 1 - 1e-9)
        told = single & np.all([b[np.arange(scene.n_people), scene.truth] > 0 for b in each], axis=0)
        success = _score(scene, combined, f"value believed with more than {bar:.0%}, all releases together", bar)
        singles = [_score(scene, b, f"the same, from the best of {len(scenes)} releases alone", bar) for b in each]
        baseline = max(singles, key=lambda s: s.right)
        numbers |= {
            "one_value_left": int(single.sum()),
            "one_value_left_rightly": int(told.sum()),
            "belief_in_truth_mean": float(combined[np.arange(scene.n_people), scene.truth].mean()),
        }
        over = combined.max(axis=1) > bar + _ROUNDING
        if told.any():
            broken = True
            at_risk = at_risk | told
            why.append(f"people with a single value left, which no release shows alone: {int(told.sum())}")
        if scene.limit < 1 and success.interval[0] > scene.limit and success.right > baseline.right:
            broken = True
            at_risk = at_risk | over
            why.append(f"beliefs above {bar:.0%} are right in {success.precision:.1%} of the cases")
    subtracted = differencing.attack(given)
    if not subtracted.ok:
        broken = True
        why.append(f"by subtraction, {subtracted.why}")
    outcome: Outcome = "promise broken" if broken else "withstood"
    risk = 1 / np.maximum(1, crowd if crowd is not None else np.full(scene.n_people, scene.k))
    knows = f"everybody's quasi-identifiers, who is in the tables, and {len(scenes)} releases about them"
    return Finding(
        "intersection", knows, outcome, "; ".join(why) or "nobody has fewer values left than after one release alone",
        success, baseline, numbers, worst(scene.rows, risk, at_risk), int(at_risk.sum()),
    )  # fmt: skip


def _crowds_of_series(scenes: Sequence[Scene]) -> Int64 | None:
    """Return the size of everybody's group, if all are releases of a series that keeps its promise; else ``None``."""
    series = [s.release.manifest.series for s in scenes]
    kept = [s.release.private.evidence if s.release.private is not None else None for s in scenes]
    if any(one is None or series[0] is None or one.id != series[0].id for one in series):
        return None
    if not all(isinstance(one, People) and _is_even(s, one) for s, one in zip(scenes, kept, strict=True)):
        return None
    told = sorted((one for one in kept if isinstance(one, People)), key=lambda one: one.people.height)
    for before, after in pairwise(told):
        same = after.people.head(before.people.height).equals(before.people)
        if not same or not after.signatures.head(before.signatures.height).equals(before.signatures):
            return None
    if any(_has_common_values(one) for one in told[-1:]):
        return None
    sizes = [np.bincount(one.group) for one in kept if isinstance(one, People)]
    row, own = scenes[0].row_of, kept[0]
    assert row is not None
    assert isinstance(own, People)
    least = min(int(size.min()) for size in sizes)
    return np.where(row == UNKNOWN, least, sizes[0][own.group[row]]).astype(np.int64)


def _is_even(scene: Scene, people: People) -> bool:
    """Tell whether every value of a group is as frequent in it as any other."""
    shown = scene.release.sensitive
    assert shown is not None
    counts = np.zeros((int(people.group.max()) + 1, scene.n_values), np.int64)
    np.add.at(counts, (people.group, shown), 1)
    return bool(((counts == 0) | (counts == counts.max(axis=1, keepdims=True))).all())


def _has_common_values(people: People) -> bool:
    """Tell whether somebody was given two signatures that are neither the same nor without a common value."""
    values: dict[int, set[str]] = {}
    for number, value in people.signatures.iter_rows():
        values.setdefault(number, set()).add(value)
    given: dict[int, set[int]] = {}
    for person, number in people.people.iter_rows():
        given.setdefault(person, set()).add(number)
    several = {tuple(sorted(own)) for own in given.values() if len(own) > 1}
    return any(values[a] & values[b] for own in several for a, b in combinations(own, 2))


def _same_values(scenes: Sequence[Scene]) -> bool:
    """Tell whether all releases are about the same sensitive column, coded alike."""
    first = scenes[0].release
    return all(
        s.release.manifest.recognized_by[-1] == first.manifest.recognized_by[-1]
        and s.release.sensitive_values.equals(first.sensitive_values)
        for s in scenes[1:]
    )


def _of_people(scene: Scene) -> Floats:
    assert scene.pairs is not None
    return beliefs(scene, scene.pairs)[scene.point_of]


def _combine(each: Sequence[Floats], prior: Floats) -> Floats:
    """Multiply beliefs; people whom the releases contradict about are left with the first one's."""
    product = each[0].copy()
    for b in each[1:]:
        product *= b / np.maximum(prior, _LEAST)
    total = product.sum(axis=1, keepdims=True)
    return np.where(total > _LEAST, product / np.maximum(total, _LEAST), each[0])


def _score(scene: Scene, believed: Floats, what: str, bar: float) -> Score:
    assert scene.truth is not None
    claimed = believed.max(axis=1) > bar + _ROUNDING
    right = claimed & (believed.argmax(axis=1) == scene.truth)
    return Score(what, int(right.sum()), int(claimed.sum()), scene.n_people)


def _crowds(scenes: Sequence[Scene]) -> Int64 | None:
    """Return how many people share a row with each person in every release, or ``None`` when that is too much."""
    common = None
    for scene in scenes:
        pairs = scene.pairs
        assert pairs is not None
        people = pairs.per_box(scene.point_size).astype(np.float64)
        if float((people**2).sum()) > _MOST_PAIRS:
            return None
        shape = len(pairs.first) - 1, len(scene.points)
        fits = csr_array((np.ones(len(pairs.points), np.int32), pairs.points, pairs.first), shape=shape)
        of_people = fits[:, scene.point_of]
        together = (of_people.T @ of_people).astype(np.bool_)
        absent = np.flatnonzero(together.diagonal() == 0)
        if len(absent) * scene.n_people > _MOST_PAIRS:
            return None
        if len(absent):  # not in this release: it tells nothing
            together = together.tolil()
            together[absent, :] = True
            together = together.tocsr()
        common = together if common is None else common.multiply(together)
    assert common is not None
    return np.asarray(common.astype(np.int64).sum(axis=1)).ravel()
