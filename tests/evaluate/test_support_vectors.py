"""Support vectors beside LibSVM's own, by way of scikit-learn, and beside the conditions that an optimum must meet."""

import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from incrowd.evaluate.classifiers import probabilities
from incrowd.evaluate.features import Encoding, names_as_numbers
from incrowd.evaluate.support_vectors import margins
from incrowd.kernels.support_vectors import rbf, solve

TOLERANCE = 1e-3


def table(n, n_columns, n_classes, seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, n_columns)) * 3, 1)  # with equal rows among few columns
    labels = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    X[:, 0] += labels
    return X, labels


def solved(X, signs, most, gamma, n_kept):
    columns = np.ascontiguousarray(X.T, np.float32)
    return solve(columns, signs, most, gamma, TOLERANCE, np.empty((n_kept, len(X)), np.float32))


@given(st.integers(2, 60), st.integers(1, 4), st.floats(0.01, 3), st.floats(0.05, 50), st.integers(0, 10**6))
def test_no_pair_of_rows_breaks_optimality(n, n_columns, gamma, most, seed):
    X, labels = table(n, n_columns, 2, seed)
    signs, limits = np.where(labels == 0, 1.0, -1.0), most * (1 + labels % 2)
    found = solved(X, signs, limits, gamma, n)
    coefficients = found[:-1]
    assert coefficients.sum() == pytest.approx(0, abs=1e-9 * n * most)
    assert (coefficients * signs >= 0).all()
    assert (np.abs(coefficients) <= limits).all()
    kernel = np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    errors = signs - kernel @ coefficients
    rises = coefficients < np.maximum(0, signs * limits)
    falls = coefficients > np.minimum(0, signs * limits)
    rising, falling = errors[rises].max(), errors[falls].min()
    slack = 1e-5 * most * n  # of single numbers
    assert rising - falling < TOLERANCE + slack
    assert min(rising, falling) - slack <= found[-1] <= max(rising, falling) + slack


@given(st.integers(2, 6), st.integers(3, 40), st.integers(0, 10**6))
def test_what_is_kept_of_the_kernel_changes_nothing(n_kept, n, seed):
    X, labels = table(n, 2, 2, seed)
    signs = np.where(labels == 0, 1.0, -1.0)
    whole = solved(X, signs, np.ones(n), 0.5, n)
    np.testing.assert_array_equal(solved(X, signs, np.ones(n), 0.5, min(n_kept, n)), whole)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_margins_are_those_of_libsvm(n_classes, weighted):
    for seed in range(5):
        X, labels = table(300, 4, n_classes, seed)
        asked, _ = table(200, 4, n_classes, seed + 100)
        weights = np.random.default_rng(seed).integers(0, 4, 300).astype(float) if weighted else None
        model = SVC(C=2.0, gamma=0.3, tol=1e-6, decision_function_shape="ovr").fit(X, labels, weights)
        expected = model.decision_function(asked)
        if n_classes == 2:
            expected = np.column_stack([-expected, expected])
        found = margins(X, labels, asked, gamma=0.3, C=2.0, weights=weights)
        assert (found.argmax(axis=1) == expected.argmax(axis=1)).mean() >= 0.99
        close = np.abs(found - expected) < 0.01  # a vote changes sides only where a margin is next to nothing
        assert close.mean() >= 0.99


def test_scikit_learn_settles_ties_by_the_same_margins():
    X, labels = table(200, 3, 5, 1)
    asked, _ = table(500, 3, 5, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SVC(gamma=0.5, tol=1e-6, break_ties=True).fit(X, labels)
    agreed = model.predict(asked) == margins(X, labels, asked, gamma=0.5).argmax(axis=1)
    assert agreed.mean() >= 0.995


def test_far_rows_have_no_kernel_and_equal_ones_1():
    columns = np.array([[0.0, 1.0, 1e6]], np.float32)
    np.testing.assert_allclose(rbf(columns, columns.T.copy(), 1.0)[0], [1, np.exp(-1), 0], rtol=1e-6)


def test_a_class_whose_rows_weigh_nothing_gets_no_vote():
    X, labels = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 2])
    found = margins(X, labels, np.array([[3.0]]), gamma=1.0, weights=np.array([1.0, 1.0, 1.0, 0.0]))
    assert found.argmax() != 2


def test_names_that_are_missing_or_new_have_numbers():
    train = pl.DataFrame({"town": ["b", None, "d"], "age": [1.0, None, 3.0]})
    test = pl.DataFrame({"town": ["c", None], "age": [2.0, 2.0]})
    encoding = Encoding.of(train)
    learn, ask = names_as_numbers(encoding.encode(train), encoding.encode(test))
    assert learn.tolist() == [[0, 1, 0], [-1, 2, 1], [2, 3, 0]]
    assert ask.tolist() == [[1, 2, 0], [-1, 2, 0]]


def test_many_classes_and_numbers_far_from_0():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(60), 4)
    frame = pl.DataFrame({"x": 1e9 + 3.0 * labels + rng.random(240) / 10, "c": [f"{c:02}" for c in labels]})
    found = probabilities("libsvm", frame, frame.drop("c"), "c")
    assert (found.argmax(axis=1) == labels).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
