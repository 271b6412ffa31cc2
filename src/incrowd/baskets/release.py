"""A release of baskets: what is published of each, what the published names stand for, and its folder."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from incrowd import io
from incrowd.baskets.reading import Read, read_baskets
from incrowd.errors import InputError, VerificationError, counted
from incrowd.rules.itemsets import Baskets, find_rules, rules_frame
from incrowd.rules.release_rules import RuleComparison, compare_rules
from incrowd.verify.baskets import check_basket_files, check_baskets
from incrowd.version import __version__

if TYPE_CHECKING:
    from incrowd.baskets.search import Search
    from incrowd.verify import Verdict

FORMAT = 1
MANIFEST, ROWS = "manifest.json", "baskets.csv"


@dataclass(frozen=True)
class BasketRelease:
    """Baskets of published items, in the order of what they hold, so that the order tells nothing.

    Attributes
    ----------
    frame
        A row for each published item of each basket: `basket` (from 1) and `item`.
    empty
        Baskets without any item, which are not in the frame.
    stands_for
        The items that each published name stands for.
    loss
        The normalized certainty penalty: 0 where every item is published as it was, 1 where nothing is told.
    columns
        The columns of the original that name basket and item; ``None`` if it came as lists.
    """

    frame: pl.DataFrame
    empty: int
    stands_for: dict[str, list[str]]
    k: int
    m: int
    search: str
    loss: float
    columns: tuple[str, str] | None

    @classmethod
    def of(cls, found: Search, read: Read, *, m: int, name: str) -> BasketRelease:
        """Take what a search of this name found."""
        tree = found.tree
        basket, node = found.recoded()
        names = np.array(tree.names, object)[node]
        held: dict[int, list[str]] = {}
        for number, own in zip(basket.tolist(), names.tolist(), strict=True):
            held.setdefault(number, []).append(own)
        ordered = sorted(map(sorted, held.values()))
        rows = [(number, own) for number, items in enumerate(ordered, start=1) for own in items]
        frame = pl.DataFrame(rows, schema={"basket": pl.Int64, "item": pl.String}, orient="row")
        stands_for = {
            tree.names[own]: tree.names[int(tree.lo[own]) : int(tree.hi[own]) + 1] for own in np.unique(found.cut)
        }
        return cls(frame, read.n_empty, stands_for, found.k, m, name, found.loss, read.columns)

    @property
    def baskets(self) -> list[list[str]]:
        """The baskets as lists."""
        return self.frame.group_by("basket", maintain_order=True).agg("item")["item"].to_list()

    @property
    def n_baskets(self) -> int:
        """Baskets, those without an item among them."""
        return self.frame["basket"].n_unique() + self.empty

    @property
    def promise(self) -> str:
        """The promise as a sentence."""
        return f"whoever knows at most {self.m} items of a basket finds at least {self.k} baskets that hold them"

    def manifest(self) -> dict[str, Any]:
        """Return what everybody may know, as it stands in manifest.json."""
        return {
            "format": FORMAT,
            "incrowd": __version__,
            "payload": "baskets",
            "columns": None if self.columns is None else list(self.columns),
            "method": {"name": "km_baskets", "parameters": {"k": self.k, "m": self.m, "search": self.search}},
            "guarantees": [{"kind": "km", "k": self.k, "m": self.m}],
            "baskets": {"released": self.n_baskets, "empty": self.empty},
            "items": [{"name": name, "stands_for": own} for name, own in sorted(self.stands_for.items())],
        }

    def verify(self, original: Any = None, *, basket: str | None = None, item: str | None = None) -> Verdict:  # noqa: ANN401
        """Check the promise by code that shares nothing with the search; completely, if the original is given."""
        read = None if original is None else read_baskets(original, basket, item)
        rows = None if read is None else read.frame.select("basket", pl.col("item").cast(pl.String)).rows()
        return check_baskets(self.manifest(), self.frame.rows(), rows, None if read is None else read.n_baskets)

    def save(self, folder: str | Path, *, replace: bool = False) -> None:
        """Write the release folder, read back and checked before it gets its name."""
        target = Path(folder)
        if replace:
            _check_replaceable(target)
        else:
            io.refuse_existing(target)
        with io.atomic_folders(target, replace=replace) as (staged,):
            (staged / MANIFEST).write_text(
                json.dumps(self.manifest(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
            )
            io.write_canonical_csv(self.frame, staged / ROWS)
            verdict = check_basket_files(staged)
            if not verdict.ok:
                fact = "What was written is not what was verified\n  " + "\n  ".join(verdict.violations)
                raise VerificationError(fact, "nothing was kept; report this", violations=verdict.violations)

    def rules(
        self, *, min_support: float = 0.01, min_confidence: float = 0.5, max_len: int | None = None
    ) -> pl.DataFrame:
        """Mine association rules of the published items; their numbers are exact."""
        held = [*self.baskets, *([[]] * self.empty)]
        return _rules(held, min_support, min_confidence, max_len)

    def compare_rules(
        self,
        original: Any,  # noqa: ANN401
        *,
        basket: str | None = None,
        item: str | None = None,
        min_support: float = 0.01,
        min_confidence: float = 0.5,
        max_len: int | None = None,
    ) -> RuleComparison:
        """Compare its rules with those of the original: what was generalized has other names, and is missed."""
        read = read_baskets(original, basket, item)
        held = read.frame.with_columns(pl.col("item").cast(pl.String)).group_by("basket").agg("item")["item"].to_list()
        theirs = _rules([*held, *([[]] * read.n_empty)], min_support, min_confidence, max_len)
        ours = self.rules(min_support=min_support, min_confidence=min_confidence, max_len=max_len)
        return compare_rules(ours, theirs)

    def __str__(self) -> str:
        kept = sum(len(own) == 1 for own in self.stands_for.values())
        items = sum(map(len, self.stands_for.values()))
        groups = counted(len(self.stands_for) - kept, "group")
        told = f"{kept} of {items} items are published as they were, the others by {groups}"
        return f"{counted(self.n_baskets, 'basket')}: {self.promise}.\n{told}; detail lost {self.loss:.1%}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: counts, and nothing of any basket."""
        return {
            "k": self.k,
            "m": self.m,
            "baskets": self.n_baskets,
            "empty": self.empty,
            "items": sum(map(len, self.stands_for.values())),
            "items_kept": sum(len(own) == 1 for own in self.stands_for.values()),
            "groups": sum(len(own) > 1 for own in self.stands_for.values()),
            "loss": self.loss,
        }


def _check_replaceable(path: Path) -> None:
    """Refuse to replace what is no release of baskets: what is replaced is gone."""
    io.recover(path)
    if not os.path.lexists(path):
        return
    found = [] if path.is_symlink() or not path.is_dir() else [entry.name for entry in path.iterdir()]
    if MANIFEST not in found or not set(found) <= {MANIFEST, ROWS}:
        fact = f"'{path}' exists and is not only a release of baskets, so it is not replaced"
        raise InputError(fact, "choose another name, or move it elsewhere")


def _rules(held: list[list[str]], min_support: float, min_confidence: float, max_len: int | None) -> pl.DataFrame:
    found = find_rules(Baskets.read(held), min_support=min_support, min_confidence=min_confidence, max_len=max_len)
    return rules_frame(found, lift=True)
