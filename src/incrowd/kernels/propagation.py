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
    pending, waiting, n_pending = np.arange(n_facts), np.ones(n_facts, np.bool_), n_facts
    can, has = np.zeros(n_values, np.int64), np.zeros(n_values, np.int64)
    must, full, after = np.zeros(n_values, np.bool_), np.zeros(n_values, np.bool_), np.zeros(n_values, np.bool_)
    while n_pending > 0:
        n_pending -= 1
        j = pending[n_pending]
        waiting[j] = False
        can[:] = 0
        has[:] = 0
        for at in range(start[j], start[j + 1]):
            n_left, value = 0, 0
            for v in range(n_values):
                if possible[people[at], v]:
                    n_left, value = n_left + 1, v
                    can[v] += 1
            if n_left == 1:
                has[value] += 1
        rules = False
        for v in range(n_values):
            full[v] = has[v] == counts[j, v] + slack[j]  # nobody else has it
            must[v] = counts[j, v] > 0 and can[v] == counts[j, v]  # all who can have it do
            rules |= full[v] or must[v]
        if not rules:
            continue
        for at in range(start[j], start[j + 1]):
            i, n_left, owner = people[at], 0, False
            for v in range(n_values):
                n_left += possible[i, v]
                owner |= possible[i, v] and must[v]
            n_after = 0
            for v in range(n_values):
                after[v] = possible[i, v] and not (full[v] and n_left > 1) and (must[v] or not owner)
                n_after += after[v]
            if 0 < n_after < n_left:
                possible[i] = after
                for k in range(first[i], first[i + 1]):
                    if not waiting[said[k]]:
                        waiting[said[k]] = True
                        pending[n_pending] = said[k]
                        n_pending += 1
