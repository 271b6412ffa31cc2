"""What a page needs of the workflow: a look at a table, who stands out, other roles, and what privacy costs."""

import time
from itertools import combinations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from incrowd import io, workflow
from incrowd.errors import Cancelled, ParameterError, SchemaError
from incrowd.hierarchy import Taxonomy
from incrowd.runs import Run
from incrowd.schema import Role

PEOPLE = pl.DataFrame(
    {
        "name": [f"p{i}" for i in range(60)],
        "age": [20 + i % 13 for i in range(60)],
        "member": [i % 2 == 0 for i in range(60)],
        "job": [None if i % 7 == 0 else "abc"[i % 3] for i in range(60)],
        "ill": ["yes" if i % 3 else "no" for i in range(60)],
    }
)


def test_a_look_tells_columns_and_first_rows(tmp_path):
    path = tmp_path / "people.csv"
    PEOPLE.write_csv(path)
    found = workflow.look(path)
    assert_frame_equal(found.frame, PEOPLE)
    assert found.rows == 60
    assert found.columns[3] == {"column": "job", "type": "str", "distinct": 3, "missing": 9, "suspects": {}}
    assert len(found.head) == 10
    assert found.head[0] == ("p0", "20", "True", None, "no")
    assert "p0" not in str(found.to_dict())
    assert "p0" not in repr(found)


def test_a_look_points_at_what_may_mean_missing(tmp_path):
    path = tmp_path / "old.csv"
    rows = "".join(f"{99 if i % 5 == 0 else 20 + i % 30};größer\n" for i in range(60))
    path.write_bytes(f"age;höhe\n{rows}".encode("cp1252"))
    found = workflow.look(path)
    assert found.columns[0]["suspects"] == {"99": 12}
    assert found.found["encoding"] == "cp1252"
    assert any("cp1252" in note for note in found.notes)
    reading = io.Reading(types={"age": "float"}, missing_codes={"age": ("99",)})
    assert workflow.look(path, reading=reading).columns[0]["missing"] == 12


def test_long_cells_are_shortened():
    (cell,) = workflow.look(pl.DataFrame({"a": ["x" * 500]})).head[0]
    assert cell == "x" * 60 + "…"


def naive(frame, names):
    sizes = frame.group_by(names).len()["len"] if names else pl.Series([frame.height])
    return int((sizes == 1).sum()), int(sizes.filter(sizes < 5).sum())


@pytest.mark.parametrize("n", range(5))
def test_crowds_are_those_of_a_group_by(n):
    for names in combinations(PEOPLE.columns, n):
        found = workflow.crowds(PEOPLE, names)
        assert (found.unique, found.few) == naive(PEOPLE, list(names))
        assert found.without == {name: naive(PEOPLE, [o for o in names if o != name])[0] for name in names}
        assert found.to_dict()["rows"] == 60


@given(st.lists(st.tuples(*[st.sampled_from([None, -1, 0, 7])] * 3), min_size=1, max_size=30))
def test_crowds_of_any_table(rows):
    frame = pl.DataFrame(rows, schema={name: pl.Int64() for name in "abc"}, orient="row")
    found = workflow.crowds(frame, ["a", "b", "c"])
    assert (found.unique, found.few) == naive(frame, ["a", "b", "c"])
    assert found.without == {name: naive(frame, [o for o in "abc" if o != name])[0] for name in "abc"}


def test_crowds_of_a_large_table_are_counted_while_somebody_waits():
    n = 100_000
    frame = pl.DataFrame({f"c{m}": [(i * (m + 3)) % (7 * m + 11) for i in range(n)] for m in range(8)})
    start = time.process_time()
    workflow.crowds(frame, frame.columns)
    assert time.process_time() - start < 2.5  # seconds of all processors; about 0.5 on two


def test_crowds_of_an_unknown_column_are_refused():
    with pytest.raises(ParameterError, match="The table has no column 'agee'"):
        workflow.crowds(PEOPLE, ["agee"])


def test_roles_and_hierarchies_are_revised():
    schema = workflow.propose(PEOPLE, sensitive="ill").schema
    changed = workflow.revise(schema, roles={"job": "other", "name": "quasi"}, kinds={"age": "balanced"}, target="job")
    assert changed.quasi == ["name", "age", "member"]
    assert changed.target == "job"
    kinds = {name: changed.attributes[name].hierarchy.to_dict()["kind"] for name in ("name", "age")}
    assert kinds == {"name": "by_class", "age": "balanced"}
    assert workflow.revise(schema) == schema
    assert workflow.revise(changed).target == "job"
    assert workflow.revise(changed, target="").target == "ill"
    back = workflow.revise(
        changed, roles={"job": "quasi", "name": "identifier"}, kinds={"age": "intervals", "job": "suppress"}, target=""
    )
    assert back == schema


def test_a_new_proposal_keeps_what_a_person_chose():
    old = workflow.propose(PEOPLE, sensitive="ill").schema
    own = Taxonomy.from_nested({"letters": ["a", "b"], "rest": ["c"]})
    old = workflow.revise(old, roles={"name": "quasi", "member": "other"}, hierarchies={"job": own}, target="member")
    changed = PEOPLE.with_columns(age=pl.col("age") > 25, new=pl.lit("x")).drop("name")
    found = workflow.carry_over(old, workflow.propose(changed, sensitive="ill").schema)
    assert found.other == ["member"]
    assert found.target == "member"
    assert found.attributes["job"].hierarchy == own
    assert found.attributes["age"].hierarchy != old.attributes["age"].hierarchy  # its type is another one


def test_a_new_proposal_keeps_the_class_among_several_sensitive_columns():
    old = workflow.revise(workflow.propose(PEOPLE, sensitive=["ill", "member"]).schema, target="ill")
    assert workflow.carry_over(old, workflow.propose(PEOPLE, sensitive=["ill", "member"]).schema).target == "ill"


def test_wrong_roles_are_refused_by_name():
    schema = workflow.propose(PEOPLE, sensitive="ill").schema
    assert workflow.revise(schema, roles={"job": "sensitive"}).with_role(Role.SENSITIVE) == ["job", "ill"]
    with pytest.raises(SchemaError, match="Column 'job' has the unknown role 'boss'"):
        workflow.revise(schema, roles={"job": "boss"})
    with pytest.raises(SchemaError, match="The table has no column 'jobs'"):
        workflow.revise(schema, roles={"jobs": "quasi"})


@pytest.mark.parametrize("kind", ["int", "float", "str", "date", "bool"])
def test_every_recipe_builds_a_hierarchy_of_its_types(kind):
    days = ["2024-01-01", "2024-02-01", "2023-01-01", "2022-01-01"]
    values = {
        "int": [1, 2, 30, 40],
        "float": [0.5, 1.5, 2.5, 9.0],
        "str": days,
        "date": pl.Series(days).str.to_date(),
        "bool": [True, False, True, False],
    }
    frame = pl.DataFrame({"a": values[kind], "ill": ["x", "y", "x", "y"]})
    schema = workflow.propose(frame, sensitive="ill").schema
    for recipe in workflow.recipes(kind):
        found = workflow.revise(schema, roles={"a": "quasi"}, kinds={"a": recipe.kind}).attributes["a"]
        assert found.build(frame["a"], frame["ill"]).n_leaves >= 2, recipe
        assert kind in recipe.to_dict()["types"]


def test_a_trade_off_has_points_and_baselines():
    schema = workflow.propose(PEOPLE, sensitive="ill").schema
    found = workflow.trade_off(PEOPLE, schema, methods=["mondrian", "tds"], k=[4, 2, 50])
    assert [(p.method, p.k) for p in found.points] == [(m, k) for m in ("mondrian", "tds") for k in (2, 4, 50)]
    assert all(p.problem.startswith("infeasible") for p in found.points if p.k == 50)
    assert all(0 <= p.accuracy <= 1 and 0 <= p.loss <= 1 for p in found.points if p.k != 50)
    assert found.plan == "5-fold cross-validation"
    assert found.majority == pytest.approx(2 / 3, abs=0.05)
    assert found.to_dict()["points"][0]["method"] == "mondrian"


def test_a_trade_off_without_a_class_is_about_detail():
    schema = workflow.revise(workflow.propose(PEOPLE, sensitive="ill").schema, roles={"ill": "identifier"})
    found = workflow.trade_off(PEOPLE, schema, methods=["mondrian"], k=[2, 20, 70])
    assert [p.accuracy for p in found.points] == [None] * 3
    assert found.points[0].loss < found.points[1].loss
    assert "70" in found.points[2].problem
    assert found.original is None


def test_a_trade_off_can_be_cancelled_and_needs_something_to_try():
    schema = workflow.propose(PEOPLE, sensitive="ill").schema
    run = Run()
    run.cancel()
    with pytest.raises(Cancelled):
        workflow.trade_off(PEOPLE, schema, run=run)
    with pytest.raises(ParameterError, match="There is no method to try"):
        workflow.trade_off(PEOPLE, schema, methods=[])
