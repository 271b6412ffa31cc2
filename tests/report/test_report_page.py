"""The page: well formed, complete by itself, readable for everybody, and safe whatever names and values are."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import polars as pl
import pytest
from report_cases import KINDS, report

import incrowd as ic
from incrowd.report.markup import clean, tag
from incrowd.report.style import DARK, LIGHT, READ, STYLE

SECTIONS = [
    "What this file promises",
    "The independent check",
    "What each column lost",
    "What classifiers keep",
    "What adversaries got",
    "Who is most at risk",
    "How it was made",
    "Limits",
]
VOID = {"meta", "br", "hr"}


class Page(HTMLParser):
    """Elements with their attributes, the text of each, and what is wrong with their nesting."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.problems, self.text = [], [], [], []
        self.feed(html)
        self.close()
        self.problems += [f"<{name}> is never closed" for name in self.open]

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes), tuple(self.open)))
        if len(dict(attributes)) != len(attributes):
            self.problems.append(f"<{name}> has an attribute twice")
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name):
        if not self.open or self.open.pop() != name:
            self.problems.append(f"</{name}> closes something else")

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)

    def all(self, name):
        return [attributes for found, attributes, _ in self.elements if found == name]


@pytest.fixture(params=[(kind, owner) for kind in KINDS for owner in (False, True)], ids=str)
def page(request):
    kind, owner = request.param
    return report(kind, for_owner=owner).html


@pytest.mark.one_in(2)
def test_a_page_is_well_formed_and_its_parts_stand_in_order(page):
    found = Page(page)
    assert page.startswith("<!DOCTYPE html>")
    assert found.problems == []
    heads = re.findall(r"<h2 id=\"part-(\d)\"><span class=\"number\">\d\.</span>([^<]+)</h2>", page)
    assert [title for _, title in heads] == SECTIONS
    assert [number for number, _ in heads] == [str(n) for n in range(1, 9)]


def test_a_page_needs_nothing_else(page):
    found = Page(page)
    names = {name for name, _, _ in found.elements}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "a", "input"}
    for _, attributes, _ in found.elements:
        assert not {"src", "href", "srcset", "action", "data", "xlink:href"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
    assert "http" not in page.replace("http-equiv", "")
    assert {"http-equiv": "Content-Security-Policy", "content": "default-src 'none'; style-src 'unsafe-inline'"} in (
        found.all("meta")
    )
    assert "//" not in page.replace("<!DOCTYPE html>", "")
    assert "url(" not in STYLE
    assert "@import" not in STYLE


def test_a_page_can_be_read_aloud(page):
    found = Page(page)
    assert found.all("html") == [{"lang": "en"}]
    assert len(found.all("title")) >= 1
    assert len(found.all("h1")) == 1
    assert len(found.all("main")) == 1
    levels = [int(name[1]) for name, _, _ in found.elements if re.fullmatch(r"h[1-6]", name)]
    assert all(b <= a + 1 for a, b in pairwise(levels))
    heads = found.all("th")
    assert heads
    assert all(head.get("scope") in ("row", "col") for head in heads)
    assert '<th scope="col"></th>' not in page
    for attributes in found.all("svg"):
        assert attributes.get("aria-hidden") == "true" or (attributes["role"] == "img" and attributes["aria-label"])
    figures = len(found.all("figure"))
    assert figures == len(found.all("figcaption"))
    labelled = [attributes["aria-labelledby"] for attributes in found.all("section")]
    assert set(labelled) <= {attributes.get("id") for attributes in found.all("h2")}


def test_pictures_say_in_words_what_they_show():
    html = report("rows").html
    label = re.search(r"<svg[^>]*class=\"histogram\"[^>]*aria-label=\"([^\"]*)\"", html)[1]
    assert label.startswith("age before and after. 21 to 29: 16.7% before,")


def _luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one, other):
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_have_enough_contrast(theme):
    for ink, paper in READ:
        assert _contrast(theme[ink], theme[paper]) >= 4.5, (ink, paper)
    assert _contrast(theme["after"], theme["paper"]) >= 3
    assert _contrast(theme["before"], theme["track"]) >= 1.9
    assert set(LIGHT) == set(DARK)
    assert set(re.findall(r"var\(--([\w-]+)\)", STYLE)) <= set(LIGHT)


def test_the_style_has_a_dark_form_a_narrow_one_and_one_for_paper():
    for rule in ("prefers-color-scheme:dark", "max-width:40rem", "@media print", "@page"):
        assert rule in STYLE


HOSTILE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "a & b &lt; c",
    "</style></title><h1>",
    "тест 年龄 \u202eevil\u202c \x07",
    "x" * 5000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=["script", "quotes", "entities", "closing", "unicode", "long"])
def test_names_and_values_are_text_and_nothing_else_everywhere(text, tmp_path):
    n = 60
    frame = pl.DataFrame(
        {
            f"q {text}": [text, "b", f"{text} c"] * (n // 3),
            f"age {text}": [20 + i % 30 for i in range(n)],
            f"s {text}": [f"{text}!", "no"] * (n // 2),
            f"o {text}": [f"{text}?", "z"] * (n // 2),
            f"id {text}": [str(i) for i in range(n)],
        }
    )
    names = frame.columns
    schema = ic.Schema(
        quasi={names[0]: None, names[1]: ic.Intervals()},
        sensitive=names[2],
        other=[names[3]],
        identifiers=[names[4]],
        missing_tokens=["?"],
    )
    release = ic.Mondrian(k=5).publish(frame, schema, seed=1)
    found = release.report(frame, attacks=["linking"], evaluate=False)
    parsed = Page(found.html)
    assert parsed.problems == []
    plain = Page(report("rows").html)
    known = {(name, attribute) for name, attributes, _ in plain.elements for attribute in attributes}
    assert {(name, key) for name, attributes, _ in parsed.elements for key in attributes} <= known | {("td", "class")}
    shown = "".join(parsed.text)
    assert clean(text, 40)[:39] in shown
    assert "\u202e" not in found.html
    assert "\x07" not in str(found)
    assert len(found.html) < 400_000
    outer = Page(found._repr_html_())
    assert outer.problems == []
    assert [name for name, _, _ in outer.elements] == ["iframe"]
    assert outer.all("iframe")[0]["srcdoc"] == found.html
    assert outer.all("iframe")[0]["sandbox"] == ""


def test_tags_escape_whatever_is_no_markup():
    assert tag("p", "<b>", cls='"x"') == '<p class="&quot;x&quot;">&lt;b&gt;</p>'
    assert tag("p", tag("b", "1 & 2"), None) == "<p><b>1 &amp; 2</b></p>"
    assert tag("meta", charset="utf-8") == '<meta charset="utf-8">'
