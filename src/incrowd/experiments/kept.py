"""Reports that are kept: whether they are of today's code and agree, and which panel of a paper each shows.

A report that is older than the code it measures says so in its files (`mark` writes it); so does one that disagrees
with another about an average that both have. `index` puts every table and figure of the papers (``panels.toml``) beside
what became of it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Any

from incrowd.evaluate.provenance import code_of
from incrowd.experiments.experiment import AVERAGES, MEASURED, Options
from incrowd.experiments.registry import experiments
from incrowd.experiments.report import CAVEAT, json_text, write_text

PAPERS = {
    "nsvdist": "Last, Tassa, Zhmudyak, Shmueli 2014 (NSVDist)",
    "friedman": "Friedman, Wolff, Schuster 2008 (k-anonymous models)",
    "iac": "Li, Liu, Baig, Wong 2011 (IACk, IACc)",
    "dmpd": "Matatov, Rokach, Maimon 2010 (DMPD)",
    "nsgvd": "Association rules from non-homogeneous releases (nsgvd)",
}
INDEX = "index.md"
_SAME = 1e-9  # averages that differ by less are equal: sums in another order


@dataclass(frozen=True)
class Kept:
    """A report in a folder.

    Attributes
    ----------
    path
        Its JSON file; the one for people has the same name.
    data
        What that holds.
    """

    path: Path
    data: dict[str, Any]

    @property
    def name(self) -> str:
        """The experiment's name."""
        return str(self.data["experiment"])

    @property
    def command(self) -> str:
        """What was typed to get it."""
        return str(self.data["made_by"]["command"])

    def is_current(self) -> bool:
        """Tell whether all of it was computed by the code of today, as far as it says which code that was."""
        made = self.data["made_by"]
        known = experiments().get(self.name)
        return known is not None and not made.get("earlier") and made.get("code") == code_of(known.run)

    def averages(self) -> dict[tuple[Any, ...], dict[str, float]]:
        """Return its averages by what they are averages of."""
        rows = [row for section in self.data["sections"] if section["title"] == AVERAGES for row in section["rows"]]
        return {
            tuple((name, value) for name, value in sorted(row.items()) if name not in MEASURED): {
                name: row[name] for name in MEASURED if row.get(name) is not None
            }
            for row in rows
        }


def kept_reports(folder: str | Path) -> list[Kept]:
    """Return the reports of a folder, by name."""
    found = [Kept(path, json.loads(path.read_text(encoding="utf-8"))) for path in sorted(Path(folder).glob("*.json"))]
    return [report for report in found if "experiment" in report.data]


def disagreements(reports: Sequence[Kept]) -> dict[tuple[str, str], tuple[int, int]]:
    """Return of each two reports that disagree how many of the averages that both have differ, and how many there are.

    Those that were taken over other folds or samples are other averages.
    """
    found = {}
    averages = {report.name: report.averages() for report in reports}
    for one, other in combinations(averages, 2):
        both = averages[one].keys() & averages[other].keys()
        differ = sum(_differ(averages[one][key], averages[other][key]) for key in both)
        if differ:
            found[one, other] = (differ, len(both))
    return found


def _differ(one: dict[str, float], other: dict[str, float]) -> bool:
    return any(abs(one[name] - other[name]) > _SAME * max(1.0, abs(one[name])) for name in one.keys() & other.keys())


def caveats(report: Kept, differing: dict[tuple[str, str], tuple[int, int]]) -> list[str]:
    """Return what a reader of a report has to know before believing it."""
    said = []
    made = report.data["made_by"]
    if "code" not in made:
        said.append(
            "Of earlier code: made before reports named their commit. The code has changed since, so "
            f"`{_today(report.command)}` may find other figures."
        )
    elif not report.is_current():
        commits = ", ".join(made.get("commits", {})) or "unknown"
        said.append(
            f"Of earlier code: made at commit {commits}. What it measures has changed since, so "
            f"`{_today(report.command)}` may find other figures."
        )
    if "--earlier" in report.command:
        said.append("Put together from several runs, of which some were older than the rest.")
    for pair, (differ, shared) in differing.items():
        if report.name in pair:
            other = pair[1 - pair.index(report.name)]
            said.append(f"{differ} of the {shared} averages that it shares with {other} differ from those there.")
    return said


def _today(command: str) -> str:
    """Return a report's command without what is no option any more."""
    return re.sub(r" --earlier \S+", "", command)


def mark(folder: str | Path) -> list[str]:
    """Write into each report of a folder what has to be known before believing it; return the names of those."""
    marked = []
    reports = kept_reports(folder)
    differing = disagreements(reports)
    for report in reports:
        said = caveats(report, differing)
        data = {name: value for name, value in report.data.items() if name != "caveats"}
        if said:
            marked.append(report.name)
            data["caveats"] = said
        if data != report.data:
            write_text(report.path, json_text(data))
        page = report.path.with_suffix(".md")
        text = page.read_text(encoding="utf-8")
        if (new := with_caveats(text, said)) != text:
            write_text(page, new)
    return marked


def with_caveats(page: str, said: Sequence[str]) -> str:
    """Return a page with these caveats below its title, in place of those that it had."""
    lines = [line for line in page.split("\n") if not line.startswith(CAVEAT)]
    while len(lines) > 2 and lines[1] == lines[2] == "":
        del lines[1]
    if said:
        lines[1:1] = ["", f"{CAVEAT}{' '.join(said)}"]
    return "\n".join(lines)


@cache
def panels() -> tuple[dict[str, Any], ...]:
    """Return the tables and figures of the papers, as typed once from them."""
    text = (files("incrowd.experiments") / "panels.toml").read_text("utf-8")
    return tuple(tomllib.loads(text)["panel"])


def status(panel: dict[str, Any], reports: dict[str, Kept]) -> tuple[str, str]:
    """Return what became of a panel, and why: by its tests, by the claims that its report judged, or as it says."""
    lacks = str(panel.get("lacks", ""))
    if "tests" in panel:
        return ("partly" if lacks else "reproduced"), " ".join([f"checked by `{panel['tests']}`.", lacks]).strip()
    if "experiment" not in panel:
        return "not", lacks
    report = reports.get(panel["experiment"])
    if report is None:
        return "not", " ".join([f"`incrowd bench {panel['experiment']}` was not run yet.", lacks]).strip()
    about = re.compile(panel.get("claims", ""))
    claims = [verdict["holds"] for verdict in report.data["verdicts"] if about.search(verdict["claim"])]
    judged = [holds for holds in claims if holds is not None]
    holding = sum(judged)
    limits = [*_left_out(report), *([lacks] if lacks else [])]
    why = [f"[{report.name}]({report.path.stem}.md): {holding} of {len(judged)} claims hold.", *limits]
    why += ["Of earlier code."] if report.data.get("caveats") else []
    what = "not" if not holding else "reproduced" if holding == len(judged) and not limits else "partly"
    return what, " ".join(why)


def _left_out(report: Kept) -> list[str]:
    """Return what of the paper's a report's options leave out."""
    said = [f"Only `{part}`." for part in re.findall(r"--quick|--datasets \S+", report.command)]
    asked = re.search(r"--classifiers (\S+)", report.command)
    own = dict.fromkeys(task.get("classifier") for task in experiments()[report.name].tasks(Options()))
    given = set(asked[1].split(",")) if asked else {"weka"}
    lacking = [str(name) for name in own if name is not None and not {name, "weka"} & given]
    return [*said, f"Not computed: {', '.join(lacking)}."] if lacking else said


def index(folder: str | Path) -> str:
    """Return a page with a row for every table and figure of the papers, and one for every report."""
    reports = {report.name: report for report in kept_reports(folder)}
    about = (
        "*Reproduced*: every claim that is judged holds. *Partly*: some hold, or a part was not computed. *Not*: with "
        "the reason. Claims and figures are in the reports. Generated by `incrowd bench --index`: do not edit."
    )
    lines = ["# What became of every table and figure", "", about, ""]
    for paper, title in PAPERS.items():
        lines += [f"## {title}", "", "| panel | shows | | why |", "|---|---|---|---|"]
        for panel in panels():
            if panel["paper"] == paper:
                what, why = status(panel, reports)
                lines.append(f"| {panel['panel']} | {panel['shows']} | {what} | {why} |")
        lines.append("")
    lines += ["## Reports", "", "| report | commit | hours | before you believe it |", "|---|---|---|---|"]
    lines += [_report_row(report) for report in reports.values()]
    return "\n".join([*lines, ""])


def _report_row(report: Kept) -> str:
    made = report.data["made_by"]
    commits = ", ".join(made.get("commits", {"not named": 0}))
    hours = f"{made['seconds'] / 3600:.2f}" if "seconds" in made else "not kept"
    return (
        f"| [{report.name}]({report.path.stem}.md) | {commits} | {hours} | {' '.join(report.data.get('caveats', []))} |"
    )


def missing(counts: dict[str, Iterable[str]]) -> list[str]:
    """Return the panels, by paper, that the list lacks."""
    listed = {(panel["paper"], panel["panel"]) for panel in panels()}
    return [f"{paper}: {name}" for paper, names in counts.items() for name in names if (paper, name) not in listed]
