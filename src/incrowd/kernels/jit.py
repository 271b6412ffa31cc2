"""The one place that decides how kernels are compiled, and when what was compiled is forgotten."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")

_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": False, "error_model": "numpy", "no_cfunc_wrapper": True}


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a small function into every kernel that calls it.

    Worth it in inner loops: a call copies the description of every array that it hands over.
    """
    return cast("Callable[P, R]", numba.njit(forceinline=True, **_OPTIONS)(function))


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
    try:
        compiled = numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # a read-only installation without a home has no place for the cache
        compiled = numba.njit(**_OPTIONS)(function)
    return cast("Callable[P, R]", compiled)


def _forget_stale_cache(folder: Path) -> None:
    """Remove compiled kernels when any kernel file has changed.

    Numba looks only at the file of the kernel itself and would keep an old version of what it calls elsewhere.
    """
    cache = folder / "__pycache__"
    stamp = cache / "kernels.stamp"
    files = sorted(folder.glob("*.py"))
    now = "\n".join(f"{path.name} {path.stat().st_mtime_ns} {path.stat().st_size}" for path in files)
    with suppress(OSError):
        if stamp.exists() and stamp.read_text(encoding="utf-8") == now:
            return
        for path in [*cache.glob("*.nbi"), *cache.glob("*.nbc")]:
            path.unlink(missing_ok=True)
        cache.mkdir(exist_ok=True)
        stamp.write_text(now, encoding="utf-8")


_forget_stale_cache(Path(__file__).parent)
