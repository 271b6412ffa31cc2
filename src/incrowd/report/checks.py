"""The verdict of the independent check, as far as everybody may know it.

What the check of the public files alone finds may be told in full: everybody can repeat it. What the original and the
private folder add is told as an outcome, without its numbers, unless the report is for the owner.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from incrowd.errors import counted
from incrowd.report.summary import CheckLine, Judgement, Status
from incrowd.verify import Check, Verdict

_PROMISE = re.compile(
    r"k|blocks|k of joins|l \(\w+\)|t|t \((?:ordered|tree)\)|alpha|beta|beta \(enhanced\)|delta|width|lkc"
)
_OF_COLUMN = re.compile(r"(.+?) of (['\"].*)", re.DOTALL)
_LEVELS = {
    "k": "Smallest crowd",
    "l_distinct": "Fewest different sensitive values in a crowd",
    "alpha": "Largest share of one sensitive value in a crowd",
    "t": "Largest distance from the whole table (t)",
    "beta": "Largest relative gain of a sensitive value's share (beta)",
    "delta": "Largest change of a sensitive value's share (delta)",
    "width": "Smallest distance of the least and the greatest number in a crowd (width)",
    "rows_fitting_min": "Fewest rows of one table that fit somebody",
    "rows_with_class_min": "Fewest rows alike, class included",
}
_TITLES = {
    "files": "The folder holds the files of a release and no other",
    "csv": "The CSV files say what the Parquet files say",
    "parquet": "The Parquet files have no room for hidden content",
    "order": "The order of the rows tells nothing",
    "manifest": "The manifest is complete and readable",
    "hierarchies": "The published groups of values are proper groups",
    "nothing private": "The manifest says nothing beyond its format",
    "method": "The parameters of the method are known ones",
    "roles": "Each column has one role (the owner's word)",
    "promises": "The promises are stated and can be kept",
    "columns": "There are no columns but the announced ones",
    "cells": "All cells lie inside their column's values",
    "legal cells": "All cells are allowed groups of values",
    "distributions": "The published shares are proper shares",
    "rows": "Rows add up: in = out + left out",
    "counts": "Published counts are rounded as announced",
    "labels": "Labels say what the cells are",
    "owner's word": "What else rests on the owner's word is listed",
    "k": "Every crowd has at least k people",
    "k of joins": "Every crowd of two joined tables has at least k rows",
    "l (frequency)": "No sensitive value has too large a share (l)",
    "l (distinct)": "Every crowd has enough different sensitive values (l)",
    "l (entropy)": "Sensitive values in a crowd are mixed enough (l)",
    "l (recursive)": "The most frequent sensitive value does not outweigh the others (l)",
    "t": "Crowds are close enough to the whole table (t)",
    "t (ordered)": "Crowds are close enough to the whole table (t)",
    "t (tree)": "Crowds are close enough to the whole table (t)",
    "alpha": "No sensitive value has too large a share (alpha)",
    "beta": "No sensitive value becomes much likelier than in the whole table (beta)",
    "beta (enhanced)": "No sensitive value becomes much likelier than in the whole table (beta)",
    "delta": "No sensitive value becomes much likelier or less likely than in the whole table (delta)",
    "width": "The numbers of every crowd are far enough apart (width)",
    "lkc": "Whoever knows L values finds a crowd (LKC)",
    "blocks": "The people whose values are published together are at least k",
    "private files": "The owner's private files belong to this release",
    "private folder": "The owner's evidence is complete",
    "original": "The original is the table of this release",
    "dropped columns": "The columns that are not published are those of the original",
    "original values": "The original's values have the announced types",
    "missing rows": "Rows with missing values were treated as announced",
    "row map": "Every released row belongs to one original row",
    "row maps": "Every released row belongs to one original row",
    "rows kept": "No released row comes from a row that was to be left out",
    "domains": "The published values are those of the original",
    "original counts": "The published counts are those of the original, rounded",
    "rare values": "No value is listed that fewer than k people have",
    "published leaves": "Every original value has its place",
    "covers": "Every cell covers the person's own value",
    "extents": "No cell is wider than its people ask for",
    "own value": "The sensitive values are those of the original",
    "other columns": "No unprotected column reveals a protected one",
    "identifiers": "No published column repeats an unpublished one",
    "links": "No two columns allow rows of two tables to be joined",
    "originals per row": "Every row fits at least k people of the original",
    "releases per original": "How many rows fit each person was counted",
    "members": "The people behind each row fit its cells",
    "shares": "The published shares were recomputed from the original",
    "shuffled columns": "Unprotected columns were shuffled within crowds",
    "rings": "Rows were exchanged among at least k people",
    "assignment": "Rows and people can be matched one to one",
    "classes": "Every table has the same classes, equally often",
    "values": "Numbers are shown as intervals, rare values as missing",
    "people behind joins": "How many people are behind joined rows",
    "suppression": "Values were left out as announced",
    "cuts": "Intervals end midway between two values",
    "same rows": "Every table holds the rows of the original",
    "payload": "The tables can be read",
}


def judgement_of(public: Verdict, full: Verdict, *, with_original: bool, for_owner: bool) -> Judgement:
    """Say what the verifier found.

    Parameters
    ----------
    public
        The verdict on what everybody has.
    full
        The verdict with all that was given.
    """
    told = {check.name: check for check in public.checks}
    checks = tuple(_line(check, told, for_owner=for_owner) for check in full.checks if not _is_idle(check))
    levels = full.levels if for_owner else public.levels
    reached = tuple((words, _level(name, levels)) for name, words in _LEVELS.items() if levels.get(name) is not None)
    open_ = tuple(
        f"{line.title}: {line.detail or 'it could not be checked'}" for line in checks if line.status == "not checked"
    )
    status, headline = _headline(full, with_original=with_original)
    return Judgement(status, headline, with_original, full.complete, checks, open_, reached)


def title_of(check: str) -> str:
    """Return what a check asks, in plain words; of several sensitive columns each has checks of its own.

    >>> title_of("own value of 'Job'")
    "The sensitive values are those of the original: 'Job'"
    """
    name, column = _parted(check)
    title = _TITLES.get(name, name[:1].upper() + name[1:])
    return f"{title}: {column}" if column else title


def _parted(check: str) -> tuple[str, str]:
    found = _OF_COLUMN.fullmatch(check)
    return (found[1], found[2]) if found else (check, "")


def _is_idle(check: Check) -> bool:
    """Tell whether a check was left out because it has no object: labels of a release in memory."""
    return check.name == "labels" and check.ok is None


def _line(check: Check, told: Mapping[str, Check], *, for_owner: bool) -> CheckLine:
    statuses: dict[bool | None, Status] = {True: "holds", False: "broken", None: "not checked"}
    title = title_of(check.name)
    known = told.get(check.name)
    is_told = for_owner or known == check or (check.ok is None and check.detail.startswith("needs "))
    detail = check.detail if is_told else ""
    return CheckLine(check.name, title, statuses[check.ok], detail, bool(_PROMISE.fullmatch(_parted(check.name)[0])))


def _headline(verdict: Verdict, *, with_original: bool) -> tuple[Status, str]:
    failed = len(verdict.violations)
    if failed:
        head = f"BROKEN: {counted(failed, 'check')} of {len(verdict.checks)} failed. Do not share this release."
        return "broken", head
    lacking = verdict.unchecked
    if lacking:
        titles = [title_of(name) for name in lacking]
        names = ", ".join(title[:1].lower() + title[1:] for title in titles)
        return "not checked", f"What could be checked holds. Not checked: {names}."
    if not verdict.complete:
        return "holds", "Every promise holds. Some checks around it could not be made; they are listed below."
    if with_original:
        return "holds", "Every promise holds, checked against the original table by independent code."
    return "holds", "Every promise holds in the published files, checked by independent code, without the original."


def _level(name: str, levels: Mapping[str, float | int | None]) -> str:
    value = levels[name]
    if name == "alpha":
        return f"{value:.1%}"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
