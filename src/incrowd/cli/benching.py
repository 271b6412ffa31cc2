"""The bench command: the papers' experiments, ours beside theirs."""

from __future__ import annotations

import shlex
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from incrowd.cli.show import Screen
from incrowd.errors import InputError, ParameterError, counted

if TYPE_CHECKING:
    from incrowd.experiments import Experiment, Options, Report


def list_experiments(screen: Screen) -> None:
    """Print the experiments that there are."""
    from incrowd.experiments import experiments

    rows = [
        {"experiment": found.name, "shows": found.title, "from": f"{found.paper.split(':')[0]}, {found.table}"}
        for found in experiments().values()
    ]
    if not screen.data(rows):
        screen.table("Experiments: incrowd bench NAME", rows)


@dataclass(frozen=True)
class Run:
    """What was asked for, whatever the experiment."""

    quick: bool
    classifiers: tuple[str, ...]
    datasets: tuple[str, ...]
    jobs: int
    output: Path
    store: Path | None
    finished_only: bool


def run_one(screen: Screen, name: str, run: Run) -> None:
    """Run an experiment, print ours beside the paper's, and write the report."""
    from incrowd.experiments import experiment
    from incrowd.experiments.report import screen_rows, to_dict, verdict_rows

    found = experiment(name)
    report, command, written = _computed(screen, found, run)
    if screen.data(to_dict(report, found, command)):
        return
    screen.head(f"{found.name}: {found.title}")
    for section in report.sections:
        if section.shown and section.frame.height:
            screen.table(section.title, screen_rows(section.frame))
    if report.verdicts:
        screen.table("What the paper says, and what we find", verdict_rows(report))
    for note in report.notes:
        screen.say(f"Note: {note}")
    screen.say(f"Wrote {', '.join(str(path) for path in written)}.")


def run_all(screen: Screen, run: Run) -> None:
    """Run every experiment that has the chosen tables; one that cannot be computed is told of, and the others go on."""
    from incrowd.experiments import experiments

    rows = []
    with ExitStack() as kept:
        if run.store is None:  # what experiments have in common is computed once
            run = replace(run, store=Path(kept.enter_context(TemporaryDirectory(prefix="incrowd-bench-"))))
        for found in experiments().values():
            start = time.monotonic()
            try:
                report, _, _ = _computed(screen, found, run)
                holds = [verdict.holds for verdict in report.verdicts]
                said = f"{holds.count(True)} of {len(holds)} claims hold, {holds.count(None)} not decided"
            except (InputError, ParameterError) as error:
                said = f"not computed: {error.fact}"
            minutes = f"{(time.monotonic() - start) / 60:.1f}"
            rows.append({"experiment": found.name, "minutes": minutes, "found": said})
            screen.say(f"{found.name}: {said} ({minutes} minutes)")
    if not screen.data(rows):
        screen.table(f"Reports in {run.output}", rows)


def write_index(screen: Screen, folder: Path) -> None:
    """Mark the reports of a folder that are of earlier code, and write the page that lists every panel."""
    from incrowd.experiments.kept import INDEX, index, mark
    from incrowd.experiments.report import write_text

    if not folder.is_dir():
        fact = f"There is no folder {folder}"
        raise InputError(fact, "name the folder of reports with -o")
    marked = [name for place in (folder, *sorted(filter(Path.is_dir, folder.iterdir()))) for name in mark(place)]
    write_text(folder / INDEX, index(folder))
    if not screen.data({"marked": marked}):
        screen.say(f"Wrote {folder / INDEX}; {counted(len(marked), 'report')} of earlier code.")


def _computed(screen: Screen, found: Experiment, run: Run) -> tuple[Report, str, list[Path]]:
    """Return a report, the command that repeats it, and the files that it was written to."""
    from incrowd.experiments import Options, run_experiment, write_report

    options = Options(quick=run.quick, classifiers=run.classifiers, datasets=run.datasets)
    with screen.progress() as progress:
        report = run_experiment(
            found, options, store=run.store, jobs=run.jobs, finished_only=run.finished_only, progress=progress
        )
    command = _command(found.name, options) + (" --finished" if run.finished_only else "")
    return report, command, write_report(report, found, run.output, command)


def names(text: str | None) -> tuple[str, ...]:
    """Return the names of a comma-separated list."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _command(name: str, options: Options) -> str:
    """Return what somebody types to get the same report."""
    words = ["incrowd", "bench", name, *(["--quick"] if options.quick else [])]
    words += ["--classifiers", ",".join(options.classifiers)] if options.classifiers else []
    words += ["--datasets", ",".join(options.datasets)] if options.datasets else []
    return shlex.join(words)
