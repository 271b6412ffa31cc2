"""The report as one HTML page that needs nothing else."""

from __future__ import annotations

from incrowd.report.markup import Html, escape, join, table, tag
from incrowd.report.page_parts import (
    adversaries,
    checks,
    columns,
    making,
    risks,
    usefulness,
)
from incrowd.report.style import STYLE
from incrowd.report.summary import OWNER, PUBLIC, Status, Summary

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The page loads nothing and runs nothing, whatever names and values of the table say."""

_KINDS: dict[Status, str] = {"holds": "holds", "broken": "broken", "not checked": "open"}


def render(summary: Summary) -> str:
    """Return the whole page."""
    sections = [
        ("What this file promises", _promise(summary)),
        ("The independent check", join(verdict(summary.judgement.status, summary.judgement.headline), checks(summary))),
        ("What each column lost", columns(summary)),
        ("What classifiers keep", usefulness(summary)),
        (
            "What adversaries got",
            adversaries(summary, verdict(summary.adversaries.status, summary.adversaries.headline)),
        ),
        ("Who is most at risk", risks(summary)),
        ("How it was made", making(summary)),
        ("Limits", _limits(summary)),
    ]
    body = [
        tag("section", tag("h2", tag("span", f"{number}.", cls="number"), title, id=f"part-{number}"), content,
            aria_labelledby=f"part-{number}")
        for number, (title, content) in enumerate(sections, start=1)
    ]  # fmt: skip
    banner = tag("p", tag("strong", OWNER), cls="owner", role="note") if summary.for_owner else None
    top = tag("header", banner, tag("h1", summary.title), tag("p", _about(summary), cls="soft"), cls="top")
    foot = tag("footer", tag("p", OWNER if summary.for_owner else PUBLIC))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("title", summary.title),
        tag("style", Html(STYLE)),
    )
    page = tag("html", head, tag("body", top, tag("main", *body), foot), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def verdict(status: Status, headline: str) -> Html:
    """Return a headline in the colour of its status."""
    return tag("p", headline, cls=f"verdict {_KINDS[status]}", most=2000)


def _about(summary: Summary) -> str:
    made = dict(summary.making.facts)
    rows = dict(summary.making.rows)
    return f"{rows['Released']:,} released rows; method {made['Method']}; {made['Promises']}"


def _promise(summary: Summary) -> Html:
    promise = summary.promise
    roles = [[what, join(*_names(names))] for what, names in promise.roles]
    return join(
        tag("p", promise.sentence, cls="lead", most=3000),
        tag("ul", *(tag("li", point, most=1000) for point in promise.points), cls="plain"),
        _tiles(summary),
        table(["Columns", "Names"], roles, caption="Which column is what: the owner's word, on which all else rests",
              cls="facts"),
    )  # fmt: skip


def _names(names: tuple[str, ...]) -> list[Html]:
    found: list[Html] = []
    for name in names:
        found += [escape(", ")] if found else []
        found.append(tag("bdi", name))
    return found


def _tiles(summary: Summary) -> Html:
    words = {"holds": "Holds", "broken": "Broken", "not checked": "Not fully checked"}
    tiles = [(words[summary.judgement.status], "the independent check of every promise")]
    if summary.columns.lost is not None:
        tiles.append((f"{summary.columns.lost:.0%}", "of the detail was lost, of the columns that recognize people"))
    kept = [line.retention for line in summary.usefulness.lines if line.retention.share is not None]
    if kept:
        shares = sorted(kept, key=lambda rate: rate.share or 0.0)
        told = f"{shares[0].share:.0%}" if len(kept) == 1 else f"{shares[0].share:.0%} to {shares[-1].share:.0%}"
        tiles.append((told, "of what classifiers gain is kept"))
    attacks = summary.adversaries
    withstood = sum(line.outcome in ("withstood", "reported") for line in attacks.lines)
    if attacks.status != "broken" and withstood:
        tiles.append((f"{withstood} of {len(attacks.lines)}", "attacks were tried, judged and withstood"))
    else:
        tiles.append(("Promise broken" if attacks.status == "broken" else "Not tried", "attacks by adversaries"))
    return tag("ul", *(tag("li", tag("b", value), tag("span", what)) for value, what in tiles), cls="tiles")


def _limits(summary: Summary) -> Html:
    parts: list[Html] = []
    for heading, sentences in summary.limits:
        parts.append(tag("h3", heading))
        parts += [tag("p", sentence, most=2000) for sentence in sentences]
    return join(*parts)
