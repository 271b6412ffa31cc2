"""Markup that escapes by default: whatever is not `Html` already is text of somebody, and is written as text.

>>> tag("p", "1 < 2, ", tag("b", "so it is"), cls="note")
'<p class="note">1 &lt; 2, <b>so it is</b></p>'
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Sequence

_VOID = frozenset({"meta", "br", "hr"})
_MOST = 300
"""Characters of one text: a longer name or value is cut, so that a page stays readable."""


_MOST_OF_ATTRIBUTE = 4000


class Html(str):
    """Text that is markup already; only `tag`, `join` and this room's own constants make it."""

    __slots__ = ()


def clean(text: object, most: int = _MOST) -> str:
    """Return a text without characters that a page cannot show or that turn the order of others, and not too long.

    >>> clean(f"a{chr(0)}b{chr(0x202E)}c") == f"a{chr(0xFFFD)}b{chr(0xFFFD)}c", clean("abcdef", 4)
    (True, 'abc…')
    """
    written = "".join("\ufffd" if _is_control(character) else character for character in str(text))
    return written if len(written) <= most else f"{written[: most - 1]}…"


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn") and character not in "\n\t\u200d"


def escape(part: object, most: int = _MOST) -> Html:
    """Return markup as it is, and everything else as text."""
    return part if isinstance(part, Html) else Html(html.escape(clean(part, most)))


def join(*parts: object) -> Html:
    """Put parts behind each other."""
    return Html("".join(escape(part) for part in parts if part is not None))


def tag(name: str, /, *parts: object, most: int = _MOST, **attributes: object) -> Html:
    """Return an element.

    Parameters
    ----------
    parts
        Its content, escaped unless it is `Html`; ``None`` is nothing.
    attributes
        Its attributes, always escaped; ``cls`` is class, ``_`` is written ``-``, ``None`` leaves one out.
    """
    written = "".join(
        f' {"class" if key == "cls" else key.replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(escape(part, most) for part in parts if part is not None)
    return Html(f"<{name}{written}>" if name in _VOID else f"<{name}{written}>{inner}</{name}>")


def _attribute(value: object) -> str:
    """Write the value of an attribute; a page of ours, in a frame, is as long as it is."""
    whole = isinstance(value, Html)
    return html.escape(str(value) if whole else clean(value, _MOST_OF_ATTRIBUTE))


def table(head: Sequence[object], rows: Sequence[Sequence[object]], *, caption: object = None, cls: str = "") -> Html:
    """Return a table whose first cells name their rows; it scrolls by itself where the page is narrow."""
    top = tag("tr", *(tag("th", cell, scope="col") for cell in head))
    body = [
        tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:]))
        for row in rows
    ]  # fmt: skip
    titled = None if caption is None else tag("caption", caption)
    made = tag("table", titled, tag("thead", top), tag("tbody", *body), cls=cls or None)
    return tag("div", made, cls="wide")
