"""Domains are fitted from value counts; then rows are encoded, all at once or in batches, with the same result.

A table that comes in parts is gone through three times: `settle_types` sees which values there are, `ValueCounts` adds
up how often each occurs in the rows that are kept, and `Coding.encode` codes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from incrowd.coding.cleaning import coded_columns, refuse_empty
from incrowd.errors import HierarchyError, SchemaError, counted
from incrowd.hierarchy import Hierarchy, Taxonomy
from incrowd.hierarchy.hierarchy import OUTSIDE, Codes, Weights, as_leaves, filled, present
from incrowd.runs import in_threads
from incrowd.schema import Schema

_VALUE, _CLASS, _ROWS = "value", "class", "rows"
_FIRST_ROWS = 50_000  # in most columns of names, all of them occur here


def number_names(used: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Return cleaned rows with the names of quasi-identifiers as an enumeration: they are compared once, not twice."""

    def number(name: str) -> pl.Series:
        column = used[name]
        if column.dtype != pl.String:
            return column
        names = column.head(_FIRST_ROWS).drop_nulls().unique()
        found = column.cast(pl.Enum(names), strict=False)
        if found.null_count() == column.null_count():
            return found
        late = column.filter(found.is_null()).drop_nulls().unique()
        return column.cast(pl.Enum(pl.concat([names, late])))

    return used.with_columns(in_threads(number, schema.quasi, used.height))


@dataclass(frozen=True)
class ValueCounts:
    """How often each value of each coded column occurs, with the class where a recipe asks for it.

    Attributes
    ----------
    columns
        By name, a frame with the columns ``value``, ``rows`` and, perhaps, ``class``.
    """

    columns: Mapping[str, pl.DataFrame]

    @classmethod
    def of(cls, used: pl.DataFrame, schema: Schema, weights: Weights | None = None) -> ValueCounts:
        """Count the values of cleaned rows; with `weights`, each stands for so many."""

        def count(name: str) -> pl.DataFrame:
            parts = [used[name].alias(_VALUE)]
            spec = schema.attributes[name].hierarchy
            if spec is not None and spec.supervised and schema.target is not None:
                parts.append(used[schema.target].alias(_CLASS))
            if len(parts) == 1 and weights is None:
                found = parts[0].value_counts(name=_ROWS).cast({_ROWS: pl.Int64()})
            else:
                ones = pl.repeat(1, used.height, dtype=pl.Int64(), eager=True)
                rows = ones if weights is None else pl.Series(weights)
                found = _added(pl.DataFrame([*parts, rows.alias(_ROWS)]))
            return found.cast({_VALUE: pl.String()}) if found[_VALUE].dtype == pl.Enum else found

        names = coded_columns(schema)
        return cls(dict(zip(names, in_threads(count, names, used.height), strict=True)))

    def __add__(self, other: ValueCounts) -> ValueCounts:
        return ValueCounts({name: _added(pl.concat([own, other.columns[name]])) for name, own in self.columns.items()})


def _added(counts: pl.DataFrame) -> pl.DataFrame:
    return counts.group_by(pl.exclude(_ROWS)).agg(pl.col(_ROWS).sum())


@dataclass(frozen=True)
class Coding:
    """The domains of a table: the hierarchy of each quasi-identifier, and the values of each sensitive column."""

    schema: Schema
    hierarchies: tuple[Hierarchy, ...]
    sensitive_values: tuple[pl.Series, ...]
    trees: tuple[tuple[tuple[str, ...], ...], ...]

    @classmethod
    def fit(cls, counts: ValueCounts, schema: Schema, least: float = 1) -> Coding:
        """Build the hierarchies that the schema leaves to the data; values with fewer than `least` rows are rare."""

        def build(name: str) -> Hierarchy:
            found = counts.columns[name]
            values = found[_VALUE].alias(name)
            refuse_empty(values)
            classes = found[_CLASS] if _CLASS in found.columns else None
            return schema.attributes[name].build(values, classes, found[_ROWS].to_numpy(), least)

        n_values = max(found.height for found in counts.columns.values())
        hierarchies = tuple(in_threads(build, schema.quasi, n_values))
        values = [as_leaves(counts.columns[name][_VALUE]).unique().sort().alias(name) for name in schema.secrets]
        return cls(schema, hierarchies, tuple(values), tuple(_levels_of(own, schema) for own in values))

    def encode(self, used: pl.DataFrame) -> tuple[Codes, list[Codes]]:
        """Code cleaned rows: leaves of the quasi-identifiers, [rows x quasi], and each sensitive column's values."""
        codes = np.empty((used.height, len(self.hierarchies)), np.int32, order="F")

        def code(m: int) -> None:
            codes[:, m] = encode_column(self.hierarchies[m], used[self.schema.quasi[m]])

        list(in_threads(code, range(len(self.hierarchies)), used.height))
        return codes, [_class_codes(as_leaves(used[values.name]), values) for values in self.sensitive_values]


def _levels_of(values: pl.Series, schema: Schema) -> tuple[tuple[str, ...], ...]:
    """Return the names of the nodes above each value of a sensitive column that has a tree, level by level."""
    if schema.attributes[values.name].hierarchy is None:
        return ()
    tree = schema.attributes[values.name].build(values, None)
    if not isinstance(tree, Taxonomy):
        fact = f"The hierarchy of the sensitive column {values.name!r} is no tree"
        raise SchemaError(fact, "give it a taxonomy, or a recipe that makes one, or none")
    place = encode_column(tree, values).tolist()
    return tuple(tuple(level[at] for at in place) for level in tree.level_names[1:])


def encode_column(hierarchy: Hierarchy, column: pl.Series) -> Codes:
    """Code one column; a value outside the domain is an error that counts the rows."""
    codes = hierarchy.encode(column)
    n_outside = int((codes == OUTSIDE).sum())
    if n_outside:
        values = counted(column.filter(pl.Series(codes == OUTSIDE)).n_unique(), "distinct value")
        first = int(np.argmax(codes == OUTSIDE)) + 1
        fact = (
            f"Column {column.name!r} has {counted(n_outside, 'row')} with {values} outside its "
            f"{type(hierarchy).__name__.lower()} of {hierarchy.n_leaves} leaves, first in row {first}"
        )
        raise HierarchyError(fact, "add the values to the hierarchy, or to missing_tokens if they mean missing")
    return codes


def code_classes(column: pl.Series | None) -> tuple[Codes | None, pl.Series]:
    """Return a column's values as numbers, and the distinct values in order, a missing one first."""
    if column is None:
        return None, pl.Series([], dtype=pl.String())
    leaves = as_leaves(column)
    values = leaves.unique().sort()
    return _class_codes(leaves, values), values


def _class_codes(leaves: pl.Series, values: pl.Series) -> Codes:
    if leaves.dtype == pl.String:
        codes = leaves.cast(pl.Enum(present(values))).to_physical().cast(pl.Int32()) + values.null_count()
        return filled(codes, 0).to_numpy()
    numbers = pl.Series(np.arange(len(values), dtype=np.int32))
    return leaves.replace_strict(values, numbers, return_dtype=pl.Int32()).to_numpy()
