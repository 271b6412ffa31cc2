"""Worked examples of Li et al., "Information based data anonymization for classification utility", 2011."""

from __future__ import annotations

import numpy as np
import pytest

from incrowd.hierarchy import Intervals
from incrowd.losses import Cells, loss, normalized_divergence, normalized_mutual_information
from incrowd.losses.classes import entropy_of

CLASS = np.array([0, 0, 0, 0, 1, 1, 0, 1], np.int32)  # Table 3: y y y y n n y n
WIDTHS = {4: 1, 3: 2, 2: 4, 1: 8}  # leaves per value at each level

PAPER_H_C = 0.97
PAPER_LEFT = {4: 0.0, 3: 0.25, 2: 0.41, 1: 0.97}  # H(C|A)
PAPER_KEPT = {4: 0.97, 3: 0.72, 2: 0.56, 1: 0.0}  # I(A; C)
PAPER_IN = {4: 0.32, 3: 0.36, 2: 0.56, 1: 0.0}


def table(level):
    counts = np.zeros((8 // WIDTHS[level], 2))
    np.add.at(counts, (np.arange(8) // WIDTHS[level], CLASS), 1)
    return counts


def left(level):
    counts = table(level)
    return sum(row.sum() / 8 * entropy_of(row) for row in counts)


@pytest.mark.parametrize("level", [4, 3, 2])
def test_example_1_conditional_entropy(level):
    assert round(left(level), 2) == PAPER_LEFT[level]


def test_example_1_class_entropy_is_misprinted():
    """Five y and three n have 0.954 bits; the paper prints 0.97, which is the entropy of two out of five."""
    assert entropy_of([5, 3]) == pytest.approx(0.9544, abs=1e-4)
    assert round(entropy_of([2, 3]), 2) == PAPER_H_C
    assert left(1) == pytest.approx(entropy_of([5, 3]))


@pytest.mark.parametrize("level", [4, 3, 2])
def test_example_1_with_the_printed_class_entropy(level):
    """All printed numbers follow from H(C) = 0.97 and our H(C|A) and H(A)."""
    information = PAPER_H_C - left(level)
    assert round(information, 2) == PAPER_KEPT[level]
    assert round(information / entropy_of(table(level).sum(axis=1)), 2) == PAPER_IN[level]


@pytest.mark.parametrize(("level", "exact"), [(4, 0.3181), (3, 0.3522), (2, 0.5488), (1, 0.0)])
def test_example_1_normalized_mutual_information(level, exact):
    got = normalized_mutual_information(table(level))
    assert got == pytest.approx(exact, abs=1e-4)
    assert got == pytest.approx(PAPER_IN[level], abs=0.012)  # the misprint moves the paper's numbers by up to 0.0112


def test_example_1_level_2_is_best():
    assert max(WIDTHS, key=lambda level: normalized_mutual_information(table(level))) == 2


@pytest.mark.parametrize("level", [4, 3, 2, 1])
def test_example_1_as_a_loss(level):
    lo = np.arange(8, dtype=np.int32) // WIDTHS[level] * WIDTHS[level]
    hi = lo + np.int32(WIDTHS[level] - 1)
    hierarchy = Intervals([1, 2, 3, 4, 5, 6, 7, 8])
    marginal = np.ones(8, np.int64)
    cells = Cells(
        hierarchies=[hierarchy], lo=lo[:, None], hi=hi[:, None], marginals=[marginal], sensitive=CLASS, n_values=2
    )
    assert loss("nmi", cells) == pytest.approx(1 - normalized_mutual_information(table(level)))


def test_example_2_divergence():
    before, after = [4, 4, 0], [3, 4, 1]  # [1, 4], [5, 8], *
    assert round(0.5 * np.log2(0.5 / 0.375), 2) == 0.21
    assert round(normalized_divergence(before, after), 2) == 0.21


def test_example_2_information_after_suppression():
    after = [[3, 0], [1, 3]]  # the row with * is left out
    assert round(entropy_of([4, 3]), 2) in (0.98, 0.99)  # 0.9852, printed as 0.98
    assert round(normalized_mutual_information(after), 2) == 0.53
    assert round(abs(round(normalized_mutual_information(after), 2) - PAPER_IN[2]), 2) == 0.03


def test_example_2_as_a_loss():
    """The suppressed row does not take part in I_N, and the loss counts it as no information."""
    lo = np.array([[0], [0], [0], [0], [4], [4], [4], [4]], np.int32)
    hi = np.array([[3], [3], [3], [7], [7], [7], [7], [7]], np.int32)
    cells = Cells(
        hierarchies=[Intervals([1, 2, 3, 4, 5, 6, 7, 8])],
        lo=lo,
        hi=hi,
        marginals=[np.ones(8, np.int64)],
        sensitive=CLASS,
        n_values=2,
    )
    assert loss("nmi", cells) == pytest.approx(1 - 7 / 8 * normalized_mutual_information([[3, 0], [1, 3]]))
