"""Pages without a browser: what they say, and what they ask of the workflow."""

import re
import subprocess
import sys
import threading
from dataclasses import replace

import polars as pl
import pytest
from in_process import Visitor, wait
from studio_server import PEOPLE

from incrowd import workflow
from incrowd.errors import MissingDependencyError
from incrowd.schema import Role
from incrowd.studio import serve
from incrowd.studio.jobs import Job
from incrowd.studio.pages import STEPS


@pytest.fixture
def visitor(tmp_path):
    return Visitor(tmp_path)


def published(visitor, **given):
    project = visitor.add()
    answer = visitor.post(f"/p/{project.id}/publish", data={"k": "3", "method": "mondrian", **given})
    assert answer.status_code == 303
    assert wait(project.jobs["publish"]).state == "done"
    return project


def test_a_table_whose_roles_cannot_be_guessed_asks_for_the_sensitive_column(visitor, tmp_path):
    path = tmp_path / "numbers.csv"
    pl.DataFrame({"a": [i % 60 for i in range(80)], "b": [i % 57 for i in range(80)]}).write_csv(path)
    project = visitor.add(path)
    page = visitor.get(f"/p/{project.id}/roles").text
    assert "No column of the 80 rows looks like a sensitive one" in page
    early = visitor.get(f"/p/{project.id}/result")
    assert early.status_code == 400
    assert "The columns have no roles yet" in early.text
    assert visitor.post(f"/p/{project.id}/propose", data={"sensitive": "b"}).status_code == 303
    assert "What is each column?" in visitor.get(f"/p/{project.id}/roles").text


def test_live_numbers_follow_the_roles(visitor):
    project = visitor.add()
    live = {"X-Studio": "live"}
    answer = visitor.post(f"/p/{project.id}/revise", data={"role-1": "other", "target": "1"}, headers=live)
    assert "15 of 24 people are the only ones" in answer.text
    assert project.schema.target == "age"
    nobody = {f"role-{number}": "identifier" for number in range(6)}
    answer = visitor.post(f"/p/{project.id}/revise", data=nobody, headers=live)
    assert "The schema has no quasi-identifier" in answer.text
    assert "The last choice is not saved" in answer.text
    assert project.schema.target == "age"
    answer = visitor.post(f"/p/{project.id}/revise", data={"role-1": "boss"})
    assert answer.status_code == 400
    assert "unknown role &#39;boss&#39;" in answer.text


def test_what_a_tab_does_not_send_stays_as_another_tab_left_it(visitor):
    project = visitor.add()
    page = f"/p/{project.id}/revise"
    visitor.post(page, data={"role-1": "other", "target": "1"}, headers={"X-Studio": "live"})
    visitor.post(page, data={"role-3": "identifier"}, headers={"X-Studio": "live"})
    visitor.post(page, data={})
    assert project.schema.target == "age"
    assert project.schema.attributes["age"].role is Role.OTHER
    assert project.schema.attributes["sex"].role is Role.IDENTIFIER


def test_numbers_of_a_large_table_come_after_the_rest(visitor, monkeypatch):
    monkeypatch.setattr("incrowd.studio.pages_table.AT_ONCE", 10)
    project = visitor.add()
    answer = visitor.post(f"/p/{project.id}/revise", data={"role-1": "identifier"}, headers={"X-Studio": "live"})
    assert "data-later" in answer.text
    assert "people are the only ones" in visitor.get(f"/p/{project.id}/crowds").text


def test_two_columns_can_be_sensitive(visitor):
    project = visitor.add()
    answer = visitor.post(
        f"/p/{project.id}/revise", data={"role-4": "sensitive", "target": "5"}, headers={"X-Studio": "live"}
    )
    assert "people are the only ones" in answer.text
    assert project.schema.with_role(Role.SENSITIVE) == ["job", "disease"]
    visitor.post(f"/p/{project.id}/publish", data={"k": "3", "method": "mondrian"})
    job = wait(project.jobs["publish"])
    assert job.error is None
    assert job.result.verdict.complete
    for page in ("data", "roles", "hierarchies", "tradeoff", "result", "models"):
        assert visitor.get(f"/p/{project.id}/{page}").status_code == 200
    project.read_again(replace(project.reading, types={"age": "float"}))
    assert project.schema.with_role(Role.SENSITIVE) == ["job", "disease"]
    assert project.schema.target == "disease"
    visitor.post(f"/p/{project.id}/revise", data={"role-1": "sensitive", "role-5": "other", "target": "1"})
    assert project.schema.target == "age"
    visitor.post(f"/p/{project.id}/revise", data={"role-1": "identifier", "role-5": "sensitive", "target": "1"})
    assert project.schema.target == "job"  # of several, the page shows the first


def test_two_tables_do_not_disturb_each_other(visitor):
    first, second = visitor.add(), visitor.add()
    visitor.post(f"/p/{first.id}/revise", data={"role-1": "identifier"})
    assert "age" not in first.schema.quasi
    assert "age" in second.schema.quasi
    visitor.post(f"/p/{first.id}/remove")
    assert visitor.get(f"/p/{first.id}/data").status_code == 404
    assert not first.folder.exists()
    assert PEOPLE.exists()
    assert visitor.get(f"/p/{second.id}/data").status_code == 200


def test_the_zip_file_has_the_public_part_only_and_the_other_one_says_so(visitor):
    project = published(visitor)
    public = visitor.get(f"/p/{project.id}/release.zip")
    private = visitor.get(f"/p/{project.id}/private.zip")
    assert public.headers["content-disposition"] == 'attachment; filename="release.zip"'
    assert "PRIVATE-do-not-share" in private.headers["content-disposition"]
    assert b"rows.parquet" in private.content
    assert b"rows.parquet" not in public.content


def test_a_second_release_replaces_the_first_and_warns(visitor):
    project = published(visitor)
    visitor.post(f"/p/{project.id}/publish", data={"k": "4", "l": "1,5"})
    assert wait(project.jobs["publish"]).state == "done"
    assert len(list(project.folder.glob("release-*"))) == 1
    page = visitor.get(f"/p/{project.id}/result").text
    assert "You have made 2 releases of this table. Share only one" in page
    assert "incrowd publish people.csv -s schema.toml -k 4 -l 1.5 -o release" in page


def test_a_run_that_fails_leaves_the_last_release_and_offers_what_can_be_reached(visitor):
    project = published(visitor)
    visitor.post(f"/p/{project.id}/publish", data={"k": "3", "l": "4", "method": "mondrian"})
    assert wait(project.jobs["publish"]).state == "failed"
    page = visitor.get(f"/p/{project.id}/result").text
    assert "No release of a table with 24 rows can keep k = 3, l = 4" in page
    assert "Your last release" in page
    assert "Publish with k = 3, l = 2.1818" in page
    assert visitor.get(f"/p/{project.id}/release.zip").status_code == 200
    fields = dict(re.findall(r'type="hidden" name="(\w)" value="([\d.]+)"', page))
    visitor.post(f"/p/{project.id}/publish", data=fields)
    assert wait(project.jobs["publish"]).state == "done"
    assert "l = 2.1818" in visitor.get(f"/p/{project.id}/result").text


@pytest.mark.slow
def test_projections_are_shown_and_not_attacked(visitor):
    project = published(visitor, method="dmpd")
    assert "Columns of each projection" in visitor.get(f"/p/{project.id}/result").text
    visitor.post(f"/p/{project.id}/attack")
    wait(project.jobs["attack"])
    assert "Only releases of generalized rows can be attacked" in visitor.get(f"/p/{project.id}/result").text


@pytest.mark.parametrize(
    ("page", "given", "message"),
    [
        ("publish", {"k": "ten"}, "k is &#39;ten&#39;, which is not a whole number"),
        ("publish", {"k": "3", "l": "much"}, "l is &#39;much&#39;, which is not a number"),
        ("compare", {"k": "3"}, "No method was chosen"),
        ("compare", {"k": "", "method": "mondrian"}, "No k was chosen"),
        ("compare", {"k": "3", "method": "mondrain"}, "There is no method &#39;mondrain&#39;"),
        ("compare", {"k": "3", "method": "mondrian", "classifier": "oracle"}, "There is no classifier"),
        ("attack", {}, "There is no release yet"),
        ("save", {"place": ""}, "No place was named"),
        ("save", {"place": "/tmp"}, "There is no release yet"),
        ("audit", {"k": "3"}, "There is no model yet"),
        ("repair", {}, "There is no model yet"),
        ("reread", {"encoding": "klingon"}, "There is no encoding &#39;klingon&#39;"),
        ("preview", {"column": "5"}, "This column is not made coarser"),
    ],
)
def test_wrong_settings_get_a_message(visitor, page, given, message):
    answer = visitor.post(f"/p/{visitor.add().id}/{page}", data=given)
    assert answer.status_code == 400
    assert message in answer.text


def test_nothing_is_saved_over_what_is_there(visitor, tmp_path):
    project = published(visitor)
    there = tmp_path / "there"
    there.mkdir()
    answer = visitor.post(f"/p/{project.id}/save", data={"place": str(there)})
    assert answer.status_code == 400
    assert "already exists" in answer.text
    assert visitor.post(f"/p/{project.id}/save", data={"place": str(tmp_path / "new")}).status_code == 303
    assert workflow.verify(tmp_path / "new", PEOPLE).complete
    assert (tmp_path / "new.private").stat().st_mode & 0o077 == 0


def test_the_report_is_made_of_the_release_and_its_original(visitor, monkeypatch):
    project = published(visitor)
    assert "There is no report yet" in visitor.get(f"/p/{project.id}/report.html").text
    visitor.post(f"/p/{project.id}/report")
    assert wait(project.jobs["report"]).error is None
    assert "Download the report" in visitor.get(f"/p/{project.id}/result").text
    found = visitor.get(f"/p/{project.id}/report.html")
    assert "Every promise holds" in found.text
    assert "Safe to hand out" in found.text
    assert found.headers["content-disposition"].startswith("attachment")
    monkeypatch.setattr("incrowd.studio.pages_result.save_pdf", lambda page, path: path.write_text(page[:20]))
    printed = visitor.get(f"/p/{project.id}/report.pdf")
    assert (printed.text, printed.headers["content-type"]) == (found.text[:20], "application/pdf")
    shown = []
    for program in ("chromium", None):
        monkeypatch.setattr("shutil.which", lambda _name, program=program: program)
        shown.append("report.pdf" in visitor.get(f"/p/{project.id}/result").text)
    assert shown == [True, False]


def test_work_waits_for_its_turn_and_can_be_cancelled_while_it_waits():
    turn, go, order = threading.Lock(), threading.Event(), []
    first = Job("publish", turn=turn).start(lambda _run: (go.wait(10), order.append("first")))
    second = Job("publish", turn=turn).start(lambda _run: order.append("second"))
    third = Job("publish", turn=turn).start(lambda _run: order.append("third"))
    second.cancel()
    assert wait(second).state == "cancelled"
    assert third.state == "waiting"
    go.set()
    assert (wait(first).state, wait(third).state) == ("done", "done")
    assert order == ["first", "third"]


def test_the_same_work_does_not_begin_twice(visitor):
    project, go = visitor.add(), threading.Event()
    first = project.begin("publish", {}, lambda _run: go.wait(10))
    assert project.begin("publish", {}, lambda _run: go.wait(10)) is first
    go.set()
    wait(first)


def test_the_page_of_the_docs_shows_every_step():
    page = PEOPLE.with_name("studio.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \d\. (.*)$", page, re.MULTILINE) == [label for _, label in STEPS]
    shown = re.findall(r"!\[.+?\]\((.+?)\)", page)
    assert len(shown) == len(STEPS)
    assert all(0 < (PEOPLE.parent / name).stat().st_size < 100_000 for name in shown)


def test_a_file_that_is_not_there_ends_the_command(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "incrowd", "studio", "--no-browser", str(tmp_path / "nothing.csv")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert re.match(r"Error: .*nothing\.csv", done.stderr)
    assert done.stdout == ""


def test_without_its_libraries_the_studio_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingDependencyError, match="The studio needs the package 'uvicorn'") as told:
        serve(tell=print)
    assert told.value.hint == "pip install 'incrowd[studio]'"
