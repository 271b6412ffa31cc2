"""Plants violations in releases and asks incrowd for its verdict."""

from __future__ import annotations

import random
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path

import incrowd as ic
from checks.gauntlet import (  # noqa: F401
    plants_files,
    plants_fuzz,
    plants_likeness,
    plants_manifest,
    plants_private,
    plants_ranges,
    plants_rows,
    plants_several,
)  # fmt: skip
from checks.gauntlet.cases import Case
from checks.gauntlet.forger import Forger, repair_digests
from checks.gauntlet.oracle import judge
from checks.gauntlet.plants import PLANTS, Plant
from checks.gauntlet.trial import FOREIGN, Outcome, asked_of, remove, what_and_where
from incrowd.errors import IncrowdError


@dataclass(frozen=True)
class Planted:
    """What was planted, and what incrowd said: ``refused``, ``unchecked``, ``escaped``, or ``harmless``."""

    name: str
    outcome: Outcome


def forge_case(case: Case, folder: Path, *, only: str | None = None) -> list[Planted]:
    """Publish a case and plant every violation of the catalogue that finds a place, each in a copy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            case.publish().save(folder)
        except IncrowdError:
            return []
        verdict, alone = ic.verify(folder, case.frame), ic.verify(folder)
    if not verdict.ok or not verdict.complete or not alone.ok:
        said = "; ".join([*verdict.violations, *verdict.unknown, *alone.violations])[:300]
        remove(folder)
        return [Planted("nothing", Outcome("escaped", f"an honest release was not accepted: {said}"))]
    found = []
    for name, plant in PLANTS.items():
        if only is None or only == name:
            outcome = _forge(case, plant, folder)
            found += [] if outcome is None else [Planted(name, outcome)]
    remove(folder)
    return found


def _forge(case: Case, plant: Plant, folder: Path) -> Outcome | None:
    rng = random.Random(f"{case.seed}/{case.number}/{plant.name}")
    forged = folder.with_name(f"forged-{folder.name}")
    try:
        if plant.on_files:
            for end in ("", ".private"):
                shutil.copytree(f"{folder}{end}", f"{forged}{end}")
            if not plant.act(forged, rng):
                return None
            repair_digests(forged)
        else:
            forger = Forger(folder)
            if not plant.act(forger, rng):
                return None
            forger.write(forged)
        if not plant.sure and not judge(forged, asked_of(case)):
            return Outcome("harmless")
        return _ask(case, plant, forged)
    finally:
        remove(forged)


def _ask(case: Case, plant: Plant, forged: Path) -> Outcome:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            verdict = ic.verify(forged, case.frame)
    except IncrowdError as error:
        return Outcome("refused", type(error).__name__)
    except FOREIGN as error:
        return Outcome("escaped", what_and_where(error))
    if not verdict.ok:
        return Outcome("refused", verdict.violations[0][:80])
    if not verdict.complete:
        return Outcome("unchecked" if plant.honest else "escaped", "could not be checked")
    return Outcome("escaped", "verify said that all is well")
