"""Rows of a group in the order of an attribute, with what cuts that part classes look at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import kernel
from incrowd.kernels.partition import HISTOGRAM, SENSITIVE, WEIGHT, Work, sort

Int32 = npt.NDArray[np.int32]

CLASS = -4  # column of rows, before the sensitive code


class Entries(NamedTuple):
    """Rows of a group with the same code, class and sensitive value, in the order of codes; equal ones may come apart.

    Attributes
    ----------
    codes, classes, values, weights
        What they have in common, and how many they are.
    """

    codes: Int32
    classes: Int32
    values: Int32
    weights: Int32


@kernel
def in_order(work: Work, start: int, stop: int, m: int, lo: int, hi: int, n_classes: int, n_values: int) -> Entries:
    """Return the entries of a group, ordered by an attribute.

    Few different ones are counted in one pass over the rows; otherwise each row is one.
    """
    if (hi - lo + 1) * n_classes * max(1, n_values) <= stop - start:
        return _counted(work, start, stop, m, lo, hi, n_classes, max(1, n_values))
    rows, begin = work.rows, work.scratch[HISTOGRAM]
    keys = np.empty(stop - start, np.int64)
    if hi - lo > 8 * (stop - start):  # a sparse domain: sorting the few codes is cheaper than walking over it
        for i in range(start, stop):
            keys[i - start] = (np.int64(rows[i, m]) << 32) | i
        sort(keys)
    else:
        for offset in range(hi - lo + 2):
            begin[offset] = 0
        for i in range(start, stop):
            begin[rows[i, m] - lo + 1] += 1
        for offset in range(1, hi - lo + 1):
            begin[offset] += begin[offset - 1]
        for i in range(start, stop):
            offset = rows[i, m] - lo
            keys[begin[offset]] = i
            begin[offset] += 1
    entries = np.empty((4, stop - start), np.int32)
    for at in range(len(keys)):
        i = keys[at] & 0xFFFFFFFF
        entries[0, at], entries[1, at] = rows[i, m], rows[i, CLASS]
        entries[2, at], entries[3, at] = rows[i, SENSITIVE], rows[i, WEIGHT]
    return Entries(entries[0], entries[1], entries[2], entries[3])


@kernel
def _counted(work: Work, start: int, stop: int, m: int, lo: int, hi: int, n_classes: int, n_values: int) -> Entries:
    """Count the rows of each code, class and sensitive value."""
    rows = work.rows
    counts = np.zeros((hi - lo + 1) * n_classes * n_values, np.int32)
    for i in range(start, stop):
        value = rows[i, SENSITIVE] if n_values > 1 else 0
        counts[((rows[i, m] - lo) * n_classes + rows[i, CLASS]) * n_values + value] += rows[i, WEIGHT]
    n_entries = 0
    for at in range(len(counts)):
        n_entries += counts[at] > 0
    entries = np.empty((4, n_entries), np.int32)
    to = 0
    for at in range(len(counts)):
        if counts[at] > 0:
            entries[0, to] = lo + at // (n_values * n_classes)
            entries[1, to], entries[2, to] = at // n_values % n_classes, at % n_values
            entries[3, to] = counts[at]
            to += 1
    return Entries(entries[0], entries[1], entries[2], entries[3])
