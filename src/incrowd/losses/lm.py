"""Loss measure (LM): how far a cell extends, as a share of its domain.

The extent of ``[lo, hi]`` is measured in the hierarchy's positions: the number of values for a taxonomy, the length of
the interval for numbers. A row left out counts 1, a domain of one leaf has nothing to lose and counts 0.

References
----------
Iyengar, "Transforming data to satisfy privacy constraints", KDD 2002; Eq. (2) of Last, Tassa, Zhmudyak and Shmueli,
"Improving accuracy of classification models induced from anonymized datasets", 2014.
"""

from __future__ import annotations

import numpy as np

from incrowd.hierarchy import Hierarchy
from incrowd.losses.cells import Cells, Codes, Counts, Floats


def lm_cells(hierarchy: Hierarchy, marginal: Counts, lo: Codes, hi: Codes) -> Floats:
    """Return the loss of each cell of one attribute, between 0 and 1; the marginal plays no part."""
    del marginal
    first, last = hierarchy.pos / 2, hierarchy.last_pos / 2  # the difference of the largest numbers would overflow
    if not last[-1] > first[0]:
        return np.zeros(np.shape(lo))
    return np.asarray((last[hi] - first[lo]) / (last[-1] - first[0]))


def lm(cells: Cells) -> float:
    """Return the mean loss over rows and attributes."""
    if not cells.n_total:
        return 0.0
    released = sum(_extent(cells, attribute) for attribute in range(cells.n_quasi)) / max(cells.n_quasi, 1)
    return float(released + cells.n_suppressed) / cells.n_total


def _extent(cells: Cells, attribute: int) -> float:
    # LM is linear in the two ends, so counting each end's leaves is enough: no pass over floats.
    hierarchy = cells.hierarchies[attribute]
    n, first, last = hierarchy.n_leaves, hierarchy.pos / 2, hierarchy.last_pos / 2
    if not last[-1] > first[0]:
        return 0.0
    ends, starts = (np.bincount(side[:, attribute], minlength=n) for side in (cells.hi, cells.lo))
    return float(np.sum((ends * (last - first[0]) - starts * (first - first[0])) / (last[-1] - first[0])))
