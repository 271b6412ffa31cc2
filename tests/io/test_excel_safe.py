from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest

from incrowd import io

RISKY = [
    "=1+1", "+cmd", "-2+3", "@sum(a)", "\tx", "\rx", "\nx", "=", "-", "\uff0d1+1", " =1", '"=1"', "x;=cmd", "x\t=cmd",
    'x;"=1"', "-3 to 5", "x;;=1",
]  # fmt: skip
FINE = [
    "",
    "x",
    "'=1",
    "a=b",
    "a-b",
    "21-30",
    "-5",
    "+5.25",
    "-1e-07",
    "2001-01-01",
    "a@b.org",
    "a;b",
    None,
    "*",
    "(missing)",
]


@pytest.mark.parametrize("text", RISKY)
def test_formulas_are_found_and_defused(text: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"fine": FINE, "risky": [*FINE[1:], text], "number": -1.5})
    assert io.risky_cells(frame) == ["risky"]
    io.write_excel_safe(frame, tmp_path / "copy.csv")
    with (tmp_path / "copy.csv").open(encoding="utf-8-sig", newline="") as handle:
        rows = list(csv.reader(handle))
    assert rows[0] == ["fine", "risky", "number"]
    assert [row[0] for row in rows[1:]] == [value or "" for value in FINE]
    assert rows[-1][1].replace("'", "", 1) == text
    assert not io.risky_cells(pl.DataFrame({"v": [rows[-1][1]]}))
    assert {row[2] for row in rows[1:]} == {"-1.5"}


def test_every_cell_that_a_program_could_cut_out_is_harmless(tmp_path: Path) -> None:
    io.write_excel_safe(
        pl.DataFrame({"v": RISKY, "w": [text + text for text in RISKY], "x": ["\t" + text for text in RISKY]}),
        tmp_path / "copy.csv",
    )
    written = (tmp_path / "copy.csv").read_text(encoding="utf-8-sig")
    for mark in (",", ";", "\t"):
        for cell in written.replace("\r", "\n").replace("\n", mark).split(mark):
            assert not cell.strip('" ').startswith(("=", "+", "-", "@")), cell


def test_names_of_columns_count(tmp_path: Path) -> None:
    frame = pl.DataFrame({"=a": [1], "b": pl.Series(["@x"], dtype=pl.Categorical)})
    assert io.risky_cells(frame) == ["=a", "b"]
    io.write_excel_safe(frame, tmp_path / "copy.csv")
    assert (tmp_path / "copy.csv").read_bytes() == b"\xef\xbb\xbf'=a,b\n1,'@x\n"
    assert frame.columns == ["=a", "b"]
