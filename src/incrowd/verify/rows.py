"""Published rows that are still in memory: each column is made when it is looked at, and forgotten again.

Written out, a large release takes more room than its original; to be checked, it is not needed all at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl


@dataclass(frozen=True)
class Rows:
    """What a check asks of a frame.

    Attributes
    ----------
    height
        Number of rows.
    parts
        By name, the values of a column, and which of them each row has (``None``: its own).
    """

    height: int
    parts: Mapping[str, tuple[pl.Series, npt.NDArray[np.integer[Any]] | None]]

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.parts)

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """Types of the columns."""
        return {name: values.dtype for name, (values, _) in self.parts.items()}

    def __getitem__(self, name: str) -> pl.Series:
        """Return a column."""
        values, which = self.parts[name]
        return (values if which is None else values[which]).alias(name)

    def select(self, names: Sequence[str]) -> pl.DataFrame:
        """Return some columns."""
        return pl.DataFrame([self[name] for name in names])


Frame = pl.DataFrame | Rows


def values_at(frame: Frame, name: str, rows: npt.NDArray[np.int64]) -> pl.Series:
    """Return what some rows have in a column."""
    if isinstance(frame, pl.DataFrame):
        return frame[name][rows]
    values, which = frame.parts[name]
    return values[rows if which is None else which[rows]].alias(name)
