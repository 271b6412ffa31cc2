"""What became of the columns of a release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from incrowd import io
from incrowd.runs import Run
from incrowd.workflow.sources import working

if TYPE_CHECKING:
    from incrowd.release import Release
    from incrowd.release.mapping import Explanation


def explain(
    release: Release | str | Path,
    columns: Sequence[str] | None = None,
    *,
    mapping: str | Path | None = None,
    run: Run | None = None,
) -> list[Explanation]:
    """Say how quasi-identifiers are published, all of them or some.

    Parameters
    ----------
    mapping
        A file to write the applied recoding to: for the owner alone; see `RowRelease.mapping`.
    """
    from incrowd.release import Release
    from incrowd.release.mapping import explain as explain_column
    from incrowd.release.mapping import mapping as applied
    from incrowd.release.mapping import rows_of

    with working(run):
        loaded = Release.load(release) if isinstance(release, str | Path) else release
        Release.expect(loaded, "a release of baskets says itself what each name stands for")
        rows = rows_of(loaded)
        found = [explain_column(rows, name) for name in columns or rows.quasi]
        if mapping is not None:
            io.write(applied(rows), mapping)
        return found
