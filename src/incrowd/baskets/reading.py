"""Baskets as people have them: lists, or a table with a row for each item."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from incrowd import io
from incrowd.errors import InputError, SchemaError


@dataclass(frozen=True)
class Read:
    """Baskets as a table of `basket` (a number from 0) and `item`, and how many have nothing."""

    frame: pl.DataFrame
    n_baskets: int
    columns: tuple[str, str] | None

    @property
    def n_empty(self) -> int:
        """Baskets without an item."""
        return self.n_baskets - self.frame["basket"].n_unique()


def read_baskets(data: Any, basket: str | None = None, item: str | None = None) -> Read:  # noqa: ANN401
    """Read baskets; a row without an item only says that there is such a basket."""
    if isinstance(data, Sequence) and not isinstance(data, str):
        return _of_lists(data)
    table = io.to_polars(data)
    names = _columns(table, basket, item)
    plain = table.select(pl.col(names[0]).alias("basket"), pl.col(names[1]).alias("item"))
    if plain.height == 0:
        raise _nobody()
    if plain["basket"].null_count():
        fact = f"{plain['basket'].null_count()} rows of column {names[0]!r} say no basket"
        raise InputError(fact, "give every row the number or name of its basket")
    if plain["item"].dtype.is_float():
        fact = f"Column {names[1]!r} holds numbers with a fraction"
        raise InputError(fact, "items are names or whole numbers")
    number = (plain["basket"].rank("dense") - 1).cast(pl.Int64).alias("basket")
    kept = pl.DataFrame([number, plain["item"]]).filter(pl.col("item").is_not_null()).unique(maintain_order=True)
    return Read(kept, number.n_unique(), names)


def _of_lists(data: Sequence[Any]) -> Read:
    if not data:
        raise _nobody()
    if any(isinstance(one, str | Mapping) or not isinstance(one, Collection) for one in data):
        fact = "Every basket must be a list or a set of items"
        raise InputError(fact, 'for example [["cherries", "candles"], ["cherries"], []]')
    rows = [(number, str(name)) for number, one in enumerate(data) for name in sorted({str(name) for name in one})]
    frame = pl.DataFrame(rows, schema={"basket": pl.Int64, "item": pl.String}, orient="row")
    return Read(frame, len(data), None)


def _columns(table: pl.DataFrame, basket: str | None, item: str | None) -> tuple[str, str]:
    if basket is None and item is None and table.width == 2:
        return table.columns[0], table.columns[1]
    lost = [name for name in (basket, item) if name is None or name not in table.columns]
    if lost or basket is None or item is None or basket == item:
        fact = f"The table has {table.width} columns, and which of them name basket and item is not clear"
        raise SchemaError(fact, "name them: basket='tid', item='item' (--basket tid --item item)")
    return basket, item


def _nobody() -> InputError:
    return InputError("There are no baskets", "give at least one person")
