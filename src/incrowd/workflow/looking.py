"""A first look at a table: its columns, its first rows, and how many people its columns single out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from incrowd.errors import ParameterError
from incrowd.runs import Run
from incrowd.workflow.sources import Source, read_source, working

if TYPE_CHECKING:
    import polars as pl

_SHOWN_ROWS = 10
_LONGEST_CELL = 60  # characters of a cell that are shown
_SMALL_CROWD = 5  # people whom a stranger may guess one by one


@dataclass(frozen=True)
class Look:
    """What is in a table; the rows are the owner's own.

    Attributes
    ----------
    frame
        The table.
    columns
        Name, type, number of distinct and of missing values of each column.
    head
        The first rows as texts; a missing value is ``None``.
    """

    frame: pl.DataFrame = field(repr=False)
    columns: tuple[dict[str, Any], ...]
    head: tuple[tuple[str | None, ...], ...] = field(repr=False)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.frame.height

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without any cell."""
        return {"rows": self.rows, "columns": [dict(column) for column in self.columns]}


@dataclass(frozen=True)
class Crowds:
    """How many people some columns single out.

    Attributes
    ----------
    rows
        Number of people.
    unique
        Those who are the only ones with their values in these columns.
    few
        Those who share their values with fewer than `small` people, themselves included.
    small
        What counts as few.
    without
        For each column, how many would be unique without it.
    """

    rows: int
    unique: int
    few: int
    small: int
    without: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return dict(vars(self))


def look(source: Source, *, run: Run | None = None) -> Look:
    """Read a table and say what is in it."""
    from incrowd.hierarchy.hierarchy import type_of

    with working(run) as work:
        frame = read_source(source, run=work)
        columns = [
            {
                "column": column.name,
                "type": type_of(column),
                "distinct": column.drop_nulls().n_unique(),
                "missing": column.null_count(),
            }
            for column in frame.iter_columns()
        ]
        head = tuple(tuple(_text(cell) for cell in row) for row in frame.head(_SHOWN_ROWS).iter_rows())
    return Look(frame, tuple(columns), head)


def crowds(source: Source, quasi: Sequence[str], *, run: Run | None = None) -> Crowds:
    """Count the people whom some columns single out, as they are in the original.

    Parameters
    ----------
    source
        The table.
    quasi
        The columns that somebody may know about a person.
    """
    import polars as pl

    with working(run) as work:
        frame = read_source(source, run=work)
        unknown = [name for name in quasi if name not in frame.columns]
        if unknown:
            fact = f"The table has no column {', '.join(map(repr, unknown))}"
            raise ParameterError(fact, f"use some of {', '.join(map(repr, frame.columns))}")
        nobody = pl.Series([0]).new_from_index(0, frame.height)
        codes = [_codes(frame[name]) for name in quasi]
        before, after = [nobody], [nobody]  # groups by the columns before each column, and by those after it
        for number, (first, last) in enumerate(zip(codes, reversed(codes), strict=True)):
            work("counting", number, len(codes))
            before.append(_pairs(before[-1], first))
            after.append(_pairs(after[-1], last))
        after.reverse()
        sizes = before[-1].value_counts()["count"]
        without = {
            name: int(_joined(before[number], after[number + 1]).is_unique().sum()) for number, name in enumerate(quasi)
        }
    return Crowds(
        rows=frame.height,
        unique=int((sizes == 1).sum()),
        few=int(sizes.filter(sizes < _SMALL_CROWD).sum()),
        small=_SMALL_CROWD,
        without=without,
    )


def _codes(column: pl.Series) -> pl.Series:
    """Return one whole number per distinct value, from 0; missing is a value."""
    import polars as pl

    if not (column.dtype.is_numeric() or column.dtype.is_temporal()):
        column = column.cast(pl.String()).cast(pl.Categorical()).to_physical()
    return column.rank("dense").fill_null(0).cast(pl.Int64())


def _pairs(groups: pl.Series, codes: pl.Series) -> pl.Series:
    return _codes(_joined(groups, codes))


def _joined(first: pl.Series, second: pl.Series) -> pl.Series:
    """Return a number for each pair; both sides count from 0 to at most the number of rows, so none overflows."""
    return first * (len(second) + 1) + second


def _text(cell: object) -> str | None:
    if cell is None:
        return None
    text = str(cell)
    return text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]}…"
