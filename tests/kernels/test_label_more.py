"""Labels of rows that come in batches are those of all rows at once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incrowd.kernels.groups import label_groups, label_more


@given(st.integers(0, 2000), st.integers(1, 4), st.integers(1, 40), st.integers(1, 700), st.integers(0, 99))
def test_batches_give_the_labels_of_the_whole(n, n_columns, n_values, size, seed):
    codes = np.random.default_rng(seed).integers(0, n_values, (n, n_columns)).astype(np.int32)
    whole, n_groups = label_groups(np.asfortranarray(codes))
    table = np.full(4, -1, np.int32), np.empty(2, np.uint64), np.empty((2, n_columns), np.int32), 0
    labels = []
    for start in range(0, n, size):
        found, *table = label_more(codes[start : start + size], *table)
        labels += found.tolist()
    assert labels == whole.tolist()
    *_, firsts, n_found = table
    assert n_found == n_groups
    first = np.unique(whole, return_index=True)[1]
    assert firsts[:n_groups].tolist() == codes[first].tolist()
