"""What adversaries got, as far as everybody may know it.

Attacks are scored with the original. A public report tells the outcome, in words of its own, and rates in steps of at
least k people; the finding's own numbers, reason and rows are for the owner.
"""

from __future__ import annotations

from incrowd.attacks import AttackReport, Finding, attack_names
from incrowd.manifest import Manifest
from incrowd.report.rates import Rate, Rating
from incrowd.report.summary import Adversaries, AttackLine, Status

SLOW = {"reconstruction": 5_000}
"""Attacks that take minutes beyond so many people, and are then left out unless they are asked for."""

_MOST_ROWS = 20
_SINGLE, _LINK, _INFER = "Singling out", "Linkability", "Inference"
_FAMILIES = {
    "linking": (_SINGLE, "Looks for the rows that fit a person, and reads the sensitive value off them."),
    "matching": (_SINGLE, "Matches all people and all rows one to one, to rule out rows that only seem to fit."),
    "guessed-seed": (_SINGLE, "Repeats the whole run with its seed, to see where each person went."),
    "intersection": (_LINK, "Combines this release with earlier ones about the same people."),
    "differencing": (_LINK, "Subtracts the counts of two releases, to learn about people who came or left."),
    "reconstruction": (_INFER, "Computes sensitive values from all rows together, like solving equations."),
    "minimality": (_INFER, "Bets on people at the edge of a group, because groups end where it pays the method."),
    "classifier": (_INFER, "Trains a classifier on the release, and predicts the people in it."),
}
_REASONS = {
    ("linking", "withstood"): "Every row fits at least {k} people, and values are not known more often than promised.",
    ("matching", "withstood"): "Also after impossible pairs of people and rows are ruled out, the promise holds.",
    ("guessed-seed", "withstood"): "The seed alone repeats nothing: the whole original goes into the randomness.",
    ("intersection", "withstood"): "The releases together do not make any crowd smaller than promised.",
    ("differencing", "withstood"): "The difference of the releases does not lead to fewer than {k} people.",
    ("reconstruction", "withstood"): "No value follows that the rows do not show, and claims stay within the promise.",
    ("minimality", "withstood"): "People at the edges of groups are not guessed more often than promised.",
    ("classifier", "withstood"): "People in the table are not predicted better than the promise allows.",
    ("minimality", "reported"): "Something may be learned here; no limit on it is promised.",
    ("classifier", "reported"): "People in the table are predicted better than others; no limit is promised on that.",
}
_WHAT = {"classifier": "value predicted by a classifier"}
"""What is claimed, where the finding names the classifier that did best with the original."""

_NOT_JUDGED = "It was tried, but could not be judged with what was given."
_NOT_JUDGED_BY = {
    "classifier": "What is predicted was measured; whether people in the table are predicted better than others could "
    "not be judged without such others.",
}  # fmt: skip


def adversaries_of(report: AttackReport, manifest: Manifest, rating: Rating, left_out: tuple[str, ...]) -> Adversaries:
    """Say what every attack got.

    Parameters
    ----------
    left_out
        Names of attacks that were not tried, because they take long.
    """
    lines = [_line(finding, manifest, rating) for finding in report.findings]
    lines += [_not_tried(name) for name in left_out]
    order = {name: place for place, name in enumerate((_SINGLE, _LINK, _INFER, ""))}
    lines.sort(key=lambda line: order.get(line.family, len(order)))
    status: Status = "broken" if not report.ok else "not checked" if left_out else "holds"
    tried = [line for line in lines if line.outcome in ("withstood", "reported", "promise broken")]
    if not tried:
        return Adversaries("", "not checked", "No attack could be judged.", tuple(lines))
    if not report.ok:
        broken = [line.name for line in lines if line.outcome == "promise broken"]
        head = f"PROMISE BROKEN by {', '.join(broken)}: do not share this release before it is understood why."
    else:
        head = f"No attack broke the promise: {len(tried)} of {len(lines)} could be tried and judged."
        head += f" Not tried, because it takes long: {', '.join(left_out)}." if left_out else ""
    return Adversaries("", status, head, tuple(lines))


def default_attacks(people: int) -> tuple[list[str], tuple[str, ...]]:
    """Return the attacks that a report tries, and those that it leaves out because they take too long."""
    left_out = tuple(name for name, most in SLOW.items() if people > most)
    return [name for name in attack_names() if name not in left_out], left_out


def _not_tried(name: str) -> AttackLine:
    family, idea = _FAMILIES[name]
    reason = f"It takes minutes for more than {SLOW[name]} people; ask for it by name (--attacks {name})."
    return AttackLine(name, family, idea, "", "not tried", reason)


def _line(finding: Finding, manifest: Manifest, rating: Rating) -> AttackLine:
    ours = finding.attack in _FAMILIES
    family, idea = _FAMILIES.get(finding.attack, ("Attacks of other packages", ""))
    shown = ours or rating.exact
    success, baseline = (finding.success, finding.baseline) if shown else (None, None)
    is_about_people = success is not None and success.whom == "people"
    claimed, right = (None, None) if success is None or not is_about_people else (
        rating.rate(success.claimed, success.people), rating.rate(success.right, success.people)
    )  # fmt: skip
    return AttackLine(
        name=finding.attack,
        family=family,
        idea=idea,
        knows=_knows(finding) if shown else "",
        outcome=finding.outcome,
        reason=_capital(finding.why) if rating.exact else _reason(finding, manifest, ours=ours),
        what=_what(finding, rating) if is_about_people else "",
        claimed=claimed,
        right=right,
        baseline=None if baseline is None or not is_about_people else rating.rate(baseline.right, baseline.people),
        at_risk=_at_risk(finding, manifest, rating),
        rows=tuple(row + 1 for row in finding.at_risk[:_MOST_ROWS]) if rating.exact else (),
        numbers=dict(finding.numbers) if rating.exact else {},
    )


def _knows(finding: Finding) -> str:
    """Return what an adversary knows, without the word of the trade for columns that recognize people."""
    return finding.knows.replace("'s quasi-identifiers", "'s values in the columns that recognize people")


def _what(finding: Finding, rating: Rating) -> str:
    assert finding.success is not None
    return finding.success.what if rating.exact else _WHAT.get(finding.attack, finding.success.what)


def _reason(finding: Finding, manifest: Manifest, *, ours: bool) -> str:
    if finding.outcome == "promise broken":
        return "More was learned than the release promises; the owner can see what with a report for the owner."
    if not ours:
        return "An attack of another package; its reason is for the owner."
    if finding.outcome == "not applicable":
        # Without knowledge nothing was tried: the reason is then about the release and the settings, never a count.
        return _capital(finding.why) if not finding.knows else _NOT_JUDGED_BY.get(finding.attack, _NOT_JUDGED)
    return _REASONS.get((finding.attack, finding.outcome), "").format(k=manifest.k)


def _at_risk(finding: Finding, manifest: Manifest, rating: Rating) -> Rate | None:
    """Return how many people an attack puts at risk; a public report does not tell nobody from fewer than k."""
    if finding.n_at_risk < (1 if rating.exact else max(1, rating.k)):
        return None
    return rating.rate(finding.n_at_risk, manifest.rows.released)


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
