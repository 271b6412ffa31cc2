"""Classifiers by name: each learns from examples and gives class probabilities for other rows.

=============  =======================================================================================================
majority       the shares of the classes, whatever the row
tree           scikit-learn's decision tree by entropy; a leaf has 1/200 of the rows, at least 2, at most 25
naive_bayes    normal densities for numbers, Laplace-corrected shares for names; takes fractions of values
logistic       logistic regression, numbers standardized
svc            support vectors as LibSVM finds them, RBF kernel, numbers standardized; time grows with rows squared
libsvm         the same in the settings of Last et al. 2014, section 5.2: numbers as they are, gamma = 1/columns
boosting       gradient-boosted trees over histograms
forest         100 trees, leaves as in ``tree``
j48            Weka's C4.5, as in section 5.2 (and as everything below: needs the extra ``weka``, and Java)
jrip           Weka's RIPPER
nb             Weka's naive Bayes with kernel densities
smo            Weka's support vectors, RBF kernel, gamma = 1/attributes
=============  =======================================================================================================

Section 5.2 has C = 0 and gamma = 0 for support vectors. These are defaults of RapidMiner, which replaces C by
rows / sum of K(x, x), 1 for this kernel; gamma is 1/columns, LibSVM's own. The margins of ``svc`` and ``libsvm`` become
scores that sum to 1: their order within a row is right, their size is not a probability, so they have no
log-loss.

>>> import polars as pl
>>> train = pl.DataFrame({"job": ["a", "a", "b", "b"], "income": ["low", "low", "low", "high"]})
>>> probabilities("naive_bayes", train, pl.DataFrame({"job": ["b"]}), "income").round(2).tolist()
[[0.36, 0.64]]
"""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import softmax

from incrowd.coding import code_classes
from incrowd.errors import ParameterError
from incrowd.evaluate.features import Encoding, Examples, Features, Floats
from incrowd.evaluate.support_vectors import margins

_NOISE = 1e-10  # of sums such as expected values, as a share of the number
_SHARPENED = 4.0
_MANY_ROWS = 100_000  # below, threads that wait for each other on a busy machine cost far more than they gain


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
    """

    name: str
    predict: Callable[[Examples, Features, int], Floats]
    calibrated: bool = True
    estimator: Callable[[int, int], Any] | None = None
    require: Callable[[], object] | None = None
    sharpen: float = math.inf


def classifier(name: str) -> Classifier:
    """Return the classifier of this name."""
    asked = str(name).lower().replace("-", "_")
    if asked not in CLASSIFIERS:
        close = difflib.get_close_matches(asked, CLASSIFIERS)
        fact = f"There is no classifier {name!r}"
        guess = f"did you mean {' or '.join(close)}? The classifiers are " if close else "use one of "
        raise ParameterError(fact, guess + ", ".join(CLASSIFIERS))
    return CLASSIFIERS[asked]


def chosen(names: str | Iterable[str]) -> list[Classifier]:
    """Return classifiers that can run here, each once; a text may hold several with commas."""
    try:
        listed = names.split(",") if isinstance(names, str) else list(names)
    except TypeError:
        fact = f"classifiers is a {type(names).__name__}"
        raise ParameterError(fact, f"name them: {', '.join(CLASSIFIERS)}") from None
    found = {known.name: known for known in (classifier(str(name).strip()) for name in listed)}
    if not found:
        fact = "No classifier was named"
        raise ParameterError(fact, f"use some of {', '.join(CLASSIFIERS)}")
    for known in found.values():
        if known.require is not None:
            known.require()
    return list(found.values())


def probabilities(
    name: str,
    train: pl.DataFrame,
    test: pl.DataFrame,
    target: str,
    *,
    weights: Floats | None = None,
    seed: int = 0,
) -> Floats:
    """Train a classifier on one frame and return probabilities for the rows of another.

    Columns of the result are the distinct values of `target` in order.
    """
    labels, classes = code_classes(train[target])
    assert labels is not None
    features = train.drop(target)
    encoding = Encoding.of(features)
    examples = Examples(encoding.encode(features), labels.astype(np.int64), len(classes), weights)
    return classifier(name).predict(examples, encoding.encode(test), seed)


def _majority(train: Examples, test: Features, seed: int) -> Floats:
    del seed
    return np.tile(train.shares(), (test.n_rows, 1))


def _naive_bayes(train: Examples, test: Features, seed: int) -> Floats:
    """Sum the logarithms of independent attributes; a fraction of a value counts as that much of an occurrence."""
    from sklearn.naive_bayes import GaussianNB, MultinomialNB  # noqa: PLC0415

    del seed
    present, labels = np.unique(train.labels, return_inverse=True)
    shares = train.shares()[present]
    scores = np.tile(np.log(shares), (test.n_rows, 1))
    learn, ask = _standardized(train, test)
    numbers = train.features.is_number() & learn.any(axis=0)  # a constant says nothing
    if numbers.any():
        model = GaussianNB(priors=shares).fit(learn[:, numbers], labels, train.weights)
        scores += model.predict_joint_log_proba(ask[:, numbers]) - np.log(shares)
    start = 0
    for block in train.features.blocks:
        part, start = slice(start, start + block.width), start + block.width
        if block.is_number and block.width == 1:
            continue
        seen, asked = learn[:, part], ask[:, part]
        if block.is_number:  # whether it is missing, as a name of two values
            seen, asked = (np.column_stack([1 - X[:, 1], X[:, 1]]) for X in (seen, asked))
        names = MultinomialNB(alpha=1.0, fit_prior=False).fit(seen, labels, train.weights)
        scores += asked @ names.feature_log_prob_.T
    return _spread(softmax(scores, axis=1), present, train.n_classes)


def _sklearn(make: Callable[[int, int], Any], *, scaled: bool = False) -> Callable[[Examples, Features, int], Floats]:
    """Return the function that trains one of scikit-learn's classifiers."""

    def predict(train: Examples, test: Features, seed: int) -> Floats:
        present, labels = np.unique(train.labels, return_inverse=True)
        if len(present) == 1 or train.features.X.shape[1] == 0:
            return _majority(train, test, seed)
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # noqa: PLC0415

        learn, ask = _standardized(train, test) if scaled else (train.features.X, test.X)
        model = make(len(labels), seed)
        with warnings.catch_warnings(), threadpool_limits(1 if len(labels) < _MANY_ROWS else None):
            warnings.simplefilter("ignore")  # of convergence: what was reached is judged by its predictions
            model.fit(learn, labels, sample_weight=train.weights)
            return _spread(model.predict_proba(ask), present, train.n_classes)

    return predict


def _svc(train: Examples, test: Features, seed: int) -> Floats:
    del seed
    learn, ask = _standardized(train, test)
    spread = learn.shape[1] * learn.var()
    return _support_vectors(train, learn, ask, gamma=1 / spread if spread > 0 else 1.0)


def _libsvm(train: Examples, test: Features, seed: int) -> Floats:
    del seed
    return _support_vectors(train, train.features.X, test.X, gamma=1 / max(1, test.X.shape[1]))


def _support_vectors(train: Examples, learn: Floats, ask: Floats, *, gamma: float) -> Floats:
    present, labels = np.unique(train.labels, return_inverse=True)
    if len(present) == 1 or learn.shape[1] == 0:
        return np.tile(train.shares(), (len(ask), 1))
    found = margins(learn, labels, ask, gamma=gamma, weights=train.weights)
    return _spread(softmax(found, axis=1), present, train.n_classes)


def _weka(name: str) -> Callable[[Examples, Features, int], Floats]:
    def predict(train: Examples, test: Features, seed: int) -> Floats:
        from incrowd.evaluate.weka import predict as ask  # noqa: PLC0415

        if len(np.unique(train.labels)) == 1 or not train.features.blocks:
            return _majority(train, test, seed)
        return ask(name, train, test)  # the papers' seeds are among its options

    return predict


def _require_weka() -> None:
    from incrowd.evaluate.weka import require  # noqa: PLC0415

    require()


def _standardized(train: Examples, test: Features) -> tuple[Floats, Floats]:
    """Give numbers mean 0 and deviation 1 in the training rows, or 0 throughout to a constant; names stay."""
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    numbers = train.features.is_number()
    learn, ask = train.features.X.copy(), test.X.copy()
    constant = numbers & (np.ptp(learn, axis=0) <= _NOISE * np.abs(learn).max(axis=0))
    learn[:, constant] = ask[:, constant] = 0
    numbers &= ~constant
    if numbers.any():
        scaler = StandardScaler().fit(learn[:, numbers], sample_weight=train.weights)
        learn[:, numbers], ask[:, numbers] = scaler.transform(learn[:, numbers]), scaler.transform(ask[:, numbers])
    return learn, ask


def _spread(found: Floats, present: Any, n_classes: int) -> Floats:  # noqa: ANN401
    """Give classes without an example the probability 0."""
    out = np.zeros((len(found), n_classes))
    out[:, present] = found
    return out


def _prior(_n_rows: int, _seed: int) -> Any:  # noqa: ANN401
    from sklearn.dummy import DummyClassifier  # noqa: PLC0415

    return DummyClassifier(strategy="prior")


def _names_only(_n_rows: int, _seed: int) -> Any:  # noqa: ANN401
    from incrowd.learn.naive_bayes import NaiveBayes  # noqa: PLC0415

    return NaiveBayes()


def _least(n_rows: int) -> int:
    return int(np.clip(n_rows // 200, 2, 25))


def _tree(n_rows: int, seed: int) -> Any:  # noqa: ANN401
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415

    return DecisionTreeClassifier(criterion="entropy", min_samples_leaf=_least(n_rows), random_state=seed)


def _forest(n_rows: int, seed: int) -> Any:  # noqa: ANN401
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415

    return RandomForestClassifier(100, min_samples_leaf=_least(n_rows), random_state=seed)


def _boosting(_n_rows: int, seed: int) -> Any:  # noqa: ANN401
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415

    return HistGradientBoostingClassifier(early_stopping=False, random_state=seed)  # which needs two rows of a class


def _logistic(_n_rows: int, seed: int) -> Any:  # noqa: ANN401
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    return LogisticRegression(max_iter=1000, random_state=seed)


CLASSIFIERS: dict[str, Classifier] = {
    known.name: known
    for known in (
        Classifier("majority", _majority, estimator=_prior),
        Classifier("tree", _sklearn(_tree), estimator=_tree),
        Classifier("naive_bayes", _naive_bayes, estimator=_names_only, sharpen=_SHARPENED),
        Classifier("logistic", _sklearn(_logistic, scaled=True), estimator=_logistic),
        Classifier("svc", _svc, calibrated=False),
        Classifier("libsvm", _libsvm, calibrated=False),
        Classifier("boosting", _sklearn(_boosting), estimator=_boosting),
        Classifier("forest", _sklearn(_forest), estimator=_forest),
        Classifier("j48", _weka("j48"), require=_require_weka),
        Classifier("jrip", _weka("jrip"), require=_require_weka),
        Classifier("nb", _weka("nb"), require=_require_weka, sharpen=_SHARPENED),
        Classifier("smo", _weka("smo"), calibrated=False, require=_require_weka),
    )
}
