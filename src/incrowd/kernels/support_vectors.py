"""Support vectors of two classes with an RBF kernel, by sequential minimal optimization.

In each step the two rows are moved that LibSVM would take (Fan, Chen and Lin 2005: the row that breaks optimality most,
and the one with which it gains most), until no pair breaks it by more than a tolerance. Rows are never shrunk away: one
pass over all of them is cheaper than the kernel values that LibSVM computes again. Kernel values are single numbers, as
LibSVM keeps them; those of a row are computed when it is first moved, and kept while there is room.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incrowd.kernels.jit import inlined, kernel

Float32 = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]

_NONE = -1
_BARRED = -1e30  # added to a row that cannot move this way
_FLAT = 1e-12  # least curvature: that of two equal rows is 0
_MOST_TURNS = 10_000_000  # LibSVM's
_UNDERFLOW = 87.0  # beyond this power of -e a single number is 0


@inlined
def _fill(columns: Float32, row: Float32, gamma: float, out: Float32) -> None:
    """Write the kernel between one row and all others."""
    n, scale = len(out), np.float32(gamma)
    for t in range(n):
        out[t] = np.float32(0)
    for m in range(len(columns)):
        column, own = columns[m], row[m]
        for t in range(n):
            gap = column[t] - own
            out[t] += gap * gap
    for t in range(n):
        power = scale * out[t]
        out[t] = np.exp(-power) if power < np.float32(_UNDERFLOW) else np.float32(0)


@kernel
def rbf(columns: Float32, rows: Float32, gamma: float) -> Float32:
    """Return exp(-gamma |x - y|^2) for each of `rows`, [rows x columns], and each training row, [columns x n]."""
    out = np.empty((len(rows), columns.shape[1]), np.float32)
    for i in range(len(rows)):
        _fill(columns, rows[i], gamma, out[i])
    return out


@inlined
def _place_of(
    row: int, turn: int, columns: Float32, gamma: float, kept: Float32, place: Int64, owner: Int64, used: Int64
) -> int:
    """Return where a row's kernel values are kept, after computing them if they are not; the last of `used` goes round.

    What this turn has looked at stays; what comes next in the round gives way.
    """
    if place[row] == _NONE:
        n_kept, hand = len(kept), used[-1]
        while used[hand] == turn:
            hand = (hand + 1) % n_kept
        if owner[hand] != _NONE:
            place[owner[hand]] = _NONE
        place[row], owner[hand] = hand, row
        _fill(columns, columns[:, row].copy(), gamma, kept[hand])
        used[-1] = (hand + 1) % n_kept
    used[place[row]] = turn
    return int(place[row])


@kernel
def solve(columns: Float32, signs: Floats, most: Floats, gamma: float, tolerance: float, kept: Float32) -> Floats:
    """Return a coefficient per row, signed by its class, and behind them the bias.

    Parameters
    ----------
    columns
        The rows' numbers, [columns x rows].
    signs
        1 or -1 for each row's class; both occur.
    most
        The largest size of each row's coefficient: C times its weight.
    gamma
        Of the kernel.
    tolerance
        By how much a pair of rows may break optimality.
    kept
        Room for the kernel values of two rows or more, [some x rows].
    """
    n = len(signs)
    found, errors = np.zeros(n + 1), signs.copy()  # errors: the sign less what the coefficients decide without a bias
    rises, falls = np.empty(n), np.empty(n)  # 0 where a coefficient may grow or shrink
    for t in range(n):
        rises[t], falls[t] = 0.0 if signs[t] > 0 else _BARRED, 0.0 if signs[t] < 0 else _BARRED
    place, owner, used = np.full(n, _NONE), np.full(len(kept), _NONE), np.zeros(len(kept) + 1, np.int64)
    first, best, worst = 0, -np.inf, np.inf
    for t in range(n):
        if errors[t] + rises[t] > best:
            first, best = t, errors[t] + rises[t]
    for turn in range(1, max(_MOST_TURNS, 100 * n)):
        near = kept[_place_of(first, turn, columns, gamma, kept, place, owner, used)]
        second, gain, worst = _NONE, 0.0, -_BARRED
        for t in range(n):
            worst = min(worst, errors[t] - falls[t])
            gap, curvature = best - errors[t] + falls[t], max(2 - 2 * near[t], _FLAT)
            if gap > 0 and gap * gap > gain * curvature:
                second, gain = t, gap * gap / curvature
        if second == _NONE or best - worst < tolerance:
            break
        far = kept[_place_of(second, turn, columns, gamma, kept, place, owner, used)]
        up = max(0.0, signs[first] * most[first]) - found[first]
        down = found[second] - min(0.0, signs[second] * most[second])
        step = min((best - errors[second]) / max(2 - 2 * near[second], _FLAT), up, down)
        found[first] += step
        found[second] -= step
        # To the bound exactly: what rounding leaves there would be moved for ever.
        if step == up:
            found[first] = max(0.0, signs[first] * most[first])
        if step == down:
            found[second] = min(0.0, signs[second] * most[second])
        for t in (first, second):
            rises[t] = 0.0 if found[t] < max(0.0, signs[t] * most[t]) else _BARRED
            falls[t] = 0.0 if found[t] > min(0.0, signs[t] * most[t]) else _BARRED
        first, best = 0, -np.inf
        for t in range(n):
            errors[t] -= step * (near[t] - far[t])
            if errors[t] + rises[t] > best:
                first, best = t, errors[t] + rises[t]
    free, n_free = 0.0, 0
    for t in range(n):
        if rises[t] == 0 and falls[t] == 0:
            free, n_free = free + errors[t], n_free + 1
    found[n] = free / n_free if n_free else (best + worst) / 2
    return found
