"""Without a row map: whether every released row can be given an original of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from incrowd.verify.compare import as_text, read_like
from incrowd.verify.domain import Array
from incrowd.verify.groups import number_rows
from incrowd.verify.manifest import Claims
from incrowd.verify.payload import Payload
from incrowd.verify.verdict import Findings

PAIR_BUDGET = 2e8
EDGE_BUDGET = 5e6
_BLOCK = 1 << 22


@dataclass(frozen=True)
class _Side:
    """Distinct rows of one side: an example of each, and how many there are of it."""

    first: Array
    size: Array


def check_assignment(
    findings: Findings,
    claims: Claims,
    payload: Payload,
    codes: Sequence[Array],
    sensitive: Array | None,
    other: pl.DataFrame,
) -> None:
    """Look for a full assignment by maximum flow between distinct released rows and distinct originals."""
    n_rows, n_originals = payload.frame.height, len(codes[0])
    if not n_rows:
        return
    untouched = np.zeros(n_rows + n_originals, np.int64)
    if claims.other and not claims.in_shares:  # shares go with other columns of anybody in the block
        untouched = number_together(payload.frame.select(claims.other), other)
    support, support_of = _supports(payload, n_rows)
    released = _side([payload.cells.group, support_of, untouched[:n_rows]], n_rows)
    own = sensitive if sensitive is not None else np.zeros(n_originals, np.int64)
    originals = _side([*codes, own, untouched[n_rows:]], n_originals)
    if len(released.first) * len(originals.first) > PAIR_BUDGET:
        findings.skip("assignment", f"more than {PAIR_BUDGET:.0e} pairs of distinct rows to try")
        return

    def fits(left: Array) -> Array:
        """Tell which originals each of some released rows can stand for."""
        right = originals.first
        ok = untouched[:n_rows][left][:, None] == untouched[n_rows:][right]
        for m, code in enumerate(codes):
            cell = payload.cells.cell[m][left]
            ok &= (payload.cells.lo[m][cell][:, None] <= code[right]) & (
                code[right] <= payload.cells.hi[m][cell][:, None]
            )
        if payload.exact is not None:
            ok &= payload.exact[left][:, None] == own[right]
        elif support is not None:
            ok &= support[support_of[left]][:, np.maximum(own[right], 0)] & (own[right] >= 0)
        return np.asarray(ok)

    sources, targets = [], []
    step = max(1, _BLOCK // max(1, len(originals.first)))
    for start in range(0, len(released.first), step):
        source, target = np.nonzero(fits(released.first[start : start + step]))
        sources.append(source + start)
        targets.append(target)
        if sum(map(len, sources)) > EDGE_BUDGET:
            findings.skip("assignment", f"more than {EDGE_BUDGET:.0e} possible pairs of a row and an original")
            return
    placed = _flow(released.size, originals.size, np.concatenate(sources), np.concatenate(targets))
    problems = [f"only {placed} of {n_rows} released rows can be given an original of their own"]
    findings.judge("assignment", problems if placed < n_rows else [], f"all {n_rows} rows fit originals of their own")


def number_together(a: pl.DataFrame, b: pl.DataFrame) -> Array:
    """Return numbers for the rows of two frames with the same columns, equal ones for equal rows."""
    both = [
        pl.concat(alike(a[name], b[name])).rank("dense").fill_null(0).to_numpy().astype(np.int64) for name in a.columns
    ]
    return number_rows(both, a.height + b.height)


def alike(a: pl.Series, b: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Bring two columns to the same type: that of the first, or text."""
    if b.dtype == pl.String != a.dtype and (read := read_like(b, a.dtype)) is not None:
        b = read
    if a.dtype != b.dtype:
        a, b = as_text(a), as_text(b)
    return a.alias(""), b.alias("")


def _supports(payload: Payload, n_rows: int) -> tuple[Array | None, Array]:
    """Return the sets of sensitive values that rows allow, and which of them each row has."""
    if payload.exact is not None:
        return None, payload.exact.astype(np.int64)
    if payload.counts is None:
        return None, np.zeros(n_rows, np.int64)
    support, which = np.unique(payload.counts > 0, axis=0, return_inverse=True)
    return support, which.ravel()


def _side(columns: list[Array], n: int) -> _Side:
    shifted = [column.astype(np.int64) - int(column.min(initial=0)) for column in columns]
    which = number_rows(shifted, n)
    size = np.bincount(which)
    first = np.zeros(len(size), np.int64)
    first[which] = np.arange(n)
    return _Side(first, size)


def _flow(left: Array, right: Array, source: Array, target: Array) -> int:
    """Return how many released rows a maximum flow places."""
    from scipy.sparse import coo_array  # noqa: PLC0415 - a tenth of a second that most releases need not pay
    from scipy.sparse.csgraph import maximum_flow  # noqa: PLC0415

    n_left, n_right = len(left), len(right)
    start, end = n_left + n_right, n_left + n_right + 1
    tail = np.concatenate([np.full(n_left, start), source, n_left + np.arange(n_right)])
    head = np.concatenate([np.arange(n_left), n_left + target, np.full(n_right, end)])
    capacity = np.concatenate([left, np.minimum(left[source], right[target]), right]).astype(np.int32)
    graph = coo_array((capacity, (tail.astype(np.int32), head.astype(np.int32))), shape=(end + 1, end + 1)).tocsr()
    return int(maximum_flow(graph, start, end).flow_value)
