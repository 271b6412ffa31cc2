"""Registry of attacks: name to function. A new one is one file in this room and one entry in `ATTACKS`.

An attack is a function that takes what is `Given` and returns a `Finding`. Other packages add theirs by an entry point
of the group ``incrowd.attacks``, whose name is the attack's::

    [project.entry-points."incrowd.attacks"]
    guessing = "guessing_package:attack"

Nothing of another package is imported until its attack runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import cast

import numpy as np
import polars as pl

from incrowd.attacks.finding import Finding
from incrowd.attacks.scene import Scene
from incrowd.errors import IncompatibleError, ParameterError

GROUP = "incrowd.attacks"

ATTACKS = {
    "linking": "incrowd.attacks.linking:attack",
    "matching": "incrowd.attacks.matching:attack",
    "reconstruction": "incrowd.attacks.reconstruction:attack",
    "minimality": "incrowd.attacks.minimality:attack",
    "classifier": "incrowd.attacks.classifier:attack",
    "intersection": "incrowd.attacks.intersection:attack",
    "differencing": "incrowd.attacks.differencing:attack",
    "guessed-seed": "incrowd.attacks.guessed_seed:attack",
}
"""The attacks of this package, in the order in which they run."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Given:
    """What an attack is given.

    Attributes
    ----------
    scene
        The release under attack, and the people.
    earlier
        Other releases about the same people.
    known
        Share of the sensitive values that the adversary knows beforehand, 0 to 1.
    non_members
        People of the same population who are not in the table.
    rng
        The adversary's own randomness.
    progress
        Called with (stage, done, total).
    """

    scene: Scene
    earlier: tuple[Scene, ...] = ()
    known: float = 0.0
    non_members: pl.DataFrame | None = None
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    progress: Progress = lambda _stage, _done, _total: None


Attack = Callable[[Given], Finding]


def attack_names() -> list[str]:
    """Return the names of all attacks, ours first; nothing is imported."""
    return [*ATTACKS, *sorted(_others())]


def find_attack(name: str) -> Attack:
    """Return an attack by its name."""
    if name in ATTACKS:
        return cast("Attack", EntryPoint(name, ATTACKS[name], GROUP).load())
    others = _others()
    if name not in others:
        fact = f"There is no attack {name!r}"
        raise ParameterError(fact, f"use some of {', '.join(attack_names())}")
    entry = others[name]
    try:
        return cast("Attack", entry.load())
    except Exception as error:
        fact = f"Attack {name!r} cannot be loaded: {type(error).__name__}: {error}"
        raise IncompatibleError(fact, f"repair or uninstall that package; its entry point is {entry.value}") from error


def _others() -> dict[str, EntryPoint]:
    """Return the entry points of other packages by name; a name of ours is ours."""
    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in ATTACKS}
