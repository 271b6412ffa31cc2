"""Friedman, Wolff, Schuster 2008, section 4.3: two rules about a thousand customers, and when both may be released."""

import pytest

from incrowd.audit.rules import audit_rules
from incrowd.mining.rules import anonymous_rules

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
