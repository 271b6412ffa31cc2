"""How Last et al. 2014 measure (section 5.1 and 5.2), as one function of a task.

A table is cut into ten folds (Adult has its own test part). The training rows are published; from the release p
concrete tables are drawn; a classifier learns from each, and is asked about the test rows as they are. The accuracy of
a task is the average over its p samples. Trees are those of `incrowd.datasets.schema`: alphabetical, as the paper
says; with ``trees = "numeric"`` numbers are sorted as numbers.

Folds, samples and the other ways to learn from a release are those of `incrowd.evaluate`: ``view`` is ``"samples"`` in
the paper, ``"majority_labels"`` and ``"soft"`` are ours. ``on = "members"`` asks about the published rows themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from incrowd import datasets
from incrowd.datasets.schemas import NSVDIST, Order
from incrowd.errors import ParameterError
from incrowd.evaluate.classifiers import classifier
from incrowd.evaluate.features import Block, Examples, Features, names_as_numbers
from incrowd.evaluate.protocol import Fold, Rows, folds, judge_baselines
from incrowd.evaluate.training_data import Training, TrainTest, number_of, recommended, training_data
from incrowd.experiments.experiment import Options, Task
from incrowd.experiments.registry import published
from incrowd.publish import KACTUS, NHAA, PAIS, BestCuts, InfoGainMondrian, Mondrian, NSVDist, SeqA, TreeAnonymizer
from incrowd.publish.publisher import Publisher
from incrowd.release import RowRelease
from incrowd.schema import Schema

PAPER = (
    "Last, Tassa, Zhmudyak, Shmueli: Improving accuracy of classification models induced from anonymized datasets, 2014"
)
TABLES = tuple(NSVDIST)

METHODS: dict[str, Callable[[int, float], Publisher[Any]]] = {
    "nsvdist": lambda k, l: NSVDist(k=k, l=l, mode="paper"),
    "nsvdist_hardened": lambda k, l: NSVDist(k=k, l=l),
    "pais": lambda k, l: PAIS(k=k, l=l),
    "seqa": lambda k, l: SeqA(k=k, l=l, start="best"),
    "seqa_random": lambda k, l: SeqA(k=k, l=l, start="random"),
    "mondrian_single": lambda k, l: Mondrian(k=k, l=l, recoding="single"),
    "mondrian": lambda k, l: Mondrian(k=k, l=l),
    "infogain_mondrian": lambda k, l: InfoGainMondrian(k=k, l=l),
    "tree": lambda k, l: TreeAnonymizer(k=k, l=l),
    "nhaa": lambda k, l: NHAA(k=k, l=int(l)),
    "best_cuts": lambda k, l: BestCuts(k=k, l=l),
    "kactus": lambda k, l: KACTUS(k=k, l=l),
}
PAPER_METHODS = ("nsvdist", "pais", "seqa", "mondrian_single")
OUR_METHODS = ("nsvdist_hardened", "seqa_random", "mondrian", "infogain_mondrian", "tree")
LABELS = {
    "nsvdist": "NSVDist",
    "nsvdist_hardened": "NSVDist (hardened)",
    "pais": "PAIS",
    "seqa": "SeqA",
    "seqa_random": "SeqA (random start)",
    "mondrian_single": "Mondrian (single)",
    "mondrian": "Mondrian (multi)",
    "infogain_mondrian": "InfoGain Mondrian",
    "tree": "TreeAnonymizer",
    "nhaa": "NHAA",
    "best_cuts": "BestCuts",
    "kactus": "kACTUS",
    "majority": "majority",
    "original": "original",
}
"""What people read."""

PAPER_CLASSIFIERS = {"j48": "j48", "nb": "nb", "jrip": "jrip", "libsvm": "svm"}
"""The paper's four classifiers: ours, and its name in the published figures."""
TITLES = {"j48": "W-J48", "nb": "Naive Bayes", "jrip": "W-JRip", "libsvm": "SVM"}
WEKA = ("j48", "nb", "jrip", "smo")
SKLEARN = ("tree", "naive_bayes", "logistic", "svc", "boosting")

NUMBERED = "libsvm"
"""The classifier for which names are numbers, in alphabetical order: see the notes of Table 4."""
UNSEEN = {("adult", NUMBERED): "fnlwgt"}
"""A column that a classifier does not see: beside the final weight, in units of people, a kernel sees nothing else."""

QUASI: dict[str, tuple[str, ...]] = {
    "census_income": (
        "age", "class_of_worker", "education", "marital_stat", "major_industry_code", "major_occupation_code", "race",
        "sex", "full_or_part_time_employment_stat", "capital_gains", "dividends_from_stocks", "tax_filer_stat",
        "num_persons_worked_for_employer", "weeks_worked_in_year",
    ),
    "covertype": datasets.DATASETS["covertype"].columns[:10],
}  # fmt: skip
"""Quasi-identifiers of large tables; of others that the paper does not use, all columns but the class."""
MOST_ROWS, FEW_FOLDS = 20_000, 3
"""Rows that are drawn from such a table, and folds."""

LARGE, QUICK_LEARNERS = ("adult", *QUASI), ("j48", "nb")
"""In a quick run large tables have these classifiers only, unless others are asked for: the others take minutes."""

K = 50  # of Table 4
FOLDS, SAMPLES = 10, 10
QUICK_SAMPLES = 2
_SEED = 1


def classifiers(options: Options) -> list[str]:
    """Return the chosen classifiers; the paper's own if there was no choice."""
    found: list[str] = []
    for name in options.classifiers or ("weka",):
        found += {"weka": list(PAPER_CLASSIFIERS), "sklearn": list(SKLEARN)}.get(name, [name])
    return list(dict.fromkeys(classifier(name).name for name in found))


def affordable(tasks: Sequence[Task], options: Options) -> list[Task]:
    """Return tasks without those that a quick run has no time for."""
    if not options.quick or options.classifiers:
        return list(tasks)
    return [task for task in tasks if task["dataset"] not in LARGE or task["classifier"] in QUICK_LEARNERS]


def higher_l(name: str) -> float:
    """Return the paper's second value of l: 1 + (l_g - 1) / 3, of the global diversity as printed in Table 3."""
    return 1 + (float(published("nsvdist")["table3"][name][2]) - 1) / 3


def folds_of(name: str, *, quick: bool) -> range:
    """Return the numbers of the folds to compute; Adult has one, its own split."""
    return range(1 if quick or name == "adult" else FEW_FOLDS if name in QUASI else FOLDS)


def accuracy_tasks(
    names: Sequence[str],
    methods: Sequence[str],
    learners: Sequence[str],
    ks: Mapping[str, Sequence[int]],
    options: Options,
    *,
    levels: Sequence[int] = (1, 2),
) -> list[Task]:
    """Return a task per table, l, method, k, fold and classifier, those of one release beside each other.

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
    tasks = []
    for name in names:
        for fold in folds_of(name, quick=options.quick):
            shared = {"dataset": name, "fold": fold, "seed": _SEED}
            for learner in learners:
                tasks += [shared | {"method": base, "classifier": learner} for base in ("majority", "original")]
            for level in levels:
                l = 1.0 if level == 1 else higher_l(name)
                for k in ks[name]:
                    for method in methods:
                        asked = {"method": method, "k": k, "l": l, "samples": samples}
                        tasks += [shared | asked | {"classifier": learner} for learner in learners]
    return affordable(tasks, options)


def run(task: Task) -> dict[str, Any]:
    """Compute a task: accuracy in percent, the average over samples, and the loss of the release."""
    fold = fold_of(task["dataset"], task["fold"])
    method, learner = task["method"], classifier(task["classifier"])
    unseen = UNSEEN.get((task["dataset"], learner.name))
    if method in ("majority", "original"):
        how = task.get("seen", "alphabetical" if learner.name == NUMBERED else None)
        seen = as_seen(fold, task["dataset"], unseen, how)
        records = judge_baselines(seen, [learner] if method == "original" else [])
        return {"accuracy": 100 * records[-1]["accuracy"]}
    trees: Order = task.get("trees", "alphabetical")
    release = release_of(task["dataset"], task["fold"], method, task["k"], task["l"], task["seed"], trees)
    asked = fold.train if task.get("on") == "members" else fold.test
    draws = task["seed"] + 1000 * task["fold"]  # the same in every fold, chance would not average out
    truth = number_of(asked.target, fold.classes)
    training: Training = task.get("view", "samples")
    if training in ("samples", "recommended") and learner.name in WEKA:
        recipe = None if training == "samples" else recommended(release, learner.sharpen, learner.draws)
        pairs = _rows_only(release, fold.classes, asked, task["samples"], draws, recipe)
    else:
        pairs = training_data(
            release, asked.source, fold.classes, training=training, samples=task["samples"], seed=draws,
            sharpen=learner.sharpen, draws=learner.draws,
        )  # fmt: skip
    # Only accuracies: the other scores of `judge_release` take longer than training does where classes are many.
    if learner.name == NUMBERED:
        pairs = (_numbered(pair.without(unseen) if unseen else pair) for pair in pairs)
    found = [learner.predict(pair.train, pair.test, 0).argmax(axis=1) for pair in pairs]
    accuracies = [100 * float((predicted == truth).mean()) for predicted in found]
    return {"accuracy": float(np.mean(accuracies)), "accuracies": accuracies, "lm": release.loss("lm")}


def as_seen(fold: Fold, name: str, unseen: str | None = None, how: str | None = None) -> Fold:
    """Return a fold as a classifier sees the original rows.

    Parameters
    ----------
    fold, name
        The rows, and the name of the table that they are of.
    unseen
        A column that it does not see.
    how
        ``"alphabetical"``: names are numbers in this order. ``"everything"``: the same, and that column too.
        ``"columns"``: names have a column for each value. ``"by_class"``: they are numbers in the order in which they
        occur in the whole table sorted by class.
    """
    if unseen is None and how is None:
        return fold
    both = pl.concat([fold.train.features, fold.test.features])
    if unseen and how != "everything":
        both = both.drop(unseen)
    names = [column for column, kind in both.schema.items() if kind == pl.String()]
    if how == "columns":
        both = both.to_dummies(names)
    else:
        numbered = [both[column].unique().sort() for column in names]
        if how == "by_class":
            whole = datasets.load(name).sort(_schema(name).target, maintain_order=True)
            numbered = [pl.concat([whole[column], both[column]]).unique(maintain_order=True) for column in names]
        both = both.with_columns(
            pl.col(values.name).replace_strict(values, range(len(values)), return_dtype=pl.Int64())
            for values in numbered
        )
    parts = both.head(fold.train.n_rows), both.tail(fold.test.n_rows)
    train, test = (replace(rows, features=part) for rows, part in zip((fold.train, fold.test), parts, strict=True))
    return replace(fold, train=train, test=test)


def _numbered(pair: TrainTest) -> TrainTest:
    """Return a pair in which names are numbers, if its rows are concrete."""
    if pair.train.features.frame is None:
        return pair
    numbers = names_as_numbers(pair.train.features, pair.test)
    blocks = tuple(Block(f"x{m}", 1, is_number=True) for m in range(numbers[0].shape[1]))
    learn, ask = (Features(X, blocks) for X in numbers)
    return TrainTest(replace(pair.train, features=learn), ask)


def _rows_only(
    release: RowRelease,
    classes: pl.Series,
    asked: Rows,
    samples: int,
    seed: int,
    recipe: tuple[float, int] | None,
) -> Iterator[TrainTest]:
    """Yield the samples of `training_data` without matrices: Weka takes rows, and matrices take long to make."""
    target = str(release.target)
    for number in range(samples):
        first = np.random.SeedSequence((seed, number)).spawn(2)[0]
        own = int(first.generate_state(1)[0])
        if recipe is None:
            drawn = release.sample(seed=own)
        else:
            drawn = release.training(sharpen=recipe[0], draws=recipe[1], seed=own)
        rows = drawn.drop(target)
        examples = Examples(_unencoded(rows), number_of(drawn[target], classes), len(classes))
        yield TrainTest(examples, _unencoded(asked.features.select(rows.columns)))


def _unencoded(frame: pl.DataFrame) -> Features:
    blocks = tuple(Block(name, 0, is_number=False) for name in frame.columns)
    return Features(np.empty((frame.height, 0)), blocks, frame)


@lru_cache(maxsize=8)
def _schema(name: str, order: Order = "alphabetical") -> Schema:
    """Return the paper's roles of a table; of one that the paper does not use, all columns but the class are quasi."""
    return datasets.schema(name, "nsvdist" if name in NSVDIST else "dmpd", quasi=QUASI.get(name), order=order)


@lru_cache(maxsize=4)
def fold_of(name: str, number: int) -> Fold:
    """Return training and test rows: one of ten folds, or Adult's own split."""
    schema = _schema(name)
    frame = datasets.load(name)
    if name in QUASI:
        frame = frame.sample(MOST_ROWS, seed=_SEED)
    rows = Rows.of(frame, schema)
    if name == "adult":
        return Fold(0, rows, Rows.of(datasets.load("adult_test"), schema))
    return next(islice(folds(rows, FOLDS, _SEED), number, None))


@lru_cache(maxsize=4)
def release_of(name: str, number: int, method: str, k: int, l: float, seed: int, trees: Order) -> RowRelease:
    """Publish the training rows of a fold; tasks that share a release find it here."""
    if method not in METHODS:
        fact = f"There is no method {method!r} in these experiments"
        raise ParameterError(fact, f"use one of {', '.join(METHODS)}")
    schema = _schema(name, order=trees)
    release: RowRelease = METHODS[method](k, l).publish(
        fold_of(name, number).train.source, schema, seed=seed, domains="exact"
    )
    return release


def average_of(task: Task) -> Task:
    """Return of which average over folds a task is a part."""
    level = None if task.get("l") is None else 1 if task["l"] == 1 else 2
    return {
        "dataset": task["dataset"], "classifier": task["classifier"], "method": task["method"], "level": level,
        "k": task.get("k"), "samples": task.get("samples"), "view": task.get("view", "samples"),
        "trees": task.get("trees", "alphabetical"), "on": task.get("on", "test"), "seen": task.get("seen"),
    }  # fmt: skip


def means(done: Sequence[tuple[Task, Task]]) -> pl.DataFrame:
    """Average over folds: one row per `average_of` a task.

    ``sd`` is the standard deviation of the folds' accuracies (of the samples' where there is one fold).
    """
    rows = [
        {
            **average_of(task),
            "accuracy": result["accuracy"],
            "lm": result.get("lm"),
            "within": float(np.std(result.get("accuracies", [0.0]))),
        }
        for task, result in done
        if "failed" not in result
    ]
    if not rows:
        return pl.DataFrame(schema=_MEANS)
    keys = list(average_of(done[0][0]))
    grouped = pl.DataFrame(rows, infer_schema_length=None).group_by(keys, maintain_order=True)
    return grouped.agg(
        pl.col("accuracy").mean(),
        pl.when(pl.len() > 1).then(pl.col("accuracy").std()).otherwise(pl.col("within").first()).alias("sd"),
        pl.col("lm").mean(),
        pl.len().alias("folds"),
    ).select(pl.col(name).cast(kind) for name, kind in _MEANS.items())


_MEANS: dict[str, pl.DataType] = {
    "dataset": pl.String(), "classifier": pl.String(), "method": pl.String(), "level": pl.Int64(), "k": pl.Int64(),
    "samples": pl.Int64(), "view": pl.String(), "trees": pl.String(), "on": pl.String(), "seen": pl.String(),
    "accuracy": pl.Float64(), "sd": pl.Float64(), "lm": pl.Float64(), "folds": pl.Int64(),
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
