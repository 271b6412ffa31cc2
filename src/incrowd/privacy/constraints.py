"""Privacy constraints over the sensitive counts of a group.

A constraint knows three things: the guarantee that it writes into a manifest, the best that the whole table
can reach (no partition of a table does better than the table itself: each constraint is monotone), and
the numbers by which `incrowd.kernels.limits.holds` decides. There is one decision procedure, in the kernel.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from incrowd.errors import InfeasibleError, ParameterError, SchemaError

LKind = Literal["frequency", "distinct", "entropy", "recursive"]
Counts = npt.NDArray[np.int64]


def exact(number: float) -> Fraction:
    """Return the fraction that a person means by a decimal number: 1.1 is 11/10."""
    return Fraction(str(number))


@dataclass
class Limits:
    """What the kernel compares with: every constraint tightens some of these."""

    size: int = 1
    share: Fraction = Fraction(1)
    distinct: int = 1
    entropy: float = 0.0
    recursive_l: int = 0
    recursive_c: float = 0.0
    t: float = 1.0
    ordered: bool = False

    def arrays(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return whole-number and real limits in the order that the kernel reads."""
        whole = [self.size, self.share.numerator, self.share.denominator, self.distinct, self.recursive_l, self.ordered]
        return np.array(whole, np.int64), np.array([self.entropy, self.recursive_c, self.t], np.float64)


class Constraint(ABC):
    """One promise about every group."""

    @abstractmethod
    def guarantee(self) -> dict[str, Any]:
        """Return the promise as it stands in a manifest."""

    @abstractmethod
    def tighten(self, limits: Limits) -> None:
        """Write this constraint into the kernel's limits."""

    @abstractmethod
    def best(self, n_rows: int, counts: Counts) -> dict[str, float] | None:
        """Return the closest setting that the whole table reaches, or ``None`` if it satisfies this one."""


@dataclass(frozen=True)
class KAnonymity(Constraint):
    """At least k rows."""

    k: int

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer) or self.k < 1:
            fact = f"k is {self.k!r}"
            raise ParameterError(fact, "use a whole number, at least 1")

    def guarantee(self) -> dict[str, Any]:
        """Return ``{"kind": "k", ...}``."""
        return {"kind": "k", "k": int(self.k)}

    def tighten(self, limits: Limits) -> None:
        """Ask for a size."""
        limits.size = max(limits.size, int(self.k))

    def best(self, n_rows: int, counts: Counts) -> dict[str, float] | None:
        """A table of n rows reaches k = n."""
        del counts
        return None if n_rows >= self.k else {"k": n_rows}


@dataclass(frozen=True)
class LDiversity(Constraint):
    """Diverse sensitive values: by largest share, number of values, entropy, or recursive (c, l).

    ``frequency``: no share above 1/l (real l >= 1). ``distinct``: at least l values. ``entropy``: entropy >= log l.
    ``recursive``: r1 < c (r_l + r_(l+1) + ...) for the counts r1 >= r2 >= ... (Machanavajjhala et al. 2007).
    """

    l: float
    kind: LKind = "frequency"
    c: float = 3.0

    def __post_init__(self) -> None:
        if self.kind not in get_args(LKind):
            fact = f"l_kind is {self.kind!r}"
            raise ParameterError(fact, f"use one of {', '.join(get_args(LKind))}")
        if not math.isfinite(self.l) or self.l < 1:
            fact = f"l is {self.l!r}"
            raise ParameterError(fact, "use a number, at least 1")
        if self.kind in ("distinct", "recursive") and self.l != int(self.l):
            fact = f"l is {self.l!r} and l_kind is {self.kind!r}"
            raise ParameterError(
                fact, "this kind counts values: use a whole number, or l_kind='frequency' or 'entropy'"
            )
        if not self.c > 0:
            fact = f"c is {self.c!r}"
            raise ParameterError(fact, "use a positive number")

    def guarantee(self) -> dict[str, Any]:
        """Return ``{"kind": "l", ...}``."""
        promise: dict[str, Any] = {"kind": "l", "l": self.l, "l_kind": self.kind}
        return promise | ({"c": self.c} if self.kind == "recursive" else {})

    def tighten(self, limits: Limits) -> None:
        """Write the kind's own limit."""
        if self.kind == "frequency":
            limits.share = min(limits.share, 1 / exact(self.l))
        elif self.kind == "distinct":
            limits.distinct = max(limits.distinct, int(self.l))
        elif self.kind == "entropy":
            limits.entropy = max(limits.entropy, math.log(self.l))
        else:
            limits.recursive_l, limits.recursive_c = int(self.l), self.c

    def best(self, n_rows: int, counts: Counts) -> dict[str, float] | None:
        """No group is more diverse than the table."""
        ranked = np.sort(counts[counts > 0])[::-1]
        if self.kind == "frequency":
            top = Fraction(n_rows, int(ranked[0]))
            return None if top >= exact(self.l) else {"l": _rounded_down(float(top))}
        if self.kind == "distinct":
            return None if len(ranked) >= self.l else {"l": len(ranked)}
        if self.kind == "entropy":
            share = ranked / n_rows
            top_entropy = float(-(share * np.log(share)).sum())
            enough = top_entropy >= math.log(self.l) - 1e-12
            return None if enough else {"l": _rounded_down(math.exp(top_entropy))}
        tails = np.cumsum(ranked[::-1])[::-1]
        reached = int(np.sum(ranked[0] < self.c * tails))
        return None if reached >= self.l else {"l": reached, "c": self.c}


@dataclass(frozen=True)
class TCloseness(Constraint):
    """Sensitive distribution within distance t of the table's (Li et al. 2007).

    Earth mover's distance: with equal ground distance half the sum of absolute differences, with
    ``ordered=True`` the cumulated differences divided by (number of values - 1).
    """

    t: float
    ordered: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.t <= 1:
            fact = f"t is {self.t!r}"
            raise ParameterError(fact, "use a number from 0 to 1")

    def guarantee(self) -> dict[str, Any]:
        """Return ``{"kind": "t", ...}``."""
        return {"kind": "t", "t": self.t, "ordered": self.ordered}

    def tighten(self, limits: Limits) -> None:
        """Ask for closeness."""
        limits.t, limits.ordered = self.t, self.ordered

    def best(self, n_rows: int, counts: Counts) -> dict[str, float] | None:
        """The whole table is at distance 0 from itself."""
        del n_rows, counts
        return None


@dataclass(frozen=True)
class Alpha(Constraint):
    """No sensitive value has a share above alpha: with k, the (alpha, k)-anonymity of Wong et al. 2006."""

    alpha: float

    def __post_init__(self) -> None:
        if not 0 < self.alpha <= 1:
            fact = f"alpha is {self.alpha!r}"
            raise ParameterError(fact, "use a number above 0, at most 1")

    def guarantee(self) -> dict[str, Any]:
        """Return ``{"kind": "alpha", ...}``."""
        return {"kind": "alpha", "alpha": self.alpha}

    def tighten(self, limits: Limits) -> None:
        """Ask for a largest share."""
        limits.share = min(limits.share, exact(self.alpha))

    def best(self, n_rows: int, counts: Counts) -> dict[str, float] | None:
        """No group has a smaller largest share than the table."""
        share = Fraction(int(counts.max()), n_rows)
        return None if share <= exact(self.alpha) else {"alpha": math.ceil(float(share) * 1e4) / 1e4}


@dataclass(frozen=True)
class Privacy:
    """The constraints that a method was asked to keep, together."""

    constraints: tuple[Constraint, ...]

    @classmethod
    def of(
        cls,
        k: int,
        *,
        l: float = 1,
        l_kind: LKind = "frequency",
        c: float = 3.0,
        t: float | None = None,
        alpha: float | None = None,
        ordered: bool = False,
    ) -> Privacy:
        """Collect constraints; ``l=1``, ``t=None`` and ``alpha=None`` ask for nothing."""
        diversity = LDiversity(l, l_kind, c)
        chosen: list[Constraint] = [KAnonymity(k)]
        chosen += [diversity] if l > 1 else []
        chosen += [TCloseness(t, ordered)] if t is not None else []
        chosen += [Alpha(alpha)] if alpha is not None else []
        return cls(tuple(chosen))

    @property
    def about_sensitive(self) -> bool:
        """Whether any constraint looks at sensitive values."""
        return len(self.constraints) > 1

    def guarantees(self) -> list[dict[str, Any]]:
        """Return the promises as they stand in a manifest."""
        return [constraint.guarantee() for constraint in self.constraints]

    def limits(self) -> Limits:
        """Return what the kernels compare with."""
        limits = Limits()
        for constraint in self.constraints:
            constraint.tighten(limits)
        return limits

    def require_feasible(self, n_rows: int, counts: Counts) -> None:
        """Refuse what even one group of all rows would not satisfy, with the closest setting in the error."""
        if self.about_sensitive and counts.size == 0:
            fact = "l, t and alpha are about sensitive values, and the schema has no sensitive column"
            raise SchemaError(fact, "name it with sensitive=..., or ask for k only")
        found = [best for constraint in self.constraints if (best := constraint.best(n_rows, counts)) is not None]
        if found:
            best = {name: value for setting in found for name, value in setting.items()}
            asked = ", ".join(_promise_text(constraint.guarantee()) for constraint in self.constraints)
            reached = ", ".join(f"{name} = {value:g}" for name, value in best.items())
            fact = f"No release of these {n_rows} rows can keep {asked}"
            hint = f"the closest that this table can reach is {reached}"
            raise InfeasibleError(fact, hint, best=best)


def _promise_text(guarantee: dict[str, Any]) -> str:
    kind = guarantee["kind"]
    named = f" ({guarantee['l_kind']})" if kind == "l" else ""
    return f"{kind} = {guarantee[kind]:g}{named}"


def _rounded_down(value: float) -> float:
    """Four digits that are still reachable."""
    return math.floor(value * 1e4) / 1e4
