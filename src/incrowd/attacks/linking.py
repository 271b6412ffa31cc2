"""Linking: the released rows that fit a person, and what they say about the sensitive value.

For each person the rows whose every cell covers the person's quasi-identifiers are found. Three risks, named as in the
literature on disclosure control: *prosecutor* (somebody looks for a person known to be in the table: one over the rows
that fit), *journalist* (somebody looks for the person behind a row: one over the people who fit it), *marketer*
(somebody links all rows: the share that is right on average). The belief in a value is its share in the rows that fit,
all rows alike.

Compared with the promise: no row may fit fewer than k people; where exact values are published no person may fit fewer
than k rows either; and the values that the rows favour beyond the promised share may not be right more often than it.
A method that publishes distributions does not promise how many rows fit a person, so this is reported and not judged;
what few rows reveal through columns that are released as they are is judged (`other_columns`).

Cost: a bit per pair of distinct people and distinct cells.
"""

from __future__ import annotations

import numpy as np

from incrowd.attacks.finding import Finding, Outcome, Score, not_applicable, worst
from incrowd.attacks.other_columns import judge
from incrowd.attacks.registry import Given
from incrowd.attacks.scene import Floats, Int64, Pairs, Scene
from incrowd.errors import counted

_SURE = 0.9
_ROUNDING = 1e-9


def attack(given: Given) -> Finding:
    """Link people and rows by the quasi-identifiers alone."""
    scene = given.scene
    if scene.pairs is None:
        return not_applicable("linking", "too many pairs of a row and a person to list")
    fitting_rows, fitting_people = count(scene, scene.pairs)
    numbers: dict[str, float | int | None] = {
        "rows_per_person_min": int(fitting_rows.min()),
        "rows_per_person_mean": float(fitting_rows.mean()),
        "people_per_row_min": int(fitting_people.min()),
        "people_per_row_mean": float(fitting_people.mean()),
        "prosecutor_risk_max": 1 / max(1, int(fitting_rows.min())),
        "prosecutor_risk_mean": float(np.mean(1 / np.maximum(1, fitting_rows))),
        "journalist_risk_max": 1 / max(1, int(fitting_people.min())),
        "marketer_risk": float(np.mean(1 / np.maximum(1, fitting_people))),
    }
    exact = scene.release.sensitive is not None
    few_rows, few_people = fitting_rows < scene.k, fitting_people < scene.k
    numbers["people_below_k"] = int(few_rows.sum())
    at_risk = few_rows if exact else np.zeros(scene.n_people, np.bool_)
    why, broken = (
        [f"every row fits at least {counted(int(fitting_people.min()), 'person', 'people')}"],
        bool(few_people.any()),
    )
    if exact:
        why.append(f"every person fits at least {counted(int(fitting_rows.min()), 'row')}")
        broken |= bool(few_rows.any())
    disclosed = judge(scene, scene.pairs, fitting_rows)
    if disclosed is not None:
        numbers |= disclosed.numbers
        why.append(disclosed.why)
        broken |= disclosed.broken
        at_risk = at_risk | (few_rows & disclosed.broken)
    elif few_rows.any() and not exact:
        why.append(f"a person may fit a single row, whose shares are those of at least {scene.k} people")
    success, baseline = None, None
    if scene.truth is not None and scene.n_values:
        believed = beliefs(scene, scene.pairs)[scene.point_of]
        success, baseline, over = judge_values(scene, believed)
        top = believed.max(axis=1)
        numbers |= {
            "belief_max": float(top.max()),
            "belief_mean": float(top.mean()),
            "belief_in_truth_mean": float(believed[np.arange(scene.n_people), scene.truth].mean()),
            "prior_in_truth_mean": float(scene.prior[scene.truth].mean()),
            "promised_belief": scene.limit,
        }
        if scene.limit < 1 and success.interval[0] > scene.limit:
            broken = True
            at_risk = at_risk | over
            why.append(
                f"values believed with more than {scene.limit:.1%} are right in {success.precision:.1%} of the cases"
            )
    promised = f"; the promise is {scene.k}"
    if success is not None and success.claimed and scene.limit == 1:
        promised += f", and nothing about values: {success.claimed} are believed with more than {_SURE:.0%}"
    outcome: Outcome = "promise broken" if broken else "withstood"
    risk = 1 / np.maximum(1, fitting_rows)
    return Finding(
        "linking",
        "everybody's quasi-identifiers and who is in the table",
        outcome,
        ", ".join(why) + promised,
        success,
        baseline,
        numbers,
        worst(scene.rows, risk, at_risk),
        int(at_risk.sum()),
    )


def count(scene: Scene, pairs: Pairs) -> tuple[Int64, Int64]:
    """Return how many released rows fit each person, and how many people fit each released row."""
    rows = pairs.per_point(scene.box_size, len(scene.points)).astype(np.int64)
    people = pairs.per_box(scene.point_size)
    return rows[scene.point_of], people[scene.box_of]


def beliefs(scene: Scene, pairs: Pairs) -> Floats:
    """Return the share of each sensitive value in the rows that fit each point, [points x values]."""
    shown = shown_values(scene)
    total = np.stack([pairs.per_point(shown[:, v], len(scene.points)) for v in range(scene.n_values)], axis=1)
    sums = total.sum(axis=1, keepdims=True)
    return np.where(sums > 0, total / np.maximum(sums, 1e-300), scene.prior)


def shown_values(scene: Scene) -> Floats:
    """Return the number of rows of each box that show each value; a distribution counts as one row in parts."""
    release = scene.release
    shown = np.zeros((len(scene.box_size), scene.n_values))
    if release.sensitive is not None:
        np.add.at(shown, (scene.box_of, release.sensitive), 1)
    elif release.distributions is not None:
        np.add.at(shown, scene.box_of, release.distributions)
    return shown


def judge_values(scene: Scene, believed: Floats) -> tuple[Score, Score, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Score the values that are believed beyond the promise (0.9 if nothing is promised), and the prior alone."""
    assert scene.truth is not None
    bar = scene.limit if scene.limit < 1 else _SURE
    over = believed.max(axis=1) > bar + _ROUNDING
    right = believed.argmax(axis=1) == scene.truth
    named = f"value believed with more than {bar:.0%}"
    most_frequent = int(scene.prior.argmax())
    success = Score(named, int((over & right).sum()), int(over.sum()), scene.n_people)
    baseline = Score("most frequent value, about the same people", int((scene.truth[over] == most_frequent).sum()),
                     int(over.sum()), scene.n_people)  # fmt: skip
    return success, baseline, over
