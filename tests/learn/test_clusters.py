"""Clusters that keep k, beside a spanning tree from scipy and spans by trying many private values."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist
from sklearn.utils.estimator_checks import check_estimator

import incrowd as ic
from incrowd.learn.clusters import KAnonymousClusters, _tree
from incrowd.learn.regions import combinations, reachable, readings


def drawn_points(seed, n, d):
    return np.random.default_rng(seed).normal(size=(n, d)).round(2)


@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 4))
def test_the_tree_is_a_minimum_spanning_tree(seed, n, d):
    points = np.unique(drawn_points(seed, n, d), axis=0)  # scipy takes a distance of 0 for no edge
    parent, order = _tree(points)
    assert sorted(order) == list(range(len(points)))
    joined = order[1:]
    ours = np.sqrt(((points[joined] - points[parent[joined]]) ** 2).sum(axis=1)).sum()
    assert ours == pytest.approx(minimum_spanning_tree(cdist(points, points)).sum())


@given(st.integers(0, 10_000), st.integers(2, 5), st.sampled_from([[1, 0], [0, 1], [1, 0, 0], [1, 1, 0], [1, 1]]))
def test_reachable_clusters_are_those_that_some_private_value_wins(seed, n_clusters, public):
    public = np.array(public, bool)
    points, centers = drawn_points(seed, 10, len(public)), drawn_points(seed + 1, n_clusters, len(public))
    low, high = points[:, ~public].min(axis=0), points[:, ~public].max(axis=0)
    found = reachable(points[:, public], low, high, centers, public)
    axes = [np.linspace(a, b, 61) for a, b in zip(low, high, strict=True)]
    grid = np.stack([g.ravel() for g in np.meshgrid(*axes)], axis=1) if axes else np.empty((1, 0))
    for point, reached in zip(points, found, strict=True):
        tried = np.repeat(point[None], len(grid), axis=0)
        tried[:, ~public] = grid
        distances = ((tried[:, None] - centers) ** 2).sum(axis=2)
        won = np.zeros(n_clusters, bool)
        won[distances.argmin(axis=1)] = True
        assert not (won & ~reached).any()
        assert ((distances - distances.min(axis=1, keepdims=True)).min(axis=0)[reached] < 0.25).all()


@given(st.integers(0, 10_000), st.integers(3, 20), st.integers(1, 6), st.sampled_from([[0], [1], [0, 1], [0, 2], []]))
def test_no_model_is_flagged_by_the_audit(seed, n, k, public):
    points = drawn_points(seed, n, 3)
    names = ["a", "b", "c"]
    k = min(k, n)
    model = KAnonymousClusters(k=k, public=public, min_people=1).fit(points)
    frame = pl.DataFrame(dict(zip(names, points.T, strict=True)))
    known = [names[i] for i in public]
    frame = frame.with_columns(nobody=pl.lit(0))
    schema = ic.Schema(
        quasi=dict.fromkeys([*known, "nobody"], ic.Intervals()), other=[name for name in names if name not in known]
    )
    model.feature_names_in_ = np.array(names, object)
    report = ic.audit(model, frame, schema, k)
    assert len(report.breaches) == 0
    assert report.ok == (k == 1)  # with min_people=1 a centroid may be one person
    assert report.level == model.spans_.level
    assert sorted(report.people) == sorted(model.spans_.people)
    assert ic.audit(KAnonymousClusters(k=k, public=public).fit(frame.select(names)), frame, schema, k).ok


@given(st.integers(0, 10_000), st.integers(8, 20), st.integers(2, 5))
def test_the_result_is_that_of_the_plain_algorithm(seed, n, k):
    """Section 5.2 in a few lines: all edges from the longest, every span looked at by trying private values."""
    points = drawn_points(seed, n, 2)
    public = np.array([True, False])
    parent, order = _tree(points)
    edges = sorted(order[1:], key=lambda i: -((points[i] - points[parent[i]]) ** 2).sum())
    low, high = points[:, 1].min(), points[:, 1].max()

    def parts(deleted):
        label = np.zeros(n, int)
        for point in order:
            label[point] = point if point in deleted or point == order[0] else label[parent[point]]
        first = [order[0], *deleted]
        return np.array([points[label == root].mean(axis=0) for root in first])

    values = combinations(points[:, 1:])

    def holds(centers):
        box, tried = readings(points[:, :1], np.array([low]), np.array([high]), values, centers, public)
        spans = [(tuple(a), tuple(b)) for a, b in zip(box, tried, strict=True)]
        return all(sum(span[0]) == 1 or spans.count(span) >= k for span in spans)

    deleted, cut = [], True
    while cut:
        cut = False
        for edge in edges:
            if edge not in deleted and (points[edge] != points[parent[edge]]).any() and holds(parts([*deleted, edge])):
                deleted.append(edge)
                cut = True
    found = KAnonymousClusters(k=k, public=[0], min_people=1).fit(points).cluster_centers_
    expected = parts(deleted)
    assert len(found) == len(expected)
    assert np.allclose(np.sort(found, axis=0), np.sort(expected, axis=0))


FIGURE_5 = np.array([[20, 3], [21, 5], [22, 3], [50, 10], [51, 4], [52, 2], [51.5, 1]])  # A ... G


def test_figure_5():
    """Age is public, the result private: first ABC | DEFG, then D | EFG, whose four people stay in one span."""
    two = KAnonymousClusters(k=3, public=[0], n_clusters=2).fit(FIGURE_5)
    assert two.labels_.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert set(two.spans_.classes) == {frozenset({0}), frozenset({1})}
    three = KAnonymousClusters(k=3, public=[0], n_clusters=3, min_people=1).fit(FIGURE_5)
    assert len(set(three.labels_[[0, 1, 2]])) == 1
    assert three.labels_[3] not in three.labels_[[0, 1, 2, 4, 5, 6]]
    spans = {
        frozenset(np.flatnonzero(three.spans_.span_of == s)): len(classes)
        for s, classes in enumerate(three.spans_.classes)
    }
    assert spans == {frozenset({0, 1, 2}): 1, frozenset({3, 4, 5, 6}): 2}


@pytest.mark.parametrize("shift", [1e5, 1e7, -3e8])
@pytest.mark.parametrize("min_people", [None, 1])
def test_where_the_origin_is_does_not_matter(shift, min_people):
    rows = [[0, 1], [1, 2], [2, 1], [30, 9], [31, 2], [32, 3], [31, 1], [60, 5], [61, 4], [62, 7]]
    points = np.array(rows, float)
    here = KAnonymousClusters(k=3, public=[0], min_people=min_people).fit(points)
    there = KAnonymousClusters(k=3, public=[0], min_people=min_people).fit(points + np.array([shift, -shift / 4]))
    assert len(here.cluster_centers_) == len(there.cluster_centers_) > 1
    assert here.labels_.tolist() == there.labels_.tolist()
    assert here.spans_.people.tolist() == there.spans_.people.tolist()


@given(st.integers(0, 10_000), st.integers(2, 5))
def test_private_flags_are_tried_as_flags(seed, k):
    """Two private columns of 0 and 1: spans by trying the four combinations, as `predict` answers them."""
    rng = np.random.default_rng(seed)
    points = np.column_stack([rng.integers(0, 12, 24), rng.integers(0, 2, 24) * 6, rng.integers(0, 2, 24) * 5]).astype(
        float
    )
    model = KAnonymousClusters(k=k, public=[0], min_people=1).fit(points)
    spans = []
    for age in points[:, 0]:
        tried = np.array([[age, b, c] for b in np.unique(points[:, 1]) for c in np.unique(points[:, 2])])
        spans.append(frozenset(model.predict(tried).tolist()))
    assert all(len(span) == 1 or spans.count(span) >= k for span in spans)


@given(st.integers(0, 10_000), st.integers(2, 6), st.sampled_from(["all", [0]]))
def test_every_centroid_is_the_mean_of_k_people(seed, k, public):
    points = np.random.default_rng(seed).integers(0, 6, (40, 2)).astype(float)
    model = KAnonymousClusters(k=k, public=public).fit(points)
    assert len(model.cluster_centers_) <= 40 // k


def test_a_file_holds_nothing_by_row():
    model = KAnonymousClusters(k=3, public=[0]).fit(FIGURE_5)
    copied = pickle.loads(pickle.dumps(model))
    assert copied.predict(FIGURE_5).tolist() == model.labels_.tolist()
    assert not any(
        len(np.atleast_1d(value)) == len(FIGURE_5) for value in vars(copied).values() if isinstance(value, np.ndarray)
    )
    with pytest.raises(AttributeError, match="read from a file"):
        copied.spans_  # noqa: B018


def test_check_estimator():
    results = check_estimator(KAnonymousClusters(), on_skip=None)
    assert sum(result["status"] == "passed" for result in results) >= 40
    assert all(result["status"] in ("passed", "skipped") for result in results)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_and_names(make):
    frame = make({"age": FIGURE_5[:, 0], "result": FIGURE_5[:, 1]})
    model = KAnonymousClusters(k=3, public=["age"], n_clusters=2).fit(frame)
    assert model.predict(frame).tolist() == model.labels_.tolist()


def test_clear_errors():
    with pytest.raises(ic.InfeasibleError, match="k is 8"):
        KAnonymousClusters(k=8, public=[0]).fit(FIGURE_5)
    with pytest.raises(ic.ParameterError, match="public names the column 'height'"):
        KAnonymousClusters(k=2, public=["height"]).fit(FIGURE_5)
    for wrong in ({"k": 0}, {"k": 1.5}, {"n_clusters": -1}, {"max_tries": True}, {"public": "age"}):
        with pytest.raises(ic.ParameterError):
            KAnonymousClusters(**wrong).fit(FIGURE_5)
