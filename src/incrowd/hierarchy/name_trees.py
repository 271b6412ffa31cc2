"""Trees over names: by the words that they share, or by how common they are."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from incrowd.errors import HierarchyError
from incrowd.hierarchy.hierarchy import Weights, domain_of, text, type_of
from incrowd.hierarchy.steps import with_steps
from incrowd.hierarchy.taxonomy import Taxonomy
from incrowd.hierarchy.trees import count_rows, make_tree, starts_of

WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 3  # levels of words: longer shared beginnings say no more than these


def words_tree(column: pl.Series, *, at: str, branching: int, weights: Weights | None = None) -> Taxonomy:
    """Build the tree of `incrowd.words`."""
    if type_of(column) != "str":
        fact = f"Column {column.name!r} holds {type_of(column)} values, and words() needs text"
        raise HierarchyError(fact, "use Intervals(), bins() or dates()")
    split = {str(value): words_of(value, at) for value in domain_of(column).to_list()}
    values: list[str] = sorted(split, key=lambda value: ([word.casefold() for word in split[value]], value))
    folded = [tuple(word.casefold() for word in split[value]) for value in values]
    keeps = range(_MOST_WORDS, 0, -1)
    levels = [starts_of(_numbered([words[:keep] for words in folded])) for keep in keeps]
    leaves = pl.Series(values, dtype=pl.String())
    steps, origin = with_steps(levels, count_rows(column, leaves, weights), branching)

    def name(level: int, lo: int, hi: int) -> str:
        if lo == hi:
            return values[lo]
        kept = split[values[lo]][: keeps[level]]
        return f"{' '.join(kept)} *" if at == "start" else f"* {' '.join(reversed(kept))}"

    return make_tree(leaves, steps, name, origin=origin)


def words_of(value: str, at: str) -> list[str]:
    """Return the words of a name, those that count most first.

    >>> words_of("Nurse, paediatric", "start"), words_of("paediatric nurse", "end")
    (['Nurse', 'paediatric'], ['nurse', 'paediatric'])
    """
    words = WORD.findall(value) or [value]
    return words if at == "start" else words[::-1]


def common_tree(column: pl.Series, *, at_least: int, branching: int, weights: Weights | None = None) -> Taxonomy:
    """Build the tree of `incrowd.common`."""
    if type_of(column) not in ("str", "bool"):
        fact = f"Column {column.name!r} holds {type_of(column)} values, which have an order of their own"
        raise HierarchyError(fact, "use frequency() or Intervals() for it")
    domain = domain_of(column)
    rows = count_rows(column, domain, weights)
    rare = rows < at_least
    order = np.lexsort([np.arange(len(domain)), rare])
    leaves, rare, rows = domain.gather(order), rare[order], rows[order]
    joined = starts_of(np.where(rare, len(rows), np.arange(len(rows))))
    steps, origin = with_steps([joined], rows, branching)
    own_names = text(leaves)

    def name(_level: int, lo: int, hi: int) -> str:
        return own_names[lo] if lo == hi else f"rare (in fewer than {at_least} rows each)"

    return make_tree(leaves, steps, name, origin=origin)


def _numbered(keys: list[tuple[str, ...]]) -> np.ndarray:
    numbers: dict[tuple[str, ...], int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys])
