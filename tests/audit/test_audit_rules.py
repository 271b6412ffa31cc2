import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_rules as naive
from incrowd.audit import rule_bounds as bounds
from incrowd.audit.rules import audit_rules
from incrowd.errors import InputError, ParameterError, VerificationError
from incrowd.rules.anonymous import anonymous_rules

ITEMS = list("abcde")
BASKETS = st.lists(st.sets(st.sampled_from(ITEMS)), min_size=1, max_size=14).filter(any)
PUBLIC = st.sets(st.sampled_from(ITEMS))


@st.composite
def rule_tables(draw, most=4):
    """Some baskets, some of their rules as a table of dicts, and what is public."""
    baskets = draw(BASKETS)
    found = naive.rules(baskets, 0.01, 0.05)
    chosen = draw(st.lists(st.sampled_from(found), max_size=most, unique=True)) if found else []
    table = [
        {"antecedents": set(left), "consequents": set(right), "support": support, "confidence": confidence}
        for left, right, support, confidence in chosen
    ]
    return [sorted(basket) for basket in baskets], chosen, table, draw(PUBLIC)


@given(rule_tables(), st.integers(1, 8))
def test_with_a_table_the_audit_is_the_definition(drawn, k):
    baskets, chosen, table, public = drawn
    public &= set().union(*baskets)
    found = audit_rules(table, public=public, k=k, data=baskets)
    spans = naive.spans(chosen, baskets, public)
    assert found.level == spans.level
    assert found.ok == (len(spans.breaches(k)) == 0)
    assert sorted(row for breach in found.breaches for row in breach.rows) == spans.at_risk(k).tolist()
    assert sorted(breach.least for breach in found.breaches) == sorted(spans.people[spans.breaches(k)].tolist())
    assert found.notes == ()


@given(rule_tables(), st.integers(1, 8), st.booleans())
def test_repaired_rules_are_safe_and_no_other_can_stay(drawn, k, right):
    baskets, chosen, table, public = drawn
    if right:
        table = [rule | {"lift": 1.0} for rule in table]
    found = audit_rules(table, public=public, k=k, data=baskets)
    assert audit_rules(found.repair(), public=public, k=k, data=baskets).ok
    kept = [rule for i, rule in enumerate(chosen) if i not in found.drop]
    for i in found.drop:
        assert len(naive.spans([*kept, chosen[i]], baskets, public, lift=right).breaches(k)) > 0


@given(BASKETS, PUBLIC, st.integers(1, 6), st.booleans())
def test_no_set_of_anonymous_rules_is_flagged(baskets, public, k, lift):
    lists = [sorted(basket) for basket in baskets]
    public &= set().union(*baskets)
    mined = anonymous_rules(lists, public=public, k=k, min_support=0.1, min_confidence=0.4, max_len=3, lift=lift)
    assert audit_rules(mined.rules, public=public, k=k, data=lists).ok
    if mined.rules.height <= 12:
        assert audit_rules(mined.rules, n=len(lists), public=public, k=k).ok is not False


@given(rule_tables(), st.integers(1, 8), st.sampled_from([0, 3, 8]), st.booleans())
def test_numbers_alone_never_contradict_the_table(drawn, k, most_blocks, right):
    """Bounds hold, certain breaches are breaches, and what is called safe is safe: by programs and by pairs."""
    baskets, _, table, public = drawn
    public &= set().union(*(rule["antecedents"] | rule["consequents"] for rule in table))
    if right:
        for rule in table:
            rule["consequent support"] = sum(rule["consequents"] <= set(b) for b in baskets) / len(baskets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "_MOST_BLOCKS", most_blocks)
        found = audit_rules(table, n=len(baskets), public=public, k=k)
        exact = audit_rules(table, public=public, k=k, data=baskets)
        repaired = audit_rules(found.repair(), n=len(baskets), public=public, k=k)
    assert found.ok in (None, exact.ok)
    assert found.level is None or exact.level is None or found.level <= exact.level
    assert not (exact.ok and any(breach.certain for breach in found.breaches))
    if not found.notes:
        known = {words: people for words, people, _, _ in exact.spans}
        assert sum(most for _, _, most, _ in found.spans) >= len(baskets)
        for words, least, most, _ in found.spans:
            assert least <= known.get(words, 0) <= most
        assert repaired.ok
    assert repaired.ok is not False


def test_numbers_alone_often_settle_it():
    """How often, out of 40 random tables of twelve people: an auditor that never dared an answer would pass above."""
    rng = np.random.default_rng(0)
    settled = {True: 0, False: 0, None: 0}
    for _ in range(40):
        baskets = [set(np.array(ITEMS[:4])[rng.random(4) < 0.5].tolist()) for _ in range(12)]
        found_rules = naive.rules(baskets, 0.01, 0.05)
        rules = [found_rules[i] for i in rng.choice(len(found_rules), 2, replace=False)]
        table = [
            {"antecedents": left, "consequents": right, "support": support, "confidence": confidence}
            for left, right, support, confidence in rules
        ]
        found = audit_rules(table, n=12, public={"a", "b"} & set().union(*baskets), k=3)
        exact = audit_rules(table, public={"a", "b"} & set().union(*baskets), k=3, data=[sorted(b) for b in baskets])
        assert found.ok in (None, exact.ok)
        settled[found.ok] += 1
    assert settled[True] >= 4
    assert settled[False] >= 4


def table_of(*rules):
    names = ("antecedents", "consequents", "support", "confidence")
    return [dict(zip(names, (left.split(), right.split(), *rest), strict=True)) for left, right, *rest in rules]


@given(st.integers(1, 9), st.integers(0, 30), st.integers(10, 40), st.randoms(use_true_random=False))
def test_planted_breaches_are_found(few, others, k, random):
    """So few people have the public left side of a rule with a private right side."""
    baskets = [["p", "s"]] * few + [["q", "s"]] * others + [[]] * 20
    random.shuffle(baskets)
    table = table_of(("p", "s", few / len(baskets), 1.0))
    exact = audit_rules(table, public=["p", "q"], k=k, data=baskets)
    assert [baskets[row] for row in exact.breaches[0].rows] == [["p", "s"]] * few
    blind = audit_rules(table, n=len(baskets), public=["p", "q"], k=k)
    for found in (exact, blind):
        assert found.ok is False
        assert (found.level, found.drop) == (few, (0,))
        assert found.breaches[0].certain
        assert found.repair_is_safe
        with pytest.raises(VerificationError, match="BROKEN"):
            found.raise_for_breaches()


def test_a_breach_between_many_rules_is_found_by_pairs():
    """A hundred people have a, of whom 97 have b as well: three do not, in a set with many other items."""
    others = [(f"x{i}", f"s{i}", 0.2, 0.5) for i in range(12)]
    table = table_of(*others, ("a", "s", 0.05, 0.5), ("a b", "t", 0.097, 1.0))
    public = ["a", "b", *(f"x{i}" for i in range(12))]
    found = audit_rules(table, n=1000, public=public, k=10)
    assert found.ok is False
    assert found.drop == (13,)
    assert not found.repair_is_safe
    assert [(b.span, b.least, b.most) for b in found.breaches] == [("people with a; without b", 3, 3)]
    assert "three or more rules were not examined" in str(found)
    safe = audit_rules(found.repair(), n=1000, public=public, k=10)
    assert safe.ok is None
    assert "do not show whether" in str(safe)
    with pytest.raises(VerificationError):
        safe.raise_for_breaches()


def test_what_the_numbers_leave_open_is_possible_not_certain():
    table = table_of(("a", "s", 0.3, 0.5), ("b", "t", 0.3, 0.5))
    found = audit_rules(table, n=100, public=["a", "b"], k=5)
    assert found.ok is None
    spans = {words: (least, most) for words, least, most, _ in found.spans}
    assert spans["people with a, b"] == (20, 60)
    assert spans["people with a; without b"] == (0, 40)
    assert not any(breach.certain for breach in found.breaches)
    assert found.drop == (1,)


def test_rounded_numbers_give_bounds():
    table = table_of(("a", "s", 0.08, 0.75))
    with pytest.raises(InputError, match="rounding"):
        audit_rules(table, n=1010, public=["a"], k=5)
    found = audit_rules(table, n=1010, public=["a"], k=5, rounding=0.005)
    assert {words: bounds for words, *bounds, _ in found.spans}["people with a"] == [101, 114]


def test_numbers_that_no_table_has_are_refused():
    with pytest.raises(InputError, match="No whole number"):
        audit_rules(table_of(("a", "s", 0.0485, 1.0)), n=1000, public=["a"], k=5, rounding=0.0001)
    with pytest.raises(InputError, match="No table of 100 people"):
        audit_rules(table_of(("a", "s", 0.2, 1.0), ("a c", "s", 0.3, 1.0)), n=100, public=["a"], k=5)


@pytest.mark.parametrize("kind", [list, pl.DataFrame, pd.DataFrame, pa.Table.from_pylist])
def test_tables_of_any_kind(kind):
    table = table_of(("a", "s", 0.5, 1.0), ("a b", "s", 0.2, 1.0))
    given_table = kind(table)
    if kind is pd.DataFrame:
        given_table["antecedents"] = given_table["antecedents"].map(frozenset)
    found = audit_rules(given_table, n=10, public=["a", "b"], k=3)
    assert found.drop == (1,)
    assert type(found.repair()) is type(given_table)
    assert audit_rules(found.repair(), n=10, public=["a", "b"], k=3).ok
    assert found.to_dict()["breaches"][0]["rows"] is None


def test_columns_will_do_for_public_items():
    frame = pl.DataFrame({"age": [1, 1, 2, 2, 2], "ill": ["y", "n", "y", "y", "y"]})
    rules = anonymous_rules(frame, public=[], k=1, min_support=0.2).rules
    exact = audit_rules(rules, public=["age"], k=3, data=frame)
    assert exact.level == 2
    blind = audit_rules(rules, n=5, public=["age"], k=3)
    assert blind.ok is False
    assert blind.level <= 2


def test_text_sides_need_a_separator():
    rule = {"antecedents": "a, b", "consequents": "s", "support": 0.2, "confidence": 1.0}
    with pytest.raises(InputError, match="separator"):
        audit_rules([rule], n=10, public=["a", "b"], k=3)
    assert audit_rules([rule], n=10, public=["a", "b"], k=3, separator=",").level == 2


def test_other_columns_and_another_table_are_noted():
    table = [rule | {"gain": 3} for rule in table_of(("a", "s", 0.5, 1.0))]
    found = audit_rules(table, public=["a"], k=1, data=[["a"], ["s"]])
    assert any("'gain'" in note for note in found.notes)
    assert any("made from it" in note for note in found.notes)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Cherries", "'cherries'"),
        ("cherry=red", "'cherries'"),
        (" bread", "'bread'"),
        ("bred", "'bread'"),
        ("Colour", "'colour'"),
        ("color", "'colour'"),
        ("colour=Red", "'colour=red'"),
        ("colour=redd", "'colour=red'"),
    ],
)
@pytest.mark.parametrize("with_data", [False, True])
def test_a_misspelt_public_item_is_refused(name, meant, with_data):
    """It would be taken as private."""
    baskets = [["cherries", "bread", "colour=red", "s"]] * 4 + [["s"]] * 4
    table = table_of(("cherries bread", "s", 0.5, 1.0), ("colour=red", "s", 0.5, 1.0))
    given_table = {"data": baskets} if with_data else {"n": 8}
    if name == "cherry=red":  # like no item, nor like a value of the same column
        assert any("'cherry=red'" in note for note in audit_rules(table, public=[name], k=3, **given_table).notes)
        return
    with pytest.raises(ParameterError, match=f"{meant} would be taken as private: did you mean it"):
        audit_rules(table, public=[name], k=3, **given_table)


def test_a_public_item_that_is_like_no_other_is_noted():
    table = table_of(("a1", "s", 0.5, 1.0), ("sex=f", "s", 0.5, 1.0))
    for name in ("zebra", "a2", "sex=m"):  # another number, and another value, is not a misspelt one
        found = audit_rules(table, n=10, public=["a1", name], k=3)
        assert found.notes == (f"no rule has the public item(s) {name!r}: if misspelt, taken as private",)
        bought = [["a1", "sex=f", "s", name]] * 5 + [[]] * 5
        assert audit_rules(table, public=["a1", name], k=3, data=bought).notes == ()
    assert audit_rules(table, public=["a1", "sex"], k=3, n=10).notes == ()


def test_a_public_column_without_rules_is_no_misspelling():
    frame = pl.DataFrame({"bread": ["u", "v"] * 5, "breads": ["x", "y"] * 5, "s": [1] * 10})
    table = table_of(("breads=x", "s=1", 0.5, 1.0))
    found = audit_rules(table, public=["bread"], k=3, data=frame)
    assert (found.ok, found.notes) == (True, ())
    with pytest.raises(ParameterError, match="'breads'"):
        audit_rules(table, public=["bread"], k=3, n=10)


@pytest.mark.parametrize("kind", ["lists", "bools"])
def test_items_of_baskets_are_no_values_of_columns(kind):
    """Two people have a pill in their cart that everybody sees; that it is a strong one, nobody sees."""
    baskets = [["pill", "pill=strong", "a"]] * 2 + [["pill=strong", "a"]] * 8 + [["a"]] * 10
    items = ["pill", "pill=strong", "a"]
    data = baskets
    if kind == "bools":
        data = pl.DataFrame({item: [item in basket for basket in baskets] for item in items})
    table = table_of(("a", "pill=strong", 0.5, 0.5))
    found = audit_rules(table, public=["pill", "a"], k=15, data=data)
    assert (found.level, found.ok) == (20, True)
    assert [told for *_, told in found.spans] == [True]
    mined = anonymous_rules(data, public=["pill", "a"], k=5, min_support=0.3)
    assert not mined.rules.is_empty()
    assert mined.audit().level == mined.audit(data).level == mined.level
    with_pill = [*table, *table_of(("pill", "a", 0.1, 1.0))]
    blind = audit_rules(with_pill, public=["pill", "a"], k=15, n=20)
    assert any(told for *_, told in blind.spans)  # an item has the bare name, so there is no column of that name
    with pytest.raises(ParameterError, match="'pill=strong'"):
        audit_rules(table, public=["pill", "a"], k=15, data=[["pill=strong", "a"]] * 10 + [["a"]] * 10)


def test_a_table_that_is_not_the_rules_own_is_not_called_safe():
    table = table_of(("a", "s", 0.5, 1.0))
    for other in ([["a", "s"]] * 9 + [[]], [["x"]] * 10):
        found = audit_rules(table, public=["a"], k=3, data=other)
        assert (found.ok, found.level, found.breaches, found.repair_is_safe) == (None, None, (), False)
        assert found.notes
        with pytest.raises(VerificationError, match="do not show whether"):
            found.raise_for_breaches()
    nobody = table_of(("a", "s", 0.0, 0.0))
    assert audit_rules(nobody, public=[], k=3, data=[["x"]] * 10).ok is None
    assert audit_rules(table, public=["a"], k=3, data=[["a", "s"]] + [[]] * 9).ok is False
    assert audit_rules(table, public=["a"], k=3, data=[["a", "s"]] * 5 + [[]] * 5).ok is True


def test_what_anonymous_rules_returned_is_audited():
    baskets = [["bread", "breads", "s"]] * 5 + [["bread", "item1"]] * 5 + [["rare"]] * 10
    mined = anonymous_rules(baskets, public=["bread", "rare"], k=4, min_support=0.2)
    found = audit_rules(mined, public=mined.public, k=4)
    assert (found.n, found.ok, found.notes) == (20, True, ())
    assert audit_rules(mined, public=mined.public, k=4, data=baskets).level == mined.level
    assert found.repair().equals(mined.rules)
    assert audit_rules(mined, public=mined.public, k=4, n=40).n == 40  # who says so knows better
    others = audit_rules(mined, public=mined.public, k=4, data=baskets[:10])
    assert (others.n, others.ok) == (10, None)


def test_expected_supports_are_told_from_rounded_ones():
    with pytest.raises(InputError, match=r"rounding=.*rules_from_release"):
        audit_rules(table_of(("a", "s", 0.123, 1.0)), n=10, public=["a"], k=2)


@pytest.mark.parametrize(("n", "slack"), [(1000, 1e-3), (400_000, 0.4)])
def test_bounds_allow_for_the_solver_in_shares_of_n(n, slack, monkeypatch):
    """The solver is right to about a millionth of n."""
    system = bounds._System(np.array([[1.0, 1.0]]), np.array([n]), np.array([n]), np.array([0, 1]))
    monkeypatch.setattr(system, "_solve", lambda objective: (30 + slack * 0.9) * (1 if objective.sum() > 0 else -1))
    assert system.bounds(0)[0] == 30
    monkeypatch.setattr(system, "_solve", lambda objective: (30 - slack * 0.9) * (1 if objective.sum() > 0 else -1))
    assert system.bounds(0)[1] == 30


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"k": 0}, ParameterError, "k must be"),
        ({"public": "a"}, ParameterError, "write"),
        ({"n": None}, ParameterError, "n must be"),
        ({"rules": table_of(("a", "a", 0.1, 1.0))}, InputError, "both sides"),
        ({"rules": table_of(("a", "", 0.1, 1.0))}, InputError, "empty right side"),
        ({"rules": table_of(("a", "s", 10, 1.0))}, InputError, "percentages"),
        ({"rules": [{"lhs": 1}]}, InputError, "rename"),
        ({"rules": [3]}, InputError, "dict"),
        ({"rules": 3}, InputError, "table of rules"),
        ({"data": [["a"]]}, InputError, "said to be about 10"),
        ({"data": []}, InputError, "no people"),
        ({"data": pl.DataFrame({"a": []})}, InputError, "no people"),
    ],
)
def test_bad_input_is_refused(change, error, match):
    with pytest.raises(error, match=match):
        audit_rules(**({"rules": table_of(("a", "s", 0.1, 1.0)), "public": ["a"], "k": 2, "n": 10} | change))


def test_no_rules_tell_nothing():
    found = audit_rules([], n=10, public=["a"], k=3)
    assert (found.ok, found.level) == (True, None)
    assert found.repair() == []
