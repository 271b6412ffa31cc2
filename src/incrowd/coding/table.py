"""Table: the coded view of a frame. Knows roles and hierarchies, nothing of privacy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.coding.cleaning import used_rows
from incrowd.coding.fitting import Coding, ValueCounts, code_classes, number_names
from incrowd.errors import SchemaError
from incrowd.hierarchy import Hierarchy
from incrowd.hierarchy.hierarchy import Codes
from incrowd.schema import Schema


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
        Columns that are never published: identifiers, and those without a role.
    weights
        How many equal rows each row stands for; ``None``: itself. Then `other` has at most the class.
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
    weights: npt.NDArray[np.int64] | None = None

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

    @cached_property
    def sensitive_counts(self) -> npt.NDArray[np.int64]:
        """How often each sensitive value occurs; empty when nothing is sensitive."""
        if self.sensitive is None:
            return np.empty(0, np.int64)
        return self.count(self.sensitive, len(self.sensitive_values))

    def count(self, codes: npt.NDArray[Any], n: int) -> npt.NDArray[np.int64]:
        """Count rows by a code of each of them."""
        if self.weights is None:
            return np.bincount(codes, minlength=n)
        counts = np.zeros(n, np.int64)
        np.add.at(counts, codes, self.weights)  # in whole numbers
        return counts

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
        codes, sensitive = coding.encode(numbered)
        dropped = [name for name in frame.columns if name not in used.columns]
        return cls(
            schema,
            coding.hierarchies,
            codes,
            sensitive,
            coding.sensitive_values,
            used.select(schema.other),
            rows,
            frame.height if weights is None else int(weights.sum()),
            dropped,
            kept,
        )
