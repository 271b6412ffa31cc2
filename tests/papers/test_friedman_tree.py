"""Friedman, Wolff, Schuster 2008: trees of the worked examples (Tables 1, 2, 4; Figs 1, 2, 4; section 6.3)."""

import polars as pl
import pytest
from test_friedman_spans import TABLE_1, TABLE_4

import incrowd as ic
from incrowd.learn.tree import diversity_for_confidence

MORTGAGES = pl.DataFrame(TABLE_1).drop("name")
RISKS = pl.DataFrame(TABLE_4).drop("name")


def induced(frame, **parameters):
    return ic.KAnonymousTreeClassifier(**parameters).fit(frame.drop("risk"), frame["risk"])


def test_table_1_gives_the_tree_of_figure_1():
    tree = induced(MORTGAGES, k=3)
    assert tree.export_text().splitlines() == [
        "gender = Female",
        "|   married = No  ->  good: 2, bad: 1",
        "|   married = Yes  ->  bad: 3",
        "gender = Male",
        "|   age = Old  ->  bad: 2, good: 1",
        "|   age = Young  ->  good: 3",
    ]
    assert tree.spans_.people.tolist() == [3, 3, 3, 3]
    assert tree.spans_.level == 3


def test_its_equivalent_table_is_table_2():
    schema = ic.Schema(quasi=["gender", "married", "age", "car"], sensitive="risk")
    release = induced(MORTGAGES, k=3).to_release(MORTGAGES, schema)
    table_2 = """
        Male * Young * good
        Male * Young * good
        Male * Young * good
        Male * Old * good
        Male * Old * bad
        Male * Old * bad
        Female No * * good
        Female No * * good
        Female No * * bad
        Female Yes * * bad
        Female Yes * * bad
        Female Yes * * bad
    """
    assert sorted(release.frame.rows()) == sorted(tuple(line.split()) for line in table_2.strip().splitlines())
    assert release.levels["k"] == 3


def test_figure_4_splits_by_the_private_car_and_then_by_the_public_status():
    tree = induced(RISKS, k=3, public=["status"])
    names = list(tree.feature_names_in_)
    tested = [names[m] for m in tree.tree_.nodes[:, 0] if m >= 0]
    assert tested == ["car", "status"]
    assert tree.export_text().splitlines() == [
        "car = No (private)  ->  bad: 3",
        "car = Yes (private)",
        "|   status = Married  ->  good: 1",
        "|   status = Unmarried  ->  bad: 1, good: 1",
    ]
    assert tree.spans_.people.tolist() == [3, 3]
    assert [len(span) for span in tree.spans_.classes] == [4, 4]


@pytest.mark.parametrize(("k", "n_leaves"), [(4, 2), (3, 3)])
def test_with_four_people_per_span_the_status_is_refused(k, n_leaves):
    assert induced(RISKS, k=k, public=["status"]).n_leaves_ == n_leaves


def test_with_a_public_car_the_tree_of_figure_2_is_not_induced():
    tree = induced(RISKS, k=3)
    assert tree.export_text().splitlines() == ["car = No  ->  bad: 3", "car = Yes  ->  good: 2, bad: 1"]


def test_a_confidence_limit_of_85_percent_is_entropy_diversity_with_1_526():
    assert diversity_for_confidence(0.85) == pytest.approx(1.526, abs=5e-4)
    assert diversity_for_confidence(0.5) == pytest.approx(2)
    assert diversity_for_confidence(1) == 1


def test_for_two_classes_both_limits_refuse_the_same_splits():
    texts = [
        induced(MORTGAGES, k=1, **limit).export_text()
        for limit in ({"max_confidence": 0.7}, {"l": diversity_for_confidence(0.7)}, {})
    ]
    assert texts[0] == texts[1] != texts[2]
