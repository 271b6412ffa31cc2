"""Constraints on how far the share of each sensitive value in a group may be from its share in the whole table.

A group's share of a value is a mean of its parts' shares, so a bound on it that every part keeps is kept by the whole:
these constraints are monotone. Each says between which two shares a value must stay, and the kernel compares counts
with them in whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

from incrowd.errors import ParameterError
from incrowd.manifest import Guarantee
from incrowd.privacy.constraint import Constraint, Counts, Limits, exact, is_number

_DIGITS = 60  # of logarithms: shares of at most 2**31 rows differ in the first 20
_STRICTLY = Fraction(10**12 - 1, 10**12)  # of delta: what is meant is less than delta, and not delta itself


@dataclass(frozen=True)
class BetaLikeness(Constraint):
    """No value becomes much likelier than it is in the table (Cao and Karras 2012).

    With the shares p in the table and q in a group: (q - p) / p <= beta where q > p (basic), or <= min(beta, -ln p)
    (``enhanced``), which also holds frequent values below certainty. Shares that fall are not limited.
    """

    beta: float
    enhanced: bool = False
    column: str | None = None

    def __post_init__(self) -> None:
        if not is_number(self.beta) or not 0 < self.beta <= _LARGEST:
            fact = f"beta is {self.beta!r}"
            raise ParameterError(fact, f"use a number above 0, at most {_LARGEST:g}")

    def guarantee(self) -> Guarantee:
        """Return the promise of beta."""
        return Guarantee("beta", beta=self.beta, enhanced=self.enhanced, column=self.column)

    def tighten(self, limits: Limits) -> None:
        """Single values are limited, by `shares`, and nothing else."""

    def best(self, n_rows: int, counts: Counts) -> dict[str, float] | None:
        """The whole table gains nothing over itself."""
        del n_rows, counts
        return None

    def shares(self, counts: Counts) -> list[tuple[Fraction, Fraction]]:
        """Return the least and the largest share of each value."""
        n, found = int(counts.sum()), []
        for count in counts.tolist():
            p = Fraction(count, max(1, n))
            gain = exact(self.beta)
            if self.enhanced and p > 0:
                gain = min(gain, -_ln(p))
            found.append((Fraction(0), min(Fraction(1), p * (1 + gain))))
        return found


@dataclass(frozen=True)
class DeltaDisclosure(Constraint):
    """No value becomes much likelier or less likely than in the table (Brickell and Shmatikov 2008).

    With the shares p in the table and q in a group, the absolute value of log2(q / p) is below delta. So every group
    has every value of the table. The logarithm is to base 2, in which the paper measures what is gained.
    """

    delta: float
    column: str | None = None

    def __post_init__(self) -> None:
        if not is_number(self.delta) or not 0 < self.delta <= _LARGEST_DELTA:
            fact = f"delta is {self.delta!r}"
            raise ParameterError(fact, f"use a number above 0, at most {_LARGEST_DELTA:g}")

    def guarantee(self) -> Guarantee:
        """Return the promise of delta."""
        return Guarantee("delta", delta=self.delta, column=self.column)

    def tighten(self, limits: Limits) -> None:
        """Single values are limited, by `shares`, and nothing else."""

    def best(self, n_rows: int, counts: Counts) -> dict[str, float] | None:
        """The whole table is like itself."""
        del n_rows, counts
        return None

    def shares(self, counts: Counts) -> list[tuple[Fraction, Fraction]]:
        """Return the least and the largest share of each value."""
        factor = _power_of_2(exact(self.delta) * _STRICTLY)
        shares = [Fraction(count, max(1, int(counts.sum()))) for count in counts.tolist()]
        return [(p / factor, min(Fraction(1), p * factor)) for p in shares]


_LARGEST, _LARGEST_DELTA = 1e9, 64


def _ln(share: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = _DIGITS
        return Fraction((Decimal(share.numerator) / Decimal(share.denominator)).ln())


def _power_of_2(exponent: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = _DIGITS
        return Fraction(Decimal(2) ** (Decimal(exponent.numerator) / Decimal(exponent.denominator)))
