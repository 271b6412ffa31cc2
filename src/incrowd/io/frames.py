"""Foreign frames to polars at the door, and back to the same kind on the way out."""

from __future__ import annotations

import datetime as dt
import decimal
import importlib
import importlib.util
import ipaddress
import numbers
import sys
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import polars as pl

from incrowd.errors import InputError, MissingDependencyError
from incrowd.io.columns import check_names, without_nan

Kind = Literal["polars", "pandas", "pyarrow"]
# A frame, or a column of one, of whichever library.
Frame: TypeAlias = Any
Column: TypeAlias = Any

_WHERE = "The frame"
_AS_TEXT = (uuid.UUID, dt.time, ipaddress.IPv4Address, ipaddress.IPv6Address)  # columns of databases
_FAMILIES: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("bool", (bool, np.bool_)),
    ("int", (numbers.Integral,)),
    ("float", (numbers.Real, decimal.Decimal)),
    ("str", (str, *_AS_TEXT)),
    ("datetime", (dt.datetime,)),
    ("date", (dt.date,)),
)


def kind_of(frame: Frame) -> Kind:
    """Tell which kind of frame to give back for this one; polars unless it is of pandas or pyarrow.

    Examples
    --------
    >>> kind_of(pl.DataFrame())
    'polars'
    """
    if _is_a(frame, "pandas", "DataFrame"):
        return "pandas"
    if _is_a(frame, "pyarrow", "Table", "RecordBatch"):
        return "pyarrow"
    return "polars"


def is_spark_frame(frame: object) -> bool:
    """Tell whether something is a frame of Spark; nothing is imported to look."""
    return _is_a(frame, "pyspark.sql", "DataFrame")


def to_polars(frame: Frame) -> pl.DataFrame:
    """Convert a frame of any library to polars, without copying where that is possible.

    Categories become text, decimals become floats, "not a number" becomes null, and the index of a pandas frame is
    ignored.

    Parameters
    ----------
    frame
        A polars, pandas or pyarrow table, or any other frame that narwhals knows.

    Raises
    ------
    InputError
        The frame has repeated column names, mixed types in a column, or a type that is not a single value.

    Examples
    --------
    >>> to_polars(pl.LazyFrame({"sex": pl.Series(["f", "m"], dtype=pl.Categorical)})).dtypes
    [String]
    """
    return _plain(_converted(frame))


def from_polars(frame: pl.DataFrame, kind: str) -> Frame:
    """Convert a polars frame to the kind of frame that `kind_of` named."""
    if kind == "polars":
        return frame
    if kind not in ("pandas", "pyarrow"):
        fact = f"There is no kind of frame called '{kind}'"
        raise InputError(fact, "use polars, pandas or pyarrow")
    if importlib.util.find_spec(kind) is None:
        fact = f"A {kind} frame was asked for, but {kind} is not installed"
        raise MissingDependencyError(fact, f"pip install {kind}")
    if kind == "pyarrow":
        return frame.to_arrow()
    if _has_pyarrow():
        return frame.to_pandas()
    return importlib.import_module("pandas").DataFrame({column.name: _for_pandas(column) for column in frame})


def from_objects(name: str, values: Sequence[Any], where: str = _WHERE) -> pl.Series:
    """Make a column of Python objects (missing ones are None), which must all be of one type."""
    families = {_family(kind): kind.__name__ for kind in set(map(type, values)) - {type(None)}}
    if families.keys() == {"int", "float"}:
        families.pop("int")
    if len(families) > 1:
        fact = f"{where}: column '{name}' mixes values of type {', '.join(sorted(families.values()))}"
        raise InputError(fact, "convert the column to one type, for example to text")
    family = next(iter(families), "str")
    if family is None:
        fact = f"{where}: column '{name}' has values of type {families[family]}, which is not supported"
        raise InputError(fact, "convert it to text, numbers, dates or bools, or drop the column")
    try:
        return _BUILDERS[family](name, values)
    except (OverflowError, TypeError, ValueError, pl.exceptions.PolarsError):
        fact = f"{where}: column '{name}' has values that do not fit {family}"
    raise InputError(fact, "convert the column to text")


def _family(kind: type) -> str | None:
    return next((name for name, members in _FAMILIES if issubclass(kind, members)), None)


_BUILDERS: dict[str, Callable[[str, Sequence[Any]], pl.Series]] = {
    "bool": lambda name, values: pl.Series(name, _each(bool, values), dtype=pl.Boolean),
    "int": lambda name, values: pl.Series(name, _each(int, values), dtype=pl.Int64),
    "float": lambda name, values: pl.Series(name, _each(float, values), dtype=pl.Float64),
    "str": lambda name, values: pl.Series(name, _each(str, values), dtype=pl.String),
    "datetime": pl.Series,
    "date": lambda name, values: pl.Series(name, values, dtype=pl.Date),
}


def _each(kind: type, values: Sequence[Any]) -> list[Any]:
    # numpy's scalars and subclasses of str are not what polars' builders take.
    return [value if value is None or type(value) is kind else kind(value) for value in values]


def _is_a(frame: Frame, module: str, *names: str) -> bool:
    # A frame of a library that was never imported cannot exist, so nothing is imported to look.
    library = sys.modules.get(module)
    return library is not None and any(isinstance(frame, getattr(library, name, ())) for name in names)


def _has_pyarrow() -> bool:
    return importlib.util.find_spec("pyarrow") is not None


def _converted(frame: Frame) -> pl.DataFrame:
    if isinstance(frame, str | Path):
        fact = "Expected a frame, got the name of a file or database"
        raise InputError(fact, "read it first: incrowd.io.read(...)")
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if isinstance(frame, pl.DataFrame):
        return frame
    if _is_a(frame, "pandas", "DataFrame"):
        return _from_pandas(frame)
    if _is_a(frame, "pyarrow", "Table", "RecordBatch"):
        check_names(frame.schema.names, _WHERE)
        return pl.DataFrame(frame)
    return _from_narwhals(frame)


def _from_narwhals(frame: Frame) -> pl.DataFrame:
    if is_spark_frame(frame):
        fact = "A frame of Spark would be brought to this machine as a whole"
        raise InputError(
            fact, "use engine='spark', release.verify(frame), or a part of it: frame.limit(100_000).toPandas()"
        )
    import narwhals as nw  # noqa: PLC0415 - a tenth of a second that polars frames need not pay

    known = nw.from_native(frame, pass_through=True)
    if isinstance(known, nw.LazyFrame):
        known = known.collect()
    if not isinstance(known, nw.DataFrame):
        fact = f"Expected a frame, got {type(frame).__name__}"
        raise InputError(fact, "give a polars, pandas or pyarrow table; polars.DataFrame(...) makes one")
    return _converted(known.to_native() if kind_of(known.to_native()) == "pandas" else known.to_polars())


def _from_pandas(frame: Frame) -> pl.DataFrame:
    if frame.columns.nlevels > 1:
        fact = f"{_WHERE} has column names of {frame.columns.nlevels} levels"
        raise InputError(fact, "join the levels to one name per column")
    names = [str(name) for name in frame.columns]
    check_names(names, _WHERE)
    return pl.DataFrame([_pandas_column(name, frame.iloc[:, position]) for position, name in enumerate(names)])


def _pandas_column(name: str, column: Column) -> pl.Series:
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return pl.Series(name, column.to_numpy())
    if isinstance(dtype, np.dtype) and dtype.kind == "M":
        # polars has no seconds.
        values = column.to_numpy()
        return pl.Series(name, values if np.datetime_data(dtype)[0] in ("ms", "us", "ns") else values.astype("M8[us]"))
    if not isinstance(dtype, np.dtype) and _has_pyarrow():
        try:
            return cast("pl.Series", pl.from_pandas(column)).alias(name)
        except Exception:
            # Whatever the libraries quarrel about may quote a cell; the type is all that the user needs.
            fact = f"{_WHERE}: column '{name}' has the type {dtype}, which is not supported"
        raise InputError(fact, "convert it to text, numbers, dates or bools, or drop the column")
    return from_objects(name, column.astype(object).where(column.notna(), None).tolist())


def _for_pandas(column: pl.Series) -> Column:
    return column.to_numpy() if column.dtype.is_numeric() or column.null_count() == 0 else column.to_list()


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    check_names(frame.columns, _WHERE)
    changed = [plain for column in frame if (plain := _plain_column(column)) is not column]
    return frame.with_columns(changed) if changed else frame


def _plain_column(column: pl.Series) -> pl.Series:
    dtype = column.dtype
    if dtype.is_float():
        return without_nan(column) if column.is_nan().any() else column
    if dtype.is_integer() or dtype in (pl.String, pl.Boolean, pl.Date, pl.Datetime):
        return column
    if dtype in (pl.Categorical, pl.Enum, pl.Null):
        return column.cast(pl.String)
    if dtype.is_decimal():
        return column.cast(pl.Float64)
    fact = f"{_WHERE}: column '{column.name}' has the type {dtype.base_type().__name__}, which is not supported"
    raise InputError(fact, "convert it to text, numbers, dates or bools, or drop the column")
