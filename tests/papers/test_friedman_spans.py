"""Friedman, Wolff, Schuster 2008: worked examples of spans and linking attacks (Tables 1 to 5; sections 2 to 4)."""

import polars as pl
import pytest

import incrowd as ic
from incrowd.learn.spans import find_spans, linking_attack

RISK = {"risk": ["good", "bad"]}


def people(text, *names):
    return [dict(zip(names, line.split(), strict=True)) for line in text.strip().splitlines()]


TABLE_1 = people(
    """
    Anthony Male Yes Young Yes good
    Brian Male Yes Young No good
    Charles Male Yes Young Yes good
    David Male Yes Old Yes good
    Edward Male Yes Old Yes bad
    Frank Male No Old Yes bad
    Alice Female No Young No good
    Barbara Female No Old Yes good
    Carol Female No Young No bad
    Donna Female Yes Young No bad
    Emily Female Yes Young Yes bad
    Fiona Female Yes Young Yes bad
    """,
    *("name", "gender", "married", "age", "car", "risk"),
)
TABLE_4 = people(
    """
    Lisa Unmarried Yes good
    John Married Yes good
    Ben Married No bad
    Laura Married No bad
    Robert Unmarried Yes bad
    Anna Unmarried No bad
    """,
    *("name", "status", "car", "risk"),
)
TABLE_5 = [("John", 11001, 98), ("Cathy", 11001, 62), ("Ben", 13010, 36), ("Laura", 13010, 115), ("William", 14384, 44),
           ("Lisa", 15013, 100)]  # fmt: skip


def figure_1(person):
    leaf = (1 if person["age"] == "Young" else 2) if person["gender"] == "Male" else 3 + (person["married"] == "No")
    return leaf, person["risk"]


def figure_2(person):
    leaf = person["status"] if person["car"] == "Yes" else "No"
    return leaf, person["risk"]


def names(table):
    return [person["name"] for person in table]


def test_the_tree_of_figure_1_is_3_anonymous():
    spans = find_spans(figure_1, TABLE_1, RISK)
    assert spans.people.tolist() == [3, 3, 3, 3]
    assert spans.level == 3
    assert len(spans.breaches(4)) == 4


def test_donna_emily_and_fiona_are_linked_to_three_bad_risks():
    links = linking_attack(figure_1, TABLE_1, RISK, names(TABLE_1))
    link = next(link for link in links if "Donna" in link.people)
    assert link.people == ("Donna", "Emily", "Fiona")
    assert link.populations == {(3, "bad"): 3, (3, "good"): 0}


def test_a_public_sports_car_leaves_john_alone():
    spans = find_spans(figure_2, TABLE_4, RISK)
    alone = {TABLE_4[i]["name"] for i in spans.at_risk(2)}
    assert alone == {"John"}
    assert len(spans.breaches(3)) == 2  # leaves Married, Unmarried and No hold 1, 2 and 3 people


def test_a_private_sports_car_gives_two_spans_of_three():
    spans = find_spans(figure_2, TABLE_4, RISK | {"car": ["Yes", "No"]})
    bins = [{(leaf, risk) for leaf in (status, "No") for risk in RISK["risk"]} for status in ("Unmarried", "Married")]
    assert list(spans.classes) == bins
    assert spans.people.tolist() == [3, 3]
    assert spans.level == 3


CENTROIDS = {1: (11001, 80), 2: (13700, 110), 3: (14200, 40), 4: (15900, 105)}


def nearest(person):
    """Zip codes and incomes on scales of like size, as the figure draws them."""
    place = complex(person["zip"] / 40, person["income"])
    return min(CENTROIDS, key=lambda c: abs(place - complex(CENTROIDS[c][0] / 40, CENTROIDS[c][1])))


def test_lisa_is_alone_in_her_span():
    table = [{"zip": zip_code, "income": income} for _, zip_code, income in TABLE_5]
    spans = find_spans(nearest, table, {"income": range(30, 121)})
    assert list(spans.classes) == [{1}, {2, 3}, {3, 4}]
    assert spans.people.tolist() == [2, 3, 1]
    assert [TABLE_5[i][0] for i in spans.at_risk(2)] == ["Lisa"]
    assert len(spans.at_risk(1)) == 0


def test_a_span_of_one_class_is_no_breach():
    spans = find_spans(lambda person: person["status"], TABLE_4[:1], RISK)
    assert spans.level is None
    assert len(spans.breaches(100)) == 0


@pytest.mark.parametrize(
    ("cherries", "candles", "people_there"), [(False, False, 888), (True, True, 30), (True, False, 82)]
)
def test_rules_split_a_thousand_customers_into_three_spans(cherries, candles, people_there):
    """Section 4.3: Cherries => Viagra (8.4 %, 75 %), Cherries and Candles => Tylenol (2.4 %, 80 %)."""
    customers = [{"cherries": False, "candles": False}] * 888
    customers += [{"cherries": True, "candles": True}] * 30 + [{"cherries": True, "candles": False}] * 82

    def classes(basket):
        first = basket["cherries"] + (basket["cherries"] and basket["viagra"])
        second = (basket["cherries"] and basket["candles"]) * (1 + basket["tylenol"])
        return first, second

    spans = find_spans(classes, customers, {"viagra": [False, True], "tylenol": [False, True]})
    number = {888: 1, 30: 4, 82: 2}[people_there]
    there = [i for i, c in enumerate(customers) if (c["cherries"], c["candles"]) == (cherries, candles)]
    assert {len(spans.classes[spans.span_of[i]]) for i in there} == {number}
    assert {int(spans.people[spans.span_of[i]]) for i in there} == {people_there}
    assert spans.level == 30


def test_joining_table_3_with_a_census():
    """Section 2: the original tells Laura's and Ben's incomes, and what Mondrian makes of it tells nobody's."""
    original = pl.DataFrame({"zip": ["11001", "11001", "12033", "12045"], "income": ["High", "Low", "Mid", "High"]})
    census = {"John": "11001", "Lisa": "11001", "Ben": "12033", "Laura": "12045"}
    known = {name: original.filter(zip=place)["income"].to_list() for name, place in census.items()}
    assert {name: incomes[0] for name, incomes in known.items() if len(incomes) == 1} == {"Ben": "Mid", "Laura": "High"}
    schema = ic.Schema(quasi={"zip": ic.prefixes()}, sensitive="income")
    published = ic.Mondrian(k=2).publish(original, schema, domains="exact").frame
    assert sorted(published.rows()) == [("11001", "High"), ("11001", "Low"), ("120**", "High"), ("120**", "Mid")]
    for name, place in census.items():
        fitting = {income for cell, income in published.rows() if place.startswith(cell.rstrip("*"))}
        assert len(fitting) == 2, name
