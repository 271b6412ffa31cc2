"""Frequent itemsets and association rules of baskets, by depth-first intersection (Eclat).

Every item is a vector over the people: a bit each when it is known who has it, a probability each when it is not. The
vector of an itemset is the product of its items' vectors, and its support the sum of that, so that one search serves
tables and anonymized releases. Supports can only fall when an itemset grows: what is not frequent is not extended.

Cost: O(itemsets x items x people / 64) with bits. Memory: the vectors of one path through the search.

Reference: Zaki: Scalable algorithms for association mining, IEEE TKDE 2000.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import io
from incrowd.errors import InputError, ParameterError
from incrowd.hierarchy.hierarchy import text

Int64 = npt.NDArray[np.int64]
Vectors = npt.NDArray[Any]
Progress = Callable[[str, int, int], None]

MOST_ITEMSETS = 1_000_000
ROUNDING = 1e-12  # 0.3 x 10 is a little more than 3


@dataclass(frozen=True)
class Baskets:
    """Who has what.

    Attributes
    ----------
    n
        Number of people.
    items
        Names of the items.
    column_of
        The column that an item is a value of: items of one column exclude each other. Elsewhere each has its own.
    person, item
        One pair for each item of each person, without repeats.
    columns
        Names of the columns of a table of categories; empty for baskets.
    """

    n: int
    items: list[str]
    column_of: Int64
    person: Int64
    item: Int64
    columns: tuple[str, ...] = ()

    @classmethod
    def read(cls, data: Any) -> Baskets:  # noqa: ANN401
        """Read a list of baskets, a frame of bools (a column per item), or any other frame (items ``column=value``)."""
        if isinstance(data, Sequence) and not isinstance(data, str):
            return cls._of_lists(data)
        frame = io.to_polars(data)
        if frame.height == 0 or frame.width == 0:
            raise _nobody()
        if all(dtype == pl.Boolean for dtype in frame.dtypes):
            people = [np.flatnonzero(column.fill_null(value=False).to_numpy()) for column in frame]
            return cls._of_columns(frame.height, frame.columns, np.arange(frame.width), people, ())
        return cls._of_categories(frame)

    @classmethod
    def _of_lists(cls, data: Sequence[Any]) -> Baskets:
        if not data:
            raise _nobody()
        if any(isinstance(basket, str | Mapping) or not isinstance(basket, Collection) for basket in data):
            fact = "Every basket must be a list or a set of items"
            raise InputError(fact, 'for example [["cherries", "candles"], ["cherries"], []]')
        number: dict[Any, int] = {}
        codes = [number.setdefault(item, len(number)) for basket in data for item in basket]
        names = sorted(set(map(str, number)))
        rank = {name: i for i, name in enumerate(names)}
        ranks = np.array([rank[str(item)] for item in number], np.int64)
        person = np.repeat(np.arange(len(data)), [len(basket) for basket in data])
        pairs = np.sort(person * max(1, len(names)) + ranks[np.array(codes, np.int64)])
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])[: len(pairs)]]
        person, item = np.divmod(pairs, max(1, len(names)))
        return cls(len(data), names, np.arange(len(names)), person, item)

    @classmethod
    def _of_categories(cls, frame: pl.DataFrame) -> Baskets:
        names, column_of, people = [], [], []
        for number, column in enumerate(frame):
            values = column.drop_nulls().unique().sort()  # a missing cell is no item
            code = column.replace_strict(values, np.arange(len(values)), return_dtype=pl.Int64).fill_null(-1).to_numpy()
            for value, label in enumerate(text(values)):
                names.append(f"{column.name}={label}")
                column_of.append(number)
                people.append(np.flatnonzero(code == value))
        return cls._of_columns(frame.height, names, np.array(column_of, np.int64), people, tuple(frame.columns))

    @classmethod
    def _of_columns(
        cls, n: int, names: list[str], column_of: Int64, people: list[Int64], columns: tuple[str, ...]
    ) -> Baskets:
        item = np.repeat(np.arange(len(names)), [len(who) for who in people])
        return cls(n, list(names), column_of, np.concatenate([*people, np.empty(0, np.int64)]), item, columns)

    def only(self, keep: npt.NDArray[np.bool_]) -> Baskets:
        """Return the baskets without the items that are not to be kept."""
        number = np.cumsum(keep) - 1
        inside = keep[self.item]
        names = [name for name, kept in zip(self.items, keep, strict=True) if kept]
        item = number[self.item[inside]]
        return Baskets(self.n, names, self.column_of[keep], self.person[inside], item, self.columns)

    def has(self) -> npt.NDArray[np.bool_]:
        """Return who has what, [items x people]."""
        has = np.zeros((len(self.items), self.n), np.bool_)
        has[self.item, self.person] = True
        return has


class Rule(NamedTuple):
    """If a person has all of `left`, they have all of `right`: how many people have `both`, each side, out of n."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    both: float
    n_left: float
    n_right: float
    n: int

    @property
    def confidence(self) -> float:
        """Share of those with the left side who have the right side too."""
        return self.both / self.n_left

    @property
    def rank(self) -> tuple[Any, ...]:
        """Order of rules by what is published of them: confidence, support, then short before long, then by name."""
        return -self.confidence, -self.both, len(self.left) + len(self.right), self.left, self.right


def check_thresholds(min_support: float, min_confidence: float, max_len: int | None) -> None:
    """Refuse thresholds outside their ranges."""
    for name, value in (("min_support", min_support), ("min_confidence", min_confidence)):
        if not 0 < value <= 1:
            fact = f"{name} must be above 0 and at most 1, got {value}"
            raise ParameterError(fact, "it is a share of people: 0.01 is one in a hundred")
    if max_len is not None and max_len < 2:
        fact = f"max_len must be at least 2, got {max_len}"
        raise ParameterError(fact, "a rule has an item on each side")


def find_rules(
    baskets: Baskets,
    *,
    min_support: float,
    min_confidence: float,
    max_len: int | None = None,
    progress: Progress | None = None,
) -> list[Rule]:
    """Find all rules with enough support and confidence, in the order of `Rule.rank`."""
    check_thresholds(min_support, min_confidence, max_len)
    least = min_support * baskets.n * (1 - ROUNDING)
    counts = np.bincount(baskets.item, minlength=len(baskets.items))
    often = baskets.only(counts >= least)
    found = frequent(
        _bits(often), np.bitwise_and, _people, least, column_of=often.column_of, max_len=max_len, progress=progress
    )
    return rules_of(found, often.items, baskets.n, min_confidence)


def frequent(
    vectors: Vectors,
    join: Callable[[Vectors, Vectors], Vectors],
    size: Callable[[Vectors], npt.NDArray[Any]],
    least: float,
    *,
    column_of: Int64,
    max_len: int | None = None,
    progress: Progress | None = None,
) -> dict[frozenset[int], float]:
    """Find the itemsets of size at least `least`.

    Parameters
    ----------
    vectors
        One row per item.
    join
        The vectors of an itemset with each of some items.
    size
        How many people each vector stands for; it may not grow when vectors are joined.
    column_of
        Items of one column are never together.
    """
    found: dict[frozenset[int], float] = {}
    sizes = size(vectors)
    start = np.flatnonzero(sizes >= least)
    start = start[np.argsort(sizes[start], kind="stable")]  # rare items first: they have few extensions

    def grow(prefix: tuple[int, ...], items: Int64, extended: Vectors, sizes: npt.NDArray[Any]) -> None:
        for i in range(len(items)):
            itemset = (*prefix, int(items[i]))
            found[frozenset(itemset)] = sizes[i].item()
            if not prefix and progress is not None:
                progress("mine", i + 1, len(items))
            if max_len is not None and len(itemset) == max_len:
                continue
            later = i + 1 + np.flatnonzero(column_of[items[i + 1 :]] != column_of[items[i]])
            # With the item itself, not with its extension of the prefix: probabilities would count twice.
            joined = join(extended[i], vectors[items[later]])
            joined_sizes = size(joined)
            often = np.flatnonzero(joined_sizes >= least)
            if len(found) + len(often) > MOST_ITEMSETS:
                fact = f"More than {MOST_ITEMSETS:,} itemsets are that frequent"
                raise ParameterError(fact, "raise min_support, or set max_len")
            if len(often):
                grow(itemset, items[later[often]], joined[often], joined_sizes[often])

    grow((), start, vectors[start], sizes[start])
    return found


def rules_of(found: Mapping[frozenset[int], float], names: Sequence[str], n: int, min_confidence: float) -> list[Rule]:
    """Split every itemset into a left and a right side, and keep the rules that are confident enough."""
    rules = []
    for itemset, both in found.items():
        for left in _sides(itemset):
            if both >= min_confidence * found[left] * (1 - ROUNDING):
                right = itemset - left
                sides = [tuple(sorted(names[i] for i in side)) for side in (left, right)]
                rules.append(Rule(sides[0], sides[1], both, found[left], found[right], n))
    return sorted(rules, key=lambda rule: rule.rank)


def rules_frame(rules: Sequence[Rule], *, lift: bool) -> pl.DataFrame:
    """Write rules as a table with the column names of mlxtend."""
    supports = {
        "antecedent support": [rule.n_left / rule.n for rule in rules],
        "support": [rule.both / rule.n for rule in rules],
        "confidence": [rule.confidence for rule in rules],
    }
    if lift:
        supports["consequent support"] = [rule.n_right / rule.n for rule in rules]
        supports["lift"] = [rule.confidence * rule.n / rule.n_right for rule in rules]
    sides = {"antecedents": [list(rule.left) for rule in rules], "consequents": [list(rule.right) for rule in rules]}
    schema: dict[str, Any] = dict.fromkeys(sides, pl.List(pl.String)) | dict.fromkeys(supports, pl.Float64)
    return pl.DataFrame(sides | supports, schema=schema)


def _sides(itemset: frozenset[int]) -> Iterator[frozenset[int]]:
    for length in range(1, len(itemset)):
        yield from map(frozenset, combinations(sorted(itemset), length))


def _bits(baskets: Baskets) -> npt.NDArray[np.uint64]:
    bits = np.zeros((len(baskets.items), -(-baskets.n // 64) * 8), np.uint8)
    order = np.argsort(baskets.item, kind="stable")
    ends = np.cumsum(np.bincount(baskets.item, minlength=len(baskets.items)))
    for i, end in enumerate(ends):
        who = baskets.person[order[ends[i - 1] if i else 0 : end]]
        row = np.zeros(baskets.n, np.bool_)
        row[who] = True
        packed = np.packbits(row)
        bits[i, : len(packed)] = packed
    return bits.view(np.uint64)


def _people(bits: Vectors) -> Int64:
    return np.asarray(np.bitwise_count(bits).sum(axis=1, dtype=np.int64))


def _nobody() -> InputError:
    return InputError("There are no baskets", "give at least one person")
