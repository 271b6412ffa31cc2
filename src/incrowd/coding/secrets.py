"""Sensitive columns: one code for the values that a row has in all of them, and what it says about each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.hierarchy.hierarchy import Codes

Levels = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Secret:
    """One sensitive column.

    Rows are coded by the combination of values that they have in all sensitive columns, so that whatever looks for
    groups sees one column, and each column's counts are sums of its counts.

    Attributes
    ----------
    values
        The distinct values in order; the series has the name of the column.
    value_of
        Place of the column's value in each combination.
    levels
        The names of each value's nodes in the tree that the schema gives the column, level by level to the root;
        nothing without a tree.
    """

    values: pl.Series
    value_of: Codes
    levels: tuple[tuple[str, ...], ...] = ()

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.values.name

    @property
    def nodes(self) -> Codes | None:
        """The nodes as numbers, [levels x values]; ``None`` without a tree."""
        if not self.levels:
            return None
        numbered = [{name: at for at, name in enumerate(dict.fromkeys(level))} for level in self.levels]
        return np.array(
            [[own[name] for name in level] for own, level in zip(numbered, self.levels, strict=True)], np.int32
        )

    def codes(self, combined: Codes) -> Codes:
        """Return the column's own value of rows, given their combinations."""
        return np.asarray(self.value_of[combined], np.int32)

    def counts(self, combined: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return how often each value occurs, given how often each combination does."""
        return np.bincount(self.value_of, combined, minlength=len(self.values)).astype(np.int64)


def combine(
    columns: Sequence[Codes], values: Sequence[pl.Series], trees: Sequence[Levels]
) -> tuple[Codes | None, tuple[Secret, ...]]:
    """Return the combination that each row has, numbered in the order of columns, and what combinations mean."""
    if not columns:
        return None, ()
    if len(columns) == 1:  # its values are the combinations
        return columns[0], (Secret(values[0], np.arange(len(values[0]), dtype=np.int32), trees[0]),)
    frame = pl.DataFrame({str(j): codes for j, codes in enumerate(columns)})
    distinct = frame.unique().sort(frame.columns)
    numbered = distinct.with_row_index("number")
    combined = frame.join(numbered, on=frame.columns, how="left", maintain_order="left")["number"]
    secrets = (Secret(own, distinct[str(j)].to_numpy(), trees[j]) for j, own in enumerate(values))
    return combined.cast(pl.Int32()).to_numpy(), tuple(secrets)
