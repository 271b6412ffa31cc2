"""Spans and bounds of rules, beside the definitions and all tables that fit."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from incrowd.audit import rule_bounds as bounds
from incrowd.audit.rule_bounds import Bounded, Count, Spans
from incrowd.audit.rule_tables import Rule
from incrowd.errors import InputError


def rule(left="", right="", hidden="", hidden_right="", *, right_told=False):
    """One letter is one item; what is hidden is private."""
    return Rule(frozenset(left), frozenset(hidden), frozenset(right), frozenset(hidden_right), right_told)


def count(items, least, most=None):
    return Count(frozenset(items), least, least if most is None else most)


def class_of(one, has):
    return 0 if not one.left <= has else 2 if one.right <= has else 1


SIDES = st.sets(st.sampled_from("abcxyz")).map(sorted)
RULES = st.builds(
    lambda left, right, told: Rule(
        frozenset(left) & frozenset("abc"),
        frozenset(left) - frozenset("abc"),
        frozenset(right) - frozenset(left) & frozenset("abc") - frozenset(left),
        frozenset(right) - frozenset(left) - frozenset("abc"),
        told,
    ),
    SIDES,
    SIDES,
    st.booleans(),
).filter(lambda one: one.right and not one.left & one.right and not one.right_public & set("xyz"))


@given(RULES)
def test_possible_classes_are_those_that_some_private_items_give(one):
    kinds = list(product([False, True], repeat=3))
    has = {item: np.array([kind[i] for kind in kinds]) for i, item in enumerate("abc")}
    found = bounds.possible_classes(one, has, len(kinds))
    for kind, possible in zip(kinds, found.tolist(), strict=True):
        public = {item for item, there in zip("abc", kind, strict=True) if there}
        tried = [public | {item for item, there in zip("xyz", more, strict=True) if there} for more in kinds]
        assert possible == sum(1 << c for c in {class_of(one, items) for items in tried})


def test_several_classes():
    assert bounds.has_several(np.arange(1, 8)).tolist() == [False, False, True, False, True, True, True]


@given(st.lists(st.lists(st.sampled_from([1, 2, 3, 4, 5, 6, 7]), min_size=6, max_size=6), max_size=5), st.booleans())
def test_spans_are_rows_of_possibilities(parts, together):
    columns = [np.array(part, np.int8) for part in parts]
    spans = Spans(6)
    if together:
        spans = spans.plus(columns)
    else:
        for column in columns:
            spans = spans.plus([column])
    rows = list(zip(*parts, strict=True)) if parts else [()] * 6
    number = {row: i for i, row in enumerate(sorted(set(rows)))}
    assert spans.of.tolist() == [number[row] for row in rows]
    assert spans.n_spans == len(number)
    several = {row: any(one not in (1, 2, 4) for one in row) for row in number}
    assert spans.told().tolist() == [several[row] for row in sorted(number)]


@pytest.mark.parametrize(
    ("least", "most", "rules", "safe", "broken_at"),
    [
        (3, 5, (0,), 3, range(6, 20)),  # k = 4 and 5 are possible breaches
        (3, 3, (0,), 3, range(4, 20)),
        (1, 1, (0,), 1, range(2, 20)),
        (0, 4, (0,), 1, range(0)),  # perhaps there is nobody
        (0, 0, (0,), float("inf"), range(0)),
        (3, 5, (), float("inf"), range(0)),  # nothing private is told
    ],
)
def test_what_bounds_say_about_k(least, most, rules, safe, broken_at):
    one = Bounded("people", least, most, rules)
    assert one.safe_up_to == safe
    assert [k for k in range(1, 20) if one.is_broken(k)] == list(broken_at)


def test_items_that_always_come_together_are_one_block():
    itemsets = [frozenset("abc"), frozenset("abd"), frozenset("e"), frozenset()]
    assert sorted(map(sorted, bounds._blocks(itemsets))) == [["a", "b"], ["c"], ["d"], ["e"]]


@pytest.mark.parametrize(
    ("n_public", "n_private", "size"),
    [(7, 1, "all"), (1, 7, "all"), (8, 1, "public"), (1, 8, "public"), (8, 8, "public"), (9, 1, "")],
)
def test_how_many_items_the_programs_can_take_in(n_public, n_private, size):
    rules = [Rule(frozenset([f"p{i}"]), *(frozenset(),) * 3, tells_right=False) for i in range(n_public)]
    rules += [Rule(*(frozenset(),) * 3, frozenset([f"s{i}"]), tells_right=False) for i in range(n_private)]
    assert bounds.small_enough(rules, []) == size


def all_tables(n, items):
    """Every table of n people, as counts of the kinds of people."""
    kinds = [frozenset(i for i, there in zip(items, kind, strict=True) if there)
             for kind in product([False, True], repeat=len(items))]  # fmt: skip
    return [list(table) for table in combinations_with_replacement(kinds, n)]


@given(st.data())
def test_bounds_by_programs_hold_for_all_tables_and_are_as_near_as_can_be_told(data):
    """Least and most over all tables of five people that have the same numbers; fractions may widen them by one."""
    items = "ax" if data.draw(st.booleans()) else "abx"
    chosen = (
        [rule("a", hidden_right="x")] if items == "ax" else [rule("a", hidden_right="x"), rule("b", hidden_right="x")]
    )
    tables = all_tables(5, items)
    told = [one.left | one.right for one in chosen] + [one.left for one in chosen]
    seen = data.draw(st.sampled_from(tables))
    numbers = [sum(itemset <= person for person in seen) for itemset in told]
    known = [
        [count(one.left | one.right, numbers[i]), count(one.left, numbers[len(chosen) + i])]
        for i, one in enumerate(chosen)
    ]
    found = bounds.by_linear_programs(chosen, known, range(len(chosen)), 5, private=True)
    fitting = [table for table in tables if [sum(itemset <= person for person in table) for itemset in told] == numbers]
    public = [item for item in items if item != "x"]
    for kind in product([False, True], repeat=len(public)):
        has = {item for item, there in zip(public, kind, strict=True) if there}
        sizes = [sum(person - {"x"} == has for person in table) for table in fitting]
        lacks = [f"without {item}" for item in public if item not in has]
        words = "people " + "; ".join([f"with {', '.join(sorted(has))}"] * bool(has) + lacks)
        (one,) = [one for one in found if one.words == words]
        assert (one.least, one.most) == (min(sizes), max(sizes))
        assert one.rules == tuple(i for i, chosen_one in enumerate(chosen) if chosen_one.left <= has)


def test_without_private_items_a_count_is_a_least_number_of_people():
    """Thirty have a and x: at least thirty have a; that fifty have a and y makes it fifty."""
    chosen = [rule("a", hidden_right="x"), rule("a", hidden_right="y")]
    known = [[count("ax", 30)], [count("ay", 50)]]
    wide = bounds.by_linear_programs(chosen, known, [0, 1], 100, private=False)
    assert {(one.words, one.least, one.most, one.rules) for one in wide} == {
        ("people with a", 50, 100, (0, 1)),
        ("people without a", 0, 50, ()),
    }
    only = bounds.by_linear_programs(chosen, known, [0], 100, private=False)
    assert {(one.words, one.least, one.most, one.rules) for one in only} == {
        ("people with a", 30, 100, (0,)),
        ("people without a", 0, 70, ()),
    }
    exact = bounds.by_linear_programs([rule("a")], [[count("a", 30, 40)]], [0], 100, private=False)
    assert {(one.words, one.least, one.most) for one in exact} == {
        ("people with a", 30, 40),
        ("people without a", 60, 70),
    }


@pytest.mark.parametrize(("private", "expected"), [(True, (20, 20)), (False, (0, 20))])
def test_what_private_items_tell_about_public_ones(private, expected):
    """All with b have x, and all with x have a: without x, how many have both is open."""
    chosen = [rule(hidden="x", right="a"), rule("b", hidden_right="x")]
    known = [[count("ax", 50), count("x", 50), count("a", 50)], [count("bx", 20), count("b", 20)]]
    found = bounds.by_linear_programs(chosen, known, [0, 1], 100, private=private)
    assert {one.words: (one.least, one.most) for one in found}["people with a, b"] == expected


def test_numbers_that_contradict_each_other():
    known = [[count("ax", 30), count("a", 20)]]
    with pytest.raises(InputError, match="No table of 100 people"):
        bounds.by_linear_programs([rule("a", hidden_right="x")], known, [0], 100, private=True)
    with pytest.raises(InputError, match="No table of 100 people"):
        bounds._Counts(known[0], 100).of(frozenset("a"))


@pytest.mark.parametrize("status", [1, 3, 4])
def test_a_program_that_is_not_solved_bounds_nothing(status, monkeypatch):
    """Out of patience, unbounded or in numerical trouble: from nobody to everybody."""

    class Unsolved:
        fun = 0.5

    Unsolved.status = status
    monkeypatch.setattr(scipy.optimize, "linprog", lambda *_, **__: Unsolved)
    system = bounds._System(np.array([[1.0, 1.0]]), np.array([70.0]), np.array([70.0]), np.array([0, 1]))
    assert system.bounds(0) == (0, 70)


def test_bounds_are_whole_people_of_nobody_to_everybody():
    system = bounds._System(np.ones((1, 2)), np.array([7.0]), np.array([7.0]), np.array([0, 1]))
    assert system.bounds(0) == system.bounds(1) == (0, 7)
    many = bounds._System(np.ones((1, 2)), np.array([3e6]), np.array([3e6]), np.array([0, 1]))
    assert many.bounds(0)[0] == 0  # not -3, which the solver is right to
    rows, least, most = np.array([[1.0, 1], [1, 0]]), np.array([7.0, 2.4]), np.array([7.0, 3.7])
    system = bounds._System(rows, least, most, np.array([0, 1]))
    assert system.bounds(0) == (3, 3)  # 2.4 to 3.7 people
    assert system.bounds(1) == (4, 4)


COUNTS = [count("a", 60), count("ab", 50, 55), count("ac", 20), count("abc", 5, 10), count("d", 7, 9)]


@pytest.mark.parametrize(
    ("items", "expected"),
    [("", (100, 100)), ("a", (60, 60)), ("ab", (50, 55)), ("b", (50, 100)), ("bc", (5, 100)), ("c", (20, 100)),
     ("abc", (5, 10)), ("acd", (0, 9)), ("abcd", (0, 9)), ("e", (0, 100)), ("d", (7, 9))],
)  # fmt: skip
def test_an_itemset_is_bounded_by_those_above_and_below(items, expected):
    assert bounds._Counts(COUNTS, 100).of(frozenset(items)) == expected


@pytest.mark.parametrize(
    ("has", "lacks", "expected"),
    [
        ("a", [], (60, 60)),
        ("a", ["ab"], (5, 10)),
        ("a", ["ab", "ac"], (0, 10)),  # 60 - (55 + 20 - 5) is below 0; 60 - 50
        ("a", ["ac"], (40, 40)),
        ("", ["a", "d"], (31, 40)),  # 100 - (60 + 9 - 0); 100 - 60
        ("", ["a", "ab"], (40 - 55 + 50, 40)),
        ("d", ["a"], (0, 9)),
        ("ab", ["ac"], (40, 50)),
    ],
)
def test_people_with_and_without_by_inclusion_and_exclusion(has, lacks, expected):
    found = bounds._Counts(COUNTS, 100).between(frozenset(has), {frozenset(one) for one in lacks})
    assert found == expected


@given(st.lists(st.sets(st.sampled_from("abc")), min_size=1, max_size=9), st.data())
def test_inclusion_and_exclusion_holds_for_a_table(people, data):
    sets = [frozenset(s) for s in ("a", "b", "c", "ab", "bc", "abc")]
    known = [count(s, sum(s <= person for person in people)) for s in data.draw(st.sets(st.sampled_from(sets)))]
    has = data.draw(st.sampled_from([frozenset(), *sets]))
    lacks = data.draw(st.sets(st.sampled_from(sets), max_size=2))
    least, most = bounds._Counts(known, len(people)).between(has, lacks)
    true = sum(has <= person and not any(one <= person for one in lacks) for person in people)
    assert least <= true <= most


def test_lines_of_a_rule():
    def lines(one):
        return [("".join(sorted(x.has)), None if x.lacks is None else "".join(sorted(x.lacks)), x.told)
                for x in bounds._lines(one)]  # fmt: skip

    assert lines(rule("a", "b")) == [("", "a", False), ("a", "ab", False), ("ab", None, False)]
    assert lines(rule("a", "b", hidden="x")) == [("", "a", False), ("a", "ab", True), ("ab", None, True)]
    assert lines(rule("a", "b", hidden_right="x")) == [("", "a", False), ("a", "ab", False), ("ab", None, True)]
    assert lines(rule("a", hidden_right="x")) == [("", "a", False), ("a", None, True)]
    assert lines(rule("", "b", hidden="x")) == [("", "b", True), ("b", None, True)]
    assert lines(rule("a", "b", right_told=True))[3:] == [("", "b", False), ("b", None, False)]


def test_pairs_are_told_and_counted():
    """Of a hundred with a, 97 have b too: three are told about, by the first rule alone."""
    rules = [rule("a", hidden_right="x"), rule("ab", hidden_right="y")]
    known = [[count("a", 100)], [count("ab", 97)]]
    found = list(bounds.pair_regions(rules, known, 1000))
    assert [(q, r) for q, r, _ in found] == sorted([(q, r) for q, r, _ in found], key=lambda p: (p[1] - p[0], p))
    seen = {(q, r, one.words): (one.least, one.most, one.rules) for q, r, one in found}
    assert seen[0, 0, "people with a"] == (100, 100, (0,))
    assert seen[1, 1, "people with a, b"] == (97, 97, (1,))
    assert seen[0, 1, "people with a; without b"] == (3, 3, (0,))
    assert seen[0, 1, "people with a, b"] == (97, 97, (0, 1))
    assert not any("people not with" in words for *_, words in seen)
    broken, unseen = bounds.by_pairs(rules, known, 1000, 10)
    assert ([(one.words, one.least) for one in broken], unseen) == ([("people with a; without b", 3)], False)
    assert bounds.by_pairs(rules, known, 1000, 3) == ([], False)
    assert bounds.drop_by_numbers(rules, known, 1000, 10, small=False, private=False) == (1,)
    assert bounds.drop_by_numbers(rules, known, 1000, 3, small=False, private=False) == ()
    alone = [[count("a", 5)], [count("ab", 5)]]
    assert bounds.drop_by_numbers(rules, alone, 1000, 10, small=False, private=False) == (0, 1)


@pytest.mark.parametrize(("most", "unseen", "n_found"), [(2, True, 2), (3, False, 3), (1, True, 1)])
def test_pairs_beyond_the_most_are_said_to_be_left_out(most, unseen, n_found, monkeypatch):
    """Each rule alone first, then neighbours."""
    monkeypatch.setattr(bounds, "MOST_PAIRS", most)
    rules = [rule("a", hidden_right="x"), rule("ab", hidden_right="y")]
    known = [[count("a", 5)], [count("ab", 2)]]
    found, left_out = bounds.by_pairs(rules, known, 1000, 10)
    assert left_out is unseen
    assert len({one.words for one in found}) == n_found


def test_pairs_of_rules_begin_with_near_ones(monkeypatch):
    monkeypatch.setattr(bounds, "MOST_PAIRS", 7)
    rules = [rule(letter, hidden_right="x") for letter in "abcd"]
    found = dict.fromkeys((q, r) for q, r, _ in bounds.pair_regions(rules, [[]] * 4, 10))
    assert list(found) == [(0, 0), (1, 1), (2, 2), (3, 3), (0, 1), (1, 2), (2, 3)]


def test_repair_by_programs_keeps_the_first_rules_that_are_safe():
    rules = [rule("a", hidden_right="x"), rule("b", hidden_right="x"), rule("c")]
    known = [[count("a", 50)], [count("b", 50)], [count("c", 3)]]
    found = bounds.drop_by_numbers(rules, known, 100, 5, small=True, private=True)
    assert found == (1, 2)  # the numbers leave open how many have a and not b, or a and c
    assert bounds.drop_by_numbers(rules[1:], known[1:], 100, 50, small=True, private=True) == (1,)
    assert bounds.drop_by_numbers(rules[1:], known[1:], 100, 51, small=True, private=True) == (0,)
    assert bounds.drop_by_numbers(rules[:1], known[:1], 100, 50, small=True, private=False) == ()
    assert bounds.drop_by_numbers(rules[:1], known[:1], 100, 51, small=True, private=False) == (0,)


def test_repair_with_a_table_keeps_what_leaves_no_small_span():
    few, many = np.array([6] * 2 + [1] * 8, np.int8), np.array([6] * 5 + [1] * 5, np.int8)
    known = np.array([4] * 1 + [1] * 9, np.int8)  # tells nothing private, and cuts off nobody that is told about
    assert bounds.drop_by_table([[few], [many]], 10, 3) == (0,)
    assert bounds.drop_by_table([[few], [many]], 10, 2) == ()
    assert bounds.drop_by_table([[known], [many]], 10, 4) == (1,)
    assert bounds.drop_by_table([[many], [few]], 10, 3) == (1,)
    assert bounds.drop_by_table([[many, few]], 10, 3) == (0,)


@pytest.mark.parametrize(
    ("possible", "words"),
    [(1, "people without a"), (2, "people with a; without b"), (4, "people with a, b"), (3, "people with a; without b"),
     (6, "people with a, b"), (7, "people with a, b"), (5, "people with a, b")],
)  # fmt: skip
def test_possible_classes_in_words(possible, words):
    assert bounds.in_words([rule("a", "b", hidden="x", hidden_right="y")], [[possible]]) == words


def test_words_leave_out_what_goes_without_saying():
    one = rule("ab", hidden_right="x")
    assert bounds.in_words([one, rule("a", hidden_right="x")], [[1], [4]]) == "people with a; without b"
    assert bounds.in_words([one, rule("a", hidden_right="x")], [[1], [1]]) == "people without a"
    assert bounds.in_words([one], [[1]]) == "people not with all of a, b"
    assert bounds.in_words([rule(hidden="x", hidden_right="y")], [[7]]) == "everybody"
    assert bounds.in_words([one._replace(tells_right=True)], [[1, 5]]) == "people not with all of a, b"
