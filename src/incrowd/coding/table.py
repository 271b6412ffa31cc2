"""Table: the coded view of a frame. Knows roles and hierarchies, nothing of privacy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.errors import HierarchyError, SchemaError
from incrowd.hierarchy import Builder, Hierarchy, Intervals, Spec
from incrowd.hierarchy.hierarchy import OUTSIDE, Codes, as_leaves, convert, type_of
from incrowd.schema import Role, Schema

_MIXED = 0.5  # share of numbers from which text in between is taken for a fault


@dataclass(frozen=True)
class Table:
    """Leaf ranks of the quasi-identifiers, codes of the sensitive values, the untouched rest.

    Attributes
    ----------
    hierarchies
        One per quasi-identifier, in schema order.
    codes
        Leaf ranks, int32 [rows x quasi], each column contiguous.
    sensitive
        Codes into `sensitive_values`, or ``None`` when nothing is sensitive.
    other
        The columns that are released as they are.
    rows
        Number of each row in the frame that came in.
    n_input
        Rows that came in; those not in `rows` were dropped for a missing value.
    dropped
        Columns that never leave the house: identifiers, and those without a role.
    """

    schema: Schema
    hierarchies: tuple[Hierarchy, ...]
    codes: Codes
    sensitive: Codes | None
    sensitive_values: pl.Series
    other: pl.DataFrame
    rows: npt.NDArray[np.int64]
    n_input: int
    dropped: list[str]

    @property
    def n_rows(self) -> int:
        """Rows that are to be published."""
        return len(self.rows)

    @property
    def n_quasi(self) -> int:
        """Number of quasi-identifiers."""
        return len(self.hierarchies)

    @cached_property
    def marginals(self) -> tuple[npt.NDArray[np.int64], ...]:
        """How often each leaf occurs, per quasi-identifier."""
        return tuple(
            np.bincount(self.codes[:, m], minlength=hierarchy.n_leaves) for m, hierarchy in enumerate(self.hierarchies)
        )

    @cached_property
    def sensitive_counts(self) -> npt.NDArray[np.int64]:
        """How often each sensitive value occurs; empty when nothing is sensitive."""
        if self.sensitive is None:
            return np.empty(0, np.int64)
        return np.bincount(self.sensitive, minlength=len(self.sensitive_values))

    @cached_property
    def classes(self) -> tuple[Codes, int]:
        """The class of each row, and the number of classes: `schema.target`, which is the sensitive column by default.

        Without a target all rows are of one class.
        """
        target = self.schema.target
        if target is None:
            return np.zeros(self.n_rows, np.int32), 1
        if target == self.schema.sensitive:
            codes, values = self.sensitive, self.sensitive_values
        else:
            codes, values = code_classes(self.other[target])
        assert codes is not None
        return codes, len(values)

    @classmethod
    def encode(cls, frame: pl.DataFrame, schema: Schema) -> Table:
        """Code a frame by its schema, building the hierarchies that the schema leaves to the data."""
        schema.check(frame)
        if frame.height == 0:
            fact = "The table has no rows"
            raise SchemaError(fact, "there is nothing to publish")
        used, rows = used_rows(frame, schema)
        labels = None if schema.target is None else used[schema.target]
        codes = np.empty((used.height, len(schema.quasi)), np.int32, order="F")

        def code(m: int) -> Hierarchy:
            column = used[schema.quasi[m]]
            hierarchy = schema.attributes[column.name].build(column, labels)
            codes[:, m] = encode_column(hierarchy, column)
            return hierarchy

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            hierarchies = tuple(pool.map(code, range(len(schema.quasi))))
        sensitive, sensitive_values = code_classes(None if schema.sensitive is None else used[schema.sensitive])
        other = used.select(schema.other)
        dropped = [name for name in frame.columns if name not in used.columns]
        return cls(schema, hierarchies, codes, sensitive, sensitive_values, other, rows, frame.height, dropped)


def encode_column(hierarchy: Hierarchy, column: pl.Series) -> Codes:
    """Code one column; a value outside the domain is an error that counts the rows."""
    codes = hierarchy.encode(column)
    n_outside = int((codes == OUTSIDE).sum())
    if n_outside:
        n_values = column.filter(pl.Series(codes == OUTSIDE)).n_unique()
        first = int(np.argmax(codes == OUTSIDE)) + 1
        fact = (
            f"Column {column.name!r} has {n_outside} rows with {n_values} distinct values outside its "
            f"{type(hierarchy).__name__.lower()} of {hierarchy.n_leaves} leaves, first in row {first}"
        )
        raise HierarchyError(fact, "add the values to the hierarchy, or to missing_tokens if they mean missing")
    return codes


def used_rows(frame: pl.DataFrame, schema: Schema) -> tuple[pl.DataFrame, npt.NDArray[np.int64]]:
    """Return the released columns of the rows that the missing-value policy keeps."""
    coded = [*schema.quasi, *([schema.sensitive] if schema.sensitive else [])]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        columns = list(pool.map(lambda name: _cleaned(frame[name], schema), coded))
    columns += [frame[name] for name in schema.other]
    used = pl.DataFrame(columns)
    if schema.missing == "value" or not any(used[name].null_count() for name in coded):
        return used, np.arange(frame.height, dtype=np.int64)
    kept = used.select(pl.all_horizontal(pl.col(coded).is_not_null())).to_series()
    rows = np.flatnonzero(kept.to_numpy())
    if len(rows) == 0:
        fact = f"All {frame.height} rows have a missing value in a quasi-identifier or the sensitive column"
        raise SchemaError(fact, "use missing='value', or drop the column that has most of them")
    return used.filter(kept), rows


def _cleaned(column: pl.Series, schema: Schema) -> pl.Series:
    attribute = schema.attributes[column.name]
    if attribute.role is Role.SENSITIVE and column.dtype == pl.Datetime:
        days = column.dt.date()  # pandas keeps dates as midnights; a real time is published as it is, not as its day
        column = days if (days.cast(column.dtype) == column).all() else column.cast(pl.String())
    values = clean(column, attribute.type, attribute.hierarchy, schema.missing_tokens)
    if values.null_count() == len(values):
        fact = f"Column {column.name!r} has no values: all {len(column)} are missing"
        raise SchemaError(fact, "give it the role 'identifier' to drop it, or take it out of the schema")
    return values


def clean(column: pl.Series, kind: str | None, spec: Spec | None, missing_tokens: Sequence[str]) -> pl.Series:
    """Bring a column to a leaf type: tokens and NaN as nulls, text as numbers where the hierarchy wants numbers."""
    values = as_leaves(column).alias(column.name)
    if values.dtype == pl.String and missing_tokens:
        is_token = values.is_in(list(missing_tokens))
        values = values.set(is_token.fill_null(value=False), None) if is_token.any() else values
    if kind is not None and kind != type_of(values):
        values = _as_type(values, kind)
    elif kind is None and values.dtype == pl.String and _wants_numbers(spec):
        values = _as_numbers(values)
    if values.dtype == pl.Float64 and values.is_infinite().any():
        fact = f"Column {column.name!r} has {values.is_infinite().sum()} infinite values"
        raise SchemaError(fact, "they have no place in a range: mend the data, or make them missing")
    return values


def clean_like(hierarchy: Hierarchy, column: pl.Series, missing_tokens: Sequence[str]) -> pl.Series:
    """Clean a column of other rows for a hierarchy that exists; what is not of its type stays as it is."""
    values = clean(column, None, None, missing_tokens)
    converted = convert(values.str.strip_chars() if values.dtype == pl.String else values, hierarchy.type)
    return converted.alias(column.name) if converted.null_count() == values.null_count() else values


def _as_type(values: pl.Series, kind: str) -> pl.Series:
    text = values.str.strip_chars() if values.dtype == pl.String else values
    converted = convert(text, kind)
    n_lost = converted.null_count() - values.null_count()
    if n_lost:
        first = int(np.argmax((converted.is_null() & values.is_not_null()).to_numpy())) + 1
        fact = (
            f"Column {values.name!r} has {n_lost} rows that are not of its declared type {kind!r}, first in row {first}"
        )
        raise SchemaError(fact, "mend the data, list such texts under missing_tokens, or declare type 'str'")
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
        fact = f"Column {values.name!r} mixes types: {n_numbers} rows are numbers and {n_text} rows are other text"
        fact += f", first in row {first}"
        hint = "mend the data, list such texts under missing_tokens, or declare the column's type as 'str'"
        raise SchemaError(fact, hint)
    return values


def code_classes(column: pl.Series | None) -> tuple[Codes | None, pl.Series]:
    """Return a column's values as numbers, and the distinct values in order, a missing one first."""
    if column is None:
        return None, pl.Series([], dtype=pl.String())
    leaves = as_leaves(column)
    values = leaves.unique().sort()
    if leaves.dtype == pl.String:
        codes = leaves.cast(pl.Enum(values.drop_nulls())).to_physical().cast(pl.Int32()) + values.null_count()
        return codes.fill_null(0).to_numpy(), values
    numbers = pl.Series(np.arange(len(values), dtype=np.int32))
    return leaves.replace_strict(values, numbers, return_dtype=pl.Int32()).to_numpy(), values
