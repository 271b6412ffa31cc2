from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import naive
from incrowd.kernels.groups import count_by_group, label_groups
from incrowd.kernels.jit import kernel

EXTREMES = st.sampled_from([-(2**31), -1, 0, 1, 2, 2**31 - 1])
TABLES = hnp.arrays(np.int32, hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=12), elements=EXTREMES)


def assert_labels(codes):
    labels, n_groups = label_groups(codes)
    expected, n_expected = naive.label_groups(codes)
    assert labels.dtype == np.int64
    assert labels.tolist() == expected
    assert n_groups == n_expected


@settings(deadline=None)
@given(TABLES, st.sampled_from("CF"))
def test_labels_equal_naive(codes, order):
    assert_labels(np.asarray(codes, order=order))


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (1, 3), (5, 0)])
def test_labels_of_empty_and_single(shape):
    assert_labels(np.zeros(shape, np.int32))


def test_labels_of_strided_and_read_only():
    codes = np.arange(60, dtype=np.int32).reshape(10, 6) % 7 // 3
    assert_labels(codes[::2, ::3])
    codes.flags.writeable = False
    assert_labels(codes)


def test_labels_when_the_table_grows():
    rng = np.random.default_rng(0)
    distinct = np.stack(np.unravel_index(np.arange(9_000), (30, 300)), axis=1).astype(np.int32)
    assert_labels(np.asfortranarray(distinct[rng.integers(0, len(distinct), 20_000)]))


def test_labels_of_many_wide_columns_do_not_overflow():
    codes = np.zeros((4, 40), np.int32)
    codes[:, 0] = [0, 2**31 - 1, 0, -(2**31)]
    codes[:, 39] = [2**31 - 1, 0, 2**31 - 1, 0]
    assert label_groups(codes)[0].tolist() == [0, 1, 0, 2]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=30))
def test_counts_equal_naive(pairs):
    labels, values = [p[0] for p in pairs], [p[1] for p in pairs]
    counts = count_by_group(np.array(labels, np.int64), np.array(values, np.int32), 4, 5)
    assert counts.tolist() == naive.count_by_group(labels, values, 4, 5)


@pytest.mark.parametrize(("label", "value"), [(-1, 0), (2, 0), (0, -1), (0, 3)])
def test_counts_refuse_what_is_out_of_range(label, value):
    with pytest.raises(IndexError):
        count_by_group(np.array([0, label], np.int64), np.array([0, value], np.int32), 2, 3)


def test_counts_refuse_different_lengths():
    with pytest.raises(IndexError):
        count_by_group(np.zeros(2, np.int64), np.zeros(3, np.int32), 1, 1)


def test_kernel_without_a_place_for_the_cache():
    scope = {}
    exec("def add(a, b):\n    return a + b", scope)  # a function without a file cannot be cached
    assert kernel(scope["add"])(2, 3) == 5


TINY = """
import warnings
warnings.simplefilter("error")
import numpy as np, naive
from incrowd.kernels.groups import count_by_group, label_groups
for order in "CF":
    codes = np.asarray(np.random.default_rng(1).integers(-2, 3, (60, 3)), np.int32, order=order)
    labels, n = label_groups(codes)
    assert (labels.tolist(), n) == naive.label_groups(codes)
many = np.arange(1_200, dtype=np.int32).reshape(-1, 1) % 700
labels, n = label_groups(many)
assert (labels.tolist(), n) == naive.label_groups(many)
values = many[:, 0] % 5
assert count_by_group(labels, values, n, 5).tolist() == naive.count_by_group(labels, values, n, 5)
"""


@pytest.mark.parametrize("switch", ["NUMBA_DISABLE_JIT", pytest.param("NUMBA_BOUNDSCHECK", marks=pytest.mark.slow)])
def test_kernels_interpreted_and_with_checked_bounds(switch, tmp_path):
    # The on-disk cache does not tell checked code from unchecked: each needs its own.
    here = str(Path(naive.__file__).parent)
    env = os.environ | {switch: "1", "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": here}
    done = subprocess.run([sys.executable, "-c", TINY], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
