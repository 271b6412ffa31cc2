"""What people see: tables, verdicts and progress bars."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from incrowd.cli import logs
from incrowd.cli.exits import mute_output, unwritable_output
from incrowd.cli.terms import as_options
from incrowd.errors import counted

if TYPE_CHECKING:
    from rich.tree import Tree

    from incrowd.verify import Verdict
    from incrowd.workflow import Publication

_SHORT = 24  # characters of a name that is not broken into lines
_REACHED = {
    ("k",): "smallest crowd {k}",
    ("l_distinct",): "fewest sensitive values in a crowd {l_distinct}",
    ("alpha", "l_frequency"): "largest share of one value {alpha:.1%} (l = {l_frequency:.4g})",
    ("rows_with_class_min",): "fewest rows alike, class included {rows_with_class_min}",
    ("accuracy", "accuracy_of_class_alone"): (
        "estimated accuracy {accuracy:.1%}, by the most frequent class {accuracy_of_class_alone:.1%}"
    ),
    ("t",): "largest distance from the whole table {t:.4g} (t)",
    ("beta",): "largest relative gain of a sensitive value's share {beta:.4g} (beta)",
    ("width",): "least and greatest number of a crowd at least {width:.10g} apart (width)",
    ("delta",): "largest change of a sensitive value's share {delta:.4g} (delta, of base 2)",
}
_DETAILS = {
    "l_frequency", "l_entropy", "l_recursive", "block_min", "originals_per_release_min", "releases_per_original_min",
    "releases_per_original_mean", "generations", "partitions", "k_partial", "k_set", "rows_fitting_min",
}  # fmt: skip
_LACKING = ("the original", "the owner's private folder")
_MARK = {True: "[green]ok[/]", False: "[bold red]broken[/]", None: "[yellow]not checked[/]"}


class _Console(Console):
    """A console that survives a closed pipe, so that the exit code is still right."""

    def on_broken_pipe(self) -> None:
        """Print nothing more."""
        self.quiet = True
        mute_output()


class Screen:
    """Results on standard output, progress and warnings on standard error; only warnings when quiet.

    Parameters
    ----------
    quiet
        Show no tables and no progress.
    as_json
        Show the result as JSON, and nothing else.
    """

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet or as_json
        self.as_json = as_json
        self.out = _Console(quiet=self.quiet, highlight=False)
        self.err = _Console(stderr=True, highlight=False)

    def _print(self, text: object, *, markup: bool = False) -> None:
        try:
            self.out.print(text, markup=markup or not isinstance(text, str), soft_wrap=isinstance(text, str))
        except OSError as error:
            mute_output()
            raise unwritable_output(error) from error

    def say(self, text: str) -> None:
        """Print a line."""
        self._print(text)

    def content(self, text: str) -> None:
        """Print what would otherwise be the content of a file, and nothing else on standard output."""
        self.out.quiet = False
        self._print(text.removesuffix("\n"))
        self.out.quiet = True

    def wrap(self, text: str) -> None:
        """Print a sentence in lines of at most 80 columns."""
        self._print(textwrap.fill(text, 80, break_long_words=False, break_on_hyphens=False))

    def head(self, text: str) -> None:
        """Print a headline."""
        self._print(f"\n[bold]{text}[/]", markup=True)

    def data(self, found: Any) -> bool:  # noqa: ANN401
        """Print plain data as JSON, if that was asked for; return whether it was."""
        logs.count(found)
        if self.as_json:
            self.out.quiet = False
            self._print(json.dumps(_finite(found), ensure_ascii=False, allow_nan=False))
            self.out.quiet = True
        return self.as_json

    def skipped(self, path: Path | str) -> None:
        """Say that output was there already, and was left as it is."""
        if not self.data({"skipped": str(path)}):
            self.say(f"{path} exists already, and was left as it is.")

    def aside(self, text: str) -> None:
        """Print a line that is not part of the result, for somebody who is watching."""
        if not self.quiet and self.err.is_terminal:
            self.err.print(text, markup=False, soft_wrap=True)

    def notice(self, text: str) -> None:
        """Print a line for somebody who waits, on standard error."""
        if not self.quiet:
            self.err.print(text, markup=False, soft_wrap=True)

    def warn(self, warnings: Sequence[str], *, wrapped: bool = False) -> None:
        """Print warnings on standard error, whatever the verbosity; each in one line, or as wide as the screen."""
        for text in warnings:
            self.err.print(f"Warning: {as_options(text)}", markup=False, soft_wrap=not wrapped)

    def table(self, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Print rows as a table."""
        self.say(title)
        table = Table(header_style="bold")
        for i, name in enumerate(rows[0] if rows else []):
            table.add_column(name, overflow="fold", no_wrap=i == 0 and _are_short(rows, name))
        for row in rows:
            table.add_row(*(_plain(str(cell)) for cell in row.values()))
        self._print(table)

    def tree(self, drawn: Tree) -> None:
        """Print a tree."""
        self._print(drawn)

    def publication(self, done: Publication) -> None:
        """Print what was published, what it cost, and what to be careful about."""
        release, overview = done.release, done.overview
        manifest = release.manifest
        rows, method = manifest.rows, manifest.method.name
        self.say(f"Published {rows.released} of {rows.input} rows{overview.form} with {method}: {manifest.promises}.")
        if rows.missing:
            self.say(f"Left out because a value is missing: {counted(rows.missing, 'row')}.")
        if rows.suppressed:
            self.say(f"Suppressed: {counted(rows.suppressed, 'row')}.")
        if overview.columns:
            self.table(overview.title, overview.columns)
        self.say("Verified against the original by independent code: every promise holds.")
        self.say(f"Reached: {_levels(release.levels or {})}")
        for note in done.notes:
            self.say(f"Note: {as_options(note)}")
        for copy in done.copies:
            self.say(f"For spreadsheets: {copy}")
        self.say(f"Share: {' and '.join(done.shared)}   Keep private: {done.private}")

    def verdict(self, verdict: Verdict) -> None:
        """Print every check, the levels reached, and once more what is broken or was not checked."""
        if self.quiet:
            for violation in verdict.violations:
                self.err.print(f"BROKEN {violation}", markup=False, soft_wrap=True)
            self.warn(_unchecked(verdict))
        table = Table(header_style="bold")
        for name in ("check", "result", "detail"):
            table.add_column(name, overflow="fold")
        for check in verdict.checks:
            table.add_row(_plain(check.name), _MARK[check.ok], _plain(check.detail))
        self._print(table)
        if reached := _levels(verdict.levels):
            self.say(f"Reached: {reached}")
        if verdict.ok and any(check.ok for check in verdict.checks) and not verdict.mixes_releases:
            self._print("[bold green]Every promise that could be checked holds.[/]", markup=True)
        elif verdict.ok:
            self._print("[bold yellow]No promise was checked.[/]", markup=True)
        for line in [*_without_original(verdict), *_unchecked(verdict)]:
            self.say(line)
        for violation in verdict.violations:
            self._print(f"[bold red]BROKEN[/] {_plain(violation)}", markup=True)

    @contextmanager
    def progress(self) -> Iterator[Callable[[str, int, int], None]]:
        """Yield a function (stage, done, total) that draws one bar per stage."""
        columns = (
            TextColumn("{task.description:>10}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        hidden = self.quiet or not self.err.is_terminal
        with Progress(*columns, console=self.err, transient=True, disable=hidden, speed_estimate_period=600) as bars:
            tasks: dict[str, TaskID] = {}
            loading = bars.add_task("starting", total=None)  # the libraries take a second

            def report(stage: str, done: int, total: int) -> None:
                logs.enter(stage)
                if stage not in tasks:
                    bars.update(loading, visible=False)
                    tasks[stage] = bars.add_task(stage, total=max(1, total), completed=done)
                bars.update(tasks[stage], completed=done, total=max(1, total))

            yield report


def _finite(found: Any) -> Any:  # noqa: ANN401
    """Return plain data in which null stands for numbers that JSON does not have: NaN and infinities."""
    if isinstance(found, float):
        return found if math.isfinite(found) else None
    if isinstance(found, Mapping):
        return {name: _finite(value) for name, value in found.items()}
    return [_finite(value) for value in found] if isinstance(found, list | tuple) else found


def _without_original(verdict: Verdict) -> list[str]:
    """Say what a check of the public files alone leaves out."""
    skipped = [check.detail for check in verdict.checks if check.name == "original" and check.ok is None]
    return [f"The original was not given: {detail.removeprefix('needs the original: ')}." for detail in skipped]


def _unchecked(verdict: Verdict) -> list[str]:
    """Say what a complete verdict would have needed, by what was lacking."""
    found: dict[str, list[str]] = {}
    for check in sorted(verdict.checks, key=lambda check: check.name):
        if check.ok is None and check.needed:
            why = next((f" without {what}" for what in _LACKING if check.detail.startswith(f"needs {what}")), "")
            found.setdefault(why, []).append(check.name)
    return [f"NOT CHECKED{why}: {', '.join(dict.fromkeys(names))}" for why, names in found.items()]


def _levels(levels: Mapping[str, float | int | None]) -> str:
    """Say in words which levels were reached; `incrowd verify --json` has all of them."""
    known = {name: value for name, value in levels.items() if value is not None}
    phrases = [words.format(**known) for names, words in _REACHED.items() if all(name in known for name in names)]
    covered = {name for names in _REACHED for name in names} | _DETAILS
    others = [f"{name} = {_number(value)}" for name, value in known.items() if name not in covered]
    return "; ".join([*phrases, *others])


def _number(value: float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(text: str) -> str:
    return text.replace("[", "\\[")


def _are_short(rows: Sequence[Mapping[str, Any]], column: str) -> bool:
    return all(len(str(row[column])) <= _SHORT for row in rows)
