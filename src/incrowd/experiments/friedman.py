"""How Friedman, Wolff and Schuster 2008 measure (section 6), as one function of a task.

Adult's eight names, all of them public, the class private; numbers are left out, and rows with a missing value. A tree
is induced from the training part and asked about the test part as it is. Methods: ``tree`` (k-anonymous, or with l the
entropy diversity of section 6.3 in place of k), ``id3`` (the same without a constraint), ``c45`` and ``tds`` (ID3 from
a table by top-down specialization, asked about test rows that are recoded alike). ``roots`` is no method: of every way
to split the root it tells how sure an attacker would be in the surest of its parts.

The paper takes its taxonomies from the TDS paper. They are read from ``hierarchies/adult_tds`` in the folder
INCROWD_DATA; without it the trees of `incrowd.datasets.adult_schema` stand in for them, and figures differ. A task
names its trees, so that a store never mixes them.

Rivals that the paper names recode all rows alike: ``k_optimal`` and ``iyengar``, by CM, with age as a range of numbers.
A suppressed row counts as one outside the majority class.

What we chose: C4.5 is `incrowd.learn.c45` with the paper's confidence factor in place of Weka's J48. It replaces
subtrees and does not raise them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from incrowd.datasets.schemas import adult_trees
from incrowd.experiments.adult import CLASS, about_trees, part_of
from incrowd.experiments.experiment import Task
from incrowd.experiments.registry import published
from incrowd.hierarchy import Intervals, Spec
from incrowd.learn.c45 import C45
from incrowd.learn.columns import build
from incrowd.learn.tree import KAnonymousTreeClassifier
from incrowd.publish import TDS, Iyengar, KOptimal, Publisher
from incrowd.publish.decomposition.partition_classifier import PartitionClassifier
from incrowd.schema import Schema

PAPER = "Friedman, Wolff, Schuster: Providing k-anonymity in data mining, 2008"
NAMES = (
    "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country",
)  # fmt: skip


def about(done: Sequence[tuple[Task, Task]]) -> list[str]:
    """Return notes on what was measured."""
    sizes = {(result["rows"], result["asked"]) for _, result in done if "rows" in result}
    parts = [f"{rows} training and {asked} test rows, complete ones only." for rows, asked in sorted(sizes)]
    return [*parts, *about_trees(task["trees"] for task, _ in done)]


def run(task: Task) -> dict[str, Any]:
    """Induce a tree; return its test error in percent, and for a k-anonymous one what its spans tell."""
    train, test = part_of("adult"), part_of("adult_test")
    names = [name for name in NAMES if name not in task.get("without", ())]
    return {"rows": train.height, "asked": test.height, **_METHODS[task["method"]](task, names, train, test)}


def _tree(task: Task, names: list[str], train: pl.DataFrame, test: pl.DataFrame) -> dict[str, Any]:
    model = KAnonymousTreeClassifier(k=task.get("k", 1), l=task.get("l"), hierarchies=_hierarchies(names))
    start = time.process_time()
    model.fit(train.select(names), train[CLASS])
    seconds = time.process_time() - start
    root = int(model.tree_.nodes[0, 0])
    return {
        "error": 100 * (1 - model.score(test.select(names), test[CLASS])),
        **told_by_spans(model.spans_.span_of, train[CLASS]),
        "leaves": int(model.n_leaves_),
        "root": names[root] if root >= 0 else None,
        "root_parts": len(model.tree_.parts(0)),
        "root_values": int(train[names[root]].n_unique()) if root >= 0 else 0,
        "seconds": seconds,
    }


def told_by_spans(span_of: Any, classes: pl.Series) -> dict[str, Any]:  # noqa: ANN401
    """Return the people outside the majority class of their span (CM), and the percentage in spans of one class."""
    counts = pl.DataFrame({"span": span_of, "class": classes}).group_by("span", "class").len()
    spans = counts.group_by("span").agg(pl.col("len").max().alias("most"), pl.col("len").sum().alias("all"))
    exposed = spans.filter(pl.col("most") == pl.col("all"))["all"].sum()
    return {"cm": len(classes) - int(spans["most"].sum()), "exposed": 100 * exposed / len(classes)}


def _roots(_task: Task, names: list[str], train: pl.DataFrame, _test: pl.DataFrame) -> dict[str, Any]:
    """Return the confidence in the surest part of every split of the root: an attribute at a level above its root."""
    classes = train[CLASS].rank("dense").to_numpy().astype(np.int64) - 1
    splits = []
    hierarchies, codes = build([train[name] for name in names], _hierarchies(names), train[CLASS])
    for m, name in enumerate(names):
        for level, first in enumerate(hierarchies[m].levels()[0][:-1]):
            parts, part_of_row = np.unique(first[codes[:, m]], return_inverse=True)
            counts = np.bincount(2 * part_of_row + classes, minlength=2 * len(parts)).reshape(-1, 2)
            if len(parts) > 1:
                surest = float((counts.max(axis=1) / counts.sum(axis=1)).max())
                splits.append({"attribute": name, "level": level, "parts": len(parts), "surest": 100 * surest})
    return {"splits": splits}


def _c45(_task: Task, names: list[str], train: pl.DataFrame, test: pl.DataFrame) -> dict[str, Any]:
    inducer = C45(confidence=published("friedman")["section6"]["c45_confidence"])
    model = PartitionClassifier(inducer=inducer).fit(train.select(names), train[CLASS])
    right = model.predict(test.select(names)) == test[CLASS].to_numpy()
    return {"error": 100 * (1 - float(right.mean()))}


def _tds(task: Task, names: list[str], train: pl.DataFrame, test: pl.DataFrame) -> dict[str, Any]:
    schema = Schema(quasi=_hierarchies(names), sensitive=CLASS, rest="drop")
    release = TDS(k=task["k"]).publish(train, schema, seed=1, domains="exact")
    model = KAnonymousTreeClassifier(k=1).fit(release.frame.select(names), release.frame[CLASS])
    asked = release.transform(test, unseen="suppress").select(names)
    return {"error": 100 * (1 - model.score(asked, test[CLASS]))}


def _rival(task: Task, names: list[str], train: pl.DataFrame, _test: pl.DataFrame) -> dict[str, Any]:
    publisher: Publisher[Any]
    if task["method"] == "k_optimal":
        publisher = KOptimal(k=task["k"], loss="cm", looks=task["looks"])
    else:
        publisher = Iyengar(k=task["k"], loss="cm", rounds=task["rounds"])
    quasi = {**_hierarchies(names), "age": Intervals()}
    start = time.process_time()
    release = publisher.publish(train, Schema(quasi=quasi, sensitive=CLASS, rest="drop"), seed=1)
    reached = release.levels or {}
    told = {name: reached.get(name) for name in ("cost", "cost_at_least", "star_rows")}
    return {**told, "seconds": time.process_time() - start}


def _hierarchies(names: Sequence[str]) -> dict[Any, Spec | None]:
    known = adult_trees()
    return {name: known[name] for name in names}


_METHODS: dict[str, Callable[[Task, list[str], pl.DataFrame, pl.DataFrame], dict[str, Any]]] = {
    "tree": _tree,
    "id3": _tree,
    "c45": _c45,
    "tds": _tds,
    "roots": _roots,
    "k_optimal": _rival,
    "iyengar": _rival,
}
