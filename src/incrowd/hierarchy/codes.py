"""Trees of codes: a code lies below the longest other code that it begins with, as in NUTS, ISCO, ICD or NACE.

Ranges of codes are nodes, too: ``A00-B99`` holds every code from ``A00`` to ``B99``, whatever follows its first three
characters, and the ranges inside it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from incrowd.errors import HierarchyError
from incrowd.hierarchy.parents import Where, entry_number

_RANGE = re.compile("(\\w+) ?[-\u2013] ?(\\w+)")


class _Range(NamedTuple):
    low: str
    high: str

    def holds(self, code: str) -> bool:
        """Whether a code is in the range, with all codes that begin with it."""
        n = len(self.low)
        return self.low <= code[:n].ljust(n, "0") and code[:n].ljust(n, "9") <= self.high


def codes_of(given: object) -> list[tuple[str, str]]:
    """Return codes and labels from a frame with one or two columns, a mapping, codes, or pairs of both."""
    if isinstance(given, pl.DataFrame):
        if given.width not in (1, 2):
            fact = f"A table of codes has {given.width} columns"
            raise HierarchyError(fact, "give it one or two: the code, and its label")
        entries: list[Any] = [row if given.width == 2 else row[0] for row in given.rows()]
    else:
        entries = list(given.items() if isinstance(given, Mapping) else given if isinstance(given, Iterable) else [])
    found = []
    for at, entry in enumerate(entries):
        pair = entry if isinstance(entry, Sequence) and not isinstance(entry, str) else (entry, "")
        if len(pair) != 2:
            fact = f"{entry_number(at).capitalize()} of a tree of codes is neither a code nor a pair of code and label"
            raise HierarchyError(fact, "give codes, or (code, label) pairs")
        code, label = ("" if part is None else str(part) for part in pair)
        found.append((code, label))
    return found


def code_parents(codes: Sequence[str], where: Where = entry_number) -> dict[str, str | None]:
    """Return the code above each code, ``None`` above those that nothing holds."""
    first: dict[str, int] = {}
    for at, code in enumerate(codes):
        if not code:
            fact = f"{where(at).capitalize()} of a tree of codes has no code"
            raise HierarchyError(fact, "write one code per entry; missing values need none")
        if code in first:
            fact = f"Code {code!r} is in {where(first[code])} and again in {where(at)}"
            raise HierarchyError(fact, "keep one of them")
        first[code] = at
    if not first:
        fact = "A tree of codes has no codes"
        raise HierarchyError(fact, "give at least one")
    ranges = {code: found for code in first if (found := _range(code)) is not None}
    shared = {_shared(*found) for found in ranges.values()}
    above_ranges = {prefix[:n] for prefix in shared for n in range(1, 1 + len(prefix))}
    return {code: _above(code, first, ranges, above_ranges) for code in first}


def _range(code: str) -> _Range | None:
    """Read ``A00-B99``; both ends have the same length, so that 11-1011 is an ordinary code."""
    match = _RANGE.fullmatch(code)
    if match is None or len(match[1]) != len(match[2]) or match[1] >= match[2]:
        return None
    return _Range(match[1], match[2])


def _above(
    code: str, codes: Collection[str], ranges: Mapping[str, _Range], above_ranges: Collection[str]
) -> str | None:
    """Return the narrowest prefix or range that holds a code; prefixes with a range below are `above_ranges`."""
    own = ranges.get(code)
    ends = (code,) if own is None else own
    common = code[:-1] if own is None else _shared(*own)
    known = (common[:n] for n in range(len(common), 0, -1) if common[:n] in codes)
    prefix = next((one for one in known if own is None or not own.holds(one)), None)
    if prefix is not None and prefix not in above_ranges:
        return prefix
    holding = [name for name, found in ranges.items() if found != own and all(map(found.holds, ends))]
    if not holding:
        return prefix
    narrowest = max(holding, key=lambda name: (ranges[name].low, [-ord(c) for c in ranges[name].high]))
    inside = prefix is not None and ranges[narrowest].holds(prefix)
    return prefix if inside else narrowest


def _shared(one: str, other: str) -> str:
    n = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:n]
