"""The report of all attacks on a release, in plain words."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from incrowd.attacks.finding import Finding
from incrowd.errors import VerificationError, counted
from incrowd.manifest import Guarantee

_MOST_SHOWN = 8
_CAVEAT = "This is evidence for review: other attacks than those tried are possible."


@dataclass(frozen=True)
class AttackReport:
    """What a release promises, what was tried, and what came out.

    Attributes
    ----------
    method
        Name of the method that made the release.
    guarantees
        Its promises, as in the manifest.
    people
        Number of people in the original.
    findings
        One per attack.
    """

    method: str
    guarantees: Sequence[Guarantee]
    people: int
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether no attack broke the promise."""
        return all(finding.ok for finding in self.findings)

    def __getitem__(self, attack: str) -> Finding:
        """Return the finding of an attack by its name."""
        return next(finding for finding in self.findings if finding.attack == attack)

    def raise_for_breaches(self) -> None:
        """Raise `VerificationError` unless all attacks stayed below the promise."""
        if not self.ok:
            found = [f"{f.title}: {f.why}" for f in self._broken]
            fact = f"{len(found)} of {counted(len(self.findings), 'attack')} broke the promise of this release\n  "
            hint = "do not share it: raise k or l, or use another method or mode"
            raise VerificationError(fact + "\n  ".join(found), hint, violations=found)

    @property
    def _broken(self) -> list[Finding]:
        return [finding for finding in self.findings if not finding.ok]

    @property
    def headline(self) -> str:
        """The outcome in one sentence."""
        tried = [f for f in self.findings if f.outcome != "not applicable"]
        if not tried:
            return f"{self.method}: no attack could be judged"
        if self.ok:
            held, told = (
                ", ".join(f.title for f in tried if f.outcome == outcome) for outcome in ("withstood", "reported")
            )
            parts = [f"withstood {held}"] if held else []
            parts += [f"promises nothing about what {told} found"] if told else []
            about = f"the release of {counted(self.people, 'person', 'people')}"
            return f"{self.method}: {about} {' and '.join(parts)}"
        names = ", ".join(f.title for f in self._broken)
        return f"{self.method}: PROMISE BROKEN by {names} ({counted(len(tried), 'attack')} tried)"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON: row numbers of the original, never a value."""
        return {
            "method": self.method,
            "guarantees": [g.to_dict() for g in self.guarantees],
            "people": self.people,
            "ok": self.ok,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def __str__(self) -> str:
        promised = "; ".join(g.sentence for g in self.guarantees) or "nothing"
        lines = [self.headline, f"Promised: {promised}."]
        for finding in self.findings:
            lines += ["", f"{finding.title}: {finding.outcome}"]
            lines += [f"  the adversary knows {finding.knows}"] if finding.knows else []
            lines.append(f"  {finding.why}")
            lines += [
                f"  {label} {s}" for label, s in (("result:", finding.success), ("baseline:", finding.baseline)) if s
            ]
            if finding.n_at_risk:
                rows = ", ".join(str(row + 1) for row in finding.at_risk[:_MOST_SHOWN])
                more = f" and {finding.n_at_risk - _MOST_SHOWN} more" if finding.n_at_risk > _MOST_SHOWN else ""
                lines.append(f"  most at risk, by row of the original: {rows}{more}")
        return "\n".join([*lines, "", _CAVEAT])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("attack", "outcome", "why", "result", "baseline"))
        rows = "".join(
            "<tr>"
            + "".join(
                f"<td>{html.escape(str(cell))}</td>"
                for cell in (f.title, f.outcome, f.why, f.success or "", f.baseline or "")
            )
            + "</tr>"
            for f in self.findings
        )
        return (
            f"<div><p><b>{html.escape(self.headline)}</b></p><table><tr>{head}</tr>{rows}</table><p>{_CAVEAT}</p></div>"
        )
