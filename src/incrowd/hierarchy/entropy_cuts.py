"""Where to cut an ordered column so that the classes come apart: entropy with the MDL stopping rule.

A cut splits a segment of the values where the class entropy of the two parts is least; it is kept when its gain pays
for its description. Both parts are cut again in the same way, so the depth of the recursion gives nested levels.
The first levels may be asked for whether their cuts pay or not, with at least so many rows on both sides.

What "pays" means is one of two criteria. ``"fayyad"``: the gain, in bits a row, against the description of the cut and
of the classes in both parts. ``"kononenko"``: the bits that tell the classes of all rows, as one part and as two, where
a part is told by how often each class occurs in it and which of these orders it is. It cuts more in small parts.

Works on the class counts of the distinct values, O(values x classes) per level, whatever the number of rows.

Where the paper is silent: of several equally good cuts the lowest is taken. The paper's shortcut (only boundary points
can be best) is not needed, because all cuts of a segment are weighed in one array operation.

References
----------
U. M. Fayyad, K. B. Irani: Multi-interval discretization of continuous-valued attributes for classification learning.
IJCAI 1993.
I. Kononenko: On biases in estimating multi-valued attributes. IJCAI 1995.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from incrowd.errors import ParameterError

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

Criterion = Literal["fayyad", "kononenko"]
TIE = 1e-12  # entropies this close are equal but for rounding


def require_criterion(criterion: str) -> None:
    """Refuse a criterion that there is not."""
    if criterion not in get_args(Criterion):
        fact = f"criterion is {criterion!r}"
        raise ParameterError(fact, f"use one of {', '.join(get_args(Criterion))}")


def nested_cuts(counts: Counts, *, levels: int = 0, rows: int = 1, criterion: Criterion = "fayyad") -> list[list[int]]:
    """Return the cuts that exist at each depth, each depth with those of the one before.

    Parameters
    ----------
    counts
        How often each class occurs with each distinct value, [values x classes], values in order.
    levels
        So many levels of segments are cut even where a cut does not pay for its description, if it has any gain.
    rows
        That both sides of such a cut have at least.
    criterion
        When a cut pays: ``"fayyad"`` or ``"kononenko"``.

    Returns
    -------
    list of lists
        A cut c separates the values below rank c from the others. Empty when no cut is worth it.

    Examples
    --------
    >>> import numpy as np
    >>> nested_cuts(np.array([[9, 0], [8, 0], [0, 9], [0, 9], [9, 0]]))
    [[2], [2, 4]]
    >>> weak = np.array([[3, 2], [2, 3], [3, 2]])
    >>> nested_cuts(weak), nested_cuts(weak, levels=1), nested_cuts(weak, levels=2, rows=5)
    ([], [[1]], [[1], [1, 2]])
    """
    cumulated = np.concatenate([np.zeros((1, counts.shape[1]), np.int64), np.cumsum(counts, axis=0)])
    segments = [(0, len(counts))]
    cuts: list[int] = []
    found: list[list[int]] = []
    while segments:
        parts = []
        for first, end in segments:
            cut = _best_cut(cumulated, first, end, criterion=criterion)
            if cut is None and len(found) < levels:
                cut = _best_cut(cumulated, first, end, rows)
            if cut is not None:
                cuts.append(cut)
                parts += [(first, cut), (cut, end)]
        if parts:
            found.append(sorted(cuts))
        segments = parts
    return found


def _best_cut(
    cumulated: Counts, first: int, end: int, rows: int | None = None, criterion: Criterion = "fayyad"
) -> int | None:
    """Return the best cut of a segment if it pays, or with a number of rows the best with as many on both sides."""
    if end - first < 2:
        return None
    below = cumulated[first + 1 : end] - cumulated[first]
    total = cumulated[end] - cumulated[first]
    above = total - below
    n_rows = int(total.sum())
    entropy_below, entropy_above = _entropy(below), _entropy(above)
    share = below.sum(axis=1) / n_rows
    after = share * entropy_below + (1 - share) * entropy_above  # E(A, T; S)
    if rows is not None:
        after[np.minimum(below.sum(axis=1), above.sum(axis=1)) < rows] = np.inf
    best = int(np.flatnonzero(after <= after.min() + TIE)[0])
    before = float(_entropy(total[None, :])[0])
    if rows is not None:
        return first + 1 + best if after[best] < before - TIE else None
    if criterion == "kononenko":
        bits = _bits(below[best], total) + _bits(above[best], total) + math.log2(end - first - 1)
        return first + 1 + best if _bits(total, total) > bits + TIE else None
    k, k_below, k_above = (int(np.count_nonzero(c)) for c in (total, below[best], above[best]))
    kept = k * before - k_below * float(entropy_below[best]) - k_above * float(entropy_above[best])
    delta = math.log2(3**k - 2) - kept
    if before - float(after[best]) <= (math.log2(n_rows - 1) + delta) / n_rows:
        return None
    return first + 1 + best


def _bits(part: Counts, total: Counts) -> float:
    """Return the bits that tell the classes of a part's rows: how often each of the whole's occurs, in which order."""
    n, n_classes = int(part.sum()), int(np.count_nonzero(total))
    how_often = _log_factorial(n + n_classes - 1) - _log_factorial(n) - _log_factorial(n_classes - 1)
    in_which_order = _log_factorial(n) - sum(_log_factorial(int(count)) for count in part)
    return (how_often + in_which_order) / math.log(2)


def _log_factorial(n: int) -> float:
    return math.lgamma(n + 1)


def _entropy(counts: Counts) -> Floats:
    """Return the class entropy of each row of counts, in bits."""
    share = counts / counts.sum(axis=1, keepdims=True)
    bits: Floats = -np.sum(share * np.log2(share, out=np.zeros_like(share), where=share > 0), axis=1)
    return bits
