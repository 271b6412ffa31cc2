"""Types of all columns of a text file: plain ones first, then numbers and dates as people write them elsewhere.

What was taken is said and returned, so that it can be written down; what is not clear is said, and stays text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from incrowd.errors import InputError, ParameterError, counted
from incrowd.io.columns import SAMPLE, declare, fits, guessed, trimmed, without_tokens
from incrowd.io.date_forms import check_date_format, find_date_form, looks_like_dates, parse_dates
from incrowd.io.notation import NAMES, Notation, find_notation, numeric_cells
from incrowd.io.reading import Findings, Reading
from incrowd.runs import in_threads

_MOSTLY = 0.5  # share of numbers from which a column of text is one with faults
_PAST_DOT = r"^[+-]?(?:\d{1,3}(?:\.\d{3})+|\d{1,3})$"


def find_types(
    frame: pl.DataFrame,
    reading: Reading,
    findings: Findings,
    where: str,
    notify: Callable[[str, int, int], None],
) -> pl.DataFrame:
    """Give each column of text its type, the declared one or the narrowest that fits all of it.

    A reader may have done so already for columns of which nothing was said.
    """
    tokens = {
        name: ["", *reading.missing_tokens, *reading.missing_codes.get(name, ())] for name in frame.columns
    }  # fmt: skip
    findings.see_codes(frame, reading.missing_codes)
    free = [name for name in frame.columns if name not in reading.types]
    notify("finding types", 0, frame.width)

    def find(column: pl.Series) -> pl.Series:
        clear = guessed if column.name in free else without_tokens
        return clear(column, tokens[column.name]) if column.dtype == pl.String else column

    typed: dict[str, pl.Series] = {}
    for done, column in enumerate(in_threads(find, frame, frame.height)):
        typed[column.name] = column
        notify("finding types", done, frame.width)
    text = {name: column for name, column in typed.items() if column.dtype == pl.String}

    def clear_text(name: str) -> pl.Series:
        return trimmed(without_tokens(frame[name], tokens[name]))

    notation = _take_notation(text, reading, findings)
    frame = _text_of_floats(frame, notation, findings)
    if notation.decimal == "," and not notation.thousands and reading.thousands is None:
        floats = [name for name in free if typed[name].dtype == pl.Float64]
        if any(_all_match(clear_text(name).head(SAMPLE), _PAST_DOT) for name in floats):
            notation = Notation(",", ".")  # 1.234 beside 3,5
    if reading.thousands is None and notation.thousands:
        sign = NAMES.get(notation.thousands, f"'{notation.thousands}'")
        said = f"Thousands are separated by {sign}; thousands={notation.thousands!r} was taken"
        findings.take("thousands", notation.thousands, said)
    findings.notation = notation
    formats: dict[str, str] = {}
    for name in free:
        if typed[name].dtype == pl.String:
            typed[name] = _read_otherwise(text[name], notation, reading, findings, formats)
        elif notation.thousands == "." and typed[name].dtype == pl.Float64 and notation.fits(clear_text(name)):
            typed[name] = guessed(notation.plain(clear_text(name)))
    result = declare(pl.DataFrame(list(typed.values())), reading.types, where, findings, notation, _formats(reading))
    notify("finding types", frame.width, frame.width)
    return _with_canonical(result, text, notation, reading)


def _text_of_floats(frame: pl.DataFrame, notation: Notation, findings: Findings) -> pl.DataFrame:
    """Return the table with text where a reader found numbers with a point, if it may stand between thousands."""
    floats = [column.name for column in frame if column.dtype == pl.Float64]
    again = findings.text_again
    is_needed = floats and (notation.decimal == "," or notation.thousands == ".")
    return frame.with_columns(again(floats)) if is_needed and again is not None else frame


def canonical_columns(frame: pl.DataFrame, reading: Reading) -> pl.DataFrame:
    """Write numbers and dates of text columns in one way, where a format with types has kept them as text."""
    given = Notation(reading.decimal or ".", reading.thousands or "")
    text = {column.name: column for column in frame if column.dtype == pl.String}
    return _with_canonical(frame, text, given, reading)


def _with_canonical(
    frame: pl.DataFrame, text: Mapping[str, pl.Series], notation: Notation, reading: Reading
) -> pl.DataFrame:
    kinds = {name: kind for name, kind in reading.canonical.items() if name in text}
    return frame.with_columns(
        _canonical(text[name], kind, notation, reading.date_format_of(name)) for name, kind in kinds.items()
    )


def check_settings(reading: Reading) -> None:
    """Refuse signs and formats that cannot be."""
    for setting in ("decimal", "thousands", "delimiter"):
        sign = getattr(reading, setting)
        if sign is not None and len(sign) != 1:
            fact = f"The {setting} sign has {counted(len(sign), 'character')}"
            raise ParameterError(fact, f"give one character, for example {setting}=','")
    if reading.decimal is not None and reading.decimal == reading.thousands:
        fact = f"The decimal sign and the thousands sign are both '{reading.decimal}'"
        raise ParameterError(fact, "give two different signs")
    for form in (reading.date_format, *reading.date_formats.values()):
        if form is not None:
            check_date_format(form)


def _formats(reading: Reading) -> dict[str, str]:
    found = {name: reading.date_format_of(name) for name in reading.types}
    return {name: form for name, form in found.items() if form is not None}


def _take_notation(text: Mapping[str, pl.Series], reading: Reading, findings: Findings) -> Notation:
    """Find how numbers are written, and say so if it is not plain."""
    numbers = {name for name, kind in reading.types.items() if kind in ("int", "float")}
    numbers |= {name for name, kind in reading.canonical.items() if kind in ("int", "float")}
    wanted = [name for name in text if name not in reading.types or name in numbers]
    candidates: dict[str, pl.Series] = {}
    for name in wanted:
        clear = _numbers_only if name in reading.canonical else trimmed
        if numeric_cells(clear(trimmed(text[name].head(SAMPLE)))) is not None:
            cells = numeric_cells(clear(trimmed(text[name])))
            candidates |= {} if cells is None else {name: cells}
    found = find_notation(candidates, reading.decimal, reading.thousands)
    notation = found.notation
    about = [n for n, c in candidates.items() if notation.fits(c) and c.str.contains(",", literal=True).any()]
    if reading.decimal is None and notation.decimal == "," and about:
        findings.take("decimal", ",", f"Numbers have a decimal comma in {_names(about)}; decimal=',' was taken")
    for name in found.unclear:
        findings.note(
            f"Column '{name}' stays text: its commas may be decimal signs or stand between thousands. "
            "Give decimal=',' or thousands=','"
        )
    if found.contradicting:
        findings.note(
            f"{_names(found.contradicting, 'Columns')} stay text: a comma is a decimal sign in some, and stands "
            "between thousands in others. Give decimal=',' or thousands=',', or write all numbers one way"
        )
    return notation


def _numbers_only(text: pl.Series) -> pl.Series:
    """Leave out what cannot be a number: in text that stays text there may be marks of missing values."""
    return text.filter(text.str.contains(r"^[+-]?\d").fill_null(value=False))


def _all_match(text: pl.Series, pattern: str) -> bool:
    known = text.drop_nulls()
    return bool(known.str.contains(pattern).all()) and bool(known.str.contains(".", literal=True).any())


def _read_otherwise(
    column: pl.Series, notation: Notation, reading: Reading, findings: Findings, formats: dict[str, str]
) -> pl.Series:
    """Read a column of text as numbers or dates of other notations, if all of it fits; otherwise say what is wrong."""
    sample = trimmed(column.head(SAMPLE)).drop_nulls()
    if not len(sample):
        return column
    given = reading.date_format_of(column.name)
    if given is not None:
        days = parse_dates(trimmed(column), given)
        if fits(column, days):
            return days
        if column.name in reading.date_formats:
            fact = f"Column '{column.name}' has {days.null_count() - column.null_count()} of {len(column)} rows "
            fact += f"that are not dates of the form '{given}', first in {_first(column, days, findings)}"
            raise InputError(fact, "correct the date format or these rows, or list the text that means missing")
    if not notation.is_plain and notation.fits(sample):
        plain = notation.plain(trimmed(column))
        if fits(column, plain):
            return guessed(plain)
    if looks_like_dates(sample):
        return _as_dates(column, findings, formats)
    _say_mostly_numbers(column, sample, notation, findings)
    return column


def _as_dates(column: pl.Series, findings: Findings, formats: dict[str, str]) -> pl.Series:
    text = trimmed(column)
    form = find_date_form(text)
    if form is None:
        findings.note(
            f"Column '{column.name}' stays text: most of it has the form of dates, but not all of it fits one"
        )
        return column
    if form.format is None:
        choices = " or ".join(f"date_format='{each}'" for each in form.choices)
        findings.note(f"Column '{column.name}' holds dates and stays text: {form.why}. Give {choices}")
        return column
    days = parse_dates(text, form.format)
    if not fits(text, days):
        wrong = counted(days.null_count() - text.null_count(), "row")
        findings.note(
            f"Column '{column.name}' stays text: {wrong}, first in {_first(text, days, findings)}, "
            f"cannot be read as {form.format}"
        )
        return column
    formats[column.name] = form.format
    findings.date_formats[column.name] = form.format
    findings.note(f"Dates of '{column.name}' were read as {form.format} ({form.why})")
    return days


def _say_mostly_numbers(column: pl.Series, sample: pl.Series, notation: Notation, findings: Findings) -> None:
    """Say which line makes a column of numbers text."""

    def parse(text: pl.Series) -> pl.Series:
        return (text if notation.is_plain else notation.plain(text)).cast(pl.Float64(), strict=False)

    known = parse(sample)
    if len(sample) - known.null_count() < _MOSTLY * len(sample) or _any_zeros(sample):
        return
    text = trimmed(column)
    numbers = parse(text)
    wrong = numbers.null_count() - text.null_count()
    if 0 < wrong < (1 - _MOSTLY) * len(text):
        first = _first(text, numbers, findings)
        where, what = "in", "is not a number. Correct it"
        if wrong > 1:
            where, what = "first in", "are not numbers. Correct them"
        findings.note(
            f"Column '{column.name}' is text because {counted(wrong, 'row')} of {len(text)}, {where} {first}, {what}, "
            "or list what means missing in the schema"
        )


def _any_zeros(sample: pl.Series) -> bool:
    return bool(sample.str.contains(r"^[+-]?0\d").any())


def _first(text: pl.Series, result: pl.Series, findings: Findings) -> str:
    return findings.place(int((result.is_null() & text.is_not_null()).arg_max() or 0))


def _canonical(column: pl.Series, kind: str, notation: Notation, given: str | None) -> pl.Series:
    """Rewrite what is a number or a date in another notation; leave the rest as it is."""
    text = trimmed(column)
    if kind == "date":
        shaped = text.filter(text.str.contains(r"^\d{1,4}[./年-]\d").fill_null(value=False))
        shaped = shaped.filter(~shaped.str.contains(r"^\d{4}-\d{2}-\d{2}"))
        form = given or (found.format if len(shaped) and (found := find_date_form(shaped)) else None)
        if form is None:
            return column
        days = parse_dates(text, form)
        plain = (days.dt.date() if isinstance(days.dtype, pl.Datetime) else days).cast(pl.String())
    elif notation.is_plain:
        return column
    else:
        plain = notation.plain(text)
    return pl.select(pl.coalesce(plain, column).alias(column.name)).to_series()


def _names(names: list[str] | tuple[str, ...], many: str = "columns") -> str:
    shown = ", ".join(f"'{name}'" for name in names[:3]) + (", ..." if len(names) > 3 else "")
    return f"{many} {shown}" if len(names) > 1 or many[0].isupper() else f"column {shown}"
