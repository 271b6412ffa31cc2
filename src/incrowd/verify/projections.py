"""Projections looked through: manifest, columns, promises of each and of every join, and then the originals.

The join is really made, of combinations and their counts: a combination of two projections and the class occurs as
often as the product of its counts. Those are pairs of rows and not people, and the verdict says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from incrowd.errors import counted
from incrowd.verify.canonical import is_plain
from incrowd.verify.domain import TYPES, Array, Values
from incrowd.verify.order import check_order
from incrowd.verify.projection_manifest import ProjectionClaims, Shown, read_projection_claims
from incrowd.verify.projection_original import check_original
from incrowd.verify.sideways import is_nearly_unique
from incrowd.verify.verdict import Findings

PAIR_BUDGET = 4e6
"""Pairs of combinations up to which a join is made; beyond, the smallest counts of each class are multiplied."""

_PRODUCTS = (
    "not promised: a joined row counts as often as the product of its counts in both projections, which is no number of"
    " people; somebody whose quasi-identifiers in all projections are known may fit as few as {fitting} rows of one,"
    " with the class {alone}, and fewer if columns of two projections are known to depend on each other"
)


def check_projections_into(
    findings: Findings,
    manifest: object,
    frames: Sequence[pl.DataFrame],
    *,
    original: pl.DataFrame | None = None,
    private: Mapping[str, Any] | None = None,
) -> None:
    """Add every check of projections to what was found about their folder.

    Parameters
    ----------
    manifest
        The public manifest as plain data.
    frames
        The content of ``projection-1.parquet`` and so on.
    original
        The table that they were made from.
    private
        What the owner keeps: ``rows-1`` and so on, each with the original row number of each row.
    """
    claims, reading = read_projection_claims(manifest)
    findings.judge("manifest", reading.manifest, "every key is there and of its type")
    findings.judge("nothing private", reading.private, "the manifest has no unknown key or parameter")
    if reading.unchecked is not None:
        findings.skip("method", reading.unchecked)
    if claims is None:
        findings.skip("payload", "not checked: the manifest cannot be relied on")
        return
    others = [name for name, shown in claims.columns.items() if shown.role == "other"]
    others += [claims.target.name] if claims.target.role == "other" else []
    secret = [claims.target.name] if claims.target.role == "sensitive" else []
    findings.note_roles(claims.quasi, secret, others, [*claims.left_out, *claims.dropped])
    findings.note_word(claims.tokens, claims.codes, claims.parameters)
    promises = counted(len(claims.promises), "promise")
    findings.judge("promises", reading.promises, f"{promises}, none trivially unsatisfiable")
    if not _check_columns(findings, claims, frames):
        findings.skip("promises", "not checked: the projections cannot be read")
        return
    check_order(findings, frames)
    if not _check_rows(findings, claims, frames):
        findings.skip("promises", "not checked: the rows are not those that were announced")
        return
    classes = _check_classes(findings, claims, frames)
    _check_values(findings, claims, frames)
    _check_promises(findings, claims, frames)
    if original is not None and classes is not None:
        check_original(findings, claims, frames, classes, original, private)
    elif original is None:
        why = "needs the original: whether the projections are those of the people was not checked"
        findings.skip("original", why, needed=False)


def _check_columns(findings: Findings, claims: ProjectionClaims, frames: Sequence[pl.DataFrame]) -> bool:
    if len(frames) != len(claims.parts):
        fact = f"{len(claims.parts)} projections are announced and {len(frames)} are there"
        return findings.judge("columns", [fact], "")
    problems = []
    for number, (part, frame) in enumerate(zip(claims.parts, frames, strict=True), start=1):
        expected = [*part, claims.target.name]
        extra = [name for name in frame.columns if name not in expected]
        lost = [name for name in expected if name not in frame.columns]
        problems += [f"projection {number} has columns that were not announced: {_named(extra)}"] if extra else []
        problems += [f"projection {number} lacks {_named(lost)}"] if lost else []
        if not extra and not lost and frame.columns != expected:
            problems.append(f"projection {number} has its columns in another order than announced")
        there = [claims.columns[name] for name in part if name in frame.columns]
        wrong = [column.name for column in there if not _is_of_its_type(column, frame[column.name].dtype)]
        if claims.target.name in frame.columns:
            right = frame[claims.target.name].dtype == TYPES[claims.target.type]
            wrong += [] if right else [claims.target.name]
        problems += (
            [f"projection {number} has columns of another type than announced: {_named(wrong)}"] if wrong else []
        )
    n_columns = sum(map(len, claims.parts))
    return findings.judge("columns", problems, f"{n_columns} columns in {len(frames)} projections, none twice")


def _is_of_its_type(column: Shown, dtype: pl.DataType) -> bool:
    if column.type is None:
        return is_plain(dtype)
    return dtype == (pl.String() if column.cuts is not None else TYPES[column.type])


def _named(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _check_rows(findings: Findings, claims: ProjectionClaims, frames: Sequence[pl.DataFrame]) -> bool:
    rows = claims.rows
    problems = []
    if rows["input"] != rows["missing"] + rows["released"]:
        problems.append("input is not missing + released")
    if rows["suppressed"]:
        problems.append("projections leave no row out, and some are counted as suppressed")
    if rows["released"] == 0:
        problems.append("the release is empty")
    if claims.policy == "value" and rows["missing"]:
        problems.append(f"{rows['missing']} rows are counted as missing, and a missing value is a value here")
    for number, frame in enumerate(frames, start=1):
        if frame.height != rows["released"]:
            problems.append(f"{rows['released']} rows are announced and projection {number} has {frame.height}")
    return findings.judge("rows", problems, f"{rows['input']} in, {rows['released']} out in each projection")


def _check_classes(findings: Findings, claims: ProjectionClaims, frames: Sequence[pl.DataFrame]) -> list[Array] | None:
    """Return the class of each row by its rank, if all projections have the same classes equally often."""
    columns = [frame[claims.target.name].alias("y") for frame in frames]
    counts = [column.value_counts(name="n").sort("y") for column in columns]
    problems = [
        f"projection {number} has other classes than the first, or has them more or less often"
        for number, own in enumerate(counts, start=1)
        if not own.equals(counts[0])
    ]
    if claims.policy == "drop" and claims.target.role == "sensitive" and counts[0]["y"].null_count():
        problems.append("some rows have no class, and were to be dropped")
    fine = findings.judge("classes", problems, f"{counts[0].height} classes, equally often in each projection")
    values = Values(claims.target.type, counts[0]["y"])
    return [values.code(column) for column in columns] if fine else None


def _check_values(findings: Findings, claims: ProjectionClaims, frames: Sequence[pl.DataFrame]) -> None:
    """Numbers are shown as intervals between their cuts, and what was suppressed is missing."""
    problems = []
    for part, frame in zip(claims.parts, frames, strict=True):
        for column in (claims.columns[name] for name in part):
            own = frame[column.name]
            if column.cuts is not None:
                outside = Values("str", pl.Series(column.labels)).code(own.drop_nulls()) < 0
                problems += [f"column {column.name!r} has {outside.sum()} values that are not its intervals"] * bool(
                    outside.any()
                )
            if own.null_count() < column.suppressed:
                problems.append(f"column {column.name!r} has fewer missing values than were suppressed")
    unique = [
        column.name
        for part, frame in zip(claims.parts, frames, strict=True)
        for column in (claims.columns[name] for name in part)
        if column.role == "other" and is_nearly_unique(frame[column.name])
    ]
    noted = f"; nearly unique, so be sure that nobody knows them: {_named(unique)}" if unique else ""
    findings.judge("values", problems, f"numbers are intervals, suppressed values are missing{noted}")


def _check_promises(findings: Findings, claims: ProjectionClaims, frames: Sequence[pl.DataFrame]) -> None:
    """Count people in each projection, pairs of rows in each join, and shares of classes, for each quasi set."""
    smallest, alone, surest = claims.rows["released"], claims.rows["released"], Fraction(0)
    joined: int | None = None
    fitting: int | None = None
    small, close, sure = [], [], []
    k = claims.k or 1
    l = max((Fraction(str(p.given["l"])) for p in claims.promises if p.kind == "l"), default=Fraction(1))
    for known in claims.quasi_sets:
        counted = [_counted(frame, claims, part, known) for part, frame in zip(claims.parts, frames, strict=True)]
        for number, counts in enumerate(counted, start=1):
            groups = (
                counts.group_by(*counts.columns[:-2]).agg(pl.sum("n"), top=pl.max("n"))
                if counts.width > 2
                else (counts.select(pl.sum("n"), top=pl.max("n")))
            )
            n_small = int((groups["n"] < k).sum())
            small += [f"projection {number} has {n_small} groups of fewer than {k} rows"] if n_small else []
            shares = [Fraction(top, n) for n, top in groups.select("n", "top").unique().rows()]
            n_sure = sum(share * l > 1 for share in shares)
            sure += [f"projection {number} has groups in which a class has a share above 1/{float(l):g}"] * bool(n_sure)
            smallest, surest = min(smallest, int(groups["n"].min())), max(surest, *shares)  # type: ignore[arg-type]
            alone = min(alone, int(counts["n"].min()))  # type: ignore[arg-type]
        if len(counted) > 1:
            fitting = min(least_fitting(counted), claims.rows["released"] if fitting is None else fitting)
        for (p, one), (r, other) in combinations(enumerate(counted, start=1), 2):
            least = _least_product(one, other)
            joined = least if joined is None else min(joined, least)
            close += [f"projections {p} and {r} joined show {least} rows, fewer than {k}"] if least < k else []
    findings.levels["k"] = smallest if joined is None else min(smallest, joined)
    findings.levels |= {"k_partial": smallest, "k_set": joined}
    findings.levels |= {"rows_fitting_min": fitting, "rows_with_class_min": alone}
    findings.levels["l_frequency"] = float(1 / surest) if surest else None
    of = "" if len(claims.quasi_sets) == 1 else f", for each of {len(claims.quasi_sets)} sets of quasi-identifiers"
    findings.judge("k", small, f"every group of a projection has at least {smallest} rows{of}")
    if joined is not None:
        findings.judge("k of joins", close, f"every join of two projections shows at least {joined} rows{of}")
        findings.skip("people behind joins", _PRODUCTS.format(fitting=fitting, alone=alone), needed=False)
    if any(p.kind == "l" for p in claims.promises):
        findings.judge("l (frequency)", sure, f"no class has a share above {float(surest):.4g}{of}")


def _counted(frame: pl.DataFrame, claims: ProjectionClaims, part: Sequence[str], known: Sequence[str]) -> pl.DataFrame:
    """Count the combinations of a projection's known quasi-identifiers (q0, q1 ...) and the class (y)."""
    names = [name for name in part if name in known]
    columns = [frame[name].alias(f"q{i}") for i, name in enumerate(names)]
    table = pl.DataFrame([*columns, frame[claims.target.name].alias("y")])
    return table.group_by(table.columns).agg(n=pl.len().cast(pl.Int64))


def _least_product(one: pl.DataFrame, other: pl.DataFrame) -> int:
    """Return the count of the rarest combination of a join by class."""
    a, b = (side.group_by("y").agg(pl.min("n")) for side in (one, other))
    pairs = a.join(b, on="y", nulls_equal=True)
    return int((pairs["n"] * pairs["n_right"]).min())  # type: ignore[arg-type]


def least_fitting(counted: Sequence[pl.DataFrame]) -> int:
    """Return the fewest rows of a projection that fit somebody whose quasi-identifiers in all of them are known.

    The person's class occurs in the groups of every projection; rows with other classes are ruled out. Groups are put
    together as they may be, whether or not somebody is in all of them: nobody has fewer rows than this.
    """
    places: dict[object, int] = {}
    for y in (value for counts in counted for value in counts["y"]):
        places.setdefault(y, len(places))
    tables = [_table(counts, places) for counts in counted]
    seen = [np.unique(table > 0, axis=0) for table in tables]  # which classes groups have
    least = []
    for number, table in enumerate(tables):
        possible = np.ones((1, len(places)), np.bool_)
        for classes in (own for other, own in enumerate(seen) if other != number):
            if len(possible) * len(classes) * len(places) > PAIR_BUDGET:
                possible = np.eye(len(places), dtype=np.bool_)  # as if the class were known
                break
            possible = np.unique((possible[:, np.newaxis] & classes).reshape(-1, len(places)), axis=0)
        for allowed in possible:
            fits = table[:, allowed].sum(axis=1)
            least.append(int(fits[fits > 0].min(initial=int(table.sum()))))
    return min(least)


def _table(counts: pl.DataFrame, places: dict[object, int]) -> Array:
    """Return the counts of a projection, [groups x classes]."""
    known = counts.columns[:-2]
    groups = counts.group_by(known).agg("y", "n") if known else counts.select(pl.col("y", "n").implode())
    table = np.zeros((groups.height, len(places)), np.int64)
    for number, (classes, numbers) in enumerate(groups.select("y", "n").iter_rows()):
        table[number, [places[y] for y in classes]] = numbers
    return table
