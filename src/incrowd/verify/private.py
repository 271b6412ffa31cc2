"""What the owner keeps, read as plain data: the row map, the exact domains, and the evidence of the method."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from incrowd.verify.domain import Array
from incrowd.verify.manifest import Claims
from incrowd.verify.verdict import Findings

_COLUMNS = {
    "rows": ("row",),
    "blocks": ("block", "members"),
    "rings": ("ring", "cell", "original", "width"),
    "groups": ("group",),
    "people": ("person", "signature"),
}
_SIGNATURES = {"signature": pl.Int64(), "value": pl.String()}
_OF_ANY_LENGTH = ("members", "people")


@dataclass(frozen=True)
class Kept:
    """The owner's files; ``None`` for one that is not there or cannot be read.

    Attributes
    ----------
    rows
        The original row number of each released row.
    domains
        Of each quasi-identifier, what domains.json says.
    blocks, members, rings, groups, people
        The evidence, as tables of whole numbers.
    signatures
        The values of each signature, as text.
    """

    rows: Array | None = None
    domains: list[dict[str, Any]] | None = None
    blocks: pl.DataFrame | None = None
    members: pl.DataFrame | None = None
    rings: pl.DataFrame | None = None
    groups: pl.DataFrame | None = None
    people: pl.DataFrame | None = None
    signatures: pl.DataFrame | None = None


def read_private(
    findings: Findings, claims: Claims, private: Mapping[str, Any] | None, *, apart: Collection[str] = ()
) -> Kept | None:
    """Return the owner's files, after judging whether all that is needed is there and nothing else.

    Those named in `apart` are read elsewhere.
    """
    if private is None:
        return None
    needed = [name for name in claims.evidence if name not in apart]
    lacking = [name for name in needed if name not in private]
    strange = [str(name)[:40] for name in private if name not in needed]
    if list(private) == ["rows"]:
        findings.skip("private folder", "only the row map was given: evidence and exact domains were not checked")
        lacking = []
    problems = [f"lacks {', '.join(lacking)}, without which not everything can be checked"] if lacking else []
    problems += [f"holds {', '.join(strange)}, which do not belong to it"] if strange else []
    found: dict[str, Any] = {}
    for name in set(needed) & set(private):
        if name == "domains":
            entries: Any = private[name].get("quasi") if isinstance(private[name], dict) else None
            fine = isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)
            found[name] = entries if fine and len(entries) == len(claims.quasi) else None
        elif name == "signatures":
            table = private[name]
            fine = isinstance(table, pl.DataFrame) and dict(table.schema) == _SIGNATURES
            found[name] = table if fine and not any(table.null_count().row(0)) else None
        else:
            found[name] = _whole_numbers(name, private[name], claims)
        if found[name] is None:
            problems.append(f"holds {name} in another form than the format's")
    findings.judge("private folder", problems, f"{', '.join(needed)}")
    if found.get("rows") is not None:
        found["rows"] = found["rows"].to_series().to_numpy()
    return Kept(**found)


def _whole_numbers(name: str, table: object, claims: Claims) -> pl.DataFrame | None:
    """Return a table of whole numbers with the columns of the format, or ``None``."""
    if not isinstance(table, pl.DataFrame):
        return None
    columns = _COLUMNS.get(name) or tuple(str(number + 1) for number in range(claims.k or 1))
    whole = all(dtype in (pl.Int64, pl.Int32) for dtype in table.dtypes) and not any(table.null_count().row(0))
    right_size = name in _OF_ANY_LENGTH or table.height == claims.rows["released"]
    return table if tuple(table.columns) == columns and whole and right_size else None
