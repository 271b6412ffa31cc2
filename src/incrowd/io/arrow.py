"""Frames to Arrow's record batches and back, in the few types that every engine knows: text, and numbers of 64 bits.

Numbers, days, times and truth values travel as 64 bits, whatever their type is; who receives them knows it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

_BATCH = 1 << 17  # rows of a record batch


def plain_bits(column: pl.Series) -> pl.Series:
    """Return a column as text or 64 bits; numbers come back as they were (`from_bits`)."""
    if column.dtype == pl.String:
        return column
    if column.dtype.is_float():
        floats = column.cast(pl.Float64())
        bits = pl.Series(column.name, floats.fill_null(0.0).to_numpy().view(np.int64))
        return bits.set(column.is_null(), None) if column.null_count() else bits
    physical = column.cast(pl.Int8()) if column.dtype == pl.Boolean else column.to_physical()
    if physical.dtype == pl.UInt64:
        return physical.reinterpret(signed=True)
    return physical.cast(pl.Int64())


def from_bits(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return what `plain_bits` was given."""
    if dtype == pl.String:
        return column.cast(pl.String())
    if dtype.is_float():
        floats = pl.Series(column.name, column.fill_null(0).to_numpy().view(np.float64))
        return (floats.set(column.is_null(), None) if column.null_count() else floats).cast(dtype)
    if dtype == pl.UInt64:
        return column.reinterpret(signed=False)
    return column.cast(dtype)


def to_record_batches(frame: pl.DataFrame) -> Iterator[Any]:
    """Yield a frame of texts and 64-bit numbers as record batches of pyarrow."""
    pa = importlib.import_module("pyarrow")
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    plain = [pa.field(f.name, pa.string() if pa.types.is_large_string(f.type) else f.type) for f in table.schema]
    for start in range(0, max(table.num_rows, 1), _BATCH):
        yield from table.slice(start, _BATCH).cast(pa.schema(plain)).combine_chunks().to_batches()


def from_record_batches(batches: Iterable[Any], dtypes: Mapping[str, pl.DataType] | None = None) -> pl.DataFrame:
    """Return one frame of some record batches; a frame of no rows if there is none."""
    frames = [pl.DataFrame(batch) for batch in batches]
    if not frames:
        return pl.DataFrame(schema=dict(dtypes or {}))
    return pl.concat(frames).rechunk()
