"""Releases of a growing table: everybody keeps the values that they were shown with, and each occurs equally often.

Swapping two values among all people of a signature, in all releases, leaves every release as it is: that is why nobody
learns more from all of them than from one. What is checked here is all that this takes: groups in which every value is
as frequent as any other, and people who are in groups of their own signature, release after release.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from incrowd.errors import counted
from incrowd.verify.domain import Array
from incrowd.verify.files import digest, read_json, read_owned
from incrowd.verify.groups import make_cells, relabel
from incrowd.verify.labels import write_value
from incrowd.verify.manifest import Claims
from incrowd.verify.originals import Originals
from incrowd.verify.payload import Payload, Told
from incrowd.verify.private import Kept
from incrowd.verify.rows import Rows
from incrowd.verify.verdict import Findings

_NOBODY = -1
_TABLES: dict[str, dict[str, pl.DataType]] = {
    "people": {"person": pl.Int64(), "signature": pl.Int64()},
    "signatures": {"signature": pl.Int64(), "value": pl.String()},
}


def without_filler(
    findings: Findings, claims: Claims, payload: Payload, kept: Kept | None
) -> tuple[Payload, Kept | None] | None:
    """Return the rows that are about somebody; ``None`` if what the owner keeps does not tell which these are."""
    if claims.series is None:
        return payload, kept
    if kept is None or kept.rows is None:
        findings.skip("row map", "needs the owner's private folder: which rows are filler is not public")
        return None
    rows = np.asarray(kept.rows)
    if len(rows) != payload.frame.height or rows.dtype.kind not in "iu":
        findings.judge("row map", [f"it has {len(rows)} entries for {payload.frame.height} released rows"], "")
        return None
    at, told = np.flatnonzero(rows != _NOBODY), claims.rows["filler"]
    found = len(rows) - len(at)
    if not findings.judge(
        "filler", [f"{found} rows are nobody's, and the manifest says {told}"] if found != told else [],
        f"{counted(found, 'row')} about nobody, as the manifest says",
    ):  # fmt: skip
        return None
    frame = payload.frame
    parts: dict[str, tuple[pl.Series, Any]] = {name: (frame[name], at) for name in frame.columns}
    cells = payload.cells
    columns = [(lo, hi, cell[at]) for lo, hi, cell in zip(cells.lo, cells.hi, cells.cell, strict=True)]
    secrets = tuple(Told(t.values, None if t.exact is None else t.exact[at], None) for t in payload.told)
    left = replace(payload, frame=Rows(len(at), parts), cells=make_cells(columns, len(at)), told=secrets)
    return left, replace(kept, rows=rows[at])


def check_series(findings: Findings, claims: Claims, payload: Payload, kept: Kept | None) -> None:
    """Judge what one release of a series shows by itself, with what its owner keeps."""
    if claims.series is None:
        return
    if kept is None or kept.groups is None or kept.people is None or kept.signatures is None or payload.exact is None:
        findings.skip("m", "needs the owner's private folder, which knows groups and signatures")
        return
    m = max((p.given["m"] for p in claims.promises if p.kind == "m"), default=1)
    group = kept.groups["group"].to_numpy()
    n_groups = int(group.max(initial=-1)) + 1
    size = np.bincount(group, minlength=n_groups) if group.min(initial=0) >= 0 else np.zeros(1, np.int64)
    if (size == 0).any() or n_groups > len(group):
        findings.judge("m", ["groups are not numbered from 0 without a gap"], "")
        return
    problems = [f"{(size < claims.least).sum()} groups have fewer rows than k"] if (size < claims.least).any() else []
    cell = np.zeros(n_groups, np.int64)
    cell[group] = payload.cells.group
    apart = int((cell[group] != payload.cells.group).sum())
    problems += [f"{apart} rows have another cell than others of their group"] if apart else []
    key, n_values = group * payload.n_values + payload.exact, payload.n_values
    pair, distinct = relabel(key, n_groups * n_values)
    times, owner = np.bincount(pair), distinct // n_values
    uneven = np.maximum.reduceat(times, np.searchsorted(owner, np.arange(n_groups)))
    uneven = uneven != np.minimum.reduceat(times, np.searchsorted(owner, np.arange(n_groups)))
    problems += [f"values are not equally frequent in {uneven.sum()} groups"] if uneven.any() else []
    n_own = np.bincount(owner, minlength=n_groups)
    findings.levels["m"] = int(n_own.min())
    few = n_own < m
    problems += [f"{few.sum()} groups have fewer than {m} values"] if few.any() else []
    findings.judge("m", problems, f"{counted(n_groups, 'group')}, in each at least {m} values, equally frequent")
    problems = _histories(kept.people, kept.signatures, m)
    findings.judge("signatures", problems, "people keep theirs, or change to one without a value that they had")


def _histories(people: pl.DataFrame, signatures: pl.DataFrame, m: int) -> list[str]:
    """Say what is wrong with the signatures that people were given."""
    values = _values_of(signatures)
    if values is None:
        return ["signatures are not numbered from 0 in their order, each with distinct values"]
    problems = [f"a signature has fewer than {m} values"] if any(len(own) < m for own in values) else []
    problems += ["two signatures have the same values"] if len(set(values)) < len(values) else []
    given: dict[int, list[int]] = {}
    wrong = 0
    for person, number in people.iter_rows():
        if not 0 <= number < len(values):
            return [*problems, "somebody has a signature that is not there"]
        before = given.setdefault(person, [])
        wrong += bool(before) and number == before[-1]
        wrong += any(number != other and values[number] & values[other] for other in before)
        before.append(number)
    problems += [f"{wrong} signatures have a value of another one of their person"] if wrong else []
    return problems


def _values_of(signatures: pl.DataFrame) -> list[frozenset[str]] | None:
    found: list[list[str]] = []
    for number, value in signatures.iter_rows():
        if number == len(found):
            found.append([])
        if number != len(found) - 1:
            return None
        found[number].append(value)
    return None if any(len(set(own)) < len(own) for own in found) else [frozenset(own) for own in found]


def check_people(
    findings: Findings,
    claims: Claims,
    payload: Payload,
    kept: Kept | None,
    original: pl.DataFrame,
    originals: Originals,
) -> None:
    """Judge whether everybody is in a group of their own signature, and who is held back."""
    name = claims.parameters.get("person")
    if claims.series is None or kept is None or kept.people is None or kept.signatures is None:
        return
    if kept.groups is None or kept.rows is None:
        return
    values = _values_of(kept.signatures)
    numbered = values is not None and kept.people["signature"].is_between(0, len(values) - 1).all()
    if values is None or not numbered or payload.exact is None or payload.values is None:
        return  # noted already
    if np.asarray(kept.rows).max(initial=-1) >= original.height or len(kept.rows) != len(payload.exact):
        return  # the row map is judged by itself
    if name is None:
        problems = [] if not kept.people.height else ["people are told apart, and no column does that"]
        findings.judge("people", problems, "nothing tells people apart: no release can follow this one")
        return
    if name not in original.columns or name not in claims.dropped:
        findings.judge("people", ["the column that tells people apart is not a dropped one of the original"], "")
        return
    person = [_hash(value) for value in original[name].cast(pl.String()).to_list()]
    last: dict[int, int] = dict(kept.people.iter_rows())
    texts = [_written(value) for value in payload.values.to_list()]
    group, rows = kept.groups["group"].to_numpy(), np.asarray(kept.rows)
    of_group: dict[int, set[str]] = {}
    for number, value in zip(group.tolist(), payload.exact.tolist(), strict=True):
        of_group.setdefault(number, set()).add(texts[value])
    there = [(number, person[row]) for number, row in zip(group.tolist(), rows.tolist(), strict=True) if row >= 0]
    wrong = sum(who not in last or values[last[who]] != of_group[number] for number, who in there)
    problems = [f"{wrong} people are in a group of another signature than theirs"] if wrong else []
    held, free = _held_back(kept.people, values, person, originals, rows)
    problems += [f"{free} people are held back whom a signature of theirs fits"] if free else []
    findings.judge("people", problems, f"everybody is in a group of their signature; held back: {held}")


def _held_back(
    people: pl.DataFrame, values: list[frozenset[str]], person: list[int], originals: Originals, rows: Array
) -> tuple[int, int]:
    """Return how many people are not released, and how many of them could be, or were never given a signature."""
    held = np.setdiff1d(np.flatnonzero(~originals.dropped), rows)
    (secret,) = originals.secrets
    own = [_written(value) for value in [*secret.values.to_list(), None]]
    had: dict[int, set[str]] = {}
    for who, number in people.iter_rows():
        had.setdefault(who, set()).update(values[number])
    free = [row for row in held.tolist() if person[row] not in had or own[secret.index[row]] in had[person[row]]]
    return len(held), len(free)


def _hash(identifier: str | None) -> int:
    text = "" if identifier is None else identifier
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)


def _written(value: object) -> str:
    return "" if value is None else f"={write_value(value)}"


def check_chain(findings: Findings, manifest: object, owned: Mapping[str, Any] | None, before: Path) -> None:
    """Judge whether a release goes on where another one ended."""
    series = manifest.get("series") if isinstance(manifest, dict) else None
    private = before.with_name(f"{before.name}.private")
    problems: list[str] = []
    earlier, _ = read_json(before / "manifest.json", problems)
    about, _ = read_json(private / "manifest.json", problems)
    first = earlier.get("series") if isinstance(earlier, dict) else None
    if problems or not isinstance(series, dict) or not isinstance(first, dict) or not isinstance(about, dict):
        findings.judge("series", [*problems, "one of both is not a release of a series"], "")
        return
    files = {"manifest.json": before} | {f"{stem}.parquet": private for stem in _TABLES}
    digests = {**(about.get("private") or {}), "manifest.json": (about.get("public") or {}).get("manifest.json")}
    odd = [name for name, folder in files.items() if digests.get(name) != digest(folder / name)]
    problems += [f"{', '.join(odd)} of the release before was changed"] if odd else []
    if series.get("id") != first.get("id") or series.get("number") != first.get("number", 0) + 1:
        problems.append("this is not the next release of the same series")
    if series.get("previous") != digest(before / "manifest.json"):
        problems.append("the release before has another manifest")
    for stem, schema in _TABLES.items():
        old, new = read_owned(private / f"{stem}.parquet", schema, problems), (owned or {}).get(stem)
        if old is None or not isinstance(new, pl.DataFrame):
            problems.append(f"{stem} cannot be compared")
        elif not new.head(old.height).equals(old):
            problems.append(f"{stem} does not begin with that of the release before")
    findings.judge("series", problems, f"release {series.get('number')} goes on where the one before ended")
