"""Level tables as CSV files, in the form that ARX reads and writes: one row per leaf, one column per level."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from incrowd.errors import HierarchyError
from incrowd.hierarchy.level_maps import check_nested

_SEPARATORS = ",;"
_HEADER_CELL = re.compile(r"level[ _-]?\d+", re.IGNORECASE)


class Row(NamedTuple):
    """Cells, and the line in which they begin."""

    line: int
    cells: list[str]


def read_level_rows(path: Path) -> list[Row]:
    """Read the rows of a level table, without its header.

    The file is UTF-8, with or without a byte order mark. Cells are taken as they stand, spaces included.

    *Delimiter*: ``,`` or ``;``, whichever splits all rows into the same number (two or more) of cells. When both do,
    the one whose last column holds a single value (the root), then the one with more columns, then ``,``.

    *Header*: the first row is a header when all its cells read ``level0``, ``level1``, ...; or when the last column
    holds one value in all other rows and another one in the first row (one other row is enough for this if that value
    is ``*``, else two). So a header that repeats the root's name at its end, ``work;group;*``, is taken for a leaf.
    """
    rows = split_rows(read_text(path), path)
    if _has_header(rows):
        rows = rows[1:]
    if not rows:
        fact = f"File {str(path)!r} has no leaves"
        raise HierarchyError(fact, "write one row per value of the column: the value, then its ancestors")
    for row in rows:
        if "" in row.cells:
            at = row.cells.index("")
            what = "an empty leaf" if at == 0 else f"an empty name in column {at + 1}"
            fact = f"File {str(path)!r}, line {row.line}, has {what}"
            raise HierarchyError(fact, "name every leaf and every ancestor; missing values need no row")
    return rows


def read_levels(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the first column of a level table, and one list for each further column; see `read_level_rows`."""
    return _columns(read_level_rows(path))


def read_nested_levels(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return what `read_levels` does, if no leaf is listed twice and every name has one parent; else name the lines."""
    rows = read_level_rows(path)
    first: dict[str, int] = {}
    for row in rows:
        known = first.setdefault(row.cells[0], row.line)
        if known != row.line:
            fact = f"File {str(path)!r} lists {row.cells[0]!r} more than once: in line {known} and in line {row.line}"
            raise HierarchyError(fact, "keep one row per leaf")
    check_nested([row.cells for row in rows], lambda at: f"line {rows[at].line}")
    return _columns(rows)


def _columns(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    leaves, *uppers = (list(column) for column in zip(*(row.cells for row in rows), strict=True))
    return leaves, uppers


def write_levels(path: Path, levels: Sequence[Sequence[str]], *, separator: str = ",", header: bool = True) -> None:
    """Write a level table, leaves first, under the header ``level0,level1,...``."""
    if separator not in _SEPARATORS:
        fact = f"A level table cannot be written with the separator {separator!r}"
        raise HierarchyError(fact, "use , or ;")
    # Before Python 3.13 the csv module leaves a carriage return unquoted, and could not read it back.
    bare = not any("\r" in name for level in levels for name in level)
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(
                file, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_MINIMAL if bare else csv.QUOTE_ALL
            )
            if header:
                writer.writerow(f"level{height}" for height in range(len(levels)))
            writer.writerows(zip(*levels, strict=True))
    except OSError as error:
        fact = f"File {str(path)!r} cannot be written: {error.strerror}"
        raise HierarchyError(fact, "check the folder and its permissions") from error


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        fact = f"File {str(path)!r} cannot be read: {error.strerror}"
        raise HierarchyError(fact, "check the path and its permissions") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        fact = f"File {str(path)!r}, line {line}, is not UTF-8 text"
        raise HierarchyError(fact, "save it as UTF-8") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        fact = f"File {str(path)!r}, line {line}, has a NUL character"
        raise HierarchyError(fact, "save it as plain UTF-8 text")
    if not text.strip():
        fact = f"File {str(path)!r} is empty"
        raise HierarchyError(fact, "write one row per value of the column: the value, then its ancestors")
    return text


def split_rows(text: str, path: Path) -> list[Row]:
    """Return the rows of a CSV file, by the delimiter that fits; see `read_levels`."""
    tables: list[list[Row]] = []
    problems: list[tuple[int, int, str]] = []
    for delimiter in _SEPARATORS:
        rows, problem = _parse(text, delimiter)
        if problem is None:
            tables.append(rows)
        else:
            problems.append((len(rows[0].cells) if rows else 0, *problem))
    wide = [table for table in tables if len(table[0].cells) > 1]
    if wide:
        return max(wide, key=lambda table: (_has_root(table), len(table[0].cells)))
    if not problems:
        return tables[0]
    _, line, what = max(problems)  # of the delimiter that splits the first row most
    fact = f"File {str(path)!r}, line {line}, {what}"
    raise HierarchyError(fact, "give every row one cell per level; put quotes around a name that holds , or ;")


def _parse(text: str, delimiter: str) -> tuple[list[Row], tuple[int, str] | None]:
    """Return the rows, and the line and nature of the first thing that is wrong with them."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[Row] = []
    line = 1
    try:
        for cells in reader:
            if cells:
                rows.append(Row(line, cells))
                if len(cells) != len(rows[0].cells):
                    return rows, (line, f"has {len(cells)} cells where the first row has {len(rows[0].cells)}")
            line = reader.line_num + 1
    except csv.Error as error:
        return rows, (line, f"is not CSV: {error}")
    return rows, None


def _has_root(rows: list[Row]) -> bool:
    others = rows[1:] if _has_header(rows) else rows
    return len({row.cells[-1] for row in others}) == 1


def _has_header(rows: list[Row]) -> bool:
    first, *others = rows
    if all(_HEADER_CELL.fullmatch(cell) for cell in first.cells):
        return True
    tops = {row.cells[-1] for row in others}
    if len(first.cells) < 2 or len(tops) != 1 or first.cells[-1] in tops:
        return False
    return tops == {"*"} or len(others) > 1
