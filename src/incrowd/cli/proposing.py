"""The init command."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli.options import STANDARD_OUTPUT, Existing, How, IfExists, Json, Quiet, is_wanted
from incrowd.cli.show import Screen
from incrowd.cli.terms import as_options

if TYPE_CHECKING:
    from incrowd.workflow import Proposal


def init(
    data: Annotated[
        str,
        typer.Argument(
            help="A file (CSV, Parquet, Arrow, Excel, SPSS, Stata, SAS, SQLite, DuckDB; text also packed), a folder "
            "or pattern of files, - for standard input, or a database URL with --table or --query."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The schema file to write; - prints it.")],
    sensitive: Annotated[
        list[str] | None, typer.Option(help="A column to protect; repeatable. One is guessed if none is given.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The class to predict, if it is not the sensitive column.")] = None,
    missing_token: Annotated[
        list[str] | None, typer.Option("--missing-token", help="Text that means missing, such as '?'. Repeatable.")
    ] = None,
    if_exists: Existing = IfExists.FAIL,
    reading: How = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Propose a schema for a table: roles, types and hierarchies, each with a reason. Edit it before you publish."""
    from incrowd import workflow

    screen = Screen(quiet=quiet, as_json=as_json)
    if not is_wanted(output, if_exists):
        screen.skipped(output)
        return
    with screen.progress() as progress:
        found = workflow.propose(
            data, sensitive=sensitive, target=target, missing_tokens=missing_token or (), reading=reading,
            run=workflow.Run(progress),
        )  # fmt: skip
        if output != STANDARD_OUTPUT:
            found.schema.to_toml(output)
    if output == STANDARD_OUTPUT and not as_json:
        from incrowd.schema.toml import dumps

        screen.content(dumps(found.schema, Path.cwd()))
        for text in found.notes:
            screen.notice(f"Note: {as_options(text)}.")
    elif not screen.data({"schema": str(output), **found.to_dict()}):
        _show(screen, found, data, output, reading)
    screen.warn([f"{text}." for text in found.kept], wrapped=True)


def _show(screen: Screen, found: Proposal, data: str, output: Path, reading: How) -> None:
    from incrowd import io

    screen.table(f"{found.rows} rows", found.columns)
    for text in found.notes:
        screen.wrap(f"Note: {as_options(text)}.")
    suspects = [name for name, a in found.schema.attributes.items() if a.suspects]
    if suspects:
        named = ", ".join(map(repr, suspects))
        screen.wrap(
            f"Values that may mean missing are in {named}. Nothing is taken for missing until you say so: the lines to "
            f"use are in {output}."
        )
    if found.uniqueness is not None:
        screen.wrap(f"{found.uniqueness.text}.")
    secrets = " and ".join(map(repr, found.schema.secrets))
    verb = "is" if len(found.schema.secrets) == 1 else "are"
    if [found.schema.target] == found.schema.secrets:
        screen.wrap(
            f"{found.schema.target!r} is protected, and is the class that the release stays good for. If you want to "
            "predict another column, name it with --target."
        )
    elif found.schema.target is None:
        screen.wrap(
            f"{secrets} {verb} protected. If a column is to stay predictable, name it with --target: then groups are "
            "chosen for it."
        )
    else:
        screen.wrap(f"{secrets} {verb} protected; the release stays good for predicting {found.schema.target!r}.")
    ask = f" --query {shlex.quote(reading.query)}" if reading is not None and reading.query else ""
    screen.wrap(f"Wrote {output}. Review the roles, then:")
    source = shlex.quote(io.public_url(data))
    screen.say(f"incrowd publish {source}{ask} -s {output} -k 10 -o release")
