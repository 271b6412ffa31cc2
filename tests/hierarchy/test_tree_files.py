"""Trees from what people have: codes, pairs, dictionaries, JSON."""

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.errors import HierarchyError
from incrowd.hierarchy import Taxonomy, from_dict

ICD = """\
code,label
A00-B99,Infections
A00-A09,Intestinal infections
A00,Cholera
A00.0,classical
A00.9,unspecified
A09,Gastroenteritis
B20,HIV
E10-E14,Diabetes
E11,Type 2 diabetes
E11.9,without complications
"""
PAIRS = "child;parent\nHealth;\nNurse;Health\nSurgeon;Doctor\nDoctor;Health\nCook;Food\n"


def tree_of(tree):
    """Return the path of each leaf, the root last, padding left out."""
    return {
        leaf: list(dict.fromkeys(level[at] for level in tree.level_names[1:] if level[at] != leaf))
        for at, leaf in enumerate(tree.level_names[0])
    }


def test_codes_lie_below_their_prefixes_and_ranges(tmp_path):
    (tmp_path / "icd.csv").write_text(ICD)
    assert tree_of(Taxonomy.read(tmp_path / "icd.csv", "codes")) == {
        "A00.0": ["A00 Cholera", "A00-A09 Intestinal infections", "A00-B99 Infections", "*"],
        "A00.9": ["A00 Cholera", "A00-A09 Intestinal infections", "A00-B99 Infections", "*"],
        "A09": ["A00-A09 Intestinal infections", "A00-B99 Infections", "*"],
        "B20": ["A00-B99 Infections", "*"],
        "E11.9": ["E11 Type 2 diabetes", "E10-E14 Diabetes", "*"],
    }


def test_codes_with_others_below_them_may_be_values():
    tree = Taxonomy.from_codes(["E11", "E11.9", "E11.0", "F"], inner_values=True)
    assert tree_of(tree) == {"E11": ["E11*", "*"], "E11.9": ["E11*", "*"], "E11.0": ["E11*", "*"], "F": ["*"]}
    labelled = Taxonomy.from_codes({"E11": "Diabetes", "E11.9": ""}, inner_values=True)
    assert tree_of(labelled) == {"E11": ["E11 Diabetes"], "E11.9": ["E11 Diabetes"]}


@pytest.mark.parametrize("codes", [
    ["DE", "DE1", "DE11", "FR", "FR1"], [("DE", None), ("DE1", ""), ("DE11", None), ("FR", ""), ("FR1", "")],
    dict.fromkeys(["DE", "DE1", "DE11", "FR", "FR1"]), pl.DataFrame({"code": ["DE", "DE1", "DE11", "FR", "FR1"]}),
])  # fmt: skip
def test_codes_from_any_collection(codes):
    assert tree_of(Taxonomy.from_codes(codes)) == {"DE11": ["DE1", "DE", "*"], "FR1": ["FR", "*"]}


@given(st.sets(st.text("01.", min_size=1, max_size=5), min_size=1, max_size=12))
def test_a_code_is_below_the_longest_code_that_it_begins_with(codes):
    tree = Taxonomy.from_codes(sorted(codes))
    leaves = {code for code in codes if not any(other != code and other.startswith(code) for other in codes)}
    paths = tree_of(tree)
    assert set(paths) == leaves
    for leaf, path in paths.items():
        above = sorted((code for code in codes if code != leaf and leaf.startswith(code)), key=len, reverse=True)
        assert [node for node in path if node != "*"] == above


def test_prefixes_and_ranges_lie_in_each_other():
    codes = [
        "A00-B99",
        "A1",
        "A10.1",
        "A10.2",
        "B",
        "B20-B29",
        "B20",
        "B21",
        "C",
        "C10-C19",
        "C11",
        "D1",
        "E00-E99",
        "E",
        "E1",
    ]
    tree = tree_of(Taxonomy.from_codes(codes))
    assert {leaf: " ".join(path) for leaf, path in tree.items()} == {
        "A10.1": "A1 A00-B99 *",
        "A10.2": "A1 A00-B99 *",
        "B20": "B20-B29 B A00-B99 *",
        "B21": "B20-B29 B A00-B99 *",
        "C11": "C10-C19 C *",
        "D1": "*",
        "E1": "E E00-E99 *",
    }


def test_codes_of_occupations_with_a_hyphen_are_no_ranges():
    assert tree_of(Taxonomy.from_codes(["11-1011", "11-1021", "11-10"])) == {
        "11-1011": ["11-10"], "11-1021": ["11-10"],
    }  # fmt: skip


def test_pairs(tmp_path):
    (tmp_path / "jobs.csv").write_text(PAIRS)
    expected = {"Nurse": ["Health", "*"], "Surgeon": ["Doctor", "Health", "*"], "Cook": ["Food", "*"]}
    assert tree_of(Taxonomy.read(tmp_path / "jobs.csv", "pairs")) == expected
    below = Taxonomy.read(tmp_path / "jobs.csv", "pairs", inner_values=True)
    assert tree_of(below) == {
        "Health": ["Health*", "*"],
        "Doctor": ["Doctor*", "Health*", "*"],
        "Nurse": ["Health*", "*"],
        "Surgeon": ["Doctor*", "Health*", "*"],
        "Food": ["Food*", "*"],
        "Cook": ["Food*", "*"],
    }


def test_pairs_from_a_database(tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "jobs.db") as base:
        base.execute("create table jobs (job text, area text)")
        base.executemany("insert into jobs values (?, ?)", [("Nurse", "Health"), ("Cook", "Food"), ("Health", None)])
    base.close()
    frame = ic.read(f"sqlite:///{tmp_path / 'jobs.db'}", query="select job, area from jobs")
    assert tree_of(Taxonomy.from_pairs(frame)) == {"Nurse": ["Health", "*"], "Cook": ["Food", "*"]}


def test_a_parent_that_is_not_a_number_is_none():
    assert tree_of(Taxonomy.from_pairs([("a", "x"), ("x", float("nan")), ("b", None)])) == {"a": ["x", "*"], "b": ["*"]}


def test_pairs_keep_numbers_and_their_own_root():
    tree = Taxonomy.from_pairs({11: 1, 12: 1, 21: 2, 1: "all", 2: "all"})
    assert tree.leaves.to_list() == [11, 12, 21]
    assert tree.label(0, 1) == "1"
    assert tree.label(0, 2) == "all"
    assert tree.n_levels == 3


LISTS = {0: ["a", "b", "c", "a"], 1: ["x", "x", "y", "x"], 2: ["*", "*", "*", "*"]}


@pytest.mark.parametrize("levels", [
    LISTS, {str(height): level for height, level in LISTS.items()},
    {1: {"a": "x", "b": "x", "c": "y"}, 2: {"x": "*", "y": "*"}},
    {1: {"a": "x", "b": "x", "c": "y"}, 2: {"a": "*", "b": "*", "c": "*"}},
    {0: ["a", "b", "c"], 1: {"a": "x", "b": "x", "c": "y"}},
    {height: pl.Series(level).to_numpy() for height, level in LISTS.items()},
])  # fmt: skip
def test_levels(levels):
    tree = Taxonomy.from_levels(levels)
    assert tree_of(tree) == {"a": ["x", "*"], "b": ["x", "*"], "c": ["y", "*"]}
    assert Taxonomy.from_levels(tree.to_levels()) == tree


def test_levels_go_out_without_the_missing_value():
    tree = Taxonomy.from_levels({0: [1, 2], 1: ["low", "high"]}).with_missing()
    assert tree.to_levels() == {0: [1, 2], 1: ["low", "high"], 2: ["*", "*"]}


@pytest.mark.parametrize(("content", "settings"), [
    ({"job": {"0": ["a", "b"], "1": ["x", "y"]}, "town": {"0": ["c"], "1": ["z"]}}, {"column": "job"}),
    ({"job": {"0": ["a", "b"], "1": ["x", "y"]}}, {}),
    ({"0": ["a", "b"], "1": ["x", "y"]}, {}),
    ({"x": ["a"], "y": ["b"]}, {}),
])  # fmt: skip
def test_json(tmp_path, content, settings):
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(content))
    assert tree_of(Taxonomy.read(path, **settings)) == {"a": ["x", "*"], "b": ["y", "*"]}
    assert Taxonomy.read(path, **settings).read_as == {"kind": "taxonomy", **settings}


def test_json_of_groups_that_are_called_like_levels(tmp_path):
    (tmp_path / "isco.json").write_text('{"1": ["11", "12"], "2": ["21", "22"]}')
    assert tree_of(Taxonomy.read(tmp_path / "isco.json", "nested"))["11"] == ["1", "*"]


@pytest.mark.parametrize(("name", "content", "settings"), [
    ("icd.csv", ICD, {"kind": "codes"}), ("icd.csv", ICD, {"kind": "codes", "inner_values": True}),
    ("jobs.csv", PAIRS, {"kind": "pairs"}), ("jobs.json", '{"x": ["a", "b"]}', {"kind": "taxonomy"}),
    ("jobs.json", '{"job": {"0": ["a"]}, "town": {"0": ["b"]}}', {"kind": "taxonomy", "column": "town"}),
    ("jobs.json", '{"0": ["a"]}', {"kind": "nested"}),
])  # fmt: skip
def test_schemas_name_the_file_and_its_kind(tmp_path, name, content, settings):
    (tmp_path / name).write_text(content)
    tree = Taxonomy.read(tmp_path / name, **settings)
    schema = ic.Schema(quasi={"job": tree}, sensitive="ill")
    schema.to_toml(tmp_path / "schema.toml")
    assert f'file = "{name}"' in (tmp_path / "schema.toml").read_text()
    again = ic.Schema.from_toml(tmp_path / "schema.toml")
    assert again == schema
    assert again.attributes["job"].hierarchy.read_as == settings
    assert tree.build(pl.Series("job", [tree.leaves[0], None])).read_as == settings


def test_level_tables_go_to_arx_and_back(tmp_path):
    tree = Taxonomy.from_pairs({"a;1": "x", "b": "x", "c": "y"})
    tree.write_csv(tmp_path / "arx.csv", separator=";", header=False)
    assert (tmp_path / "arx.csv").read_text() == '"a;1";x;*\nb;x;*\nc;y;*\n'
    assert Taxonomy.read_csv(tmp_path / "arx.csv") == tree
    with pytest.raises(HierarchyError, match=r"with the separator '\|'"):
        tree.write_csv(tmp_path / "arx.csv", separator="|")


@pytest.mark.parametrize(("name", "settings", "content", "fact"), [
    ("a.csv", {"kind": "pairs"}, "a,x\nb,y\na,y\n", "'a' has two parents: 'x' in line 1 and 'y' in line 3"),
    ("a.csv", {"kind": "pairs"}, "a,x\na,\n", "'a' has two parents: 'x' in line 1 and none in line 2"),
    ("a.csv", {"kind": "pairs"}, "q,a\na,b\nb,c\nc,a\n", "in a circle: 'a' below 'b' below 'c' below 'a'"),
    ("a.csv", {"kind": "pairs"}, ",x\n", "Line 1 of a tree has no child"),
    ("a.csv", {"kind": "pairs"}, "a,x,*\n", "has 3 columns, and a file of pairs has two"),
    ("a.csv", {"kind": "pairs"}, "child,parent\n", "no pairs"),
    ("a.csv", {"kind": "codes"}, "code,label\nE1,a\nE1,b\n", "Code 'E1' is in line 2 and again in line 3"),
    ("a.csv", {"kind": "codes"}, "E1,a\n,b\n", "Line 2 of a tree of codes has no code"),
    ("a.csv", {"kind": "codes"}, "E1,a,b\nE2,a,b\n", "has 3 columns, and a file of codes has one or two"),
    ("a.csv", {"kind": "codes"}, "code,label\n", "A tree of codes has no codes"),
    ("a.csv", {"kind": "taxonomy"}, "a,x,p\nb,x,q\n",
     "The levels are not nested: 'x' of level 1 is under 'p' in line 1 and under 'q' in line 2"),
    ("a.csv", {"kind": "tree"}, "a,x\n", "unknown kind 'tree'"),
    ("a.csv", {"kind": "nested"}, "a,x\n", "is not JSON, and its kind is 'nested'"),
    ("a.json", {"kind": "codes"}, "[]", "is JSON, and its kind is 'codes'"),
    ("a.csv", {"kind": "taxonomy", "inner_values": True}, "a,x\n", "only codes and pairs have inner values"),
    ("a.csv", {"kind": "codes", "column": "job"}, "a,x\n", "is about one column"),
    ("a.json", {"kind": "nested", "column": "job"}, '["a"]', "is about one column"),
    ("a.json", {"column": "job"}, '["a"]', "is about one column"),
    ("a.json", {}, '{"x": ["a",\n', "line 2, is not JSON"),
    ("a.json", {}, '{"x": ["a"], "x": ["b"]}', "has 'x' twice"),
    ("a.json", {}, '{"x": ["a", {"y": ["x"]}]}', "has 'x' at two depths: as a value and as a group"),
    ("a.json", {}, '{"x": ["a"], "y": ["a"]}', "lists 'a' more than once"),
    ("a.json", {}, "3", "A tree in JSON is a int"),
    ("a.json", {}, '{"job": {"0": ["a"]}, "town": {"0": ["b"]}}', "about 'job', 'town', and no column is named"),
    ("a.json", {"column": "x"}, '{"job": {"0": ["a"]}, "town": {"0": ["b"]}}', "about 'job', 'town', not 'x'"),
    ("a.json", {}, '{"0": ["a", "b"], "1": ["x"]}', "Level 1 of a dictionary has 1 entry, and level 0 2"),
    ("a.json", {}, '{"0": ["a", "a"], "1": ["x", "y"]}',
     "'a' is under 'x' in entry 1 and under 'y' in entry 2"),
    ("a.json", {}, '{"1": ["a", "b"]}', "has no level 0"),
    ("a.json", {}, '{"0": [], "1": []}', "has no values"),
    ("a.json", {}, '{"1": {"a": "x", "b": "y"}, "2": {"x": "*"}}', "Level 2 of a dictionary says nothing about 1 name"),
    ("a.json", {}, '{"0": ["a"], "1": {"a": "x"}, "2": ["*"]}', "both lists and mappings"),
])  # fmt: skip
def test_files_that_are_no_trees(tmp_path, name, settings, content, fact):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(HierarchyError) as caught:
        Taxonomy.read(path, **settings)
    assert fact in caught.value.fact
    assert settings.get("kind") == "tree" or repr(str(path)) in caught.value.fact
    assert caught.value.hint


@pytest.mark.parametrize(("make", "fact"), [
    (lambda: Taxonomy.from_pairs(["ab"]), "Entry 1 of a tree is not a pair"),
    (lambda: Taxonomy.from_pairs([("a", "b", "c")]), "Entry 1 of a tree is not a pair"),
    (lambda: Taxonomy.from_pairs(3), "is not a pair"),
    (lambda: Taxonomy.from_pairs(pl.DataFrame({"a": ["x"]})), "has 1 columns"),
    (lambda: Taxonomy.from_codes(pl.DataFrame({"a": ["x"], "b": ["y"], "c": ["z"]})), "has 3 columns"),
    (lambda: Taxonomy.from_codes([("a", "b", "c")]), "Entry 1 of a tree of codes"),
    (lambda: Taxonomy.from_levels({"a": ["x"]}), "other keys than 0, 1, 2"),
    (lambda: from_dict({"kind": "codes"}), "'codes' has no file"),
    (lambda: from_dict({"kind": "pairs", "file": "a.csv", "nested": {}}), "unknown setting 'nested'"),
])  # fmt: skip
def test_collections_that_are_no_trees(make, fact):
    with pytest.raises(HierarchyError) as caught:
        make()
    assert fact in caught.value.fact
    assert caught.value.hint


def test_short_branches_stand_alone_below_their_parent():
    tree = Taxonomy.from_pairs({"Surgeon": "Doctor", "Doctor": "Health", "Nurse": "Health"})
    assert tree.level_names == [["Surgeon", "Nurse"], ["Doctor", "Nurse"], ["Health", "Health"]]
