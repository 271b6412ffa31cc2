"""Signatures: which sensitive values stand together in the groups of a person, in every release of a series.

A *bucket* holds the people of one signature; in it every value of the signature is to occur equally often. Those who
were published before stay with a signature of theirs. New people even out the buckets; those that are left over found
new buckets, and what still lacks is filler. How many go where is the solution of a small integer program: as little
filler as possible, then as few new buckets as possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Signature = tuple[int, ...]

_MOST_NODES = 1000  # of the search for least filler; a limit of time would let the speed of the machine decide
_NEW = 1e-3  # what a person in a new bucket costs, in filler rows: less than any filler row, more than nothing


@dataclass(frozen=True)
class Plan:
    """How many rows of each value a bucket has in the end, and how many new people of each value come into it.

    Attributes
    ----------
    height
        Rows of each value of the signature.
    new
        New people of each value, in the order of the signature.
    """

    height: int
    new: tuple[int, ...]


def plan_buckets(
    here: Mapping[Signature, Sequence[int]], wild: Mapping[Signature, int], new: Sequence[int], m: int, k: int
) -> dict[Signature, Plan]:
    """Say which buckets there are, and where new people go.

    Parameters
    ----------
    here
        Buckets with people who stay in them: how many have each value of the signature.
    wild
        People of these buckets who are held back: each takes the place of any value.
    new
        Number of new people with each value.
    m, k
        Least number of values in a signature, and of rows in a bucket.
    """
    left = np.array(new, np.int64)
    plans: dict[Signature, Plan] = {}
    if here:
        plans, left = _even_out(here, wild, left, m, k)
    for signature, height in found_buckets(left, m, k):
        came = tuple(min(height, int(left[v])) for v in signature)
        left[list(signature)] -= came
        old = plans.get(signature, Plan(0, (0,) * len(signature)))
        plans[signature] = Plan(old.height + height, tuple(a + b for a, b in zip(old.new, came, strict=True)))
    assert not left.any()
    return plans


def _even_out(
    here: Mapping[Signature, Sequence[int]], wild: Mapping[Signature, int], new: Int64, m: int, k: int
) -> tuple[dict[Signature, Plan], Int64]:
    """Send new people into the buckets that are there; return what they become, and the people left over.

    Variables: of each bucket its height and the new people of each value; of each value the people left over; whether
    anybody is; the filler among those.
    """
    buckets, n_values = list(here), len(new)
    sizes = [1 + len(signature) for signature in buckets]
    first = np.cumsum([0, *sizes])
    left_over, some, filler = int(first[-1]), int(first[-1]) + n_values, int(first[-1]) + n_values + 1
    n = filler + 1
    cost, low, high = np.zeros(n), np.zeros(n), np.full(n, np.inf)
    rows: list[Mapping[int, float]] = []
    lower: list[float] = []
    upper: list[float] = []

    def require(terms: Mapping[int, float], least: float, most: float) -> None:
        rows.append(terms)
        lower.append(least)
        upper.append(most)

    placed: list[dict[int, float]] = [{left_over + v: 1.0} for v in range(n_values)]
    for b, signature in enumerate(buckets):
        at, counts = int(first[b]), here[signature]
        low[at] = max(*counts, -(-k // len(signature)))
        cost[at] = len(signature)
        for place, value in enumerate(signature):
            cost[at + 1 + place] = -1
            high[at + 1 + place] = new[value]
            require({at: 1.0, at + 1 + place: -1.0}, counts[place], np.inf)
            placed[value][at + 1 + place] = 1.0
        who = {at: float(len(signature))} | {at + 1 + place: -1.0 for place in range(len(signature))}
        require(who, sum(counts) + wild.get(signature, 0), np.inf)
    for value in range(n_values):
        require(placed[value], new[value], new[value])
        require({left_over + value: 1.0, some: -float(new[value])}, -np.inf, 0)
        everybody = {left_over + v: 1.0 for v in range(n_values)} | {filler: 1.0}
        require(everybody | {left_over + value: 1.0 - m}, 0, np.inf)
    require({left_over + v: 1.0 for v in range(n_values)} | {filler: 1.0, some: -float(k)}, 0, np.inf)
    cost[left_over:some], cost[some], cost[filler], high[some] = _NEW, 1.0, 1.0, 1.0
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 - half a second that others need not pay

    found = milp(
        cost, constraints=LinearConstraint(_matrix(rows, n), lower, upper), bounds=Bounds(low, high),
        integrality=np.ones(n), options={"node_limit": _MOST_NODES},
    )  # fmt: skip
    if found.x is None:  # nothing found within the limit: nobody joins a bucket that is there
        alone = {signature: _height(counts, wild.get(signature, 0), k) for signature, counts in here.items()}
        return {signature: Plan(height, (0,) * len(signature)) for signature, height in alone.items()}, new
    x = np.rint(found.x).astype(np.int64)
    plans = {
        signature: Plan(int(x[first[b]]), tuple(x[first[b] + 1 : first[b + 1]].tolist()))
        for b, signature in enumerate(buckets)
    }
    return plans, x[left_over:some].copy()


def _matrix(rows: Sequence[Mapping[int, float]], n: int) -> Any:  # noqa: ANN401 - a sparse matrix
    from scipy.sparse import csr_array  # noqa: PLC0415

    starts = np.cumsum([0, *(len(row) for row in rows)])
    factors = [factor for row in rows for factor in row.values()]
    return csr_array((factors, [place for row in rows for place in row], starts), shape=(len(rows), n))


def _height(counts: Sequence[int], n_wild: int, k: int) -> int:
    """Return the least rows of each value of a bucket that nobody joins."""
    return max(*counts, -(-max(k, sum(counts) + n_wild) // len(counts)))


def found_buckets(counts: Int64, m: int, k: int) -> list[tuple[Signature, int]]:
    """Return new buckets for so many people of each value: signatures, and rows of each value.

    Again and again the most frequent values become a bucket, as many of them as it takes to have at least k rows, with
    as many people as leave the others divisible: no value may have more than 1/m of them.
    """
    left, found = counts.copy(), []
    while left.any():
        order = np.argsort(-left, kind="stable")
        signature, height = _next_bucket(left, order, m, k) or _with_filler(left, m, k)
        found.append((tuple(sorted(order[:signature].tolist())), height))
        left[order[:signature]] = np.maximum(0, left[order[:signature]] - height)
    return found


def _next_bucket(left: Int64, order: Int64, m: int, k: int) -> tuple[int, int] | None:
    """Return how many of the most frequent values the next bucket has, and its height; ``None`` if it needs filler."""
    total, sorted_ = int(left.sum()), left[order].tolist()
    for size in range(m, int((left > 0).sum()) + 1):
        behind = sorted_[size] if size < len(sorted_) else 0
        height = min(sorted_[size - 1], (total - m * behind) // size)
        if size > m:
            height = min(height, (total - m * sorted_[0]) // (size - m))
        elif m * sorted_[0] > total:
            continue
        if 0 < total - height * size < k:
            height = min(height, (total - k) // size)
        if height > 0 and height * size >= k:
            return size, height
    return None


def _with_filler(left: Int64, m: int, k: int) -> tuple[int, int]:
    """Return one bucket for everybody who is left, of m values at least."""
    size = max(m, int((left > 0).sum()))
    return size, max(int(left.max()), -(-k // size))
