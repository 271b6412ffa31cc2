"""The terms of the command line: parameters of the library as options, and what is wrong with an option.

The rooms below speak of parameters (``l_kind='entropy'``); this is the one place that turns them into options
(``--l-kind entropy``) for somebody who types commands. Nothing heavy is imported here.
"""

from __future__ import annotations

import re
from typing import Any

from incrowd.errors import ParameterError

OPTIONS = {
    "after": "--after", "alpha": "--alpha",
    "append": "--append", "attacked": "--attack", "class_public": "--class-public", "cv": "--cv",
    "dataset": "--dataset", "date_format": "--date-format", "decimal": "--decimal", "delimiter": "--delimiter",
    "basket": "--basket", "beta": "--beta", "item": "--item", "m": "-m", "search": "--search", "delta": "--delta",
    "domains": "--domains", "encoding": "--encoding", "engine": "--engine", "excel_safe": "--excel-safe",
    "force": "--force", "format": "--format", "insist": "--insist",
    "holdout": "--test", "jobs": "--jobs", "k": "-k", "k_map": "--k-map",
    "kind": "--kind", "known": "--known", "l": "-l",
    "largest": "--largest", "population": "--population", "sampling_fraction": "--sampling-fraction",
    "threshold": "--threshold",
    "l_kind": "--l-kind", "ledger": "--ledger", "memory": "--memory", "n": "--people", "non_members": "--non-members",
    "original": "--original", "pdf": "--pdf", "presence": "--presence",
    "private": "--private", "public": "--public", "quasi": "--quasi",
    "query": "--query",
    "refuse_repeat": "--refuse-repeat", "replace": "--replace", "rounding": "--rounding", "samples": "--samples",
    "seed": "--seed", "sensitive": "--sensitive", "sheet": "--sheet", "store": "--store", "t": "-t",
    "table": "--table", "target": "--target", "test": "--test-rows", "thousands": "--thousands",
    "training": "--training", "trust": "--trust", "width": "--width",
}  # fmt: skip
"""Parameters of the library that have an option of their own."""

OWN = ("concealment", "cut", "loss", "mode", "person", "recoding", "strict", "suppress")
"""Parameters of single methods that messages name."""

VALUES = {
    "--if-exists": "fail, skip or replace",
    "-k": "a whole number, at least 1",
    "-m": "a whole number, at least 1",
    "-l": "a number, at least 1",
    "-t": "a number from 0 to 1",
    "--alpha": "a number above 0, at most 1",
    "--beta": "a number above 0",
    "--delta": "a number above 0",
    "--width": "a number above 0",
    "--k-map": "a whole number, at least 1",
    "--jobs": "a whole number, at least 1",
    "--depth": "a whole number, at least 1",
    "--known": "a number from 0 to 1",
    "--people": "a whole number, at least 1",
    "--port": "a whole number from 0 to 65535; 0 takes a free port",
    "--sampling-fraction": "a number above 0, at most 1",
    "--threshold": "a number above 0, at most 1",
    "--largest": "a whole number, at least 1",
    "--rounding": "a number from 0 to less than 1",
    "--samples": "a whole number, at least 1",
    "--seed": "a whole number, at least 0",
}
_BOTH = re.compile(r"(--?[a-z][\w-]*) \(\w+=[^)]*\)|\w+=\S* \((--?[a-z][^)]*)\)")
_BARE = re.compile(r"[^ ;|&<>$*?()'\"]+")  # needs no quotes in a shell
_GIVEN = re.compile(rf"\b({'|'.join([*OPTIONS, *OWN])})=('[^']*'|\"[^\"]*\"|\w[\w.]*)")
_STATED = re.compile(rf"(?:(?<=^)|(?<= and )|(?<=, ))({'|'.join(OPTIONS)})(?= is\b)")
_NAMED = re.compile(rf"(?<!['-])\b({'|'.join(name for name in OPTIONS if '_' in name)})\b(?!,)")


def as_options(text: str) -> str:
    r"""Name options where a message names parameters.

    >>> as_options("use a whole number, or l_kind='frequency'")
    'use a whole number, or --l-kind frequency'
    >>> as_options("give thousands=\"'\" or decimal=','")
    'give --thousands "\'" or --decimal ,'
    >>> as_options("leave strict=True; refuse_repeat needs a ledger; check --people (n=)")
    'leave --set strict=True; --refuse-repeat needs a ledger; check --people'
    """
    text = _BOTH.sub(lambda both: both[1] or both[2], text)
    text = _GIVEN.sub(_option, text)
    text = _STATED.sub(lambda name: OPTIONS[name[1]], text)
    return _NAMED.sub(lambda name: OPTIONS[name[1]], text)


def _option(given: re.Match[str]) -> str:
    name, value = given[1], given[2]
    bare = value[1:-1] if value[0] in "'\"" else value
    if name in OWN:
        return f"--set {name}={bare}"
    if value == "True":
        return OPTIONS[name]
    return f"{OPTIONS[name]} {bare if _BARE.fullmatch(bare) else value}"


def is_usage_error(error: BaseException) -> bool:
    """Tell whether the parser of the command line refused what was typed."""
    # Typer brings its own copy of click or uses the installed one, depending on its version.
    return any(kind.__name__ == "UsageError" for kind in type(error).__mro__)


def explain_usage(error: Any) -> ParameterError:  # noqa: ANN401 - see above
    """Say what is wrong with the command as it was typed."""
    command = "" if error.ctx is None or error.ctx.parent is None else f"{error.ctx.info_name} "
    see = f"see: incrowd {command}--help"
    kind, parameter = type(error).__name__, getattr(error, "param", None)
    if kind == "MissingParameter" and parameter is not None:
        about = str(getattr(parameter, "help", None) or "").rstrip(".")
        about = f" ({about[:1].lower()}{about[1:]})" if about else ""
        return ParameterError(f"Missing {parameter.param_type_name} {_name(parameter)}{about}", see)
    if kind == "BadParameter" and parameter is not None:
        name = _name(parameter)
        hint = f"use {VALUES[name]}" if name in VALUES else see
        return ParameterError(f"The value of {_origin(error, name)} is not valid", hint)
    if kind == "NoSuchOption":
        typed = str(error.option_name)
        guesses = sorted(name for name in error.possibilities or [] if name[:5] != "--no-" or typed[:4] == "--no")
        hint = f"did you mean {' or '.join(guesses)}?" if guesses else see
        return ParameterError(f"There is no option '{error.option_name}'", hint)
    return ParameterError(error.format_message().rstrip("."), see)


def _origin(error: Any, name: str) -> str:  # noqa: ANN401
    """Say where a value comes from: what was typed, a variable, or a file."""
    parameter, source = error.param, error.ctx.get_parameter_source(error.param.name) if error.ctx else None
    if source is not None and source.name == "ENVIRONMENT":
        return f"environment variable {parameter.envvar}"
    typed = f"{parameter.param_type_name} {name}"
    if source is not None and source.name == "DEFAULT_MAP":
        return f"{typed} in '{error.ctx.meta.get('incrowd.config')}'"
    return typed


def _name(parameter: Any) -> str:  # noqa: ANN401
    """Return an option's long name, or an argument's name in capitals."""
    if parameter.param_type_name == "argument":
        return str(parameter.name).upper()
    return str(max(parameter.opts, key=len))
