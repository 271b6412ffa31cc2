"""The fast InfoGain Mondrian equals the plain one, group for group."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_mondrian import groups_of

import incrowd as ic
import naive_infogain_mondrian
import naive_mondrian
from claims import CONSTRAINTS
from incrowd.coding import Table
from incrowd.publish.infogain_mondrian import InfoGainMondrian
from owner import exact_cells
from strategies import tables


def check_against_the_plain_algorithm(frame, schema, k, constraints):
    table = Table.encode(frame, schema)
    codes = [tuple(int(x) for x in row) for row in table.codes]
    sensitive, classes = table.sensitive.tolist(), table.classes[0].tolist()

    def keeps(values):
        return naive_mondrian.holds(values, sensitive, k=k, **constraints)

    method = InfoGainMondrian(k=k, **constraints)
    if not keeps(sensitive):
        with pytest.raises(ic.InfeasibleError):
            method.publish(frame, schema)
        return
    wanted = naive_infogain_mondrian.infogain(codes, classes, sensitive, table.hierarchies, keeps)
    assert groups_of(method.publish(frame, schema, seed=1), table) == sorted(sorted(group) for group in wanted)


@given(tables(), st.integers(1, 6), st.sampled_from(CONSTRAINTS), st.sampled_from(["class", "note"]))
def test_equals_the_plain_algorithm(drawn, k, constraints, target):
    """Whether the class is the sensitive column or another one."""
    drawn = drawn.fit_for(constraints)
    quasi = {name: drawn.schema.attributes[name].hierarchy for name in drawn.schema.quasi}
    schema = ic.Schema(quasi=quasi, sensitive="class", target=target, other=["note"], identifiers=["id"])
    check_against_the_plain_algorithm(drawn.frame, schema, k, constraints)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("constraints", [{}, {"l": 1.2}])
def test_equals_the_plain_algorithm_on_sparse_numbers(seed, constraints):
    """Far fewer rows in a group than values in the domain: rows are sorted, not counted."""
    n, rng = 20, np.random.default_rng(seed)
    a, b = rng.choice(200, n, replace=False), rng.integers(0, 9, n)
    frame = pl.DataFrame({"a": a, "b": b, "s": np.where(rng.random(n) < a / 200, "u", "v")})
    schema = ic.Schema(quasi={"a": ic.Intervals(range(200)), "b": ic.Intervals()}, sensitive="s")
    check_against_the_plain_algorithm(frame, schema, 2, constraints)


@given(tables(), st.integers(1, 5))
def test_cells_are_tight_closures_and_distinct(drawn, k):
    table = Table.encode(drawn.frame, drawn.schema)
    if table.n_rows < k:
        return
    release = InfoGainMondrian(k=k).publish(drawn.frame, drawn.schema)
    originals = table.codes[release.private.rows]
    cell_lo, cell_hi = exact_cells(release)
    for m, hierarchy in enumerate(table.hierarchies):
        for cell in range(len(cell_lo)):
            inside = [int(x) for x in originals[release.cell_of == cell, m]]
            assert naive_mondrian.closure(hierarchy, inside) == (cell_lo[cell, m], cell_hi[cell, m])
    both = np.column_stack([cell_lo, cell_hi])
    assert len(np.unique(both, axis=0)) == len(both)


@given(tables(min_rows=4), st.integers(1, 4))
def test_transform_gives_published_rows_their_own_cells(drawn, k):
    release = InfoGainMondrian(k=k).publish(drawn.frame, drawn.schema, domains="exact")
    own = release.transform(drawn.frame)[release.private.rows].select(release.quasi)
    assert own.equals(release.frame.select(release.quasi))


def published(columns, hierarchies, k=2, classes=None, **constraints):
    n = len(next(iter(columns.values())))
    frame = pl.DataFrame({**columns, "s": classes or ["a", "b"] * (n // 2)})
    schema = ic.Schema(quasi=hierarchies, sensitive="s")
    return InfoGainMondrian(k=k, **constraints).publish(frame, schema, domains="exact")


def values(release, column="q"):
    return sorted(release.frame[column].unique())


def test_the_class_decides_where_a_range_is_cut():
    """The median lies between 3 and 4, the classes part between 2 and 3."""
    release = published({"q": [1, 2, 3, 4, 5, 6]}, {"q": ic.Intervals()}, classes=list("uuvvvv"))
    assert values(release) == ["1-2", "3-4", "5-6"]


def test_the_class_decides_which_attribute_is_cut():
    columns = {"far": [0, 90, 10, 100], "near": [1, 1, 2, 2]}
    hierarchies = {"far": ic.Intervals(), "near": ic.Intervals(range(50))}
    release = published(columns, hierarchies, classes=list("uuvv"))
    assert (values(release, "near"), values(release, "far")) == (["1", "2"], ["0-90", "10-100"])


def test_a_pure_group_is_cut_like_any_other_along_its_widest_attribute_in_the_middle():
    columns = {"thin": [1, 1, 1, 1, 2, 2, 2, 2], "wide": [0, 10, 20, 30, 70, 80, 90, 100]}
    hierarchies = {"thin": ic.Intervals(range(90)), "wide": ic.Intervals()}
    release = published(columns, hierarchies, k=4, classes=["u"] * 8)
    assert values(release, "wide") == ["0-30", "70-100"]


def test_without_a_class_cuts_are_the_most_even_ones():
    frame = pl.DataFrame({"q": [1, 2, 3, 4, 5, 6, 7, 8]})
    release = InfoGainMondrian(k=2).publish(frame, ic.Schema(quasi={"q": ic.Intervals()}))
    assert values(release) == ["1-2", "3-4", "5-6", "7-8"]


def test_a_cut_that_breaks_diversity_is_passed_over():
    columns = {"q": [1, 2, 3, 4, 5, 6, 7, 8]}
    free = published(columns, {"q": ic.Intervals()}, classes=list("uuvvuvvv"))
    assert "1-2" in values(free)
    diverse = published(columns, {"q": ic.Intervals()}, classes=list("uuvvuvvv"), l=2, l_kind="distinct")
    assert values(diverse) == ["1-3", "4-8"]


def test_missing_leaves_a_range_first():
    """The classes part between 1 and 2, but then missing would make 1 the whole domain."""
    release = published({"q": [None, None, 1, 2, 3]}, {"q": ic.Intervals()}, classes=list("uuuvv"))
    assert values(release) == ["(missing)", "1-3"]


def test_missing_stays_with_the_lowest_when_it_is_too_rare():
    release = published({"q": [None, 1, 2, 3]}, {"q": ic.Intervals()}, classes=list("uuvv"))
    assert values(release) == ["*", "2-3"]


TREE = {"low": ["a", "b"], "middle": ["m"], "high": ["x", "y"]}


def test_a_node_is_cut_into_its_children():
    release = published(
        {"q": list("aabbmmxxyy")}, {"q": ic.Taxonomy.from_nested(TREE)}, k=2, classes=list("uvuvuvuvuv")
    )
    assert values(release) == ["a", "b", "m", "x", "y"]


def test_a_child_is_split_off_when_another_is_too_small():
    """One row at m: low leaves, because u is all of it, and high cannot follow, because m would be alone."""
    tree = ic.Taxonomy.from_nested(TREE)
    release = published({"q": list("aabbmxxy")}, {"q": tree}, k=2, classes=list("uuuuvvvv"))
    assert values(release) == ["*", "a", "b"]


def test_a_child_is_split_off_with_all_of_its_leaves():
    """A leaf that no row has goes with its siblings when new rows are recoded."""
    tree = ic.Taxonomy.from_nested(TREE)
    release = published({"q": list("aaaammxxx")}, {"q": tree}, k=3, classes=list("uuuuvvvvv"))
    assert values(release) == ["*", "a"]
    assert release.transform(pl.DataFrame({"q": ["b", "m", "y"]}))["q"].to_list() == ["low", "*", "*"]


def test_equal_rows_are_stored_once_without_a_change():
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"a": rng.integers(0, 9, 60), "b": rng.integers(0, 9, 60), "s": rng.integers(0, 2, 60)})
    schema = ic.Schema(quasi={"a": ic.Intervals(), "b": ic.Intervals()}, sensitive="s")
    once = InfoGainMondrian(k=4).publish(frame, schema).frame
    many = InfoGainMondrian(k=4 * 50).publish(pl.concat([frame] * 50), schema).frame
    assert set(once.select("a", "b").rows()) == set(many.select("a", "b").rows())
    assert len(set(once.select("a", "b").rows())) > 5


def test_progress_is_told_and_may_stop_the_run():
    told = []

    def stop(stage, done, total):
        told.append((stage, done, total))
        if stage == "cutting" and done:
            raise KeyboardInterrupt

    frame = pl.DataFrame({"q": list(range(20)), "s": ["u", "v"] * 10})
    with pytest.raises(KeyboardInterrupt):
        InfoGainMondrian(k=2).publish(frame, ic.Schema(quasi={"q": ic.Intervals()}, sensitive="s"), progress=stop)
    assert told[-1] == ("cutting", 20, 20)


def test_wrong_parameters_are_refused():
    with pytest.raises(ic.ParameterError, match="k is 0"):
        InfoGainMondrian(k=0)
    with pytest.raises(ic.ParameterError, match="ordered is about t"):
        InfoGainMondrian(k=2, ordered=True)
