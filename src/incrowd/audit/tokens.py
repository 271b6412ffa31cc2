"""What may stand in model files: numbers as libraries write them, and words of patterns that are known."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from incrowd.errors import IncompatibleError

NUMBER = r"[+-]?(?:\d{1,20}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?|nan|inf)"
"""A number with no more digits than 64 bits need."""
_MOST_DIGITS = 25
_AS_SAVED = "save the model again as the library does, without anything added"


def numbers(text: str) -> list[float]:
    """Return the numbers of a line; what is between them is one space."""
    given = text.rstrip().split(" ") if text.strip() else []
    if not all(re.fullmatch(NUMBER, one) for one in given):
        fact = "The file has text, or numbers with more digits than there are, where numbers stand"
        raise IncompatibleError(fact, _AS_SAVED)
    return [float(one) for one in given]


def short(kind: type) -> Callable[[str], Any]:
    """Return a reader of numbers that refuses those with more digits than there are."""

    def read(text: str) -> Any:  # noqa: ANN401
        if len(text) > _MOST_DIGITS:
            fact = "The file has numbers with more digits than there are"
            raise IncompatibleError(fact, _AS_SAVED)
        return kind(text)

    return read


def require_tokens(found: Mapping[str, Any], patterns: Mapping[str, str]) -> None:
    """Refuse a value that is not of its pattern, and one that has no pattern."""
    for name, value in found.items():
        if name not in patterns or not isinstance(value, str) or re.fullmatch(patterns[name], value) is None:
            fact = f"The file says of '{name[:40]}' what the library does not write there"
            raise IncompatibleError(fact, _AS_SAVED)
