"""What an experiment is: cells to compute, a function that computes one, and a report that puts ours beside theirs.

An experiment is data. `cells` says what to compute, as dicts of JSON values; `run` computes one of them (a module's
own function, since other processes import it); `report` turns all cells and their results into tables, notes, verdicts
and a figure. `run_experiment` joins the three by way of `incrowd.evaluate.runner`, so that a run that was stopped goes
on where it was.

To add one: a file in this room with an `Experiment` in its tuple ``EXPERIMENTS``, its name in `registry.MODULES`, and
the figures of its paper in ``published/``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from incrowd.errors import InputError, ParameterError
from incrowd.evaluate.runner import finished, key_of, run_cells

if TYPE_CHECKING:
    from incrowd.plots import Figure

Cell = dict[str, Any]
Done = tuple[Cell, Cell]
"""A cell and its result; a failed one has ``"failed"`` in its result."""
Progress = Callable[[str, int, int], None]


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
        strange = [name for name in self.datasets if name not in known]
        if strange:
            fact = f"This experiment has no table {', '.join(map(repr, strange))}"
            raise ParameterError(fact, f"its tables are {', '.join(known)}")
        return [name for name in known if not self.datasets or name in self.datasets]


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
    cells
        What to compute, under the options.
    run
        Computes one cell: a module's own function of a dict that returns one.
    report
        From all cells with their results; also told the options.
    """

    name: str
    paper: str
    table: str
    title: str
    cells: Callable[[Options], list[Cell]]
    run: Callable[[Cell], Mapping[str, Any]]
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
    """Compute an experiment's cells, or what of them is not in the store, and report.

    Parameters
    ----------
    experiment
        What to run.
    options
        The user's choice.
    store
        Folder of finished cells; without one, nothing is kept.
    jobs
        Number of processes.
    finished_only
        Whether to compute nothing, and report what the store has.
    progress
        Called with ("cells", done, total).
    """
    chosen = options or Options()
    cells = wanted = experiment.cells(chosen)
    if finished_only:
        known = {} if store is None else finished(store)
        cells = [cell for cell in wanted if key_of(experiment.run, cell) in known]
        if not cells:
            fact = f"The store has no finished cell of {experiment.name}"
            raise InputError(fact, "run it with the same --store first")
    results = run_cells(experiment.run, cells, store, jobs, progress)
    done = list(zip(cells, results, strict=True))
    if cells and all("failed" in result for result in results):
        fact = f"No cell of {experiment.name} could be computed: {results[0]['failed']}"
        raise InputError(fact, "see what it needs, or choose other --datasets or --classifiers")
    made = experiment.report(done, chosen)
    notes = [*incomplete(wanted, cells), *made.notes, *failures(done)]
    return Report(made.sections, made.verdicts, notes, made.draw)


def judged(verdicts: Sequence[Verdict], options: Options) -> list[Verdict]:
    """Return verdicts as they are, or undecided after a quick run: one fold decides nothing."""
    return [replace(verdict, holds=None) for verdict in verdicts] if options.quick else list(verdicts)


def incomplete(wanted: Sequence[Cell], computed: Sequence[Cell]) -> list[str]:
    """Return a sentence about what was not computed, table by table and classifier by classifier, if anything."""
    if len(computed) == len(wanted):
        return []
    of, have = (Counter((cell.get("dataset"), cell.get("classifier")) for cell in part) for part in (wanted, computed))
    lacking = [
        f"{' by '.join(str(name) for name in part if name is not None) or 'in all'} {have[part]} of {n}"
        for part, n in of.items()
        if have[part] < n
    ]
    total = f"{len(computed)} of {len(wanted)} cells of this experiment were computed; what is told is about those."
    return [f"{total} Incomplete: {', '.join(lacking)}."]


def failures(done: Sequence[Done]) -> list[str]:
    """Return one sentence per reason for which cells failed."""
    reasons = pl.Series("why", [result["failed"] for _, result in done if "failed" in result], pl.String())
    counted = reasons.value_counts(sort=True).rows()
    return [f"{count} of {len(done)} cells failed: {why}" for why, count in counted]


def beside(frame: pl.DataFrame, ours: str = "ours", paper: str = "paper") -> pl.DataFrame:
    """Return the frame with the column ``difference``: ours minus the paper's."""
    return frame.with_columns((pl.col(ours) - pl.col(paper)).alias("difference"))
