"""The command that proposes, draws and checks the hierarchy of a column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli.exits import BAD_INPUT
from incrowd.cli.options import STANDARD_OUTPUT, Existing, How, IfExists, Json, Quiet, is_wanted, own_parameters
from incrowd.cli.show import Screen
from incrowd.errors import counted

if TYPE_CHECKING:
    from rich.tree import Tree

    from incrowd.workflow import HierarchyReport
    from incrowd.workflow.hierarchies import Node

_WIDTH = 6  # children of a node that are drawn
_SHOWN = 8  # names of unused groups that are listed


def hierarchy(
    data: Annotated[str, typer.Argument(help="CSV, Parquet, Arrow, Excel file, or a database URL with --query.")],
    column: Annotated[str, typer.Argument(help="The column.")],
    schema: Annotated[
        Path | None, typer.Option("--schema", "-s", help="Schema file: its hierarchy of the column, its class.")
    ] = None,
    file: Annotated[
        str | None,
        typer.Option("--file", "-f", help="A tree in a file or in a table (URL#table), to check against the data."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(help="The file's: taxonomy, codes, pairs or nested. Or a recipe: words, prefixes, balanced, ..."),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the file or recipe: NAME=VALUE. Repeatable.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The class, for recipes that look at it.")] = None,
    k: Annotated[int, typer.Option("-k", help="Rows are told of groups with at least so many.")] = 5,
    depth: Annotated[int, typer.Option(min=1, help="Levels that are drawn, from the root.")] = 3,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the tree, a row per value and a column per level; - prints it."),
    ] = None,
    if_exists: Existing = IfExists.FAIL,
    reading: How = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Propose the hierarchy of a column, draw it, or check a file of yours: exit code 2 if it lacks values."""
    screen = Screen(quiet=quiet, as_json=as_json)
    if output is not None and not is_wanted(output, if_exists):
        screen.skipped(output)
        return
    with screen.progress() as progress:
        from incrowd import workflow

        found = workflow.hierarchy(
            data, column, schema=schema, file=file, kind=kind, settings=own_parameters(option, {}), target=target, k=k,
            reading=reading, run=workflow.Run(progress),
        )  # fmt: skip
        if output == STANDARD_OUTPUT and not as_json:
            screen.content(found.to_csv())
            return
        if output not in (None, STANDARD_OUTPUT):
            found.write_csv(output)
    if not screen.data(found.to_dict() | ({"output": str(output)} if output else {})):
        _show(screen, found, depth, output)
    if not found.ok and output is None:
        raise typer.Exit(BAD_INPUT)


def _show(screen: Screen, found: HierarchyReport, depth: int, output: Path | None) -> None:
    missing = f", {counted(found.missing, 'row')} without a value" if found.missing else ""
    screen.say(f"{found.column}: {counted(found.values, 'distinct value')} in {counted(found.rows, 'row')}{missing}")
    screen.say(f"{found.kind}: {found.why}")
    if found.root is not None:
        screen.tree(_drawn(found.root, depth, found.k))
        levels = [
            {
                "level": height,
                "groups": level.nodes,
                f"with {found.k} rows or more": level.with_k,
                "rows in the others": _rows(level.rows_of_others, found.k),
            }
            for height, level in enumerate(found.levels)
        ]
        screen.table("Levels, 0 for the values themselves", levels)
    else:
        screen.say("Any range of the values in their order; there are no groups to draw.")
    for line in _problems(found, output):
        screen.say(line)
    for note in found.notes:
        screen.say(f"Note: {note}")
    if output is not None:
        screen.say(f'Wrote {output}. In the schema: hierarchy = {{ kind = "taxonomy", file = "{output}" }}')
    elif found.setting and found.origin != "schema":
        screen.say(f"In the schema: hierarchy = {found.setting}")


def _problems(found: HierarchyReport, output: Path | None) -> list[str]:
    """Say what the data has and the tree lacks, and the other way round."""
    lines = []
    if lacking := found.lacking.values:
        what = f"{counted(lacking, 'value')} in {counted(found.lacking.rows, 'row')}"
        lines.append(f"NOT IN THE TREE: {what}. Such rows cannot be published.")
        if found.lacking.alike:
            lines.append(
                f"  {found.lacking.alike} of {lacking} differ from a value of the tree only in case or spaces."
            )
        if found.lacking.inner:
            lines.append(
                f"  {found.lacking.inner} of {lacking} have others below them: --set inner_values=true keeps them."
            )
        lines.append(
            f"  They are in the group 'unassigned' of {output}: move them where they belong."
            if output
            else "  To add them: -o FILE writes the tree with them in a group 'unassigned'; move them, then use FILE."
        )
    elif found.origin in ("file", "schema"):
        lines.append("Every value of the column is in the hierarchy.")
    if found.unused:
        more = f" and {len(found.unused) - _SHOWN} more" if len(found.unused) > _SHOWN else ""
        names = ", ".join(map(repr, found.unused[:_SHOWN])) + more
        lines.append(f"Nobody is in {counted(len(found.unused), 'group')}: {names}")
    if found.unused_values:
        lines.append(f"No row has {found.unused_values} of the {found.hierarchy.n_leaves} values of the tree.")
    return lines


def _drawn(root: Node, depth: int, k: int) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    def grow(tree: Tree, node: Node, left: int) -> None:
        if left == 0:
            return
        named = [child for child in node.children if child.name is not None]
        shown = named if len(named) == len(node.children) <= _WIDTH + 1 else named[:_WIDTH]
        for child in shown:
            grow(tree.add(Text(_label(child, k))), child, left - 1)
        rest = len(node.children) - len(shown)
        if rest:
            values = sum(child.leaves for child in node.children) - sum(child.leaves for child in shown)
            unit = "value" if values == rest else "group"
            within = "" if values == rest else f" with {counted(values, 'value')}"
            more = "more " if shown else ""
            tree.add(Text(f"... {rest} {more}{unit}{'s' if rest > 1 else ''}{within}"))

    drawn = Tree(Text(_label(root, k)))
    grow(drawn, root, depth)
    return drawn


def _label(node: Node, k: int) -> str:
    rows = "nobody" if node.rows == 0 else f"{_rows(node.rows, k)} row{'' if node.rows == 1 else 's'}"
    return f"{node.name} ({counted(node.leaves, 'value')}, {rows})" if node.children else f"{node.name} ({rows})"


def _rows(rows: int | None, k: int) -> str:
    return f"fewer than {k}" if rows is None else str(rows)
