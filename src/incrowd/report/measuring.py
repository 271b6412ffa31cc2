"""From a release, and what was found with the original, to a summary.

The one place that decides what the public form is made of: `public` is the release without its private part and
without the levels that were found with the original, and everything but three measurements is made of it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from incrowd.attacks import AttackReport, attack
from incrowd.attacks.scene import schema_of
from incrowd.errors import Cancelled, IncrowdError
from incrowd.evaluate import Evaluation, evaluate
from incrowd.publish import make
from incrowd.release import ProjectionRelease, RowRelease
from incrowd.report.adversaries import adversaries_of, default_attacks
from incrowd.report.checks import judgement_of
from incrowd.report.columns import columns_of
from incrowd.report.limits import limits_of
from incrowd.report.making import making_of
from incrowd.report.promise import promise_of
from incrowd.report.rates import Rating
from incrowd.report.risks import risks_of
from incrowd.report.summary import Adversaries, Summary, Usefulness
from incrowd.report.usefulness import usefulness_of
from incrowd.verify import Verdict

TITLE = "Privacy report on a published table"

_FOLDS, _SAMPLES = 5, 3
_CLASSIFIERS = ("tree", "naive_bayes", "logistic")
_NO_ORIGINAL = "Not measured: the original was not given (--original)."
_BROKEN = "Not tried: the independent check failed, so there is nothing to rely on."

Progress = Callable[[str, int, int], None]
AnyRelease = RowRelease | ProjectionRelease


@dataclass(frozen=True)
class Asked:
    """What a report is to contain.

    Attributes
    ----------
    for_owner
        Tell exact results and rows at risk: then it may not be handed out.
    attack, evaluate
        Whether to attack the release, and to measure what classifiers keep.
    attacks
        Names of attacks; by default all that do not take minutes.
    files
        Names of the release's files, and their digests.
    """

    for_owner: bool = False
    attack: bool = True
    evaluate: bool = True
    attacks: Sequence[str] | None = None
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Measures:
    """How to measure with the original and test rows, as far as they were given.

    Attributes
    ----------
    verify
        Returns the verdict with all that was given.
    attack
        Takes names of attacks; ``None`` without the original.
    by_test, by_folds
        Return what classifiers keep, with test rows or by publishing parts of the original; ``None`` without them.
    """

    verify: Callable[[], Verdict]
    attack: Callable[[list[str]], AttackReport] | None = None
    by_test: Callable[[dict[str, Any]], Evaluation] | None = None
    by_folds: Callable[[dict[str, Any]], Evaluation] | None = None


def measures_of(
    release: AnyRelease,
    original: pl.DataFrame | None,
    *,
    test: Any = None,  # noqa: ANN401
    earlier: Sequence[Any] = (),
    progress: Progress | None = None,
) -> Measures:
    """Return how to measure a release in memory."""
    verified = Measures(verify=lambda: release.verify(original))
    if test is not None:
        verified = replace(
            verified,
            by_test=lambda how: evaluate(release, holdout=test, original=original, progress=progress, **how),
        )
    if original is None:
        return verified
    return replace(
        verified,
        attack=lambda names: attack(release, original, attacks=names, earlier=earlier, progress=progress),
        by_folds=lambda how: evaluate(
            method_of(release), original, schema_of(_rows(release)), progress=progress, **how
        ),
    )


def measure(release: AnyRelease, asked: Asked, measures: Measures) -> Summary:
    """Return everything that a report says."""
    public = replace(release, private=None, levels=None)
    manifest = public.manifest
    rating = Rating(manifest.k, exact=asked.for_owner)
    seen, full = public.verify(), measures.verify()
    with_original = measures.attack is not None
    judged = judgement_of(seen, full, with_original=with_original, for_owner=asked.for_owner)
    return Summary(
        for_owner=asked.for_owner,
        title=TITLE,
        promise=promise_of(manifest),
        judgement=judged,
        columns=columns_of(public, seen.levels),
        usefulness=_usefulness(release, asked, measures, rating, ok=full.ok),
        adversaries=_adversaries(release, asked, measures, rating, ok=full.ok),
        risks=risks_of(public),
        making=making_of(manifest, asked.files),
        limits=limits_of(manifest),
    )


def method_of(release: AnyRelease) -> Any:  # noqa: ANN401
    """Return the method that made a release, with its parameters."""
    made = release.manifest.method
    return make(made.name, **made.parameters)


def _rows(release: AnyRelease) -> RowRelease:
    assert release.has_cells
    return release


def _adversaries(release: AnyRelease, asked: Asked, measures: Measures, rating: Rating, *, ok: bool) -> Adversaries:
    why = ""
    if not release.has_cells:
        why = "Not tried: this version has no attacks on tables that share out the columns."
    elif not asked.attack:
        why = "Not tried: attacks were left out of this report."
    elif measures.attack is None:
        why = "Not tried: attacks are scored with the original, which was not given (--original)."
    elif not ok:
        why = _BROKEN
    if why or measures.attack is None:
        return Adversaries(why, "not checked", "No attack was tried.")
    names, left_out = default_attacks(release.manifest.rows.released)
    if asked.attacks is not None:
        names, left_out = list(asked.attacks), ()
    return adversaries_of(measures.attack(names), release.manifest, rating, left_out)


def _usefulness(release: AnyRelease, asked: Asked, measures: Measures, rating: Rating, *, ok: bool) -> Usefulness:
    why = _why_not_measured(release, asked, measures, ok=ok)
    if why:
        return Usefulness(why)
    settings = {"classifiers": _CLASSIFIERS, "training": "recommended"}
    try:
        if measures.by_test is not None:
            return usefulness_of(measures.by_test(settings | {"samples": _SAMPLES}), rating, test_given=True)
        assert measures.by_folds is not None
        return usefulness_of(measures.by_folds(settings | {"samples": 1, "cv": _FOLDS}), rating, test_given=False)
    except Cancelled:
        raise
    except IncrowdError as error:
        detail = f": {error.fact}" if asked.for_owner else ""
        return Usefulness(f"Not measured: the measurement was not possible ({type(error).__name__}){detail}.")


def _why_not_measured(release: AnyRelease, asked: Asked, measures: Measures, *, ok: bool) -> str:
    if release.target is None:
        return "Not measured: no column was named as the class."
    if not asked.evaluate:
        return "Not measured: classifiers were left out of this report."
    if not ok:
        return _BROKEN
    if measures.by_test is not None:
        return ""
    if measures.by_folds is None:
        return _NO_ORIGINAL
    if release.has_own_classifier:
        return "Not measured: the search for such tables takes too long to repeat it; give test rows (--test)."
    if release.private is None:
        return "Not measured: it takes test rows (--test), or the owner's private folder beside the release."
    return ""
