"""Classifier: learn from the release, and predict the sensitive values of people in it and of people who are not.

A classifier trained on a release predicts sensitive values better than 1/l: Kifer's deFinetti attack (SIGMOD 2009), and
Last et al. 2014, section 5.4. As Fig. 6 of that paper argues, this endangers the people in the table only as far as it
predicts them better than others who are like them and not in it. So naive Bayes and a decision tree are trained on
samples of the release, and tested on both. Where a largest share of belief is promised (l > 1), that promise counts as
broken when members are predicted better than it allows, and better than others beyond chance (Newcombe's interval of
the difference, 95 % for both classifiers together). Where none is promised, a difference beyond chance is reported.

Without `non_members` there is nothing to compare with: the accuracy is reported, and not judged. Non-members must be
from the same population, and not in the table that was published.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from sklearn.naive_bayes import CategoricalNB
from sklearn.tree import DecisionTreeClassifier

from incrowd.attacks.finding import Finding, Outcome, Score, not_applicable
from incrowd.attacks.registry import Given
from incrowd.attacks.scene import UNKNOWN, code_quasi, code_sensitive
from incrowd.hierarchy.hierarchy import OUTSIDE, Codes
from incrowd.release import RowRelease
from incrowd.release.soft import sample

_SAMPLES = 5
_LEAF = 10
_NAMES = {"naive_bayes": "naive Bayes", "tree": "a decision tree"}
_Z = 2.2414  # 95 % for two intervals together


def attack(given: Given) -> Finding:
    """Train on the release; compare members with non-members."""
    scene, non_members, rng = given.scene, given.non_members, given.rng
    if scene.truth is None or not scene.n_values:
        return not_applicable("classifier", "nothing sensitive is published")
    public = replace(scene.release, private=None)  # joined leaves are drawn by their published names
    rows, labels = zip(*(_coded(public, sample(public, rng)) for _ in range(_SAMPLES)), strict=True)
    X, y = np.concatenate(rows), np.concatenate(labels)
    members = scene.codes, scene.truth
    others = None if non_members is None else _coded(scene.release, non_members)
    if others is not None and len(others[1]) == 0:
        return not_applicable("classifier", "every non-member has a value that the release does not list")
    sizes = [hierarchy.n_leaves + 1 for hierarchy in scene.release.hierarchies]
    classifiers = {
        "naive_bayes": CategoricalNB(min_categories=sizes),
        "tree": DecisionTreeClassifier(min_samples_leaf=_SAMPLES * _LEAF, random_state=int(rng.integers(2**31))),
    }
    numbers: dict[str, float | int | None] = {"promised_belief": scene.limit, "prior": float(scene.prior.max())}
    best, beyond_chance, broken = None, False, False
    for name, classifier in classifiers.items():
        classifier.fit(X, y)
        inside = _score(f"value predicted by {_NAMES[name]}", classifier, *members)
        outside = None if others is None else _score("the same about people not in the table", classifier, *others)
        numbers[f"{name}_members"] = inside.precision
        if outside is not None:
            low, high = newcombe(inside, outside)
            numbers |= {f"{name}_non_members": outside.precision, f"{name}_gap_low": low, f"{name}_gap_high": high}
        clear = outside is not None and low > 0
        breaks = clear and scene.limit < 1 and (inside.precision or 0.0) > scene.limit
        if best is None or (breaks, clear, inside.right) > (broken, beyond_chance, best[0].right):
            best, beyond_chance, broken = (inside, outside), clear, breaks
    assert best is not None
    most_frequent = int(scene.prior.argmax())
    prior = Score("most frequent value", int((scene.truth == most_frequent).sum()), scene.n_people, scene.n_people)
    knows = "everybody's quasi-identifiers, and the pattern of the population, learned from the release"
    if best[1] is None:
        why = f"{best[0].precision:.1%} of the members are predicted correctly, {prior.precision:.1%} by the most "
        why += "frequent value alone; without people outside the table (non_members) this cannot be judged"
        return Finding("classifier", knows, "not applicable", why, best[0], prior, numbers)
    outcome: Outcome = "promise broken" if broken else "withstood"
    if beyond_chance and scene.limit == 1:
        outcome = "reported"
    why = f"{best[0].precision:.1%} of the members are predicted correctly, and {best[1].precision:.1%} of non-members"
    why += "; the difference is " + ("beyond chance" if beyond_chance else "within chance")
    if outcome == "reported":
        why += "; no limit of belief is promised"
    elif beyond_chance and not broken:
        why += f", but within the promise of at most {scene.limit:.1%}"
    return Finding("classifier", knows, outcome, why, best[0], best[1], numbers)


def _coded(release: RowRelease, frame: pl.DataFrame) -> tuple[Codes, Codes]:
    """Return the people whose values the release knows, coded."""
    codes, values = code_quasi(release, frame, nearest=True), code_sensitive(release, frame)
    assert values is not None
    fine = (codes != OUTSIDE).all(axis=1) & (values != UNKNOWN)
    return codes[fine], values[fine]


def _score(what: str, classifier: CategoricalNB | DecisionTreeClassifier, X: Codes, y: Codes) -> Score:
    return Score(what, int((classifier.predict(X) == y).sum()), len(y), len(y))


def newcombe(one: Score, other: Score) -> tuple[float, float]:
    """Return an interval of the difference of two shares, from Wilson's intervals of each."""
    p, q = (s.right / max(1, s.claimed) for s in (one, other))
    (a, b), (c, d) = (_wilson(s.right, max(1, s.claimed)) for s in (one, other))
    low = p - q - float(np.hypot(p - a, d - q))
    return low, p - q + float(np.hypot(b - p, q - c))


def _wilson(right: float, tried: int) -> tuple[float, float]:
    share, more = right / tried, _Z * _Z / tried
    half = _Z * float(np.sqrt(share * (1 - share) / tried + more / (4 * tried)))
    return (share + more / 2 - half) / (1 + more), (share + more / 2 + half) / (1 + more)
