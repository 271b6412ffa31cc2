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

import html
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from incrowd import io, plots
from incrowd.errors import ParameterError
from incrowd.evaluate.classifiers import Classifier, chosen
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
from incrowd.evaluate.scores import SCORES, interval, retention, retention_interval
from incrowd.evaluate.tables import aligned, explained, nothing_to_keep, percent
from incrowd.evaluate.training_data import TestRows, Training, check_choice
from incrowd.publish import Progress, Publisher, make
from incrowd.release import Release
from incrowd.schema import Schema

DEFAULT_CLASSIFIERS = ("tree", "naive_bayes", "logistic")
DEFAULT_TRAINING: tuple[Training, ...] = ("recommended", "samples")

_SHOWN = ("classifier", "retention", "accuracy", "original", *SCORES[1:])
_SHOWN_BESIDE = ("classifier", "training", "retention", "accuracy", "original", "balanced_accuracy", "log_loss")


@dataclass(frozen=True)
class Evaluation:
    """Scores of classifiers that were trained on a release, beside both baselines.

    Attributes
    ----------
    about
        What was evaluated and how.
    records
        One per trained classifier: fold, sample, what it was trained on (``release``, ``original`` or ``majority``),
        its scores, and the seconds that training and predicting took.
    notes
        What to be careful about.
    """

    about: Mapping[str, Any]
    records: Sequence[Record]
    notes: Sequence[str] = field(default=())

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row per classifier: retention, accuracy, both baselines, other scores, all means.

        ``retention_low`` and ``retention_high`` are the ends of the 95 % interval of retention, ``low`` and ``high`` of
        accuracy; see `incrowd.evaluate.scores`. Retention has none where the gain of the original is too uncertain.
        """
        return pl.DataFrame(summaries(self.records, self.about["test_share"]), infer_schema_length=None)

    @cached_property
    def scores(self) -> pl.DataFrame:
        """All records."""
        return pl.DataFrame(list(self.records), infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values; every record has every key."""
        names = list(dict.fromkeys(name for record in self.records for name in record))
        return {
            **self.about,
            "classifiers": self.frame.to_dicts(),
            "records": [{name: record.get(name) for name in names} for record in self.records],
            "notes": [*self.notes],
        }

    def __str__(self) -> str:
        lines = [self._title(), "", *aligned(self.frame, self._shown)]
        notes = [*self.notes, *nothing_to_keep(self.frame)]
        below = [*explained(self.frame, self._shown, self.about["folds"]), *(f"Note: {note}" for note in notes)]
        return "\n".join([*lines, "", *below] if below else lines)

    @property
    def _shown(self) -> tuple[str, ...]:
        """The columns for people; those of several ways to train leave some scores to `frame`."""
        return _SHOWN if self.frame["training"].n_unique() == 1 else _SHOWN_BESIDE

    def _named(self, row: Mapping[str, Any]) -> str:
        several = self.frame["training"].n_unique() > 1
        return f"{row['classifier']} ({row['training']})" if several else str(row["classifier"])

    def __repr__(self) -> str:
        kept = ", ".join(f"{self._named(row)} {percent(row['retention'])}" for row in self.frame.to_dicts())
        return f"Evaluation({self.about['method']}: retention {kept})"

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>Note: {html.escape(note)}</p>" for note in self.notes)
        return f"<p>{html.escape(self._title())}</p>{self.frame._repr_html_()}{notes}"

    def _title(self) -> str:
        about = self.about
        given = ", ".join(f"{name} = {value}" for name, value in about["parameters"].items() if value is not None)
        plan = f"tested on {about['test']} rows, {about['plan']}"
        plan = f"trained on {about['training'][0]}, {plan}" if len(about["training"]) == 1 else plan
        return f"{about['method']} ({given}): {plan}" if given else f"{about['method']}: {plan}"

    def plot(self, *, theme: plots.Theme = "light") -> plots.Figure:
        """Draw the accuracy of each classifier with its interval, between its two baselines."""
        rows = self.frame.to_dicts()
        drawn = plots.figure(title=self.about["method"], theme=theme, height=1.6 + 0.4 * len(rows))
        axes, colours = drawn.axes[0], plots.PALETTE[theme]
        places = np.arange(len(rows))
        looks = {"majority": ("X", colours[7]), "original": ("D", colours[1]), "accuracy": ("o", colours[0])}
        for name, (marker, colour) in looks.items():
            values = [np.nan if row[name] is None else row[name] for row in rows]
            if np.isnan(values).all():
                continue
            label = "release" if name == "accuracy" else name
            axes.plot(values, places, marker, color=colour, label=label, markersize=6)
        for place, row in zip(places, rows, strict=True):
            if row["low"] is not None:
                axes.plot([row["low"], row["high"]], [place, place], "-", color=colours[0], linewidth=2)
        axes.set_yticks(places, [self._named(row) for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("accuracy")
        ink = axes.xaxis.label.get_color()
        axes.legend(
            frameon=False, fontsize="small", labelcolor=ink, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1)
        )
        return drawn


def evaluate(
    what: Release | Publisher[Any] | str | Path,
    frame: Any = None,  # noqa: ANN401
    schema: Schema | None = None,
    *,
    cv: int | str | None = None,
    holdout: Any = None,  # noqa: ANN401
    original: Any = None,  # noqa: ANN401
    samples: int = 10,
    classifiers: str | Iterable[str] = DEFAULT_CLASSIFIERS,
    training: Training | Sequence[Training] = DEFAULT_TRAINING,
    test: TestRows = "raw",
    seed: int = 0,
    progress: Progress | None = None,
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
        For a method: number of folds, or repeats and folds (``"5x2"``); 10 unless there are `holdout` rows.
    holdout
        Test rows.
    original
        For a release: the table that it was made from; without it there is no baseline to compare with.
    samples
        Samples drawn from each release: p in the paper.
    classifiers
        Names, see `incrowd.evaluate.classifiers`.
    training, test
        What classifiers are trained on and tested with, see `incrowd.evaluate.training_data`; of training, several
        ways may stand beside each other. By default what we recommend, and samples as the NSVDist paper draws them.
    seed
        Of folds, releases and samples: the releases of an evaluation are not for publication.
    progress
        Called with (stage, done, total).
    """
    trainings = [training] if isinstance(training, str) else list(training)
    for way in trainings:
        check_choice("training", way, Training)
    check_choice("test", test, TestRows)
    check_samples(samples)
    learners = chosen(classifiers)
    settings: dict[str, Any] = {"trainings": trainings, "test": test, "samples": samples, "seed": seed}
    report = progress or (lambda _stage, _done, _total: None)
    found = _as_release(what)
    if found is not None:
        if holdout is None or schema is not None or cv is not None or parameters:
            fact = "A release is evaluated with test rows, and takes no schema, folds or parameters"
            raise ParameterError(fact, "write evaluate(release, holdout=test_rows, original=table)")
        rows = io.to_polars(holdout)
        fold = fold_of_release(found, rows, None if original is None else io.to_polars(original))
        report("judging", 0, 1)
        records = judge_baselines(fold, [] if original is None else learners, seed=seed)
        records += _judge(found, fold, learners, **settings)
        report("judging", 1, 1)
        made = found.manifest.method
        notes = ["retention needs the original table to compare with (original)"]
        if original is not None:
            lacking = [
                name
                for names in found.features
                for name in names
                if name not in found.columns and name not in rows.columns
            ]
            notes = (
                [f"the original is used without {', '.join(lacking)}, which the test rows do not have"]
                if lacking
                else []
            )
        about = _about(made.name, made.parameters, "a single test set", 1, fold, settings)
        return Evaluation(about, records, [*notes, *fold.unseen_classes(), *_more_notes(found, trainings)])
    if frame is None or schema is None:
        fact = f"A method is evaluated on a table, and the {'frame' if frame is None else 'schema'} is missing"
        raise ParameterError(fact, f"write evaluate({what!r}, frame, schema, k=10, cv=10)")
    if original is not None:
        fact = "Parameter original is only for releases"
        raise ParameterError(fact, "leave it out: a method publishes the frame itself")
    publisher = _method(what, parameters)
    plan, n, parts = plan_of(frame, schema, cv=cv, holdout=holdout, seed=seed)
    records, notes, share = [], [], None
    for fold in parts:
        report("folds", fold.number, n)
        share = share or fold
        start = time.perf_counter()
        release = publisher.publish(fold.train.source, schema, seed=seed)
        seconds = round(time.perf_counter() - start, 4)
        records += judge_baselines(fold, learners, seed=seed)
        records += [{**record, "publishing": seconds} for record in _judge(release, fold, learners, **settings)]
        notes = _more_notes(release, trainings)
    report("folds", n, n)
    assert share is not None
    made = release.manifest.method
    notes += (
        share.unseen_classes() if holdout is not None else []
    )  # in cross-validation every fold may lack a rare class
    return Evaluation(_about(publisher.name, made.parameters, plan, n, share, settings), records, notes)


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


def check_samples(samples: int) -> None:
    """Refuse a number of samples below 1."""
    if samples < 1:
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


def summaries(records: Sequence[Record], test_share: float) -> list[dict[str, Any]]:
    """Return a row per classifier and way to train: means over folds and samples, with intervals and both baselines."""
    ways = list(dict.fromkeys((r["classifier"], r.get("training")) for r in records if r["data"] == "release"))
    majority = _mean(records, "majority", None, "accuracy")
    rows = []
    for name, training in ways:
        mine = [r for r in records if (r["data"], r["classifier"], r.get("training")) == ("release", name, training)]
        numbers = sorted({r["fold"] for r in mine})
        values = [[r["accuracy"] for r in mine if r["fold"] == number] for number in numbers]
        ends = interval(values, test_share)
        low, high = (None, None) if ends is None else (max(0.0, ends[0]), min(1.0, ends[1]))
        accuracy = _mean(mine, "release", name, "accuracy")
        original = _mean(records, "original", name, "accuracy")
        assert accuracy is not None
        kept = None if majority is None else retention(accuracy, majority=majority, original=original)
        kept_low, kept_high = (None, None) if kept is None else _kept_ends(records, name, numbers, values, test_share)
        row = {
            "classifier": name,
            "training": training,
            "retention": kept,
            "retention_low": kept_low,
            "retention_high": kept_high,
        }
        row |= {"accuracy": accuracy, "low": low, "high": high, "majority": majority, "original": original}
        row |= {score: _mean(mine, "release", name, score) for score in SCORES[1:]}
        rows.append(row | {"fits": len(mine), "seconds": sum(r["seconds"] for r in mine)})
    return rows


def _kept_ends(
    records: Sequence[Record], name: str, numbers: Sequence[int], values: Sequence[Sequence[float]], test_share: float
) -> tuple[float | None, float | None]:
    """Return the ends of the interval of a classifier's retention, each fold beside its own baselines."""
    majority = {r["fold"]: r["accuracy"] for r in records if r["data"] == "majority"}
    original = {r["fold"]: r["accuracy"] for r in records if r["data"] == "original" and r["classifier"] == name}
    baselines = [majority[number] for number in numbers], [original[number] for number in numbers]
    ends = retention_interval(values, *baselines, test_share)
    return (None, None) if ends is None else ends


def _mean(records: Sequence[Record], data: str, name: str | None, score: str) -> float | None:
    """Return the mean over folds of the means over samples, of what there is."""
    mine = [r for r in records if r["data"] == data and r["classifier"] == name and r[score] is not None]
    numbers = sorted({r["fold"] for r in mine})
    if not numbers:
        return None
    return float(np.mean([np.mean([r[score] for r in mine if r["fold"] == number]) for number in numbers]))


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
