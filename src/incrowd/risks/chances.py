"""How likely somebody is to find a person again: prosecutor, journalist and marketer (El Emam and Dankar 2008)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import integrate

Int64 = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Chances:
    """The chance that a guess about a row is right.

    Attributes
    ----------
    highest, average
        Of all rows.
    above, threshold
        The share of rows whose chance is above the threshold; ``None`` for means, which hide who is above it.
    """

    highest: float
    average: float
    above: float | None
    threshold: float | None

    @classmethod
    def of(cls, chances: Floats, sizes: Int64, threshold: float | None) -> Chances:
        """Summarize the chance of each class, by its rows."""
        n = int(sizes.sum())
        above = None if threshold is None else float(sizes[chances > threshold + 1e-12].sum() / n)
        return cls(float(chances.max()), float((chances * sizes).sum() / n), above, threshold)

    def to_dict(self) -> dict[str, float | None]:
        """Return plain data."""
        return {"highest": self.highest, "average": self.average, "above_threshold": self.above}


def expected_inverse(sizes: Int64, fraction: float) -> Floats:
    """Return the mean of 1/F for classes with f rows in a sample, where F is not known.

    F given f is negative binomial with the sampling fraction (Benedetti and Franconi 1998): every person of the
    population was taken with that chance, and nothing is known of class sizes before.
    """
    if fraction >= 1:
        return np.asarray(1 / sizes)
    distinct, place = np.unique(sizes, return_inverse=True)
    return np.array([_expected(int(size), fraction) for size in distinct])[place.reshape(-1)]


def _expected(size: int, fraction: float) -> float:
    if size == 1:
        return fraction / (1 - fraction) * -math.log(fraction)
    lost = 1 - fraction
    found, _ = integrate.quad(lambda x: x ** (size - 1) * fraction / (fraction + lost * x), 0, 1)
    return float(found)
