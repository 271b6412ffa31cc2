"""The last step of everything that makes a release: nobody gets it before it was verified."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

import polars as pl

from incrowd.release.projections import ProjectionRelease
from incrowd.release.release import Release

Payload = TypeVar("Payload", Release, ProjectionRelease)


def checked(
    release: Payload,
    original: pl.DataFrame,
    progress: Callable[[str, int, int], None] = lambda _stage, _done, _total: None,
    numbers: Mapping[str, float | int | None] | None = None,
) -> Payload:
    """Return the release with the levels that it reaches, if it keeps its promises.

    Parameters
    ----------
    original
        The frame that it was made of.
    progress
        Called with (stage, done, total).
    numbers
        What else is to stand in its `levels`.
    """
    progress("verifying", 0, 1)
    less: dict[str, bool] = {"promises_only": True} if isinstance(release, Release) else {}
    verdict = release.verify(original, **less)
    verdict.raise_for_violations()
    progress("verifying", 1, 1)
    return replace(release, levels=verdict.levels | dict(numbers or {}))
