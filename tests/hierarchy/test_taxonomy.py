from __future__ import annotations

import datetime as dt
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import HierarchyError
from incrowd.hierarchy import Spec, Taxonomy, from_dict
from incrowd.hierarchy.hierarchy import MISSING, OUTSIDE
from incrowd.hierarchy.taxonomy import suppress_only

DAY = dt.date(2024, 3, 5)
WORK = {"Paid": {"Private": ["Firm", "Self"], "Public": ["State"]}, "Unpaid": ["Never"]}


def codes(values):
    return np.array(values, np.int32)


def nodes_of(tree):
    """Return every node as the set of leaves that share a name in a level."""
    columns = [tree.leaves.to_list(), *tree.to_dict()["levels"]]
    return [
        {frozenset(i for i, name in enumerate(column) if name == node) for node in set(column)} for column in columns
    ]


@st.composite
def tables(draw):
    """Draw a nested level table in scrambled order."""
    n = draw(st.integers(1, 12))
    kind = draw(st.sampled_from(["int", "str", "float"]))
    leaves = list(draw(st.permutations(range(n))))
    node = [draw(st.integers(0, 3)) for _ in range(n)]
    uppers = []
    for height in range(draw(st.integers(0, 3))):
        uppers.append([f"{height}:{i}" for i in node])
        parent = [draw(st.integers(0, 2)) for _ in range(max(node) + 1)]
        node = [parent[i] for i in node]
    convert = {"int": int, "str": lambda i: f"v{i}", "float": lambda i: i / 4}[kind]
    return [convert(i) for i in leaves], uppers


@given(tables(), st.booleans())
def test_closure_is_the_smallest_node(table, missing):
    tree = Taxonomy(*table)
    tree = tree.with_missing() if missing else tree
    n = tree.n_leaves
    legal = [node for level in nodes_of(tree) for node in level]
    assert all(max(node) - min(node) + 1 == len(node) for node in legal)
    for lo in range(n):
        for hi in range(lo, n):
            smallest = min((node for node in legal if {lo, hi} <= node), key=len)
            got = tree.closure(codes([lo]), codes([hi]))
            assert (got[0][0], got[1][0]) == (min(smallest), max(smallest))


@given(tables())
def test_the_tree_is_the_table(table):
    leaves, uppers = table
    tree = Taxonomy(leaves, uppers)
    assert sorted(tree.leaves.to_list()) == sorted(leaves)
    at = tree.encode(pl.Series(leaves))
    assert tree.leaves.gather(at).to_list() == leaves
    levels = tree.to_dict()["levels"]
    for height, names in enumerate(uppers):
        assert [levels[height][i] for i in at] == names
    lo, hi = tree.levels()
    assert lo.shape == hi.shape == (tree.n_levels, tree.n_leaves)
    assert [[frozenset(range(a, b + 1)) for a, b in zip(*row, strict=True)] for row in zip(lo, hi, strict=True)] == [
        [next(node for node in level if i in node) for i in range(tree.n_leaves)] for level in nodes_of(tree)
    ]


@given(tables(), st.booleans())
def test_round_trip(table, missing):
    tree = Taxonomy(*table)
    tree = tree.with_missing() if missing else tree
    again = from_dict(json.loads(json.dumps(tree.to_dict())))
    assert again == tree
    assert again.leaves.equals(tree.leaves)
    assert again.leaves.dtype == tree.leaves.dtype


@pytest.mark.parametrize("leaves", [[DAY, dt.date(2023, 1, 1)], [True, False], [2**63 - 1, -(2**63)], ["é", "😀"]])
def test_round_trip_of_other_types(leaves):
    tree = Taxonomy(leaves, [["x", "y"]]).with_missing()
    assert from_dict(json.loads(json.dumps(tree.to_dict()))) == tree


def test_nested_of_uneven_depth():
    work = Taxonomy.from_nested(WORK)
    assert work.leaves.to_list() == ["Firm", "Self", "State", "Never"]
    assert work.n_levels == 4
    assert work.to_dict()["levels"] == [
        ["Private", "Private", "Public", "Never"],
        ["Paid", "Paid", "Paid", "Unpaid"],
        ["*", "*", "*", "*"],
    ]
    assert [work.label(*b) for b in [(0, 1), (0, 2), (2, 2), (3, 3), (0, 3)]] == [
        "Private",
        "Paid",
        "State",
        "Never",
        "*",
    ]
    assert from_dict({"kind": "taxonomy", "nested": WORK}) == work
    assert isinstance(work, Spec)


def test_nested_with_empty_groups_and_mixed_lists():
    tree = Taxonomy.from_nested({"a": [], "b": None, "c": ["d", {"e": ["f", "g"]}]})
    assert tree.leaves.to_list() == ["a", "b", "d", "f", "g"]
    assert tree.label(3, 4) == "e"
    assert tree.label(2, 4) == "c"


def test_flat():
    flat = Taxonomy.flat(["b", "a"])
    assert flat.leaves.to_list() == ["b", "a"]
    assert (flat.n_levels, flat.label(0, 0), flat.label(0, 1)) == (2, "b", "*")


def test_own_root_is_kept_and_a_second_one_added():
    assert Taxonomy(["a", "b"], [["Any", "Any"]]).label(0, 1) == "Any"
    assert Taxonomy(["a", "b", "c"], [["x", "x", "y"]]).label(0, 2) == "*"
    assert Taxonomy(["a"]).label(0, 0) == "a"


def test_scrambled_numbers_are_put_in_order():
    table = [[30, 9, 100, 21], [["20-30", "0-19", "99+", "20-30"]]]
    tree = Taxonomy(*table)
    assert tree.leaves.to_list() == [9, 21, 30, 100]
    assert tree.label(1, 2) == "20-30"
    text = Taxonomy([str(v) for v in table[0]], table[1])
    assert text.leaves.to_list() == ["9", "21", "30", "100"]


def test_numbers_of_scattered_nodes_follow_the_nodes():
    tree = Taxonomy([1, 2, 3, 4], [["odd", "even", "odd", "even"]])
    assert tree.leaves.to_list() == [1, 3, 2, 4]
    assert tree.encode(pl.Series([1, 2, 3, 4])).tolist() == [0, 2, 1, 3]
    assert tree.label(0, 1) == "odd"


@pytest.mark.parametrize(
    "leaves",
    [
        [2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3],  # no longer apart as floats
        ["1", "01", "1.0", "001"],
        ["nan", "1", "inf", "2"],
    ],
)
def test_nodes_stay_contiguous_when_leaves_are_the_same_number(leaves):
    tree = Taxonomy(leaves, [["x", "y", "x", "y"]])
    at = tree.encode(pl.Series(leaves))
    assert abs(int(at[0]) - int(at[2])) == 1
    assert tree.label(min(at[0], at[2]), max(at[0], at[2])) == "x"


def test_label_of_what_is_no_node():
    with pytest.raises(HierarchyError, match=r"\[0, 2\] is not a node"):
        Taxonomy.flat(["a", "b", "c", "d"]).label(0, 2)


def test_labels_of_many():
    work = Taxonomy.from_nested(WORK)
    assert work.labels(codes([0, 3, 0]), codes([2, 3, 2])).to_list() == ["Paid", "Never", "Paid"]


def test_missing_is_a_child_of_the_root():
    work = Taxonomy.from_nested(WORK).build(pl.Series(["Firm", None]))
    assert work.leaves.to_list() == [None, "Firm", "Self", "State", "Never"]
    assert [work.label(0, 0), work.label(1, 2), work.label(0, 4)] == [MISSING, "Private", "*"]
    lo, hi = work.closure(codes([0]), codes([1]))
    assert (lo[0], hi[0]) == (0, 4)
    assert work.encode(pl.Series([None, "State", "?"])).tolist() == [0, 3, OUTSIDE]
    assert work.with_missing() is work


def test_missing_leaf_is_first_wherever_it_was_listed():
    tree = Taxonomy(["b", None, "a"], [["x", "none", "x"]])
    assert tree.leaves.to_list() == [None, "b", "a"]
    assert tree.encode(pl.Series(["a", None])).tolist() == [2, 0]


@pytest.mark.parametrize(
    ("column", "leaves"),
    [
        (pl.Series([17, 18, 99]), [17, 18]),
        (pl.Series([17.0, 18.5, float("nan")]), [None, 17.0, 18.0]),
        (pl.Series(["17", "18"]), ["17", "18"]),
        (pl.Series(["17"], dtype=pl.Categorical), ["17", "18"]),
        (pl.Series([None, None]), [None, "17", "18"]),
    ],
)
def test_build_takes_the_columns_type(column, leaves):
    built = Taxonomy(["18", "17"], [["old", "young"]], file="age.csv").build(column)
    assert built.leaves.to_list() == leaves
    assert built.file == "age.csv"
    codes = built.encode(column).tolist()
    found = [leaves.index(v) if v in leaves else OUTSIDE for v in column.to_list()]
    assert codes == [leaves.index(None) if v != v else c for v, c in zip(column.to_list(), found, strict=True)]
    assert built.label(built.n_leaves - 1, built.n_leaves - 1) == "18"


def test_build_of_numbers_of_another_kind():
    assert Taxonomy([0.5, 1.0]).build(pl.Series([1, 2])).encode(pl.Series([1, 2])).tolist() == [1, OUTSIDE]
    assert Taxonomy([1, 2]).build(pl.Series([1.0, 1.5])).encode(pl.Series([1.0, 1.5])).tolist() == [0, OUTSIDE]


def test_build_keeps_a_declared_missing_leaf():
    built = Taxonomy(["2", "1"]).with_missing().build(pl.Series([1, 2, None]))
    assert built.leaves.to_list() == [None, 1, 2]


@pytest.mark.parametrize(
    ("leaves", "column"),
    [
        (["True", "false"], pl.Series([False, True])),
        (["2024-03-05", "2024-01-01"], pl.Series([dt.date(2024, 1, 1), DAY])),
        (["2024-03-05", "2024-01-01"], pl.Series([dt.datetime(2024, 1, 1, 9), dt.datetime(2024, 3, 5, 9)])),
    ],
)
def test_build_reads_dates_and_truth_from_text(leaves, column):
    assert Taxonomy(leaves).build(column).encode(column).tolist() == [0, 1]


def test_suppress_only():
    flat = suppress_only(pl.Series("sex", ["m", None, "f"]))
    assert flat.leaves.to_list() == [None, "f", "m"]
    assert suppress_only(pl.Series("x", [1.0, float("nan")])).leaves.to_list() == [None, 1.0]
    assert not suppress_only(pl.Series("x", [1.0])).has_missing
    with pytest.raises(HierarchyError, match="'sex' has no values: all 1"):
        suppress_only(pl.Series("sex", [None]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Taxonomy([]), "no leaves"),
        (lambda: Taxonomy(["a", "b", "a"]), "lists 'a' more than once"),
        (lambda: Taxonomy([float("nan"), None]), f"lists '{MISSING}' more than once"),
        (lambda: Taxonomy(list("abcdefg") * 2), "'e' and 2 more more than once"),
        (lambda: Taxonomy(["a", "b"], [["x"]]), "Level 1 of a taxonomy has 1 entries for 2 leaves"),
        (
            lambda: Taxonomy(["a", "b", "c"], [["x", "x", "z"], ["p", "q", "q"]]),
            "not nested: 'x' of level 1 has more than one parent in level 2",
        ),
        (lambda: Taxonomy.from_nested({"A": {"other": ["1"]}, "B": {"other": ["2"]}}), "'other' of level 1"),
        (lambda: Taxonomy.from_nested({}), "no leaves"),
        (lambda: Taxonomy.from_nested({"Paid": "Firm"}), "neither a list nor a mapping under 'Paid'"),
        (lambda: Taxonomy.from_nested({"Paid": 3}), "neither a list nor a mapping under 'Paid'"),
        (lambda: Taxonomy(["a", "1"]).build(pl.Series("age", [1])), "'age' holds int values"),
        (lambda: from_dict({"kind": "taxonomy"}), "neither a file nor leaves nor nested"),
        (lambda: from_dict({"kind": "taxonomy", "leafs": []}), "unknown setting 'leafs'"),
    ],
)
def test_errors(make, message):
    with pytest.raises(HierarchyError) as caught:
        make()
    assert message in caught.value.fact
    assert caught.value.hint


def test_file_is_looked_up_in_the_folder(tmp_path):
    Taxonomy.from_nested(WORK).write_csv(tmp_path / "work.csv")
    tree = from_dict({"kind": "taxonomy", "file": "work.csv"}, tmp_path)
    assert tree == Taxonomy.from_nested(WORK)
    assert tree.file == str(tmp_path / "work.csv")
    with pytest.raises(HierarchyError, match=r"other\.csv"):
        from_dict({"kind": "taxonomy", "file": "other.csv"}, tmp_path)
