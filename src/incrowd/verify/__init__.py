"""The independent verifier: looks at what is handed out, shares no code with what made it.

``incrowd.verify(...)`` and ``incrowd.verify.verify(...)`` are the same function.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from incrowd import io
from incrowd.errors import InputError
from incrowd.verify.core import check
from incrowd.verify.folder import check_folder, reading_hints
from incrowd.verify.foreign import verify_table
from incrowd.verify.verdict import Check, Verdict

__all__ = ["Check", "Verdict", "check", "verify", "verify_table"]


def verify(
    release: Any,  # noqa: ANN401
    original: Any = None,  # noqa: ANN401
    *,
    rows: Any = None,  # noqa: ANN401
    query: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    **foreign: Any,  # noqa: ANN401
) -> Verdict:
    """Check a release folder, or somebody else's table.

    Parameters
    ----------
    release
        The folder of a release; or, with `foreign`, a published table as a frame or a file.
    original
        The table that the release was made from: a frame, a file, or a database URL with `query`.
    rows
        The original row number of each released row; by default the owner's private row map beside the folder.
    progress
        Called with (stage, done, total) while the original is read.
    foreign
        The parameters of `verify_table`, for a table without a manifest.
    """
    if foreign:
        return verify_table(release, **foreign)
    if not isinstance(release, str | Path) or not Path(release).is_dir():
        fact = "There is no release folder to verify"
        raise InputError(fact, "give the folder that release.save wrote, or quasi=[...] for somebody else's table")
    if isinstance(original, str | Path):
        types, tokens = reading_hints(Path(release))
        original = io.read(original, query=query, types=types, missing_tokens=tokens, progress=progress)
    elif original is not None:
        original = io.to_polars(original)
    return check_folder(Path(release), original, None if rows is None else np.asarray(rows))


class _Callable(ModuleType):
    """Lets the package be called like the function that it is named after."""

    def __call__(self, *args: Any, **kwargs: Any) -> Verdict:  # noqa: ANN401
        return verify(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
