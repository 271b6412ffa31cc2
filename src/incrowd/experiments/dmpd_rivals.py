"""Tables 3 to 6 of Matatov, Rokach and Maimon 2010: DMPD against TDS and TDR, on Adult and German.

The top 5, 7 and 9 columns are quasi-identifiers. All methods have the same halves, so two of them are compared by the
combined 5x2cv F-test, as in the paper; over all comparisons of a table by Bonferroni-Dunn's test (section 5.9).

TDS has the taxonomies of Adult's names, and shows or suppresses all values of a name elsewhere; TDR has none and
discloses single values. Both cut numbers at the best gain. They are our own publishers, not their inventors' programs.
`quick` takes one repetition, and a search of 10 generations of 20 partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from incrowd import plots
from incrowd.datasets import DATASETS
from incrowd.evaluate.statistics import average_ranks, bonferroni_dunn, combined_5x2
from incrowd.experiments import dmpd
from incrowd.experiments.dmpd import INDUCERS, LEVELS, METHODS, REPETITIONS
from incrowd.experiments.experiment import AVERAGES, Done, Experiment, Options, Report, Section, Task, Verdict
from incrowd.experiments.registry import published

TOPS = (5, 7, 9)
TABLES = {3: ("adult", "tds"), 4: ("adult", "tdr"), 5: ("german", "tds"), 6: ("german", "tdr")}
_WHOSE = {"": "", " paper": ", paper"}
Scores = dict[tuple[str, str, int, int], dict[tuple[int, int], float]]
"""By method, inducer, top and level: the accuracy of each half, in percent."""


def tasks(options: Options, number: int) -> list[Task]:
    """Return the tasks of a table; those of DMPD with the top 9 are Table 1's."""
    name, rival = TABLES[number]
    options.among([name])
    made: list[Task] = []
    for top in TOPS:
        made += dmpd.tasks_of(name, "dmpd", INDUCERS, options, top=top, one=top == 9)
        made += dmpd.tasks_of(name, rival, INDUCERS, options, top=top)
    return sorted(made, key=lambda task: (task["repetition"], task["half"]))


def report(done: Sequence[Done], options: Options, number: int) -> Report:
    """Put ours beside the paper's."""
    name, rival = TABLES[number]
    scores = scores_of(done)
    frame = figures(scores, number)
    sections = [_wide(frame, inducer, rival) for inducer in INDUCERS if frame.height]
    sections += [Section("All figures", frame, shown=False), Section(AVERAGES, dmpd.averages(done), shown=False)]
    verdicts = [_wins(frame, rival, published("dmpd")[f"table{number}"]["mean"]), *_overall(scores, rival)]
    draw = partial(_draw, frame, name, rival) if frame.height else None
    return Report(sections, verdicts, _notes(frame, name, options), draw)


def scores_of(done: Sequence[Done]) -> Scores:
    """Collect the accuracies of halves."""
    scores: Scores = {}
    for task, result in done:
        for level, accuracy in result.get("accuracy", {}).items():
            key = task["method"], task["inducer"], task["top"], int(level)
            scores.setdefault(key, {})[task["repetition"], task["half"]] = 100 * accuracy
    return scores


def figures(scores: Scores, number: int) -> pl.DataFrame:
    """Return a row per inducer, top and level with both methods."""
    name, rival = TABLES[number]
    paper = published("dmpd")[f"table{number}"]
    rows: list[dict[str, Any]] = []
    for i, inducer in enumerate(INDUCERS):
        for top in TOPS:
            for j, level in enumerate(LEVELS[name]):
                row: dict[str, Any] = {"inducer": inducer, "top": top, "k": level}
                both = _in_common(*(scores.get((method, inducer, top, level), {}) for method in ("dmpd", rival)))
                if not all(both):
                    continue
                for method, found in zip(("dmpd", rival), both, strict=True):
                    row[method] = float(np.mean(list(found.values())))
                    row[f"{method} paper"] = paper["mean"][f"{method}_top{top}"][4 * i + j]
                    row[f"{method} mark"] = bool(paper["mark"][f"{method}_top{top}"][4 * i + j])
                row["p"] = _p(*both)
                row["halves"] = len(both[0])
                rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def _in_common(
    one: dict[tuple[int, int], float], other: dict[tuple[int, int], float]
) -> list[dict[tuple[int, int], float]]:
    """Return the accuracies of the halves that both methods have."""
    return [{key: found[key] for key in sorted(one.keys() & other.keys())} for found in (one, other)]


def _p(one: dict[tuple[int, int], float], other: dict[tuple[int, int], float]) -> float | None:
    if not len(one) == len(other) == 2 * REPETITIONS:
        return None
    pair = [np.array([found[key] for key in sorted(one)]).reshape(REPETITIONS, 2) for found in (one, other)]
    return combined_5x2(*pair).p


def _wide(frame: pl.DataFrame, inducer: str, rival: str) -> Section:
    rows = []
    for row in frame.filter(pl.col("inducer") == inducer).to_dicts():
        shown: dict[str, Any] = {"quasi": f"top {row['top']}", "k": row["k"]}
        for method, other in (("dmpd", rival), (rival, "dmpd")):
            better = row["p"] is not None and row["p"] < 0.05 and row[method] > row[other]
            mark, theirs = "*" if better else "", "*" if row[f"{method} mark"] else ""
            shown[METHODS[method]] = f"{row[method]:.2f}{mark} ({row[method] - row[f'{method} paper']:+.2f})"
            shown[f"{METHODS[method]}, paper"] = f"{row[f'{method} paper']:.2f}{theirs}"
        rows.append(shown | {"p": row["p"]})
    text = (
        "Accuracy in percent, in brackets ours minus the paper's; * significantly better than the other method "
        "(combined 5x2cv F-test, 95 percent)."
    )
    return Section(INDUCERS[inducer], pl.DataFrame(rows, infer_schema_length=None), text)


def _draw(frame: pl.DataFrame, name: str, rival: str) -> plots.Figure:
    """Draw accuracy against k, a panel per inducer and number of quasi-identifiers."""
    title = f"DMPD and {METHODS[rival]} on {DATASETS[name].title}"
    drawn = plots.figure(len(INDUCERS) * len(TOPS), title=title, width=3.2, height=2.8, columns=len(TOPS))
    panels = [(inducer, top) for inducer in INDUCERS for top in TOPS]
    for axes, (inducer, top) in zip(drawn.axes, panels, strict=True):
        part = frame.filter((pl.col("inducer") == inducer) & (pl.col("top") == top))
        named = {f"{method}{end}": f"{METHODS[method]}{of}" for end, of in _WHOSE.items() for method in ("dmpd", rival)}
        points = part.select("k", *named).rename(named).unpivot(index="k", variable_name="of", value_name="accuracy")
        plots.lines(axes, points, "k", "accuracy", "of", title=f"{INDUCERS[inducer]}, top {top}", log_x=True)
    return plots.one_legend(drawn)


def _wins(frame: pl.DataFrame, rival: str, paper: dict[str, list[float]]) -> Verdict:
    theirs = sum(
        a > b for top in TOPS for a, b in zip(paper[f"dmpd_top{top}"], paper[f"{rival}_top{top}"], strict=True)
    )
    claim = f"DMPD is more accurate than {METHODS[rival]} in most comparisons ({theirs} of 24 in the paper)"
    if not frame.height:
        return Verdict(claim, "nothing was computed", None)
    wins = frame.filter(pl.col("dmpd") > pl.col(rival)).height
    clear = frame.filter(pl.col("p") < 0.05)
    won = clear.filter(pl.col("dmpd") > pl.col(rival)).height
    found = f"in {wins} of {frame.height}; significantly in {won}, and significantly less in {clear.height - won}"
    whole = min(frame["halves"].to_list()) == 2 * REPETITIONS
    return Verdict(claim, found, 2 * wins > frame.height if whole else None)


def _overall(scores: Scores, rival: str) -> list[Verdict]:
    """Section 5.9 over the halves of these comparisons; the paper does it over all four tables at once."""
    lists: dict[str, list[float]] = {METHODS["dmpd"]: [], METHODS[rival]: []}
    for (method, *case), found in scores.items():
        other = scores.get((rival, *case), {})  # type: ignore[arg-type]
        if method == "dmpd":
            for key in sorted(found.keys() & other.keys()):
                lists["DMPD"].append(found[key])
                lists[METHODS[rival]].append(other[key])
    if len(lists["DMPD"]) < 2:
        return []
    test = bonferroni_dunn(average_ranks(lists), "DMPD")
    claim = f"DMPD outperforms {METHODS[rival]} over all comparisons (section 5.9)"
    words = f"{test.verdict} z = {test.others[0].z:.2f} over {len(lists['DMPD'])} halves"
    whole = len(lists["DMPD"]) == 2 * REPETITIONS * sum(method == rival for method, *_ in scores)
    return [Verdict(claim, words, test.others[0].differs and test.others[0].difference > 0 if whole else None)]


def _notes(frame: pl.DataFrame, name: str, options: Options) -> list[str]:
    least = min(frame["halves"].to_list(), default=0) if frame.height else 0
    search = "10 generations of 20 partitions" if options.quick else "100 generations of 50 partitions"
    rivals = (
        "TDS and TDR are our own publishers; the paper had their inventors' programs. A column that is a "
        "quasi-identifier by other names is left out for all methods. TDS has taxonomies for Adult's "
        "names only, as in the paper; TDR suppresses."
    )
    learners = (
        "Classifiers: C4.5 pruned as J48's for TDS and TDR, unpruned in DMPD's parts; naive Bayes with numbers in "
        "intervals."
    )
    return [
        f"{DATASETS[name].title}: 5 x 2 cross-validation, at least {least} of 10 halves per figure; {search}.",
        rivals,
        learners,
        "The halves of all comparisons together are not independent, in the paper or here: z says more than it should.",
    ]


EXPERIMENTS = tuple(
    Experiment(
        f"dmpd-table{number}",
        dmpd.PAPER,
        f"Table {number}",
        f"DMPD against {METHODS[rival]} on {DATASETS[name].title}",
        partial(tasks, number=number),
        dmpd.run,
        partial(report, number=number),
    )
    for number, (name, rival) in TABLES.items()
)
