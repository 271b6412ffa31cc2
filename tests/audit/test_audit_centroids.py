"""Audits of centroids, beside spans found by trying many private values."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import BisectingKMeans, KMeans

import incrowd as ic
from incrowd.audit.centroids import reachable
from incrowd.audit.inputs import Inputs

NAMES = ["a", "b", "c"]


def inputs_of(rows, public):
    return Inputs(np.asarray(rows, float), np.array(public), ("a",) * len(public), None, class_public=False)


@given(st.integers(0, 10_000), st.integers(2, 6), st.sampled_from([[1, 0], [0, 1], [1, 0, 0], [1, 1, 0], [0, 0, 1]]))
def test_reachable_clusters_are_those_that_some_private_value_wins(seed, n_clusters, public):
    rng = np.random.default_rng(seed)
    public = np.array(public, bool)
    rows = rng.normal(size=(12, len(public))).round(2)
    centers = rng.normal(size=(n_clusters, len(public)))
    found = reachable(centers, inputs_of(rows, public))[0]
    low, high = rows.min(axis=0), rows.max(axis=0)
    grid = np.stack(np.meshgrid(*[np.linspace(a, b, 41) for a, b in zip(low[~public], high[~public], strict=True)]))
    grid = grid.reshape((~public).sum(), -1).T
    for row, reached in zip(rows, found, strict=True):
        points = np.repeat(row[None], len(grid), axis=0)
        points[:, ~public] = grid
        distances = ((points[:, None] - centers) ** 2).sum(axis=2)
        tried = np.zeros(n_clusters, bool)
        tried[distances.argmin(axis=1)] = True
        assert not (tried & ~reached).any()  # what a grid finds is found
        margin = (distances - distances.min(axis=1, keepdims=True)).min(axis=0)
        assert (margin[reached] < 0.35).all()  # and what is found is all but won on the grid


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(1, 12))
def test_joined_centroids_are_safe(seed, n_clusters, k):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({name: rng.normal(size=30).round(1) for name in NAMES})
    schema = ic.Schema(quasi={"a": ic.Intervals()}, other=["b", "c"])
    model = KMeans(n_clusters, n_init=1, random_state=0).fit(frame.to_numpy())
    report = ic.audit(model, frame, schema, k)
    mended = report.repair()
    assert ic.audit(mended, frame, schema, k).ok
    assert len(mended.predict(frame.to_numpy())) == 30
    n_joined = sum(step.startswith("join") for step in report.repairs)
    assert len(mended.cluster_centers_) == n_clusters - n_joined


def test_lisa_is_found_and_mended():
    """Friedman et al. 2008, Table 5 and Fig. 3: Lisa is the only one who may be in the third or the fourth cluster."""
    frame = pl.DataFrame({"zip": [275.0, 275, 325.25, 325.25, 359.6, 375.3], "income": [98.0, 62, 36, 115, 44, 100]})
    model = KMeans(4, n_init=1, random_state=0).fit(frame.to_numpy()[[0, 2, 3, 5]])
    model.cluster_centers_ = np.array([[275, 80], [342.5, 110], [355, 40], [397.5, 105]], float)
    del model.labels_  # of the four people that stood in for the centroids
    report = ic.audit(model, frame, ic.Schema(quasi={"zip": ic.Intervals()}, other=["income"]), 2)
    assert report.span_of.tolist().count(report.span_of[5]) == 1
    assert report.breaches.tolist() == [report.span_of[5]]
    assert report.at_risk.tolist() == [2, 3, 4, 5]  # the others stand behind centroids that are not their means
    assert sorted(report.people.tolist()) == [1, 2, 3]
    assert ic.audit(report.repair(), frame, ic.Schema(quasi={"zip": ic.Intervals()}, other=["income"]), 2).ok


@pytest.mark.parametrize("shift", [1e5, 1e7])
def test_where_the_origin_is_does_not_matter(shift):
    rng = np.random.default_rng(1)
    ages, pay = np.repeat(np.arange(20.0, 50), 2), rng.integers(0, 30, 60).astype(float)
    schema = ic.Schema(quasi={"age": ic.Intervals()}, other=["pay"])
    levels = []
    for offset in (0.0, shift):
        frame = pl.DataFrame({"age": ages + offset, "pay": pay + offset})
        model = KMeans(4, n_init=1, random_state=0).fit(frame.to_numpy() - offset)
        model.cluster_centers_ = model.cluster_centers_ + offset
        report = ic.audit(model, frame, schema, 3)
        levels.append((report.ok, sorted(report.people.tolist())))
    assert levels[0] == levels[1]


def test_a_model_that_is_not_the_nearest_centroid_is_refused():
    frame = pl.DataFrame({"a": np.arange(20.0), "b": np.arange(20.0) % 7})
    model = BisectingKMeans(3, random_state=0).fit(frame.to_numpy())
    with pytest.raises(ic.IncompatibleError, match="BisectingKMeans"):
        ic.audit(model, frame, ic.Schema(quasi={"a": ic.Intervals()}, other=["b"]), 2)


def test_the_mended_model_holds_nothing_by_row():
    frame = pl.DataFrame({"a": np.arange(30.0), "b": np.arange(30.0) * 7 % 11})
    model = KMeans(6, n_init=1, random_state=0).fit(frame.to_numpy())
    report = ic.audit(model, frame, ic.Schema(quasi={"a": ic.Intervals()}, other=["b"]), 8)
    assert not report.ok
    assert not hasattr(report.repair(), "labels_")


def test_all_public_centroids_tell_nothing():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40)})
    model = KMeans(5, n_init=1, random_state=0).fit(frame.to_numpy())
    del model.labels_
    report = ic.audit(model, frame, ic.Schema(quasi={"a": ic.Intervals(), "b": ic.Intervals()}), 20)
    assert report.ok
    assert report.level is None


@pytest.mark.parametrize("n_private", [2, 3])
def test_a_cluster_between_others_needs_the_linear_program(n_private):
    """Neither beaten by one other centroid alone nor won at a corner: decided by the program."""
    centers = np.vstack([np.eye(n_private) * 4, -np.eye(n_private) * 4, np.zeros((1, n_private))])
    centers = np.column_stack([np.zeros(len(centers)), centers])
    rows = np.vstack([np.full((1, n_private), 3.0), np.full((1, n_private), -3.0)])
    found = reachable(centers, inputs_of(np.column_stack([np.zeros(2), rows]), [True] + [False] * n_private))
    assert found[0].all()
