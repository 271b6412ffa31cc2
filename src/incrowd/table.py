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
from incrowd.hierarchy import Builder, Hierarchy, Intervals, Spec, Taxonomy
from incrowd.hierarchy.hierarchy import OUTSIDE, Codes, as_leaves, type_of
from incrowd.schema import Attribute, Role, Schema

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
    """

    schema: Schema
    hierarchies: tuple[Hierarchy, ...]
    codes: Codes
    sensitive: Codes | None
    sensitive_values: pl.Series
    target: Codes | None
    target_values: pl.Series
    other: pl.DataFrame
    rows: npt.NDArray[np.int64]
    n_input: int

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

    @classmethod
    def encode(cls, frame: pl.DataFrame, schema: Schema) -> Table:
        """Code a frame by its schema, building the hierarchies that the schema leaves to the data."""
        schema.check(frame)
        if frame.height == 0:
            fact = "The table has no rows"
            raise SchemaError(fact, "there is nothing to publish")
        used, rows = _used_rows(frame, schema)
        target, target_values = _classes(used, schema.target)
        labels = None if schema.target is None else used[schema.target]
        codes = np.empty((used.height, len(schema.quasi)), np.int32, order="F")

        def code(m: int) -> Hierarchy:
            column = used[schema.quasi[m]]
            hierarchy = schema.attributes[column.name].build(column, labels)
            codes[:, m] = encode_column(hierarchy, column)
            return hierarchy

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            hierarchies = tuple(pool.map(code, range(len(schema.quasi))))
        sensitive, sensitive_values = (
            (target, target_values) if schema.sensitive == schema.target else _classes(used, schema.sensitive)
        )
        other = used.select(schema.other)
        return cls(
            schema, hierarchies, codes, sensitive, sensitive_values, target, target_values, other, rows, frame.height
        )


def encode_column(hierarchy: Hierarchy, column: pl.Series) -> Codes:
    """Code one column; a value outside the domain is an error that counts the rows."""
    codes = hierarchy.encode(column)
    n_outside = int((codes == OUTSIDE).sum())
    if n_outside:
        n_values = column.filter(pl.Series(codes == OUTSIDE)).n_unique()
        fact = (
            f"Column {column.name!r} has {n_outside} rows with {n_values} distinct values outside its "
            f"{type(hierarchy).__name__.lower()} of {hierarchy.n_leaves} leaves"
        )
        raise HierarchyError(fact, "add the values to the hierarchy, or to missing_tokens if they mean missing")
    return codes


def _used_rows(frame: pl.DataFrame, schema: Schema) -> tuple[pl.DataFrame, npt.NDArray[np.int64]]:
    """Return the released columns of the rows that the missing-value policy keeps."""
    coded = [*schema.quasi, *([schema.sensitive] if schema.sensitive else [])]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        columns = list(
            pool.map(lambda name: _clean(frame[name], schema.attributes[name], schema.missing_tokens), coded)
        )
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


def _clean(column: pl.Series, attribute: Attribute, missing_tokens: Sequence[str]) -> pl.Series:
    """Bring a column to a leaf type, with tokens as nulls and numbers written as text as numbers."""
    values = as_leaves(column).alias(column.name)
    if values.dtype == pl.String and missing_tokens:
        is_token = values.is_in(list(missing_tokens))
        values = values.set(is_token.fill_null(value=False), None) if is_token.any() else values
    if values.null_count() == len(values):
        fact = f"Column {column.name!r} has no values: all {len(column)} are missing"
        raise SchemaError(fact, "give it the role 'identifier' to drop it, or take it out of the schema")
    if attribute.type is not None and attribute.type != type_of(values):
        return _cast(values, attribute.type)
    if attribute.type is None and values.dtype == pl.String and attribute.role is Role.QUASI:
        return _as_numbers(values, attribute.hierarchy)
    return values


def _cast(values: pl.Series, kind: str) -> pl.Series:
    source = values.str.strip_chars() if values.dtype == pl.String else values
    dtype = as_leaves(pl.Series([], dtype=pl.Int64()), kind).dtype
    cast = source.cast(dtype, strict=False)
    n_lost = cast.null_count() - values.null_count()
    if n_lost:
        fact = f"Column {values.name!r} has {n_lost} rows that are not of its declared type {kind!r}"
        raise SchemaError(fact, "mend the data, list such texts under missing_tokens, or declare type 'str'")
    return cast


def _as_numbers(values: pl.Series, spec: Spec | None) -> pl.Series:
    """Read text as numbers where the hierarchy wants numbers; refuse text that is mostly numbers but not all."""
    if isinstance(spec, Taxonomy) or (isinstance(spec, Intervals) and spec.declared):
        return values
    distinct = values.drop_nulls().unique()
    n_names = distinct.cast(pl.Float64(), strict=False).null_count()
    wants_numbers = isinstance(spec, Intervals) or (isinstance(spec, Builder) and spec.kind in ("bins", "mdl"))
    if n_names == 0 and wants_numbers:
        whole = distinct.cast(pl.Int64(), strict=False).null_count() == 0
        return values.cast(pl.Int64() if whole else pl.Float64())
    if n_names in (0, len(distinct)):
        return values
    known = values.drop_nulls()
    n_text = known.cast(pl.Float64(), strict=False).null_count()
    if n_text < (1 - _MIXED) * len(known):
        n_numbers = len(known) - n_text
        fact = f"Column {values.name!r} mixes types: {n_numbers} rows are numbers and {n_text} rows are other text"
        hint = "mend the data, list such texts under missing_tokens, or declare the column's type as 'str'"
        raise SchemaError(fact, hint)
    return values


def _classes(frame: pl.DataFrame, name: str | None) -> tuple[Codes | None, pl.Series]:
    if name is None:
        return None, pl.Series([], dtype=pl.String())
    column = as_leaves(frame[name])
    values = column.unique().sort()
    n_missing = values.null_count()  # null sorts first
    if column.dtype == pl.String:
        codes = column.cast(pl.Enum(values.drop_nulls())).to_physical().cast(pl.Int32()) + n_missing
        return codes.fill_null(0).to_numpy(), values
    numbers = pl.Series(np.arange(len(values), dtype=np.int32))
    return column.replace_strict(values, numbers, return_dtype=pl.Int32()).to_numpy(), values
