"""Whether two columns hold the same values, whatever type each of them was read as."""

from __future__ import annotations

import polars as pl

from incrowd.verify.domain import Array, read_text


def equal_values(a: pl.Series, b: pl.Series) -> Array:
    """Tell where two columns hold the same value; empty text is a missing one, as in files."""
    if a.dtype == b.dtype:
        same = a.eq_missing(b)
        if a.dtype == pl.String and not same.all():
            same = a.fill_null("") == b.fill_null("")
        return same.to_numpy()
    if pl.String in (a.dtype, b.dtype):
        text, typed = (a, b) if a.dtype == pl.String else (b, a)
        read = read_like(text, typed.dtype)
        if read is not None:
            empty = text.fill_null("").str.strip_chars(" ") == ""
            return (read.eq_missing(typed) & (read.is_not_null() | empty)).to_numpy()
    common = _common(a.dtype, b.dtype)
    if common is not None:
        return a.cast(common, strict=False).eq_missing(b.cast(common, strict=False)).to_numpy()
    return as_text(a).eq_missing(as_text(b)).to_numpy()


def as_text(column: pl.Series) -> pl.Series:
    """Write values as text, whole floats as integers."""
    if column.dtype.is_float():
        whole = column.cast(pl.Int64(), strict=False)
        if (whole == column).all():
            column = whole
    try:
        return column.cast(pl.String())
    except pl.exceptions.PolarsError:
        return pl.Series(column.name, [None if v is None else str(v) for v in column.to_list()], pl.String())


def is_comparable(dtype: pl.DataType) -> bool:
    """Whether a column holds single values that people could recognize."""
    return not dtype.is_nested() and dtype not in (pl.Binary, pl.Object)


def read_like(text: pl.Series, dtype: pl.DataType) -> pl.Series | None:
    """Read text as a type; ``None`` where there is no one way to."""
    if dtype == pl.Datetime and getattr(dtype, "time_zone", None) is None:
        same = text.str.replace(" ", "T", literal=True)
        return same.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="ns", strict=False).cast(dtype)
    kinds = {
        "int": dtype.is_integer(),
        "float": dtype.is_float(),
        "bool": dtype == pl.Boolean,
        "date": dtype == pl.Date,
    }
    kind = next((name for name, fits in kinds.items() if fits), None)
    return None if kind is None else read_text(text, kind).cast(dtype, strict=False)


def _common(a: pl.DataType, b: pl.DataType) -> pl.DataType | None:
    if a.is_numeric() and b.is_numeric():
        if pl.Float32 in (a, b):
            return pl.Float32()
        return pl.Int128() if a.is_integer() and b.is_integer() else pl.Float64()
    naive = all(dtype == pl.Date or getattr(dtype, "time_zone", "") is None for dtype in (a, b))
    return pl.Datetime("us") if naive else None
