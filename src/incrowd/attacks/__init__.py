"""Attacks: what an adversary who knows everybody's quasi-identifiers gets out of a release.

`attack` tries every attack that applies and compares what comes out with what the release promises, always against a
baseline: what the adversary would know without the rows about these people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from incrowd import io
from incrowd.attacks.finding import Finding, Score
from incrowd.attacks.registry import ATTACKS, Given, Progress, attack_names, find_attack
from incrowd.attacks.report import AttackReport
from incrowd.attacks.scene import build_scene
from incrowd.errors import IncompatibleError, ParameterError
from incrowd.release import Release, RowRelease

__all__ = ["ATTACKS", "AttackReport", "Finding", "Given", "Score", "attack", "attack_names", "find_attack", "load"]


def attack(
    release: Release | str | Path,
    original: Any,  # noqa: ANN401
    *,
    attacks: Sequence[str] | None = None,
    earlier: Release | str | Path | Sequence[Release | str | Path] | None = None,
    known: float = 0.0,
    non_members: Any = None,  # noqa: ANN401
    seed: int = 0,
    progress: Progress | None = None,
) -> AttackReport:
    """Attack a release of ours, and compare what comes out with its promise.

    The adversary knows everybody's quasi-identifiers, who is in the table, and the method. Sensitive values of the
    original are used to score what was claimed, and for nothing else (but see `known`).

    Parameters
    ----------
    release
        A release, or its folder. With the private row map matching is faster, and claims about shares of blocks are
        bounded; no other attack learns anything from it.
    original
        The table that the release was made from.
    attacks
        Names from `attack_names()`; default: all.
    earlier
        Other releases about the same people, for the attacks by intersection and by differencing.
    known
        Share of the sensitive values that the adversary knows beforehand, 0 to 1.
    non_members
        People of the same population who are not in the table, with the same columns: the classifier's baseline.
    seed
        Of the adversary's own randomness.
    progress
        Called with (stage, done, total).

    Returns
    -------
    AttackReport
        With `ok`, `findings`, and a plain-language text. Several sensitive columns are attacked one by one.
    """
    chosen = {name: find_attack(name) for name in (attack_names() if attacks is None else attacks)}
    if not 0 <= known <= 1:
        fact = f"known is {known!r}"
        raise ParameterError(fact, "use a share of the people, from 0 to 1")
    report = progress or (lambda _stage, _done, _total: None)
    loaded, frame = load(release), io.to_polars(original)
    others = () if earlier is None else (earlier,) if isinstance(earlier, Release | str | Path) else tuple(earlier)
    before, secrets = [load(other) for other in others], [secret.name for secret in loaded.secrets]
    outside = None if non_members is None else io.to_polars(non_members)
    findings: list[Finding] = []
    n_people, order, n_all = 0, attack_names(), len(chosen) * max(1, len(secrets))
    for view in loaded.each_secret():
        scene = build_scene(view, frame)
        n_people = scene.n_people
        own = before if len(secrets) < 2 else _about_the_same(before, view.secrets[0].name)
        scenes = tuple(build_scene(other, frame[scene.rows.tolist()], same=False) for other in own)
        for name, run in chosen.items():
            report("attacking", len(findings), n_all)
            rng = np.random.default_rng([seed, order.index(name)])
            found = run(Given(scene, scenes, known, outside, rng, report))
            findings.append(found if len(secrets) < 2 else replace(found, column=view.secrets[0].name))
    report("attacking", n_all, n_all)
    manifest = loaded.manifest
    return AttackReport(manifest.method.name, manifest.guarantees, n_people, tuple(findings))


def _about_the_same(releases: Sequence[RowRelease], column: str) -> list[RowRelease]:
    """Return what other releases show of a sensitive column, as far as they have it."""
    return [release.about(column) for release in releases if column in [secret.name for secret in release.secrets]]


def load(release: Release | str | Path) -> RowRelease:
    """Return a release of generalized rows, from its folder if need be."""
    loaded: Release = Release.load(release) if isinstance(release, str | Path) else release
    if not loaded.has_cells:
        fact = f"Only releases of generalized rows can be attacked, and this is a {type(loaded).__name__}"
        raise IncompatibleError(fact, "check projections with: incrowd verify --original")
    return cast("RowRelease", loaded)
