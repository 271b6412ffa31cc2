"""A first schema from the data: what each column seems to be, and why."""

from __future__ import annotations

import re

import polars as pl

from incrowd.errors import SchemaError
from incrowd.hierarchy import Intervals, Spec, balanced, dates, prefixes
from incrowd.hierarchy.hierarchy import type_of
from incrowd.schema.schema import Attribute, Role, Schema

_NEAR_UNIQUE = 0.9  # share of distinct values from which text names people rather than describes them
_FEW_ROWS = 20  # below this many rows distinctness says nothing
_MOST_CLASSES = 50
_SUPPRESS_ONLY = 3  # so few values need no tree above them
_FREE_TEXT = 40  # mean length from which text is prose


def propose(frame: pl.DataFrame, sensitive: str | None, missing_tokens: tuple[str, ...]) -> Schema:
    """Guess a role, a type and a hierarchy for each column."""
    if sensitive is not None and sensitive not in frame.columns:
        fact = f"The table has no column {sensitive!r} to be sensitive"
        raise SchemaError(fact, f"its columns are {', '.join(map(repr, frame.columns))}")
    why_sensitive = "you said that it is sensitive"
    if sensitive is None:
        sensitive, why_sensitive = _guess_sensitive(frame)
    attributes = []
    for column in frame.iter_columns():
        if column.name == sensitive:
            attributes.append(Attribute(column.name, Role.SENSITIVE, type=type_of(column), why=why_sensitive))
        else:
            attributes.append(_attribute(column, missing_tokens))
    return Schema.of(attributes, missing_tokens=missing_tokens)


def _guess_sensitive(frame: pl.DataFrame) -> tuple[str, str]:
    for name in reversed(frame.columns):
        n = frame[name].n_unique()
        if 1 < n <= min(_MOST_CLASSES, max(2, frame.height // 2)):
            return name, f"a guess: the last column with few values ({n}); name it yourself if it is another"
    fact = "No column looks like a sensitive one (2 to 50 distinct values)"
    raise SchemaError(fact, "name it: sensitive=... in Python, --sensitive on the command line")


def _attribute(column: pl.Series, missing_tokens: tuple[str, ...]) -> Attribute:
    kind = type_of(column)
    if kind == "str" and missing_tokens:
        text = column.cast(pl.String())
        column = text.set(text.is_in(list(missing_tokens)).fill_null(value=False), None)
    values = column.drop_nulls()
    n, distinct = len(values), values.n_unique()

    def identifier(why: str) -> Attribute:
        return Attribute(column.name, Role.IDENTIFIER, type=kind, why=why)

    if n == 0:
        return identifier("has no values at all")
    if n >= _FEW_ROWS and kind == "str":
        if distinct > _NEAR_UNIQUE * n:
            return identifier(f"text, {distinct} distinct values in {n} rows: it names people")
        length = values.cast(pl.String()).str.len_chars().mean()
        if isinstance(length, float) and length > _FREE_TEXT:
            return identifier(f"free text ({length:.0f} characters on average) can hold anything")
    if n >= _FEW_ROWS and kind == "int" and distinct == n and _is_counter(values):
        return identifier("whole numbers that count the rows")
    spec, why = _hierarchy(values, kind, distinct)
    return Attribute(column.name, Role.QUASI, spec, kind, why)


def _is_counter(values: pl.Series) -> bool:
    steps = values.diff().drop_nulls()
    return steps.n_unique() == 1


def _hierarchy(values: pl.Series, kind: str, distinct: int) -> tuple[Spec | None, str]:
    if kind == "date":
        return dates(), f"dates, {distinct} distinct"
    if kind == "int" and re.search("zip|postal|postcode|plz", values.name, re.IGNORECASE):
        return prefixes(), f"postal codes, {distinct} distinct: shortened from the right, such as 100**"
    if kind in ("int", "float"):
        return Intervals(), f"numbers, {distinct} distinct: ranges such as 21-30"
    if kind == "bool" or distinct <= _SUPPRESS_ONLY:
        return None, f"{distinct} distinct values: kept or suppressed"
    text = values.cast(pl.String())
    if text.str.contains(r"^\d{3,10}$").all() and text.str.len_chars().n_unique() == 1:
        return prefixes(), f"digits of one length, {distinct} distinct: shortened from the right, such as 100**"
    if text.str.contains(r"^\d{4}-\d{2}-\d{2}$").all():
        return dates(), f"dates as text, {distinct} distinct"
    return balanced(), f"{distinct} distinct names: a 5-ary tree in alphabetical order; a taxonomy of yours is better"
