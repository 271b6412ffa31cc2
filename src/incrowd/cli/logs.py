"""The log of calls: one JSON object per line, for machines that watch machines.

A call writes a line when it starts and one when it ends, each in a single write, so that several processes may share
a file; a line that starts and has no end is of a process that was killed. What a line may hold is listed here, and
nothing else is written: names of options, numbers, known words, names of files, URLs without passwords. No query, no
item and no token, which may be cells of somebody's table; no message, which stands on standard error; no seed.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from incrowd.cli import settings
from incrowd.errors import InputError
from incrowd.version import __version__

_SAFE = {
    "alpha", "attack", "attacks", "beta", "classifiers", "cv", "data", "datasets", "delta", "domains", "if-exists",
    "jobs", "json", "k", "k-map", "known", "l", "l-kind", "largest", "ledger", "loss", "m", "max-len", "method",
    "min-confidence", "min-support", "model", "non-members", "original", "output", "people", "plot", "population",
    "presence",
    "quick", "quiet", "refuse-repeat", "release", "repair", "rounding", "rules", "samples", "sampling-fraction",
    "schema", "search", "specials", "store", "t", "test", "test-rows", "threshold", "training", "tree", "trust",
    "width",
}  # fmt: skip
"""Options whose values are logged: numbers, known words, names of files. Of others: that they were given."""

_COUNTS = ("rows", "checks", "unchecked", "violations", "findings", "people", "spans", "breaches", "at_risk", "rules",
           "records", "classifiers", "columns", "notes", "warnings", "copies")  # fmt: skip
"""Keys of results that are counted: numbers as they are, of lists their length."""

_ROWS = ("input", "missing", "suppressed", "released")


class _Call:
    """What is known so far about the call that is logged."""

    def __init__(self, path: Path, command: tuple[str, ...]) -> None:
        self.path = path
        self.command = " ".join(command)
        self.run = secrets.token_hex(4)
        self.began = time.monotonic()
        self.stages: dict[str, float] = {}
        self.stage: tuple[str, float] | None = None
        self.counts: dict[str, Any] = {}


_call: _Call | None = None


def open_log(path: Path, command: tuple[str, ...]) -> None:
    """Log this call from now on; a file that cannot be written is refused before anything is done."""
    global _call  # noqa: PLW0603 - one call per process
    try:
        with path.open("ab"):
            pass
    except OSError as error:
        fact = f"Cannot write the log '{path}': {os.strerror(error.errno or 0)}"
        raise InputError(fact, "give a file in a folder that exists and that you may write to") from None
    _call = _Call(path, command)


def start(context: Any) -> None:  # noqa: ANN401
    """Write down that the call starts, and its parameters."""
    if _call is not None:
        _write("start", parameters=_parameters(context))


def enter(stage: str) -> None:
    """Note that a stage of the work begins; the time since the last such note belongs to the stage before."""
    if _call is None or (_call.stage is not None and _call.stage[0] == stage):
        return
    now = time.monotonic()
    if _call.stage is not None:
        name, since = _call.stage
        _call.stages[name] = _call.stages.get(name, 0.0) + now - since
    _call.stage = (stage, now)


def count(found: object) -> None:
    """Note how much a result holds."""
    if _call is None or not isinstance(found, Mapping):
        return
    for name in _COUNTS:
        value = found.get(name)
        if isinstance(value, Mapping) and name == "rows":
            _call.counts[name] = {part: int(value[part]) for part in _ROWS if part in value}
        elif isinstance(value, list | tuple):
            _call.counts[name] = len(value)
        elif isinstance(value, int):
            _call.counts[name] = int(value)


def finish(code: int, outcome: str, error: BaseException | None) -> None:
    """Write down how the call ended; a log that cannot be written any more is only reported."""
    global _call  # noqa: PLW0603
    if _call is None:
        return
    enter("")
    rounded = {name: round(seconds, 3) for name, seconds in _call.stages.items()}
    about = {} if error is None else {"error": type(error).__name__}
    seconds = round(time.monotonic() - _call.began, 3)
    try:
        _write("end", outcome=outcome, exit_code=code, seconds=seconds, stages=rounded, counts=_call.counts, **about)
    except OSError as problem:
        sys.stderr.write(
            f"Warning: could not write the end of this call into the log: {os.strerror(problem.errno or 0)}\n"
        )
    _call = None


def _write(event: str, **fields: Any) -> None:  # noqa: ANN401
    assert _call is not None
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    line = {"time": now, "event": event, "run": _call.run, "command": _call.command, "version": __version__, **fields}
    with _call.path.open("ab", buffering=0) as file:
        file.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")


def _parameters(context: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return what was given, by option; values only where they cannot be cells."""
    found: dict[str, Any] = {}
    for parameter in context.command.params:
        key, value = settings.key_of(parameter), context.params.get(parameter.name)
        source = context.get_parameter_source(parameter.name)
        if value is None or value in ([], ()) or source is None or source.name == "DEFAULT":
            continue
        found[key] = _plain(value) if key in _SAFE else "given"
    return found


def _plain(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return settings.without_password(str(value))
