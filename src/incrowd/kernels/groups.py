"""Equal rows: give them one label, and count values under each label."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import kernel

Codes = npt.NDArray[np.int32]
Labels = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

_BLOCK = 4096  # hashes of so many rows stay in the first cache while the columns pass by
_FIRST_SLOTS = 1024
_GROWTH = 4
_MULTIPLIER = np.uint64(0xFFFEB81B)
_SHIFT = np.uint64(32)
_LOW_BITS = np.uint64(0xFFFFFFFF)
_EMPTY = -1
_MOST_ROWS = 2**31 - 1  # slots hold int32: a table of half the size misses the cache less


@kernel
def _hash_rows(codes: Codes) -> Hashes:
    # Multiply-with-carry: 32 x 32 bits plus a carry fit 64 bits, so nothing wraps around, compiled or interpreted.
    n_rows, n_columns = codes.shape
    hashes = np.zeros(n_rows, np.uint64)
    for start in range(0, n_rows, _BLOCK):
        stop = min(start + _BLOCK, n_rows)
        for column in range(n_columns):
            for row in range(start, stop):
                mixed = hashes[row] ^ np.uint64(np.uint32(codes[row, column]))
                hashes[row] = (mixed & _LOW_BITS) * _MULTIPLIER + (mixed >> _SHIFT)
        for row in range(start, stop):
            hashes[row] ^= hashes[row] >> _SHIFT
    return hashes


@kernel
def _grow(slots: Codes, hashes: Hashes, firsts: Codes) -> tuple[Codes, Hashes, Codes]:
    n_groups, n_columns = firsts.shape
    more_slots = np.full(_GROWTH * len(slots), _EMPTY, np.int32)
    more_hashes = np.empty(_GROWTH * n_groups, np.uint64)
    more_firsts = np.empty((_GROWTH * n_groups, n_columns), firsts.dtype)
    mask = len(more_slots) - 1
    for group in range(n_groups):  # plain loops: slices would take seconds longer to compile
        more_hashes[group] = hashes[group]
        for column in range(n_columns):
            more_firsts[group, column] = firsts[group, column]
        slot = np.int64(hashes[group] & np.uint64(mask))
        while more_slots[slot] != _EMPTY:
            slot = (slot + 1) & mask
        more_slots[slot] = group
    return more_slots, more_hashes, more_firsts


@kernel
def _same(first: Codes, codes: Codes, row: int) -> bool:
    for column in range(len(first)):
        if first[column] != codes[row, column]:
            return False
    return True


@kernel
def label_groups(codes: Codes) -> tuple[Labels, int]:
    """Label equal rows equally, 0, 1, ... in order of first appearance.

    An open-addressing hash table that grows when half full. Whole rows are compared, so no product of
    cardinalities can overflow; the first row of each group is kept row by row, so a comparison reads adjacent memory
    whatever the order of `codes`. O(rows x columns) time, O(groups x columns) memory beyond the labels.

    Parameters
    ----------
    codes
        [rows x columns], any memory order; fastest in Fortran order.

    Returns
    -------
    labels
        The group of each row.
    n_groups
        How many there are.

    Raises
    ------
    OverflowError
        If there are more than 2**31 - 1 rows.
    """
    if len(codes) > _MOST_ROWS:
        raise OverflowError("more rows than label_groups can label")  # noqa: EM101, TRY003 - compiled code wants a constant
    slots = np.full(_FIRST_SLOTS, _EMPTY, np.int32)
    hashes = np.empty(_FIRST_SLOTS // 2, np.uint64)
    firsts = np.empty((_FIRST_SLOTS // 2, codes.shape[1]), codes.dtype)
    labels, _, _, _, n_groups = label_more(codes, slots, hashes, firsts, 0)
    return labels, n_groups


@kernel
def label_more(
    codes: Codes, slots: Codes, hashes: Hashes, firsts: Codes, n_groups: int
) -> tuple[Labels, Codes, Hashes, Codes, int]:
    """Label more rows, those that were seen before as they were then.

    Parameters
    ----------
    codes
        [rows x columns].
    slots, hashes, firsts, n_groups
        The hash table, as the call before returned it: at first `n_groups` is 0, all slots are -1, and their number is
        a power of two and twice that of `hashes` and `firsts`.

    Returns
    -------
    tuple
        The label of each row, and the hash table; ``firsts[:n_groups]`` are the distinct rows.
    """
    n_rows, n_columns = codes.shape
    row_hashes = _hash_rows(codes)
    labels = np.empty(n_rows, np.int64)
    for row in range(n_rows):
        if n_groups == len(hashes):
            slots, hashes, firsts = _grow(slots, hashes, firsts)
        mask = len(slots) - 1
        slot = np.int64(row_hashes[row] & np.uint64(mask))
        while True:
            group = slots[slot]
            if group == _EMPTY:
                slots[slot] = group = n_groups
                hashes[group] = row_hashes[row]
                for column in range(n_columns):
                    firsts[group, column] = codes[row, column]
                n_groups += 1
                break
            if hashes[group] == row_hashes[row] and _same(firsts[group], codes, row):
                break
            slot = (slot + 1) & mask
        labels[row] = group
    return labels, slots, hashes, firsts, n_groups


@kernel
def count_by_group(labels: Labels, values: Codes, n_groups: int, n_values: int) -> Labels:
    """Count how often each value occurs in each group.

    Parameters
    ----------
    labels
        The group of each row, in ``range(n_groups)``.
    values
        The value of each row, in ``range(n_values)``.
    n_groups, n_values
        Shape of the result.

    Returns
    -------
    counts
        [groups x values].

    Raises
    ------
    IndexError
        If a label or a value is out of range, or the two arrays differ in length.
    """
    if len(labels) != len(values):
        raise IndexError("labels and values differ in length")  # noqa: EM101, TRY003 - as above
    counts = np.zeros((n_groups, n_values), np.int64)
    for row in range(len(labels)):
        group, value = labels[row], values[row]
        if group < 0 or group >= n_groups or value < 0 or value >= n_values:
            raise IndexError("a label or a value is out of range")  # noqa: EM101, TRY003 - as above
        counts[group, value] += 1
    return counts
