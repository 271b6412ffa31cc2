"""Rates: shares of people that were counted with the original, as far as everybody may know them.

A public report may tell what the release does not say only about crowds. So a count is told as the manifest tells its
counts: in steps of at least k people, so that k counts or more are told alike. A rate of fewer than k people, or of
all but fewer than k, is told as just that, and nothing is told about fewer than k people in all. The owner gets exact
numbers.

>>> Rating(k=50).rate(1234, 10_000).text
'about 12%'
>>> Rating(k=50).rate(7, 10_000).text
'fewer than 50 people'
>>> Rating(k=50, exact=True).rate(7, 10_000).text
'0.1%'
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_FINEST = 0.01
"""The smallest step of a public rate; k people, if that is more."""


@dataclass(frozen=True)
class Rate:
    """A share, and how precisely it is told.

    Attributes
    ----------
    share
        From 0 to 1; ``None`` where it may not be told.
    step
        It is told in steps of this size; 0 if exactly.
    text
        For people.
    """

    share: float | None
    step: float
    text: str


@dataclass(frozen=True)
class Rating:
    """How rates are told.

    Attributes
    ----------
    k
        The smallest crowd of the release.
    exact
        Whether they are for the owner.
    """

    k: int
    exact: bool = False

    def rate(self, count: float, people: int, *, finest: float = _FINEST) -> Rate:
        """Return the share of some people."""
        if not people:
            return Rate(None, 0.0, "nobody")
        share = count / people
        if self.exact:
            return Rate(share, 0.0, f"{share:.1%}")
        if people < self.k:
            return Rate(None, 1.0, f"not shown: fewer than {self.k} people")
        step = self.step(people, finest=finest)
        if count < self.k:
            return Rate(0.0, step, f"fewer than {self.k} people" if self.k > 1 else "nobody")
        if people - count < self.k:
            return Rate(1.0, step, f"all but fewer than {self.k} people" if self.k > 1 else "everybody")
        told = self._told(count, people, step)
        return Rate(told, step, f"about {in_percent(told, step)}")

    def _told(self, count: float, people: int, step: float) -> float:
        """Return the nearest step that stands for k counts or more; beside few and all but few, one may not."""
        size, least, most = step * people, self.k, people - self.k
        first, last = (math.floor(border / size + 0.5) for border in (least, most))
        if (first + 0.5) * size - least < self.k:
            first += 1
        if most + 1 - (last - 0.5) * size < self.k:
            last -= 1
        if first > last:  # there is room for one step only
            return round((least + most) / 2 / people, 6)
        wanted = math.floor(count / size + 0.5)
        return min(1.0, round(min(max(wanted, first), last) * step, 6))

    def step(self, people: int, *, finest: float = _FINEST) -> float:
        """Return the steps in which a share of these people is told."""
        return 0.0 if self.exact else max(finest, self.k / people)

    def value(self, number: float | None, step: float) -> Rate:
        """Return a ratio of rates, such as a retention, in steps; it may lie below 0 or above 1."""
        if number is None:
            return Rate(None, step, "cannot be told")
        if self.exact:
            return Rate(number, 0.0, f"{number:.1%}")
        told = nearest(number, step)
        return Rate(told, step, f"about {in_percent(told, step)}")


def nearest(share: float, step: float) -> float:
    """Return the nearest multiple of a step, without noise in the last digits."""
    return round(math.floor(share / step + 0.5) * step, 6)


def in_percent(share: float, step: float) -> str:
    """Write a share with as many digits as its step has.

    >>> in_percent(0.8233, 0.0017), in_percent(1 / 6, 1 / 6)
    ('82.3%', '17%')
    """
    return f"{share:.1%}" if step < _FINEST else f"{share:.0%}"
