"""The commands. Heavy libraries load inside them, so that --help is quick."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from incrowd.cli import attacking, evaluating
from incrowd.cli.options import Json, Method, Own, Quiet, own_parameters
from incrowd.cli.show import Screen, summarize
from incrowd.errors import IncrowdError, InfeasibleError, ParameterError, PrivacyWarning, VerificationError
from incrowd.version import __version__

BAD_INPUT, NOT_MET, STOPPED = 2, 3, 130

app = typer.Typer(
    name="incrowd",
    help="Publish tables in which every person is hidden in a crowd of at least k, and check that they are.",
    epilog="Exit codes: 0 done, 2 bad input, 3 privacy not met.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Data = Annotated[str, typer.Argument(help="CSV, Parquet, Arrow, Excel file, or a database URL with --query.")]
Query = Annotated[str | None, typer.Option(help="SQL query, when the data is a database URL.")]
Tokens = Annotated[
    list[str] | None, typer.Option("--missing-token", help="Text that means missing, such as '?'. Repeatable.")
]
LKinds = "frequency, distinct, entropy or recursive."


def main() -> None:
    """Run the command line: every error that incrowd raises becomes a message and an exit code."""
    warnings.simplefilter("ignore", PrivacyWarning)  # they are among the notes
    try:
        app()
    except SystemExit as stop:
        if stop.code == STOPPED:
            kept = "What is finished is in the store: the same command goes on from there."
            print("Stopped.", kept if "--store" in sys.argv else "Nothing was written.", file=sys.stderr)  # noqa: T201
        raise
    except (InfeasibleError, VerificationError) as error:
        _complain(error, NOT_MET)
    except IncrowdError as error:
        _complain(error, BAD_INPUT)


def _complain(error: IncrowdError, code: int) -> None:
    if "--json" in sys.argv:
        found = {"error": type(error).__name__, "fact": error.fact, "hint": error.hint}
        found |= {name: getattr(error, name) for name in ("best", "violations") if hasattr(error, name)}
        print(json.dumps(found, ensure_ascii=False))  # noqa: T201
    else:
        print(f"Error: {error}", file=sys.stderr)  # noqa: T201
    sys.exit(code)


@app.callback(invoke_without_command=True)
def _top(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(__version__)  # noqa: T201
        raise typer.Exit


@app.command()
def init(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="The schema file to write.")],
    sensitive: Annotated[str | None, typer.Option(help="The column to protect; guessed if not given.")] = None,
    missing_token: Tokens = None,
    query: Query = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Propose a schema for a table: roles, types and hierarchies, each with a reason. Edit it before you publish."""
    from incrowd import io
    from incrowd.schema import Schema

    screen = Screen(quiet=quiet or as_json)
    _refuse_existing(output)
    with screen.progress() as progress:
        frame = io.read(data, query=query, missing_tokens=missing_token or (), progress=progress)
    schema = Schema.propose(frame, sensitive=sensitive, missing_tokens=missing_token or ())
    schema.to_toml(output)
    columns = [
        {"column": a.name, "role": a.role.value, "hierarchy": _kind(a), "why": a.why}
        for a in schema.attributes.values()
    ]
    if as_json:
        print(json.dumps({"schema": str(output), "columns": columns}, ensure_ascii=False))  # noqa: T201
    else:
        screen.table(f"{frame.height} rows", columns)
        ask = f' --query "{query}"' if query else ""
        screen.say(f"Wrote {output}. Review the roles, then: incrowd publish {data}{ask} -s {output} -k 10 -o release")


@app.command()
def publish(
    data: Data,
    schema: Annotated[Path, typer.Option("--schema", "-s", help="Schema file made by init.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The release folder to write; must not exist.")],
    k: Annotated[int, typer.Option("-k", help="Least size of the crowd.")],
    method: Method = None,
    l: Annotated[float | None, typer.Option("-l", help="Diversity of sensitive values.")] = None,
    l_kind: Annotated[str | None, typer.Option(help=LKinds)] = None,
    t: Annotated[float | None, typer.Option("-t", help="Closeness to the table's distribution, 0 to 1.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Largest share of a sensitive value.")] = None,
    option: Own = None,
    seed: Annotated[
        int | None, typer.Option(help="Repeat a run exactly. Keep it secret; leave it out to be safest.")
    ] = None,
    attack: Annotated[bool, typer.Option("--attack", help="Attack it first; write nothing if that succeeds.")] = False,
    ledger: Annotated[Path | None, typer.Option(help="File that remembers releases about the same people.")] = None,
    query: Query = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Publish a table as a verified release folder."""
    screen = Screen(quiet=quiet or as_json)
    for folder in (output, output.with_name(output.name + ".private")):
        _refuse_existing(folder)
    with screen.progress() as progress:
        progress("starting", 0, 1)  # the libraries take a second to load
        from incrowd import io
        from incrowd.publish import default_method, make
        from incrowd.schema import Schema

    given = {"k": k, "l": l, "l_kind": l_kind, "t": t, "alpha": alpha}
    parameters = {name: value for name, value in given.items() if value is not None}
    if l_kind is not None and l is None:
        fact = f"--l-kind is {l_kind}, and -l was not given"
        raise ParameterError(fact, "say how diverse: -l 2")
    parameters |= own_parameters(option, {"k": "-k", "l": "-l", "l_kind": "--l-kind", "t": "-t", "alpha": "--alpha"})
    roles = Schema.from_toml(schema)
    publisher = make(method or default_method(roles, parameters), **parameters)
    if attack and publisher.kind == "projections":
        fact = "Attacks are about rows with generalized cells, and this method publishes projections"
        raise ParameterError(fact, "leave --attack out; incrowd verify --original judges projections")
    if ledger is not None:
        attacking.check_ledger(ledger)
    notes: list[str] = []
    with screen.progress() as progress:
        frame = io.read(data, query=query, types=roles.types, missing_tokens=roles.missing_tokens, progress=progress)
        if publisher.kind == "projections":
            screen.aside("Ctrl-C ends the search and publishes the best found so far; pressed again, it ends the run.")
        release = publisher.publish(frame, roles, seed=seed, progress=progress)
        if attack:
            notes.append(attacking.before_writing(release, frame, progress, ledger))
        progress("writing", 0, 1)
        release.save(output)
        progress("writing", 1, 1)
    summary = summarize(release, output)
    summary["notes"] += notes
    if ledger is not None and (told := attacking.write_down(ledger, release, frame, output)):
        summary["notes"].append(told)
    if as_json:
        print(json.dumps(summary, ensure_ascii=False))  # noqa: T201
    else:
        screen.release(release, summary)


@app.command()
def verify(
    release: Annotated[str, typer.Argument(help="A release folder, or somebody else's table with --quasi.")],
    original: Annotated[str | None, typer.Option(help="The table it was made from, to check everything.")] = None,
    quasi: Annotated[
        str | None, typer.Option(help="For a table of other origin: its quasi-identifiers, comma separated.")
    ] = None,
    sensitive: Annotated[str | None, typer.Option(help="For a table of other origin: its sensitive column.")] = None,
    k: Annotated[int | None, typer.Option("-k", help="The k that a table of other origin should keep.")] = None,
    l: Annotated[float | None, typer.Option("-l", help="The l that it should keep.")] = None,
    l_kind: Annotated[str, typer.Option(help=LKinds)] = "frequency",
    t: Annotated[float | None, typer.Option("-t", help="The t that it should keep.")] = None,
    alpha: Annotated[float | None, typer.Option(help="The alpha that it should keep.")] = None,
    query: Query = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check that a release keeps its promises; exit code 3 if it does not."""
    from incrowd import io
    from incrowd.verify import verify as check
    from incrowd.verify import verify_table

    screen = Screen(quiet=quiet or as_json)
    with screen.progress() as progress:
        if quasi is None:
            if any(x is not None for x in (sensitive, k, l, t, alpha)):
                fact = "--sensitive, -k, -l, -t and --alpha are for tables of other origin"
                raise ParameterError(fact, "name its quasi-identifiers too: --quasi a,b,c")
            verdict = check(Path(release), original, query=query, progress=progress)
        else:
            if original is not None:
                fact = "--original is for release folders"
                raise ParameterError(fact, "a table of other origin is checked by itself")
            frame = io.read(release, query=query, progress=progress)
            names = [name.strip() for name in quasi.split(",")]
            verdict = verify_table(frame, quasi=names, sensitive=sensitive, k=k, l=l, l_kind=l_kind, t=t, alpha=alpha)
    if as_json:
        print(json.dumps(verdict.to_dict(), ensure_ascii=False))  # noqa: T201
    else:
        screen.verdict(verdict)
    if not verdict.ok:
        raise typer.Exit(NOT_MET)


@app.command()
def audit(
    model: Annotated[Path, typer.Argument(help="A model (.joblib, .pkl, .skops), or a table of association rules.")],
    data: Annotated[
        str | None, typer.Argument(help="The table that the model was fitted with; baskets for rules.")
    ] = None,
    schema: Annotated[Path | None, typer.Option("--schema", "-s", help="Tells what is public: quasi.")] = None,
    k: Annotated[int, typer.Option("-k", help="Least size of the crowd.")] = 10,
    public: Annotated[str | None, typer.Option(help="For rules: items that somebody may know, with commas.")] = None,
    people: Annotated[
        int | None, typer.Option(help="For rules without a table: how many people they are about.")
    ] = None,
    rounding: Annotated[
        float, typer.Option(min=0.0, help="For rules: largest rounding error of their numbers; 0.0005 for 3 decimals.")
    ] = 0.0,
    class_public: Annotated[bool, typer.Option("--class-public", help="An attacker knows the class too.")] = False,
    trust: Annotated[bool, typer.Option("--trust", help="Load a pickle, which runs the code that is in it.")] = False,
    repair: Annotated[Path | None, typer.Option(help="Write a mended model or rule table to this file.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find out whom a model of any origin gives away; exit code 3 if somebody is in a crowd below k."""
    from incrowd.cli.auditing import run

    holds = run(
        Screen(quiet=quiet or as_json), model, data, schema, k,
        public=public, people=people, rounding=rounding, class_public=class_public, trust=trust, repair=repair,
        as_json=as_json,
    )  # fmt: skip
    if not holds:
        raise typer.Exit(NOT_MET)


app.command()(evaluating.evaluate)
app.command()(evaluating.compare)


app.command()(attacking.attack)


@app.command()
def methods(
    name: Annotated[str | None, typer.Argument(help="Tell more about this one, with its parameters.")] = None,
    as_json: Json = False,
) -> None:
    """List the methods: paper, promise, recoding, cost."""
    from incrowd.publish import describe
    from incrowd.publish import methods as known

    screen = Screen(quiet=False)
    if name is not None:
        screen.say(describe(name))
    elif as_json:
        print(json.dumps(known(), ensure_ascii=False))  # noqa: T201
    else:
        shown = ("name", "paper", "promises", "recoding")
        screen.table("methods", [{name: row[name] for name in shown} for row in known()])
        screen.say("More about one of them, with its parameters: incrowd methods NAME")


@app.command()
def bench(
    name: Annotated[str | None, typer.Argument(help="The experiment; without it, all are listed.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small part of it: one fold, few samples.")] = False,
    classifiers: Annotated[str | None, typer.Option(help="weka, sklearn, or names with commas between them.")] = None,
    datasets: Annotated[str | None, typer.Option(help="Tables, with commas between them; all if not given.")] = None,
    jobs: Annotated[int, typer.Option(help="Number of processes.")] = 1,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for JSON, Markdown and figure.")] = Path(
        "docs/results"
    ),
    store: Annotated[
        Path | None, typer.Option(help="Folder of finished cells: a run that was stopped goes on from there.")
    ] = None,
    finished_only: Annotated[
        bool, typer.Option("--finished", help="Report what the store has, and compute nothing.")
    ] = False,
    earlier: Annotated[
        list[Path] | None,
        typer.Option(help="NAME.json of an earlier run: what it says of tables and classifiers is not computed again."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run an experiment of the papers: our figures beside theirs."""
    from incrowd.cli import benching

    screen = Screen(quiet=quiet or as_json)
    if name is None:
        benching.listed(screen, as_json=as_json)
        return
    benching.run(
        screen,
        name,
        quick=quick,
        classifiers=classifiers,
        datasets=datasets,
        jobs=jobs,
        output=output,
        store=store,
        finished_only=finished_only,
        earlier=earlier or [],
        as_json=as_json,
    )


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to work in.")] = Path("incrowd-demo"),
    k: Annotated[int, typer.Option("-k", help="Least size of the crowd.")] = 50,
) -> None:
    """Tell the whole story on real census data, in under a minute."""
    from incrowd.cli.demo import tell

    tell(Screen(quiet=False), output, k)


def _refuse_existing(path: Path) -> None:
    if path.exists():
        fact = f"{path} exists already"
        raise ParameterError(fact, "choose another name, or remove it first")


def _kind(attribute: Any) -> str:  # noqa: ANN401
    if attribute.role.value != "quasi":
        return ""
    return "suppress" if attribute.hierarchy is None else str(attribute.hierarchy.to_dict()["kind"])
