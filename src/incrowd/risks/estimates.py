"""How many people of a population are unique, estimated from a sample: four models, and a rule that chooses.

All look only at how many classes (combinations of quasi-identifiers) have 1, 2, 3, ... rows. None of them is right
everywhere: each says here when it fails, and gives no number where its equations have no solution.

Zayatz (1991)
    The population's classes are as large as the sample's; then the share of sample uniques that are population uniques
    follows. Too high for small fractions, because large classes look small in the sample.
Pitman (Hoshino 2001)
    Pitman's sampling formula, by maximum likelihood. Good for small fractions; fails if nearly all rows are unique,
    or if classes are of about one size.
SNB (Chen and McNulty 1998)
    Class sizes less one are negative binomial, their number is Shlosser's estimate (Haas and Stokes 1998, the modified
    one). Good for large fractions; fails if no class has two rows, and if the number of classes is misjudged.
Poisson-inverse Gaussian (Carlson 2002)
    Class sizes are Poisson with inverse Gaussian means, by maximum likelihood of what is not empty. Good for long
    tails; fails if class sizes vary less than those of Poisson variables.

The rule of Dankar et al. (2012): up to a fraction of 0.1 Pitman, above it the smaller of SNB and Zayatz.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats
from scipy.special import expit, gammaln, logit

Int64 = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_SMALL_FRACTION = 0.1  # of Dankar et al.
_SOLVED = 1e-6


@dataclass(frozen=True)
class Estimate:
    """What one model says.

    Attributes
    ----------
    model
        ``zayatz``, ``pitman``, ``snb`` or ``poisson_inverse_gaussian``.
    uniques
        The number of people who are unique in the population; ``None`` if the model says nothing.
    why
        Why it says nothing, or what its number is to be read with.
    """

    model: str
    uniques: float | None
    why: str


@dataclass(frozen=True)
class Spectrum:
    """How many classes have which size, and how large a part of the population the sample is."""

    sizes: Int64
    counts: Int64
    fraction: float

    @classmethod
    def of(cls, sizes: Int64, fraction: float) -> Spectrum:
        """Count classes by size."""
        return cls(*np.unique(sizes, return_counts=True), fraction)

    @property
    def n(self) -> int:
        """Rows of the sample."""
        return int((self.sizes * self.counts).sum())

    @property
    def n_classes(self) -> int:
        """Classes of the sample."""
        return int(self.counts.sum())

    @property
    def population(self) -> int:
        """People of the population."""
        return round(self.n / self.fraction)

    def of_size(self, size: int) -> int:
        """Return how many classes have a size."""
        return int(self.counts[self.sizes == size].sum())


def estimates(spectrum: Spectrum) -> tuple[tuple[Estimate, ...], str | None]:
    """Return what each model says, and the model that the rule of Dankar et al. takes, if that says anything."""
    found = {name: _judged(name, model, spectrum) for name, model in _MODELS.items()}
    told = {name: estimate.uniques for name, estimate in found.items() if estimate.uniques is not None}
    if spectrum.fraction <= _SMALL_FRACTION:
        chosen = "pitman" if "pitman" in told else "zayatz"
    else:
        chosen = min((name for name in ("zayatz", "snb") if name in told), key=told.__getitem__, default="zayatz")
    return tuple(found.values()), chosen if chosen in told else None


def _judged(name: str, model: Callable[[Spectrum], float | None], spectrum: Spectrum) -> Estimate:
    """Take what a model says, if it can be: at most as many as the sample uniques stand for."""
    n_unique = spectrum.of_size(1)
    if n_unique == 0:
        return Estimate(name, 0.0, "no row is unique in the sample")
    if spectrum.fraction >= 1:
        return Estimate(name, float(n_unique), "the sample is the population")
    uniques = model(spectrum)
    if uniques is None or not math.isfinite(uniques) or uniques < 0:
        return Estimate(name, None, _FAILS[name])
    most = min(spectrum.population, n_unique / spectrum.fraction)
    if uniques > most * (1 + 1e-9):
        return Estimate(name, None, f"it says more than the {n_unique} unique rows can stand for: {_FAILS[name]}")
    return Estimate(name, uniques, _CARE[name])


def zayatz(spectrum: Spectrum) -> float | None:
    """Bayes: the chance that a class with one row in the sample has one person in the population."""
    n, population = spectrum.n, spectrum.population
    one = stats.hypergeom.pmf(1, population, np.minimum(spectrum.sizes, population), n)
    share = spectrum.counts / spectrum.n_classes
    unique = share[spectrum.sizes == 1].sum() * n / population
    return float(spectrum.of_size(1) * unique / (share * one).sum() / spectrum.fraction)


def pitman(spectrum: Spectrum) -> float | None:
    """Maximum likelihood of Pitman's sampling formula with 0 < alpha < 1 and theta > 0."""
    if spectrum.of_size(1) == spectrum.n or spectrum.n_classes < 2:
        return None
    n, u, larger = spectrum.n, spectrum.n_classes, spectrum.sizes > 1
    sizes, counts = spectrum.sizes[larger], spectrum.counts[larger]

    def lacking(at: Floats) -> float:
        alpha, theta = float(expit(at[0])), math.exp(at[1])
        new = (u - 1) * math.log(alpha) + gammaln(theta / alpha + u) - gammaln(theta / alpha + 1)
        again = (counts * (gammaln(sizes - alpha) - gammaln(1 - alpha))).sum()
        return -float(new + again - gammaln(theta + n) + gammaln(theta + 1))

    best = _least(lacking, [(logit(a), math.log(t)) for a in (0.2, 0.7) for t in (max(1.0, u / 10), float(u))])
    if best is None or abs(best[0]) > _EDGE:
        return None
    alpha, theta = float(expit(best[0])), math.exp(best[1])
    return float(np.exp(gammaln(theta + 1) - gammaln(theta + alpha) + alpha * math.log(spectrum.population)))


def snb(spectrum: Spectrum) -> float | None:
    """Solve for the expected numbers of classes with one row and with two."""
    f, ones, twos = spectrum.fraction, spectrum.of_size(1), spectrum.of_size(2)
    if not twos:
        return None
    n_classes = shlosser(spectrum)
    if n_classes is None:
        return None

    def apart(at: Floats) -> Floats:
        alpha, beta = math.exp(at[0]), float(expit(at[1]))
        away = (1 - f) * (1 - beta)
        left = 1 - away
        one = n_classes * f * (beta / left) ** alpha * (1 + alpha * away / left)
        two = n_classes * alpha * beta**alpha * f**2 * (1 - beta) / (2 * left ** (alpha + 2)) * (2 - (1 - alpha) * away)
        return np.array([one / ones - 1, two / twos - 1])

    bounds = ([-25.0, -25.0], [6.0, 25.0])
    for start in ((-1.0, -1.0), (-3.0, -4.0), (1.0, 0.0), (-0.5, -6.0), (-6.0, -8.0)):
        found = optimize.least_squares(apart, start, bounds=bounds, xtol=1e-14, ftol=1e-14, gtol=1e-14)
        if np.abs(found.fun).max() < _SOLVED:
            return float(n_classes * expit(found.x[1]) ** math.exp(found.x[0]))
    return None


def shlosser(spectrum: Spectrum) -> float | None:
    """Return how many classes the population has: the modified estimator of Shlosser (Haas and Stokes 1998)."""
    f, i, counts = spectrum.fraction, spectrum.sizes.astype(np.float64), spectrum.counts
    seen_again = (i * f**2 * (1 - f**2) ** (i - 1) * counts).sum()
    unseen = ((1 - f) ** i * ((1 + f) ** i - 1) * counts).sum()
    none = ((1 - f) ** i * counts).sum()
    one = (i * f * (1 - f) ** (i - 1) * counts).sum()
    if min(unseen, one) <= 0 or not math.isfinite(unseen):
        return None
    return float(spectrum.n_classes + spectrum.of_size(1) * seen_again / unseen * (none / one) ** 2)


def poisson_inverse_gaussian(spectrum: Spectrum) -> float | None:
    """Maximum likelihood of the classes that are not empty; thinning divides mean and dispersion by the fraction."""
    if spectrum.of_size(1) == spectrum.n:
        return None

    def lacking(at: Floats) -> float:
        mean, spread = math.exp(at[0]), math.exp(at[1])
        logs = _log_sizes(mean, spread, int(spectrum.sizes.max()))
        seen = -math.expm1(logs[0])
        return math.inf if seen <= 0 else -float((spectrum.counts * (logs[spectrum.sizes] - math.log(seen))).sum())

    average = spectrum.n / spectrum.n_classes
    starts = [(math.log(average * m), math.log(s)) for m in (0.05, 0.7) for s in (0.3, 10 * average)]
    best = _least(lacking, starts)
    if best is None or best[1] < -_EDGE:
        return None
    mean, spread = math.exp(best[0]), math.exp(best[1])
    n_classes = spectrum.n_classes / -math.expm1(_log_sizes(mean, spread, 1)[0])
    unique = _log_sizes(mean / spectrum.fraction, spread / spectrum.fraction, 1)[1]
    return float(n_classes * math.exp(unique))


def _log_sizes(mean: float, spread: float, most: int) -> Floats:
    """Return the logarithms of the chances of class sizes 0 to `most`, by the ratios of neighbours."""
    root = 1 + 2 * spread
    logs = np.empty(most + 1)
    logs[0] = mean / spread * (1 - math.sqrt(root))
    ratio = mean / math.sqrt(root)
    for size in range(1, most + 1):
        if size > 1:
            ratio = 2 * spread / root * (1 - 1.5 / size) + mean * mean / (root * size * (size - 1) * ratio)
        logs[size] = logs[size - 1] + math.log(ratio)
    return logs


_FAR = 40.0  # the search does not go there: numbers would be 0 or too large
_EDGE = 15.0  # of a logit or logarithm: beyond it, the likelihood has no inner maximum


def _least(lacking: Callable[[Floats], float], starts: list[tuple[float, float]]) -> Floats | None:
    """Return where a function of two numbers is least, from several starts; ``None`` where it has no inner minimum."""

    def bounded(at: Floats) -> float:
        return math.inf if np.abs(at).max() > _FAR else lacking(at)

    found = [
        optimize.minimize(bounded, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9, "maxiter": 800})
        for start in starts
    ]
    best = min(found, key=lambda one: float(one.fun))
    return np.asarray(best.x) if math.isfinite(best.fun) else None


_MODELS: dict[str, Callable[[Spectrum], float | None]] = {
    "zayatz": zayatz,
    "pitman": pitman,
    "snb": snb,
    "poisson_inverse_gaussian": poisson_inverse_gaussian,
}
_CARE = {
    "zayatz": "too high for small fractions, where large classes look small",
    "pitman": "meant for fractions up to 0.1",
    "snb": "meant for fractions above 0.1",
    "poisson_inverse_gaussian": "meant for classes of very different sizes; far too low for the smallest fractions",
}
_FAILS = {
    "zayatz": "its equation has no solution",
    "pitman": "no maximum of the likelihood: nearly all rows are unique, or classes are of about one size",
    "snb": "its equations have no solution, as where no two rows are a class",
    "poisson_inverse_gaussian": "no maximum of the likelihood: classes vary less than Poisson variables",
}
