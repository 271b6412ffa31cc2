"""How many rows nobody shares by some columns, and which columns make them so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

_MOST_ROWS = 200_000  # of a larger table, so many rows are looked at when columns are left out one by one
_SHOWN = 3


@dataclass(frozen=True)
class Uniqueness:
    """How many rows are unique by their quasi-identifiers.

    Attributes
    ----------
    rows, unique
        All rows, and those with values that no other row has.
    columns
        The columns whose absence would leave the fewest unique rows: name, and how many those are, of `looked_at` rows
        of which `unique_there` are unique.
    """

    rows: int
    unique: int
    columns: tuple[tuple[str, int], ...]
    looked_at: int
    unique_there: int
    by: int

    @property
    def text(self) -> str:
        """Say it in a sentence."""
        share = f"{self.unique / max(1, self.rows):.0%}"
        many = f"the {self.by} quasi-identifiers" if self.by > 1 else "the one quasi-identifier"
        found = f"{self.unique} of {self.rows} rows ({share}) are unique by {many}"
        helping = [(name, n) for name, n in self.columns if n < self.unique_there]
        if not helping:
            return found
        of = "" if self.looked_at == self.rows else f" of {self.looked_at} rows looked at"
        parts = ", ".join(f"{n} without '{name}'" for name, n in helping)
        return f"{found}; {'' if not of else f'{self.unique_there}{of}, and '}only {parts}"

    def to_dict(self) -> dict[str, object]:
        """Return plain data."""
        return {"rows": self.rows, "unique": self.unique, "without": dict(self.columns)}


def measure_uniqueness(frame: pl.DataFrame, columns: Sequence[str]) -> Uniqueness:
    """Count the rows that are unique by columns, and by all but one of them."""
    part = frame.select(columns)
    unique = _unique(part, columns)
    there, looked_at = unique, part.height
    if part.height > _MOST_ROWS:
        part = part.gather_every(part.height // _MOST_ROWS + 1)
        there, looked_at = _unique(part, columns), part.height
    without = [(name, _unique(part, [c for c in columns if c != name])) for name in columns] if len(columns) > 1 else []
    without.sort(key=lambda found: found[1])
    return Uniqueness(frame.height, unique, tuple(without[:_SHOWN]), looked_at, there, len(columns))


def _unique(frame: pl.DataFrame, columns: Sequence[str]) -> int:
    return int((frame.lazy().group_by(columns).len().select(pl.col("len") == 1).sum().collect()).item())
