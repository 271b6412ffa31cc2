"""Reconstruction: sensitive values of people, from all rows of the release together.

Every row says something about the people in its box (`statements`), and rows overlap: together they are equations about
people. Three steps, each on what the one before has found:

1. What follows for certain (`propagation`): boxes that hold exactly the people who are counted name them, and
   differences of such boxes name fewer. A value found here is the value in every world that fits the release.
2. Whom the method took (`recomputing`): it is public, so the adversary repeats it, in worlds that fit.
3. Beliefs from random worlds that fit everything (`worlds`), with the pattern of the population as prior.

Distributions that are mixed from shares of blocks are no equations about people. Whatever is computed from them, it
cannot tell more than the blocks and their counts; so step 3 is done with the counts, if the private part tells the
blocks: more than any adversary has. Where even that stays below the promise, so does everything else; where not, the
outcome is about what he has, and the other is told. Not tried is to learn from how blocks were cut: see
`incrowd.publish.blocks`.

A claim is a belief above 0.9. The baseline is the pattern alone (naive Bayes or a forest on the same beliefs, each
person by others): what the release tells about anybody like this person, in the table or not. With `known` the
adversary knows the values of some people beforehand, and is scored on the others. What follows from known values and
one row by itself is counted, and not held against the release: no promise is about somebody who knows the others.

Compared with the promise: with l > 1 it is broken when a value is certain, or when claims are right more often than 1/l
and reach more people than the pattern alone (95 % intervals apart). Of a group the counts and the pattern together say
more than either, about anybody like these people; so where exact values are published, claims count only if they are
right more often about people whose rows are there than about people whose rows were taken out (`left_out`, Newcombe's
interval). With l = 1 nothing is promised about values; it counts as broken when values follow for certain that no row
shows by itself.

Cost: sweeps over all pairs of a person and a statement; some seconds for 3000 people.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from incrowd.attacks import bayes, left_out, recomputing, worlds
from incrowd.attacks.classifier import newcombe
from incrowd.attacks.finding import Finding, Outcome, Score, not_applicable, wilson, worst
from incrowd.attacks.linking import beliefs, shown_values
from incrowd.attacks.propagation import Possible, certain_alone, propagate
from incrowd.attacks.registry import Given, Progress
from incrowd.attacks.scene import Floats, Scene
from incrowd.attacks.statements import Statement, collect, of_blocks, state, tells_blocks
from incrowd.errors import counted
from incrowd.privacy import exact

_HIDES_BLOCKS = 5  # the k from which shares, being means over k people, do not give their blocks' shares away
_SURE = 0.9
_NOT_TAKEN = 0.4  # how much rarer people below the cap are among those in a box who are not counted
_BUDGET = 6 * 10**8  # of steps in worlds: some fifteen seconds
_BUDGET_OF_PART = 10**8  # the same where rows were taken out: what is unsure is so on both sides
_ROUNDING = 1e-9
_NOT_COMPARED = "with no row to take out (shares, or no private row map), nothing says that it is the pattern alone"


def attack(given: Given) -> Finding:
    """Solve for sensitive values."""
    scene, known, rng, progress = given.scene, given.known, given.rng, given.progress
    if scene.truth is None or not scene.n_values:
        return not_applicable("reconstruction", "nothing sensitive is published")
    if scene.pairs is None:
        return not_applicable("reconstruction", "too many pairs of a row and a person to list")
    given_values = rng.random(scene.n_people) < known
    possible = _before(scene, given_values)
    if not scene.n_suppressed:  # everybody is behind a row that fits, and it leaves the own value possible
        possible &= beliefs(scene, scene.pairs)[scene.point_of] > 0
    statements = collect(scene)
    alone = certain_alone(statements, possible) if given_values.any() else np.zeros(scene.n_people, np.bool_)
    everybody = [state(np.arange(scene.n_people), scene.release.sensitive_counts())] if scene.totals_are_exact else []
    possible = propagate([*statements, *everybody], possible)

    def judged(facts: list[Statement]) -> Finding:
        believed, pattern, n_entries = _believe(scene, facts, possible, rng, progress)
        patterns = [pattern, bayes.expect_by_forest(scene.codes, believed, rng)]

        def compare() -> _Compared | None:
            return _compare(scene, given_values, rng, progress)

        return _judge(scene, facts, possible, believed, patterns, given_values, alone, n_entries, compare)

    blocks = of_blocks(scene) if tells_blocks(scene) else []
    finding = judged(blocks or statements)
    if not blocks or finding.ok:
        return finding
    if scene.k < _HIDES_BLOCKS:
        return replace(finding, why=f"{finding.why}; the adversary knows the blocks, which so small a k does not hide")
    bound = f"; with the owner's blocks, which are not published, the adversary would reach: {finding.success}"
    finding = judged(statements)
    return replace(finding, why=finding.why + bound)


def _before(scene: Scene, given_values: npt.NDArray[np.bool_]) -> Possible:
    """Return what is possible before anything is published."""
    assert scene.truth is not None
    possible = np.ones((scene.n_people, scene.n_values), np.bool_)
    possible[given_values] = np.eye(scene.n_values, dtype=np.bool_)[scene.truth[given_values]]
    return possible


def _believe(
    scene: Scene, statements: list[Statement], possible: Possible, rng: np.random.Generator, progress: Progress,
    n_steps: float = _BUDGET,
) -> tuple[Floats, Floats, int]:  # fmt: skip
    """Return beliefs, and what the pattern of the others alone says, [people x values] each."""
    assert scene.pairs is not None
    start = beliefs(scene, scene.pairs)[scene.point_of]
    pattern = bayes.expect(scene.codes, start)
    if not statements:
        believed = pattern * possible
        return believed / believed.sum(axis=1, keepdims=True), pattern, 0
    n_entries = sum(len(s.people) for s in statements)
    n_all = max(240, int(n_steps / (n_entries * scene.n_values)))
    n_chains = int(np.clip(n_all // 200, 4, 24))
    n_sweeps = int(np.clip(n_all // n_chains, 60, 300))
    method = recomputing.method_of(scene) if scene.release.cell_counts is not None else None
    n_first = n_sweeps // 2 if method else n_sweeps

    def run(facts: list[Statement], length: int, stage: str) -> tuple[Floats, list[npt.NDArray[np.int32]]]:
        prior = pattern * possible
        prior /= prior.sum(axis=1, keepdims=True)
        flat = worlds.flatten(facts, _tilts(scene, facts), scene.n_people)
        return worlds.sample(
            flat, prior, rng, n_chains=n_chains, n_sweeps=length, progress=lambda a, b: progress(stage, a, b)
        )

    believed, last = run(statements, n_first, "solving")
    pattern = bayes.expect(scene.codes, believed)
    if method is not None:
        seen = recomputing.Sightings(scene, statements, method)
        for n, world in enumerate(last):
            progress("repeating", n, len(last))
            seen.run(world, rng)
        progress("repeating", len(last), len(last))
        refined, _ = run(seen.refined(), n_sweeps, "believing")
        believed = (believed + refined) / 2  # repetition is no proof: claims need both
        pattern = bayes.expect(scene.codes, believed)
    return believed, pattern, n_entries


def _tilts(scene: Scene, statements: list[Statement]) -> Floats:
    """Return log weights of people in a box who are not counted: of a value that has filled up there may be many."""
    counts = np.stack([s.counts for s in statements])
    given = scene.release.manifest.method.parameters
    if scene.release.cell_counts is None or tells_blocks(scene) or not {"k", "l"} <= set(given):
        return np.zeros(counts.shape)
    cap = int(given["k"] / exact(given["l"]))
    if cap >= given["k"]:
        return np.zeros(counts.shape)
    return np.where(counts >= cap, 0.0, np.log(_NOT_TAKEN))


def _shown(scene: Scene) -> Floats:
    """Return for each person the largest share that a row that fits shows, or that all of them show together."""
    pairs = scene.pairs
    assert pairs is not None
    together = beliefs(scene, pairs).max(axis=1)
    if scene.release.distributions is not None:
        alone = np.zeros(len(scene.box_size))
        np.maximum.at(alone, scene.box_of, scene.release.distributions.max(axis=1))
    else:
        shown = shown_values(scene)
        alone = shown.max(axis=1) / np.maximum(1, shown.sum(axis=1)) * (scene.box_size > 1)
    most = together.copy()
    np.maximum.at(most, pairs.points, alone[pairs.boxes])
    return np.asarray(most[scene.point_of])


def _best_pattern(
    truth: npt.NDArray[np.int32], asked: npt.NDArray[np.bool_], patterns: list[Floats], bar: float
) -> tuple[Floats, npt.NDArray[np.bool_], Score]:
    """Return the pattern with the most right claims, if they hold what they say, with its claims and its score."""
    found: list[tuple[bool, float, int, Floats, npt.NDArray[np.bool_], Score]] = []
    for pattern in patterns:
        claimed, right = asked & (pattern.max(axis=1) > bar), pattern.argmax(axis=1) == truth
        score = Score(
            "the same by the pattern of the population alone",
            int((claimed & right).sum()), int(claimed.sum()), int(asked.sum()),
        )  # fmt: skip
        holds = score.precision is None or score.precision >= bar
        found.append((holds, score.right, len(found), pattern, claimed, score))
    return max(found, key=lambda item: item[:3])[3:]


@dataclass(frozen=True)
class _Compared:
    """Claims about people whose rows are there, and about people whose rows were taken out."""

    there: Score
    gone: Score

    @property
    def gained(self) -> bool:
        """Whether more people are told rightly, beyond chance, if their rows are there.

        How often claims are right is no second question: in a small group at its bound, leaving out the one person with
        another value leaves a pure group, so claims about those left out are wrong more often without any leak.
        """
        there, gone = (Score(s.what, s.right, s.people, s.people) for s in (self.there, self.gone))
        return newcombe(there, gone)[0] > 0

    @property
    def text(self) -> str:
        """The comparison in plain words."""
        says = "is beyond chance" if self.gained else "is within chance: it is the pattern of the population"
        told = f"{self.there.recall:.1%} of the people are told where their rows are there, and {self.gone.recall:.1%} "
        return f"{told}where their rows were taken out; the difference {says}"

    @property
    def numbers(self) -> dict[str, float | int | None]:
        """The same as numbers."""
        return {
            "people_left_out": self.gone.people,
            "told_if_there": self.there.recall,
            "told_if_left_out": self.gone.recall,
            "right_if_there": self.there.precision,
            "right_if_left_out": self.gone.precision,
        }


def _compare(
    scene: Scene, given_values: npt.NDArray[np.bool_], rng: np.random.Generator, progress: Progress
) -> _Compared | None:
    """Repeat the attack without the rows of some people; ``None`` where rows cannot be taken out."""
    assert scene.truth is not None
    tally = np.zeros((2, 3), np.int64)  # there and gone: right, claimed, people
    n_parts, n_steps = 0, min(_BUDGET_OF_PART, 3000.0 * scene.n_people)  # small tables are taken apart ten times
    for part, gone in left_out.parts(scene, ~given_values, rng):
        n_parts += 1
        possible = _before(scene, given_values)
        believed, _, _ = _believe(part, collect(part), possible, rng, progress, n_steps)
        claimed, right = believed.max(axis=1) > _bar(scene), believed.argmax(axis=1) == scene.truth
        out = np.zeros(scene.n_people, np.bool_)
        out[gone] = True
        for side, who in enumerate((~out & ~given_values, out)):
            tally[side] += (int((who & claimed & right).sum()), int((who & claimed).sum()), int(who.sum()))
    if not tally.any():
        return None
    tally[0] //= n_parts  # the same people again and again say no more than once
    there, left = (Score("value", right, claimed, people) for right, claimed, people in tally.tolist())
    return _Compared(there, left)


def _bar(scene: Scene) -> float:
    """Return the belief above which a value is claimed."""
    return max(_SURE, scene.limit if scene.limit < 1 else 0.0)


def _judge(
    scene: Scene,
    statements: list[Statement],
    possible: Possible,
    believed: Floats,
    patterns: list[Floats],
    given_values: npt.NDArray[np.bool_],
    alone: npt.NDArray[np.bool_],
    n_entries: int,
    compare: Callable[[], _Compared | None],
) -> Finding:
    assert scene.truth is not None
    truth, asked = scene.truth, ~given_values
    n = int(asked.sum())
    bar = _bar(scene)
    claimed, right = asked & (believed.max(axis=1) > bar), believed.argmax(axis=1) == truth
    success = Score(f"value believed with more than {bar:.0%}", int((claimed & right).sum()), int(claimed.sum()), n)
    pattern, by_pattern, baseline = _best_pattern(truth, asked, patterns, bar)
    certain = asked & (possible.sum(axis=1) == 1)
    beyond = certain & ~alone & (_shown(scene) < 1 - _ROUNDING)
    ours = claimed & ~alone
    n_right = int((ours & right).sum())
    gained = wilson(n_right, n)[0] > wilson(baseline.right, n)[1]
    broken = bool(beyond.any())
    why = (
        f"{int(certain.sum())} of {n} values follow with certainty, {int(beyond.sum())} of them shown by no single row"
    )
    if scene.limit < 1:
        why += f"; by the promise nobody reaches a belief above {bar:.0%}"
    if success.claimed:
        why += f"; {counted(success.claimed, 'claim')}, of which {success.precision:.1%} are right"
    compared = None
    if scene.limit < 1 and gained and wilson(n_right, int(ours.sum()))[0] > scene.limit:
        compared = compare()
        broken |= compared is None or compared.gained
        why += f"; {compared.text if compared else _NOT_COMPARED}"
    at = np.arange(scene.n_people)
    numbers: dict[str, float | int | None] = {
        "known": int(given_values.sum()),
        "certain": int(certain.sum()),
        "certain_share": float(certain.sum() / max(1, n)),
        "certain_beyond_rows": int(beyond.sum()),
        "certain_by_known": int((certain & alone).sum()),
        "claimed_share": float(claimed.sum() / max(1, n)),
        "belief_in_truth_mean": float(believed[at, truth][asked].mean()) if n else None,
        "pattern_in_truth_mean": float(pattern[at, truth][asked].mean()) if n else None,
        "promised_belief": scene.limit,
        "statements": len(statements),
        "statements_that_name_everybody": sum(s.whole for s in statements),
        "entries": n_entries,
    } | ({} if compared is None else compared.numbers)
    outcome: Outcome = "promise broken" if broken else "withstood"
    at_risk = (beyond | (claimed & ~by_pattern)) if broken else np.zeros(scene.n_people, np.bool_)
    knows = "everybody's quasi-identifiers, who is in the table, and the method"
    knows += ", and who is in which block" if tells_blocks(scene) and statements else ""
    knows += (
        f", and the sensitive values of {counted(int(given_values.sum()), 'person', 'people')}"
        if given_values.any()
        else ""
    )
    return Finding(
        "reconstruction", knows, outcome, why, success, baseline, numbers,
        worst(scene.rows, believed.max(axis=1) + beyond, at_risk), int(at_risk.sum()),
    )  # fmt: skip
