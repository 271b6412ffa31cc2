"""Support vector machines with an RBF kernel: LibSVM's classifier of several classes over a compiled solver.

Each pair of classes is decided by itself, as in LibSVM; votes count first and margins among equal votes, as in
scikit-learn's ``SVC(decision_function_shape="ovr", break_ties=True)``. Results are equal to its up to the tolerance of
the solver, and come several times faster (`./dev bench svm`).

>>> X = np.array([[0.0], [1.0], [4.0], [5.0]])
>>> margins(X, np.array([0, 0, 1, 1]), np.array([[0.5], [4.5]]), gamma=1.0).argmax(axis=1).tolist()
[0, 1]
"""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np

from incrowd.evaluate.features import Floats, Labels
from incrowd.kernels.support_vectors import Float32, rbf, solve

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
    centre = X.mean(axis=0)  # single numbers tell rows apart only near 0
    order = np.argsort(labels, kind="stable")
    columns, ask = ((part - centre).astype(np.float32) for part in (X[order], asked))
    columns = np.ascontiguousarray(columns.T)
    most = C * (np.ones(len(X)) if weights is None else weights[order])
    ends = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    coefficients, biases = _decide_pairs(columns, ends, most, gamma)
    support = np.flatnonzero(coefficients.any(axis=1))
    columns, coefficients = np.ascontiguousarray(columns[:, support]), coefficients[support]
    blocks = np.searchsorted(support, ends)
    step = max(1, _SLICE // max(1, len(support)))
    slices = [ask[at : at + step] for at in range(0, len(ask), step)]
    found = [_for_classes(rbf(columns, rows, gamma), blocks, coefficients, biases) for rows in slices]
    return np.concatenate([*found, np.empty((0, len(biases)))])


def _decide_pairs(columns: Float32, ends: Labels, most: Floats, gamma: float) -> tuple[Floats, Floats]:
    """Return each row's coefficient against each other class, and the bias of each pair, the first class positive.

    Rows are sorted by class; class c has those from ``ends[c]`` to ``ends[c + 1]``.
    """
    n_classes, largest = len(ends) - 1, int(np.sort(np.diff(ends))[-2:].sum())
    coefficients, biases = np.zeros((columns.shape[1], n_classes)), np.zeros((n_classes, n_classes))
    room = np.empty(max(2 * largest, min(largest**2, _KEPT)), np.float32)
    for one, other in combinations(range(n_classes), 2):
        parts = [ends[c] + np.flatnonzero(most[ends[c] : ends[c + 1]] > 0) for c in (one, other)]
        rows = np.concatenate(parts)
        if not len(parts[0]) or not len(parts[1]):  # weights have left one of them, or none
            biases[one, other] = float(len(parts[0]) > 0) - float(len(parts[1]) > 0)
            continue
        signs = np.repeat([1.0, -1.0], [len(part) for part in parts])
        n_kept = min(len(rows), len(room) // len(rows))
        kept = room[: n_kept * len(rows)].reshape(n_kept, -1)
        found = solve(np.ascontiguousarray(columns[:, rows]), signs, most[rows], gamma, _TOLERANCE, kept)
        coefficients[parts[0], other], coefficients[parts[1], one] = np.split(found[:-1], [len(parts[0])])
        biases[one, other] = found[-1]
    return coefficients, biases


def _for_classes(near: Float32, ends: Labels, coefficients: Floats, biases: Floats) -> Floats:
    """Turn decisions between pairs into one number per class: votes, and margins as less than half a vote."""
    n_classes = len(biases)
    by_class = [near[:, a:b] @ coefficients[a:b] for a, b in pairwise(ends)]
    if n_classes == 2:
        decided = by_class[0][:, 1] + by_class[1][:, 0] + biases[0, 1]
        return np.column_stack([decided, -decided])
    votes, sums = np.zeros((len(near), n_classes)), np.zeros((len(near), n_classes))
    for one, other in combinations(range(n_classes), 2):
        decided = by_class[one][:, other] + by_class[other][:, one] + biases[one, other]
        votes[:, one] += decided >= 0
        votes[:, other] += decided < 0
        sums[:, one] += decided
        sums[:, other] -= decided
    scores: Floats = votes + sums / (3 * (np.abs(sums) + 1))
    return scores
