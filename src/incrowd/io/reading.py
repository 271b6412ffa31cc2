"""Reading: everything that somebody may have to say about how a source is to be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Note = Callable[[str], None]
"""Called with a sentence about what was found or decided while reading; it never quotes a cell."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How to read a source; what is not given is found out.

    Attributes
    ----------
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
    """

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
