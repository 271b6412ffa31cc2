"""Trees of a forest, beside the plainest way to grow them."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incrowd.kernels.forest import CHILD, COLUMN, LAST_BIN, LEAF, add_shares, grow
from incrowd.kernels.information import n_log_n
from incrowd.kernels.jit import interpreted


def entropy_times_n(labels):
    return -sum(labels.count(v) * math.log2(labels.count(v) / len(labels)) for v in set(labels))


def plain_tree(bins, values, sample, n_values, least, draws):
    """Nodes in the order in which they are made: (column, last bin on the left, left child), or None for a leaf."""
    nodes, shares, pending, told = [], [], [list(sample)], [0.0] * bins.shape[1]
    for rows in pending:  # grows while it is read
        labels = [int(values[i]) for i in rows]
        number, found, n_seen = len(nodes), [], 0
        for m in np.argsort(draws[number]) if len(rows) >= 2 * least and entropy_times_n(labels) > 1e-7 else []:
            column = [int(bins[i, m]) for i in rows]
            if n_seen >= max(1, math.isqrt(bins.shape[1])) and found:
                break
            n_seen += len(set(column)) > 1
            for last in sorted(set(column))[:-1]:
                left = [v for v, code in zip(labels, column, strict=True) if code <= last]
                right = [v for v, code in zip(labels, column, strict=True) if code > last]
                if min(len(left), len(right)) >= least:
                    found.append((entropy_times_n(left) + entropy_times_n(right), int(m), last))
        best = None
        for each in found:
            if best is None or each[0] < best[0] - 1e-7:
                best = each
        shares.append([labels.count(v) / len(labels) for v in range(n_values)])
        if best is None or best[0] >= entropy_times_n(labels) - 1e-7:
            nodes.append(None)
        else:
            nodes.append((best[1], best[2], len(pending)))
            told[best[1]] += (entropy_times_n(labels) - best[0]) / len(sample)
            pending += [
                [i for i in rows if bins[i, best[1]] <= best[2]],
                [i for i in rows if bins[i, best[1]] > best[2]],
            ]
    return nodes, shares, told


@given(st.integers(1, 40), st.integers(1, 5), st.integers(1, 4), st.integers(1, 9), st.integers(0, 10**6))
def test_trees_are_those_of_the_plain_way(n, n_columns, n_values, least, seed):
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, 6, (n, n_columns)).astype(np.uint8)
    values = rng.integers(0, n_values, n)
    sample = rng.integers(0, n, n)
    draws = rng.random((2 * (n // least) + 1, n_columns))
    expected = plain_tree(bins, values, sample, n_values, least, draws)
    nodes, shares, told = grow(bins, values, sample.copy(), 6, n_values, least, draws, n_log_n(n))
    found = [None if node[COLUMN] == LEAF else (node[COLUMN], node[LAST_BIN], node[CHILD]) for node in nodes]
    assert found == expected[0]
    assert np.allclose(shares, expected[1])
    assert np.allclose(told, expected[2])


def test_a_small_table_is_not_compiled_and_has_the_same_tree():
    rng = np.random.default_rng(0)
    bins, values = rng.integers(0, 256, (60, 2)).astype(np.uint8), rng.integers(0, 2, 60)
    asked = bins, values, rng.integers(0, 60, 60), 256, 2, 5, rng.random((25, 2)), n_log_n(60)
    compiled = grow(*(each.copy() if isinstance(each, np.ndarray) else each for each in asked))
    with interpreted(when=True):
        plain = grow(*asked)
    assert len(plain[0]) > 5
    assert all(np.array_equal(a, b) for a, b in zip(compiled, plain, strict=True))


def test_rows_get_the_shares_of_their_leaf():
    bins = np.array([[0], [0], [3], [3]], np.uint8)
    nodes, shares, told = grow(bins, np.array([0, 0, 1, 1]), np.arange(4), 4, 2, 2, np.zeros((5, 1)), n_log_n(4))
    into = np.ones((2, 2))
    add_shares(np.array([[1], [0]], np.uint8), nodes, shares, into)
    assert into.tolist() == [[1, 2], [2, 1]]
    assert told.tolist() == [1.0]
