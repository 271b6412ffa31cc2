"""The commands. Heavy libraries load inside them, so that --help is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from incrowd.cli import (
    attacking,
    auditing,
    basketing,
    evaluating,
    explaining,
    hierarchies,
    mining,
    proposing,
    reporting,
    risking,
)
from incrowd.cli.exits import CODES, NOT_CHECKED, NOT_MET, keep
from incrowd.cli.options import (
    Existing,
    How,
    IfExists,
    Jobs,
    Json,
    KMap,
    Master,
    Method,
    Own,
    Presence,
    Private,
    Quiet,
    bounds,
    for_each,
    is_there,
    names,
    own_parameters,
    reads,
)
from incrowd.cli.show import Screen
from incrowd.cli.terms import OPTIONS
from incrowd.errors import ParameterError
from incrowd.version import __version__

app = typer.Typer(
    name="incrowd",
    help="Publish tables in which every person is hidden in a crowd of at least k, and check that they are.",
    epilog=CODES,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Data = Annotated[
    str,
    typer.Argument(
        help="A file (CSV, Parquet, Arrow, Excel, SPSS, Stata, SAS, SQLite, DuckDB; text also packed), a folder or "
        "pattern of files, - for standard input, or a database URL with --table or --query."
    ),
]
LKinds = "frequency, distinct, entropy or recursive."
_OWN = {name: OPTIONS[name] for name in ("k", "l", "l_kind", "t", "alpha", "beta", "delta", "width")}


@app.callback(invoke_without_command=True)
def _top(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        Screen().say(__version__)
        raise typer.Exit


app.command()(reads(proposing.init))


@app.command()
@reads
def publish(
    data: Data,
    schema: Annotated[Path, typer.Option("--schema", "-s", help="Schema file made by init.")],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="The release folder to write; or a file (.xlsx, .sav, .dta, ...), or a database URL with #TABLE.",
        ),
    ],
    k: Annotated[int, typer.Option("-k", help="Size of the smallest crowd.")],
    method: Method = None,
    l: Annotated[
        list[str] | None,
        typer.Option("-l", help="Diversity of sensitive values; of one of several columns: NAME=VALUE, repeatable."),
    ] = None,
    l_kind: Annotated[list[str] | None, typer.Option(help=LKinds[:-1] + "; or NAME=KIND.")] = None,
    t: Annotated[
        list[str] | None,
        typer.Option("-t", help="Closeness to the table's distribution, 0 to 1; or NAME=VALUE."),
    ] = None,
    alpha: Annotated[list[str] | None, typer.Option(help="Largest share of a sensitive value; or NAME=VALUE.")] = None,
    beta: Annotated[
        float | None, typer.Option(help="Largest relative gain of a sensitive value's share over the table's.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="Largest change of a sensitive value's share: less than 2^DELTA times.")
    ] = None,
    width: Annotated[
        list[str] | None,
        typer.Option(help="How far the sensitive numbers of a crowd are apart, at least; or NAME=VALUE."),
    ] = None,
    option: Own = None,
    population: Annotated[
        str | None, typer.Option(help="A table of everybody who could be in DATA, for --k-map and --presence.")
    ] = None,
    k_map: KMap = None,
    presence: Presence = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Repeat a run exactly. Keep it secret; leave it out to be safest.")
    ] = None,
    attack: Annotated[
        bool, typer.Option("--attack", help="Attack it first; write nothing if an attack succeeds.")
    ] = False,
    ledger: Annotated[Path | None, typer.Option(help="File that records releases, to warn of a second one.")] = None,
    refuse_repeat: Annotated[
        bool, typer.Option("--refuse-repeat", help="With --ledger: refuse a second release about the same people.")
    ] = False,
    after: Annotated[
        Path | None, typer.Option(help="Go on with a series (m_invariance): the private folder of its last release.")
    ] = None,
    insist: Annotated[
        bool, typer.Option("--insist", help="With --ledger: publish people of a series by itself all the same.")
    ] = False,
    domains: Annotated[
        str, typer.Option(help="joined, or exact: the manifest then lists rare values and how often each occurs.")
    ] = "joined",
    excel_safe: Annotated[
        bool, typer.Option("--excel-safe", help="Also write OUTPUT.excel.csv, in which no cell is a formula.")
    ] = False,
    private: Private = None,
    append: Annotated[
        bool, typer.Option("--append", help="Append to the database table, if it is a release already.")
    ] = False,
    replace: Annotated[bool, typer.Option("--replace", help="The same as --if-exists replace.")] = False,
    dataset: Annotated[
        bool, typer.Option("--dataset", help="Write OUTPUT as a Parquet dataset: a folder of parts, for Spark.")
    ] = False,
    if_exists: Existing = IfExists.FAIL,
    force: Annotated[bool, typer.Option("--force", help="Try it even if the memory will not do.")] = False,
    engine: Annotated[
        str, typer.Option(help="local; streamed: by way of the disk, for tables larger than the memory; or spark.")
    ] = "local",
    memory: Annotated[
        str | None, typer.Option(help="With another engine: what the run may take; 4GB if not given.")
    ] = None,
    master: Master = None,
    reading: How = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Publish a table as a verified release."""
    screen = Screen(quiet=quiet, as_json=as_json)
    if if_exists is IfExists.SKIP and is_there(output):
        screen.skipped(output)
        return
    given: dict[str, Any] = {"k": k, "l_kind": for_each("--l-kind", l_kind, number=False)}
    given |= {"l": for_each("-l", l), "t": for_each("-t", t), "alpha": for_each("--alpha", alpha)}
    given |= {"beta": beta, "delta": delta, "width": for_each("--width", width)}
    given = {name: given[name] for name in _OWN}
    parameters = {name: value for name, value in given.items() if value is not None}
    if l_kind is not None and l is None:
        fact = "Option --l-kind needs -l"
        raise ParameterError(fact, f"give both, for example -l 2 --l-kind {l_kind[0]}")
    parameters |= own_parameters(option, _OWN)
    with screen.progress() as progress:
        from incrowd import workflow
        from incrowd.publish import find_publisher

        if method is not None and find_publisher(method).kind == "projections":
            screen.aside("Ctrl-C ends the search and publishes the best found so far; pressed again, it ends the run.")
        for text in workflow.expect(schema, parameters):
            screen.aside(f"Note: {text}")
        done = workflow.publish(
            data, schema, output, method=method, parameters=parameters, seed=seed, domains=domains, attacked=attack,
            ledger=ledger, refuse_repeat=refuse_repeat, after=after, insist=insist, excel_safe=excel_safe,
            private=private, append=append, population=population, k_map=k_map, presence=bounds(presence),
            replace=replace or if_exists is IfExists.REPLACE, dataset=dataset, force=force, engine=engine,
            memory=memory, master=master, reading=reading,
            run=workflow.Run(progress, jobs, screen.notice),
        )  # fmt: skip
    if not screen.data(done.to_dict()):
        screen.publication(done)
    screen.warn(done.warnings)


@app.command()
@reads
def verify(
    release: Annotated[
        str,
        typer.Argument(help="Where publish wrote it: a folder, file or URL#TABLE; or any table, with --quasi."),
    ],
    original: Annotated[str | None, typer.Option(help="The table it was made from, to check everything.")] = None,
    quasi: Annotated[
        str | None, typer.Option(help="For a table from elsewhere: its quasi-identifiers, comma-separated.")
    ] = None,
    sensitive: Annotated[str | None, typer.Option(help="For a table from elsewhere: its sensitive column.")] = None,
    k: Annotated[int | None, typer.Option("-k", help="The k that a table from elsewhere should keep.")] = None,
    l: Annotated[float | None, typer.Option("-l", help="The l that it should keep.")] = None,
    l_kind: Annotated[str, typer.Option(help=LKinds)] = "frequency",
    t: Annotated[float | None, typer.Option("-t", help="The t that it should keep.")] = None,
    alpha: Annotated[float | None, typer.Option(help="The alpha that it should keep.")] = None,
    beta: Annotated[float | None, typer.Option(help="The beta (basic) that it should keep.")] = None,
    delta: Annotated[float | None, typer.Option(help="The delta that it should keep.")] = None,
    population: Annotated[
        str | None, typer.Option(help="A table of everybody who could be in the release folder: k-map and presence.")
    ] = None,
    k_map: KMap = None,
    presence: Presence = None,
    private: Private = None,
    after: Annotated[
        Path | None, typer.Option(help="The release before in a series: check that this one goes on with it.")
    ] = None,
    by_batches: Annotated[
        bool, typer.Option("--by-batches", help="For a Parquet dataset: memory does not grow with the rows.")
    ] = False,
    engine: Annotated[
        str | None, typer.Option(help="local; streamed: the same as --by-batches; or spark, for a Parquet dataset.")
    ] = None,
    master: Master = None,
    reading: How = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check a release: exit code 3 if a promise is broken, 4 if one could not be checked with the original given."""
    screen = Screen(quiet=quiet, as_json=as_json)
    foreign: dict[str, Any] = {"quasi": names(quasi), "sensitive": sensitive, "k": k, "l": l, "t": t, "alpha": alpha}
    foreign |= {"beta": beta, "delta": delta, "population": population, "k_map": k_map, "presence": bounds(presence)}
    foreign = {name: value for name, value in foreign.items() if value is not None}
    if "l" in foreign:
        foreign["l_kind"] = l_kind
    with screen.progress() as progress:
        from incrowd import workflow

        verdict = workflow.verify(
            release, original, private=private, after=after, by_batches=by_batches, engine=engine, master=master,
            reading=reading, run=workflow.Run(progress, jobs), **foreign,
        )  # fmt: skip
    if not screen.data(verdict.to_dict()):
        screen.verdict(verdict)
    if not verdict.ok:
        raise typer.Exit(NOT_MET)
    if not verdict.complete and (original is not None or verdict.mixes_releases):
        raise typer.Exit(NOT_CHECKED)


app.command()(reads(auditing.audit))
app.command()(reads(hierarchies.hierarchy))
app.command()(reads(evaluating.evaluate))
app.command()(reads(evaluating.compare))
app.command()(reads(attacking.attack))
app.command()(reads(reporting.report))
app.command()(reads(risking.risk))
app.command()(explaining.explain)
app.command()(reads(basketing.baskets))
app.command()(reads(mining.rules))


@app.command()
def methods(
    name: Annotated[str | None, typer.Argument(help="Describe this method, with its parameters.")] = None,
    as_json: Json = False,
) -> None:
    """List the methods: paper, promise, recoding, cost."""
    from incrowd.publish import describe, find_publisher
    from incrowd.publish import methods as known

    screen = Screen(as_json=as_json)
    if name is not None:
        text, named = describe(name), find_publisher(name).name
        about = next(row for row in known() if row["name"] == named)
        if not screen.data({**_plain_method(about), "description": text}):
            screen.say(text)
    elif not screen.data([_plain_method(row) for row in known()]):
        shown = ("name", "paper", "promises", "recoding")
        screen.table("Methods", [{name: row[name] for name in shown} for row in known()])
        screen.say("More about one of them, with its parameters: incrowd methods NAME")


def _plain_method(row: dict[str, str]) -> dict[str, Any]:
    """Return the facts about a method for programs."""
    needs = row.get("needs hierarchies") == "yes"
    parameters = [part for part in row.get("parameters", "").split(", ") if part]
    facts = {name: row.get(name, "") for name in ("name", "paper", "promises", "recoding", "cost")}
    return {**facts, "needs_hierarchies": needs, "parameters": parameters}


@app.command()
def bench(
    name: Annotated[str | None, typer.Argument(help="The experiment; without it, all are listed.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small part of it: one fold, few samples.")] = False,
    classifiers: Annotated[str | None, typer.Option(help="weka, sklearn, or names, comma-separated.")] = None,
    datasets: Annotated[str | None, typer.Option(help="Tables, comma-separated; all if not given.")] = None,
    jobs: Jobs = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for JSON, Markdown and figure.")] = Path(
        "docs/results"
    ),
    store: Annotated[
        Path | None, typer.Option(help="Folder of finished results: a run that was stopped continues from there.")
    ] = None,
    finished_only: Annotated[
        bool, typer.Option("--finished", help="Report what is in the store, and compute nothing.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Run all experiments, one after the other.")] = False,
    index: Annotated[
        bool, typer.Option("--index", help="Mark the reports that are of earlier code, and list every panel.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run an experiment of the papers: our figures beside theirs."""
    from incrowd.cli import benching

    screen = Screen(quiet=quiet, as_json=as_json)
    if index:
        benching.write_index(screen, output)
        return
    if name is None and not every:
        benching.list_experiments(screen)
        return
    if store is not None:
        keep("What is finished is in the store: the same command continues from there.")
    run = benching.Run(
        quick=quick,
        classifiers=benching.names(classifiers),
        datasets=benching.names(datasets),
        jobs=jobs or 1,
        output=output,
        store=store,
        finished_only=finished_only,
    )
    if every:
        benching.run_all(screen, run)
    else:
        benching.run_one(screen, str(name), run)


@app.command()
def studio(
    data: Annotated[str | None, typer.Argument(help="A table to begin with, or the URL of one in a database.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser.")] = False,
) -> None:
    """Publish in the browser: a local page that only this computer can open. Ctrl-C ends it."""
    from incrowd.cli.opening import open_page
    from incrowd.studio import serve

    screen = Screen()

    def tell(address: str) -> None:
        screen.say(f"The studio is at {address}")
        screen.say("Keep this address to yourself. Ctrl-C ends the studio and deletes what it kept.")

    keep("What the studio kept for itself was deleted.")
    serve(data, port=port, tell=tell, opened=None if no_browser else open_page)


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to work in.")] = Path("incrowd-demo"),
    k: Annotated[int, typer.Option("-k", help="Size of the smallest crowd.")] = 50,
) -> None:
    """Publish, check and use real census data, in under a minute."""
    from incrowd.cli.demo import run_demo

    keep(f"Whatever the demo has made is in {output}.")
    run_demo(Screen(), output, k)
