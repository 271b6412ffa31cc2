"""How good class probabilities are, and what many such judgements say together.

`scores` are scikit-learn's: accuracy, balanced accuracy (mean recall of the classes among the test rows), macro F1, AUC
(one class against the rest, mean of the classes that some test rows have and some have not), and log-loss.

`interval` is Student's, 95 %. Over folds it is that of Nadeau and Bengio (Machine Learning 2003), because folds share
training rows: the variance of fold means times (1/folds + test rows / training rows). With a single test set it tells
only the noise of sampling from the release.

`retention` is the share of what a classifier gains over the majority class that is left after anonymization.

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
    from scipy import stats  # noqa: PLC0415

    values = np.array([np.mean(fold) for fold in folds] if len(folds) > 1 else list(folds[0]), np.float64)
    if len(values) < 2:
        return None
    spread = 1 / len(values) + (test_share if len(folds) > 1 else 0.0)
    half = float(stats.t.ppf((1 + _LEVEL) / 2, len(values) - 1) * np.sqrt(values.var(ddof=1) * spread))
    return float(values.mean() - half), float(values.mean() + half)
