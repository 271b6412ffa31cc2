"""Overview: what to show people about a release, whatever its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from incrowd.errors import counted
from incrowd.hierarchy.hierarchy import Weights
from incrowd.losses import cell_loss
from incrowd.release.projections import ProjectionRelease
from incrowd.release.rows import RowRelease
from incrowd.release.view import cells

_MORE = 0.02  # a group's largest share this far above the whole table's is worth a warning
_NEARLY_ALL = 0.95  # of the quasi-identifiers' detail: from there on little is left to learn


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
        Plain data for programs: losses, or parts and columns that are left out; `columns` with numbers.
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


def of_rows(release: RowRelease, weights: Weights | None = None) -> Overview:
    """Say what each column lost; with `weights`, each row stands for so many."""
    seen = cells(release, None)
    losses = {
        name: float(np.average(cell_loss("lm", hierarchy, marginal, seen.lo[:, m], seen.hi[:, m]), weights=weights))  # type: ignore[arg-type]
        for m, (name, hierarchy, marginal) in enumerate(
            zip(release.quasi, seen.hierarchies, seen.marginals, strict=True)
        )
    }
    total = release.loss("lm") if weights is None else float(np.mean(list(losses.values())))
    rows = [{"column": name, "detail lost": f"{lost:.1%}"} for name, lost in [*losses.items(), ("all", total)]]
    is_one_group = all(bool((side == side[:1]).all()) for side in (seen.lo, seen.hi)) and any(
        (np.asarray(marginal) > 0).sum() > 1 for marginal in seen.marginals
    )
    notes = []
    if is_one_group:
        notes = ["all rows are in one group, so the quasi-identifiers say nothing; use a smaller k or another method."]
    elif total > _NEARLY_ALL:
        notes = ["the quasi-identifiers lost nearly all detail; use a smaller k or l, or another method."]
    levels = release.levels or {}
    if levels.get("ended_early"):
        looks = counted(int(levels["nodes_looked_at"] or 0), "combination")
        notes.append(
            f"the search was ended after {looks} of levels; others may keep more detail: give it more seconds."
        )
    warnings = [*_rare_values(release), *([] if is_one_group else _unprotected(release, weights))]
    return Overview(
        form="",
        title="Detail lost in each column (0% unchanged, 100% suppressed)",
        columns=tuple(rows),
        details={
            "loss": {"lm": round(total, 4), "lm_by_column": {name: round(lm, 4) for name, lm in losses.items()}},
            "columns": [{"column": name, "detail_lost": round(lm, 4)} for name, lm in losses.items()],
        },
        notes=tuple(notes),
        warnings=tuple(warnings),
    )


def _rare_values(release: RowRelease) -> list[str]:
    """Name the columns whose published domain has values of fewer than k people."""
    manifest = release.manifest
    if manifest.domains != "exact":
        return []
    if manifest.k == 1:
        return ["k = 1 hides nobody: every value and every row may be one person's."]
    rare = [(column.name, sum(0 < count < manifest.k for count in column.counts)) for column in manifest.quasi]
    listed = ", ".join(f"{name} ({n})" for name, n in rare if n)
    rare_values = f"manifest.json lists values that fewer than k people have: {listed}." if listed else ""
    counts = "Exact domains show how often each value occurs: whoever compares two releases may find who was added."
    return [f"{rare_values} {counts}".strip()]


def _unprotected(release: RowRelease, weights: Weights | None) -> list[str]:
    """Name the sensitive columns that only k is about, if a group tells more of them than the whole table does."""
    largest = (release.levels or {}).get("alpha")
    if not release.secrets or largest is None:
        return []
    found: dict[str, float] = {}
    for view in release.each_secret():
        if _is_about_size(view):
            counts = _counts_of(view, weights)
            share = largest if len(release.secrets) == 1 else _largest_share(view, weights)
            if share > counts.max() / max(1, counts.sum()) + _MORE:
                found[view.secrets[0].name] = share
    if not found:
        return []
    where = "in one group" if release.secrets[0].cell_counts is None else "for one row"
    names, most = " or ".join(map(repr, found)), max(found.values())
    return [f"k alone does not hide {names}: {where} {most:.0%} of the people share a value; ask for l as well."]


def _largest_share(view: RowRelease, weights: Weights | None) -> float:
    """Return the largest share that a value of the only sensitive column has in a cell."""
    counts = view.cell_counts
    if counts is None and view.sensitive is not None:
        counts = np.zeros((len(view.lo), len(view.sensitive_counts())), np.int64)
        np.add.at(counts, (view.cell_of, view.sensitive), 1 if weights is None else weights)
    return 0.0 if counts is None else float((counts / np.maximum(1, counts.sum(axis=1, keepdims=True))).max())


def _counts_of(release: RowRelease, weights: Weights | None) -> Weights:
    """Return how often each value of the only sensitive column occurs."""
    counts = release.sensitive_counts()
    if weights is None or release.sensitive is None:
        return counts
    weighted = np.zeros(len(counts), np.int64)
    np.add.at(weighted, release.sensitive, weights)
    return weighted


def _is_about_size(release: RowRelease | ProjectionRelease) -> bool:
    return release.manifest.belief >= 1 and all(g.kind in ("k", "lkc") for g in release.manifest.guarantees)


def of_projections(release: ProjectionRelease) -> Overview:
    """Say which projections there are, which columns are not in them, and what the promises leave open."""
    manifest, n = release.manifest, len(release.parts)
    roles = {column.name: column.role for column in manifest.columns}
    notes, warnings = _about_projections(release)
    return Overview(
        form=", but only the class," if release.is_empty else f" as {counted(n, 'projection')}",
        title=f"Columns of each projection, beside {release.target!r}",
        columns=tuple(
            {
                "projection": number,
                "quasi-identifiers": ", ".join(name for name in part if roles[name] == "quasi"),
                "other columns": ", ".join(name for name in part if roles[name] == "other"),
            }
            for number, part in enumerate(release.parts, start=1)
            if part
        ),
        details={
            "parts": release.parts,
            "left_out": list(manifest.left_out),
            "columns": [
                {"projection": number, **{role: [n for n in part if roles[n] == role] for role in ("quasi", "other")}}
                for number, part in enumerate(release.parts, start=1)
            ],
        },
        notes=tuple(notes),
        warnings=tuple(warnings),
    )


def _about_projections(release: ProjectionRelease) -> tuple[list[str], list[str]]:
    manifest, levels = release.manifest, release.levels or {}
    notes: list[str] = []
    warnings: list[str] = []
    asked, done = manifest.method.parameters.get("generations"), levels.get("generations")
    if done is not None and asked is not None and done < asked:
        notes.append(f"the search was ended after {done} of {asked} generations; this is the best that it had found.")
    if release.is_empty:
        notes.append(
            "no allowed partition predicts better than the class alone, so no other column is released; use a smaller k"
            " or l, suppress=0.1, or fewer quasi-identifiers."
        )
        return notes, warnings
    if manifest.left_out:
        notes.append(f"not published: {', '.join(manifest.left_out)}.")
    lost = [f"{column.name} ({counted(column.suppressed, 'row')})" for column in manifest.columns if column.suppressed]
    if lost:
        notes.append(f"rare values were replaced by missing ones: {', '.join(lost)}.")
    if len(release.parts) > 1:
        notes.append(
            "k of two joined projections counts pairs of rows, not people: within one projection, somebody known by the"
            f" quasi-identifiers fits at least {levels.get('rows_fitting_min')} rows, and at least"
            f" {levels.get('rows_with_class_min')} if the class is known too."
        )
        if not _is_about_size(release):
            notes.append("l holds in each projection; somebody who combines all projections may be surer.")
    diversity = levels.get("l_frequency")
    if diversity and _is_about_size(release):
        warnings.append(
            f"k alone does not hide {release.target!r}: in one group {1 / diversity:.0%} of the rows share a value;"
            " ask for l as well."
        )
    return notes, warnings
