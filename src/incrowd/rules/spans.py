"""Whom a rule tells about: the spans of people, by their public items.

What a rule tells. Write ``Lp, Ls`` for the public and private items of the left side, ``Rp, Rs`` for the right. With
public items a, and private items that may be any, the classes 0, 1, 2 that a person can be in are

=====================  ===================  =====================  ========================
public items of a      Ls and Rs empty      only Rs not empty      Ls not empty
=====================  ===================  =====================  ========================
not all of Lp          {0}                  {0}                    {0}
all of Lp, not of Rp   {1}                  {1}                    {0, 1}
all of Lp and Rp       {2}                  {1, 2}                 {0, 2}, or {0, 1, 2} if Rs is not empty
=====================  ===================  =====================  ========================

because L is there iff Lp is and all of Ls is chosen, and a private item can be chosen or not whatever the others are.
Two facts follow, for any set of rules.

1. *People share a span iff they are in the same line of this table for every rule*, that is, if they agree on the
   tests "has all of Lp" and "has all of Lp and Rp". If they agree, each choice of private items puts both into the same
   combination. If they differ for one rule, the sets in its column differ, and so do the spans, of which those sets are
   the shadows.
2. *A span has several combinations iff one rule can be in several classes*: when Ls is not empty and all of Lp is
   there, or when Rs is not empty and all of Lp and Rp is there. Both conditions are tests, so they hold for all of a
   span or for nobody in it.

*Every part of a safe set of rules is safe*: with fewer tests spans merge, and a merged span that still tells something
did so in each of its parts, so that each had at least k people or none. So a rule that cannot join some rules can never
join more of them, and a set to which no rule can be added is found by trying each rule once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from incrowd.rules.itemsets import Baskets, Rule

Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Test = frozenset[str]
"""Public items: does a person have all of them?"""

_CALL = 3_000  # what a look costs beside, in people


@dataclass(frozen=True)
class Asks:
    """What a rule asks about public items.

    Attributes
    ----------
    tests
        The itemsets that divide people.
    told
        The itemsets (tests, or the empty one: everybody) whose owners the rule tells something private about.
    """

    tests: frozenset[Test]
    told: frozenset[Test]


def told_by(rule: Rule, public: frozenset[str], *, lift: bool) -> Asks:
    """Find the tests of a rule and whom it tells about: facts 1 and 2 of the module."""
    left, right = frozenset(rule.left), frozenset(rule.right)
    parts = [(left, right)] + ([(frozenset[str](), right)] if lift else [])
    tests, told = set(), set()
    for lhs, rhs in parts:
        first, second = lhs & public, (lhs | rhs) & public
        tests |= {first, second}
        if lhs - public:
            told.add(first)
        elif rhs - public:
            told.add(second)
    return Asks(frozenset(tests - {frozenset()}), frozenset(told))


@dataclass(frozen=True)
class State:
    """People divided by the rules that were taken so far."""

    span_of: Int64
    n_spans: int
    told: Bools
    tests: frozenset[Test]


@dataclass
class Crowd:
    """The distinct public baskets, how many people have each, and who passes which test."""

    baskets: Bools
    items: list[str]
    people: Int64
    k: int
    work: int = 0
    _passed: dict[Test, Bools] = field(default_factory=dict)

    @classmethod
    def of(cls, baskets: Baskets, asked: Sequence[Asks], k: int) -> Crowd:
        """Restrict baskets to the items that some rule tests: people with equal ones are in equal spans."""
        tested = frozenset[str]().union(*(test for asks in asked for test in asks.tests))
        small = baskets.only(np.array([name in tested for name in baskets.items], np.bool_))
        packed = np.packbits(small.has(), axis=0).T
        if packed.shape[1] == 0:
            return cls(np.zeros((1, 0), np.bool_), [], np.array([baskets.n]), k)
        rows = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}").ravel()
        _, first, people = np.unique(rows, return_index=True, return_counts=True)
        return cls(np.ascontiguousarray(small.has()[:, first].T), small.items, people, k)

    @cached_property
    def start(self) -> State:
        """Everybody in one span, of whom nothing is told."""
        nobody = np.zeros(len(self.people), np.bool_)
        return State(np.zeros(len(self.people), np.int64), 1, nobody, frozenset())

    def passed(self, test: Test) -> Bools:
        """Return which baskets have all items of a test."""
        if test not in self._passed:
            columns = [self.items.index(name) for name in test]
            self._passed[test] = np.asarray(self.baskets[:, columns].all(axis=1))
        return self._passed[test]

    def divided(self, state: State, asks: Asks) -> State:
        """Divide spans by further tests, and note who is told about."""
        span_of, n_spans = state.span_of, state.n_spans
        for test in sorted(asks.tests - state.tests, key=sorted):
            span_of = span_of * 2 + self.passed(test)
            n_spans *= 2
            if n_spans > 4 * len(self.people):
                there = np.zeros(n_spans, np.bool_)
                there[span_of] = True
                span_of, n_spans = (np.cumsum(there) - 1)[span_of], int(there.sum())
        told = state.told
        for test in asks.told:
            told = told | self.passed(test)
        self.work += len(self.people) + _CALL
        return State(span_of, n_spans, told, state.tests | asks.tests)

    def crowds(self, state: State) -> Int64:
        """Return the number of people in each span that something is told about; 0 elsewhere."""
        people = np.where(state.told, self.people, 0)
        return np.bincount(state.span_of, weights=people, minlength=state.n_spans).astype(np.int64)

    def smallest(self, state: State) -> int:
        """Return the smallest crowd that something is told about, or a number above all when nothing is."""
        crowds = self.crowds(state)[state.span_of[state.told]]
        return int(crowds.min()) if len(crowds) else int(self.people.sum()) + self.k

    def safe(self, asked: Iterable[Asks]) -> bool:
        """Whether groups of rules are safe together."""
        state = self.start
        for asks in asked:
            state = self.divided(state, asks)
        return self.smallest(state) >= self.k

    def joined(self, state: State, asks: Asks) -> State | None:
        """Return the spans with one more group of rules, or None if that would be a breach."""
        after = self.divided(state, asks)
        return after if self.smallest(after) >= self.k else None


def has_and_lacks(crowd: Crowd, state: State, span: int) -> tuple[list[str], list[list[str]]]:
    """Return the items that all people of a span have for certain, and the smallest sets of which they lack some."""
    one = int(np.flatnonzero(state.span_of == span)[0])
    has = frozenset[str]().union(*(test for test in state.tests if crowd.passed(test)[one]))
    lacks = {test - has for test in state.tests if not crowd.passed(test)[one]}
    smallest = [test for test in lacks if not any(other < test for other in lacks)]
    return sorted(has), sorted(map(sorted, smallest))


def in_words(has: list[str], lacks: list[list[str]]) -> str:
    """Describe the people of a span."""
    parts = [f"with {', '.join(has)}"] if has else []
    parts += [f"without {items[0]}" if len(items) == 1 else f"not all of {', '.join(items)}" for items in lacks]
    return "people " + "; ".join(parts) if parts else "everybody"
