import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

from incrowd.evaluate.scores import interval, retention, retention_interval, scores


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_scores_are_those_of_scikit_learn(n_classes, seed):
    rng = np.random.default_rng(seed)
    truth = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 40)])
    found = rng.dirichlet(np.ones(n_classes), len(truth))
    mine, predicted = scores(truth, found), found.argmax(axis=1)
    assert mine["accuracy"] == pytest.approx(metrics.accuracy_score(truth, predicted))
    assert mine["balanced_accuracy"] == pytest.approx(metrics.balanced_accuracy_score(truth, predicted))
    assert mine["f1"] == pytest.approx(metrics.f1_score(truth, predicted, average="macro", zero_division=0))
    binary = n_classes == 2
    area = metrics.roc_auc_score(truth, found[:, 1] if binary else found, multi_class="raise" if binary else "ovr")
    assert mine["auc"] == pytest.approx(area)
    assert mine["log_loss"] == pytest.approx(metrics.log_loss(truth, found, labels=np.arange(n_classes)))


def test_what_has_no_meaning_is_none():
    found = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]])
    assert scores(np.array([0, 0]), found)["auc"] is None
    assert scores(np.array([0, 1]), found, calibrated=False)["log_loss"] is None
    wrong = scores(np.array([2, 2]), found)  # a class that no example had
    assert wrong["accuracy"] == 0
    assert np.isfinite(wrong["log_loss"])


def test_retention_is_the_share_of_the_gain_that_is_left():
    assert retention(0.85, majority=0.75, original=0.85) == 1
    assert retention(0.75, majority=0.75, original=0.85) == 0
    assert retention(0.80, majority=0.75, original=0.85) == pytest.approx(0.5)
    assert retention(0.70, majority=0.75, original=0.85) == pytest.approx(-0.5)
    assert retention(0.80, majority=0.75, original=0.75) is None
    assert retention(0.80, majority=0.75, original=None) is None


def test_interval_of_one_test_set_is_students():
    values = [0.7, 0.72, 0.75, 0.71]
    low, high = interval([values], 0.5)
    expected = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert (low, high) == pytest.approx(expected)
    assert interval([[0.7]], 0.5) is None


def test_interval_of_folds_counts_what_they_share():
    folds = [[0.7, 0.8], [0.72, 0.74], [0.9, 0.7]]
    means = np.array([0.75, 0.73, 0.8])
    half = stats.t.ppf(0.975, 2) * np.sqrt(means.var(ddof=1) * (1 / 3 + 1 / 2))
    assert interval(folds, 1 / 2) == pytest.approx((means.mean() - half, means.mean() + half))


ACCURACY, MAJORITY, ORIGINAL = (
    [[0.8, 0.82], [0.75, 0.77], [0.7, 0.74], [0.79]],
    [0.6, 0.55, 0.5, 0.58],
    [0.9, 0.8, 0.8, 0.85],
)


def test_retention_lies_in_its_interval_where_what_is_left_of_the_gain_does():
    low, high = retention_interval(ACCURACY, MAJORITY, ORIGINAL, 1 / 3)
    left = np.array([np.mean(fold) for fold in ACCURACY]) - MAJORITY
    gain = np.array(ORIGINAL) - MAJORITY
    assert low < left.mean() / gain.mean() < high
    for end in (low, high):  # Fieller: an end is a share that the folds just do not refuse
        ends = interval([[value] for value in left - end * gain], 1 / 3)
        assert min(np.abs(ends)) == pytest.approx(0, abs=1e-9)


def test_retention_is_paired_by_fold():
    ease = np.array([0.2, -0.1, 0.0, 0.15])  # what makes a fold easy for everybody
    moved = [[value + more for value in fold] for fold, more in zip(ACCURACY, ease, strict=True)]
    paired = retention_interval(moved, MAJORITY + ease, ORIGINAL + ease, 1 / 3)
    assert paired == pytest.approx(retention_interval(ACCURACY, MAJORITY, ORIGINAL, 1 / 3))
    assert retention_interval([[o] for o in ORIGINAL], MAJORITY, ORIGINAL, 1 / 3) == (1, 1)
    alone = retention_interval(ACCURACY, MAJORITY, ORIGINAL, 0)
    assert np.ptp(alone) < np.ptp(retention_interval(ACCURACY, MAJORITY, ORIGINAL, 1 / 3))


def test_retention_of_one_test_set_is_the_interval_of_its_samples():
    values = [0.7, 0.72, 0.75, 0.71]
    expected = (np.array(interval([values], 0.5)) - 0.6) / (0.8 - 0.6)
    assert retention_interval([values], [0.6], [0.8], 0.5) == pytest.approx(tuple(expected))


def test_retention_has_no_interval_without_a_gain():
    assert retention_interval([[0.7]], [0.6], [0.8], 0.5) is None
    assert retention_interval([[0.7, 0.8]], [0.6], [0.6], 0.5) is None
    assert retention_interval([[0.7], [0.71]], [0.5, 0.7], [0.8, 0.71], 1) is None  # a gain that may well be none


def test_the_interval_of_retention_covers_the_truth():
    rng = np.random.default_rng(0)
    n, inside = 400, 0
    for _ in range(n):
        majority, gain = 0.5 + rng.normal(0, 0.05, 10), 0.3 + rng.normal(0, 0.05, 10)
        accuracy = majority + 0.7 * gain + rng.normal(0, 0.03, 10)
        low, high = retention_interval([[a] for a in accuracy], majority, majority + gain, 0)
        inside += low <= 0.7 <= high
    assert 0.92 < inside / n < 0.98
