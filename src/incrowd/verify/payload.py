"""The published rows, looked at alone: the columns announced, cells inside the domain, legal, and labelled right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from incrowd.errors import counted
from incrowd.verify.canonical import is_plain
from incrowd.verify.domain import TYPES, Array
from incrowd.verify.groups import Cells, count_weights, distinct_cells, make_cells
from incrowd.verify.labels import write_leaves, write_range, write_value
from incrowd.verify.manifest import Claims
from incrowd.verify.published import Leaves, Quasi, Scale, read_cells
from incrowd.verify.rows import Frame, values_at
from incrowd.verify.secrets import Sensitive
from incrowd.verify.verdict import Findings, first_row


@dataclass(frozen=True)
class Told:
    """What the rows tell of one sensitive column.

    Attributes
    ----------
    values
        The distinct values in order.
    exact
        Per row the rank of its value, or ``None``.
    counts
        Per row the counts of values, or ``None``.
    """

    values: pl.Series
    exact: Array | None
    counts: Array | None


@dataclass(frozen=True)
class Payload:
    """The published rows in numbers.

    Attributes
    ----------
    cells
        The generalized cells.
    scales
        How the cells of each quasi-identifier were coded.
    told
        The sensitive columns. `values`, `exact` and `counts` are those of the only one; of several, `about` shows one.
    weights
        How many released rows each row stands for; ``None``: itself.
    """

    frame: Frame
    cells: Cells
    scales: list[Scale]
    told: tuple[Told, ...]
    weights: Array | None = None

    def about(self, column: int) -> Payload:
        """Return the rows as if one sensitive column were the only one."""
        return replace(self, told=(self.told[column],))

    @property
    def _only(self) -> Told | None:
        if len(self.told) > 1:
            raise AssertionError  # a check that sees one column must not be given several
        return self.told[0] if self.told else None

    @property
    def values(self) -> pl.Series | None:
        """The distinct sensitive values in order, or ``None`` when nothing is sensitive."""
        return None if self._only is None else self._only.values

    @property
    def exact(self) -> Array | None:
        """Per row the rank of its sensitive value, or ``None``."""
        return None if self._only is None else self._only.exact

    @property
    def counts(self) -> Array | None:
        """Per row the counts of sensitive values, or ``None``."""
        return None if self._only is None else self._only.counts

    @property
    def n_values(self) -> int:
        """Number of sensitive values."""
        return 0 if self.values is None else len(self.values)

    @property
    def n_codes(self) -> list[int]:
        """Number of codes of each quasi-identifier."""
        return [scale.n_codes for scale in self.scales]


def read_payload(
    findings: Findings, claims: Claims, frame: Frame, *, labelled: bool, weights: Array | None = None
) -> Payload | None:
    """Return the payload in numbers, or ``None`` when it is too broken to look further.

    With `weights`, each row of the frame stands for so many released ones.
    """
    if not _check_columns(findings, claims, frame, labelled=labelled):
        return None
    found = _check_cells(findings, claims, frame)
    if found is None:
        return None
    cells, scales = found
    if weights is not None:
        cells = replace(cells, size=count_weights(cells.group, weights, cells.n_groups))
    told = []
    for secret in claims.secrets:
        if secret.values is None:
            exact, values = rank_values(frame[secret.name])
            if secret.tree is not None and not secret.tree.leaves.equals(values, null_equal=True):
                findings.judge("marginals", [f"the tree of {secret.name!r} does not list its values, in order"], "")
                return None
            if secret.ranges is not None and not set(values.drop_nulls()) <= set(secret.ranges):
                findings.judge("marginals", [f"{secret.name!r} has numbers with which no range begins"], "")
                return None
            told.append(Told(values, exact, None))
            continue
        counts = _check_counts(findings, claims, secret, frame, cells)
        if counts is None:
            return None
        told.append(Told(secret.values, None, counts))
    return Payload(frame, cells, scales, tuple(told), weights)


def rank_values(column: pl.Series) -> tuple[Array, pl.Series]:
    """Return the rank of each value among the distinct ones, a missing value first, and those."""
    values = column.unique().sort()
    if column.dtype == pl.String:
        found = column.cast(pl.Enum(values.drop_nulls())).to_physical().cast(pl.Int32()) + values.null_count()
        return found.fill_null(0).to_numpy(), values
    ranks = pl.Series(np.arange(len(values), dtype=np.int32))
    rank = column.replace_strict(values, ranks, return_dtype=pl.Int32()).to_numpy()
    return rank.astype(np.int32, copy=False), values  # of no rows, polars makes floats


def wrong_rows(wrong: Array, what: str) -> list[str]:
    """Say of how many rows something wrong is true, and where the first of them stands; nothing if of none."""
    n_wrong = int(wrong.sum())
    return [f"{n_wrong} rows {what}, {first_row(int(np.argmax(wrong)))}"] if n_wrong else []


def expected_columns(claims: Claims, *, labels: bool) -> list[str]:
    """Return the names of the announced columns in order."""
    ends = [*([""] if labels else []), ".lo", ".hi"]
    names = [f"{q.name}{end}" for q in claims.quasi for end in ends] + list(claims.other)
    return names + [name for secret in claims.secrets for name in secret.columns]


def expected_types(claims: Claims, *, labels: bool) -> dict[str, pl.DataType]:
    """Return the types of the announced columns; *other* ones have any."""
    wanted: dict[str, pl.DataType] = {f"{q.name}{end}": q.dtype for q in claims.quasi for end in (".lo", ".hi")}
    wanted |= {q.name: pl.String() for q in claims.quasi if labels}
    for secret in claims.secrets:
        kind = TYPES[secret.type] if secret.form == "exact" else pl.Int32()
        wanted |= dict.fromkeys(secret.columns, kind)
    return wanted


def _column_problems(claims: Claims, found: Sequence[str], expected: Sequence[str]) -> list[str]:
    """Say which columns are missing, too many, or out of place; values in names of distributions are not repeated."""
    extra = [name for name in found if name not in set(expected)]
    lost = [name for name in expected if name not in set(found)]
    problems = []
    if extra:
        problems.append(f"the release has columns that were not announced: {_shown(claims, extra)}")
    if lost:
        problems.append(f"the release lacks {_shown(claims, lost)}")
    if not problems and list(found) != list(expected):
        problems.append("the release has its columns in another order than announced")
    return problems


def _shown(claims: Claims, names: Sequence[str]) -> str:
    prefixes = tuple(f"{secret.name}=" for secret in claims.secrets)
    distribution = [name for name in names if name.startswith(prefixes)]
    shown = [repr(name) for name in names if name not in distribution]
    if distribution:
        shown.append(f"{len(distribution)} distribution columns")
    return ", ".join(shown)


def _check_columns(findings: Findings, claims: Claims, frame: Frame, *, labelled: bool) -> bool:
    has_labels = labelled or any(q.name in frame.columns for q in claims.quasi)
    expected = expected_columns(claims, labels=has_labels)
    problems = _column_problems(claims, frame.columns, expected)
    wanted = expected_types(claims, labels=has_labels)
    wrong = [name for name, dtype in wanted.items() if name in frame.columns and frame.schema[name] != dtype]
    if wrong:
        problems.append(f"columns of another type than the format's: {_shown(claims, wrong)}")
    odd = [name for name in claims.other if name in frame.columns and not is_plain(frame.schema[name])]
    if odd:
        problems.append(f"columns of a type that can carry more than their values: {_shown(claims, odd)}")
    signed = [name for name in claims.other if name in frame.columns and _has_negative_zero(frame[name])]
    if signed:
        problems.append(f"columns with a negative zero: {_shown(claims, signed)}")
    nameless = [secret.name for secret in claims.secrets if not wrong and _has_nan(frame, secret)]
    if nameless:
        problems.append(f"sensitive columns with 'not a number' for a missing value: {_shown(claims, nameless)}")
    findings.judge("columns", problems, f"{len(frame.columns)} columns in the Parquet file, all announced")
    return not wrong and not nameless and set(expected) <= set(frame.columns)


def _has_nan(frame: Frame, secret: Sensitive) -> bool:
    """Tell whether an exact column has NaN, which would count as a value of its own and as a number at once."""
    is_there = secret.form == "exact" and secret.name in frame.columns
    return is_there and frame.schema[secret.name].is_float() and bool(frame[secret.name].is_nan().any())


def _has_negative_zero(column: pl.Series) -> bool:
    if not column.dtype.is_float():
        return False
    numbers = column.to_numpy()
    return bool((np.signbit(numbers) & (numbers == 0)).any())


def _check_cells(findings: Findings, claims: Claims, frame: Frame) -> tuple[Cells, list[Scale]] | None:
    problems: list[str] = []
    columns, scales = [], []
    for q in claims.quasi:  # one column's codes of all rows at a time
        wrong, scale, lo, hi = read_cells(q, frame[f"{q.name}.lo"], frame[f"{q.name}.hi"])
        problems += wrong
        scales.append(scale)
        if not problems:
            columns.append(distinct_cells(lo, hi, scale.n_codes))
    if not findings.judge(
        "cells", problems, f"all inside the domains of {counted(len(claims.quasi), 'quasi-identifier')}"
    ):
        return None
    cells = make_cells(columns, frame.height)
    problems = []
    for m, q in enumerate(claims.quasi):
        if isinstance(q, Leaves):
            wrong_cell = ~q.legal(cells.lo[m], cells.hi[m])
            if wrong_cell.any():
                problems += wrong_rows(wrong_cell[cells.cell[m]], f"have a cell of {q.name!r} that its hierarchy lacks")
    n_cells = sum(map(len, cells.lo))
    findings.judge("legal cells", problems, f"{counted(n_cells, 'distinct cell')}, all leaves, nodes or ranges")
    return cells, scales


def _check_counts(findings: Findings, claims: Claims, sensitive: Sensitive, frame: Frame, cells: Cells) -> Array | None:
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
        findings.judge("distributions", problems, f"every row has shares of {counts.shape[1]} values")
        return None if broken else counts
    problems += wrong_rows(np.asarray(sums > claims.rows["released"]), "count more members than there are rows")
    if claims.homogeneous:
        differs = np.asarray((counts != counts[cells.first[cells.group]]).any(axis=1))
        problems += wrong_rows(differs, "have another distribution than their group")
    if claims.k is not None and not broken:
        problems += wrong_rows(np.asarray(sums < claims.k), f"have fewer than k = {claims.k} members")
    smallest = int(sums.min(initial=claims.rows["released"]))
    findings.judge("distributions", problems, f"every row has at least {smallest} members")
    return None if broken else counts


def check_labels(findings: Findings, claims: Claims, payload: Payload) -> None:
    """Compare the labels with the cells, each distinct cell written once."""
    frame = payload.frame
    if claims.quasi[0].name not in frame.columns:
        findings.skip("labels", "no labels yet: only codes were given", needed=False)
        return
    problems = []
    for m, q in enumerate(claims.quasi):
        written = pl.Series(cell_labels(q, payload, m), dtype=pl.String())[payload.cells.cell[m]]
        wrong = frame[q.name].ne_missing(written).to_numpy()
        problems += wrong_rows(wrong, f"have a label of {q.name!r} that is another cell's")
    findings.judge("labels", problems, "every label is its cell's")


def cell_labels(q: Quasi, payload: Payload, column: int) -> list[str]:
    """Write the distinct cells of a column for people."""
    cells = payload.cells
    some_row = np.empty(len(cells.lo[column]), np.int64)
    some_row[cells.cell[column]] = np.arange(payload.frame.height)
    first, last = (values_at(payload.frame, f"{q.name}{end}", some_row).to_list() for end in (".lo", ".hi"))
    if isinstance(q, Leaves):
        return [write_leaves(q, a, b) for a, b in zip(first, last, strict=True)]
    return [write_range(a, b) for a, b in zip(first, last, strict=True)]


def declared_names(claims: Claims, payload: Payload) -> list[str]:
    """Count what the manifest names on the owner's word alone: nodes of taxonomies, and values that nobody has."""
    n_nodes = n_unused = n_nobody = 0
    for m, q in enumerate(claims.quasi):
        n_nobody += 0 if claims.joined else int((q.counts == 0).sum())
        if isinstance(q, Leaves):
            nodes = {name for level in q.levels[:-1] for name in level} - {write_value(leaf) for leaf in q.leaves}
            n_nodes += len(nodes)
            n_unused += len(nodes.difference(cell_labels(q, payload, m)))
    found = [f"{n_nodes} names of nodes, {n_unused} of them in no cell"] if n_nodes else []
    return found + ([f"{n_nobody} listed values that nobody has"] if n_nobody else [])
