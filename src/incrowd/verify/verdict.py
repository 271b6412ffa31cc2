"""What the verifier says: one line per check, the levels that were reached, and nothing of anybody's data."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from incrowd.errors import VerificationError, counted

Level = float | int | None

_MARKS = {True: "ok", False: "FAIL", None: "--"}
_PROMISES = re.compile(
    r"(k|blocks|l \(\w+\)|t|t \((?:ordered|tree)\)|alpha|beta|beta \(enhanced\)|delta|width|lkc)( of '.*')?", re.DOTALL
)
_OF_ALL = ("k", "members")  # found while one sensitive column is looked at, and about all
_LEAST = re.compile(r"l_\w+|k|m|concealment|lkc_k|\w+_min")  # levels of which the smallest is the worst


@dataclass(frozen=True, slots=True)
class Check:
    """One question and its answer.

    Attributes
    ----------
    name
        What was checked.
    ok
        Whether it holds; ``None`` when it cannot be told from what was given.
    detail
        Column names, counts, parameters and row positions in the release, counted from 1; never a cell.
    needed
        Whether the verdict is incomplete if it cannot be told.
    """

    name: str
    ok: bool | None
    detail: str
    needed: bool = True


@dataclass(frozen=True)
class Verdict:
    """The answers to all checks of one release.

    Attributes
    ----------
    checks
        Every check that was made or could not be made.
    levels
        The levels that the release reaches, whether promised or not; ``None`` where unknown.
    """

    checks: tuple[Check, ...]
    levels: dict[str, Level] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return all(check.ok is not False for check in self.checks)

    @property
    def complete(self) -> bool:
        """Whether every check was made that a promise rests on, or that what was given called for."""
        return all(check.ok is not None or not check.needed for check in self.checks)

    @property
    def violations(self) -> list[str]:
        """One sentence per failed check."""
        return [f"{check.name}: {check.detail}" for check in self.checks if check.ok is False]

    @property
    def unknown(self) -> list[str]:
        """One sentence per check that could not be made."""
        return [f"{check.name}: {check.detail}" for check in self.checks if check.ok is None]

    @property
    def unchecked(self) -> list[str]:
        """Names of the promises (k, l, t, alpha, beta, delta, width, lkc, blocks) that could not be checked."""
        return sorted(check.name for check in self.checks if check.ok is None and _PROMISES.fullmatch(check.name))

    @property
    def mixes_releases(self) -> bool:
        """Whether the rows of several releases are in one table, so that no promise can be checked."""
        return any(check.name == "releases" and check.ok is None for check in self.checks)

    def raise_for_violations(self) -> None:
        """Raise `VerificationError` unless the verdict is ok."""
        found = self.violations
        if found:
            fact = f"The release does not keep its promise: {counted(len(found), 'violation')}\n  " + "\n  ".join(found)
            raise VerificationError(fact, "do not share it; publish it again, or fix what is listed", violations=found)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        checks = [{"name": c.name, "ok": c.ok, "detail": c.detail} for c in self.checks]
        return {
            "ok": self.ok,
            "complete": self.complete,
            "unchecked": self.unchecked,
            "checks": checks,
            "levels": dict(self.levels),
        }

    def _headline(self) -> str:
        failed, open_ = len(self.violations), len(self.unknown)
        unshown = len(self.unchecked)
        head = "holds"
        if failed:
            head = f"BROKEN, {failed} of {len(self.checks)} checks failed"
        elif any(check.name == "promises" and check.ok is None for check in self.checks):
            head = "no promise was given"
        elif unshown:
            head = f"holds as far as it could be checked; {counted(unshown, 'promise')} not checked"
        elif not self.complete:
            head = "holds as far as it could be checked"
        return f"Verdict: {head} ({len(self.checks)} checks, {open_} not possible)"

    def __str__(self) -> str:
        width = max((len(check.name) for check in self.checks), default=0)
        lines = [self._headline()]
        lines += [f"  {_MARKS[c.ok]:<4}  {c.name:<{width}}  {c.detail}" for c in self.checks]
        if self.levels:
            lines.append("Levels reached:")
            width = max(map(len, self.levels))
            lines += [f"  {name:<{width}}  {_number(value)}" for name, value in self.levels.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{_MARKS[c.ok]}</td><td>{html.escape(c.name)}</td><td>{html.escape(c.detail)}</td></tr>"
            for c in self.checks
        )
        levels = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{_number(value)}</td></tr>" for name, value in self.levels.items()
        )
        return (
            f"<div><p><b>{html.escape(self._headline())}</b></p><table>{rows}</table>"
            f"<p>Levels reached</p><table>{levels}</table></div>"
        )


class Findings:
    """Collects checks and levels while the verifier walks through a release."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.levels: dict[str, Level] = {}

    def judge(self, name: str, problems: Sequence[str], fine: str) -> bool:
        """Note a check that holds when there are no problems, and return whether it does."""
        self.checks.append(Check(name, not problems, "; ".join(problems) if problems else fine))
        return not problems

    def note_roles(
        self, known: Sequence[str], secret: Sequence[str], other: Sequence[str], dropped: Sequence[str]
    ) -> None:
        """Note what the owner says of each column, which nobody else can judge."""
        said = (("recognized by", known), ("sensitive", secret), ("as they came", other))
        roles = [f"{what} {', '.join(names) or 'none'}" for what, names in said]
        self.judge("roles", [], "; ".join([*roles, f"not released {len(dropped)}"]))

    def note_word(
        self,
        tokens: Sequence[str],
        codes: Mapping[str, Sequence[str]],
        parameters: dict[str, Any],
        more: Sequence[str] = (),
    ) -> None:
        """Note what else the manifest says on the owner's word: no table can show that it is so."""
        said = [f"missing tokens {', '.join(map(repr, tokens))}"] if tokens else []
        said += [f"missing codes of {name!r} {', '.join(map(repr, texts))}" for name, texts in codes.items()]
        given = [f"parameters {json.dumps(parameters)}"] if parameters else []
        self.judge("owner's word", [], "; ".join([*said, *more, *given]) or "nothing else")

    def skip(self, name: str, why: str, *, needed: bool = True) -> None:
        """Note a check that cannot be made; without one that is needed the verdict is incomplete."""
        self.checks.append(Check(name, None, why, needed))

    def part(self, column: str) -> Findings:
        """Return what was found about one of several sensitive columns so far; `add` brings it back."""
        found, end = Findings(), _about(column)
        own = [check for check in self.checks if check.name.endswith(end)]
        found.checks = [replace(check, name=check.name.removesuffix(end)) for check in own]
        self.checks = [check for check in self.checks if not check.name.endswith(end)]
        return found

    def add(self, column: str, found: Findings) -> None:
        """Take over what was found about one of several sensitive columns; the worst level of all columns counts."""
        for check in found.checks:
            if check.name not in _OF_ALL:
                self.checks.append(replace(check, name=check.name + _about(column)))
            elif check not in self.checks:
                self.checks.append(check)
        for name, level in found.levels.items():
            known = self.levels.get(name, level)
            worst = min if _LEAST.fullmatch(name) else max
            self.levels[name] = None if level is None or known is None else worst(level, known)

    def verdict(self) -> Verdict:
        """Return what was found."""
        return Verdict(tuple(self.checks), dict(self.levels))


def _about(column: str) -> str:
    return f" of {column!r}"


def first_row(at: int) -> str:
    """Say where something is first true, in the counting of people."""
    return f"first at release row {at + 1}"


def _number(value: Level) -> str:
    return "unknown" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
