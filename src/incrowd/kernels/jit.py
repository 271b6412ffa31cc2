"""The one place that decides how kernels are compiled, when they are not, and when what was compiled is forgotten."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from functools import cache, cached_property, update_wrapper
from pathlib import Path
from threading import RLock
from typing import Any, Generic, ParamSpec, TypeVar, cast

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

P = ParamSpec("P")
R = TypeVar("R")

_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": False, "error_model": "numpy", "no_cfunc_wrapper": True}
_COMPILING = RLock()
_LOCKED: set[Path] = set()
_INTERPRET = ContextVar("interpret", default=False)

COMPILE_ALWAYS = os.environ.get("INCROWD_COMPILE", "") not in ("", "0")
"""Whether small tables, too, go through compiled kernels; tests set it."""


class Kernel(Generic[P, R]):
    """A function that is compiled when it is first called, unless the caller said that the work is small."""

    def __init__(self, function: Callable[P, R], **options: Any) -> None:  # noqa: ANN401
        update_wrapper(self, function)
        self._function = function
        self._options = options

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the compiled function, or inside `interpreted` the Python one."""
        call = self._function if _INTERPRET.get() else self._compiled
        return call(*args, **kwargs)

    @cached_property
    def _compiled(self) -> Callable[P, R]:
        import numba  # noqa: PLC0415 - small tables do without it

        _forget_stale_cache(Path(__file__).parent)
        try:
            compiled = numba.njit(**self._options, **_OPTIONS)(self._function)
        except RuntimeError:  # a read-only installation without a home has no place for the cache
            compiled = numba.njit(**_OPTIONS)(self._function)
        kept = getattr(compiled, "stats", None)  # Numba may have been told not to compile
        if kept is not None and kept.cache_path is not None:
            lock = Path(kept.cache_path) / f"{self._function.__module__}.lock"
            compiled.compile = _one_at_a_time(compiled.compile, lock)
        return cast("Callable[P, R]", compiled)

    @property
    def _numba_type_(self) -> Any:  # noqa: ANN401
        """What Numba asks of a global that a compiled function calls."""
        return self._compiled._numba_type_  # type: ignore[attr-defined]


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a small function into every kernel that calls it.

    Worth it in inner loops: a call copies the description of every array that it hands over.
    """
    return Kernel(function, forceinline=True)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function of arrays and scalars when it is first called.

    Serial, without the interpreter lock (threads may each take a slice of rows), kept on disk between processes, and
    with strict floating point so that results do not depend on the machine. Numba's own switches apply:
    ``NUMBA_DISABLE_JIT=1`` leaves the Python function, ``NUMBA_BOUNDSCHECK=1`` checks every index.

    Parameters
    ----------
    function
        Plain Python that Numba can compile. Write loops: NumPy's sorting, searching and slicing compile slowly.
    """
    return Kernel(function, cache=True)


@contextmanager
def interpreted(when: bool) -> Iterator[None]:
    """Run kernels as the Python that they are: loading Numba takes longer than a small table does.

    ``INCROWD_COMPILE=1`` compiles even so.
    """
    token = _INTERPRET.set(when and not COMPILE_ALWAYS)
    try:
        yield
    finally:
        _INTERPRET.reset(token)


def _one_at_a_time(compile_for: Callable[..., R], lock: Path) -> Callable[..., R]:
    """Let no two processes compile kernels of one file at once: the second finds what the first has kept on disk.

    Numba numbers what it keeps without looking at what another process is about to write, so two signatures of a kernel
    could get one number, and from then on each other's code. Files use each other without cycles, and a process
    compiles in one thread at a time, so nobody waits for somebody who waits for them.
    """

    def compile_alone(*args: Any) -> R:  # noqa: ANN401
        with _COMPILING, ExitStack() as held:
            if fcntl is not None and lock not in _LOCKED:
                with suppress(OSError):  # a file system without locks
                    file = held.enter_context(lock.open("ab"))
                    fcntl.flock(file, fcntl.LOCK_EX)
                _LOCKED.add(lock)
                held.callback(_LOCKED.discard, lock)
            return compile_for(*args)

    return compile_alone


@cache
def _forget_stale_cache(folder: Path) -> None:
    """Remove compiled kernels of every file that has changed, or that uses one that has.

    Numba looks only at the file of the kernel itself and would keep an old version of what it calls elsewhere.
    """
    kept = folder / "__pycache__"
    stamp = kept / "kernels.json"
    with suppress(OSError):
        now = _versions(folder)
        before = json.loads(stamp.read_text(encoding="utf-8")) if stamp.exists() else {}
        if before == now:
            return
        kept.mkdir(exist_ok=True)
        for path in [*kept.glob("*.nbi"), *kept.glob("*.nbc")]:
            name = path.name.partition(".")[0]
            if name not in before or before[name] != now.get(name):
                path.unlink(missing_ok=True)
        fresh = kept / f"kernels.{os.getpid()}.json"  # another process may be reading the old one
        fresh.write_text(json.dumps(now), encoding="utf-8")
        fresh.replace(stamp)


def _versions(folder: Path) -> dict[str, list[str]]:
    """Return for each kernel file the time and size of all files that it is made of."""
    files = {path.stem: path for path in folder.glob("*.py")}
    uses = {
        name: set(re.findall(r"^from incrowd\.kernels\.(\w+) import", path.read_text(encoding="utf-8"), re.MULTILINE))
        for name, path in files.items()
    }
    version = {name: f"{name} {path.stat().st_mtime_ns} {path.stat().st_size}" for name, path in files.items()}
    versions = {}
    for name in files:
        reached, pending = {name}, [name]
        while pending:
            new = uses.get(pending.pop(), set()) - reached
            reached |= new
            pending += new
        versions[name] = sorted(version[other] for other in reached if other in version)
    return versions
