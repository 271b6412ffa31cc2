"""The bench command: the papers' experiments, ours beside theirs."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd.cli.show import Screen

if TYPE_CHECKING:
    from incrowd.experiments import Options


def list_experiments(screen: Screen) -> None:
    """Print the experiments that there are."""
    from incrowd.experiments import experiments

    rows = [
        {"experiment": found.name, "shows": found.title, "from": f"{found.paper.split(':')[0]}, {found.table}"}
        for found in experiments().values()
    ]
    if not screen.data(rows):
        screen.table("Experiments: incrowd bench NAME", rows)


def run(
    screen: Screen,
    name: str,
    *,
    quick: bool,
    classifiers: str | None,
    datasets: str | None,
    jobs: int,
    output: Path,
    store: Path | None,
    finished_only: bool,
    earlier: list[Path],
) -> None:
    """Run an experiment, print ours beside the paper's, and write the report."""
    from incrowd.experiments import Options, experiment, run_experiment, write_report
    from incrowd.experiments.report import screen_rows, to_dict, verdict_rows

    found = experiment(name)
    options = Options(
        quick=quick, classifiers=_names(classifiers), datasets=_names(datasets), earlier=tuple(map(str, earlier))
    )
    with screen.progress() as progress:
        report = run_experiment(found, options, store=store, jobs=jobs, finished_only=finished_only, progress=progress)
    command = _command(name, options) + (" --finished" if finished_only else "")
    written = write_report(report, found, output, command)
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


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _command(name: str, options: Options) -> str:
    """Return what somebody types to get the same report."""
    words = ["incrowd", "bench", name, *(["--quick"] if options.quick else [])]
    words += ["--classifiers", ",".join(options.classifiers)] if options.classifiers else []
    words += ["--datasets", ",".join(options.datasets)] if options.datasets else []
    words += [word for path in options.earlier for word in ("--earlier", path)]
    return shlex.join(words)
