"""The rules command: association rules of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli.options import Existing, How, IfExists, Json, Quiet, is_wanted, names
from incrowd.cli.show import Screen
from incrowd.errors import ParameterError, counted


def rules(
    release: Annotated[str, typer.Argument(help="A release: its folder, file or URL#TABLE.")],
    original: Annotated[
        str | None, typer.Option(help="The table that it was made from, to compare with its rules.")
    ] = None,
    min_support: Annotated[float, typer.Option(help="Least share of the rows that have both sides.")] = 0.05,
    min_confidence: Annotated[float, typer.Option(help="Least share of the left side's rows that have both.")] = 0.6,
    max_len: Annotated[int, typer.Option(min=2, help="Most items of a rule, both sides together.")] = 3,
    columns: Annotated[str | None, typer.Option(help="Columns whose values are items, comma-separated.")] = None,
    cut: Annotated[
        list[str] | None, typer.Option(help="Where ranges of a column of numbers begin: age=30,50. Repeatable.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the rules to this file; audit reads it.")
    ] = None,
    if_exists: Existing = IfExists.FAIL,
    reading: How = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Mine association rules from a release, and compare them with those of the original."""
    screen = Screen(quiet=quiet, as_json=as_json)
    if output is not None and not is_wanted(output, if_exists):
        output = None
    with screen.progress() as progress:
        from incrowd import workflow

        found = workflow.rules(
            release, original, output=output, min_support=min_support, min_confidence=min_confidence, max_len=max_len,
            columns=names(columns), cuts=_cuts(cut), reading=reading, run=workflow.Run(progress),
        )  # fmt: skip
    if screen.data(found.to_dict()):
        return
    screen.table(counted(found.rules.height, "rule"), found.lines())
    if found.comparison is not None:
        screen.say(str(found.comparison))
    if found.output is not None:
        screen.say(f"Wrote {found.output}.")


def _cuts(given: list[str] | None) -> dict[str, list[float]]:
    """Return where ranges begin, by column."""
    found = {}
    for text in given or ():
        name, _, starts = text.partition("=")
        try:
            found[name] = [float(start) for start in starts.split(",")]
        except ValueError:
            fact = f"Option --cut has {text!r}"
            raise ParameterError(fact, "write a column and where its ranges begin, such as --cut NAME=30,50") from None
    return found
