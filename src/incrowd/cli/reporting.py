"""The report command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli.exits import NOT_CHECKED, NOT_MET
from incrowd.cli.options import STANDARD_OUTPUT, Existing, How, IfExists, Jobs, Json, Quiet, is_wanted, names
from incrowd.cli.show import Screen


def report(
    release: Annotated[str, typer.Argument(help="Where publish wrote it: a folder, file or URL#TABLE.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The HTML file to write, - to print it; without it, text is printed."),
    ] = None,
    original: Annotated[
        str | None, typer.Option(help="The table that it was made from: to check, attack and compare.")
    ] = None,
    test: Annotated[str | None, typer.Option(help="Table of other people, to test classifiers with.")] = None,
    earlier: Annotated[
        list[str] | None, typer.Option(help="Another release about the same people, wherever it is. Repeatable.")
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
    if_exists: Existing = IfExists.FAIL,
    reading: How = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write what a privacy officer reads: promise, check, loss, use, attacks, risk, how it was made, and limits."""
    screen = Screen(quiet=quiet, as_json=as_json)
    printed = output == STANDARD_OUTPUT and not as_json
    output = None if output == STANDARD_OUTPUT else output
    asked = [path for path in (output, pdf) if path is not None]
    wanted = [path for path in asked if is_wanted(path, if_exists)]
    if asked and not wanted:
        screen.skipped(asked[0])
        return
    with screen.progress() as progress:
        from incrowd import workflow
        from incrowd.report.markup import clean

        found = workflow.report(
            release, original, test=test, earlier=earlier or (), attacks=names(attacks), attack=not no_attack,
            evaluate=not no_evaluate, for_owner=for_owner, reading=reading,
            output=output if output in wanted else None, pdf=pdf if pdf in wanted else None,
            replace=if_exists is IfExists.REPLACE, run=workflow.Run(progress, jobs),
        )  # fmt: skip
    summary = found.summary
    written = [str(path) for path in wanted]
    if screen.data({"written": written, **found.to_dict()}):
        pass
    elif printed:
        screen.content(found.html)
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
