"""What an experiment is: tasks to compute, a function that computes one, and a report that puts ours beside theirs.

An experiment is data. `tasks` says what to compute, as dicts of JSON values; `run` computes one of them (a module's
own function, since other processes import it); `report` turns all tasks and their results into tables, notes, verdicts
and a figure. `run_experiment` joins the three by way of `incrowd.evaluate.runner`, so that a run that was stopped goes
on where it was.

To add one: a file in this room with an `Experiment` in its tuple ``EXPERIMENTS``, its name in `registry.MODULES`, and
the figures of its paper in ``published/``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from incrowd.errors import InputError, ParameterError
from incrowd.evaluate.classifiers import chosen as can_run
from incrowd.evaluate.runner import finished, key_of, run_tasks

if TYPE_CHECKING:
    from incrowd.plots import Figure

Task = dict[str, Any]
Done = tuple[Task, Task]
"""A task and its result; a failed one has ``"failed"`` in its result."""
Part = tuple[str | None, str | None]
Average = tuple[tuple[str, Any], ...]
Progress = Callable[[str, int, int], None]

AVERAGES = "Averages"
"""Title of the section of a report from which a later one can go on: a row per table, classifier and whatever else."""


@dataclass(frozen=True)
class Options:
    """What a user may choose.

    Attributes
    ----------
    quick
        A small part of the whole: see each experiment.
    classifiers
        ``("weka",)``, ``("sklearn",)`` or names; empty for the paper's own.
    datasets
        Names of tables; empty for all that the experiment has.
    earlier
        Reports (NAME.json) of earlier runs: what they say of averages that are not computed now stands in this one too.
    said
        What they say: read by `run_experiment`, for reports.
    """

    quick: bool = False
    classifiers: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    said: tuple[Task, ...] = ()

    def among(self, known: Sequence[str]) -> list[str]:
        """Return the chosen tables in the experiment's order; one that it does not have is an error."""
        asked = [name.lower().replace(" ", "_").replace("-", "_") for name in self.datasets]
        strange = [name for name in asked if name not in known]
        if strange:
            fact = f"This experiment has no table {', '.join(map(repr, strange))}"
            raise ParameterError(fact, f"its tables are {', '.join(known)}")
        return [name for name in known if not asked or name in asked]


@dataclass(frozen=True)
class Section:
    """One table of a report.

    Attributes
    ----------
    title
        What it shows.
    frame
        Its rows; numbers are rounded when written for people, and kept in JSON.
    text
        Sentences above the table.
    shown
        Whether people see it; otherwise it is in the JSON file only.
    """

    title: str
    frame: pl.DataFrame
    text: str = ""
    shown: bool = True


@dataclass(frozen=True)
class Verdict:
    """A claim of the paper, and what we found.

    Attributes
    ----------
    claim
        What should hold.
    found
        What we measured.
    holds
        Whether it does; ``None`` when this run cannot tell.
    """

    claim: str
    found: str
    holds: bool | None


@dataclass(frozen=True)
class Report:
    """What an experiment found.

    Attributes
    ----------
    sections
        Tables.
    verdicts
        Claims and what became of them.
    notes
        How it was measured, what disagrees, and the likely reason.
    draw
        Makes the figure, or ``None``.
    """

    sections: Sequence[Section]
    verdicts: Sequence[Verdict] = ()
    notes: Sequence[str] = ()
    draw: Callable[[], Figure] | None = None


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper, as something to compute.

    Attributes
    ----------
    name
        Of the command: ``incrowd bench NAME``.
    paper, table
        Where it comes from.
    title
        What it shows, in a line.
    tasks
        What to compute, under the options.
    run
        Computes one task: a module's own function of a dict that returns one.
    report
        From all tasks with their results; also told the options.
    average
        What says of which average a task is a part, if its report can go on from an earlier one: the keys of a row of
        the section `AVERAGES`, beside which ``folds`` counts the tasks.
    """

    name: str
    paper: str
    table: str
    title: str
    tasks: Callable[[Options], list[Task]]
    run: Callable[[Task], Mapping[str, Any]]
    report: Callable[[Sequence[Done], Options], Report]
    average: Callable[[Task], Task] | None = None


def run_experiment(
    experiment: Experiment,
    options: Options | None = None,
    *,
    store: str | Path | None = None,
    jobs: int = 1,
    finished_only: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Compute an experiment's tasks, or what of them is not in the store, and report.

    Parameters
    ----------
    experiment
        What to run.
    options
        The user's choice.
    store
        Folder of finished tasks; without one, nothing is kept.
    jobs
        Number of processes.
    finished_only
        Whether to compute nothing, and report what the store has.
    progress
        Called with ("tasks", done, total).
    """
    chosen = options or Options()
    tasks = wanted = experiment.tasks(chosen)
    if not wanted:
        fact = f"{experiment.name} has nothing to compute with these options"
        raise InputError(fact, "choose other --datasets or --classifiers, or leave out --quick")
    said = earlier_averages(experiment, chosen)
    told = set(said)
    known = {} if store is None else finished(store)
    if finished_only:
        tasks = [task for task in wanted if key_of(experiment.run, task) in known]
        of, have = (Counter(_average_key(experiment, task) for task in some) for some in (wanted, tasks))
        told -= {average for average, n in have.items() if n == of[average]}
        if not tasks and not told:
            fact = f"The store has no finished task of {experiment.name}"
            raise InputError(fact, "run it with the same --store first")
    tasks = [task for task in tasks if _average_key(experiment, task) not in told]
    todo = [task for task in tasks if key_of(experiment.run, task) not in known]
    if learners := {str(task["classifier"]) for task in todo if task.get("classifier")}:
        can_run(learners)
    results = run_tasks(experiment.run, tasks, store, jobs, progress)
    done = list(zip(tasks, results, strict=True))
    if tasks and all("failed" in result for result in results):
        fact = f"No task of {experiment.name} could be computed: {results[0]['failed']}"
        raise InputError(fact, "see what it needs, or choose other --datasets or --classifiers")
    kept = [row for average, row in said.items() if average in told]
    made = experiment.report(done, replace(chosen, said=tuple(kept)))
    lacking = incomplete([task for task in wanted if _average_key(experiment, task) not in told], tasks)
    notes = [*lacking, *carried(wanted, {_part(row) for row in kept}), *made.notes, *failures(done)]
    return Report(made.sections, made.verdicts, notes, made.draw)


def earlier_averages(experiment: Experiment, options: Options) -> dict[Average, Task]:
    """Return what earlier reports say of averages that are wanted and were taken over as many tasks as are wanted."""
    if not options.earlier:
        return {}
    if experiment.average is None:
        fact = f"A report of {experiment.name} cannot go on from an earlier one"
        raise ParameterError(fact, "leave out --earlier, or use --store, which every experiment has")
    sizes = Counter(_average_key(experiment, task) for task in experiment.tasks(options))
    found: dict[Average, Task] = {}
    for path in options.earlier:
        said = {key: row for row in _averages_in(path) if sizes.get(key := _key(row, sizes), 0) == row["folds"]}
        if not said:
            fact = f"The report {path} says nothing of what {experiment.name} computes with these options"
            raise InputError(fact, "both have to be quick or neither, with a table and a classifier in common")
        twice = {_part(row) for row in found.values()} & {_part(row) for row in said.values()}
        if twice:
            fact = f"{len(twice)} tables and classifiers of {path} are in another earlier report too"
            raise InputError(fact, "give reports about different ones")
        found |= said
    return found


def _average_key(experiment: Experiment, task: Task) -> Average:
    """Return of which average a task is a part; nothing where a report has none to go on from."""
    return () if experiment.average is None else tuple(experiment.average(task).items())


def _averages_in(path: str) -> list[Task]:
    try:
        sections = json.loads(Path(path).read_text(encoding="utf-8"))["sections"]
        rows: list[Task] = [row for section in sections if section["title"] == AVERAGES for row in section["rows"]]
    except (OSError, ValueError, KeyError, TypeError):
        fact = f"{path} is no report of an experiment"
        raise InputError(fact, "give a file NAME.json that incrowd bench wrote") from None
    return rows


def _key(row: Task, sizes: Mapping[Average, int]) -> Average:
    return tuple((name, row.get(name)) for name, _ in next(iter(sizes)))


def carried(wanted: Sequence[Task], told: AbstractSet[Part]) -> list[str]:
    """Return a sentence about what an earlier report said, if anything."""
    tables: dict[str, list[str]] = {}
    for dataset, learner in dict.fromkeys(_part(task) for task in wanted):
        if (dataset, learner) in told:
            tables.setdefault(str(learner), []).append(str(dataset))
    said = "; ".join(f"{learner}: {', '.join(names)}" for learner, names in tables.items())
    return (
        [f"From an earlier run, whose averages are in the JSON file (a new one may draw other samples): {said}."]
        if said
        else []
    )


def _part(row: Mapping[str, Any]) -> Part:
    """Return what of an experiment is computed in one run: a table by a classifier."""
    return row.get("dataset"), row.get("classifier")


def judged(verdicts: Sequence[Verdict], options: Options) -> list[Verdict]:
    """Return verdicts as they are, or undecided after a quick run: one fold decides nothing."""
    return [replace(verdict, holds=None) for verdict in verdicts] if options.quick else list(verdicts)


def incomplete(wanted: Sequence[Task], computed: Sequence[Task]) -> list[str]:
    """Return a sentence about what was not computed, table by table and classifier by classifier, if anything."""
    if len(computed) == len(wanted):
        return []
    of, have = (Counter(_part(task) for task in tasks) for tasks in (wanted, computed))
    lacking = [
        f"{' by '.join(str(name) for name in part if name is not None) or 'in all'} {have[part]} of {n}"
        for part, n in of.items()
        if have[part] < n
    ]
    total = f"{len(computed)} of {len(wanted)} tasks of this experiment were computed; what is told is about those."
    return [f"{total} Incomplete: {', '.join(lacking)}."]


def failures(done: Sequence[Done]) -> list[str]:
    """Return one sentence per reason for which tasks failed."""
    reasons = pl.Series("why", [result["failed"] for _, result in done if "failed" in result], pl.String())
    counted = reasons.value_counts(sort=True).rows()
    return [f"{count} of {len(done)} tasks failed: {why}" for why, count in counted]


def beside(frame: pl.DataFrame, ours: str = "ours", paper: str = "paper") -> pl.DataFrame:
    """Return the frame with the column ``difference``: ours minus the paper's."""
    return frame.with_columns((pl.col(ours) - pl.col(paper)).alias("difference"))
