"""Names of files and errors, as people may see them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from incrowd.errors import IncrowdError, InputError

_LONGEST_NAME = 80


def shown_name(name: str) -> str:
    """Return the name of a file as it is shown: the last part of a path, without characters that cannot be seen."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(letter if letter.isprintable() else "_" for letter in last)[-_LONGEST_NAME:] or "table"


def as_argument(name: str) -> str:
    """Return a name of a file as a command takes it: one that begins with a dash would be an option."""
    return f"./{name}" if name.startswith("-") else name


def as_number(value: float) -> str:
    """Return a number as a command takes it, all of its digits.

    >>> as_number(1000000), as_number(2.0), as_number(1.3333333333)
    ('1000000', '2', '1.3333333333')
    """
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def table_suffix(name: str) -> str:
    """Return the suffix under which a table is kept: one of those that we know, in our own spelling."""
    from incrowd import io

    known = [suffix for entry in io.FORMATS for suffix in entry.suffixes]
    # An archive may be named as it likes: what it holds tells the format.
    return _known_suffix(name, [*known, ".zip"])


def model_suffix(name: str) -> str:
    """Return the same of a model, or of a table of rules."""
    from incrowd import io
    from incrowd.audit.files import DUMPS, EXCHANGED, PICKLES, SKOPS

    return _known_suffix(
        name, [*PICKLES, SKOPS, *DUMPS, *EXCHANGED, *(suffix for entry in io.FORMATS for suffix in entry.suffixes)]
    )


def _known_suffix(name: str, known: list[str]) -> str:
    fitting = [suffix for suffix in known if name.lower().endswith(suffix)]
    if not fitting:
        fact = f"'{name}' is not in a format that the studio can read"
        raise InputError(fact, f"use a file with one of the suffixes {', '.join(dict.fromkeys(known))}")
    return max(fitting, key=len)


def explain(error: BaseException, names: Mapping[str, str]) -> IncrowdError:
    """Return an error with names for people in place of paths; of a bug only its place, never its words."""
    if not isinstance(error, IncrowdError):
        trace, place = error.__traceback__, ""
        while trace is not None:
            place = f" in {Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}"
            trace = trace.tb_next
        fact = f"Unexpected {type(error).__name__}{place}"
        return IncrowdError(fact, "report this bug in incrowd")
    for path, name in names.items():
        error.fact = error.fact.replace(path, name)
        error.hint = None if error.hint is None else error.hint.replace(path, name)
    return error
