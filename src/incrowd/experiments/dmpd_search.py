"""Table 2 and Figures 10 to 12 of Matatov, Rokach and Maimon 2010: time, settings of the search, and the frontier.

Table 2 and Figure 10: German with sigma - 1 variations of every row, drawn as the paper does, each value at random from
its column. Figure 11: German and CMC, top 5, k = 10, trees, by generations and population. Figure 12: Adult with the
top 5 and the top 9, surfaces of several runs. The paper prints curves of the two last, so what is compared is what its
text says. `quick`: two factors; one repetition and fewer settings; one run of a small search on a sample of Adult.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from incrowd import plots
from incrowd.datasets import DATASETS
from incrowd.experiments import dmpd
from incrowd.experiments.experiment import Done, Experiment, Options, Report, Section, Task, Verdict, judged
from incrowd.experiments.registry import published
from incrowd.publish import DMPD, ParetoDMPD
from incrowd.schema import Schema

TOP, K = 5, 10
GENERATIONS, POPULATIONS = (50, 100, 150, 200), (50, 100)
BETTER = 1.0  # points that count as significantly better in Figure 11
RUNS = 10
_CLASS = "class"
_SAMPLE = 3000


def _schema(name: str, top: int, columns: Sequence[str]) -> Schema:
    quasi = dmpd.quasi_of(name, top)
    gone = {*quasi, *dmpd.copies(name, top), _CLASS}
    return Schema(
        quasi=list(quasi), sensitive=_CLASS, other=[each for each in columns if each not in gone], rest="drop"
    )


def time_tasks(options: Options) -> list[Task]:
    """Return a task per factor."""
    options.among(["german"])
    factors = published("dmpd")["table2"]["factor"]
    search = {"generations": 10, "population": 20} if options.quick else {"generations": 100, "population": 50}
    return [{"factor": factor, **search} for factor in (factors[:2] if options.quick else factors)]


def run_time(task: Task) -> dict[str, Any]:
    """Publish the enlarged table, and return the seconds of the processor."""
    frame = enlarged(dmpd.table_of("german"), task["factor"])
    method = DMPD(k=K, inducer="c45", generations=task["generations"], population=task["population"])
    start = time.process_time()
    release = method.publish(frame, _schema("german", TOP, frame.columns), seed=1)
    return {"seconds": time.process_time() - start, "rows": frame.height, "parts": release.parts}


def enlarged(frame: pl.DataFrame, factor: int) -> pl.DataFrame:
    """Return the rows, and factor - 1 others for each, with every value drawn from its column's domain."""
    rng, n = np.random.default_rng(factor), frame.height * (factor - 1)
    columns = []
    for column in frame.iter_columns():
        domain = column.unique().sort()
        columns.append(domain.gather(rng.integers(0, len(domain), n)))
    return pl.concat([frame, pl.DataFrame(columns, schema=frame.schema)])


def time_report(done: Sequence[Done], options: Options) -> Report:
    """Put ours beside the paper's, and judge that time is almost linear in the rows."""
    paper = dict(zip(*published("dmpd")["table2"].values(), strict=True))
    rows = [
        (task["factor"], result["rows"], result["seconds"], paper[task["factor"]])
        for task, result in done
        if "failed" not in result
    ]
    kinds = {"factor": pl.Int64, "rows": pl.Int64, "seconds": pl.Float64, "minutes (paper)": pl.Float64}
    frame = pl.DataFrame(rows, kinds, orient="row").sort("factor")
    per_row = (frame["seconds"] / frame["rows"]).to_list()
    bent = per_row[-1] / per_row[0] if len(per_row) > 1 else None
    theirs = paper[20] / 20 / paper[1]
    claim = (
        f"time is almost linear in the rows: per row at most twice as long at the end ({theirs:.2f} times in the paper)"
    )
    verdict = Verdict(
        claim, "one size only" if bent is None else f"{bent:.2f} times", None if bent is None else bent <= 2
    )

    def draw() -> plots.Figure:
        drawn = plots.figure(1, title="DMPD on the extended German table")
        plots.lines(drawn.axes[0], frame, "rows", "seconds", labels=("rows", "processor seconds"))
        return drawn

    return Report([Section("Time (Table 2, Figure 10)", frame)], judged([verdict], options), draw=draw)


def setting_tasks(options: Options) -> list[Task]:
    """Return the halves of each setting of the search."""
    made = []
    for name in options.among(["german", "cmc"]):
        for population in POPULATIONS[:1] if options.quick else POPULATIONS:
            for generations in GENERATIONS[:2] if options.quick else GENERATIONS:
                shared = {"generations": generations, "population": population, "levels": [K]}
                own = dmpd.tasks_of(name, "dmpd", ["tree"], options, top=TOP)
                made += [task | shared for task in own]
    return made


def setting_report(done: Sequence[Done], options: Options) -> Report:
    """Show accuracy by setting, and judge that more search than 100 times 50 hardly helps."""
    frame = pl.DataFrame(
        [
            (task["dataset"], task["population"], task["generations"], 100 * result["accuracy"][str(K)])
            for task, result in done
            if "failed" not in result
        ],
        {"dataset": pl.String, "population": pl.Int64, "generations": pl.Int64, "accuracy": pl.Float64},
        orient="row",
    )
    means = frame.group_by("dataset", "population", "generations", maintain_order=True).agg(pl.col("accuracy").mean())
    verdicts = []
    for (name,), part in means.group_by("dataset", maintain_order=True):
        default = part.filter((pl.col("population") == 50) & (pl.col("generations") == 100))["accuracy"]
        more = part.filter((pl.col("population") > 50) | (pl.col("generations") > 100))["accuracy"]
        claim = f"{DATASETS[str(name)].title}: no more search than 100 generations of 50 is better by {BETTER:g} points"
        if not len(default) or not len(more):
            verdicts.append(Verdict(claim, "not computed", None))
            continue
        gain = float(more.to_numpy().max()) - default[0]
        verdicts.append(Verdict(claim, f"at most {gain:+.2f} points", gain < BETTER))

    def draw() -> plots.Figure:
        names = means["dataset"].unique(maintain_order=True).to_list()
        drawn = plots.figure(len(names), title="Settings of the search", width=4.2)
        for axes, name in zip(drawn.axes, names, strict=True):
            part = means.filter(dataset=name).with_columns(pl.col("population").cast(pl.String))
            plots.lines(axes, part, "generations", "accuracy", "population", title=DATASETS[name].title)
        return drawn

    return Report([Section("Accuracy in percent (Figure 11)", means)], judged(verdicts, options), draw=draw)


def frontier_tasks(options: Options) -> list[Task]:
    """Return a task per number of quasi-identifiers."""
    options.among(["adult"])
    search = {"generations": 10, "population": 20, "runs": 1, "rows": _SAMPLE}
    if not options.quick:
        search = {"generations": 100, "population": 50, "runs": RUNS, "rows": 0}
    return [{"top": top, **search} for top in (5, 9)]


def run_frontier(task: Task) -> dict[str, Any]:
    """Search, and return the corners of the surfaces."""
    frame = dmpd.table_of("adult")
    frame = frame.sample(task["rows"], seed=1) if task["rows"] else frame
    method = ParetoDMPD(k=1, inducer="c45", generations=task["generations"], population=task["population"])
    found = method.frontier(frame, _schema("adult", task["top"], frame.columns), runs=task["runs"], seed=1)
    return {"surfaces": found.surfaces().to_dicts()}


def frontier_report(done: Sequence[Done], options: Options) -> Report:
    """Show the surfaces, and judge what the text says of those of the top 5."""
    parts = [
        pl.DataFrame(result["surfaces"]).with_columns(top=task["top"])
        for task, result in done
        if "failed" not in result
    ]
    frame = pl.concat(parts)
    verdicts = _of_frontier(frame.filter((pl.col("top") == TOP) & (pl.col("surface") == "median")))
    sections = [
        Section(f"Corners of the surfaces, top {top} (Figure 12)", part.drop("top"))
        for (top,), part in frame.group_by("top", maintain_order=True)
    ]

    def draw() -> plots.Figure:
        drawn = plots.figure(len(parts), title="Accuracy against k on Adult", width=4.4)
        for axes, part in zip(drawn.axes, parts, strict=True):
            title = f"top {part['top'][0]}"
            plots.lines(axes, part, "level", "accuracy", "surface", title=title, labels=("k", "accuracy"), log_x=True)
        return drawn

    return Report(sections, judged(verdicts, options), draw=draw)


def _of_frontier(median: pl.DataFrame) -> list[Verdict]:
    said = published("dmpd")["figure12"]

    def at(k: int) -> float | None:
        reached = median.filter(pl.col("level") >= k)["accuracy"]
        return 100 * float(reached.to_numpy().max()) if len(reached) else None

    start, first, last, end = (at(k) for k in (1, said["flat_from"], said["flat_to"], said["highest"]))
    claims = [
        (f"up to k = {said['flat_from']} accuracy is nearly {said['at_3']} percent", first, None, 1.0, said["at_3"]),
        (f"from k = {said['flat_from']} to {said['flat_to']} it is essentially the same", last, first, 1.0, None),
        (f"up to k = {said['highest']} it falls by {said['lost_at_highest']} points", end, start, None, None),
    ]
    verdicts = []
    for claim, found, before, within, wanted in claims:
        if found is None or (wanted is None and before is None):
            verdicts.append(Verdict(claim, "not reached", None))
        elif wanted is not None:
            verdicts.append(Verdict(claim, f"{found:.2f}", abs(found - wanted) <= (within or 0)))
        else:
            fall = (before or 0.0) - found
            holds = fall <= within if within else abs(fall - said["lost_at_highest"]) <= 1
            verdicts.append(Verdict(claim, f"{fall:.2f} points less", holds))
    return verdicts


EXPERIMENTS = (
    Experiment(
        "dmpd-table2", dmpd.PAPER, "Table 2, Figure 10", "time of DMPD against rows", time_tasks, run_time, time_report,
    ),
    Experiment(
        "dmpd-fig11", dmpd.PAPER, "Figure 11", "accuracy by generations and population", setting_tasks, dmpd.run,
        setting_report,
    ),
    Experiment(
        "dmpd-fig12", dmpd.PAPER, "Figure 12", "surfaces of accuracy against k", frontier_tasks, run_frontier,
        frontier_report,
    ),
)  # fmt: skip
