"""The fingerprint of a frame: SHA-256 over all its columns and rows, those that are never published too.

Whoever lacks a single cell of the original cannot compute it, and the owner can at any time. It is the same on every
machine, with every version of polars, and however the frame is cut into batches or kept in memory.

Two frames have the same fingerprint when they have the same columns (name, type and order) and the same rows in the
same order. Text counts as text, whether it is kept as strings, categories or an enumeration. All NaN are one value,
which is not the missing one; 0.0 and -0.0 differ, as do 1 in 32 and 1 in 64 bits. Lists of a fixed and of any length
are lists. Python objects count by what `repr` says of them: with an address in it, that differs from run to run.

>>> people = pl.DataFrame({"name": ["Ann", "Bob"], "age": [31, None]})
>>> fingerprint(people) == fingerprint(people.reverse())
False
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.errors import SchemaError
from incrowd.runs import in_threads

_FORM = b"incrowd fingerprint 1"
_PART = 1 << 18  # rows whose text is joined at a time
_PLAIN = (pl.Boolean, pl.Date, pl.Datetime, pl.Duration, pl.Time)


def fingerprint(frame: pl.DataFrame) -> bytes:
    """Return the 32 bytes that stand for a frame."""
    hashed = Fingerprint()
    hashed.add(frame)
    return hashed.digest()


class Fingerprint:
    """A fingerprint that grows by batches of rows; how they are cut does not matter, their order does."""

    def __init__(self) -> None:
        self._columns: list[tuple[str, _Column]] | None = None

    def add(self, batch: pl.DataFrame) -> None:
        """Take in the rows that come next."""
        if self._columns is None:
            self._columns = [(column.name, _Column(column)) for column in batch]
        if [(name, hashed.kind) for name, hashed in self._columns] != [(c.name, _kind(c)) for c in batch]:
            fact = f"A batch has other columns than the batches before it: {', '.join(map(repr, batch.columns))}"
            raise SchemaError(fact, "give every batch the same columns, of the same types, in the same order")
        pairs = zip((hashed for _, hashed in self._columns), batch, strict=True)
        list(in_threads(lambda pair: pair[0].add(pair[1]), pairs, batch.height))

    def digest(self) -> bytes:
        """Return the 32 bytes that stand for the rows so far."""
        return self.of_digests(self.of_columns())

    def of_columns(self) -> dict[str, bytes]:
        """Return the digest of each column; columns may be taken in by themselves."""
        return {name: hashed.digest() for name, hashed in self._columns or ()}

    @staticmethod
    def of_digests(columns: Mapping[str, bytes]) -> bytes:
        """Return the 32 bytes that stand for a frame from the digests of its columns."""
        whole = hashlib.sha256(_FORM)
        for name, digest in columns.items():
            whole.update(hashlib.sha256(name.encode()).digest())
            whole.update(digest)
        return whole.digest()


class _Column:
    """The hashes of one column: where it is null, how long its texts or lists are, what they hold."""

    def __init__(self, column: pl.Series) -> None:
        self.kind = _kind(column)
        self._n_rows = 0
        self._nulls, self._lengths, self._values = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
        self._inner: list[_Column] | None = None

    def add(self, column: pl.Series) -> None:
        """Take in the values that come next."""
        if column.null_count():
            places = np.flatnonzero(column.is_null().to_numpy()) + self._n_rows
            self._nulls.update(_bytes(places.astype(np.int64)))
        self._n_rows += len(column)
        if isinstance(column.dtype, pl.List | pl.Array | pl.Struct):
            self._add_nested(column)
        elif column.dtype == pl.Object:
            self._add_text(pl.Series([None if value is None else repr(value) for value in column], dtype=pl.String()))
        elif column.dtype == pl.Binary:
            self._add_text(column.bin.encode("hex"))
        elif column.dtype in _PLAIN or (column.dtype.is_numeric() and _in_numpy(column.dtype)):
            self._add_numbers(column.cast(pl.UInt8()) if column.dtype == pl.Boolean else column)
        elif column.dtype != pl.Null:
            self._add_text(column.cast(pl.String()))  # categories; decimals and 128 bits, of which the text is exact

    def _add_numbers(self, column: pl.Series) -> None:
        numbers = column.to_physical() if column.dtype.is_temporal() else column
        numbers = numbers.fill_null(0) if numbers.null_count() else numbers
        if numbers.dtype.is_float() and numbers.is_nan().any():
            numbers = numbers.fill_nan(float("nan"))  # one NaN, whatever its bits were
        self._values.update(_bytes(numbers.to_numpy()))

    def _add_text(self, column: pl.Series) -> None:
        for first in range(0, len(column), _PART):
            part = column.slice(first, _PART)
            self._lengths.update(_bytes(part.str.len_bytes().fill_null(0).cast(pl.UInt64()).to_numpy()))
            self._values.update(part.fill_null("").str.join("").item().encode())

    def _add_nested(self, column: pl.Series) -> None:
        if isinstance(column.dtype, pl.Struct):
            parts = column.struct.unnest().get_columns()
        else:
            lists = column.arr.to_list() if isinstance(column.dtype, pl.Array) else column
            lengths = lists.list.len().fill_null(0)
            self._lengths.update(_bytes(lengths.cast(pl.UInt64()).to_numpy()))
            parts = [lists.filter(lengths > 0).explode()]
        if self._inner is None:
            self._inner = [_Column(part) for part in parts]
        for hashed, part in zip(self._inner, parts, strict=True):
            hashed.add(part)

    def digest(self) -> bytes:
        """Return the 32 bytes that stand for the values so far."""
        whole = hashlib.sha256(hashlib.sha256(self.kind.encode()).digest())
        whole.update(self._n_rows.to_bytes(8, "little"))
        for part in (self._nulls, self._lengths, self._values, *(self._inner or ())):
            whole.update(part.digest())
        return whole.digest()


def _kind(column: pl.Series) -> str:
    return _name(column.dtype)


def _name(dtype: pl.DataType) -> str:
    """Name a type in words of our own, because those of polars may change."""
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
        return "text"
    if isinstance(dtype, pl.Datetime):
        return f"datetime {dtype.time_unit} {dtype.time_zone or ''}"
    if isinstance(dtype, pl.Duration):
        return f"duration {dtype.time_unit}"
    if isinstance(dtype, pl.Decimal):
        return f"decimal {dtype.scale}"
    if isinstance(dtype, pl.List | pl.Array):
        return f"list of ({_name(dtype.inner)})"  # type: ignore[arg-type]
    if isinstance(dtype, pl.Struct):
        fields = [f"{len(field.name)} {field.name} {_name(field.dtype)}" for field in dtype.fields]  # type: ignore[arg-type]
        return f"struct of ({', '.join(fields)})"
    return type(dtype).__name__.lower()


def _in_numpy(dtype: pl.DataType) -> bool:
    return type(dtype).__name__.lstrip("UInFloat") in ("8", "16", "32", "64")


def _bytes(numbers: npt.NDArray[Any]) -> memoryview:
    little = numbers.byteswap() if sys.byteorder == "big" else numbers
    return np.ascontiguousarray(little).view(np.uint8).data
