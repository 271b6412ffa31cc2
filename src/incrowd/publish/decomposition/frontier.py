"""What accuracy can be had at which anonymity level: the frontier of partitions, as data and as a picture (ParetoDMPD).

A search of two objectives ends in points (accuracy, level) that no other found point *dominates*: is at least as good
in both and better in one. `Frontier` holds them for one run or several, picks one of them, and summarizes several runs
by *attainment surfaces*. A run attains an accuracy at a level if it found a partition of at least this level and at
least this accuracy. At each level, the *best* surface has the highest accuracy that some run attains, the *median* one
the highest that half of the runs attain (of r runs, r / 2 rounded up), the *worst* one the highest that all attain.

The accuracies are cross-validated, and the best of many estimates is too good by chance: what a frontier promises of
the future is a little too much, the more the flatter it is. Levels are exact.

Where the paper is silent: (1) the level of a partition is the lower of its partial and its set level; where neither has
a limit, the number of rows; (2) Fig. 12's three surfaces are those of Knowles: a staircase, whose corners are rows of
`surfaces`.

References
----------
Matatov, Rokach, Maimon, Information Sciences 2010, section 5.8. C. M. Fonseca, P. J. Fleming: On the performance
assessment and comparison of stochastic multiobjective optimizers, PPSN 1996. J. Knowles: A summary-attainment-surface
plotting method for visualizing the performance of stochastic multiobjective optimizers, ISDA 2005.

>>> import polars as pl
>>> points = pl.DataFrame({"parts": [[["age"], ["sex"]], [["sex"]], [["age"]], []], "accuracy": [0.9, 0.8, 0.7, 0.6]})
>>> points = points.with_columns(pl.Series('partial', [5, 40, 5, None]), pl.Series('set', [2, None, None, None]), run=0)
>>> frontier = Frontier(points, n_rows=100)
>>> frontier.frame["level"].to_list(), frontier.pick(k=10).parts
([2, 40, 100], (('sex',),))
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import plots
from incrowd.errors import InfeasibleError, ParameterError

Float64 = npt.NDArray[np.float64]

_COLUMNS = ("run", "parts", "accuracy", "partial", "set")
_SURFACES = ("best", "median", "worst")


@dataclass(frozen=True)
class FrontierPoint:
    """One partition of a frontier.

    Attributes
    ----------
    parts
        Names of the columns of each part; none for the empty partition.
    accuracy
        Cross-validated, from 0 to 1.
    level
        The lower of `partial` and `set`, or the number of rows where neither has a limit.
    partial, set
        Levels of Definition 8; ``None`` where there is no limit.
    """

    parts: tuple[tuple[str, ...], ...]
    accuracy: float
    level: int
    partial: int | None
    set: int | None


class Frontier:
    """The best partitions that one run or several found.

    Parameters
    ----------
    points
        One row per partition: ``run`` (a number), ``parts`` (lists of names), ``accuracy``, and ``partial`` and
        ``set``, null where there is no limit. Those that others of the same run dominate are left out.
    n_rows
        Rows of the table: the level of what has none.
    majority, original
        Accuracy of the most frequent class, and of the same inducer on the table as it is, if known: for the picture.

    Attributes
    ----------
    points
        The frontier of each run, with ``level``, by run and then from the lowest level.
    """

    def __init__(
        self, points: pl.DataFrame, *, n_rows: int, majority: float | None = None, original: float | None = None
    ) -> None:
        missing = [name for name in _COLUMNS if name not in points.columns]
        if missing or points.height == 0:
            fact = (
                f"points has {points.height} rows, and no column {', '.join(missing)}"
                if missing
                else "There are no points"
            )
            raise ParameterError(fact, f"give at least one row, with columns {', '.join(_COLUMNS)}")
        self.n_rows, self.majority, self.original = n_rows, majority, original
        level = pl.min_horizontal("partial", "set", pl.lit(n_rows)).cast(pl.Int64()).alias("level")
        parts = points["parts"].cast(pl.List(pl.List(pl.String())))
        told = points.select(pl.col("run").cast(pl.Int64()), parts, pl.col("accuracy").cast(pl.Float64()), level,
                             pl.col("partial", "set").cast(pl.Int64()))  # fmt: skip
        runs = [_undominated(own) for own in told.partition_by("run", maintain_order=True)]
        self.points = pl.concat(runs)

    def __repr__(self) -> str:
        low, high = self.frame[0], self.frame[-1]
        ends = ", ".join(f"{100 * end['accuracy'].item():.1f} % at {end['level'].item()}" for end in (low, high))
        return f"Frontier: {self.frame.height} partitions of {self.n_runs} run(s), {ends}"

    @property
    def n_runs(self) -> int:
        """How many runs there were."""
        return self.points["run"].n_unique()

    @property
    def frame(self) -> pl.DataFrame:
        """What no partition of any run dominates, from the lowest level: parts, accuracy, level, partial, set."""
        return _undominated(self.points).drop("run")

    def pick(self, *, k: int | None = None, accuracy: float | None = None) -> FrontierPoint:
        """Return the most accurate partition of at least level k, or the one of highest level that is accurate enough.

        Parameters
        ----------
        k
            The least level.
        accuracy
            The least accuracy, from 0 to 1.
        """
        if (k is None) == (accuracy is None):
            fact = "pick needs either k or accuracy"
            raise ParameterError(fact, "say frontier.pick(k=10) or frontier.pick(accuracy=0.8)")
        frame = self.frame
        if k is not None:
            good = frame.filter(pl.col("level") >= k)[:1]
            best: dict[str, Any] = {"k": frame["level"].max()}
            fact = f"No partition has level {k}; the highest is {best['k']}"
        else:
            good = frame.filter(pl.col("accuracy") >= accuracy)[-1:]
            best = {"accuracy": frame["accuracy"].max()}
            fact = f"No partition is as accurate as {accuracy}; the most accurate one is {best['accuracy']:.4f}"
        if good.height == 0:
            raise InfeasibleError(fact, "ask for less, or search longer", best=best)
        row = good.row(0, named=True)
        return FrontierPoint(**row | {"parts": tuple(tuple(part) for part in row["parts"])})

    def surfaces(self) -> pl.DataFrame:
        """Return the attainment surfaces of the runs: columns surface, level, accuracy.

        Each row is a corner of its staircase: this accuracy is attained up to this level, from the one of the row
        before. Levels that not enough runs reach are not there.
        """
        levels = self.points["level"].unique().sort().to_numpy()
        attained = np.vstack([_attained(own, levels) for own in self.points.partition_by("run")])
        ordered = -np.sort(-attained, axis=0)
        needed = {"best": 1, "median": (len(ordered) + 1) // 2, "worst": len(ordered)}
        parts = []
        for name in _SURFACES:
            heights = ordered[needed[name] - 1]
            corner = np.isfinite(heights) & (heights > np.append(heights[1:], -np.inf))
            parts.append(
                pl.DataFrame({"level": levels[corner], "accuracy": heights[corner]}).with_columns(surface=pl.lit(name))
            )
        return pl.concat(parts).select("surface", "level", "accuracy")

    def plot(self, *, title: str | None = None, theme: plots.Theme = "light") -> plots.Figure:
        """Draw accuracy against level: the frontier of one run, or the surfaces of several (Fig. 12).

        Parameters
        ----------
        title
            Written above.
        theme
            ``"light"`` or ``"dark"``.
        """
        figure = plots.figure(title=title, theme=theme, width=6.4, height=4.0)
        draw(figure.axes[0], self, theme=theme)
        return figure


def draw(axes: Any, frontier: Frontier, *, title: str | None = None, theme: plots.Theme = "light") -> None:  # noqa: ANN401
    """Draw a frontier into a panel of a figure: one line, or one per surface with the room between them shaded."""
    corners = frontier.surfaces().with_columns(pl.col("accuracy") * 100)
    several = frontier.n_runs > 1
    if not several:
        corners = corners.filter(surface="best")
    starts = corners.group_by("surface", maintain_order=True).first().with_columns(level=pl.lit(1, pl.Int64()))
    stairs = pl.concat([starts, corners])
    labels = ("anonymity level", "cross-validated accuracy (%)")
    plots.lines(axes, stairs, "level", "accuracy", "surface", labels=labels, title=title, log_x=True)
    colour = plots.PALETTE[theme][0]
    for line, width in zip(axes.lines, (1.0, 2.0, 1.0), strict=False):
        line.set(
            color=colour,
            drawstyle="steps-pre",
            linewidth=width if several else 1.8,
            marker="" if several else "o",
            markevery=slice(1, None),
            clip_on=several,
        )
    if several:
        for line, dash in zip(axes.lines, ("--", "-", ":"), strict=True):
            line.set_linestyle(dash)
        _shade(axes, stairs, colour)
    ink = axes.xaxis.label.get_color()
    known = (("original table", frontier.original, 3, "bottom"), ("most frequent class", frontier.majority, -3, "top"))
    for name, share, above, side in known:
        if share is not None:
            at = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
            axes.axhline(100 * share, color=ink, linewidth=0.9, linestyle=(0, (6, 4)), zorder=1)
            axes.annotate(name, (1, 100 * share), (-4, above), **at, ha="right", va=side, fontsize="small", color=ink)
    axes.set_xlim(1, max(frontier.n_rows, 2))
    low, high = axes.dataLim.intervaly
    axes.set_ylim(low - 0.1 * (high - low or 1), high + 0.08 * (high - low or 1))
    axes.title.set_fontsize("medium")
    if several:
        axes.legend(frameon=False, fontsize="small", labelcolor=ink)
    else:
        axes.get_legend().remove()


def _shade(axes: Any, stairs: pl.DataFrame, colour: str) -> None:  # noqa: ANN401
    """Shade what some but not all runs attained."""
    levels = stairs["level"].unique().sort().to_numpy()
    worst, best = (_attained(stairs.filter(surface=name), levels) for name in ("worst", "best"))
    axes.fill_between(levels, worst, best, where=np.isfinite(worst), step="pre", color=colour, alpha=0.15, linewidth=0)


def non_dominated(points: Float64) -> npt.NDArray[np.bool_]:
    """Return which points no other one is at least as good as, in both coordinates; of equal ones the first.

    Parameters
    ----------
    points
        Two columns, both to be large.
    """
    best = np.zeros(len(points), np.bool_)
    order = np.lexsort([np.arange(len(points)), -points[:, 0], -points[:, 1]])
    highest = -np.inf
    for i in order:
        if points[i, 0] > highest:
            best[i], highest = True, points[i, 0]
    return best


def _undominated(points: pl.DataFrame) -> pl.DataFrame:
    return points.filter(non_dominated(points.select("accuracy", "level").to_numpy())).sort("level")


def _attained(points: pl.DataFrame, levels: Iterable[int]) -> Float64:
    """Return the highest accuracy of at least each level, from the lowest level; minus infinity where there is none."""
    own_levels, accuracies = points["level"].to_numpy(), points["accuracy"].to_numpy()
    return np.array([accuracies[own_levels >= level].max(initial=-np.inf) for level in levels])
