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
from typing import Any

import numpy as np

from incrowd.audit.rule_bounds import (
    MOST_PAIRS,
    Spans,
    by_linear_programs,
    by_pairs,
    drop_by_numbers,
    drop_by_table,
    has_several,
    in_words,
    possible_classes,
    released,
    small_enough,
)
from incrowd.audit.rule_tables import (
    MOST_SHOWN,
    Items,
    People,
    Rule,
    differs,
    public_items,
    read_columns,
    read_rule,
    sides_of,
    told_counts,
)
from incrowd.errors import InputError, ParameterError, VerificationError, counted

_MOST_LISTED = 200


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
    _settled: bool = field(repr=False, compare=False)

    def repair(self) -> Any:  # noqa: ANN401
        """Return the rule table without the rules to drop, of the kind that was given."""
        keep = [i not in set(self.drop) for i in range(self.n_rules)]
        if isinstance(self._rules, Sequence):
            return [rule for rule, kept in zip(self._rules, keep, strict=True) if kept]
        if hasattr(self._rules, "loc"):
            return self._rules.loc[keep]
        return self._rules.filter(keep)

    @property
    def repair_is_safe(self) -> bool:
        """Whether what `repair` returns is known to keep k."""
        return self._settled

    def raise_for_breaches(self) -> None:
        """Raise `VerificationError` unless the rules are known to be safe."""
        if not self.ok:
            found = [str(breach) for breach in self.breaches]
            hint = "share what .repair() returns" if self.drop else "give the baskets of these rules (data=)"
            raise VerificationError(self.headline, hint, violations=found)

    @property
    def headline(self) -> str:
        """The finding in one sentence."""
        rules = f"{counted(self.n_rules, 'rule')} about {counted(self.n, 'person', 'people')}"
        if self.ok:
            most = "any k: they reveal nothing private" if self.level is None else f"k up to {self.level}"
            return f"{rules}: k = {self.k} holds ({most})"
        if self.ok is None:
            return f"{rules}: these numbers do not show whether k = {self.k} holds"
        certain = sum(breach.certain for breach in self.breaches)
        return (
            f"{rules}: k = {self.k} is BROKEN: private items are linked to fewer people in {counted(certain, 'case')}"
        )

    def __str__(self) -> str:
        lines = [self.headline]
        lines += [f"  {breach} people" for breach in self.breaches[:MOST_SHOWN]]
        if len(self.breaches) > MOST_SHOWN:
            lines.append(f"  ... and {len(self.breaches) - MOST_SHOWN} more")
        if self.drop:
            shown = ", ".join(str(i + 1) for i in self.drop[:MOST_SHOWN])
            lines.append(
                f"  drop {counted(len(self.drop), 'rule')}: {shown}{' ...' if len(self.drop) > MOST_SHOWN else ''}"
            )
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
    if not 0 <= rounding < 1:
        fact = f"rounding must be the largest rounding error of a share, from 0 to less than 1, got {rounding!r}"
        raise ParameterError(fact, "use 0.0005 for shares with three decimals")
    known = frozenset(map(str, public))
    real: Items = frozenset()
    if _is_mined(rules):  # such rules know how many people they are about, and which items there are
        real = frozenset(map(str, rules.public))
        rules, n = rules.rules, rules.n if n is None and data is None else n
    table, notes = read_columns(rules)
    sides = [sides_of(table, i, separator) for i in range(len(table["support"]))]
    items = frozenset[str]().union(*(left | right for left, right in sides))
    people = None if data is None else People(data)
    known_items, doubts = public_items(known, items, people, real)
    parts = [read_rule(table, i, left, right, known_items) for i, (left, right) in enumerate(sides)]
    notes += doubts
    if people is not None:
        return _with_table(rules, table, parts, people, n, int(k), rounding, notes)
    if not isinstance(n, int | np.integer) or n < 1:
        fact = f"n must be the number of people that the rules are about, got {n!r}"
        raise ParameterError(fact, "give --people (n=), or the baskets (data=)")
    counts = [told_counts(table, i, int(n), rounding) for i in range(len(parts))]
    return _by_numbers(rules, parts, counts, int(n), int(k), notes)


def _is_mined(rules: Any) -> bool:  # noqa: ANN401
    """Return whether this is a result of `anonymous_rules`, which is not imported here."""
    if hasattr(rules, "columns") or hasattr(rules, "column_names"):
        return False
    return all(hasattr(rules, name) for name in ("rules", "n", "public"))


def _with_table(
    given: Any,  # noqa: ANN401
    table: Mapping[str, list[Any]],
    rules: Sequence[Rule],
    table_of: People,
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
    wrong = sum(differs(table, i, rule, has, n_people, rounding) for i, rule in enumerate(rules))
    if wrong:
        notes = [*notes, f"{wrong} rules have other supports or confidences than the table: are they made from it?"]
    strange = sorted(item for item in items if not table_of.knows(item))
    if strange:
        notes = [*notes, f"the table has no item {', '.join(map(repr, strange[:MOST_SHOWN]))}: is it the rules' own?"]
    is_own = not wrong and not strange
    possible = [[possible_classes(part, has, n_people) for part in rule.parts()] for rule in rules]
    spans = Spans(n_people)
    for one in {b"".join(p.tobytes() for p in one): one for one in possible}.values():
        spans = spans.plus(one)
    people, told = np.bincount(spans.of, minlength=spans.n_spans), spans.told()
    members = np.split(np.argsort(spans.of, kind="stable"), np.cumsum(people)[:-1])
    listed = np.lexsort((people, ~told))[:_MOST_LISTED].tolist()
    broken = np.flatnonzero(told & (people < k))
    if spans.n_spans > len(listed):
        notes = [*notes, f"{spans.n_spans - len(listed)} of the {spans.n_spans} spans are counted, not listed"]
    words = {span: in_words(rules, [[int(p[members[span][0]]) for p in one] for one in possible]) for span in listed}
    breaches = [
        Breach(
            words.get(span, "people"),
            int(people[span]),
            int(people[span]),
            certain=True,
            rules=tuple(i for i, one in enumerate(possible) if any(has_several(p[members[span][0]]) for p in one))
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
        drop=drop_by_table(possible, n_people, k) if breaches else (),
        spans=tuple((words[span], int(people[span]), int(people[span]), bool(told[span])) for span in listed),
        notes=tuple(notes),
        _rules=given,
        _settled=is_own,
    )


def _by_numbers(
    given: Any,  # noqa: ANN401
    rules: Sequence[Rule],
    counts: Sequence[list[tuple[str, int, int]]],
    n: int,
    k: int,
    notes: list[str],
) -> RuleAudit:
    """Bound the people in every span by what the released numbers say."""
    known = [released(rules[i], counts[i]) for i in range(len(rules))]
    numbers = list(range(len(rules)))
    small = small_enough(rules, known)
    if not small:
        bounded, unseen = by_pairs(rules, known, n, k)
        left_out = f"pairs of rules beyond the first {MOST_PAIRS}, and " if unseen else ""
        why = "were not examined; give the baskets (data=) for an exact answer"
        notes = [*notes, f"{left_out}combinations of three or more rules {why}"]
    else:
        bounded = by_linear_programs(rules, known, numbers, n, private=small == "all")
    breaches = [
        Breach(one.words, one.least, one.most, certain=one.is_broken(k), rules=one.rules)
        for one in bounded
        if one.safe_up_to < k
    ]
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
        drop=drop_by_numbers(rules, known, n, k, small=bool(small), private=small == "all") if breaches else (),
        spans=tuple((one.words, one.least, one.most, bool(one.rules)) for one in bounded),
        notes=tuple(notes),
        _rules=given,
        _settled=settled,
    )
