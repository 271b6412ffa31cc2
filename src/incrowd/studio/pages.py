"""What all pages share: templates, in which everything is escaped, and forms."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from starlette.responses import HTMLResponse, RedirectResponse, Response

from incrowd.errors import ParameterError, counted
from incrowd.version import __version__

STEPS = (
    ("data", "Data"), ("roles", "Roles"), ("hierarchies", "Hierarchies"), ("tradeoff", "Trade-off"),
    ("result", "Result"), ("models", "Models"),
)  # fmt: skip

AT_ONCE = 200_000
"""Rows of which unique people are counted, and values of a column, within a fifth of a second."""

_STAGES = {"tasks": "trying methods", "starting": "starting", "waiting": "waiting for another run"}


@dataclass(frozen=True)
class Form:
    """What was sent with a request.

    Attributes
    ----------
    fields
        The last value of each field.
    several
        All values of each field.
    is_live
        Whether a script asked, and wants only the part that changed.
    """

    fields: dict[str, str]
    several: dict[str, list[str]] = field(default_factory=dict)
    is_live: bool = False

    def text(self, name: str) -> str:
        """Return a text, empty if there is none."""
        return self.fields.get(name, "").strip()

    def whole(self, name: str) -> int:
        """Return a whole number."""
        return whole(self.text(name), name)

    def number(self, name: str) -> float | None:
        """Return a number, if there is one."""
        text = self.text(name).replace(",", ".")
        if not text:
            return None
        try:
            return float(text)
        except ValueError:
            fact = f"{name} is {text!r}, which is not a number"
            raise ParameterError(fact, "write for example 1.5, or leave it empty") from None


def whole(text: str, name: str) -> int:
    """Read a whole number that somebody typed."""
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        fact = f"{name} is {text!r}, which is not a whole number"
        raise ParameterError(fact, "write for example 10")
    return int(text)


def render(template: str, status: int = 200, /, **values: Any) -> Response:  # noqa: ANN401
    """Return a page."""
    return HTMLResponse(_templates().get_template(template).render(values), status)


def back_to(project_id: str, page: str) -> Response:
    """Send the browser to a page of a project."""
    return RedirectResponse(f"/p/{project_id}/{page}", 303)


@cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(steps=STEPS, version=__version__, stages=_STAGES, counted=counted)
    environment.filters.update(share=_share, thousands=_thousands, in_pages=in_pages)
    return environment


def in_pages(text: str) -> str:
    """Return a sentence of the schema's and the command line's words in those of the pages.

    >>> in_pages("'99' in 3 rows may mean missing: then set missing = [99]")
    "'99' in 3 rows may mean missing: then tick it on the page Data"
    >>> in_pages("'age' has '99', which may mean missing; if so, set missing = [99] in the schema.")
    "'age' has '99', which may mean missing; if so, tick it on the page Data."
    """
    text = re.sub(r"\bset missing = \[.*\](?: in the schema)?", "tick it on the page Data", text)
    text = text.replace("ask for l as well", "publish again with a diversity (l), such as 1.5")
    return text.replace(" (docs: hierarchies)", "").replace("make it quasi", "it may recognize people")


def _share(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.1%}"


def _thousands(value: int) -> str:
    return f"{value:,}".replace(",", "\u202f")
