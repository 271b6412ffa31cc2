"""Plain data read with suspicion: values are of the kind asked for, objects have no other keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from incrowd.verify.domain import are_texts, are_whole, is_number, is_text, is_whole

_SHORT_NAME = re.compile(r"[a-z_0-9]{1,40}")
_VERSION = re.compile(r"\d{1,4}(\.\d{1,4}){0,3}((a|b|rc|\.dev|\.post)\d{1,4}){0,2}", re.ASCII)
_SHOWN = 40


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and are_texts(value)


def _are_counts(value: object) -> bool:
    return isinstance(value, list) and are_whole(value, 0, 2**40)


_KINDS: dict[str, Callable[[Any], bool]] = {
    "text": is_text,
    "text or null": lambda v: v is None or is_text(v),
    "a version number": lambda v: isinstance(v, str) and _VERSION.fullmatch(v) is not None,
    "a short name": lambda v: isinstance(v, str) and _SHORT_NAME.fullmatch(v) is not None,
    "a list": lambda v: isinstance(v, list),
    "a list of texts": _is_texts,
    "a list of lists of texts": lambda v: isinstance(v, list) and all(map(_is_texts, v)),
    "an object of lists of texts": lambda v: isinstance(v, dict) and all(map(_is_texts, [list(v), *v.values()])),
    "a list of counts": _are_counts,
    "an object": lambda v: isinstance(v, dict) and all(isinstance(key, str) for key in v),
    "an object, a list of objects or null": lambda v: (
        v is None or isinstance(v, dict) or (isinstance(v, list) and v != [] and all(isinstance(e, dict) for e in v))
    ),
    "true or false": lambda v: isinstance(v, bool),
    "a count or null": lambda v: v is None or (is_whole(v) and 0 <= v < 2**40),
    "a whole number": is_whole,
    "a count": lambda v: is_whole(v) and v >= 0,
    "a whole number from 1": lambda v: is_whole(v) and v >= 1,
    "a number from 1": lambda v: is_number(v) and v >= 1,
    "a number from 0": lambda v: is_number(v) and v >= 0,
    "a number above 0": lambda v: is_number(v) and v > 0,
    "a share above 0": lambda v: is_number(v) and 0 < v <= 1,
}


@dataclass
class Reading:
    """Problems found while a manifest is read, by the check that they belong to."""

    manifest: list[str] = field(default_factory=list)
    hierarchies: list[str] = field(default_factory=list)
    marginals: list[str] = field(default_factory=list)
    private: list[str] = field(default_factory=list)
    promises: list[str] = field(default_factory=list)
    unchecked: str | None = None

    def field(self, data: dict[str, Any], key: str, kind: str, where: str = "") -> Any:  # noqa: ANN401 - plain data
        """Return a value of the kind asked for, ``None`` after noting why there is none."""
        if key not in data:
            self.manifest.append(f"{where}{key} is missing")
        elif not _KINDS[kind](data[key]):
            self.manifest.append(f"{where}{key} is not {kind}")
        else:
            return data[key]
        return None

    def closed(self, data: dict[str, Any], known: Sequence[str], where: str = "the manifest") -> None:
        """Note every key that the format does not know, and keys out of order: anything could be told there."""
        for key in data:
            if key not in known:
                self.private.append(f"the key {str(key)[:_SHOWN]!r} of {where} is not part of the format")
        found = [key for key in data if key in known]
        if found != [key for key in known if key in data]:
            self.private.append(f"the keys of {where} are not in the order of the format")
