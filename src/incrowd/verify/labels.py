"""Labels: how a cell is written for people, by a writer of the verifier's own."""

from __future__ import annotations

from datetime import date
from typing import Any

from incrowd.verify.published import Leaves

MISSING = "(missing)"
_WRITTEN_OUT = 4


def write_value(value: Any) -> str:  # noqa: ANN401 - plain data
    """Write a single value: text as it is, whole numbers without a point, dates in ISO form."""
    if type(value) is int:
        return str(value)
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value + 0.0).removesuffix(".0")  # adding zero takes the sign from zero
    return value.isoformat() if isinstance(value, date) else str(value)


def write_range(first: Any, last: Any) -> str:  # noqa: ANN401 - plain data
    """Write a range of numbers or dates by its first and last values; a missing first one makes it everything."""
    if first is None:
        return MISSING if last is None else "*"
    low, high = write_value(first), write_value(last)
    if low == high:
        return low
    return f"{low} to {high}" if isinstance(first, date) or low.startswith("-") else f"{low}-{high}"


def write_leaves(q: Leaves, lo: int, hi: int) -> str:
    """Write a legal cell of listed leaves; one that is not legal has no label, and gets an empty one."""
    if q.kind == "taxonomy":
        return _write_node(q, lo, hi)
    if lo == hi:
        return write_value(q.leaves[lo])
    if hi - lo + 1 == len(q.leaves):
        return "*"
    names = [write_value(leaf) for leaf in q.leaves[lo : hi + 1]]
    return "|".join(names) if len(names) <= _WRITTEN_OUT else f"{names[0]} to {names[-1]}"


def _write_node(q: Leaves, lo: int, hi: int) -> str:
    if lo == hi and lo not in q.rest:
        return write_value(q.leaves[lo])
    for level in q.levels:
        same = level[lo : hi + 1]
        inside = len(set(same)) == 1
        if inside and (lo == 0 or level[lo - 1] != level[lo]) and (hi == len(level) - 1 or level[hi + 1] != level[lo]):
            return level[lo]
    return ""
