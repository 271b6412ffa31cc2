from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import HierarchyError
from incrowd.hierarchy import Taxonomy
from incrowd.hierarchy.level_files import read_levels, write_levels


@pytest.fixture
def read(tmp_path):
    def read(content):
        path = tmp_path / "work.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_levels(path)

    return read


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_plain_table(read, delimiter, newline, bom, end):
    rows = [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]]
    content = bom + newline.join(delimiter.join(row) for row in rows) + end.replace("\n", newline)
    assert read(content) == (["a", "b", "c"], [["x", "x", "y"], ["*", "*", "*"]])


@pytest.mark.parametrize(
    ("header", "is_header"),
    [
        ("level0,level1,level2", True),
        ("Level_0,Level_1,Level_2", True),
        ("level 0,level 1,level 2", True),
        ("work,group,all", True),
        ("work,group,*", False),
        ("level0,level1,*", False),
    ],
)
def test_header(read, header, is_header):
    leaves, uppers = read(f"{header}\na,x,*\nb,y,*\n")
    assert leaves == (["a", "b"] if is_header else [header.split(",")[0], "a", "b"])
    assert len(uppers) == 2


@pytest.mark.parametrize(
    ("content", "leaves"),
    [
        ("work,all\na,*\n", ["a"]),
        ("work,all\na,Any\n", ["work", "a"]),  # two leaves without a root, as far as one can tell
        ("work,all\na,Any\nb,Any\n", ["a", "b"]),
        ("a,x\nb,y\nc,z\n", ["a", "b", "c"]),
        ("a,*\n", ["a"]),
        ("a\nb\n", ["a", "b"]),
        ("level0\na\n", ["a"]),
    ],
)
def test_header_of_small_tables(read, content, leaves):
    assert read(content)[0] == leaves


@pytest.mark.parametrize(
    ("content", "leaves", "level1"),
    [
        ('17,"[15, 20[",*\n21,"[20, 25[",*\n', ["17", "21"], ["[15, 20[", "[20, 25["]),
        ("17;[15, 20[;*\n21;[20, 25[;*\n", ["17", "21"], ["[15, 20[", "[20, 25["]),
        ("a;b,x,*\nc;d,y,*\n", ["a;b", "c;d"], ["x", "y"]),
        ('"a, b";x;*\nc;y;*\n', ["a, b", "c"], ["x", "y"]),
        ('"a;b",x,*\n"c,d",y,*\n', ["a;b", "c,d"], ["x", "y"]),
        ("head, a;group;root\na, b;x;*\nc, d;y;*\n", ["a, b", "c, d"], ["x", "y"]),
        ('"say ""a""",x,*\n"two\nlines",y,*\n', ['say "a"', "two\nlines"], ["x", "y"]),
        ("a;p,x;*\nb;q,x;*\n", ["a", "b"], ["p,x", "q,x"]),
        (" a ,x,*\nä→😀,y,*\n", [" a ", "ä→😀"], ["x", "y"]),
    ],
)
def test_delimiter_inside_names(read, content, leaves, level1):
    assert read(content) == (leaves, [level1, ["*", "*"]])


def test_a_root_decides_between_delimiters(read):
    assert read("a, b, c;*\nd, e, f;*\n") == (["a, b, c", "d, e, f"], [["*", "*"]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("\ufeff", "is empty"),
        ("\n \r\n", "is empty"),
        ("level0,level1\n", "has no leaves"),
        ("a,x,*\nb,*\nc,x,*\n", "line 2, has 2 cells where the first row has 3"),
        ("level0;level1;level2\na;x;*\n\nb;x;y;*\n", "line 4, has 4 cells where the first row has 3"),
        ('"two\nlines",x,*\nb,*\n', "line 3, has 2 cells"),
        ("a,x,*\nb,*\nc;d\n", "line 2, has 2 cells"),
        ("a,x,*\n,x,*\n", "line 2, has an empty leaf"),
        ("level0,level1,level2\na,x,*\nb,,*\n", "line 3, has an empty name in column 2"),
        ('a,x,*\n"b,x,*\n', "line 2, is not CSV"),
        (b"a,x,*\nb\xe4,x,*\n", "line 2, is not UTF-8"),
        ("a,x,*\n".encode("utf-16"), "is not UTF-8"),
        ("a,x,*\nb\0,x,*\n", "line 2, has a NUL"),
    ],
)
def test_errors_name_file_and_line(read, content, message):
    with pytest.raises(HierarchyError) as caught:
        read(content)
    assert "work.csv'" in caught.value.fact
    assert message in caught.value.fact
    assert caught.value.hint


def test_unreadable_path(tmp_path):
    with pytest.raises(HierarchyError, match=r"nowhere\.csv' cannot be read: No such file"):
        read_levels(tmp_path / "nowhere.csv")
    with pytest.raises(HierarchyError, match="cannot be read"):
        read_levels(tmp_path)
    with pytest.raises(HierarchyError, match="cannot be written"):
        write_levels(tmp_path / "no" / "folder.csv", [["a"], ["*"]])


def test_written_form(tmp_path):
    write_levels(tmp_path / "age.csv", [["17", "a;b"], ["[15, 20[", "x"], ["*", "*"]])
    assert (tmp_path / "age.csv").read_bytes() == b'level0,level1,level2\n17,"[15, 20[",*\na;b,x,*\n'


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=5)


@given(st.lists(st.tuples(names, names, names), min_size=1, max_size=6))
def test_round_trip(tmp_path_factory, rows):
    levels = [list(level) for level in zip(*rows, strict=True)]
    path = tmp_path_factory.getbasetemp() / "round_trip.csv"
    write_levels(path, levels)
    leaves, uppers = read_levels(path)
    assert [leaves, *uppers] == levels


def test_taxonomy_round_trip(tmp_path):
    work = Taxonomy.from_nested({"Paid, or so": ["Private", "State; federal"], "Unpaid": ['"Never"', "é"]})
    work.write_csv(tmp_path / "work.csv")
    again = Taxonomy.read_csv(tmp_path / "work.csv")
    assert again == work
    assert again.file == str(tmp_path / "work.csv")


def test_taxonomy_errors_name_the_file(tmp_path):
    (tmp_path / "work.csv").write_text("a,x,*\nb,x,*\na,x,*\n")
    with pytest.raises(HierarchyError, match=r"work\.csv' lists 'a' more than once: in line 1 and in line 3"):
        Taxonomy.read_csv(tmp_path / "work.csv")
