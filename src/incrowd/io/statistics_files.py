"""Files of statistics programs (SPSS, Stata, SAS) through pyreadstat, with their labels and declared missing values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl

from incrowd.errors import InputError, MissingDependencyError, counted
from incrowd.io.columns import check_names, narrowed
from incrowd.io.reading import Findings, Reading

_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}

_WRITERS = {"SPSS": "write_sav", "Stata": "write_dta"}
_LABEL = {"SPSS": 255, "Stata": 80}  # bytes and characters of a variable's label


def read_statistics(
    path: Path, reading: Reading, _report: Callable[[int], None], findings: Findings, *, kind: str
) -> pl.DataFrame:
    """Read a file of a statistics program.

    A value that the file declares missing is missing. A column whose values all have labels holds the labels; where
    only some have one, such as 99 for unknown, the numbers stay.
    """
    library = _library(kind)
    settings: dict[str, Any] = {"output_format": "polars", "encoding": reading.encoding}
    if _READERS[path.suffix.lower()] == "read_sav":
        settings["user_missing"] = True
    try:
        frame, about = getattr(library, _READERS[path.suffix.lower()])(str(path), **settings)
    except Exception:
        # Whatever the library says may quote a cell.
        fact = f"'{path}' is not a {kind} file, or it is damaged"
    else:
        check_names(frame.columns, f"'{path}'")
        labels, ranges = about.variable_value_labels or {}, about.missing_ranges or {}
        measures = about.variable_measure or {}
        columns = []
        for column in frame:
            values, names = (
                _without_declared(column, ranges.get(column.name, ()), findings),
                labels.get(column.name, {}),
            )
            columns.append(_labelled(values, names))
            if measures.get(column.name) == "ordinal" and columns[-1].dtype == pl.String and names:
                findings.orders[column.name] = [names[value] for value in sorted(values.drop_nulls().unique())]
        return pl.DataFrame(columns)
    raise InputError(fact, "open and save it with its program, or export it as CSV")


def write_statistics(frame: pl.DataFrame, path: Path, kind: str, *, labels: list[str] | None = None) -> None:
    """Write a file of SPSS or Stata; columns get labels, which may be any text.

    Parameters
    ----------
    labels
        What each column is called for people, cut to what the program can show.
    """
    library = _library(kind)
    shown = [_cut(label, _LABEL[kind]) for label in labels or frame.columns]
    options: dict[str, Any] = {"column_labels": shown}
    try:
        getattr(library, _WRITERS[kind])(frame, path, **options)
    except (library.ReadstatError, library.PyreadstatError, ValueError, OverflowError):
        fact = f"{kind} cannot hold this table: a name, a text or a number is too long"
    else:
        return
    raise InputError(fact, "write Parquet or CSV, or a release folder")


def _cut(text: str, most: int) -> str:
    return text.encode()[:most].decode(errors="ignore")


def _library(kind: str) -> ModuleType:
    try:
        import pyreadstat  # noqa: PLC0415
    except ModuleNotFoundError:
        fact = f"{kind} files need pyreadstat, which is not installed"
        raise MissingDependencyError(fact, extra="stats") from None
    module: ModuleType = pyreadstat
    return module


def _without_declared(column: pl.Series, ranges: Sequence[Mapping[str, Any]], findings: Findings) -> pl.Series:
    """Make missing what the file declares to be missing, and say how many rows that are."""
    if column.dtype == pl.String:
        column = pl.select(pl.when(column != "").then(column).alias(column.name)).to_series()
    declared = pl.repeat(value=False, n=len(column), dtype=pl.Boolean(), eager=True)
    for each in ranges:
        declared |= column.is_between(each["lo"], each["hi"]).fill_null(value=False)
    if not declared.any():
        return column
    rows = counted(int(declared.sum()), "row")
    findings.note(f"Column '{column.name}': {rows} with a value that the file declares missing")
    return pl.select(pl.when(~declared).then(column).alias(column.name)).to_series()


def _labelled(column: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
    known = set(column.drop_nulls().unique().to_list())
    # Equal numbers are one key, whatever their type.
    if not known or not known <= set(labels) or len({labels[value] for value in known}) < len(known):
        return narrowed(column)  # two values with one label would become one
    return column.replace_strict({value: labels[value] for value in known}, return_dtype=pl.String(), default=None)
