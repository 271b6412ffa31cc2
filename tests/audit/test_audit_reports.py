"""What audits say, word for word: the same in text, JSON and on a page."""

import json

import numpy as np
import polars as pl
import pytest

from incrowd.audit import rule_bounds
from incrowd.audit import rules as rule_audits
from incrowd.audit.report import Audit
from incrowd.audit.rules import audit_rules
from incrowd.audit.subject import Limits
from incrowd.errors import InputError, ParameterError, VerificationError


def audit_of(spans, multiple, k, repairs=(), notes=()):
    return Audit("Model", Limits(k), np.array(spans), np.array(multiple), tuple(repairs), tuple(notes))


def test_a_model_that_is_safe():
    found = audit_of([0, 0, 0, 1, 2, 2], [True, False, True], 2)
    assert (found.ok, found.level, found.breaches.tolist(), found.at_risk.tolist()) == (True, 2, [], [])
    assert str(found) == (
        "Model: k = 2 holds for all 6 people (k up to 2)\n  the model reveals something about 2 of 3 kinds of people"
    )
    found.raise_for_breaches()
    assert found.to_dict() == {
        "model": "Model", "k": 2, "l": None, "max_confidence": None, "ok": True, "level": 2,
        "people": 6, "spans": 3, "people_per_span": [1, 2, 3],
        "breaches": 0, "at_risk": [], "repairs": [], "notes": [], "held": [], "exposed": None, "confidence": None,
        "diversity": None,
    }  # fmt: skip


def test_a_model_that_tells_nothing():
    found = audit_of([0, 1], [False, False, True], 9)  # nobody is in the third span
    assert (found.ok, found.level) == (True, None)
    assert found.headline == "Model: k = 9 holds for all 2 people (any k: it reveals nothing private)"
    assert found.people.tolist() == [1, 1, 0]


def test_a_model_that_is_broken():
    found = audit_of([0, 0, 0, 1, 2, 2], [True, True, True], 3, ["do <this>"], ["see that"])
    assert (found.ok, found.level, found.breaches.tolist(), found.at_risk.tolist()) == (False, 1, [1, 2], [3, 4, 5])
    assert str(found) == (
        "Model: k = 3 is BROKEN for 2 kinds of people: 3 of 6 people at risk, the smallest crowd is 1\n"
        "  the model reveals something about 3 of 3 kinds of people\n"
        "  people at risk, by row of the table: 4, 5, 6\n"
        "  repair: do <this>\n"
        "  note: see that"
    )
    assert "<li>do &lt;this&gt;</li><li>see that</li>" in found._repr_html_()
    assert "BROKEN" in found._repr_html_()
    with pytest.raises(VerificationError, match="BROKEN") as refused:
        found.raise_for_breaches()
    assert refused.value.violations == ["do <this>"]


@pytest.mark.parametrize(("n", "more"), [(7, False), (8, False), (9, True), (10, True)])
def test_at_most_eight_people_and_repairs_are_shown(n, more):
    found = audit_of(range(n), [True] * n, 2, [f"do {i}" for i in range(n)])
    people, *rest = str(found).splitlines()[2:]
    assert people == "  people at risk, by row of the table: " + ", ".join(map(str, range(1, min(n, 8) + 1))) + (
        " ..." if more else ""
    )
    assert rest == [f"  repair: do {i}" for i in range(min(n, 8))] + [f"  ... and {n - 8} more"] * more
    assert found._repr_html_().count("<li>") == min(n, 8)


def table_of(*rules):
    columns = ("antecedents", "consequents", "support", "confidence")
    return [dict(zip(columns, (left.split(), right.split(), *rest), strict=True)) for left, right, *rest in rules]


def test_rules_that_are_safe():
    found = audit_rules(table_of(("a", "s", 0.3, 0.6)), n=100, public=["a"], k=50)
    assert str(found) == "1 rule about 100 people: k = 50 holds (k up to 50)"
    found.raise_for_breaches()
    public = audit_rules(table_of(("a", "b", 0.3, 0.6)), n=100, public=["a", "b"], k=90)
    assert str(public) == "1 rule about 100 people: k = 90 holds (any k: they reveal nothing private)"
    assert (public.ok, public.level, public.repair_is_safe) == (True, None, True)


def test_rules_that_are_broken():
    table = table_of(("a", "s", 0.3, 0.6), ("a b", "s", 0.02, 1.0), ("a c", "s", 0.03, 1.0))
    found = audit_rules(table, n=100, public=["a", "b", "c"], k=5)
    assert [str(breach) for breach in found.breaches] == [
        "people with a, c; without b: 1 to 3",
        "possibly people with a, b, c: 0 to 2",
        "possibly people with a, b; without c: 0 to 2",
    ]
    assert (found.ok, found.level, found.drop) == (False, 1, (1, 2))
    two = audit_rules(table[:2], n=100, public=["a", "b"], k=5)
    assert str(two) == (
        "2 rules about 100 people: k = 5 is BROKEN: private items are linked to fewer people in 1 case\n"
        "  people with a, b: 2 people\n"
        "  drop 1 rule: 2"
    )
    with pytest.raises(VerificationError) as refused:
        two.raise_for_breaches()
    assert refused.value.violations == ["people with a, b: 2"]
    assert "repair()" in str(refused.value)
    assert json.loads(json.dumps(two.to_dict())) == {
        "rules": 2, "people": 100, "k": 5, "ok": False, "level": 2, "drop": [1], "notes": [],
        "breaches": [
            {"span": "people with a, b", "least": 2, "most": 2, "certain": True, "rules": [0, 1], "rows": None},
        ],
    }  # fmt: skip
    counted = audit_rules(
        table_of(("a", "s", 0.2, 0.4)), public=["a"], k=6, data=[["a", "s"]] * 2 + [["a"]] * 3 + [[]] * 5
    )
    assert counted.to_dict()["breaches"] == [
        {"span": "people with a", "least": 5, "most": 5, "certain": True, "rules": [0], "rows": [0, 1, 2, 3, 4]}
    ]


@pytest.mark.parametrize(("n", "more"), [(8, False), (9, True), (11, True)])
def test_at_most_eight_breaches_and_rules_are_shown(n, more):
    people = [[f"x{i}", f"s{i}"] for i in range(n)] + [[]] * (20 - n)
    rules = [(f"x{i}", f"s{i}", 1 / 20, 1.0) for i in range(n)]
    found = audit_rules(table_of(*rules), public=[f"x{i}" for i in range(n)], k=2, data=people)
    lines = str(found).splitlines()
    assert [line for line in lines if line.startswith("  people with")] == [str(line) for line in lines[1:9]]
    assert lines[9:] == [f"  ... and {n - 8} more"] * more + [
        f"  drop {n} rules: 1, 2, 3, 4, 5, 6, 7, 8" + (" ..." if more else "")
    ]
    assert found.drop == tuple(range(n))


def test_breaches_are_sorted_small_ones_first():
    people = [["b", "s"]] * 2 + [["a", "s"]] * 3 + [["c", "s"]] * 2 + [[]] * 13
    rules = table_of(("a", "s", 0.15, 1.0), ("b", "s", 0.1, 1.0), ("c", "s", 0.1, 1.0))
    found = audit_rules(rules, public=["a", "b", "c"], k=4, data=people)
    assert [(b.span, b.rows, b.rules) for b in found.breaches] == [
        ("people with b; without a; without c", (0, 1), (1,)),
        ("people with c; without a; without b", (5, 6), (2,)),
        ("people with a; without b; without c", (2, 3, 4), (0,)),
    ]
    assert found.spans[-1] == ("people without a; without b; without c", 13, 13, False)
    assert [told for *_, told in found.spans] == [True, True, True, False]
    blind = audit_rules(table_of(("a", "s", 0.2, 1.0), ("a b", "s", 0.02, 1.0)), n=100, public=["a", "b"], k=30)
    assert [(b.span, b.most) for b in blind.breaches] == [
        ("people with a, b", 2),
        ("people with a; without b", 18),
    ]


@pytest.mark.parametrize(("most", "noted"), [(3, False), (2, True), (1, True)])
def test_spans_beyond_the_most_are_counted_and_still_breaches(monkeypatch, most, noted):
    monkeypatch.setattr(rule_audits, "_MOST_LISTED", most)
    people = [["b", "s"]] * 2 + [["a", "s"]] * 3 + [[]] * 15
    rules = table_of(("a", "s", 0.15, 1.0), ("b", "s", 0.1, 1.0))
    found = audit_rules(rules, public=["a", "b"], k=4, data=people)
    assert len(found.spans) == most
    assert [(b.least, b.rows) for b in found.breaches] == [(2, (0, 1)), (3, (2, 3, 4))]
    assert [b.span for b in found.breaches] == [
        "people with b; without a",
        "people with a; without b" if most > 1 else "people",
    ]
    assert [b.rules for b in found.breaches] == [(1,), (0,) if most > 1 else ()]
    assert found.notes == ((f"{3 - most} of the 3 spans are counted, not listed",) if noted else ())


def test_two_hundred_spans_are_listed_and_those_come_first():
    names = [f"x{i:03}" for i in range(201)]
    people = [[name, "s"] for name in names] + [[]] * 9
    found = audit_rules(table_of(*((name, "s", 1 / 210, 1.0) for name in names)), public=names, k=2, data=people)
    assert found.notes == ("2 of the 202 spans are counted, not listed",)
    assert len(found.spans) == 200
    assert len(found.breaches) == 201
    assert [b.span == "people" for b in found.breaches] == [False] * 200 + [True]


def test_a_table_of_others_is_noted_and_not_called_safe():
    rules = table_of(("a", "s", 0.5, 1.0), ("z", "y", 0.0, 0.0))
    found = audit_rules(rules, public=["a"], k=2, data=[["a", "s"]] * 4 + [[]] * 6)
    assert (found.ok, found.level, found.repair_is_safe) == (None, None, False)
    assert found.notes == (
        "1 rules have other supports or confidences than the table: are they made from it?",
        "the table has no item 'y', 'z': is it the rules' own?",
    )
    with pytest.raises(VerificationError, match="give the baskets of these rules"):
        found.raise_for_breaches()
    for public, level in ((["a"], 4), ([], None)):
        own = audit_rules(rules[:1], public=public, k=2, data=[["a", "s"]] * 4 + [[]] * 4, n=8)
        assert (own.ok, own.repair_is_safe, own.notes) == (True, True, ())
        assert own.level == (level or 8)


@pytest.mark.parametrize("n", [None, 0, -5, 2.5, "10"])
def test_the_number_of_people_is_a_whole_number_from_1(n):
    with pytest.raises(ParameterError, match="n must be the number of people"):
        audit_rules(table_of(("a", "s", 1.0, 1.0)), n=n, public=["a"], k=1)


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "2", None])
def test_k_is_a_whole_number_from_1(k):
    with pytest.raises(ParameterError, match="k must be"):
        audit_rules(table_of(("a", "s", 1.0, 1.0)), n=1, public=["a"], k=k)


def test_the_smallest_numbers_will_do():
    found = audit_rules(table_of(("a", "s", 1.0, 1.0)), n=np.int64(1), public=["a"], k=np.int32(1))
    assert (found.ok, found.level) == (True, 1)
    with pytest.raises(InputError, match="said to be about 2 people, and the table has 1"):
        audit_rules(table_of(("a", "s", 1.0, 1.0)), n=2, public=["a"], k=1, data=[["a", "s"]])


def test_many_items_are_looked_at_by_public_ones_then_by_pairs():
    """Nine rules with private items of their own need pairs only when the public ones are too many as well."""
    one = [("a", f"s{i}", 0.3, 0.5) for i in range(9)]
    found = audit_rules(table_of(*one), n=100, public=["a"], k=5)
    assert (found.ok, found.level, found.notes, found.repair_is_safe) == (True, 60, (), True)
    assert audit_rules(table_of(*one), n=100, public=["a"], k=61).drop == tuple(range(9))
    many = [(f"a{i}", f"s{i}", 0.3, 0.5) for i in range(9)]
    found = audit_rules(table_of(*many), n=100, public=[f"a{i}" for i in range(9)], k=5)
    assert (found.ok, found.level, found.repair_is_safe) == (None, None, False)
    assert found.notes == (
        "combinations of three or more rules were not examined; give the baskets (data=) for an exact answer",
    )
    harmless = audit_rules(table_of(*many), n=100, public=[f"{c}{i}" for c in "as" for i in range(9)], k=5)
    assert (harmless.ok, harmless.level, harmless.repair_is_safe) == (True, None, True)


def test_repair_uses_what_private_items_tell_about_public_ones():
    """All with b have x, and all with x have a: so all with b have a, and b cuts fifty with a into 20 and 30."""
    table = table_of(("x", "a", 0.5, 1.0), ("b", "x", 0.2, 1.0), ("c", "s", 0.03, 1.0))
    table[0]["consequent support"] = 0.5
    found = audit_rules(table, n=100, public=["a", "b", "c"], k=20)
    assert found.drop == (2,)
    assert audit_rules(found.repair(), n=100, public=["a", "b", "c"], k=20).level == 20


def test_pairs_that_were_left_out_are_noted(monkeypatch):
    monkeypatch.setattr(rule_bounds, "MOST_PAIRS", 10)
    many = [(f"a{i}", f"s{i}", 0.3, 0.5) for i in range(9)]
    found = audit_rules(table_of(*many), n=100, public=[f"a{i}" for i in range(9)], k=5)
    assert found.notes[0].startswith("pairs of rules beyond the first 20000, and combinations of three or more")


@pytest.mark.parametrize("kind", ["list", "polars", "pandas", "arrow"])
def test_repair_keeps_the_other_rules(kind):
    table = table_of(("a", "s", 0.5, 1.0), ("a b", "s", 0.2, 1.0), ("a", "t", 0.5, 1.0))
    frame = pl.DataFrame(table)
    given = {"list": table, "polars": frame, "pandas": frame.to_pandas(), "arrow": frame.to_arrow()}[kind]
    kept = audit_rules(given, n=10, public=["a", "b"], k=3).repair()
    rows = kept if kind == "list" else pl.DataFrame(kept).to_dicts()
    assert [(*row["antecedents"], *row["consequents"]) for row in rows] == [("a", "s"), ("a", "t")]
    assert type(kept) is type(given)


def test_a_frame_whose_columns_are_named_like_what_we_mined_is_a_frame():
    table = pl.DataFrame(table_of(("a", "s", 0.3, 0.6))).with_columns(rules=1, n=2, public=3).to_pandas()
    found = audit_rules(table, n=100, public=["a"], k=50)
    assert (found.n, found.ok) == (100, True)
    assert found.notes == tuple(f"what column {name!r} tells was not examined" for name in ("rules", "n", "public"))
