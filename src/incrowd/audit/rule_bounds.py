"""Spans of rules, and bounds of their people from the released numbers: by linear programs, or for pairs of rules.

Linear programs run over all tables that fit the numbers. With too many items for that, the people where a line of one
rule meets a line of another are bounded by inclusion and exclusion.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.audit.rule_tables import HOW_ROUNDED, Bools, Items, Rule
from incrowd.errors import InputError

Int64 = npt.NDArray[np.int64]

_MOST_BLOCKS = 8  # items that always come together are one block: 256 kinds of people
MOST_PAIRS = 20_000


class Count(NamedTuple):
    """Bounds of the number of people with an itemset."""

    items: Items
    least: int
    most: int


def possible_classes(rule: Rule, has: Mapping[str, Bools], n: int) -> npt.NDArray[np.int8]:
    """Return the classes that each person can be in, as a sum of 1, 2, 4 for the classes 0, 1, 2."""
    left = np.ones(n, np.bool_)
    for item in rule.left_public:
        left &= has[item]
    right = np.ones(n, np.bool_)
    for item in rule.right_public:
        right &= has[item]
    without = ~left | bool(rule.left_private)
    only = left & (~right | bool(rule.right_private))
    return without * np.int8(1) + only * np.int8(2) + (left & right) * np.int8(4)


def has_several(possible: npt.NDArray[Any]) -> Bools:
    """Return who can be in more than one class."""
    several: Bools = (possible & (possible - 1)) != 0
    return several


class Spans:
    """People by span, one rule added after the other."""

    def __init__(self, n: int) -> None:
        self.of = np.zeros(n, np.int64)
        self.tells = np.zeros(n, np.bool_)
        self.n_spans = 1

    def plus(self, possible: Iterable[npt.NDArray[np.int8]]) -> Spans:
        """Return the spans with the parts of one more rule."""
        more = Spans(0)
        more.of, more.tells, more.n_spans = self.of, self.tells, self.n_spans
        for one in possible:
            span = more.of * 8 + one
            there = np.zeros(more.n_spans * 8, np.bool_)
            there[span] = True
            number = np.cumsum(there) - 1
            more.of, more.n_spans = number[span], int(there.sum())
            more.tells = more.tells | has_several(one)
        return more

    def told(self) -> Bools:
        """Return which spans have several classes."""
        told = np.zeros(self.n_spans, np.bool_)
        told[self.of[self.tells]] = True
        return told


class Bounded(NamedTuple):
    """A span, bounds of its people, and the rules that tell something about them."""

    words: str
    least: int
    most: int
    rules: tuple[int, ...]

    @property
    def safe_up_to(self) -> float:
        """Largest k that it keeps for certain."""
        return math.inf if not self.rules or self.most == 0 else max(1, self.least)

    def is_broken(self, k: int) -> bool:
        """Return whether it is a breach in every table that the numbers allow."""
        return bool(self.rules) and self.least >= 1 and self.most < k


def released(rule: Rule, counts: Sequence[tuple[str, int, int]]) -> list[Count]:
    """Return what the numbers of a rule tell of itemsets."""
    items = {"both": rule.left | rule.right, "left": rule.left, "right": rule.right}
    return [Count(items[what], least, most) for what, least, most in counts]


def _blocks(itemsets: Iterable[Items]) -> list[Items]:
    """Join items that occur in the same itemsets: they count as one."""
    where: dict[str, list[int]] = {}
    for number, items in enumerate(itemsets):
        for item in items:
            where.setdefault(item, []).append(number)
    blocks: dict[tuple[int, ...], set[str]] = {}
    for item, numbers in sorted(where.items()):
        blocks.setdefault(tuple(numbers), set()).add(item)
    return [frozenset(block) for block in blocks.values()]


def _asked(rules: Sequence[Rule]) -> list[Items]:
    """Return all itemsets of which the rules ask whether a person has them, by who knows it."""
    sides = [(r.left_public, r.right_public, r.left_private, r.right_private) for r in rules]
    return [items for four in sides for items in four]


def small_enough(rules: Sequence[Rule], known: Sequence[list[Count]]) -> str:
    """Say whether linear programs can take in all items ("all"), the public ones only ("public"), or neither ("")."""
    del known
    asked = _asked(rules)
    if len(_blocks(asked)) <= _MOST_BLOCKS:
        return "all"
    public = [items for rule in rules for items in (rule.left_public, rule.right_public)]
    return "public" if len(_blocks(public)) <= _MOST_BLOCKS else ""


def by_linear_programs(
    rules: Sequence[Rule], known: Sequence[list[Count]], numbers: Sequence[int], n: int, *, private: bool
) -> list[Bounded]:
    """Bound the people in each span over all tables that fit the numbers.

    Unknowns are the numbers of people with each combination of blocks of items. Without private items, a count of an
    itemset says how many people at least have its public part.
    """
    chosen = [rules[i] for i in numbers]
    counts = [count for i in numbers for count in known[i]]
    hidden = {item for rule in chosen for item in rule.left_private | rule.right_private}
    asked = _asked(chosen) if private else [items - hidden for items in _asked(chosen)]
    blocks = [block for block in _blocks(asked) if block]
    kinds = np.array(list(np.ndindex(*[2] * len(blocks))), np.bool_).reshape(2 ** len(blocks), len(blocks))
    has = {item: kinds[:, b] for b, block in enumerate(blocks) for item in block}
    possible = [[possible_classes(part, has, len(kinds)) for part in rule.parts()] for rule in chosen]
    spans = Spans(len(kinds))
    for one in possible:
        spans = spans.plus(one)
    rows, least, most = [np.ones(len(kinds))], [n], [n]
    for count in counts:
        seen = count.items if private else count.items - hidden
        rows.append(np.logical_and.reduce([np.ones(len(kinds), np.bool_), *(has[item] for item in seen)]).astype(float))
        least.append(count.least)
        most.append(count.most if seen == count.items else n)
    system = _System(np.array(rows), np.array(least, float), np.array(most, float), spans.of)
    first = np.unique(spans.of, return_index=True)[1]
    bounded = []
    for span, kind in enumerate(first):
        tellers = [i for i, one in zip(numbers, possible, strict=True) if any(has_several(p[kind]) for p in one)]
        words = in_words(chosen, [[int(p[kind]) for p in one] for one in possible])
        bounded.append(Bounded(words, *system.bounds(span), tuple(tellers)))
    return bounded


class _System:
    """Numbers of people, 0 or more, with given sums; columns that are alike are one unknown."""

    def __init__(self, rows: npt.NDArray[Any], least: npt.NDArray[Any], most: npt.NDArray[Any], span_of: Int64) -> None:
        columns = np.unique(np.vstack([span_of[None], rows]), axis=1)
        self._span_of, self._rows = columns[0], columns[1:]
        fixed = least == most
        self._equal = (self._rows[fixed], least[fixed])
        free = ~fixed
        self._upper = (np.vstack([self._rows[free], -self._rows[free]]), np.concatenate([most[free], -least[free]]))
        self._n = int(most[0])

    def bounds(self, span: int) -> tuple[int, int]:
        """Return bounds of the number of people in a span."""
        inside = (self._span_of == span).astype(float)
        slack = max(1e-5, 1e-6 * self._n)  # solved in shares of n, so errors grow with n
        return max(0, math.ceil(self._solve(inside) - slack)), math.floor(-self._solve(-inside) + slack)

    def _solve(self, objective: npt.NDArray[Any]) -> float:
        from scipy.optimize import linprog  # noqa: PLC0415 - a table needs none

        (a, b), (c, d) = self._upper, self._equal
        # In shares of n: the solver's tolerances are meant for numbers of about 1.
        n = self._n
        done = linprog(objective, A_ub=a if len(a) else None, b_ub=b / n if len(a) else None, A_eq=c, b_eq=d / n)
        if done.status == 2:
            raise _contradiction(n)
        return float(done.fun) * n if done.status == 0 else min(0.0, float(objective.min())) * n


def _contradiction(n: int) -> InputError:
    fact = f"No table of {n} people has these supports and confidences"
    return InputError(fact, HOW_ROUNDED)


class _Line(NamedTuple):
    """People with some public items and not all of some others, and whether a rule tells something about them."""

    has: Items
    lacks: Items | None
    told: bool


def _lines(rule: Rule) -> list[_Line]:
    lines = []
    for part in rule.parts():
        both = part.left_public | part.right_public
        if part.left_public:
            lines.append(_Line(frozenset(), part.left_public, told=False))
        if both != part.left_public:
            lines.append(_Line(part.left_public, both, told=bool(part.left_private)))
        lines.append(_Line(both, None, told=bool(part.left_private | part.right_private)))
    return lines


def by_pairs(rules: Sequence[Rule], known: Sequence[list[Count]], n: int, k: int) -> tuple[list[Bounded], bool]:
    """Return the certain breaches that two rules make together, and whether some pairs were left out."""
    found: dict[str, Bounded] = {}
    for _, _, one in pair_regions(rules, known, n):
        if one.is_broken(k):
            found.setdefault(one.words, one)
    return list(found.values()), len(rules) * (len(rules) + 1) // 2 > MOST_PAIRS


def pair_regions(rules: Sequence[Rule], known: Sequence[list[Count]], n: int) -> Iterable[tuple[int, int, Bounded]]:
    """Bound the people where a line of one rule meets a line of another, by inclusion and exclusion."""
    counts = _Counts([count for one in known for count in one], n)
    lines = [_lines(rule) for rule in rules]
    pairs = sorted(combinations_with_replacement(range(len(rules)), 2), key=lambda p: (p[1] - p[0], p))
    for q, r in pairs[:MOST_PAIRS]:
        for a, b in product(lines[q], lines[r]):
            if a.told or b.told:
                least, most = counts.between(a.has | b.has, {x for x in (a.lacks, b.lacks) if x is not None})
                tellers = tuple(sorted({i for i, line in ((q, a), (r, b)) if line.told}))
                yield q, r, Bounded(_words(a.has | b.has, [a.lacks, b.lacks]), least, most, tellers)


class _Counts:
    """Bounds of the number of people with any itemset, from the released ones above and below it."""

    def __init__(self, known: Sequence[Count], n: int) -> None:
        self._known = list(dict.fromkeys(known))
        self._n = n
        self._kept: dict[Items, tuple[int, int]] = {}

    def of(self, items: Items) -> tuple[int, int]:
        """Return the least and the greatest number of people with all of some items."""
        if not items:
            return self._n, self._n
        if items not in self._kept:
            least = max((c.least for c in self._known if items <= c.items), default=0)
            most = min((c.most for c in self._known if c.items <= items), default=self._n)
            if least > most:
                raise _contradiction(self._n)
            self._kept[items] = least, most
        return self._kept[items]

    def between(self, has: Items, lacks: set[Items]) -> tuple[int, int]:
        """Bound the people with all of `has` and without all of each of `lacks`."""
        least, most = self.of(has)
        taken = [self.of(has | items) for items in lacks]
        if not taken:
            return least, most
        both = self.of(has.union(*lacks))
        away = sum(one[1] for one in taken) - (both[0] if len(taken) == 2 else 0)
        return max(0, least - away), most - max(one[0] for one in taken)


def in_words(rules: Sequence[Rule], possible: Sequence[Sequence[int]]) -> str:
    """Say who is in a span by what it makes possible for each part of each rule."""
    has: set[str] = set()
    lacks: list[Items | None] = []
    for rule, classes in zip(rules, possible, strict=True):
        for part, one in zip(rule.parts(), classes, strict=True):
            both = part.left_public | part.right_public
            if one == 1:
                lacks.append(part.left_public)
            elif one & 4:
                has |= both
            else:
                has |= part.left_public
                lacks.append(both)
    return _words(frozenset(has), lacks)


def _words(has: Items, lacks: Iterable[Items | None]) -> str:
    rest = {items - has for items in lacks if items is not None}
    least = sorted(sorted(items) for items in rest if not any(other < items for other in rest))
    parts = [f"with {', '.join(sorted(has))}"] if has else []
    parts += [f"without {items[0]}" if len(items) == 1 else f"not with all of {', '.join(items)}" for items in least]
    return "people " + "; ".join(parts) if parts else "everybody"


def drop_by_table(possible: Sequence[list[npt.NDArray[np.int8]]], n: int, k: int) -> tuple[int, ...]:
    """Keep each rule that leaves no small span with those kept before it: once it does, it always would."""
    spans, drop = Spans(n), []
    for i, one in enumerate(possible):
        more = spans.plus(one)
        people = np.bincount(more.of, minlength=more.n_spans)
        if (more.told() & (people < k)).any():
            drop.append(i)
        else:
            spans = more
    return tuple(drop)


def drop_by_numbers(
    rules: Sequence[Rule], known: Sequence[list[Count]], n: int, k: int, *, small: bool, private: bool
) -> tuple[int, ...]:
    """Keep each rule that is shown safe with those kept before it; of many rules, each not shown to be unsafe."""
    kept: list[int] = []
    if not small:
        broken: set[tuple[int, int]] = set()
        for q, r, one in pair_regions(rules, known, n):
            if one.is_broken(k):
                broken.add((q, r))
        for i in range(len(rules)):
            if (i, i) not in broken and not any((j, i) in broken for j in kept):
                kept.append(i)
        return tuple(i for i in range(len(rules)) if i not in kept)
    for i in range(len(rules)):
        bounded = by_linear_programs(rules, known, [*kept, i], n, private=private)
        if all(one.safe_up_to >= k for one in bounded):
            kept.append(i)
    return tuple(i for i in range(len(rules)) if i not in kept)
