"""The report command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli.exits import NOT_CHECKED, NOT_MET
from incrowd.cli.options import How, Jobs, Json, Quiet, names
from incrowd.cli.show import Screen


def report(
    release: Annotated[Path, typer.Argument(help="A release folder.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The HTML file to write; without it, text is printed.")
    ] = None,
    original: Annotated[
        str | None, typer.Option(help="The table that it was made from: to check, attack and compare.")
    ] = None,
    test: Annotated[str | None, typer.Option(help="Table of other people, to test classifiers with.")] = None,
    earlier: Annotated[
        list[Path] | None, typer.Option(help="Folder of another release about the same people. Repeatable.")
    ] = None,
    attacks: Annotated[
        str | None, typer.Option(help="Attacks, comma-separated; default: all that do not take minutes.")
    ] = None,
    no_attack: Annotated[bool, typer.Option("--no-attack", help="Leave out the attacks.")] = False,
    no_evaluate: Annotated[bool, typer.Option("--no-evaluate", help="Leave out what classifiers keep.")] = False,
    for_owner: Annotated[
        bool, typer.Option("--for-owner", help="Exact results and rows at risk: not to be handed out.")
    ] = False,
    pdf: Annotated[
        Path | None, typer.Option(help="Also print it to this PDF file; Chromium must be installed.")
    ] = None,
    reading: How = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write what a privacy officer reads: promise, check, loss, use, attacks, risk, how it was made, and limits."""
    screen = Screen(quiet=quiet, as_json=as_json)
    with screen.progress() as progress:
        from incrowd import workflow
        from incrowd.report.markup import clean

        found = workflow.report(
            release, original, test=test, earlier=earlier or (), attacks=names(attacks), attack=not no_attack,
            evaluate=not no_evaluate, for_owner=for_owner, output=output, pdf=pdf, reading=reading,
            run=workflow.Run(progress, jobs),
        )  # fmt: skip
    summary = found.summary
    written = [str(path) for path in (output, pdf) if path is not None]
    if screen.data({"written": written, **found.to_dict()}):
        pass
    elif not written:
        screen.say(str(found))
    else:
        screen.say(clean(summary.promise.sentence, 2000))
        screen.say(f"Check: {summary.judgement.headline}")
        screen.say(f"Attacks: {summary.adversaries.why_not or summary.adversaries.headline}")
        screen.say(
            f"Wrote {' and '.join(written)}: {'keep private' if for_owner else 'safe to share with the release'}."
        )
    if not summary.ok:
        raise typer.Exit(NOT_MET)
    if original is not None and not summary.judgement.complete:
        raise typer.Exit(NOT_CHECKED)
