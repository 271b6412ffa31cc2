"""Covers: what lies beside a release that is not in a folder of its own, but in a table of a database or one file.

A cover is one JSON text: the manifest of the release, and for each of its tables the name, the stored name and the type
of each column. With it, the values that a database, a spreadsheet or a statistics program returns become the table that
was sealed again, cell for cell and type for type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from incrowd.errors import InputError, VerificationError

COVER = ".manifest.json"
"""What is appended to the name of a file for its cover."""

_SIMPLE: dict[str, pl.DataType] = {
    str(dtype): dtype
    for dtype in (
        pl.String(), pl.Boolean(), pl.Date(), pl.Float32(), pl.Float64(), pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64(),
        pl.UInt8(), pl.UInt16(), pl.UInt32(), pl.UInt64(),
    )
}  # fmt: skip
_MOMENTS: dict[str, pl.DataType] = {f"Datetime({unit})": pl.Datetime(unit) for unit in ("ms", "us", "ns")}
TYPES: dict[str, pl.DataType] = _SIMPLE | _MOMENTS
"""Types that a cover can name. One with a time zone is not among them: few places keep it."""

CHANGED = "do not rely on it: it is not what was written; publish it again"

Rule = Callable[[str], str]
"""Makes a name that a place accepts of any name."""


@dataclass(frozen=True)
class StoredColumn:
    """A column of a release, the name that it is stored under, and its type."""

    name: str
    stored: str
    type: str


@dataclass(frozen=True)
class Cover:
    """The manifest of a release, and the columns of its tables as they are stored.

    Attributes
    ----------
    manifest
        The content of manifest.json.
    tables
        The columns of each table, by the stem that its files have in a release folder.
    """

    manifest: Mapping[str, Any]
    tables: Mapping[str, tuple[StoredColumn, ...]]

    @classmethod
    def of(cls, manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], rule: Rule) -> Cover:
        """Describe tables; a column of a type that cannot be stored is an error."""
        return cls(manifest, {stem: _columns_of(frame, rule) for stem, frame in tables.items()})

    def to_json(self) -> str:
        """Write it in its one way."""
        tables = [
            {"name": stem, "columns": [vars(column) for column in columns]} for stem, columns in self.tables.items()
        ]
        return json.dumps({"manifest": self.manifest, "tables": tables}, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str, where: str) -> Cover:
        """Read it; anything that is not a cover is an error."""
        try:
            data = json.loads(text)
            tables = {
                str(table["name"]): tuple(StoredColumn(**column) for column in table["columns"])
                for table in data["tables"]
            }
            manifest = data["manifest"]
            known = all(column.type in TYPES for columns in tables.values() for column in columns)
            named = all(isinstance(c.name, str) and isinstance(c.stored, str) for t in tables.values() for c in t)
            fine = known and named and isinstance(manifest, dict) and bool(tables)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            fine = False
        if not fine:
            fact = f"{where} does not hold the manifest of a release"
            raise InputError(fact, "give a release that publish wrote, with the manifest that lies beside it")
        return cls(manifest, tables)

    def rename(self, stem: str, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a table with its columns named as they are stored."""
        return frame.rename({column.name: column.stored for column in self.tables[stem]})

    def restore(self, stem: str, found: pl.DataFrame, where: str) -> pl.DataFrame:
        """Return the table that was stored, from what a place returns for it, sorted as rows of a release are."""
        columns = self.tables[stem]
        wanted = [column.stored for column in columns]
        if found.columns != wanted:
            extra, lost = set(found.columns) - set(wanted), set(wanted) - set(found.columns)
            what = f"{len(extra)} more and {len(lost)} fewer" if extra or lost else "another order of"
            fact = f"{where} has other columns than its manifest lists: {what} columns"
            raise VerificationError(fact, CHANGED, violations=[fact])
        frame = pl.DataFrame([_restored(found[column.stored], column, where) for column in columns])
        return frame.sort(frame.columns, nulls_last=False, maintain_order=True)


def _columns_of(frame: pl.DataFrame, rule: Rule) -> tuple[StoredColumn, ...]:
    for column in frame:
        if _type_name(column.dtype) not in TYPES:
            zone = " with a time zone" if isinstance(column.dtype, pl.Datetime) else ""
            kind = f"{column.dtype.base_type().__name__}{zone}"
            fact = f"Column '{column.name}' has the type {kind}, which only a release folder can hold"
            raise InputError(fact, "publish to a folder, or convert the column to text")
    stored = distinct([rule(name) for name in frame.columns], rule)
    return tuple(
        StoredColumn(column.name, name, _type_name(column.dtype)) for column, name in zip(frame, stored, strict=True)
    )


def distinct(names: Sequence[str], rule: Rule) -> list[str]:
    """Number names that differ in nothing but capital letters, or in nothing at all.

    >>> distinct(["Age", "age", "age_2"], str)
    ['Age', 'age_2', 'age_2_2']
    """
    taken: set[str] = set()
    found = []
    for name in names:
        free, number = name, 1
        while free.lower() in taken:
            number += 1
            end = f"_{number}"
            free = name + end
            shorter = name
            while rule(free) != free and shorter:
                shorter = shorter[:-1]
                free = shorter + end
        taken.add(free.lower())
        found.append(free)
    return found


def shortened(most: int) -> Rule:
    """Return a rule that cuts names to a number of bytes of UTF-8."""

    def rule(name: str) -> str:
        return name.encode()[:most].decode(errors="ignore")

    return rule


def _type_name(dtype: pl.DataType) -> str:
    if isinstance(dtype, pl.Datetime):
        return f"Datetime({dtype.time_unit}{'' if dtype.time_zone is None else ', zone'})"
    return str(dtype)


def _restored(column: pl.Series, about: StoredColumn, where: str) -> pl.Series:
    """Convert what a place returned to the type that was stored; every value must be one of that type."""
    dtype, given = TYPES[about.type], column.null_count()
    try:
        result = _converted(column, dtype)
        fits = result.dtype == dtype and result.null_count() == given and _means_the_same(column, result)
    except (pl.exceptions.PolarsError, OverflowError):
        fits = False
    if not fits:
        fact = f"{where}: column '{about.name}' has values that are not of the type {about.type}"
        raise VerificationError(fact, CHANGED, violations=[fact])
    return result.alias(about.name)


def _converted(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    if column.dtype == dtype or column.null_count() == len(column):
        return column.cast(dtype)
    if column.dtype == pl.String:
        return _parsed(column, dtype)
    if dtype == pl.Date and isinstance(column.dtype, pl.Datetime):
        return column.dt.date()
    if dtype == pl.Boolean or dtype.is_integer() or dtype.is_float():
        return column.cast(dtype, strict=False) if column.dtype.is_numeric() or column.dtype == pl.Boolean else column
    return column.cast(dtype, strict=False) if isinstance(dtype, pl.Datetime) else column


def _parsed(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    if dtype == pl.Boolean:
        return text.str.to_lowercase().replace_strict(
            ["true", "false", "1", "0"], [True, False, True, False], default=None, return_dtype=dtype
        )
    if dtype == pl.Date:
        return text.str.to_date("%Y-%m-%d", strict=False)
    if isinstance(dtype, pl.Datetime):
        same = text.str.replace(" ", "T", literal=True)
        return same.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit=dtype.time_unit, strict=False)
    return text.cast(dtype, strict=False)


def _means_the_same(column: pl.Series, result: pl.Series) -> bool:
    """Tell whether a conversion of numbers or times dropped nothing: 1.5 is no whole number, and 2 no truth value."""
    if column.dtype in (result.dtype, pl.String) or column.null_count() == len(column):
        return True
    if column.dtype.is_numeric() and (result.dtype.is_numeric() or result.dtype == pl.Boolean):
        return bool((result.cast(column.dtype) == column).all())
    if column.dtype.is_temporal() and result.dtype.is_temporal():
        return bool((result.cast(column.dtype) == column).all())
    return column.dtype == pl.Boolean and result.dtype.is_numeric()


_RESERVED = frozenset(
    (
        "all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with",  # SPSS
        "_all", "_b", "byte", "_coef", "_cons", "double", "float", "if", "in", "int", "long", "_n", "_pi", "_pred",
        "_rc", "_skip", "str", "strl", "using",  # Stata
    )
)  # fmt: skip


def statistics_rule(most: int, allowed: str, *, in_bytes: bool) -> Rule:
    """Return a rule for programs whose names are words.

    Parameters
    ----------
    most
        Characters, or bytes of UTF-8, of a name.
    allowed
        Characters beside letters and digits, as a regular expression's set.
    """

    def rule(name: str) -> str:
        word = re.sub(rf"[^\w{allowed}]", "_", name)
        word = word if re.match(r"[^\W\d_]", word) else f"v_{word}"
        word = word.encode()[:most].decode(errors="ignore") if in_bytes else word[:most]
        word = word.rstrip(".") or "v"
        return f"{word[: most - 2]}_v" if word.lower() in _RESERVED else word

    return rule
