"""The risk command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli.options import Existing, How, IfExists, Jobs, Json, Quiet, is_wanted
from incrowd.cli.show import Screen


def risk(
    data: Annotated[str, typer.Argument(help="The table as it is: a file, a folder, - or a database URL.")],
    schema: Annotated[Path, typer.Option("--schema", "-s", help="Schema file; its quasi-identifiers are looked at.")],
    population: Annotated[
        str | None, typer.Option(help="A table of everybody who could be meant, the people of DATA among them.")
    ] = None,
    sampling_fraction: Annotated[
        float | None, typer.Option(help="Without a population: the part of it that is in DATA, such as 0.01.")
    ] = None,
    threshold: Annotated[float, typer.Option(help="Chance of being found above which a row is at risk.")] = 0.2,
    largest: Annotated[
        int, typer.Option(min=1, help="Columns in the largest sets that are searched for what makes rows unique.")
    ] = 3,
    specials: Annotated[
        Path | None,
        typer.Option(help="Write what makes each row unique, values included, to this file. Keep it private."),
    ] = None,
    if_exists: Existing = IfExists.FAIL,
    reading: How = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Tell how easily people of a table, as it is, could be found again, in it and in its population."""
    screen = Screen(quiet=quiet, as_json=as_json)
    wanted = specials is not None and is_wanted(specials, if_exists)
    with screen.progress() as progress:
        from incrowd import workflow

        found = workflow.risk(
            data, schema, population=population, sampling_fraction=sampling_fraction, threshold=threshold,
            largest=largest, specials=specials if wanted else None, reading=reading,
            run=workflow.Run(progress, jobs),
        )  # fmt: skip
    if not screen.data(found.to_dict()):
        screen.say(str(found))
    if wanted:
        screen.aside(f"Keep private: {specials} tells values of the table by row.")
