"""What classifiers are trained on and tested with: five ways to train on a release, two kinds of test rows.

``recommended``
    What `RowRelease.training` gives: rows drawn as below, each with the most frequent class of its cell; for naive
    Bayes, with a class drawn from sharpened shares, and for support vectors several times (`Classifier`).
``samples``
    Concrete rows drawn from the cells and distributions, as in Last et al. 2014, section 5.1; p times.
``soft``
    Expected encodings, and each row once per class that it may have, weighted by the class's probability: what samples
    tend to when there are many of them, for learners that are linear in their counts. No noise, one training.
``cells``
    The cells themselves. A number is the middle of its interval. A name has one column per generalized value that was
    released (the 255 most frequent ones), which is 1 where the row's own cell lies inside that value: so raw rows
    and generalized ones can be asked about alike.
``majority_labels``
    ``recommended`` for any classifier: each row gets the most frequent class of its cell, of tied ones the first.

Test rows are ``raw``, or ``generalized`` by the recoding that the release was made with (only the owner has it): then
they are drawn, softened or taken as cells just as the training rows are. Values outside the domain count as
suppressed there. Features are the quasi-identifiers and the *other* columns, except the class; a sensitive column that
is not the class is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import polars as pl

from incrowd.coding import clean
from incrowd.errors import IncompatibleError, ParameterError
from incrowd.evaluate.features import (
    Block,
    Column,
    Encoding,
    Examples,
    Features,
    Floats,
    Labels,
    beside,
)
from incrowd.hierarchy import Hierarchy
from incrowd.hierarchy.hierarchy import OUTSIDE, Codes, as_leaves, convert, type_of
from incrowd.release import Release, RowRelease
from incrowd.release.soft import Soft, recoded_cells

Training = Literal["recommended", "samples", "soft", "cells", "majority_labels"]
TestRows = Literal["raw", "generalized"]

_MOST_CELLS = 255
_MOST_DRAWN = 30_000  # rows: support vectors take time that grows with their square


@dataclass(frozen=True)
class TrainTest:
    """Examples to train on, and rows to predict."""

    train: Examples
    test: Features

    def without(self, name: str) -> TrainTest:
        """Return both without one of the columns."""
        return TrainTest(replace(self.train, features=self.train.features.without(name)), self.test.without(name))


def training_data(
    release: RowRelease,
    rows: pl.DataFrame,
    classes: pl.Series,
    *,
    training: Training = "samples",
    test: TestRows = "raw",
    samples: int = 10,
    seed: int = 0,
    sharpen: float = math.inf,
    draws: int = 1,
) -> Iterator[TrainTest]:
    """Yield what classifiers are trained on and tested with: one pair per sample, or a single one if nothing is drawn.

    Parameters
    ----------
    release
        The release.
    rows
        Test rows as they came, with the columns of the release; their class is not used.
    classes
        All classes that there are; see `all_classes`.
    sharpen, draws
        Of ``recommended``: see `RowRelease.training`; one draw where more would make more than 30 000 rows.
    """
    check_choice("training", training, Training)
    check_choice("test", test, TestRows)
    source = _Source(release, rows, classes, target_of(release))
    asked = _generalized(release, rows) if test == "generalized" else None
    if training == "soft":
        yield _soft(source, asked)
    elif training == "cells":
        yield _from_cells(source, asked)
    else:
        recipe = {"samples": None, "majority_labels": (math.inf, 1)}.get(training, recommended(release, sharpen, draws))
        for number in range(samples):
            yield _sampled(source, asked, np.random.SeedSequence((seed, number)), recipe)


def recommended(release: RowRelease, sharpen: float, draws: int) -> tuple[float, int]:
    """Return how a learner's training rows are drawn: as it likes best, but not too many for it."""
    return sharpen, draws if draws * release.n_rows <= _MOST_DRAWN else 1


def check_choice(name: str, value: object, kind: object) -> None:
    """Refuse what is not one of a parameter's values."""
    if value not in get_args(kind):
        fact = f"{name} is {value!r}"
        raise ParameterError(fact, f"use one of {', '.join(get_args(kind))}")


def target_of(release: Release) -> str:
    """Return the name of the class column of a release."""
    if release.target is None:
        fact = "This release has neither a target nor a sensitive column: there is nothing to predict"
        raise IncompatibleError(fact, "publish with a schema that names a sensitive column or a target")
    return release.target


def all_classes(
    published: pl.Series, rows: pl.Series, tokens: Sequence[str], codes: Sequence[str] = ()
) -> tuple[pl.Series, Labels]:
    """Return the classes of a release and of test rows together, in order, and the class of each test row."""
    found = as_type(clean(rows, None, None, tokens, codes), published)
    classes = pl.concat([published.alias("c"), found.alias("c")]).unique().sort()
    return classes, number_of(found, classes)


def as_type(tested: pl.Series, learned: pl.Series) -> pl.Series:
    """Bring the class of test rows to the type that it has in training rows."""
    leaves = as_leaves(tested)
    found = convert(leaves, type_of(learned))
    if found.null_count() > leaves.null_count():
        fact = f"The class {tested.name!r} is {type_of(leaves)} in the test rows and {type_of(learned)} elsewhere"
        raise ParameterError(fact, "read both tables with the same types")
    return found


def number_of(values: pl.Series, classes: pl.Series) -> Labels:
    """Return the number of each value's class; -1 for one that no row has."""
    numbers = pl.Series(np.arange(len(classes)))
    leaves = convert(as_leaves(values), type_of(classes))
    return leaves.replace_strict(classes, numbers, default=-1, return_dtype=pl.Int64()).to_numpy()


@dataclass(frozen=True)
class _Source:
    """A release, the test rows, and what they have in common."""

    release: RowRelease
    rows: pl.DataFrame
    classes: pl.Series
    target: str

    @property
    def others(self) -> list[str]:
        """Columns that are features though nobody generalized them."""
        return self.release.features[1]

    def raw(self) -> pl.DataFrame:
        """Return the features of the test rows, in the types of the release."""
        return pl.DataFrame([*self._quasi(), *(self.rows[name] for name in self.others)])

    def _quasi(self) -> list[pl.Series]:
        """Return the quasi-identifiers; a name that is published as a joined leaf is called as in samples."""
        columns = self.release.clean_quasi(self.rows)
        codes = self.release.encode(self.rows)
        found = []
        for m, (column, domain) in enumerate(zip(columns, self.release.domains, strict=True)):
            if domain.hierarchy.ordered:
                found.append(column)
                continue
            known = pl.Series(codes[:, m] != OUTSIDE)
            names = as_leaves(domain.drawn_names, "str").gather(np.maximum(codes[:, m], 0))
            found.append(names.zip_with(known, as_leaves(column, "str")).alias(column.name))
        return found

    def with_others(self, learn: list[Features], ask: list[Features]) -> tuple[Features, Features]:
        """Put the *other* columns of released and of test rows beside what there is of them."""
        if self.others:
            encoding = Encoding.of(self.release.other.select(self.others))
            learn = [*learn, encoding.encode(self.release.other)]
            ask = [*ask, encoding.encode(self.rows)]
        return beside(learn), beside(ask)


def _sampled(
    source: _Source, asked: RowRelease | None, seeds: np.random.SeedSequence, recipe: tuple[float, int] | None
) -> TrainTest:
    release = source.release
    first, second = (int(s.generate_state(1)[0]) for s in seeds.spawn(2))
    own = replace(release, kind="polars")
    drawn = own.sample(seed=first) if recipe is None else own.training(sharpen=recipe[0], draws=recipe[1], seed=first)
    features = drawn.select([name for name in (*release.quasi, *source.others) if name in drawn.columns])
    test = source.raw() if asked is None else replace(asked, kind="polars").sample(seed=second)
    test = test.select(features.columns)
    encoding = Encoding.of(features)
    labels = number_of(drawn[source.target], source.classes)
    return TrainTest(Examples(encoding.encode(features), labels, len(source.classes)), encoding.encode(test))


def _soft(source: _Source, asked: RowRelease | None) -> TrainTest:
    release = source.release
    soft = release.soft()
    assert soft.proba is not None
    columns = [
        Column.of(name, hierarchy.leaves, marginal)
        for name, hierarchy, marginal in zip(release.quasi, release.hierarchies, release.marginals, strict=True)
    ]
    learn = _softened(release.hierarchies, columns, soft)
    if asked is None:
        ask = Encoding(tuple(columns)).encode(source.raw())
    else:
        ask = _softened(release.hierarchies, columns, asked.soft())
    learn, ask = source.with_others([learn], [ask])
    row, label = np.nonzero(soft.proba)
    labels = number_of(soft.classes, source.classes)[label]
    weighted = Features(learn.X[row], learn.blocks)
    return TrainTest(Examples(weighted, labels, len(source.classes), soft.proba[row, label]), ask)


def _softened(hierarchies: tuple[Hierarchy, ...], columns: list[Column], soft: Soft) -> Features:
    """Bring expected encodings to the columns that concrete rows have."""
    blocks = tuple(column.block for column in columns)
    X = np.zeros((len(soft.X), sum(block.width for block in blocks)))
    start = at = 0
    for hierarchy, column, block in zip(hierarchies, columns, blocks, strict=True):
        if block.is_number:
            X[:, at : at + block.width] = soft.X[:, start : start + block.width]
            start += 1 + hierarchy.has_missing
        else:
            for leaf, place in enumerate(column.places(hierarchy.leaves)):
                X[:, at + place] += soft.X[:, start + leaf]
            start += hierarchy.n_leaves
        at += block.width
    return Features(X, blocks)


def _from_cells(source: _Source, asked: RowRelease | None) -> TrainTest:
    release = source.release
    learn, ask = [], []
    raw = None if asked is not None else source.raw()
    rows_of = np.bincount(release.cell_of, minlength=len(release.cell_lo))
    codes = release.encode(source.rows)
    for m, (name, hierarchy) in enumerate(zip(release.quasi, release.hierarchies, strict=True)):
        lo, hi = release.cell_lo[:, m], release.cell_hi[:, m]
        if raw is None:
            assert asked is not None
            test_lo, test_hi = asked.cell_lo[:, m], asked.cell_hi[:, m]
        else:
            test_lo = test_hi = codes[:, m]
        if hierarchy.ordered:
            column = Column.of(name, hierarchy.leaves, release.marginals[m])
            learn.append(_middles(hierarchy, column, lo, hi))
            if raw is None:
                ask.append(_middles(hierarchy, column, test_lo, test_hi))
            else:
                ask.append(Encoding((column,)).encode(raw.select(name)))
        else:
            nodes = _nodes(lo, hi, rows_of)
            learn.append(_inside(name, nodes, lo, hi))
            ask.append(_inside(name, nodes, test_lo, test_hi))
    cells = beside(learn)
    train, test = source.with_others([Features(cells.X[release.cell_of], cells.blocks)], ask)
    classes, weights, row = _exact_or_weighted(release)
    labels = number_of(release.cell_class_counts()[1], source.classes)[classes]
    examples = Examples(Features(train.X[row], train.blocks), labels, len(source.classes), weights)
    return TrainTest(examples, test)


def _exact_or_weighted(release: RowRelease) -> tuple[Labels, Floats | None, Labels]:
    """Return class, weight and row of each example: a row once, or once per class of its distribution."""
    found = release.classes()
    if found is not None:
        return found[0].astype(np.int64), None, np.arange(release.n_rows)
    shares = np.asarray(release.about(str(release.target)).distributions)
    row, label = np.nonzero(shares)
    return label.astype(np.int64), shares[row, label], row.astype(np.int64)


def _middles(hierarchy: Hierarchy, column: Column, lo: Codes, hi: Codes) -> Features:
    """Return the middle of each interval of numbers; a missing value that was joined with others counts as them."""
    first_numbers, last_numbers = hierarchy.pos, hierarchy.last_pos
    missing = (lo == 0) & (hi == 0) & hierarchy.has_missing
    first = np.where((lo == 0) & hierarchy.has_missing & ~missing, 1, lo)
    X = np.zeros((len(lo), column.block.width))
    X[:, 0] = np.where(missing, column.average, (first_numbers[first] + last_numbers[hi]) / 2)
    if column.can_miss:
        X[:, 1] = missing
    return Features(X, (column.block,))


def _nodes(lo: Codes, hi: Codes, rows_of: Labels) -> Codes:
    """Return the distinct generalized values of one attribute, the most frequent ones."""
    nodes, which = np.unique(np.column_stack([lo, hi]), axis=0, return_inverse=True)
    counts = np.bincount(which.reshape(-1), rows_of, minlength=len(nodes))
    frequent: Codes = nodes[np.sort(np.argsort(-counts, kind="stable")[:_MOST_CELLS])]
    return frequent


def _inside(name: str, nodes: Codes, lo: Codes, hi: Codes) -> Features:
    inside = (nodes[:, 0] <= lo[:, None]) & (hi[:, None] <= nodes[:, 1]) & (lo[:, None] != OUTSIDE)
    return Features(inside.astype(np.float64), (Block(name, len(nodes), is_number=False),))


def _generalized(release: RowRelease, rows: pl.DataFrame) -> RowRelease:
    """Return test rows as the release would show them: cells of their own, and a class that is not used."""
    if release.private is None or release.private.recoding is None:
        fact = f"A release by {release.manifest.method.name} has no recoding to apply to test rows"
        raise IncompatibleError(fact, "use test='raw'; or a method whose recoding is a function of the row")
    lo, hi = recoded_cells(release, rows)
    return replace(
        release,
        cell_lo=lo,
        cell_hi=hi,
        cell_of=np.arange(len(lo)),
        secrets=tuple(replace(s, codes=np.zeros(len(lo), np.int32), cell_counts=None) for s in release.secrets),
        other=rows.select(release.manifest.other),
        private=None,
    )
