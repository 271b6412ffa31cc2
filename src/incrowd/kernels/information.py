"""Information about the class: entropies of counts, for every method that looks at it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import inlined, kernel

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]


def n_log_n(n: int) -> Float64:
    """Return x log2 x for x = 0 ... n: entropies of counts are sums of these, without a logarithm in the loop."""
    x = np.arange(n + 1, dtype=np.float64)
    x[1:] *= np.log2(x[1:])
    return x


@inlined
def entropy_times_n(counts: Int64, logs: Float64) -> float:
    """Return n H: the entropy in bits of class counts, times their sum."""
    n, total = 0, 0.0
    for count in counts:
        n += count
        total += logs[count]
    return float(logs[n] - total)


@kernel
def conditional_entropy(counts: Int64, logs: Float64) -> float:
    """Return H(class | part) in bits, from counts [parts x classes]; 0 when there are no rows."""
    n, total = 0, 0.0
    for part in range(len(counts)):
        for count in counts[part]:
            n += count
        total += entropy_times_n(counts[part], logs)
    return total / n if n > 0 else 0.0
