"""What every hierarchy is: ordered leaves, and generalized values that are intervals of leaf ranks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.errors import HierarchyError

Codes = npt.NDArray[np.int32]
Weights = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MISSING = "(missing)"
"""The label of the leaf that stands for a missing value."""

OUTSIDE = -1
"""The code of a value that is not a leaf."""

_WIDEST_TABLE = 1 << 22  # whole numbers in a range up to this are looked up in a table, of 16 MB at most

_TYPES: dict[str, pl.DataType] = {
    "int": pl.Int64(),
    "float": pl.Float64(),
    "str": pl.String(),
    "date": pl.Date(),
    "bool": pl.Boolean(),
}


@runtime_checkable
class Spec(Protocol):
    """A hierarchy, or a recipe for one: what a schema holds for a quasi-identifier."""

    @property
    def supervised(self) -> bool:
        """Whether `build` looks at the target."""

    def build(self, column: pl.Series, target: pl.Series | None = None, weights: Weights | None = None) -> Hierarchy:
        """Return the hierarchy of this column; supervised recipes look at the target too.

        With `weights`, each entry of the column stands for so many rows.
        """

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `incrowd.hierarchy.from_dict` makes an equal object."""


def type_of(values: pl.Series) -> str:
    """Name the type of a column's values: int, float, str, date or bool."""
    dtype = values.dtype
    if dtype.is_integer():
        return "int"
    if dtype.is_numeric():
        return "float"
    if dtype in (pl.Date, pl.Datetime):
        return "date"
    return "bool" if dtype == pl.Boolean else "str"


def as_leaves(values: pl.Series, kind: str | None = None) -> pl.Series:
    """Bring values to the form in which leaves are kept: one of five types, NaN as null, no name."""
    kind = kind or type_of(values)
    leaves = convert(values, kind)
    n_lost = leaves.null_count() - count_missing(values)
    if n_lost:
        fact = f"Column {values.name!r} of type {values.dtype} has {n_lost} values that cannot be kept as {kind}"
        raise HierarchyError(fact, "turn the column into text, dates or 64-bit numbers")
    return leaves.alias("")


def count_missing(values: pl.Series) -> int:
    """Count the missing values, NaN among them."""
    return values.null_count() + (int(values.is_nan().sum()) if values.dtype.is_float() else 0)


def present(values: pl.Series) -> pl.Series:
    """Return the values that are not null; to ask polars for that costs more than to see that there are none."""
    return values.drop_nulls() if values.null_count() else values


def filled(values: pl.Series, value: str | int) -> pl.Series:
    """Put a value where there is none."""
    return values.fill_null(value) if values.null_count() else values


def convert(values: pl.Series, kind: str) -> pl.Series:
    """Bring values to a type; one that has no equal there becomes null (1.5 is no int, 3 is no date), as NaN does."""
    own = type_of(values)
    if values.dtype == _TYPES[kind] and own != "float":
        return values
    if own == "str":
        return _convert_text(values, kind)
    none = pl.repeat(None, len(values), dtype=_TYPES[kind], eager=True)
    if kind != "str" and (own == "date") != (kind == "date"):
        return none
    if own == "float":
        values = values.cast(pl.Float64()).fill_nan(None)
    converted = values.cast(_TYPES[kind], strict=False)
    if kind in ("str", "date"):
        return converted
    same = converted.cast(values.dtype, strict=False) == values
    return converted.zip_with(same.fill_null(value=False), none)


def _convert_text(values: pl.Series, kind: str) -> pl.Series:
    try:
        values = values.cast(pl.String())
    except pl.exceptions.PolarsError:  # lists, durations: nothing that a hierarchy could hold
        return pl.repeat(None, len(values), dtype=_TYPES[kind], eager=True)
    if kind == "date":
        return values.str.to_date("%Y-%m-%d", strict=False)
    if kind == "bool":
        truth = {"true": True, "false": False}
        return values.str.to_lowercase().replace_strict(truth, default=None, return_dtype=pl.Boolean())
    return values.cast(_TYPES[kind], strict=False)


def leaves_from_data(values: list[Any], kind: str) -> pl.Series:
    """Read leaves from JSON or TOML, the inverse of `leaves_to_data`."""
    if kind not in _TYPES:
        fact = f"A hierarchy has leaves of type {kind!r}"
        raise HierarchyError(fact, f"use one of {', '.join(_TYPES)}")
    try:
        if kind == "date":
            return as_leaves(pl.Series("", [None if v is None else str(v) for v in values], pl.String()), kind)
        return pl.Series("", values, _TYPES[kind])
    except (TypeError, OverflowError, HierarchyError):
        fact = f"A hierarchy has leaves that are not of its type {kind!r}"
        raise HierarchyError(fact, "write the leaves in that type, or name another type") from None


def leaves_to_data(leaves: pl.Series) -> list[Any]:
    """Return leaves as JSON-ready values (dates in ISO form)."""
    return (leaves.cast(pl.String()) if leaves.dtype == pl.Date else leaves).to_list()


def text(leaves: pl.Series) -> list[str]:
    """Write every leaf as people write it: dates in ISO form, whole numbers without a point.

    Other floats have as few digits as read back as the same number, so that a range contains its own ends.
    """
    if leaves.dtype == pl.Float64:
        return [MISSING if v is None else number_text(v) for v in leaves.to_list()]
    if leaves.dtype == pl.Boolean:
        return [MISSING if v is None else str(v).lower() for v in leaves.to_list()]
    return filled(leaves.cast(pl.String()), MISSING).to_list()


def number_text(value: float) -> str:
    """Write a number with as few digits as read back as the same number, a whole one without a point."""
    return repr(value + 0.0).removesuffix(".0")  # adding zero takes the sign from zero


class Hierarchy(ABC):
    """The legal generalizations of one column, each an interval ``[lo, hi]`` of leaf ranks.

    Attributes
    ----------
    leaves
        The domain in order. When a missing value is a value of its own, it is the first leaf (null).
    pos
        Position of each leaf, increasing: the loss of a cell is its extent in positions.
    """

    leaves: pl.Series
    pos: Floats

    @property
    def supervised(self) -> bool:
        """Whether the target has a say in it: no."""
        return False

    @cached_property
    def n_leaves(self) -> int:
        """Size of the domain."""
        return len(self.leaves)

    @cached_property
    def type(self) -> str:
        """Type of the values: int, float, str, date or bool."""
        return type_of(self.leaves)

    @property
    def last_pos(self) -> Floats:
        """Position of the last value of each leaf: that of the leaf, where leaves are single values."""
        return self.pos

    @cached_property
    def has_missing(self) -> bool:
        """Whether the first leaf stands for a missing value."""
        return self.n_leaves > 0 and self.leaves[0] is None

    @cached_property
    def ordered(self) -> bool:
        """Whether the leaves are numbers or dates, so that a mean of positions makes sense."""
        return self.type in ("int", "float", "date")

    @abstractmethod
    def closure(self, lo: Codes, hi: Codes) -> tuple[Codes, Codes]:
        """Return the smallest legal generalization of each ``[lo, hi]``."""

    @abstractmethod
    def levels(self) -> tuple[Codes, Codes]:
        """Return the first and the last leaf of each leaf's node, [levels x leaves]; none if any interval is legal."""

    @abstractmethod
    def label(self, lo: int, hi: int) -> str:
        """Write one generalized value for people."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `incrowd.hierarchy.from_dict` makes an equal object."""

    @abstractmethod
    def with_missing(self) -> Hierarchy:
        """Return this hierarchy with a leaf for missing values in front, joined to the others only at the root."""

    def encode(self, column: pl.Series) -> Codes:
        """Return the leaf rank of each value, `OUTSIDE` where the value is not a leaf."""
        if isinstance(column.dtype, pl.Enum):  # each name is looked up once
            names = column.dtype.categories
            ranks = self.encode(names.extend_constant(None, 1))
            return np.asarray(ranks[column.to_physical().cast(pl.Int32()).fill_null(len(names)).to_numpy()])
        values = convert(column, self.type)
        known = present(self.leaves)
        first = self.n_leaves - len(known)
        codes = _rank_text(values, known) if self.type in ("str", "bool") else _rank_numbers(values, known)
        if first:
            codes[codes != OUTSIDE] += first
        if first and count_missing(column):
            missing = column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()
            codes[missing.fill_null(value=True).to_numpy()] = 0
        return codes

    def labels(self, lo: Codes, hi: Codes) -> pl.Series:
        """Write many generalized values: each distinct one is written once."""
        key = lo.astype(np.int64) * self.n_leaves + hi
        distinct, inverse = np.unique(key, return_inverse=True)
        names = [self.label(int(a), int(b)) for a, b in zip(*divmod(distinct, self.n_leaves), strict=True)]
        written: pl.Series = pl.Series(names, dtype=pl.String())[inverse]
        return written

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hierarchy) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.n_leaves, self.type))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_leaves} leaves)"


def _rank_text(values: pl.Series, known: pl.Series) -> Codes:
    names = known.cast(pl.String())
    found = values.cast(pl.String()).cast(pl.Enum(names), strict=False).to_physical()
    return filled(found.cast(pl.Int32()), OUTSIDE).to_numpy(writable=True)


def _rank_numbers(values: pl.Series, known: pl.Series) -> Codes:
    domain = known.to_physical().to_numpy()
    physical = values.to_physical() if values.dtype.is_temporal() else values
    present: npt.NDArray[np.bool_] | bool = True
    if physical.null_count():
        present, physical = physical.is_not_null().to_numpy(), physical.fill_null(0)
    numbers = physical.to_numpy()
    if not len(domain):
        return np.full(len(numbers), OUTSIDE, np.int32)
    low, high = domain.min(), domain.max()
    # Python's integers, because the distance of two int64 may not be one
    if np.issubdtype(domain.dtype, np.integer) and int(high) - int(low) < _WIDEST_TABLE:
        rank_of = np.full(int(high - low) + 1, OUTSIDE, np.int32)
        rank_of[domain - low] = np.arange(len(domain), dtype=np.int32)
        inside = present & (numbers >= low) & (numbers <= high)
        return np.where(inside, rank_of[np.where(inside, numbers - low, 0)], OUTSIDE).astype(np.int32)
    order = np.argsort(domain)
    at = order[np.minimum(np.searchsorted(domain, numbers, sorter=order), len(domain) - 1)]
    return np.where(present & (domain[at] == numbers), at, OUTSIDE).astype(np.int32)


def domain_of(column: pl.Series) -> pl.Series:
    """Return the distinct values of a column in order, without the missing one."""
    return present(as_leaves(column)).unique().sort()


def require_values(column: pl.Series) -> None:
    """Refuse a column that has no value at all."""
    if count_missing(column) == len(column):
        fact = f"Column {column.name!r} has no values: all {len(column)} are missing"
        raise HierarchyError(fact, "give it the role 'identifier' to drop it, or take it out of the schema")


def check_known_keys(data: Mapping[str, Any], allowed: set[str], what: str) -> None:
    """Refuse keys that nothing would read."""
    unknown = sorted(set(data) - allowed)
    if unknown:
        fact = f"{what} has the unknown setting {', '.join(map(repr, unknown))}"
        raise HierarchyError(fact, f"use one of {', '.join(sorted(allowed))}")
