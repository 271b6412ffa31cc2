"""Groups of a table at one level of each attribute, many times over."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import kernel
from incrowd.kernels.limits import Limits, holds

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

EMPTY = -1


class Rows(NamedTuple):
    """Distinct rows at every level.

    Attributes
    ----------
    values
        Number of the value of each row, [rows x lines], each line contiguous; a line is a level of an attribute.
    costs
        What each row costs at each line, for all its copies, [rows x lines].
    weights
        Copies of each row.
    slots
        Room for groups: a power of two, at least twice the number of rows; `keys`, `sizes` and `at` as well.
    keys, sizes
        What a group's rows have in common, and how many they are.
    at
        Slot of each row.
    """

    values: Int32
    costs: Float64
    weights: Int64
    slots: int
    keys: Int64
    sizes: Int64
    at: Int64


@kernel
def find_groups(rows: Rows, lines: Int64, strides: Int64) -> None:
    """Count the rows of each group at these lines, one of each attribute, and find the slot of each row.

    Parameters
    ----------
    strides
        A row's key is the sum of its values times these.
    """
    keys, sizes, mask = rows.keys, rows.sizes, rows.slots - 1
    for empty in range(rows.slots):
        sizes[empty] = EMPTY
    for i in range(len(rows.weights)):
        rows.at[i] = rows.values[i, lines[0]] * strides[0]
    for m in range(1, len(lines)):  # column by column, as the values lie
        line, stride = lines[m], strides[m]
        for i in range(len(rows.weights)):
            rows.at[i] += rows.values[i, line] * stride
    for i in range(len(rows.weights)):
        key = rows.at[i]
        mixed = (key ^ (key >> 31)) & 0x7FFFFFFF  # times a number of 32 bits it fits 63, compiled or interpreted
        slot = mixed * 0x9E3779B1 >> 20 & mask
        while sizes[slot] != EMPTY and keys[slot] != key:
            slot = (slot + 1) & mask
        if sizes[slot] == EMPTY:
            keys[slot], sizes[slot] = key, 0
        sizes[slot] += rows.weights[i]
        rows.at[i] = slot


@kernel
def small_groups(rows: Rows, k: int, more: Float64, sums: Float64) -> int:
    """Return the number of rows in groups of fewer than k, and add up what these rows have of `more` at every line."""
    n_small = 0
    for line in range(len(sums)):
        sums[line] = 0.0
    for i in range(len(rows.weights)):
        if rows.sizes[rows.at[i]] < k:
            n_small += rows.weights[i]
            for line in range(len(sums)):
                sums[line] += more[i, line]
    return n_small


@kernel
def failing_rows(rows: Rows, k: int, row_of: Int64, sensitive: Int32, n_values: int, limits: Limits) -> Bools:
    """Tell of each distinct row whether its group is smaller than k or breaks the limits.

    Parameters
    ----------
    row_of, sensitive
        The distinct row and the sensitive value of each row of the table; `n_values` of these there are.
    """
    number = np.full(rows.slots, EMPTY)
    n_groups = 0
    for i in range(len(rows.weights)):
        slot = rows.at[i]
        if rows.sizes[slot] >= k and number[slot] == EMPTY:
            number[slot] = n_groups
            n_groups += 1
    counts = np.zeros((n_groups, n_values), np.int64)
    for row in range(len(row_of)):
        group = number[rows.at[row_of[row]]]
        if group != EMPTY:
            counts[group, sensitive[row]] += 1
    fails = np.zeros(n_groups + 1, np.bool_)
    fails[n_groups] = True
    for slot in range(rows.slots):
        if number[slot] != EMPTY:
            fails[number[slot]] = not holds(counts[number[slot]], rows.sizes[slot], limits)
        else:
            number[slot] = n_groups
    found = np.empty(len(rows.weights), np.bool_)
    for i in range(len(found)):
        found[i] = fails[number[rows.at[i]]]
    return found


@kernel
def kept_groups(rows: Rows, lines: Int64, k: int, saved: Float64, found: Float64) -> None:
    """Say what publishing the groups of at least k at these lines is worth.

    Parameters
    ----------
    saved
        What each row costs, all its copies together, if it is left over.
    found
        Set to: what those rows cost if they are left over; by how much they cost less; and the same, of rows of which
        that is true.
    """
    found[:] = 0.0
    for i in range(len(rows.weights)):
        if rows.sizes[rows.at[i]] >= k:
            gain = saved[i]
            for m in range(len(lines)):
                gain -= rows.costs[i, lines[m]]
            found[0] += saved[i]
            found[1] += gain
            found[2] += max(gain, 0.0)
