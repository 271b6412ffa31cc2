"""What classifiers keep, as far as everybody may know it: accuracies are counts of people, told in steps of k."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incrowd.evaluate import Evaluation
from incrowd.report.rates import Rate, Rating
from incrowd.report.summary import ClassifierLine, Usefulness

_FINEST = 0.001  # of accuracies: retention is a ratio of small differences of them
_NAMES = {"tree": "decision tree", "naive_bayes": "naive Bayes", "logistic": "logistic regression",
          "boosting": "boosted trees", "forest": "random forest", "svc": "support vectors"}  # fmt: skip
_PUBLIC_RETENTION_STEP = 0.01


def usefulness_of(found: Evaluation, rating: Rating, *, test_given: bool) -> Usefulness:
    """Return retention and accuracies of each classifier."""
    about = found.about
    tested = about["rows"]["test"] + (0 if about["folds"] == 1 else about["rows"]["train"])
    if not rating.exact and tested < rating.k:
        return Usefulness(f"Not told: fewer than {rating.k} people were tested.")
    lines = tuple(_line(row, rating, tested) for row in found.frame.to_dicts())
    if test_given:
        how = (
            "Classifiers were trained on this release, and tested on rows of other people. Interval: 95% of the noise "
        )
        how += "of drawing training rows from the release, on these test rows only."
    else:
        how = (
            f"The table was cut into {about['folds']} parts. Each part in turn was the test: the same method published "
            "the others, and classifiers were trained on that. Interval: 95% of the noise of such a measurement."
        )
    notes = tuple(found.notes) if rating.exact else _public_notes(tested, rating)
    return Usefulness("", how, lines, notes)


def _public_notes(tested: int, rating: Rating) -> tuple[str, ...]:
    step = rating.step(tested, finest=_FINEST)
    return (f"Accuracies are rounded to steps of {step:.1%}, so that none tells about fewer than {rating.k} people.",)


def _line(row: Mapping[str, Any], rating: Rating, tested: int) -> ClassifierLine:
    step = rating.step(tested, finest=_FINEST)
    accuracy, majority, original = (_accuracy(row[name], step, rating) for name in ("accuracy", "majority", "original"))
    gain = (original.share or 0.0) - (majority.share or 0.0)
    coarse = step > 0 and gain < 2 * step  # then rounding is all that one would see
    retention_step = 0.0 if rating.exact else max(_PUBLIC_RETENTION_STEP, 0.0 if coarse else 2 * step / gain)
    kept, low, high = (
        None if coarse and not rating.exact else row[name] for name in ("retention", "retention_low", "retention_high")
    )
    return ClassifierLine(
        name=_NAMES.get(row["classifier"], str(row["classifier"])),
        retention=rating.value(kept, retention_step),
        low=None if low is None else rating.value(low, retention_step),
        high=None if high is None else rating.value(high, retention_step),
        accuracy=accuracy,
        majority=majority,
        original=original,
    )


def _accuracy(share: float | None, step: float, rating: Rating) -> Rate:
    return Rate(None, step, "not measured") if share is None else rating.value(share, step)
