"""Publish on training rows, train on the release, test on rows that were not published: the protocol of the papers.

Last et al. 2014, section 5.1: cross-validation, p samples of each release, the mean over folds x samples, beside two
baselines: the majority class of the training rows, and the same classifier trained on the original rows.
A fold's release sees its training rows only; hierarchies that the schema leaves to the data are built from them too.

Where the paper is silent: folds are stratified by class; rows that the schema drops for a missing value are dropped
from test rows as well.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import polars as pl

from incrowd.coding import clean, code_classes, in_ranges, kept_rows
from incrowd.errors import IncompatibleError, ParameterError, SchemaError, counted
from incrowd.evaluate.features import Encoding, Examples, Floats, Labels
from incrowd.evaluate.learner import Classifier
from incrowd.evaluate.scores import scores
from incrowd.evaluate.training_data import TestRows, Training, all_classes, as_type, number_of, target_of, training_data
from incrowd.hierarchy.hierarchy import as_leaves
from incrowd.release import ProjectionRelease, Release, RowRelease
from incrowd.schema import Schema
from incrowd.schema.schema import require_columns

Record = dict[str, Any]

_MOST_CLASSES = 1000


@dataclass(frozen=True)
class Rows:
    """A table by its schema, without the rows that the schema drops.

    Attributes
    ----------
    source
        The rows as they came, for publishers.
    features
        Quasi-identifiers and *other* columns except the class, cleaned, for classifiers.
    target
        The class, cleaned.
    """

    source: pl.DataFrame
    features: pl.DataFrame
    target: pl.Series

    @classmethod
    def of(cls, source: pl.DataFrame, schema: Schema) -> Rows:
        """Clean a table as a publisher would."""
        if schema.target is None:
            fact = "The schema has neither a target nor a sensitive column: there is nothing to predict"
            raise SchemaError(fact, "name the column to predict as target in the schema")
        others = [name for name in schema.other if name != schema.target]
        coded = [*schema.quasi, *schema.secrets]
        require_columns(list(dict.fromkeys([*coded, *schema.other])), source.columns)
        used, rows = kept_rows(source, schema)
        target, features = used[schema.target], used.select(*schema.quasi, *others)
        source = source if len(rows) == source.height else source[rows]
        return cls(source, features, target)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.source.height

    def take(self, rows: Labels) -> Rows:
        """Return some of the rows."""
        features = self.features[rows] if self.features.width else self.features
        return Rows(self.source[rows], features, self.target[rows])


@dataclass(frozen=True)
class Fold:
    """Training rows and test rows."""

    number: int
    train: Rows
    test: Rows

    @cached_property
    def classes(self) -> pl.Series:
        """All classes of both, in order."""
        learned = as_leaves(self.train.target)
        return pl.concat([learned.alias("c"), as_type(self.test.target, learned).alias("c")]).unique().sort()

    @cached_property
    def truth(self) -> Labels:
        """Classes of the test rows."""
        return number_of(self.test.target, self.classes)

    def unseen_classes(self) -> list[str]:
        """Return a note on test rows whose class no training row has, if there are any."""
        n = int((~np.isin(self.truth, number_of(self.train.target, self.classes))).sum())
        what = f"test rows with no class, or one that no training row has: {n} of {self.test.n_rows}"
        return [f"{what}; every prediction for them counts as wrong"] if n else []


def folds(rows: Rows, cv: int | str, seed: int) -> Iterator[Fold]:
    """Yield the folds of cross-validation, stratified by class.

    Parameters
    ----------
    cv
        Number of folds, or repeats and folds: ``"5x2"``.
    """
    for number, (train, test) in enumerate(_splits(rows, cv, seed)):
        yield Fold(number, rows.take(train), rows.take(test))


def n_folds(cv: int | str) -> tuple[int, int]:
    """Return repeats and folds per repeat."""
    first, times, second = str(cv).lower().partition("x")
    try:
        repeats, parts = (int(first), int(second)) if times else (1, int(first))
    except ValueError:
        repeats = parts = 0
    if repeats < 1 or parts < 2:
        fact = f"cv is {cv!r}"
        raise ParameterError(fact, "use a number of folds, at least 2, such as 10; or repeats and folds, such as '5x2'")
    return repeats, parts


def _splits(rows: Rows, cv: int | str, seed: int) -> list[tuple[Labels, Labels]]:
    from sklearn.model_selection import KFold, StratifiedKFold  # noqa: PLC0415

    repeats, parts = n_folds(cv)
    if rows.n_rows < 2 * parts:
        fact = f"The table has {counted(rows.n_rows, 'row')}, too few for {parts} folds"
        raise ParameterError(fact, "use fewer folds")
    labels, values = code_classes(rows.target)
    assert labels is not None
    require_classes(len(values))
    split = StratifiedKFold if np.bincount(labels).max() >= parts else KFold
    found: list[tuple[Labels, Labels]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with fewer rows than there are folds
        for repeat in range(repeats):
            found += split(parts, shuffle=True, random_state=seed + repeat).split(labels, labels)
    return found


def require_classes(n_classes: int) -> None:
    """Refuse a target with too many values to be classes."""
    if n_classes > _MOST_CLASSES:
        fact = f"The class has {n_classes} distinct values"
        raise ParameterError(fact, "name another target, or group its values into classes first")


def judge_baselines(fold: Fold, learners: Sequence[Classifier], *, seed: int = 0) -> list[Record]:
    """Return scores of the majority class and of classifiers trained on the original rows."""
    encoding = Encoding.of(fold.train.features)
    labels = number_of(fold.train.target, fold.classes)
    examples = Examples(encoding.encode(fold.train.features), labels, len(fold.classes))
    asked = encoding.encode(fold.test.features)
    shares = np.tile(examples.shares(), (fold.test.n_rows, 1))
    records = [{"data": "majority", "classifier": None, **scores(fold.truth, shares), "seconds": 0.0}]
    for learner in learners:
        start = time.perf_counter()
        found = learner.predict(examples, asked, seed) if encoding.columns else shares
        records.append(_record("original", learner, fold.truth, found, start))
    return [{"fold": fold.number, "sample": 0, **record} for record in records]


def judge_release(
    release: Release,
    fold: Fold,
    learners: Sequence[Classifier],
    *,
    training: Training = "samples",
    test: TestRows = "raw",
    samples: int = 10,
    seed: int = 0,
) -> list[Record]:
    """Return scores of classifiers that were trained on a release of the fold's training rows."""
    if release.has_own_classifier:
        records = [_judge_itself(cast("ProjectionRelease", release), fold, learner, seed) for learner in learners]
        return [{"fold": fold.number, "sample": 0, "training": "its own", **record} for record in records]
    records = []
    rows = cast("RowRelease", release)
    own = {(learner.sharpen, learner.draws) for learner in learners} if training == "recommended" else {(math.inf, 1)}
    for sharpen, draws in sorted(own, reverse=True):
        pairs = training_data(
            rows, fold.test.source, fold.classes, training=training, test=test, samples=samples, seed=seed,
            sharpen=sharpen, draws=draws,
        )  # fmt: skip
        mine = [x for x in learners if training != "recommended" or (x.sharpen, x.draws) == (sharpen, draws)]
        for number, pair in enumerate(pairs):
            for learner in mine:
                start = time.perf_counter()
                found = learner.predict(pair.train, pair.test, seed)
                record = _record("release", learner, fold.truth, found, start)
                records.append({"fold": fold.number, "sample": number, "training": training, **record})
    order = {learner.name: place for place, learner in enumerate(learners)}
    records.sort(key=lambda record: (record["sample"], order[record["classifier"]]))
    return records


def unfit(release: Release, learner: Classifier) -> str | None:
    """Return why a classifier cannot be trained on a release; ``None`` if it can."""
    if not release.has_own_classifier or (learner.estimator is not None and learner.calibrated):
        return None
    why = "it is Weka's" if learner.calibrated else "it gives no probabilities"
    return f"The classifier {learner.name!r} cannot be trained on projections: {why}"


def _record(data: str, learner: Classifier, truth: Labels, found: Floats, start: float) -> Record:
    seconds = time.perf_counter() - start
    about = {"data": data, "classifier": learner.name}
    return {**about, **scores(truth, found, calibrated=learner.calibrated), "seconds": round(seconds, 4)}


def _judge_itself(release: ProjectionRelease, fold: Fold, learner: Classifier, seed: int) -> Record:
    """Judge a release by its own classifier, which takes raw rows."""
    reason = unfit(release, learner)
    if reason is not None or learner.estimator is None:
        raise IncompatibleError(str(reason), "use tree, naive_bayes, logistic, boosting or forest")
    start = time.perf_counter()
    model = release.classifier(learner.estimator(release.n_rows, seed))
    found = np.zeros((fold.test.n_rows, len(fold.classes)))
    known = number_of(pl.Series(model.classes_), fold.classes)
    found[:, known] = model.predict_proba(fold.test.source)
    return _record("release", learner, fold.truth, found, start)


def fold_of_release(release: Release, test: pl.DataFrame, original: pl.DataFrame | None) -> Fold:
    """Return test rows of a release, and the rows that it was made from if they are given.

    Features are those of the original, published or not, so far as both tables have them.
    """
    missing, (published, counts) = release.manifest.missing, release.class_counts()
    target, tables = target_of(release), [table for table in (test, original) if table is not None]
    shown = set(release.columns)
    coded, others = (
        [name for name in names if name in shown or all(name in table.columns for table in tables)]
        for names in release.features
    )

    starts = {secret.name: secret.ranges for secret in getattr(release.manifest, "secrets", ())}.get(target)

    def rows(frame: pl.DataFrame) -> Rows:
        require_columns([*coded, *others, target], frame.columns)
        if starts:
            own = clean(frame[target], None, None, missing.tokens, missing.codes_of(target))
            frame = frame.with_columns(in_ranges(own, starts))
        cleaned = release.clean_quasi(frame.select(coded))
        classes, labels = all_classes(published, frame[target], missing.tokens, missing.codes_of(target))
        found = Rows(
            frame, pl.DataFrame([*cleaned, *(frame[name] for name in others)]), classes.gather(labels).alias(target)
        )
        if release.manifest.missing.policy != "drop":
            return found
        known = pl.DataFrame([*cleaned, found.target]).select(pl.all_horizontal(pl.all().is_not_null())).to_series()
        return found.take(np.flatnonzero(known.to_numpy()))

    asked = rows(test)
    if asked.n_rows == 0:
        fact = "No test row is left: all have a missing value"
        raise ParameterError(fact, "test with complete rows")
    if original is not None:
        return Fold(0, rows(original), asked)
    marginal = published.gather(np.repeat(np.arange(len(published)), counts))
    return Fold(0, Rows(pl.DataFrame(), pl.DataFrame(), marginal.alias(target)), asked)
