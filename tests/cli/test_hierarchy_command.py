"""incrowd hierarchy: proposes, draws, checks, writes."""

import json
import sqlite3
from contextlib import closing

import polars as pl
import pytest
from test_publish_errors import run

import incrowd as ic

TREE = "Nurse,Health,*\nDoctor,Health,*\nCook,Food,*\nBaker,Food,*\nMiner,Earth,*\nFarmer,Earth,*\n"


@pytest.fixture
def incrowd(tmp_path, monkeypatch, capsys):
    jobs = ["Nurse"] * 20 + ["Doctor"] * 8 + ["Cook"] * 3 + ["Spy"] * 4
    pl.DataFrame({"job": jobs, "ill": ["yes", "no"] * 17 + ["no"]}).write_csv(tmp_path / "people.csv")
    (tmp_path / "jobs.csv").write_text(TREE)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: run(monkeypatch, capsys, "hierarchy", "people.csv", *arguments)


def test_a_file_that_lacks_values_is_exit_code_2(incrowd):
    code, out, _ = incrowd("job", "--file", "jobs.csv")
    assert code == 2
    assert "NOT IN THE TREE: 1 value in 4 rows" in out
    assert "To add them: -o FILE" in out
    assert "Spy" not in out
    assert "Health (2 values, 28 rows)" in out
    assert "Food (2 values, fewer than 5 rows)" in out
    assert "Earth (2 values, nobody)" in out
    assert "Nobody is in 1 group: 'Earth'" in out


def test_the_tree_is_written_with_a_group_for_what_was_lacking(incrowd, tmp_path):
    code, out, _ = incrowd("job", "-f", "jobs.csv", "-o", "all.csv")
    assert code == 0
    assert "'unassigned' of all.csv" in out
    assert "Spy,unassigned,*" in (tmp_path / "all.csv").read_text()
    code, out, _ = incrowd("job", "-f", "all.csv")
    assert code == 0
    assert "Every value of the column is in the hierarchy" in out
    code, _, err = incrowd("job", "-o", "all.csv")
    assert code == 2
    assert "all.csv" in err


def test_plain_data(incrowd):
    code, out, _ = incrowd("job", "--file", "jobs.csv", "--json")
    found = json.loads(out)
    assert code == 2
    assert found["lacking"]["rows"] == 4
    assert found["unused"] == ["Earth"]
    assert found["groups"] == [{"name": "Health", "leaves": 2, "rows": 28}]


def test_a_proposal_says_why_and_how_a_schema_names_it(incrowd):
    code, out, _ = incrowd("job", "--target", "ill")
    assert code == 0
    assert "by_class: 4 distinct names: ordered by" in out
    assert 'In the schema: hierarchy = { kind = "by_class", at_least = 20 }' in out
    code, out, _ = incrowd("job", "--kind", "balanced", "--set", "branching=2", "-k", "10")
    assert code == 0
    assert "* (4 values, 35 rows)" in out
    assert "Doctor" not in out  # 8 rows
    assert "with 10 rows or more" in out


def test_what_the_schema_says_is_drawn(incrowd, tmp_path):
    tree = ic.Taxonomy.from_nested({"Care": ["Nurse", "Doctor"], "Other": ["Cook", "Spy"]})
    ic.Schema(quasi={"job": tree}, sensitive="ill").to_toml(tmp_path / "people.toml")
    code, out, _ = incrowd("job", "-s", "people.toml")
    assert code == 0
    assert "taxonomy: the schema says so" in out
    assert "Care (2 values, 28 rows)" in out
    assert "In the schema" not in out


def test_long_lists_are_cut_off(incrowd, tmp_path):
    rows = "".join(f"v{i},group,*\n" for i in range(40))
    (tmp_path / "long.csv").write_text(TREE + rows + "Spy,Other,*\n")
    code, out, _ = incrowd("job", "-f", "long.csv")
    assert code == 0
    assert "... 34 more values" in out
    assert "Note: 1 group has more than 20 children, up to 40" in out
    _, out, _ = incrowd("job", "-f", "long.csv", "--depth", "1")
    assert "v0" not in out


def test_mistakes_are_named_in_options(incrowd):
    code, _, err = incrowd("job", "--kind", "by_class", "--target", "ill", "-o", "job.csv")
    assert code == 2
    assert "such as --kind balanced or --kind common" in err
    code, _, err = incrowd("jo")
    assert code == 2
    assert "did you mean 'job'?" in err


def test_a_tree_in_a_table_of_a_database(incrowd, tmp_path):
    rows = [row.split(",") for row in f"{TREE}Spy,Other,*".split("\n")]
    with closing(sqlite3.connect(tmp_path / "trees.db")) as base, base:
        base.execute("create table pairs (child text, parent text)")
        base.executemany("insert into pairs values (?, ?)", [*[row[:2] for row in rows], ("Health", None)])
        base.execute("create table levels (job text, area text, everything text)")
        base.executemany("insert into levels values (?, ?, ?)", rows)
    for table in ("pairs", "levels"):
        code, out, _ = incrowd("job", "--file", f"sqlite:///trees.db#{table}", "--json")
        found = json.loads(out)
        assert (code, found["origin"], found["why"]) == (0, "file", f"read from 'sqlite:///trees.db#{table}'")
        assert [group["name"] for group in found["groups"]] == ["Health"]
        assert (found["leaves"], found["unused"]) == (7, ["Earth"])
    for more, fact in ((("--kind", "words"), "no tree of kind 'words'"), (("--set", "a=1"), "has no setting 'a'")):
        code, _, err = incrowd("job", "--file", "sqlite:///trees.db#pairs", *more)
        assert (code, fact in err) == (2, True)
