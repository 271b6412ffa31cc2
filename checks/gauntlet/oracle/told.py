"""What a manifest tells of sensitive columns: one by itself, several as a list."""

from __future__ import annotations

from typing import Any

Secrets = dict[str, list[Any]]
"""The values of the released originals in each sensitive column, in release order."""


def told_secrets(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is told of each sensitive column."""
    about = manifest["sensitive"]
    if about is None:
        return []
    return about if isinstance(about, list) else [about]


def share_columns(manifest: dict[str, Any], table: dict[str, list[Any]]) -> dict[str, list[str]]:
    """Return the names of the last columns of a release, in which each sensitive column tells its distributions."""
    found: dict[str, list[str]] = {}
    names = list(table)
    for about in reversed(told_secrets(manifest)):
        if about["form"] == "exact":
            return {}
        at = len(names) - len(about["values"])
        found[about["name"]], names = names[at:], names[:at]
    return found


def limits_of(guarantees: list[dict[str, Any]], column: str) -> dict[str, dict[str, Any]]:
    """Return the guarantees about one column, and those about all, by kind."""
    return {g["kind"]: g for g in guarantees if g.get("column", column) == column}
