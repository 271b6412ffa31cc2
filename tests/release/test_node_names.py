"""What is published under a name tells no rare value."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.release.node_names import name_together, without_rare_names
from incrowd.verify import verify


def test_names_after_common_values():
    assert name_together(["a", "b"], [True, True]) == "a|b"
    assert name_together(["a", "b"], [False, True]) == "b|others"
    assert name_together(["a", "b"], [False, False]) is None
    assert name_together(list("abcde"), [True] * 5) == "a to e"
    assert name_together(list("abcdef"), [True] * 5 + [False]) == "a to e and others"


def test_nodes_of_text_are_named_after_common_values():
    tree = ic.balanced(2).build(pl.Series("n", ["Ann", "Bob", "Cy", "Dee"]))
    assert tree.to_dict()["levels"][0] == ["Ann|Bob", "Ann|Bob", "Cy|Dee", "Cy|Dee"]
    renamed = without_rare_names(tree, np.array([2, 3, 2, 2]), 3)
    assert renamed.to_dict()["levels"] == [["Bob|others"] * 2 + ["others 1"] * 2, ["*"] * 4]
    assert without_rare_names(tree, np.array([3, 3, 3, 3]), 3) is tree


def test_nodes_of_numbers_have_bounds_that_are_no_rare_values():
    tree = ic.balanced(2).build(pl.Series("n", [17, 20, 24, 30, None]))
    assert tree.to_dict()["levels"][0] == ["(missing)", "17-20", "17-20", "24-30", "24-30"]
    renamed = without_rare_names(tree, np.array([2, 2, 3, 2, 2]), 3)
    assert renamed.to_dict()["levels"][0] == ["(missing)", "up to 20", "up to 20", "from 21", "from 21"]
    common_ends = without_rare_names(tree, np.array([2, 3, 2, 2, 3]), 3)
    assert common_ends.to_dict()["levels"][0][1:] == ["17-21", "17-21", "21-30", "21-30"]


def test_names_given_by_people_stay():
    tree = ic.Taxonomy.from_nested({"Ann to Bob": ["Ann", "Bob"], "rest": ["Cy"]})
    assert without_rare_names(tree, np.array([2, 2, 2]), 3) is tree


RECIPES = [ic.balanced(2), ic.balanced(3), ic.frequency(2), ic.Intervals()]


@given(st.lists(st.sampled_from("abcdefghijklmnop"), min_size=6, max_size=40), st.sampled_from(RECIPES))
def test_no_rare_name_is_in_the_manifest(values, recipe):
    frame = pl.DataFrame({"n": [f"person-{value}" for value in values]})
    k = 3
    release = ic.Mondrian(k=k).publish(frame, ic.Schema(quasi={"n": recipe}))
    text = release.manifest.to_json()
    rare = frame.group_by("n").len().filter(pl.col("len") < k)["n"]
    assert not [name for name in rare if name in text]


@pytest.mark.parametrize("recipe", [ic.balanced(4), ic.bins(10), ic.frequency(3), ic.dates()])
def test_stand_ins_do_not_follow_the_rare_values(recipe):
    """Of one rare value in a node, the stand-in is anywhere in the node."""
    days = pl.Series(range(0, 400, 5))
    column = days.cast(pl.Int32()).cast(pl.Date()) if recipe == ic.dates() else days
    frame = pl.DataFrame({"n": pl.concat([column, column, column.head(70)])})
    schema = ic.Schema(quasi={"n": recipe})
    found = set()
    for seed in range(4):
        release = ic.Mondrian(k=3).publish(frame, schema, seed=seed)
        entry = release.manifest.quasi[0]
        assert entry.rest
        stand_ins = [entry.leaves[place] for place in entry.rest]
        assert not set(stand_ins) & {str(value) if recipe == ic.dates() else value for value in column.to_list()}
        found.add(tuple(stand_ins))
    assert len(found) == 4


def test_released_folders_with_renamed_nodes_hold(tmp_path):
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "name": [f"n{i}" for i in rng.integers(0, 40, 200)],
            "grade": [f"g{i}" for i in (rng.random(200) ** 3 * 30).astype(int)],
            "age": rng.integers(17, 90, 200),
            "ill": rng.choice(["yes", "no"], 200),
        }
    )
    quasi = {"name": ic.balanced(3), "grade": ic.Intervals(), "age": ic.bins(5)}
    release = ic.Mondrian(k=8).publish(frame, ic.Schema(quasi=quasi, sensitive="ill"))
    release.save(tmp_path / "out")
    verdict = verify(tmp_path / "out", frame)
    assert verdict.ok, str(verdict)
    assert release.transform(frame)["age"].n_unique() > 1
