"""How the command line ends: a documented exit code and a sentence for each way, and no traceback.

Only light modules are imported here, so that Ctrl-C is handled while the heavy ones load.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from incrowd.cli.secrecy import hide_all, hiding, remember
from incrowd.cli.terms import as_options, explain_usage, is_usage_error
from incrowd.errors import (
    Cancelled,
    IncrowdError,
    InfeasibleError,
    InputError,
    PrivacyWarning,
    QualityWarning,
    VerificationError,
)

DONE, FAULT, BAD_INPUT, NOT_MET, NOT_CHECKED, HUNG_UP, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 4, 129, 130, 143
EXIT_CODES = {
    DONE: ("done", "what was asked for is done; a check holds as far as it could be made"),
    FAULT: ("bug", "a bug in incrowd; please report it"),
    BAD_INPUT: ("bad input", "an option, a file, a schema or the memory is not as it must be; nothing was written"),
    NOT_MET: ("privacy not met", "a promise is broken, or no release can keep it; nothing was written"),
    NOT_CHECKED: ("could not be checked", "a promise could not be checked with the original that was given"),
    HUNG_UP: ("stopped by SIGHUP", "the terminal was closed; what was written is complete"),
    INTERRUPTED: ("stopped by Ctrl-C", "what was written is listed, and complete"),
    TERMINATED: ("stopped by SIGTERM", "what was written is listed, and complete"),
}
"""Every way to end: a name, as in the log, and what it means. docs/operations.md has the same table."""

CODES = f"Exit codes: {', '.join(f'{code} {name}' for code, (name, _) in EXIT_CODES.items())}."

_SIGNALS = {"SIGTERM": signal.SIG_DFL, "SIGHUP": signal.SIG_DFL, "SIGINT": signal.default_int_handler}
_NO_MEMORY = (
    "allocate memory", "failed to map segment", "memory allocation", "out of memory", "spawn threads", "new thread",
)  # fmt: skip
_MORE_MEMORY = (
    "raise the limit (ulimit -v), close other programs, or publish fewer rows or columns; no output is incomplete"
)
_REPORT = "report this bug in incrowd; INCROWD_TRACEBACK=1 shows where it is, and may show values of the table"


class Terminated(BaseException):
    """The process was asked to end. Not a KeyboardInterrupt: for a long search that one means to publish its best."""


def _written_paths() -> tuple[Path | str, ...]:
    """Return what this process has written so far; the room that writes may not be loaded yet."""
    writer = sys.modules.get("incrowd.io.atomic")
    return () if writer is None else writer.written_paths()


class _State:
    """What one call of the command line has to say when it ends early."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self.kept: str | None = None
        self.as_json = "--json" in sys.argv
        self.written_before = _written_paths()


_state = _State()


def keep(text: str) -> None:
    """Note what is true when the command is stopped, other than that nothing was written."""
    _state.kept = text


def answer_in_json() -> None:
    """Note that errors are to be told as JSON: a file or a variable may have asked for it."""
    _state.as_json = True


def run() -> None:
    """Run the command line and leave with its exit code."""
    global _state  # noqa: PLW0603 - one command line per process
    _state = _State()
    with _handlers(), warnings.catch_warnings(), hiding():
        warnings.simplefilter("ignore", PrivacyWarning)  # what matters is in the result
        warnings.simplefilter("ignore", QualityWarning)
        problem: BaseException | None = None
        try:
            remember(sys.argv[1:])
            _escape_unknown_characters()
            from incrowd.cli.commands import whole_command

            code = whole_command()(standalone_mode=False, prog_name="incrowd") or DONE
            code = _stopped() if code == INTERRUPTED else code
        except BaseException as error:
            problem = error
            code = _end(error)
        code = _flush(code)
        _log(code, problem)
    sys.exit(code)


def _log(code: int, problem: BaseException | None) -> None:
    logs = sys.modules.get("incrowd.cli.logs")  # it may have been too early to load it
    if logs is not None:
        name, _ = EXIT_CODES.get(code, (f"stopped by signal {code - 128}", ""))
        logs.finish(code, name, None if isinstance(problem, SystemExit) else problem)


def _end(error: BaseException) -> int:
    """Say what happened, and return the exit code."""
    if isinstance(error, SystemExit) and error.code != INTERRUPTED:
        return error.code if isinstance(error.code, int) else FAULT
    if type(error).__name__ == "NoArgsIsHelpError":
        _tell(str(error))
        return BAD_INPUT
    if is_usage_error(error):
        return complain(explain_usage(error), BAD_INPUT)
    if isinstance(error, InfeasibleError | VerificationError):
        return complain(error, NOT_MET)
    if (
        isinstance(error, Cancelled | KeyboardInterrupt | SystemExit)
        or type(error).__name__ == "Abort"
        or (_state.signal is not None and not isinstance(error, IncrowdError))
    ):
        return _stopped()
    if isinstance(error, IncrowdError):
        return complain(error, BAD_INPUT)
    if _lacks_memory(error):
        return complain(InputError("There is not enough memory for this", _MORE_MEMORY), BAD_INPUT)
    if isinstance(error, OSError):
        where = f"'{error.filename}'" if error.filename else "a file"
        fact = f"Could not read or write {where}: {os.strerror(error.errno) if error.errno else type(error).__name__}"
        return complain(InputError(fact, "correct the cause and run it again"), BAD_INPUT)
    if os.environ.get("INCROWD_TRACEBACK"):
        _tell(hide_all("".join(traceback.format_exception(error))))
    last = traceback.extract_tb(error.__traceback__)[-1]
    fact = f"Unexpected {type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"
    return complain(IncrowdError(fact, _REPORT), FAULT)


def complain(error: IncrowdError, code: int) -> int:
    """Say what is wrong, for people or as JSON, and return the exit code."""
    if _state.as_json:
        hint = None if error.hint is None else as_options(error.hint)
        found: dict[str, Any] = {"error": type(error).__name__, "fact": as_options(error.fact), "hint": hint}
        found |= {name: getattr(error, name) for name in ("best", "violations") if hasattr(error, name)}
        with suppress(OSError):
            print(json.dumps(found, ensure_ascii=False), flush=True)  # noqa: T201
    else:
        _tell(f"Error: {as_options(str(error))}")
    if written := _written():
        _tell(written)
    return code


def _stopped() -> int:
    """Say what is true after a stop; workers that are still busy end too."""
    if "multiprocessing" in sys.modules:
        for child in sys.modules["multiprocessing"].active_children():
            child.terminate()
    _tell(f"Stopped. {_written() or _state.kept or 'Nothing was written.'}")
    return INTERRUPTED if _state.signal is None else 128 + _state.signal


def _written() -> str:
    before = {id(path) for path in _state.written_before}
    mine = [path for path in _written_paths() if id(path) not in before]
    names = dict.fromkeys(
        str(path) for path in mine if isinstance(path, str) or os.path.lexists(path)
    )  # parts of a folder have moved with it
    return f"Written and complete: {', '.join(names)}. {_state.kept or 'Nothing else was written.'}" if names else ""


def _tell(text: str) -> None:
    with suppress(OSError, ValueError):  # standard error is closed
        print(text, file=sys.stderr, flush=True)  # noqa: T201


def _lacks_memory(error: BaseException) -> bool:
    seen: BaseException | None = error
    while seen is not None:
        message = str(seen).lower()
        is_about_it = isinstance(seen, OSError | ImportError | RuntimeError) or type(seen).__name__ == "PanicException"
        if isinstance(seen, MemoryError) or (isinstance(seen, OSError) and seen.errno == errno.ENOMEM):
            return True
        if is_about_it and any(words in message for words in _NO_MEMORY):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _flush(code: int) -> int:
    """Write out what is printed; one that cannot be written is reported once, not again at exit."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        mute_output()
    except OSError as error:
        mute_output()
        return complain(unwritable_output(error), code or BAD_INPUT)
    return code


def unwritable_output(error: OSError) -> InputError:
    """Say that standard output cannot be written."""
    fact = f"Standard output cannot be written: {os.strerror(error.errno or 0)}"
    return InputError(fact, "free some space, or write elsewhere")


def mute_output() -> None:
    """Send what is still to be printed nowhere: its reader is gone, or its disk is full."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _escape_unknown_characters() -> None:
    """Write escapes for characters, in names of files, that the terminal's encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


@contextmanager
def _handlers() -> Iterator[None]:
    """Handle SIGINT, SIGTERM and SIGHUP, unless somebody else does or they are ignored."""
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for name, default in _SIGNALS.items():
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == default:
                before[number] = signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, _frame: FrameType | None) -> None:
    if number != signal.SIGINT and _state.signal == number:
        return  # it is ending already, and must not be disturbed while it cleans up
    _state.signal = number
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated
