"""Groups of rows that agree in more and more columns, and rows that are alone in them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import kernel

Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]

_FREE = -1
_SPREAD = 40503  # keys are below 2 ** 47: rows times codes


@kernel
def divide(groups: Int64, codes: Int32, n_codes: int, slots: Int64, numbers: Int64, sizes: Int64, found: Int64) -> int:
    """Divide groups of rows by one more column; return how many groups there are then.

    Parameters
    ----------
    groups, codes
        The group of each row, numbered from 0, and its code in the column.
    slots, numbers
        Room for a hash table, a power of two of at least twice as many places as rows; `slots` are free (-1).
    sizes, found
        Filled: the size of each new group, and the new group of each row.
    """
    mask, n_groups = len(slots) - 1, 0
    for row in range(len(groups)):
        key = groups[row] * n_codes + codes[row]
        place = ((key * _SPREAD) >> 4) & mask
        while slots[place] != _FREE and slots[place] != key:
            place = (place + 1) & mask
        if slots[place] == _FREE:
            slots[place], numbers[place] = key, n_groups
            sizes[n_groups] = 0
            n_groups += 1
        found[row] = numbers[place]
        sizes[numbers[place]] += 1
    return n_groups


@kernel
def new_uniques(
    groups: Int64, sizes: Int64, columns: int, last: Int64, owners: Int64, masks: Int64, before: Int64, n_found: int
) -> int:
    """Note the rows that are alone in their group, and in no group by fewer of these columns; return how many notes.

    Parameters
    ----------
    columns
        The columns, as bits.
    last, owners, masks, before
        The last note of each row (-1: none), and of each note its row, its columns and the row's note before; there is
        room for one more note of each row.
    n_found
        Notes made so far; it is returned with the new ones.
    """
    for row in range(len(groups)):
        if sizes[groups[row]] != 1:
            continue
        note = last[row]
        while note >= 0 and masks[note] & ~columns != 0:
            note = before[note]
        if note >= 0:
            continue
        owners[n_found], masks[n_found], before[n_found] = row, columns, last[row]
        last[row] = n_found
        n_found += 1
    return n_found


@kernel
def pairs_within(sizes: Int64, n_groups: int) -> int:
    """Return how many pairs of rows are in one group."""
    found = 0
    for g in range(n_groups):
        found += sizes[g] * (sizes[g] - 1) // 2
    return found
