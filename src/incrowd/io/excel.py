"""Excel workbooks: a sheet in, one sheet out."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl

from incrowd.errors import InputError, MissingDependencyError
from incrowd.io.columns import check_names, narrowed
from incrowd.io.reading import Findings, Reading

_MAX_ROWS, _MAX_COLUMNS, _MAX_TEXT = 1_048_576, 16_384, 32_767
_MAX_WHOLE = 10**15 - 1
_LOOKED_AT, _SHOWN = 50, 20  # rows of a sheet that tell whether it is a table; sheets named in an error


def read_excel(path: Path, reading: Reading, _report: Callable[[int], None], findings: Findings) -> pl.DataFrame:
    """Read a sheet, whose first row holds the column names; by default the first one."""
    try:
        import fastexcel  # noqa: PLC0415
    except ModuleNotFoundError:
        fact = "Reading Excel files needs fastexcel, which is not installed"
        raise MissingDependencyError(fact, extra="excel") from None
    try:
        workbook = fastexcel.read_excel(path.read_bytes())
        names = list(workbook.sheet_names)
        number = _sheet_number(path, names, reading.sheet)
        # The reader numbers repeated names and invents missing ones, so they are read as a row first.
        header = _header(workbook, number)
    except fastexcel.FastExcelError:
        fact = f"'{path}' is not an Excel workbook, or it is damaged"
        raise InputError(fact, "open and save it with a spreadsheet program, or export it as CSV") from None
    where = f"'{path}', sheet '{names[number]}'"
    others = "" if len(names) == 1 else _propose_sheet(workbook, names, number)
    if not header:
        fact = f"{where}: the sheet is empty"
        raise InputError(fact, others or "put the table on the first sheet, with the column names in its first row")
    if others and not _is_table(workbook, number):
        fact = f"{where}: the sheet does not begin with a row of column names"
        raise InputError(fact, others)
    check_names(header, where)
    try:
        frame: pl.DataFrame = workbook.load_sheet(number, schema_sample_rows=None).to_polars()
    except fastexcel.FastExcelError:
        fact = f"{where}: the sheet could not be read"
        raise InputError(fact, "export it as CSV") from None
    if len(names) > 1 and reading.sheet is None:
        findings.take("sheet", names[number], f"'{path}' has {len(names)} sheets; sheet='{names[number]}' was taken")
    return frame.select(narrowed(column) for column in frame)


def _sheet_number(path: Path, names: list[str], wanted: str | None) -> int:
    if wanted is None:
        return 0
    if wanted not in names:
        fact = f"'{path}' has no sheet '{wanted}'"
        raise InputError(fact, f"use one of {', '.join(map(repr, names[:_SHOWN]))}")
    return names.index(wanted)


def _header(workbook: Any, number: int) -> list[str]:  # noqa: ANN401 - of fastexcel
    first = workbook.load_sheet(number, header_row=None, n_rows=1, dtypes="string").to_polars()
    return [name or "" for name in first.row(0)] if first.height else []


def _is_table(workbook: Any, number: int) -> bool:  # noqa: ANN401
    """Tell whether a sheet begins with names, each once, and has rows below that fill most of their columns."""
    top = workbook.load_sheet(number, header_row=None, n_rows=_LOOKED_AT, dtypes="string").to_polars()
    if top.height < 2 or top.width < 2:
        return False
    names = list(top.row(0))
    if any(not name or not name.strip() for name in names) or len(set(names)) < len(names):
        return False
    filled = [sum(cell is not None for cell in row) for row in top.rows()[1:]]
    return bool(sum(filled) > top.width * len(filled) / 2)


def _propose_sheet(workbook: Any, names: list[str], taken: int) -> str:  # noqa: ANN401
    """Say which other sheet looks like a table."""
    found = [name for number, name in enumerate(names) if number != taken and _is_table(workbook, number)]
    if found:
        return f"give the sheet with the table: sheet='{found[0]}' looks like one"
    return f"give the sheet with the table, which begins with the column names: {', '.join(map(repr, names[:_SHOWN]))}"


def write_excel(frame: pl.DataFrame, path: Path) -> None:
    """Write one sheet."""
    try:
        xlsxwriter = importlib.import_module("xlsxwriter")
        importlib.import_module("xlsxwriter.worksheet")
    except ModuleNotFoundError:
        fact = "Writing Excel files needs xlsxwriter, which is not installed"
        raise MissingDependencyError(fact, extra="excel") from None
    if frame.height >= _MAX_ROWS or frame.width > _MAX_COLUMNS:
        fact = f"{frame.height} rows and {frame.width} columns do not fit on an Excel sheet"
        raise InputError(fact, "write Parquet or CSV")
    for column in frame:
        if (excess := _beyond_excel(column)) is not None:
            fact = f"Column '{column.name}' has {excess}, which an Excel sheet cannot hold"
            raise InputError(fact, "write Parquet or CSV, or convert the column to text")
    # In memory, because the writer would otherwise park the cells in files of the system's temporary folder;
    # text is never a formula or a link, whatever it starts with.
    options = {
        "in_memory": True,
        "nan_inf_to_errors": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "default_date_format": "yyyy-mm-dd",
    }
    with path.open("wb") as handle, xlsxwriter.Workbook(handle, options) as workbook:
        sheet = workbook.add_worksheet("Sheet1", _exact_sheets(xlsxwriter))
        frame.write_excel(workbook=workbook, worksheet=sheet)


class _Shortest(float):
    """A number that is written in as many digits as it takes to read it back, whatever the format asks for."""

    def __format__(self, _format: str) -> str:
        return float.__repr__(self).removesuffix(".0")


def _exact_sheets(xlsxwriter: ModuleType) -> type[Any]:
    """Return the writer's sheets, which would write 16 digits of a number, with 17 where it takes as many."""
    sheets: Any = xlsxwriter.worksheet.Worksheet

    def write(self: Any, number: float, attributes: Any = ()) -> None:  # noqa: ANN401 - a sheet
        sheets._xml_number_element(self, _Shortest(number), attributes)

    return type("ExactSheet", (sheets,), {"_xml_number_element": write})


def _beyond_excel(column: pl.Series) -> str | None:
    # The writer would round, cut or drop these without a word.
    dtype = column.dtype
    if dtype == pl.String and column.str.len_chars().gt(_MAX_TEXT).any():
        return f"text of more than {_MAX_TEXT} characters"
    if dtype.is_float() and column.is_infinite().any():
        return "infinite numbers"
    if dtype.is_integer() and (column.cast(pl.Float64).abs() > _MAX_WHOLE).any():
        return "whole numbers of more than 15 digits"
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
        return "a time zone"
    if dtype in (pl.Date, pl.Datetime) and (column.dt.year() < 1901).any():
        return "dates before 1901"
    return None
