"""Files of SPSS (.sav) and Stata (.dta), written so that they read back as they were."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl

from incrowd.errors import InputError, MissingDependencyError

_LABEL = {"sav": 255, "dta": 80}  # bytes and characters of a variable's label


def read_stats(path: Path, kind: str) -> pl.DataFrame:
    """Read a file of SPSS (`sav`) or Stata (`dta`); an empty text is a missing value, which these programs say so."""
    library = _library()
    try:
        frame, _ = getattr(library, f"read_{kind}")(path, output_format="polars")
    except (library.ReadstatError, library.PyreadstatError, ValueError):
        fact = f"'{path}' is not a file of {_program(kind)}, or it is damaged"
    else:
        text = [name for name, dtype in frame.schema.items() if dtype == pl.String]
        found: pl.DataFrame = frame.with_columns(pl.when(pl.col(text) != "").then(pl.col(text)).name.keep())
        return found
    # Outside the handler, because the message of the library may quote a cell.
    raise InputError(fact, "write it again, or check that the copy is complete")


def write_stats(frame: pl.DataFrame, path: Path, kind: str, *, labels: list[str] | None = None) -> None:
    """Write a file of SPSS (`sav`) or Stata (`dta`); columns get labels, which may be any text.

    Parameters
    ----------
    labels
        What each column is called for people, cut to what the program can show.
    """
    library = _library()
    shown = [_cut(label, _LABEL[kind]) for label in labels or frame.columns]
    options: dict[str, Any] = {"column_labels": shown}
    try:
        getattr(library, f"write_{kind}")(frame, path, **options)
    except (library.ReadstatError, library.PyreadstatError, ValueError, OverflowError):
        fact = f"{_program(kind)} cannot hold this table: a name, a text or a number is too long"
    else:
        return
    raise InputError(fact, "write Parquet or CSV, or a release folder")


def _cut(text: str, most: int) -> str:
    return text.encode()[:most].decode(errors="ignore")


def _program(kind: str) -> str:
    return {"sav": "SPSS", "dta": "Stata"}[kind]


def _library() -> ModuleType:
    try:
        import pyreadstat  # noqa: PLC0415
    except ModuleNotFoundError:
        fact = "Files of SPSS and Stata need pyreadstat, which is not installed"
        raise MissingDependencyError(fact, extra="stats") from None
    module: ModuleType = pyreadstat
    return module
