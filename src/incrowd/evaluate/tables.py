r"""Frames as text for people: aligned columns, shares in percent.

>>> import polars as pl
>>> print("\n".join(aligned(pl.DataFrame({"classifier": ["tree"], "accuracy": [0.8123], "lm": [0.5]}))))
classifier  accuracy     lm
tree          81.2 %  0.500
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

_SHARES = {"retention", "accuracy", "low", "high", "majority", "original", "balanced_accuracy", "f1", "auc"}


def aligned(frame: pl.DataFrame, names: Sequence[str] | None = None) -> list[str]:
    """Return the lines of a table; columns that have no value are left out."""
    shown = _shown(frame, names)
    cells = [[_cell(name, row[name]) for name in shown] for row in frame.to_dicts()]
    widths = [max(len(name), *(len(row[m]) for row in cells)) for m, name in enumerate(shown)]
    is_text = [frame[name].dtype == pl.String for name in shown]
    return ["  ".join(_padded(row, widths, is_text)).rstrip() for row in [shown, *cells]]


def explained(frame: pl.DataFrame, names: Sequence[str], n_folds: int) -> list[str]:
    """Return what the columns of a table mean, of those that it has; one fold is a single test set."""
    shown, lines = _shown(frame, names), []
    if "retention" in shown:
        lines.append("retention: share of the gain over the majority class that is left")
    if "low" in shown and n_folds == 1:
        lines.append("low, high: 95 % interval of accuracy over samples of the release, on these test rows only")
    elif "low" in shown:
        lines.append("low, high: 95 % interval of accuracy over folds")
    return lines


def nothing_to_keep(frame: pl.DataFrame) -> list[str]:
    """Return a sentence about classifiers without retention, because not even the original taught them anything."""
    if not {"original", "majority"} <= set(frame.columns):
        return []
    names = list(dict.fromkeys(frame.filter(pl.col("original") <= pl.col("majority"))["classifier"]))
    if not names:
        return []
    return [
        f"even the original rows do not beat the majority class with {', '.join(names)}: there is nothing to retain"
    ]


def percent(value: float | None) -> str:
    """Write a share."""
    return "-" if value is None else f"{100 * value:.1f} %"


def _shown(frame: pl.DataFrame, names: Sequence[str] | None) -> list[str]:
    wanted = frame.columns if names is None else names
    return [name for name in wanted if name in frame.columns and frame[name].null_count() < frame.height]


def _padded(row: Sequence[str], widths: Sequence[int], is_text: Sequence[bool]) -> list[str]:
    return [
        text.ljust(width) if left else text.rjust(width) for text, width, left in zip(row, widths, is_text, strict=True)
    ]


def _cell(name: str, value: Any) -> str:  # noqa: ANN401
    if name in _SHARES:
        return percent(value)
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:g}" if value.is_integer() else f"{value:.3f}"
