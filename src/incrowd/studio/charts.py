"""Charts of what privacy costs, as places in a drawing; a template turns them into SVG."""

from __future__ import annotations

import math
from dataclasses import dataclass

from incrowd.workflow.tradeoffs import Point, TradeOff

WIDTH, HEIGHT = 480, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 16, 16, 44
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
_MOST_TICKS = 6


@dataclass(frozen=True)
class Dot:
    """A method and k, and where it is drawn."""

    x: float
    y: float
    point: Point
    value: float


@dataclass(frozen=True)
class Line:
    """The dots of a method, from left to right."""

    method: str
    number: int
    dots: tuple[Dot, ...]

    @property
    def path(self) -> str:
        """The corners of the line, as SVG wants them."""
        return " ".join(f"{dot.x:.1f},{dot.y:.1f}" for dot in self.dots)


@dataclass(frozen=True)
class Level:
    """A height with a name: a tick, or a baseline."""

    y: float
    words: str
    name: str = ""


@dataclass(frozen=True)
class Chart:
    """A score against k.

    Attributes
    ----------
    title, about
        What is shown, and which way is better.
    lines
        One per method.
    ticks, baselines
        Heights on the left, and for comparison.
    columns
        Each k, and where it is.
    """

    title: str
    about: str
    lines: tuple[Line, ...]
    ticks: tuple[Level, ...]
    baselines: tuple[Level, ...]
    columns: tuple[tuple[float, int], ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    bottom: int = HEIGHT - _BOTTOM


def charts_of(found: TradeOff) -> list[Chart]:
    """Return the chart of accuracy, where there is a class, and that of the detail lost."""
    charts = []
    if found.original is not None and found.majority is not None:
        ends = {"original": found.original, "most frequent class": found.majority}
        about = "How often a classifier trained on the release is right. Higher is better."
        charts.append(_chart("Accuracy", about, found, "accuracy", ends))
    if any(point.loss is not None for point in found.points):
        ends = {"original": 0.0, "everything hidden": 1.0}
        about = "Share of the detail that generalizing takes away. Lower is better."
        charts.append(_chart("Detail lost", about, found, "loss", ends))
    return charts


def _chart(title: str, about: str, found: TradeOff, score: str, ends: dict[str, float]) -> Chart:
    values = [value for point in found.points if (value := getattr(point, score)) is not None]
    low, high, ticks = _scale([*values, *ends.values()])
    ks = sorted({point.k for point in found.points})
    span = (WIDTH - _RIGHT - _LEFT) / max(1, len(ks))
    columns = {k: _LEFT + span * (number + 0.5) for number, k in enumerate(ks)}

    def height(value: float) -> float:
        return _TOP + (HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)

    lines = []
    for number, method in enumerate(dict.fromkeys(point.method for point in found.points)):
        mine = sorted((p for p in found.points if p.method == method), key=lambda p: p.k)
        dots = [Dot(columns[p.k], height(value), p, value) for p in mine if (value := getattr(p, score)) is not None]
        lines.append(Line(method, number % 6, tuple(dots)))
    return Chart(
        title,
        about,
        tuple(lines),
        ticks=tuple(Level(height(value), f"{value:.0%}") for value in ticks),
        baselines=tuple(Level(height(value), f"{value:.1%}", name) for name, value in ends.items()),
        columns=tuple((x, k) for k, x in columns.items()),
    )


def _scale(values: list[float]) -> tuple[float, float, list[float]]:
    """Return a range of round numbers around some shares, and ticks in it.

    >>> _scale([0.62, 0.78])
    (0.6, 0.8, [0.6, 0.65, 0.7, 0.75, 0.8])
    """
    low, high = min(values), max(values)
    step = next((s for s in _STEPS if (high - low) / s <= _MOST_TICKS - 1.5), _STEPS[-1])
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    last = max(last, first + 1)
    ticks = [round(number * step, 4) for number in range(first, last + 1)]
    return ticks[0], ticks[-1], ticks
