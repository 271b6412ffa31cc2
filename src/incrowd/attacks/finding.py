"""What one attack found: what the adversary knew, how often that was enough, and how it compares with the promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from incrowd.errors import ParameterError, counted

Outcome = Literal["withstood", "promise broken", "reported", "not applicable"]
Number = float | int | None

_MOST_AT_RISK = 100


@dataclass(frozen=True)
class Score:
    """How often claims were right.

    Attributes
    ----------
    what
        What was claimed, in plain words.
    right, claimed, people
        Right claims (an expectation, where the adversary guesses among equals), claims, and people tried.
    whom
        What is counted, if not people.

    >>> Score("values", 18, 20, 100).to_dict()["precision_interval"]
    (0.699, 0.972)
    """

    what: str
    right: float
    claimed: int
    people: int
    whom: str = "people"

    @property
    def precision(self) -> float | None:
        """Share of the claims that were right."""
        return self.right / self.claimed if self.claimed else None

    @property
    def recall(self) -> float:
        """Share of the people about whom a right claim was made."""
        return self.right / self.people if self.people else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the precision."""
        return wilson(self.right, self.claimed)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        low, high = self.interval
        recall = wilson(self.right, self.people)
        return {
            "what": self.what,
            "claimed": self.claimed,
            "people": self.people,
            "precision": None if self.precision is None else round(self.precision, 4),
            "precision_interval": (round(low, 3), round(high, 3)),
            "recall": round(self.recall, 4),
            "recall_interval": (round(recall[0], 3), round(recall[1], 3)),
        }

    def __str__(self) -> str:
        if not self.claimed:
            return f"{self.what}: no claim about any of {self.people} {self.whom}"
        low, high = self.interval
        return (
            f"{self.what}: {counted(self.claimed, 'claim')} about {self.people} {self.whom}, {self.precision:.1%} "
            f"right (95% interval {low:.1%} to {high:.1%}), so {self.recall:.1%} of the {self.whom}"
        )


@dataclass(frozen=True)
class Finding:
    """What came out of one attack.

    Attributes
    ----------
    attack
        Its name.
    knows
        What the adversary knows, in plain words; empty when nothing was tried.
    outcome
        ``withstood``, ``promise broken``, ``reported`` (it learns something, and no promise is about that) or ``not
        applicable``.
    why
        What the outcome rests on, one sentence.
    success, baseline
        How often the adversary was right, and how often that would be so without the rows about people.
    numbers
        More figures, by name.
    at_risk
        Rows of the original, from 0, worst first; never a value. At most a hundred; `n_at_risk` counts all.
    column
        The sensitive column that was attacked, where there are several.
    """

    attack: str
    knows: str
    outcome: Outcome
    why: str
    success: Score | None = None
    baseline: Score | None = None
    numbers: Mapping[str, Number] = field(default_factory=dict)
    at_risk: tuple[int, ...] = ()
    n_at_risk: int = 0
    column: str | None = None

    def __post_init__(self) -> None:
        if self.outcome not in get_args(Outcome):  # which would count as withstood
            fact = f"Attack {self.attack!r} has the unknown outcome {self.outcome!r}"
            raise ParameterError(fact, f"use one of {', '.join(map(repr, get_args(Outcome)))}")

    @property
    def title(self) -> str:
        """The name of the attack, and of the column where there are several."""
        return self.attack if self.column is None else f"{self.attack} on {self.column!r}"

    @property
    def ok(self) -> bool:
        """Whether the attack stayed below the promise, as far as it applies."""
        return self.outcome != "promise broken"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON: row numbers, never a value."""
        return {
            "attack": self.attack,
            **({} if self.column is None else {"column": self.column}),
            "knows": self.knows,
            "outcome": self.outcome,
            "why": self.why,
            "success": None if self.success is None else self.success.to_dict(),
            "baseline": None if self.baseline is None else self.baseline.to_dict(),
            "numbers": {name: _rounded(number) for name, number in self.numbers.items()},
            "n_at_risk": self.n_at_risk,
            "at_risk": list(self.at_risk),
        }


def not_applicable(attack: str, why: str) -> Finding:
    """Return the finding of an attack that does not apply to this release."""
    return Finding(attack, "", "not applicable", why)


def wilson(right: float, tried: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share.

    >>> wilson(0, 0)
    (0.0, 1.0)
    """
    if not tried:
        return 0.0, 1.0
    z = 1.959963984540054
    share, more = right / tried, z * z / tried
    half = z * float(np.sqrt(share * (1 - share) / tried + more / (4 * tried)))
    return max(0.0, (share + more / 2 - half) / (1 + more)), min(1.0, (share + more / 2 + half) / (1 + more))


def worst(rows: np.ndarray[Any, Any], risk: np.ndarray[Any, Any], among: np.ndarray[Any, Any]) -> tuple[int, ...]:
    """Return the rows of some people, those with the highest risk first."""
    at = np.flatnonzero(among)
    order = np.lexsort((rows[at], -risk[at]))[:_MOST_AT_RISK]
    return tuple(rows[at][order].tolist())


def _rounded(number: Number) -> Number:
    return round(number, 6) if isinstance(number, float) else number
