"""Options that several commands share, and a method's own parameters: --set NAME=VALUE."""

from __future__ import annotations

import functools
import inspect
import json
import os
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_type_hints

import typer

from incrowd.errors import ParameterError

Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        help="See: incrowd methods. Default: best_cuts, or mondrian where there is no class.",
    ),
]
Own = Annotated[list[str] | None, typer.Option("--set", help="A method's own parameter: NAME=VALUE. Repeatable.")]
Private = Annotated[
    Path | None,
    typer.Option(help="Folder for what only the owner keeps; default: OUTPUT.private, for a database TABLE.private."),
]
KMap = Annotated[
    int | None, typer.Option("--k-map", min=1, help="With --population: how many of its people each row fits at least.")
]
Presence = Annotated[
    str | None,
    typer.Option(help="With --population: largest chance that somebody is in the table, or LEAST,LARGEST."),
]
Master = Annotated[str | None, typer.Option(help="With --engine spark: where Spark runs, such as local[2].")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Number of workers; INCROWD_WORKERS is the same.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of folds and samples; it protects nobody.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no tables; warnings stay.")]

_TEXT = str | None
READING: dict[str, Any] = {
    "format": Annotated[_TEXT, typer.Option(help="Format of standard input (-), or of a file with another suffix.")],
    "encoding": Annotated[_TEXT, typer.Option(help="Encoding of a text file, such as latin-1; found if not given.")],
    "delimiter": Annotated[_TEXT, typer.Option(help="What separates the fields of a text file; 'tab' for a tab.")],
    "decimal": Annotated[_TEXT, typer.Option(help="Decimal sign of a text file; found if not given.")],
    "thousands": Annotated[_TEXT, typer.Option(help="Sign between thousands; found if not given.")],
    "date_format": Annotated[
        list[str] | None,
        typer.Option(help="How dates are written: %d.%m.%Y, or for one column: born=%d.%m.%Y. Repeatable."),
    ],
    "sheet": Annotated[_TEXT, typer.Option(help="Sheet of a workbook; the first if not given.")],
    "table": Annotated[_TEXT, typer.Option(help="Table of a database.")],
    "query": Annotated[_TEXT, typer.Option(help="SQL query to a database.")],
}
"""Options that say how data is to be read."""
How: TypeAlias = Any
"""All of them together: an `incrowd.io.Reading`, which is loaded when a command runs."""


class IfExists(StrEnum):
    """What to do with output that exists already."""

    FAIL = "fail"
    SKIP = "skip"
    REPLACE = "replace"


Existing = Annotated[
    IfExists,
    typer.Option(
        "--if-exists", help="What to do with output that exists: fail; skip it, and be done; replace it at the end."
    ),
]

STANDARD_OUTPUT = Path("-")
_WORDS = {"none": None, "null": None, "true": True, "false": False}


def reads(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all options of `READING`; it gets them as one argument, `reading`."""

    @functools.wraps(command)
    def with_reading(**given: Any) -> None:  # noqa: ANN401 - whatever was typed
        settings = {name: given.pop(name) for name in READING}
        command(reading=_reading(settings), **given)

    hints = get_type_hints(command, include_extras=True)
    own = [
        each.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, each in inspect.signature(command).parameters.items()
        if name != "reading"
    ]
    last = [each for each in own if each.name in ("jobs", "as_json", "quiet")]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in READING.items()
    ]
    shown = [*(each for each in own if each not in last), *more, *last]
    with_reading.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    with_reading.__annotations__ = {each.name: each.annotation for each in shown}
    return with_reading


def _reading(given: dict[str, Any]) -> How:
    from incrowd.io import Reading

    by_column, whole = {}, None
    for text in given.pop("date_format") or []:
        name, sign, form = text.partition("=")
        if sign and "%" not in name:
            by_column[name] = form
        else:
            whole = text
    return Reading(date_format=whole, date_formats=by_column, **given)


def bounds(text: str | None) -> tuple[float, float] | None:
    """Return a least and a largest share; of one alone, it is the largest."""
    if text is None:
        return None
    try:
        least, most = map(float, text.split(",")) if "," in text else (0.0, float(text))
    except ValueError as error:
        fact = f"Option --presence is {text!r}"
        raise ParameterError(fact, "use a share from 0 to 1, or two of them: 0.1,0.5") from error
    return least, most


def names(text: str | None) -> list[str] | None:
    """Split comma-separated names."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def is_there(output: str) -> bool:
    """Tell whether a release is there: its folder or file, or its table in a database."""
    from incrowd import io

    return io.has_manifest(output) if io.is_url(output) else os.path.lexists(output)


def is_wanted(path: Path, if_exists: IfExists) -> bool:
    """Tell whether a file is to be written; refuse one that exists unless something else was asked for."""
    if path == STANDARD_OUTPUT:
        return True
    if if_exists is IfExists.FAIL:
        from incrowd import io

        io.refuse_existing(path)
    return if_exists is not IfExists.SKIP or not os.path.lexists(path)


def for_each(option: str, given: list[str] | None, *, number: bool = True) -> Any:  # noqa: ANN401
    """Read one value for all sensitive columns, or NAME=VALUE for some of them; ``None`` if there is neither."""
    if not given:
        return None
    named = [text.rpartition("=") for text in given]
    if len(given) > 1 and not all(equals for _, equals, _ in named):
        fact = f"Option {option} was given {len(given)} times, and not always as NAME=VALUE"
        raise ParameterError(fact, f"give one value for all sensitive columns, or {option} NAME=VALUE for each")
    read: list[tuple[str, Any]] = [(n, _number(option, value) if number else value) for n, _, value in named]
    names = [name for name, _ in read]
    if len(set(names)) < len(names):
        fact = f"Option {option} names a column twice"
        raise ParameterError(fact, "give one value for each column")
    return dict(read) if named[0][1] else read[0][1]


def _number(option: str, text: str) -> float:
    from incrowd.cli.terms import VALUES

    try:
        return float(text)
    except ValueError:
        fact = f"The value of option {option} is not valid"
        raise ParameterError(fact, f"use {VALUES[option]}, or {option} NAME=VALUE for one sensitive column") from None


def own_parameters(options: list[str] | None, taken: dict[str, str]) -> dict[str, Any]:
    """Read NAME=VALUE pairs: None, true and false in any case, JSON where it is JSON, else text.

    Parameters
    ----------
    options
        The pairs.
    taken
        Parameters that have an option of their own, and its name.
    """
    read: dict[str, Any] = {}
    for option in options or []:
        name, equals, value = option.partition("=")
        if not equals:
            fact = f"Option --set got {option!r}, which is not NAME=VALUE"
            raise ParameterError(fact, "write for example --set recoding=single")
        word = value.strip().lower()
        try:
            read[name.strip()] = _WORDS[word] if word in _WORDS else json.loads(value)
        except ValueError:
            read[name.strip()] = value
    twice = sorted(set(read) & set(taken))
    if twice:
        fact = f"Option --set names {', '.join(map(repr, twice))}, which has an option of its own"
        raise ParameterError(fact, f"use {' and '.join(taken[name] for name in twice)}")
    return read
