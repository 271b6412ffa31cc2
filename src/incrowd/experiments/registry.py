"""All experiments by name. Each file of them is loaded when it is asked for."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from incrowd.errors import ParameterError
from incrowd.experiments.experiment import Experiment

MODULES: tuple[str, ...] = (
    "nsvdist_table4",
    "nsvdist_ranks",
    "nsvdist_curves",
    "nsvdist_losses",
    "dmpd_table1",
    "dmpd_rivals",
    "dmpd_search",
    "friedman_table6",
    "friedman_curves",
    "iac_curves",
    "iac_figures",
    "class_aware",
    "rules_releases",
)
"""Files of this room that have a tuple ``EXPERIMENTS``."""


@cache
def experiments() -> dict[str, Experiment]:
    """Return all experiments by name, in the order of `MODULES`."""
    loaded = [import_module(f"incrowd.experiments.{module}").EXPERIMENTS for module in MODULES]
    return {experiment.name: experiment for several in loaded for experiment in several}


def experiment(name: str) -> Experiment:
    """Return an experiment."""
    known = experiments()
    if name not in known:
        fact = f"There is no experiment called {name!r}"
        raise ParameterError(fact, f"use one of {', '.join(known)}")
    return known[name]


@cache
def published(paper: str) -> dict[str, Any]:
    """Return the figures of a paper, as typed once from its text into ``published/``."""
    text = (files("incrowd.experiments") / "published" / f"{paper}.toml").read_text("utf-8")
    return tomllib.loads(text)
