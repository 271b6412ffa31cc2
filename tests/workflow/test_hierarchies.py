"""The hierarchy of a column beside its data."""

import json

import polars as pl
import pytest

import incrowd as ic
from incrowd import workflow

PAIRS = "child,parent\nNurse,Health\nSurgeon,Doctor\nDoctor,Health\nCook,Food\nBaker,Food\nPilot,Air\n"


@pytest.fixture
def people(tmp_path):
    jobs = ["Nurse"] * 20 + ["Surgeon"] * 7 + ["Cook"] * 3 + ["Doctor"] * 4 + [" nurse"] * 2 + ["Spy", None]
    frame = pl.DataFrame({"job": jobs, "ill": ["yes", "no"] * 19})
    frame.write_csv(tmp_path / "people.csv")
    (tmp_path / "jobs.csv").write_text(PAIRS)
    return tmp_path


def test_a_file_is_compared_with_the_data(people):
    found = workflow.hierarchy(people / "people.csv", "job", file=people / "jobs.csv", kind="pairs")
    assert (found.rows, found.values, found.missing) == (38, 6, 1)
    assert not found.ok
    assert vars(found.lacking) == {"values": 3, "rows": 7, "inner": 1, "alike": 1}
    assert found.unused == ()
    assert found.unused_values == 2  # Baker, Pilot
    groups = {group["name"]: (group["leaves"], group["rows"]) for group in found.to_dict()["groups"]}
    assert groups == {"Health": (2, 27)}  # Food has 3 rows: fewer than k
    assert "Spy" not in json.dumps(found.to_dict())
    assert [level.nodes for level in found.levels] == [6, 6, 4, 1]
    assert [level.with_k for level in found.levels] == [2, 2, 1, 1]
    assert found.levels[0].rows_of_others is None  # the cooks, and the missing value: fewer than k
    told = workflow.hierarchy(people / "people.csv", "job", file=people / "jobs.csv", kind="pairs", k=4)
    assert told.levels[0].rows_of_others == 4


def test_names_with_others_below_them_may_be_values(people):
    found = workflow.hierarchy(
        people / "people.csv", "job", file=people / "jobs.csv", kind="pairs", settings={"inner_values": True}
    )
    assert vars(found.lacking) == {"values": 2, "rows": 3, "inner": 0, "alike": 1}
    assert 'kind = "pairs"' in found.setting
    assert "inner_values = true" in found.setting


def test_groups_that_nobody_is_in_are_named():
    tree = ic.Taxonomy.from_nested({"a": ["x", "y"], "b": ["z", "v"], "c": {"d": ["w", "u"], "e": ["t"]}})
    schema = ic.Schema(quasi={"job": tree}, sensitive="ill")
    frame = pl.DataFrame({"job": ["x", "y"] * 4, "ill": ["n", "y"] * 4})
    found = workflow.hierarchy(frame, "job", schema=schema)
    assert (found.origin, found.ok, found.unused, found.unused_values) == ("schema", True, ("b", "c", "d"), 5)


def test_a_written_tree_holds_the_lacking_values_to_be_moved(people):
    found = workflow.hierarchy(people / "people.csv", "job", file=people / "jobs.csv", kind="pairs")
    found.write_csv(people / "all.csv")
    again = workflow.hierarchy(people / "people.csv", "job", file=people / "all.csv")
    assert again.ok
    tree = again.hierarchy
    names = tree.level_names
    assert {names[1][names[0].index(job)] for job in ("Spy", "Doctor", " nurse")} == {"unassigned"}
    assert again.kind == "taxonomy"


def test_a_proposal_names_nothing_that_fewer_than_k_rows_have():
    jobs = [f"{head}, {i}" for head in ("Nurse", "Cook", "Clerk") for i in range(20)]
    frame = pl.DataFrame({"job": jobs + ["Nurse, 0"] * 10 + ["Zookeeper"], "ill": ["y"] * 71})
    found = workflow.hierarchy(frame, "job")
    assert found.origin == "proposed"
    assert found.kind == "words"
    assert "share their first word" in found.why
    data = json.dumps(found.to_dict())
    assert "Nurse *" in data
    assert "Zookeeper" not in data
    assert "Nurse, 7" not in data
    assert all(node.name is None for node in found.root.below() if node.rows is None)
    assert 'kind = "words"' in found.setting


def test_of_a_file_about_several_columns_the_one_of_that_name_is_meant(people):
    (people / "all.json").write_text('{"job": {"0": ["Nurse", "Cook"]}, "ill": {"0": ["yes", "no"], "1": ["*", "*"]}}')
    found = workflow.hierarchy(people / "people.csv", "ill", file=people / "all.json")
    assert found.ok
    assert 'column = "ill"' in found.setting


def test_ranges_have_nothing_to_draw_or_write(tmp_path):
    frame = pl.DataFrame({"age": [1, 2, 3], "ill": ["a", "b", "a"]})
    found = workflow.hierarchy(frame, "age")
    assert found.root is None
    assert found.kind == "intervals"
    with pytest.raises(ic.HierarchyError, match="'age' becomes ranges"):
        found.write_csv(tmp_path / "age.csv")
    assert not (tmp_path / "age.csv").exists()


def test_the_class_orders_names_only_if_there_is_one():
    frame = pl.DataFrame({"town": [f"t{i % 9}" for i in range(90)], "ill": ["a", "b"] * 45})
    assert workflow.hierarchy(frame, "town").kind == "common"
    assert workflow.hierarchy(frame, "town", target="ill").kind == "by_class"
    assert workflow.hierarchy(frame, "town", kind="balanced", settings={"branching": 3}).hierarchy.n_levels == 3


@pytest.mark.parametrize(("given", "message"), [
    ({"column": "jb"}, "did you mean 'job'"), ({"k": 0}, "k is 0"), ({"target": "x"}, "no column 'x'"),
    ({"settings": {"at": "end"}}, "Settings 'at' belong to a kind"), ({"kind": "tree"}, "unknown kind 'tree'"),
    ({"kind": "codes"}, "'codes' has no file"), ({"kind": "by_class"}, "there is no target"),
])  # fmt: skip
def test_what_cannot_be_asked(people, given, message):
    with pytest.raises(ic.IncrowdError, match=message):
        workflow.hierarchy(people / "people.csv", **{"column": "job", **given})


def test_many_children_are_pointed_at():
    frame = pl.DataFrame({"job": [f"j{i}" for i in range(30)], "ill": ["a", "b"] * 15})
    found = workflow.hierarchy(frame, "job", kind="suppress")
    assert "1 group has more than 20 children, up to 30" in found.notes[0]
