"""Digits and letters that look like names: numbers with leading zeros, postal codes, codes of diagnoses."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from incrowd.schema.name_proposal import is_code_system

_POSTAL = re.compile(r"zip|postal|postcode|plz|postleitzahl|(?:^|[^a-z])(?:cp|cap)(?:$|[^a-z])", re.IGNORECASE)
_CODED = re.compile(r"icd|diag|naics|isco|nace|nuts|lsoa|commune|fips|hs_?code|atc", re.IGNORECASE)
_ICD = r"^[A-Z]\d[0-9A-Z](\.?[0-9A-Z]{1,4})?$"
_LETTERS_DIGITS = r"^[A-Za-z]{1,3}[ -]?\d[0-9A-Za-z]*([. -][0-9A-Za-z]+)?$"
_LONGEST = 10
_WHOLE = r"^-?\d{1,10}$"
_FEW_DIGITS = 3  # numbers of up to three digits count or measure something
_DENSE = 0.3  # share of the numbers between the least and the greatest that occur, from which they measure something
_FEW_ROWS = 20
_PER_PREFIX = 2  # values that share a beginning, on average
_MOST_POSTAL = 6  # digits of the longest postal codes
_KINDS = 3  # first letters from which codes have groups; identifiers begin with one letter


@dataclass(frozen=True)
class CodeColumn:
    """What a column of digits and letters seems to be.

    Attributes
    ----------
    numbers
        Whether it holds numbers, written with leading zeros; otherwise it holds codes whose beginnings are groups.
    """

    numbers: bool
    why: str


def find_code_column(values: pl.Series) -> CodeColumn | None:
    """Tell whether text or whole numbers are numbers with leading zeros, or codes; None if they are neither."""
    distinct = values.drop_nulls().unique()
    n = len(distinct)
    if n == 0:
        return None
    if values.dtype.is_integer():
        if _POSTAL.search(values.name):
            return CodeColumn(numbers=False, why=f"postal codes, {n} distinct: shortened from the right, such as 100**")
        if is_code_system(values):
            why = f"codes of a classification, {n} distinct: shortened from the right, such as 22**"
            return CodeColumn(numbers=False, why=why)
        return None
    if values.dtype != pl.String:
        return None
    text = distinct.str.strip_chars(" ")
    width = padded_width(text)
    if width is not None:
        return _digits(values, text, width)
    if text.str.len_chars().max() > _LONGEST:  # type: ignore[operator]
        return None
    return _letters(values, text)


def padded_width(text: pl.Series) -> int | None:
    """Return to how many digits numbers are filled up with zeros in front; None if they are not, or are no numbers.

    Longer numbers begin with another digit (05 and 99 beside 100, or 999 for unknown); those below zero count for
    nothing, because -9 is rarely written as -09.

    >>> padded_width(pl.Series(["05", "99", "100", "-9"])), padded_width(pl.Series(["01", "011", "012"]))
    (2, None)
    """
    if not text.str.contains(_WHOLE).all():
        return None
    digits = text.filter(~text.str.starts_with("-"))
    widths = digits.str.len_chars()
    width = widths.min()
    if width is None or digits.filter(widths > width).str.starts_with("0").any():
        return None
    return int(width) if len(digits.filter(widths == width)) > len(digits) / 2 or widths.n_unique() == 1 else None  # type: ignore[arg-type]


def _digits(values: pl.Series, text: pl.Series, width: int) -> CodeColumn | None:
    """Tell quantities from codes, of digits of one length with zeros in front."""
    n, numbers = len(text), text.cast(pl.Int64())
    if _POSTAL.search(values.name):
        return CodeColumn(numbers=False, why=f"postal codes, {n} distinct: shortened from the right, such as 100**")
    if (
        width > _FEW_DIGITS
        and len(values) >= _FEW_ROWS
        and (n == len(values) or (n > len(values) / 2 and width > _MOST_POSTAL))
    ):
        return None  # numbers of people
    known = numbers.filter(numbers != 10**width - 1)  # 99 and 999 often mean missing
    span = 1 if not len(known) else int(known.to_numpy().max() - known.to_numpy().min()) + 1
    if width == 1 or (not _CODED.search(values.name) and (width <= _FEW_DIGITS or n >= _DENSE * span)):
        why = f"numbers with leading zeros, {n} distinct: ranges (codes of categories: set type to str)"
        return CodeColumn(numbers=True, why=why)
    return CodeColumn(numbers=False, why=f"digits of one length, {n} distinct: shortened from the right, such as 100**")


def _letters(values: pl.Series, text: pl.Series) -> CodeColumn | None:
    n = len(text)
    heads = text.str.slice(0, 1).n_unique()
    named = bool(_POSTAL.search(values.name) or _CODED.search(values.name))
    if text.str.contains(_ICD).all() and (heads >= _KINDS or named):
        return CodeColumn(numbers=False, why=f"codes like those of diagnoses, {n} distinct: shortened from the right")
    if not text.str.contains(_LETTERS_DIGITS).all() or (heads < _KINDS and not named):
        return None
    shared = n / max(1, text.str.slice(0, 2).n_unique())
    if named or (shared >= _PER_PREFIX and n < len(values)):
        return CodeColumn(
            numbers=False,
            why=f"codes of letters and digits, {n} distinct, with common beginnings: shortened from the right",
        )
    return None
