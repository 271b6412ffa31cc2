"""Run many tasks of an experiment: in parallel, and again from where it stopped.

A *task* is a dict of JSON values that says everything about one computation, and its result is one too. Every finished
task is one JSON line, appended to the store at once, under a hash of the function's name and the task, with the commit
and a fingerprint of the code that computed it (`incrowd.evaluate.provenance`): a run that was killed goes on with what
is left, and what other code computed is computed again. A task that failed is recorded with the reason and tried again
next time. The store holds what tasks and results hold; data belong in neither (name them, and add a `fingerprint`). Of
an error that is not incrowd's own only its kind and place are kept, because its message might quote a value.

Workers are fresh processes (a JVM does not survive a fork), and they are niced. As always with those, a script that
calls this needs ``if __name__ == "__main__":``.

>>> run_tasks(len, [{"a": 1}])[0]["failed"]
'A task returned int; results are dicts of JSON values'
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import polars as pl

from incrowd.errors import IncrowdError, InputError, ParameterError
from incrowd.evaluate.provenance import code_of, commit
from incrowd.runs import workers

Task = dict[str, Any]
Function = Callable[[Task], Mapping[str, Any]]
Progress = Callable[[str, int, int], None]

_NICENESS = 10
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "INCROWD_WORKERS")
_FILE = "cells.jsonl"
_DIED = "The worker process died: too little memory, or a crash in native code"


@dataclass(frozen=True)
class Cell:
    """What came of a task, and who computed it.

    Attributes
    ----------
    result
        Of the function; ``{"failed": reason}`` if it failed, with a ``"traceback"`` if that was in this run.
    code, commit
        The fingerprint of the code that computed it, and its commit where that is known.
    seconds
        How long it took.
    """

    result: Task
    code: str | None = None
    commit: str | None = None
    seconds: float | None = None


def run_tasks(
    function: Function,
    tasks: Sequence[Task],
    store: str | Path | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Task]:
    """Return the result of each task, in their order: see `compute_cells`.

    A failed task is ``{"failed": reason}``, with a ``"traceback"`` if it failed in this run (never in the store).
    Numbers that are not finite come back as ``None``.
    """
    return [cell.result for cell in compute_cells(function, tasks, store, jobs, progress)]


def compute_cells(
    function: Function,
    tasks: Sequence[Task],
    store: str | Path | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Cell]:
    """Return what came of each task, in their order; equal tasks are computed once.

    Parameters
    ----------
    function
        Takes a task, returns a dict of JSON values. With more than one job it must be importable: a module's own, or a
        `functools.partial` of one that binds what is too large for a task, such as the table that the task names.
    tasks
        What to compute.
    store
        File of finished tasks, or a folder for it; without one, nothing is kept. What other code computed than that of
        today is computed again.
    jobs
        Number of processes; with 1 everything happens in this one.
    progress
        Called with ("tasks", done, total) after each task; what it raises ends the run, and what is finished is kept.
    """
    if jobs < 1:
        fact = f"jobs is {jobs}"
        raise ParameterError(fact, "use 1 or more")
    report = progress or (lambda _stage, _done, _total: None)
    keys = [key_of(function, task) for task in tasks]
    wanted = dict(zip(keys, tasks, strict=True))
    file = None if store is None else store_file(store)
    made = {"code": code_of(function), "commit": commit()}
    kept = {} if file is None else kept_cells(file)
    found = {key: kept[key] for key in wanted if key in kept and kept[key].code == made["code"]}
    todo = {key: task for key, task in wanted.items() if key not in found}
    report("tasks", len(found), len(wanted))
    for key, outcome in _outcomes(function, todo, min(jobs, len(todo))):
        result = outcome.get("result", {name: outcome[name] for name in ("failed", "traceback") if name in outcome})
        found[key] = Cell(result, **made, seconds=outcome["seconds"])
        if file is not None:
            lasting = {name: value for name, value in outcome.items() if name != "traceback"}
            _append(file, {"key": key, "task": todo[key], **made, **lasting})
        report("tasks", len(found), len(wanted))
    return [found[key] for key in keys]


def kept_cells(store: str | Path) -> dict[str, Cell]:
    """Return what a store has, by key: of each finished task the cell that was computed last, by whatever code."""
    return {
        key: Cell(line["result"], line.get("code"), line.get("commit"), line.get("seconds"))
        for key, line in finished(store).items()
    }


def key_of(function: Function, task: Task) -> str:
    """Return the hash under which a task's result is kept."""
    try:
        asked = json.dumps(task, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError):
        fact = "A task has a value that is not JSON"
        raise ParameterError(fact, "use text, whole and finite numbers, booleans, None, lists and dicts") from None
    own = function.func if isinstance(function, partial) else function  # what a partial binds is for the task to name
    name = f"{own.__module__}.{getattr(own, '__qualname__', type(own).__qualname__)}"
    return hashlib.sha256(f"{name}\n{asked}".encode()).hexdigest()[:32]


def fingerprint(frame: pl.DataFrame) -> str:
    """Return a hash of a table's names, types, order and values, for tasks that are about it."""
    digest = hashlib.sha256(repr(list(frame.schema.items())).encode())
    digest.update(frame.write_csv(quote_style="non_numeric").encode())
    return digest.hexdigest()[:16]


def store_file(store: str | Path) -> Path:
    """Return the file of a store: itself if its name has an ending, else one in that folder."""
    path = Path(store)
    return path / _FILE if path.is_dir() or not path.suffix else path


def finished(store: str | Path) -> dict[str, Task]:
    """Return the lines of finished tasks by key; a line that a crash cut short does not count.

    A file that is not a store is refused, so that nothing is ever added to it.
    """
    file = store_file(store)
    if not file.exists():
        return {}
    found = [_line(text) for text in file.read_text(encoding="utf-8", errors="replace").splitlines()]
    if found and not any("key" in line for line in found):
        fact = f"'{file.name}' is not a store: it has no result of an experiment"
        raise InputError(fact, "name a new file or folder, for example store='run.jsonl'")
    return {str(line.get("key")): line for line in found if "result" in line}


def _line(text: str) -> Task:
    try:
        line = json.loads(text)
    except ValueError:
        return {}
    return line if isinstance(line, dict) else {}


def _append(file: Path, line: Task) -> None:
    """Add a line in one write, so that another run of the same store cannot come in between."""
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(line, ensure_ascii=False, allow_nan=False)
    with file.open("a+b") as out:
        if out.tell() > 0:
            out.seek(-1, os.SEEK_END)
            text = text if out.read(1) == b"\n" else f"\n{text}"  # the last run was cut short inside a line
        out.write(f"{text}\n".encode())
        out.flush()
        os.fsync(out.fileno())


def _outcomes(function: Function, todo: dict[str, Task], jobs: int) -> Iterator[tuple[str, Task]]:
    if jobs <= 1:
        for key, task in todo.items():
            yield key, _compute(function, task)
        return
    left = dict(todo)
    for key, outcome in _parallel(function, todo, jobs):
        del left[key]
        yield key, outcome
    for key, task in left.items():  # a worker died, and nobody knows of which: one by one, so that only that one fails
        alone = dict(_parallel(function, {key: task}, 1))
        yield key, alone.get(key, {"failed": _DIED, "seconds": None})


def _parallel(function: Function, todo: dict[str, Task], jobs: int) -> Iterator[tuple[str, Task]]:
    """Yield what workers computed, in the order of completion; ends early when one of them dies."""
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_be_nice)
    try:
        with _few_threads(jobs):
            waiting: dict[Future[Task], str] = {
                pool.submit(_compute, function, task): key for key, task in todo.items()
            }
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                key = waiting.pop(future)
                if not isinstance(future.exception(), BrokenProcessPool):
                    yield key, future.result()
    finally:
        pool.shutdown(wait=not waiting, cancel_futures=True)


def _be_nice() -> None:
    signal.signal(signal.SIGINT, lambda *_: os._exit(1))  # Ctrl-C is for the process that waits: no word from this one
    if hasattr(os, "nice"):
        os.nice(_NICENESS)


@contextmanager
def _few_threads(jobs: int) -> Iterator[None]:
    """Let workers that start now share the processors instead of each taking all of them."""
    share = str(max(1, workers() // jobs))
    names = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(names, share))
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]


def _compute(function: Function, task: Task) -> Task:
    """Compute one task; whatever goes wrong is an outcome too."""
    start = time.perf_counter()
    try:
        result: object = function(task)
        if not isinstance(result, Mapping):
            fact = f"A task returned {type(result).__name__}; results are dicts of JSON values"
            raise ParameterError(fact)  # noqa: TRY301
        outcome: Task = {"result": json.loads(json.dumps(_finite(result), allow_nan=False))}
    except Exception as error:  # a task that fails is recorded, the others go on
        outcome = {"failed": _reason(error), "traceback": traceback.format_exc()}
    return outcome | {"seconds": round(time.perf_counter() - start, 3)}


def _finite(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, Mapping):
        return {str(name): _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _reason(error: Exception) -> str:
    if isinstance(error, IncrowdError):
        return error.fact
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"
