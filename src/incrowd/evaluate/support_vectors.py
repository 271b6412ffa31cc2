"""Support vector machines with an RBF kernel: LibSVM's classifier of several classes over a compiled solver.

Each pair of classes is decided by itself, as in LibSVM; votes count first and margins among equal votes, as in
scikit-learn's ``SVC(decision_function_shape="ovr", break_ties=True)``. Results are equal to its up to the tolerance of
the solver, and come several times faster (`./dev bench svm`).

>>> X = np.array([[0.0], [1.0], [4.0], [5.0]])
>>> margins(X, np.array([0, 0, 1, 1]), np.array([[0.5], [4.5]]), gamma=1.0).argmax(axis=1).tolist()
[0, 1]
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from incrowd.evaluate.features import Floats, Labels
from incrowd.kernels.support_vectors import rbf, solve

_KEPT = 250_000_000  # kernel values in memory while a pair is decided, a gigabyte; at most as many as there are
_SLICE = 4_000_000  # of rows that are asked about, at once: larger pieces of memory take longer to get than to fill
_TOLERANCE = 1e-3  # LibSVM's


def margins(
    X: Floats, labels: Labels, asked: Floats, *, gamma: float, C: float = 1.0, weights: Floats | None = None
) -> Floats:
    """Return how much speaks for each class, [asked rows x classes].

    Parameters
    ----------
    X, labels
        Training rows and the number of each one's class, from 0, without gaps; at least two classes.
    asked
        Other rows.
    gamma, C
        Of the kernel exp(-gamma |x - y|^2), and the price of a row on the wrong side.
    weights
        How much each row counts.
    """
    columns = np.ascontiguousarray(X.T, np.float32)
    most = C * (np.ones(len(X)) if weights is None else weights)
    pairs = list(combinations(range(int(labels.max()) + 1), 2))
    coefficients, biases = np.zeros((len(X), len(pairs))), np.zeros(len(pairs))
    largest = int(np.sort(np.bincount(labels))[-2:].sum())
    room = np.empty(max(2 * largest, min(largest**2, _KEPT)), np.float32)
    for number, (one, other) in enumerate(pairs):
        rows = np.flatnonzero(((labels == one) | (labels == other)) & (most > 0))
        signs = np.where(labels[rows] == one, 1.0, -1.0)
        if abs(signs.sum()) == len(rows):  # weights have left one of them, or none
            biases[number] = np.sign(signs.sum())
            continue
        n_kept = min(len(rows), len(room) // len(rows))
        kept = room[: n_kept * len(rows)].reshape(n_kept, -1)
        found = solve(np.ascontiguousarray(columns[:, rows]), signs, most[rows], gamma, _TOLERANCE, kept)
        coefficients[rows, number], biases[number] = found[:-1], found[-1]
    support = np.flatnonzero(coefficients.any(axis=1))
    columns, coefficients = np.ascontiguousarray(columns[:, support]), coefficients[support]
    ask = np.ascontiguousarray(asked, np.float32)
    step = max(1, _SLICE // max(1, len(support)))
    decided = [rbf(columns, ask[at : at + step], gamma) @ coefficients + biases for at in range(0, len(ask), step)]
    return _for_classes(np.concatenate([*decided, np.empty((0, len(pairs)))]), pairs)


def _for_classes(decided: Floats, pairs: list[tuple[int, int]]) -> Floats:
    """Turn decisions between pairs into one number per class: votes, and margins as less than half a vote."""
    if len(pairs) == 1:
        return np.column_stack([decided, -decided])
    votes, sums = np.zeros((len(decided), pairs[-1][1] + 1)), np.zeros((len(decided), pairs[-1][1] + 1))
    for number, (one, other) in enumerate(pairs):
        votes[:, one] += decided[:, number] >= 0
        votes[:, other] += decided[:, number] < 0
        sums[:, one] += decided[:, number]
        sums[:, other] -= decided[:, number]
    scores: Floats = votes + sums / (3 * (np.abs(sums) + 1))
    return scores
