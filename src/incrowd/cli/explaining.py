"""The explain command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli.options import Existing, IfExists, Json, Quiet, is_wanted
from incrowd.cli.show import Screen


def explain(
    release: Annotated[str, typer.Argument(help="Where publish wrote it: a folder, file or URL#TABLE.")],
    column: Annotated[
        list[str] | None, typer.Option(help="A quasi-identifier; default: all of them. Repeatable.")
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(help="Write which values became what to this file, for the owner. Keep it private."),
    ] = None,
    if_exists: Existing = IfExists.FAIL,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Tell how columns are published: each value, how many rows show it, and how much detail it lost."""
    screen = Screen(quiet=quiet, as_json=as_json)
    wanted = mapping is not None and is_wanted(mapping, if_exists)
    with screen.progress() as progress:
        from incrowd import workflow

        found = workflow.explain(
            release, column or None, mapping=mapping if wanted else None, run=workflow.Run(progress)
        )
    if not screen.data({"columns": [one.to_dict() for one in found]}):
        screen.say("\n".join(map(str, found)))
    if wanted:
        screen.aside(f"Keep private: {mapping} tells which values became what.")
