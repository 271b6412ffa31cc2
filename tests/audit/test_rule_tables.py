"""What a rule table says: its numbers as people, its items, and whether it fits a table of people."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from incrowd.audit import rule_tables
from incrowd.audit.rule_tables import (
    People,
    Rule,
    differs,
    public_items,
    read_columns,
    read_rule,
    sides_of,
    told_counts,
)
from incrowd.audit.rules import audit_rules
from incrowd.errors import InputError, ParameterError


def told(n=100, rounding=0.0, **numbers):
    table = {name.replace("_", " "): [value] for name, value in numbers.items()}
    return told_counts(table, 0, n, rounding)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({"support": 0.3, "confidence": 0.6}, [("both", 30, 30), ("left", 50, 50)]),
        ({"support": 0.3, "confidence": 1.0}, [("both", 30, 30), ("left", 30, 30)]),
        ({"support": 0.0, "confidence": 0.0}, [("both", 0, 0)]),
        ({"support": 0.0, "confidence": 0.5}, [("both", 0, 0)]),  # nobody, of nobody
        ({"support": 1.0, "confidence": 1.0}, [("both", 100, 100), ("left", 100, 100)]),
        ({"support": 0.01, "confidence": 0.01}, [("both", 1, 1), ("left", 100, 100)]),
        (
            {"support": 0.3, "confidence": 0.6, "antecedent_support": 0.5},
            [("both", 30, 30), ("left", 50, 50), ("left", 50, 50)],
        ),
        (
            {"support": 0.3, "confidence": 0.6, "consequent_support": 0.4},
            [("both", 30, 30), ("left", 50, 50), ("right", 40, 40)],
        ),
        ({"support": 0.3, "confidence": 0.6, "lift": 2.0}, [("both", 30, 30), ("left", 50, 50), ("right", 30, 30)]),
        (  # of two tellers of the right side the plainer
            {"support": 0.3, "confidence": 0.6, "lift": 2.0, "consequent_support": 0.4},
            [("both", 30, 30), ("left", 50, 50), ("right", 40, 40)],
        ),
        (
            {"support": 0.3, "confidence": 0.6, "lift": None, "consequent_support": None, "antecedent_support": None},
            [("both", 30, 30), ("left", 50, 50)],
        ),
        ({"support": 0.3, "confidence": 0.6, "lift": 0.0}, [("both", 30, 30), ("left", 50, 50)]),
    ],
)
def test_numbers_as_people(numbers, expected):
    assert told(**numbers) == expected


@pytest.mark.parametrize(
    ("rounding", "numbers", "expected"),
    [
        (0.005, {"support": 0.3, "confidence": 0.6}, [("both", 295, 305), ("left", 488, 512)]),
        (0.0005, {"support": 0.3, "confidence": 0.6}, [("both", 300, 300), ("left", 500, 500)]),
        (0.05, {"support": 0.02, "confidence": 1.0}, [("both", 0, 70), ("left", 0, 73)]),
        (0.05, {"support": 0.98, "confidence": 1.0}, [("both", 930, 1000), ("left", 930, 1000)]),
        (0.05, {"support": 0.3, "confidence": 0.05}, [("both", 250, 350)]),  # it may be 0
        (0.05, {"support": 0.03, "confidence": 0.06}, [("both", 0, 80), ("left", 0, 1000)]),
        (0.001, {"support": 0.0, "confidence": 0.5}, [("both", 0, 1), ("left", 0, 2)]),
        (0.005, {"support": 0.3, "confidence": 0.6, "antecedent_support": 0.5, "lift": 2.0},
         [("both", 295, 305), ("left", 488, 512), ("left", 495, 505)]),
        (0.005, {"support": 0.3, "confidence": 0.6, "consequent_support": 0.4},
         [("both", 295, 305), ("left", 488, 512), ("right", 395, 405)]),
    ],
)  # fmt: skip
def test_rounded_numbers_as_people(rounding, numbers, expected):
    assert told(1000, rounding, **numbers) == expected


@pytest.mark.parametrize(
    ("numbers", "match"),
    [
        ({"support": -0.1, "confidence": 0.5}, "support of -0.1"),
        ({"support": 1.1, "confidence": 0.5}, "support of 1.1"),
        ({"support": 0.5, "confidence": -0.1}, "confidence of -0.1"),
        ({"support": 0.5, "confidence": 1.1}, "confidence of 1.1"),
        ({"support": float("nan"), "confidence": 0.5}, "support of nan"),
        ({"support": None, "confidence": 0.5}, "support of rule 1 is not a number"),
        ({"support": "much", "confidence": 0.5}, "support of rule 1 is not a number"),
        ({"support": 0.5, "confidence": [1]}, "confidence of rule 1 is not a number"),
        ({"support": 0.5, "confidence": 0.5, "lift": "x"}, "lift of rule 1 is not a number"),
        ({"support": 0.305, "confidence": 0.5}, "support of rule 1 gives 30.5 people"),
        ({"support": 0.3, "confidence": 0.7}, "confidence of rule 1 gives 42.86 people"),
        ({"support": 0.3, "confidence": 0.6, "antecedent_support": 0.555}, "antecedent support of rule 1 gives 55.5"),
        ({"support": 0.3, "confidence": 0.6, "consequent_support": 0.555}, "consequent support of rule 1 gives 55.5"),
        ({"support": 0.3, "confidence": 0.6, "lift": 0.7}, "lift of rule 1 gives 85.71"),
    ],
)
def test_numbers_that_are_no_people(numbers, match):
    with pytest.raises(InputError, match=match):
        told(**numbers)


def test_how_near_to_a_whole_number_is_whole():
    assert told(support=0.30009, confidence=1.0)[0] == ("both", 30, 30)
    with pytest.raises(InputError, match="rounding"):
        told(support=0.30011, confidence=1.0)
    with pytest.raises(InputError, match="No whole number of people, out of 100, gives the support of rule 1"):
        told(support=0.305, confidence=1.0, rounding=0.001)
    assert told(support=0.305, confidence=1.0, rounding=0.005)[0] == ("both", 30, 31)


def test_how_near_to_a_whole_number_is_whole_to_the_last_digit(monkeypatch):
    monkeypatch.setattr(rule_tables, "_WHOLE", 0.25)
    assert told(4, support=0.5625, confidence=1.0)[0] == ("both", 2, 2)
    with pytest.raises(InputError, match=r"gives 2\.26 people"):
        told(4, support=0.565, confidence=1.0)


@pytest.mark.parametrize("rounding", [-0.1, 1.0, 1.5, float("nan")])
def test_rounding_is_a_share(rounding):
    rules = [{"antecedents": ["a"], "consequents": ["s"], "support": 0.5, "confidence": 1.0}]
    with pytest.raises(ParameterError, match="rounding must be"):
        audit_rules(rules, public=["a"], k=2, n=10, rounding=rounding)


def test_columns_of_a_table_of_any_kind():
    rows = [{"antecedents": ["a"], "consequents": ["s"], "support": 0.5, "confidence": 1.0, "lift": 2.0}, {"gain": 3}]
    table, notes = read_columns(rows)
    assert table["gain"] == [None, 3]
    assert table["support"] == [0.5, None]
    assert notes == ["what column 'gain' tells was not examined"]
    assert read_columns(pl.DataFrame(rows[:1])) == ({k: [v] for k, v in rows[0].items()}, [])
    assert read_columns(pd.DataFrame(rows[:1])) == ({k: [v] for k, v in rows[0].items()}, [])
    assert read_columns([]) == ({name: [] for name in ("antecedents", "consequents", "support", "confidence")}, [])
    for missing in ("antecedents", "consequents", "support", "confidence"):
        with pytest.raises(InputError, match=f"no column '{missing}'"):
            read_columns([{name: value for name, value in rows[0].items() if name != missing}])
    with pytest.raises(InputError, match="Expected a table of rules, got str"):
        read_columns("rules.csv")
    with pytest.raises(InputError, match="must hold a dict"):
        read_columns([rows[0], 3])


@pytest.mark.parametrize("name", ["consequent support", "lift", "leverage", "conviction", "zhangs_metric", "jaccard",
                                  "certainty", "kulczynski"])  # fmt: skip
def test_every_number_about_the_right_side_tells_of_it(name):
    table = {name: [1.0, None], "support": [0.5, 0.5]}
    left, right, known = frozenset("ax"), frozenset("by"), frozenset("ab")
    expected = (frozenset("a"), frozenset("x"), frozenset("b"), frozenset("y"))
    assert read_rule(table, 0, left, right, known) == Rule(*expected, tells_right=True)
    assert read_rule(table, 1, left, right, known) == Rule(*expected, tells_right=False)
    one = read_rule(table, 0, left, right, known)
    assert one.parts() == [Rule(*expected, tells_right=False), Rule(frozenset(), frozenset(), *expected[2:], False)]
    assert one._replace(tells_right=False).parts() == [Rule(*expected, tells_right=False)]
    assert (one.left, one.right) == (left, right)
    assert read_rule({"support": [0.5], "antecedent support": [0.5]}, 0, left, right, known).tells_right is False


@pytest.mark.parametrize(
    ("left", "right", "separator", "expected"),
    [
        ("a; b", " s ;", ";", ("ab", "s")),
        ("", "s", ";", ("", "s")),
        (["a", 1], ("s",), None, ("a1", "s")),
        ({"a"}, frozenset("s"), ";", ("a", "s")),
    ],
)
def test_items_of_a_side(left, right, separator, expected):
    found = sides_of({"antecedents": [None, left], "consequents": [None, right]}, 1, separator)
    assert found == tuple(frozenset(one) for one in expected)


@pytest.mark.parametrize(
    ("left", "right", "match"),
    [
        (["a"], [], "Rule 2 has an empty right side"),
        (["a", "b"], ["b"], "Rule 2 has an empty right side or items on both"),
        (3, ["b"], "A side of a rule is int"),
        (["a"], None, "A side of a rule is NoneType"),
        ("a", ["b"], "what stands between items"),
    ],
)
def test_sides_that_are_none(left, right, match):
    with pytest.raises(InputError, match=match):
        sides_of({"antecedents": [[], left], "consequents": [[], right]}, 1, None)


def names(*texts):
    return frozenset(texts)


def test_public_names_are_items_or_columns():
    items = names("a", "sex=f", "sex=m", "s=1=2", "pill", "pill=strong")
    assert public_items(names("a", "sex"), items, None, names()) == (names("a", "sex=f", "sex=m"), [])
    assert public_items(names("s=1", "pill"), items, None, names()) == (names("s=1=2", "pill"), [])
    frame = People(pl.DataFrame({"sex": ["f", "m"], "age": [1, 2]}))
    found, notes = public_items(names("sex", "age", "age=1"), names("sex=f", "sex=m"), frame, names())
    assert (found, notes) == (names("sex=f", "sex=m"), [])
    found, notes = public_items(names("zebra"), items, None, names())
    assert (found, notes) == (names(), ["no rule has the public item(s) 'zebra': if misspelt, taken as private"])
    assert public_items(names("zebra"), items, None, names("zebra")) == (names(), [])


@pytest.mark.parametrize(("n", "shown"), [(7, 7), (8, 8), (9, 8)])
def test_at_most_eight_names_are_noted(n, shown):
    (note,) = public_items(names(*(f"zebra{i}" for i in range(n))), names("sex=f"), None, names())[1]
    assert note.count("zebra") == shown
    assert (" ...:" in note) == (n > shown)


@pytest.mark.parametrize(
    ("name", "private", "meant"),
    [
        ("colour", ["colour=red"], "colour=red"),  # baskets have no columns
        ("COLOUR=RED", ["colour=red"], "colour=red"),
        ("colour=redd", ["colour=blue", "colour=red"], "colour=red"),
        ("colour=red", ["colour=blue"], None),
        ("collour=red", ["colour=red"], "colour=red"),
        ("collour=a", ["colour=a=b"], "colour=a=b"),
        ("item12", ["item13"], None),
        ("itemm12", ["item12"], "item12"),
        ("a=b=cherriess", ["a=b=cherries"], "a=b=cherries"),
        ("bread", ["tea"], None),
        ("breads", ["bread", "breadx"], "bread"),
    ],
)
def test_what_a_name_may_have_been_meant_for(name, private, meant):
    people = People([private, [name]][:1])  # which knows that there is no such item
    if meant is None:
        assert public_items(names(name), names(*private), people, names())[1]
        return
    with pytest.raises(ParameterError, match=f"'{meant}' would be taken as private"):
        public_items(names(name), names(*private), people, names())


def test_who_has_what():
    def lists(found):
        return {item: has.tolist() for item, has in found.items()}

    baskets = People([["a", "b"], [], ["a", 3]])
    assert baskets.n == 3
    assert lists(baskets.having({"a", "3", "z"})) == {
        "a": [True, False, True],
        "3": [False] * 2 + [True],
        "z": [False] * 3,
    }
    assert [baskets.knows(name) for name in ("a", "3", "z")] == [True, True, False]
    bools = People(pl.DataFrame({"a": [True, None, False], "b": [False, True, True]}))
    assert bools.columns == frozenset()
    assert lists(bools.having({"a", "z"})) == {"a": [True, False, False], "z": [False] * 3}
    assert [bools.knows(name) for name in ("a", "z")] == [True, False]
    mixed = People(pd.DataFrame({"a": [True, False, False], "b": ["x", None, "y"]}))
    assert mixed.columns == names("a", "b")
    assert lists(mixed.having({"b=x", "b=z", "b"})) == {
        "b=x": [True, False, False],
        "b=z": [False] * 3,
        "b": [False] * 3,
    }
    assert [mixed.knows(name) for name in ("b", "b=x", "b=z")] == [True, True, False]


@pytest.mark.parametrize(
    ("support", "confidence", "rounding", "is_other"),
    [
        (0.4, 0.8, 0.0, False),
        (0.4 + 2e-6, 0.8, 0.0, True),
        (0.4, 0.8 + 2e-6, 0.0, True),
        (0.41, 0.8, 0.01, False),
        (0.42, 0.8, 0.01, True),
        (0.39, 0.79, 0.01, False),
        (0.4, 0.78, 0.01, True),
        (0.5, 0.8, 0.0, True),
    ],
)
def test_whether_a_rule_is_of_a_table(support, confidence, rounding, is_other):
    """Five of ten have a, four of them s."""
    has = {"a": np.arange(10) < 5, "s": (np.arange(10) > 0) & (np.arange(10) < 9)}
    table = {"support": [None, support], "confidence": [None, confidence]}
    one = Rule(names("a"), names(), names(), names("s"), tells_right=False)
    assert differs(table, 1, one, has, 10, rounding) is is_other
    nobody = {"a": np.zeros(10, bool), "s": has["s"]}
    assert differs({"support": [0.0], "confidence": [0.0]}, 0, one, nobody, 10, 0.0) is False
    assert differs({"support": [0.0], "confidence": [0.5]}, 0, one, nobody, 10, 0.0) is True


@pytest.mark.parametrize(("more", "is_other"), [(0.25, False), (-0.25, False), (0.26, True), (-0.26, True)])
@pytest.mark.parametrize("name", ["support", "confidence"])
def test_a_rule_may_differ_by_as_much_as_it_is_rounded(name, more, is_other, monkeypatch):
    """Two of four have a, one of them s."""
    monkeypatch.setattr(rule_tables, "_SOLVER", 0.0)
    has = {"a": np.arange(4) < 2, "s": np.arange(4) < 1}
    table = {"support": [0.25], "confidence": [0.5]}
    table[name][0] += more
    one = Rule(names("a"), names(), names(), names("s"), tells_right=False)
    assert differs(table, 0, one, has, 4, 0.25) is is_other
