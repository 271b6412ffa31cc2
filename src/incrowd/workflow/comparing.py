"""A release beside its original, for the owner: people by row, and values by column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from incrowd.release import ProjectionRelease, RowRelease
    from incrowd.report.summary import ColumnStory

_SHOWN_ROWS = 10


@dataclass(frozen=True)
class SideBySide:
    """A release beside its original.

    Attributes
    ----------
    columns
        What each column lost, with its distribution before and after.
    names
        The columns of the rows.
    rows
        For some people, each cell before and after; ``None`` for what is not there.
    is_paired
        Whether rows have a before; those of projections have not, as no row of theirs is about one person.
    """

    columns: tuple[ColumnStory, ...]
    names: tuple[str, ...]
    rows: tuple[tuple[tuple[str | None, str | None], ...], ...]
    is_paired: bool = True


def side_by_side(release: RowRelease | ProjectionRelease, original: pl.DataFrame) -> SideBySide:
    """Lay a release beside its original; rows by the owner's row map.

    Parameters
    ----------
    original
        The table, as it was read for the release.
    """
    import polars as pl

    from incrowd.report.columns import columns_of

    stories = columns_of(release, release.levels or {}).each
    private = release.private
    if not release.has_cells or private is None:
        (first, *_) = release.written_tables()
        alone = tuple(tuple((None, _text(cell)) for cell in row) for row in first.head(_SHOWN_ROWS).iter_rows())
        return SideBySide(stories, tuple(first.columns), alone, is_paired=False)
    labelled = release.labelled()
    # Rows stand in the order of what is published: the first ones would all be of one crowd.
    at = sorted({round(n * (labelled.height - 1) / max(1, _SHOWN_ROWS - 1)) for n in range(_SHOWN_ROWS)})
    rows = [None if row < 0 else row for row in private.rows[at].tolist()]  # filler is nobody's
    shown, people = labelled[at], original.select(pl.all().gather(rows))
    names = tuple(dict.fromkeys([*(name for name in original.columns if name in shown.columns), *shown.columns]))
    pairs = tuple(
        tuple((_cell(people, row, name), _cell(shown, row, name)) for name in names) for row in range(shown.height)
    )
    return SideBySide(stories, names, pairs)


def _cell(frame: pl.DataFrame, row: int, name: str) -> str | None:
    from incrowd.hierarchy.hierarchy import MISSING

    return (_text(frame[row, name]) or MISSING) if name in frame.columns else None


def _text(cell: Any) -> str | None:  # noqa: ANN401
    return None if cell is None else f"{cell:.3g}" if isinstance(cell, float) else str(cell)
