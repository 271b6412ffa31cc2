"""What somebody who knows the originals can link: the released rows that each of them may stand behind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from incrowd.errors import counted
from incrowd.verify.coverage import Boxes, count_meeting, points
from incrowd.verify.domain import Array
from incrowd.verify.groups import combine
from incrowd.verify.levels import TOLERANCE, Distributions, distinct
from incrowd.verify.manifest import Claims, Promise
from incrowd.verify.payload import Payload
from incrowd.verify.promises import about_values, broken, marginal_of, nodes_of, note_levels, promise_name
from incrowd.verify.verdict import Findings

PAIR_BUDGET = 2e9
"""Distinct boxes times distinct originals up to which releases per original are counted exactly."""

_TABLE_BUDGET = 1.6e7
_LARGEST_KEY = 4e18  # fits into 64 bits with a sign


def check_linking(
    findings: Findings, claims: Claims, payload: Payload, codes: Sequence[Array], *, values_judged: bool = False
) -> None:
    """Count the released rows that are consistent with each original; judge exact non-homogeneous values by them.

    Unless they were judged already: rings tell how likely each of the rows is, and these counts do not.
    """
    cells = payload.cells
    exact = claims.sensitive is not None and payload.exact is not None
    linked_values = exact and not claims.homogeneous and not values_judged
    n_distinct = _n_distinct(payload, codes, cells.n_groups)
    n_values = payload.n_values if linked_values else 1
    if n_distinct is None or n_distinct * n_values > max(_TABLE_BUDGET, n_distinct):
        _note_lower_bound(findings, payload)
        return
    distinct_codes, multiplicity = _distinct(payload, codes)
    asked = points(distinct_codes, payload.n_codes, len(multiplicity))
    owner, value, weight = np.arange(cells.n_groups), np.zeros(cells.n_groups, np.int64), cells.size
    if linked_values and payload.exact is not None:
        found = Distributions.of_rows(cells.group, payload.exact, cells.n_groups, n_values)
        owner, value, weight = found.owner, found.value, found.count
    boxes = Boxes(cells.lo, cells.hi, [cells.of_groups(m)[owner] for m in range(len(codes))], len(owner))
    linked = count_meeting(asked, boxes, weight, value, n_values)
    total = linked.sum(axis=1)
    findings.levels["releases_per_original_min"] = int(total.min())
    findings.levels["releases_per_original_mean"] = float((total * multiplicity).sum() / multiplicity.sum())
    findings.judge("releases per original", [], f"counted exactly for {counted(len(total), 'distinct original')}")
    if linked_values:
        _judge_linked(findings, claims, linked, marginal_of(claims, payload))


def _n_distinct(payload: Payload, codes: Sequence[Array], n_boxes: int) -> int | None:
    """Return the number of distinct originals, or ``None`` when they are too many to be linked one by one."""
    if not n_boxes or not len(codes[0]):
        return None
    limit = PAIR_BUDGET / n_boxes
    key, size = np.zeros(len(codes[0]), np.int64), 1
    for code, n_codes in zip(codes, payload.n_codes, strict=True):
        size *= n_codes
        if size > _LARGEST_KEY:
            return _capped(int(_numbered(payload, codes).max()) + 1, limit)
        key = key * n_codes + code
    return _capped(pl.Series(key).n_unique(), limit)


def _capped(number: int, limit: float) -> int | None:
    return number if number <= limit else None


def _numbered(payload: Payload, codes: Sequence[Array]) -> Array:
    return combine(list(codes), payload.n_codes, len(codes[0]))


def _distinct(payload: Payload, codes: Sequence[Array]) -> tuple[list[Array], Array]:
    which = _numbered(payload, codes)
    multiplicity = np.bincount(which)
    first = np.empty(len(multiplicity), np.int64)
    first[which] = np.arange(len(which))
    return [code[first] for code in codes], multiplicity


def _note_lower_bound(findings: Findings, payload: Payload) -> None:
    """Fall back on what needs no counting: an original is consistent with the rows of its own box."""
    covers = any(check.name == "covers" and check.ok for check in findings.checks)
    size = payload.cells.size
    known = covers and len(size)
    findings.levels["releases_per_original_min"] = int(size.min()) if known else None
    findings.levels["releases_per_original_mean"] = float((size**2).sum() / size.sum()) if known else None
    findings.skip(
        "releases per original",
        f"a lower bound: more than {PAIR_BUDGET:.0e} pairs of boxes and originals",
        needed=False,
    )


def _n_needed(promise: Promise) -> float:
    """Return how many values an original must be linked to at least."""
    if promise.kind == "l":
        return float(promise.given["l"])
    return 1 / promise.given["alpha"] if promise.kind == "alpha" else 1.0


def _judge_linked(findings: Findings, claims: Claims, linked: Array, marginal: Array | None) -> None:
    """Judge exact values of a non-homogeneous release.

    An original that can be linked to fewer than l values is believed to have one of them with more than 1/l, however
    the candidates are weighted: a violation. When even equal weights keep the promise it holds. In between the
    weights, that is the number of matchings, decide, and nobody can count those.
    """
    found = Distributions.of_matrix(linked)
    note_levels(findings, found, claims, marginal)
    n_linked = found.measure(distinct)
    pending = about_values(claims)
    names = {promise_name(p) for p in pending}
    findings.checks = [check for check in findings.checks if check.name not in names]
    for promise in pending:
        name = promise_name(promise)
        few = n_linked < _n_needed(promise) - TOLERANCE
        wrong = broken(promise, found, marginal, nodes_of(claims))
        if few.any():
            findings.judge(name, [f"{few.sum()} distinct originals can be linked to too few sensitive values"], "")
        elif wrong.any() and not (promise.kind == "l" and promise.given["l_kind"] == "distinct"):
            why = "the weights cannot be told from the release"
            findings.skip(name, f"equal weights break it for {wrong.sum()} distinct originals; {why}")
        else:
            findings.judge(name, [], f"no link of any of {len(wrong)} distinct originals exceeds it")
