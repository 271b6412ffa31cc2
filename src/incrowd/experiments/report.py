"""A report as JSON, Markdown and a figure, each of which says how it was made."""

from __future__ import annotations

import json
import platform
import re
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import polars as pl

from incrowd import plots
from incrowd.experiments.experiment import Experiment, Origin, Report, Verdict
from incrowd.io.atomic import atomic_file
from incrowd.version import __version__

_LIBRARIES = ("numpy", "scikit-learn", "polars", "python-weka-wrapper3")
_INNERMOST = re.compile(r"\{\n[^{}\[\]]*\n\s*\}")  # of JSON: a row of a table, which stands on one line
CAVEAT = "> **Before you believe it.** "
"""How the line begins in which a page says what is wrong with it."""
_WORDS = {True: "holds", False: "does not hold", None: "not decided"}


def write_report(report: Report, experiment: Experiment, folder: str | Path, command: str) -> list[Path]:
    """Write NAME.json, NAME.md and, if the experiment draws, NAME.svg; return the files.

    Parameters
    ----------
    report
        What was found.
    experiment
        Whose report it is.
    folder
        Where the files go.
    command
        What was typed to get it.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    written = [place / f"{experiment.name}.json", place / f"{experiment.name}.md"]
    picture = place / f"{experiment.name}.svg"
    if report.draw is not None:
        plots.save(report.draw(), picture)
        written.append(picture)
    write_text(written[0], json_text(to_dict(report, experiment, command)))
    write_text(written[1], to_markdown(report, experiment, command, picture.name if report.draw else None))
    return written


def json_text(data: dict[str, Any]) -> str:
    """Return a report's data as JSON, each row of a table on a line."""
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
    return _INNERMOST.sub(lambda row: re.sub(r"\n\s*", " ", row[0]), text) + "\n"


def to_dict(report: Report, experiment: Experiment, command: str) -> dict[str, Any]:
    """Return everything but the figure as plain data."""
    return {
        "experiment": experiment.name,
        "paper": experiment.paper,
        "table": experiment.table,
        "title": experiment.title,
        "made_by": made_by(command, report.origin),
        "sections": [
            {"title": section.title, "text": section.text, "rows": section.frame.to_dicts()}
            for section in report.sections
        ],
        "verdicts": [
            {"claim": verdict.claim, "found": verdict.found, "holds": verdict.holds} for verdict in report.verdicts
        ],
        "notes": list(report.notes),
    }


def to_markdown(report: Report, experiment: Experiment, command: str, picture: str | None = None) -> str:
    """Return the report for people."""
    lines = [f"# {experiment.name}: {experiment.title}", "", f"{experiment.paper}, {experiment.table}.", ""]
    if picture:
        lines += [f"![{experiment.title}]({picture})", ""]
    if report.verdicts:
        lines += ["## What the paper says, and what we find", ""]
        lines += [*_table(["claim", "found", ""], [_row(verdict) for verdict in report.verdicts]), ""]
    for section in [section for section in report.sections if section.shown]:
        lines += [f"## {section.title}", ""]
        lines += [section.text, ""] if section.text else []
        lines += [*_table(section.frame.columns, [list(row) for row in section.frame.rows()]), ""]
    if report.notes:
        lines += ["## Notes", "", *(f"- {note}" for note in report.notes), ""]
    lines += [_made(made_by(command, report.origin)), ""]
    return "\n".join(lines)


def made_by(command: str, origin: Origin | None = None) -> dict[str, Any]:
    """Return the command, the code and how long it took, and the versions of what took part."""
    versions = {"incrowd": __version__, "Python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {"command": command, **({} if origin is None else asdict(origin)), "versions": versions}


def _made(made: dict[str, Any]) -> str:
    """Return in words how a report was made."""
    libraries = ", ".join(f"{name} {number}" for name, number in made["versions"].items())
    words = [f"Made by `{made['command']}` with {libraries}."]
    if "commits" in made:
        of = [f"{name} ({n} cells)" if len(made["commits"]) > 1 else name for name, n in made["commits"].items()]
        words.append(f"Commit {', '.join(of)}; code {made['code']}; {_duration(made['seconds'])} of one process.")
        chosen = ", ".join(f"{name} = {value}" for name, value in made["settings"].items() if value)
        words.append(f"Settings: {chosen or 'all of it'}.")
    return " ".join([*words, "Generated: do not edit."])


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def cell_text(value: object) -> str:
    """Return a value for people: numbers with two decimals, small ones with three significant digits."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}" if abs(value) >= 1 or value == 0 else f"{value:.3g}"
    return str(value)


def _row(verdict: Verdict) -> list[object]:
    return [verdict.claim, verdict.found, _WORDS[verdict.holds]]


def _table(names: list[str], rows: list[list[Any]]) -> list[str]:
    cells = [[cell_text(value).replace("|", "\\|") for value in row] for row in rows]
    return [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}", *(f"| {' | '.join(row)} |" for row in cells)]


def write_text(path: Path, text: str) -> None:
    """Write a file, all of it or nothing."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def verdict_rows(report: Report) -> list[dict[str, str]]:
    """Return claims and what became of them as text, for a screen."""
    return [{"claim": each.claim, "found": each.found, "": _WORDS[each.holds]} for each in report.verdicts]


def screen_rows(frame: pl.DataFrame) -> list[dict[str, str]]:
    """Return the rows of a section as text, for a screen."""
    return [{name: cell_text(value) for name, value in row.items()} for row in frame.to_dicts()]
