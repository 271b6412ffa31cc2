"""Sensitive values that are told by blocks of rows: blocks keep every promise, and nothing else is told."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl

from incrowd.errors import counted
from incrowd.verify.assignment import number_together
from incrowd.verify.concealment import check_concealment
from incrowd.verify.domain import Array
from incrowd.verify.groups import combine, relabel
from incrowd.verify.levels import Distributions
from incrowd.verify.manifest import Claims
from incrowd.verify.payload import Payload, wrong_rows
from incrowd.verify.promises import about_values, broken, nodes_of
from incrowd.verify.published import wider_cells
from incrowd.verify.shares import block_shares, in_parts, mean_shares
from incrowd.verify.verdict import Findings

_AT_ONCE = 1 << 22
_FAR, _SOME = 8.0, 4.0  # standard deviations, and rows, beyond which chance does not explain it


def check_blocks(
    findings: Findings,
    claims: Claims,
    payload: Payload,
    codes: list[Array],
    sensitive: Array,
    blocks: pl.DataFrame,
    members: pl.DataFrame,
) -> None:
    """Check that each block keeps what is promised, and that cells and shares are those of the members.

    Parameters
    ----------
    codes, sensitive
        Codes of the originals behind the released rows, and the place of their sensitive values.
    blocks, members
        The owner's evidence.
    """
    _, block = np.unique(blocks["block"].to_numpy(), return_inverse=True)
    sizes = np.bincount(block)
    found = Distributions.of_rows(block, sensitive, len(sizes), payload.n_values)
    problems = []
    k = claims.k or 1
    if (few := sizes < k).any():
        problems.append(f"{few.sum()} of {len(sizes)} blocks have fewer than k = {k} rows")
    marginal = np.bincount(sensitive, minlength=payload.n_values)
    problems += [
        f"{wrong.sum()} of {len(sizes)} blocks break {promise.kind} = {promise.given[promise.kind]}"
        for promise in about_values(claims)
        if (wrong := broken(promise, found, marginal, nodes_of(claims))).any()
    ]
    findings.levels["block_min"] = int(sizes.min(initial=len(sensitive)))
    fine = f"{counted(len(sizes), 'block')} of at least {findings.levels['block_min']} rows keep every promise"
    findings.judge("blocks", problems, fine)
    _check_members(findings, claims, payload, codes, sensitive, block, blocks["members"].to_numpy(), members.to_numpy())


def _check_members(
    findings: Findings,
    claims: Claims,
    payload: Payload,
    codes: list[Array],
    sensitive: Array,
    block: Array,
    search: Array,
    members: Array,
) -> None:
    n_rows, n_searches = len(block), len(members)
    outside = n_searches == 0 or search.min() < 0 or search.max() >= n_searches
    outside = outside or members.min() < 0 or members.max() >= n_rows
    if outside:
        findings.judge("members", ["they point outside the released rows"], "")
        return
    problems = []
    twice = (np.diff(np.sort(members, axis=1), axis=1) == 0).any(axis=1)
    problems += wrong_rows(twice[search], "have a member that is counted twice")
    itself = np.zeros(n_rows, np.bool_)
    for column in members.T:
        itself |= column[search] == np.arange(n_rows)
    problems += wrong_rows(~itself, "are not among their own members")
    # a search made one cell and one distribution: pairs of a search and what its rows show are looked at once
    counts = payload.counts
    assert counts is not None
    key = combine([relabel(search, n_searches)[0], payload.cells.group], [n_searches, payload.cells.n_groups], n_rows)
    first = np.zeros(int(key.max()) + 1, np.int64)
    first[key] = np.arange(n_rows)
    outside_cell, wider = np.zeros(len(first), np.bool_), np.zeros(len(first), np.bool_)
    for m, (q, own) in enumerate(zip(claims.quasi, codes, strict=True)):
        cell = payload.cells.cell[m][first]
        lo, hi = payload.cells.lo[m][cell], payload.cells.hi[m][cell]
        least = most = own[members[search[first], 0]]
        for column in range(1, members.shape[1]):
            code = own[members[search[first], column]]
            least, most = np.minimum(least, code), np.maximum(most, code)
        outside_cell |= (least < lo) | (most > hi)
        wider |= wider_cells(q, payload.scales[m], (lo, hi), least, most)
    problems += wrong_rows(outside_cell[key], "have a member whose original does not fit their cell")
    problems += wrong_rows((wider & ~outside_cell)[key], "have a cell that is wider than their members ask for")
    findings.judge(
        "members", problems, f"{members.shape[1]} members fit each cell, which is no wider than they ask for"
    )
    smallest = members.shape[1]
    findings.levels["k"] = findings.levels["originals_per_release_min"] = smallest if not problems else None
    findings.judge("k", problems, f"every row fits at least {smallest} people, its members")
    findings.judge("shares", _wrong_shares(claims, payload, sensitive, block, search, members), "all recomputed")
    if not problems:
        check_concealment(findings, claims, search, members)


def _wrong_shares(
    claims: Claims, payload: Payload, sensitive: Array, block: Array, search: Array, members: Array
) -> list[str]:
    """Say which rows have other shares than their members' blocks give."""
    assert payload.counts is not None
    l = max((Fraction(str(p.given["l"])) for p in claims.promises if _is_frequency(p.kind, p.given)), default=1)
    shares = block_shares(block, sensitive, int(block.max()) + 1, payload.n_values)
    expected = np.empty((len(members), payload.n_values), np.int64)
    step = max(1, _AT_ONCE // payload.n_values)
    for begin in range(0, len(members), step):
        some = slice(begin, begin + step)
        expected[some] = in_parts(mean_shares(shares, block[members[some]]), Fraction(l))
    wrong = np.zeros(len(search), np.bool_)
    for value in range(payload.n_values):
        wrong |= payload.counts[:, value] != expected[:, value][search]
    return wrong_rows(wrong, "have other shares than the blocks of their members give")


def _is_frequency(kind: str, given: dict[str, object]) -> bool:
    return kind == "l" and given["l_kind"] == "frequency"


def check_shuffled(findings: Findings, released: pl.DataFrame, own: pl.DataFrame, block: Array) -> None:
    """Check that the rows of a block have the *other* columns of its originals, as whole tuples.

    Parameters
    ----------
    released, own
        The *other* columns of the released rows, and of the originals behind them.
    """
    n_rows = len(block)
    number = number_together(released, own)
    shown, had = np.lexsort((number[:n_rows], block)), np.lexsort((number[n_rows:], block))
    spoiled = len(set(block[shown][number[:n_rows][shown] != number[n_rows:][had]].tolist()))
    problems = [f"{spoiled} blocks do not have the other columns of their originals"] if spoiled else []
    if not problems and _stay_with_their_people(number[:n_rows], number[n_rows:], block):
        problems.append("too many rows have the other columns of their own original to be shuffled by chance")
    findings.judge("shuffled columns", problems, "other columns stay within blocks, as whole tuples")


def _stay_with_their_people(shown: Array, own: Array, block: Array) -> bool:
    """Tell whether more rows show what is their own than any random order within blocks would give.

    In a block in which values occur n_1, n_2, ... times, the number of such rows has the mean and the variance of a
    permutation statistic.
    """
    table = (
        pl.DataFrame({"block": block, "value": own})
        .group_by("block", "value")
        .agg(pl.len().cast(pl.Float64()).alias("n"))
    )
    n = pl.col("n")
    sums = table.group_by("block").agg(n.sum(), (n**2).sum().alias("pairs"), (n**3).sum().alias("cubes"))
    size, pairs, cubes = (sums[name].to_numpy() for name in ("n", "pairs", "cubes"))
    mean = pairs / size
    variance = (pairs - 2 * cubes / size + mean**2) / np.maximum(size - 1, 1)
    return bool((shown == own).sum() > mean.sum() + _FAR * np.sqrt(np.maximum(variance, 0).sum()) + _SOME)
