"""How numbers are written in a text file: with a decimal point or comma, and perhaps with separated thousands.

A column is evidence only if all of it can be read one way and not the other: ``3,5`` has a decimal comma and
``1,234,567`` separated thousands, but ``1,234`` may be either. What stays open is said, and not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

_SPACES = " \u00a0\u202f"
_APART = f"{_SPACES}'\u2019"  # separators of thousands that mean nothing else
_LOOKS = rf"^[+-]?\d[\d.,{_APART}]*$"
_COMMA = rf"^[+-]?(?:\d{{1,3}}(?:[.{_APART}]\d{{3}})+|\d+)(?:,\d+)?$"
_POINT = rf"^[+-]?(?:\d{{1,3}}(?:[,{_APART}]\d{{3}})+|\d+)(?:\.\d+)?$"
_EVIDENCE_ROWS = 20_000
_NEARLY_ALL = 0.9  # share of cells that look like numbers in a column of numbers with faults
NAMES = {"": "none", " ": "space", "\u00a0": "space", "\u202f": "space", "'": "apostrophe", "\u2019": "apostrophe"}


@dataclass(frozen=True)
class Notation:
    """A decimal sign, and a sign between thousands if there is one.

    Examples
    --------
    >>> Notation(",", ".").plain(pl.Series(["1.234,5", "-7", "x"])).to_list()
    ['1234.5', '-7', None]
    """

    decimal: str = "."
    thousands: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether every program reads such numbers."""
        return self.decimal == "." and not self.thousands

    @property
    def pattern(self) -> str:
        """The regular expression of a number."""
        comma = re.escape(self.decimal)
        if not self.thousands:
            return rf"^[+-]?\d+(?:{comma}\d+)?$"
        gap = f"[{_SPACES}]" if self.thousands in _SPACES else re.escape(self.thousands)
        return rf"^[+-]?(?:\d{{1,3}}(?:{gap}\d{{3}})+|\d+)(?:{comma}\d+)?$"

    def fits(self, text: pl.Series) -> bool:
        """Tell whether all of a column, as far as there is something, are numbers written so."""
        return bool(text.str.contains(self.pattern).all())

    def plain(self, text: pl.Series) -> pl.Series:
        """Return numbers as text that every program reads; null where there is no number."""
        found = pl.select(pl.when(text.str.contains(self.pattern)).then(text).alias(text.name)).to_series()
        if self.thousands in NAMES and self.thousands:
            found = found.str.replace_all(rf"[{_APART}]", "")
        elif self.thousands:
            found = found.str.replace_all(self.thousands, "", literal=True)
        return found if self.decimal == "." else found.str.replace(self.decimal, ".", literal=True)


@dataclass
class _Evidence:
    """What columns say, by column."""

    decimals: dict[str, str] = field(default_factory=dict)
    thousands: dict[str, str] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    points: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Found:
    """The notation of a file.

    Attributes
    ----------
    unclear
        Columns in which a comma may be either sign, and nothing else in the file tells.
    contradicting
        Columns that say different things: one has a decimal comma, another a comma between thousands.
    """

    notation: Notation
    unclear: tuple[str, ...] = ()
    contradicting: tuple[str, ...] = ()


def numeric_cells(text: pl.Series) -> pl.Series | None:
    """Return the cells of digits and separators, if nearly all are such and some has a separator; else None."""
    known = text.drop_nulls()
    cells = known.filter(known.str.contains(_LOOKS))
    if not len(cells) or len(cells) < _NEARLY_ALL * len(known) or not cells.str.contains(rf"[.,{_APART}]").any():
        return None
    return cells


def find_notation(columns: Mapping[str, pl.Series], decimal: str | None, thousands: str | None) -> Found:
    """Find how numbers are written; what is given is not looked for.

    Parameters
    ----------
    columns
        Columns of text without padding that look like numbers, with nulls where a value is missing.
    """
    if decimal is not None and thousands is not None:
        return Found(Notation(decimal, thousands))
    evidence = _Evidence()
    for name, text in columns.items():
        _weigh(name, _sample(text), evidence)
    decimals = {decimal} if decimal is not None else set(evidence.decimals.values())
    between = {thousands} if thousands is not None else {t for t in evidence.thousands.values() if t not in decimals}
    between = {" " if each in _SPACES and each else each for each in between}
    if decimal is None and thousands is None and "," in decimals and "," in evidence.thousands.values():
        about = [*evidence.decimals, *evidence.thousands]
        return Found(Notation(), contradicting=tuple(dict.fromkeys(about)))
    sign = "," if "," in decimals or ("." in between and "." not in decimals) else "."
    if sign == "," and not between and evidence.points and thousands is None:
        between = {"."}  # 1.234 beside 3,5
    gap = next(iter(sorted(between - {sign, ""})), "")
    unclear = [] if "," in (sign, gap) or decimal is not None else evidence.open
    return Found(Notation(sign, gap), tuple(unclear))


def _sample(text: pl.Series) -> pl.Series:
    known = text.drop_nulls()
    return known if len(known) <= _EVIDENCE_ROWS else known.gather_every(len(known) // _EVIDENCE_ROWS + 1)


def _weigh(name: str, text: pl.Series, evidence: _Evidence) -> None:
    has_comma = text.str.contains(",", literal=True)
    if (apart := text.str.contains(rf"\d[{_APART}]\d{{3}}")).any():
        used = (
            text.filter(apart).str.extract(rf"(?:^[+-]?\d{{1,3}})([{_APART}])\d{{3}}").drop_nulls().unique().to_list()
        )
        if used and (text.str.contains(_COMMA) | text.str.contains(_POINT)).all():
            evidence.thousands[name] = used[0]
    if text.str.contains(_COMMA).all() and has_comma.any():
        commas = text.filter(has_comma)
        decisive = (
            ~commas.str.contains(r",\d{3}$")  # 3,5
            | commas.str.contains(rf"[.{_APART}]")  # 1.234,567
            | commas.str.contains(r"^[+-]?(?:0|\d{4,}),")  # 0,125 and 1234,567
        ).any() or text.filter(~has_comma).str.contains(r"^[+-]?\d{4,}$").any()
        if decisive:
            evidence.decimals[name] = ","
            if commas.str.contains(r"\.\d{3}[.,]").any():
                evidence.thousands[name] = "."
        else:
            evidence.open.append(name)
    elif text.str.contains(_POINT).all() and has_comma.any():
        evidence.thousands[name] = ","
        if text.str.contains(".", literal=True).any():
            evidence.decimals[name] = "."
    elif text.str.contains(r"^[+-]?(?:\d{1,3}(?:\.\d{3})+|\d{1,3})$").all():
        if text.str.contains(r"\.\d{3}\.").any():
            evidence.thousands[name] = "."
        else:
            evidence.points.append(name)
