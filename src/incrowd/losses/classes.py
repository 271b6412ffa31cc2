"""Losses for classification: the classification metric (CM) and lost mutual information (NMI).

Both look at the class of each row: the target, or else the sensitive value. A row whose sensitive value is published as
a distribution belongs to each class with that share.

References
----------
Iyengar, "Transforming data to satisfy privacy constraints", KDD 2002, in the form of Friedman, Wolff and Schuster,
"Providing k-anonymity in data mining", VLDB Journal 2008, section 6.2 (CM); Li, Liu, Baig and Wong, "Information based
data anonymization for classification utility", Data & Knowledge Engineering 2011, sections 3.1 and 4 (normalized mutual
information, normalized divergence).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incrowd.errors import ParameterError
from incrowd.kernels.groups import label_groups
from incrowd.losses.cells import Cells, Counts, Floats

Joint = tuple[Counts, Counts, Floats]
"""Group, class and mass of each (group, class) that occurs: a table that stays small with many groups and classes."""


def cm(cells: Cells) -> float:
    """Return the expected share of rows outside the majority class of their group; a row left out is outside.

    With distributions the majority is that of the group's pooled distribution (each row with the same weight), and a
    row is outside with its own share of the other classes. Of tied classes one is the majority.
    """
    labels, n_groups = cells.groups
    groups, _, mass = class_masses(cells, labels, n_groups)
    majority = np.zeros(n_groups)
    np.maximum.at(majority, groups, mass)
    outside = cells.n_rows - float(majority.sum())
    return max(outside + cells.n_suppressed, 0.0) / cells.n_total if cells.n_total else 0.0


def nmi(cells: Cells) -> float:
    """Return 1 - mean over attributes of I_N(generalized value; class), so that less is better as in every loss.

    As in Example 2 of the paper a row with ``*`` (the whole domain) does not take part in I_N. To keep suppression from
    being free, I_N is then weighted with the share of rows that took part; a row left out takes part nowhere.
    """
    if not cells.n_total or not cells.n_quasi:
        return 0.0
    kept = [_kept_information(cells, attribute) for attribute in range(cells.n_quasi)]
    return 1.0 - sum(kept) / cells.n_quasi


def _kept_information(cells: Cells, attribute: int) -> float:
    lo, hi = cells.lo[:, attribute], cells.hi[:, attribute]
    whole = (lo == 0) & (hi == cells.hierarchies[attribute].n_leaves - 1)
    labels, n_groups = label_groups(np.stack([np.where(whole, -1, lo), np.where(whole, -1, hi)]).astype(np.int32).T)
    groups, classes, mass = class_masses(cells, labels, n_groups)
    if whole.any():
        told = groups != labels[np.argmax(whole)]
        groups, classes, mass = groups[told], classes[told], mass[told]
    share = (cells.n_rows - int(whole.sum())) / cells.n_total
    return share * information_of_sums(_sums(groups, mass), _sums(classes, mass), mass)


def class_masses(cells: Cells, labels: Counts, n_groups: int) -> Joint:
    """Return how many rows of each class are in each group; a distribution spreads its row over its values."""
    codes = cells.classes if cells.classes is not None else cells.sensitive
    if codes is not None:
        pairs = np.stack([labels, codes]).astype(np.int32).T
        of_row, n_pairs = label_groups(pairs)
        some = np.empty(n_pairs, np.int64)
        some[of_row] = np.arange(len(of_row))
        return labels[some], codes[some].astype(np.int64), _sums(of_row, None, n_pairs)
    if cells.counts is None:
        fact = "The losses 'cm' and 'nmi' need the class of each row, and this release has neither target nor sensitive"
        raise ParameterError(fact, "name a target or a sensitive column in the schema, or use another loss")
    one_over = 1.0 / np.maximum(cells.counts.sum(axis=1, dtype=np.int64), 1)
    columns = [_sums(labels, column * one_over, n_groups) for column in cells.counts.T]
    table = np.stack(columns, axis=1) if columns else np.zeros((n_groups, 0))
    groups, classes = (index.astype(np.int64) for index in np.nonzero(table))
    return groups, classes, table[groups, classes]


def _sums(labels: Counts, mass: Floats | None, n_groups: int = 0) -> Floats:
    return np.asarray(np.bincount(labels, mass, n_groups), np.float64)


def normalized_mutual_information(table: npt.ArrayLike) -> float:
    """Return I_N = (H(C) - H(C|A)) / H(A) of a table of counts [values of A x classes]; 0 if A is constant.

    Dividing by the attribute's entropy keeps attributes of many values from looking informative.
    """
    counts = np.asarray(table, np.float64)
    return information_of_sums(counts.sum(axis=1), counts.sum(axis=0), counts.ravel())


def normalized_divergence(before: npt.ArrayLike, after: npt.ArrayLike) -> float:
    """Return D_N = D(before || after) / H(before) of two arrays of counts over the same values.

    ``*`` is one of the values: with count 0 before and the suppressed rows after. Infinite if a value is gone. A column
    of one value tells nothing that could be lost (H = 0): 0.
    """
    p, q = (np.asarray(counts, np.float64) / np.sum(counts) for counts in (before, after))
    occurs = p > 0
    bits = entropy_of(p)
    if not bits:
        return 0.0
    if np.any(q[occurs] == 0):
        return float("inf")
    divergence = max(float(np.sum(p[occurs] * np.log2(p[occurs] / q[occurs]))), 0.0)
    return divergence / bits


def entropy_of(masses: npt.ArrayLike) -> float:
    """Return the entropy (bits) of non-negative masses, whatever their sum."""
    m = np.asarray(masses, np.float64)
    m = m[m > 0]
    total = float(m.sum())
    return max(float(np.log2(total) - np.sum(m * np.log2(m)) / total), 0.0) if len(m) > 1 else 0.0


def information_of_sums(values: Floats, classes: Floats, joint: Floats) -> float:
    """Return I_N from the mass of each value, of each class, and of each (value, class) that occurs."""
    bits = entropy_of(values)
    information = bits + entropy_of(classes) - entropy_of(joint)
    return min(max(information / bits, 0.0), 1.0) if bits else 0.0
