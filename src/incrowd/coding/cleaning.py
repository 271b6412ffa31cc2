"""Cleaning and the missing-value policy: how a column of a table becomes values that can be coded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.errors import SchemaError, counted
from incrowd.hierarchy import Builder, Hierarchy, Intervals, Spec
from incrowd.hierarchy.hierarchy import as_leaves, convert, type_of
from incrowd.runs import in_threads
from incrowd.schema import Attribute, Role, Schema

RowNumbers = npt.NDArray[np.int64]

_WHOLE = r"^([+-]?\d{1,15})\.0*$"
_MIXED = 0.5  # share of numbers from which text in between is taken for a fault
_LARGEST = 1 << 63


def coded_columns(schema: Schema) -> list[str]:
    """Return the names of the columns that are cleaned: quasi-identifiers, and the sensitive ones."""
    return [*schema.quasi, *schema.secrets]


def used_rows(frame: pl.DataFrame, schema: Schema) -> tuple[pl.DataFrame, RowNumbers]:
    """Return the released columns of the rows that the missing-value policy keeps, and their numbers.

    Refuses a table of which nothing is left.
    """
    used, rows = kept_rows(frame, schema)
    if len(rows) == 0:
        for name in coded_columns(schema):
            refuse_empty(cleaned(frame[name], schema))
        fact = f"All {frame.height} rows have a missing value in a quasi-identifier or a sensitive column"
        raise SchemaError(fact, "set missing to 'value' in the schema, or drop the column with most of them")
    for name in coded_columns(schema):
        refuse_empty(used[name])
    return used, rows


def kept_rows(batch: pl.DataFrame, schema: Schema) -> tuple[pl.DataFrame, RowNumbers]:
    """Return the same of a part of a table, which may be nothing."""
    coded = coded_columns(schema)
    columns = list(in_threads(lambda name: cleaned(batch[name], schema), coded, batch.height))
    used = pl.DataFrame([*columns, *(batch[name] for name in schema.other)])
    if schema.missing == "value" or not any(used[name].null_count() for name in coded):
        return used, np.arange(batch.height, dtype=np.int64)
    kept = used.select(pl.all_horizontal(pl.col(coded).is_not_null())).to_series()
    return used.filter(kept), np.flatnonzero(kept.to_numpy())


def refuse_empty(values: pl.Series) -> None:
    """Refuse a column in which every value is missing."""
    if values.null_count() == len(values):
        fact = f"Column {values.name!r} has no values: all {len(values)} are missing"
        raise SchemaError(fact, "give it the role 'identifier' to drop it, or take it out of the schema")


def cleaned(column: pl.Series, schema: Schema) -> pl.Series:
    """Return a column as its schema wants it."""
    attribute = schema.attributes[column.name]
    if attribute.role is Role.SENSITIVE and column.dtype == pl.Datetime:
        days = column.dt.date()  # pandas keeps dates as midnights; a real time is published as it is, not as its day
        kind = attribute.type or ("date" if (days.cast(column.dtype) == column).all() else "str")
        column = days if kind == "date" else column.cast(pl.String())
    values = clean(column, attribute.type, attribute.hierarchy, schema.missing_tokens, attribute.missing)
    return in_ranges(values, attribute.ranges) if attribute.ranges else values


def in_ranges(values: pl.Series, starts: Sequence[float]) -> pl.Series:
    """Return where the range of each number begins."""
    name, edges = values.name, range_starts(values, starts)
    place = edges.search_sorted(values, side="right").cast(pl.Int64()) - 1
    below = int(((place < 0) & values.is_not_null()).sum())
    if below:
        fact = f"Column {name!r} has {counted(below, 'value')} below its first range"
        raise SchemaError(fact, "begin the first range at or below the least value, such as 0")
    known = pl.select(pl.when(values.is_not_null()).then(place)).to_series()
    return edges.gather(known).alias(name)


def range_starts(values: pl.Series, starts: Sequence[float]) -> pl.Series:
    """Return where ranges begin, as numbers of a column's type: no two are equal there, and no zero has a sign."""
    name, whole = values.name, all(int(start) == start for start in starts)
    if type_of(values) not in ("int", "float") or (type_of(values) == "int" and not whole):
        fact = f"Column {name!r} is of type {type_of(values)}, and its ranges are of {'whole ' if whole else ''}numbers"
        raise SchemaError(fact, "give ranges of whole numbers for whole numbers, and none for texts and dates")
    own = [int(start) if type_of(values) == "int" else float(start) + 0.0 for start in starts]
    if len(set(own)) < len(own) or (type_of(values) == "int" and max(map(abs, own)) >= _LARGEST):
        fact = f"Column {name!r} is of type {type_of(values)}, in which its ranges cannot be told apart"
        raise SchemaError(fact, "begin ranges at numbers of at most 15 digits")
    return pl.Series(own, dtype=values.dtype)


def settle_types(schema: Schema, values: Mapping[str, pl.Series]) -> Schema:
    """Return the schema with the type of every coded column declared, as all its distinct values ask for.

    Then each part of a table can be cleaned by itself.
    """
    types = {name: type_of(cleaned(values[name].alias(name), schema)) for name in coded_columns(schema)}
    return schema.with_types(types)


def clean(
    column: pl.Series,
    kind: str | None,
    spec: Spec | None,
    missing_tokens: Sequence[str],
    missing_codes: Sequence[str] = (),
) -> pl.Series:
    """Bring a column to a leaf type: tokens, codes and NaN as nulls, text as numbers where the hierarchy wants numbers.

    A token is a text. A code is the text itself, spaces around it aside, or the number or date that it reads as.
    """
    values = as_leaves(column).alias(column.name)
    if values.dtype == pl.String and missing_tokens:
        is_token = values.is_in(list(missing_tokens))
        values = values.set(is_token.fill_null(value=False), None) if is_token.any() else values
    values = _without_codes(values, missing_codes)
    if kind is not None and kind != type_of(values):
        values = _as_type(values, kind)
    elif kind is None and values.dtype == pl.String and _wants_numbers(spec):
        values = _as_numbers(values)
    values = _without_codes(values, missing_codes)
    if values.dtype == pl.Float64:
        values = values.fill_nan(None)
    if values.dtype == pl.Float64 and values.is_infinite().any():
        fact = f"Column {column.name!r} has {counted(int(values.is_infinite().sum()), 'infinite value')}"
        raise SchemaError(fact, "fix the data, or make them missing: a range has finite ends")
    return values


def clean_like(
    hierarchy: Hierarchy, column: pl.Series, missing_tokens: Sequence[str], missing_codes: Sequence[str] = ()
) -> pl.Series:
    """Clean a column of other rows for a hierarchy that exists; what is not of its type stays as it is."""
    values = clean(column, None, None, missing_tokens, missing_codes)
    is_number = values.dtype == pl.String and hierarchy.type != "str"  # in a text, spaces around it are part of it
    converted = convert(values.str.strip_chars() if is_number else values, hierarchy.type)
    if converted.null_count() != values.null_count():
        return values
    return _without_codes(converted.alias(column.name), missing_codes)


def _without_codes(values: pl.Series, codes: Sequence[str]) -> pl.Series:
    """Make missing what a column's own codes say, compared as the column is."""
    if not codes or values.dtype == pl.Boolean:
        return values
    if values.dtype == pl.String:
        found = values.str.strip_chars(" ").is_in(list(codes))
    else:
        found = values.is_in(_read_codes(codes, type_of(values)).implode())
    return values.set(found.fill_null(value=False), None) if found.any() else values


def _read_codes(codes: Sequence[str], kind: str) -> pl.Series:
    """Return codes as numbers or dates, as far as they are some; 999.0 is 999 among whole numbers."""
    texts = pl.Series(codes, dtype=pl.String())
    return convert(texts.str.replace(_WHOLE, "$1") if kind == "int" else texts, kind).drop_nulls()


def unused_codes(column: pl.Series, attribute: Attribute) -> list[str]:
    """Return the codes of a column that no row has, neither as it is nor as what it is declared to be."""
    if not attribute.missing:
        return []
    forms = [as_leaves(column.unique())]
    kind = attribute.type or ("float" if _wants_numbers(attribute.hierarchy) else None)
    if forms[0].dtype == pl.String and kind is not None:
        forms.append(convert(forms[0].str.strip_chars(), kind))
    return [
        code
        for code in attribute.missing
        if all(_without_codes(form, [code]).null_count() == form.null_count() for form in forms)
    ]


def _as_type(values: pl.Series, kind: str) -> pl.Series:
    text = values.str.strip_chars() if values.dtype == pl.String else values
    converted = convert(text, kind)
    n_lost = converted.null_count() - values.null_count()
    if n_lost:
        first = int(np.argmax((converted.is_null() & values.is_not_null()).to_numpy())) + 1
        lost = counted(n_lost, "value")
        fact = f"Column {values.name!r} has {lost} not of its declared type {kind!r}, first in row {first}"
        raise SchemaError(fact, "fix the data, list such texts in missing_tokens, or declare the type as 'str'")
    return converted.alias(values.name)


def _wants_numbers(spec: Spec | None) -> bool:
    if isinstance(spec, Intervals):
        return not spec.declared
    return isinstance(spec, Builder) and spec.kind in ("bins", "mdl")


def _as_numbers(values: pl.Series) -> pl.Series:
    """Read text as numbers if all of it is; refuse text that is mostly numbers: it would count as names."""
    distinct = values.drop_nulls().unique()
    n_names = distinct.cast(pl.Float64(), strict=False).null_count()
    if n_names == 0:
        whole = distinct.cast(pl.Int64(), strict=False).null_count() == 0
        return values.cast(pl.Int64()) if whole else values.cast(pl.Float64()).fill_nan(None)
    known = values.drop_nulls()
    n_text = known.cast(pl.Float64(), strict=False).null_count()
    if n_text < (1 - _MIXED) * len(known):
        n_numbers = len(known) - n_text
        names = values.is_not_null() & values.cast(pl.Float64(), strict=False).is_null()
        first = int(np.argmax(names.to_numpy())) + 1
        fact = f"Column {values.name!r} mixes types: {counted(n_numbers, 'number')} and {counted(n_text, 'other text')}"
        fact += f", first in row {first}"
        hint = "fix the data, list such texts in missing_tokens, or declare the type as 'str'"
        raise SchemaError(fact, hint)
    return values
