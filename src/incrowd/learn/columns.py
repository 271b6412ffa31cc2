"""What estimators are given, array or frame, as coded columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d, validate_data

from incrowd import io
from incrowd.coding import clean, clean_like, encode_column
from incrowd.errors import ParameterError
from incrowd.hierarchy import Hierarchy, Intervals, Spec
from incrowd.hierarchy.hierarchy import OUTSIDE, Codes, type_of
from incrowd.hierarchy.taxonomy import suppress_only
from incrowd.io.frames import from_objects
from incrowd.recoding import nearest_leaves

Column = str | int


def columns_of(estimator: BaseEstimator, X: Any, *, reset: bool) -> list[pl.Series]:  # noqa: ANN401
    """Return the columns of an array or a frame, after scikit-learn's checks; `reset` remembers their names."""
    if _is_frame(X):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        frame = io.to_polars(X)
        if frame.height == 0:
            fact = f"Found a frame with 0 sample(s) (shape={frame.shape}) while a minimum of 1 is required"
            raise ValueError(fact)
        return frame.get_columns()
    array = validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
    return [_column(f"x{j}", array[:, j]) for j in range(array.shape[1])]


def _is_frame(X: object) -> bool:
    return isinstance(X, pl.LazyFrame | pl.DataFrame) or io.kind_of(X) != "polars" or hasattr(X, "__dataframe__")


def _column(name: str, values: Any) -> pl.Series:  # noqa: ANN401
    if values.dtype.kind in "biuf":
        return pl.Series(name, np.ascontiguousarray(values, np.float32 if values.dtype == np.float16 else None))
    return from_objects(name, [None if value is None or value != value else value for value in values.tolist()])  # noqa: PLR0124 - not a number


def numbers_of(wanted: Iterable[Column], names: Sequence[str], what: str) -> list[int]:
    """Return the places of columns given by name or number."""
    found = []
    for column in wanted:
        at = names.index(column) if column in names else column
        if isinstance(at, bool) or not isinstance(at, int | np.integer) or not 0 <= at < len(names):
            fact = f"{what} names the column {column!r}"
            raise ParameterError(fact, f"the columns are {', '.join(names)}; of an array, 0 to {len(names) - 1}")
        found.append(int(at))
    return found


def build(
    columns: Sequence[pl.Series], given: Mapping[Column, Spec | None] | None, target: pl.Series
) -> tuple[tuple[Hierarchy, ...], Codes]:
    """Return hierarchies of columns, by default intervals for numbers and values for names, and the columns coded."""
    names = [column.name for column in columns]
    specs = dict(zip(numbers_of(given or {}, names, "hierarchies"), (given or {}).values(), strict=True))
    codes = np.empty((len(columns[0]), len(columns)), np.int32, order="F")
    hierarchies = []
    for m, column in enumerate(columns):
        spec = specs.get(m, Intervals() if type_of(column) in ("int", "float", "date") else None)
        values = clean(column, None, spec, ())
        hierarchy = suppress_only(values) if spec is None else spec.build(values, target)
        codes[:, m] = encode_column(hierarchy, values)
        hierarchies.append(hierarchy)
    return tuple(hierarchies), codes


def encode(columns: Sequence[pl.Series], hierarchies: Sequence[Hierarchy]) -> Codes:
    """Code other rows: a number counts as the nearest one that is known; what is not known otherwise is negative."""
    codes = np.empty((len(columns[0]), len(columns)), np.int32, order="F")
    for m, (column, hierarchy) in enumerate(zip(columns, hierarchies, strict=True)):
        values = clean_like(hierarchy, column, ())
        codes[:, m] = hierarchy.encode(values)
        unknown = codes[:, m] == OUTSIDE
        if hierarchy.ordered and unknown.any():
            codes[unknown, m] = nearest_leaves(hierarchy, values)[0][unknown]
    return codes


def checked_classes(columns: Sequence[pl.Series], y: Any, name: str) -> npt.NDArray[Any]:  # noqa: ANN401
    """Return the classes after scikit-learn's checks."""
    if y is None:
        fact = f"{name} requires y to be passed, but the target y is None"
        raise ValueError(fact)
    y = column_or_1d(y.to_numpy() if hasattr(y, "to_numpy") else y, warn=True)
    check_consistent_length(columns[0], y)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    return np.asarray(y)
