from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd.verify
from incrowd.errors import ParameterError, SchemaError
from incrowd.verify import verify_table
from verify import naive_levels as naive

PUBLISHED = pl.DataFrame(
    {
        "age": ["21-30", "21-30", "21-30", "47-55", "47-55"],
        "zip": ["100**", "100**", "100**", "10***", "10***"],
        "disease": ["Measles", "Flu", "Angina", "Flu", "Diabetes"],
    }
)
QUASI = ["age", "zip"]


def test_a_table_keeps_what_it_keeps():
    verdict = verify_table(PUBLISHED, quasi=QUASI, sensitive="disease", k=2, l=2, t=0.6, alpha=0.5)
    assert verdict.violations == []
    assert verdict.levels["k"] == 2
    assert verdict.levels["l_frequency"] == 2
    assert [c.name for c in verdict.checks] == ["k", "l (frequency)", "t", "alpha"]


@pytest.mark.parametrize(
    ("promise", "name"),
    [({"k": 3}, "k"), ({"l": 3}, "l (frequency)"), ({"l": 3, "l_kind": "distinct"}, "l (distinct)"),
     ({"l": 2.1, "l_kind": "entropy"}, "l (entropy)"), ({"l": 2, "l_kind": "recursive", "c": 1}, "l (recursive)"),
     ({"t": 0.3}, "t"), ({"alpha": 0.49}, "alpha")],
)  # fmt: skip
def test_and_no_more(promise, name):
    verdict = verify_table(PUBLISHED, quasi=QUASI, sensitive="disease", **promise)
    assert [violation.split(":")[0] for violation in verdict.violations] == [name]
    assert "Flu" not in str(verdict)


def test_a_file_is_read(tmp_path):
    path = tmp_path / "table.csv"
    PUBLISHED.write_csv(path)
    assert incrowd.verify(path, quasi=QUASI, k=2).ok
    assert not incrowd.verify(str(path), quasi=QUASI, k=3).ok


def test_other_frames_are_taken():
    assert verify_table(PUBLISHED.to_pandas(), quasi=QUASI, k=2).ok


def test_a_missing_cell_is_a_value():
    table = pl.DataFrame({"q": [None, "a", "a"], "s": [None, "x", "y"]})
    verdict = verify_table(table, quasi=["q"], sensitive="s", k=2)
    assert verdict.levels["k"] == 1
    assert verdict.levels["l_distinct"] == 1
    assert not verdict.ok


def test_an_empty_table_promises_nothing():
    assert not verify_table(PUBLISHED[:0], quasi=QUASI, sensitive="disease", k=2).ok


def test_wrong_arguments_are_refused():
    with pytest.raises(SchemaError):
        verify_table(PUBLISHED, quasi=["agee"])
    with pytest.raises(ParameterError):
        verify_table(PUBLISHED, quasi=QUASI, l=2)
    with pytest.raises(ParameterError):
        verify_table(PUBLISHED, quasi=QUASI, sensitive="disease", l=2, l_kind="much")


@given(st.lists(st.tuples(st.sampled_from("ab*"), st.sampled_from(["1-2", "3"]), st.sampled_from("xyz")), min_size=1))
def test_levels_are_those_of_the_definitions(rows):
    table = pl.DataFrame(rows, schema=["a", "b", "s"], orient="row")
    levels = verify_table(table, quasi=["a", "b"], sensitive="s").levels
    groups = naive.groups([row[:2] for row in rows], [row[2] for row in rows])
    assert levels["k"] == min(map(len, groups))
    assert levels["l_frequency"] == pytest.approx(float(min(map(naive.frequency, groups))))
    assert levels["l_distinct"] == min(map(naive.distinct, groups))


def test_a_kind_of_l_without_l_asks_for_nothing():
    assert verify_table(PUBLISHED, quasi=QUASI, sensitive="disease", k=2, l_kind="distinct").ok


def test_a_crowd_of_one_may_be_asked_for():
    assert verify_table(PUBLISHED, quasi=QUASI, k=1).ok
