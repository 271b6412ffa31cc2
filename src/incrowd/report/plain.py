"""The report as text for a terminal."""

from __future__ import annotations

from textwrap import wrap

from incrowd.report.markup import clean
from incrowd.report.summary import OWNER, Summary

_WIDTH = 100


def render(summary: Summary) -> str:
    """Return the whole report in lines."""
    parts = [
        _section("What this file promises", [summary.promise.sentence, *summary.promise.points]),
        _section(
            "The independent check", [summary.judgement.headline, *(f"Open: {o}" for o in summary.judgement.open)]
        ),
        _section("What each column lost", _columns(summary)),
        _section("What classifiers keep", _classifiers(summary)),
        _section("What adversaries got", _adversaries(summary)),
        _section("Who is most at risk", _risks(summary)),
        _section(
            "How it was made", [f"{what}: {value}" for what, value in (*summary.making.facts, *summary.making.rows)]
        ),
        [summary.making.command],
        _section("Limits", [f"{head}: {' '.join(said)}" for head, said in summary.limits]),
    ]
    banner = [OWNER, ""] if summary.for_owner else []
    lines = [*banner, summary.title, *(line for part in parts for line in part)]
    return "\n".join(clean(line, 4000) for line in lines)


def _section(title: str, sentences: list[str]) -> list[str]:
    lines = ["", title, "-" * len(title)]
    for sentence in sentences:
        lines += wrap(sentence, _WIDTH, subsequent_indent="  ") or [""]
    return lines


def _columns(summary: Summary) -> list[str]:
    found = summary.columns
    lines = [
        f"{story.name} ({story.role}): {story.story}"
        + ("" if story.lost is None else f" Detail lost: {story.lost:.0%}.")
        for story in found.each
    ]
    return [*lines, *([] if found.lost is None else [f"All together: {found.lost:.0%}."]), *found.notes]


def _classifiers(summary: Summary) -> list[str]:
    found = summary.usefulness
    if found.why_not:
        return [found.why_not]
    lines = [
        f"{line.name}: retention {line.retention.text}; accuracy {line.accuracy.text}, on the original "
        f"{line.original.text}, by the most frequent class {line.majority.text}"
        for line in found.lines
    ]
    return [*lines, found.how, *found.notes]


def _adversaries(summary: Summary) -> list[str]:
    found = summary.adversaries
    if found.why_not:
        return [found.why_not]
    lines = [found.headline]
    for line in found.lines:
        told = f"{line.name} ({line.family.lower()}): {line.outcome}. {line.reason}"
        if line.right is not None and line.baseline is not None:
            told += f" Right: {line.right.text}; baseline: {line.baseline.text}."
        lines.append(told)
    return lines


def _risks(summary: Summary) -> list[str]:
    lines = [
        f"{found.title} {'; '.join(f'{band.label}: {band.rows}' for band in found.bands)}" for found in summary.risks
    ]
    for line in summary.adversaries.lines:
        if line.at_risk is not None:
            rows = f"; rows of the original: {', '.join(map(str, line.rows))}" if line.rows else ""
            lines.append(f"{line.name} puts at risk: {line.at_risk.text}{rows}")
    return lines or ["Rows of these tables do not form crowds that could be counted by size here."]
