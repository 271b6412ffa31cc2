from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from incrowd.errors import InputError, MissingDependencyError
from incrowd.io import read, write

SMALL = pl.DataFrame({"a": [1, 2]})
SECRET = "Smith4711"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_missing_token_on_a_sheet(tmp_path):
    import xlsxwriter

    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as workbook:
        sheet = workbook.add_worksheet()
        for position, value in enumerate(["age", 39, "?", 50]):
            sheet.write(position, 0, value)
    assert read(tmp_path / "a.xlsx", missing_tokens=["?"])["age"].to_list() == [39, None, 50]


@pytest.mark.parametrize(
    ("header", "fact"),
    [(["a", "a"], "has 2 columns named 'a'"), (["a", None, "b"], "column 2 of 3 has no name"), ([], "sheet is empty")],
)
def test_header_of_a_sheet(tmp_path, header, fact):
    import xlsxwriter

    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as workbook:
        sheet = workbook.add_worksheet()
        for column, name in enumerate(header):
            sheet.write(0, column, name)
            sheet.write(1, column, SECRET)
    with pytest.raises(InputError, match=fact) as caught:
        read(tmp_path / "a.xlsx")
    assert SECRET not in str(caught.value)


def test_text_on_a_sheet_is_never_a_formula(tmp_path):
    frame = pl.DataFrame({"a": ["=1+1", "https://example.org", "@x"]})
    write(frame, tmp_path / "a.xlsx")
    assert_frame_equal(read(tmp_path / "a.xlsx"), frame)


@pytest.mark.parametrize("action", [read, lambda path: write(SMALL, path)])
def test_excel_needs_its_extra(tmp_path, monkeypatch, action):
    path = tmp_path / "a.xlsx"
    path.write_text("x")
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(MissingDependencyError, match=r"incrowd\[excel\]"):
        action(path)
    assert names(tmp_path) == ["a.xlsx"]


def test_what_excel_cannot_hold(tmp_path):
    with pytest.raises(InputError, match="do not fit on an Excel sheet"):
        write(pl.DataFrame({"a": pl.repeat(1, 1_048_576, eager=True)}), tmp_path / "a.xlsx")
    with pytest.raises(InputError, match="can only be read"):
        write(SMALL, tmp_path / "a.xls")
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("column", "fact"),
    [
        (pl.Series([SECRET * 5000]), "text of more than 32767 characters"),
        (pl.Series([float("inf"), 1.0]), "infinite numbers"),
        (pl.Series([-(10**15)]), "whole numbers of more than 15 digits"),
        (pl.Series([dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]), "a time zone"),
        (pl.Series([None, dt.date(1850, 1, 1)]), "dates before 1901"),
    ],
)
def test_values_that_excel_would_spoil(tmp_path, column, fact):
    with pytest.raises(InputError, match=f"Column 'bad' has {fact}") as caught:
        write(pl.DataFrame({"bad": column}), tmp_path / "a.xlsx")
    assert SECRET not in str(caught.value)
    assert names(tmp_path) == []


def workbook(path: Path, **sheets: list[list[object]]) -> Path:
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for at, row in enumerate(rows):
                sheet.write_row(at, 0, row)
    return path


TABLE = [["age", "job"], [34, "nurse"], [51, SECRET]]


@pytest.mark.parametrize("cover", [[], [["Annual report"], [], ["for internal use"]], [["Report", ""], ["x", "y"]]])
def test_a_cover_sheet_does_not_hide_the_table(tmp_path, cover):
    path = workbook(tmp_path / "a.xlsx", Cover=cover, Notes=[["text"]], People=TABLE)
    with pytest.raises(InputError, match="sheet 'Cover'") as caught:
        read(path)
    assert caught.value.hint == "give the sheet with the table: sheet='People' looks like one"
    assert SECRET not in str(caught.value)
    assert read(path, sheet="People")["age"].to_list() == [34, 51]
    with pytest.raises(InputError, match="no sheet 'people'") as caught:
        read(path, sheet="people")
    assert "'Cover', 'Notes', 'People'" in caught.value.hint


def test_the_sheet_that_was_taken_is_said(tmp_path):
    from incrowd.io import Findings, Reading, read_with_findings

    said: list[str] = []
    path = workbook(tmp_path / "a.xlsx", People=TABLE, More=TABLE)
    findings = Findings(said.append)
    assert read_with_findings(path, Reading(), findings).height == 2
    assert findings.taken == {"sheet": "People"}
    assert "has 2 sheets; sheet='People' was taken" in said[0]
