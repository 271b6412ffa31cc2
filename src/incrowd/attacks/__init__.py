"""Attacks: what an adversary who knows everybody's quasi-identifiers gets out of a release.

`attack` tries every attack that applies and compares what comes out with what the release promises, always against a
baseline: what the adversary would know without the rows about these people.
"""

from __future__ import annotations

from collections.abc import Sequence
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
        With `ok`, `findings`, and a plain-language text.
    """
    names = attack_names() if attacks is None else list(attacks)
    chosen = {name: find_attack(name) for name in names}
    if not 0 <= known <= 1:
        fact = f"known is {known!r}"
        raise ParameterError(fact, "use a share of the people, from 0 to 1")
    report = progress or (lambda _stage, _done, _total: None)
    loaded, frame = load(release), io.to_polars(original)
    scene = build_scene(loaded, frame)
    others = () if earlier is None else (earlier,) if isinstance(earlier, Release | str | Path) else tuple(earlier)
    before = tuple(build_scene(load(other), frame[scene.rows.tolist()], same=False) for other in others)
    outside = None if non_members is None else io.to_polars(non_members)
    findings, order = [], attack_names()
    for n, (name, run) in enumerate(chosen.items()):
        report("attacking", n, len(chosen))
        rng = np.random.default_rng([seed, order.index(name)])
        findings.append(run(Given(scene, before, known, outside, rng, report)))
    report("attacking", len(chosen), len(chosen))
    manifest = loaded.manifest
    return AttackReport(manifest.method.name, manifest.guarantees, scene.n_people, tuple(findings))


def load(release: Release | str | Path) -> RowRelease:
    """Return a release of generalized rows, from its folder if need be."""
    loaded: Release = Release.load(release) if isinstance(release, str | Path) else release
    if not loaded.has_cells:
        fact = f"Only releases of generalized rows can be attacked, and this is a {type(loaded).__name__}"
        raise IncompatibleError(fact, "check projections with: incrowd verify --original")
    return cast("RowRelease", loaded)
