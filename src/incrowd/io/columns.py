"""Types of columns: guessed from the whole of a text column, or declared by the user.

Guessing is cautious where a guess would lose something: numbers with leading zeros and whole numbers beyond 64 bits
stay text (they are codes), and a column is a date only if every value in it is one.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from incrowd.errors import InputError, ParameterError

TYPES: dict[str, type[pl.DataType]] = {
    "int": pl.Int64,
    "float": pl.Float64,
    "str": pl.String,
    "date": pl.Date,
    "bool": pl.Boolean,
}

# A text column nearly always shows that it is text within its first rows.
_SAMPLE = 1000


def check_names(names: Sequence[str], where: str) -> None:
    """Refuse missing, empty and repeated column names."""
    if not names:
        fact = f"{where} has no columns"
        raise InputError(fact, "give the table at least one named column")
    for position, name in enumerate(names, start=1):
        if not name.strip():
            fact = f"{where}: column {position} of {len(names)} has no name"
            raise InputError(fact, "give every column a name; delete an index that was exported with the table")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            fact = f"{where} has {list(names).count(name)} columns named '{name}'"
            raise InputError(fact, "rename them so that every name occurs once")
        seen.add(name)


def check_types(types: Mapping[str, str]) -> None:
    """Refuse type names that we do not know."""
    for column, kind in types.items():
        if kind not in TYPES:
            fact = f"Column '{column}' is declared as '{kind}', which is not a type"
            raise ParameterError(fact, f"use one of {', '.join(TYPES)}")


def declare(frame: pl.DataFrame, types: Mapping[str, str], where: str) -> pl.DataFrame:
    """Convert columns to the types that the user declared for them; every value must fit."""
    if unknown := [column for column in types if column not in frame.columns]:
        fact = f"{where} has no column '{unknown[0]}', for which a type is declared"
        close = difflib.get_close_matches(unknown[0], frame.columns, 1)
        guess = f"did you mean '{close[0]}'? The columns are " if close else "use one of "
        raise InputError(fact, guess + ", ".join(map(repr, frame.columns)))
    return frame.with_columns(_declared(frame[column], kind) for column, kind in types.items())


def without_tokens(text: pl.Series, tokens: Sequence[str]) -> pl.Series:
    """Turn the cells that equal a token, spaces around it aside, into nulls."""
    missing = _trimmed(text).is_in(list(tokens))
    return text.to_frame().select(pl.when(~missing).then(pl.first()).alias(text.name)).to_series()


def guessed(text: pl.Series) -> pl.Series:
    """Convert a text column to the narrowest type that all of its values have; otherwise return it as it is."""
    if text.null_count() == len(text):
        return text
    sample = _trimmed(text.head(_SAMPLE))
    full: pl.Series | None = None
    for parse in (_guess_int, _guess_float, _guess_date, _guess_datetime, _guess_bool):
        if _fits(sample, parse(sample)):
            full = _trimmed(text) if full is None else full
            if _fits(full, result := parse(full)):
                return without_nan(result)
    return text


def without_nan(column: pl.Series) -> pl.Series:
    """Make "not a number" what it means in a table: a missing value."""
    return column.fill_nan(None) if column.dtype.is_float() else column


def _fits(text: pl.Series, result: pl.Series) -> bool:
    return result.null_count() == text.null_count()


def _trimmed(text: pl.Series) -> pl.Series:
    # Looking for padding first is ten times cheaper than stripping every cell.
    padded = text.str.starts_with(" ") | text.str.ends_with(" ")
    return text.str.strip_chars(" ") if padded.any() else text


def _nothing(text: pl.Series) -> pl.Series:
    return pl.repeat(None, len(text), dtype=pl.Null, eager=True)


def _guess_int(text: pl.Series) -> pl.Series:
    result = text.cast(pl.Int64, strict=False)
    return _nothing(text) if _fits(text, result) and _any_code(text) else result


def _guess_float(text: pl.Series) -> pl.Series:
    result = text.cast(pl.Float64, strict=False)
    if not _fits(text, result):
        return result
    # As a float, a whole number beyond 64 bits would merge with its neighbours.
    if _any_code(text) or text.str.contains(r"^[+-]?\d{19,}$").any():
        return _nothing(text)
    # "nan" and "inf" are numbers only in the company of numbers; alone they may be anybody's words.
    return result if result.is_finite().any() or _fits(text, _nothing(text)) else _nothing(text)


def _any_code(text: pl.Series) -> bool:
    # Few numbers start with a zero, and the pattern is slow.
    starts = text.str.starts_with("0") | text.str.starts_with("-0") | text.str.starts_with("+0")
    return bool(text.filter(starts).str.contains(r"^[+-]?0\d").any())


def _guess_date(text: pl.Series) -> pl.Series:
    return _matching(text, r"^\d{4}-\d{2}-\d{2}$").str.to_date("%Y-%m-%d", strict=False)


def _guess_datetime(text: pl.Series) -> pl.Series:
    form = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d{1,6})?$"
    same = _matching(text, form).str.replace(" ", "T", literal=True)
    return same.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)


def _matching(text: pl.Series, form: str) -> pl.Series:
    # The parsers take "2020-1-2" and the year 20 too, which is not what ISO says.
    return text if text.str.contains(form).all() else pl.repeat(None, len(text), dtype=pl.String, eager=True)


def _guess_bool(text: pl.Series) -> pl.Series:
    return _bool(text, {"true": True, "false": False})


def _bool(text: pl.Series, words: Mapping[str, bool]) -> pl.Series:
    return text.str.to_lowercase().replace_strict(
        list(words), list(words.values()), default=None, return_dtype=pl.Boolean
    )


def _declared(column: pl.Series, kind: str) -> pl.Series:
    if column.dtype == TYPES[kind]:
        return column
    if kind == "date" and isinstance(column.dtype, pl.Datetime):
        return column.dt.date()
    text = _as_text(column)
    result = _PARSERS[kind](text if kind == "str" else _trimmed(text))
    if (misfits := result.null_count() - text.null_count()) > 0:
        fact = f"Column '{column.name}' is declared as {kind}, but {misfits} of {len(column)} rows do not fit"
        raise InputError(fact, "declare it as str, correct these rows, or list the text that means missing")
    return without_nan(result).alias(column.name)


def _as_text(column: pl.Series) -> pl.Series:
    if column.dtype.is_float():
        # Spreadsheets keep every number as a float; a code such as 12345 must not become "12345.0".
        whole = column.cast(pl.Int64, strict=False)
        if (whole == column).all() and whole.null_count() == column.null_count():
            return whole.cast(pl.String)
    return column.cast(pl.String)


def _parse_int(text: pl.Series) -> pl.Series:
    whole = text.cast(pl.Int64, strict=False)
    if _fits(text, whole):
        return whole
    number = text.cast(pl.Float64, strict=False)
    rounded = number.cast(pl.Int64, strict=False)
    return whole.to_frame("whole").select(pl.coalesce("whole", pl.when(rounded == number).then(rounded))).to_series()


def _parse_float(text: pl.Series) -> pl.Series:
    return text.cast(pl.Float64, strict=False)


def _parse_date(text: pl.Series) -> pl.Series:
    iso = text.set(~text.str.contains(r"^\d{4}-\d{2}-\d{2}$"), None)
    return iso.str.to_date("%Y-%m-%d", strict=False)


def _parse_bool(text: pl.Series) -> pl.Series:
    words = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}
    return _bool(text, words)


_PARSERS: dict[str, Callable[[pl.Series], pl.Series]] = {
    "int": _parse_int,
    "float": _parse_float,
    "str": lambda text: text,
    "date": _parse_date,
    "bool": _parse_bool,
}
