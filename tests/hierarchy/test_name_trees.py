"""Trees over names and codes: shared words, common values, and steps between levels."""

import json
import random
import re
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.errors import HierarchyError
from incrowd.hierarchy import common, prefixes, words
from incrowd.hierarchy.steps import with_steps
from incrowd.hierarchy.trees import count_rows
from incrowd.release.node_names import without_rare_names

HEADS = ["Nurse", "Cook", "Clerk", "Driver", "Teacher", "Painter"]


def test_words_join_names_that_begin_alike():
    tree = words().build(pl.Series("job", ["Cook", "nurse, night", "Nurse (surgical)", "Nurse surgical, senior"]))
    assert tree.leaves.to_list() == ["Cook", "nurse, night", "Nurse (surgical)", "Nurse surgical, senior"]
    assert [tree.label(1, 3), tree.label(2, 3), tree.label(0, 3)] == ["nurse *", "Nurse surgical *", "*"]


def test_words_join_names_that_end_alike():
    tree = words("end").build(pl.Series("job", ["head cook", "night nurse", "surgical nurse", "...", None]))
    names = tree.leaves.to_list()
    assert names[0] is None
    first, last = names.index("night nurse"), names.index("surgical nurse")
    assert tree.label(first, last) == "* nurse"


def test_a_node_with_many_children_is_divided_into_parts_of_equal_rows():
    rows = np.array([10] * 9)
    levels, origin = with_steps([], rows, 3)
    assert [step.tolist() for step in levels] == [[0, 3, 6]]
    assert origin == [None]
    levels, origin = with_steps([np.array([0, 2])], np.array([1, 1, 70, 1, 1, 1, 1, 1, 1]), 3)
    assert levels[-1].tolist() == [0, 2]
    assert origin[-1] == 0
    assert with_steps([np.array([0, 3])], rows[:6], 3) == ([pytest.approx([0, 3])], [0])


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60), st.integers(2, 5))
def test_steps_lie_between_their_levels_and_join_children_of_one_node(rows, branching):
    counts = np.array(rows)
    level = np.arange(0, len(rows), 7)
    levels, origin = with_steps([level], counts, branching)
    assert [number for number in origin if number is not None] == [0]
    nodes = [set(range(len(rows))), *(set(starts.tolist()) for starts in levels)]
    for finer, coarser in pairwise(nodes):
        assert coarser <= finer
        assert 0 in coarser
    for starts, number in zip(levels, origin, strict=True):
        assert number is not None or len(starts) <= 0.75 * len(rows)


def test_common_values_are_kept_longest():
    column = pl.Series("town", ["c"] * 6 + ["a"] * 9 + ["b", "d", "d", "e", "f", "g"])
    tree = common(5, branching=2).build(column)
    assert tree.leaves.to_list() == ["a", "c", "b", "d", "e", "f", "g"]
    assert tree.label(2, 6) == "rare (in fewer than 5 rows each)"
    assert tree.label(2, 3) == "b|d"  # a step among the rare ones
    assert [*tree.closure([1], [2])] == [[1], [6]]  # with a common one are joined all rare ones, or none
    assert common(5).build(column, least=7).label(1, 6) == "rare (in fewer than 7 rows each)"
    assert common(5, branching=2).build(column, least=float("inf")) == tree


@pytest.mark.parametrize(("recipe", "column", "message"), [
    (words(), pl.Series("age", [1, 2]), "'age' holds int values, and words"),
    (common(), pl.Series("age", [1, 2]), "'age' holds int values, which have an order"),
])  # fmt: skip
def test_numbers_are_refused(recipe, column, message):
    with pytest.raises(HierarchyError, match=message):
        recipe.build(column)


@pytest.mark.parametrize("make", [lambda: words("middle"), lambda: common(0), lambda: prefixes(branching=1)])
def test_settings_are_checked(make):
    with pytest.raises(HierarchyError, match=r"got (at='middle'|at_least=0|branching=1)"):
        make()


@given(
    st.lists(st.text("ab ,1.", max_size=6), min_size=1, max_size=40),
    st.sampled_from([words(branching=2), words("end"), common(2, branching=2), prefixes(branching=2)]),
    st.booleans(),
)
def test_every_tree_is_nested_and_encodes_its_column(values, recipe, missing):
    column = pl.Series("x", [*values, None] if missing else values, dtype=pl.String())
    tree = recipe.build(column)
    assert tree.has_missing == missing
    assert tree.encode(column).min() >= 0
    lo, hi = tree.levels()
    assert (np.diff(lo, axis=0) <= 0).all()
    assert (np.diff(hi, axis=0) >= 0).all()
    assert ic.Taxonomy.from_data(json.loads(json.dumps(tree.to_dict()))) == tree


def people(n=400, seed=3):
    rng = random.Random(seed)
    common_jobs = [f"{head}, {place}" for head in HEADS for place in ("north", "south")]
    rare = [f"{head}, secret{i:03}" for i, head in enumerate(HEADS * 10)]
    jobs = [rng.choice(rare) if rng.random() < 0.25 else rng.choice(common_jobs) for _ in range(n)]
    codes = [f"{rng.choice('ABC')}{rng.randrange(10)}.{rng.randrange(30):02}" for _ in range(n)]
    isco = [10_000 * rng.randrange(1, 4) + int(rng.triangular(0, 300)) for _ in range(n)]
    ill = [rng.choice(["yes", "no", "maybe"]) for _ in range(n)]
    return pl.DataFrame({"job": jobs, "code": codes, "isco": isco, "ill": ill})


def test_a_rare_number_between_common_ones_is_not_told():
    column = pl.Series("code", [11, 13, 14, 15, 16] * 10 + [12])
    tree = prefixes(branching=2).build(column)
    assert tree.label(0, 2) == "11|12|13"
    told = without_rare_names(tree, count_rows(column, tree.leaves, None), 5)
    assert told.label(0, 2) == "11|13|others"


def test_steps_are_named_after_the_groups_below_them_that_have_k_rows():
    rng = random.Random(1)
    codes = [f"{letter}{rng.randrange(10)}{rng.randrange(9)}" for letter in "AABBBCCCCCDDDDEEEEEE" for _ in range(9)]
    tree = prefixes(branching=2).build(pl.Series("code", [*codes, "X01"]))
    names = {name for level in tree.level_names for name in level}
    assert {"A**|B**|C**", "D**|E**|X**"} <= names
    counts = count_rows(pl.Series("code", [*codes, "X01"]), tree.leaves, None)
    told = {name for level in without_rare_names(tree, counts, 5).level_names[1:] for name in level}
    assert {"A**|B**|C**", "D**|E**|others"} <= told
    assert {name.partition(" (")[0] for name in told if name.startswith("part of")} <= {
        f"part of {letter}{n}*" for letter in "ABCDE" for n in range(10)
    } | {f"part of {letter}**" for letter in "ABCDE"}


@pytest.mark.parametrize("method", [ic.Mondrian(k=6), ic.BestCuts(k=6, l=1.2), ic.NSVDist(k=6)], ids=lambda m: m.name)
@pytest.mark.parametrize("recipe", [words(), common(8)], ids=repr)
def test_names_of_groups_tell_no_rare_value(method, recipe):
    frame = people()
    quasi = {"job": recipe, "code": prefixes(branching=2), "isco": prefixes(branching=3)}
    schema = ic.Schema(quasi=quasi, sensitive="ill")
    release = method.publish(frame, schema, seed=1)
    assert release.verify(frame).ok
    public = json.dumps(release.manifest.to_dict()) + "".join(release.frame.cast(pl.String()).write_csv())
    for column in quasi:
        counts = frame[column].cast(pl.String()).value_counts()
        rare = counts.filter(pl.col("count") < 6)[column].to_list()
        assert len(rare) > 10
        # a leaf of joined numbers stands at a half, 20140.5
        assert not [value for value in rare if re.search(rf"{re.escape(value)}(?!\.5)", public)]
