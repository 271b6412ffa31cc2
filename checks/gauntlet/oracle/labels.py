"""Cells of generalized rows: which are legal, what they hold, what their labels must be."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

Cell = tuple[Any, Any]


def names_of(value: Any) -> set[str]:  # noqa: ANN401
    """Return how a single value may be written."""
    if value is None:
        return {"(missing)"}
    if isinstance(value, bool):
        return {"true" if value else "false"}
    if isinstance(value, float):
        return {repr(value + 0.0).removesuffix(".0")}
    return {value.isoformat() if isinstance(value, dt.date) else str(value)}


def range_names(lo: Any, hi: Any) -> set[str]:  # noqa: ANN401
    """Return how a range of numbers or dates may be written."""
    words = {(first, last) for first in names_of(lo) for last in names_of(hi)}
    dates = isinstance(lo, dt.date)
    return {f"{a} to {b}" if dates or a.startswith("-") else f"{a}-{b}" for a, b in words}


def interval_problem(entry: dict[str, Any], cell: Cell, label: str, known: list[Any]) -> str | None:
    """Say what is wrong with a cell of numbers or dates; `known` are the values of the released originals."""
    lo, hi = cell
    if lo is None and hi is None:
        return None if entry["missing"] is not None and label == "(missing)" else "is missing where nothing is"
    if hi is None:
        return "has a first value and no last one"
    if lo is None:
        largest = max(value for value in known if value is not None)
        wrong = entry["missing"] is None or hi < largest or label != "*"
        return "joins the missing value and is not everything" if wrong else None
    if lo > hi:
        return "ends before it begins"
    if label not in (names_of(lo) if lo == hi else range_names(lo, hi)):
        return "has a label that is not its own"
    return None


def leaf_problem(entry: dict[str, Any], cell: Cell, label: str) -> str | None:
    """Say what is wrong with a cell of a taxonomy or of ordered names."""
    lo, hi = cell
    leaves = entry["leaves"]
    if not (isinstance(lo, int) and isinstance(hi, int) and 0 <= lo <= hi < len(leaves)):
        return "is not a range of leaves"
    right = tree_names(entry, lo, hi) if entry["kind"] == "taxonomy" else order_names(entry, lo, hi)
    if right is None:
        return "is not legal"
    return None if label in right else "has a label that is not its own"


def tree_names(entry: dict[str, Any], lo: int, hi: int) -> set[str] | None:
    """Return the names of a taxonomy's cell; None if no node is exactly that."""
    if lo == hi and lo not in entry["rest"]:
        return names_of(leaf_value(entry, lo))
    for level in entry["levels"]:
        node = [place for place, name in enumerate(level) if name == level[lo]]
        if (node[0], node[-1]) == (lo, hi):
            return {level[lo]}
    return None


def order_names(entry: dict[str, Any], lo: int, hi: int) -> set[str] | None:
    """Return the names of a range of ordered names; None if it joins the missing value with some of the others."""
    leaves = entry["leaves"]
    if lo == hi:
        return names_of(leaves[lo])
    everything = (lo, hi) == (0, len(leaves) - 1)
    if leaves[lo] is None and not everything:
        return None
    if everything:
        return {"*"}
    words = [next(iter(names_of(leaf))) for leaf in leaves[lo : hi + 1]]
    return {"|".join(words) if len(words) <= 4 else f"{words[0]} to {words[-1]}"}


def leaf_value(entry: dict[str, Any], place: int) -> Any:  # noqa: ANN401
    """Return a leaf as a value: dates are written as text in JSON."""
    return value_of(entry["leaves"][place], entry["type"])


def value_of(told: Any, kind: str) -> Any:  # noqa: ANN401
    """Read a value of a JSON file."""
    if told is None:
        return None
    if kind == "date":
        return dt.date.fromisoformat(told)
    if kind == "bool" and isinstance(told, str) and told in ("true", "false"):
        return told == "true"
    return float(told) if kind == "float" else told


def label_holds(kind: str, label: str, value: Any) -> bool:  # noqa: ANN401
    """Say whether a label that people read speaks of this value, where the kind of hierarchy tells."""
    if label == "*" or value is None or label.endswith(" (rest)") or label in names_of(value):
        return True
    if label == "all" or label.startswith("all ("):  # of a range without an end that may be told
        return True
    if kind in ("balanced", "bins", "frequency", "mdl") and not isinstance(value, str | bool):
        return _in_range(label, value)
    if kind == "prefixes":
        return _begins(label, str(value))
    if kind == "dates":
        text = value.isoformat() if isinstance(value, dt.date) else str(value)
        quarter = f"{text[:4]}-Q{(int(text[5:7]) + 2) // 3}"
        return text.startswith(label) or label == quarter or label == f"{text[:3]}0s"
    return True


def _begins(label: str, text: str) -> bool:
    kept = label.rstrip("*")
    return any(text.zfill(width).startswith(kept) for width in {len(text), len(label)})


def _in_range(label: str, value: Any) -> bool:  # noqa: ANN401
    """Whether a range holds a value: ``21-30``, ``-3 to 5``, ``up to 30``, ``from 85``, or of dates."""
    for low, high in bounds_of(label, dates=isinstance(value, dt.date)):
        if (low is None or low <= value) and (high is None or value <= high):
            return True
    return False


def bounds_of(label: str, *, dates: bool) -> list[tuple[Any, Any]]:
    """Return the bounds that a label of numbers or dates may name; an open one is None."""
    label = re.sub(r" \(\d+\)$", "", label)  # nodes of one name are numbered
    found: list[tuple[Any, Any]] = []
    for mark in (" to ", "-"):
        for place in [place for place in range(1, len(label)) if label.startswith(mark, place)]:
            ends = _read(label[:place], dates), _read(label[place + len(mark) :], dates)
            found += [ends] if None not in ends else []
    found += [(None, _read(label[6:], dates))] if label.startswith("up to ") else []
    found += [(_read(label[5:], dates), None)] if label.startswith("from ") else []
    return found


def _read(text: str, dates: bool) -> Any:  # noqa: ANN401, FBT001
    for read in (dt.date.fromisoformat,) if dates else (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return None
