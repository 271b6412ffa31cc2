"""What an experiment is: tasks to compute, a function that computes one, and a report that puts ours beside theirs.

An experiment is data. `tasks` says what to compute, as dicts of JSON values; `run` computes one of them (a module's
own function, since other processes import it); `report` turns all tasks and their results into tables, notes, verdicts
and a figure. `run_experiment` joins the three by way of `incrowd.evaluate.runner`, so that a run that was stopped goes
on where it was.

To add one: a file in this room with an `Experiment` in its tuple ``EXPERIMENTS``, its name in `registry.MODULES`, and
the figures of its paper in ``published/``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from incrowd.errors import InputError, ParameterError
from incrowd.evaluate.classifiers import chosen as can_run
from incrowd.evaluate.provenance import code_of
from incrowd.evaluate.runner import Cell, compute_cells, kept_cells, key_of

if TYPE_CHECKING:
    from incrowd.plots import Figure

Task = dict[str, Any]
Done = tuple[Task, Task]
"""A task and its result; a failed one has ``"failed"`` in its result."""
Part = tuple[str | None, str | None]
Average = tuple[tuple[str, Any], ...]
Progress = Callable[[str, int, int], None]

AVERAGES = "Averages"
"""Title of the section of averages over tasks, which reports with tasks in common must agree about."""
MEASURED = ("accuracy", "sd", "lm")
"""Columns of `AVERAGES` that were measured; by all others a row is found in another report."""


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
    """

    quick: bool = False
    classifiers: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()

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
class Origin:
    """Where the figures of a report come from.

    Attributes
    ----------
    code
        The fingerprint of the code that computed them: of the experiment's own when the report was made.
    commits
        How many cells each commit computed; ``"unknown"`` outside a checkout.
    earlier
        How many of the cells other code computed than `code`.
    seconds
        How long all of them took together, on whatever machines.
    settings
        What was chosen.
    """

    code: str
    commits: Mapping[str, int]
    earlier: int
    seconds: float
    settings: Mapping[str, Any]


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
    origin
        Which code computed it, and how long it took: filled in by `run_experiment`.
    """

    sections: Sequence[Section]
    verdicts: Sequence[Verdict] = ()
    notes: Sequence[str] = ()
    draw: Callable[[], Figure] | None = None
    origin: Origin | None = None


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
    """

    name: str
    paper: str
    table: str
    title: str
    tasks: Callable[[Options], list[Task]]
    run: Callable[[Task], Mapping[str, Any]]
    report: Callable[[Sequence[Done], Options], Report]


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
    kept = {} if store is None else kept_cells(store)
    if finished_only:
        tasks = [task for task in wanted if key_of(experiment.run, task) in kept]
        if not tasks:
            fact = f"The store has no finished task of {experiment.name}"
            raise InputError(fact, "run it with the same --store first")
        cells = [kept[key_of(experiment.run, task)] for task in tasks]
    else:
        _can_run(experiment, tasks, kept)
        cells = compute_cells(experiment.run, tasks, store, jobs, progress)
    done = [(task, cell.result) for task, cell in zip(tasks, cells, strict=True)]
    if all("failed" in result for _, result in done):
        fact = f"No task of {experiment.name} could be computed: {done[0][1]['failed']}"
        raise InputError(fact, "see what it needs, or choose other --datasets or --classifiers")
    made, origin = experiment.report(done, chosen), origin_of(experiment, cells, chosen)
    notes = [*incomplete(wanted, tasks), *of_other_code(origin, len(cells)), *made.notes, *failures(done)]
    return replace(made, notes=notes, origin=origin)


def _can_run(experiment: Experiment, tasks: Sequence[Task], kept: Mapping[str, Cell]) -> None:
    """Refuse classifiers that cannot run here, before anything is computed."""
    code = code_of(experiment.run)
    known = {key for key, cell in kept.items() if cell.code == code}
    todo = [task for task in tasks if key_of(experiment.run, task) not in known]
    if learners := {str(task["classifier"]) for task in todo if task.get("classifier")}:
        can_run(learners)


def origin_of(experiment: Experiment, cells: Sequence[Cell], options: Options) -> Origin:
    """Return which code computed cells, and how long it took."""
    code = code_of(experiment.run)
    return Origin(
        code,
        dict(Counter(cell.commit or "unknown" for cell in cells).most_common()),
        sum(cell.code != code for cell in cells),
        round(sum(cell.seconds or 0.0 for cell in cells), 1),
        {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(options).items()},
    )


def of_other_code(origin: Origin, n_cells: int) -> list[str]:
    """Return a sentence about cells that were computed by other code than that of today, if any."""
    if not origin.earlier:
        return []
    return [f"{origin.earlier} of {n_cells} cells were computed by earlier code; without --finished they are renewed."]


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
