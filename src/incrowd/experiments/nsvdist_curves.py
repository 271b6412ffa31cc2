"""Figures 2 to 4 and B.7 to B.11 of Last et al. 2014: accuracy against k, for each table, classifier and l.

The paper prints curves and no figures, so what is compared is what its text says of them. Its values of k are not
printed either; as many as its average ranks are over (Tables 7 and 8) are taken here. `quick` takes every other one,
one fold and two samples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import Any

import polars as pl

from incrowd import plots
from incrowd.datasets import DATASETS
from incrowd.experiments import nsvdist
from incrowd.experiments.experiment import AVERAGES, Done, Experiment, Options, Report, Section, Task, Verdict, judged
from incrowd.experiments.nsvdist import LABELS, PAPER_METHODS, TITLES

KS = {
    "abalone": (2, 5, 10, 20, 50, 100, 200, 300, 500),
    "adult": (2, 5, 10, 20, 50, 100, 150, 200, 300, 400, 500),
    "breast_cancer": (2, 5, 10, 20, 30, 50, 75, 100, 150),
    "cmc": (2, 5, 10, 20, 50, 100, 150, 200),
    "ecoli": (2, 5, 10, 20, 30, 50, 75),
    "mammographic": (2, 5, 10, 20, 30, 50, 75, 100, 150),
    "page_blocks": (5, 10, 20, 50, 100, 200, 300),
    "yeast": (2, 5, 10, 20, 50, 100, 200),
}
"""Values of k: the paper's numbers of them, our choice of values."""

MAIN = ("adult", "mammographic", "cmc")
APPENDIX = ("abalone", "breast_cancer", "ecoli", "page_blocks", "yeast")
ALMOST = 0.9  # of the points
FLAT = 1.0  # points above the majority class that count as no more than noise


def tasks(options: Options, tables: Sequence[str] = nsvdist.TABLES) -> list[Task]:
    """Return the tasks of all curves."""
    names = options.among(tables)
    return nsvdist.accuracy_tasks(names, PAPER_METHODS, nsvdist.classifiers(options), ks(options, names), options)


def ks(options: Options, names: Sequence[str]) -> dict[str, list[int]]:
    """Return the values of k of each table; 50 is always among them."""
    return {name: [k for i, k in enumerate(KS[name]) if not options.quick or i % 2 or k == 50] for name in names}


def report(done: Sequence[Done], options: Options) -> Report:
    """Show the curves, and judge what the text says of them."""
    means = nsvdist.means(done)
    learners = [name for name in nsvdist.classifiers(options) if name in means["classifier"].to_list()]
    names = [name for name in (*MAIN, *APPENDIX) if name in means["dataset"]]
    sections = [
        Section(f"{DATASETS[name].title}, {TITLES.get(learner, learner)}, l {'= 1' if level == 1 else '> 1'}", frame)
        for name in names
        for learner in learners
        for level in (1, 2)
        if (frame := curve(means, name, learner, level)).height
    ]
    sections.append(Section(AVERAGES, means, shown=False))
    verdicts = [verdict for name in names for verdict in _verdicts(means, name, learners)]
    note = (
        "Accuracies in percent, averages over folds and samples. The paper shows curves and prints no figures; "
        "values of k are ours, as many as the paper's."
    )
    small = (
        "At small k groups of people who are alike lose little, and keep everybody's own class, while a sample of "
        "NSVDist draws it from k people: that is the likely reason where SeqA is ahead. Our SeqA is better than the "
        "paper's on several tables of Table 4. With k = 2 and l > 1 NSVDist must show two values half and half."
    )
    return Report(sections, judged(verdicts, options), [note, small], lambda: draw(means, names, learners[0]))


def curve(means: pl.DataFrame, name: str, learner: str, level: int) -> pl.DataFrame:
    """Return a row per k with the accuracy of each method, and both baselines."""
    part = means.filter((pl.col("dataset") == name) & (pl.col("classifier") == learner))
    wide = part.filter(pl.col("level") == level).pivot("method", index="k", values="accuracy").sort("k")
    for base in ("majority", "original"):
        found = part.filter(pl.col("method") == base)["accuracy"]
        wide = wide.with_columns(pl.lit(found[0] if len(found) else None, pl.Float64()).alias(base))
    return wide.select(
        "k", *(pl.col(method).alias(label) for method, label in LABELS.items() if method in wide.columns)
    )


def _verdicts(means: pl.DataFrame, name: str, learners: Sequence[str]) -> list[Verdict]:
    """Judge section 5.3: NSVDist is on top for all k and l, and keeps telling something at larger k than the others."""
    title, verdicts = DATASETS[name].title, []
    points: list[dict[str, Any]] = []
    last: dict[str, int] = {}
    for learner in learners:
        for level in (1, 2):
            frame = curve(means, name, learner, level)
            others = [LABELS[method] for method in PAPER_METHODS[1:] if LABELS[method] in frame.columns]
            if "NSVDist" not in frame.columns or not others:
                continue
            for row in frame.drop_nulls(["NSVDist", *others]).to_dicts():
                best = max(others, key=row.__getitem__)
                points.append({"k": row["k"], "better": best if row[best] >= row["NSVDist"] else None})
            for label in ("NSVDist", *others):
                told = frame.filter(pl.col(label) > pl.col("majority") + FLAT)["k"]
                last[label] = max(last.get(label, 0), 0 if told.is_empty() else int(told.max()))  # type: ignore[arg-type]
    if not points:
        return []
    middle = median(point["k"] for point in points)
    for words, part in (
        ("at almost all k and l", points),
        (f"especially at higher k (from {middle:g})", [point for point in points if point["k"] >= middle]),
    ):
        better = Counter(point["better"] for point in part)
        ahead = better.pop(None, 0)
        told_by = ", ".join(f"{label} {n}" for label, n in better.most_common())
        verdicts.append(
            Verdict(
                f"{title}: NSVDist is above PAIS, SeqA and Mondrian, {words}",
                f"at {ahead} of {len(part)} points" + (f"; best of the others: {told_by}" if told_by else ""),
                ahead / len(part) >= ALMOST,
            )
        )
    longest = max(k for label, k in last.items() if label != "NSVDist")
    told_of = ", ".join(f"{label} {k}" for label, k in last.items())
    verdicts.append(
        Verdict(
            f"{title}: NSVDist still tells something where the others have fallen to the majority class",
            f"largest k with more than {FLAT:g} point above it: {told_of}",
            None if last["NSVDist"] == longest == max(point["k"] for point in points) else last["NSVDist"] > longest,
        )
    )
    return verdicts


def draw(means: pl.DataFrame, names: Sequence[str], learner: str) -> plots.Figure:
    """Draw a panel per table and l for one classifier."""
    title = f"Accuracy of {TITLES.get(learner, learner)} against k"
    drawn = plots.figure(2 * len(names), title=title, width=3.2, height=3.0, columns=4 if len(names) % 2 == 0 else 2)
    panels = [(name, level) for name in names for level in (1, 2)]
    for axes, (name, level) in zip(drawn.axes, panels, strict=True):
        frame = curve(means, name, learner, level)
        if not frame.height:
            continue
        points = frame.unpivot(index="k", variable_name="method", value_name="accuracy")
        heading = f"{DATASETS[name].title}, l {'= 1' if level == 1 else '> 1'}"
        plots.lines(axes, points, "k", "accuracy", "method", title=heading, log_x=True)
    return plots.one_legend(drawn)


EXPERIMENTS = (
    Experiment(
        "nsvdist-figs2-4", nsvdist.PAPER, "Figures 2 to 4", "accuracy against k: Adult, Mammographic, CMC",
        partial(tasks, tables=MAIN), nsvdist.run, report,
    ),
    Experiment(
        "nsvdist-figs-b7-b11", nsvdist.PAPER, "Figures B.7 to B.11", "accuracy against k: the other five tables",
        partial(tasks, tables=APPENDIX), nsvdist.run, report,
    ),
)  # fmt: skip
