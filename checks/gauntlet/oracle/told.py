"""What a manifest tells of sensitive columns: one by itself, several as a list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Secrets = dict[str, list[Any]]
"""The values of the released originals in each sensitive column, in release order."""


def told_secrets(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is told of each sensitive column."""
    about = manifest["sensitive"]
    if about is None:
        return []
    return about if isinstance(about, list) else [about]


def share_columns(manifest: dict[str, Any], columns: Iterable[str]) -> dict[str, list[str]]:
    """Return which of the columns of a release, the last ones, tell the distributions of each sensitive column."""
    found: dict[str, list[str]] = {}
    names = list(columns)
    for about in reversed(told_secrets(manifest)):
        if about["form"] == "exact":
            return {}
        at = len(names) - len(about["values"])
        found[about["name"]], names = names[at:], names[:at]
    return found


def limits_of(guarantees: list[dict[str, Any]], column: str) -> dict[str, dict[str, Any]]:
    """Return the guarantees about one column, and those about all, by kind."""
    return {g["kind"]: g for g in guarantees if g.get("column", column) == column}
