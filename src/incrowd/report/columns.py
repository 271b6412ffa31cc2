"""What each column lost: from the release as everybody has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from incrowd.errors import counted
from incrowd.hierarchy.hierarchy import text
from incrowd.manifest import Ranges, Shown
from incrowd.release import ProjectionRelease, RowRelease
from incrowd.report.bars import Picture, picture_of_names, picture_of_values, quasi_picture, shown_values
from incrowd.report.summary import Columns, ColumnStory

_UNCHANGED, _LITTLE, _MUCH = 0.005, 0.25, 0.995


def columns_of(release: RowRelease | ProjectionRelease, levels: Mapping[str, Any]) -> Columns:
    """Tell the story of every published column.

    Parameters
    ----------
    release
        As everybody has it: without its private part.
    levels
        What the check of the public files found.
    """
    seen = replace(release, levels=dict(levels)).overview()
    notes = tuple(_sentence(note) for note in (*seen.warnings, *seen.notes))
    if not release.has_cells:
        return Columns(None, tuple(_projected(release)), notes)
    lost = seen.details["loss"]
    each = [_quasi(release, m, float(lost["lm_by_column"][name])) for m, name in enumerate(release.quasi)]
    each += [_other(release, name) for name in release.manifest.other]
    each += [_sensitive(view, release.target) for view in release.each_secret() if view.secrets]
    return Columns(float(lost["lm"]), tuple(each), notes)


def _quasi(release: RowRelease, m: int, lost: float) -> ColumnStory:
    entry = release.manifest.quasi[m]
    picture = quasi_picture(release, m)
    n_cells = len(np.unique(np.column_stack([release.cell_lo[:, m], release.cell_hi[:, m]]), axis=0))
    if lost < _UNCHANGED:
        story = "Kept: nearly every row shows its own value."
    elif lost > _MUCH:
        story = "Suppressed: no row tells more than the whole column does."
    else:
        kind = "ranges" if isinstance(entry, Ranges) else "groups"
        how = "narrow" if lost < _LITTLE else "wide"
        story = f"Generalized: values became {n_cells} different {how} {kind}, or single values."
    return ColumnStory(entry.name, "recognizes people", lost, story, picture.bars, picture.note)


def _other(release: RowRelease, name: str) -> ColumnStory:
    picture = picture_of_values(release.other[name], release.manifest.k)
    role = "the class" if name == release.target else "not protected"
    shuffled = any(secret.cell_counts is not None for secret in release.secrets)
    story = "Published as it came" + (", in another order within crowds." if shuffled else ".")
    return ColumnStory(name, role, 0.0, story, picture.bars, picture.note)


def _sensitive(release: RowRelease, target: str | None) -> ColumnStory:
    about, k = release.manifest.sensitive, release.manifest.k
    assert about is not None
    names = text(release.sensitive_values)
    counts = release.sensitive_counts().astype(np.float64)
    role = "sensitive, and the class" if about.name == target else "sensitive"
    if release.distributions is None:
        picture = picture_of_names(names, None, counts, k)
        story = "Each row shows the value of its person; the person is hidden in the crowd."
        return ColumnStory(about.name, role, 0.0, story, picture.bars, picture.note)
    picture = picture_of_names(names, counts, release.distributions.sum(axis=0), k)
    story = "No row shows a value: each shows shares of the values of a crowd."
    return ColumnStory(about.name, role, None, story, picture.bars, picture.note)


def _projected(release: ProjectionRelease) -> list[ColumnStory]:
    manifest, k = release.manifest, release.manifest.k
    place = {name: at for at, part in enumerate(release.parts) for name in part}
    each = []
    for column in manifest.columns:
        picture = picture_of_values(release.projections[place[column.name]][column.name], k)
        role = "recognizes people" if column.role == "quasi" else "not protected"
        each.append(_with(ColumnStory(column.name, role, None, _shown(column, place)), picture))
    values, counts = release.class_counts()
    picture = picture_of_names(shown_values(values), None, counts.astype(np.float64), k)
    role = "sensitive, and the class" if manifest.target.role == "sensitive" else "the class"
    story = "Every table shows it as it came; tables can be joined by it alone."
    each.append(_with(ColumnStory(release.target, role, None, story), picture))
    return each


def _shown(column: Shown, place: Mapping[str, int]) -> str:
    where = f"In table {place[column.name] + 1}"
    if column.cuts is not None:
        where += f", as {counted(len(column.cuts) + 1, 'interval')} of numbers"
    else:
        where += ", as it came"
    if column.suppressed:
        where += f"; {counted(column.suppressed, 'rare value was', 'rare values were')} left out"
    return f"{where}."


def _with(story: ColumnStory, picture: Picture) -> ColumnStory:
    return replace(story, bars=picture.bars, note=picture.note)


def _sentence(note: str) -> str:
    return note if note[1:2] == " " else f"{note[:1].upper()}{note[1:]}"  # k and l are written small
