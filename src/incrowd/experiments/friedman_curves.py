"""Figures 6 to 8 of Friedman, Wolff and Schuster 2008: error and exposed people against k, accuracy against confidence.

The paper prints curves and few figures, so what is compared is what its text says of them. Its values of k are not
printed either, except 750 and 1000; the others are ours. `quick` takes some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from incrowd import plots
from incrowd.experiments import adult, friedman
from incrowd.experiments.experiment import Done, Experiment, Options, Report, Section, Task, Verdict, beside, judged
from incrowd.experiments.registry import published
from incrowd.learn.tree import diversity_for_confidence

if TYPE_CHECKING:
    from incrowd.plots import Figure

KS = (2, 5, 10, 25, 50, 100, 200, 500, 750, 1000, 1500)
LIMITS = (76, 80, 85, 86, 88, 90, 92, 94, 96, 98, 99)
QUICK_KS, QUICK_LIMITS = (10, 100, 750, 1000), (85, 86, 90, 99)
SMALL = 1.0  # points that count as no significant penalty

_BASELINES = {"id3": "ID3", "c45": "C4.5"}


def tasks(options: Options) -> list[Task]:
    """Return the baselines, and a task per k and per limit of confidence."""
    options.among(["adult"])
    shared = {"trees": adult.trees()}
    ks, limits = (QUICK_KS, QUICK_LIMITS) if options.quick else (KS, LIMITS)
    made: list[Task] = [shared | {"method": name} for name in _BASELINES]
    made += [shared | {"method": method, "k": k} for k in ks for method in ("tree", "tds")]
    limited = [{"method": "tree", "limit": limit, "l": diversity_for_confidence(limit / 100)} for limit in limits]
    return [*made, shared | {"method": "roots"}, *(shared | task for task in limited)]


def report(done: Sequence[Done], options: Options) -> Report:
    """Show the curves, and judge what the text says of them."""
    good = [(task, result) for task, result in done if "failed" not in result]
    base = {task["method"]: result["error"] for task, result in good if task["method"] in _BASELINES}
    by_k, limited = against_k(good, base), against_limit(good)
    sections = [
        Section("Against k (Figures 6 and 7)", by_k, "Test error and exposed people, both in percent."),
        Section("Against the limit of confidence (Figure 8)", limited, "Test accuracy in percent; no k."),
        Section("What the text has figures of", _printed(by_k), "TDS: average reduction of the error, in points."),
        Section("Every split of the root", roots(good), "How sure somebody can be of the class in the surest part."),
    ]
    verdicts = [*_of_errors(by_k), *_of_roots(good), *_of_exposed(by_k), *_of_limits(limited, base)]
    verdicts += [*_of_splits(good), *_of_time(good)]
    asked = "some values of k and of the limit" if options.quick else "all values of k and of the limit"
    notes = [
        *friedman.about(done),
        f"This run has {asked}. They are ours: the paper shows curves and names k = 750 and 1000 only.",
        "C4.5 is ours with the paper's confidence factor; it does not raise subtrees as Weka's J48 does.",
    ]
    return Report(sections, judged(verdicts, options), notes, lambda: draw(by_k, limited))


def against_k(good: Sequence[Done], base: dict[str, float]) -> pl.DataFrame:
    """Return a row per k: errors of all methods, and exposed people."""
    kinds = {"k": pl.Int64, "error": pl.Float64, "TDS": pl.Float64, "exposed": pl.Float64, "leaves": pl.Int64}
    specialized = {task["k"]: result["error"] for task, result in good if task["method"] == "tds"}
    rows = [
        (task["k"], result["error"], specialized.get(task["k"]), result["exposed"], result["leaves"])
        for task, result in good
        if task["method"] == "tree" and "k" in task
    ]
    lines = [pl.lit(base.get(name), pl.Float64).alias(title) for name, title in _BASELINES.items()]
    return pl.DataFrame(rows, kinds, orient="row").with_columns(lines).sort("k")


def against_limit(good: Sequence[Done]) -> pl.DataFrame:
    """Return a row per limit of confidence: accuracy, and what the root alone would reach."""
    kinds = {"limit": pl.Int64, "l": pl.Float64, "accuracy": pl.Float64, "leaves": pl.Int64}
    rows = [
        (task["limit"], task["l"], 100 - result["error"], result["leaves"]) for task, result in good if "limit" in task
    ]
    return pl.DataFrame(rows, kinds, orient="row").sort("limit")


def _printed(by_k: pl.DataFrame) -> pl.DataFrame:
    figures = published("friedman")
    both = by_k.drop_nulls("TDS")
    less = (both["TDS"] - both["error"]).mean()
    rows = [
        ("reduction of the error against TDS", less, figures["figure6"]["reduction_against_tds"]),
        ("l for a limit of 85 percent", diversity_for_confidence(0.85), figures["figure8"]["l_of_85"]),
    ]
    return beside(pl.DataFrame(rows, {"figure": pl.String, "ours": pl.Float64, "paper": pl.Float64}, orient="row"))


def _of_errors(by_k: pl.DataFrame) -> list[Verdict]:
    both = by_k.drop_nulls(["TDS", "ID3"])
    if not both.height:
        return []
    less = (both["TDS"] - both["error"]).to_list()
    mean, paper = sum(less) / len(less), published("friedman")["figure6"]["reduction_against_tds"]
    worst = max((both["error"] - both["ID3"]).to_list())
    return [
        Verdict(
            "good accuracy in spite of anonymity: never much worse than ID3 without it",
            f"error at most {worst:.2f} points above ID3's",
            worst <= SMALL,
        ),
        Verdict(
            f"on average at least {paper} points less error than TDS",
            f"{mean:.2f} points less, from {min(less):.2f} to {max(less):.2f} by k",
            mean >= paper,
        ),
    ]


def _of_roots(good: Sequence[Done]) -> list[Verdict]:
    """Section 6.1: why k = 750 is worse than k = 1000."""
    trees = {task["k"]: result for task, result in good if task["method"] == "tree" and "k" in task}
    if 750 not in trees or 1000 not in trees:
        return []
    told, low, high = published("friedman")["figure6"], trees[750], trees[1000]
    return [
        Verdict(
            f"at k = 750 the root is split by {told['root_at_750']} at its lowest level",
            f"{low['root']}, {low['root_parts']} parts of {low['root_values']} values",
            low["root"] == told["root_at_750"] and low["root_parts"] == low["root_values"],
        ),
        Verdict(
            f"at k = 1000 it is split by {told['root_at_1000']} above its lowest level",
            f"{high['root']}, {high['root_parts']} parts of {high['root_values']} values",
            high["root"] == told["root_at_1000"] and high["root_parts"] < high["root_values"],
        ),
        Verdict(
            "k = 1000 has less error than k = 750",
            f"{high['error']:.2f} and {low['error']:.2f}",
            high["error"] < low["error"],
        ),
    ]


def _of_exposed(by_k: pl.DataFrame) -> list[Verdict]:
    if by_k.height < 2:
        return []
    falls = by_k["exposed"].diff().drop_nulls().to_list()
    free = by_k.filter(pl.col("exposed") == 0)["k"].to_list()
    last = max(by_k.filter(pl.col("exposed") > 0)["k"].to_list(), default=0)
    return [
        Verdict(
            "fewer people are exposed as k grows",
            f"from {by_k['exposed'][0]:.2f} percent at k = {by_k['k'][0]} to {by_k['exposed'][-1]:.2f}",
            all(step <= 0 for step in falls),
        ),
        Verdict(
            "only a high k exposes nobody",
            f"k = {last} still exposes somebody; nobody from k = {free[0]} on" if free else "somebody at every k",
            bool(free) and free[0] >= 100,
        ),
    ]


def _of_limits(limited: pl.DataFrame, base: dict[str, float]) -> list[Verdict]:
    bar = published("friedman")["figure8"]["no_tree_up_to"]
    low, high = (limited.filter(part) for part in (pl.col("limit") <= bar, pl.col("limit") > bar))
    if not low.height or not high.height or "id3" not in base:
        return []
    best, gap = max(low["accuracy"].to_list()), 100 - base["id3"] - high["accuracy"][-1]
    majority = 100 - published("friedman")["section6"]["test_share_over_50k"]
    return [
        Verdict(
            f"a limit of {bar} percent or lower allows no useful tree",
            f"accuracy at most {best:.2f}; the majority class has about {majority:.1f}",
            best < majority + SMALL,
        ),
        Verdict(
            "a high limit costs no significant accuracy",
            f"at {high['limit'][-1]} percent {abs(gap):.2f} points {'below' if gap > 0 else 'above'} ID3",
            gap <= SMALL,
        ),
    ]


def roots(good: Sequence[Done]) -> pl.DataFrame:
    """Return a row per split of the root, from the least sure to the surest; level 0 is the values themselves."""
    kinds = {"attribute": pl.String, "level": pl.Int64, "parts": pl.Int64, "surest": pl.Float64}
    rows = [split for task, result in good if task["method"] == "roots" for split in result["splits"]]
    return pl.DataFrame(rows, kinds).sort("surest", "attribute")


def _of_splits(good: Sequence[Done]) -> list[Verdict]:
    """Section 6.3: why a limit of 85 percent allows no tree."""
    splits, bar = roots(good), published("friedman")["figure8"]["no_tree_up_to"]
    if not splits.height:
        return []
    least = splits.row(0, named=True)
    found = f"{least['surest']:.1f} percent by {least['attribute']} in {least['parts']} parts, the least of all splits"
    claim = f"every split of the root has a part in which somebody is more than {bar} percent sure"
    return [Verdict(claim, found, least["surest"] > bar)]


def _of_time(good: Sequence[Done]) -> list[Verdict]:
    most = published("friedman")["section6"]["most_seconds"]
    slowest = max((result["seconds"] for _, result in good if "seconds" in result), default=0.0)
    return [
        Verdict(f"a tree takes less than {most} seconds", f"at most {slowest:.2f} of the processor", slowest < most)
    ]


def draw(by_k: pl.DataFrame, limited: pl.DataFrame) -> Figure:
    """Draw the three figures."""
    drawn = plots.figure(3, title="k-anonymous trees on Adult")
    errors = by_k.select(
        "k", pl.col("error").alias("k-anonymous tree"), pl.col("TDS").alias("TDS and ID3"), "ID3", "C4.5"
    )
    points = errors.unpivot(index="k", variable_name="method", value_name="error")
    first, second, third = drawn.axes
    plots.lines(first, points, "k", "error", "method", labels=("k", "test error (%)"), title="Fig. 6", log_x=True)
    plots.lines(second, by_k, "k", "exposed", labels=("k", "exposed people (%)"), title="Fig. 7", log_x=True)
    labels = ("limit of confidence (%)", "test accuracy (%)")
    plots.lines(third, limited, "limit", "accuracy", labels=labels, title="Fig. 8")
    return drawn


EXPERIMENTS = (
    Experiment(
        "friedman-figs6-8", friedman.PAPER, "Figures 6 to 8",
        "error and exposed people against k, accuracy against confidence", tasks, friedman.run, report,
    ),
)  # fmt: skip
