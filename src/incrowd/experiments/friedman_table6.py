"""Table 6 of Friedman, Wolff and Schuster 2008: the classification metric of k-anonymous trees on Adult.

Relationship is left out, as k-Optimal's authors did not use it. All of it takes seconds, so `quick` is the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from incrowd import plots
from incrowd.experiments import adult, friedman
from incrowd.experiments.experiment import Done, Experiment, Options, Report, Section, Task, Verdict, beside
from incrowd.experiments.registry import published

if TYPE_CHECKING:
    from incrowd.plots import Figure

_NO_ROWS = {
    "k": pl.Int64, "ours": pl.Int64, "paper": pl.Int64, "k-Optimal, from": pl.Int64, "to": pl.Int64,
    "leaves": pl.Int64, "seconds": pl.Float64,
}  # fmt: skip


def tasks(options: Options) -> list[Task]:
    """Return a task per k of the table."""
    options.among(["adult"])
    shared = {"method": "tree", "without": ["relationship"], "trees": adult.trees()}
    return [shared | {"k": k} for k in published("friedman")["table6"]["k"]]


def report(done: Sequence[Done], _options: Options) -> Report:
    """Put ours beside the paper's."""
    frame = figures(done)
    most = published("friedman")["section6"]["most_seconds"]
    slowest = max(frame["seconds"].to_list(), default=0.0)
    verdicts = [
        _count(frame, "at most the paper's CM at every k", pl.col("ours") <= pl.col("paper")),
        _count(frame, "within k-Optimal's range of CM or below it at every k", pl.col("ours") <= pl.col("to")),
        _count(
            frame, "below all of k-Optimal's range at some k", pl.col("ours") < pl.col("k-Optimal, from"), some=True
        ),
        Verdict(f"a tree takes less than {most} seconds", f"at most {slowest:.2f} of the processor", slowest < most),
    ]
    text = "People outside the majority class of their span; less is better. k-Optimal's are as the paper has them."
    notes = [
        *friedman.about(done),
        "Relationship is left out as in the paper. k-Optimal also used age, which these trees do not have.",
        "The paper's seconds are those of a Pentium IV of 3 GHz.",
    ]
    return Report([Section("Classification metric", frame, text)], verdicts, notes, lambda: draw(frame))


def figures(done: Sequence[Done]) -> pl.DataFrame:
    """Return a row per k."""
    table = published("friedman")["table6"]
    theirs = dict(zip(table["k"], zip(*(table[name] for name in _COLUMNS), strict=True), strict=True))
    rows = [
        (task["k"], result["cm"], *theirs[task["k"]], result["leaves"], result["seconds"])
        for task, result in done
        if "failed" not in result
    ]
    frame = beside(pl.DataFrame(rows, _NO_ROWS, orient="row"))
    return frame.select("k", "ours", "paper", "difference", pl.all().exclude("k", "ours", "paper", "difference"))


_COLUMNS = ("anonymous_dt", "k_optimal_low", "k_optimal_high")


def _count(frame: pl.DataFrame, claim: str, holds: pl.Expr, *, some: bool = False) -> Verdict:
    found = frame.filter(holds)["k"].to_list()
    enough = len(found) > 0 if some else len(found) == frame.height
    at = f": {', '.join(map(str, found))}" if found else ""
    return Verdict(claim, f"at {len(found)} of {frame.height} values of k{at}", enough if frame.height else None)


def draw(frame: pl.DataFrame) -> Figure:
    """Draw CM against k: ours, the paper's, and both ends of k-Optimal's range."""
    drawn = plots.figure(title="People outside the majority class of their span (Adult)", width=6.4)
    titles = (
        {"ours": "ours", "paper": "paper"}
        if (frame["difference"] != 0).any()
        else {"ours": "ours and the paper's, equal"}
    )
    titles |= {"k-Optimal, from": "k-Optimal, lowest", "to": "k-Optimal, highest"}
    points = frame.select("k", *titles).rename(titles).unpivot(index="k", variable_name="method", value_name="CM")
    plots.lines(drawn.axes[0], points, "k", "CM", "method", log_x=True)
    return drawn


EXPERIMENTS = (
    Experiment(
        "friedman-table6", friedman.PAPER, "Table 6", "classification metric of k-anonymous trees",
        tasks, friedman.run, report,
    ),
)  # fmt: skip
