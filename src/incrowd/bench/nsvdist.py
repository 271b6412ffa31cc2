"""How Last et al. 2014 measure (section 5.1 and 5.2), as one function of a cell.

A table is cut into ten folds (Adult has its own test part). The training rows are published; from the release p
concrete tables are drawn; a classifier learns from each, and is asked about the test rows as they are. The accuracy of
a cell is the average over its p samples. Trees are those of `incrowd.datasets.schema`: alphabetical, as the paper
says; with ``trees = "numeric"`` numbers are sorted as numbers.

Where the paper is silent: folds are stratified by class.

Besides the paper's way to learn from a release (``view = "sample"``) there are two of ours: ``"majority"`` gives each
drawn row the most frequent class of its cell, ``"soft"`` learns from expected encodings and class probabilities.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import datasets
from incrowd.bench.experiment import Cell, Options
from incrowd.bench.registry import published
from incrowd.datasets.schemas import NSVDIST, Order
from incrowd.errors import ParameterError
from incrowd.evaluate.classifiers import CLASSIFIERS, classifier, probabilities
from incrowd.evaluate.features import Block, Examples, Features
from incrowd.publish import NHAA, PAIS, InfoGainMondrian, Mondrian, NSVDist, SeqA, TreeAnonymizer
from incrowd.publish.publisher import Publisher
from incrowd.release import Release
from incrowd.schema import Schema
from incrowd.table import code_classes

PAPER = (
    "Last, Tassa, Zhmudyak, Shmueli: Improving accuracy of classification models induced from anonymized datasets, 2014"
)
TABLES = tuple(NSVDIST)

METHODS: dict[str, Callable[[int, float], Publisher]] = {
    "nsvdist": lambda k, l: NSVDist(k=k, l=l),
    "pais": lambda k, l: PAIS(k=k, l=l),
    "seqa": lambda k, l: SeqA(k=k, l=l, start="single_mondrian"),
    "mondrian_single": lambda k, l: Mondrian(k=k, l=l, recoding="single"),
    "mondrian": lambda k, l: Mondrian(k=k, l=l),
    "infogain_mondrian": lambda k, l: InfoGainMondrian(k=k, l=l),
    "tree": lambda k, l: TreeAnonymizer(k=k, l=l),
    "nhaa": lambda k, l: NHAA(k=k, l=int(l)),
}
PAPER_METHODS = ("nsvdist", "pais", "seqa", "mondrian_single")
OUR_METHODS = ("mondrian", "infogain_mondrian", "tree")
LABELS = {
    "nsvdist": "NSVDist",
    "pais": "PAIS",
    "seqa": "SeqA",
    "mondrian_single": "Mondrian (single)",
    "mondrian": "Mondrian (multi)",
    "infogain_mondrian": "InfoGain Mondrian",
    "tree": "TreeAnonymizer",
    "nhaa": "NHAA",
    "majority": "majority",
    "original": "original",
}
"""What people read."""

PAPER_CLASSIFIERS = {"j48": "j48", "nb": "nb", "jrip": "jrip", "libsvm": "svm"}
"""The paper's four classifiers: ours, and its name in the published figures."""
TITLES = {"j48": "W-J48", "nb": "Naive Bayes", "jrip": "W-JRip", "libsvm": "SVM"}
SKLEARN = ("tree", "naive_bayes", "logistic", "svc", "boosting")

FOLDS, SAMPLES = 10, 10
QUICK_SAMPLES = 2
_SEED = 1


def classifiers(options: Options) -> list[str]:
    """Return the chosen classifiers; the paper's own if there was no choice."""
    found: list[str] = []
    for name in options.classifiers or ("weka",):
        found += {"weka": list(PAPER_CLASSIFIERS), "sklearn": list(SKLEARN)}.get(name, [name])
    return list(dict.fromkeys(classifier(name).name for name in found))


def higher_l(name: str) -> float:
    """Return the paper's second value of l: 1 + (l_g - 1) / 3, of the global diversity as printed in Table 3."""
    return 1 + (float(published("nsvdist")["table3"][name][2]) - 1) / 3


def folds_of(name: str, *, quick: bool) -> range:
    """Return the numbers of the folds to compute; Adult has one, its own split."""
    return range(1 if quick or name == "adult" else FOLDS)


def accuracy_cells(
    names: Sequence[str],
    methods: Sequence[str],
    learners: Sequence[str],
    ks: Mapping[str, Sequence[int]],
    options: Options,
    *,
    levels: Sequence[int] = (1, 2),
) -> list[Cell]:
    """Return a cell per table, l, method, k, fold and classifier, those of one release beside each other.

    Parameters
    ----------
    names, methods, learners
        Tables, methods and classifiers.
    ks
        Values of k of each table.
    options
        `quick` takes one fold and two samples.
    levels
        1 for l = 1, 2 for the higher l.
    """
    samples = QUICK_SAMPLES if options.quick else SAMPLES
    cells = []
    for name in names:
        for fold in folds_of(name, quick=options.quick):
            shared = {"dataset": name, "fold": fold, "seed": _SEED}
            for learner in learners:
                cells += [shared | {"method": base, "classifier": learner} for base in ("majority", "original")]
            for level in levels:
                l = 1.0 if level == 1 else higher_l(name)
                for k in ks[name]:
                    for method in methods:
                        asked = {"method": method, "k": k, "l": l, "samples": samples}
                        cells += [shared | asked | {"classifier": learner} for learner in learners]
    return cells


def run(cell: Cell) -> dict[str, Any]:
    """Compute a cell: accuracy in percent, the average over samples, and the loss of the release."""
    train, test, schema = split(cell["dataset"], cell["fold"])
    target = str(schema.sensitive)
    method, learner, seed = cell["method"], cell["classifier"], cell["seed"]
    if method in ("majority", "original"):
        chosen = "majority" if method == "majority" else learner
        return {"accuracy": accuracy(chosen, train, test, target)}
    release = release_of(
        cell["dataset"], cell["fold"], method, cell["k"], cell["l"], seed, cell.get("trees", "alphabetical")
    )
    view = cell.get("view", "sample")
    judged = train if cell.get("on") == "members" else test
    if view == "soft":
        found = [_soft_accuracy(learner, release, judged, target)]
    else:
        found = [
            accuracy(learner, _drawn(release, train, view, seed * 1000 + number), judged, target)
            for number in range(cell["samples"])
        ]
    return {"accuracy": float(np.mean(found)), "accuracies": found, "lm": release.loss("lm")}


@lru_cache(maxsize=4)
def complete(name: str) -> pl.DataFrame:
    """Return the rows of a table without missing values: quasi-identifiers and class."""
    schema = datasets.schema(name)
    return datasets.load(name).select([*schema.quasi, schema.sensitive]).drop_nulls()


@lru_cache(maxsize=4)
def split(name: str, fold: int) -> tuple[pl.DataFrame, pl.DataFrame, Schema]:
    """Return training rows, test rows and the paper's schema."""
    schema = datasets.schema(name)
    if name == "adult":
        train, test = complete("adult"), complete("adult_test")
    else:
        frame = complete(name)
        inside = _fold_of(frame[str(schema.sensitive)], fold)
        train, test = frame.filter(~inside), frame.filter(inside)
    return train, test, schema


def _fold_of(classes: pl.Series, fold: int) -> pl.Series:
    from sklearn.model_selection import StratifiedKFold  # noqa: PLC0415

    codes, _ = code_classes(classes)
    assert codes is not None
    cutter = StratifiedKFold(FOLDS, shuffle=True, random_state=_SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of classes with fewer rows than there are folds
        parts = list(cutter.split(np.zeros(len(codes)), codes))
    inside = np.zeros(len(codes), bool)
    inside[parts[fold][1]] = True
    return pl.Series(inside)


@lru_cache(maxsize=4)
def release_of(name: str, fold: int, method: str, k: int, l: float, seed: int, trees: Order) -> Release:
    """Publish the training rows of a fold; cells that share a release find it here."""
    train, _, _ = split(name, fold)
    schema = datasets.schema(name, order=trees)
    if method not in METHODS:
        fact = f"There is no method {method!r} in these experiments"
        raise ParameterError(fact, f"use one of {', '.join(METHODS)}")
    release: Release = METHODS[method](k, l).publish(train, schema, seed=seed)
    return release


def accuracy(learner: str, train: pl.DataFrame, test: pl.DataFrame, target: str) -> float:
    """Return the share of test rows that a classifier gets right, in percent."""
    _, classes = code_classes(train[target])
    found = probabilities(learner, train, test.drop(target), target).argmax(axis=1)
    return 100 * float((classes.gather(found) == test[target]).to_numpy().mean())


def _drawn(release: Release, train: pl.DataFrame, view: str, seed: int) -> pl.DataFrame:
    """Draw concrete rows, in the types of the training rows; perhaps with each cell's most frequent class."""
    drawn: pl.DataFrame = release.sample(seed=seed)
    if view == "majority":
        name = str(release.manifest["sensitive"]["name"])
        best = class_counts(release).argmax(axis=1)[release.cell_of]
        drawn = drawn.with_columns(release.sensitive_values.gather(best).alias(name))
    return drawn.select(pl.col(name).cast(kind) for name, kind in train.schema.items())


def class_counts(release: Release) -> npt.NDArray[np.int64]:
    """Return how often each class is in each cell, [cells x classes], as everybody can count it."""
    if release.cell_counts is not None:
        return release.cell_counts.astype(np.int64)
    assert release.sensitive is not None
    counts = np.zeros((len(release.cell_lo), len(release.sensitive_values)), np.int64)
    np.add.at(counts, (release.cell_of, release.sensitive), 1)
    return counts


def _soft_accuracy(learner: str, release: Release, test: pl.DataFrame, target: str) -> float:
    """Learn from expected encodings, each row once per class with its probability as weight."""
    soft = release.soft()
    X, labels, weights = soft.weighted()
    # A table of single cells gives the encoding of concrete rows: the same columns, one value certain.
    asked = _encoded(release, test)
    blocks = tuple(Block(name, 1, is_number=True) for name in soft.columns)
    examples = Examples(Features(X, blocks), labels, len(soft.classes), weights)
    found = CLASSIFIERS[learner].predict(examples, Features(asked, blocks), 0).argmax(axis=1)
    return 100 * float((soft.classes.gather(found) == test[target]).to_numpy().mean())


def _encoded(release: Release, frame: pl.DataFrame) -> npt.NDArray[np.float64]:
    columns: list[npt.NDArray[np.float64]] = []
    for name, hierarchy in zip(release.quasi, release.hierarchies, strict=True):
        if hierarchy.ordered:
            columns.append(frame[name].cast(pl.Float64()).to_numpy()[:, None])
        else:
            codes = hierarchy.encode(frame[name])
            columns.append((codes[:, None] == np.arange(hierarchy.n_leaves)).astype(np.float64))
    return np.hstack(columns)


def means(done: Sequence[tuple[Cell, Cell]]) -> pl.DataFrame:
    """Average over folds: one row per table, classifier, method, level of l, k, view and trees.

    ``sd`` is the standard deviation of the folds' accuracies (of the samples' where there is one fold).
    """
    rows = []
    for cell, result in done:
        if "failed" in result:
            continue
        level = None if cell.get("l") is None else 1 if cell["l"] == 1 else 2
        rows.append({
            "dataset": cell["dataset"], "classifier": cell["classifier"], "method": cell["method"], "level": level,
            "k": cell.get("k"), "view": cell.get("view", "sample"), "trees": cell.get("trees", "alphabetical"),
            "on": cell.get("on", "test"), "accuracy": result["accuracy"], "lm": result.get("lm"),
            "within": float(np.std(result.get("accuracies", [0.0]))),
        })  # fmt: skip
    if not rows:
        return pl.DataFrame(schema=_MEANS)
    keys = [name for name in _MEANS if name not in ("accuracy", "sd", "lm", "folds")]
    grouped = pl.DataFrame(rows, infer_schema_length=None).group_by(keys, maintain_order=True)
    return grouped.agg(
        pl.col("accuracy").mean(),
        pl.when(pl.len() > 1).then(pl.col("accuracy").std()).otherwise(pl.col("within").first()).alias("sd"),
        pl.col("lm").mean(),
        pl.len().alias("folds"),
    ).select(pl.col(name).cast(kind) for name, kind in _MEANS.items())


_MEANS: dict[str, pl.DataType] = {
    "dataset": pl.String(), "classifier": pl.String(), "method": pl.String(), "level": pl.Int64(), "k": pl.Int64(),
    "view": pl.String(), "trees": pl.String(), "on": pl.String(), "accuracy": pl.Float64(), "sd": pl.Float64(),
    "lm": pl.Float64(), "folds": pl.Int64(),
}  # fmt: skip


def table4() -> pl.DataFrame:
    """Return the paper's Table 4 in rows: dataset, classifier (our name), method, level, paper."""
    rows = []
    for ours, theirs in PAPER_CLASSIFIERS.items():
        for name, figures in published("nsvdist")["table4"][theirs].items():
            columns = [(method, level) for level in (1, 2) for method in PAPER_METHODS]
            named: list[tuple[str, int | None]] = [*columns, ("majority", None), ("original", None)]
            for (method, level), figure in zip(named, figures, strict=True):
                known = None if np.isnan(figure) else figure
                rows.append({"dataset": name, "classifier": ours, "method": method, "level": level, "paper": known})
    return pl.DataFrame(rows, infer_schema_length=None)
