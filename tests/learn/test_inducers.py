"""DMPD's inducers: C4.5 and naive Bayes equal plain ones, with weights or without."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.naive_bayes import CategoricalNB

import incrowd as ic
import naive_c45
from incrowd.learn.c45 import C45
from incrowd.learn.naive_bayes import NaiveBayes
from incrowd.publish.decomposition.wrapper_fitness import WrapperFitness

ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 2), st.integers(1, 4)), min_size=2, max_size=25
)


def tables(rows):
    """A column of names, one of ranks; classes that all occur; weights."""
    X = np.array([[-1 - name, rank] for name, rank, _, _ in rows], float)
    y = np.unique([c for _, _, c, _ in rows], return_inverse=True)[1]
    return X, y, np.array([w for _, _, _, w in rows])


@given(ROWS, st.integers(1, 4), st.sampled_from([None, 0.25, 0.05]))
def test_c45_is_the_plain_one(rows, least, confidence):
    X, y, weights = tables(rows)
    model = C45(least, confidence).fit(X, y, weights)
    names = [((-1 - int(a), int(b)), int(c), int(w)) for (a, b), c, w in zip(X, y, weights, strict=True)]
    node = naive_c45.grow(names, [False, True], least)
    if confidence is not None:
        node, _ = naive_c45.prune(node, confidence)
    asked = np.array([[-1 - name, rank] for name in range(5) for rank in range(7)], float)  # name 4 is not known
    n_classes = len(model.classes_)
    wanted = [naive_c45.shares(node, (-1 - int(a), int(b)), [False, True], n_classes) for a, b in asked]
    assert model.predict_proba(asked) == pytest.approx(np.array(wanted))


@given(ROWS)
def test_weights_are_so_many_rows(rows):
    X, y, weights = tables(rows)
    asked = np.array([[-1 - name, rank] for name in range(5) for rank in range(7)], float)
    one = C45().fit(X, y, weights).predict_proba(asked)
    assert (one == C45().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).predict_proba(asked)).all()
    codes, plain = np.abs(X), np.abs(np.repeat(X, weights, axis=0))
    bayes = NaiveBayes().fit(codes, y, weights).predict_proba(codes)
    assert bayes == pytest.approx(NaiveBayes().fit(plain, np.repeat(y, weights)).predict_proba(codes))


@given(ROWS)
def test_naive_bayes_is_scikit_learns(rows):
    X, y, _ = tables(rows)
    codes = np.column_stack([np.unique(column, return_inverse=True)[1] for column in X.T])
    known = CategoricalNB(alpha=1.0).fit(codes, y)
    ours = NaiveBayes().fit(codes, y)
    assert ours.predict_proba(codes) == pytest.approx(known.predict_proba(codes))
    assert (ours.predict(codes) == ours.classes_[ours.predict_proba(codes).argmax(axis=1)]).all()
    unknown = ours.predict_proba(np.full((1, 2), -1))[0]
    assert unknown == pytest.approx(np.bincount(y) / len(y))


def people(n=90, seed=1):
    rng = np.random.default_rng(seed)
    job, age = rng.integers(0, 4, n), rng.integers(18, 70, n)
    y = np.where((job == 2) | (age > 50), "high", "low")
    y[:9] = "low"
    ages = [None if i % 11 == 0 else int(a) for i, a in enumerate(age)]
    return pl.DataFrame({"job": [f"j{code}" for code in job], "age": ages, "noise": rng.normal(size=n).round(1)}), y


@pytest.mark.parametrize("inducer", [C45(), C45(confidence=None), NaiveBayes()])
def test_in_a_partition(inducer):
    frame, y = people()
    model = ic.PartitionClassifier([["job"], ["age", "noise"]], inducer=inducer).fit(frame, y)
    assert (model.predict(frame) == y).mean() > 0.8
    strange = frame[:2].with_columns(
        pl.lit("?").alias("job"), pl.lit(None, pl.Int64).alias("age"), pl.lit(99.0).alias("noise")
    )
    assert np.isfinite(model.predict_log_proba(strange)).all()
    fast, slow = (WrapperFitness(frame, y, inducer=inducer, n_folds=3, reuse=reuse) for reuse in (True, False))
    for parts in [(), ((0,),), ((0, 1),), ((0,), (1, 2)), ((0, 1, 2),), ((2,),)]:
        assert fast(parts) == slow(parts)


def test_naive_bayes_does_not_care_for_parts():
    frame, y = people()
    fitness = WrapperFitness(frame, y, inducer=NaiveBayes())
    assert fitness(((0, 1, 2),)) == fitness(((0,), (1,), (2,))) == fitness(((0, 2), (1,)))


def test_a_threshold_is_between_the_values_it_parts():
    frame, y = pl.DataFrame({"age": [10, 20, 30, 40] * 5}), np.array(["a", "a", "b", "b"] * 5)
    model = ic.PartitionClassifier(inducer=C45()).fit(frame, y)
    assert model.predict(pl.DataFrame({"age": [-5, 19, 20, 21, 35, 99]})).tolist() == ["a", "a", "a", "b", "b", "b"]
