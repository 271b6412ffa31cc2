"""What people see: tables, verdicts and progress bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

if TYPE_CHECKING:
    from incrowd.release import Release
    from incrowd.verify import Verdict

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

    def head(self, text: str) -> None:
        """Print a headline."""
        self.out.print(f"\n[bold]{text}[/]")

    def table(self, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Print rows as a table."""
        table = Table(title=title, title_justify="left", header_style="bold")
        for name in rows[0] if rows else []:
            table.add_column(name, overflow="fold")
        for row in rows:
            table.add_row(*(str(cell).replace("[", "\\[") for cell in row.values()))
        self.out.print(table)

    def release(self, release: Release, summary: Mapping[str, Any]) -> None:
        """Print what was published."""
        rows = summary["rows"]
        promises = ", ".join(promise(guarantee) for guarantee in summary["guarantees"])
        self.say(f"Published {rows['released']} of {rows['input']} rows with {summary['method']}: {promises}.")
        if rows["missing"]:
            self.say(f"{rows['missing']} rows were left out for a missing value.")
        if rows["suppressed"]:
            self.say(f"{rows['suppressed']} rows were suppressed.")
        self.say(
            f"Information loss (LM): {summary['loss']['lm']:.3f} on a scale from 0 (unchanged) to 1 (all suppressed)."
        )
        self.say("Verified against the original by independent code: every promise holds.")
        self.say(f"Give away: {summary['release']}   Keep to yourself: {summary['private']}")
        del release

    def verdict(self, verdict: Verdict) -> None:
        """Print every check and the levels reached."""
        table = Table(header_style="bold")
        for name in ("check", "result", "detail"):
            table.add_column(name, overflow="fold")
        for check in verdict.checks:
            table.add_row(check.name, _MARK[check.ok], check.detail.replace("[", "\\["))
        self.out.print(table)
        reached = ", ".join(f"{name} = {_number(value)}" for name, value in verdict.levels.items() if value is not None)
        self.say(f"Levels reached: {reached}" if reached else "")
        self.out.print(
            "[bold green]Every promise that could be checked holds.[/]" if verdict.ok else "[bold red]NOT KEPT[/]"
        )

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


def _number(value: float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
