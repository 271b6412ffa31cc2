"""Domains as the manifest writes them: which values there are, which cells are legal, which rank a value has.

All of it is read from plain data with code of its own, so that a mistake in a hierarchy cannot vouch for itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from operator import ne
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Array = npt.NDArray[Any]

OUTSIDE = -1
"""Rank of a value that the manifest does not list."""

ABSENT = -2
"""Rank of a missing value where the manifest has no place for one."""

TYPES: dict[str, pl.DataType] = {
    "int": pl.Int64(),
    "float": pl.Float64(),
    "str": pl.String(),
    "date": pl.Date(),
    "bool": pl.Boolean(),
}

_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_ISO_DAY = r"^(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$"


@dataclass(frozen=True)
class Values:
    """The listed values of a column in order; at most one of them is null."""

    type: str
    series: pl.Series

    @cached_property
    def null_rank(self) -> int:
        """Rank of the missing value, `ABSENT` when it is not listed."""
        listed = self.series.to_list()
        return listed.index(None) if None in listed else ABSENT

    def code(self, column: pl.Series, tokens: Sequence[str] = ()) -> Array:
        """Return the rank of each value, `OUTSIDE` or `ABSENT` where it has none."""
        if self.type == "str":
            return self._code_text(column, tokens)
        column = without_tokens(column, tokens)
        converted = convert(column, self.type)
        missing = column.is_null()
        if converted.dtype.is_float():  # text may say that it is no number
            missing |= converted.is_nan().fill_null(value=False)
        listed = [(rank, value) for rank, value in enumerate(self.series.to_list()) if value is not None]
        ranks = pl.Series([rank for rank, _ in listed], dtype=pl.Int32())
        known = pl.Series([value for _, value in listed], dtype=converted.dtype)
        found = converted.replace_strict(known, ranks, default=OUTSIDE, return_dtype=pl.Int32())
        return np.where(missing.to_numpy(), np.int32(self.null_rank), found.to_numpy())

    def _code_text(self, column: pl.Series, tokens: Sequence[str]) -> Array:
        if column.dtype.is_float():
            column = column.fill_nan(None)
        try:
            column = column.cast(pl.String()) if column.dtype != pl.String else column
        except pl.exceptions.PolarsError:  # bytes, lists: no text
            return np.full(len(column), OUTSIDE, np.int32)
        rank_of = {value: rank for rank, value in enumerate(self.series.to_list()) if value is not None}
        rank_of |= dict.fromkeys(tokens, self.null_rank)
        if not rank_of:
            return np.full(len(column), self.null_rank, np.int32)
        # an enumeration finds text faster than a join; the last entry is for text that is not listed
        found = column.cast(pl.Enum(list(rank_of)), strict=False).to_physical().cast(pl.Int32()).fill_null(len(rank_of))
        codes: Array = np.array([*rank_of.values(), OUTSIDE], np.int32)[found.to_numpy()]
        if column.null_count():
            codes = np.where(column.is_null().to_numpy(), np.int32(self.null_rank), codes)
        return codes


def runs(level: Sequence[str]) -> tuple[Array, Array]:
    """Return the first and the last leaf of each run of equal names."""
    new = list(map(ne, level[1:], level))
    first = np.append(0, np.flatnonzero(new) + 1)[: len(level)]
    return first, np.append(first[1:], len(level)) - 1


def read_values(values: list[Any], kind: str) -> pl.Series | None:
    """Read listed values strictly as their type, ``None`` when one of them is not of it."""
    known = [value for value in values if value is not None]
    if kind == "str":
        fine = are_texts(known)
    elif kind == "int":
        fine = are_whole(known, -(2**63), 2**63)
    else:
        fine = all(map(_FITS[kind], known))
    if not fine:
        return None
    if kind == "date":
        values = [None if value is None else date.fromisoformat(value) for value in values]
    elif kind == "float":
        values = [None if value is None else float(value) for value in values]
    return pl.Series("", values, TYPES[kind])


def value_problems(series: pl.Series) -> list[str]:
    """Say what keeps values from being a domain."""
    problems = []
    listed = series.to_list()
    if not listed:
        problems.append("lists no values")
    if len(set(listed)) != len(listed):
        problems.append(f"lists {len(listed) - len(set(listed))} values more than once")
    if None in listed[1:]:
        problems.append("has a missing leaf that is not the first")
    return problems


def level_problems(levels: Sequence[Sequence[str]], n_leaves: int) -> list[str]:
    """Say what keeps a level table from being a tree of contiguous nodes."""
    problems, starts = [], []
    for height, level in enumerate(levels, start=1):
        first, _ = runs(level)
        starts.append(first)
        if len(level) != n_leaves:
            problems.append(f"level {height} has {len(level)} entries for {n_leaves} leaves")
        elif len({level[at] for at in first.tolist()}) != len(first):
            problems.append(f"level {height} has nodes that are not contiguous")
    if problems:
        return problems
    torn = [height for height in range(1, len(levels)) if not np.isin(starts[height], starts[height - 1]).all()]
    return [f"level {height} is not nested in level {height + 1}" for height in torn]


def is_text(value: object) -> bool:
    """Tell whether a value is text that can be written down: half a character (a lone surrogate) cannot."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def are_texts(values: Sequence[Any]) -> bool:
    """Tell whether all values are text that can be written down."""
    return set(map(type, values)) <= {str} and is_text("".join(values))


def are_whole(values: Sequence[Any], low: int, high: int) -> bool:
    """Tell whether all values are whole numbers from `low` to below `high`."""
    if not set(map(type, values)) <= {int}:
        return False
    return not values or (low <= min(values) and max(values) < high)


def is_whole(value: object) -> bool:
    """Tell whether a value is a whole number of 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def is_number(value: object) -> bool:
    """Tell whether a value is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def without_tokens(column: pl.Series, tokens: Sequence[str]) -> pl.Series:
    """Make text that stands for a missing value, and NaN, missing."""
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String())
    if column.dtype.is_float():
        return column.fill_nan(None)
    if tokens and column.dtype == pl.String:
        is_token = column.is_in(list(tokens))
        if is_token.any():
            return pl.select(pl.when(is_token).then(None).otherwise(column)).to_series()
    return column


def without_codes(column: pl.Series, kind: str | None, codes: Sequence[str]) -> pl.Series:
    """Make missing what counts as missing in this column only: a text, or the number or day that it reads as.

    Parameters
    ----------
    kind
        The column's type; ``None`` if it is not known: then text counts as text.
    """
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String())
    if not codes or column.dtype == pl.Boolean or column.dtype.is_nested():
        return column
    own = {True: "int", column.dtype.is_float(): "float", column.dtype in (pl.Date, pl.Datetime): "date"}[True]
    gone = pl.repeat(value=False, n=len(column), dtype=pl.Boolean(), eager=True)
    if column.dtype == pl.String:
        gone |= column.str.strip_chars(" ").is_in(list(codes)).fill_null(value=False)
        kinds = [] if kind in (None, "str", "bool") else [kind]
    else:
        kinds = [own, *([] if kind in (None, "str", "bool") else [kind])]
    for each in kinds:
        values = convert(column, str(each))
        known = convert(pl.Series(list(codes), dtype=pl.String()), str(each)).drop_nulls().unique().to_list()
        known += [int(float(code)) for code in codes if each == "int" and _is_whole(code)]
        gone |= values.is_in(pl.Series(known, dtype=values.dtype).implode()).fill_null(value=False)
    return (
        pl.select(pl.when(gone).then(None).otherwise(column).alias(column.name)).to_series() if gone.any() else column
    )


def _is_whole(code: str) -> bool:
    """Tell whether a code is a whole number written with decimals, such as 999.0."""
    return re.fullmatch(r"[+-]?\d{1,15}\.0*", code, re.ASCII) is not None


def is_day(value: object) -> bool:
    """Tell whether a value is a day in ISO form."""
    if not isinstance(value, str):
        return False
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


_FITS: dict[str, Callable[[object], bool]] = {
    "float": is_number,
    "bool": lambda value: isinstance(value, bool),
    "date": is_day,
}


def convert(column: pl.Series, kind: str) -> pl.Series:
    """Bring a column to the type of the listed values; what does not fit becomes null."""
    dtype = column.dtype
    if dtype.is_nested():
        return pl.Series(column.name, [None] * len(column), TYPES[kind])
    if dtype == pl.String and kind != "str":
        return read_text(column, kind)
    if kind == "date" and dtype == pl.Datetime:
        return column.dt.date()
    if kind == "int" and dtype.is_float():
        return pl.select(pl.when(column == column.round()).then(column)).to_series().cast(pl.Int64(), strict=False)
    try:
        return column.cast(TYPES[kind], strict=False)
    except pl.exceptions.PolarsError:
        return pl.Series(column.name, [None] * len(column), TYPES[kind])


def read_text(column: pl.Series, kind: str) -> pl.Series:
    """Read text as a type, as files hold it: padding aside, 17.0 for 17, a time for its day."""
    padded = column.str.starts_with(" ") | column.str.ends_with(" ")
    text = column.str.strip_chars(" ") if padded.any() else column
    if kind == "bool":
        return text.str.to_lowercase().replace_strict(_TRUTH, default=None, return_dtype=pl.Boolean())
    if kind == "date":
        day = text.str.extract(_ISO_DAY)
        return day.str.to_date("%Y-%m-%d", strict=False)
    if kind == "float":
        return text.cast(pl.Float64(), strict=False)
    whole = text.cast(pl.Int64(), strict=False)
    if whole.null_count() == text.null_count():
        return whole
    number = text.cast(pl.Float64(), strict=False)
    rounded = number.cast(pl.Int64(), strict=False)
    return pl.select(pl.coalesce(whole, pl.when(rounded == number).then(rounded))).to_series()
