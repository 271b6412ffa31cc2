"""A first look at a table: its columns, its first rows, and how many people its columns single out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from incrowd import io
from incrowd.errors import ParameterError
from incrowd.runs import Run
from incrowd.workflow.sources import Source, read_source, working

if TYPE_CHECKING:
    import numpy.typing as npt
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
        Name, type, number of distinct and of missing values of each column, and values that may mean missing with
        their rows.
    head
        The first rows as texts; a missing value is ``None``.
    notes, found
        What was found out about the file, in sentences and as settings of `Reading`.
    """

    frame: pl.DataFrame = field(repr=False)
    columns: tuple[dict[str, Any], ...]
    head: tuple[tuple[str | None, ...], ...] = field(repr=False)
    notes: tuple[str, ...] = ()
    found: dict[str, str] = field(default_factory=dict)
    _codes: dict[str, npt.NDArray[Any]] = field(default_factory=dict, repr=False, compare=False)

    def codes(self, column: str) -> npt.NDArray[Any]:
        """Return a column as whole numbers from 0, one for each distinct value; they are kept."""
        if column not in self._codes:
            self._codes[column] = _codes(self.frame[column])
        return self._codes[column]

    def n_codes(self, column: str) -> int:
        """Return how many numbers a column has as codes."""
        return int(self.codes(column).max(initial=0)) + 1

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.frame.height

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without any cell."""
        return {"rows": self.rows, "columns": [dict(column) for column in self.columns], "notes": list(self.notes)}


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


def look(source: Source, *, reading: io.Reading | None = None, run: Run | None = None) -> Look:
    """Read a table and say what is in it.

    Parameters
    ----------
    reading
        How it is to be read, where that is known.
    """
    from incrowd.hierarchy.hierarchy import type_of
    from incrowd.schema.suspects import find_suspects

    notes: list[str] = []
    findings = io.Findings(notes.append)
    with working(run) as work:
        frame = read_source(source, reading, run=work, findings=findings)
        columns = []
        for number, column in enumerate(frame.iter_columns()):
            work("looking", number, frame.width)
            columns.append(
                {
                    "column": column.name,
                    "type": type_of(column),
                    "distinct": column.drop_nulls().n_unique(),
                    "missing": column.null_count(),
                    "suspects": {suspect.code: suspect.rows for suspect in find_suspects(column)},
                }
            )
        head = tuple(tuple(_text(cell) for cell in row) for row in frame.head(_SHOWN_ROWS).iter_rows())
    return Look(frame, tuple(columns), head, tuple(notes), dict(findings.taken))


def crowds(source: Source | Look, quasi: Sequence[str], *, run: Run | None = None) -> Crowds:
    """Count the people whom some columns single out, as they are in the original.

    Every value of a column is given a random number of 64 bits, and a row the sum of its own, so that a column is left
    out by a subtraction. Two different rows get the same sum with a chance of 2**-64: among a million rows, of 3e-8.

    Parameters
    ----------
    source
        The table; a `Look` remembers its columns, so that asking again is quick.
    quasi
        The columns that somebody may know about a person.
    """
    import numpy as np
    import polars as pl

    with working(run) as work:
        seen = source if isinstance(source, Look) else Look(read_source(source, run=work), (), ())
        unknown = [name for name in quasi if name not in seen.frame.columns]
        if unknown:
            fact = f"The table has no column {', '.join(map(repr, unknown))}"
            raise ParameterError(fact, f"use some of {', '.join(map(repr, seen.frame.columns))}")
        own = [(name, np.random.default_rng().integers(0, 2**64, seen.n_codes(name), np.uint64)) for name in quasi]
        sums = np.zeros(seen.rows, np.uint64)
        for name, numbers in own:
            sums += numbers[seen.codes(name)]
        sizes = pl.Series(sums).value_counts()["count"]
        without = {}
        for at, (name, numbers) in enumerate(own):
            work("counting", at, len(own))
            without[name] = int(pl.Series(sums - numbers[seen.codes(name)]).is_unique().sum())
    return Crowds(
        rows=seen.rows,
        unique=int((sizes == 1).sum()),
        few=int(sizes.filter(sizes < _SMALL_CROWD).sum()),
        small=_SMALL_CROWD,
        without=without,
    )


def _codes(column: pl.Series) -> npt.NDArray[Any]:
    """Return one whole number per distinct value, from 0, as narrow as they are; missing is a value."""
    import numpy as np
    import polars as pl

    if not (column.dtype.is_numeric() or column.dtype.is_temporal()):
        column = column.cast(pl.String()).cast(pl.Categorical()).to_physical()
    codes = column.rank("dense").fill_null(0)
    most = int(codes.max() or 0)  # type: ignore[arg-type]
    return codes.to_numpy().astype(np.min_scalar_type(most))


def _text(cell: object) -> str | None:
    if cell is None:
        return None
    text = str(cell)
    return text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]}…"
