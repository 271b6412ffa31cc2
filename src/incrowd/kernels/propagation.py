"""Statements about people: what each rules out, until none rules out any more."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import kernel

Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@kernel
def settle(
    people: Int64, start: Int64, counts: Int64, slack: Int64, said: Int64, first: Int64, possible: Bools
) -> None:
    """Rule values out until no statement rules out any more.

    Parameters
    ----------
    people, start
        The people of each statement, and where those of each begin.
    counts, slack
        How often each value occurs among people who are counted, [statements x values], and how many are not counted.
    said, first
        The statements about each person, and where those about each begin.
    possible
        Which values each person can have, [people x values]; changed in place.
    """
    n_facts, n_values = counts.shape
    can, has = _tally(people, start, possible, n_values)
    done = np.zeros((2, n_facts, n_values), np.bool_)  # rules that have said all they can
    pending, waiting, n_pending = np.arange(n_facts), np.ones(n_facts, np.bool_), n_facts
    must, full, after = np.zeros(n_values, np.bool_), np.zeros(n_values, np.bool_), np.zeros(n_values, np.bool_)
    while n_pending > 0:
        n_pending -= 1
        j = pending[n_pending]
        waiting[j] = False
        news = False
        for v in range(n_values):
            full[v] = has[j, v] == counts[j, v] + slack[j]  # nobody else has it
            must[v] = counts[j, v] > 0 and can[j, v] == counts[j, v]  # all who can have it do
            news |= (full[v] and not done[0, j, v]) or (must[v] and not done[1, j, v])
            done[0, j, v] |= full[v]
            done[1, j, v] |= must[v]
        if not news:
            continue
        for at in range(start[j], start[j + 1]):
            i, n_left, owner = people[at], 0, False
            for v in range(n_values):
                n_left += possible[i, v]
                owner |= possible[i, v] and must[v]
            n_after, value = 0, 0
            for v in range(n_values):
                after[v] = possible[i, v] and not (full[v] and n_left > 1) and (must[v] or not owner)
                if after[v]:
                    n_after, value = n_after + 1, v
            if not 0 < n_after < n_left:
                continue
            for at_said in range(first[i], first[i + 1]):
                other = said[at_said]
                for v in range(n_values):
                    can[other, v] -= possible[i, v] and not after[v]
                has[other, value] += n_after == 1
                if not waiting[other]:
                    waiting[other] = True
                    pending[n_pending] = other
                    n_pending += 1
            possible[i] = after


@kernel
def _tally(people: Int64, start: Int64, possible: Bools, n_values: int) -> tuple[Int64, Int64]:
    """Count in each statement who can have each value, and who can have no other."""
    n_facts = len(start) - 1
    can, has = np.zeros((n_facts, n_values), np.int64), np.zeros((n_facts, n_values), np.int64)
    for j in range(n_facts):
        for at in range(start[j], start[j + 1]):
            n_left, value = 0, 0
            for v in range(n_values):
                if possible[people[at], v]:
                    n_left, value = n_left + 1, v
                    can[j, v] += 1
            has[j, value] += n_left == 1
    return can, has
