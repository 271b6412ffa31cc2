"""How Li, Liu, Baig and Wong 2011 measure (section 6), as one function of a task.

Adult's 45 222 complete rows, eight attributes, ten folds with their share of each class. Training rows are published by
IACk or InfoGain Mondrian; a classifier learns from the published values, and is asked about test rows that are recoded
by what training rows decided. Figure 4 has all eight attributes as quasi-identifiers, Figure 6 four of them, the others
stay as they are. ``original`` learns from the rows as they are. A time is what the processor spends on publishing the
whole table, the least of three turns; with it comes the percentage of rows that IACk suppresses.

What we chose: (1) A value that is generalized to the root is a missing value, whichever method did it: "suppressed
values are equivalent to missing values which most classification methods can handle" (section 2). With
``stars = "value"`` it is a value like others. For logistic regression and support vectors both are the same. With
``asked = "raw"`` test rows are as they are, and a classifier learns from rows drawn from the published cells. (2) All
other published values are names: ranges of ages, too. (3) The paper's taxonomies are not printed. Those in the style of
top-down specialization have the heights of its Table 5 (see `adult`), and age gets a binary tree. (4) Of
Weka's four classifiers, logistic regression is scikit-learn's, and support vectors are those of `incrowd.evaluate`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import polars as pl

from incrowd.datasets.schemas import adult_trees
from incrowd.evaluate.classifiers import probabilities
from incrowd.evaluate.protocol import Fold, Rows, folds
from incrowd.experiments.adult import CLASS, part_of
from incrowd.experiments.experiment import Task
from incrowd.experiments.registry import published
from incrowd.hierarchy import Intervals, Spec
from incrowd.publish import IACk, InfoGainMondrian
from incrowd.publish.iac_curves import group_size_curve, level_curves, suppression_curves
from incrowd.publish.publisher import Publisher
from incrowd.release import RowRelease
from incrowd.schema import Schema

PAPER = "Li, Liu, Baig, Wong: Information based data anonymization for classification utility, 2011"
METHODS: dict[str, Callable[[int], Publisher[Any]]] = {
    "iack": lambda k: IACk(k=k),
    "infogain_mondrian": lambda k: InfoGainMondrian(k=k),
}
_SEED = 1
_TURNS = 3


def attributes() -> list[str]:
    """Return the eight attributes of Table 5."""
    return list(published("iac")["table5"]["attribute"])


def schema(figure: int) -> Schema:
    """Return the roles of a figure: eight quasi-identifiers, or four and four other columns in Figure 6."""
    names = attributes()
    quasi = [name for name in names if figure != 6 or name in published("iac")["section6"]["four"]]
    trees: dict[str, Spec | None] = {**adult_trees(), "age": Intervals()}
    others = [name for name in names if name not in quasi]
    return Schema(quasi={name: trees[name] for name in quasi}, sensitive=CLASS, other=others)


def run(task: Task) -> dict[str, Any]:
    """Compute a task: an accuracy in percent, a time in seconds, or what the levels of the whole table tell."""
    return _KINDS[task["kind"]](task)


@lru_cache(maxsize=1)
def table() -> pl.DataFrame:
    """Return all complete rows, with the columns of Table 5 and the class."""
    return pl.concat([part_of("adult"), part_of("adult_test")]).select(*attributes(), CLASS)


@lru_cache(maxsize=2)
def fold_of(number: int) -> Fold:
    """Return training and test rows; the same ones for all figures."""
    rows = Rows.of(table(), schema(4))
    return next(islice(folds(rows, published("iac")["section6"]["folds"], _SEED), number, None))


@lru_cache(maxsize=4)
def release_of(figure: int, number: int, method: str, k: int) -> RowRelease:
    """Publish the training rows of a fold; tasks that share a release find it here."""
    release: RowRelease = METHODS[method](k).publish(
        fold_of(number).train.source, schema(figure), seed=_SEED, domains="exact"
    )
    return release


def _accuracy(task: Task) -> dict[str, Any]:
    fold = fold_of(task["fold"])
    learn, ask = fold.train.source, fold.test.source
    if task["method"] != "original":
        release = release_of(task["figure"], task["fold"], task["method"], task["k"])
        if task.get("asked") == "raw":
            learn = release.sample(seed=_SEED)
        else:
            learn, ask = release.frame, release.transform(ask, unseen="suppress")
            if task["stars"] == "missing":
                learn, ask = (without_stars(rows, release) for rows in (learn, ask))
    names = attributes()
    found = probabilities(task["classifier"], learn.select(*names, CLASS), ask.select(names), CLASS).argmax(axis=1)
    right = learn[CLASS].unique().sort().gather(found) == fold.test.source[CLASS]
    return {"accuracy": 100 * float(right.sum()) / len(right)}


def without_stars(rows: pl.DataFrame, release: RowRelease) -> pl.DataFrame:
    """Return published rows whose values at the root are missing."""
    roots = {
        name: hierarchy.label(0, hierarchy.n_leaves - 1)
        for name, hierarchy in zip(release.quasi, release.hierarchies, strict=True)
    }
    shown = [pl.when(pl.col(name) != root).then(pl.col(name)).alias(name) for name, root in roots.items()]
    return rows.with_columns(shown)


def _seconds(task: Task) -> dict[str, Any]:
    method, frame, roles = METHODS[task["method"]](task["k"]), table(), schema(4)
    taken = []
    for _ in range(_TURNS):
        start = time.process_time()
        release: RowRelease = method.publish(frame, roles, seed=_SEED, domains="exact")
        taken.append(time.process_time() - start)
    stars = (release.levels or {}).get("star_rows")
    return {"seconds": min(taken), "suppressed": None if stars is None else 100 * stars / frame.height}


def _levels(_task: Task) -> dict[str, Any]:
    frame, roles = table(), schema(4)
    curves = level_curves(frame, roles)
    heights = dict(curves.group_by("attribute").agg(pl.col("level").max()).rows())
    chosen = dict(curves.filter("chosen").select("attribute", "level").rows())
    sizes = group_size_curve(frame, roles)
    return {
        "rows": frame.height,
        "values": {name: frame[name].n_unique() for name in heights},
        "heights": heights,
        "chosen": chosen,
        "unique": 100 * float(sizes.filter(pl.col("size") == 1)["share"].sum()),
    }


def _curves(task: Task) -> dict[str, Any]:
    """Return the points of Figures 2 and 3 of the whole table."""
    frame, roles = table(), schema(4)
    return {
        "levels": level_curves(frame, roles).to_dicts(),
        "sizes": group_size_curve(frame, roles).to_dicts(),
        "suppression": suppression_curves(frame, roles, task["ks"]).to_dicts(),
    }


_KINDS: dict[str, Callable[[Task], dict[str, Any]]] = {
    "accuracy": _accuracy,
    "seconds": _seconds,
    "levels": _levels,
    "curves": _curves,
}


def means(done: Sequence[tuple[Task, Task]]) -> pl.DataFrame:
    """Average accuracies over folds: a row per figure, classifier, method, reading of ``*`` and k."""
    keys = {"figure": pl.Int64, "classifier": pl.String, "method": pl.String, "stars": pl.String, "k": pl.Int64}
    keys |= {"asked": pl.String}
    rows = [(*(task.get(name) for name in keys), result["accuracy"]) for task, result in done if "accuracy" in result]
    frame = pl.DataFrame(rows, {**keys, "accuracy": pl.Float64}, orient="row")
    return frame.group_by(list(keys), maintain_order=True).agg(pl.col("accuracy").mean(), pl.len().alias("folds"))
