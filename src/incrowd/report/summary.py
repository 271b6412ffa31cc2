"""Summary: everything that a report says, as plain data; text that people read, not yet escaped for any page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal

from incrowd.report.rates import Rate

Status = Literal["holds", "broken", "not checked"]

OWNER = (
    "For the owner only. This page tells more than the release does: exact results that were computed with the "
    "original, and row numbers of people at risk. Do not hand it out."
)
PUBLIC = (
    "Safe to hand out with the release: every number on this page follows from the published files alone, or is a "
    "rounded count of at least as many people as the smallest crowd."
)


@dataclass(frozen=True)
class Promise:
    """What the release promises.

    Attributes
    ----------
    sentence
        All of it in one sentence.
    points
        Each promise by itself, and what is not promised.
    roles
        Which columns are what, in plain words, with their names: the owner's word.
    """

    sentence: str
    points: tuple[str, ...]
    roles: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class CheckLine:
    """One check of the verifier.

    Attributes
    ----------
    name, title
        What it is called, and what it asks, in plain words.
    detail
        What was found; empty where only the outcome may be told.
    is_promise
        Whether it is about a promise by itself.
    """

    name: str
    title: str
    status: Status
    detail: str
    is_promise: bool


@dataclass(frozen=True)
class Judgement:
    """The verdict of the independent check.

    Attributes
    ----------
    headline
        It in one sentence.
    with_original
        Whether the original was given.
    complete
        Whether every check was made that a promise rests on, or that what was given called for.
    open
        What could not be checked, and why.
    reached
        Levels that the release reaches, by name, in words.
    """

    status: Status
    headline: str
    with_original: bool
    complete: bool
    checks: tuple[CheckLine, ...]
    open: tuple[str, ...]
    reached: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Bar:
    """Some values of a column, of at least k people together: their share before and after, of all rows.

    `start` and `end` are where the bar begins and the next one would, among numbers or days; ``None`` for names.
    """

    label: str
    before: float | None
    after: float | None
    start: float | None = None
    end: float | None = None


@dataclass(frozen=True)
class ColumnStory:
    """What happened to a column.

    Attributes
    ----------
    role
        In plain words.
    lost
        The detail that was lost, 0 to 1; ``None`` where that cannot be said.
    story
        What happened, in a sentence or two.
    bars
        Its distribution; empty where there is nothing to show.
    note
        What the picture leaves out.
    """

    name: str
    role: str
    lost: float | None
    story: str
    bars: tuple[Bar, ...] = ()
    note: str = ""

    @property
    def is_ordered(self) -> bool:
        """Whether the bars lie on a line of numbers or days."""
        return bool(self.bars) and self.bars[0].start is not None


@dataclass(frozen=True)
class Columns:
    """What the columns lost, all together and each; and what somebody who uses the release should know."""

    lost: float | None
    each: tuple[ColumnStory, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ClassifierLine:
    """What one classifier keeps, between the most frequent class and the original."""

    name: str
    retention: Rate
    low: Rate | None
    high: Rate | None
    accuracy: Rate
    majority: Rate
    original: Rate


@dataclass(frozen=True)
class Usefulness:
    """What classifiers keep; `why_not` says why nothing was measured."""

    why_not: str
    how: str = ""
    lines: tuple[ClassifierLine, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class AttackLine:
    """What one adversary got.

    Attributes
    ----------
    family
        Singling out, linkability or inference.
    idea, knows
        What the adversary does, and what they know.
    outcome, reason
        As in a finding, and what it rests on.
    claimed, right, baseline
        Shares of the people: about whom something was claimed, for whom it was right, and for whom a guess without the
        rows is right.
    at_risk
        How many people the attack puts at risk; ``None`` unless it broke the promise.
    rows
        For the owner: rows of the original at most risk, counted from 1.
    numbers
        For the owner: more figures.
    """

    name: str
    family: str
    idea: str
    knows: str
    outcome: str
    reason: str
    what: str = ""
    claimed: Rate | None = None
    right: Rate | None = None
    baseline: Rate | None = None
    at_risk: Rate | None = None
    rows: tuple[int, ...] = ()
    numbers: Mapping[str, float | int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Adversaries:
    """What was tried against the release; `why_not` says why nothing was."""

    why_not: str
    status: Status
    headline: str
    lines: tuple[AttackLine, ...] = ()


@dataclass(frozen=True)
class Band:
    """How many released rows are in some situation, and what it is."""

    label: str
    rows: int


@dataclass(frozen=True)
class RiskTable:
    """Released rows by how much they are at risk in one respect: counted from the release alone."""

    title: str
    head: str
    bands: tuple[Band, ...]
    meaning: str


@dataclass(frozen=True)
class Making:
    """How the release was made.

    Attributes
    ----------
    facts
        Names and values.
    rows
        How rows add up.
    command
        What to type to do it again.
    files
        Files of the release, and their SHA-256 digests.
    """

    facts: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, int], ...]
    command: str
    files: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Summary:
    """A whole report.

    Attributes
    ----------
    for_owner
        Whether it tells more than the release does; then it may not be handed out.
    limits
        Headings, and what the release does not protect from.
    """

    for_owner: bool
    title: str
    promise: Promise
    judgement: Judgement
    columns: Columns
    usefulness: Usefulness
    adversaries: Adversaries
    risks: tuple[RiskTable, ...]
    making: Making
    limits: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def ok(self) -> bool:
        """Whether neither the check nor an attack found a broken promise."""
        return "broken" not in (self.judgement.status, self.adversaries.status)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {"ok": self.ok, **_plain(self)}


def _plain(value: Any) -> Any:  # noqa: ANN401 - any part of a summary
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return round(value, 6) if isinstance(value, float) else value
