"""Algorithm 1 of the NSVDist paper as it is written, compiled with the same settings: the yardstick of the fast one."""

import numpy as np

from incrowd.kernels.domains import close, extent
from incrowd.kernels.jit import kernel


@kernel
def members(codes, sensitive, n_values, seed, k, cap, domains):
    """Lines 2 to 7 for one row: every row of the table is tried for every place."""
    n_rows, n_quasi = codes.shape
    inside = np.zeros(n_rows, np.bool_)
    counts = np.zeros(n_values, np.int64)
    inside[seed] = True
    counts[sensitive[seed]] = 1
    lo, hi = codes[seed].copy(), codes[seed].copy()
    for _ in range(k - 1):
        best, least = -1, np.inf
        for i in range(n_rows):
            if inside[i] or counts[sensitive[i]] >= cap:
                continue
            loss = 0.0
            for m in range(n_quasi):
                first, last, _ = close(domains, m, min(lo[m], codes[i, m]), max(hi[m], codes[i, m]))
                loss += extent(domains, m, first, last)
            if loss < least:
                best, least = i, loss
        inside[best] = True
        counts[sensitive[best]] += 1
        for m in range(n_quasi):
            first, last, _ = close(domains, m, min(lo[m], codes[best, m]), max(hi[m], codes[best, m]))
            lo[m], hi[m] = first, last
    return lo, hi
