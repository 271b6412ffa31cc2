"""The attack command, and the attacks and the ledger of publish."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli.show import Screen
from incrowd.errors import IncrowdError, ParameterError

if TYPE_CHECKING:
    from incrowd.release import Release

_BEFORE_WRITING = ("linking", "matching", "reconstruction")
_NOT_MET = 3


def attack(
    release: Annotated[Path, typer.Argument(help="A release folder.")],
    original: Annotated[str, typer.Option(help="The table that it was made from.")],
    earlier: Annotated[
        list[Path] | None, typer.Option(help="Folder of another release about the same people. Repeatable.")
    ] = None,
    known: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of sensitive values that the adversary knows.")
    ] = 0.0,
    non_members: Annotated[
        str | None, typer.Option(help="People who are not in the table, to compare predictions with.")
    ] = None,
    attacks: Annotated[
        str | None,
        typer.Option(help="Some of linking, matching, reconstruction, classifier, intersection, with commas."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the adversary's own randomness.")] = 0,
    query: Annotated[str | None, typer.Option(help="SQL query, when the original is a database URL.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no tables.")] = False,
) -> None:
    """Attack a release as somebody would who knows all quasi-identifiers; exit code 3 if that beats its promise."""
    screen = Screen(quiet=quiet or as_json)
    with screen.progress() as progress:
        progress("starting", 0, 1)  # the libraries take a second to load
        from incrowd import io
        from incrowd.attacks import attack as run
        from incrowd.attacks import load

        loaded = load(release)
        about = loaded.manifest["sensitive"]
        types = dict.fromkeys([*loaded.quasi, *([about["name"]] if about else [])], "str")  # the manifest says what of
        frame = io.read(original, query=query, types=types, progress=progress)
        outside = None if non_members is None else io.read(non_members, types=types, progress=progress)
        names = None if attacks is None else [name.strip() for name in attacks.split(",") if name.strip()]
        report = run(
            loaded, frame, attacks=names, earlier=earlier or (), known=known, non_members=outside, seed=seed,
            progress=progress,
        )  # fmt: skip
    if as_json:
        print(json.dumps(report.to_dict(), ensure_ascii=False))  # noqa: T201
    else:
        screen.say(str(report))
    if not report.ok:
        raise typer.Exit(_NOT_MET)


def before_writing(
    release: Release,
    frame: Any,  # noqa: ANN401
    progress: Callable[[str, int, int], None],
    ledger: Path | None,
) -> str:
    """Attack a release that nobody has seen yet; raise if it is broken, else say what it withstood.

    Releases about the same people that are in the ledger are attacked together with it.
    """
    from incrowd.attacks import attack as run
    from incrowd.attacks import load
    from incrowd.attacks.ledger import Ledger

    recognized = release.manifest.recognized_by
    folders = [] if ledger is None else [Path(e.folder) for e in Ledger(ledger).earlier(frame, recognized)]
    earlier = []
    for folder in folders:
        with suppress(IncrowdError):  # it was moved, or holds projections
            load(folder)
            earlier.append(folder)
    names = (*_BEFORE_WRITING, "intersection") if earlier else _BEFORE_WRITING
    report = run(release, frame, attacks=names, earlier=earlier, progress=progress)
    report.raise_for_breaches()
    joined = f", with {len(earlier)} of {len(folders)} earlier releases about the same people" if folders else ""
    return f"attacked before it was written{joined}: {report.headline.partition(': ')[2]}; see incrowd attack."


def check_ledger(ledger: Path) -> None:
    """Refuse a ledger that could not be written later, when the release is there already."""
    from incrowd.attacks.ledger import Ledger

    Ledger(ledger)
    if not os.access(ledger if ledger.exists() else ledger.absolute().parent, os.W_OK):
        fact = f"The ledger {ledger} cannot be written"
        raise ParameterError(fact, "name a file in a folder that exists and is yours")


def write_down(ledger: Path, release: Release, frame: Any, folder: Path) -> str | None:  # noqa: ANN401
    """Write a release into the ledger; return a warning when its table was published before."""
    from incrowd.attacks.ledger import Ledger, warn

    return warn(Ledger(ledger).add(release, frame, folder))
