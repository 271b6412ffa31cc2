"""A first schema from the data: what each column seems to be, and why."""

from __future__ import annotations

import re

import polars as pl

from incrowd.errors import SchemaError
from incrowd.hierarchy import Intervals, Spec, dates, prefixes
from incrowd.hierarchy.hierarchy import type_of
from incrowd.io.columns import guessed, without_tokens
from incrowd.schema.name_proposal import is_code_system, propose_for_names
from incrowd.schema.schema import Attribute, Role, Schema, require_columns

_NEAR_UNIQUE = {"str": 0.5, "int": 0.9}  # share of distinct values from which a column identifies people
_FEW_ROWS = 20  # below this many rows distinctness says nothing
_MANY_ROWS, _SCATTERED = 200, 100  # ages of a few people may all differ; numbers of people lie far apart
_MOST_CLASSES = 50
_SUPPRESS_ONLY = 3  # so few values need no tree above them
_FREE_TEXT = 40  # mean length from which text is prose
_NAMES_PEOPLE = re.compile(
    r"(?:^|[^a-z])(?:(?:first|last|sur|middle|family|given|full|user|vor|nach|familien)?[ _-]?names?|e-?mails?|"
    r"(?:tele)?phone|telefon|mobile?|handy|street|stra(?:ss|ß)e|address|adresse|ssn|iban|passport|"
    r"uuid|notes?|notiz|comments?|kommentar|remarks?|bemerkung)(?:$|[^a-z])",
    re.IGNORECASE,
)
_ISO_DATE = r"^\d{4}-\d{2}-\d{2}$"
_LOCAL_DATE = r"^\d{1,2}([./-])\d{1,2}[./-](\d{4}|\d{2})$"
_MAY_MEAN_MISSING = ["?", "-", "NA", "N/A", "n/a", "na", "null", "NULL", "None", "k.A.", "unknown", "unbekannt"]


def propose(frame: pl.DataFrame, sensitive: str | None, missing_tokens: tuple[str, ...]) -> Schema:
    """Guess a role, a type and a hierarchy for each column."""
    if sensitive is not None:
        require_columns([sensitive], frame.columns)
    why_sensitive = "you named it as sensitive"
    if sensitive is None:
        sensitive, why_sensitive = _guess_sensitive(frame)
    missing_tokens += tuple(token for token in _among_numbers(frame) if token not in missing_tokens)
    attributes = [
        Attribute(column.name, Role.SENSITIVE, type=_type(column), why=why_sensitive)
        if column.name == sensitive
        else _attribute(column, missing_tokens)
        for column in frame.iter_columns()
    ]
    if not any(attribute.role is Role.QUASI for attribute in attributes):
        fact = "No column looks like a quasi-identifier: all others are empty or identify people"
        raise SchemaError(fact, "write the schema by hand, or check that this is the right table")
    return Schema.of(attributes, missing_tokens=missing_tokens)


def _type(column: pl.Series) -> str | None:
    """Return the type to declare; a reader finds times by itself, and no declared type means them."""
    return None if column.dtype == pl.Datetime else type_of(column)


def _guess_sensitive(frame: pl.DataFrame) -> tuple[str, str]:
    for name in reversed(frame.columns):
        n = frame[name].n_unique()
        if 1 < n <= min(_MOST_CLASSES, max(2, frame.height // 2)):
            return (
                name,
                f"a guess: the last column with few distinct values ({n}); change it if another column is sensitive",
            )
    fact = f"No column of the {frame.height} rows looks like a sensitive one (2 to 50 distinct values)"
    raise SchemaError(fact, "name it: sensitive='COLUMN'")


def _among_numbers(frame: pl.DataFrame) -> list[str]:
    """Return common marks of a missing value that occur among numbers or dates, and would make the column text."""
    found: list[str] = []
    for column in frame.iter_columns():
        if column.dtype == pl.String() and type_of(guessed(without_tokens(column, _MAY_MEAN_MISSING))) != "str":
            found += [token for token in _MAY_MEAN_MISSING if token not in found and (column == token).any()]
    return found


def _attribute(column: pl.Series, missing_tokens: tuple[str, ...]) -> Attribute:
    note = ""
    if column.dtype == pl.String() and missing_tokens:
        cleaned = without_tokens(column, missing_tokens)
        column = guessed(cleaned) if cleaned.null_count() > column.null_count() else cleaned
        note = "" if column.dtype == pl.String() else "; texts listed in missing_tokens count as missing"
    kind = type_of(column)
    values = column.drop_nulls()
    n, distinct = len(values), values.n_unique()
    found = _why_identifier(values, kind, distinct)
    if n == 0:
        found = "empty: it has no values"
    if found:
        return Attribute(column.name, Role.IDENTIFIER, type=_type(column), why=found)
    spec, why = _hierarchy(values, kind, distinct)
    why += note
    if kind == "str":
        text = values.cast(pl.String())
        tokens = [token for token in _MAY_MEAN_MISSING if (text == token).any()]
        why += f"; {', '.join(map(repr, tokens))} may mean missing: if so, list it in missing_tokens" if tokens else ""
    return Attribute(column.name, Role.QUASI, spec, _type(column), why)


def _why_identifier(values: pl.Series, kind: str, distinct: int) -> str | None:
    """Say why a column seems to identify people rather than describe them; ``None`` if it does not."""
    n = len(values)
    if kind in ("str", "int") and _NAMES_PEOPLE.search(values.name):
        return "its name suggests that it identifies people or holds free text"
    if n < _FEW_ROWS or kind not in _NEAR_UNIQUE:
        return None
    if kind == "int":
        if distinct == n and _is_counter(values):
            return "whole numbers that count the rows: an identifier"
        scattered = n >= _MANY_ROWS or int(values.max() - values.min()) > _SCATTERED * n  # type: ignore[operator, arg-type]
        if distinct > _NEAR_UNIQUE[kind] * n and scattered:
            return f"whole numbers, {distinct} distinct in {n} rows: if they measure something, make it quasi"
        return None
    text = values.cast(pl.String())
    length = text.str.len_chars().mean()
    if isinstance(length, float) and length > _FREE_TEXT:
        return f"free text ({length:.0f} characters on average), which can contain anything"
    if text.str.contains("@", literal=True).mean() == 1.0:
        return "email addresses"
    if text.str.contains(_LOCAL_DATE).all():
        return "dates in another format than 2024-03-05: convert them, and they become a quasi-identifier"
    if distinct > _NEAR_UNIQUE[kind] * n and not text.str.contains(_ISO_DATE).all():
        return f"text, {distinct} distinct values in {n} rows: it probably identifies people"
    return None


def _is_counter(values: pl.Series) -> bool:
    steps = values.diff().drop_nulls()
    return steps.n_unique() == 1


def propose_hierarchy(column: pl.Series, *, has_class: bool = True) -> tuple[Spec | None, str]:
    """Return what the values of a column may become, and why; without a class, none that needs one."""
    values = column.drop_nulls()
    spec, why = _hierarchy(values, type_of(column), values.n_unique())
    if spec is None or has_class or not spec.supervised:
        return spec, why
    return propose_for_names(values, has_class=False)


def _hierarchy(values: pl.Series, kind: str, distinct: int) -> tuple[Spec | None, str]:
    if kind == "date":
        return Intervals(), f"dates, {distinct} distinct: ranges of days; kind 'dates' uses months, quarters and years"
    if kind == "int" and re.search("zip|postal|postcode|plz", values.name, re.IGNORECASE):
        return prefixes(), f"postal codes, {distinct} distinct: shortened from the right, such as 100**"
    if kind == "int" and is_code_system(values):
        return prefixes(), f"codes of a classification, {distinct} distinct: shortened from the right, such as 22**"
    if kind in ("int", "float"):
        return Intervals(), f"numbers, {distinct} distinct: ranges such as 21-30"
    if kind == "bool" or distinct <= _SUPPRESS_ONLY:
        return None, f"{distinct} distinct values: kept or suppressed"
    text = values.cast(pl.String())
    if text.str.contains(r"^\d{3,10}$").all() and text.str.len_chars().n_unique() == 1:
        return prefixes(), f"digits of one length, {distinct} distinct: shortened from the right, such as 100**"
    if text.str.contains(_ISO_DATE).all():
        return dates(), f"dates as text, {distinct} distinct"
    return propose_for_names(text)
