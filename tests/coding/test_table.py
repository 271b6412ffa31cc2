"""Coding frames: types, missing values, values outside a domain."""

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given

import incrowd as ic
from incrowd.coding import Table
from strategies import tables


@given(tables())
def test_codes_decode_to_the_values(drawn):
    table = Table.encode(drawn.frame, drawn.schema)
    for m, (name, hierarchy) in enumerate(zip(drawn.schema.quasi, table.hierarchies, strict=True)):
        assert hierarchy.leaves[table.codes[:, m]].to_list() == drawn.frame[name].to_list()
        assert table.marginals[m].sum() == table.n_rows
    assert table.secrets[0].values[table.sensitive].to_list() == drawn.frame["class"].to_list()
    assert table.codes.dtype == np.int32
    assert table.codes.flags.f_contiguous


def encode(values, hierarchy=None, dtype=None, **options):
    frame = pl.DataFrame({"q": pl.Series(values, dtype=dtype), "s": [None if v is None else "x" for v in values]})
    return Table.encode(frame, ic.Schema(quasi={"q": hierarchy}, sensitive="s", **options))


def test_missing_is_a_value_of_its_own():
    table = encode([3, None, 1], ic.Intervals())
    assert table.codes[:, 0].tolist() == [2, 0, 1]
    assert table.hierarchies[0].leaves.to_list() == [None, 1, 3]
    assert table.secrets[0].values.to_list() == [None, "x"]
    assert table.sensitive.tolist() == [1, 0, 1]


def test_missing_rows_are_dropped_and_counted():
    table = encode([3, None, 1, None], ic.Intervals(), missing="drop")
    assert table.rows.tolist() == [0, 2]
    assert (table.n_input, table.n_rows) == (4, 2)
    with pytest.raises(ic.SchemaError, match="no values"):
        encode([None, None], dtype=pl.Int64)


def test_every_row_missing_somewhere():
    frame = pl.DataFrame({"a": [1, None], "b": [None, 1]})
    with pytest.raises(ic.SchemaError, match="All 2 rows"):
        Table.encode(frame, ic.Schema(quasi=["a", "b"], missing="drop"))


def test_tokens_mean_missing():
    table = encode(["1", "?", "3"], ic.Intervals(), missing_tokens=["?"])
    assert table.hierarchies[0].leaves.to_list() == [None, 1, 3]
    assert encode([float("nan"), 1.5], ic.Intervals()).hierarchies[0].leaves.to_list() == [None, 1.5]


def test_numbers_written_as_text_are_numbers():
    assert encode(["10", "9", "100"], ic.Intervals()).hierarchies[0].leaves.to_list() == [9, 10, 100]
    assert encode(["0.5", "1e2"], ic.Intervals()).hierarchies[0].leaves.to_list() == [0.5, 100.0]
    assert encode(["01005", "01010"], ic.prefixes()).hierarchies[0].leaves.to_list() == ["01005", "01010"]


def test_mixed_types_are_refused_unless_a_taxonomy_lists_them():
    values = ["1", "2", "3", "3+"]
    with pytest.raises(ic.SchemaError, match="3 numbers and 1 other text"):
        encode(values, ic.Intervals())
    assert encode(values, ic.Taxonomy.flat(values)).codes[:, 0].tolist() == [0, 1, 2, 3]
    assert encode(values, ic.balanced()).n_rows == 4
    few = ["a", "b", "c", "d", "5"]
    assert encode(few).n_rows == 5


def test_values_outside_a_declared_domain_are_counted_not_shown():
    with pytest.raises(ic.HierarchyError, match="2 rows with 1 distinct value outside") as refused:
        encode(["a", "Zaphod", "Zaphod"], ic.Taxonomy.flat(["a", "b"]))
    assert "Zaphod" not in str(refused.value)
    with pytest.raises(ic.HierarchyError, match="1 row outside its declared ends"):
        encode([5, 50], ic.Intervals(low=0, high=10))


def test_declared_types():
    frame = pl.DataFrame({"q": ["1", "x", "3"], "s": ["a", "b", "c"]})
    attributes = list(ic.Schema(quasi=["q"], sensitive="s").attributes.values())
    as_int = ic.Schema.of([ic.schema.Attribute("q", ic.schema.Role.QUASI, type="int"), attributes[1]])
    with pytest.raises(ic.SchemaError, match="1 value not of its declared type 'int'"):
        Table.encode(frame, as_int)
    as_text = ic.Schema.of([ic.schema.Attribute("q", ic.schema.Role.QUASI, type="str"), attributes[1]])
    assert Table.encode(frame, as_text).hierarchies[0].type == "str"


def test_declared_types_convert_or_complain():
    def coded(values, kind, hierarchy=None):
        frame = pl.DataFrame({"q": values})
        return Table.encode(frame, ic.Schema(quasi={"q": hierarchy}, types={"q": kind})).hierarchies[0].leaves.to_list()

    assert coded(["2024-03-05", "2024-03-06"], "date") == [dt.date(2024, 3, 5), dt.date(2024, 3, 6)]
    assert coded(["true", " false"], "bool") == [False, True]
    for values, kind in (([1.5, 2.0], "int"), ([1.0, 2.0], "date"), ([20240305, 5], "date"), ([5, 1], "bool")):
        with pytest.raises(ic.SchemaError, match="declared type"):
            coded(values, kind)


def test_infinite_numbers_are_refused():
    with pytest.raises(ic.SchemaError, match="1 infinite"):
        encode([1.0, float("inf")], ic.Intervals())


def test_the_text_nan_is_missing():
    assert encode(["1", "nan", "2.5"], ic.Intervals()).hierarchies[0].leaves.to_list() == [None, 1.0, 2.5]


def test_spaces_around_a_text_are_part_of_it_in_other_rows_too():
    frame = pl.DataFrame({"q": [" a ", " a ", "b", "b"], "s": list("xyxy")})
    release = ic.Mondrian(k=2).publish(frame, ic.Schema(quasi={"q": ic.Intervals()}, sensitive="s"), seed=1)
    assert release.loss("lm", original=frame) == release.loss("lm")


def test_supervised_hierarchies_see_the_target():
    frame = pl.DataFrame({"q": list(range(40)), "s": ["a"] * 20 + ["b"] * 20})
    table = Table.encode(frame, ic.Schema(quasi={"q": ic.mdl()}, sensitive="s"))
    assert table.hierarchies[0].label(0, 19) == "0-19"


def test_a_table_without_rows():
    with pytest.raises(ic.SchemaError, match="no rows"):
        encode([], dtype=pl.Int64)


@pytest.mark.parametrize("first_rows", [1, 3, 99])
def test_names_that_come_late_are_coded_too(monkeypatch, first_rows):
    monkeypatch.setattr("incrowd.coding.fitting._FIRST_ROWS", first_rows)
    names = ["b", None, "a", "b", "c"]
    table = encode(names)
    assert table.hierarchies[0].leaves.to_list() == [None, "a", "b", "c"]
    assert table.codes[:, 0].tolist() == [2, 0, 1, 2, 3]
    assert table.marginals[0].tolist() == [1, 1, 2, 1]


def test_an_enumeration_is_coded_by_its_names():
    column = pl.Series(["b", None, "z", "a"], dtype=pl.Enum(["z", "b", "a"]))
    assert ic.Taxonomy(["a", "b"]).encode(column).tolist() == [1, -1, -1, 0]
    assert ic.Taxonomy(["a", "b"]).with_missing().encode(column).tolist() == [2, 0, -1, 1]
