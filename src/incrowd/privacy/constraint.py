"""What a constraint is: a promise, the limits that the kernel compares with, and the best that a table can reach."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from incrowd.errors import ParameterError
from incrowd.manifest import Guarantee

Counts = npt.NDArray[np.int64]


def exact(number: float) -> Fraction:
    """Return the fraction that a person means by a decimal number: 1.1 is 11/10."""
    return Fraction(str(number))


def neighbour(number: Fraction, n: int, *, above: bool) -> Fraction:
    """Return the nearest fraction at or below (above) a number whose denominator is at most n.

    Shares among at most n rows compare with it as they do with the number itself, and products of whole numbers
    up to n and its terms fit into 64 bits.
    """
    if number.denominator <= n:
        return number
    p0, q0, p1, q1 = 0, 1, 1, 0
    top, bottom = number.numerator, number.denominator
    while True:
        whole = top // bottom
        if q0 + whole * q1 > n:
            break
        p0, q0, p1, q1 = p1, q1, p0 + whole * p1, q0 + whole * q1
        top, bottom = bottom, top - whole * bottom
    steps = (n - q0) // q1
    first, second = Fraction(p1, q1), Fraction(p0 + steps * p1, q0 + steps * q1)
    return max(first, second) if above else min(first, second)


@dataclass
class Limits:
    """What the kernel compares with: every constraint tightens some of these."""

    size: int = 1
    share: Fraction = Fraction(1)
    distinct: int = 1
    entropy: float = 0.0
    recursive_l: int = 0
    recursive_c: Fraction = Fraction(1)
    t: float = 1.0
    ordered: bool = False
    others_known: bool = False
    t_of_tree: float | None = None

    def arrays(self, n_rows: int, n_levels: int = 0) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return whole-number and real limits in the order that the kernel reads, for groups of at most n rows.

        `n_levels` is the height of the tree of values, if there is one.
        """
        if self.t_of_tree is not None and not n_levels:
            fact = "tree is true, and the sensitive column has no tree in the schema"
            raise ParameterError(fact, "give it a hierarchy: a taxonomy, or leave tree out")
        share = neighbour(self.share, n_rows, above=False)
        c = neighbour(min(self.recursive_c, Fraction(n_rows + 1)), n_rows, above=True)
        whole = [self.size, share.numerator, share.denominator, self.distinct]
        along = self.t_of_tree is not None
        whole += [self.recursive_l, c.numerator, c.denominator, self.ordered, self.others_known, n_levels * along]
        return np.array(whole, np.int64), np.array([self.entropy, self.t, self.t_of_tree or 0.0], np.float64)


class Constraint(ABC):
    """One promise about every group, and perhaps about one sensitive column; without a name, about each of them."""

    column: str | None = None

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Return the promise as it stands in a manifest."""

    @abstractmethod
    def tighten(self, limits: Limits) -> None:
        """Write this constraint into the kernel's limits."""

    @abstractmethod
    def best(self, n_rows: int, counts: Counts) -> dict[str, float] | None:
        """Return the closest setting that the whole table reaches, or ``None`` if it satisfies this one."""

    def shares(self, counts: Counts) -> Sequence[tuple[Fraction, Fraction]]:
        """Return the least and the largest share that each value may have, given how often it occurs in the table.

        Nothing where the constraint is not about single values.
        """
        del counts
        return ()


def is_number(value: object) -> bool:
    """Tell whether a parameter is a finite number."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)
