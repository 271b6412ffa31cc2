"""Rows that agree in all quasi-identifiers, in a sample and in its population."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.coding.cleaning import used_rows
from incrowd.errors import SchemaError
from incrowd.schema import Schema

Int64 = npt.NDArray[np.int64]
_N = "n"


@dataclass(frozen=True)
class Classes:
    """A sample by its quasi-identifiers.

    Attributes
    ----------
    values
        The quasi-identifiers of the rows that count, cleaned as the schema says.
    rows
        Their numbers in the table.
    class_of
        Which class each of these rows is in.
    sizes
        How many rows of the sample each class has.
    population
        How many people of the population each class has, ``None`` without one; 0 where it knows none.
    population_rows
        How many people the population has.
    """

    values: pl.DataFrame
    rows: Int64
    class_of: Int64
    sizes: Int64
    population: Int64 | None = None
    population_rows: int | None = None

    @classmethod
    def of(cls, frame: pl.DataFrame, schema: Schema, population: pl.DataFrame | None = None) -> Classes:
        """Count the classes of a table; a population needs no column but the quasi-identifiers."""
        roles = _by_quasi(schema)
        values, rows = _cleaned(frame, roles)
        keys = list(values.columns)
        numbered = values.unique(maintain_order=True).with_row_index(_free(keys))
        place = numbered.columns[0]
        joined = values.join(numbered, on=keys, how="left", nulls_equal=True, maintain_order="left")
        class_of = joined[place].to_numpy().astype(np.int64)
        found = cls(values, rows, class_of, np.bincount(class_of))
        if population is None:
            return found
        people, _ = _cleaned(population, roles)
        people = _same_types(people, values)
        counts = people.group_by(keys).len(_free([*keys, place]))
        known = numbered.join(counts, on=keys, how="left", nulls_equal=True, maintain_order="left")
        return replace(
            found,
            population=known[:, -1].fill_null(0).to_numpy().astype(np.int64),
            population_rows=people.height,
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.class_of)

    def codes(self) -> list[npt.NDArray[np.int32]]:
        """Return each column as numbers from 0; a missing value is a value."""
        return [
            column.rank("dense").fill_null(0).cast(pl.Int32).to_numpy()
            if column.null_count() or column.dtype.is_nested()
            else (column.rank("dense") - 1).cast(pl.Int32).to_numpy()
            for column in self.values
        ]


def _by_quasi(schema: Schema) -> Schema:
    """Return a schema of the quasi-identifiers alone."""
    quasi = [schema.attributes[name] for name in schema.quasi]
    return Schema.of(quasi, missing=schema.missing, missing_tokens=schema.missing_tokens, rest="drop")


def _cleaned(frame: pl.DataFrame, roles: Schema) -> tuple[pl.DataFrame, Int64]:
    roles.check(frame)
    if frame.height == 0:
        fact = "The table has no rows"
        raise SchemaError(fact, "check that this is the right table: there is nobody to find")
    return used_rows(frame.select(roles.quasi), roles)


def _same_types(people: pl.DataFrame, values: pl.DataFrame) -> pl.DataFrame:
    """Return the population's columns in the types of the sample's: whole numbers are equal to floats, text is not."""
    columns = []
    for column in values:
        other = people[column.name]
        if other.dtype != column.dtype:
            if not (other.dtype.is_numeric() and column.dtype.is_numeric()):
                fact = f"Column {column.name!r} is of another type in the population than in the table"
                raise SchemaError(fact, "say in the schema what it is (type), or write both tables alike")
            other = other.cast(pl.Float64).cast(column.dtype, strict=False)
        columns.append(other)
    return pl.DataFrame(columns)


def _free(names: list[str]) -> str:
    """Return a name that no column has."""
    name = _N
    while name in names:
        name += _N
    return name
