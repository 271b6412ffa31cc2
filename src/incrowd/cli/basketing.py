"""The baskets command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli.options import Existing, How, IfExists, Jobs, Json, Quiet, is_wanted
from incrowd.cli.show import Screen


def baskets(
    data: Annotated[str, typer.Argument(help="A table with a row for each item of each basket.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The release folder to write.")],
    k: Annotated[int, typer.Option("-k", min=1, help="Size of the smallest crowd.")],
    m: Annotated[int, typer.Option("-m", min=1, help="How many items of a basket somebody may know.")] = 2,
    tree: Annotated[
        Path | None, typer.Option(help="The tree of items: a level table, items first; default: a balanced one.")
    ] = None,
    basket: Annotated[str | None, typer.Option(help="The column that names the basket.")] = None,
    item: Annotated[str | None, typer.Option(help="The column that names the item.")] = None,
    search: Annotated[str, typer.Option(help="apriori: small sets of items first; direct: all at once.")] = "apriori",
    rules: Annotated[
        float | None,
        typer.Option(help="Also compare rules of this support or more, such as 0.01, with the original's."),
    ] = None,
    if_exists: Existing = IfExists.FAIL,
    reading: How = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Publish baskets (market baskets, diagnoses, places) so that whoever knows m items of one finds k baskets."""
    screen = Screen(quiet=quiet, as_json=as_json)
    if not is_wanted(output, if_exists):
        screen.skipped(output)
        return
    with screen.progress() as progress:
        from incrowd import workflow

        release, compared = workflow.baskets(
            data, output, k=k, m=m, tree=tree, basket=basket, item=item, search=search, rules=rules,
            replace=if_exists is IfExists.REPLACE, reading=reading, run=workflow.Run(progress, jobs),
        )  # fmt: skip
    told = {"written": str(output), **release.to_dict(), "rules": None if compared is None else compared.to_dict()}
    if not screen.data(told):
        screen.say(str(release))
        if compared is not None:
            screen.say(f"Rules beside the original's: {compared}")
        screen.say(f"Wrote {output}, checked: incrowd verify {output} --original {data}")
