"""Association rules of which every person is hidden in a crowd of at least k: the largest safe set of rules.

Idea. A rule "who has all of L has all of R" puts a person into one of three classes: not all of L, all of L but not all
of R, all of both. A set of rules puts them into a combination of those, and its supports and confidences tell how many
people are where. An attacker knows the *public* items of a person (the groceries in the cart) and not the private ones
(the pharmacy's opaque bag). The *span* of a person is the set of combinations that they can be in, whatever their
private items. A span of several combinations links private items to its people, so it must have none of them or at
least k (Claim 3).

What a rule tells, and about whom, is worked out in `rule_spans`; how the largest safe set is found, in `rule_search`.
When that takes too long, `AnonymousRules.exact` is false. Nothing that was dropped can be added to the result.

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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from incrowd.audit.rules import RuleAudit, audit_rules
from incrowd.errors import ParameterError, SchemaError, VerificationError
from incrowd.rules.itemsets import Baskets, Progress, Rule, find_rules, rules_frame
from incrowd.rules.search import Group, grouped, largest
from incrowd.rules.spans import Asks, Crowd, has_and_lacks, in_words, told_by


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
    groups = grouped([told_by(rule, known, lift=lift) for rule in rules])
    crowd = Crowd.of(baskets, [group.asks for group in groups], int(k))
    chosen, exact = largest(crowd, groups, report)
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


def _dropped(
    crowd: Crowd, groups: Sequence[Group], chosen: Sequence[int], rules: Sequence[Rule], *, lift: bool
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
        words = in_words(*has_and_lacks(crowd, state, span))
        why |= dict.fromkeys(groups[number].rules, (reason, words, int(crowds[span])))
    numbers = sorted(why)
    frame = rules_frame([rules[i] for i in numbers], lift=lift)
    return frame.with_columns(
        pl.Series("reason", [why[i][0] for i in numbers], pl.String),
        pl.Series("span", [why[i][1] for i in numbers], pl.String),
        pl.Series("people", [why[i][2] for i in numbers], pl.Int64),
    )


def _describe_spans(crowd: Crowd, asked: Sequence[Asks]) -> pl.DataFrame:
    state = crowd.start
    for asks in asked:
        state = crowd.divided(state, asks)
    people = crowd.crowds(state)
    told = np.flatnonzero(people)
    described = [has_and_lacks(crowd, state, int(span)) for span in told]
    return pl.DataFrame(
        {"has": [has for has, _ in described], "lacks": [lacks for _, lacks in described], "people": people[told]},
        schema={"has": pl.List(pl.String), "lacks": pl.List(pl.List(pl.String)), "people": pl.Int64},
    ).sort("people", "has", descending=[True, False])
