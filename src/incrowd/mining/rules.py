"""Association rules of which every person is hidden in a crowd of at least k: the largest safe set of rules.

Idea. A rule "who has all of L has all of R" puts a person into one of three classes: not all of L, all of L but not all
of R, all of both. A set of rules puts them into a combination of those, and its supports and confidences tell how many
people are where. An attacker knows the *public* items of a person (the groceries in the cart) and not the private ones
(the pharmacy's opaque bag). The *span* of a person is the set of combinations that they can be in, whatever their
private items. A span of several combinations links private items to its people, so it must have none of them or at
least k (Claim 3).

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

Search. Rules with the same tests go together. Branch and bound finds the largest safe set, among equally large ones the
one with the best rule that the others lack; when it takes too long (`AnonymousRules.exact` is false), the largest of
several greedy sets is taken, improved by taking one group of rules out and others in. Nothing that was dropped can be
added to the result.

Guarantee: Claim 3 for the rules with the columns that the result has, checked by `incrowd.audit_rules` with the table
before anybody gets them. The lift of a rule tells how many people have the right side, which is a rule of its own with
an empty left side: with ``lift=True`` it is counted as such, and fewer rules are safe.

Where the paper is silent: it shows how to check two rules, not how to choose among many; "largest" (most rules), the
search and the order of rules (confidence, support, short ones, names) are ours. Rules of public items alone tell
nothing private, but they divide spans, so they count. Values of a private column are taken to be free even if only one
was seen. A missing cell of a table is no item.

Use it for rules that are published or handed over. It limits what can be said about few people; it does not limit what
is said about many: a rule with a confidence of 1 tells a private item of everybody in a crowd of k.

Reference: Friedman, Wolff, Schuster: Providing k-anonymity in data mining, VLDB Journal 2008, section 4.3.

>>> baskets = [["cherries", "candles", "tylenol"]] * 3 + [["cherries", "viagra"]] * 6 + [["cherries"]] * 3 + [[]] * 8
>>> found = anonymous_rules(baskets, public=["cherries", "candles"], k=5, min_support=0.1, min_confidence=0.5)
>>> found.rules.select("antecedents", "consequents", "confidence").rows()
[(['viagra'], ['cherries'], 1.0), (['tylenol'], ['cherries'], 1.0), (['cherries'], ['viagra'], 0.5)]
>>> found.dropped.filter(reason="alone").select("antecedents", "consequents", "people").row(0)
(['candles'], ['tylenol'], 3)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd.audit.rules import RuleAudit, audit_rules
from incrowd.errors import ParameterError, SchemaError, VerificationError
from incrowd.mining.itemsets import Baskets, Progress, Rule, find_rules, rules_frame

Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Test = frozenset[str]
"""Public items: does a person have all of them?"""

_EXACT_WORK = 60_000_000  # people looked at before branch and bound gives up: a second or two
_SWAP_WORK = 60_000_000
_CALL = 3_000  # what a look costs beside, in people


@dataclass(frozen=True)
class AnonymousRules:
    """A safe set of rules, and what was left out.

    Attributes
    ----------
    rules
        What may be published, with the column names of mlxtend: items are lists of text.
    dropped
        What may not, each with a ``reason``: *alone* when the rule by itself has a span of ``people`` < k, or *with
        others* when it would make such a span together with the rules that were kept; ``span`` says which.
    spans
        The spans that tell something private: public items that their people have, sets of items of which they lack
        some, and how many ``people`` there are.
    k, n, public
        The crowd, the number of people, and what an attacker knows of them.
    exact
        Whether no safe set has more rules.
    """

    rules: pl.DataFrame
    dropped: pl.DataFrame = field(repr=False)
    spans: pl.DataFrame = field(repr=False)
    k: int
    n: int
    public: tuple[str, ...] = field(repr=False)
    exact: bool
    _known: frozenset[str] = field(repr=False)

    @property
    def level(self) -> int | None:
        """Largest k that the rules keep; ``None`` when they tell nothing private."""
        return None if self.spans.is_empty() else int(self.spans["people"].to_numpy().min())

    def audit(self, data: Any = None) -> RuleAudit:  # noqa: ANN401
        """Have the rules checked by code that shares nothing with the search; with the baskets, exactly."""
        if data is not None:
            return audit_rules(self.rules, n=self.n, public=self.public, k=self.k, data=data)
        sides = [*self.rules["antecedents"].to_list(), *self.rules["consequents"].to_list()]
        items = {item for side in sides for item in side}  # in full: numbers alone do not tell which names are columns
        return audit_rules(self.rules, n=self.n, public=sorted(self._known & items), k=self.k)

    def __str__(self) -> str:
        alone = self.dropped.filter(reason="alone").height
        most = "no safe set has more" if self.exact else "none of the others can be added"
        lines = [
            f"{self.rules.height} rules keep everybody in a crowd of {self.k}; {most}",
            f"  dropped: {alone} that break it alone, {self.dropped.height - alone} that break it with others",
            f"  something private is told about {self.spans['people'].sum()} of {self.n} people",
        ]
        if self.level is not None:
            lines.append(f"  in {self.spans.height} spans, of which the smallest has {self.level} people")
        return "\n".join(lines)


def anonymous_rules(
    data: Any,  # noqa: ANN401
    *,
    public: Iterable[str],
    k: int,
    min_support: float = 0.01,
    min_confidence: float = 0.5,
    max_len: int | None = None,
    lift: bool = False,
    progress: Progress | None = None,
) -> AnonymousRules:
    """Mine association rules, and keep the largest set of them that leaves everybody in a crowd of k.

    Parameters
    ----------
    data
        Baskets (a list of lists of items), a frame of bools with a column for each item, or any other frame, whose
        items are ``column=value``.
    public
        The items, or columns, that an attacker may know of a person. All others are private.
    k
        Least number of people that something private may be told about.
    min_support, min_confidence
        Thresholds of rules, as shares.
    max_len
        Most items in a rule, on both sides together.
    lift
        Publish also the support of the right side and the lift. They tell more, so fewer rules are safe.
    progress
        Called with (stage, done, total).
    """
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        fact = f"k must be a whole number of people from 1, got {k!r}"
        raise ParameterError(fact, "k = 5 is a small crowd, k = 50 a large one")
    report = progress or (lambda _stage, _done, _total: None)
    baskets = Baskets.read(data)
    names = _public_names(public)
    known = _public_items(baskets, names)
    rules = find_rules(
        baskets, min_support=min_support, min_confidence=min_confidence, max_len=max_len, progress=progress
    )
    groups = _grouped([_told_by(rule, known, lift=lift) for rule in rules])
    crowd = _Crowd.of(baskets, [group.asks for group in groups], int(k))
    chosen, exact = _largest(crowd, groups, report)
    kept = {i for number in chosen for i in groups[number].rules}
    result = AnonymousRules(
        rules=rules_frame([rule for i, rule in enumerate(rules) if i in kept], lift=lift),
        dropped=_dropped(crowd, groups, chosen, rules, lift=lift),
        spans=_describe_spans(crowd, [groups[number].asks for number in chosen]),
        k=int(k),
        n=baskets.n,
        public=tuple(names) if baskets.columns else tuple(sorted(known)),
        exact=exact,
        _known=known,
    )
    found = result.audit(data)
    if not found.ok:
        fact = f"The rules that were chosen do not keep k = {k}: this is an error in incrowd"
        raise VerificationError(fact, "please report it", violations=[str(found)])
    return result


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


@dataclass(frozen=True)
class _Group:
    """Rules that ask the same; they are safe together or not at all."""

    asks: Asks
    rules: tuple[int, ...]


def _public_names(public: Iterable[str]) -> list[str]:
    if isinstance(public, str):
        fact = "public must be a list of items or columns, got one text"
        raise ParameterError(fact, f"write [{public!r}]")
    return list(dict.fromkeys(map(str, public)))


def _public_items(baskets: Baskets, names: Sequence[str]) -> frozenset[str]:
    there = baskets.columns or baskets.items
    unknown = sorted(set(names) - set(there))
    if unknown:
        what = "columns" if baskets.columns else "items"
        fact = f"{len(unknown)} of the {len(names)} public {what} do not occur in the data, the first is {unknown[0]!r}"
        raise SchemaError(fact, "a misspelt public item would be taken as private; leave out what does not occur")
    if not baskets.columns:
        return frozenset(names)
    numbers = {baskets.columns.index(name) for name in names}
    return frozenset(item for item, column in zip(baskets.items, baskets.column_of, strict=True) if column in numbers)


def _told_by(rule: Rule, public: frozenset[str], *, lift: bool) -> Asks:
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


def _grouped(asked: Sequence[Asks]) -> list[_Group]:
    members: dict[Asks, list[int]] = {}
    for i, asks in enumerate(asked):
        members.setdefault(asks, []).append(i)
    return [_Group(asks, tuple(rules)) for asks, rules in members.items()]


@dataclass(frozen=True)
class _State:
    """People divided by the rules that were taken so far."""

    span_of: Int64
    n_spans: int
    told: Bools
    tests: frozenset[Test]


@dataclass
class _Crowd:
    """The distinct public baskets, how many people have each, and who passes which test."""

    baskets: Bools
    items: list[str]
    people: Int64
    k: int
    work: int = 0
    _passed: dict[Test, Bools] = field(default_factory=dict)

    @classmethod
    def of(cls, baskets: Baskets, asked: Sequence[Asks], k: int) -> _Crowd:
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
    def start(self) -> _State:
        """Everybody in one span, of whom nothing is told."""
        nobody = np.zeros(len(self.people), np.bool_)
        return _State(np.zeros(len(self.people), np.int64), 1, nobody, frozenset())

    def passed(self, test: Test) -> Bools:
        """Return which baskets have all items of a test."""
        if test not in self._passed:
            columns = [self.items.index(name) for name in test]
            self._passed[test] = np.asarray(self.baskets[:, columns].all(axis=1))
        return self._passed[test]

    def divided(self, state: _State, asks: Asks) -> _State:
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
        return _State(span_of, n_spans, told, state.tests | asks.tests)

    def crowds(self, state: _State) -> Int64:
        """Return the number of people in each span that something is told about; 0 elsewhere."""
        people = np.where(state.told, self.people, 0)
        return np.bincount(state.span_of, weights=people, minlength=state.n_spans).astype(np.int64)

    def smallest(self, state: _State) -> int:
        """Return the smallest crowd that something is told about, or a number above all when nothing is."""
        crowds = self.crowds(state)[state.span_of[state.told]]
        return int(crowds.min()) if len(crowds) else int(self.people.sum()) + self.k

    def safe(self, asked: Iterable[Asks]) -> bool:
        """Whether groups of rules are safe together."""
        state = self.start
        for asks in asked:
            state = self.divided(state, asks)
        return self.smallest(state) >= self.k

    def joined(self, state: _State, asks: Asks) -> _State | None:
        """Return the spans with one more group of rules, or None if that would be a breach."""
        after = self.divided(state, asks)
        return after if self.smallest(after) >= self.k else None


def _largest(crowd: _Crowd, groups: Sequence[_Group], report: Progress) -> tuple[list[int], bool]:
    """Choose groups with as many rules as possible; also say whether that is proven."""
    alone = [crowd.smallest(crowd.divided(crowd.start, group.asks)) for group in groups]
    able = [number for number, smallest in enumerate(alone) if smallest >= crowd.k]
    if crowd.safe(groups[number].asks for number in able):
        return able, True
    orders: list[Callable[[int], tuple[int, ...]]] = [
        lambda number: (number,),
        lambda number: (-len(groups[number].rules), number),
        lambda number: (-alone[number], len(groups[number].asks.tests), number),
        lambda number: (len(groups[number].asks.tests), -len(groups[number].rules), -alone[number], number),
    ]
    best: list[int] = []
    for turn, order in enumerate(orders):
        found = _greedy(crowd, groups, sorted(able, key=order))
        best = max(best, found, key=lambda numbers: _n_rules(groups, numbers))
        report("choose", turn + 1, len(orders) + 2)
    best = _swapped(crowd, groups, best, able)
    report("choose", len(orders) + 1, len(orders) + 2)
    proven = _branch_and_bound(crowd, groups, able, _n_rules(groups, best))
    report("choose", len(orders) + 2, len(orders) + 2)
    return (sorted(best), False) if proven is None else (proven, True)


def _n_rules(groups: Sequence[_Group], numbers: Iterable[int]) -> int:
    return sum(len(groups[number].rules) for number in numbers)


def _greedy(crowd: _Crowd, groups: Sequence[_Group], order: Iterable[int], start: Sequence[int] = ()) -> list[int]:
    """Take each group that can join those taken before it."""
    state, taken = crowd.start, []
    for number in [*start, *order]:
        after = crowd.joined(state, groups[number].asks)
        if after is not None:
            state = after
            taken.append(number)
    return taken


def _swapped(crowd: _Crowd, groups: Sequence[_Group], taken: list[int], able: Sequence[int]) -> list[int]:
    """Take one group out, and others in, as long as that gives more rules."""
    limit = crowd.work + _SWAP_WORK
    improved = True
    while improved:
        improved = False
        for out in sorted(taken, key=lambda number: (len(groups[number].rules), -number)):
            if crowd.work > limit:
                return taken
            rest = [number for number in taken if number != out]
            others = [number for number in able if number not in taken]
            others.sort(key=lambda number: (-len(groups[number].rules), number))
            found = _greedy(crowd, groups, [*others, out], rest)
            if _n_rules(groups, found) > _n_rules(groups, taken):
                taken, improved = found, True
                break
    return taken


def _branch_and_bound(crowd: _Crowd, groups: Sequence[_Group], able: Sequence[int], least: int) -> list[int] | None:
    """Find the largest safe set, which has at least `least` rules; None when it takes too long.

    Groups are taken before they are left, so that among the largest sets the first in the order of rules is found.
    """
    limit = crowd.work + _EXACT_WORK
    best: list[int] | None = None
    most = least - 1
    stack: list[tuple[_State, list[int], list[int]]] = [(crowd.start, [], list(able))]
    while stack:
        state, taken, open_ = stack.pop()
        if _n_rules(groups, taken) + _n_rules(groups, open_) <= most:
            continue
        if not open_:
            best, most = taken, _n_rules(groups, taken)
            continue
        if crowd.work > limit:
            return None
        first, rest = open_[0], open_[1:]
        stack.append((state, taken, rest))
        after = crowd.divided(state, groups[first].asks)
        # What cannot join now never can: every part of a safe set is safe.
        rest = [number for number in rest if crowd.joined(after, groups[number].asks) is not None]
        stack.append((after, [*taken, first], rest))
    return best


def _dropped(
    crowd: _Crowd, groups: Sequence[_Group], chosen: Sequence[int], rules: Sequence[Rule], *, lift: bool
) -> pl.DataFrame:
    """Say of every rule that was dropped which span it would make too small."""
    kept = crowd.start
    for number in chosen:
        kept = crowd.divided(kept, groups[number].asks)
    why: dict[int, tuple[str, str, int]] = {}
    for number in sorted(set(range(len(groups))) - set(chosen)):
        state, reason = crowd.divided(crowd.start, groups[number].asks), "alone"
        if crowd.smallest(state) >= crowd.k:
            state, reason = crowd.divided(kept, groups[number].asks), "with others"
        crowds = crowd.crowds(state)
        span = int(np.argmin(np.where(crowds > 0, crowds, crowds.max() + 1)))
        words = _in_words(*_has_and_lacks(crowd, state, span))
        why |= dict.fromkeys(groups[number].rules, (reason, words, int(crowds[span])))
    numbers = sorted(why)
    frame = rules_frame([rules[i] for i in numbers], lift=lift)
    return frame.with_columns(
        pl.Series("reason", [why[i][0] for i in numbers], pl.String),
        pl.Series("span", [why[i][1] for i in numbers], pl.String),
        pl.Series("people", [why[i][2] for i in numbers], pl.Int64),
    )


def _describe_spans(crowd: _Crowd, asked: Sequence[Asks]) -> pl.DataFrame:
    state = crowd.start
    for asks in asked:
        state = crowd.divided(state, asks)
    people = crowd.crowds(state)
    told = np.flatnonzero(people)
    described = [_has_and_lacks(crowd, state, int(span)) for span in told]
    return pl.DataFrame(
        {"has": [has for has, _ in described], "lacks": [lacks for _, lacks in described], "people": people[told]},
        schema={"has": pl.List(pl.String), "lacks": pl.List(pl.List(pl.String)), "people": pl.Int64},
    ).sort("people", "has", descending=[True, False])


def _has_and_lacks(crowd: _Crowd, state: _State, span: int) -> tuple[list[str], list[list[str]]]:
    """Return the items that all people of a span have for certain, and the smallest sets of which they lack some."""
    one = int(np.flatnonzero(state.span_of == span)[0])
    has = frozenset[str]().union(*(test for test in state.tests if crowd.passed(test)[one]))
    lacks = {test - has for test in state.tests if not crowd.passed(test)[one]}
    smallest = [test for test in lacks if not any(other < test for other in lacks)]
    return sorted(has), sorted(map(sorted, smallest))


def _in_words(has: list[str], lacks: list[list[str]]) -> str:
    parts = [f"with {', '.join(has)}"] if has else []
    parts += [f"without {items[0]}" if len(items) == 1 else f"not all of {', '.join(items)}" for items in lacks]
    return "people " + "; ".join(parts) if parts else "everybody"
