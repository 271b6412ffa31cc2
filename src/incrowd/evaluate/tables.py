r"""Frames as text for people: aligned columns, shares in percent.

>>> import polars as pl
>>> print("\n".join(aligned(pl.DataFrame({"classifier": ["tree"], "accuracy": [0.8123], "lm": [0.5]}))))
classifier  accuracy     lm
tree           81.2%  0.500

An interval stands beside its share:

>>> print("\n".join(aligned(pl.DataFrame({"accuracy": [0.8123], "low": [0.7], "high": [1.0]}), ["accuracy"])))
accuracy
81.2% [70.0, 100]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

_SHARES = {"retention", "accuracy", "low", "high", "majority", "original", "balanced_accuracy", "f1", "auc"}
_ENDS = {"retention": ("retention_low", "retention_high"), "accuracy": ("low", "high")}
_WIDE = 99.95  # percent that take three digits before the point
_HEADS = {"balanced_accuracy": "balanced"}


def aligned(frame: pl.DataFrame, names: Sequence[str] | None = None) -> list[str]:
    """Return the lines of a table; columns that have no value are left out."""
    columns = [_column(frame, name) for name in _shown(frame, names)]
    return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]


def explained(frame: pl.DataFrame, names: Sequence[str], n_folds: int) -> list[str]:
    """Return what the columns of a table mean, of those that it has; one fold is a single test set."""
    shown, lines = _shown(frame, names), []
    if "retention" in shown:
        lines.append("retention: share of the gain over the majority class that is kept")
    if _has_value(frame, "majority"):
        lines.append(f"majority class: accuracy {percent(frame['majority'].drop_nulls()[0])}")
    if not _has_value(frame, "low"):
        return lines
    if n_folds == 1:
        lines.append("[low, high]: 95% interval over samples of the release, on these test rows only")
    else:
        lines.append("[low, high]: 95% interval over folds, corrected for shared training rows")
    if frame.drop_nulls(["retention", "low"])["retention_low"].null_count():
        lines.append("retention without [low, high]: the gain of the original is too uncertain itself")
    return lines


def nothing_to_keep(frame: pl.DataFrame) -> list[str]:
    """Return a sentence about classifiers for which even the original rows do not beat the majority class."""
    if not {"original", "majority"} <= set(frame.columns):
        return []
    names = list(dict.fromkeys(frame.filter(pl.col("original") <= pl.col("majority"))["classifier"]))
    if not names:
        return []
    return [f"with {', '.join(names)}, even the original rows do not beat the majority class: there is nothing to keep"]


def percent(value: float | None) -> str:
    """Write a share."""
    return "-" if value is None else f"{value:.1%}"


def _shown(frame: pl.DataFrame, names: Sequence[str] | None) -> list[str]:
    wanted = frame.columns if names is None else names
    return [name for name in wanted if _has_value(frame, name)]


def _has_value(frame: pl.DataFrame, name: str) -> bool:
    return name in frame.columns and frame[name].null_count() < frame.height


def _column(frame: pl.DataFrame, name: str) -> list[str]:
    """Return the head and the cells of a column, all of one width."""
    head, cells = _HEADS.get(name, name), [_cell(name, value) for value in frame[name]]
    ends = _ENDS.get(name, ())
    if not ends or not all(_has_value(frame, end) for end in ends):
        return _justified([head, *cells], left=frame[name].dtype == pl.String)
    beside = _justified([_interval(*pair) for pair in frame.select(ends).iter_rows()])
    return _justified([head, *map(" ".join, zip(_justified(cells), beside, strict=True))], left=True)


def _justified(cells: Sequence[str], *, left: bool = False) -> list[str]:
    width = max(map(len, cells))
    return [cell.ljust(width) if left else cell.rjust(width) for cell in cells]


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{_short(100 * low)}, {_short(100 * high)}]"


def _short(number: float) -> str:
    """Write at most three digits of an ordinary percentage, and no negative zero."""
    return f"{round(number, 1) + 0.0:.{0 if abs(number) >= _WIDE else 1}f}"


def _cell(name: str, value: Any) -> str:  # noqa: ANN401
    if name in _SHARES:
        return percent(value)
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:g}" if value.is_integer() else f"{value:.3f}"
