"""Nothing that is printed repeats a password that this call was given, whatever was mistyped."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from incrowd.passwords import HIDDEN, bare_passwords, find_passwords, hide

_PASSWORDS = ("INCROWD_DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD")  # variables that are one
_known: dict[str, str] = {}


class _Hiding:
    """A stream that hides passwords in what is written to it, and is otherwise the stream that it stands for."""

    def __init__(self, stream: Any) -> None:  # noqa: ANN401 - whatever standard output is
        self._stream = stream

    def write(self, text: str) -> Any:  # noqa: ANN401
        """Write a text without the passwords that are known."""
        return self._stream.write(hide(text, _known) if _known else text)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._stream, name)


def remember(given: Iterable[object]) -> None:
    """Remember the passwords in what was typed, or set by a file."""
    for each in given:
        if isinstance(each, str):
            _known.update(find_passwords(each))
        elif isinstance(each, Mapping):
            remember(each.values())
        elif isinstance(each, list | tuple):
            remember(each)


def hide_all(text: str) -> str:
    """Hide passwords wherever they stand, though they be ordinary words: for tracebacks, in which drivers speak."""
    given = {os.environ[name]: HIDDEN for name in _PASSWORDS if os.environ.get(name)}
    return hide(text, {**_known, **bare_passwords(_known), **given})


@contextmanager
def hiding() -> Iterator[None]:
    """Hide passwords in all that is printed meanwhile."""
    before = sys.stdout, sys.stderr
    _known.clear()
    remember(value for name, value in os.environ.items() if name.startswith("INCROWD_"))
    sys.stdout, sys.stderr = _Hiding(before[0]), _Hiding(before[1])
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        _known.clear()
