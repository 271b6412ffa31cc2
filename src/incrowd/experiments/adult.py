"""Adult as several papers take it: complete rows, and the taxonomies of its names."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import polars as pl

from incrowd import datasets
from incrowd.datasets.sources import folder

CLASS = "income"
_TREES = {
    "tds": "Taxonomies are those of the folder INCROWD_DATA, in the style of the paper on top-down specialization.",
    "own": "Taxonomies are our own, as INCROWD_DATA names none: the paper's figures are for other trees.",
}


@lru_cache(maxsize=2)
def part_of(name: str) -> pl.DataFrame:
    """Return the complete rows of a part: ``"adult"`` or ``"adult_test"``."""
    return datasets.load(name).drop_nulls()


def trees() -> str:
    """Return which taxonomies `datasets.schemas.adult_trees` has: ``"tds"`` from the data folder, or our ``"own"``."""
    where = folder()
    return "tds" if where is not None and (where / "hierarchies" / "adult_tds").is_dir() else "own"


def about_trees(names: Iterable[str]) -> list[str]:
    """Return a note on each kind of taxonomies that tasks were computed with."""
    return [_TREES[name] for name in sorted(set(names))]
