"""Trees while somebody makes them: nothing is lost on the way through pairs, and moving keeps all values."""

from contextlib import suppress

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd import Taxonomy
from incrowd.errors import HierarchyError, ParameterError
from incrowd.hierarchy import Intervals
from incrowd.workflow import trees

LEAVES = ["a", "b", "c", "d", "e", "f"]
moves = st.lists(
    st.tuples(st.lists(st.sampled_from([*LEAVES, "X", "Y"]), max_size=4), st.sampled_from(["", "X", "Y", "Z", "a"]))
)


def after(steps):
    """The values after some steps, of which those that are refused change nothing."""
    parents = dict.fromkeys(LEAVES, "")
    for names, group in steps:
        with suppress(HierarchyError):
            parents = trees.moved(parents, [name for name in names if name in parents], group)
    return parents


@given(moves)
def test_what_is_moved_is_a_tree_of_the_same_values(steps):
    parents = after(steps)
    groups = set(parents.values()) - {""}
    assert set(parents) == {*LEAVES, *groups}
    assert sorted(Taxonomy.from_pairs(list(parents.items())).leaves.to_list()) == LEAVES


@given(moves)
def test_a_tree_comes_back_from_its_pairs(tmp_path_factory, steps):
    tree = Taxonomy.from_pairs(list(after(steps).items()))
    path = trees.read_text(trees.pairs_text(trees.parents_of(tree)), "pairs", tmp_path_factory.mktemp("tree"))
    assert path.stat().st_mode & 0o077 == 0
    assert Taxonomy.read(path, "pairs") == tree


def test_what_would_be_no_tree_is_refused():
    parents = {"a": "X", "b": "", "X": "Y", "Y": ""}
    with pytest.raises(HierarchyError, match="Group 'X' cannot go into itself"):
        trees.moved(parents, ["Y"], "X")
    with pytest.raises(HierarchyError, match="'b' is a value, not a group"):
        trees.moved(parents, ["a"], "b")


def test_two_groups_of_one_name_are_not_mixed_up():
    tree = Taxonomy(["a", "b", "c", "d"], [["x", "x", "y", "y"], ["x", "x", "y", "y"]])
    assert trees.parents_of(tree) == {"a": "x", "b": "x", "c": "y", "d": "y", "x": "", "y": ""}
    same = Taxonomy.from_nested({"g": {"x": ["a", "b"], "h": ["c"]}, "rest": ["d"]})
    assert trees.parents_of(same)["c"] == "h"
    named = Taxonomy(["a", "b", "c"], [["x", "x", "y"], ["all", "all", "all"]])
    assert trees.parents_of(named)["x"] == "all"


def test_an_unknown_form_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="There is no form 'drawing' of trees"):
        trees.read_text("a,b", "drawing", tmp_path)
    with pytest.raises(HierarchyError):
        Taxonomy.read(trees.read_text("[1", "taxonomy", tmp_path))


def test_strips_count_every_row_once():
    column = pl.Series("age", [None, *(i % 90 for i in range(1000))])
    built = Intervals().build(column)
    found = trees.strips(column, built)
    assert len(found) == 24
    assert (found[0].first, found[-1].last) == ("0", "89")
    assert sum(strip.rows for strip in found) == 1000
    assert (
        trees.strips(pl.Series("a", [None, 1.5, 2.5]), Intervals().build(pl.Series("a", [None, 1.5, 2.5])))[0].rows == 1
    )
