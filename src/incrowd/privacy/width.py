"""A limit on how narrow the range of a sensitive number may be within a group.

Different values protect little where they are numbers: whoever learns that a salary is 2000, 2001 or 2002 has learned
it. The range of a group's values is at least as wide as that of each of its parts, so this constraint is monotone. It
is the e of (k, e)-anonymity (Zhang, Koudas, Srivastava and Yu 2007).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal, localcontext
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from incrowd.errors import ParameterError
from incrowd.manifest import Guarantee
from incrowd.privacy.constraint import Constraint, Counts, Limits, exact, is_number

Values: TypeAlias = Mapping[str, Sequence[Any]]
"""The values of each sensitive column in order."""
_LARGEST, _DIGITS = 1e15, 6


@dataclass(frozen=True)
class Width(Constraint):
    """The greatest value of a sensitive number in a group is at least so far above the least one.

    A missing value is no number: a group that has nothing else is not wide.
    """

    width: float
    column: str | None = None

    def __post_init__(self) -> None:
        if not is_number(self.width) or not 0 < self.width <= _LARGEST:
            fact = f"width is {self.width!r}"
            raise ParameterError(fact, f"use a number above 0, at most {_LARGEST:g}")

    def guarantee(self) -> Guarantee:
        """Return the promise of the width."""
        return Guarantee("width", width=self.width, column=self.column)

    def tighten(self, limits: Limits) -> None:
        """Values are compared, by `reach`, and no counts."""

    def best(self, n_rows: int, counts: Counts) -> dict[str, float] | None:
        """Counts do not show how wide the table is; see `span`."""
        del n_rows, counts
        return None


def reach(values: Sequence[Any], width: Fraction) -> npt.NDArray[np.int32]:
    """Return the first value that is so far above each of these, which are in order; ``-1`` of one that is missing."""
    numbers = [None if value is None else as_meant(value) for value in values]
    found, at = np.full(len(values), -1, np.int32), 0
    for v, number in enumerate(numbers):
        if number is None:
            continue
        while at < len(numbers) and not _is_apart(number, numbers[at], width):
            at += 1
        found[v] = at
    return found


def span(values: Sequence[Any]) -> float:
    """Return how far apart the least and the greatest number are, rounded down to a number of few digits."""
    numbers = [as_meant(value) for value in values if value is not None]
    if not numbers:
        return 0.0
    if math.inf in numbers or -math.inf in numbers:
        return math.inf if min(numbers) < max(numbers) else 0.0
    exactly = Fraction(max(numbers)) - Fraction(min(numbers))
    with localcontext() as context:
        context.prec, context.rounding = _DIGITS, ROUND_DOWN
        return float(Decimal(exactly.numerator) / Decimal(exactly.denominator))


def as_meant(value: Any) -> Fraction | float:  # noqa: ANN401 - any number
    """Return the number that a person means by what is written."""
    return exact(value) if math.isfinite(value) else float(value)


def _is_apart(low: Fraction | float, high: Fraction | float | None, width: Fraction) -> bool:
    if high is None:
        return False
    if isinstance(low, float) or isinstance(high, float):  # infinite
        return low < high
    return high - low >= width
