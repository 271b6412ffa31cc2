"""How far the sensitive numbers of a group are apart, at least: the e of (k, e)-anonymity.

Numbers are compared as they are written in decimals, without rounding. A missing value is no number, and a group
without two numbers is 0 wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, isinf

import numpy as np
import polars as pl

from incrowd.errors import counted
from incrowd.verify.domain import Array
from incrowd.verify.groups import combine, relabel
from incrowd.verify.manifest import Claims, Promise
from incrowd.verify.payload import Payload, Told
from incrowd.verify.verdict import Findings, first_row

Wide = Fraction | float  # a float only where it is infinite


def check_widths(findings: Findings, claims: Claims, payload: Payload, others: Sequence[Told]) -> None:
    """Check what is promised of the range of one sensitive column's numbers; `others` are the other columns."""
    promises = [promise for promise in claims.promises if promise.kind == "width"]
    if not promises or payload.exact is None or payload.values is None or not payload.values.dtype.is_numeric():
        return  # without groups or numbers, the manifest is refused for the promise
    found = widths(payload.cells.group, payload.exact, payload.values, payload.cells.n_groups)
    least = min(found, default=inf)
    findings.levels["width"] = None if isinf(least) else float(least)
    for promise in promises:
        wrong = _narrow(found, promise)
        row = f", {first_row(int(payload.cells.first[wrong].min()))}" if wrong.any() else ""
        problems = [f"broken in {wrong.sum()} of {len(wrong)} groups{row}"] if wrong.any() else []
        findings.judge("width", problems, f"holds in {counted(len(wrong), 'group')}")
        if promise.others_known:
            _check_for_who_knows(findings, promise, payload, others)


def _check_for_who_knows(findings: Findings, promise: Promise, payload: Payload, others: Sequence[Told]) -> None:
    """Check it against somebody who has learned another sensitive column of a person."""
    problems, n_parts = [], 0
    for other in others:
        assert other.exact is not None
        assert payload.exact is not None
        assert payload.values is not None
        sizes = [payload.cells.n_groups, len(other.values)]
        part = combine([payload.cells.group, other.exact], sizes, payload.frame.height)
        wrong = _narrow(widths(part, payload.exact, payload.values, int(part.max(initial=-1)) + 1), promise)
        n_parts += len(wrong)
        problems += [f"broken in {wrong.sum()} of {len(wrong)} parts that share another value"] if wrong.any() else []
    findings.judge("width, others known", problems, f"holds in {n_parts} parts of groups")


def _narrow(found: Sequence[Wide], promise: Promise) -> Array:
    wanted = Fraction(str(promise.given["width"]))
    return np.array([wide < wanted for wide in found], np.bool_)


def widths(owner: Array, value: Array, values: pl.Series, n_owners: int) -> list[Wide]:
    """Return how far each owner's greatest number is above its least; `values` are in order, a missing one first."""
    known = value >= values.null_count()
    n = len(values)
    least, greatest = np.full(n_owners, n, np.int64), np.full(n_owners, -1, np.int64)
    np.minimum.at(least, owner[known], value[known])
    np.maximum.at(greatest, owner[known], value[known])
    which, pairs = relabel(least * (n + 1) + greatest + 1, (n + 1) * (n + 1))
    listed = values.to_list()
    each = [
        _apart(listed, low, high - 1)
        for low, high in zip(*map(np.ndarray.tolist, np.divmod(pairs, n + 1)), strict=True)
    ]
    return [each[place] for place in which.tolist()]


def _apart(values: list[int | float], low: int, high: int) -> Wide:
    if low >= high:  # one value, or none
        return Fraction(0)
    if isinf(values[low]) or isinf(values[high]):
        return inf
    return Fraction(str(values[high])) - Fraction(str(values[low]))
