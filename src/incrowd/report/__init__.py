"""Report: one summary of a release for people who must decide about it, as a page, as JSON, and as text.

A public report contains nothing that the release does not: every number in it is a function of the published files
alone, or a rate of people in steps of at least k (`rates`). Whatever is computed from the release is computed from a
copy without its private part; what the original adds are outcomes and such rates. `for_owner` adds exact results and
says so at the top.

>>> import incrowd as ic, polars as pl
>>> people = pl.DataFrame({"age": [30, 31, 50, 51], "ill": ["no", "yes", "no", "yes"]})
>>> release = ic.Mondrian(k=2).publish(people, ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill"))
>>> release.report().summary.promise.sentence
"By 'age', nobody in this file can be told apart from at least 1 other person."
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from incrowd import io
from incrowd.report import page, plain
from incrowd.report.markup import Html, tag
from incrowd.report.measuring import Asked, Measures, measure, measures_of
from incrowd.report.pdf import find_chromium, save_pdf
from incrowd.report.summary import Summary

__all__ = ["Asked", "Measures", "Report", "Summary", "find_chromium", "measure", "measures_of", "report"]


@dataclass(frozen=True)
class Report:
    """A summary, and the forms that people read it in."""

    summary: Summary

    @property
    def ok(self) -> bool:
        """Whether neither the check nor an attack found a broken promise."""
        return self.summary.ok

    @cached_property
    def html(self) -> str:
        """One page that needs nothing else: no network, no script, no other file."""
        return page.render(self.summary)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return self.summary.to_dict()

    def save(self, path: str | Path) -> None:
        """Write the page; one for the owner is closed to other users."""
        with io.atomic_file(path, owner_only=self.summary.for_owner) as temporary:
            temporary.write_text(self.html, encoding="utf-8")

    def save_pdf(self, path: str | Path) -> None:
        """Write the page as PDF; Chromium must be installed."""
        save_pdf(self.html, path, owner_only=self.summary.for_owner)

    def __str__(self) -> str:
        return plain.render(self.summary)

    def __repr__(self) -> str:
        return f"Report({self.summary.judgement.headline!r})"

    def _repr_html_(self) -> str:
        # A frame of its own: the style of the page must not change that of the notebook.
        style = "width:100%;height:40rem;border:1px solid #888"
        return tag("iframe", "", title=self.summary.title, srcdoc=Html(self.html), sandbox="", style=style)


def report(release: Any, original: Any = None, asked: Asked | None = None, **given: Any) -> Report:  # noqa: ANN401
    """Report on a release in memory; see `incrowd.Release.report`."""
    wanted = asked or Asked()
    frame = None if original is None else io.to_polars(original)
    return Report(measure(release, wanted, measures_of(release, frame, **given)))
