"""Classifiers by name: each learns from examples and gives class probabilities for other rows.

=============  =======================================================================================================
majority       the shares of the classes, whatever the row
tree           scikit-learn's decision tree by entropy; a leaf has 1/200 of the rows, at least 2, at most 25
naive_bayes    normal densities for numbers, Laplace-corrected shares for names; takes fractions of values
logistic       logistic regression, numbers standardized
svc            support vectors as LibSVM finds them, RBF kernel, numbers standardized; time grows with rows squared
libsvm         the same in the settings of Last et al. 2014, section 5.2: numbers as they are, gamma = 1/columns
boosting       gradient-boosted trees over histograms, small ones where there are few rows
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
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from scipy.special import softmax

from incrowd.coding import code_classes
from incrowd.errors import ParameterError
from incrowd.evaluate.features import Encoding, Examples, Features, Floats
from incrowd.evaluate.learner import Classifier, brought, spread
from incrowd.evaluate.support_vectors import margins

_NOISE = 1e-10  # of sums such as expected values, as a share of the number
_SHARPENED = 4.0
_DRAWS = 3
_SMALL = 10_000  # rows; below, boosting is cautious
_MANY_CELLS = 5_000_000  # of the matrix; below, no time is gained
_MOST_WORK = 1_000_000_000  # numbers that logistic regression looks at: some five seconds
_MANY_ROWS = 100_000  # below, threads that wait for each other on a busy machine cost far more than they gain


def classifier(name: str) -> Classifier:
    """Return the classifier of this name."""
    asked = str(name).lower().replace("-", "_")
    if asked not in CLASSIFIERS:
        close = difflib.get_close_matches(asked, CLASSIFIERS)
        fact = f"There is no classifier {name!r}"
        guess = f"did you mean {' or '.join(close)}? The classifiers are " if close else "use one of "
        raise ParameterError(fact, guess + ", ".join(CLASSIFIERS))
    return CLASSIFIERS[asked]


def chosen(given: Any) -> list[Classifier]:  # noqa: ANN401
    """Return classifiers that can run here, each once: names (a text may hold several with commas) and estimators."""
    one = isinstance(given, str) or hasattr(given, "fit")
    try:
        listed = ([given] if hasattr(given, "fit") else given.split(",")) if one else list(given)
    except TypeError:
        fact = f"classifiers is a {type(given).__name__}"
        raise ParameterError(fact, f"name them: {', '.join(CLASSIFIERS)}; or give estimators") from None
    found: dict[str, Classifier] = {}
    for each in listed:
        known = brought(each, list(found)) if hasattr(each, "fit") else classifier(str(each).strip())
        found[known.name] = known
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
    return spread(softmax(scores, axis=1), present, train.n_classes)


def _sklearn(make: Callable[[int, int], Any], *, scaled: bool = False) -> Callable[[Examples, Features, int], Floats]:
    """Return the function that trains one of scikit-learn's classifiers."""

    def predict(train: Examples, test: Features, seed: int) -> Floats:
        present, labels = np.unique(train.labels, return_inverse=True)
        if len(present) == 1 or train.features.X.shape[1] == 0:
            return _majority(train, test, seed)
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # noqa: PLC0415

        learn, ask = _standardized(train, test) if scaled else (train.features.X, test.X)
        model = make(len(labels), seed)
        if hasattr(model, "max_iter") and hasattr(model, "C"):
            learn, ask = _sparse(model, learn, ask, len(present))
        with warnings.catch_warnings(), threadpool_limits(1 if len(labels) < _MANY_ROWS else None):
            warnings.simplefilter("ignore")  # of convergence: what was reached is judged by its predictions
            model.fit(learn, labels, sample_weight=train.weights)
            return spread(model.predict_proba(ask), present, train.n_classes)

    return predict


def _sparse(model: Any, learn: Floats, ask: Floats, n_classes: int) -> tuple[Any, Any]:  # noqa: ANN401
    """Return large tables of names as sparse ones, and limit the steps of a model that would take minutes."""
    if learn.size < _MANY_CELLS:
        return learn, ask
    from scipy.sparse import csr_array  # noqa: PLC0415

    known = np.count_nonzero(learn)
    model.set_params(max_iter=int(np.clip(_MOST_WORK // (known * n_classes), 30, model.max_iter)))
    return (csr_array(learn), csr_array(ask)) if known < learn.size / 2 else (learn, ask)


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
    return spread(softmax(found, axis=1), present, train.n_classes)


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


def _boosting(n_rows: int, seed: int) -> Any:  # noqa: ANN401
    """Return boosted trees; on small tables cautious ones, as scikit-learn's own defaults learn the rows by heart.

    Chosen on folds of six tables of the NSVDist paper (seed 3): abalone, breast_cancer, cmc, ecoli, mammographic and
    page_blocks. Steps are regularized everywhere: with a class of two rows they grow without end (nursery). Early
    stopping needs two rows of each class.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415

    own: dict[str, Any] = {"l2_regularization": 1.0}
    if n_rows < _SMALL:
        own = {"l2_regularization": 5.0, "max_depth": 3, "max_features": 0.3}
        own["min_samples_leaf"] = int(np.clip(n_rows // 100, 2, 20))
    return HistGradientBoostingClassifier(early_stopping=False, random_state=seed, **own)


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
        Classifier("svc", _svc, calibrated=False, draws=_DRAWS),
        Classifier("libsvm", _libsvm, calibrated=False, draws=_DRAWS),
        Classifier("boosting", _sklearn(_boosting), estimator=_boosting),
        Classifier("forest", _sklearn(_forest), estimator=_forest),
        Classifier("j48", _weka("j48"), require=_require_weka),
        Classifier("jrip", _weka("jrip"), require=_require_weka),
        Classifier("nb", _weka("nb"), require=_require_weka, sharpen=_SHARPENED),
        Classifier("smo", _weka("smo"), calibrated=False, require=_require_weka, draws=_DRAWS),
    )
}
