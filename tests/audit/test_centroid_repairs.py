"""Which clusters people can be in, step by step, and how centroids are joined."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import incrowd as ic
from incrowd.audit import centroid_models, centroids
from incrowd.audit.inputs import Inputs


def inputs_of(rows, public):
    return Inputs(np.asarray(rows, float), np.array(public, bool), ("a",) * len(public), None, class_public=False)


def by_brute_force(centers, row, public, private_values):
    """Clusters that some combination of private values wins; of tied ones the first."""
    won = set()
    for values in private_values:
        point = np.array(row, float)
        point[~public] = values
        won.add(int(((point - centers) ** 2).sum(axis=1).argmin()))
    return won


@given(st.integers(0, 10_000), st.integers(2, 5), st.sampled_from([[1, 0], [1, 0, 0], [0, 1, 0]]), st.integers(1, 7))
def test_few_private_values_are_tried_one_by_one(seed, n_clusters, public, chunk):
    rng = np.random.default_rng(seed)
    public = np.array(public, bool)
    rows = np.column_stack([rng.normal(size=12) if known else rng.integers(0, 3, 12) for known in public])
    centers = rng.normal(size=(n_clusters, len(public))) * 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(centroids, "_CHUNK", chunk)
        box, values = centroids.reachable(centers, inputs_of(rows, public))
    grid = np.stack([one.ravel() for one in np.meshgrid(*[np.unique(column) for column in rows[:, ~public].T])], axis=1)
    for row, reached, in_box in zip(rows, values, box, strict=True):
        assert set(np.flatnonzero(reached).tolist()) == by_brute_force(centers, row, public, grid)
        assert not (reached & ~in_box).any()  # the box holds the values


@pytest.mark.parametrize(("n_first", "n_values", "n_readings"), [(16, 16, 2), (16, 17, 1), (1, 256, 2), (1, 257, 1)])
def test_many_private_values_are_not_tried(n_first, n_values, n_readings):
    places = np.arange(257)
    rows = np.column_stack([places % 5, places % n_first, places % n_values])
    centers = np.array([[0.0, 0, 0], [4, 15, 15]])
    assert len(centroids.reachable(centers, inputs_of(rows, [1, 0, 0]))) == n_readings
    found = centroids._combinations(rows[:, 1:].astype(float))
    assert (found is None) == (n_readings == 1)
    if found is not None:
        assert found.shape == (256, 2)
        assert len(np.unique(found, axis=0)) == 256


def test_without_private_columns_there_is_one_combination():
    (only,) = centroids.reachable(np.array([[0.0], [10]]), inputs_of([[1], [9], [2]], [1]))
    assert only.tolist() == [[True, False], [False, True], [True, False]]
    assert centroids._combinations(np.empty((3, 0))).shape == (1, 0)


@pytest.mark.parametrize(("n_private", "n_corners"), [(1, 2), (2, 4), (3, 8), (7, 128), (8, 128)])
def test_points_that_are_tried_are_corners_and_people(n_private, n_corners):
    private = np.random.default_rng(0).integers(1, 9, (10, n_private)).astype(float)
    private[0], private[1] = 0, 10
    points = set(map(tuple, centroids._points(private, private.min(axis=0), private.max(axis=0)).tolist()))
    corners = {point for point in points if set(point) <= {0, 10}}
    assert points - corners == set(map(tuple, private[2:].tolist()))
    assert len(corners) == n_corners + (n_private == 8)  # of more than 128 corners the first; the last is a person


@pytest.mark.parametrize(("n", "least", "most"), [(256, 256, 256), (511, 511, 511), (512, 256, 256), (2000, 256, 300)])
def test_at_most_some_people_are_tried(n, least, most):
    private = np.random.default_rng(0).normal(size=(n, 1))
    points = centroids._points(private, private.min(axis=0), private.max(axis=0))
    assert least <= len(points) <= most + 2


def test_a_cluster_is_reached_in_the_middle_of_the_box_only():
    """Neither corner is near to it, and nobody of the table is there: the linear program finds it."""
    centers = np.array([[0.0, -10], [0, 0], [0, 10]])
    rows = np.array([[0.0, -9], [0, 9], [0, 8.5]])
    box, values = centroids.reachable(centers, inputs_of(rows, [1, 0]))
    assert box.tolist() == [[True, True, True]] * 3
    assert values.tolist() == [[True, False, True]] * 3
    span_of, several = centroids.find_spans(centers, inputs_of(rows, [1, 0]))
    assert (span_of.tolist(), several.tolist()) == ([0, 0, 0], [True])


def test_a_cluster_that_the_box_does_not_reach():
    centers = np.array([[0.0, -10], [0, 0], [0, 10]])
    rows = np.array([[0.0, -9], [0, -4], [0, -6]])
    box, values = centroids.reachable(centers, inputs_of(rows, [1, 0]))
    assert box.tolist() == values.tolist() == [[True, True, False]] * 3
    at_border = centroids.reachable(centers, inputs_of([[0.0, -9], [0, 5]], [1, 0]))
    assert at_border[0].tolist() == [[True, True, True]] * 2  # a border counts as reachable
    assert at_border[1].tolist() == [[True, True, False]] * 2  # of tied ones the first, as predict says


@pytest.mark.parametrize(
    ("fixed", "slope", "expected"),
    [
        # distances less |x|^2, with x from 0 to 1: cluster 0 is fixed[0] + slope[0] x, and so on
        ([0.0, 1.0], [[0.0], [0.0]], [True, False]),
        ([0.5, 0.0], [[0.0], [1.0]], [True, True]),
        ([0.5, 0.0, 1.4], [[0.0], [1.0], [-1.0]], [True, True, True]),
        ([0.5, 0.0, -0.1], [[0.0], [1.0], [0.0]], [False, False, True]),
        ([0.6, 0.0, 1.0], [[0.0], [1.0], [-1.0]], [False, True, True]),  # lines meet at 1/2, below cluster 0
    ],
)
def test_what_the_linear_program_decides(fixed, slope, expected):
    low, high = np.zeros(1), np.ones(1)
    found = [centroids._feasible(np.array(fixed), np.array(slope), j, low, high, 1e-9) for j in range(len(fixed))]
    assert found == expected


@pytest.mark.parametrize(("too_far", "expected"), [(0.0, True), (0.0005, True), (0.002, False)])
def test_the_linear_program_counts_a_border_as_reachable(too_far, expected):
    """Two lines meet at 1/2, where cluster 0 is as near as they are, or not quite."""
    fixed, slope = np.array([0.5 + too_far, 0.0, 1.0]), np.array([[0.0], [1.0], [-1.0]])
    assert centroids._feasible(fixed, slope, 0, np.zeros(1), np.ones(1), 1e-3) is expected


@pytest.mark.parametrize("tried", [[[-7.0], [7]], [[-7.0], [0], [7]]])
@pytest.mark.parametrize(("away", "expected"), [(0.5, True), (0.75, False)])
def test_a_cluster_is_reachable_up_to_the_tolerance(away, expected, tried, monkeypatch):
    """The last one is nowhere nearer than the third, by 1/4 or more; the first two win at the corners."""
    monkeypatch.setattr(centroids, "_TOLERANCE", 0.25 / 64)  # of squared distances up to 64
    centers = np.array([[0, -8], [0, 8], [0, 0], [away, 0]], float)
    public, low, high = np.array([True, False]), np.array([-7.0]), np.array([7.0])
    if len(tried) == 3 or not expected:  # where somebody is tried, and where one beats it everywhere
        known = {2: True} if len(tried) == 2 else {}
        monkeypatch.setattr(centroids, "_feasible", lambda _, __, j, *___: known[j])
    found = centroids._in_box(np.zeros((1, 1)), centers, public, low, high, np.array(tried))
    assert found.tolist() == [[True, True, True, expected]]


@given(st.integers(0, 10_000), st.sampled_from([[1, 0], [1, 0, 0], [0, 1, 0, 0]]))
def test_of_two_clusters_the_linear_program_is_not_asked(seed, public):
    """One of them wins in the whole box, or each at some corner: the program is slow."""
    rng = np.random.default_rng(seed)
    rows, centers = rng.normal(size=(9, len(public))), rng.normal(size=(2, len(public)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(centroids, "_feasible", None)
        assert centroids.reachable(centers, inputs_of(rows, public))[0].any(axis=1).all()


def test_spans_tell_in_either_reading():
    """By values everybody has one cluster; in the box two: so they are told apart, and told about."""
    centers = np.array([[0.0, 0], [0, 10]])
    rows = [[0.0, 0], [0, 1], [100, 0], [100, 1]]
    span_of, several = centroids.find_spans(centers, inputs_of(rows, [1, 0]))
    assert (span_of.tolist(), several.tolist()) == ([0] * 4, [False])
    _, several = centroids.find_spans(np.array([[0.0, 0], [0, 2.001], [0, 1]]), inputs_of(rows, [1, 0]))
    assert several.all()


def test_a_centroid_of_few_is_joined_with_the_nearest_by_their_sizes():
    """Clusters of 3, 5, 4 and 1 people on a line, whose private value is all but the same."""
    rows = [[0.0, 0]] * 3 + [[3, 0]] * 5 + [[10, 0]] * 4 + [[30, 1]]
    centers = np.array([[0.0, 0], [3, 0], [10, 0], [30, 1]])
    inputs = inputs_of(rows, [1, 0])
    assert centroid_models.behind_centroids(centers, inputs, 1).tolist() == []
    assert centroid_models.behind_centroids(centers, inputs, 2).tolist() == [12]
    assert centroid_models.behind_centroids(centers, inputs, 4).tolist() == [0, 1, 2, 12]
    assert centroid_models.behind_centroids(centers, inputs_of(rows, [1, 1]), 4).tolist() == []
    joined, steps = centroid_models.mended(centers.copy(), inputs, 2)
    assert steps == ["join centroids 3 and 4 of 4"]
    assert joined.tolist() == [[0, 0], [3, 0], [14, 0.2]]
    assert centroid_models.mended(centers.copy(), inputs, 1)[1] == []


def test_a_centroid_that_is_not_the_mean_of_its_people_is_moved():
    """Its values may be those of one person: nobody can tell."""
    rows = [[0.0, 0], [0, 2], [0, 4], [50, 0], [50, 9]]
    centers = np.array([[0.0, 0], [50, 4.5]])
    inputs = inputs_of(rows, [1, 0])
    assert centroid_models.behind_centroids(centers, inputs, 2).tolist() == [0, 1, 2]
    moved, steps = centroid_models.mended(centers.copy(), inputs, 2)
    assert (moved.tolist(), steps) == ([[0, 2], [50, 4.5]], ["move centroids to the means of their people"])
    of_nobody = np.array([[0.0, 2], [50, 4.5], [900, 900]])
    assert centroid_models.behind_centroids(of_nobody, inputs, 2).tolist() == [0, 1, 2, 3, 4]
    assert centroid_models.mended(of_nobody, inputs, 2)[0].tolist() == [[0, 2], [50, 4.5]]


def test_joining_goes_on_until_everybody_is_hidden():
    rows = [[0.0, 0]] * 4 + [[0, 3]] * 2 + [[50, 0]] * 6 + [[50, 9]] * 3
    centers = np.array([[0.0, 0], [0, 3], [50, 0], [50, 9]])
    joined, steps = centroid_models.mended(centers, inputs_of(rows, [1, 0]), 6)
    assert steps == ["join centroids 1 and 2 of 4", "join centroids 2 and 3 of 3"]
    assert joined.round(9).tolist() == [[0, 1], [50, 3]]
    with pytest.raises(ic.InfeasibleError, match="fewer than k = 16"):
        centroid_models.mended(centers, inputs_of(rows, [1, 0]), 16)


@pytest.mark.parametrize("kind", [KMeans, MiniBatchKMeans])
def test_a_mended_model_has_its_centroids_by_how_many_people_they_had(kind):
    rows = np.array([[0.0, 0]] * 6 + [[0, 6]] * 2 + [[50, 0]] * 9 + [[50, 9]] * 3, np.float32)
    model = kind(4, n_init=1, random_state=0, init=np.unique(rows, axis=0)).fit(rows)
    frame = pl.DataFrame({"a": rows[:, 0], "b": rows[:, 1]})
    roles = ic.Schema(quasi={"a": ic.Intervals()}, other=["b"])
    report = ic.audit(model, frame, roles, 8)
    assert report.model == f"{kind.__name__} of 4 centroids"
    assert set(range(8)) <= set(report.at_risk.tolist())
    mended = report.repair()
    assert mended.cluster_centers_.round(4).tolist() == [[0, 1.5], [50, 2.25]]
    assert mended.cluster_centers_.dtype == model.cluster_centers_.dtype == np.float32
    assert mended.get_params()["n_clusters"] == 2
    assert model.cluster_centers_.shape == (4, 2)
    assert mended.predict(rows).tolist() == [0] * 8 + [1] * 12


def test_a_pipeline_of_centroids_stays_one():
    rows = np.array([[0.0, 0]] * 6 + [[0, 6]] * 2 + [[50, 0]] * 9 + [[50, 9]] * 3)
    frame = pl.DataFrame({"a": rows[:, 0], "b": rows[:, 1]})
    model = make_pipeline(StandardScaler(), KMeans(4, n_init=1, random_state=0)).fit(frame.to_pandas())
    mended = ic.audit(model, frame.to_pandas(), ic.Schema(quasi={"a": ic.Intervals()}, other=["b"]), 8).repair()
    assert [name for name, _ in mended.steps] == ["standardscaler", "kmeans"]
    assert (len(mended[-1].cluster_centers_), len(model[-1].cluster_centers_)) == (2, 4)


@given(st.integers(0, 10_000))
def test_a_border_counts_as_reachable_however_large_the_numbers(seed):
    """The private values end in the middle of two centroids, as exactly as numbers of that size can."""
    one, other = np.sort(np.random.default_rng(seed).normal(size=2)) * 1e6
    centers = np.array([[0.0, one], [0.0, other]])
    box = centroids.reachable(centers, inputs_of([[0.0, one], [0.0, (one + other) / 2]], [1, 0]))[0]
    assert box.all()
    short = centroids.reachable(centers, inputs_of([[0.0, one], [0.0, one + (other - one) * 0.49]], [1, 0]))[0]
    assert short.tolist() == [[True, False]] * 2
