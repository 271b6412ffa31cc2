"""Files of which there is one way to write them: equal tables give equal bytes, so a file has room for nothing else.

The rules are part of the release format (docs/release-format.md). All text is made here and joined by polars, whose
own forms of numbers and quotes differ between its versions.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl

from incrowd.errors import InputError

ROW_GROUP = 262_144
_BATCH = 1 << 18  # rows of text in memory at a time
_MUST_QUOTE = r'[,"\n\r]'
# Between these polars writes a float as Python does: plain digits, as few as read back the same. Above, 32-bit floats
# get an exponent sooner, at 1e13; below, both do, in another form.
_PLAIN_LEAST, _PLAIN_MOST = 1e-4, 1e12
_TEXT = (pl.String, pl.Categorical, pl.Enum, pl.Null)
_FRACTION = {"ms": "%.3f", "us": "%.6f", "ns": "%.9f"}


def write_canonical_csv(frame: pl.DataFrame, path: str | Path) -> None:
    """Write a table as canonical CSV.

    Parameters
    ----------
    frame
        Columns of whole numbers, floats, text, bools, dates and times (with days).
    path
        The file, which is replaced if it exists.

    Raises
    ------
    InputError
        A column has another type, or there is none.
    """
    for column in frame:
        _check_type(column)
    if not frame.width:
        fact = "A table without columns cannot be written"
        raise InputError(fact, "give at least one column")
    header = pl.DataFrame([_quoted(pl.Series([name])).alias(str(m)) for m, name in enumerate(frame.columns)])
    with Path(path).open("wb") as handle:
        handle.write(_joined(header))
        for part in frame.iter_slices(_BATCH):
            text = pl.DataFrame([_field(column).alias(column.name) for column in part])
            handle.write(_joined(text.fill_null('""') if frame.width == 1 else text))


def write_canonical_parquet(frame: pl.DataFrame, path: str | Path) -> None:
    """Write a table as canonical Parquet: the same bytes for the same table, under one version of polars."""
    # One piece per column, because the pieces that a table happens to be made of would decide where pages end.
    with Path(path).open("wb") as handle:
        frame.rechunk().write_parquet(
            handle, compression="zstd", compression_level=3, statistics=False, row_group_size=ROW_GROUP
        )


def _joined(text: pl.DataFrame) -> bytes:
    lines = BytesIO()
    text.write_csv(lines, include_header=False, quote_style="never")
    return lines.getvalue()


def _check_type(column: pl.Series) -> None:
    dtype = column.dtype
    if dtype.is_integer() or dtype.is_float():
        return
    if dtype not in (pl.Boolean, pl.Date, pl.Datetime, *_TEXT):
        fact = f"Column '{column.name}' has the type {dtype.base_type().__name__}, which has no canonical text"
        raise InputError(fact, "convert it to text, numbers, dates or bools, or drop the column")


def value_text(column: pl.Series) -> pl.Series:
    """Write each value as canonical files do, before quotes; a missing value stays missing."""
    dtype = column.dtype
    if dtype.is_float():
        return _float_text(column)
    if isinstance(dtype, pl.Datetime):
        zone = "" if dtype.time_zone is None else "%:z"
        return column.dt.strftime(f"%Y-%m-%dT%H:%M:%S{_FRACTION[dtype.time_unit]}{zone}")
    return column.dt.strftime("%Y-%m-%d") if dtype == pl.Date else column.cast(pl.String)


def _field(column: pl.Series) -> pl.Series:
    text = value_text(column)
    return _quoted(text) if column.dtype in _TEXT else text


def _quoted(text: pl.Series) -> pl.Series:
    must = text.str.contains(_MUST_QUOTE) | (text == "")
    if not must.any():
        return text
    quoted = '"' + text.str.replace_all('"', '""', literal=True) + '"'
    return quoted.zip_with(must.fill_null(value=False), text)


def _float_text(column: pl.Series) -> pl.Series:
    text = column.cast(pl.String)
    size = column.abs()
    other = (~size.is_between(_PLAIN_LEAST, _PLAIN_MOST) & (size != 0)).fill_null(value=False)
    if not other.any():
        return text
    values, which = np.unique(column.filter(other).to_numpy(), return_inverse=True)
    # The fewest digits that read back as the same 32 bits, in the form that Python gives to a number of 64.
    numbers = [float(str(value)) for value in values] if column.dtype == pl.Float32 else values.tolist()
    texts = pl.Series([repr(number) for number in numbers], dtype=pl.String)
    return text.scatter(np.flatnonzero(other.to_numpy()), texts.gather(which))
