"""Bottom-up generalization equals the plain search, and does what its paper says."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incrowd as ic
import naive_bottom_up
import naive_mondrian
from claims import CONSTRAINTS
from incrowd.coding import Table
from strategies import tables


@settings(max_examples=25)
@given(tables(max_rows=14), st.integers(1, 5), st.sampled_from(CONSTRAINTS))
def test_each_step_is_the_best(drawn, k, constraints):
    drawn = drawn.fit_for(constraints)
    table = Table.encode(drawn.frame, drawn.schema)
    sensitive = table.sensitive.tolist()

    def holds(rows):
        return naive_mondrian.holds([sensitive[i] for i in rows], sensitive, **({"k": k} | constraints))

    method = ic.BottomUp(k=k, **constraints)
    if not holds(range(table.n_rows)):
        with pytest.raises(ic.InfeasibleError):
            method.publish(drawn.frame, drawn.schema)
        return
    release = method.publish(drawn.frame, drawn.schema, seed=1, domains="exact")
    cut = naive_bottom_up.bottom_up(table, holds)
    wanted = {}
    for i, row in enumerate(table.codes.tolist()):
        key = tuple(next(node for node in own if leaf in node) for own, leaf in zip(cut, row, strict=True))
        wanted.setdefault(key, set()).add(i)
    place = {int(row): i for i, row in enumerate(table.rows)}
    found = {}
    for cell, row in zip(release.cell_of.tolist(), release.private.rows.tolist(), strict=True):
        found.setdefault(cell, set()).add(place[row])
    assert sorted(map(sorted, found.values())) == sorted(map(sorted, wanted.values()))


def test_what_tells_the_class_is_kept():
    """Sex and the splits of ages of one class lose nothing; the root of age loses one bit of each of the 8 rows."""
    people = pl.DataFrame({"age": [21, 22, 30, 31, 55, 56, 57, 58], "sex": list("fmfmfmfm"), "ill": list("nnnnyyyy")})
    schema = ic.Schema(quasi={"age": ic.Intervals(), "sex": None}, sensitive="ill", target="ill")
    shown = ic.BottomUp(k=4).publish(people, schema, seed=1).frame
    assert sorted(shown.select("age", "sex", "ill").unique().rows()) == [("21-31", "*", "n"), ("55-58", "*", "y")]
    one = ic.BottomUp(k=5).publish(people, schema, seed=1).frame
    assert one.select("age", "sex").unique().rows() == [("21-58", "*")]


def test_what_tells_nothing_goes_first():
    rows = [("a", "x", "n")] * 2 + [("a", "y", "n")] * 2 + [("b", "x", "y")] * 2 + [("b", "y", "y")] * 2
    people = pl.DataFrame(rows, schema=["one", "two", "ill"], orient="row")
    schema = ic.Schema(quasi={"one": None, "two": None}, sensitive="ill")
    shown = ic.BottomUp(k=4).publish(people, schema, seed=1).frame
    assert sorted(shown.select("one", "two").unique().rows()) == [("a", "*"), ("b", "*")]


def test_new_rows_are_recoded_alike():
    people = pl.DataFrame({"age": [20, 21, 40, 41, 60, 61] * 4, "ill": list("nnynyy") * 4})
    release = ic.BottomUp(k=6).publish(people, ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill"), seed=1)
    again = release.transform(people)[release.private.rows]
    assert again.select("age").equals(release.frame.select("age"))


def test_nobody_is_generalized_more_than_needed():
    people = pl.DataFrame({"job": ["cook"] * 3 + ["nurse"] * 3, "ill": list("ynynyn")})
    release = ic.BottomUp(k=3).publish(people, ic.Schema(quasi={"job": None}, sensitive="ill"), seed=1)
    assert set(release.frame["job"]) == {"cook", "nurse"}
