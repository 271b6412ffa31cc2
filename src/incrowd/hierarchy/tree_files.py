"""Files of trees: level tables, codes, pairs of child and parent, and JSON.

What a file is cannot always be seen: two columns may be values and groups, codes and labels, or children and parents.
So a file has a *kind*: ``taxonomy`` (a level table, or JSON of any of its forms), ``codes``, ``pairs`` or ``nested``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from incrowd.errors import HierarchyError
from incrowd.hierarchy.codes import code_parents
from incrowd.hierarchy.level_files import Row, read_nested_levels, read_text, split_rows
from incrowd.hierarchy.level_maps import is_levels, levels_of_maps
from incrowd.hierarchy.nested import levels_of_nested
from incrowd.hierarchy.parents import Levels, levels_of_parents, parents_of

KINDS = ("taxonomy", "codes", "pairs", "nested")
_HEADER_WORDS = {
    "category", "child", "code", "description", "group", "id", "key", "label", "name", "parent", "parent code",
    "parent id", "title", "value",
}  # fmt: skip


def read_tree(path: Path, kind: str = "taxonomy", *, column: str | None = None, inner_values: bool = False) -> Levels:
    """Read the level table of a file of any kind; every complaint names the file.

    Parameters
    ----------
    kind
        One of `KINDS`.
    column
        Of a JSON file about several columns, the one that is meant.
    inner_values
        For codes and pairs: names with others below them are values, too.
    """
    _check(path, kind, column, inner_values=inner_values)
    try:
        if _is_json(path):
            return _read_json(path, kind, column)
        if kind == "codes":
            return _read_codes(path, inner_values=inner_values)
        if kind == "pairs":
            return _read_pairs(path, inner_values=inner_values)
        return read_nested_levels(path)
    except HierarchyError as error:
        if repr(str(path)) in error.fact:
            raise
        fact = f"File {str(path)!r}: {error.fact}"
        raise HierarchyError(fact, error.hint) from None


def columns_of(path: Path) -> list[str]:
    """Return the columns that a JSON file is about, if it is about several; none for other files."""
    if not _is_json(path):
        return []
    data = _load_json(path)
    return list(data) if _is_about_columns(data) else []


def _check(path: Path, kind: str, column: str | None, *, inner_values: bool) -> None:
    if kind not in KINDS:
        fact = f"A file of a hierarchy is of unknown kind {kind!r}"
        raise HierarchyError(fact, f"use one of {', '.join(KINDS)}")
    if _is_json(path) != (kind == "nested") and kind != "taxonomy":
        what = "is JSON" if _is_json(path) else "is not JSON"
        fact = f"File {str(path)!r} {what}, and its kind is {kind!r}"
        raise HierarchyError(fact, "codes and pairs are CSV files; nested trees are JSON, with the ending .json")
    if column is not None and not _is_json(path):
        fact = f"File {str(path)!r} is about one column, and column is {column!r}"
        raise HierarchyError(fact, "leave column out; only JSON files hold several")
    if inner_values and kind not in ("codes", "pairs"):
        fact = f"File {str(path)!r} is of kind {kind!r}, and only codes and pairs have inner values"
        raise HierarchyError(fact, "leave inner_values out")


def _is_json(path: Path) -> bool:
    return path.suffix.lower() == ".json"


def _rows(path: Path) -> list[Row]:
    """Return the rows of a file of codes or pairs, without its header."""
    rows = split_rows(read_text(path), path)
    return rows[1:] if all(_word(cell) in _HEADER_WORDS for cell in rows[0].cells) else rows


def _word(cell: str) -> str:
    return cell.strip().lower().replace("_", " ")


def _read_codes(path: Path, *, inner_values: bool) -> Levels:
    rows = _rows(path)
    if rows and len(rows[0].cells) > 2:
        fact = f"File {str(path)!r} has {len(rows[0].cells)} columns, and a file of codes has one or two"
        raise HierarchyError(fact, "keep the code and its label; put quotes around a label that holds , or ;")
    codes = [row.cells[0].strip() for row in rows]
    labels = {code: row.cells[1].strip() for code, row in zip(codes, rows, strict=True) if len(row.cells) > 1}
    parents = code_parents(codes, lambda at: f"line {rows[at].line}")
    return levels_of_parents(parents, inner_values=inner_values, named=with_label(labels))


def with_label(labels: Mapping[str, str]) -> Any:  # noqa: ANN401 - a function from codes to names
    """Return what names a node by its code and its label."""
    return lambda code: f"{code} {labels[code]}" if labels.get(code) else code


def _read_pairs(path: Path, *, inner_values: bool) -> Levels:
    rows = _rows(path)
    if rows and len(rows[0].cells) != 2:
        fact = f"File {str(path)!r} has {len(rows[0].cells)} columns, and a file of pairs has two"
        raise HierarchyError(fact, "keep the child and its parent; put quotes around a name that holds , or ;")
    parents, _ = parents_of([(row.cells[0], row.cells[1]) for row in rows], lambda at: f"line {rows[at].line}")
    return levels_of_parents(parents, inner_values=inner_values)


def _load_json(path: Path) -> Any:  # noqa: ANN401
    try:
        return json.loads(read_text(path), object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        fact = f"File {str(path)!r}, line {error.lineno}, is not JSON: {error.msg}"
        raise HierarchyError(fact, "fix that line") from None


def _is_about_columns(data: object) -> bool:
    return isinstance(data, Mapping) and not is_levels(data) and bool(data) and all(map(is_levels, data.values()))


def _read_json(path: Path, kind: str, column: str | None) -> Levels:
    data = _load_json(path)
    if kind == "taxonomy":
        data = _of_column(data, column)
        if is_levels(data):
            return levels_of_maps(data)
    elif column is not None:
        fact = f"A nested tree is about one column, and column is {column!r}"
        raise HierarchyError(fact, "leave column out")
    if not isinstance(data, Mapping | list):
        fact = f"A tree in JSON is a {type(data).__name__}"
        raise HierarchyError(fact, 'write nested groups, {"group": ["value"]}, or levels, {"0": [...], "1": [...]}')
    return levels_of_nested(data)


def _of_column(data: Any, column: str | None) -> Any:  # noqa: ANN401 - JSON
    """Return what a file says about one column, where it is about several."""
    if not _is_about_columns(data):
        if column is None:
            return data
        fact = f"A tree in JSON is about one column, and column is {column!r}"
        raise HierarchyError(fact, "leave column out")
    if column is None and len(data) == 1:
        return next(iter(data.values()))
    if column not in data:
        named = ", ".join(map(repr, data))
        fact = f"A file of levels is about {named}, " + (
            "and no column is named" if column is None else f"not {column!r}"
        )
        raise HierarchyError(fact, f"name one of them: column = {next(iter(data))!r}")
    return data[column]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        fact = f"A group of a tree in JSON has {twice!r} twice"
        raise HierarchyError(fact, "join the two, or give them different names")
    return found
