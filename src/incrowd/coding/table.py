"""Table: the coded view of a frame. Knows roles and hierarchies, nothing of privacy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.coding.cleaning import used_rows
from incrowd.coding.fitting import Coding, ValueCounts, code_classes, number_names
from incrowd.coding.secrets import Secret, combine
from incrowd.errors import SchemaError
from incrowd.hierarchy import Hierarchy
from incrowd.hierarchy.hierarchy import Codes
from incrowd.schema import Schema


class Arrays(Protocol):
    """Makes arrays; see `DiskArrays`."""

    def empty(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike, *, columns: bool = False) -> Any:  # noqa: ANN401
        """Return an array of zeros."""

    def copy(self, array: npt.NDArray[Any]) -> Any:  # noqa: ANN401
        """Return a copy."""


@dataclass(frozen=True)
class Table:
    """Leaf ranks of the quasi-identifiers, codes of what is sensitive, the untouched rest.

    Attributes
    ----------
    hierarchies
        One per quasi-identifier, in schema order.
    codes
        Leaf ranks, int32 [rows x quasi], each column contiguous.
    sensitive
        The combination of sensitive values that each row has, or ``None`` when nothing is sensitive.
    secrets
        The sensitive columns, and what combinations say about each: with one column, combinations are its values.
    other
        The columns that are released as they are.
    rows
        Number of each row in the frame that came in.
    n_input
        Rows that came in; those not in `rows` were dropped for a missing value.
    dropped
        Columns that are never published: identifiers, and those without a role.
    weights
        How many equal rows each row stands for; ``None``: itself. Then `other` has at most the class.
    disk
        What makes arrays as long as the table, when they do not fit the memory; see `StoredTable`.
    """

    schema: Schema
    hierarchies: tuple[Hierarchy, ...]
    codes: Codes
    sensitive: Codes | None
    secrets: tuple[Secret, ...]
    other: pl.DataFrame
    rows: npt.NDArray[np.int64]
    n_input: int
    dropped: list[str]
    weights: npt.NDArray[np.int64] | None = None
    disk: Arrays | None = None

    @property
    def n_rows(self) -> int:
        """Rows that are to be published."""
        return len(self.rows) if self.weights is None else int(self.weights.sum())

    @property
    def n_quasi(self) -> int:
        """Number of quasi-identifiers."""
        return len(self.hierarchies)

    @cached_property
    def marginals(self) -> tuple[npt.NDArray[np.int64], ...]:
        """How often each leaf occurs, per quasi-identifier."""
        return tuple(self.count(self.codes[:, m], hierarchy.n_leaves) for m, hierarchy in enumerate(self.hierarchies))

    @property
    def n_values(self) -> int:
        """Number of combinations of sensitive values; 0 when nothing is sensitive."""
        return len(self.secrets[0].value_of) if self.secrets else 0

    @cached_property
    def sensitive_counts(self) -> npt.NDArray[np.int64]:
        """How often each combination of sensitive values occurs; empty when nothing is sensitive."""
        if self.sensitive is None:
            return np.empty(0, np.int64)
        return self.count(self.sensitive, self.n_values)

    def count(self, codes: npt.NDArray[Any], n: int) -> npt.NDArray[np.int64]:
        """Count rows by a code of each of them."""
        if self.weights is None:
            return np.bincount(codes, minlength=n)
        counts = np.zeros(n, np.int64)
        np.add.at(counts, codes, self.weights)  # in whole numbers
        return counts

    def secret(self, name: str) -> tuple[Codes, pl.Series]:
        """Return the values of one sensitive column: codes of the rows, and the distinct values."""
        found = next(secret for secret in self.secrets if secret.name == name)
        assert self.sensitive is not None
        return found.codes(self.sensitive), found.values

    @cached_property
    def classes(self) -> tuple[Codes, int]:
        """The class of each row, and the number of classes, as `schema.target` says.

        Without a target all rows are of one class.
        """
        target = self.schema.target
        if target is None:
            return np.zeros(len(self.rows), np.int32), 1
        if target in self.schema.secrets:
            own, values = self.secret(target)
            return own, len(values)
        codes, values = code_classes(self.other[target])
        assert codes is not None
        return codes, len(values)

    def of_rows(self, rows: npt.NDArray[np.int64]) -> Table:
        """Return the table of some of its rows."""
        return replace(
            self,
            codes=np.asfortranarray(self.codes[rows]),
            sensitive=None if self.sensitive is None else self.sensitive[rows],
            other=self.other[rows] if self.other.width else self.other,
            rows=self.rows[rows],
            weights=None if self.weights is None else self.weights[rows],
        )

    @classmethod
    def encode(
        cls, frame: pl.DataFrame, schema: Schema, *, least: float = 1, weights: npt.NDArray[np.int64] | None = None
    ) -> Table:
        """Code a frame by its schema, building the hierarchies that the schema leaves to the data.

        `least` is the number of rows below which a value is rare; see `Builder.build`. With `weights`, each row of the
        frame stands for so many.
        """
        schema.check(frame)
        if frame.height == 0:
            fact = "The table has no rows"
            raise SchemaError(fact, "check that this is the right table: there is nothing to publish")
        used, rows = used_rows(frame, schema)
        numbered = number_names(used, schema)
        kept = None if weights is None else weights[rows]
        coding = Coding.fit(ValueCounts.of(numbered, schema, kept), schema, least)
        codes, each = coding.encode(numbered)
        sensitive, secrets = combine(each, coding.sensitive_values, coding.trees)
        dropped = [name for name in frame.columns if name not in used.columns]
        return cls(
            schema,
            coding.hierarchies,
            codes,
            sensitive,
            secrets,
            used.select(schema.other),
            rows,
            frame.height if weights is None else int(weights.sum()),
            dropped,
            kept,
        )
