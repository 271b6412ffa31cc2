"""Hierarchies: each change shows what it would make, and only what is whole is kept."""

import html
from concurrent.futures import ThreadPoolExecutor

import pytest
from in_process import Visitor

from incrowd.hierarchy import Taxonomy
from incrowd.schema import Schema

JOBS = "driver,trade\nbaker,trade\nnurse,care\nteacher,care\nclerk,office\nlawyer,office\n"
LIVE = {"X-Studio": "live"}
JOB = "4"  # the number of the column in people.csv


@pytest.fixture
def visitor(tmp_path):
    return Visitor(tmp_path)


class Builder:
    """The builder of one column, in the hands of somebody."""

    def __init__(self, visitor, column=JOB):
        self.visitor, self.project, self.column = visitor, visitor.add(), column

    def shows(self, **fields):
        answer = self.visitor.post(
            f"/p/{self.project.id}/preview", data={"column": self.column, **fields}, headers=LIVE
        )
        assert answer.status_code == 200, answer.text
        return html.unescape(answer.text)

    def keep(self, **fields):
        fields = {"column": self.column, "do": "keep", **fields}
        return self.visitor.post(f"/p/{self.project.id}/preview", data=fields)

    def spec(self, name="job"):
        return self.project.schema.attributes[name].hierarchy


@pytest.fixture
def builder(visitor):
    return Builder(visitor)


def test_every_quasi_identifier_has_a_picture(visitor):
    project = visitor.add()
    pages = {n: visitor.get(f"/p/{project.id}/hierarchies?column={n}").text for n in (1, 2, 3, 4)}
    assert "such as <b>21-25</b>" in pages[1]
    assert "101**" in pages[2]
    assert "Every value of sex has a place" in pages[3]
    assert 'aria-label="Values of job in their order"' in pages[4]
    assert visitor.get(f"/p/{project.id}/hierarchies?column=5").status_code == 400  # the sensitive column


def test_the_picture_of_a_large_table_comes_after_the_rest(visitor, monkeypatch):
    monkeypatch.setattr("incrowd.studio.pages_hierarchies.AT_ONCE", 10)
    project = visitor.add()
    page = f"/p/{project.id}/hierarchies?column=2"
    first = visitor.get(page).text
    assert 'data-later="?column=2&amp;drawn=yes"' in first
    assert "101**" not in first
    assert "101**" in visitor.get(f"{page}&drawn=yes").text
    assert "101**" in visitor.get(page).text  # it is drawn once


@pytest.mark.parametrize(
    ("column", "fields", "seen"),
    [
        ("1", {"kind": "bins", "set-bins-width": "10"}, "20 to 29|21-25"),
        ("1", {"kind": "bins", "set-bins-edges": "30, 50"}, "33-49"),
        ("1", {"kind": "bins"}, "bins() got neither width nor edges"),
        ("1", {"kind": "bins", "set-bins-width": "wide"}, "width is 'wide', which is not a number"),
        ("2", {"kind": "prefixes", "set-prefixes-step": "3"}, "10***"),
        ("4", {"kind": "dates"}, "not ISO dates"),
        ("4", {"kind": "magic"}, "There is no way 'magic' to make a column coarser"),
        ("4", {"kind": "common", "set-common-at_least": "5"}, "rare (in fewer than 5 rows each)"),
    ],
)
def test_settings_show_what_they_make_or_what_is_wrong(visitor, column, fields, seen):
    shown = Builder(visitor, column).shows(**fields)
    assert any(part in shown for part in seen.split("|"))


def test_a_tree_that_is_written_is_checked_while_it_grows(builder):
    lines, missing = JOBS.splitlines(), {"lawyer", "clerk", "teacher", "nurse", "baker"}
    for n in range(1, 7):
        shown = builder.shows(kind="own", form="pairs", text="\n".join(lines[:n]))
        lacking = {name for name in missing if f'<span class="chip" draggable="true" data-name="{name}">' in shown}
        assert lacking == {line.split(",")[0] for line in lines[n:]}
    assert "Every value of job has a place" in shown
    wrong = builder.shows(kind="own", form="pairs", text=JOBS + "clerk,trade\n")
    assert "'clerk' has two parents: 'office' in line 5 and 'trade' in line 7" in wrong
    assert str(builder.project.folder) not in wrong
    assert "disabled" in wrong


def test_only_a_whole_tree_is_kept_and_the_schema_holds_it(builder, tmp_path):
    refused = builder.keep(kind="own", form="pairs", text="driver,trade\n")
    assert refused.status_code == 400
    assert "The tree lacks 5 values of column &#39;job&#39;" in refused.text
    assert builder.keep(kind="own", form="pairs", text=JOBS).status_code == 303
    assert builder.spec().label(0, 1) == "trade"
    page = builder.visitor.get(f"/p/{builder.project.id}/hierarchies?column={JOB}").text
    assert "trade" in page
    path = tmp_path / "schema.toml"
    path.write_bytes(builder.visitor.get(f"/p/{builder.project.id}/schema.toml").content)
    assert Schema.from_toml(path).attributes["job"].hierarchy == builder.spec()


def test_names_are_moved_into_groups_and_out_again(builder):
    def move(text, *names, to="", new=""):
        shown = builder.shows(do="move", form="pairs", text=text, name=list(names), to=to, new=new)
        return shown.partition("<textarea")[2].partition(">\n")[2].partition("</textarea>")[0]

    text = move("", "nurse", "teacher", new="care")
    assert "nurse,care\n" in text
    assert "clerk,\n" in text
    text = move(text, "care", "clerk", new="indoors")
    assert {"care,indoors", "clerk,indoors", "indoors,"} <= set(text.splitlines())
    assert "Group 'care' cannot go into itself" in builder.visitor.post(
        f"/p/{builder.project.id}/preview",
        data={"column": JOB, "do": "move", "form": "pairs", "text": text, "name": "indoors", "to": "care"},
    ).text.replace("&#39;", "'")
    text = move(text, "nurse", "teacher", "clerk")
    assert not {"care", "indoors"} & {line.split(",")[0] for line in text.splitlines()}  # nobody is left in them


def test_trees_of_arx_go_in_and_out(builder, tmp_path):
    arx = "".join(f"{line.replace(',', ';')};*\n" for line in JOBS.splitlines())
    assert builder.keep(kind="own", form="taxonomy", text=arx).status_code == 303
    out = builder.visitor.get(f"/p/{builder.project.id}/tree.csv?column={JOB}")
    assert out.headers["content-disposition"] == 'attachment; filename="tree-4.csv"'
    assert set(out.text.splitlines()) == set(arx.splitlines())
    path = tmp_path / "arx.csv"
    path.write_bytes(out.content)
    assert Taxonomy.read_csv(path) == builder.spec()
    ranges = builder.visitor.get(f"/p/{builder.project.id}/tree.csv?column=1")
    assert ranges.status_code == 400
    assert "becomes ranges, which have no groups to write" in ranges.text


def test_codes_and_json_can_be_pasted(visitor):
    builder = Builder(visitor, "2")
    shown = builder.shows(
        kind="own", form="codes", text="100,Centre\n10055,\n101,North\n10118,\n10165,\n102,South\n10224,\n10231,\n"
    )
    assert "101 North" in shown
    nested = '{"trade": ["driver", "baker"], "care": ["nurse", "teacher", "clerk", "lawyer"]}'
    assert "Every value of job has a place" in Builder(visitor).shows(kind="own", form="taxonomy", text=nested)


def test_two_tabs_never_read_each_others_trees(builder):
    def shown(number):
        return builder.shows(kind="own", form="pairs", text=JOBS.replace("trade", f"trade{number}"))

    with ThreadPoolExecutor(4) as tabs:
        for number, page in enumerate(tabs.map(shown, range(12))):
            assert f"trade{number} " in page
    assert "'your tree'" in builder.shows(kind="own", form="pairs", text="a,b\na,c\n")
    assert [path.name for path in builder.project.folder.iterdir()] == []
