"""DMPD: columns are shared out among projections, so that none of them, and no join of two, tells whose row it is.

No value is generalized. A genetic search looks for disjoint sets of columns whose classifiers, one per set, do best
together; each set is published with the class, its rows shuffled by themselves. Columns in no set are not published.

Guarantee (Definition 8): in each projection every combination of quasi-identifiers is shared by at least k rows
(partial level), and so is every combination of quasi-identifiers and class when two projections are joined by the only
column that they share, the class (set level). With l no class has a share above 1/l among the rows of a projection that
agree on their quasi-identifiers; somebody who weighs several projections against each other may believe more than each
says, as the classifier does. What the set level does not say: a joined combination is counted as often as the
product of its counts in the two projections, and these are not people. One person who is alone with a class in both
projections is a pair of rows; only the partial level counts people, without the class. Nor do both levels together
say that k rows are left for somebody who knows a person's quasi-identifiers in two projections: a group of one may have
a single class, and rule out nearly all rows of a group of the other. `verify` tells how few rows of a projection may be
left (`rows_fitting_min`), and how few share quasi-identifiers *and* class (`rows_with_class_min`).

Cost: (generations + 1) x population partitions at most, and as many again where numbers can be cut in two ways. Each is
a sum of arrays plus, for every set of columns not seen before, one classifier per fold. Use it when recipients train
classifiers and need values as they are, without hierarchies; not when they need whole rows. With many quasi-identifiers
and a large k little is left: then nothing but the class is released, and said so.

Extensions that the paper asks for (sections 5.10 and 6): *l*, as above; *suppress*, see
`feature_partition`; *quasi_sets*: several sets of quasi-identifiers, each of which holds all of the
above by itself, for people who know one of them and not two.

Where the paper is silent: numbers that are not quasi-identifiers are not cut; `discretize` tells where
the others are; `feature_search`, `wrapper_fitness` and `partition_classifier` tell of search, fitness and classifier.
Lemma 2 supposes that an attacker knows no dependency between columns: of columns that tell each other value for value
one is used at most. The paper releases an empty set if no partition is allowed; here it is the class column alone.

Reference: Matatov, Rokach, Maimon: Privacy-preserving data mining: A feature set partitioning approach,
Information Sciences 180, 2010, Algorithm 1.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"job": list("aabb") * 20, "town": list("xyxy") * 20, "risk": list("+--+") * 20})
>>> schema = ic.Schema(quasi=["job", "town"], sensitive="risk")
>>> release = ic.DMPD(k=20, generations=5, population=10).publish(people, schema, seed=1)
>>> release.parts
[['job', 'town']]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from incrowd.errors import ParameterError
from incrowd.hierarchy.entropy_cuts import Criterion, require_criterion
from incrowd.manifest import Method
from incrowd.privacy import Privacy
from incrowd.publish.decomposition.feature_search import EMPTY, FeatureSearch, Partition, require_share, require_whole
from incrowd.publish.publisher import Progress, Publisher, Run
from incrowd.release import ProjectionRelease
from incrowd.release.seal import secret_rng
from incrowd.schema import Schema

if TYPE_CHECKING:
    import polars as pl

    from incrowd.publish.decomposition.feature_partition import Features

QuasiSets = Sequence[Sequence[str]]
Numbers = dict[str, float | int]
INDUCERS = ("tree", "c45", "naive_bayes")
_MOST_SEED = 2**62


@dataclass(frozen=True, kw_only=True)
class DMPD(Publisher[ProjectionRelease]):
    """Data mining privacy by decomposition.

    Parameters
    ----------
    k
        Least number of rows that share quasi-identifiers in a projection, and of joined rows of any two.
    l
        Diversity: in no group of a projection a class has a share above 1/l. Any real number, at least 1.
    generations, population
        How long to search, and how many partitions to keep.
    folds
        Of the cross-validation that says how fit a partition is.
    inducer
        ``"tree"``, ``"c45"`` (the paper's), ``"naive_bayes"``, or any scikit-learn classifier with `predict_proba`.
    crossover, mutation
        Probabilities per pair of parents and per child.
    suppress
        Largest share of a quasi-identifier's rows that may lose a rare value, so that the column can be used.
    quasi_sets
        Lists of quasi-identifiers that somebody may know together; by default one list of all.
    patience
        Stop after so many generations without a better partition; ``None`` goes on to the last.
    seconds
        Stop searching after so long; what is found then depends on the machine.
    criterion
        When a cut of numbers pays for its description: ``"fayyad"``, or ``"kononenko"``, which is Weka's other one.
    """

    k: int
    l: float = 1
    generations: int = 100
    population: int = 50
    folds: int = 5
    inducer: Any = "tree"
    crossover: float = 0.6
    mutation: float = 0.3
    suppress: float = 0.0
    quasi_sets: QuasiSets | None = None
    patience: int | None = None
    seconds: float | None = None
    criterion: Criterion = "fayyad"

    name: ClassVar[str] = "dmpd"
    paper: ClassVar[str] = "Matatov et al. 2010"
    promise: ClassVar[str] = "k (of projections and joins), l (frequency)"
    kind: ClassVar[str] = "projections"
    cost: ClassVar[str] = "generations x population classifiers"

    def __post_init__(self) -> None:
        self.privacy()
        if not isinstance(self.inducer, str):
            self._inducer()
        elif self.inducer not in INDUCERS:
            fact = f"inducer is {self.inducer!r}"
            names = ", ".join(map(repr, INDUCERS))
            raise ParameterError(fact, f"use one of {names}, or in Python a scikit-learn classifier")
        require_whole("folds", self.folds, 2)
        FeatureSearch(1, lambda _: 1.0, **self._breeding)
        require_share("suppress", self.suppress)
        if self.patience is not None:
            require_whole("patience", self.patience, 1)
        if self.seconds is not None and not (isinstance(self.seconds, int | float) and self.seconds >= 0):
            fact = f"seconds is {self.seconds!r}"
            raise ParameterError(fact, "use a number from 0")
        require_criterion(self.criterion)
        if self.quasi_sets is not None and not _are_lists(self.quasi_sets):
            fact = f"quasi_sets is {self.quasi_sets!r}"
            raise ParameterError(fact, 'use a list of lists of columns: [["age", "sex"], ["zip"]]')

    def privacy(self) -> Privacy:
        """Return the constraints that every projection keeps; k also every join of two."""
        return Privacy.of(self.k, l=self.l)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as plain data, as a manifest lists them."""
        sets = None if self.quasi_sets is None else [list(known) for known in self.quasi_sets]
        inducer = self.inducer if isinstance(self.inducer, str) else "custom"
        return super().parameters() | {"quasi_sets": sets, "inducer": inducer}

    def _release(self, run: Run) -> ProjectionRelease:
        """Publish projections; the manifest lists no domains in any case.

        Ctrl-C while it searches ends the search, and the best partition found until then is released; a second one
        ends the run. `ProjectionRelease.levels` says how many generations were done.
        """
        run.progress("coding", 0, 1)
        ways = self._ways(run.original, run.schema)
        run.progress("coding", 1, 1)
        rng = secret_rng(run.seed, run.original)
        features, parts, numbers = self._fittest(ways, rng, run.progress)
        return features.release(
            run.original,
            parts,
            method=Method(self.name, self.parameters()),
            privacy=self.privacy(),
            rng=rng,
            seed=run.seed,
            kind=run.kind,
            numbers=numbers,
            progress=run.progress,
        )

    @property
    def _breeding(self) -> dict[str, Any]:
        """The parameters of the genetic search."""
        return {name: getattr(self, name) for name in ("generations", "population", "crossover", "mutation")}

    def _ways(self, original: pl.DataFrame, schema: Schema) -> list[Features]:
        """Return the table with its numbers cut by MDL, and if that differs on two levels in any case."""
        few, many = (self._features(original, schema, fine=fine) for fine in (False, True))
        return [few] if few.columns == many.columns else [few, many]

    def _features(self, original: pl.DataFrame, schema: Schema, *, fine: bool = False) -> Features:
        from incrowd.publish.decomposition.feature_partition import Features  # noqa: PLC0415 - loads scikit-learn, which takes a second

        return Features.of(
            original, schema, k=self.k, l=self.l, suppress=self.suppress, quasi_sets=self.quasi_sets, fine=fine,
            criterion=self.criterion,
        )  # fmt: skip

    def _fittest(
        self, ways: Sequence[Features], rng: np.random.Generator, progress: Progress
    ) -> tuple[Features, Partition, Numbers]:
        """Return of several ways to cut numbers the one with the fittest partition, the first of equals."""
        each = replace(self, seconds=None if self.seconds is None else self.seconds / len(ways))
        found: list[tuple[Features, Partition, Numbers]] = []
        start = rng.bit_generator.state
        for features in ways:
            rng.bit_generator.state = start  # the same folds for all, or luck decides
            parts, numbers, was_interrupted = each._search(features, rng, progress)
            found.append((features, parts, numbers))
            if was_interrupted:
                break
        return max(found, key=lambda one: one[2].get("accuracy", 0.0))

    def _search(
        self, features: Features, rng: np.random.Generator, progress: Progress
    ) -> tuple[Partition, Numbers, bool]:
        """Return the fittest partition whose levels are kept, what there is to say, and whether it was interrupted."""
        fold_seed, search_seed = (int(number) for number in rng.integers(_MOST_SEED, size=2))
        if features.is_pointless:
            return EMPTY, {}, False
        wrapper = features.fitness(inducer=self._inducer(), folds=self.folds, seed=fold_seed % 2**32)
        limits = features.limits

        def fitness(parts: Partition) -> float:  # EvaluatePartitioning, lines 12-14
            return wrapper(parts) if limits.keep_apart(parts, self.k, self.l) else 0.0

        search = FeatureSearch(features.n_features, fitness, seed=search_seed, **self._breeding)

        def allowed(parts: Partition) -> bool:  # line 17
            return limits.joined(parts) >= self.k

        was_interrupted = False
        try:
            search.run(progress, _Stop(search, allowed, self.patience, self.seconds))
        except KeyboardInterrupt:
            if EMPTY not in search.scores:
                raise
            was_interrupted = True
        best = search.best(allowed)  # SelectBestValidPartitioning
        numbers = {
            "accuracy": search.scores[best],
            "accuracy_of_class_alone": search.scores[EMPTY],
            "generations": search.n_done,
            "partitions": len(search.scores),
        }
        return best, numbers, was_interrupted

    def _inducer(self) -> Any:  # noqa: ANN401
        """Return the classifier to use; ``None`` is the default tree."""
        if isinstance(self.inducer, str) and self.inducer == "tree":
            return None
        from incrowd.learn.c45 import C45  # noqa: PLC0415 - loads scikit-learn
        from incrowd.learn.naive_bayes import NaiveBayes  # noqa: PLC0415
        from incrowd.publish.decomposition.partition_classifier import inducer_of  # noqa: PLC0415

        if not isinstance(self.inducer, str):
            return inducer_of(self.inducer, 0)
        return C45() if self.inducer == "c45" else NaiveBayes()


def _are_lists(sets: object) -> bool:
    """Tell whether these are lists of lists of columns, none of them empty."""
    if isinstance(sets, str) or not isinstance(sets, Sequence):
        return False
    return all(known and isinstance(known, Sequence) and not isinstance(known, str) for known in sets)


class _Stop:
    """Tells a search when to end: no better partition for a while, or no time left."""

    def __init__(
        self,
        search: FeatureSearch,
        allowed: Callable[[Partition], bool],
        patience: int | None,
        seconds: float | None,
    ) -> None:
        self._search, self._allowed, self._patience = search, allowed, patience
        self._end = None if seconds is None else time.monotonic() + seconds
        self._looked = self._since = 0
        self._best = -1.0

    def __call__(self) -> bool:
        scores = self._search.scores
        if EMPTY not in scores:
            return False  # the floor is always known
        if self._end is not None and time.monotonic() >= self._end:
            return True
        if self._patience is None:
            return False
        if self._search.n_done > self._looked:
            self._looked = self._search.n_done
            best = scores[self._search.best(self._allowed)]
            if best > self._best:
                self._best, self._since = best, self._looked
        return self._looked - self._since >= self._patience
