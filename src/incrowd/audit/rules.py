"""Audit of association rules: from their supports and confidences alone, or exactly with the baskets.

A rule puts a person into one of three classes: without all of the left side (0), with the left side only (1), with both
sides (2). The classes that somebody can be in, when public items are known and private ones are not, are found for each
rule by asking which of the three are possible. People with the same possibilities for all rules share a span, and a
span with several possibilities must hold nobody or at least k people (Friedman et al. 2008, Claim 3, section 4.3).

With a table, people are counted. Without one, the auditor knows only that ``n x support`` people have both sides and
``n x support / confidence`` the left one. Often that settles the people in every span; where it does not, bounds are
found by linear programming over all tables that fit the numbers, and a breach is *certain* when every such table has
it, *possible* when it cannot be ruled out. Bounds always hold; they need not be the best ones in whole people, and do
not use that values of one column exclude each other. With many different public items, rules are looked at in pairs
only: a breach that is found is certain (rules that are unsafe together are unsafe in any larger set), and nothing is
said about the rest.

Reference: Friedman, Wolff, Schuster: Providing k-anonymity in data mining, VLDB Journal 2008.

>>> cherries = {"antecedents": ["cherries"], "consequents": ["viagra"], "support": 0.084, "confidence": 0.75}
>>> candles = {"antecedents": ["cherries", "candles"], "consequents": ["tylenol"], "support": 0.024, "confidence": 0.8}
>>> found = audit_rules([cherries, candles], n=1000, public=["cherries", "candles"], k=31)
>>> found.ok, found.level, found.drop
(False, 30, (1,))
>>> print(found.breaches[0].span, found.breaches[0].least)
people with candles, cherries 30
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from incrowd import io
from incrowd.errors import InputError, ParameterError, VerificationError
from incrowd.hierarchy.hierarchy import text

Bools = npt.NDArray[np.bool_]
Int64 = npt.NDArray[np.int64]
Items = frozenset[str]

_MOST_BLOCKS = 8  # items that always come together are one block: 256 kinds of people
_MOST_PAIRS = 20_000
_MOST_SHOWN = 8
_MOST_LISTED = 200
_WHOLE = 0.01  # n x support is this near to a whole number, unless it was rounded
_SOLVER = 1e-6
_CLOSE = 0.75
_UNDERSTOOD = ("antecedents", "consequents", "antecedent support", "support", "confidence", "representativity")
_HOW_ROUNDED = "check --people (n=); if the numbers are rounded, say how much with --rounding (rounding=)"
_EXPECTED = "expected supports, as of rules_from_release, need no audit: a release keeps its promise whatever is mined"
_OF_RIGHT = (
    *("consequent support", "lift", "leverage", "conviction", "zhangs_metric", "jaccard", "certainty", "kulczynski"),
)


@dataclass(frozen=True)
class Breach:
    """Too few people that something private is told about.

    Attributes
    ----------
    span
        Who they are, by public items.
    least, most
        Bounds of how many there are; equal when it is known.
    certain
        Whether it is a breach in every table that the numbers allow.
    rules
        The rules that tell something about them, by row of the rule table from 0.
    rows
        The people, by row of the table from 0; ``None`` without a table.
    """

    span: str
    least: int
    most: int
    certain: bool
    rules: tuple[int, ...]
    rows: tuple[int, ...] | None = None

    def __str__(self) -> str:
        number = str(self.least) if self.least == self.most else f"{self.least} to {self.most}"
        return f"{'' if self.certain else 'possibly '}{self.span}: {number}"


@dataclass(frozen=True)
class RuleAudit:
    """What the rules tell, and about how many people.

    Attributes
    ----------
    ok
        Whether everybody is hidden in a crowd of k; ``None`` when the numbers do not settle it.
    level
        Largest k that holds for certain; ``None`` when nothing private is told about anybody, or when it is not known.
    breaches
        Certain ones first, then small ones first.
    drop
        Rules to drop, by row from 0, so that the rest shows no breach; earlier rules are kept before later ones.
    spans
        Spans with bounds of their people: (span, least, most, whether it tells something); the first 200 of them, those
        that tell something and are small first. Breaches beyond them are counted, without a description.
    notes
        What was not examined, and what does not fit.
    """

    n_rules: int
    n: int
    k: int
    ok: bool | None
    level: int | None
    breaches: tuple[Breach, ...]
    drop: tuple[int, ...]
    spans: tuple[tuple[str, int, int, bool], ...] = field(repr=False)
    notes: tuple[str, ...]
    _rules: Any = field(repr=False, compare=False)

    def repair(self) -> Any:  # noqa: ANN401
        """Return the rule table without the rules to drop, of the kind that was given."""
        keep = [i not in set(self.drop) for i in range(self.n_rules)]
        if isinstance(self._rules, Sequence):
            return [rule for rule, kept in zip(self._rules, keep, strict=True) if kept]
        if hasattr(self._rules, "loc"):
            return self._rules.loc[keep]
        return self._rules.filter(keep if isinstance(self._rules, pl.DataFrame) else np.array(keep))

    def raise_for_breaches(self) -> None:
        """Raise `VerificationError` unless the rules are known to be safe."""
        if not self.ok:
            found = [str(breach) for breach in self.breaches]
            hint = "release what .repair() returns" if self.drop else "give the baskets of these rules (data=)"
            raise VerificationError(self.headline, hint, violations=found)

    @property
    def headline(self) -> str:
        """The finding in one sentence."""
        rules = f"{self.n_rules} rules about {self.n} people"
        if self.ok:
            most = "any k: they tell nothing private" if self.level is None else f"k up to {self.level}"
            return f"{rules}: k = {self.k} holds ({most})"
        if self.ok is None:
            return f"{rules}: it cannot be told from these numbers whether k = {self.k} holds"
        certain = sum(breach.certain for breach in self.breaches)
        return f"{rules}: k = {self.k} is BROKEN: private items are linked to fewer people, {certain} times"

    def __str__(self) -> str:
        lines = [self.headline]
        lines += [f"  {breach} people" for breach in self.breaches[:_MOST_SHOWN]]
        if len(self.breaches) > _MOST_SHOWN:
            lines.append(f"  ... and {len(self.breaches) - _MOST_SHOWN} more")
        if self.drop:
            shown = ", ".join(str(i + 1) for i in self.drop[:_MOST_SHOWN])
            lines.append(f"  drop {len(self.drop)} rules: {shown}{' ...' if len(self.drop) > _MOST_SHOWN else ''}")
        return "\n".join(lines + [f"  note: {note}" for note in self.notes])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        found = [
            {
                "span": b.span,
                "least": b.least,
                "most": b.most,
                "certain": b.certain,
                "rules": list(b.rules),
                "rows": None if b.rows is None else list(b.rows),
            }
            for b in self.breaches
        ]
        return {
            "rules": self.n_rules,
            "people": self.n,
            "k": self.k,
            "ok": self.ok,
            "level": self.level,
            "breaches": found,
            "drop": list(self.drop),
            "notes": list(self.notes),
        }


def audit_rules(
    rules: Any,  # noqa: ANN401
    *,
    public: Iterable[str],
    k: int,
    n: int | None = None,
    data: Any = None,  # noqa: ANN401
    rounding: float = 0.0,
    separator: str | None = None,
) -> RuleAudit:
    """Find out whether association rules tell something private about fewer than k people.

    Parameters
    ----------
    rules
        A frame with the columns of mlxtend (antecedents, consequents, support, confidence), a list of dicts, or what
        `anonymous_rules` returned. Every other column of mlxtend's tells how many people have the right side, and is
        counted as such.
    public
        Items that an attacker may know of a person; all others are private. Of items ``column=value``, columns will do:
        the columns of `data`, or without it any name before a "=" that is not an item of the rules itself. A name that
        nothing matches is an error if it looks like a private item or column, and a note otherwise.
    k
        Least number of people that something private may be told about.
    n
        Number of people that the rules are about; not needed with `data`.
    data
        The baskets, as in `anonymous_rules`: then people are counted. If they are not those of the rules, no ``ok``
        is given.
    rounding
        Largest rounding error of the printed numbers: 0.0005 for shares with three decimals.
    separator
        What stands between items when sides are text.
    """
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        fact = f"k must be a whole number of people from 1, got {k!r}"
        raise ParameterError(fact, "k = 5 is a small crowd, k = 50 a large one")
    if isinstance(public, str):
        fact = "public must be a list of items or columns, got one text"
        raise ParameterError(fact, f"write [{public!r}]")
    known = frozenset(map(str, public))
    real: Items = frozenset()
    if _is_mined(rules):  # such rules know how many people they are about, and which items there are
        real = frozenset(map(str, rules.public))
        rules, n = rules.rules, rules.n if n is None and data is None else n
    table, notes = _columns(rules)
    sides = [_sides(table, i, separator) for i in range(len(table["support"]))]
    items = frozenset[str]().union(*(left | right for left, right in sides))
    people = None if data is None else _People(data)
    columns = None if people is None else people.columns
    known_items = frozenset(item for item in items if _is_public(item, known, items, columns))
    unmatched = known - known_items - {item[:at] for item in known_items for at in _ends(item)} - real
    notes += _check_public({name for name in unmatched if not (people and people.knows(name))}, items - known_items)
    parts = [_read_rule(table, i, left, right, known_items) for i, (left, right) in enumerate(sides)]
    if people is not None:
        return _with_table(rules, table, parts, people, n, int(k), rounding, notes)
    if not isinstance(n, int | np.integer) or n < 1:
        fact = f"n must be the number of people that the rules are about, got {n!r}"
        raise ParameterError(fact, "give --people (n=), or the baskets (data=)")
    counts = [_counts(table, i, int(n), rounding) for i in range(len(parts))]
    return _by_numbers(rules, parts, counts, int(n), int(k), notes)


def _is_mined(rules: Any) -> bool:  # noqa: ANN401
    """Return whether this is a result of `anonymous_rules`, which is not imported here."""
    if hasattr(rules, "columns") or hasattr(rules, "column_names"):
        return False
    return all(hasattr(rules, name) for name in ("rules", "n", "public"))


class _Rule(NamedTuple):
    """The sides of a rule by who knows them, and whether the number of people with the right side is told too."""

    left_public: Items
    left_private: Items
    right_public: Items
    right_private: Items
    tells_right: bool

    @property
    def left(self) -> Items:
        return self.left_public | self.left_private

    @property
    def right(self) -> Items:
        return self.right_public | self.right_private

    def parts(self) -> list[_Rule]:
        """Return the rule, and the rule without a left side that stands for the number of people with the right one."""
        rule = self._replace(tells_right=False)
        nothing: Items = frozenset()
        return [rule, rule._replace(left_public=nothing, left_private=nothing)] if self.tells_right else [rule]


class _Count(NamedTuple):
    """Bounds of the number of people with an itemset."""

    items: Items
    least: int
    most: int


def _possible(rule: _Rule, has: Mapping[str, Bools], n: int) -> npt.NDArray[np.int8]:
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


def _tells(possible: npt.NDArray[Any]) -> Bools:
    """Return who can be in more than one class."""
    several: Bools = (possible & (possible - 1)) != 0
    return several


class _Spans:
    """People by span, one rule added after the other."""

    def __init__(self, n: int) -> None:
        self.of = np.zeros(n, np.int64)
        self.tells = np.zeros(n, np.bool_)
        self.n_spans = 1

    def plus(self, possible: Iterable[npt.NDArray[np.int8]]) -> _Spans:
        """Return the spans with the parts of one more rule."""
        more = _Spans(0)
        more.of, more.tells, more.n_spans = self.of, self.tells, self.n_spans
        for one in possible:
            span = more.of * 8 + one
            there = np.zeros(more.n_spans * 8, np.bool_)
            there[span] = True
            number = np.cumsum(there) - 1
            more.of, more.n_spans = number[span], int(there.sum())
            more.tells = more.tells | _tells(one)
        return more

    def told(self) -> Bools:
        """Return which spans have several classes."""
        told = np.zeros(self.n_spans, np.bool_)
        told[self.of[self.tells]] = True
        return told


def _with_table(
    given: Any,  # noqa: ANN401
    table: Mapping[str, list[Any]],
    rules: Sequence[_Rule],
    table_of: _People,
    n: int | None,
    k: int,
    rounding: float,
    notes: list[str],
) -> RuleAudit:
    """Count people."""
    items = {item for rule in rules for item in rule.left | rule.right}
    has, n_people = table_of.having(items), table_of.n
    if n is not None and n != n_people:
        fact = f"The rules are said to be about {n} people, and the table has {n_people}"
        raise InputError(fact, "give the table that the rules were made from")
    wrong = sum(_differs(table, i, rule, has, n_people, rounding) for i, rule in enumerate(rules))
    if wrong:
        notes = [*notes, f"{wrong} rules have other supports or confidences than the table: are they made from it?"]
    strange = sorted(item for item in items if not table_of.knows(item))
    if strange:
        notes = [*notes, f"the table has no item {', '.join(map(repr, strange[:_MOST_SHOWN]))}: is it the rules' own?"]
    is_own = not wrong and not strange
    possible = [[_possible(part, has, n_people) for part in rule.parts()] for rule in rules]
    spans = _Spans(n_people)
    for one in {b"".join(p.tobytes() for p in one): one for one in possible}.values():
        spans = spans.plus(one)
    people, told = np.bincount(spans.of, minlength=spans.n_spans), spans.told()
    members = np.split(np.argsort(spans.of, kind="stable"), np.cumsum(people)[:-1])
    listed = np.lexsort((people, ~told))[:_MOST_LISTED].tolist()
    broken = np.flatnonzero(told & (people < k))
    if spans.n_spans > len(listed):
        notes = [*notes, f"{spans.n_spans - len(listed)} of the {spans.n_spans} spans are counted, not listed"]
    words = {span: _in_words(rules, [[int(p[members[span][0]]) for p in one] for one in possible]) for span in listed}
    breaches = [
        Breach(
            words.get(span, "people"),
            int(people[span]),
            int(people[span]),
            certain=True,
            rules=tuple(i for i, one in enumerate(possible) if any(_tells(p[members[span][0]]) for p in one))
            if span in words
            else (),
            rows=tuple(members[span].tolist()),
        )
        for span in broken.tolist()
    ]
    return RuleAudit(
        n_rules=len(rules),
        n=n_people,
        k=k,
        ok=False if breaches else is_own or None,
        level=int(people[told].min()) if told.any() and is_own else None,
        breaches=tuple(sorted(breaches, key=lambda b: (b.least, not b.rules, b.span))),
        drop=_drop_by_table(possible, n_people, k) if breaches else (),
        spans=tuple((words[span], int(people[span]), int(people[span]), bool(told[span])) for span in listed),
        notes=tuple(notes),
        _rules=given,
    )


def _drop_by_table(possible: Sequence[list[npt.NDArray[np.int8]]], n: int, k: int) -> tuple[int, ...]:
    """Keep each rule that leaves no small span with those kept before it: once it does, it always would."""
    spans, drop = _Spans(n), []
    for i, one in enumerate(possible):
        more = spans.plus(one)
        people = np.bincount(more.of, minlength=more.n_spans)
        if (more.told() & (people < k)).any():
            drop.append(i)
        else:
            spans = more
    return tuple(drop)


class _Bounded(NamedTuple):
    """A span, bounds of its people, and the rules that tell something about them."""

    words: str
    least: int
    most: int
    rules: tuple[int, ...]

    @property
    def safe_up_to(self) -> float:
        return math.inf if not self.rules or self.most == 0 else max(1, self.least)

    def breach(self, k: int) -> Breach | None:
        if self.safe_up_to >= k:
            return None
        return Breach(self.words, self.least, self.most, certain=self.least >= 1 and self.most < k, rules=self.rules)


def _by_numbers(
    given: Any,  # noqa: ANN401
    rules: Sequence[_Rule],
    counts: Sequence[list[tuple[str, int, int]]],
    n: int,
    k: int,
    notes: list[str],
) -> RuleAudit:
    """Bound the people in every span by what the released numbers say."""
    known = [_released(rules[i], counts[i]) for i in range(len(rules))]
    numbers = list(range(len(rules)))
    small = _small_enough(rules, known)
    if not small:
        bounded, unseen = _by_pairs(rules, known, n, k)
        left_out = f"pairs of rules beyond the first {_MOST_PAIRS}, and " if unseen else ""
        why = "were not examined; give the baskets (data=) for an exact answer"
        notes = [*notes, f"{left_out}combinations of three or more rules {why}"]
    else:
        bounded = _by_linear_programs(rules, known, numbers, n, private=small == "all")
    breaches = [breach for one in bounded if (breach := one.breach(k)) is not None]
    certain = any(breach.certain for breach in breaches)
    level = min((one.safe_up_to for one in bounded), default=math.inf)
    tells = any(rule.left_private | rule.right_private for rule in rules)
    settled = bool(small) or not tells
    return RuleAudit(
        n_rules=len(rules),
        n=n,
        k=k,
        ok=False if certain else (not breaches and settled) or None,
        level=int(level) if settled and level < math.inf else None,
        breaches=tuple(sorted(breaches, key=lambda b: (not b.certain, b.most, b.span))),
        drop=_drop_by_numbers(rules, known, n, k, small=bool(small), private=small == "all") if breaches else (),
        spans=tuple((one.words, one.least, one.most, bool(one.rules)) for one in bounded),
        notes=tuple(notes),
        _rules=given,
    )


def _released(rule: _Rule, counts: Sequence[tuple[str, int, int]]) -> list[_Count]:
    items = {"both": rule.left | rule.right, "left": rule.left, "right": rule.right}
    return [_Count(items[what], least, most) for what, least, most in counts]


def _drop_by_numbers(
    rules: Sequence[_Rule], known: Sequence[list[_Count]], n: int, k: int, *, small: bool, private: bool
) -> tuple[int, ...]:
    """Keep each rule that is shown safe with those kept before it; of many rules, each not shown to be unsafe."""
    kept: list[int] = []
    if not small:
        broken: set[tuple[int, int]] = set()
        for q, r, one in _pair_regions(rules, known, n):
            breach = one.breach(k)
            if breach is not None and breach.certain:
                broken.add((q, r))
        for i in range(len(rules)):
            if (i, i) not in broken and not any((j, i) in broken for j in kept):
                kept.append(i)
        return tuple(i for i in range(len(rules)) if i not in kept)
    for i in range(len(rules)):
        bounded = _by_linear_programs(rules, known, [*kept, i], n, private=private)
        if all(one.safe_up_to >= k for one in bounded):
            kept.append(i)
    return tuple(i for i in range(len(rules)) if i not in kept)


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


def _asked(rules: Sequence[_Rule]) -> list[Items]:
    """Return all itemsets of which the rules ask whether a person has them, by who knows it."""
    sides = [(r.left_public, r.right_public, r.left_private, r.right_private) for r in rules]
    return [items for four in sides for items in four]


def _small_enough(rules: Sequence[_Rule], known: Sequence[list[_Count]]) -> str:
    """Say whether linear programs can take in all items ("all"), the public ones only ("public"), or neither ("")."""
    del known
    asked = _asked(rules)
    if len(_blocks(asked)) <= _MOST_BLOCKS:
        return "all"
    public = [items for rule in rules for items in (rule.left_public, rule.right_public)]
    return "public" if len(_blocks(public)) <= _MOST_BLOCKS else ""


def _by_linear_programs(
    rules: Sequence[_Rule], known: Sequence[list[_Count]], numbers: Sequence[int], n: int, *, private: bool
) -> list[_Bounded]:
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
    possible = [[_possible(part, has, len(kinds)) for part in rule.parts()] for rule in chosen]
    spans = _Spans(len(kinds))
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
        tellers = [i for i, one in zip(numbers, possible, strict=True) if any(_tells(p[kind]) for p in one)]
        words = _in_words(chosen, [[int(p[kind]) for p in one] for one in possible])
        bounded.append(_Bounded(words, *system.bounds(span), tuple(tellers)))
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
    return InputError(fact, _HOW_ROUNDED)


class _Line(NamedTuple):
    """People with some public items and not all of some others, and whether a rule tells something about them."""

    has: Items
    lacks: Items | None
    told: bool


def _lines(rule: _Rule) -> list[_Line]:
    lines = []
    for part in rule.parts():
        both = part.left_public | part.right_public
        if part.left_public:
            lines.append(_Line(frozenset(), part.left_public, told=False))
        if both != part.left_public:
            lines.append(_Line(part.left_public, both, told=bool(part.left_private)))
        lines.append(_Line(both, None, told=bool(part.left_private | part.right_private)))
    return lines


def _by_pairs(rules: Sequence[_Rule], known: Sequence[list[_Count]], n: int, k: int) -> tuple[list[_Bounded], bool]:
    """Return the certain breaches that two rules make together, and whether some pairs were left out."""
    found: dict[str, _Bounded] = {}
    for _, _, one in _pair_regions(rules, known, n):
        breach = one.breach(k)
        if breach is not None and breach.certain:
            found.setdefault(one.words, one)
    return list(found.values()), len(rules) * (len(rules) + 1) // 2 > _MOST_PAIRS


def _pair_regions(rules: Sequence[_Rule], known: Sequence[list[_Count]], n: int) -> Iterable[tuple[int, int, _Bounded]]:
    """Bound the people where a line of one rule meets a line of another, by inclusion and exclusion."""
    counts = _Counts([count for one in known for count in one], n)
    lines = [_lines(rule) for rule in rules]
    pairs = sorted(combinations_with_replacement(range(len(rules)), 2), key=lambda p: (p[1] - p[0], p))
    for q, r in pairs[:_MOST_PAIRS]:
        for a, b in product(lines[q], lines[r]):
            if a.told or b.told:
                least, most = counts.between(a.has | b.has, {x for x in (a.lacks, b.lacks) if x is not None})
                tellers = tuple(sorted({i for i, line in ((q, a), (r, b)) if line.told}))
                yield q, r, _Bounded(_words(a.has | b.has, [a.lacks, b.lacks]), least, most, tellers)


class _Counts:
    """Bounds of the number of people with any itemset, from the released ones above and below it."""

    def __init__(self, known: Sequence[_Count], n: int) -> None:
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
        return max(0, least - away), max(0, most - max(one[0] for one in taken))


def _in_words(rules: Sequence[_Rule], possible: Sequence[Sequence[int]]) -> str:
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


def _columns(rules: Any) -> tuple[dict[str, list[Any]], list[str]]:  # noqa: ANN401
    """Read a rule table of any kind by columns."""
    if isinstance(rules, Sequence) and not isinstance(rules, str):
        if not all(isinstance(rule, Mapping) for rule in rules):
            fact = "A list of rules must hold a dict for each rule"
            raise InputError(fact, "with antecedents, consequents, support and confidence")
        names = list(dict.fromkeys(str(name) for rule in rules for name in rule))
        table = {name: [rule.get(name) for rule in rules] for name in names}
        if not rules:
            table = {name: [] for name in ("antecedents", "consequents", "support", "confidence")}
    elif hasattr(rules, "column_names"):
        table = {name: rules[name].to_pylist() for name in rules.column_names}
    elif hasattr(rules, "columns"):
        table = {str(name): rules[name].to_list() for name in rules.columns}
    else:
        fact = f"Expected a table of rules, got {type(rules).__name__}"
        raise InputError(fact, "give a frame or a list of dicts")
    lacking = [name for name in ("antecedents", "consequents", "support", "confidence") if name not in table]
    if lacking:
        fact = f"The rule table has no column {', '.join(map(repr, lacking))}"
        raise InputError(fact, "rename its columns as mlxtend's association_rules names them")
    strange = [name for name in table if name not in _UNDERSTOOD + _OF_RIGHT]
    return table, [f"what column {name!r} tells was not examined" for name in strange]


def _sides(table: Mapping[str, list[Any]], i: int, separator: str | None) -> tuple[Items, Items]:
    left, right = (_items(table[side][i], separator) for side in ("antecedents", "consequents"))
    if not right or left & right:
        fact = f"Rule {i + 1} has an empty right side or items on both sides"
        raise InputError(fact, "a rule has different items on its two sides")
    return left, right


def _read_rule(table: Mapping[str, list[Any]], i: int, left: Items, right: Items, known: Items) -> _Rule:
    tells_right = any(table[name][i] is not None for name in _OF_RIGHT if name in table)
    return _Rule(left & known, left - known, right & known, right - known, tells_right)


def _items(side: Any, separator: str | None) -> Items:  # noqa: ANN401
    if isinstance(side, str):
        if separator is None:
            fact = "The sides of the rules are text, and it is not said what stands between items"
            raise InputError(fact, 'give lists or sets of items, or separator=", "')
        return frozenset(item.strip() for item in side.split(separator) if item.strip())
    if not isinstance(side, Iterable):
        fact = f"A side of a rule is {type(side).__name__}, not a list or set of items"
        raise InputError(fact, "give lists or sets of items")
    return frozenset(map(str, side))


def _ends(item: str) -> list[int]:
    """Return where the column of an item ``column=value`` may end: columns and values may have a "=" of their own."""
    return [at for at, letter in enumerate(item) if letter == "="]


def _is_public(item: str, public: Items, items: Items, columns: Items | None) -> bool:
    """Return whether an item is public by its own name, or as a value of a public column.

    Which names are columns is known with a table; baskets have none. Without a table, a name is taken for a column
    unless it is an item of the rules: "pill=strong" is no value of "pill" when "pill" is bought as such.
    """
    starts = {item[:at] for at in _ends(item)} & public
    return item in public or bool(starts - items if columns is None else starts & columns)


def _check_public(unmatched: set[str], private: Items) -> list[str]:
    """Refuse public names that look like misspelt private ones; return a note about others that nothing matches."""
    for name in sorted(unmatched):
        meant = _like(name, private)
        if meant is not None:
            fact = f"No rule has the public item {name!r}, and {meant!r} would be taken as private: did you mean it?"
            raise ParameterError(fact, "write public items as the rules do; leave out those that no rule has")
    if not unmatched:
        return []
    shown = ", ".join(map(repr, sorted(unmatched)[:_MOST_SHOWN])) + (" ..." if len(unmatched) > _MOST_SHOWN else "")
    return [f"no rule has the public item(s) {shown}: if misspelt, taken as private"]


def _like(name: str, private: Items) -> str | None:
    """Return a private item or column that a name may have been meant for; one with another number is another one."""
    for item in sorted(private):
        if item.startswith(f"{name}="):
            return item
    names = sorted(private | {item[:at] for item in private for at in _ends(item)[:1]})
    for other in names:
        if other.casefold() == name.casefold():
            return other
    column, _, value = name.rpartition("=")
    start = f"{column}=" if column else ""
    rest = {other[len(start) :]: other for other in names if other.startswith(start)}
    near = get_close_matches(value, [one for one in rest if _letters(one) != _letters(value)], n=1, cutoff=_CLOSE)
    if not near and start:
        rest = {other: other for other in names if not f"{other}=".startswith(start)}
        near = get_close_matches(name, [one for one in rest if _letters(one) != _letters(name)], n=1, cutoff=_CLOSE)
    return rest[near[0]] if near else None


def _letters(name: str) -> str:
    return "".join(letter for letter in name if not letter.isdigit())


def _counts(table: Mapping[str, list[Any]], i: int, n: int, rounding: float) -> list[tuple[str, int, int]]:
    """Return bounds of the number of people with both sides, the left one, and the right one if it is told."""
    support, confidence = float(table["support"][i]), float(table["confidence"][i])
    if not (0 <= support <= 1 and 0 <= confidence <= 1):
        fact = f"Rule {i + 1} has a support of {support} and a confidence of {confidence}"
        raise InputError(fact, "both are shares from 0 to 1; divide percentages by 100")
    both = _whole(n, support, support, rounding, i, "support")
    found = [("both", *both)]
    if confidence - rounding > 0 and both[1] > 0:
        least, most = both[0] / min(1.0, confidence + rounding), both[1] / (confidence - rounding)
        found.append(("left", *_whole(1, least, most, 0.0 if rounding == 0 else _SOLVER, i, "confidence")))
    if "antecedent support" in table and table["antecedent support"][i] is not None:
        share = float(table["antecedent support"][i])
        found.append(("left", *_whole(n, share, share, rounding, i, "antecedent support")))
    if "consequent support" in table and table["consequent support"][i] is not None:
        share = float(table["consequent support"][i])
        found.append(("right", *_whole(n, share, share, rounding, i, "consequent support")))
    elif rounding == 0 and "lift" in table and table["lift"][i]:
        share = confidence / float(table["lift"][i])
        found.append(("right", *_whole(n, share, share, rounding, i, "lift")))
    return [(what, least, min(most, n)) for what, least, most in found]


def _whole(n: int, low: float, high: float, rounding: float, i: int, name: str) -> tuple[int, int]:
    """Return the whole numbers of people that a share can stand for."""
    if rounding == 0:
        nearest = round(n * low)
        if abs(n * low - nearest) > _WHOLE:
            fact = f"The {name} of rule {i + 1} gives {n * low:.4g} people, which is no whole number"
            raise InputError(fact, f"{_HOW_ROUNDED}; {_EXPECTED}")
        return nearest, nearest
    least, most = max(0, math.ceil(n * (low - rounding) - _SOLVER)), math.floor(n * (high + rounding) + _SOLVER)
    if least > most:
        fact = f"No whole number of people, out of {n}, gives the {name} of rule {i + 1}"
        raise InputError(fact, "check --people (n=); the numbers may be rounded more than --rounding (rounding=) says")
    return least, most


class _People:
    """The table that rules are said to be about: baskets, a frame of bools, or any other frame."""

    def __init__(self, data: Any) -> None:  # noqa: ANN401
        self.columns: Items = frozenset()
        self._baskets: list[Items] | None = None
        if isinstance(data, Sequence) and not isinstance(data, str):
            self._baskets = [frozenset(map(str, basket)) for basket in data]
            self.n = len(self._baskets)
            self._items = frozenset[str]().union(*self._baskets)
        else:
            self._frame = io.to_polars(data)
            self.n = self._frame.height
        if self.n == 0:
            fact = "The table has no people"
            raise InputError(fact, "give the table that the rules were made from")
        if self._baskets is not None:
            return
        if all(dtype == pl.Boolean for dtype in self._frame.dtypes):
            self._items = frozenset(self._frame.columns)
            return
        self.columns = frozenset(self._frame.columns)
        self._items = frozenset(f"{column.name}={label}" for column in self._frame for _, label in _values(column))

    def knows(self, name: str) -> bool:
        """Return whether this is an item or a column."""
        return name in self._items or name in self.columns

    def having(self, items: set[str]) -> dict[str, Bools]:
        """Return who has each item that the rules name."""
        has = {item: np.zeros(self.n, np.bool_) for item in items}
        if self._baskets is not None:
            for person, basket in enumerate(self._baskets):
                for item in basket & items:
                    has[item][person] = True
        elif not self.columns:
            for name in items & self._items:
                has[name] = self._frame[name].fill_null(value=False).to_numpy().copy()
        else:
            for column in self._frame:
                for value, label in _values(column):
                    if f"{column.name}={label}" in items:
                        has[f"{column.name}={label}"] = (column == value).fill_null(value=False).to_numpy().copy()
        return has


def _values(column: pl.Series) -> Iterable[tuple[Any, str]]:
    values = column.drop_nulls().unique()
    return zip(values.to_list(), text(values), strict=True)


def _differs(
    table: Mapping[str, list[Any]], i: int, rule: _Rule, has: Mapping[str, Bools], n: int, rounding: float
) -> bool:
    everybody = np.ones(n, np.bool_)
    left = np.logical_and.reduce([everybody, *(has[item] for item in rule.left)])
    both = int(np.logical_and.reduce([left, *(has[item] for item in rule.right)]).sum())
    support, confidence = float(table["support"][i]), float(table["confidence"][i])
    slack = rounding + _SOLVER
    return abs(both / n - support) > slack or abs(both / max(1, int(left.sum())) - confidence) > slack
