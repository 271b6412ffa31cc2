"""A release as its owner sees it: cells in leaves of the exact hierarchies, whatever was published about them."""

import numpy as np


def exact_cells(release):
    """First and last exact leaf of every distinct cell, [cells x quasi]."""
    domains = zip(release.private.domains, release.hierarchies, strict=True)
    ends = [
        exact.cells(shown, release.cell_lo[:, m], release.cell_hi[:, m]) for m, (exact, shown) in enumerate(domains)
    ]
    return tuple(np.column_stack(side) for side in zip(*ends, strict=True))


def exact_rows(release):
    """First and last exact leaf of every row, [rows x quasi]."""
    lo, hi = exact_cells(release)
    return lo[release.cell_of], hi[release.cell_of]


def exact_hierarchies(release):
    return [domain.hierarchy for domain in release.private.domains]
