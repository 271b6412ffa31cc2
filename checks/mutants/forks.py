"""Run tests again and again in forks of one process that has the libraries loaded: imports take longer than most tests.

Reads one JSON line per run, ``{"tests": [...], "limit": seconds}``, and answers with one: the exit code of pytest, or
``null`` when it took too long. The package itself and its tests are imported in the fork, so with the mistake in them.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import time

import pytest

_LIBRARIES = (
    *("numpy", "scipy.optimize", "scipy.sparse", "scipy.spatial", "polars", "pandas", "pyarrow", "narwhals"),
    *("sklearn.tree", "sklearn.ensemble", "sklearn.cluster", "sklearn.compose", "sklearn.decomposition"),
    *("sklearn.pipeline", "sklearn.preprocessing", "hypothesis.internal.conjecture.engine", "numba", "typer", "rich"),
)
_OPTIONS = (
    *("-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # hypothesis is loaded before pytest looks at it
)
_POLLED = 0.02  # seconds between looks at the fork


def run(tests: list[str], limit: float) -> int | None:
    """Run tests in a fork; return the exit code, or ``None`` if they took too long."""
    fork = os.fork()
    if fork == 0:
        os.setsid()
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(silence, stream)
        os._exit(pytest.main([*_OPTIONS, *tests]))
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        done, status = os.waitpid(fork, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(_POLLED)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(fork, signal.SIGKILL)
    os.waitpid(fork, 0)
    return None


def main() -> None:
    """Load the libraries and answer until nobody asks."""
    for name in _LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(run(asked["tests"], asked["limit"])), flush=True)


if __name__ == "__main__":
    main()
