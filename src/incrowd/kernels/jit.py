"""The one place that decides how kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")

_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": False, "error_model": "numpy", "no_cfunc_wrapper": True}


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function of arrays and scalars when it is first called.

    Serial, without the interpreter lock (threads may each take a slice of rows), kept on disk between processes, and
    with strict floating point so that results do not depend on the machine. Numba's own switches apply:
    ``NUMBA_DISABLE_JIT=1`` leaves the Python function, ``NUMBA_BOUNDSCHECK=1`` checks every index.

    Parameters
    ----------
    function
        Plain Python that Numba can compile. The cache notices edits in the function's own file only, so kernels that
        call each other share a file.
    """
    try:
        compiled = numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # a read-only installation without a home has no place for the cache
        compiled = numba.njit(**_OPTIONS)(function)
    return cast("Callable[P, R]", compiled)
