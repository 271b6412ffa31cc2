"""Frontiers: what is on them, what is picked, what several runs attain, and the picture."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
import naive_spea2 as naive
from incrowd import plots
from incrowd.publish.decomposition.frontier import Frontier, FrontierPoint, non_dominated

N_ROWS = 1000
runs_strategy = st.lists(
    st.lists(st.tuples(st.integers(0, 8).map(lambda a: a / 8), st.integers(1, 9)), min_size=1, max_size=8),
    min_size=1,
    max_size=6,
)


def frontier_of(runs, **more):
    rows = [(run, [["a"]], accuracy, level, None) for run, points in enumerate(runs) for accuracy, level in points]
    schema = {
        "run": pl.Int64,
        "parts": pl.List(pl.List(pl.String)),
        "accuracy": pl.Float64,
        "partial": pl.Int64,
        "set": pl.Int64,
    }
    return Frontier(pl.DataFrame(rows, schema=schema, orient="row"), n_rows=N_ROWS, **more)


def height(surfaces, name, level):
    """A staircase at a level, read as its rows are meant."""
    corners = surfaces.filter(surface=name)
    return corners.filter(pl.col("level") >= level)["accuracy"].max()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30))
def test_what_is_not_dominated_equals_the_reference(points):
    array = np.array(points, np.float64).reshape(-1, 2)
    assert np.flatnonzero(non_dominated(array)).tolist() == naive.frontier(points)


@given(runs_strategy)
def test_a_frontier_is_what_nothing_of_any_run_dominates(runs):
    frontier = frontier_of(runs)
    every = list(itertools.chain(*runs))
    assert sorted(frontier.frame.select("accuracy", "level").rows()) == sorted(every[i] for i in naive.frontier(every))
    for number, points in enumerate(runs):
        own = frontier.points.filter(run=number).select("accuracy", "level").rows()
        assert sorted(own) == sorted(points[i] for i in naive.frontier(points))
    assert frontier.frame["level"].is_sorted()
    assert frontier.frame["accuracy"].is_sorted(descending=True)


@given(runs_strategy)
def test_surfaces_are_what_so_many_runs_attain_at_each_level(runs):
    surfaces = frontier_of(runs).surfaces()
    half = next(n for n in range(1, len(runs) + 1) if 2 * n >= len(runs))
    for name, needed in (("best", 1), ("median", half), ("worst", len(runs))):
        for level in range(1, 11):
            assert height(surfaces, name, level) == naive.attained(runs, needed, level)
        corners = surfaces.filter(surface=name)
        assert corners["level"].is_sorted()
        assert all(high > low for high, low in itertools.pairwise(corners["accuracy"]))


def test_one_run_is_its_own_surface():
    frontier = frontier_of([[(0.9, 2), (0.8, 5), (0.7, 3), (0.6, 9)]])
    for name in ("best", "median", "worst"):
        corners = frontier.surfaces().filter(surface=name)
        assert corners.select("accuracy", "level").rows() == [(0.9, 2), (0.8, 5), (0.6, 9)]


def mixed():
    points = pl.DataFrame(
        {
            "run": [0, 0, 0, 0],
            "parts": [[["age", "job"], ["sex"]], [["age"], ["sex"]], [["sex"]], []],
            "accuracy": [0.9, 0.85, 0.8, 0.6],
            "partial": [3, 30, 200, None],
            "set": [4, 12, None, None],
        }
    )
    return Frontier(points, n_rows=N_ROWS)


def test_levels_are_the_lower_of_both_and_the_rows_where_there_is_none():
    assert mixed().frame["level"].to_list() == [3, 12, 200, N_ROWS]
    assert mixed().frame.columns == ["parts", "accuracy", "level", "partial", "set"]


def test_pick():
    frontier = mixed()
    assert frontier.pick(k=4) == FrontierPoint((("age",), ("sex",)), 0.85, 12, 30, 12)
    assert frontier.pick(k=12).accuracy == 0.85
    assert frontier.pick(k=13) == FrontierPoint((("sex",),), 0.8, 200, 200, None)
    assert frontier.pick(k=N_ROWS).parts == ()
    assert frontier.pick(accuracy=0.8).level == 200
    assert frontier.pick(accuracy=0.81).level == 12
    assert frontier.pick(accuracy=0).level == N_ROWS
    with pytest.raises(ic.InfeasibleError, match="the highest is 1000") as refused:
        frontier.pick(k=1001)
    assert frontier.pick(**refused.value.best).parts == ()
    with pytest.raises(ic.InfeasibleError, match=r"0\.9000") as refused:
        frontier.pick(accuracy=0.95)
    assert frontier.pick(**refused.value.best).level == 3


@pytest.mark.parametrize("asked", [{}, {"k": 3, "accuracy": 0.5}])
def test_pick_needs_one_wish(asked):
    with pytest.raises(ic.ParameterError, match="either k or accuracy"):
        mixed().pick(**asked)


def test_points_must_be_points():
    with pytest.raises(ic.ParameterError, match="no column set"):
        Frontier(mixed().points.drop("set"), n_rows=5)
    with pytest.raises(ic.ParameterError, match="no points"):
        Frontier(mixed().points.clear(), n_rows=5)
    assert repr(mixed()) == "Frontier: 4 partitions of 1 run(s), 90.0 % at 3, 60.0 % at 1000"


def test_the_input_is_not_modified():
    points = mixed().points
    before = points.clone()
    Frontier(points, n_rows=N_ROWS).surfaces()
    assert points.equals(before)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_picture_of_one_run(theme, tmp_path):
    figure = mixed().plot(title="people", theme=theme)
    axes = figure.axes[0]
    (line,) = axes.lines
    assert line.get_xdata().tolist() == [1, 3, 12, 200, N_ROWS]
    assert line.get_ydata() == pytest.approx([90, 90, 85, 80, 60])
    assert line.get_drawstyle() == "steps-pre"
    assert axes.get_xscale() == "log"
    assert axes.get_legend() is None
    plots.save(figure, tmp_path / "frontier.png")


def test_picture_of_several_runs_with_what_is_known():
    runs = [[(0.9, 2), (0.8, 50)], [(0.85, 3), (0.75, 60)], [(0.88, 2), (0.8, 40)]]
    figure = frontier_of(runs, majority=0.6, original=0.92).plot()
    axes = figure.axes[0]
    assert [line.get_label() for line in axes.lines[:3]] == ["best", "median", "worst"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["best", "median", "worst"]
    assert [line.get_ydata()[0] for line in axes.lines[3:]] == pytest.approx([92, 60])
    assert {text.get_text() for text in axes.texts} == {"original table", "most frequent class"}
    assert all(line.get_linestyle() != "-" for line in axes.lines[3:])
    assert len({line.get_linestyle() for line in axes.lines[:3]}) == 3
