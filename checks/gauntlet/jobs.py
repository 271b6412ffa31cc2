"""What a worker does: a few tables, the plants of one release, a kill, a full disk."""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from checks.gauntlet.cases import METHODS, make_case
from checks.gauntlet.crashes import fill_disk, kill_once
from checks.gauntlet.forging import forge_case
from checks.gauntlet.several import ONE_ONLY
from checks.gauntlet.trial import FOREIGN, Outcome, remove, try_case, what_and_where
from incrowd.errors import IncrowdError

TABLES_PER_JOB = len(METHODS)
_MEMORY = Path("/dev/shm")  # saving waits for the disk, hundreds of times a minute
_CRASHES = {"kills": kill_once, "disks": fill_disk}


@dataclass
class Report:
    """What came of one job, or of many.

    Attributes
    ----------
    counts
        How often what happened: (kind, what was tried, how it ended).
    escapes
        One line each: what escaped, and how to see it again.
    seconds
        Time that each kind took.
    """

    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    escapes: list[str] = field(default_factory=list)
    seconds: Counter[str] = field(default_factory=Counter)

    def add(self, other: Report) -> None:
        """Take in what another report says."""
        self.counts += other.counts
        self.escapes += other.escapes
        self.seconds += other.seconds

    def total(self, kind: str, *ends: str) -> int:
        """Count what was tried of a kind, and ended in one of these ways."""
        return sum(n for (own, _, end), n in self.counts.items() if own == kind and (not ends or end in ends))


def do_job(kind: str, seed: str, number: int) -> Report:
    """Do one job; its number decides everything that is random in it."""
    report, start = Report(), time.monotonic()
    if kind == "tables":
        for case in range(number * TABLES_PER_JOB, (number + 1) * TABLES_PER_JOB):
            try_table(seed, case, report)
    elif kind == "several":
        protecting = [place for place, name in enumerate(METHODS) if name not in ONE_ONLY]
        for place in protecting:
            try_table(seed, number * TABLES_PER_JOB + place, report, several=True)
    elif kind == "plants":
        plant_all(seed, number, report)
    else:
        outcome, what = _CRASHES[kind](random.Random(f"{seed}/{kind}/{number}"))
        _note(report, kind, what, outcome, f"--seed {seed} --{kind[:-1]} {number}")
    report.seconds[kind] = time.monotonic() - start
    return report


def try_table(seed: str, number: int, report: Report, *, several: bool = False) -> None:
    """Try one table, perhaps with several sensitive columns."""
    method = METHODS[number % len(METHODS)]
    again = f"--seed {seed} --case {number}{' --several 1' if several else ''}"
    try:
        case = make_case(seed, number, several=several, plain=several and number // TABLES_PER_JOB % 3 > 0)
    except IncrowdError as error:
        _note(report, "tables", method, Outcome("refused", type(error).__name__), again)
        return
    except FOREIGN as error:  # whatever is not ours is an escape
        _note(report, "tables", method, Outcome("escaped", what_and_where(error)), again)
        return
    place = Path(tempfile.mkdtemp(prefix="gauntlet-", dir=_MEMORY if _MEMORY.is_dir() else None))
    try:
        _note(report, "tables", method, try_case(case, place / "out"), f"{again}  # {case.told}")
    finally:
        remove(place)


def plant_all(seed: str, number: int, report: Report, *, only: str | None = None) -> None:
    """Plant every violation in the release of one case."""
    place = Path(tempfile.mkdtemp(prefix="gauntlet-", dir=_MEMORY if _MEMORY.is_dir() else None))
    try:
        case = make_case(f"{seed}/plants", number, plain=True)
        for planted in forge_case(case, place / "out", only=only):
            again = f'--seed {seed} --forge {number} --plant "{planted.name}"  # {case.told}'
            _note(report, "plants", planted.name, planted.outcome, again)
    finally:
        remove(place)


def _note(report: Report, kind: str, what: str, outcome: Outcome, again: str) -> None:
    end = f"{outcome.how} {outcome.why}" if kind == "tables" and outcome.how == "refused" else outcome.how
    report.counts[kind, what, end] += 1
    if outcome.how == "escaped":
        report.escapes.append(f"{kind[:-1]}, {what}: {outcome.why}\n    python -m checks.gauntlet {again}")
