"""Tables from files and databases: how they are read is corrected on the page, and they go back into databases."""

import html
import os
import re
import sqlite3
import zipfile
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest
import xlsxwriter
from in_process import Visitor, wait

import pages
from incrowd import io, workflow
from incrowd.errors import InputError
from incrowd.studio.app import _SUFFIXES
from incrowd.studio.projects import Projects
from incrowd.studio.server import _existing

CODES = pl.DataFrame(
    {
        "Größe": [150 + i % 37 for i in range(80)],
        "alter": [99 if i % 9 == 0 else 20 + i % 40 for i in range(80)],
        "plz": [f"0{1000 + i % 4}" for i in range(80)],
        "krank": ["ja" if i % 3 else "nein" for i in range(80)],
    }
)


@pytest.fixture
def visitor(tmp_path):
    (tmp_path / "studio").mkdir()
    return Visitor(tmp_path / "studio")


def page(visitor, project, name):
    return html.unescape(visitor.get(f"/p/{project.id}/{name}").text)


def publish(visitor, project, **fields):
    visitor.post(f"/p/{project.id}/publish", data={"k": "3", "method": "mondrian", **fields})
    job = wait(project.jobs["publish"])
    assert job.error is None
    return job.result


def test_types_and_missing_codes_are_corrected_with_a_click(visitor, tmp_path):
    path = tmp_path / "codes.csv"
    CODES.write_csv(path)
    project = visitor.add(path)
    shown = page(visitor, project, "data")
    assert "<b>99</b> in 9 rows?" in shown
    project.revise({"plz": "identifier"}, {}, "")
    visitor.post(f"/p/{project.id}/reread", data={"type-1": "int", "suspect-1": "99", "type-0": "float"})
    assert project.look.frame["alter"].null_count() == 9
    assert project.look.frame["Größe"].dtype == pl.Float64
    assert project.schema.attributes["alter"].missing == ("99",)
    assert project.schema.identifiers == ["plz"]  # roles stay
    assert "9</td>" in page(visitor, project, "data")
    outcome = publish(visitor, project)
    assert outcome.verdict.complete
    assert outcome.publication.release.manifest.missing.codes == {"alter": ("99",)}
    answer = visitor.post(f"/p/{project.id}/reread", data={"type-3": "int"})
    assert answer.status_code == 400
    assert "ja" not in re.findall(r'class="fact">(.*?)</p>', html.unescape(answer.text))[0]
    assert project.look.frame["krank"].dtype == pl.String  # what cannot be read changes nothing


def test_the_encoding_is_corrected(visitor, tmp_path):
    path = tmp_path / "old.csv"
    path.write_bytes(CODES.write_csv(separator=";").replace("ja", "großes Übel").encode("cp1252"))
    project = visitor.add(path)
    shown = page(visitor, project, "data")
    assert "found: cp1252" in shown
    assert "großes Übel" in shown
    visitor.post(f"/p/{project.id}/reread", data={"encoding": "cp1251", "delimiter": ";"})
    assert "Gr" in project.look.frame.columns[0] != "Größe"
    visitor.post(f"/p/{project.id}/reread", data={"encoding": "cp1252", "delimiter": ";"})
    assert project.look.frame.columns == CODES.columns
    assert b'encoding = "cp1252"' in visitor.get(f"/p/{project.id}/schema.toml").content


def test_from_a_database_and_into_one(visitor, tmp_path):
    source, target = tmp_path / "people.db", tmp_path / "out.db"
    with sqlite3.connect(source) as base:
        base.execute("create table people (size int, age int, ill text)")
        base.executemany("insert into people values (?, ?, ?)", [(i % 37, i % 41, "yn"[i % 2]) for i in range(90)])
    base.close()
    bad = visitor.post("/database", data={"address": "people.db"})
    assert "This is not the address of a database" in bad.text
    secret = visitor.post("/database", data={"address": "postgresql://ada:lovelace@127.0.0.1:1/x#t"})
    assert secret.status_code == 400
    assert "lovelace" not in secret.text
    answer = visitor.post(
        "/database", data={"address": f"sqlite:///{source}", "query": "select age, size, ill from people"}
    )
    project = visitor.projects.all[answer.headers["location"].split("/")[2]]
    outcome = publish(visitor, project)
    assert outcome.verdict.complete
    assert f"incrowd publish sqlite:///{source} --query 'select age, size, ill from people'" in outcome.command
    sqlite3.connect(target).close()
    target.touch()
    private = tmp_path / "kept"
    fields = {"place": f"sqlite:///{target}#release", "private": str(private)}
    assert visitor.post(f"/p/{project.id}/save", data=fields).status_code == 303
    assert f'Saved in <span class="name">sqlite:///{target}#release</span>' in page(visitor, project, "result")
    stored = workflow.verify(f"sqlite:///{target}#release", project.source, private=private)
    assert stored.ok
    assert [text.partition(":")[0] for text in stored.unknown] == ["place"]  # what else is in a database is not seen
    again = visitor.post(f"/p/{project.id}/save", data=fields)
    assert again.status_code == 400


def test_two_hundred_columns(visitor, tmp_path):
    path = tmp_path / "wide.csv"
    pl.DataFrame(
        {f"c{m} 年" if m % 7 else f"<c{m}>": [(i * (m + 3)) % (2 + m % 9) for i in range(150)] for m in range(199)}
        | {"ill": ["yes" if i % 3 else "no" for i in range(150)]}
    ).write_csv(path)
    project = visitor.add(path)
    assert len(project.look.columns) == 200
    fields = {f"role-{m}": "quasi" if m < 5 else "identifier" for m in range(199)}
    answer = visitor.post(f"/p/{project.id}/revise", data=fields, headers={"X-Studio": "live"})
    assert f"of {150} people are the only ones" in answer.text
    for name in ("data", "roles", "hierarchies", "tradeoff", "result"):
        answer = visitor.get(f"/p/{project.id}/{name}")
        assert answer.status_code == 200
        assert "<c0>" not in answer.text
    assert publish(visitor, project).verdict.complete


def test_the_project_is_a_folder_that_the_command_line_understands(visitor, tmp_path):
    path = tmp_path / "my people.csv"
    CODES.write_csv(path)
    project = visitor.add(path)
    visitor.post(f"/p/{project.id}/compare", data={"method": "mondrian", "k": "3"})
    wait(project.jobs["tradeoff"])
    publish(visitor, project)
    packed = zipfile.ZipFile(BytesIO(visitor.get(f"/p/{project.id}/project.zip").content))
    names = {name.removeprefix("project/") for name in packed.namelist()}
    assert names == {
        "schema.toml",
        "publish.sh",
        "results/tradeoff.json",
        "results/verdict.json",
        "results/release.json",
    }
    packed.extractall(tmp_path)
    folder = tmp_path / "project"
    path.rename(folder / path.name)
    commands = (folder / "publish.sh").read_text(encoding="utf-8").splitlines()[1:]
    assert commands == [
        "incrowd publish 'my people.csv' -s schema.toml -m mondrian -k 3 -o release",
        "incrowd verify release --original 'my people.csv'",
        "incrowd attack release --original 'my people.csv'",
        "incrowd report release -o report.html --original 'my people.csv'",
    ]
    tried = "incrowd compare 'my people.csv' -s schema.toml -m mondrian -k 3 --classifiers tree --cv 5 --samples 1"
    assert tried == project.tried
    assert tried in html.unescape(visitor.get(f"/p/{project.id}/tradeoff").text)
    for command in commands[:2]:
        done = pages.run(["sh", "-c", command], folder, dict(os.environ))
        assert done.returncode == 0, done.stdout


def test_a_sheet_behind_a_cover_is_named_when_the_file_is_sent(visitor, tmp_path):
    path = tmp_path / "book.xlsx"
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("Cover").write(0, 0, "Report 2023")
        CODES.write_excel(book, "Data")
    name = {"X-File-Name": "book.xlsx"}
    answer = visitor.post("/upload", headers=name, content=path.read_bytes())
    assert (answer.status_code, "'Data' looks like one" in answer.json()["hint"]) == (400, True)
    answer = visitor.post("/upload?part=Data&encoding=&other=x", headers=name, content=path.read_bytes())
    assert answer.status_code == 200
    (project,) = visitor.projects.all.values()
    assert project.look.rows == CODES.height
    assert project.reading.sheet == "Data"
    publish(visitor, project)
    assert project.checks[0] == "incrowd verify release --original book.xlsx --sheet Data"


def test_a_table_of_a_database_file_is_named_too(visitor, tmp_path):
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as raw:
        raw.execute("create table other (a)")
        raw.execute("create table people (age int, ill text)")
        raw.executemany("insert into people values (?, ?)", [(20 + i % 9, "xy"[i % 2]) for i in range(40)])
    answer = visitor.post("/upload?part=people", headers={"X-File-Name": "a.db"}, content=path.read_bytes())
    assert answer.status_code == 200, answer.text
    (project,) = visitor.projects.all.values()
    assert (project.look.rows, project.reading.table) == (40, "people")


def test_a_database_may_be_named_on_the_command_line(tmp_path):
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as raw:
        raw.execute("create table people (age int, ill text)")
        raw.executemany("insert into people values (?, ?)", [(20 + i % 9, "xy"[i % 2]) for i in range(40)])
    projects = Projects(tmp_path)
    assert _existing(f"sqlite:///{path}#people") == f"sqlite:///{path}#people"
    job = projects.open(f"sqlite:///{path}#people")()
    job.thread.join(60)
    assert (job.state, job.result.look.rows) == ("done", 40)
    for mistyped in ("postgresql:/me:secret@host/shop#people", "me:secret@host"):
        with pytest.raises(InputError) as caught:
            _existing(mistyped)
        assert "secret" not in str(caught.value)
    known = {Path(f"table{suffix}").suffix for entry in io.FORMATS for suffix in entry.suffixes}
    assert set(_SUFFIXES.split(",")) == known
