"""Figures: the one place that knows matplotlib, which is loaded when something is drawn.

`figure` makes an empty figure in a theme, `lines` draws a frame into one of its panels, `one_legend` joins their
legends and `one_scale` their upright axes, `number_line` draws names along a line, and `save` writes it as the file's
name says. Colours are those of Okabe and Ito, which people with any kind of colour vision can tell apart; lines differ
by dash and, where points are few, by marker too, so that they also do in a grey print. Figures belong to nobody but
their caller: nothing is kept in matplotlib's global state. Notebooks show them as they are.

>>> import polars as pl
>>> from incrowd import plots
>>> drawn = plots.figure(title="two lines")
>>> points = pl.DataFrame({"k": [1, 2, 1, 2], "loss": [1, 3, 2, 4], "of": list("aabb")})
>>> plots.lines(drawn.axes[0], points, "k", "loss", "of")
>>> [line.get_label() for line in drawn.axes[0].lines]
['a', 'b']
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import polars as pl

from incrowd.errors import InputError, MissingDependencyError, ParameterError
from incrowd.io.atomic import atomic_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Figure  # noqa: PLC0414 - others name the type as plots.Figure
else:

    def __getattr__(name: str) -> type:
        """Make `Figure` when it is asked for: here, by a reader of annotations, or by pickle."""
        if name == "Figure":
            return _figure_class()
        fact = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(fact)


Theme = Literal["light", "dark"]

_SHARED = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
PALETTE: dict[Theme, tuple[str, ...]] = {
    "light": (*_SHARED, "#000000", "#999999"),
    "dark": ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#D55E00", "#FFFFFF", "#999999"),
}
"""Colours of lines and bars, in order."""

_INK: dict[Theme, tuple[str, str, str]] = {
    "light": ("#FFFFFF", "#222222", "#DDDDDD"),
    "dark": ("#16191D", "#E6E6E6", "#3A4048"),
}
_MARKERS = "osD^vPX*"
_DASHES: tuple[Any, ...] = (
    "-",
    (0, (7, 1.5)),
    (0, (6, 1.5, 1, 1.5)),
    (0, (9, 1.5, 3, 1.5)),
    (0, (5, 1.5, 1, 1.5, 1, 1.5)),
)  # as many as have no divisor in common with the markers; "--" and ":" are left to lines of reference
_FORMATS = (".svg", ".png")
_DOTS_PER_INCH = 160
_LEGEND_WIDTH = 1.6  # inches that a name in a legend may take
_LEGEND: dict[str, Any] = {"frameon": False, "fontsize": "small", "handlelength": 3.6}  # a dash is seen as a whole
_ROOM = 0.1  # of an axis that a number takes
_SHADE = 0.12
_FEW_POINTS = 40  # that markers are drawn for


def figure(
    n_panels: int = 1,
    *,
    title: str | None = None,
    theme: Theme = "light",
    width: float = 5.2,
    height: float = 3.9,
    columns: int | None = None,
) -> Figure:
    """Return a figure with empty panels, as ``figure.axes``; a notebook shows it as a picture.

    Parameters
    ----------
    n_panels
        Number of panels.
    title
        Written above all of them.
    theme
        ``"light"`` or ``"dark"``.
    width, height
        Of one panel, in inches.
    columns
        Panels in a row; all side by side without.
    """
    if theme not in get_args(Theme):
        fact = f"theme is {theme!r}"
        raise ParameterError(fact, f"use one of {', '.join(get_args(Theme))}")
    matplotlib, kind = _matplotlib(), _figure_class()
    with matplotlib.rc_context(_settings(theme)):
        across = min(columns or n_panels, n_panels)
        down = -(-n_panels // across)
        made = kind(figsize=(across * width, down * height), layout="constrained")
        made.subplots(down, across)
        for unused in made.axes[n_panels:]:
            unused.remove()
        if title is not None:
            made.suptitle(title)
    return made


def lines(
    axes: Axes,
    frame: pl.DataFrame,
    x: str,
    y: str,
    by: str | None = None,
    *,
    labels: tuple[str, str] | None = None,
    title: str | None = None,
    log_x: bool = False,
    band: tuple[str, str] | None = None,
) -> None:
    """Draw one line for each value of a column, in the order in which the values appear.

    Parameters
    ----------
    axes
        The panel.
    frame
        Its rows are the points; one whose `y` is not finite is left out, and interrupts its line.
    x, y, by
        Columns: the two coordinates, and whose value names the line.
    labels
        What is written at the two axes, if not the columns' names.
    title
        Written above the panel.
    log_x
        Whether `x` is shown on a logarithmic scale.
    band
        Columns of the lower and the upper end of an interval, drawn as a shade around each line.
    """
    parts = {y: frame} if by is None else {str(name): part for (name,), part in _parts(frame, by)}
    for i, (name, part) in enumerate(parts.items()):
        marker = _MARKERS[i % len(_MARKERS)] if part.height <= _FEW_POINTS else ""
        dash = _DASHES[i % len(_DASHES)]
        heights = part[y].cast(pl.Float64()).to_numpy()
        (line,) = axes.plot(part[x].to_numpy(), heights, marker=marker, markersize=4, linestyle=dash, label=name)
        if band is not None:
            known = part.drop_nulls(list(band))
            low, high = (known[end].cast(pl.Float64()).to_numpy() for end in band)
            axes.fill_between(known[x].to_numpy(), low, high, color=line.get_color(), alpha=_SHADE, linewidth=0)
    if log_x:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xticks(_apart(frame[x].drop_nulls().unique().sort().to_list()))
        axes.minorticks_off()
    across, up = labels or (x, y)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    if title is not None:
        axes.set_title(title)
    if by is not None:
        axes.legend(labelcolor=axes.xaxis.label.get_color(), **_LEGEND)


def one_legend(drawn: Figure) -> Figure:
    """Put what the panels' legends say below all of them, each name once, and take it from each; return the figure."""
    shown: dict[str, Any] = {}
    for axes in drawn.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            shown.setdefault(label, handle)
        if (legend := axes.get_legend()) is not None:
            legend.remove()
    in_a_row = max(1, min(len(shown), int(drawn.get_figwidth() / _LEGEND_WIDTH)))
    ink = drawn.axes[0].xaxis.label.get_color()
    drawn.legend(shown.values(), shown, loc="outside lower center", ncols=in_a_row, labelcolor=ink, **_LEGEND)
    return drawn


def one_scale(drawn: Figure) -> Figure:
    """Give all panels the same upright axis, so that heights can be compared; return the figure."""
    ends = [axes.get_ylim() for axes in drawn.axes]
    for axes in drawn.axes:
        axes.set_ylim(min(low for low, _ in ends), max(high for _, high in ends))
    return drawn


def number_line(
    axes: Axes,
    places: Mapping[str, float],
    ends: tuple[float, float],
    *,
    band: tuple[float, float] | None = None,
    label: str | None = None,
) -> None:
    """Draw names at their places along a line, half of them led to the left and half to the right.

    Parameters
    ----------
    axes
        The panel.
    places
        Where each name is.
    ends
        Of the line, from left to right; the first may be the larger.
    band
        A stretch of the line to mark; what is beyond the ends is cut off.
    label
        Written above the line.
    """
    ink = axes.xaxis.label.get_color()
    left, right = ends
    towards = 1 if right > left else -1
    in_order = sorted(places, key=lambda name: towards * places[name])
    n_left = len(in_order) // 2
    sides = [(in_order[:n_left], left, -1), (in_order[n_left:][::-1], right, 1)]
    margin = 0.04 * (right - left)
    for names, end, side in sides:
        for i, name in enumerate(names):
            depth, to = -1.0 - 0.8 * i, end + side * margin
            axes.plot([places[name], places[name], to], [0, depth, depth], color=ink, linewidth=0.8, clip_on=False)
            text = f"{name}  {places[name]:.2f}"
            where: Any = {"ha": "right" if side < 0 else "left", "va": "center", "color": ink, "clip_on": False}
            axes.text(to + side * margin / 4, depth, text, **where)
    axes.plot(
        list(places.values()), [0.0] * len(places), linestyle="", marker="o", markersize=4, color=ink, clip_on=False
    )
    if band is not None:
        low, high = (min(max(end, min(ends)), max(ends)) for end in sorted(band))
        axes.plot([low, high], [-0.4, -0.4], linewidth=4, solid_capstyle="butt")
    axes.set_xlim(left, right)
    axes.set_ylim(-1.4 - 0.8 * max(len(names) - 1 for names, _, _ in sides), 0)
    axes.grid(visible=False)
    axes.xaxis.set_ticks_position("top")
    axes.xaxis.set_label_position("top")
    axes.set_yticks([])
    for spine in ("left", "bottom"):
        axes.spines[spine].set_visible(False)
    axes.spines["top"].set_visible(True)
    if label is not None:
        axes.set_xlabel(label)


def check_file(path: str | Path) -> None:
    """Refuse a file that `save` could not write, before something long is computed for it."""
    _suffix(path)
    if not (folder := Path(path).parent).is_dir():
        fact = f"Cannot write '{path}': there is no folder '{folder}'"
        raise InputError(fact, "create that folder first")
    _matplotlib()


def save(drawn: Figure, path: str | Path) -> None:
    """Write a figure as SVG or PNG, by the file's name; the same figure gives the same bytes."""
    suffix = _suffix(path)
    metadata: dict[str, Any] = {"Date": None} if suffix == ".svg" else {"Software": None}
    with _matplotlib().rc_context({"svg.hashsalt": "incrowd"}), atomic_file(path) as temporary:
        drawn.savefig(temporary, format=suffix[1:], dpi=_DOTS_PER_INCH, metadata=metadata)


def _suffix(path: str | Path) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in _FORMATS:
        fact = f"A figure cannot be written as {str(path)!r}"
        raise ParameterError(fact, f"end the file's name in {' or '.join(_FORMATS)}")
    return suffix


def _parts(frame: pl.DataFrame, by: str) -> list[tuple[tuple[object, ...], pl.DataFrame]]:
    return list(frame.group_by(by, maintain_order=True))


def _apart(places: list[float]) -> list[float]:
    """Return places on a logarithmic scale that leave room for the numbers below them."""
    shown: list[float] = []
    for place in places:
        if not shown or place >= shown[-1] * (places[-1] / places[0]) ** _ROOM:
            shown.append(place)
    return shown


def _settings(theme: Theme) -> dict[str, Any]:
    """Return matplotlib's settings for a theme; panels remember them."""
    paper, ink, grid = _INK[theme]
    settings: dict[str, Any] = dict.fromkeys(("figure.facecolor", "axes.facecolor"), paper)
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    settings |= dict.fromkeys(inked, ink)
    return settings | {
        "axes.grid": True,
        "grid.color": grid,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": "medium",
        "axes.prop_cycle": _matplotlib().cycler(color=PALETTE[theme]),
        "font.size": 9,
    }


def _matplotlib() -> Any:  # noqa: ANN401
    try:
        import matplotlib.figure  # noqa: PLC0415
    except ModuleNotFoundError:
        fact = "Drawing needs matplotlib, which is not installed"
        raise MissingDependencyError(fact, extra="report") from None
    return matplotlib


@cache
def _figure_class() -> type[Figure]:
    """Return matplotlib's figure that a notebook shows as a picture, be pyplot loaded or not."""
    base: type[Figure] = _matplotlib().figure.Figure

    class Figure(base):  # type: ignore[misc, valid-type]
        def _repr_png_(self) -> bytes:
            written = io.BytesIO()
            self.savefig(written, format="png", dpi="figure", metadata={"Software": None})
            return written.getvalue()

    Figure.__qualname__ = "Figure"  # where `__getattr__` finds it
    return Figure
