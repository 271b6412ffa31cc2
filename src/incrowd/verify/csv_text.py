"""The rows for people: what a CSV file must be, byte for byte, if its Parquet file is right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

_STEP = 1 << 16
_PLAIN = 1e-4, 1e15
_PLAIN_32 = 1e6
_FRACTION = {"ms": "%.3f", "us": "%.6f", "ns": "%.9f"}


def csv_problems(path: Path, table: pl.DataFrame) -> list[str]:
    """Compare a file with the table that it must hold, step by step: neither may be much larger than the other."""
    with path.open("rb") as file:
        for number, expected in enumerate(csv_bytes(table)):
            if file.read(len(expected)) != expected:
                last = min(number * _STEP, table.height)
                where = "its header" if number == 0 else f"rows {(number - 1) * _STEP + 1} to {last}"
                return [f"{path.name} is not the canonical text of its Parquet file, in {where}"]
        return [f"{path.name} goes on after its last row"] if file.read(1) else []


def csv_bytes(table: pl.DataFrame) -> Iterator[bytes]:
    """Yield the header and then some rows at a time as they must be written."""
    yield _lines([_quoted(pl.Series([name])) for name in table.columns])
    for start in range(0, table.height, _STEP):
        yield _lines([as_fields(column) for column in table.slice(start, _STEP)])


def for_people(manifest: Any, frame: pl.DataFrame) -> pl.DataFrame | None:  # noqa: ANN401 - plain data
    """Return the rows of a Parquet file without codes, with shares for counts; ``None`` if columns are not there."""
    try:
        codes = [f"{entry['name']}{end}" for entry in manifest["quasi"] for end in (".lo", ".hi")]
        about = manifest["sensitive"]
        secrets = about if isinstance(about, list) else [] if about is None else [about]
        sizes = [len(secret["values"]) for secret in secrets if secret["form"] != "exact"]
        shown = frame.drop(codes)
    except (KeyError, TypeError, pl.exceptions.PolarsError):
        return None
    if shown.width < sum(sizes):
        return None
    end = shown.width
    for size in reversed([size for size in sizes if size]):
        names = shown.columns[end - size : end]
        end -= size
        if not all(shown[name].dtype.is_integer() for name in names):
            return None
        total = shown.select(pl.sum_horizontal(pl.col(names).cast(pl.Int64()))).to_series()
        shown = shown.with_columns((pl.col(name) / total).alias(name) for name in names)
    return shown


def as_fields(column: pl.Series) -> pl.Series:
    """Write each value as a field; a missing one stays missing."""
    dtype = column.dtype
    if dtype.is_float():
        return _float_fields(column)
    if isinstance(dtype, pl.Datetime):
        zone = "" if dtype.time_zone is None else "%:z"
        return column.dt.strftime(f"%Y-%m-%dT%H:%M:%S{_FRACTION[dtype.time_unit]}{zone}")
    if dtype == pl.Date:
        return column.dt.strftime("%Y-%m-%d")
    text = column.cast(pl.String())
    return text if dtype.is_integer() or dtype == pl.Boolean else _quoted(text)


def _float_fields(column: pl.Series) -> pl.Series:
    """Write floats as Python does, those of 32 bits by the fewest digits that tell them apart."""
    text, size = column.cast(pl.String()), column.abs()
    most = _PLAIN[1] if column.dtype == pl.Float64 else _PLAIN_32
    plain = (size == 0) | ((size >= _PLAIN[0]) & (size < most))  # polars writes these as Python does
    if plain.all():
        return text
    known = column.filter(~plain).unique()
    numbers = known.to_list() if column.dtype == pl.Float64 else [float(str(value)) for value in known.to_numpy()]
    texts = pl.Series([repr(number) for number in numbers], dtype=pl.String())
    return column.replace_strict(known, texts, default=text, return_dtype=pl.String())


def _quoted(text: pl.Series) -> pl.Series:
    """Quote what contains a comma, a quote or a line end, and an empty text, which would be a missing value."""
    if not _needs_quotes(text.unique()).any():
        return text
    return ('"' + text.str.replace_all('"', '""', literal=True) + '"').zip_with(_needs_quotes(text), text)


def _needs_quotes(text: pl.Series) -> pl.Series:
    return (text.str.contains(r'[,"\r\n]') | (text == "")).fill_null(value=False)


def _lines(fields: list[pl.Series]) -> bytes:
    missing = '""' if len(fields) == 1 else ""
    table = pl.DataFrame([field.fill_null(missing).alias(str(number)) for number, field in enumerate(fields)])
    lines: str = table.select(pl.concat_str(pl.all(), separator=",").str.join("\n")).item()
    return (lines + "\n").encode()
