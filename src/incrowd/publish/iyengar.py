"""Iyengar: a genetic algorithm over single-dimensional generalizations, for the detail lost (LM) or the class (CM).

A chromosome has a bit for each cut point of an ordered domain, and one for each inner node of a taxonomy: whether it is
replaced by its children (see `cut_sets`). Groups that do not keep the constraints are suppressed; a suppressed row
costs as much as one that shows nothing (LM) or is of the wrong class (CM). The population is kept in order of the loss.
In each round two parents are drawn by their rank, their bits are crossed at one point and some are flipped, what is no
valid generalization then is mended, and the child takes the place of the worst, if it loses less (GENITOR).

Guarantee: every group of rows with equal cells keeps k and whatever else was asked for, the group of ``*`` rows too.
Cost: rounds n M. The same seed and table give the same release.
Use it as the rival that papers name, or with CM where `KOptimal` does not come far. Not to lose the least: `KOptimal`
finds better sets of cuts in the same time, and `TightGroups` is not bound to one recoding for all rows.

Where we are on our own: (1) The paper runs 500 000 rounds over 5000 chromosomes; ask for that with `rounds` and
`population`. (2) How random chromosomes are drawn is not said: bits are set with a chance that is drawn for each one,
from few to all. (3) The paper's bits of a taxonomy stand between its leaves, and are mended to the nearest tree; a node
whose parent is not replaced is mended by not replacing it. (4) Fewer than k suppressed rows are a group smaller than k
themselves: the smallest groups join them.

Reference: Iyengar: Transforming data to satisfy privacy constraints, KDD 2002; Whitley: The GENITOR algorithm, 1989.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"age": [21, 22, 30, 31, 47, 48, 55, 56], "sex": list("ffmmfmmf")})
>>> release = ic.Iyengar(k=4).publish(people, ic.Schema(quasi={"age": ic.Intervals(), "sex": None}), seed=1)
>>> sorted(release.frame.unique().rows())
[('21-56', 'f'), ('21-56', 'm')]
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from incrowd.coding import Table
from incrowd.errors import ParameterError
from incrowd.publish.cut_sets import CutSets
from incrowd.publish.publisher import Choice, GroupPublisher, Progress

Bools = npt.NDArray[np.bool_]
ChromosomeLoss = Literal["lm", "cm"]

_BIAS = 1.5  # the best of a population is drawn so much more often than the middle one, as Whitley has it
_FLIPPED = 1.0  # bits of a child, on average
_REPORTED = 50  # rounds between two reports of progress


@dataclass(frozen=True, kw_only=True)
class Iyengar(GroupPublisher):
    """A genetic algorithm over sets of cut points, with suppression.

    Parameters
    ----------
    k, l, l_kind, c, t, ordered, alpha
        What every group keeps: see `GroupPublisher`.
    loss
        ``"lm"`` (detail lost) or ``"cm"`` (rows outside the majority class of their group).
    points
        Most cut points of an ordered column: of more values, quantiles of the rows.
    population
        Chromosomes.
    rounds
        Children.
    """

    loss: ChromosomeLoss = "lm"
    points: int = 100
    population: int = 100
    rounds: int = 5000

    name: ClassVar[str] = "iyengar"
    paper: ClassVar[str] = "Iyengar 2002"
    kind: ClassVar[str] = "single-dimensional, with suppression"
    cost: ClassVar[str] = "rounds n M"
    recodes: ClassVar[bool] = True
    needs_hierarchies: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.loss not in get_args(ChromosomeLoss):
            fact = f"loss is {self.loss!r}"
            raise ParameterError(fact, f"use one of {', '.join(get_args(ChromosomeLoss))}")
        for name, least in (("points", 1), ("population", 2), ("rounds", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                fact = f"{name} is {value!r}"
                raise ParameterError(fact, f"use a whole number, at least {least}")
        super().__post_init__()

    def n_steps(self, table: Table) -> float:
        """Return about how often the innermost loops run."""
        return float(table.codes.size) * (self.population + self.rounds)

    def choose(self, table: Table, rng: np.random.Generator, progress: Progress) -> Choice:
        """Choose the cells."""
        sets = CutSets.of(table, self.privacy(), self.loss, self.points)
        losses: dict[bytes, float] = {}

        def loss_of(chosen: Bools) -> float:
            key = np.packbits(chosen).tobytes()
            if key not in losses:
                losses[key] = sets.total(chosen)
            return losses[key]

        best, loss = _evolve(sets, loss_of, self.population, self.rounds, rng, progress)
        return sets.choice(best, {"cost": loss, "chromosomes": len(losses)})


def _evolve(
    sets: CutSets,
    loss_of: Callable[[Bools], float],
    size: int,
    rounds: int,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[Bools, float]:
    """Return the best chromosome after so many rounds; what shows nothing at all is the first of the population."""
    n = sets.n_items
    first = [np.zeros(n, np.bool_), *(sets.closed(rng.random(n) < rng.random() ** 2) for _ in range(size - 1))]
    ranked = sorted(((loss_of(chosen), age, chosen) for age, chosen in enumerate(first)), key=lambda one: one[:2])
    for number in range(rounds if n else 0):
        if number % _REPORTED == 0:
            progress("evolving", number, rounds)
        father, mother = (ranked[_rank(size, draw)][2] for draw in rng.random(2))
        at = int(rng.integers(0, n + 1))
        child = np.concatenate([father[:at], mother[at:]])
        child ^= rng.random(n) < _FLIPPED / n
        child = sets.closed(child)
        loss = loss_of(child)
        alike = any((child == other).all() for worth, _, other in ranked if worth == loss)
        if loss < ranked[-1][0] and not alike:
            ranked.pop()
            bisect.insort(ranked, (loss, size + number, child), key=lambda one: one[:2])
    progress("evolving", rounds, rounds)
    return ranked[0][2], ranked[0][0]


def _rank(size: int, draw: float) -> int:
    """Return a rank from 0, lower ones more often: Whitley's linear bias."""
    share = (_BIAS - np.sqrt(_BIAS**2 - 4 * (_BIAS - 1) * draw)) / (2 * (_BIAS - 1))
    return min(size - 1, int(size * share))
