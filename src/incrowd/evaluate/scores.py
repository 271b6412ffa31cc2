"""How good class probabilities are, and what many such judgements say together.

`scores` are scikit-learn's: accuracy, balanced accuracy (mean recall of the classes among the test rows), macro F1, AUC
(one class against the rest, mean of the classes that some test rows have and some have not), and log-loss.

`interval` is Student's, 95 %. Over folds it is that of Nadeau and Bengio (Machine Learning 2003), because folds share
training rows: the variance of fold means times (1/folds + test rows / training rows). With a single test set it tells
only the noise of sampling from the release.

`retention` is the share of what a classifier gains over the majority class that is left after anonymization.
`retention_interval` is Fieller's (Biometrika 1940) for such a ratio of means, with the same variances.

>>> retention(0.82, majority=0.75, original=0.85)
0.7
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from incrowd.evaluate.features import Floats, Labels

SCORES = ("accuracy", "balanced_accuracy", "f1", "auc", "log_loss")
"""Names of scores; of the last one, less is better."""

_LEVEL = 0.95


def scores(truth: Labels, found: Floats, *, calibrated: bool = True) -> dict[str, float | None]:
    """Return the scores of probabilities, [rows x classes], of rows whose classes are known.

    One that has no meaning is ``None``: AUC if all rows are of one class, log-loss if probabilities are only scores.
    """
    from sklearn import metrics  # noqa: PLC0415

    predicted = found.argmax(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes that are predicted and do not occur
        balanced = float(metrics.balanced_accuracy_score(truth, predicted))
    present = [c for c in range(found.shape[1]) if 0 < (truth == c).sum() < len(truth)]
    areas = [metrics.roc_auc_score(truth == c, found[:, c]) for c in present]
    shares = np.clip(found[np.arange(len(truth)), truth], np.finfo(np.float64).eps, 1)
    return {
        "accuracy": float((predicted == truth).mean()),
        "balanced_accuracy": balanced,
        "f1": float(metrics.f1_score(truth, predicted, average="macro", zero_division=0)),
        "auc": float(np.mean(areas)) if areas else None,
        "log_loss": float(-np.log(shares).mean()) if calibrated else None,
    }


def retention(accuracy: float, *, majority: float, original: float | None) -> float | None:
    """Return (accuracy - majority) / (original - majority); ``None`` where the original gains nothing."""
    if original is None or original <= majority:
        return None
    return round((accuracy - majority) / (original - majority), 10)


def interval(folds: Sequence[Sequence[float]], test_share: float) -> tuple[float, float] | None:
    """Return the ends of the interval of a mean; ``None`` if there is only one value.

    Parameters
    ----------
    folds
        Of each fold, the values of its samples.
    test_share
        Number of test rows per training row.
    """
    values = _units(folds)
    if len(values) < 2:
        return None
    half = float(np.sqrt(_stretch(folds, test_share) * values.var(ddof=1)))
    return float(values.mean() - half), float(values.mean() + half)


def retention_interval(
    folds: Sequence[Sequence[float]], majority: Sequence[float], original: Sequence[float], test_share: float
) -> tuple[float, float] | None:
    """Return the ends of the interval of retention, paired by fold.

    It is the set of shares r for which 0 lies in the `interval` of (accuracy - majority) - r (original - majority), all
    three of the same fold: what makes a fold easy for all of them does not widen it, and that folds share training rows
    is counted. Ends may lie below 0 and above 1. With a single test set both baselines are fixed, and it tells only the
    noise of sampling from the release.

    ``None`` if there is only one value, if the original gains nothing, or if its gain is so uncertain that 0 lies in
    the interval of that: then the set has no ends.

    Parameters
    ----------
    folds
        Of each fold, the accuracies of its samples.
    majority, original
        Of each fold, the accuracy of the baseline.
    test_share
        Number of test rows per training row.
    """
    accuracy = _units(folds)
    if len(accuracy) < 2 or np.mean(original) <= np.mean(majority):
        return None
    floor = np.broadcast_to(np.array(majority, np.float64), accuracy.shape)
    left, gain = accuracy - floor, np.broadcast_to(np.array(original, np.float64), accuracy.shape) - floor
    ratio = left.mean() / gain.mean()
    # In d = r - ratio: (d mean(gain))^2 <= stretch var(left - ratio gain - d gain).
    (spread, joint), (_, wobble) = _stretch(folds, test_share) * np.cov(left - ratio * gain, gain)
    square = gain.mean() ** 2 - wobble
    if square <= 0:
        return None
    half = np.sqrt(joint**2 + square * spread)
    return round(float(ratio - (joint + half) / square), 10), round(float(ratio - (joint - half) / square), 10)


def _units(folds: Sequence[Sequence[float]]) -> Floats:
    """Return what an interval takes as drawn: means of folds, or the samples of a single test set."""
    return np.array([np.mean(fold) for fold in folds] if len(folds) > 1 else list(folds[0]), np.float64)


def _stretch(folds: Sequence[Sequence[float]], test_share: float) -> float:
    """Return the square of half an interval, per variance of its values."""
    from scipy import stats  # noqa: PLC0415

    n, shared = (len(folds), test_share) if len(folds) > 1 else (len(folds[0]), 0.0)
    return float(stats.t.ppf((1 + _LEVEL) / 2, n - 1) ** 2 * (1 / n + shared))
