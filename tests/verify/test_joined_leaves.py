"""Leaves that stand for several values, one by one: how they may be called, what may be in them, and what is rare."""

from __future__ import annotations

import math
from datetime import date, timedelta
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from incrowd.verify.joined_names import misnamed
from incrowd.verify.private_domains import _leaf_problems, _lies_in
from incrowd.verify.published import Leaves, Ranges, Scale, wider_cells
from incrowd.verify.rare import _rare_leaves, _rare_ranges


def tree(leaves, *levels, rest=(), kind="taxonomy"):
    return Leaves("q", kind, "str", tuple(leaves), tuple(map(tuple, levels)), tuple(rest), np.zeros(len(leaves), int))


# the owner's values are a, b, c (below x) and d (below y)
EXACT = [["x", "x", "x", "y"], ["*"] * 4]


@pytest.mark.parametrize(
    ("known", "leaf", "lowest", "leaf_of", "fine"),
    [
        ("abcd", "x", "x", [0, 1, 1, 2], True),
        ("abcd", "x (rest)", "x", [0, 1, 1, 2], False),  # nothing else has that name
        ("abcx", "x (rest)", "x", [0, 1, 1, 2], True),
        ("abcx", "x (rest) (rest)", "x", [0, 1, 1, 2], False),
        ("abcx", "x", "x", [0, 1, 1, 2], False),
        ("abcd", "y", "x", [0, 1, 1, 2], False),
        ("abcd", "*", "*", [0, 1, 1, 1], True),
        ("ab*d", "* (rest)", "* (rest)", [0, 1, 1, 1], True),
        ("ab*d", "* (rest)", "*", [0, 1, 1, 1], False),  # a leaf and the node above it have one name
        ("abcd", "* (rest)", "*", [0, 1, 1, 1], False),
        ("abcd", "*", "* (rest)", [0, 1, 1, 1], False),
        ("abcd", "x", "x", [0, 1, 1, 1], False),  # their closest ancestor is the root
        ("abcd", "*", "x", [0, 1, 1, 1], False),
    ],
)
def test_a_joined_leaf_is_called_like_the_ancestor_of_its_values(known, leaf, lowest, leaf_of, fine):
    n = max(leaf_of) + 1
    q = tree(["a", leaf, known[3]][:n], ["x", lowest, "y"][:n], ["*"] * n, rest=[1])
    found = _leaf_problems(q, pl.Series(list(known)), EXACT, np.array(leaf_of), np.ones(4, bool))
    assert (found == []) is fine


@pytest.mark.parametrize(
    ("inner", "middle", "outer", "fine"),
    [
        ("w", "w (rest)", "w (rest) (rest)", True),
        ("w", "w (rest) (rest)", "w (rest)", False),
        ("w", "w (rest)", "w (rest)", False),
        ("w (rest)", "w", "w (rest) (rest)", False),
    ],
)
def test_joined_leaves_of_one_name_are_numbered_from_the_inside(inner, middle, outer, fine):
    """Values a alone, b in a node w, c in the one that holds it, d in the one that holds both, e."""
    exact = [["w", "w", "v", "t", "u"], ["w", "w", "w", "t", "u"], ["w", "w", "w", "w", "u"], ["*"] * 5]
    lower = [["w", "w", middle, outer, "u"], ["w", "w", "w", outer, "u"], ["w", "w", "w", "w", "u"], ["*"] * 5]
    q = tree(["a", inner, middle, outer, "e"], *lower, rest=[1, 2, 3])
    found = _leaf_problems(q, pl.Series(list("abcde")), exact, np.arange(5), np.ones(5, bool))
    assert (found == []) is fine


@pytest.mark.parametrize("swapped", [False, True])
def test_joined_leaves_are_named_in_the_order_of_the_tree(swapped):
    """The nodes are called w and w (rest), and so is a value."""
    nodes, names = ["w", "w (rest)"], ["w (rest)", "w (rest) (rest)"]
    if swapped:
        nodes.reverse()
    exact = [[nodes[0]] * 2 + [nodes[1]] * 2 + ["u"], ["*"] * 5]
    for told in (names, names[::-1]):
        q = tree(["a", told[0], "c", told[1], "w"], *exact, rest=[1, 3])
        found = _leaf_problems(q, pl.Series(list("abcdw")), exact, np.arange(5), np.ones(5, bool))
        assert (found == []) is (told == names)


@pytest.mark.parametrize(("name", "fine"), [("w (rest)", True), ("w", False)])
def test_nodes_of_all_lower_levels_keep_their_names(name, fine):
    """The node w holds a node v, which holds another node w."""
    exact = [["w", "u", "t"], ["v", "v", "s"], ["w"] * 3, ["*"] * 3]
    q = tree(["a", "b", name], ["w", "u", name], ["v", "v", name], ["w"] * 3, ["*"] * 3, rest=[2])
    found = _leaf_problems(q, pl.Series(list("abc")), exact, np.arange(3), np.ones(3, bool))
    assert (found == []) is fine


def test_inner_nodes_are_named_first_whatever_they_are_called():
    """The values are w, w (rest), a, b and c; b is joined in a node w (rest), and c in the node w that holds it."""
    exact = [["v", "u", "w (rest)", "w (rest)", "t"], ["w"] * 5, ["*"] * 5]
    names = ["w (rest) (rest)", "w (rest) (rest) (rest)"]
    for inner, outer in (names, names[::-1]):
        levels = [["v", "u", "w (rest)", "w (rest)", outer], ["w"] * 5, ["*"] * 5]
        q = tree(["w", "w (rest)", "a", inner, outer], *levels, rest=[3, 4])
        values = pl.Series(["w", "w (rest)", "a", "b", "c"])
        found = _leaf_problems(q, values, exact, np.arange(5), np.ones(5, bool))
        assert (found == []) is (inner == names[0])


@pytest.mark.parametrize(
    ("known", "leaf_of", "name", "fine"),
    [
        (["a", "b", "c", "d"], [0, 1, 1, 2], "x", True),
        ([None, "a", "b", "d"], [1, 0, 1, 2], "x", False),  # the missing value is joined with others
        (["a", "b", "c", "d"], [0, 0, 0, 2], "x", False),  # nobody is in it
        (["a", "x", "c", "d"], [0, 1, 1, 2], "x", False),  # it is called like a value
        (["a", "b", "c", "d"], [1, 0, 1, 2], "x", False),  # b is told as a
        (["a", "b", "c", "d"], [0, 1, 2, 2], "x", False),
    ],
)
def test_published_leaves_are_those_of_the_owners_values(known, leaf_of, name, fine):
    levels = [["x", "x", "x", "y"], ["*"] * 4]
    q = tree(["a", name, "d"], ["x", "x", "y"], ["*"] * 3, rest=[1])
    found = _leaf_problems(q, pl.Series(known), levels, np.array(leaf_of), np.ones(4, bool))
    assert (found == []) is fine


@pytest.mark.parametrize(
    ("counts", "n"),
    [
        ([5, 5, 5, 5, 5], 0),
        ([5, 5, 2, 3, 5], 0),  # the leaves that join values may be rare, each in itself
        ([5, 4, 5, 5, 5], 2),  # a listed value may not, nor may the node of it alone
        ([4, 5, 5, 5, 5], 0),  # but the missing one may
        ([5, 5, 1, 1, 5], 1),  # nor may a node of two leaves that join values, whatever it is called
    ],
)
def test_what_too_few_rows_have_is_counted(counts, n):
    q = tree(
        [None, "a", "x (rest)", "x (rest) (rest)", "d"],
        ["(missing)", "a", "x (rest)", "x (rest)", "d"],
        ["(missing)", "x", "x", "x", "y"],
        ["*"] * 5,
        rest=[2, 3],
    )
    found = _rare_leaves(SimpleNamespace(joined=True, least=5), q, np.array(counts))
    assert found == ([f"column 'q' names {n} values that fewer than 5 rows have"] if n else [])
    assert _rare_leaves(SimpleNamespace(joined=False, least=5), q, np.array(counts)) == []


@pytest.mark.parametrize("leaves", [(None, "a", "b", "c"), ("a", "b", "c")])
def test_ranges_of_names_hold_the_missing_value_alone_or_with_everything(leaves):
    q = tree(leaves, kind="names")
    last = len(leaves) - 1
    for lo in range(len(leaves)):
        for hi in range(lo, len(leaves)):
            fine = lo > 0 or leaves[0] is not None or hi in (0, last)
            assert q.legal(np.array([lo]), np.array([hi])).tolist() == [fine]


@pytest.mark.parametrize(
    ("kind", "bounds", "n_values", "ends"),
    [
        ("int", (1, 9), 3, (-2.5, 12.5)),
        ("int", (5, 5), 3, (-8.5, 18.5)),
        ("int", (-50, -50), 3, (-103.5, 3.5)),
        ("float", (1.0, 9.0), 3, (1 - 3 * math.ulp(9.0), 9 + 3 * math.ulp(9.0))),
        ("float", (5.0, 5.0), 0, (-5.0, 15.0)),
        ("date", (0, 9), 2, ("1969-12-30", "1970-01-12")),
        ("date", (0, 0), 2, ("1969-12-20", "1970-01-13")),
    ],
)
def test_a_number_that_stands_for_others_lies_among_them(kind, bounds, n_values, ends):
    def lies(leaf):
        return _lies_in(Leaves("q", "taxonomy", kind, (leaf,), (), (0,), np.zeros(1, int)), 0, bounds, n_values)

    def beside(end, direction):
        if kind == "date":
            return (date.fromisoformat(end) + timedelta(days=direction)).isoformat()
        return math.nextafter(end, direction * math.inf)

    assert all(map(lies, ends))
    assert not lies(beside(ends[0], -1))
    assert not lies(beside(ends[1], 1))
    assert not lies("five")
    assert not lies(True)


TREES = {
    "taxonomy": tree("abcdef", "xxxyyz", "uuuuuz", "******", rest=[2]),
    "a node of one joined leaf": tree("abcdef", "xxwyyz", "uuuuuz", "******", rest=[2]),
    "names": tree("abcd", kind="names"),
    "names with a missing one": tree([None, *"abcd"], kind="names"),
}


@pytest.mark.parametrize("name", TREES)
def test_the_smallest_legal_cell_is_not_too_wide_and_all_others_are(name):
    q = TREES[name]
    n = len(q.leaves)
    legal = {(a, b) for a in range(n) for b in range(a, n) if q.legal(np.array([a]), np.array([b]))[0]}
    for least in range(n):
        for most in range(least, n):
            around = [(a, b) for a, b in legal if a <= least and b >= most]
            wider = [cell for cell in around if cell != (least, most) or least not in q.rest]
            closure = min(wider, key=lambda cell: cell[1] - cell[0])
            for a, b in around:
                ends = np.array([a]), np.array([b])
                found = wider_cells(q, Scale(None, n), ends, np.array([least]), np.array([most]))
                assert found.tolist() == [(a, b) not in (closure, (least, most))]


def test_a_node_of_the_first_leaves_is_counted_from_the_first():
    q = tree(["x", "x (rest)", "c"], "xxy", "***", rest=[0, 1])
    rare = SimpleNamespace(joined=True, least=5)
    assert _rare_leaves(rare, q, np.array([2, 3, 5])) == []
    assert _rare_leaves(rare, q, np.array([2, 2, 5])) == ["column 'q' names 1 values that fewer than 5 rows have"]


@pytest.mark.parametrize(("cuts", "true", "n"), [([], [3], 0), ([25], [5, 5], 0), ([25], [4, 5], 1), ([25], [4, 4], 2)])
def test_ranges_that_too_few_rows_have_are_counted(cuts, true, n):
    """One range is everything, however few rows have a value at all."""
    q = Ranges("q", "int", None, np.array(cuts), tuple(cuts), False, np.array(true))
    found = _rare_ranges(SimpleNamespace(joined=True, least=5), q, np.array(true), np.array([20, 30]))
    assert [text for text in found if "ranges" in text] == (
        [f"column 'q' has {n} ranges that fewer than 5 rows have"] if n else []
    )


def test_all_values_may_be_joined_but_a_rare_one_is_not_told():
    rare = SimpleNamespace(joined=True, least=5)
    assert _rare_leaves(rare, tree(["*"], "*", rest=[0]), np.array([3])) == []
    assert _rare_leaves(rare, tree(["others 1"], kind="names", rest=[0]), np.array([3])) == []
    assert _rare_leaves(rare, tree([None, "*"], ["*", "*"], rest=[1]), np.array([3, 3])) == []
    told = ["column 'q' names 1 values that fewer than 5 rows have"]
    assert _rare_leaves(rare, tree(["a", "*"], "**", rest=[1]), np.array([4, 3])) == told
    assert _rare_leaves(rare, tree([None, "a", "*"], "***", rest=[2]), np.array([1, 4, 3])) == told
    assert _rare_leaves(rare, tree(["a"], "*"), np.array([4])) == told


@pytest.mark.parametrize(("leaf_of", "fine"), [([0, 0, 1, 1], True), ([0, 1, 1, 1], False), ([0, 0, 0, 1], False)])
def test_a_value_is_joined_in_its_closest_node(leaf_of, fine):
    """Values a, b, c lie below x, which has a leaf of its own rare ones; d lies below the root alone."""
    exact = [["x", "x", "y", "y"], ["*"] * 4]
    published = tree(["x", "*"], ["x", "*"], ["*", "*"], rest=[0, 1])
    problems = _leaf_problems(published, pl.Series(list("abcd")), exact, np.array(leaf_of), np.zeros(4, bool))
    assert (problems == []) is fine


def test_values_of_two_nodes_are_joined_in_the_node_that_holds_both():
    for told in ("y", "x", "*"):
        q = tree(["a", "b", told], ["x", "x", told], ["*"] * 3, rest=[2])
        found = _leaf_problems(q, pl.Series(list("abcd")), EXACT, np.array([0, 1, 2, 2]), np.ones(4, bool))
        assert (found == []) is (told == "*")


def test_an_inner_node_has_its_name_before_an_outer_one_that_ends_with_it():
    """Levels that repeat a name, as in tables of levels that are filled up: the inner one is called so."""
    levels = [["b", "x", "x"], ["x", "x", "x"]]
    for nodes in ({(1, "x"): 2, (0, "x"): 1}, {(0, "x"): 1, (1, "x"): 2}):
        assert misnamed(tree([None, "x", "x (rest)"]), nodes, ["a", "c", "d"], levels) == []
        assert sorted(misnamed(tree([None, "x (rest)", "x"]), nodes, ["a", "c", "d"], levels)) == [1, 2]
