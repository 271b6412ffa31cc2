"""What a classifier is, and how an estimator of scikit-learn's kind becomes one."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from incrowd.errors import IncompatibleError, ParameterError
from incrowd.evaluate.features import Examples, Features, Floats


@dataclass(frozen=True)
class Classifier:
    """A learner.

    Attributes
    ----------
    name
        By which people call it.
    predict
        Takes examples, other rows and a seed; returns probabilities, [rows x classes].
    calibrated
        Whether they are meant as probabilities, so that log-loss has a meaning.
    estimator
        Makes a scikit-learn estimator of n examples and a seed, for those who train it themselves: projections. That of
        ``naive_bayes`` is DMPD's inducer of this name, in which numbers are intervals.
    require
        Raises an error where it cannot run.
    sharpen
        Which classes it is best trained on: see `RowRelease.training`. Naive Bayes adds up evidence, and is too sure of
        itself when every row has the most frequent class. Chosen on folds of the NSVDist paper's tables (seed 11) among
        1, 2, 4 and infinity.
    draws
        How often each row is drawn, where that makes at most 30 000 rows. Support vectors see a cell as the points that
        are drawn from it. Chosen on folds of seven tables of the NSVDist paper (seed 11, three folds) between 1 and 3:
        `svc` keeps 0.88 of its gain with 3 and 0.86 with 1, `libsvm` 0.82 and 0.80, and on Page Blocks, where cells are
        wide, 0.65 and 0.53, 0.34 and 0.20. Ten draws gained no more (Ecoli, Yeast). Trees do not need them.
    """

    name: str
    predict: Callable[[Examples, Features, int], Floats]
    calibrated: bool = True
    estimator: Callable[[int, int], Any] | None = None
    require: Callable[[], object] | None = None
    sharpen: float = math.inf
    draws: int = 1


def brought(model: Any, taken: Sequence[str]) -> Classifier:  # noqa: ANN401
    """Return an estimator that somebody brought as a classifier; it is cloned for every training.

    An estimator learns from the numbers that our classifiers see, a pipeline from the rows as a frame, so that its own
    steps can code them. One without probabilities is judged by its margins or its predictions, and has no log-loss.

    Parameters
    ----------
    taken
        Names that others have.
    """
    from sklearn.pipeline import Pipeline  # noqa: PLC0415

    if isinstance(model, type) or not hasattr(model, "predict") or not hasattr(model, "get_params"):
        fact = f"The classifier {getattr(model, '__name__', type(model).__name__)} is no estimator that predicts"
        raise ParameterError(fact, "give an unfitted estimator, such as GaussianNB(), or a name")
    whole = isinstance(model, Pipeline)
    name = f"pipeline of {type(model[-1]).__name__}" if whole else type(model).__name__
    same = sum(each == name or each.startswith(f"{name} ") for each in taken)
    name = f"{name} {same + 1}" if same else name
    has_shares = hasattr(model, "predict_proba")
    return Classifier(
        name,
        lambda train, test, seed: _trained(name, model, train, test, seed),
        calibrated=has_shares,
        estimator=None if whole else lambda _n_rows, seed: _fresh(model, seed),
    )


def spread(found: Floats, present: Any, n_classes: int) -> Floats:  # noqa: ANN401
    """Give classes without an example the probability 0."""
    out = np.zeros((len(found), n_classes))
    out[:, present] = found
    return out


def _fresh(model: Any, seed: int) -> Any:  # noqa: ANN401
    """Return an unfitted copy that gives the same with the same seed."""
    from sklearn.base import clone  # noqa: PLC0415

    copy = clone(model)
    open_seeds = [name for name, value in copy.get_params().items() if value is None and _is_seed(name)]
    return copy.set_params(**dict.fromkeys(open_seeds, seed))


def _is_seed(name: str) -> bool:
    return name == "random_state" or name.endswith("__random_state")


def _trained(name: str, model: Any, train: Examples, test: Features, seed: int) -> Floats:  # noqa: ANN401
    present, labels = np.unique(train.labels, return_inverse=True)
    if len(present) == 1:
        return np.tile(train.shares(), (test.n_rows, 1))
    learn, ask = _seen(name, model, train.features, test)
    copy = _fresh(model, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence: what was reached is judged by its predictions
        try:
            copy.fit(learn, labels, **_weights(name, copy, train.weights))
            found = _shares(copy, ask, len(present))
        except (TypeError, ValueError) as error:  # whose text may quote a cell
            fact = f"The classifier '{name}' cannot be trained on this table: {type(error).__name__}"
            hint = (
                "a pipeline gets the rows as they are: begin it with steps that code names and fill in what is missing"
            )
            raise ParameterError(fact, hint if hasattr(model, "steps") else "try it on the numbers by itself") from None
    return spread(found, present, train.n_classes)


def _seen(name: str, model: Any, learn: Features, ask: Features) -> tuple[Any, Any]:  # noqa: ANN401
    if not hasattr(model, "steps"):
        return learn.X, ask.X
    if learn.frame is None or ask.frame is None:
        fact = f"The classifier '{name}' takes rows, and soft or generalized cells are none"
        raise IncompatibleError(fact, "use training='recommended' or 'samples' with raw test rows")
    return learn.frame, ask.frame


def _weights(name: str, copy: Any, weights: Floats | None) -> dict[str, Floats]:  # noqa: ANN401
    from sklearn.utils.validation import has_fit_parameter  # noqa: PLC0415

    if weights is None:
        return {}
    last = copy.steps[-1][1] if hasattr(copy, "steps") else copy
    if not has_fit_parameter(last, "sample_weight"):
        fact = f"The classifier '{name}' takes no weights of rows"
        raise IncompatibleError(fact, "use training='recommended' or 'samples'")
    return {f"{copy.steps[-1][0]}__sample_weight" if hasattr(copy, "steps") else "sample_weight": weights}


def _shares(copy: Any, ask: Any, n_classes: int) -> Floats:  # noqa: ANN401
    """Return probabilities, or what stands for them, of which the largest is that of the predicted class."""
    predicted = np.asarray(copy.predict(ask)).astype(np.int64)
    found = np.eye(n_classes)[predicted]
    if hasattr(copy, "predict_proba"):
        found = np.array(copy.predict_proba(ask), np.float64)
    elif hasattr(copy, "decision_function"):
        margins = np.asarray(copy.decision_function(ask), np.float64)
        margins = np.column_stack([-margins, margins]) if margins.ndim == 1 else margins
        found = softmax(margins, axis=1) if margins.shape[1] == n_classes else found  # else they are of pairs
    rows, first = np.arange(len(found)), found.argmax(axis=1)  # another class: by a threshold that was tuned, say
    found[rows, predicted], found[rows, first] = found[rows, first], found[rows, predicted]
    return found
