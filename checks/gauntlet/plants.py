"""Violations to plant: each is a function of a forger and a random generator that says whether it found a place.

A *sure* plant breaks the format or a promise wherever it can be made. Of the others the oracle says whether they did.
An *honest* answer to some is that something could not be checked.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from checks.gauntlet.forger import Forger

Act = Callable[[Forger, random.Random], bool]


@dataclass(frozen=True)
class Plant:
    """One kind of violation.

    Attributes
    ----------
    sure
        Whether it is a violation wherever it can be made; else the oracle judges.
    honest
        Whether "could not be checked" is an answer.
    on_files
        Whether it is done to the files after everything was written and repaired; then the forger's folder is given.
    """

    name: str
    act: Callable[..., bool]
    sure: bool
    honest: bool = False
    on_files: bool = False


PLANTS: dict[str, Plant] = {}


def plant(
    *, sure: bool, honest: bool = False, on_files: bool = False
) -> Callable[[Callable[..., bool]], Callable[..., bool]]:
    """Enter a function into the catalogue under its name."""

    def enter(act: Callable[..., bool]) -> Callable[..., bool]:
        name = act.__name__.replace("_", " ")
        PLANTS[name] = Plant(name, act, sure, honest, on_files)
        return act

    return enter
