"""The attack command."""

from __future__ import annotations

from typing import Annotated

import typer

from incrowd.cli.exits import NOT_MET
from incrowd.cli.options import How, Jobs, Json, Quiet, names
from incrowd.cli.show import Screen


def attack(
    release: Annotated[str, typer.Argument(help="A release: its folder, file or URL#TABLE.")],
    original: Annotated[str, typer.Option(help="The table that it was made from.")],
    earlier: Annotated[
        list[str] | None, typer.Option(help="Another release about the same people. Repeatable.")
    ] = None,
    known: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of the sensitive values that the adversary already knows.")
    ] = 0.0,
    non_members: Annotated[
        str | None, typer.Option(help="People who are not in the table, to compare predictions with.")
    ] = None,
    attacks: Annotated[
        str | None,
        typer.Option(
            help="Any of linking, matching, reconstruction, minimality, classifier, intersection, differencing, "
            "guessed-seed, comma-separated; default: all."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the adversary's own random choices.")] = 0,
    reading: How = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Attack a release as somebody would who knows all quasi-identifiers; exit code 3 if a promise is broken."""
    screen = Screen(quiet=quiet, as_json=as_json)
    with screen.progress() as progress:
        from incrowd import workflow

        report = workflow.attack(
            release, original, attacks=names(attacks), earlier=earlier or (), known=known, non_members=non_members,
            seed=seed, reading=reading, run=workflow.Run(progress, jobs),
        )  # fmt: skip
    if not screen.data(report.to_dict()):
        screen.say(str(report))
    if not report.ok:
        raise typer.Exit(NOT_MET)
