"""Figures: themes, lines, files; and a clear word when matplotlib is not there."""

import io
import pickle
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd import plots

POINTS = pl.DataFrame({"k": [1, 2, 3] * 2, "loss": [1.0, 2.0, float("inf"), 3.0, 2.0, 1.0], "of": list("bbbaaa")})


def luminance(colour):
    from matplotlib.colors import to_rgb

    linear = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in to_rgb(colour)]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def dash(line):
    return str(line._unscaled_dash_pattern)  # get_linestyle tells "--" of all that have no name


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_written_can_be_read(theme):
    drawn = plots.figure(2, title="above", theme=theme)
    axes = drawn.axes[1]
    plots.lines(axes, POINTS, "k", "loss", "of", title="a panel")
    written = [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.get_legend().get_texts(), *axes.get_xticklabels()]
    for text in [*written, *drawn.texts]:
        assert contrast(text.get_color(), drawn.get_facecolor()) > 7
    for line in axes.lines:
        assert contrast(line.get_color(), axes.get_facecolor()) > 2
    assert len(drawn.axes) == 2


def test_panels_in_rows_with_one_legend_that_fits_below():
    drawn = plots.figure(5, width=2, height=2, columns=3, theme="dark")
    assert len(drawn.axes) == 5
    assert tuple(drawn.get_size_inches()) == (6, 4)
    for axes in drawn.axes[1:]:
        plots.lines(axes, POINTS, "k", "loss", "of")
    plots.one_legend(drawn)
    assert all(axes.get_legend() is None for axes in drawn.axes)
    (legend,) = drawn.legends
    assert [text.get_text() for text in legend.get_texts()] == ["b", "a"]
    assert contrast(legend.get_texts()[0].get_color(), drawn.get_facecolor()) > 7


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_differ_and_so_do_markers_and_dashes(theme):
    n = 40
    many = pl.DataFrame({"x": [0, 1] * n, "y": range(2 * n), "of": [f"line {i // 2}" for i in range(2 * n)]})
    drawn = plots.figure(theme=theme)
    plots.lines(drawn.axes[0], many, "x", "y", "of")
    lines = drawn.axes[0].lines
    assert len(set(plots.PALETTE[theme])) == 8
    assert [line.get_color() for line in lines[:8]] == list(plots.PALETTE[theme])
    assert len({(line.get_marker(), dash(line)) for line in lines}) == n
    assert len({dash(line) for line in lines[:5]}) == 5


def test_long_lines_without_markers_differ_by_dash_from_each_other_and_from_lines_of_reference():
    drawn, n = plots.figure(), 50
    long = pl.DataFrame({"x": [*range(n)] * 5, "y": range(5 * n), "of": [f"line {i // n}" for i in range(5 * n)]})
    plots.lines(drawn.axes[0], long, "x", "y", "of")
    for look in ("--", ":"):
        drawn.axes[0].axhline(1, linestyle=look)
    lines = drawn.axes[0].lines
    assert {line.get_marker() for line in lines[:5]} == {""}
    assert len({dash(line) for line in lines}) == 7
    legend = drawn.axes[0].get_legend()
    for line in lines:
        assert sum(line._dash_pattern[1] or [0]) < legend.handlelength * legend._fontsize  # the whole pattern is seen


def test_lines_are_in_order_of_appearance_and_break_at_what_is_not_finite():
    axes = plots.figure().axes[0]
    plots.lines(axes, POINTS, "k", "loss", "of", labels=("across", "up"), log_x=True)
    assert [line.get_label() for line in axes.lines] == ["b", "a"]
    assert np.isfinite(axes.lines[0].get_ydata()).tolist() == [True, True, False]
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_xscale()) == ("across", "up", "log")
    assert axes.get_ylim()[1] < 4
    plots.lines(axes, POINTS, "k", "loss")
    assert len(axes.lines) == 3


def test_files_are_what_their_names_say_and_repeat(tmp_path):
    for name in ("one.svg", "two.SVG", "one.png", "two.PNG"):
        drawn = plots.figure()
        plots.lines(drawn.axes[0], POINTS, "k", "loss", "of")
        plots.save(drawn, tmp_path / name)
    assert ET.parse(tmp_path / "one.svg").getroot().tag.endswith("svg")
    assert (tmp_path / "one.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.SVG").read_bytes()
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.PNG").read_bytes()
    with pytest.raises(ic.ParameterError, match=r"cannot be written as .*\.jpg"):
        plots.save(drawn, tmp_path / "one.jpg")
    with pytest.raises(ic.InputError, match="there is no folder"):
        plots.save(drawn, tmp_path / "nowhere" / "one.svg")
    assert len(list(tmp_path.iterdir())) == 4


def test_a_file_can_be_refused_before_there_is_a_figure(tmp_path, monkeypatch):
    plots.check_file(tmp_path / "one.svg")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ic.ParameterError, match=r"cannot be written as .*\.pdf"):
        plots.check_file(tmp_path / "one.pdf")
    with pytest.raises(ic.InputError, match="there is no folder"):
        plots.check_file(tmp_path / "nowhere" / "one.svg")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ic.MissingDependencyError, match="report"):
        plots.check_file(tmp_path / "one.svg")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_notebooks_show_figures_at_their_size(theme):
    from matplotlib.figure import Figure
    from matplotlib.image import imread

    drawn = plots.figure(width=3, height=2, theme=theme)
    plots.lines(drawn.axes[0], POINTS, "k", "loss", "of")
    shown = imread(io.BytesIO(drawn._repr_png_()))
    assert shown.shape[:2] == (2 * drawn.dpi, 3 * drawn.dpi)
    assert shown[0, 0] == pytest.approx(drawn.get_facecolor(), abs=0.01)
    assert isinstance(drawn, Figure)
    assert type(drawn) is plots.Figure
    assert pickle.loads(pickle.dumps(drawn))._repr_png_() == drawn._repr_png_()
    with pytest.raises(AttributeError, match="no attribute 'Figures'"):
        plots.Figures  # noqa: B018


def test_unknown_themes_are_refused():
    with pytest.raises(ic.ParameterError, match="theme is 'sepia'"):
        plots.figure(theme="sepia")


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ic.MissingDependencyError, match=r"pip install 'incrowd\[report\]'"):
        plots.figure()


def test_nothing_is_loaded_or_kept_before_something_is_drawn():
    code = (
        "import sys, incrowd as ic; ic.plot_levels; from incrowd import plots; assert 'matplotlib' not in sys.modules; "
        "plots.figure(); assert 'matplotlib.pyplot' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_intervals_are_shades_and_panels_can_share_a_scale():
    drawn = plots.figure(2)
    points = pl.DataFrame({"k": [1, 2, 1, 2], "y": [1, 3, 2, 4], "of": list("aabb")})
    ends = points.with_columns(low=pl.col("y") - 1, high=pl.Series([2, None, 3, 9]))
    plots.lines(drawn.axes[0], ends, "k", "y", "of", band=("low", "high"))
    plots.lines(drawn.axes[1], points, "k", "y", "of")
    assert len(drawn.axes[0].collections) == 2
    assert drawn.axes[0].collections[1].get_paths()[0].vertices[:, 1].max() == 9
    plots.one_scale(drawn)
    assert drawn.axes[0].get_ylim() == drawn.axes[1].get_ylim()
    assert drawn.axes[1].get_ylim()[1] > 9
