"""What people see: tables, verdicts and progress bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

if TYPE_CHECKING:
    from incrowd.release import ProjectionRelease, Release
    from incrowd.verify import Verdict

_MORE, _NEARLY_ALL = 0.02, 0.95  # of a share, and of the quasi-identifiers' detail, that people are told of
_SHORT = 24  # characters of a name that is not broken into lines
_REACHED = {
    ("k",): "{k} people in the smallest crowd",
    ("l_distinct",): "at least {l_distinct} values in each",
    ("alpha", "l_frequency"): "no value has more than {alpha:.1%} of one (l = {l_frequency:.4g})",
    ("t",): "none is further than {t:.4g} from the whole table (t)",
}
_DETAILS = {
    "l_frequency", "l_entropy", "l_recursive", "block_min", "originals_per_release_min", "releases_per_original_min",
    "releases_per_original_mean",
}  # fmt: skip
_MARK = {True: "[green]ok[/]", False: "[bold red]broken[/]", None: "[yellow]not checked[/]"}


class Screen:
    """Tables on standard output, progress on standard error; nothing at all when quiet."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.out = Console(quiet=quiet, highlight=False)
        self.err = Console(stderr=True, quiet=quiet, highlight=False)

    def say(self, text: str) -> None:
        """Print a line."""
        self.out.print(text, markup=False, soft_wrap=True)

    def aside(self, text: str) -> None:
        """Tell somebody who is watching a line that is no result."""
        if self.err.is_terminal:
            self.err.print(text, markup=False, soft_wrap=True)

    def head(self, text: str) -> None:
        """Print a headline."""
        self.out.print(f"\n[bold]{text}[/]")

    def table(self, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Print rows as a table."""
        self.say(title)
        table = Table(header_style="bold")
        for i, name in enumerate(rows[0] if rows else []):
            table.add_column(name, overflow="fold", no_wrap=i == 0 and _are_short(rows, name))
        for row in rows:
            table.add_row(*(str(cell).replace("[", "\\[") for cell in row.values()))
        self.out.print(table)

    def release(self, release: Release | ProjectionRelease, summary: Mapping[str, Any]) -> None:
        """Print what was published, what it cost, and what a careful person would want to know."""
        rows = summary["rows"]
        promises = ", ".join(promise(guarantee) for guarantee in summary["guarantees"])
        how = summary.get("form", "")
        self.say(f"Published {rows['released']} of {rows['input']} rows{how} with {summary['method']}: {promises}.")
        if rows["missing"]:
            self.say(f"{rows['missing']} rows were left out for a missing value.")
        if rows["suppressed"]:
            self.say(f"{rows['suppressed']} rows were suppressed.")
        title = "what the columns lost (0 unchanged, 1 suppressed)" if "loss" in summary else summary["title"]
        if summary["columns"]:
            self.table(title, summary["columns"])
        self.say("Verified against the original by independent code: every promise holds.")
        self.say(f"Reached: {_levels(release.levels or {})}")
        for note in summary["notes"]:
            self.say(f"Note: {note}")
        self.say(f"Give away: {summary['release']}   Keep to yourself: {summary['private']}")

    def verdict(self, verdict: Verdict) -> None:
        """Print every check, the levels reached, and once more what is broken."""
        table = Table(header_style="bold")
        for name in ("check", "result", "detail"):
            table.add_column(name, overflow="fold")
        for check in verdict.checks:
            table.add_row(check.name, _MARK[check.ok], check.detail.replace("[", "\\["))
        self.out.print(table)
        if told := _levels(verdict.levels):
            self.say(f"Reached: {told}")
        if verdict.ok and any(check.ok for check in verdict.checks):
            self.out.print("[bold green]Every promise that could be checked holds.[/]")
        elif verdict.ok:
            self.out.print("[bold yellow]No promise was checked.[/]")
        for why, names in _unchecked(verdict).items():
            self.say(f"NOT CHECKED{why}: {', '.join(names)}")
        for violation in verdict.violations:
            self.out.print(f"[bold red]BROKEN[/] {violation.replace('[', chr(92) + '[')}")

    @contextmanager
    def progress(self) -> Iterator[Callable[[str, int, int], None]]:
        """Yield a function (stage, done, total) that draws one bar per stage."""
        columns = (
            TextColumn("{task.description:>10}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
        )
        with Progress(
            *columns, console=self.err, transient=True, disable=self.quiet or not self.err.is_terminal
        ) as bars:
            tasks: dict[str, TaskID] = {}

            def report(stage: str, done: int, total: int) -> None:
                if stage not in tasks:
                    tasks[stage] = bars.add_task(stage, total=max(1, total))
                bars.update(tasks[stage], completed=done, total=max(1, total))

            yield report


def promise(guarantee: Mapping[str, Any]) -> str:
    """Write one guarantee for people."""
    kind = guarantee["kind"]
    if kind == "lkc":
        return f"LKC = ({guarantee['L']}, {guarantee['K']}, {guarantee['C']:g})"
    named = f" ({guarantee['l_kind']})" if kind == "l" and guarantee["l_kind"] != "frequency" else ""
    return f"{kind} = {guarantee[kind]:g}{named}"


def summarize(release: Release | ProjectionRelease, folder: Path) -> dict[str, Any]:
    """Collect what people and programs are told about a release that was just published."""
    manifest = release.manifest
    about = {
        "release": str(folder),
        "private": str(folder.with_name(folder.name + ".private")),
        "method": manifest["method"]["name"],
        "guarantees": manifest["guarantees"],
        "rows": manifest["rows"],
        "levels": release.levels,
    }
    if manifest.get("payload") == "projections":
        from incrowd.cli.projections import told

        return about | told(cast("ProjectionRelease", release))
    return about | _told(cast("Release", release))


def _told(release: Release) -> dict[str, Any]:
    """Say what each column lost."""
    from incrowd.losses import cell_loss

    columns = []
    for m, (name, hierarchy) in enumerate(zip(release.quasi, release.hierarchies, strict=True)):
        lost = cell_loss("lm", hierarchy, release.marginals[m], release.cell_lo[:, m], release.cell_hi[:, m])
        columns.append({"column": name, "loss (LM)": f"{lost[release.cell_of].mean():.3f}"})
    total = release.loss("lm")
    columns.append({"column": "all", "loss (LM)": f"{total:.3f}"})
    return {"loss": {"lm": round(total, 4)}, "columns": columns, "notes": _notes(release)}


def _notes(release: Release) -> list[str]:
    """Say what a promise that was kept does not cover."""
    manifest = release.manifest
    guarantees = manifest["guarantees"]
    k = max((g["k"] if g["kind"] == "k" else g["K"] for g in guarantees if g["kind"] in ("k", "lkc")), default=1)
    rare = [(name, int(((f > 0) & (f < k)).sum())) for name, f in zip(release.quasi, release.marginals, strict=True)]
    listed = ", ".join(f"{name} ({n})" for name, n in rare if n)
    notes = []
    if manifest["method"]["parameters"].get("mode") == "paper":
        from incrowd.publish.nsvdist import RISK

        notes.append(RISK)
    if listed:
        notes.append(f"manifest.json lists values that fewer than k people have: {listed}.")
    if _is_one_group(release):
        notes.append(
            "every row is in one group: nothing of the quasi-identifiers is left; use a smaller k or another method."
        )
        return notes
    alpha = (release.levels or {}).get("alpha")
    about_size = all(g["kind"] == "k" or (g["kind"] == "lkc" and g["C"] >= 1) for g in guarantees)
    if about_size and manifest["sensitive"] and alpha is not None and alpha > _own_share(release) + _MORE:
        name = manifest["sensitive"]["name"]
        where = "in one group" if release.distributions is None else "for one row"
        notes.append(f"k alone does not hide {name!r}: {where} {alpha:.0%} of the people share a value. See -l.")
    if release.loss("lm") > _NEARLY_ALL:
        notes.append("nearly nothing of the quasi-identifiers is left; use a smaller k or l, or another method.")
    return notes


def _own_share(release: Release) -> float:
    """Return the share of the most frequent sensitive value among all rows, which no release can lower."""
    if release.distributions is not None:
        return float(release.distributions.mean(axis=0).max())
    assert release.sensitive is not None
    import numpy as np

    return float(np.bincount(release.sensitive).max() / len(release.sensitive))


def _is_one_group(release: Release) -> bool:
    """Tell whether all rows look alike, though the people did not."""
    differed = any((marginal > 0).sum() > 1 for marginal in release.marginals)
    return differed and all(
        bool((cells[release.cell_of] == cells[release.cell_of[0]]).all())
        for cells in (release.cell_lo, release.cell_hi)
    )


def _unchecked(verdict: Verdict) -> dict[str, list[str]]:
    """Sort the promises that were not checked by what was lacking."""
    found: dict[str, list[str]] = {}
    for check in sorted(verdict.checks, key=lambda check: check.name):
        if check.ok is None and check.name in verdict.unchecked:
            why = " without the original" if check.detail.startswith("needs the original") else ""
            found.setdefault(why, []).append(check.name)
    return found


def _levels(levels: Mapping[str, float | int | None]) -> str:
    """Say in words what was reached; the rest is in the verdict of `incrowd verify --json`."""
    known = {name: value for name, value in levels.items() if value is not None}
    told = [words.format(**known) for names, words in _REACHED.items() if all(name in known for name in names)]
    spoken = {name for names in _REACHED for name in names} | _DETAILS
    return "; ".join([*told, *(f"{name} = {_number(value)}" for name, value in known.items() if name not in spoken)])


def _number(value: float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _are_short(rows: Sequence[Mapping[str, Any]], column: str) -> bool:
    return all(len(str(row[column])) <= _SHORT for row in rows)
