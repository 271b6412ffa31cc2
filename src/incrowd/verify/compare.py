"""Whether two columns hold the same values, whatever type each of them was read as."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from incrowd.verify.domain import Array, read_text


def equal_values(a: pl.Series, b: pl.Series) -> Array:
    """Tell where two columns hold the same value; empty text is a missing one, as in files."""
    if a.dtype == b.dtype:
        plain = not (a.null_count() or b.null_count() or a.dtype.is_nested())
        same = a == b if plain else a.eq_missing(b)
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


def shows(column: pl.Series, own: pl.Series, tokens: Sequence[str]) -> Array:
    """Tell where a published column shows the value of its original.

    One reading of the original decides for all rows how a value is written and whether it is missing: what could be
    chosen row by row could carry a message. Of all readings, the one that fits best counts.
    """
    best = pl.repeat(value=False, n=len(own), dtype=pl.Boolean(), eager=True)
    for text in _texts(_plain(own), tokens):
        for reading, fits in _readings(text, column.dtype):
            same = column.eq_missing(reading) & fits
            if same.all():
                return same.to_numpy()
            best = same if same.sum() > best.sum() else best
    return best.to_numpy()


def read_alike(column: pl.Series, own: pl.Series, tokens: Sequence[str]) -> pl.Series:
    """Return the reading of an original that has a published column's values, each as often; itself if none has."""
    wanted = column.sort()
    for text in _texts(_plain(own), tokens) if len(column) == len(own) else ():
        for reading, fits in _readings(text, column.dtype):
            if fits.all() and reading.sort().eq_missing(wanted).all():
                return reading.alias(own.name)
    return own


def shown_by(column: pl.Series, own: pl.Series, tokens: Sequence[str]) -> list[Array]:
    """Tell for each reading of an original where a published column shows it.

    There are as many readings, in the same order, of any part of a column: over all parts, one of them must hold.
    """
    plain = _plain(own)
    texts = [plain]
    if plain.dtype == pl.String:
        stripped = plain.str.strip_chars(" ")
        hidden = (plain == "", stripped == "", plain.is_in(list(tokens)), stripped.is_in(["", *tokens]))
        texts += [plain.fill_null("")]
        texts += [pl.select(pl.when(~each.fill_null(value=False)).then(plain)).to_series() for each in hidden]
    return [
        (column.eq_missing(reading) & fits).to_numpy()
        for text in texts
        for reading, fits in _readings(text, column.dtype)
    ]


def _plain(own: pl.Series) -> pl.Series:
    """Return an original as frames are published: categories as text, decimals as floats, NaN as missing."""
    if own.dtype in (pl.Categorical, pl.Enum, pl.Null):
        return own.cast(pl.String())
    if own.dtype.is_decimal():
        return own.cast(pl.Float64())
    return own.fill_nan(None) if own.dtype.is_float() else own


def _texts(own: pl.Series, tokens: Sequence[str]) -> Iterator[pl.Series]:
    """Yield an original, and if it is text, what readers make of it who know empty text or tokens as missing."""
    yield own
    if own.dtype != pl.String:
        return
    yield own.fill_null("")
    stripped = own.str.strip_chars(" ")
    for hidden in (own == "", stripped == "", own.is_in(list(tokens)), stripped.is_in(["", *tokens])):
        if hidden.any():
            yield pl.select(pl.when(~hidden).then(own)).to_series()


def _readings(own: pl.Series, dtype: pl.DataType) -> Iterator[tuple[pl.Series, pl.Series]]:
    """Yield an original as a type, and where that is still the same value."""
    always = pl.repeat(value=True, n=len(own), dtype=pl.Boolean(), eager=True)
    if own.dtype == dtype:
        yield own, always
    elif own.dtype == pl.Datetime and dtype == pl.Date:  # a column that was declared to hold days
        yield own.dt.date(), always
    elif own.dtype == pl.String:
        read = read_like(own, dtype)
        if read is not None:
            blank = own.is_null() | (own.str.strip_chars(" ") == "")
            yield (read.fill_nan(None) if dtype.is_float() else read), read.is_not_null() | blank
    elif _common(own.dtype, dtype) is not None:
        cast = own.cast(dtype, strict=False)
        yield cast, pl.Series(equal_values(cast, own))
        if own.dtype == pl.Float32:  # a reader that goes by the digits
            cast = own.cast(pl.String()).cast(dtype, strict=False)
            yield cast, pl.Series(equal_values(cast, own))


def as_text(column: pl.Series) -> pl.Series:
    """Write values as text, whole floats as integers, and zero without a sign."""
    if column.dtype.is_float():
        column = pl.select(pl.when(column == 0).then(column.abs()).otherwise(column).alias(column.name)).to_series()
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
