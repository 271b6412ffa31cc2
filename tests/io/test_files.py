from __future__ import annotations

import datetime as dt
import errno
import gzip
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from incrowd.errors import InputError, ParameterError
from incrowd.io import delimited, read, write

FULL = pl.DataFrame(
    {
        "whole": [1, None, -3],
        "real": [1.5, None, -2.25],
        "text": ['naïve, "q"\nline', None, "日本 ' ; \t x"],
        "flag": [True, None, False],
        "day": [dt.date(2020, 2, 29), None, dt.date(1999, 12, 31)],
        "moment": [dt.datetime(2020, 1, 1, 12, 30, 15), None, dt.datetime(1999, 1, 1, 1, 1, 1)],
        "ünicode näme": ["a", "b", "c"],
    }
)
SUFFIXES = [".csv", ".tsv", ".txt", ".csv.gz", ".parquet", ".pq", ".arrow", ".feather", ".ipc", ".xlsx"]
SECRET = "Smith4711"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def text_file(folder: Path, content: str | bytes, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def fails(source: str | Path, fact: str, **options: object) -> InputError:
    with pytest.raises(InputError, match=fact) as caught:
        read(source, **options)
    assert SECRET not in str(caught.value)
    assert caught.value.hint
    assert caught.value.__cause__ is None
    return caught.value


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_round_trip(tmp_path, suffix):
    path = tmp_path / f"people{suffix}"
    before = FULL.clone()
    write(FULL, path)
    assert_frame_equal(FULL, before)
    assert names(tmp_path) == [path.name]
    back = read(str(path))
    # A spreadsheet counts milliseconds.
    assert_frame_equal(back.with_columns(pl.col("moment").cast(pl.Datetime("us"))), FULL)


@pytest.mark.parametrize("native", [pd.DataFrame({"a": ["x"], "b": [1]}), pa.table({"a": ["x"], "b": [1]})])
def test_other_frames_are_written_too(tmp_path, native):
    write(native, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "a,b\nx,1\n"


cells = st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=6), st.sampled_from([".csv", ".tsv"]), st.integers(1, 40))
def test_any_text_survives_in_small_batches(tmp_path, monkeypatch, rows, suffix, batch):
    monkeypatch.setattr(delimited, "_BATCH", batch)
    frame = pl.DataFrame(rows, schema={"first": pl.String, 'second, "x"\n': pl.String}, orient="row")
    path = tmp_path / f"a{suffix}"
    write(frame, path)
    back = read(path, types=dict.fromkeys(frame.columns, "str"))
    empty_is_null = frame.with_columns(pl.when(pl.all().str.strip_chars(" ") != "").then(pl.all()))
    assert_frame_equal(back, empty_is_null)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(-(2**63), 2**63 - 1),
            st.none() | st.floats(allow_nan=False, allow_infinity=False),
            st.none() | st.dates(),
            st.none() | st.booleans(),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_declared_types_survive_csv(tmp_path, rows):
    schema = {"i": pl.Int64, "f": pl.Float64, "d": pl.Date, "b": pl.Boolean}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    write(frame, tmp_path / "a.csv")
    types = {"i": "int", "f": "float", "d": "date", "b": "bool"}
    assert_frame_equal(read(tmp_path / "a.csv", types=types), frame, check_exact=True)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (["1", "-2", "+3", ""], pl.Int64),
        (["1", " 2", "3 "], pl.Int64),
        (["1", "2.5", "1e3"], pl.Float64),
        (["1", "nan"], pl.Float64),
        (["nan", "inf"], pl.String),
        (["01234", "99999"], pl.String),
        (["0", "0.5", "-0.5"], pl.Float64),
        (["12345678901234567890", "1"], pl.String),
        (["2020-01-31", ""], pl.Date),
        (["2020-01-31", "2020-02-30"], pl.String),
        (["2020-1-31"], pl.String),
        (["2020-01-31", "unknown"], pl.String),
        (["2020-01-31 10:00:00", "2020-01-31T10:00:00.5"], pl.Datetime("us")),
        (["2020-01-31", "2020-01-31 10:00:00"], pl.String),
        (["True", "false", ""], pl.Boolean),
        (["true", "yes"], pl.String),
        (["", ""], pl.String),
        (["1", "x"], pl.String),
    ],
)
def test_guessed_types(tmp_path, values, dtype):
    path = text_file(tmp_path, "k,v\n" + "".join(f"k,{value}\n" for value in values))
    column = read(path)["v"]
    assert column.dtype == dtype
    if dtype == pl.String:
        assert column.to_list() == [value or None for value in values]


def test_late_text_is_no_error(tmp_path):
    path = text_file(tmp_path, "a,b\n" + "1,2020-01-01\n" * 5000 + "x,y\n")
    frame = read(path)
    assert frame.dtypes == [pl.String, pl.String]
    assert frame.height == 5001
    late = text_file(tmp_path, "a,b\n" + ",\n" * 5000 + "7,true\n", "late.csv")
    assert read(late).dtypes == [pl.Int64, pl.Boolean]


def test_missing_tokens(tmp_path):
    path = text_file(tmp_path, 'age,work\n39,?\n?,gov\n 50, ?\n"",NA\n')
    frame = read(path, missing_tokens=["?", "NA"])
    assert frame["age"].to_list() == [39, None, 50, None]
    assert frame["work"].to_list() == [None, "gov", None, None]
    assert read(path, missing_tokens="?")["work"].to_list() == [None, "gov", None, "NA"]
    write(pl.DataFrame({"a": ["?", "x"], "n": [1, 2]}), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet", missing_tokens=["?"])["a"].to_list() == [None, "x"]


def test_declared_types(tmp_path):
    path = text_file(tmp_path, "zip,n,ok,day,x\n01234,1.0,yes,2020-01-01,3\n999,2,0,,4\n")
    frame = read(path, types={"zip": "str", "n": "int", "ok": "bool", "day": "date", "x": "float"})
    assert frame.rows() == [("01234", 1, True, dt.date(2020, 1, 1), 3.0), ("999", 2, False, None, 4.0)]
    assert frame.columns == ["zip", "n", "ok", "day", "x"]


def test_declared_types_of_typed_files(tmp_path):
    source = pl.DataFrame({"zip": [1234.0, None], "t": [dt.datetime(2020, 1, 1, 5)] * 2, "b": [1, 0], "i": [2.0, 3.0]})
    source.write_parquet(tmp_path / "a.parquet")
    frame = read(tmp_path / "a.parquet", types={"zip": "str", "t": "date", "b": "bool", "i": "int"})
    assert frame.rows() == [("1234", dt.date(2020, 1, 1), True, 2), (None, dt.date(2020, 1, 1), False, 3)]


@pytest.mark.parametrize("kind", ["int", "float", "date", "bool"])
def test_misfits_are_counted_and_not_shown(tmp_path, kind):
    path = text_file(tmp_path, f"k,v\n1,{SECRET}\n2,\n3,{SECRET}\n")
    said = f"Column 'v' is declared as {kind}, but 2 of 3 rows do not fit, first in line 2"
    fails(path, said, types={"v": kind})
    path = text_file(tmp_path, f'k,v\n1,\n"2\n",{SECRET}\n')
    said = f"Column 'v' is declared as {kind}, but 1 of 2 rows does not fit: it is in row 2"
    fails(path, said, types={"v": kind})


def test_wrong_declarations(tmp_path):
    path = text_file(tmp_path, "a,b\n1,2\n")
    assert "'a', 'b'" in fails(path, "no column 'c'", types={"c": "int"}).hint
    with pytest.raises(ParameterError, match="declared as 'integer'") as caught:
        read(path, types={"a": "integer"})
    assert "int, float, str, date, bool" in caught.value.hint


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("a,b\n1,2\n", ["a", "b"]),
        ("a;b\n1;2\n", ["a", "b"]),
        ("a\tb\n1\t2\n", ["a", "b"]),
        ('"a,x";b\n1;2\n', ["a,x", "b"]),
        ("a,b\r\n1,2\r\n", ["a", "b"]),
        ("\ufeffa,b\n1,2", ["a", "b"]),
        ('a,"b"\n"1","2"', ["a", "b"]),
        ("a,b\n\n1,2\n\n\n", ["a", "b"]),
        ("a,b\r\n\r\n1,2\r\n\r\n", ["a", "b"]),
        ('"a\nx",b\n1,2\n', ["a\nx", "b"]),
    ],
)
@pytest.mark.parametrize("batch", [3, 1 << 20])
def test_dialects(tmp_path, monkeypatch, content, columns, batch):
    monkeypatch.setattr(delimited, "_BATCH", batch)
    frame = read(text_file(tmp_path, content))
    assert frame.columns == columns
    assert frame.rows() == [(1, 2)]


def test_a_blank_line_is_a_null_in_a_single_column(tmp_path):
    assert read(text_file(tmp_path, "a\n1\n\n3\n"))["a"].to_list() == [1, None, 3]


def test_progress(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "_BATCH", 1000)
    write(pl.DataFrame({"a": range(1000), "b": ["x"] * 1000}), tmp_path / "a.csv")
    calls: list[tuple[str, int, int]] = []
    read(tmp_path / "a.csv", progress=lambda *call: calls.append(call))
    done = [call[1] for call in calls if call[0] == "reading"]
    assert len(done) > 5
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, (tmp_path / "a.csv").stat().st_size)
    assert calls[-1] == ("finding types", 2, 2)
    for suffix in (".csv.gz", ".parquet", ".xlsx", ".arrow"):
        calls.clear()
        write(FULL, tmp_path / f"p{suffix}")
        read(tmp_path / f"p{suffix}", progress=lambda *call: calls.append(call))
        size = (tmp_path / f"p{suffix}").stat().st_size
        assert calls[0] == ("reading", 0, size)
        assert ("reading", size, size) in calls


def test_paths_that_are_not_files(tmp_path):
    fails(tmp_path / "none.csv", "There is no file")
    fails(tmp_path, "is a folder without a table")
    file = text_file(tmp_path, "x")
    fails(file / "below.csv", "cannot be opened: Not a directory")


def test_unreadable(tmp_path, monkeypatch):
    path = text_file(tmp_path, "a\n1\n")

    def refuse(self, *args, **kwargs):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    fails(path, "cannot be opened: Permission denied")


@pytest.mark.parametrize("name", ["a.docx", "a", "a.gz", "a.parquet.gz"])
def test_unknown_suffix(tmp_path, name):
    error = fails(text_file(tmp_path, "x", name), "not a known format")
    for suffix in SUFFIXES:
        assert suffix in error.hint
    with pytest.raises(InputError, match="not a known format"):
        write(FULL, tmp_path / f"b{Path(name).suffix}")


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        (b"", "is empty"),
        (b"\n\n", "line 1 is blank"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"a,b", "has a header and no rows"),
        (b"a,b\n", "has a header and no rows"),
        (b"a,b\n\n\n", "has a header and no rows"),
        (b'a,b,"a"\n1,2,3\n', "has 2 columns named 'a'"),
        (b"a,,b\n1,2,3\n", "column 2 of 3 has no name"),
        (b",a\n1,2\n", "column 1 of 2 has no name"),
        (b"a,b\n1,2\n3,Smith4711\0\n", "line 3: there is a NUL byte"),
        (b"a\0,b\n1,2\n", "line 1: there is a NUL byte"),
        ("a,b\nü,ö\n3,Smith4711".encode() + b"\xe9\nx,y\n", r"line 3: the text is not UTF-8 \(byte 21\)"),
        (b"\xef\xbb\xbfa,b\n" + "éé,ï\n".encode() + b"1,\xe9\n", r"line 3: the text is not UTF-8 \(byte 17\)"),
        ("näöü".encode() + b"\xe9,b\n1,2\n", r"line 1: the text is not UTF-8 \(byte 7\)"),
        (b"a,b\n1,2\n3\n4,5\n", "line 3: 1 field, but the header has 2"),
        (b"a,b\n1,2\n3,4,Smith4711\n", "line 3: 3 fields, but the header has 2"),
        (b'a,b\n"x\ny",2\n\n3,Smith4711,5\n', "line 5: 3 fields, but the header has 2"),
        (b'a,b\n1,2\n"Smith4711,4\n5,6\n', "line 3: a quote is never closed"),
        (b'a,b\n1,2\nSmith4711" x,4\n', "line 3: a quote"),
        (b'a,b\n1,2\n"Smith4711"x,4\n', "line 3: a quote stands in the middle"),
        (b'a,b\n1,x" y" z\n', "line 2: a quote stands in the middle"),
        (b'"a,b\n1,2\n', "line 1: a quote in the header is never closed"),
        (b'a"b"c,b\n"x"y"z",2\n', "line 2: a quote stands in the middle"),
        (b'"a"b,c\n1,2\n', "line 1: the quotes of the header"),
        (b"a,b\r1,2\r", "carriage returns only"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("batch", [4, 1 << 20])
def test_damaged_text(tmp_path, monkeypatch, content, fact, packed, batch):
    monkeypatch.setattr(delimited, "_BATCH", batch)
    data, name = (gzip.compress(content), "people.csv.gz") if packed else (content, "people.csv")
    path = text_file(tmp_path, data, name)
    fails(path, fact)
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize("cut", [10, -4])
def test_damaged_gzip(tmp_path, cut):
    content = gzip.compress(b"a,b\n" + b"1,Smith4711\n" * 100)
    fails(text_file(tmp_path, content[:cut], "a.csv.gz"), "not a complete gzip file")
    fails(text_file(tmp_path, "a,b\n1,2\n", "b.csv.gz"), "not a complete gzip file")


@pytest.mark.parametrize(
    ("suffix", "fact"),
    [(".parquet", "is not a Parquet file"), (".arrow", "is not an Arrow file"), (".xlsx", "is not an Excel workbook")],
)
def test_damaged_binary_files(tmp_path, suffix, fact):
    whole = tmp_path / f"whole{suffix}"
    write(FULL, whole)
    fails(text_file(tmp_path, whole.read_bytes()[:-40], f"cut{suffix}"), fact)
    fails(text_file(tmp_path, SECRET, f"other{suffix}"), fact)
    fails(text_file(tmp_path, b"", f"empty{suffix}"), "is empty")
    write(FULL.clear(), whole)
    fails(whole, "has no rows")


def test_nested_parquet(tmp_path):
    pl.DataFrame({"bad": [[1]]}).write_parquet(tmp_path / "a.parquet")
    fails(tmp_path / "a.parquet", "column 'bad' has the type List")


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".arrow", ".xlsx"])
@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_failed_write_keeps_the_old_file(tmp_path, monkeypatch, suffix, failure):
    path = text_file(tmp_path, "old", f"a{suffix}")

    def fail(*args, **kwargs):
        raise failure

    for name in ("write_csv", "write_parquet", "write_ipc", "write_excel"):
        monkeypatch.setattr(pl.DataFrame, name, fail)
    with pytest.raises((InputError, KeyboardInterrupt)) as caught:
        write(FULL, path)
    if isinstance(failure, OSError):
        assert "No space left" in caught.value.fact
    assert path.read_text() == "old"
    assert names(tmp_path) == [path.name]


def test_write_into_a_missing_folder(tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        write(FULL, tmp_path / "none" / "a.parquet")
    with pytest.raises(InputError, match="takes no table name"):
        write(FULL, tmp_path / "a.parquet", table="x")


def test_a_library_that_panics_is_a_damaged_file(tmp_path, monkeypatch):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "x.parquet")

    def panic(*_args, **_settings):
        raise pl.exceptions.PanicException

    monkeypatch.setattr(pl, "read_parquet", panic)
    with pytest.raises(InputError, match="damaged"):
        read(tmp_path / "x.parquet")


def test_a_title_above_the_names_is_no_table_of_one_column(tmp_path):
    (tmp_path / "a.csv").write_text("Report 2023\n\na;b\n1;2\n3;4\n")
    with pytest.raises(InputError, match="line 1 is one name, and the lines from 3 on are divided by ';'") as caught:
        read(tmp_path / "a.csv")
    assert "delete the lines above the column names" in caught.value.hint
    (tmp_path / "a.csv").write_text("text\nHello, world\nGood bye, moon\n")
    assert read(tmp_path / "a.csv", delimiter="|").shape == (2, 1)
