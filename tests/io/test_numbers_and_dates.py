"""Decimal commas, separated thousands and local dates: taken where they are clear, and said; otherwise only said."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from incrowd.errors import InputError, ParameterError
from incrowd.io import Findings, Reading, read, read_with_findings


def found(tmp_path, content: str, **settings):
    (tmp_path / "a.csv").write_text(content, encoding="utf-8")
    said: list[str] = []
    findings = Findings(said.append)
    return read_with_findings(tmp_path / "a.csv", Reading(**settings), findings), findings, said


@pytest.mark.parametrize(
    ("cells", "values", "decimal", "thousands"),
    [
        (["1,5", "2", "-0,25"], [1.5, 2.0, -0.25], ",", None),
        (["1.234,5", "12.000,75", "3"], [1234.5, 12000.75, 3.0], ",", "."),
        (["1,234,567", "2,500", "12"], [1234567, 2500, 12], None, ","),
        (["1,234.5", "2,500.25", "12"], [1234.5, 2500.25, 12.0], None, ","),
        (["1.234.567", "2.500", "12"], [1234567, 2500, 12], None, "."),
        (["1 234,5", "12 000,75", "7"], [1234.5, 12000.75, 7.0], ",", " "),
        (["1\u202f234,5", "12\u00a0000,75", "7"], [1234.5, 12000.75, 7.0], ",", " "),
        (["1'234.5", "12'000.75", "7"], [1234.5, 12000.75, 7.0], None, "'"),
        (["0,125", "1,250", "3,500"], [0.125, 1.25, 3.5], ",", None),
        (["1234,567", "1,250"], [1234.567, 1.25], ",", None),
        (["1.5", "2.25"], [1.5, 2.25], None, None),
    ],
)
def test_numbers_are_read_as_they_are_written(tmp_path, cells, values, decimal, thousands):
    frame, findings, said = found(tmp_path, "k;v\n" + "".join(f"x;{cell}\n" for cell in cells))
    assert frame["v"].to_list() == values
    assert findings.taken.get("decimal") == decimal
    assert findings.taken.get("thousands") == thousands
    assert len(said) == (decimal is not None) + (thousands is not None)
    if decimal:
        assert "decimal comma in column 'v'; decimal=',' was taken" in said[0]


def test_a_comma_that_may_be_either_sign_is_said(tmp_path):
    content = "k;v\nx;1,234\ny;2,500\n"
    frame, _, said = found(tmp_path, content)
    assert frame["v"].dtype == pl.String
    assert len(said) == 1
    assert said[0].startswith("Column 'v' stays text: its commas may be decimal signs or stand between thousands")
    assert said[0].endswith("Give decimal=',' or thousands=','")
    assert found(tmp_path, content, decimal=",")[0]["v"].to_list() == [1.234, 2.5]
    assert found(tmp_path, content, thousands=",")[0]["v"].to_list() == [1234, 2500]


def test_other_columns_decide_what_is_open(tmp_path):
    frame, _, said = found(tmp_path, "v;w;z\n1,234;3,5;1.234\n2,500;4,25;12.500\n")
    assert frame.rows() == [(1.234, 3.5, 1234), (2.5, 4.25, 12500)]
    assert len(said) == 2
    frame, _, said = found(tmp_path, "v;w\n1,234,567;3,5\n2,500,000;4,25\n")
    assert frame.dtypes == [pl.String, pl.String]
    assert said[0].startswith("Columns 'w', 'v' stay text: a comma is a decimal sign in some")


def test_a_line_that_makes_a_column_text_is_named(tmp_path):
    content = "a;b\n" + "1,5;2\n" * 409 + "unclear;2\n"
    frame, _, said = found(tmp_path, content)
    assert frame["a"].dtype == pl.String
    assert said[-1].startswith("Column 'a' is text because 1 row of 410, in line 411, is not a number")
    assert "unclear" not in " ".join(said)


def test_a_wrong_delimiter_is_pointed_out(tmp_path):
    with pytest.raises(InputError, match="line 3: 3 fields, but the header has 2") as caught:
        found(tmp_path, "a;b,c\n1;2,3\n4;5,6,7\n", delimiter=",")
    assert "delimiter=';'" in caught.value.hint
    assert found(tmp_path, "a|b\n1|2\n")[0].rows() == [(1, 2)]
    assert found(tmp_path, "a\tb,c\n1\t2\n", delimiter="tab")[0].columns == ["a", "b,c"]


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (["22.03.1998", "01.12.1990"], "%d.%m.%Y"),
        (["1.3.1998", "2.12.1990"], "%d.%m.%Y"),
        (["03/22/1998", "12/01/1990"], "%m/%d/%Y"),
        (["22/03/1998", "01/12/1990"], "%d/%m/%Y"),
        (["22-03-1998", "01-12-1990"], "%d-%m-%Y"),
        (["1998/03/22", "1990/12/01"], "%Y/%m/%d"),
        (["1998年3月22日", "1990年12月1日"], "%Y年%m月%d日"),
    ],
)
def test_clear_dates_are_read(tmp_path, cells, form):
    frame, findings, said = found(tmp_path, "k;v\n" + "".join(f"x;{cell}\n" for cell in cells))
    assert frame["v"].dtype == pl.Date
    assert findings.date_formats == {"v": form}
    assert f"Dates of 'v' were read as {form}" in said[0]
    expected = [dt.datetime.strptime(cell, form).date() for cell in cells]
    assert frame["v"].to_list() == expected


@pytest.mark.parametrize(
    ("cells", "why", "choices"),
    [
        (["03/04/1998", "05/06/1990"], "no number above 12", ["%d/%m/%Y", "%m/%d/%Y"]),
        (["22.03.98", "01.12.90"], "two digits", ["%d.%m.%y"]),
    ],
)
def test_unclear_dates_are_said(tmp_path, cells, why, choices):
    content = "k;v\n" + "".join(f"x;{cell}\n" for cell in cells)
    frame, findings, said = found(tmp_path, content)
    assert (frame["v"].dtype, findings.date_formats) == (pl.String, {})
    assert why in said[0]
    assert all(f"date_format='{choice}'" in said[0] for choice in choices)
    for choice in choices:
        assert found(tmp_path, content, date_format=choice)[0]["v"].dtype == pl.Date
        assert found(tmp_path, content, date_formats={"v": choice}, types={"v": "date"})[0]["v"].dtype == pl.Date
    with pytest.raises(InputError, match="declared as date, but 2 of 2 rows do not fit") as caught:
        found(tmp_path, content, types={"v": "date"})
    assert f"date_format={choices[0]!r}" in caught.value.hint


def test_day_and_month_may_even_be_mixed(tmp_path):
    frame, _, said = found(tmp_path, "k;v\na;22/03/1998\nb;03/22/1998\n")
    assert frame["v"].dtype == pl.String
    assert "not all of it fits one" in said[0]
    with pytest.raises(InputError, match="not dates of the form '%d/%m/%Y', first in line 3"):
        found(tmp_path, "k;v\na;22/03/1998\nb;03/22/1998\n", date_formats={"v": "%d/%m/%Y"})


@pytest.mark.parametrize(
    ("settings", "fact"),
    [
        ({"date_format": "%d.%m."}, "has no %Y"),
        ({"decimal": ",,"}, "The decimal sign has 2 characters"),
        ({"decimal": ",", "thousands": ","}, "are both ','"),
        ({"format": "doc"}, "There is no format 'doc'"),
    ],
)
def test_settings_that_cannot_be(tmp_path, settings, fact):
    with pytest.raises(ParameterError, match=fact):
        found(tmp_path, "a\n1\n", **settings)
    with pytest.raises(InputError, match="no setting 'encodng'"):
        read(tmp_path / "a.csv", encodng="x")


def test_text_in_one_notation_for_whoever_reads_it_again(tmp_path):
    frame, _, _ = found(
        tmp_path,
        "n;d;s\n3,5;22.03.1998;1,5\nk.A.;k.A.;x\n",
        types=dict.fromkeys("nds", "str"),
        canonical={"n": "float", "d": "date"},
    )
    assert frame.rows() == [("3.5", "1998-03-22", "1,5"), ("k.A.", "k.A.", "x")]
