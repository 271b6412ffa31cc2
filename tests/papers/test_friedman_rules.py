"""Friedman, Wolff, Schuster 2008, section 4.3: two rules about a thousand customers, and when both may be released."""

from itertools import product

import pytest

import naive_rules as naive
from incrowd.audit.rules import audit_rules
from incrowd.rules.anonymous import anonymous_rules

PUBLIC = ["cherries", "candles"]
RULES = [
    {"antecedents": ["cherries"], "consequents": ["viagra"], "support": 0.084, "confidence": 0.75},
    {"antecedents": ["cherries", "candles"], "consequents": ["tylenol"], "support": 0.024, "confidence": 0.8},
]
SPANS = {
    "people without cherries": 888,
    "people with candles, cherries": 30,
    "people with cherries; without candles": 82,
}


def customers():
    """A thousand baskets with these supports and confidences: 84 of 112 and 24 of 30."""
    both = [{"cherries", "candles"} | ({"tylenol"} if i < 24 else set()) for i in range(30)]
    cherries = [*both, *({"cherries"} for _ in range(82))]
    for basket in cherries[:84]:
        basket.add("viagra")
    return [sorted(basket) for basket in cherries] + [[] for _ in range(888)]


@pytest.mark.parametrize("table", [{"n": 1000}, {"data": customers()}], ids=["numbers", "baskets"])
def test_spans_hold_888_30_and_82_customers(table):
    found = audit_rules(RULES, public=PUBLIC, k=30, **table)
    assert {words: people for words, people, _, _ in found.spans} == SPANS
    assert all(least == most for _, least, most, _ in found.spans)
    assert {people for _, people, _, told in found.spans if told} == {30, 82}
    assert found.notes == ()


def test_nine_classes_of_which_seven_are_possible():
    """Without cherries, nobody has the left side of the second rule. The spans hold 1, 4 and 2 classes."""
    chosen = [(frozenset(rule["antecedents"]), frozenset(rule["consequents"])) for rule in RULES]
    items = sorted(frozenset().union(*(left | right for left, right in chosen)))
    assert len(items) == 4
    classes_of = naive.model(chosen)
    people = [dict(zip(items, has, strict=True)) for has in product([False, True], repeat=4)]
    nine = set(product(range(3), repeat=2))
    seven = {classes_of(person) for person in people}
    assert (len(nine), len(seven)) == (9, 7)
    assert nine - seven == {(0, 1), (0, 2)}
    by_public: dict[tuple[bool, bool], set[tuple[int, ...]]] = {}
    for person in people:
        by_public.setdefault((person["cherries"], person["candles"]), set()).add(classes_of(person))
    assert {has: len(classes) for has, classes in by_public.items()} == {
        (False, False): 1,
        (False, True): 1,
        (True, True): 4,
        (True, False): 2,
    }
    spans = audit_rules(RULES, public=PUBLIC, k=30, n=1000).spans
    assert len(spans) == len({frozenset(classes) for classes in by_public.values()}) == 3


@pytest.mark.parametrize("table", [{"n": 1000}, {"data": customers()}], ids=["numbers", "baskets"])
def test_112_bought_cherries_and_of_30_with_candles_24_bought_tylenol_and_6_did_not(table):
    cherries = audit_rules(RULES[:1], public=["cherries"], k=112, **table)
    assert cherries.ok
    assert {words: (least, most) for words, least, most, _ in cherries.spans}["people with cherries"] == (112, 112)
    tylenol = audit_rules(RULES, public=[*PUBLIC, "tylenol"], k=2, **table)
    people = {words: (least, most) for words, least, most, _ in tylenol.spans}
    assert people["people with candles, cherries, tylenol"] == (24, 24)
    assert people["people with candles, cherries; without tylenol"] == (6, 6)


@pytest.mark.parametrize("table", [{"n": 1000}, {"data": customers()}], ids=["numbers", "baskets"])
@pytest.mark.parametrize(("k", "drop"), [(2, ()), (30, ()), (31, (1,)), (82, (1,)), (112, (1,)), (113, (0, 1))])
def test_both_rules_are_safe_up_to_30_and_the_second_not_beyond(table, k, drop):
    found = audit_rules(RULES, public=PUBLIC, k=k, **table)
    assert found.ok == (k <= 30)
    assert found.level == 30
    assert found.drop == drop
    assert found.repair() == [rule for i, rule in enumerate(RULES) if i not in drop]
    assert all(breach.certain for breach in found.breaches)


@pytest.mark.parametrize(("k", "second"), [(30, True), (31, False)])
def test_the_rules_are_mined_from_such_baskets(k, second):
    found = anonymous_rules(customers(), public=PUBLIC, k=k, min_support=0.02, min_confidence=0.7)
    sides = {
        (tuple(left), tuple(right)): (support, confidence)
        for left, right, support, confidence in found.rules.select(
            "antecedents", "consequents", "support", "confidence"
        ).rows()
    }
    assert sides[("cherries",), ("viagra",)] == (0.084, 0.75)
    assert ((("candles", "cherries"), ("tylenol",)) in sides) == second
