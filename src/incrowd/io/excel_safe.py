"""Text that a spreadsheet program would run as a formula, and a copy of a table in which it does not.

A program that opens a CSV file takes a cell that begins with one of ``= + - @`` for a formula, also after a character
at which it cuts lines into cells: where the system's delimiter is a semicolon, it cuts there, quotes or not.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from incrowd.io.atomic import atomic_file
from incrowd.io.canonical import write_canonical_csv

_SIGNS = "=+@＝＋－＠-"  # noqa: RUF001 - the wide forms count, too
_FORMULA = rf'(^|[;\t\r\n])([ "]*[{_SIGNS}])'
_BLANK = r"^[\t\r\n]"  # some programs skip these before they look
_NUMBER = r"^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$"
_BOM = b"\xef\xbb\xbf"


def risky_cells(frame: pl.DataFrame) -> list[str]:
    """Return the names of the columns in which a name or a text could be run as a formula; numbers are fine."""
    return [column.name for column in frame if _is_risky(pl.Series([column.name])) or _is_risky(column)]


def write_excel_safe(frame: pl.DataFrame, path: str | Path) -> None:
    """Write a CSV copy for spreadsheet programs: a ``'`` stands before whatever could be run as a formula.

    It begins with a byte order mark, without which Excel does not read UTF-8. It is no release file: what it says
    differs from the release where a ``'`` was put in.

    Parameters
    ----------
    frame
        The table.
    path
        The file, replaced if it exists.
    """
    safe = pl.DataFrame([_safe(column).alias(_safe(pl.Series([column.name]))[0]) for column in frame])
    with atomic_file(path) as temporary:
        write_canonical_csv(safe, temporary)
        temporary.write_bytes(_BOM + temporary.read_bytes())


def _risky(text: pl.Series) -> pl.Series:
    return (text.str.contains(_FORMULA) | text.str.contains(_BLANK)) & ~text.str.contains(_NUMBER)


def _is_risky(column: pl.Series) -> bool:
    return _is_text(column) and bool(_risky(column.cast(pl.String)).any())


def _is_text(column: pl.Series) -> bool:
    return column.dtype in (pl.String, pl.Categorical, pl.Enum)


def _safe(column: pl.Series) -> pl.Series:
    if not _is_text(column):
        return column
    text = column.cast(pl.String)
    safe = text.str.replace_all(_FORMULA, "${1}'${2}").str.replace(_BLANK, "'${0}")
    return safe.zip_with(_risky(text).fill_null(value=False), text)
