"""Options that several commands share, and a method's own parameters: --set NAME=VALUE."""

from __future__ import annotations

import json
import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from incrowd.errors import ParameterError

Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        help="See: incrowd methods. Default: best_cuts, or mondrian if there is no class.",
    ),
]
Own = Annotated[list[str] | None, typer.Option("--set", help="A method's own parameter: NAME=VALUE. Repeatable.")]
Query = Annotated[str | None, typer.Option(help="SQL query, when the data is a database URL.")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Number of workers; INCROWD_WORKERS is the same.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of folds and samples; it protects nobody.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no tables; warnings stay.")]


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

_WORDS = {"none": None, "null": None, "true": True, "false": False}


def names(text: str | None) -> list[str] | None:
    """Split comma-separated names."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def is_wanted(path: Path, if_exists: IfExists) -> bool:
    """Tell whether a file is to be written; refuse one that exists unless something else was asked for."""
    if if_exists is IfExists.FAIL:
        from incrowd import io

        io.refuse_existing(path)
    return if_exists is not IfExists.SKIP or not os.path.lexists(path)


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
