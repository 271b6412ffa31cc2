"""Settings: what a call of a command leaves out, from environment variables or from incrowd.toml.

The command line wins over ``INCROWD_COMMAND_OPTION``, which wins over the key ``option`` in the table ``[command]`` of
the file. Typer asks for both when an option was not typed (``envvar``, ``default_map``); this is what it has to be
told, and the way back: `to_toml` writes what a call used. Nothing heavy is imported here.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from incrowd.errors import ParameterError
from incrowd.passwords import holds_password, without_passwords

FILE = "incrowd.toml"
"""Read in the current folder if no other file is named."""

ABOUT_CALLS = ("config", "save-config", "help")
"""Options that say where settings come from and go to: never settings themselves."""

_TYPED_ONLY = {"trust": "it runs the code that is in a file, so it is said for one file at a time"}
_SECRET: dict[tuple[str, ...], str] = {("publish", "seed"): "the seed"}


def key_of(parameter: Any) -> str:  # noqa: ANN401 - typer may bring its own click, so its classes have no fixed home
    """Return the name of a parameter in the file: its long option without dashes, or an argument's name."""
    if parameter.param_type_name == "argument":
        return str(parameter.name)
    return str(max(parameter.opts, key=len)).lstrip("-")


def path_of(context: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Return the names that lead to a command: ``("publish",)``."""
    names = []
    while context.parent is not None:
        names.append(str(context.info_name))
        context = context.parent
    return tuple(reversed(names))


def variable_of(path: tuple[str, ...], key: str) -> str:
    """Return the environment variable of a key.

    >>> variable_of(("publish",), "l-kind")
    'INCROWD_PUBLISH_L_KIND'
    """
    return "_".join(["INCROWD", *path, key]).upper().replace("-", "_")


def settable(command: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the parameters of a command that a file or a variable may set, by key."""
    found = {key_of(parameter): parameter for parameter in command.params}
    return {key: parameter for key, parameter in found.items() if key not in (*ABOUT_CALLS, *_TYPED_ONLY)}


def name_variables(context: Any) -> None:  # noqa: ANN401
    """Give each parameter its environment variable, and refuse variables that belong to none."""
    path, command = path_of(context), context.command
    known = {variable_of(path, key): parameter for key, parameter in settable(command).items()}
    for variable, parameter in known.items():
        parameter.envvar, parameter.show_envvar = variable, False
    # A variable of another command may begin alike: "compare" and "compare-all".
    others = tuple(variable_of((*path[:-1], name), "") for name in _siblings(context) if name != path[-1])
    prefix = variable_of(path, "")
    for name in os.environ:
        if name.startswith(prefix) and name not in known and not name.startswith(others):
            fact = f"There is no setting for environment variable {name}"
            raise ParameterError(fact, _closest(name, known, "unset it"))


def read_settings(context: Any, file: str | Path) -> dict[str, Any]:  # noqa: ANN401
    """Read the settings of a command from a file, of which every key is checked; see `default_map` of click."""
    import tomllib

    try:
        text = Path(file).read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "it is not UTF-8 text"
        fact = f"Cannot read the settings '{file}': {reason}"
        raise ParameterError(fact, f"give a file such as {FILE}, or leave out --config") from None
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at (.*)\)$", str(error))  # the rest of the message may quote the file
        fact = f"'{file}' is not valid TOML" + (f" at {where[1]}" if where else "")
        raise ParameterError(
            fact, 'write for example: [publish], and below it k = 5 and schema = "people.toml"'
        ) from None
    root = context.find_root().command
    tables = dict(_tables(root, content, (), str(file)))
    return tables.get(path_of(context), {})


def _tables(
    command: Any,  # noqa: ANN401
    content: Mapping[str, Any],
    path: tuple[str, ...],
    file: str,
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield the settings of each command in a table, and of those below it."""
    where = f"table [{'.'.join(path)}] of '{file}'" if path else f"'{file}'"
    below = getattr(command, "commands", None)
    if below is None:
        yield path, _values(command, content, where)
        return
    for name, inside in content.items():
        if name not in below or not isinstance(inside, dict):
            fact = f"Unknown {'command' if isinstance(inside, dict) else 'key'} '{name}' in {where}"
            raise ParameterError(
                fact, _closest(name, below, f"the file has a table per command, such as [{min(below)}]")
            )
        yield from _tables(below[name], inside, (*path, name), file)


def _values(command: Any, content: Mapping[str, Any], where: str) -> dict[str, Any]:  # noqa: ANN401
    known, found = settable(command), {}
    for key, value in content.items():
        if key in _TYPED_ONLY and any(key_of(parameter) == key for parameter in command.params):
            fact = f"Key '{key}' in {where} is only taken from the command line: {_TYPED_ONLY[key]}"
            raise ParameterError(fact, f"remove it, and type --{key} where it is needed")
        if key not in known:
            fact = f"Unknown key '{key}' in {where}"
            raise ParameterError(fact, _closest(key, known, f"see: incrowd {command.name} --help"))
        found[str(known[key].name)] = _typed(known[key], value, f"The value of key '{key}' in {where}")
    return found


def _typed(parameter: Any, value: Any, what: str) -> Any:  # noqa: ANN401
    """Return a value as somebody would have typed it, so that one parser judges both."""
    flag = bool(getattr(parameter, "is_flag", False))
    if flag != isinstance(value, bool):
        hint = "write true or false, without quotes" if flag else "write a number, a text in quotes, or a list of them"
        fact = f"{what} is not valid"
        raise ParameterError(fact, hint)
    if flag:
        return value
    items = value if isinstance(value, list) else [value]
    if any(isinstance(item, list | dict | bool | date | datetime | time) for item in items):
        fact = f"{what} is not valid"
        raise ParameterError(fact, "write a number, a text in quotes, or a list of them")
    texts = [str(item) for item in items]
    return texts if getattr(parameter, "multiple", False) or parameter.nargs != 1 else ",".join(texts)


def used(context: Any) -> tuple[dict[str, Any], list[str]]:  # noqa: ANN401
    """Return what a call used beyond the defaults, by key, and what was left out because it is secret."""
    path, found, secrets = path_of(context), {}, []
    for key, parameter in settable(context.command).items():
        source = context.get_parameter_source(parameter.name)
        if source is None or source.name in ("DEFAULT", "PROMPT") or parameter.name not in context.params:
            continue
        if (*path, key) in _SECRET:
            secrets.append(f"{_SECRET[(*path, key)]} ({variable_of(path, key)})")
            continue
        value = context.params[parameter.name]
        if value is None or value in ([], ()):
            continue
        if isinstance(value, str) and without_password(value) != value:
            value = without_password(value)
            secrets.append(f"the password in '{key}' ({variable_of(path, key)} may hold the whole URL)")
        found[key] = value
    return found, secrets


def to_toml(path: tuple[str, ...], settings: Mapping[str, Any]) -> str:
    """Return settings as the text of a file.

    >>> print(to_toml(("publish",), {"k": 5, "schema": Path("people.toml"), "attack": True}), end="")
    [publish]
    k = 5
    schema = "people.toml"
    attack = true
    """
    lines = [f"{key} = {_toml(value)}" for key, value in settings.items()]
    return "\n".join([f"[{'.'.join(path)}]", *lines, ""])


def _toml(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, list | tuple) and len(value) == 1 and _is_number(value[0]):
        return str(value[0])
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    # A JSON text is a basic string of TOML, but for the one control character that JSON does not escape.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _is_number(text: object) -> bool:
    """Tell whether a text is that of a number, which is read back as the same text."""
    if not isinstance(text, str) or not re.fullmatch(r"\d+(\.\d+)?", text):
        return False
    return text == str(float(text) if "." in text else int(text))


def without_password(text: str) -> str:
    """Return a database URL without its password and without keys and tokens; any other text as it is.

    >>> without_password("postgresql://ann:secret@host/db?sslmode=require&password=x")
    'postgresql://ann@host/db?sslmode=require'
    """
    if "://" not in text and Path(text).exists():
        return text
    head, mark, query = text.partition("?")
    if "://" in head and mark:
        kept = [part for part in query.split("&") if not holds_password(part)]
        text = head + ("?" + "&".join(kept) if kept else "")
    return without_passwords(text)


def _siblings(context: Any) -> list[str]:  # noqa: ANN401
    return list(getattr(context.parent.command, "commands", {})) if context.parent is not None else []


def _closest(name: str, known: Mapping[str, Any], otherwise: str) -> str:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.3 if len(name) > 1 else 1.0)
    return f"did you mean '{near[0]}'?" if near else otherwise
