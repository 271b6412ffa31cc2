"""A plain judge of release folders: slow, obvious, and made of nothing but docs/release-format.md and the original.

It imports nothing of incrowd. Polars reads and writes Parquet files here and nothing else: everything is decided
on lists of Python values.
"""

from __future__ import annotations

from pathlib import Path

from checks.gauntlet.oracle.asked import Asked
from checks.gauntlet.oracle.files import Unreadable, read_folder
from checks.gauntlet.oracle.projections import judge_projections
from checks.gauntlet.oracle.rows import judge_csv, judge_rows

__all__ = ["Asked", "judge"]


def judge(folder: Path, asked: Asked) -> list[str]:
    """Return what is wrong with the files of a release, one sentence each; nothing if all is well."""
    problems: list[str] = []
    try:
        found = read_folder(folder, problems)
        if found.manifest.get("payload") == "projections":
            judge_projections(found, asked, problems)
        else:
            judge_rows(found, asked, problems)
        judge_csv(folder, found, problems)
    except Unreadable as error:
        problems.append(str(error))
    except (LookupError, TypeError, ValueError, AttributeError, StopIteration) as error:
        problems.append(f"the files are not what the format says: {type(error).__name__} {error}")
    return problems
