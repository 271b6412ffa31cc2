"""Small pictures drawn by hand as inline SVG: no library, no script, colours from the style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from incrowd.report.markup import Html, join, tag
from incrowd.report.summary import Bar

_WIDTH, _HEIGHT = 600, 150
_FULL = 1.2  # retention that fills its bar: classifiers may keep more than all of the gain


def bar(share: float | None, kind: str, *, full: float = 1.0, mark: float | None = None) -> Html:
    """Draw a share as a bar, with a mark beside it to compare with; the number stands next to it as text."""
    width = 100 * min(1.0, max(0.0, (share or 0.0) / full))
    parts = [
        tag("rect", cls="track", x="0", y="0", width="100", height="8"),
        tag("rect", cls=kind, x="0", y="0", width=f"{width:.2f}", height="8"),
    ]
    if mark is not None:
        at = 100 * min(1.0, max(0.0, mark / full))
        parts.append(tag("rect", cls="mark", x=f"{max(0.0, at - 0.6):.2f}", y="0", width="1.2", height="8"))
    return tag("svg", *parts, cls="bar", viewBox="0 0 100 8", preserveAspectRatio="none", aria_hidden="true")


def measured(share: float | None, kind: str, *, full: float = 1.0) -> Html:
    """Write a share, and draw it beside the number."""
    number = tag("span", "" if share is None else f"{share:.1%}")
    return tag("div", number, bar(share, kind, full=full), cls="share")


def kept_bar(share: float | None) -> Html:
    """Draw a retention, beside the mark of the original."""
    if share is None:
        return Html("")
    return bar(share, "after", full=_FULL, mark=1.0)


def histogram(name: str, bars: Sequence[Bar]) -> Html:
    """Draw a distribution over numbers or days: before as bars, after as a line; areas are shares of the people."""
    left, right = cast("float", bars[0].start), cast("float", bars[-1].end)
    edges = [cast("float", each.start) for each in bars] + [right]
    scale = _WIDTH / (right - left) if right > left else 0.0
    places = [(edge - left) * scale for edge in edges] if scale else [0.0, float(_WIDTH)]
    heights = [
        (_density(each.before, a, b), _density(each.after, a, b))
        for each, a, b in zip(bars, places, places[1:], strict=False)
    ]
    top = max((height for pair in heights for height in pair), default=0.0) or 1.0
    drawn, line = [], []
    for (before, after), a, b in zip(heights, places, places[1:], strict=False):
        tall = _HEIGHT * before / top
        drawn.append(
            tag("rect", cls="before", x=f"{a:.1f}", y=f"{_HEIGHT - tall:.1f}", width=f"{max(0.5, b - a - 1):.1f}",
                height=f"{tall:.1f}")
        )  # fmt: skip
        level = _HEIGHT - _HEIGHT * after / top
        line += [f"{a:.1f},{level:.1f}", f"{b:.1f},{level:.1f}"]
    drawn.append(tag("polyline", cls="line", points=" ".join(line), fill="none"))
    picture = tag(
        "svg", tag("title", f"{name} before and after"), tag("desc", described(bars), most=3000), *drawn,
        cls="histogram", viewBox=f"0 -4 {_WIDTH} {_HEIGHT + 8}", preserveAspectRatio="none", role="img",
        aria_label=f"{name} before and after. {described(bars)}",
    )  # fmt: skip
    middle = bars[len(bars) // 2]
    ends = [bars[0].label.split(" to ")[0], middle.label.split(" to ")[0], bars[-1].label.split(" to ")[-1]]
    at = (cast("float", middle.start) - left) * scale / _WIDTH * 100 if scale else 50.0
    shown = [tag("span", ends[0]), tag("span", ends[2])]
    if 20 < at < 80:
        shown.insert(1, tag("span", ends[1], style=f"left:{at:.1f}%"))
    return join(picture, tag("div", *shown, cls="axis", aria_hidden="true"))


def described(bars: Sequence[Bar]) -> str:
    """Say what a picture shows."""
    return "; ".join(f"{each.label}: {', '.join(_said(each))}" for each in bars)


def _said(each: Bar) -> list[str]:
    pairs = ((each.before, "before"), (each.after, "after"))
    return [f"{share:.1%} {when}" for share, when in pairs if share is not None]


def _density(share: float | None, a: float, b: float) -> float:
    return (share or 0.0) / (b - a) if b > a else 0.0
