"""Losses of group sizes: discernibility (DM) and average group size (AECS).

A group is a set of rows whose cells are all equal, also in a non-homogeneous release, where such a group may be a
single row although each row hides among k originals: there these two losses say little.

References
----------
Bayardo and Agrawal, "Data privacy through optimal k-anonymization", ICDE 2005 (DM); LeFevre, DeWitt and Ramakrishnan,
"Mondrian multidimensional k-anonymity", ICDE 2006 (AECS, there C_AVG).
"""

from __future__ import annotations

import numpy as np

from incrowd.losses.cells import Cells


def dm(cells: Cells) -> float:
    """Return the sum of squared group sizes; a row left out is like every row of the table."""
    labels, n_groups = cells.groups
    sizes = np.bincount(labels, minlength=n_groups)
    return float(sizes @ sizes) + float(cells.n_suppressed) * float(cells.n_total)


def aecs(cells: Cells) -> float:
    """Return rows (those left out too) per group, divided by k; without any released row all are one group."""
    _, n_groups = cells.groups
    return cells.n_total / max(n_groups, 1) / cells.k
