"""Run: how a piece of work is watched, stopped, and shared out among processors.

Everything that takes long is given a run, calls it with a stage, the work done and the work to do, and lets through
what it raises. A run that was cancelled raises `Cancelled` at the next call.

>>> run = Run(progress=lambda stage, done, total: print(stage, done, total))
>>> run("reading", 1, 2)
reading 1 2
>>> run.cancel()
>>> run("reading", 2, 2)
Traceback (most recent call last):
    ...
incrowd.errors.Cancelled: The work was cancelled; nothing was written
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Event
from typing import TypeVar

from incrowd.errors import Cancelled, ParameterError

Progress = Callable[[str, int, int], None]
"""Called with a stage, the work done and the work to do; what it raises ends the work."""

A = TypeVar("A")
B = TypeVar("B")

_SETTING = "INCROWD_WORKERS"
_WORTH_THREADS = 100_000  # rows: with fewer, starting threads takes longer than they save
_limit: ContextVar[int | None] = ContextVar("workers", default=None)


@dataclass(frozen=True)
class Run:
    """Progress to somebody who watches, a way to stop, and the number of workers.

    Parameters
    ----------
    progress
        Called with (stage, done, total).
    workers
        Threads of one release, or processes of a comparison. Without it, threads as in `workers`, and one process.
    notice
        Called with a sentence for somebody who waits: how long it will take.
    """

    progress: Progress | None = None
    workers: int | None = None
    notice: Callable[[str], None] | None = None
    _cancelled: Event = field(default_factory=Event, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            fact = f"The number of workers is {self.workers}"
            raise ParameterError(fact, "use 1 or more, or none to take all processors")

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Tell how far the work is; raise `Cancelled` if it is to stop."""
        self.check()
        self.tell(stage, done, total)
        self.check()

    def tell(self, stage: str, done: int, total: int) -> None:
        """Tell how far the work is, where it is too late to stop."""
        if self.progress is not None:
            self.progress(stage, done, total)

    def announce(self, text: str) -> None:
        """Say something to somebody who waits."""
        if self.notice is not None:
            self.notice(text)

    def cancel(self) -> None:
        """Ask the work to stop; any thread may."""
        self._cancelled.set()

    def check(self) -> None:
        """Raise `Cancelled` if the work is to stop."""
        if self._cancelled.is_set():
            fact = "The work was cancelled; nothing was written"
            raise Cancelled(fact)

    @contextmanager
    def limits(self) -> Iterator[None]:
        """Let what happens inside use as many threads as this run has workers."""
        token = _limit.set(self.workers if self.workers is not None else _limit.get())
        try:
            yield
        finally:
            _limit.reset(token)


def workers() -> int:
    """Return how many threads to use: what the run says, else INCROWD_WORKERS, else all processors of this process."""
    limit = _limit.get()
    if limit is not None:
        return limit
    setting = os.environ.get(_SETTING, "")
    if setting.isdecimal() and int(setting) > 0:
        return int(setting)
    if setting:
        fact = f"{_SETTING} is {setting!r}"
        raise ParameterError(fact, "use a whole number from 1, or unset it")
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(work: Callable[[A], B], items: Iterable[A], n_rows: int) -> Iterator[B]:
    """Yield what comes of each item, in order; threads share the items if there are rows enough to gain by it."""
    if n_rows < _WORTH_THREADS:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(workers()) as pool:
        yield from pool.map(work, items)


def duration(seconds: float) -> str:
    """Say how long, as exactly as an estimate is.

    >>> [duration(seconds) for seconds in (4.4, 43, 130, 8000)]
    ['4 s', '40 s', '2 minutes', '2.2 hours']
    """
    if seconds < 10:
        return f"{seconds:.0f} s"
    if seconds < 100:
        return f"{10 * round(seconds / 10)} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
