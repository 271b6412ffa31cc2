"""How many baskets hold each set of items, and how many hold all of some."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import kernel

Int64 = npt.NDArray[np.int64]

_FREE = -1
_SPREAD = 40503


@kernel
def count_sets(
    starts: Int64, items: Int64, size: int, n_items: int, first: int, last: int, keys: Int64, counts: Int64
) -> int:
    """Count the sets of so many items, of which the first is in a range; return how many sets there are.

    Parameters
    ----------
    starts, items
        The items of each basket, increasing, one basket behind the other.
    first, last
        The range of the smallest item of a set; `last` is not in it.
    keys, counts
        A hash table, a power of two places; keys are free (-1). A key is the items as digits to the base `n_items`.

    Returns
    -------
    int
        -1 when the table is too full.
    """
    mask, n_found, at = len(keys) - 1, 0, np.empty(size, np.int64)
    for basket in range(len(starts) - 1):
        begin, end = starts[basket], starts[basket + 1]
        if end - begin < size:
            continue
        for j in range(size):
            at[j] = begin + j
        while True:
            if first <= items[at[0]] < last:
                key = 0
                for j in range(size):
                    key = key * n_items + items[at[j]]
                place = (((key ^ (key >> 21)) & 0x3FFFFFFFFFFF) * _SPREAD >> 5) & mask
                while keys[place] != _FREE and keys[place] != key:
                    place = (place + 1) & mask
                if keys[place] == _FREE:
                    if 4 * n_found > 3 * mask:
                        return -1
                    keys[place], counts[place] = key, 0
                    n_found += 1
                counts[place] += 1
            j = size - 1
            while j >= 0 and at[j] == end - size + j:
                j -= 1
            if j < 0 or (j == 0 and items[at[0] + 1] >= last):
                break
            at[j] += 1
            for i in range(j + 1, size):
                at[i] = at[i - 1] + 1
    return n_found


@kernel
def hold_all(starts: Int64, baskets: Int64, items: Int64, enough: int) -> bool:
    """Tell whether enough baskets hold all of some items; the `baskets` of each item are in order, item by item."""
    fewest = 0
    for j in range(len(items)):
        if starts[items[j] + 1] - starts[items[j]] < starts[items[fewest] + 1] - starts[items[fewest]]:
            fewest = j
    at = np.empty(len(items), np.int64)
    for j in range(len(items)):
        at[j] = starts[items[j]]
    found = 0
    begin, end = starts[items[fewest]], starts[items[fewest] + 1]
    for i in range(begin, end):
        if found + end - i < enough:
            return False
        basket, all_of_them = baskets[i], True
        for j in range(len(items)):
            stop = starts[items[j] + 1]
            while at[j] < stop and baskets[at[j]] < basket:
                at[j] += 1
            if at[j] == stop or baskets[at[j]] != basket:
                all_of_them = False
                break
        if all_of_them:
            found += 1
            if found >= enough:
                return True
    return found >= enough
