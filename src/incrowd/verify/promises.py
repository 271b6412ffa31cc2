"""The guarantees of the manifest, held against the published rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import comb, isfinite, log

import numpy as np

from incrowd.errors import counted
from incrowd.verify.domain import Array
from incrowd.verify.groups import combine, count_weights, relabel
from incrowd.verify.levels import (
    TOLERANCE,
    Distributions,
    above_share,
    distances,
    distances_in_tree,
    distinct,
    entropies,
    recursive_levels,
    tops,
    totals,
)
from incrowd.verify.likeness import broken_beta, broken_delta, gains, shifts
from incrowd.verify.manifest import ABOUT_VALUES, Claims, Promise
from incrowd.verify.payload import Payload, Told
from incrowd.verify.verdict import Findings, first_row
from incrowd.verify.widths import check_widths

_DEFAULT_C = 3.0
OF_TABLE = ("t", "beta", "delta")
"""Promises that compare with the whole table."""

COMBINATION_BUDGET = 20_000
"""Combinations of columns up to which lkc is looked at."""


def each_secret(
    findings: Findings, claims: Claims, payload: Payload
) -> Iterator[tuple[int, Findings, Claims, Payload]]:
    """Yield the sensitive columns one by one, each with what is claimed and told of it, and a place for findings."""
    if len(claims.secrets) < 2:
        yield 0, findings, claims, payload
        return
    for at, secret in enumerate(claims.secrets):
        part = findings.part(secret.name)
        part.levels = {"k": findings.levels.get("k")}  # what is found of k is about all columns
        yield at, part, claims.about(secret), payload.about(at)
        if (k := part.levels.pop("k")) is not None:
            findings.levels["k"] = k
        findings.add(secret.name, part)


def check_promises(findings: Findings, claims: Claims, payload: Payload) -> None:
    """Check all that the published rows alone can show."""
    _check_groups(findings, claims, payload)
    for at, part, own, told in each_secret(findings, claims, payload):
        _check_values(part, own, told, [*payload.told[:at], *payload.told[at + 1 :]])


def _check_values(findings: Findings, claims: Claims, payload: Payload, others: Sequence[Told]) -> None:
    """Check what is promised of one sensitive column; `others` are the other ones."""
    found, where, what = distributions_of(claims, payload)
    if claims.sensitive is None:
        return
    if found is None:
        names = {promise_name(p) for p in about_values(claims)}
        for name in sorted(names):
            findings.skip(name, "needs the original: exact values of a non-homogeneous release are linked, not grouped")
        return
    judge_values(findings, claims, found, marginal_of(claims, payload), where, what)
    check_widths(findings, claims, payload, others)
    _check_for_who_knows(findings, claims, payload, others)


def _check_for_who_knows(findings: Findings, claims: Claims, payload: Payload, others: Sequence[Told]) -> None:
    """Check what is promised against somebody who has learned another sensitive column of a person."""
    promises = [promise for promise in about_values(claims) if promise.others_known]
    if not promises or payload.exact is None:  # of distributions it cannot hold: the manifest is refused for it
        return
    marginal, n_rows = marginal_of(claims, payload), payload.frame.height
    for promise in promises:
        problems, n_parts = [], 0
        for other in others:
            assert other.exact is not None
            part = combine([payload.cells.group, other.exact], [payload.cells.n_groups, len(other.values)], n_rows)
            n_own = int(part.max(initial=-1)) + 1
            found = Distributions.of_rows(part, payload.exact, n_own, payload.n_values, payload.weights)
            wrong = broken(promise, found, marginal, nodes_of(claims))
            n_parts += len(wrong)
            problems += (
                [f"broken in {wrong.sum()} of {len(wrong)} parts that share another value"] if wrong.any() else []
            )
        findings.judge(f"{promise_name(promise)}, others known", problems, f"holds in {n_parts} parts of groups")


def marginal_of(claims: Claims, payload: Payload) -> Array | None:
    """Return how often each sensitive value occurs in the whole release, ``None`` if it is not told exactly."""
    if payload.exact is not None:
        if payload.weights is not None:
            return count_weights(payload.exact, payload.weights, payload.n_values)
        return np.bincount(payload.exact, minlength=payload.n_values)
    return claims.sensitive.counts if claims.sensitive is not None and not claims.joined else None


def about_values(claims: Claims) -> list[Promise]:
    """Return the promises about sensitive values that hold for each group, row or block."""
    return [p for p in claims.promises if p.kind in ABOUT_VALUES]


def judge_values(
    findings: Findings, claims: Claims, found: Distributions, marginal: Array | None, where: Array, what: str
) -> None:
    """Judge every promise about sensitive values in these distributions; what was open before is closed."""
    note_levels(findings, found, claims, marginal)
    names = {promise_name(p) for p in about_values(claims)}
    was_open = {check.name for check in findings.checks if check.ok is None and check.name in names}
    findings.checks = [check for check in findings.checks if check.name not in was_open]
    judged = {check.name for check in findings.checks}
    for promise in about_values(claims):
        if promise_name(promise) in judged:
            continue
        if promise.kind in OF_TABLE and marginal is None:
            findings.skip(promise_name(promise), "needs the original: how often each value occurs is told rounded")
            continue
        wrong = broken(promise, found, marginal, nodes_of(claims))
        findings.judge(promise_name(promise), _described(wrong, where, what), f"holds in {len(wrong)} {what}")


def _check_groups(findings: Findings, claims: Claims, payload: Payload) -> None:
    sizes = payload.cells.size
    if claims.homogeneous:
        findings.levels["k"] = int(sizes.min()) if len(sizes) else None
    for promise in claims.promises:
        if promise.kind == "k" and claims.homogeneous:
            check_k(findings, sizes, promise.given["k"], payload.cells.first)
        elif promise.kind == "lkc" and claims.homogeneous:
            for _, part, own, told in each_secret(findings, claims, payload):
                check_lkc(part, own, told, promise)


def distributions_of(claims: Claims, payload: Payload) -> tuple[Distributions | None, Array, str]:
    """Return the distributions that guarantees speak of, a release row of each, and what they belong to."""
    if payload.counts is not None:
        return Distributions.of_matrix(payload.counts), np.arange(len(payload.counts)), "rows"
    first = payload.cells.first
    if payload.exact is None or claims.sensitive is None or not claims.homogeneous:
        return None, first, "groups"
    values = Distributions.of_rows(payload.cells.group, payload.exact, len(first), payload.n_values, payload.weights)
    return values, first, "groups"


def promise_name(promise: Promise) -> str:
    """Name the check of a promise."""
    if promise.kind == "l":
        return f"l ({promise.given['l_kind']})"
    if promise.kind == "beta" and promise.given["enhanced"]:
        return "beta (enhanced)"
    if promise.kind == "t" and promise.given.get("tree"):
        return "t (tree)"
    return "t (ordered)" if promise.kind == "t" and promise.given["ordered"] else promise.kind


def check_k(findings: Findings, sizes: Array, k: int, first: Array) -> None:
    """Every group has at least k rows."""
    small = sizes < k
    problems = []
    if small.any():
        row = first_row(int(first[small].min()))
        problems.append(
            f"{small.sum()} of {len(sizes)} groups have fewer than k = {k} rows, the smallest {int(sizes.min())}, {row}"
        )
    findings.judge(
        "k",
        problems,
        f"{counted(len(sizes), 'group')} of at least {counted(int(sizes.min()) if len(sizes) else 0, 'row')}",
    )


def nodes_of(claims: Claims) -> Array | None:
    """Return the nodes of the sensitive column's tree, if the manifest tells one."""
    return None if claims.sensitive is None or claims.sensitive.tree is None else claims.sensitive.tree.nodes


def broken(promise: Promise, found: Distributions, marginal: Array | None, nodes: Array | None = None) -> Array:
    """Tell which distributions break a promise about sensitive values; `nodes` are those of their tree."""
    given = promise.given
    if promise.kind == "alpha":
        return above_share(found.measure(tops), found.measure(totals), Fraction(str(given["alpha"])))
    if promise.kind == "t":
        assert marginal is not None
        far: Callable[[Array], Array] = partial(distances, marginal=marginal, ordered=given["ordered"])
        if given.get("tree"):
            assert nodes is not None
            far = partial(distances_in_tree, marginal=marginal, nodes=nodes)
        return np.asarray(found.measure(far) > given["t"] + TOLERANCE)
    if promise.kind in ("beta", "delta"):
        assert marginal is not None
        likeness: Callable[[Array], Array] = (
            partial(broken_delta, marginal=marginal, delta=given["delta"])
            if promise.kind == "delta"
            else partial(broken_beta, marginal=marginal, beta=given["beta"], enhanced=given["enhanced"])
        )
        return found.measure(likeness)
    return broken_l(found, given["l"], given["l_kind"], given.get("c"))


def broken_l(found: Distributions, l: float, kind: str, c: float | None) -> Array:
    """Tell which distributions are not l-diverse."""
    if kind == "frequency":
        return above_share(found.measure(tops), found.measure(totals), 1 / Fraction(str(l)))
    if kind == "distinct":
        return found.measure(distinct) < l
    if kind == "entropy":
        return found.measure(entropies) < log(l) - TOLERANCE
    return found.measure(partial(recursive_levels, c=c or _DEFAULT_C)) < l


def note_levels(findings: Findings, found: Distributions, claims: Claims, marginal: Array | None) -> None:
    """Note the levels that are reached, promised or not."""
    promised_c = [p.given["c"] for p in claims.promises if p.kind == "l" and p.given["l_kind"] == "recursive"]
    ordered = any(p.kind == "t" and p.given["ordered"] for p in claims.promises)
    findings.levels |= reached(found, marginal, c=min(promised_c, default=_DEFAULT_C), ordered=ordered)
    nodes = nodes_of(claims)
    if nodes is not None and marginal is not None and found.n_owners:
        far = found.measure(partial(distances_in_tree, marginal=marginal, nodes=nodes))
        findings.levels["t"] = float(far.max())
    note_likeness(findings, found, claims.promises, marginal)


def note_likeness(
    findings: Findings, found: Distributions, promises: Sequence[Promise], marginal: Array | None
) -> None:
    """Note the beta and delta that are reached, where they are promised."""
    for kind, measure in (("beta", gains), ("delta", shifts)):
        if any(promise.kind == kind for promise in promises) and marginal is not None and found.n_owners:
            worst = float(found.measure(partial(measure, marginal=marginal)).max())
            findings.levels[kind] = worst if isfinite(worst) else None


def reached(found: Distributions, marginal: Array | None, *, c: float, ordered: bool) -> dict[str, float | int | None]:
    """Return the worst level of each model over all distributions."""
    if not found.n_owners:
        return dict.fromkeys(("l_frequency", "l_distinct", "l_entropy", "l_recursive", "t", "alpha"))
    top, total = found.measure(tops), found.measure(totals)
    far = None if marginal is None else found.measure(partial(distances, marginal=marginal, ordered=ordered)).max()
    return {
        "l_frequency": float((total / top).min()),
        "l_distinct": int(found.measure(distinct).min()),
        "l_entropy": float(np.exp(found.measure(entropies).min())),
        "l_recursive": int(found.measure(partial(recursive_levels, c=c)).min()),
        "t": None if far is None else float(far),
        "alpha": float((top / total).max()),
    }


def _described(wrong: Array, where: Array, what: str) -> list[str]:
    if not wrong.any():
        return []
    return [f"broken in {wrong.sum()} of {len(wrong)} {what}, {first_row(int(where[wrong].min()))}"]


def check_lkc(findings: Findings, claims: Claims, payload: Payload, promise: Promise) -> None:
    """Every combination of L cells is shared by K rows, and none of them tells a sensitive value beyond C.

    Fewer cells make larger groups whose shares are averages, so the combinations of exactly L decide.
    """
    n_together = min(promise.given["L"], len(claims.quasi))
    if comb(len(claims.quasi), n_together) > COMBINATION_BUDGET:
        findings.levels["lkc_k"] = findings.levels["lkc_c"] = None
        findings.skip(
            "lkc", f"more than {COMBINATION_BUDGET} combinations of {n_together} quasi-identifiers to look at"
        )
        return
    cells, limit = payload.cells, Fraction(str(promise.given["C"]))
    found, _, _ = distributions_of(claims, payload)
    problems: list[str] = []
    if payload.counts is not None and found is not None:
        wrong = above_share(found.measure(tops), found.measure(totals), limit)
        problems += [f"{wrong.sum()} rows have a share above C"] if wrong.any() else []
        found = None
    smallest, surest, small, sure = int(cells.size.sum()), 0.0, 0, 0
    for columns in combinations(range(len(claims.quasi)), n_together):
        each = [cells.of_groups(m) for m in columns]
        joined = combine(each, [len(cells.lo[m]) for m in columns], cells.n_groups)
        size = np.bincount(joined, weights=cells.size).astype(np.int64)
        small += bool((size < promise.given["K"]).any())
        smallest = min(smallest, int(size.min(initial=smallest)))
        if found is not None:
            top = _top_counts(found, joined, len(size))
            sure += bool(above_share(top, size, limit).any())
            surest = max(surest, float((top / size).max(initial=0.0)))
    problems += (
        [f"{small} combinations of columns have groups of fewer than K = {promise.given['K']} rows"] if small else []
    )
    problems += [f"{sure} combinations of columns have a share above C = {promise.given['C']}"] if sure else []
    findings.levels["lkc_k"], findings.levels["lkc_c"] = smallest, surest if found is not None else None
    findings.judge("lkc", problems, f"all combinations of {promise.given['L']} quasi-identifiers")


def _top_counts(found: Distributions, joined: Array, n: int) -> Array:
    key = joined[found.owner].astype(np.int64) * found.n_values + found.value
    dense, keys = relabel(key, n * found.n_values)
    count = np.bincount(dense, weights=found.count).astype(np.int64)
    top = np.zeros(n, np.int64)
    np.maximum.at(top, keys // found.n_values, count)
    return top
