"""More limits than k and l: fields of the page, parameters of the method, settings of single columns."""

import os
import threading

import polars as pl
import pytest
from in_process import Visitor, wait
from studio_server import PEOPLE

from incrowd import workflow
from incrowd.hierarchy import Taxonomy
from incrowd.studio.jobs import Job


@pytest.fixture
def visitor(tmp_path):
    return Visitor(tmp_path)


def numbers(folder):
    rows = [(20 + i % 9, "abc"[i % 3], "no" if i % 4 else "yes", 100 * (i % 12)) for i in range(120)]
    frame = pl.DataFrame(rows, schema=["age", "town", "ill", "pay"], orient="row")
    frame.write_csv(folder / "pay.csv")
    return folder / "pay.csv"


def fields(page):
    return {part.split('"')[0] for part in page.split('<input id="')[1:]}


def test_every_limit_of_the_command_has_a_field_and_reaches_the_release(visitor):
    project = visitor.add()
    page = visitor.get(f"/p/{project.id}/result").text
    assert {"k", "l", "t", "alpha", "beta", "delta", "width"} <= fields(page)
    asked = {"k": "3", "t": "0.6", "alpha": "0.9", "beta": "4", "delta": "3", "method": "mondrian"}
    visitor.post(f"/p/{project.id}/publish", data=asked)
    assert wait(project.jobs["publish"]).error is None
    kinds = {each.kind for each in project.latest.publication.release.manifest.guarantees}
    assert kinds == {"k", "t", "alpha", "beta", "delta"}
    assert "-t 0.6 --alpha 0.9 --beta 4 --delta 3" in project.latest.command
    assert 'value="0.6"' in visitor.get(f"/p/{project.id}/result").text
    answer = visitor.post(f"/p/{project.id}/publish", data={"k": "3", "t": "near"})
    assert answer.status_code == 400
    assert "which is not a number" in answer.text


def test_each_of_several_sensitive_columns_has_limits_of_its_own(visitor, tmp_path):
    project = visitor.add(numbers(tmp_path))
    roles = {name: at for at, name in enumerate(project.schema.attributes)}
    ill, pay = roles["ill"], roles["pay"]
    visitor.post(f"/p/{project.id}/revise", data={f"role-{ill}": "sensitive", f"role-{pay}": "sensitive"})
    page = visitor.get(f"/p/{project.id}/result").text
    assert {f"l-{ill}", f"t-{pay}", f"ranges-{pay}"} <= fields(page)
    assert f"ranges-{ill}" not in fields(page)
    own = {f"l-{ill}": "1.2", f"t-{pay}": "0,7", f"l-{pay}": "", f"width-{pay}": "300", f"ranges-{pay}": "0, 300; 700"}
    visitor.post(f"/p/{project.id}/publish", data={"k": "5", "method": "mondrian", **own})
    assert wait(project.jobs["publish"]).error is None
    columns = project.schema.attributes
    assert (dict(columns["ill"].limits), dict(columns["pay"].limits)) == ({"l": 1.2}, {"t": 0.7, "width": 300})
    assert columns["pay"].ranges == (0, 300, 700)
    assert set(project.latest.publication.release.frame["pay"].unique()) <= {0, 300, 700}
    assert b"ranges = [0, 300, 700]" in project.kept()["schema.toml"].replace(b".0", b"")
    page = visitor.get(f"/p/{project.id}/result").text
    assert 'value="0, 300, 700"' in page
    visitor.post(f"/p/{project.id}/revise", data={"role-0": "other"})
    assert project.schema.attributes["pay"].ranges == (0, 300, 700)
    assert dict(project.schema.attributes["ill"].limits) == {"l": 1.2}
    answer = visitor.post(f"/p/{project.id}/publish", data={"k": "5", f"ranges-{pay}": "low, high"})
    assert "The ranges of &#39;pay&#39; are not numbers" in answer.text


def test_the_tree_of_a_sensitive_column_outlives_other_corrections():
    schema = workflow.propose(PEOPLE, sensitive="disease").schema
    tree = Taxonomy.from_nested({"any": {"some": sorted(pl.read_csv(PEOPLE)["disease"].unique())}})
    own = workflow.revise(schema, hierarchies={"disease": tree}, limits={"disease": {"t": 0.5, "tree": True}})
    for changed in (
        workflow.revise(own, roles={"job": "other"}),
        workflow.carry_over(own, workflow.propose(PEOPLE, sensitive="disease").schema),
    ):
        assert changed.attributes["disease"].hierarchy is tree
        assert dict(changed.attributes["disease"].limits) == {"t": 0.5, "tree": True}
    assert workflow.revise(own, roles={"disease": "other", "name": "sensitive"}).attributes["disease"].hierarchy is None


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="threads have no priority of their own")
def test_work_gives_way_to_pages():
    def priority():
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    before = priority()
    assert wait(Job("publish").start(lambda _run: priority())).result == 10
    assert priority() == before
