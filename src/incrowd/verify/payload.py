"""The published rows, looked at alone: the columns announced, cells inside the domain, legal, and labelled right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from incrowd.hierarchy import Hierarchy, Intervals, Taxonomy
from incrowd.verify.domain import Array, Domain
from incrowd.verify.groups import Cells, make_cells
from incrowd.verify.manifest import Claims, Sensitive
from incrowd.verify.verdict import Findings, first_row


@dataclass(frozen=True)
class Payload:
    """The published rows in numbers.

    Attributes
    ----------
    cells
        The generalized cells.
    exact
        Per row the rank of its sensitive value, or ``None``.
    counts
        Per row the counts of sensitive values, or ``None``.
    """

    frame: pl.DataFrame
    cells: Cells
    exact: Array | None
    counts: Array | None


def read_payload(findings: Findings, claims: Claims, frame: pl.DataFrame, *, labelled: bool) -> Payload | None:
    """Return the payload in numbers, or ``None`` when it is too broken to look further."""
    if not _check_columns(findings, claims, frame, labelled=labelled):
        return None
    cells = _check_cells(findings, claims, frame)
    if cells is None:
        return None
    exact = counts = None
    if claims.sensitive is not None and claims.sensitive.form == "exact":
        exact = _check_exact(findings, claims.sensitive, frame)
        if exact is None:
            return None
    elif claims.sensitive is not None:
        counts = _check_counts(findings, claims, claims.sensitive, frame, cells)
        if counts is None:
            return None
    return Payload(frame, cells, exact, counts)


def wrong_rows(wrong: Array, what: str) -> list[str]:
    """Say of how many rows something wrong is true, and where the first of them stands; nothing if of none."""
    n_wrong = int(wrong.sum())
    return [f"{n_wrong} rows {what}, {first_row(int(np.argmax(wrong)))}"] if n_wrong else []


def expected_columns(claims: Claims, *, labels: bool, codes: bool) -> list[str]:
    """Return the names of the announced columns in order."""
    ends = ([""] if labels else []) + ([".lo", ".hi"] if codes else [])
    names = [f"{q.name}{end}" for q in claims.quasi for end in ends] + list(claims.other)
    return names + (claims.sensitive.columns if claims.sensitive else [])


def column_problems(claims: Claims, found: Sequence[str], expected: Sequence[str], what: str) -> list[str]:
    """Say which columns are missing, too many, or out of place; values in names of distributions are not repeated."""
    extra = [name for name in found if name not in set(expected)]
    lost = [name for name in expected if name not in set(found)]
    problems = []
    if extra:
        problems.append(f"{what} has columns that were not announced: {_shown(claims, extra)}")
    if lost:
        problems.append(f"{what} lacks {_shown(claims, lost)}")
    if not problems and list(found) != list(expected):
        problems.append(f"{what} has its columns in another order than announced")
    return problems


def _shown(claims: Claims, names: Sequence[str]) -> str:
    prefix = f"{claims.sensitive.name}=" if claims.sensitive else None
    distribution = [name for name in names if prefix and name.startswith(prefix)]
    shown = [repr(name) for name in names if name not in distribution]
    if distribution:
        shown.append(f"{len(distribution)} distribution columns")
    return ", ".join(shown)


def _check_columns(findings: Findings, claims: Claims, frame: pl.DataFrame, *, labelled: bool) -> bool:
    has_labels = labelled or any(q.name in frame.columns for q in claims.quasi)
    expected = expected_columns(claims, labels=has_labels, codes=True)
    problems = column_problems(claims, frame.columns, expected, "the release")
    wanted: dict[str, pl.DataType] = {f"{q.name}{end}": pl.Int32() for q in claims.quasi for end in (".lo", ".hi")}
    wanted |= {q.name: pl.String() for q in claims.quasi if has_labels}
    if claims.sensitive is not None and claims.sensitive.form == "counts":
        wanted |= {name: pl.Int32() for name in claims.sensitive.columns}
    wrong = [name for name, dtype in wanted.items() if name in frame.columns and frame[name].dtype != dtype]
    if wrong:
        problems.append(f"columns of another type than the format's: {_shown(claims, wrong)}")
    odd = [name for name in claims.other if name in frame.columns and not is_plain(frame[name].dtype)]
    if odd:
        problems.append(f"columns of a type that can carry more than their values: {_shown(claims, odd)}")
    sensitive = claims.sensitive
    exact = sensitive is not None and sensitive.form == "exact" and sensitive.name in frame.columns
    if exact and sensitive is not None and not fits(frame[sensitive.name].dtype, sensitive.values.type):
        problems.append(f"column {sensitive.name!r} is not of type {sensitive.values.type}")
        wrong.append(sensitive.name)
    findings.judge("columns", problems, f"{len(frame.columns)} columns, all announced")
    return not wrong and set(expected) <= set(frame.columns)


def is_plain(dtype: pl.DataType) -> bool:
    """Tell whether a type carries nothing but its values."""
    simple = dtype in (pl.String, pl.Boolean, pl.Date, pl.Datetime, pl.Null)
    return simple or dtype.is_integer() or dtype.is_float()


def fits(dtype: pl.DataType, kind: str) -> bool:
    """Tell whether a type is the one that a manifest names."""
    known = {
        "int": dtype.is_integer(),
        "float": dtype.is_float(),
        "str": dtype == pl.String,
        "date": dtype == pl.Date,
        "bool": dtype == pl.Boolean,
    }
    return bool(known[kind]) or dtype == pl.Null


def _check_cells(findings: Findings, claims: Claims, frame: pl.DataFrame) -> Cells | None:
    los, his, problems = [], [], []
    for q in claims.quasi:
        lo_column, hi_column = frame[f"{q.name}.lo"], frame[f"{q.name}.hi"]
        if lo_column.null_count() or hi_column.null_count():
            problems.append(f"column {q.name!r} has rows without codes")
            continue
        lo, hi = lo_column.to_numpy(), hi_column.to_numpy()
        if len(lo) and (lo.min() < 0 or hi.max() >= q.domain.n_leaves):
            outside = (lo < 0) | (hi >= q.domain.n_leaves)
            problems += wrong_rows(outside, f"have a cell of {q.name!r} outside its domain")
        problems += wrong_rows(lo > hi, f"have a cell of {q.name!r} with lo above hi")
        los.append(lo)
        his.append(hi)
    if not findings.judge("cells", problems, f"all inside the domains of {len(claims.quasi)} quasi-identifiers"):
        return None
    cells = make_cells(los, his, [q.domain.n_leaves for q in claims.quasi], frame.height)
    _check_legal(findings, claims, cells)
    return cells


def _check_legal(findings: Findings, claims: Claims, cells: Cells) -> None:
    problems = []
    for m, q in enumerate(claims.quasi):
        wrong = ~q.domain.legal(cells.lo[m], cells.hi[m])
        if wrong.any():
            problems += wrong_rows(wrong[cells.cell[m]], f"have a cell of {q.name!r} that its hierarchy lacks")
    n_cells = sum(map(len, cells.lo))
    findings.judge("legal cells", problems, f"{n_cells} distinct cells, all leaves, nodes or intervals")


def _check_exact(findings: Findings, sensitive: Sensitive, frame: pl.DataFrame) -> Array | None:
    exact = sensitive.values.code(frame[sensitive.name])
    problems = wrong_rows(exact < 0, f"have a value of {sensitive.name!r} that the manifest does not list")
    fine = findings.judge("sensitive values", problems, f"all of the {len(sensitive.values.series)} listed values")
    return exact if fine else None


def _check_counts(
    findings: Findings, claims: Claims, sensitive: Sensitive, frame: pl.DataFrame, cells: Cells
) -> Array | None:
    columns = frame.select(sensitive.columns)
    if any(columns.null_count().row(0)):
        findings.judge("distributions", ["some rows have no count"], "")
        return None
    counts = columns.to_numpy()
    sums = counts.sum(axis=1, dtype=np.int64)
    problems = wrong_rows(np.asarray((counts < 0).any(axis=1)), "have a negative count")
    problems += wrong_rows(np.asarray(sums <= 0), "have no members")
    broken = bool(problems)
    if claims.in_shares:
        problems += wrong_rows(
            np.asarray(counts[:, sensitive.marginal == 0].any(axis=1)), "have a value that nobody has"
        )
        findings.judge("distributions", problems, f"every row has shares of {counts.shape[1]} values")
        return None if broken else counts
    problems += wrong_rows(np.asarray((counts > sensitive.marginal).any(axis=1)), "count a value beyond its marginal")
    problems += wrong_rows(np.asarray(sums > claims.rows["released"]), "count more members than there are rows")
    if claims.homogeneous:
        differs = np.asarray((counts != counts[cells.first[cells.group]]).any(axis=1))
        problems += wrong_rows(differs, "have another distribution than their group")
    if claims.k is not None and not broken:
        problems += wrong_rows(np.asarray(sums < claims.k), f"have fewer than k = {claims.k} members")
    smallest = int(sums.min()) if len(sums) else 0
    findings.judge("distributions", problems, f"every row has at least {smallest} members")
    return None if broken else counts


def check_labels(findings: Findings, claims: Claims, payload: Payload, csv: pl.DataFrame | None) -> None:
    """Compare the labels in both files with the codes, each distinct cell written once."""
    frame = payload.frame
    if csv is None and not all(q.name in frame.columns for q in claims.quasi):
        findings.skip("labels", "no labels yet: only codes were given")
        return
    problems = []
    for m, q in enumerate(claims.quasi):
        lo, hi = payload.cells.lo[m], payload.cells.hi[m]
        written = pl.Series(cell_labels(q.domain, lo, hi), dtype=pl.String()).gather(payload.cells.cell[m])
        for where, table in (("release.parquet", frame), ("release.csv", csv)):
            if table is None or q.name not in table.columns or table.height != frame.height:
                continue
            labels = table[q.name].cast(pl.String()).fill_null("")
            wrong = (labels != written).to_numpy()
            problems += wrong_rows(wrong, f"of {where} have a label of {q.name!r} that is another cell's")
    findings.judge("labels", problems, "every label is its cell's")


def cell_labels(domain: Domain, lo: Array, hi: Array) -> list[str]:
    """Write legal cells for people; an illegal one has no label and gets an empty one."""
    leaves = domain.values.series
    own: Hierarchy = Intervals(leaves) if domain.kind == "intervals" else Taxonomy(leaves, domain.levels)
    # a taxonomy may order siblings in its own way, so ranks are translated leaf by leaf
    rank = own.encode(leaves)
    legal = domain.legal(lo, hi)
    ends = [(rank[a : b + 1].min(), rank[a : b + 1].max()) for a, b in zip(lo, hi, strict=True)]
    return [own.label(int(a), int(b)) if fine else "" for (a, b), fine in zip(ends, legal, strict=True)]
