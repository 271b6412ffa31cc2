"""Work in the background: watched by any number of pages, cancelled by one, one piece of work at a time.

Work waits for its turn because a run takes all processors anyway, and because warnings that methods raise are
collected per process.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from incrowd.errors import Cancelled
from incrowd.runs import Run

State = Literal["waiting", "running", "done", "failed", "cancelled"]

_PATIENCE = 0.1  # seconds between looks whether a waiting job was cancelled
_NICE = 10  # a tenth of the processor beside a page that is asked for


def step_back() -> None:
    """Let pages go before this thread and those that it starts, where threads have a priority of their own."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


@dataclass
class Job:
    """One piece of work.

    Attributes
    ----------
    name
        What it is about, such as ``publish``.
    given
        Its settings, to show them again.
    turn
        Held while it works: jobs with the same lock work one after the other.
    state, stage, done, total
        How far it is.
    result, error
        What came out.
    """

    name: str
    given: dict[str, Any] = field(default_factory=dict)
    turn: threading.Lock = field(default_factory=threading.Lock)
    state: State = "waiting"
    stage: str = "waiting"
    done: int = 0
    total: int = 0
    result: Any = None
    error: BaseException | None = None
    started: float = field(default_factory=time.monotonic)
    run: Run = field(init=False)
    thread: threading.Thread | None = None

    def __post_init__(self) -> None:
        self.run = Run(self._tell)

    @property
    def is_active(self) -> bool:
        """Whether it has not ended."""
        return self.state in ("waiting", "running")

    def start(self, work: Callable[[Run], Any]) -> Job:
        """Begin in a thread of its own."""
        self.thread = threading.Thread(target=self._work, args=(work,), name=f"studio-{self.name}", daemon=True)
        self.thread.start()
        return self

    def cancel(self) -> None:
        """Ask it to stop."""
        self.run.cancel()

    def seen(self) -> dict[str, Any]:
        """Return how far it is, for a page."""
        return {
            "state": self.state,
            "stage": self.stage,
            "done": self.done,
            "total": self.total,
            "seconds": round(time.monotonic() - self.started),
        }

    def _tell(self, stage: str, done: int, total: int) -> None:
        self.stage, self.done, self.total = stage, done, total

    def _work(self, work: Callable[[Run], Any]) -> None:
        step_back()
        try:
            while not self.turn.acquire(timeout=_PATIENCE):
                self.run.check()
            try:
                self.run.check()
                self.state, self.stage = "running", "starting"
                self.result = work(self.run)
            finally:
                self.turn.release()
            self.state = "done"
        except Cancelled:
            self.state = "cancelled"
        except BaseException as error:
            self.error = error
            self.state = "failed"
