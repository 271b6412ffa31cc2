"""Leaves that stand for several values, one by one: how they may be called, what may be in them, and what is rare."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from incrowd.verify.private_domains import _ancestor_of, _leaf_problems
from incrowd.verify.published import Leaves
from incrowd.verify.rare import _rare_leaves


def tree(leaves, *levels, rest=(), kind="taxonomy"):
    return Leaves("q", kind, "str", tuple(leaves), tuple(map(tuple, levels)), tuple(rest), np.zeros(len(leaves), int))


# the owner's values are a, b, c (below x) and d (below y)
EXACT = [["x", "x", "x", "y"], ["*"] * 4]


@pytest.mark.parametrize(
    ("leaf", "lowest", "own", "fine"),
    [
        ("x (rest)", "x", [1, 2], True),
        ("x (rest) (rest)", "x", [1, 2], True),  # a value has the shorter name
        ("x", "x", [1, 2], True),
        ("y (rest)", "x", [1, 2], False),
        ("* (rest)", "* (rest)", [1, 2, 3], True),
        ("* (rest) (rest)", "* (rest)", [1, 2, 3], False),  # a leaf and the node above it have one name
        ("* (rest)", "* (rest) (rest)", [1, 2, 3], False),
        ("x (rest)", "x (rest)", [1, 2, 3], False),  # their closest ancestor is the root
        ("* (rest)", "x", [1, 2, 3], False),
    ],
)
def test_a_joined_leaf_is_called_like_the_ancestor_of_its_values(leaf, lowest, own, fine):
    q = tree(["a", leaf], ["x", lowest], ["*", "*"], rest=[1])
    assert (_ancestor_of(q, 1, own, EXACT) is not None) is fine


@pytest.mark.parametrize(
    ("known", "leaf_of", "name", "fine"),
    [
        (["a", "b", "c", "d"], [0, 1, 1, 2], "x (rest)", True),
        ([None, "a", "b", "d"], [1, 0, 1, 2], "x (rest)", False),  # the missing value is joined with others
        (["a", "b", "c", "d"], [0, 0, 0, 2], "x (rest)", False),  # nobody is in it
        (["a", "x (rest)", "c", "d"], [0, 1, 1, 2], "x (rest)", False),  # it is called like a value
        (["a", "b", "c", "d"], [1, 0, 1, 2], "x (rest)", False),  # b is told as a
        (["a", "b", "c", "d"], [0, 1, 2, 2], "x (rest)", False),
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
