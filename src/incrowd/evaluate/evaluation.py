"""Evaluation: what classifiers keep of what they learn, for one method or one release.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"age": [20 + i % 40 for i in range(400)]})
>>> people = people.with_columns(risk=pl.when(pl.col("age") < 45).then(pl.lit("low")).otherwise(pl.lit("high")))
>>> schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="risk")
>>> found = ic.evaluate("mondrian", people, schema, k=20, cv=2, samples=2, classifiers=["tree"], training="samples")
>>> found.frame["original"].item()
1.0
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from incrowd import io
from incrowd.errors import ParameterError
from incrowd.evaluate.classifiers import chosen
from incrowd.evaluate.effort import Effort
from incrowd.evaluate.learner import Classifier
from incrowd.evaluate.outcome import Evaluation, progress_line, summaries
from incrowd.evaluate.protocol import (
    Fold,
    Record,
    Rows,
    fold_of_release,
    folds,
    judge_baselines,
    judge_release,
    n_folds,
)
from incrowd.evaluate.training_data import TestRows, Training, check_choice
from incrowd.publish import Progress, Publisher, make
from incrowd.release import Release
from incrowd.runs import duration
from incrowd.schema import Schema

__all__ = ["Evaluation", "evaluate", "summaries"]

DEFAULT_CLASSIFIERS = ("tree", "naive_bayes", "logistic")
DEFAULT_TRAINING: tuple[Training, ...] = ("recommended", "samples")
QUICK_CLASSIFIERS = ("tree", "naive_bayes")

_QUICK_FOLDS = 3  # of which one is tested
_LONG = 5.0  # seconds after which somebody who waits is told something


@dataclass(frozen=True)
class _Asked:
    """What is to be tried on every fold."""

    learners: list[Classifier]
    trainings: list[Training]
    test: TestRows
    seed: int
    samples: int | None
    quick: bool
    report: Progress
    notice: Callable[[str], None]

    def drawn(self, effort: Effort) -> dict[str, Any]:
        """Return the settings of a plan."""
        return {"trainings": self.trainings, "test": self.test, "samples": effort.samples, "seed": self.seed}

    def effort(self, n_rows: int, n_columns: int, cv: int | str | None, *, folded: bool) -> Effort:
        """Return the plan for a table, and tell how long it takes if that is long."""
        names, samples = [learner.name for learner in self.learners], 1 if self.quick else self.samples
        drawn = self.samples if self.samples is not None else samples
        plan = Effort.of(n_rows, n_columns, names, len(self.trainings), cv=cv, samples=drawn, folded=folded)
        if self.quick and cv == _QUICK_FOLDS:
            plan = Effort(cv, plan.samples, plan.seconds / _QUICK_FOLDS)
        if plan.seconds >= _LONG:
            self.notice(f"This takes about {duration(plan.seconds)} ({plan}).")
        return plan


def evaluate(
    what: Release | Publisher[Any] | str | Path,
    frame: Any = None,  # noqa: ANN401
    schema: Schema | None = None,
    *,
    cv: int | str | None = None,
    holdout: Any = None,  # noqa: ANN401
    original: Any = None,  # noqa: ANN401
    samples: int | None = None,
    classifiers: Any = None,  # noqa: ANN401
    training: Training | Sequence[Training] | None = None,
    test: TestRows = "raw",
    quick: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
    notice: Callable[[str], None] | None = None,
    **parameters: Any,  # noqa: ANN401
) -> Evaluation:
    """Measure how much accuracy classifiers keep when they are trained on a release.

    Parameters
    ----------
    what
        A release or its folder, with `holdout`; or a method, by name (with its parameters: ``k=50``) or made.
    frame, schema
        For a method: the table, and the roles of its columns.
    cv
        For a method: number of folds, or repeats and folds (``"5x2"``); 10 unless there are `holdout` rows, fewer for
        large tables (`incrowd.evaluate.effort`).
    holdout
        Test rows.
    original
        For a release: the table that it was made from; without it there is no baseline to compare with.
    samples
        Samples drawn from each release: p in the paper; 10, fewer for large tables.
    classifiers
        Names, see `incrowd.evaluate.classifiers`, and estimators of scikit-learn's kind: they learn from numbers, a
        pipeline from the rows as a frame. By default a tree, naive Bayes and logistic regression.
    training, test
        What classifiers are trained on and tested with, see `incrowd.evaluate.training_data`; of training, several
        ways may stand beside each other. By default what we recommend, and samples as the NSVDist paper draws them.
    quick
        A first look: one split, in which two thirds of the rows are published, the tree and naive Bayes, one sample of
        what we recommend. What else is given counts.
    seed
        Of folds, releases and samples: the releases of an evaluation are not for publication.
    progress
        Called with (stage, done, total).
    notice
        Called with a sentence for somebody who waits: how long it will take, and what came out so far.
    """
    default = DEFAULT_TRAINING[:1] if quick else DEFAULT_TRAINING
    trainings: list[Training] = [training] if isinstance(training, str) else list(training or default)
    for way in trainings:
        check_choice("training", way, Training)
    check_choice("test", test, TestRows)
    check_samples(samples)
    wanted = (QUICK_CLASSIFIERS if quick else DEFAULT_CLASSIFIERS) if classifiers is None else classifiers
    asked = _Asked(
        chosen(wanted), trainings, test, seed, samples, quick,
        progress or (lambda _stage, _done, _total: None), notice or (lambda _text: None),
    )  # fmt: skip
    found = _as_release(what)
    if found is not None:
        if holdout is None or schema is not None or cv is not None or parameters:
            fact = "A release is evaluated with test rows, and takes no schema, folds or parameters"
            raise ParameterError(fact, "write evaluate(release, holdout=test_rows, original=table)")
        return _of_release(found, io.to_polars(holdout), None if original is None else io.to_polars(original), asked)
    if frame is None or schema is None:
        fact = f"A method is evaluated on a table, and the {'frame' if frame is None else 'schema'} is missing"
        raise ParameterError(fact, f"write evaluate({what!r}, frame, schema, k=10, cv=10)")
    if original is not None:
        fact = "Parameter original is only for releases"
        raise ParameterError(fact, "leave it out: a method publishes the frame itself")
    return _of_method(_method(what, parameters), frame, schema, asked, cv=cv, holdout=holdout)


def _of_release(release: Release, rows: pl.DataFrame, original: pl.DataFrame | None, asked: _Asked) -> Evaluation:
    """Evaluate a release with test rows."""
    fold = fold_of_release(release, rows, original)
    effort = asked.effort(release.n_rows, sum(map(len, release.features)), None, folded=False)
    settings = asked.drawn(effort)
    asked.report("judging", 0, 2)
    records = judge_baselines(fold, [] if original is None else asked.learners, seed=asked.seed)
    asked.report("judging", 1, 2)
    records += _judge(release, fold, asked.learners, **settings)
    asked.report("judging", 2, 2)
    made = release.manifest.method
    notes = ["retention needs the original table to compare with (original)"]
    if original is not None:
        seen = {*release.columns, *rows.columns}
        lacking = [name for names in release.features for name in names if name not in seen]
        unused = f"the original is used without {', '.join(lacking)}, which the test rows do not have"
        notes = [unused] if lacking else []
    about = _about(made.name, made.parameters, "a single test set", 1, fold, settings)
    return Evaluation(about, records, [*notes, *fold.unseen_classes(), *_more_notes(release, asked.trainings)])


def _of_method(
    publisher: Publisher[Any],
    frame: Any,  # noqa: ANN401
    schema: Schema,
    asked: _Asked,
    *,
    cv: int | str | None,
    holdout: Any,  # noqa: ANN401
) -> Evaluation:
    """Publish the training rows of each fold, and evaluate the release with its test rows."""
    source = io.to_polars(frame)
    single = asked.quick and cv is None and holdout is None
    n_columns = len(schema.quasi) + len(schema.other)
    effort = asked.effort(source.height, n_columns, _QUICK_FOLDS if single else cv, folded=holdout is None)
    plan, n, parts = plan_of(source, schema, cv=effort.cv, holdout=holdout, seed=asked.seed)
    if single:
        plan, n, parts = "one split, two thirds of the rows to train", 1, islice(parts, 1)
    settings, n_steps = asked.drawn(effort), 2 + len(asked.trainings)
    records: list[Record] = []
    started = told = time.perf_counter()
    for number, fold in enumerate(parts):
        asked.report("folds", number * n_steps, n * n_steps)
        start = time.perf_counter()
        release = publisher.publish(fold.train.source, schema, seed=asked.seed)
        seconds = round(time.perf_counter() - start, 4)
        asked.report("folds", number * n_steps + 1, n * n_steps)
        records += judge_baselines(fold, asked.learners, seed=asked.seed)
        ways = asked.trainings[:1] if release.has_own_classifier else asked.trainings
        for place, way in enumerate(ways):
            asked.report("folds", number * n_steps + 2 + place, n * n_steps)
            found = _judge(release, fold, asked.learners, **settings | {"trainings": [way]})
            records += [{**record, "publishing": seconds} for record in found]
        about = _about(publisher.name, release.manifest.method.parameters, plan, n, fold, settings)
        now = time.perf_counter()
        if now - told >= _LONG and number + 1 < n:
            told, left = now, (now - started) / (number + 1) * (n - number - 1)
            so_far = progress_line(Evaluation(about, records))
            asked.notice(f"After {number + 1} of {n} folds, {duration(left)} to go: {so_far}.")
        if number == 0:
            shares = about
    asked.report("folds", n * n_steps, n * n_steps)
    notes = _more_notes(release, asked.trainings)
    # in cross-validation every fold may lack a rare class
    notes += fold.unseen_classes() if holdout is not None else []
    if cv is None and holdout is None and not single and effort.cv != 10:
        notes.append(f"folds and samples are chosen by the size of the table ({effort}); cv and samples change them")
    return Evaluation(shares, records, notes)


def _judge(
    release: Release,
    fold: Fold,
    learners: Sequence[Classifier],
    *,
    trainings: Sequence[Training],
    **settings: Any,  # noqa: ANN401
) -> list[Record]:
    """Return scores of classifiers trained on a release in each of several ways; projections have one of their own."""
    ways = trainings[:1] if release.has_own_classifier else trainings
    return [record for way in ways for record in judge_release(release, fold, learners, training=way, **settings)]


def check_samples(samples: int | None) -> None:
    """Refuse a number of samples below 1."""
    if samples is not None and samples < 1:
        fact = f"samples is {samples}"
        raise ParameterError(fact, "use 1 or more")


def plan_of(
    frame: Any,  # noqa: ANN401
    schema: Schema,
    *,
    cv: int | str | None,
    holdout: Any,  # noqa: ANN401
    seed: int,
) -> tuple[str, int, Iterable[Fold]]:
    """Return the plan for people, the number of folds, and the folds."""
    if cv is not None and holdout is not None:
        fact = "Both cv and holdout were given"
        raise ParameterError(fact, "use test rows, or folds such as cv=10")
    rows = Rows.of(io.to_polars(frame), schema)
    if holdout is not None:
        test = Rows.of(io.to_polars(holdout), schema)
        if test.n_rows == 0:
            fact = "No test row is left: there is none, or all have a missing value"
            raise ParameterError(fact, "test with complete rows")
        return "a single test set", 1, [Fold(0, rows, test)]
    repeats, parts = n_folds(10 if cv is None else cv)
    plan = f"{parts}-fold cross-validation" if repeats == 1 else f"{repeats} x {parts}-fold cross-validation"
    return plan, repeats * parts, folds(rows, 10 if cv is None else cv, seed)


def _as_release(
    what: Release | Publisher[Any] | str | Path,
) -> Release | None:
    """Return a release, or ``None`` for a method."""
    if isinstance(what, Publisher):
        return None
    if isinstance(what, Path) or (isinstance(what, str) and (Path(what) / "manifest.json").exists()):
        from incrowd.release.folder import load  # noqa: PLC0415

        return load(Path(what))
    return None if isinstance(what, str) else what


def _method(what: Release | Publisher[Any] | str | Path, parameters: Mapping[str, Any]) -> Publisher[Any]:
    if isinstance(what, Publisher):
        if parameters:
            fact = (
                f"Method {what.name!r} has its parameters already, and {', '.join(map(repr, parameters))} was given too"
            )
            raise ParameterError(fact, "give a method's name with parameters, or a method that has them")
        return what
    return make(str(what), **parameters)


def _about(
    method: str, parameters: Mapping[str, Any], plan: str, n: int, fold: Fold, settings: Mapping[str, Any]
) -> dict[str, Any]:
    n_train = len(fold.train.target)
    return {
        "method": method,
        "parameters": {name: value for name, value in parameters.items() if name in ("k", "l")},
        "plan": plan,
        "folds": n,
        "training": settings["trainings"],
        **{name: settings[name] for name in ("test", "samples")},
        "rows": {"train": n_train, "test": fold.test.n_rows},
        "test_share": fold.test.n_rows / max(1, n_train),
    }


def _more_notes(release: Release, trainings: Sequence[Training]) -> list[str]:
    if release.has_own_classifier:
        ignored = "ways to train are for generalized rows; projections come with a classifier of their own"
        return [ignored] if set(trainings) - set(DEFAULT_TRAINING) else []
    if list(trainings) == ["samples"] and release.class_is_drawn:
        noise = "samples draw each row's class from its distribution, which hides much from a learner"
        return [f"{noise}: training='recommended' or 'soft' may keep more"]
    if "recommended" in trainings:
        return ["recommended training is for accuracy: its probabilities are too sure (log-loss)"]
    return []
