"""What the manifest tells about the originals' values: counts, and nothing that fewer than k rows share."""

from __future__ import annotations

from collections import Counter

import numpy as np

from incrowd.errors import counted
from incrowd.verify.cut_points import wrong_cuts
from incrowd.verify.domain import Array, runs
from incrowd.verify.manifest import Claims
from incrowd.verify.originals import Originals
from incrowd.verify.published import Leaves, Quasi, Ranges, is_rest_name, numbers_of
from incrowd.verify.verdict import Findings


def check_counts_and_rare(
    findings: Findings, claims: Claims, originals: Originals, leaves: list[Array], found: list[Array], behind: Array
) -> None:
    """Judge counts, cuts and listed values by the originals behind the released rows.

    Parameters
    ----------
    leaves
        Per quasi-identifier, the published leaf of each distinct value and of the missing one.
    found
        How often those originals have each of them.
    behind
        Numbers of those originals.
    """
    counts, rare = [], []
    for q, column, leaf_of, own in zip(claims.quasi, originals.quasi, leaves, found, strict=True):
        if isinstance(q, Leaves):
            true = _summed(leaf_of, own, len(q.leaves))
            counts += _wrong_counts(claims, q.name, q.counts, true)
            rare += _rare_leaves(claims, q, true)
        else:
            true = _summed(q.place(numbers_of(column.values)), own[:-1], len(q.counts))
            counts += _wrong_counts(claims, q.name, q.counts, true)
            counts += _wrong_missing(claims, q, int(own[-1]))
            rare += _rare_ranges(claims, q, true, numbers_of(column.values)[own[:-1] > 0])
    for about, secret in zip(claims.secrets, originals.secrets, strict=True):
        if about.values is None or about.counts is None:
            continue
        true = _summed(secret.ranks_in(about.values), secret.count(behind), len(about.values))
        counts += _wrong_counts(claims, about.name, about.counts, true)
        nobody = int((true == 0).sum())
        counts += [f"column {about.name!r} lists {nobody} values that no original has"] if nobody else []
    findings.judge("original counts", counts, "every count is that of the originals, rounded where it is to be")
    findings.judge(
        "rare values", rare, f"the manifest lists nothing that fewer than {counted(claims.least, 'row')} share"
    )


def _summed(place: Array, counts: Array, n: int) -> Array:
    known = place >= 0
    return np.bincount(place[known], weights=counts[known], minlength=n).astype(np.int64)


def _wrong_counts(claims: Claims, name: str, told: Array, true: Array) -> list[str]:
    wrong = np.abs(told - true) >= claims.least if claims.joined else told != true
    return [f"column {name!r} has {wrong.sum()} counts that are not those of the originals"] if wrong.any() else []


def _wrong_missing(claims: Claims, q: Ranges, true: int) -> list[str]:
    if q.missing is None:
        return [f"column {q.name!r} has {true} missing values that are not told"] if true else []
    return _wrong_counts(claims, q.name, np.array([q.missing]), np.array([true]))


def _rare_leaves(claims: Claims, q: Leaves, true: Array) -> list[str]:
    """Say which listed values, and which nodes, too few rows have; the missing value and the root may be told."""
    if not claims.joined:
        return []
    rest = np.zeros(len(q.leaves), np.bool_)
    rest[list(q.rest)] = True
    first_known = int(q.has_missing)
    few = true < claims.least
    if q.kind == "taxonomy":
        few &= ~rest  # what is left over of a node may be less
    problems = int(few[first_known:].sum()) if len(q.leaves) > first_known + 1 or not rest.any() else 0
    up_to = np.append(0, np.cumsum(true))
    sizes = [Counter(level) for level in q.levels]
    for height, level in enumerate(q.levels[:-1]):
        for first, last in zip(*runs(level), strict=True):
            exempt = (first == last and rest[first] and _pads(q, sizes, height, first)) or (q.has_missing and last == 0)
            problems += not exempt and up_to[last + 1] - up_to[first] < claims.least
    return [f"column {q.name!r} names {problems} values that fewer than {claims.least} rows have"] if problems else []


def _pads(q: Leaves, sizes: list[Counter[str]], height: int, place: int) -> bool:
    """Tell whether a node is only there to bring a leaf that joins values up to the level of its ancestor."""
    for level, size in zip(q.levels[height + 1 :], sizes[height + 1 :], strict=True):
        if size[level[place]] > 1:
            return is_rest_name(q.levels[height][place], level[place])
    return True  # the root itself


def _rare_ranges(claims: Claims, q: Ranges, true: Array, values: Array) -> list[str]:
    if not claims.joined:
        return []
    problems = []
    few = int((true < claims.least).sum())
    if few and len(true) > 1:
        problems.append(f"column {q.name!r} has {few} ranges that fewer than {claims.least} rows have")
    wrong = wrong_cuts(q.cuts, values, q.type)
    if wrong:
        problems.append(f"column {q.name!r} has {wrong} cuts that are not the roundest between two values of the table")
    return problems


def leaf_table(q: Quasi, plain: list[object]) -> Array | None:
    """Return the published leaf of each distinct value and of the missing one, -1 where there is none.

    ``None`` if a value is not listed and may be in any of several leaves.
    """
    if isinstance(q, Ranges):
        return np.empty(0, np.int32)
    joined = set(q.rest)
    place = {leaf: at for at, leaf in enumerate(q.leaves) if at not in joined}
    place.setdefault(None, -1)
    rest = q.rest[0] if len(q.rest) == 1 else -1
    if len(q.rest) > 1 and not all(value in place for value in plain):
        return None
    return np.array([place.get(value, rest) for value in [*plain, None]], np.int32)
