"""Somebody else's published table: grouped by its cells as they stand, held against a promise."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from incrowd import io
from incrowd.errors import ParameterError, SchemaError
from incrowd.verify.domain import Array
from incrowd.verify.groups import combine
from incrowd.verify.levels import TOLERANCE, Distributions, above_share, distances, tops, totals
from incrowd.verify.promises import broken_l, check_k, reached
from incrowd.verify.verdict import Findings, Verdict

_L_KINDS = ("frequency", "distinct", "entropy", "recursive")


def verify_table(
    frame: Any,  # noqa: ANN401 - any frame
    *,
    quasi: Sequence[str],
    sensitive: str | None = None,
    k: int | None = None,
    l: float | None = None,
    l_kind: str = "frequency",
    c: float = 3.0,
    t: float | None = None,
    alpha: float | None = None,
) -> Verdict:
    """Check a published table that has no manifest.

    Parameters
    ----------
    frame
        A frame or the path of a file.
    quasi
        The columns that somebody may know; rows that agree in them form a group, a missing cell is a value.
    sensitive
        The column to be protected.
    k, l, l_kind, c, t, alpha
        The promise: group size, diversity of a kind (`c` belongs to ``recursive``), closeness to the whole table's
        distribution (half the sum of absolute differences), largest share.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"age": ["2*", "2*", "3*"], "ill": ["flu", "cold", "flu"]})
    >>> verify_table(table, quasi=["age"], sensitive="ill", k=2).violations
    ['k: 1 of 2 groups have fewer than k = 2 rows, the smallest 1, first at release row 2']
    """
    table = io.read(frame) if isinstance(frame, str | Path) else io.to_polars(frame)
    _check_arguments(table, quasi, sensitive, {"l": l, "t": t, "alpha": alpha}, l_kind)
    findings = Findings()
    group = _groups(table, quasi)
    sizes = np.bincount(group)
    first = np.zeros(len(sizes), np.int64)
    first[group[::-1]] = np.arange(len(group) - 1, -1, -1)
    findings.levels["k"] = int(sizes.min()) if len(sizes) else None
    if not table.height:
        findings.judge("rows", ["the table is empty"], "")
    if k is not None:
        check_k(findings, sizes, k, first)
    if sensitive is not None and table.height:
        values = (table[sensitive].rank("dense").fill_null(0)).to_numpy().astype(np.int64)
        n_values = int(values.max()) + 1
        found = Distributions.of_rows(group, values, len(sizes), n_values)
        marginal = np.bincount(values, minlength=n_values)
        findings.levels |= reached(found, marginal, c=c, ordered=False)
        _check_values(findings, found, marginal, first, l=l, l_kind=l_kind, c=c, t=t, alpha=alpha)
    return findings.verdict()


def _check_arguments(
    table: pl.DataFrame, quasi: Sequence[str], sensitive: str | None, asked: dict[str, float | None], l_kind: str
) -> None:
    lost = [name for name in [*quasi, *([sensitive] if sensitive else [])] if name not in table.columns]
    if lost:
        fact = f"The table lacks the columns {', '.join(map(repr, lost))}"
        raise SchemaError(fact, "name columns as they stand in the table")
    needing = [name for name, value in asked.items() if value is not None]
    if needing and sensitive is None:
        fact = f"{', '.join(needing)} was asked for without a sensitive column"
        raise ParameterError(fact, "name it with sensitive=")
    if l_kind not in _L_KINDS:
        fact = f"l_kind is {l_kind!r}"
        raise ParameterError(fact, f"use one of {', '.join(_L_KINDS)}")


def _groups(table: pl.DataFrame, quasi: Sequence[str]) -> Array:
    numbers = [table[name].rank("dense").fill_null(0).to_numpy().astype(np.int64) for name in quasi]
    return combine(numbers, [int(column.max(initial=0)) + 1 for column in numbers], table.height)


def _check_values(
    findings: Findings,
    found: Distributions,
    marginal: Array,
    first: Array,
    *,
    l: float | None,
    l_kind: str,
    c: float,
    t: float | None,
    alpha: float | None,
) -> None:
    wrongs: list[tuple[str, Array]] = []
    if l is not None:
        wrongs.append((f"l ({l_kind})", broken_l(found, l, l_kind, c)))
    if t is not None:
        far = found.measure(lambda counts: distances(counts, marginal, ordered=False))
        wrongs.append(("t", far > t + TOLERANCE))
    if alpha is not None:
        share = above_share(found.measure(tops), found.measure(totals), Fraction(str(alpha)))
        wrongs.append(("alpha", share))
    for name, wrong in wrongs:
        what = f"broken in {wrong.sum()} of {len(wrong)} groups"
        row = f", first at release row {int(first[wrong].min())}" if wrong.any() else ""
        findings.judge(name, [what + row] if wrong.any() else [], f"holds in {len(wrong)} groups")
