"""Schemas as TOML files that a person can read and edit."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from incrowd import hierarchy
from incrowd.errors import HierarchyError, SchemaError
from incrowd.hierarchy import Spec, Taxonomy
from incrowd.io import FILE_SETTINGS, Reading
from incrowd.schema.schema import Attribute, Role, Schema, as_codes

_HEAD = """\
# Schema of a table for incrowd. Please review every role: nobody knows these columns better than you.
#   identifier  never published
#   quasi       could help to recognize somebody: will be generalized
#   sensitive   what must not be learned about a person; a single one is also the class to predict, unless target says
#               otherwise; l, l_kind, t, alpha, beta, delta, width here hold for this column, whatever publish is asked
#   other       released as it is
# hierarchy kinds: suppress, intervals, balanced, frequency, bins, mdl, prefixes, words, common, dates,
#   taxonomy, codes, pairs (file = "column.csv")
"""
_SETTINGS = {"missing", "missing_tokens", "target", "rest", "reading", "columns"}
_LIMITS = ("l", "l_kind", "c", "t", "ordered", "alpha", "beta", "enhanced", "delta", "tree", "width")
_KEYS = {"role", "type", "hierarchy", "missing", "date_format", "ranges", *_LIMITS}


def dumps(schema: Schema, folder: Path) -> str:
    """Write a schema as TOML that will lie in a folder; reasons become comments."""
    lines = [_HEAD]
    lines.append(
        f"missing = {_value(schema.missing)}  # 'value': missing is a value of its own; 'drop': leave the row out"
    )
    lines.append(f"missing_tokens = {_value(list(schema.missing_tokens))}")
    lines.append(f"rest = {_value(schema.rest)}  # columns not listed here: 'error' or 'drop'")
    if schema.target is not None and [schema.target] != schema.secrets:
        lines.append(f"target = {_value(schema.target)}")
    written = {name: value for name in FILE_SETTINGS if (value := getattr(schema.file, name)) is not None}
    if written:
        lines += ["", "[reading]  # how the file is written"]
        lines += [f"{name} = {_value(value)}" for name, value in written.items()]
    for attribute in schema.attributes.values():
        lines.append("")
        if attribute.why:
            lines.append("# " + " ".join(attribute.why.split()))
        lines.append(f"[columns.{_value(attribute.name)}]")
        lines.append(f"role = {_value(attribute.role.value)}")
        if attribute.type:
            lines.append(f"type = {_value(attribute.type)}")
        if attribute.date_format:
            lines.append(f"date_format = {_value(attribute.date_format)}")
        if attribute.missing:
            lines.append(f"missing = {_value([_code(text) for text in attribute.missing])}")
        if attribute.suspects:
            lines.append(f"# missing = {_value([_code(text) for text in attribute.suspects])}  # if that is so")
        own: dict[str, Any] = {**attribute.limits, **({"ranges": attribute.ranges} if attribute.ranges else {})}
        lines += [f"{name} = {_value(value)}" for name, value in own.items()]
        if attribute.role is Role.QUASI or (attribute.role is Role.SENSITIVE and attribute.hierarchy is not None):
            lines.append(f"hierarchy = {hierarchy_text(attribute.hierarchy, folder)}")
    return "\n".join(lines) + "\n"


def load(path: Path) -> Schema:
    """Read a schema; every complaint names the file."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        fact = f"The schema '{path}' cannot be read: {error.strerror or error}"
        raise SchemaError(fact, "make one with: incrowd init data.csv -o data.toml") from error
    except UnicodeDecodeError:
        pass  # its message would quote a byte
    except tomllib.TOMLDecodeError as error:
        fact = f"The schema '{path}' is not valid TOML: {error}"
        raise SchemaError(fact, "fix that line") from error
    else:
        return _checked(data, path)
    fact = f"'{path}' is no schema: it is not text in UTF-8"
    raise SchemaError(fact, "give the TOML file that init wrote, or save it as UTF-8")


def _checked(data: dict[str, Any], path: Path) -> Schema:
    unknown = sorted(set(data) - _SETTINGS)
    if unknown:
        fact = f"The schema '{path}' has the unknown setting {', '.join(map(repr, unknown))}"
        raise SchemaError(fact, f"use one of {', '.join(sorted(_SETTINGS))}")
    columns = data.get("columns", {})
    if not isinstance(columns, Mapping) or not all(isinstance(column, Mapping) for column in columns.values()):
        fact = f"The schema '{path}' has no [columns.NAME] tables"
        raise SchemaError(fact, "write one table per column, with its role")
    attributes = [_attribute(name, column, path) for name, column in columns.items()]
    settings = {key: data[key] for key in _SETTINGS - {"columns", "reading"} if key in data}
    return Schema.of(attributes, reading=_reading(data.get("reading", {}), path), **settings)


def _reading(given: Any, path: Path) -> Reading:  # noqa: ANN401 - plain data
    if not isinstance(given, Mapping) or not all(isinstance(value, str) for value in given.values()):
        fact = f"The table [reading] of '{path}' does not consist of names and texts"
        raise SchemaError(fact, 'write for example encoding = "latin-1"')
    unknown = sorted(set(given) - set(FILE_SETTINGS))
    if unknown:
        fact = f"The table [reading] of '{path}' has the unknown setting {', '.join(map(repr, unknown))}"
        raise SchemaError(fact, f"use one of {', '.join(FILE_SETTINGS)}")
    return Reading(**given)


def _attribute(name: str, column: Mapping[str, Any], path: Path) -> Attribute:
    unknown = sorted(set(column) - _KEYS)
    if unknown:
        fact = f"Column {name!r} in '{path}' has the unknown setting {', '.join(map(repr, unknown))}"
        raise SchemaError(fact, f"use one of {', '.join(sorted(_KEYS))}")
    role = column.get("role")
    if role not in list(Role):
        fact = f"Column {name!r} in '{path}' has the unknown role {role!r}"
        raise SchemaError(fact, f"use one of {', '.join(Role)}")
    data = column.get("hierarchy")
    if data is not None and not isinstance(data, Mapping):
        fact = f"The hierarchy of column {name!r} in '{path}' is not a table"
        raise SchemaError(fact, 'write hierarchy = { kind = "intervals" }')
    try:
        spec = hierarchy.from_dict(data, path.parent) if data else None
    except HierarchyError as error:
        fact = f"Column {name!r} in '{path}': {error.fact}"
        raise HierarchyError(fact, error.hint) from error
    form = column.get("date_format")
    if form is not None and not isinstance(form, str):
        fact = f"The date format of column {name!r} in '{path}' is not a text"
        raise SchemaError(fact, 'write for example date_format = "%d.%m.%Y"')
    codes = as_codes(name, column.get("missing", ()))
    limits = {key: column[key] for key in _LIMITS if key in column}
    return Attribute(
        name, Role(role), spec, column.get("type"),
        missing=codes, date_format=form, limits=limits, ranges=column.get("ranges", ()),
    )  # fmt: skip


def _code(text: str) -> int | float | str:
    """Return a value that means missing as a number, if that is how it is written."""
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if str(number) == text:
            return number
    return text


def hierarchy_text(spec: Spec | None, folder: Path) -> str:
    """Write a hierarchy as TOML that will lie in a folder; one from a file names the file."""
    if spec is None:
        return _value({"kind": "suppress"})
    if isinstance(spec, Taxonomy) and spec.file:
        file = Path(os.path.relpath(spec.file, folder)).as_posix()
        return _value({"kind": "taxonomy", "file": file, **spec.read_as})
    return _value(spec.to_dict())


def _value(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # JSON's escapes are TOML's, except for DEL, which TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        # TOML has no null: the leaf for missing values comes back with the data
        return "[" + ", ".join(_value(item) for item in value if item is not None) + "]"
    return repr(value.item() if hasattr(value, "item") else value)


def _key(key: str) -> str:
    return key if key.isidentifier() and key.isascii() else _value(key)
