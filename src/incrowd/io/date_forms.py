"""How dates are written in text: recognized where it is clear which number is the day and which the month."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from incrowd.errors import ParameterError

_TIME = r"(?:[ T]\d{1,2}:\d{2}(:\d{2})?)?"
_BY_YEAR = {
    rf"^\d{{4}}/\d{{1,2}}/\d{{1,2}}{_TIME}$": "%Y/%m/%d",
    rf"^\d{{4}}\.\d{{1,2}}\.\d{{1,2}}{_TIME}$": "%Y.%m.%d",
    rf"^\d{{4}}年\d{{1,2}}月\d{{1,2}}日{_TIME}$": "%Y年%m月%d日",
}
_LOCAL = {sep: rf"^(\d{{1,2}})[{sep}](\d{{1,2}})[{sep}](\d{{4}}|\d{{2}}){_TIME}$" for sep in "./-"}
_LAST_MONTH = 12


@dataclass(frozen=True)
class DateForm:
    """How the dates of a column are written.

    Attributes
    ----------
    format
        In the letters of strftime; None if it is not clear.
    choices
        What it may be then.
    why
        What is not clear, or by what it was recognized.
    """

    format: str | None
    choices: tuple[str, ...] = ()
    why: str = ""


def check_date_format(form: str) -> str:
    """Refuse a format without day, month and year."""
    lacking = [
        letters for letters in (("%d", "%e", "%j"), ("%m", "%b", "%B", "%j"), ("%Y", "%y")) if not _any(form, letters)
    ]
    if lacking and not _any(form, ("%F", "%D", "%x")):
        fact = f"The date format '{form}' has no {' and no '.join(letters[0] for letters in lacking)}"
        raise ParameterError(fact, "write day, month and year as %d, %m and %Y, for example date_format='%d.%m.%Y'")
    return form


def _any(form: str, letters: tuple[str, ...]) -> bool:
    return any(each in form for each in letters)


def looks_like_dates(text: pl.Series) -> bool:
    """Tell whether all of some text has the form of dates that are not in ISO form."""
    known = text.drop_nulls()
    return bool(len(known)) and any(known.str.contains(form).all() for form in (*_BY_YEAR, *_LOCAL.values()))


def find_date_form(text: pl.Series) -> DateForm | None:
    """Find the format of a column of dates; None if it has no form that we know."""
    known = text.drop_nulls()
    for pattern, form in _BY_YEAR.items():
        if known.str.contains(pattern).all():
            return DateForm(form + _time_of(known), why="year first")
    for sep, pattern in _LOCAL.items():
        if known.str.contains(pattern).all():
            return _which_first(known, sep, pattern)
    return None


def parse_dates(text: pl.Series, form: str) -> pl.Series:
    """Read text as dates, or as times if the format has hours; null where it does not fit."""
    if _any(form, ("%H", "%I", "%T", "%R")):
        return text.str.to_datetime(form, time_unit="us", strict=False, cache=False)
    return text.str.to_date(form, strict=False, cache=False)  # a cache takes twice as long as parsing


def _time_of(known: pl.Series) -> str:
    if not known.str.contains(":", literal=True).any():
        return ""
    sep = "T" if known.str.contains(r"\dT\d", literal=False).any() else " "
    return sep + ("%H:%M:%S" if known.str.contains(r":\d{2}:").any() else "%H:%M")


def _which_first(known: pl.Series, sep: str, pattern: str) -> DateForm | None:
    fields = known.str.extract_groups(pattern).struct.unnest()
    first, second = (fields.to_series(place).cast(pl.Int64()).max() for place in (0, 1))
    short = fields.to_series(2).str.len_chars().max() == 2
    year, time = "%y" if short else "%Y", _time_of(known)
    day_first, month_first = (f"%d{sep}%m{sep}{year}{time}", f"%m{sep}%d{sep}{year}{time}")
    over = [isinstance(top, int) and top > _LAST_MONTH for top in (first, second)]
    if all(over):
        return None
    # Whoever writes points writes the day first.
    likely = month_first if over[1] else day_first if over[0] or sep == "." else None
    if short:
        # 03.04.05 may even begin with the year, and nobody knows the century.
        return DateForm(None, (likely,) if likely else (day_first, month_first), "years have two digits")
    if likely is None:
        return DateForm(None, (day_first, month_first), "no number above 12 tells the day from the month")
    if over[0] or over[1]:
        return DateForm(likely, why="day first: numbers go beyond 12" if over[0] else "month first: days go beyond 12")
    return DateForm(likely, why="day first, as is usual with points")
