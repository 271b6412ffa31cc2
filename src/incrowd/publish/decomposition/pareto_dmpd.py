"""ParetoDMPD: what accuracy costs in anonymity, before anybody settles for a k; then projections as DMPD has them.

DMPD needs a k. This search looks for all partitions of the columns that no other one beats in both accuracy and
anonymity level (SPEA2, see `spea2`). `frontier` shows them, as data and as a picture; `release`
publishes the one that was picked; `publish` the most accurate one.

Guarantee: that of `dmpd`, for k; `release` promises the whole level of the point that was picked. Cost:
that of DMPD, and hardly more for further runs, because what was learned about sets of columns is kept. Use `frontier`
to choose k together with the people who answer for it; when k is settled, DMPD spends all its time on it.

Where the paper is silent: (1) k is where the frontier begins: partitions of a lower level, or with less than the asked
diversity l, are worth nothing; ``k=1`` shows all of it; (2) the level of a partition is the lower of its partial and
its set level, and that of the class alone the number of rows; (3) runs differ in the search's randomness and share the
folds, so that a partition has one accuracy.

Reference: Matatov, Rokach, Maimon: Privacy-preserving data mining: A feature set partitioning approach,
Information Sciences 180, 2010, sections 4.4 and 5.8.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"job": list("aabb") * 20, "town": list("xyyx") * 20, "risk": list("+++-") * 20})
>>> schema = ic.Schema(quasi=["job", "town"], sensitive="risk")
>>> method = ic.ParetoDMPD(k=2, generations=5, population=10)
>>> frontier = method.frontier(people, schema, seed=1)
>>> frontier.frame.select("parts", "accuracy", "level").rows()
[([['job'], ['town']], 1.0, 40), ([], 0.75, 80)]
>>> method.release(people, schema, frontier.pick(accuracy=0.9)).parts
[['job'], ['town']]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from incrowd import io
from incrowd.coding import used_rows
from incrowd.errors import InfeasibleError, ParameterError
from incrowd.manifest import Method
from incrowd.publish.decomposition.dmpd import DMPD, Numbers
from incrowd.publish.decomposition.feature_search import EMPTY, Partition, partition_of, require_whole
from incrowd.publish.decomposition.frontier import Frontier, FrontierPoint
from incrowd.publish.decomposition.spea2 import ParetoSearch, Point
from incrowd.publish.publisher import Progress
from incrowd.release import ProjectionRelease
from incrowd.release.seal import secret_rng
from incrowd.schema import Schema

if TYPE_CHECKING:
    from incrowd.publish.decomposition.feature_partition import Features
    from incrowd.publish.decomposition.wrapper_fitness import WrapperFitness

_MOST_SEED, _MOST_FOLD_SEED = 2**62, 2**32
_WORTHLESS: Point = (0.0, 1.0)  # the class alone is better in both


@dataclass(frozen=True, kw_only=True)
class ParetoDMPD(DMPD):
    """DMPD with two objectives: accuracy and anonymity level.

    Parameters
    ----------
    k
        Least level; the frontier begins here.
    archive
        How many partitions the search keeps; as many as `population` if it is ``None``.
    l, generations, population, folds, inducer, crossover, mutation, suppress, quasi_sets, patience, seconds
        As in `DMPD`; `patience` counts generations in which the frontier did not change.
    """

    archive: int | None = None

    name: ClassVar[str] = "pareto_dmpd"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.archive is not None:
            require_whole("archive", self.archive, 2)

    def frontier(
        self,
        frame: Any,  # noqa: ANN401
        schema: Schema,
        *,
        runs: int = 1,
        seed: int | None = None,
        progress: Progress | None = None,
    ) -> Frontier:
        """Return what accuracy can be had at which level; nothing is published.

        Parameters
        ----------
        frame
            A polars, pandas or pyarrow table; it is not modified.
        schema
            Roles of its columns.
        runs
            How often to search; several give attainment surfaces.
        seed
            Makes it repeatable; `publish` with the same seed releases a point of this frontier.
        progress
            Called with (stage, done, total). Ctrl-C ends the search with what was found until then.
        """
        require_whole("runs", runs, 1)
        report = progress or (lambda _stage, _done, _total: None)
        original = io.to_polars(frame)
        features = self._features(original, schema)
        rng = secret_rng(seed, original)
        if features.is_pointless:
            share = float(np.bincount(features.classes).max() / len(features.classes))
            return Frontier(_table(features, 0, {EMPTY: share}), n_rows=len(features.rows), majority=share)
        fold_seed = int(rng.integers(_MOST_FOLD_SEED))
        wrapper = features.fitness(inducer=self._inducer(), folds=self.folds, seed=fold_seed)
        tables: list[pl.DataFrame] = []
        for run in range(runs):
            search, was_interrupted = self._searched(features, wrapper, rng, _numbered(report, run, runs))
            tables.append(_table(features, run, {parts: search.scores[parts][0] for parts in search.frontier()}))
            if was_interrupted:
                break
        return Frontier(
            pl.concat(tables),
            n_rows=len(features.rows),
            majority=search.scores[EMPTY][0],
            original=self._original_accuracy(original, features, fold_seed),
        )

    def release(
        self,
        frame: Any,  # noqa: ANN401
        schema: Schema,
        point: FrontierPoint | Sequence[Sequence[str]],
        *,
        seed: int | None = None,
        progress: Progress | None = None,
    ) -> ProjectionRelease:
        """Publish one partition of a frontier as it is, and promise the level that it has.

        Parameters
        ----------
        frame, schema
            The same as those of the frontier.
        point
            What `Frontier.pick` returned; or lists of columns.
        seed, progress
            As in `publish`.
        """
        report = progress or (lambda _stage, _done, _total: None)
        original = io.to_polars(frame)
        features = self._features(original, schema)
        parts = self._numbers_of(point.parts if isinstance(point, FrontierPoint) else point, features)
        level = _level(features, parts)
        if level < self.k or not features.limits.keep_apart(parts, self.k, self.l):
            fact = (
                f"This partition has level {level}, or less than the diversity asked for: k is {self.k}, l is {self.l}"
            )
            raise InfeasibleError(fact, "pick another one, or ask for less", best={"k": level})
        return features.release(
            original,
            parts,
            method=Method(self.name, self.parameters()),
            privacy=replace(self, k=level).privacy(),
            rng=secret_rng(seed, original),
            seed=seed,
            kind=io.kind_of(frame),
            progress=report,
        )

    def _search(
        self, features: Features, rng: np.random.Generator, progress: Progress
    ) -> tuple[Partition, Numbers, bool]:
        """Return the most accurate partition of level k, what there is to say, and whether it was interrupted."""
        if features.is_pointless:
            return EMPTY, {}, False
        fold_seed = int(rng.integers(_MOST_FOLD_SEED))
        wrapper = features.fitness(inducer=self._inducer(), folds=self.folds, seed=fold_seed)
        search, was_interrupted = self._searched(features, wrapper, rng, progress)
        best = search.frontier()[0]
        numbers: Numbers = {
            "accuracy": search.scores[best][0],
            "accuracy_of_class_alone": search.scores[EMPTY][0],
            "generations": search.n_done,
            "partitions": len(search.scores),
        }
        return best, numbers, was_interrupted

    def _searched(
        self, features: Features, wrapper: WrapperFitness, rng: np.random.Generator, progress: Progress
    ) -> tuple[ParetoSearch, bool]:
        """Return a search that was run, and whether the user interrupted it."""
        limits = features.limits

        def objectives(parts: Partition) -> Point:
            level = _level(features, parts)
            if level < self.k or not limits.keep_apart(parts, self.k, self.l):
                return _WORTHLESS
            return wrapper(parts), level

        search = ParetoSearch(
            features.n_features,
            objectives,
            archive_size=self.archive,
            seed=int(rng.integers(_MOST_SEED)),
            **self._breeding,
        )
        try:
            search.run(progress, _stop(search, self.patience, self.seconds))
        except KeyboardInterrupt:
            if EMPTY not in search.scores:
                raise
            return search, True
        return search, False

    def _ways(self, original: pl.DataFrame, schema: Schema) -> list[Features]:
        """One way to cut numbers: a frontier is of one table."""
        return [self._features(original, schema)]

    def _original_accuracy(self, original: pl.DataFrame, features: Features, fold_seed: int) -> float:
        """Return the accuracy of the same inducer in the same folds, on all columns as they came."""
        from incrowd.publish.decomposition.wrapper_fitness import WrapperFitness  # noqa: PLC0415 - loads scikit-learn

        used, _ = used_rows(original, features.schema)
        columns = used.drop(str(features.schema.target))
        wrapper = WrapperFitness(columns, features.classes, inducer=self._inducer(), n_folds=self.folds, seed=fold_seed)
        return wrapper((tuple(range(columns.width)),))

    def _numbers_of(self, parts: Sequence[Sequence[str]], features: Features) -> Partition:
        if isinstance(parts, str) or any(isinstance(part, str) for part in parts):
            fact = f"The partition is {parts!r}"
            raise ParameterError(fact, 'use a list of lists of columns: [["age", "sex"], ["job"]]')
        names = features.frame.columns
        unknown = sorted({name for part in parts for name in part} - set(names))
        if unknown:
            fact = f"No partition of level {self.k} can have the column {', '.join(map(repr, unknown))}"
            raise ParameterError(
                fact,
                f"columns to choose from are {', '.join(map(repr, names))}; others break k or l by themselves, have one"
                " value, or tell the values of another one",
            )
        return partition_of([names.index(name) for name in part] for part in parts)


def _level(features: Features, parts: Partition) -> int:
    return int(min(features.limits.of_partition(parts), len(features.rows)))


def _table(features: Features, run: int, accuracy_of: dict[Partition, float]) -> pl.DataFrame:
    """Return partitions as the rows of a `Frontier`."""
    limits = features.limits
    levels = [(limits.partial(parts), limits.joined(parts)) for parts in accuracy_of]
    whole = [[int(level) if np.isfinite(level) else None for level in pair] for pair in levels]
    columns = {
        "run": pl.Series([run] * len(levels), dtype=pl.Int64()),
        "parts": pl.Series([features.names_of(parts) for parts in accuracy_of], dtype=pl.List(pl.List(pl.String()))),
        "accuracy": pl.Series(list(accuracy_of.values()), dtype=pl.Float64()),
        "partial": pl.Series([partial for partial, _ in whole], dtype=pl.Int64()),
        "set": pl.Series([joined for _, joined in whole], dtype=pl.Int64()),
    }
    return pl.DataFrame(columns)


def _stop(search: ParetoSearch, patience: int | None, seconds: float | None) -> Callable[[], bool]:
    """Return what tells a search when to end: an unchanged frontier for a while, or no time left."""
    end = None if seconds is None else time.monotonic() + seconds
    last: tuple[list[Partition], int, int] = ([], 0, 0)  # frontier, generation of its last change, generation seen

    def stop() -> bool:
        nonlocal last
        if EMPTY not in search.scores:
            return False  # the floor is always known
        if end is not None and time.monotonic() >= end:
            return True
        frontier, changed, seen = last
        if patience is None:
            return False
        if search.n_done > seen:
            now = search.frontier()
            last = (now, changed if now == frontier else search.n_done, search.n_done)
        return last[2] - last[1] >= patience

    return stop


def _numbered(report: Progress, run: int, runs: int) -> Progress:
    """Report several runs as one."""
    return lambda stage, done, total: report(stage, run * total + done, runs * total)
