"""Types of columns: guessed from the whole of a text column, or declared by the user.

Guessing is cautious where a guess would lose something: numbers with leading zeros and whole numbers beyond 64 bits
stay text (they are codes), and a column is a date only if every value in it is one. Numbers with other signs than a
decimal point, and dates that are not in ISO form, are the work of `text_types`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from incrowd.errors import InputError, ParameterError, counted
from incrowd.io.date_forms import find_date_form, parse_dates
from incrowd.io.notation import Notation
from incrowd.io.reading import Findings

TYPES: dict[str, type[pl.DataType]] = {
    "int": pl.Int64,
    "float": pl.Float64,
    "str": pl.String,
    "date": pl.Date,
    "bool": pl.Boolean,
}

# A text column nearly always shows that it is text within its first rows.
SAMPLE = 1000
_FEW_TOKENS = 8  # are compared one by one
_PLAIN = Notation()
_ISO_LENGTH = 10
_LONG = 19  # digits from which whole numbers may need more than 64 bits
_MISFITS = "declare it as str, correct these rows, or list the text that means missing"


def check_names(names: Sequence[str], where: str) -> None:
    """Refuse missing, empty and repeated column names."""
    if not names:
        fact = f"{where} has no columns"
        raise InputError(fact, "give the table at least one named column")
    for position, name in enumerate(names, start=1):
        if not name.strip():
            fact = f"{where}: column {position} of {len(names)} has no name"
            raise InputError(
                fact,
                "give every column a name; delete lines above the names, and an index that was exported with the table",
            )
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


def declare(
    frame: pl.DataFrame,
    types: Mapping[str, str],
    where: str,
    findings: Findings,
    notation: Notation = _PLAIN,
    date_formats: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Convert columns to the types that the user declared for them; every value must fit."""
    formats = date_formats or {}
    if unknown := [column for column in types if column not in frame.columns]:
        fact = f"{where} has no column '{unknown[0]}', for which a type is declared"
        close = difflib.get_close_matches(unknown[0], frame.columns, 1)
        guess = f"did you mean '{close[0]}'? The columns are " if close else "use one of "
        raise InputError(fact, guess + ", ".join(map(repr, frame.columns)))
    return frame.with_columns(
        _declared(frame[column], kind, notation, formats.get(column), findings) for column, kind in types.items()
    )


def without_tokens(text: pl.Series, tokens: Sequence[str]) -> pl.Series:
    """Turn the cells that equal a token, spaces around it aside, into nulls."""
    if not _may_have(text, tokens) or not (missing := trimmed(text).is_in(list(tokens))).any():
        return text
    return text.to_frame().select(pl.when(~missing).then(pl.first()).alias(text.name)).to_series()


def _may_have(text: pl.Series, tokens: Sequence[str]) -> bool:
    """Tell whether some cell may equal a token, spaces around it aside: it begins with a space, or as the token does.

    Comparing takes a quarter of the time of looking for spaces in every cell.
    """
    if len(tokens) > _FEW_TOKENS or (text < "!").any():
        return True
    return any(bool(((text >= token) & (text < f"{token}!")).any()) for token in tokens)


def guessed(text: pl.Series, tokens: Sequence[str] = ()) -> pl.Series:
    """Convert a text column to the narrowest type that all of its values have; otherwise return it as it is.

    Cells that equal a token become null.
    """
    if tokens and (quick := _guess_at_once(text, tokens)) is not None:
        return quick
    text = without_tokens(text, tokens) if tokens else text
    if text.null_count() == len(text):
        return text
    sample = trimmed(text.head(SAMPLE))
    full: pl.Series | None = None
    for parse in GUESSES.values():
        if fits(sample, parse(sample)):
            full = trimmed(text) if full is None else full
            if fits(full, result := parse(full)):
                return without_nan(result)
    return text


def _guess_at_once(text: pl.Series, tokens: Sequence[str]) -> pl.Series | None:
    """Convert a column in which no token occurs, because all of it fits a type that no token has; else return None."""
    sample = trimmed(without_tokens(text.head(SAMPLE), tokens))
    if sample.null_count() == len(sample):
        return None
    for parse in (_guess_int, _guess_float, _guess_date):
        if fits(sample, parse(sample)):
            words = pl.Series(tokens, dtype=pl.String())
            if parse(words).null_count() < len(words) or not fits(text, result := parse(text)):
                return None
            return without_nan(result)
    return None


def converted(text: pl.Series, kind: str, tokens: Sequence[str]) -> pl.Series | None:
    """Convert a part of a column to one of `GUESSES`; None if it does not fit without the tokens."""
    clear = trimmed(without_tokens(text, tokens)) if tokens else text
    result = GUESSES[kind](clear)
    return without_nan(result) if fits(clear, result) and result.dtype != pl.Null else None


def without_nan(column: pl.Series) -> pl.Series:
    """Make "not a number" what it means in a table: a missing value."""
    return column.fill_nan(None) if column.dtype.is_float() else column


def narrowed(column: pl.Series) -> pl.Series:
    """Return whole numbers and days as such, where a program knows neither: all are floats, all dates have a time."""
    if column.dtype.is_float() and column.len() > column.null_count():
        whole = column.cast(pl.Int64, strict=False)
        return whole if (whole == column).all() and whole.null_count() == column.null_count() else column
    if isinstance(column.dtype, pl.Datetime) and (column == column.dt.truncate("1d")).all():
        return column.dt.date()
    return column


def fits(text: pl.Series, result: pl.Series) -> bool:
    """Tell whether a conversion has lost nothing."""
    return result.null_count() == text.null_count()


def trimmed(text: pl.Series) -> pl.Series:
    """Return text without spaces around it."""
    # Looking for padding first is ten times cheaper than stripping every cell.
    padded = text.str.starts_with(" ") | text.str.ends_with(" ")
    return text.str.strip_chars(" ") if padded.any() else text


def _nothing(text: pl.Series) -> pl.Series:
    return pl.repeat(None, len(text), dtype=pl.Null, eager=True)


def _guess_int(text: pl.Series) -> pl.Series:
    result = text.cast(pl.Int64, strict=False)
    return _nothing(text) if fits(text, result) and _any_code(text) else result


def _guess_float(text: pl.Series) -> pl.Series:
    result = text.cast(pl.Float64, strict=False)
    if not fits(text, result):
        return result
    # As a float, a whole number beyond 64 bits would merge with its neighbours.
    if _any_code(text) or text.filter(text.str.len_bytes() >= _LONG).str.contains(r"^[+-]?\d{19,}$").any():
        return _nothing(text)
    # "nan" and "inf" are numbers only in the company of numbers; alone they may be anybody's words.
    return result if result.is_finite().any() or fits(text, _nothing(text)) else _nothing(text)


def _any_code(text: pl.Series) -> bool:
    # Few numbers start with a sign or a zero, which all sort before 1: comparing is five times faster than looking.
    text = text.filter(text < "1")
    starts = text.str.starts_with("0") | text.str.starts_with("-0") | text.str.starts_with("+0")
    return bool(text.filter(starts).str.contains(r"^[+-]?0\d").any())


def _guess_date(text: pl.Series) -> pl.Series:
    # Ten characters of which the first is a digit leave no other form than 2020-01-31, if a space is looked for: this
    # is several times faster than a pattern.
    if not (text.str.len_bytes() == _ISO_LENGTH).all() or str(text.min() or "0") < "0":
        return _nothing(text)
    days = text.str.to_date("%Y-%m-%d", strict=False, cache=False)  # a cache of days takes twice as long as parsing
    return days if fits(text, days) and not text.str.contains(" ", literal=True).any() else _nothing(text)


def _guess_datetime(text: pl.Series) -> pl.Series:
    form = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d{1,6})?$"
    same = _matching(text, form).str.replace(" ", "T", literal=True)
    return same.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)


def _matching(text: pl.Series, form: str) -> pl.Series:
    # The parsers take "2020-1-2" and the year 20 too, which is not what ISO says.
    return text if text.str.contains(form).all() else pl.repeat(None, len(text), dtype=pl.String, eager=True)


def _guess_bool(text: pl.Series) -> pl.Series:
    return _bool(text, {"true": True, "false": False})


GUESSES: dict[str, Callable[[pl.Series], pl.Series]] = {
    "int": _guess_int,
    "float": _guess_float,
    "date": _guess_date,
    "datetime": _guess_datetime,
    "bool": _guess_bool,
}
"""What a column may be, in the order in which it is tried; the result has more nulls where it is something else."""


def _bool(text: pl.Series, words: Mapping[str, bool]) -> pl.Series:
    return text.str.to_lowercase().replace_strict(
        list(words), list(words.values()), default=None, return_dtype=pl.Boolean
    )


def _declared(
    column: pl.Series, kind: str, notation: Notation, date_format: str | None, findings: Findings
) -> pl.Series:
    if column.dtype == TYPES[kind]:
        return column
    if kind == "date" and isinstance(column.dtype, pl.Datetime):
        return column.dt.date()
    text = _as_text(column)
    if kind == "str":
        return text.alias(column.name)
    result, hint = _PARSERS[kind](trimmed(text)), _MISFITS
    if column.dtype == pl.String and kind == "date" and (date_format or not fits(text, result)):
        result, hint = _other_dates(trimmed(text), date_format)
    elif column.dtype == pl.String and kind in ("int", "float") and not notation.is_plain:
        plain = notation.plain(trimmed(text))
        result = _PARSERS[kind](plain) if fits(text, plain) else result
    if (misfits := result.null_count() - text.null_count()) > 0:
        first = findings.place(int((result.is_null() & text.is_not_null()).arg_max() or 0))
        many = "does not fit: it is in" if misfits == 1 else "do not fit, first in"
        rows = counted(len(column), "row")
        fact = f"Column '{column.name}' is declared as {kind}, but {misfits} of {rows} {many} {first}"
        raise InputError(fact, hint)
    return without_nan(result).alias(column.name)


def _other_dates(text: pl.Series, given: str | None) -> tuple[pl.Series, str]:
    """Read dates that are not in ISO form; also say what to do if they do not fit."""
    found = None if given else find_date_form(text)
    if given or (found and found.format):
        days = parse_dates(text, given or str(found and found.format))
        hint = f"check the date format '{given}', or list the text that means missing" if given else _MISFITS
        return (days.dt.date() if isinstance(days.dtype, pl.Datetime) else days), hint
    hint = "write dates like 2024-03-05, or say how they are written, for example date_format='%d.%m.%Y'"
    if found is not None:
        hint = f"say how dates are written: {' or '.join(f'date_format={form!r}' for form in found.choices)}"
    return pl.repeat(None, len(text), dtype=pl.Date, eager=True), hint


def _as_text(column: pl.Series) -> pl.Series:
    if column.dtype.is_float():
        # Spreadsheets keep every number as a float; a code such as 12345 must not become "12345.0".
        whole = column.cast(pl.Int64, strict=False)
        if (whole == column).all() and whole.null_count() == column.null_count():
            return whole.cast(pl.String)
    return column.cast(pl.String)


def _parse_int(text: pl.Series) -> pl.Series:
    whole = text.cast(pl.Int64, strict=False)
    if fits(text, whole):
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
