"""The commands that judge what a release is worth to a classifier: evaluate and compare."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli.options import Json, Method, Own, Quiet, own_parameters
from incrowd.cli.show import Screen
from incrowd.errors import ParameterError

if TYPE_CHECKING:
    from incrowd.evaluate import Comparison, Evaluation
    from incrowd.schema import Schema

_NOT_MET = 3
_SchemaFile = Annotated[Path | None, typer.Option("--schema", "-s", help="Schema file made by init, for a table.")]
_Classifiers = Annotated[
    str, typer.Option(help="With commas: tree, naive_bayes, logistic, boosting, forest, svc, j48, jrip, nb, ...")
]
_Cv = Annotated[str | None, typer.Option(help="Folds, or repeats and folds such as 5x2; 10 without --test.")]
_Test = Annotated[str | None, typer.Option(help="Table of test rows.")]
_Samples = Annotated[int, typer.Option(help="Samples drawn from each release.")]
_Training = Annotated[str, typer.Option(help="samples, soft, cells or majority_labels.")]
_Rows = Annotated[str, typer.Option("--test-rows", help="raw, or generalized as the release is.")]
_Seed = Annotated[int, typer.Option(help="Of folds, releases and samples.")]
_Plot = Annotated[Path | None, typer.Option(help="Draw a figure into this .svg or .png file.")]
_Dark = Annotated[bool, typer.Option("--dark", help="Draw it on a dark ground.")]
_TAKEN = {"k": "-k", "l": "-l"}
_DEFAULT = "tree,naive_bayes,logistic"


def evaluate(
    data: Annotated[str, typer.Argument(help="A release folder with --test, or a table with -s, -m and -k.")],
    schema: _SchemaFile = None,
    method: Method = None,
    k: Annotated[int | None, typer.Option("-k", help="Least size of the crowd.")] = None,
    l: Annotated[float | None, typer.Option("-l", help="Diversity of sensitive values.")] = None,
    option: Own = None,
    test: _Test = None,
    original: Annotated[
        str | None, typer.Option(help="For a release: the table that it was made of, to compare with.")
    ] = None,
    cv: _Cv = None,
    classifiers: _Classifiers = _DEFAULT,
    samples: _Samples = 10,
    training: _Training = "samples",
    test_rows: _Rows = "raw",
    seed: _Seed = 0,
    plot: _Plot = None,
    dark: _Dark = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find out what classifiers keep of what they learn when they are trained on a release."""
    screen = Screen(quiet=quiet or as_json)
    _check_plot(plot)
    with _progress(screen) as progress:
        progress("starting", 0, 1)  # the libraries take a second to load
        from incrowd.evaluate import evaluate as judge
        from incrowd.publish import default_method, make

        shared: dict[str, Any] = {"samples": samples, "classifiers": classifiers, "training": training}
        shared |= {"test": test_rows, "seed": seed, "progress": progress}
        if (Path(data) / "manifest.json").exists():
            if test is None or any(given is not None for given in (schema, k, l, option, cv)):
                fact = f"{data} is a release folder: it takes --test, and no schema, k, l, --set or folds"
                raise ParameterError(fact, f"incrowd evaluate {data} --test test.csv --original data.csv")
            from incrowd.release.folder import load

            release = load(Path(data))
            rows = {"holdout": _read(test, *_types(release.manifest))}
            if original is not None:
                rows["original"] = _read(original, *_types(release.manifest))
            found = judge(release, **rows, **shared)
        else:
            if original is not None:
                fact = "--original is for release folders"
                raise ParameterError(fact, "a table is published anew")
            roles = _schema(schema, data)
            if k is None:
                fact = "How large a crowd shall hide each person was not said"
                raise ParameterError(fact, "give -k, for example -k 10")
            given = ({"k": k} if l is None else {"k": k, "l": l}) | own_parameters(option, _TAKEN)
            how = (roles.types, roles.missing_tokens)
            holdout = None if test is None else _read(test, *how)
            found = judge(
                make(method or default_method(roles, given), **given),
                _read(data, *how),
                roles,
                cv=cv,
                holdout=holdout,
                **shared,
            )
    _finish(screen, found, plot, dark=dark, as_json=as_json)


def compare(
    data: Annotated[str, typer.Argument(help="The table.")],
    schema: _SchemaFile = None,
    method: Annotated[
        str, typer.Option("--method", "-m", help="Methods, with commas; see: incrowd methods.")
    ] = "mondrian,nsvdist",
    k: Annotated[str, typer.Option("-k", help="Sizes of the crowd, with commas.")] = "5,10,25,50",
    l: Annotated[str, typer.Option("-l", help="Diversities of sensitive values, with commas; 1 is none.")] = "1",
    option: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE, for all methods with such a parameter. Repeatable.")
    ] = None,
    test: _Test = None,
    cv: _Cv = None,
    classifiers: _Classifiers = _DEFAULT,
    samples: _Samples = 10,
    training: _Training = "samples",
    test_rows: _Rows = "raw",
    losses: Annotated[str, typer.Option("--loss", help="Losses of the releases, with commas.")] = "lm",
    seed: _Seed = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Number of processes.")] = 1,
    store: Annotated[
        Path | None, typer.Option(help="File of what is finished: a run that was stopped goes on from it.")
    ] = None,
    plot: _Plot = None,
    dark: _Dark = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare methods on one table: what classifiers keep at each k."""
    screen = Screen(quiet=quiet or as_json)
    _check_plot(plot)
    with _progress(screen) as progress:
        progress("starting", 0, 1)
        from incrowd.evaluate import compare as judge

        roles = _schema(schema, data)
        how = (roles.types, roles.missing_tokens)
        found = judge(
            _read(data, *how),
            roles,
            methods=method,
            parameters=_shared_out(own_parameters(option, _TAKEN), method),
            k=_numbers("-k", k, int),
            l=_numbers("-l", l, float),
            holdout=None if test is None else _read(test, *how),
            cv=cv,
            classifiers=classifiers,
            samples=samples,
            training=training,  # type: ignore[arg-type]
            test=test_rows,  # type: ignore[arg-type]
            losses=losses,
            seed=seed,
            jobs=jobs,
            store=store,
            progress=progress,
        )
    published = any(row["status"] == "ok" for row in found.rows)
    _finish(screen, found, plot if published else None, dark=dark, as_json=as_json)
    if not published:
        raise typer.Exit(_NOT_MET)


def _finish(screen: Screen, found: Evaluation | Comparison, plot: Path | None, *, dark: bool, as_json: bool) -> None:
    if as_json:
        print(json.dumps(found.to_dict(), ensure_ascii=False))  # noqa: T201
    screen.say(str(found))
    if plot is not None:
        from incrowd import plots

        plots.save(found.plot(theme="dark" if dark else "light"), plot)
        screen.say(f"Wrote {plot}.")


@contextmanager
def _progress(screen: Screen) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function (stage, done, total) that draws one bar per stage, with the time left."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:>10}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    hidden = screen.quiet or not screen.err.is_terminal
    with Progress(*columns, console=screen.err, transient=True, disable=hidden, speed_estimate_period=600) as bars:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=max(1, total), completed=done)
            bars.update(tasks[stage], completed=done, total=max(1, total))

        yield report


def _read(path: str, types: Mapping[str, str], missing_tokens: Sequence[str]) -> Any:  # noqa: ANN401
    from incrowd import io

    return io.read(path, types=types, missing_tokens=missing_tokens)


def _types(manifest: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """Return how to read the columns of a release from text, and what means missing there."""
    if "columns" in manifest:
        columns = [*manifest["columns"], manifest["class"]]
        types = {column["name"]: column["type"] for column in columns if column.get("type")}
    else:
        types = {column["name"]: column["hierarchy"].get("type", "str") for column in manifest["quasi"]}
        types |= {about["name"]: about["type"] for about in [manifest["sensitive"]] if about}
    return types, manifest["missing"]["tokens"]


def _schema(path: Path | None, data: str) -> Schema:
    from incrowd.schema import Schema

    if path is None:
        fact = f"{data} needs a schema" if Path(data).is_file() else f"{data} is neither a table nor a release folder"
        raise ParameterError(fact, f"incrowd init {data} -o data.toml, then give it with -s data.toml")
    return Schema.from_toml(path)


def _numbers(option: str, text: str, kind: type[int] | type[float]) -> list[Any]:
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        fact = f"{option} is {text!r}"
        raise ParameterError(fact, "use numbers, with commas between them: 5,10,50") from None


def _shared_out(own: Mapping[str, Any], methods: str) -> dict[str, dict[str, Any]]:
    """Give each method those of the parameters that it has."""
    from incrowd.publish import make

    asked = [part.strip() for part in methods.split(",")] if own else []
    known = {name: {field.name for field in fields(make(name, k=2))} for name in asked}
    strange = sorted(set(own).difference(*known.values()))
    if strange:
        fact = f"None of the methods has a parameter {', '.join(map(repr, strange))}"
        raise ParameterError(fact, "see: incrowd methods NAME")
    return {method: {name: own[name] for name in own if name in names} for method, names in known.items()}


def _check_plot(plot: Path | None) -> None:
    """Refuse a picture that could not be written, before anything is computed."""
    if plot is None:
        return
    if plot.exists():
        fact = f"{plot} exists already"
        raise ParameterError(fact, "choose another name, or remove it first")
    from incrowd import plots

    plots.check_file(plot)
