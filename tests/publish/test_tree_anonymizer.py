"""The table of a k-anonymous tree: its groups are the plain algorithm's, its cells the tests' or the rows' closure."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_mondrian import groups_of

import incrowd as ic
import naive_mondrian
import naive_tree
from incrowd.coding import Table
from owner import exact_cells
from strategies import tables

CONSTRAINTS = [{}, {"l": 1.5}, {"l": 2, "l_kind": "distinct"}, {"l": 2, "l_kind": "recursive", "c": 2.0}, {"t": 0.3}]


def leaves(node):
    if node.m is None:
        return [node]
    return [leaf for child in node.children if child is not None for leaf in leaves(child)]


def check_against_the_plain_tree(frame, schema, k, constraints, tighten):
    table = Table.encode(frame, schema)
    sensitive = frame["class"].to_list()
    method = ic.TreeAnonymizer(k=k, tighten=tighten, **constraints)
    if not naive_mondrian.holds(sensitive, sensitive, k=k, **constraints):
        with pytest.raises(ic.InfeasibleError):
            method.publish(frame, schema)
        return
    codes = [tuple(row) for row in table.codes.tolist()]
    public = [True] * table.n_quasi
    plain = naive_tree.Plain(
        codes, sensitive, table.hierarchies, public, class_public=False, gain="information", k=k, **constraints
    )
    wanted = leaves(plain.run().root)
    release = method.publish(frame, schema, seed=1)
    assert groups_of(release, table) == sorted(sorted(leaf.rows) for leaf in wanted)
    cell_of = dict(zip(release.private.rows.tolist(), release.cell_of.tolist(), strict=True))
    cell_lo, cell_hi = exact_cells(release)
    for leaf in wanted:
        cell = cell_of[leaf.rows[0]]
        for m, hierarchy in enumerate(table.hierarchies):
            held = [codes[i][m] for i in leaf.rows] if tighten else list(leaf.box[m])
            released = (cell_lo[cell, m], cell_hi[cell, m])
            assert released == naive_mondrian.closure(hierarchy, held)


@given(tables(max_rows=14), st.integers(1, 4), st.sampled_from(CONSTRAINTS), st.booleans())
def test_groups_and_cells_are_those_of_the_plain_tree(drawn, k, constraints, tighten):
    check_against_the_plain_tree(drawn.frame, drawn.schema, k, constraints, tighten)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("constraints", [{}, {"l": 1.2}])
def test_sparse_numbers_are_split_as_the_plain_tree_splits_them(seed, constraints):
    """Values far apart in a declared domain: rows are sorted, not counted value by value."""
    rng = np.random.default_rng(seed)
    ages = rng.choice(200, 14, replace=False)
    frame = pl.DataFrame({"age": ages, "class": np.where((ages > 90) ^ (rng.random(14) < 0.2), "u", "v")})
    schema = ic.Schema(quasi={"age": ic.Intervals(range(200))}, sensitive="class")
    check_against_the_plain_tree(frame, schema, 1, constraints, tighten=True)


@given(tables(min_rows=4), st.integers(1, 4), st.booleans())
def test_transform_gives_published_rows_their_own_cells(drawn, k, tighten):
    release = ic.TreeAnonymizer(k=k, tighten=tighten).publish(drawn.frame, drawn.schema, domains="exact")
    own = release.transform(drawn.frame)[release.private.rows].select(release.quasi)
    assert own.equals(release.frame.select(release.quasi))


def test_the_class_may_be_another_column_than_the_sensitive_one():
    frame = pl.DataFrame(
        {"a": ["u"] * 4 + ["v"] * 4, "b": ["x", "y"] * 4, "s": list("pppqpqqq"), "t": list("01010101")}
    )
    told = {
        target: ic.TreeAnonymizer(k=4)
        .publish(frame, ic.Schema(quasi=["a", "b"], sensitive="s", other=["t"], target=target))
        .frame.select("a", "b")
        for target in ("s", "t")
    }
    assert sorted(told["s"].unique().rows()) == [("u", "*"), ("v", "*")]
    assert sorted(told["t"].unique().rows()) == [("*", "x"), ("*", "y")]
    diverse = ic.Schema(quasi=["a", "b"], sensitive="s", other=["t"], target="t")
    release = ic.TreeAnonymizer(k=2, l=2, tighten=False).publish(frame, diverse)
    assert release.levels["l_frequency"] >= 2


def test_a_split_that_tells_nothing_about_the_class_is_not_made():
    frame = pl.DataFrame({"a": [1, 2, 3, 4] * 5, "s": ["u", "u", "u", "u", "v", "v", "v", "v"] * 2 + ["u"] * 4})
    schema = ic.Schema(quasi={"a": ic.Intervals()}, sensitive="s")
    assert len(ic.TreeAnonymizer(k=1).publish(frame, schema).cell_lo) == 1


def test_wrong_parameters_are_refused():
    with pytest.raises(ic.ParameterError, match="gain is 'luck'"):
        ic.TreeAnonymizer(k=2, gain="luck")
    with pytest.raises(ic.ParameterError, match="tighten is 'much'"):
        ic.TreeAnonymizer(k=2, tighten="much")
