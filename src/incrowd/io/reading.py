"""Reading: everything that somebody may have to say about how a source is to be read, and what a reader found out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import polars as pl

from incrowd.io.notation import Notation

Note = Callable[[str], None]
"""Called with a sentence about what was found or decided while reading; it never quotes a cell."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How to read a source; what is not given is found out.

    Attributes
    ----------
    format
        The format of what has no name, such as standard input, or a misleading one: a suffix without its dot.
    query, table
        What to ask a database for: a query, or all of a table.
    sheet
        The sheet of a workbook.
    encoding, delimiter, decimal, thousands
        How a text file is written.
    date_format
        How dates are written in text, in the letters of strftime.
    types
        Column to one of `int`, `float`, `str`, `date`, `bool`.
    date_formats
        Like `date_format`, by column.
    missing_tokens
        Texts that stand for a missing value in every column.
    missing_codes
        Texts and numbers, as they are written in the source, that stand for a missing value in one column.
    canonical
        Columns that stay text (their type is `str`), with numbers (`int`, `float`) or dates (`date`) written the one
        way that needs no settings: ``3.14`` for ``3,14``, ``1998-03-22`` for ``22.03.1998``. The rest stays as it is.
    """

    format: str | None = None
    query: str | None = None
    table: str | None = None
    sheet: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    date_format: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    date_formats: Mapping[str, str] = field(default_factory=dict)
    missing_tokens: tuple[str, ...] = ()
    missing_codes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    canonical: Mapping[str, str] = field(default_factory=dict)

    def with_settings(self, given: Reading | None) -> Reading:
        """Return this reading with whatever another one sets; formats and types by column are joined."""
        if given is None:
            return self
        changed: dict[str, Any] = {}
        for each in fields(given):
            value = getattr(given, each.name)
            if value:
                own = getattr(self, each.name)
                changed[each.name] = {**own, **value} if isinstance(value, Mapping) else value
        return replace(self, **changed)

    def date_format_of(self, column: str) -> str | None:
        """Return how dates are written in a column, if that is given."""
        return self.date_formats.get(column, self.date_format)


_PLAIN = Notation()
FILE_SETTINGS = ("format", "table", "sheet", "encoding", "delimiter", "decimal", "thousands", "date_format")
"""Settings of a reading that tell how one file is written; a schema may keep them."""


@dataclass
class Findings:
    """What a reader found out about a source.

    Attributes
    ----------
    note
        Called with sentences for people.
    taken
        Settings of `Reading` that were not given and were found in the source.
    date_formats
        The same of dates, by column.
    first_line
        The line of a text file in which the first row stands, if each row is one line.
    codes
        Those of a column's `missing_codes` that stand in it as they are written.
    notation
        How numbers are written in a text file.
    orders
        The names of columns that the file calls ordinal, in their order.
    text_again
        Reads columns of a text file as text once more, if its reader gave some their types on the way.
    """

    note: Note = lambda _text: None
    taken: dict[str, str] = field(default_factory=dict)
    date_formats: dict[str, str] = field(default_factory=dict)
    first_line: int | None = None
    codes: dict[str, set[str]] = field(default_factory=dict)
    notation: Notation = _PLAIN
    orders: dict[str, list[str]] = field(default_factory=dict)
    text_again: Callable[[list[str]], pl.DataFrame] | None = None

    def see_codes(self, frame: pl.DataFrame, codes: Mapping[str, Sequence[str]]) -> None:
        """Remember which codes columns of text have, before they become missing values."""
        for name in codes:
            if name in frame.columns and frame[name].dtype == pl.String:
                text = frame[name].str.strip_chars(" ")
                self.codes.setdefault(name, set()).update(text.filter(text.is_in(list(codes[name]))).unique())

    def take(self, setting: str, value: str, text: str) -> None:
        """Remember a setting that was found, and say so."""
        if self.taken.get(setting) != value:
            self.note(text)
        self.taken[setting] = value

    def place(self, row: int) -> str:
        """Say where a row is, counted from 0."""
        return f"row {row + 1}" if self.first_line is None else f"line {self.first_line + row}"
