"""Which methods differ, and which differences may be chance: rank tests over many cases, and the combined 5x2cv F-test.

*Over many cases* (tables, values of k): `average_ranks` ranks the methods in each case, `friedman` asks whether they
differ at all, and `bonferroni_dunn` which of them differ from one that was named before: their average ranks are
further apart than the critical difference. `plot_ranks` draws that. `paired` compares two methods.

*On one table*: `combined_5x2` compares two methods after five repetitions of two-fold cross-validation, on the same
halves.

Rank 1 is the best, ties share their ranks. A result says in words what it found (`verdict`), and keeps the numbers.

Which figures papers print: Friedman's chi-square and the F form of Iman and Davenport, which is less conservative, are
both here; the verdict follows the F form, as Demsar recommends. Chi-square is corrected for ties (as scipy does it)
where scores are given; published average ranks do not tell ties, and get none. Bonferroni-Dunn gives each pair's
z, its one-sided p as the NSVDist paper prints it (the chance that the named method is not better), and the two-sided p
times the number of comparisons, which is what the verdict and the critical difference go by.

Reference: Demsar: Statistical comparisons of classifiers over multiple data sets, JMLR 2006; Alpaydin: Combined 5x2 cv
F test for comparing supervised classification learning algorithms, Neural Computation 1999.

>>> scores = {"ours": [9, 8, 9, 7, 9, 8], "theirs": [8, 9, 8, 6, 8, 7], "oldest": [5, 6, 5, 7, 5, 5]}
>>> ranks = average_ranks(scores)
>>> {name: round(rank, 2) for name, rank in ranks.averages.items()}
{'ours': 1.25, 'theirs': 2.0, 'oldest': 2.75}
>>> print(friedman(scores).verdict)
The 3 methods differ over 6 cases (p = 0.012).
>>> print(bonferroni_dunn(ranks, "ours").verdict)
ours is better than oldest; theirs may be as good as ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import stats

from incrowd import plots
from incrowd.errors import ParameterError

Scores = Mapping[str, Sequence[float]] | pl.DataFrame
"""One list of scores per method, in the same order of cases; or a frame with one column per method."""

_ALPHA = 0.05


@dataclass(frozen=True)
class Ranks:
    """Average ranks of methods over cases.

    Parameters
    ----------
    averages
        Of each method; 1 is the best that can be.
    n_cases
        Number of cases.
    """

    averages: Mapping[str, float]
    n_cases: int

    def __post_init__(self) -> None:
        n = len(self.averages)
        if n < 2 or self.n_cases < 2:
            fact = f"There are {n} methods and {self.n_cases} cases"
            raise ParameterError(fact, "ranks can be compared from two of both")
        if not math.isclose(sum(self.averages.values()), n * (n + 1) / 2, abs_tol=0.02 * n):  # papers round
            fact = f"Average ranks of {n} methods add up to {sum(self.averages.values()):g}"
            raise ParameterError(fact, f"they are ranks from 1 to {n}, and add up to {n * (n + 1) / 2:g}")

    @property
    def step(self) -> float:
        """The standard error of the difference of two average ranks."""
        n = len(self.averages)
        return math.sqrt(n * (n + 1) / (6 * self.n_cases))


@dataclass(frozen=True)
class FriedmanTest:
    """Whether methods differ at all over many cases."""

    ranks: Ranks
    chi_square: float
    p_chi_square: float
    f: float
    p: float
    alpha: float

    @property
    def differ(self) -> bool:
        """Whether that all methods are equal can be ruled out."""
        return self.p < self.alpha

    @property
    def verdict(self) -> str:
        """What was found, in words."""
        which = f"{len(self.ranks.averages)} methods"
        if self.differ:
            return f"The {which} differ over {self.ranks.n_cases} cases (p = {self.p:.2g})."
        return f"The {which} may be equal over {self.ranks.n_cases} cases (p = {self.p:.2g})."


@dataclass(frozen=True)
class RankDifference:
    """A method's average rank less that of the one it is compared with, and how likely that is by chance."""

    name: str
    difference: float
    z: float
    p_one_sided: float
    p: float
    differs: bool


@dataclass(frozen=True)
class DunnTest:
    """Which methods differ from the one that was named."""

    ranks: Ranks
    control: str
    critical_difference: float
    others: tuple[RankDifference, ...]
    alpha: float

    @property
    def verdict(self) -> str:
        """What was found, in words."""
        worse = [other.name for other in self.others if other.differs and other.difference > 0]
        better = [other.name for other in self.others if other.differs and other.difference < 0]
        open_ = [other.name for other in self.others if not other.differs]
        said = []
        if worse:
            said.append(f"{self.control} is better than {_listed(worse)}")
        if better:
            said.append(f"{_listed(better)} {'is' if len(better) == 1 else 'are'} better than {self.control}")
        if open_:
            said.append(f"{_listed(open_)} may be as good as {self.control}")
        return "; ".join(said) + "."


@dataclass(frozen=True)
class FiveByTwoTest:
    """Whether two methods differ on one table, after five times two-fold cross-validation."""

    mean_difference: float
    f: float
    p: float
    alpha: float
    names: tuple[str, str] = ("the first", "the second")

    @property
    def differ(self) -> bool:
        """Whether that both are equal can be ruled out."""
        return self.p < self.alpha

    @property
    def verdict(self) -> str:
        """What was found, in words."""
        return _of_two(self.names, self.mean_difference, self.p, differ=self.differ)


@dataclass(frozen=True)
class PairedTest:
    """Two methods over many cases: who wins how often, and Wilcoxon's signed-rank test."""

    wins: int
    ties: int
    losses: int
    mean_difference: float
    p: float
    alpha: float
    names: tuple[str, str] = field(default=("the first", "the second"))

    @property
    def differ(self) -> bool:
        """Whether that both are equal can be ruled out."""
        return self.p < self.alpha

    @property
    def verdict(self) -> str:
        """What was found, in words."""
        counted = f"{self.wins} wins, {self.ties} ties, {self.losses} losses"
        return f"{_of_two(self.names, self.mean_difference, self.p, differ=self.differ)[:-1]}: {counted}."


def average_ranks(scores: Scores, *, higher_is_better: bool = True) -> Ranks:
    """Rank the methods in each case, and average.

    Parameters
    ----------
    scores
        Of each method in each case.
    higher_is_better
        As accuracies are; not so for losses.
    """
    names, table = _table(scores)
    ranks = stats.rankdata(-table if higher_is_better else table, axis=1)
    return Ranks(dict(zip(names, ranks.mean(axis=0).tolist(), strict=True)), len(table))


def friedman(scores: Scores, *, higher_is_better: bool = True, alpha: float = _ALPHA) -> FriedmanTest:
    """Test whether methods differ at all, from their scores.

    Parameters
    ----------
    scores
        Of each method in each case; three methods at least.
    higher_is_better
        As accuracies are; not so for losses.
    alpha
        How often to be wrong if they do not differ.
    """
    ranks = average_ranks(scores, higher_is_better=higher_is_better)
    _, table = _table(scores)
    if len(ranks.averages) < 3:
        fact = f"There are {len(ranks.averages)} methods"
        raise ParameterError(fact, "compare two methods with `paired`")
    if bool((table == table[:, :1]).all()):  # no case tells any two apart
        return _friedman(ranks, 0.0, alpha)
    return _friedman(ranks, float(stats.friedmanchisquare(*table.T).statistic), alpha)


def friedman_of_ranks(ranks: Ranks, *, alpha: float = _ALPHA) -> FriedmanTest:
    """Test whether methods differ at all, from published average ranks: without correction for ties."""
    n = len(ranks.averages)
    # Not the sum of squares less n (n + 1)^2 / 4: published ranks are rounded, and do not add up quite.
    spread = float(np.var(list(ranks.averages.values())) * n)
    return _friedman(ranks, 12 * ranks.n_cases / (n * (n + 1)) * spread, alpha)


def critical_difference(n_methods: int, n_cases: int, *, alpha: float = _ALPHA) -> float:
    """Return how far average ranks must be apart to differ from one that was named (Bonferroni-Dunn).

    >>> round(critical_difference(4, 14, alpha=0.1), 2)
    1.04
    """
    _check_alpha(alpha)
    if n_methods < 2 or n_cases < 2:
        fact = f"There are {n_methods} methods and {n_cases} cases"
        raise ParameterError(fact, "ranks can be compared from two of both")
    quantile = float(stats.norm.isf(alpha / (2 * (n_methods - 1))))
    return quantile * math.sqrt(n_methods * (n_methods + 1) / (6 * n_cases))


def bonferroni_dunn(ranks: Ranks, control: str, *, alpha: float = _ALPHA) -> DunnTest:
    """Compare one method, named beforehand, with each of the others.

    Parameters
    ----------
    ranks
        From `average_ranks`, or published ones.
    control
        The method that the others are compared with.
    alpha
        How often to be wrong about any of them, if none differs.
    """
    if control not in ranks.averages:
        fact = f"control is {control!r}"
        raise ParameterError(fact, f"use one of {', '.join(ranks.averages)}")
    limit = critical_difference(len(ranks.averages), ranks.n_cases, alpha=alpha)
    n_others = len(ranks.averages) - 1
    others = []
    for name, rank in ranks.averages.items():
        if name == control:
            continue
        difference = rank - ranks.averages[control]
        z = difference / ranks.step
        p = min(1.0, 2 * n_others * float(stats.norm.sf(abs(z))))
        others.append(RankDifference(name, difference, z, float(stats.norm.sf(z)), p, abs(difference) > limit))
    return DunnTest(ranks, control, limit, tuple(others), alpha)


def combined_5x2(
    one: npt.ArrayLike,
    other: npt.ArrayLike,
    *,
    alpha: float = _ALPHA,
    names: tuple[str, str] = ("the first", "the second"),
) -> FiveByTwoTest:
    """Test whether two methods differ, by the combined 5x2cv F-test.

    Parameters
    ----------
    one, other
        Scores, [5 repetitions x 2 halves], both on the same halves. More is better.
    alpha
        How often to be wrong if they do not differ.
    names
        What the verdict calls them.
    """
    _check_alpha(alpha)
    pair = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if any(scores.shape != (5, 2) for scores in pair):
        fact = f"Scores have the shapes {pair[0].shape} and {pair[1].shape}"
        raise ParameterError(fact, "give five repetitions of two halves each: (5, 2)")
    gaps = pair[0] - pair[1]
    if not np.isfinite(gaps).all():
        fact = "A score is not a finite number"
        raise ParameterError(fact, "leave out methods that did not finish")
    above, below = float((gaps**2).sum()), 2 * float(gaps.var(axis=1).sum() * 2)
    f = above / below if below > 0 else math.inf if above > 0 else 0.0
    return FiveByTwoTest(float(gaps.mean()), f, float(stats.f.sf(f, 10, 5)), alpha, names)


def paired(
    one: Sequence[float],
    other: Sequence[float],
    *,
    alpha: float = _ALPHA,
    names: tuple[str, str] = ("the first", "the second"),
) -> PairedTest:
    """Compare two methods over many cases, more being better.

    Parameters
    ----------
    one, other
        A score for each case, in the same order.
    alpha
        How often to be wrong if they do not differ.
    names
        What the verdict calls them.
    """
    _check_alpha(alpha)
    _, table = _table({"one": one, "other": other})
    gaps = table[:, 0] - table[:, 1]
    wins, losses = int((gaps > 0).sum()), int((gaps < 0).sum())
    p = float(stats.wilcoxon(gaps, zero_method="zsplit").pvalue) if wins + losses else 1.0
    return PairedTest(wins, len(gaps) - wins - losses, losses, float(gaps.mean()), p, alpha, names)


def plot_ranks(
    ranks: Ranks, control: str | None = None, *, alpha: float = _ALPHA, title: str | None = None
) -> plots.Figure:
    """Draw average ranks on a line, best at the right, and how far from `control` they must be to differ from it."""
    band = None
    if control is not None:
        limit, middle = bonferroni_dunn(ranks, control, alpha=alpha).critical_difference, ranks.averages[control]
        band = (middle - limit, middle + limit)
    drawn = plots.figure(title=title, width=6.4, height=1.0 + 0.28 * ((len(ranks.averages) + 1) // 2))
    label = "average rank" if control is None else f"average rank; methods on the bar may be as good as {control}"
    plots.number_line(drawn.axes[0], ranks.averages, (len(ranks.averages), 1), band=band, label=label)
    return drawn


def _friedman(ranks: Ranks, chi_square: float, alpha: float) -> FriedmanTest:
    """Give chi-square its p, and the F form of Iman and Davenport."""
    _check_alpha(alpha)
    n, n_cases = len(ranks.averages), ranks.n_cases
    rest = n_cases * (n - 1) - chi_square
    f = (n_cases - 1) * chi_square / rest if rest > 1e-9 * n_cases else math.inf  # all cases rank alike
    p_chi_square = float(stats.chi2.sf(chi_square, n - 1))
    p = float(stats.f.sf(f, n - 1, (n - 1) * (n_cases - 1)))
    return FriedmanTest(ranks, chi_square, p_chi_square, f, p, alpha)


def _table(scores: Scores) -> tuple[list[str], npt.NDArray[np.float64]]:
    """Return names and scores, [cases x methods]."""
    columns = scores.to_dict(as_series=False) if isinstance(scores, pl.DataFrame) else scores
    sizes = {len(column) for column in columns.values()}
    if len(sizes) != 1:
        fact = f"Methods have {' or '.join(map(str, sorted(sizes))) or 'no'} scores"
        raise ParameterError(fact, "give each method one score per case")
    table = np.column_stack([np.asarray(column, np.float64) for column in columns.values()])
    if not np.isfinite(table).all():
        fact = "A score is missing, or not a finite number"
        raise ParameterError(fact, "leave out cases that some method did not finish")
    return list(columns), table


def _check_alpha(alpha: float) -> None:
    if not 0 < alpha < 1:
        fact = f"alpha is {alpha!r}"
        raise ParameterError(fact, "use a share between 0 and 1, such as 0.05")


def _of_two(names: tuple[str, str], gap: float, p: float, *, differ: bool) -> str:
    first, second = names if gap >= 0 else names[::-1]
    if differ and gap != 0:
        return f"{first[:1].upper()}{first[1:]} is better than {second} (p = {p:.2g})."
    return f"{names[0][:1].upper()}{names[0][1:]} and {names[1]} may be equal (p = {p:.2g})."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
