"""Association rules from releases of NSVDist against those of the original: what "NSGVD" names and does not measure.

The paper that combines NSVDist with association rules prints no figure of rules. So this is ours: the rules of a
release by expected supports (`incrowd.rules_from_release`) beside the rules of the original at the same thresholds,
against k, for both modes of NSVDist. Numbers are items by the quarter of the table that they are in; of the groceries,
the most frequent ones, bought or not, and the last of them is the sensitive one. `quick` takes two tables and two
values of k.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import polars as pl

from incrowd import datasets, plots
from incrowd.datasets.schemas import NSVDIST
from incrowd.datasets.sources import folder
from incrowd.errors import MissingDependencyError
from incrowd.experiments.experiment import Done, Experiment, Options, Report, Section, Task, Verdict, judged
from incrowd.publish import NSVDist
from incrowd.release import RowRelease
from incrowd.rules.anonymous import anonymous_rules
from incrowd.rules.release_rules import compare_rules, in_ranges, rules_from_release
from incrowd.schema import Schema

PAPER = "Association rules from non-homogeneous generalization with sensitive value distributions (NSGVD)"
TABLES = ("heart_cleveland", "ecoli", "yeast", "groceries")
KS, QUICK_KS = (2, 5, 10, 20, 50), (5, 20)
MODES = ("paper", "hardened")
THRESHOLDS: dict[str, Any] = {"min_support": 0.1, "min_confidence": 0.6, "max_len": 3}
_ITEMS = 10  # groceries that are columns
_SEED = 1
_MEASURES = ("recall", "precision", "support off by", "rank agreement")


def tasks(options: Options) -> list[Task]:
    """Return a task per table, mode and k."""
    names = [name for name in options.among(TABLES) if name != "groceries" or _groceries_file() is not None]
    names = names[:2] if options.quick else names
    ks = QUICK_KS if options.quick else KS
    return [{"dataset": name, "mode": mode, "k": k, "seed": _SEED} for name in names for mode in MODES for k in ks]


def run(task: Task) -> dict[str, Any]:
    """Publish, mine, and compare."""
    frame, schema = table_of(task["dataset"])
    release: RowRelease = NSVDist(k=task["k"], mode=task["mode"]).publish(
        frame, schema, seed=task["seed"], domains="exact"
    )
    shown = frame.select(*schema.quasi, *schema.other, str(schema.target))
    cuts = cuts_of(shown)
    original = anonymous_rules(in_ranges(shown, cuts), public=[], k=1, **THRESHOLDS).rules
    found = compare_rules(rules_from_release(release, cuts=cuts, **THRESHOLDS), original)
    return {
        "original": original.height, "found": found.matched.height + found.false.height, "recall": found.recall,
        "precision": found.precision, "support": found.deviation("support")["mean"],
        "ranks": found.rank_agreement("confidence"), "lm": release.loss("lm"),
    }  # fmt: skip


@lru_cache(maxsize=4)
def table_of(name: str) -> tuple[pl.DataFrame, Schema]:
    """Return the complete rows of a table, and its roles."""
    if name == "groceries":
        frame = _groceries()
        return frame, Schema(quasi=dict.fromkeys(frame.columns[:-1]), sensitive=frame.columns[-1])
    schema = datasets.schema(name, "nsvdist" if name in NSVDIST else "dmpd")
    frame = datasets.load(name).drop_nulls()
    return frame.with_columns(pl.col(str(schema.target)).cast(pl.String)), schema


def cuts_of(frame: pl.DataFrame) -> dict[str, list[float]]:
    """Return where the quarters of each column of numbers begin; fewer where one value fills several of them."""
    found = {}
    for column in frame.iter_columns():
        if column.dtype.is_numeric():
            starts = [float(column.quantile(share) or 0.0) for share in (0.25, 0.5, 0.75)]
            least = float(column.min())  # type: ignore[arg-type]
            starts = [start for before, start in pairwise([least, *starts]) if start > before]
            if starts:
                found[column.name] = starts
    return found


def _groceries_file() -> Any:  # noqa: ANN401
    where = folder()
    path = None if where is None else where / "transactions" / "groceries.csv"
    return path if path is not None and path.exists() else None


def _groceries() -> pl.DataFrame:
    path = _groceries_file()
    if path is None:
        fact = "The table 'groceries' is not on this machine"
        raise MissingDependencyError(fact, "set INCROWD_DATA to a folder with transactions/groceries.csv")
    sold = pl.read_csv(path)
    baskets, item = sold.columns
    most = sold[item].value_counts(sort=True)[item].head(_ITEMS).to_list()
    every = sold.select(baskets).unique(maintain_order=True)
    bought = sold.filter(pl.col(item).is_in(most)).with_columns(bought=pl.lit("yes"))
    wide = every.join(
        bought.pivot(item, index=baskets, values="bought", aggregate_function="first"), on=baskets, how="left"
    )
    return wide.select(pl.col(most).fill_null("no"))


def report(done: Sequence[Done], options: Options) -> Report:
    """Show what becomes of the rules, and judge that more of them are lost as k grows."""
    kinds = {"dataset": pl.String, "mode": pl.String, "k": pl.Int64, "original": pl.Int64, "found": pl.Int64}
    kinds |= dict.fromkeys((*_MEASURES, "lm"), pl.Float64)
    columns = ("original", "found", "recall", "precision", "support", "ranks", "lm")
    rows = [
        (task["dataset"], task["mode"], task["k"], *(result[name] for name in columns))
        for task, result in done
        if "failed" not in result
    ]
    frame = pl.DataFrame(rows, kinds, orient="row")
    text = (
        "Rules with a support of at least {min_support:g}, a confidence of at least {min_confidence:g} and at most "
        "{max_len} items. Support off by: the mean over rules in both; rank agreement: Spearman's, of confidences."
    ).format(**THRESHOLDS)
    section = Section("Rules of releases beside those of the original", frame, text)
    note = "The paper prints no figure of rules: thresholds, items and measures are ours."
    return Report([section], judged(_verdicts(frame), options), [note], lambda: draw(frame))


def _verdicts(frame: pl.DataFrame) -> list[Verdict]:
    verdicts = []
    for (name, mode), part in frame.sort("k").group_by("dataset", "mode", maintain_order=True):
        first, last = part["recall"][0], part["recall"][-1]
        found = f"recall from {first:.2f} to {last:.2f}"
        claim = f"{datasets_title(str(name))}, {mode} mode: fewer of the original's rules are found as k grows"
        verdicts.append(Verdict(claim, found, last < first if part.height > 1 else None))
    return verdicts


def datasets_title(name: str) -> str:
    """Return what a table is called."""
    return "Groceries" if name == "groceries" else datasets.DATASETS[name].title


def draw(frame: pl.DataFrame) -> plots.Figure:
    """Draw recall and precision against k for each mode."""
    drawn = plots.figure(4, title="Rules of releases", width=4.4, height=3.2, columns=2)
    for axes, (measure, mode) in zip(drawn.axes, [(m, mode) for m in _MEASURES[:2] for mode in MODES], strict=True):
        part = frame.filter(pl.col("mode") == mode)
        plots.lines(axes, part, "k", measure, "dataset", title=f"{measure}, {mode} mode", log_x=True)
    return plots.one_legend(drawn)


EXPERIMENTS = (
    Experiment(
        "rules-from-releases", PAPER, "no figure of it", "association rules of releases and of the original", tasks,
        run, report,
    ),
)  # fmt: skip
