"""The sections of the page."""

from __future__ import annotations

from itertools import groupby

from incrowd.report.markup import Html, join, table, tag
from incrowd.report.pictures import bar, histogram, kept_bar, measured
from incrowd.report.rates import Rate
from incrowd.report.summary import AttackLine, CheckLine, ColumnStory, Summary

_MARKS = {"holds": ("✓", "holds"), "broken": ("✗", "broken"), "not checked": ("?", "not checked")}
_BADGES = {"withstood": "holds", "promise broken": "broken", "reported": "open"}
_LEGEND = join(
    tag("span", cls="key b"), "before: the original, as the manifest counts it in steps of k people",
    tag("span", cls="key a"), "after: the release, each row spread evenly over its cell",
)  # fmt: skip


def checks(summary: Summary) -> Html:
    """Return the promises with their outcomes, all other checks, and what could not be checked."""
    judged = summary.judgement
    promised = [line for line in judged.checks if line.is_promise]
    rows: list[list[object]] = [[line.title, _found(line)] for line in promised]
    levels: list[list[object]] = [[words, value] for words, value in judged.reached]
    others = [_check(line) for line in judged.checks if not line.is_promise]
    given = "the published files alone; with the original more can be checked"
    if judged.with_original:
        owned = any(line.name.startswith("private") for line in judged.checks)
        given = f"the published files and the original{', and at what the owner keeps' if owned else ''}"
    parts = [
        tag("p", f"The check is made by code that shares nothing with the method. It looked at {given}."),
        table(["Promise", "Result"], rows, cls="facts") if rows else None,
        table(["Level reached", "Value"], levels, cls="facts") if levels else None,
    ]
    if judged.open:
        parts += [tag("h3", "What could not be checked"), _list(judged.open)]
    parts += [tag("h3", f"All other checks ({len(others)})"), tag("ul", *others, cls="checks")]
    return join(*parts)


def _check(line: CheckLine) -> Html:
    mark, words = _MARKS[line.status]
    return tag("li", tag("b", mark, aria_label=words, role="img"), line.title)


def _found(line: CheckLine) -> Html:
    kind = {"holds": "holds", "broken": "broken", "not checked": "open"}[line.status]
    return join(
        tag("span", line.status, cls=f"badge {kind}"), f" {line.detail.removeprefix('holds ')}" if line.detail else None
    )


def _list(sentences: tuple[str, ...]) -> Html:
    return tag("ul", *(tag("li", sentence, most=1000) for sentence in sentences), cls="plain")


def columns(summary: Summary) -> Html:
    """Return each column's story, with its picture."""
    found = summary.columns
    total = None if found.lost is None else tag(
        "p", f"All together, {found.lost:.0%} of the detail of the columns that recognize people was lost: 0% would be "
        "every value as it was, 100% nothing at all. The published files tell this; with exact values, the owner's "
        "figure may differ a little."
    )  # fmt: skip
    has_before = any(each.before is not None for story in found.each for each in story.bars)
    legend = tag("p", _LEGEND, cls="soft") if has_before else None
    cards = tag("div", *(_column(story) for story in found.each), cls="cards")
    return join(total, _list(found.notes) if found.notes else None, legend, cards)


def _column(story: ColumnStory) -> Html:
    lost = "" if story.lost is None else f"; detail lost: {story.lost:.0%}"
    head = tag("h3", tag("bdi", story.name), tag("span", f" ({story.role}{lost})", cls="soft"))
    note = tag("p", story.note, cls="soft") if story.note else None
    picture: Html | None = None
    if story.is_ordered:
        caption = "Shares of the people over the range of values: bars before, line after."
        picture = tag("figure", histogram(story.name, story.bars), tag("figcaption", caption))
    elif story.bars:
        picture = _names_table(story)
    return tag("div", head, tag("p", story.story), picture, note, cls="column")


def _names_table(story: ColumnStory) -> Html:
    top = max((share for each in story.bars for share in (each.before, each.after) if share is not None), default=1.0)
    with_before = any(each.before is not None for each in story.bars)
    rows: list[list[object]] = []
    for each in story.bars:
        cells = [(each.before, "before"), (each.after, "after")] if with_before else [(each.after, "after")]
        drawn = [measured(share, kind, full=top or 1.0) for share, kind in cells]
        rows.append([tag("bdi", each.label, most=120), *drawn])
    head: list[object] = ["Value", "Before", "After"] if with_before else ["Value", "Share of the rows"]
    return table(head, rows, cls="names")


def usefulness(summary: Summary) -> Html:
    """Return what classifiers keep, or why that was not measured."""
    found = summary.usefulness
    if found.why_not:
        return tag("p", found.why_not)
    rows: list[list[object]] = []
    for line in found.lines:
        ends = "" if line.low is None or line.high is None else f" ({_share(line.low)} to {_share(line.high)})"
        kept = join(f"{line.retention.text}{ends}", kept_bar(line.retention.share))
        rows.append([line.name, kept, line.accuracy.text, line.original.text, line.majority.text])
    explained = (
        "Retention is how much is kept of what a classifier gains from the original: 0% is no better than always "
        "guessing the most frequent class, 100% (the mark) is as good as the original. "
        "More than 100% happens: crowds smooth out chance."
    )
    head: list[object] = ["Classifier", "Retention (interval)", "Accuracy: release", "Original", "Most frequent class"]
    notes = _list(found.notes) if found.notes else None
    return join(tag("p", explained), table(head, rows), tag("p", found.how, cls="soft"), notes)


def _share(rate: Rate) -> str:
    return "?" if rate.share is None else f"{rate.share:.0%}"


def adversaries(summary: Summary, headline: Html) -> Html:
    """Return what every attack got, by family, or why none was tried."""
    found = summary.adversaries
    if found.why_not:
        return tag("p", found.why_not)
    parts: list[Html] = [headline]
    for family, lines in groupby(found.lines, key=lambda line: line.family):
        parts.append(tag("h3", family))
        parts += [_attack(line) for line in lines]
    return join(*parts)


def _attack(line: AttackLine) -> Html:
    badge = tag("span", line.outcome, cls=f"badge {_BADGES.get(line.outcome, 'open')}")
    knows = tag("p", f"The adversary knows {line.knows}.", cls="soft") if line.knows else None
    parts: list[Html | None] = [
        tag("h4", f"{line.name.capitalize()} ", badge), tag("p", line.idea) if line.idea else None, knows,
        tag("p", line.reason, most=2000),
    ]  # fmt: skip
    if line.right is not None and line.claimed is not None:
        rows = [
            [f"Claims made ({line.what})", line.claimed.text],
            ["Claims that were right", _measured(line.right, line.baseline)],
        ]
        if line.baseline is not None:
            rows.append(["Right without these rows (baseline)", _measured(line.baseline, None)])
        parts.append(table(["Measured", "Share of the people"], rows, cls="facts"))
    if line.numbers:
        numbers = [[name.replace("_", " "), _figure(value)] for name, value in line.numbers.items()]
        parts.append(table(["Figure", "Value"], numbers, caption="For the owner", cls="facts"))
    return tag("div", *parts, cls="attack")


def _measured(rate: Rate, mark: Rate | None) -> Html:
    beside = (None if mark is None else mark.share) or None
    is_drawn = rate.share is not None and bool(rate.share or beside)
    return join(rate.text, bar(rate.share, "after", mark=beside) if is_drawn else None)


def _figure(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def risks(summary: Summary) -> Html:
    """Return counts of rows at risk, and what attacks found."""
    parts: list[Html] = []
    for found in summary.risks:
        total = max(1, sum(band.rows for band in found.bands))
        rows: list[list[object]] = [
            [band.label, f"{band.rows:,}", measured(band.rows / total, "after")] for band in found.bands
        ]
        parts += [
            tag("h3", found.title), table([found.head.capitalize(), "Rows", "Share"], rows, cls="names"),
            tag("p", found.meaning, cls="soft"),
        ]  # fmt: skip
    if not summary.risks:
        parts.append(tag("p", "Rows of these tables do not form crowds that could be counted by size here."))
    endangered = [line for line in summary.adversaries.lines if line.at_risk is not None]
    if endangered:
        parts.append(tag("h3", "Whom attacks put at risk"))
        parts.append(
            table(["Attack", "People"], [[line.name, line.at_risk.text if line.at_risk else ""] for line in endangered])
        )
    for line in endangered:
        if line.rows:
            numbers = ", ".join(map(str, line.rows))
            parts.append(tag("p", f"For the owner: rows of the original, worst first ({line.name}): {numbers}"))
    if summary.adversaries.status == "holds":
        parts.append(tag("p", "No attack put anybody at more risk than the release promises."))
    return join(*parts)


def making(summary: Summary) -> Html:
    """Return method, accounts of rows, the command, and digests of the files."""
    made = summary.making
    facts = table(["Fact", "How it was made"], [[what, value] for what, value in made.facts], cls="facts")
    rows = table(["Rows", "Number"], [[what, f"{n:,}"] for what, n in made.rows], cls="facts")
    command = join(
        tag("p", "To make such a release again, from a table and a schema of your own (randomness that protects people "
                 "is drawn anew):"),
        tag("pre", tag("code", made.command, most=2000)),
    )  # fmt: skip
    files: list[Html] = []
    if made.files:
        digests = [[tag("code", name), tag("code", digest)] for name, digest in made.files]
        files = [table(["File", "SHA-256"], digests, caption="The files that this report is about", cls="facts")]
    return join(facts, rows, command, *files)
