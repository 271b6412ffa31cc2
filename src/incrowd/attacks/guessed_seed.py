"""Guessed seed: the adversary repeats the run with its seed, and sees where each person's columns went.

The adversary knows the quasi-identifiers of everybody in the order of the original, the method, its parameters and the
seed, but not the sensitive and the *other* columns, which are drawn from what is published. Each person is marked in
the repetition, which shows in which cell the person's columns end; whatever all published rows of that cell show is the
claim. The baseline is the same with a wrong seed.

Compared with the promise: a seed must tell nothing, for randomness also takes a hash of the whole original
(`incrowd.release.seal`). It is broken when claims with the right seed are right more often than with a wrong one (95 %
intervals apart).

Cost: the method runs twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from incrowd.attacks.finding import Finding, Outcome, Score, not_applicable, wilson, worst
from incrowd.attacks.other_columns import hash_rows
from incrowd.attacks.registry import Given
from incrowd.attacks.scene import Scene, schema_of
from incrowd.errors import IncrowdError
from incrowd.publish import Publisher, make
from incrowd.release import RowRelease
from incrowd.schema import Schema

_NAME = "guessed-seed"
_MOST_PEOPLE = 10_000  # beyond, a run takes longer than it is worth
_MARK = "\0person"


def attack(given: Given) -> Finding:
    """Repeat the run with the right seed, and with a wrong one."""
    scene = given.scene
    release, private = scene.release, scene.release.private
    if private is None:
        return not_applicable(_NAME, "only the owner has the seed: try it with the private folder beside the release")
    if private.seed is None:
        return not_applicable(_NAME, "the run had no seed, so there is none to guess")
    if release.sensitive is None and not release.other.width:
        return not_applicable(_NAME, "no row shows a value of one person")
    if scene.n_people > _MOST_PEOPLE:
        return not_applicable(_NAME, f"with more than {_MOST_PEOPLE} people, a repetition takes too long")
    try:
        method = make(release.manifest.method.name, **release.manifest.method.parameters)
        frame, schema = _guessed(scene, given.rng)
        runs = [_claim(scene, method, frame, schema, seed) for seed in (private.seed, private.seed + 1)]
    except IncrowdError as error:
        return not_applicable(_NAME, f"the run cannot be repeated with guessed values: {type(error).__name__}")
    n = scene.n_people
    success, baseline = (
        Score(what, int(right.sum()), int(claimed.sum()), n)
        for what, (claimed, right) in zip(
            ("columns of a person, by the run with the right seed", "the same with a wrong seed"), runs, strict=True
        )
    )
    broken = wilson(success.right, n)[0] > wilson(baseline.right, n)[1]
    outcome: Outcome = "promise broken" if broken else "withstood"
    why = f"with the right seed {success.right} certain claims are right, with a wrong one {baseline.right}"
    why += "" if broken else "; a seed alone repeats nothing, because the whole original goes into the randomness"
    at_risk = runs[0][1] & broken
    return Finding(
        _NAME,
        "everybody's quasi-identifiers in the order of the original, the method, and the seed",
        outcome,
        why,
        success,
        baseline,
        {"right_with_seed": success.right, "right_without": baseline.right},
        worst(scene.rows, at_risk.astype(np.float64), at_risk),
        int(at_risk.sum()),
    )


def _guessed(scene: Scene, rng: np.random.Generator) -> tuple[pl.DataFrame, Schema]:
    """Return the table as far as the adversary knows it, everything else drawn from the release, and its schema."""
    release, manifest = scene.release, scene.release.manifest
    n = scene.n_people
    columns = [scene.people[name] for name in release.quasi]
    columns += release.other[rng.integers(0, release.n_rows, n)].get_columns() if release.other.width else []
    columns.append(pl.Series(_MARK, np.arange(n)))
    about = manifest.sensitive
    if about is not None:
        drawn = rng.choice(scene.n_values, n, p=scene.prior)
        columns.append(release.sensitive_values[drawn].alias(about.name))
    return pl.DataFrame(columns), schema_of(release, _MARK)


def _claim(
    scene: Scene, method: Publisher[Any], frame: pl.DataFrame, schema: Schema, seed: int
) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Return about whom a repetition makes a certain claim, and who of them it is right about."""
    release = scene.release
    mine = method.publish(frame, schema, seed=seed, domains=release.manifest.domains)
    shown = hash_rows(_personal(release))
    rows = pl.DataFrame({"cell": _cells(release), "shown": shown})
    by_cell = rows.group_by("cell").agg(pl.col("shown").first(), alike=pl.col("shown").n_unique())
    ends = pl.DataFrame({"cell": _cells(mine), "person": mine.other[_MARK]}).join(by_cell, on="cell")
    certain = ends.filter(pl.col("alike") == 1)
    claimed, right = np.zeros(scene.n_people, np.bool_), np.zeros(scene.n_people, np.bool_)
    who = certain["person"].to_numpy()
    truth = scene.people.select(pl.col(c.name).cast(c.dtype, strict=False) for c in _personal(release).iter_columns())
    claimed[who] = True
    right[who] = hash_rows(truth)[who] == certain["shown"].to_numpy()
    return claimed, right


def _personal(release: RowRelease) -> pl.DataFrame:
    """Return the columns in which rows show values of one person."""
    if release.sensitive is None:
        return release.other
    values = release.sensitive_values[release.sensitive].alias(release.manifest.recognized_by[-1])
    return pl.DataFrame([*release.other.get_columns(), values])


def _cells(release: RowRelease) -> pl.Series:
    """Return the labels of each row's cell, as one number."""
    return pl.Series(hash_rows(release.labelled().select(release.quasi)))
