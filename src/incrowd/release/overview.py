"""Overview: what people are told about a release, whatever its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from incrowd.losses import cell_loss
from incrowd.release.projections import ProjectionRelease
from incrowd.release.rows import RowRelease
from incrowd.release.view import cells

_MORE, _NEARLY_ALL = 0.02, 0.95  # of a share, and of the quasi-identifiers' detail, that people are told of


@dataclass(frozen=True)
class Overview:
    """What a release shows, what it cost, and what its promises leave open.

    Attributes
    ----------
    form
        How rows are released, as a part of a sentence.
    title, columns
        A table about the columns, and what it is about.
    details
        More facts by name: losses, or parts and columns that are left out.
    notes
        What somebody who uses the release should know.
    warnings
        What the promises do not protect from.
    """

    form: str
    title: str
    columns: tuple[Mapping[str, Any], ...]
    details: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def of_rows(release: RowRelease) -> Overview:
    """Say what each column lost."""
    seen = cells(release, None)
    losses = {
        name: float(cell_loss("lm", hierarchy, marginal, seen.lo[:, m], seen.hi[:, m]).mean())  # type: ignore[arg-type]
        for m, (name, hierarchy, marginal) in enumerate(
            zip(release.quasi, seen.hierarchies, seen.marginals, strict=True)
        )
    }
    total = release.loss("lm")
    rows = [{"column": name, "loss (LM)": f"{lost:.3f}"} for name, lost in [*losses.items(), ("all", total)]]
    is_one_group = len(np.unique(np.column_stack([seen.lo, seen.hi]), axis=0)) == 1 and any(
        (np.asarray(marginal) > 0).sum() > 1 for marginal in seen.marginals
    )
    notes = []
    if is_one_group:
        notes = [
            "every row is in one group: nothing of the quasi-identifiers is left; use a smaller k or another method."
        ]
    elif total > _NEARLY_ALL:
        notes = ["nearly nothing of the quasi-identifiers is left; use a smaller k or l, or another method."]
    warnings = [*_rare_values(release), *([] if is_one_group else _unprotected(release))]
    return Overview(
        form="",
        title="what the columns lost (0 unchanged, 1 suppressed)",
        columns=tuple(rows),
        details={"loss": {"lm": round(total, 4)}},
        notes=tuple(notes),
        warnings=tuple(warnings),
    )


def _rare_values(release: RowRelease) -> list[str]:
    """Name the columns whose published domain tells of fewer than k people."""
    manifest = release.manifest
    if manifest.domains != "exact":
        return []
    if manifest.k == 1:
        return ["k = 1 hides nobody: every value and every row may be one person's."]
    rare = [(column.name, sum(0 < count < manifest.k for count in column.counts)) for column in manifest.quasi]
    listed = ", ".join(f"{name} ({n})" for name, n in rare if n)
    told = f"manifest.json lists values that fewer than k people have: {listed}." if listed else ""
    differs = "Exact domains tell how often each value occurs: whoever compares two releases may find who was added."
    return [f"{told} {differs}".strip()]


def _unprotected(release: RowRelease) -> list[str]:
    """Say so where k is all that was promised, and a group tells more than the whole table does."""
    manifest, alpha = release.manifest, (release.levels or {}).get("alpha")
    if manifest.sensitive is None or alpha is None or not _is_about_size(release):
        return []
    counts = release.sensitive_counts()
    if alpha <= counts.max() / max(1, counts.sum()) + _MORE:
        return []
    where = "in one group" if release.cell_counts is None else "for one row"
    name = manifest.sensitive.name
    return [f"k alone does not hide {name!r}: {where} {alpha:.0%} of the people share a value. See -l."]


def _is_about_size(release: RowRelease | ProjectionRelease) -> bool:
    return release.manifest.belief >= 1 and all(g.kind in ("k", "lkc") for g in release.manifest.guarantees)


def of_projections(release: ProjectionRelease) -> Overview:
    """Say which projections there are, which columns are not in them, and what the promises leave open."""
    manifest, n = release.manifest, len(release.parts)
    roles = {column.name: column.role for column in manifest.columns}
    notes, warnings = _about_projections(release)
    return Overview(
        form=", but only the class," if release.is_empty else f" as {n} projection{'s' if n > 1 else ''}",
        title=f"what each projection shows beside {release.target!r}",
        columns=tuple(
            {
                "projection": number,
                "quasi-identifiers": ", ".join(name for name in part if roles[name] == "quasi"),
                "other columns": ", ".join(name for name in part if roles[name] == "other"),
            }
            for number, part in enumerate(release.parts, start=1)
            if part
        ),
        details={"parts": release.parts, "left_out": list(manifest.left_out)},
        notes=tuple(notes),
        warnings=tuple(warnings),
    )


def _about_projections(release: ProjectionRelease) -> tuple[list[str], list[str]]:
    manifest, levels = release.manifest, release.levels or {}
    notes: list[str] = []
    warnings: list[str] = []
    asked, done = manifest.method.parameters.get("generations"), levels.get("generations")
    if done is not None and asked is not None and done < asked:
        notes.append(
            f"the search ended after {done} of {asked} generations; this is the best that it found until then."
        )
    if release.is_empty:
        notes.append(
            "no allowed partition tells more than the class alone, so no other column is released; use a smaller k or"
            " l, --set suppress=0.1, or fewer quasi-identifiers."
        )
        return notes, warnings
    if manifest.left_out:
        notes.append(f"not published: {', '.join(manifest.left_out)}.")
    lost = [f"{column.name} ({column.suppressed} rows)" for column in manifest.columns if column.suppressed]
    if lost:
        notes.append(f"rare values were made missing: {', '.join(lost)}.")
    if len(release.parts) > 1:
        notes.append(
            "k of two joined projections counts pairs of rows, not people: in one projection at least"
            f" {levels.get('rows_fitting_min')} rows fit somebody known by quasi-identifiers, and"
            f" {levels.get('rows_with_class_min')} somebody whose class is known too."
        )
        if not _is_about_size(release):
            notes.append("l holds in each projection; somebody who weighs all of them together may believe more.")
    diversity = levels.get("l_frequency")
    if diversity and _is_about_size(release):
        warnings.append(
            f"k alone does not hide {release.target!r}: in one group {1 / diversity:.0%} of the rows share a value."
            " See -l."
        )
    return notes, warnings
