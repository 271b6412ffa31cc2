"""A first schema from the data: what each column seems to be, and why."""

from __future__ import annotations

import re
from dataclasses import replace

import polars as pl

from incrowd.errors import SchemaError
from incrowd.hierarchy import Intervals, Spec, dates
from incrowd.hierarchy.hierarchy import type_of
from incrowd.io.columns import guessed, without_tokens
from incrowd.schema.code_columns import CodeColumn, find_code_column
from incrowd.schema.name_proposal import prefixes_for, propose_for_names
from incrowd.schema.number_ranges import propose_ranges
from incrowd.schema.ordinals import find_order
from incrowd.schema.schema import Attribute, Role, Schema, require_columns
from incrowd.schema.suspects import WORDS, Suspect, find_suspects, line_for

_NEAR_UNIQUE = {"str": 0.5, "int": 0.9}  # share of distinct values from which a column identifies people
_FEW_ROWS = 20  # below this many rows distinctness says nothing
_MANY_ROWS, _SCATTERED = 200, 100  # ages of a few people may all differ; numbers of people lie far apart
_MOST_CLASSES = 50
_SUPPRESS_ONLY = 3  # so few values need no tree above them
_MOST_ORDERED = 40  # names of a scale or bands of numbers
_FREE_TEXT = 40  # mean length from which text is prose
_NAMES_PEOPLE = re.compile(
    r"(?:^|[^a-z])(?:(?:first|last|sur|middle|family|given|full|user|vor|nach|familien)?[ _-]?names?|e-?mails?|"
    r"(?:tele)?phone|telefon|mobile?|handy|street|stra(?:ss|ß)e|address|adresse|ssn|iban|passport|"
    r"uuid|notes?|notiz|comments?|kommentar|remarks?|bemerkung|"
    r"(?:pr[eé])?noms?|apellidos?|cognome|courriel|correo|氏名|姓名|名前|住所|電話|メール)(?:$|[^a-z])",
    re.IGNORECASE,
)
_ISO_DATE = r"^\d{4}-\d{2}-\d{2}$"
_LOCAL_DATE = r"^\d{1,2}([./-])\d{1,2}[./-](\d{4}|\d{2})$"
_NUMBER = r"[+-]?\d[\d.,'\s]*"
_WITH_UNIT = rf"^\s*(?:[$€£¥]\s*{_NUMBER}|{_NUMBER}(?:[%‰°$€£¥]|[a-zA-Z]{{1,3}}))\s*$"
_PADDED = r"^-?\d{1,10}$"
_MEASURED = (pl.Int64, pl.Float64)
_AS_TEXT = "; the source keeps them as text"
_TAKEN = "; texts listed in missing_tokens count as missing"
_RANGES = "to publish ranges instead of so many numbers, add"
_TARGET = "you named it as the class to predict: it is released as it is, and whoever knows it may use it to link rows"


def propose(
    frame: pl.DataFrame, sensitive: list[str], missing_tokens: tuple[str, ...], target: str | None = None
) -> Schema:
    """Guess a role, a type and a hierarchy for each column."""
    require_columns([name for name in (*sensitive, target) if name is not None], frame.columns)
    why_sensitive = "you named it as sensitive"
    if not sensitive:
        guess, why_sensitive = _guess_sensitive(frame.drop(target) if target is not None else frame)
        sensitive = [guess]
    missing_tokens += tuple(token for token in _among_numbers(frame) if token not in missing_tokens)
    has_class = target is not None or len(sensitive) == 1
    attributes = []
    for column in frame.iter_columns():
        if column.name in sensitive:
            starts = propose_ranges(column)
            why = f"{why_sensitive}. {_RANGES}: ranges = {starts}" if starts else why_sensitive
            found = Attribute(column.name, Role.SENSITIVE, type=_type(column), why=why)
            attributes.append(_with_suspects(found, find_suspects(column)))
        elif column.name == target:
            attributes.append(Attribute(column.name, Role.OTHER, type=_type(column), why=_TARGET))
        else:
            attributes.append(_attribute(column, missing_tokens, has_class=has_class))
    if not any(attribute.role is Role.QUASI for attribute in attributes):
        fact = "No column looks like a quasi-identifier: all others are empty or identify people"
        raise SchemaError(fact, "write the schema by hand, or check that this is the right table")
    return Schema.of(attributes, missing_tokens=missing_tokens, target=target if [target] != sensitive else None)


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
        if column.dtype == pl.String() and _is_typed(without_tokens(column, WORDS)):
            there = set(column.filter(column.is_in(list(WORDS))).unique())
            found += [token for token in WORDS if token in there and token not in found]
    return found


def _is_typed(text: pl.Series) -> bool:
    """Tell whether all of a column of text is numbers, with zeros in front or not, or dates."""
    known = text.drop_nulls()
    return type_of(guessed(text)) != "str" or bool(len(known) and known.str.contains(_PADDED).all())


def _attribute(column: pl.Series, missing_tokens: tuple[str, ...], *, has_class: bool) -> Attribute:
    note = ""
    if column.dtype == pl.String() and missing_tokens:
        cleaned = without_tokens(column, missing_tokens)
        found = guessed(cleaned) if cleaned.null_count() > column.null_count() else cleaned
        note = "" if _is_typed(column) or not _is_typed(cleaned) else _TAKEN
        column = found
    values = column.drop_nulls()
    code = find_code_column(values)
    if code is None and column.dtype == pl.String() and guessed(column).dtype in _MEASURED:  # a database's text
        column, note = guessed(column), note + _AS_TEXT
        values = column.drop_nulls()
        code = find_code_column(values)
    if code is not None and code.numbers:
        column = values = values.str.strip_chars(" ").cast(pl.Int64())
    kind, distinct = type_of(column), values.n_unique()
    why_not = "empty: it has no values" if len(values) == 0 else None
    if why_not is None and code is None:
        why_not = _why_identifier(values, kind, distinct)
    if why_not:
        return Attribute(column.name, Role.IDENTIFIER, type=_type(column), why=why_not)
    spec, why = _hierarchy(values, kind, distinct, code, has_class=has_class)
    found_attribute = Attribute(column.name, Role.QUASI, spec, _type(column), why + note)
    return _with_suspects(found_attribute, find_suspects(column))


def _with_suspects(attribute: Attribute, suspects: list[Suspect]) -> Attribute:
    if not suspects:
        return attribute
    what = ", ".join(suspect.text for suspect in suspects)
    why = f"{attribute.why}; {what} may mean missing: then set {line_for(suspects)}"
    return replace(attribute, why=why, suspects=tuple(suspect.code for suspect in suspects))


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
    return _why_text(values.cast(pl.String()), distinct)


def _why_text(text: pl.Series, distinct: int) -> str | None:
    length, n = text.str.len_chars().mean(), len(text)
    if isinstance(length, float) and length > _FREE_TEXT:
        return f"free text ({length:.0f} characters on average), which can contain anything"
    if text.str.contains("@", literal=True).mean() == 1.0:
        return "email addresses"
    if text.str.contains(_LOCAL_DATE).all():
        return "dates in another format than 2024-03-05: give --date-format, and they become a quasi-identifier"
    if distinct > _NEAR_UNIQUE["str"] * n and not text.str.contains(_ISO_DATE).all():
        if text.str.contains(_WITH_UNIT).all() and text.str.replace_all(_NUMBER, "").n_unique() == 1:
            return "numbers with a unit, such as 12 % or 1,50 €: write them without it, and they become ranges"
        return f"text, {distinct} distinct values in {n} rows: it probably identifies people"
    return None


def _is_counter(values: pl.Series) -> bool:
    steps = values.diff().drop_nulls()
    return steps.n_unique() == 1


def propose_hierarchy(column: pl.Series, *, has_class: bool = True) -> tuple[Spec | None, str]:
    """Return what the values of a column may become, and why; without a class, none that needs one."""
    values = column.drop_nulls()
    return _hierarchy(values, type_of(column), values.n_unique(), find_code_column(values), has_class=has_class)


def _hierarchy(
    values: pl.Series, kind: str, distinct: int, code: CodeColumn | None, *, has_class: bool
) -> tuple[Spec | None, str]:
    if code is not None and (kind == "int" or distinct > _SUPPRESS_ONLY):
        return Intervals() if code.numbers else prefixes_for(distinct), code.why
    if kind == "date":
        return Intervals(), f"dates, {distinct} distinct: ranges of days; kind 'dates' uses months, quarters and years"
    if kind in ("int", "float"):
        return Intervals(), f"numbers, {distinct} distinct: ranges such as 21-30"
    if kind == "bool" or distinct <= _SUPPRESS_ONLY:
        return None, f"{distinct} distinct values: kept or suppressed"
    text = values.cast(pl.String())
    if text.str.contains(_ISO_DATE).all():
        return dates(), f"dates as text, {distinct} distinct"
    if distinct <= _MOST_ORDERED and (ordered := _in_order(text)) is not None:
        return ordered
    return propose_for_names(text, has_class=has_class)


def _in_order(text: pl.Series) -> tuple[Spec, str] | None:
    """Return ranges of names that have an order of their own; marks of missing values come last."""
    names = text.unique().sort().to_list()
    marks = [name for name in names if name in WORDS]
    found = find_order([name for name in names if name not in WORDS])
    if found is None:
        return None
    why = f"{found[1]}, {len(names)} distinct names in their own order: ranges of neighbours; check the order"
    return Intervals([*found[0], *marks]), why
