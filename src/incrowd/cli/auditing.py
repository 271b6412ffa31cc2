"""The command that judges models: audit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli.exits import NOT_MET
from incrowd.cli.options import Existing, How, IfExists, Json, Quiet, is_wanted, names
from incrowd.cli.show import Screen
from incrowd.errors import ParameterError

if TYPE_CHECKING:
    from incrowd.audit import Audit
    from incrowd.audit.rules import RuleAudit


def audit(
    model: Annotated[
        Path,
        typer.Argument(
            help="A model (.joblib, .pkl, .skops, .onnx, .pmml, .json, .txt), or a table of association rules."
        ),
    ],
    data: Annotated[
        str | None, typer.Argument(help="The table that the model was fitted with; baskets for rules.")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", "-s", help="Schema file; its quasi-identifiers are public.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Size of the smallest crowd.")] = 10,
    public: Annotated[
        str | None, typer.Option(help="For rules: items that somebody may know, comma-separated.")
    ] = None,
    people: Annotated[
        int | None, typer.Option(min=1, help="For rules without a table: how many people they are about.")
    ] = None,
    rounding: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.0, help="For rules: largest rounding error of their numbers; 0.0005 for 3 decimals."
        ),
    ] = 0.0,
    class_public: Annotated[bool, typer.Option("--class-public", help="An attacker knows the class too.")] = False,
    l: Annotated[
        float | None, typer.Option("-l", help="For models: entropy diversity of the classes in each crowd.")
    ] = None,
    max_confidence: Annotated[
        float | None, typer.Option(help="For models: largest share of one class in a crowd, such as 0.85.")
    ] = None,
    trust: Annotated[bool, typer.Option("--trust", help="Load a pickle, which runs the code that is in it.")] = False,
    repair: Annotated[Path | None, typer.Option(help="Write a repaired model or rule table to this file.")] = None,
    refit: Annotated[
        Path | None, typer.Option(help="Write a k-anonymous model in its place, fitted with the table; often better.")
    ] = None,
    folds: Annotated[
        int | None, typer.Option(min=2, help="Judge the model, its repair and a refit by that many folds.")
    ] = None,
    if_exists: Existing = IfExists.FAIL,
    reading: How = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find out whom a model reveals, whoever made it; exit code 3 if somebody is in a crowd smaller than k."""
    screen = Screen(quiet=quiet, as_json=as_json)
    if (refit is not None or folds is not None) and (data is None or schema is None):
        fact = "Options --refit and --folds are for models: they need the table and a schema"
        raise ParameterError(fact, "run for example: incrowd audit model.joblib data.csv -s data.toml --folds 3")
    repair, refit = (one if one is None or is_wanted(one, if_exists) else None for one in (repair, refit))
    limits = {"l": l, "max_confidence": max_confidence, "trust": trust, "reading": reading}
    with screen.progress() as progress:
        from incrowd import workflow

        run, kept = workflow.Run(progress), None
        found = workflow.audit(
            model, data, schema, k=k, public=names(public), people=people, rounding=rounding,
            class_public=class_public, run=run, **limits,
        )  # fmt: skip
        if folds is not None:
            kept = workflow.kept_by_folds(
                model, data, str(schema), k, folds=folds, class_public=class_public, run=run, **limits
            )
        if refit is not None:
            workflow.save_refit(model, data, str(schema), refit, k=k, run=run, **limits)
    if not screen.data(found.to_dict() | ({} if kept is None else {"kept": kept.to_dict()})):
        screen.say("\n".join(map(str, filter(None, (found, kept)))))
    if refit is not None:
        screen.say(f"Wrote {refit}, a k-anonymous model in its place.")
    if repair is not None and not found.ok:
        _repair(screen, found, repair)
    if not found.ok:
        raise typer.Exit(NOT_MET)


def _repair(screen: Screen, found: Audit | RuleAudit, path: Path) -> None:
    """Write what an audit repaired, and say what it keeps."""
    from incrowd import workflow
    from incrowd.audit import Audit

    repaired = workflow.save_repair(found, path)
    keeps = getattr(found, "repair_is_safe", True)  # of rules it is not always known
    outcome = f"keeps k = {found.k}"
    if not keeps:
        outcome = f"has none of these breaches; whether it keeps k = {found.k} is not known"
    screen.say(f"Wrote {path}, which {outcome}.")
    kept = found.compare(repaired) if isinstance(found, Audit) else {}
    if kept:
        screen.say(
            f"It is right about {kept['after']:.1%} of the table, the model as it was about {kept['before']:.1%}, "
            f"the most frequent class about {kept['majority']:.1%}."
        )
