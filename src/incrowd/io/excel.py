"""Excel workbooks: the first sheet in, one sheet out."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl

from incrowd.errors import InputError, MissingDependencyError
from incrowd.io.columns import check_names

_MAX_ROWS, _MAX_COLUMNS, _MAX_TEXT = 1_048_576, 16_384, 32_767
_MAX_WHOLE = 10**15 - 1


def read_excel(path: Path) -> pl.DataFrame:
    """Read the first sheet, whose first row holds the column names."""
    try:
        import fastexcel  # noqa: PLC0415
    except ModuleNotFoundError:
        fact = "Reading Excel files needs fastexcel, which is not installed"
        raise MissingDependencyError(fact, extra="excel") from None
    try:
        workbook = fastexcel.read_excel(path.read_bytes())
        # The reader numbers repeated names and invents missing ones, so they are read as a row first.
        header = workbook.load_sheet(0, header_row=None, n_rows=1, dtypes="string").to_polars()
        names = [name or "" for name in header.row(0)] if header.height else []
    except fastexcel.FastExcelError:
        fact = f"'{path}' is not an Excel workbook, or it is damaged"
        raise InputError(fact, "open and save it with a spreadsheet program, or export it as CSV") from None
    if not names:
        fact = f"'{path}': the first sheet is empty"
        raise InputError(fact, "put the table on the first sheet, with the column names in its first row")
    check_names(names, f"'{path}'")
    try:
        frame = workbook.load_sheet(0, schema_sample_rows=None).to_polars()
    except fastexcel.FastExcelError:
        fact = f"'{path}': the first sheet could not be read"
        raise InputError(fact, "export it as CSV") from None
    return frame.select(_narrowed(column) for column in frame)


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


def _narrowed(column: pl.Series) -> pl.Series:
    # Excel knows neither whole numbers nor days: all numbers are floats and all dates have a time.
    if column.dtype.is_float() and column.len() > column.null_count():
        whole = column.cast(pl.Int64, strict=False)
        return whole if (whole == column).all() and whole.null_count() == column.null_count() else column
    if isinstance(column.dtype, pl.Datetime) and (column == column.dt.truncate("1d")).all():
        return column.dt.date()
    return column
