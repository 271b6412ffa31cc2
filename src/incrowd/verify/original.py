"""The release against the rows that it was made from: every row stands for its person, and k of them fit each row."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import polars as pl

from incrowd.verify.assignment import check_assignment
from incrowd.verify.blocks import check_blocks
from incrowd.verify.coverage import Boxes, count_meeting, points
from incrowd.verify.domain import Array
from incrowd.verify.groups import relabel
from incrowd.verify.linking import check_linking
from incrowd.verify.manifest import Claims
from incrowd.verify.payload import Payload, wrong_rows
from incrowd.verify.rings import check_rings
from incrowd.verify.sideways import check_identifiers, check_other
from incrowd.verify.verdict import Findings, first_row


@dataclass(frozen=True)
class Originals:
    """The original rows in ranks of the manifest's values.

    Attributes
    ----------
    codes
        Per quasi-identifier the rank of each original value, negative where it has none.
    sensitive
        The same for the sensitive column, or ``None``.
    dropped
        Which originals have a missing value that drops them.
    """

    codes: list[Array]
    sensitive: Array | None
    dropped: Array

    def take(self, at: Array) -> Originals:
        """Return some of the originals in the order asked for."""
        sensitive = self.sensitive[at] if self.sensitive is not None else None
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            codes = list(pool.map(lambda column: np.take(column, at), self.codes))
        return Originals(codes, sensitive, self.dropped[at])

    def listed(self) -> Array:
        """Tell which originals have only values that the manifest lists."""
        fine = np.ones(len(self.dropped), np.bool_)
        for column in [*self.codes, *([self.sensitive] if self.sensitive is not None else [])]:
            if column.min(initial=0) < 0:
                fine &= column >= 0
        return fine


def check_original(
    findings: Findings,
    claims: Claims,
    payload: Payload,
    original: pl.DataFrame,
    rows: Array | None,
    *,
    rings: pl.DataFrame | None = None,
    blocks: Array | None = None,
    promises_only: bool = False,
) -> None:
    """Check all that the originals can show, with the row map when there is one."""
    originals = _code(findings, claims, original)
    if originals is None:
        return
    _check_missing(findings, claims, originals)
    if rows is None:
        findings.skip("row map", "no row map was given")
        behind = originals.take(np.flatnonzero(~originals.dropped))
        others = original.filter(~originals.dropped).select(claims.other)
        check_assignment(findings, claims, payload, behind.codes, behind.sensitive, others)
    else:
        if not _check_row_map(findings, claims, payload, originals, rows):
            return
        behind = originals.take(rows)
        _check_covers(findings, claims, payload, behind)
        _check_own_value(findings, claims, payload, behind)
        check_other(findings, claims, payload, original, rows)
    check_identifiers(findings, claims, payload.frame, original, rows)
    _check_marginals(findings, claims, behind, certain=rows is not None or claims.rows["suppressed"] == 0)
    listed = behind.listed()
    whole = bool(listed.all())
    if not whole:
        behind = behind.take(np.flatnonzero(listed))
    if claims.in_shares:
        known = blocks if whole and rows is not None else None
        check_blocks(findings, claims, payload, behind.codes, behind.sensitive, known)
    on_rings = False
    if rings is not None and rows is not None and whole and not claims.homogeneous:
        on_rings = check_rings(findings, claims, payload, behind.codes, rings, promises_only=promises_only)
    if promises_only and on_rings:
        return
    _check_members(findings, claims, payload, behind, mapped=whole and rows is not None, on_rings=on_rings)
    if not (promises_only and claims.homogeneous):
        check_linking(findings, claims, payload, behind.codes, values_judged=on_rings)


def _code(findings: Findings, claims: Claims, original: pl.DataFrame) -> Originals | None:
    wanted = [q.name for q in claims.quasi] + list(claims.other)
    wanted += [claims.sensitive.name] if claims.sensitive else []
    lost = [name for name in wanted if name not in original.columns]
    problems = [f"it lacks the columns {', '.join(map(repr, lost))}"] if lost else []
    if original.height != claims.rows["input"]:
        problems.append(f"it has {original.height} rows, and the manifest says {claims.rows['input']}")
    if not findings.judge("original", problems, f"{original.height} rows with all {len(wanted)} columns"):
        return None
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        codes = list(pool.map(lambda q: q.domain.values.code(original[q.name], claims.tokens), claims.quasi))
    named = [(q.name, code, q.domain.values.null_rank) for q, code in zip(claims.quasi, codes, strict=True)]
    sensitive = None
    if claims.sensitive is not None:
        sensitive = claims.sensitive.values.code(original[claims.sensitive.name], claims.tokens)
        named.append((claims.sensitive.name, sensitive, claims.sensitive.values.null_rank))
    dropped = np.zeros(original.height, np.bool_)
    if claims.policy == "drop":
        for _, code, null_rank in named:
            dropped |= code == null_rank
    return Originals(codes, sensitive, dropped)


def _check_missing(findings: Findings, claims: Claims, originals: Originals) -> None:
    n_dropped = int(originals.dropped.sum())
    problems = []
    if n_dropped != claims.rows["missing"]:
        problems.append(f"{n_dropped} originals have a missing value, and the manifest says {claims.rows['missing']}")
    findings.judge("missing rows", problems, f"{n_dropped} originals have a missing value that drops them")


def _check_row_map(findings: Findings, claims: Claims, payload: Payload, originals: Originals, rows: Array) -> bool:
    problems = row_map_problems(rows, payload.frame.height, claims.rows["input"])
    if not problems:
        problems += wrong_rows(originals.dropped[rows], "come from originals with a missing value")
    return findings.judge("row map", problems, f"{len(rows)} released rows, each from its own original")


def row_map_problems(rows: Array, n_released: int, n_input: int) -> list[str]:
    """Say what keeps a row map from pointing every released row to an original of its own."""
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        return ["it is not a list of row numbers"]
    if len(rows) != n_released:
        return [f"it has {len(rows)} entries for {n_released} released rows"]
    if len(rows) and (rows.min() < 0 or rows.max() >= n_input):
        return [f"it points outside the {n_input} originals"]
    twice = len(rows) - len(relabel(rows.astype(np.int64), int(rows.max(initial=0)) + 1)[1])
    return [f"it points {twice} times to an original that another row has"] if twice else []


def _check_covers(findings: Findings, claims: Claims, payload: Payload, behind: Originals) -> None:
    problems = []
    for q, own in zip(claims.quasi, behind.codes, strict=True):
        lo = payload.frame[f"{q.name}.lo"].to_numpy()
        hi = payload.frame[f"{q.name}.hi"].to_numpy()
        problems += wrong_rows((own < lo) | (own > hi), f"have a cell of {q.name!r} without their original")
    findings.judge("covers", problems, "every cell covers its original")


def _check_own_value(findings: Findings, claims: Claims, payload: Payload, behind: Originals) -> None:
    """Check Definition 3.1(d) of the NSVDist paper: a row leaves its person's sensitive value possible."""
    own = behind.sensitive
    if claims.sensitive is None or own is None:
        return
    if payload.exact is not None:
        wrong, fine = np.asarray(payload.exact != own), "every sensitive value is its original's"
    else:
        counts = payload.counts if payload.counts is not None else np.zeros((len(own), 1), np.int32)
        wrong = (own < 0) | (counts[np.arange(len(own)), np.maximum(own, 0)] <= 0)
        fine = "every distribution has its original's value"
    findings.judge("own value", wrong_rows(wrong, "lack their original's value"), fine)


def _check_marginals(findings: Findings, claims: Claims, behind: Originals, *, certain: bool) -> None:
    if not certain:
        findings.skip("original marginals", "needs the row map: suppressed originals are not known without it")
        return
    named = [(q.name, q.marginal, code) for q, code in zip(claims.quasi, behind.codes, strict=True)]
    if claims.sensitive is not None and behind.sensitive is not None:
        named.append((claims.sensitive.name, claims.sensitive.marginal, behind.sensitive))
    problems = []
    for name, marginal, codes in named:
        own = codes if codes.min(initial=0) >= 0 else codes[codes >= 0]
        off = np.bincount(own, minlength=len(marginal)) != marginal
        if off.any():
            problems.append(f"column {name!r} has {off.sum()} counts that are not those of the originals")
    findings.judge("original marginals", problems, "every count is that of the originals")


def _check_members(
    findings: Findings, claims: Claims, payload: Payload, behind: Originals, *, mapped: bool, on_rings: bool
) -> None:
    """Every released row generalizes k originals, and every member that it counts exists among them."""
    cells, counts = payload.cells, payload.counts
    covers_own = mapped and all(check.ok for check in findings.checks if check.name == "covers")
    needs = np.ones(cells.n_groups, np.bool_)
    if covers_own and claims.homogeneous and counts is None:
        # each of these copies covers an original of its own: they are at least k
        needs = cells.size < (claims.k or 1)
    at, n_originals = np.flatnonzero(needs), len(behind.dropped)
    asked = Boxes(cells.lo, cells.hi, [cells.of_groups(m)[at] for m in range(len(behind.codes))], len(at))
    items = points(behind.codes, [q.domain.n_leaves for q in claims.quasi], n_originals)
    n_values, segment = 1, np.zeros(n_originals, np.int64)
    if counts is not None and behind.sensitive is not None and not claims.in_shares:
        n_values, segment = counts.shape[1], behind.sensitive
    counted = count_meeting(asked, items, np.ones(n_originals, np.int64), segment, n_values)
    found = cells.size.copy()
    found[at] = counted.sum(axis=1)
    k_judged = claims.homogeneous or on_rings
    _judge_members(findings, claims, payload, found, exact=len(at) == cells.n_groups, k_judged=k_judged)
    if counts is not None and not claims.in_shares:
        wrong = np.asarray((counts > counted[cells.group]).any(axis=1))
        problems = wrong_rows(wrong, "count members that no covered original can be")
        findings.judge("members", problems, "every counted member is a covered original")


def _judge_members(
    findings: Findings, claims: Claims, payload: Payload, found: Array, *, exact: bool, k_judged: bool
) -> None:
    """Judge how many originals fit each row: that is k, unless k was judged by groups or by rings."""
    smallest = int(found.min()) if len(found) else None
    findings.levels["originals_per_release_min"] = smallest
    if not k_judged:
        findings.levels["k"] = smallest
    if claims.k is None:
        return
    problems = []
    few = found < claims.k
    if few.any():
        row = first_row(int(payload.cells.first[few].min()))
        n_rows = int(payload.cells.size[few].sum())
        problems.append(f"{n_rows} rows generalize fewer than k = {claims.k} originals, {row}")
    counted = "" if exact else " (a lower bound: identical rows that cover their own originals were not counted on)"
    name = "originals per row" if k_judged else "k"
    findings.judge(name, problems, f"every row generalizes at least {smallest} originals{counted}")
