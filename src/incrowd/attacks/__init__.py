"""Attacks: what an adversary who knows everybody's quasi-identifiers gets out of a release.

`attack` tries every attack that applies and compares what comes out with what the release promises, always against a
baseline: what the adversary would know without being told about these very people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from incrowd import io
from incrowd.attacks import classifier, intersection, linking, matching, reconstruction
from incrowd.attacks.finding import Finding, Score
from incrowd.attacks.report import AttackReport
from incrowd.attacks.scene import look
from incrowd.errors import IncompatibleError, ParameterError
from incrowd.release import Release, RowRelease

__all__ = ["ATTACKS", "AttackReport", "Finding", "Score", "attack", "load"]

ATTACKS = ("linking", "matching", "reconstruction", "classifier", "intersection")

Progress = Callable[[str, int, int], None]


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
        Names out of `ATTACKS`; all without.
    earlier
        Other releases about the same people, for the attack by intersection.
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
    names = tuple(ATTACKS if attacks is None else attacks)
    unknown = [name for name in names if name not in ATTACKS]
    if unknown:
        fact = f"There is no attack {', '.join(map(repr, unknown))}"
        raise ParameterError(fact, f"use some of {', '.join(ATTACKS)}")
    if not 0 <= known <= 1:
        fact = f"known is {known!r}"
        raise ParameterError(fact, "it is a share of the people, from 0 to 1")
    report = progress or (lambda _stage, _done, _total: None)
    loaded, frame = load(release), io.to_polars(original)
    scene = look(loaded, frame)
    others = () if earlier is None else (earlier,) if isinstance(earlier, Release | str | Path) else tuple(earlier)
    before = [look(load(other), frame[scene.rows.tolist()], same=False) for other in others]
    outside = None if non_members is None else io.to_polars(non_members)
    findings = []
    for n, name in enumerate(names):
        report("attacking", n, len(names))
        rng = np.random.default_rng([seed, ATTACKS.index(name)])
        if name == "linking":
            findings.append(linking.attack(scene))
        elif name == "matching":
            findings.append(matching.attack(scene))
        elif name == "reconstruction":
            findings.append(reconstruction.attack(scene, known=known, rng=rng, progress=report))
        elif name == "classifier":
            findings.append(classifier.attack(scene, non_members=outside, rng=rng))
        else:
            findings.append(intersection.attack(scene, before))
    report("attacking", len(names), len(names))
    manifest = loaded.manifest
    return AttackReport(manifest.method.name, manifest.guarantees, scene.n_people, tuple(findings))


def load(release: Release | str | Path) -> RowRelease:
    """Return a release of generalized rows, from its folder if need be."""
    loaded: object = release if not isinstance(release, str | Path) else Release.load(release)
    if not isinstance(loaded, RowRelease):
        fact = f"Attacks are about rows with generalized cells, and this is a {type(loaded).__name__}"
        raise IncompatibleError(fact, "projections are judged by incrowd verify with --original")
    return loaded
