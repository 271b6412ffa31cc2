"""The pattern of the population: how sensitive values go with quasi-identifiers, learned from beliefs about people.

Naive Bayes serves as prior; a forest, each person by the trees that did not see them, is the harder baseline.
"""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from incrowd.attacks.scene import Floats
from incrowd.hierarchy.hierarchy import Codes

_SMOOTHING = 5.0
_TEMPER = 0.6  # quasi-identifiers depend on each other: each counts less than naive Bayes would have it
_DOUBT = 0.1  # share of the plain prior
_TREES, _LEAF = 60, 5


def expect(codes: Codes, believed: Floats, asked: Codes | None = None) -> Floats:
    """Return the belief in each value by the pattern of the others alone.

    Parameters
    ----------
    codes, believed
        People and what is believed about them, [people x quasi] and [people x values].
    asked
        Other people to tell about; without them, each of the same people by all others.
    """
    own = believed if asked is None else np.zeros((len(asked), believed.shape[1]))
    at = codes if asked is None else asked
    total = believed.sum(axis=0)
    prior = np.maximum(total - own, 1e-9)
    logs = np.log(prior)
    for m in range(codes.shape[1]):
        n_leaves = int(max(codes[:, m].max(), at[:, m].max())) + 1
        counts = np.zeros((n_leaves, believed.shape[1]))
        np.add.at(counts, codes[:, m], believed)
        share = counts.sum(axis=1, keepdims=True) / len(codes) + 1e-9
        there = counts[at[:, m]] - own + _SMOOTHING * share[at[:, m]]
        logs += _TEMPER * np.log(np.maximum(there, 1e-12) / (prior + _SMOOTHING))
    odds = np.exp(logs - logs.max(axis=1, keepdims=True))
    by_pattern = odds / odds.sum(axis=1, keepdims=True)
    return np.asarray((1 - _DOUBT) * by_pattern + _DOUBT * total / total.sum())


def expect_by_forest(codes: Codes, believed: Floats, rng: np.random.Generator) -> Floats:
    """Return the belief in each value by a forest that was grown on others, [people x values]."""
    up_to = np.cumsum(believed, axis=1)
    drawn = (up_to < rng.random(len(codes))[:, None] * up_to[:, -1:]).sum(axis=1)
    found = np.zeros(believed.shape)
    forest = RandomForestClassifier(
        _TREES, min_samples_leaf=_LEAF, oob_score=False, random_state=int(rng.integers(2**31))
    ).fit(codes, drawn)
    for tree, seen in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        others = np.ones(len(codes), np.bool_)
        others[seen] = False
        if others.any():
            found[np.ix_(others, forest.classes_)] += tree.predict_proba(codes[others])
    total = found.sum(axis=1, keepdims=True)
    prior = believed.sum(axis=0) / believed.sum()
    return np.asarray(np.where(total > 0, found / np.maximum(total, 1e-12), prior))
