"""The commands that judge what a release is worth to a classifier: evaluate and compare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli.exits import NOT_MET, keep
from incrowd.cli.options import (
    Existing,
    How,
    IfExists,
    Jobs,
    Json,
    Method,
    Own,
    Quiet,
    Seed,
    is_wanted,
    own_parameters,
)
from incrowd.cli.show import Screen
from incrowd.cli.terms import OPTIONS
from incrowd.errors import ParameterError

if TYPE_CHECKING:
    from incrowd.evaluate import Comparison, Evaluation

_SchemaFile = Annotated[Path | None, typer.Option("--schema", "-s", help="Schema file made by init, for a table.")]
_NAMED = "Comma-separated: tree, naive_bayes, logistic, boosting, forest, svc, j48, jrip, nb, ..."
_Classifiers = Annotated[str, typer.Option(help=_NAMED)]
_Cv = Annotated[str | None, typer.Option(help="Folds, or repeats and folds such as 5x2; 10 without --test.")]
_Test = Annotated[str | None, typer.Option(help="Table of test rows.")]
_Samples = Annotated[int, typer.Option(help="Samples drawn from each release.")]
_Training = Annotated[str, typer.Option(help="recommended, samples, soft, cells or majority_labels.")]
_Rows = Annotated[str, typer.Option("--test-rows", help="raw, or generalized as the release is.")]
_Plot = Annotated[Path | None, typer.Option(help="Draw a figure into this .svg or .png file.")]
_Dark = Annotated[bool, typer.Option("--dark", help="Draw it on a dark background.")]
_TAKEN = {name: OPTIONS[name] for name in ("k", "l")}
_DEFAULT = "tree,naive_bayes,logistic"


def evaluate(
    data: Annotated[str, typer.Argument(help="A release folder with --test, or a table with -s, -m and -k.")],
    schema: _SchemaFile = None,
    method: Method = None,
    k: Annotated[int | None, typer.Option("-k", help="Size of the smallest crowd.")] = None,
    l: Annotated[float | None, typer.Option("-l", help="Diversity of sensitive values.")] = None,
    option: Own = None,
    test: _Test = None,
    original: Annotated[
        str | None, typer.Option(help="For a release: the table that it was made from, to compare with.")
    ] = None,
    cv: Annotated[
        str | None,
        typer.Option(help="Folds, or repeats and folds such as 5x2; 10 without --test, fewer for large tables."),
    ] = None,
    classifiers: Annotated[
        str | None, typer.Option(help=f"{_NAMED} Default: {_DEFAULT}; with --quick tree,naive_bayes.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="Samples drawn from each release; 10, fewer for large tables.")
    ] = None,
    training: Annotated[
        str | None,
        typer.Option(
            help="recommended, samples, soft, cells or majority_labels; several with commas. Default: the first two."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A first look: one split, two classifiers, one sample.")
    ] = False,
    test_rows: _Rows = "raw",
    seed: Seed = 0,
    plot: _Plot = None,
    dark: _Dark = False,
    if_exists: Existing = IfExists.FAIL,
    reading: How = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how much accuracy classifiers keep when they are trained on a release."""
    screen = Screen(quiet=quiet, as_json=as_json)
    plot = _wanted_plot(plot, if_exists)
    given = {name: value for name, value in {"k": k, "l": l}.items() if value is not None}
    given |= own_parameters(option, _TAKEN)
    with screen.progress() as progress:
        from incrowd import workflow

        found = workflow.evaluate(
            data, schema=schema, method=method, parameters=given or None, test=test, original=original, cv=cv,
            classifiers=classifiers, samples=samples, training=training.split(",") if training else None,
            test_rows=test_rows, quick=quick, seed=seed, reading=reading,
            run=workflow.Run(progress, jobs, screen.notice),
        )  # fmt: skip
    _finish(screen, found, plot, dark=dark)


def compare(
    data: Annotated[str, typer.Argument(help="The table.")],
    schema: _SchemaFile = None,
    method: Annotated[
        str, typer.Option("--method", "-m", help="Methods, comma-separated; see: incrowd methods.")
    ] = "mondrian,nsvdist",
    k: Annotated[str, typer.Option("-k", help="Sizes of the smallest crowd, comma-separated.")] = "5,10,25,50",
    l: Annotated[str, typer.Option("-l", help="Diversities of sensitive values, comma-separated; 1 is none.")] = "1",
    option: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE, for all methods with such a parameter. Repeatable.")
    ] = None,
    test: _Test = None,
    cv: _Cv = None,
    classifiers: _Classifiers = _DEFAULT,
    samples: _Samples = 10,
    training: _Training = "recommended",
    test_rows: _Rows = "raw",
    losses: Annotated[
        str, typer.Option("--loss", help="Losses of the releases, comma-separated; lm is the detail lost.")
    ] = "lm",
    seed: Seed = 0,
    jobs: Jobs = None,
    store: Annotated[
        Path | None, typer.Option(help="File of finished results: a run that was stopped continues from it.")
    ] = None,
    plot: _Plot = None,
    dark: _Dark = False,
    if_exists: Existing = IfExists.FAIL,
    reading: How = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare methods on one table: how much accuracy classifiers keep at each k."""
    screen = Screen(quiet=quiet, as_json=as_json)
    plot = _wanted_plot(plot, if_exists)
    if store is not None:
        keep("What is finished is in the store: the same command continues from there.")
    with screen.progress() as progress:
        from incrowd import workflow

        found = workflow.compare(
            data, schema=schema, methods=method, parameters=own_parameters(option, _TAKEN), test=test, cv=cv,
            k=_numbers("-k", k, int), l=_numbers("-l", l, float), classifiers=classifiers, samples=samples,
            training=training, test_rows=test_rows, losses=losses, seed=seed, store=store,
            reading=reading, run=workflow.Run(progress, jobs),
        )  # fmt: skip
    published = any(row["status"] == "ok" for row in found.rows)
    _finish(screen, found, plot if published else None, dark=dark)
    if not published:
        raise typer.Exit(NOT_MET)


def _finish(screen: Screen, found: Evaluation | Comparison, plot: Path | None, *, dark: bool) -> None:
    if not screen.data(found.to_dict()):
        screen.say(str(found))
    if plot is not None:
        from incrowd import plots

        plots.save(found.plot(theme="dark" if dark else "light"), plot)
        screen.say(f"Wrote {plot}.")


def _numbers(option: str, text: str, kind: type[int] | type[float]) -> list[Any]:
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        fact = f"{option} is {text!r}"
        raise ParameterError(fact, "use numbers, comma-separated: 5,10,50") from None


def _wanted_plot(plot: Path | None, if_exists: IfExists) -> Path | None:
    """Refuse a figure that could not be written, before anything is computed; return one that is to be drawn."""
    if plot is None or not is_wanted(plot, if_exists):
        return None
    from incrowd import plots

    plots.check_file(plot)
    return plot
