"""Genetic search for the best way to share features out among disjoint parts (DMPD, Procedure 1).

A partition is a set of disjoint parts of the features; features may be in no part, they are *filtered out*. Each
generation takes half a population of parents, the fitter the likelier; pairs of them give two children each by
group-wise crossover, and a child may pass one feature to another part. The best of old and new are the next population.

*Crossover*: one set is drawn from each parent, a part or its filtered-out features. The first child keeps the first
parent's set as it is and has all other features as the second parent has them; the second child the other way round.
*Mutation*: a feature drawn at random goes to another set drawn at random; where there is one part or none it becomes a
part of its own.

Deterministic for a seed: every generation draws from its own generator, so a search that was stopped goes on as if it
had not been. Each partition is evaluated once. Cost: that of the fitness, at most (generations + 1) x population times.
Use it with any fitness; with few features (up to 6 or so) all partitions can be listed instead.

Where the paper is silent: (1) the first population is the empty partition, each feature alone, and random partitions;
(2) the chance of being a parent falls linearly with the rank, without replacement, and partitions of fitness 0 are
never parents (section 5.10); (3) the population has no duplicates; (4) the set of filtered-out features counts as a set
that a feature can leave and, where there are two parts, join; (5) one feature is passed per mutation; (6) crossover
happens with probability 0.6, mutation with 0.3: nothing is lost by trying more, as the best are kept; (7) of equally
fit partitions the one found first is better, and the empty one is found first: what is no better than publishing
nothing is not published.

Reference: Matatov, Rokach, Maimon: Privacy-preserving data mining: A feature set partitioning approach,
Information Sciences 2010, section 4.1.1; Rokach: Genetic algorithm-based feature set partitioning for classification
problems, Pattern Recognition 2008.

>>> wanted = ((0, 2), (1,))
>>> search = FeatureSearch(4, lambda parts: 1 + len(set(wanted) & set(parts)), generations=20, population=10)
>>> search.run()
((0, 2), (1,))
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Generic, TypeVar

import numpy as np

from incrowd.errors import ParameterError

Partition = tuple[tuple[int, ...], ...]
"""Disjoint parts, each sorted, in order of their first features."""
Progress = Callable[[str, int, int], None]
Score = TypeVar("Score")

EMPTY: Partition = ()


def partition_of(parts: Iterable[Iterable[int]]) -> Partition:
    """Return parts in the one form that a partition has; empty parts are left out."""
    lists = [[int(feature) for feature in part] for part in parts]
    features = [feature for part in lists for feature in part]
    if len(set(features)) < len(features):
        fact = "A feature is in two parts, or twice in one"
        raise ParameterError(fact, "put each feature into one part at most")
    return tuple(sorted(tuple(sorted(part)) for part in lists if part))


def filtered_out(parts: Partition, n_features: int) -> tuple[int, ...]:
    """Return the features that are in no part."""
    inside = {feature for part in parts for feature in part}
    return tuple(feature for feature in range(n_features) if feature not in inside)


def child_of(ancestor: Sequence[int], parent: Partition, other: Partition) -> Partition:
    """Return the child that has a set of one parent as it is, and all other features as the other parent has them.

    >>> child_of((0,), ((0,), (1,)), ((2, 3),)), child_of((2, 3), ((2, 3),), ((0,), (1,)))
    (((0,), (2, 3)), ((0,), (1,), (2, 3)))
    """
    rest = [[feature for feature in part if feature not in ancestor] for part in other]
    is_part = tuple(ancestor) in parent  # otherwise it is what the parent filters out, and so does the child
    return partition_of([*rest, ancestor] if is_part else rest)


def passed(parts: Partition, feature: int, target: Sequence[int]) -> Partition:
    """Return the partition after a feature went to a target: a part, or ``()`` for the filtered-out features.

    >>> passed(((0,), (1,), (2, 3)), 1, (0,)), passed(((0,), (1,)), 1, ())
    (((0, 1), (2, 3)), ((0,),))
    """
    rest = [[other for other in part if other != feature] for part in parts if part != tuple(target)]
    return partition_of([*rest, [*target, feature]] if target else rest)


def mutate(parts: Partition, feature: int, n_features: int, rng: np.random.Generator) -> Partition:
    """Return the partition after a feature went to another set, drawn at random."""
    if len(parts) < 2:
        return partition_of([*([other for other in part if other != feature] for part in parts), [feature]])
    targets: list[tuple[int, ...]] = [part for part in parts if feature not in part]
    if feature not in filtered_out(parts, n_features):
        targets.append(())
    return passed(parts, feature, targets[rng.integers(len(targets))])


@dataclass(eq=False)
class PartitionSearch(ABC, Generic[Score]):
    """What genetic searches for partitions share: how they begin, breed, stop and go on.

    Parameters
    ----------
    n_features
        Features are numbered from 0.
    judge
        Says what a partition is worth.
    generations, population
        How long to search, and how many partitions a generation has.
    crossover, mutation
        Probabilities per pair of parents and per child.
    seed
        Same seed, same search.

    Attributes
    ----------
    scores
        What every partition that was evaluated is worth, in the order in which they were found.
    n_done
        Generations so far.
    """

    n_features: int
    judge: Callable[[Partition], Score]
    _: KW_ONLY
    generations: int = 100
    population: int = 50
    crossover: float = 0.6
    mutation: float = 0.3
    seed: int = 0
    scores: dict[Partition, Score] = field(init=False, default_factory=dict)
    n_done: int = field(init=False, default=0)
    _began: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        for name, least in {"n_features": 0, "generations": 0, "population": 2, "seed": 0}.items():
            require_whole(name, getattr(self, name), least)
        require_share("crossover", self.crossover)
        require_share("mutation", self.mutation)

    @abstractmethod
    def _score(self, parts: Partition) -> Score:
        """Return what a partition is worth (EvaluatePartitioning)."""

    @abstractmethod
    def _parents(self, rng: np.random.Generator) -> list[Partition]:
        """Return who may have children (PerformSelection)."""

    @abstractmethod
    def _update(self, new: Sequence[Partition]) -> None:
        """Take in a generation that was evaluated (UpdatePopulation)."""

    def _search(self, progress: Progress | None, stop: Callable[[], bool] | None) -> None:
        """Search to the last generation (Alg. 1, lines 1-8), or until told to stop."""
        report = progress or (lambda _stage, _done, _total: None)
        while self.n_done < self.generations or not self._began:
            report("generations", self.n_done, self.generations)
            if self._began and stop is not None and stop():  # a generation may bring nothing new to evaluate
                break
            rng = np.random.default_rng([self.seed, self.n_done + self._began])
            new = self._create_generation(rng) if self._began else self._first_population(rng)
            if not self._evaluate(new, stop):
                break
            self._update(new)
            self.n_done += self._began
            self._began = True
        else:
            report("generations", self.n_done, self.generations)

    def _first_population(self, rng: np.random.Generator) -> list[Partition]:
        singles: list[Partition] = [((int(feature),),) for feature in rng.permutation(self.n_features)]
        first = [EMPTY, *singles][: self.population]
        for _ in range(self.population - len(first)):
            n_sets = int(rng.integers(1, max(self.n_features, 1) + 1))
            set_of = rng.integers(n_sets + 1, size=self.n_features)  # the last one is filtered out
            first.append(partition_of(np.flatnonzero(set_of == number).tolist() for number in range(n_sets)))
        return first

    def _create_generation(self, rng: np.random.Generator) -> list[Partition]:
        """CreateNewGeneration (line 4)."""
        parents = self._parents(rng)
        children: list[Partition] = []
        while len(children) < self.population:
            one, other = (parents[i] for i in rng.choice(len(parents), 2, replace=len(parents) < 2))
            for child in self._cross(one, other, rng):
                feature = int(rng.integers(self.n_features)) if self.n_features else 0
                mutates = rng.random() < self.mutation and self.n_features > 0
                children.append(mutate(child, feature, self.n_features, rng) if mutates else child)
        return children[: self.population]

    def _drawn(self, ranked: Sequence[Partition], rng: np.random.Generator) -> list[Partition]:
        """Draw half a population, or all there are, from the best first; the chance falls linearly with the rank."""
        n_parents = min(len(ranked), max(2, self.population // 2))
        weights = np.arange(len(ranked), 0, -1)
        return [ranked[i] for i in rng.choice(len(ranked), n_parents, replace=False, p=weights / weights.sum())]

    def _cross(self, one: Partition, other: Partition, rng: np.random.Generator) -> tuple[Partition, Partition]:
        if rng.random() >= self.crossover:
            return one, other
        kept, kept_of_other = (self._ancestor(parent, rng) for parent in (one, other))
        return child_of(kept, one, other), child_of(kept_of_other, other, one)

    def _ancestor(self, parts: Partition, rng: np.random.Generator) -> tuple[int, ...]:
        sets = [*parts, filtered_out(parts, self.n_features)]
        sets = [each for each in sets if each] or [()]
        return sets[rng.integers(len(sets))]

    def _evaluate(self, new: Iterable[Partition], stop: Callable[[], bool] | None) -> bool:
        """Evaluate what is new (lines 5 and 6); tell whether all of it was."""
        for parts in new:
            if parts not in self.scores:
                if stop is not None and stop():
                    return False
                self.scores[parts] = self._score(parts)
        return True


@dataclass(eq=False)
class FeatureSearch(PartitionSearch[float]):
    """A search that can be stopped, asked for the best so far, and continued.

    Parameters
    ----------
    n_features, generations, population, crossover, mutation, seed
        See `PartitionSearch`; as many partitions are kept as a generation has.
    judge
        Returns the fitness, which is to be large; 0 or less bars a partition from having children.

    Attributes
    ----------
    members
        The population, best first.
    """

    members: list[Partition] = field(init=False, default_factory=list)

    def run(self, progress: Progress | None = None, stop: Callable[[], bool] | None = None) -> Partition:
        """Search to the last generation, and return the fittest partition.

        Parameters
        ----------
        progress
            Called with a stage, the generations done and the generations to do; what it raises ends the run.
        stop
            Asked before every evaluation and generation; when it says yes the search ends with the best so far. So does
            Ctrl-C, after which `best` answers. Calling `run` again goes on.
        """
        self._search(progress, stop)
        return self.best()

    def best(self, allowed: Callable[[Partition], bool] | None = None) -> Partition:
        """Return the fittest partition found so far that is allowed, and the empty one if none is (lines 15-19)."""
        fit = (parts for parts in self.ranked() if self.scores[parts] > 0)
        return next((parts for parts in fit if allowed is None or allowed(parts)), EMPTY)

    def ranked(self) -> list[Partition]:
        """Return all partitions that were evaluated, best first; of equal ones the one found first."""
        return self._ranked(self.scores)

    def _ranked(self, some: Iterable[Partition]) -> list[Partition]:
        return sorted(some, key=lambda parts: -self.scores[parts])  # stable: `scores` is in order of finding

    def _score(self, parts: Partition) -> float:
        score = float(self.judge(parts))
        if math.isnan(score):
            fact = "The fitness of a partition is not a number"
            raise ParameterError(fact, "return 0 for a partition that must not be used")
        return score

    def _parents(self, rng: np.random.Generator) -> list[Partition]:
        return self._drawn([parts for parts in self.members if self.scores[parts] > 0] or [EMPTY], rng)

    def _update(self, new: Sequence[Partition]) -> None:
        """Keep the best of old and new (line 7), and always the empty partition."""
        both = {*self.members, *new, EMPTY}
        kept = self._ranked(parts for parts in self.scores if parts in both)[: self.population]
        self.members = kept if EMPTY in kept else [*kept[:-1], EMPTY]


def require_whole(name: str, value: object, least: int) -> None:
    """Refuse a parameter that is not a whole number from a least one."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        fact = f"{name} is {value!r}"
        raise ParameterError(fact, f"use a whole number from {least}")


def require_share(name: str, value: object) -> None:
    """Refuse a parameter that is not a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        fact = f"{name} is {value!r}"
        raise ParameterError(fact, "use a number from 0 to 1")
