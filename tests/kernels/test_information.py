"""Entropies of counts, beside the textbook formula."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incrowd.kernels.information import conditional_entropy, n_log_n


def textbook(counts):
    total = sum(map(sum, counts))
    parts = [(sum(part), [c / sum(part) for c in part if c]) for part in counts if sum(part)]
    return sum(n / total * -sum(p * math.log2(p) for p in shares) for n, shares in parts) if total else 0.0


@given(st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3), min_size=1, max_size=5))
def test_conditional_entropy_is_the_textbooks(counts):
    found = conditional_entropy(np.array(counts, np.int64), n_log_n(500))
    assert math.isclose(found, textbook(counts), abs_tol=1e-12)


def test_an_even_split_is_one_bit_and_a_pure_one_none():
    logs = n_log_n(8)
    assert conditional_entropy(np.array([[4, 4]]), logs) == 1.0
    assert conditional_entropy(np.array([[4, 0], [0, 4]]), logs) == 0.0
