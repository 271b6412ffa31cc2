"""Packed files, standard input, folders and patterns, database files, statistics files."""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import io as memory
import lzma
import sqlite3
import sys
import zipfile

import duckdb
import polars as pl
import pyreadstat
import pytest
import zstandard

from incrowd.errors import InputError, MissingDependencyError
from incrowd.io import Findings, Reading, read, read_with_findings, write

CSV = b"a,b\n1,x\n2,y\n"
ROWS = [(1, "x"), (2, "y")]
PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstandard.compress}
SECRET = "Smith4711"


def fails(source, fact, **settings) -> InputError:
    with pytest.raises(InputError, match=fact) as caught:
        read(source, **settings)
    assert SECRET not in str(caught.value)
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize("packing", PACK)
def test_packed_files(tmp_path, packing):
    path = tmp_path / f"a.csv{packing}"
    path.write_bytes(PACK[packing](CSV))
    assert read(path).rows() == ROWS
    path.write_bytes(PACK[packing](CSV) * 2 if packing == ".zst" else PACK[packing](CSV))
    whole = PACK[packing](b"a,b\n" + f"1,{SECRET}\n".encode() * 3000)
    for damaged in (whole[:-6], b"nonsense"):
        path.write_bytes(damaged)
        fails(path, "is not a complete")


def test_several_frames_in_one_packed_file(tmp_path):
    (tmp_path / "a.csv.zst").write_bytes(zstandard.compress(b"a,b\n1,x\n") + zstandard.compress(b"2,y\n"))
    assert read(tmp_path / "a.csv.zst").rows() == ROWS


def test_zip_files_hold_one_table(tmp_path):
    for name, inside in (("a.zip", "people.csv"), ("a.csv.zip", "x.dat")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(inside, CSV)
            archive.writestr("__MACOSX/._people.csv", "x")
        assert read(tmp_path / name).rows() == ROWS
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", CSV)
        archive.writestr("b.csv", CSV)
    fails(tmp_path / "two.zip", "holds 2 files")
    (tmp_path / "bad.zip").write_bytes(b"nonsense")
    fails(tmp_path / "bad.zip", "is not a complete zip file")


def test_only_gzip_is_written(tmp_path):
    with pytest.raises(InputError, match="this format can only be read"):
        write(pl.DataFrame({"a": [1]}), tmp_path / "a.csv.zst")
    assert list(tmp_path.iterdir()) == []


def test_zstandard_needs_its_extra(tmp_path, monkeypatch):
    (tmp_path / "a.csv.zst").write_bytes(zstandard.compress(CSV))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    with pytest.raises(MissingDependencyError, match=r"incrowd\[zstd\]"):
        read(tmp_path / "a.csv.zst")


def test_standard_input(monkeypatch):
    def send(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", memory.TextIOWrapper(memory.BytesIO(data)))

    send(CSV)
    assert read("-").rows() == ROWS
    send(b"a\tb\n1\tM\xfcller\n")
    assert read("-", format="tsv").rows() == [(1, "Müller")]  # read twice: it is not UTF-8
    with pytest.raises(InputError, match="Parquet cannot be read from standard input"):
        read("-", format="parquet")


def test_a_format_beats_the_suffix(tmp_path):
    (tmp_path / "a.dat").write_bytes(CSV)
    assert "format='csv'" in fails(tmp_path / "a.dat", "not a known format").hint
    assert read(tmp_path / "a.dat", format="csv").rows() == ROWS


def test_folders_and_patterns(tmp_path):
    for number in range(3):
        (tmp_path / f"part-{number}.csv").write_bytes(f"a,b\n{number},x\n".encode())
    (tmp_path / ".hidden.csv").write_bytes(b"z\n1\n")
    assert read(tmp_path).rows() == [(0, "x"), (1, "x"), (2, "x")]
    assert read(tmp_path / "part-[01].csv").height == 2
    assert read(str(tmp_path / "*.csv")).height == 3
    fails(tmp_path / "*.tsv", "No file has a name like")
    (tmp_path / "part-3.csv").write_bytes(b"b,a\nx,3\n")
    assert read(tmp_path)["a"].to_list() == [0, 1, 2, 3]
    (tmp_path / "part-4.csv").write_bytes(b"a,c\n3,x\n")
    fails(tmp_path, r"part-4.csv' lacks the column 'b' of .*part-0.csv'")
    (tmp_path / "part-4.csv").write_bytes(f"a,b\n{SECRET},x\n".encode())
    fails(tmp_path, r"Column 'a' holds numbers in .*part-0.csv' and texts in .*part-4.csv'")
    assert read(tmp_path, types={"a": "str"}).height == 5
    write(pl.DataFrame({"a": [1], "b": ["x"]}), tmp_path / "other.parquet")
    fails(tmp_path, "files of one table have one format")


def test_a_parquet_dataset(tmp_path):
    for year in (2020, 2021):
        (tmp_path / f"year={year}").mkdir()
        pl.DataFrame({"a": [year], "b": ["x"]}).write_parquet(tmp_path / f"year={year}" / "0.parquet")
    assert read(tmp_path).rows() == [(2020, "x", 2020), (2021, "x", 2021)]
    pl.DataFrame({"a": [SECRET], "b": ["x"]}).write_parquet(tmp_path / "year=2021" / "1.parquet")
    fails(tmp_path, r"Column 'a' holds numbers in .*0.parquet' and texts in .*1.parquet'")


def test_sqlite_files(tmp_path):
    path = tmp_path / "people.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table people (a integer, b text)")
        connection.executemany("insert into people values (?, ?)", ROWS)
    connection.close()
    before = path.read_bytes()
    findings = Findings()
    assert read_with_findings(path, Reading(), findings).rows() == ROWS
    assert findings.taken == {"table": "people"}
    assert read(path, query="select a from people where a > 1").rows() == [(2,)]
    fails(path, "only queries are sent", query="drop table people")
    with sqlite3.connect(path) as connection:
        connection.execute("create table more (z integer)")
    connection.close()
    assert "'more', 'people'" in fails(path, "has 2 tables").hint
    fails(path, "has no table 'peple'", table="peple")
    assert read(path, table="people").rows() == ROWS
    assert read(f"sqlite:///{path}", table="people").rows() == ROWS
    assert before[:16] == path.read_bytes()[:16]
    (tmp_path / "bad.db").write_bytes(b"nonsense")
    fails(tmp_path / "bad.db", "is not an SQLite file")


def test_duckdb_files(tmp_path):
    path = tmp_path / "people.duckdb"
    connection = duckdb.connect(str(path))
    connection.execute("create table people (a integer, b varchar)")
    connection.executemany("insert into people values (?, ?)", ROWS)
    connection.close()
    before = path.read_bytes()
    assert read(path).rows() == ROWS
    assert read(path, query="select a from people where a > 1").rows() == [(2,)]
    fails(path, "only queries are sent", query="drop table people")
    fails(path, "did not answer the query", query=f"select {SECRET} from people")
    (tmp_path / "other.csv").write_bytes(CSV)
    fails(path, "did not answer the query", query=f"select * from read_csv('{tmp_path / 'other.csv'}')")
    assert path.read_bytes() == before
    path.rename(tmp_path / "people.db")
    assert read(tmp_path / "people.db", table="people").rows() == ROWS
    (tmp_path / "bad.duckdb").write_bytes(b"nonsense")
    fails(tmp_path / "bad.duckdb", "is not a DuckDB file")


PEOPLE = pl.DataFrame(
    {
        "sex": [1.0, 2.0, 1.0, 9.0],
        "age": [34.0, 99.0, 50.0, -9.0],
        "name": ["a", "b", "", "d"],
        "day": [dt.date(2020, 1, 1), dt.date(2020, 2, 2), None, dt.date(2021, 3, 3)],
        "x": [1.5, None, 2.5, 3.0],
    }
)
LABELS = {"sex": {1: "male", 2: "female", 9: "unknown"}, "age": {99: "not known"}}


def test_spss_files_with_labels_and_declared_missing_values(tmp_path):
    path = tmp_path / "people.sav"
    missing = {"age": [99, {"lo": -9, "hi": -1}], "sex": [9]}
    pyreadstat.write_sav(PEOPLE.to_pandas(), path, variable_value_labels=LABELS, missing_ranges=missing)
    said: list[str] = []
    frame = read_with_findings(path, Reading(), Findings(said.append))
    assert frame["sex"].to_list() == ["male", "female", "male", None]
    assert frame["age"].to_list() == [34, None, 50, None]
    assert frame["name"].to_list() == ["a", "b", None, "d"]
    assert frame["day"].dtype == pl.Date
    assert said == [
        "Column 'sex': 1 row with a value that the file declares missing",
        "Column 'age': 2 rows with a value that the file declares missing",
    ]


def test_stata_and_sas_files(tmp_path):
    pyreadstat.write_dta(PEOPLE.to_pandas(), tmp_path / "people.dta", variable_value_labels=LABELS)
    frame = read(tmp_path / "people.dta")
    assert frame["sex"].to_list() == ["male", "female", "male", "unknown"]
    assert frame["age"].to_list() == [34, 99, 50, -9]  # only some values have labels
    pyreadstat.write_xport(PEOPLE.drop("day").to_pandas(), tmp_path / "people.xpt")
    assert read(tmp_path / "people.xpt")["age"].to_list() == [34, 99, 50, -9]


@pytest.mark.parametrize("name", ["a.sav", "a.dta", "a.sas7bdat", "a.xpt", "a.por"])
def test_damaged_statistics_files(tmp_path, name, monkeypatch):
    (tmp_path / name).write_text(SECRET)
    fails(tmp_path / name, "file, or it is damaged")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(MissingDependencyError, match=r"incrowd\[stats\]"):
        read(tmp_path / name)


def test_only_databases_and_workbooks_have_tables_and_sheets(tmp_path):
    (tmp_path / "a.csv").write_bytes(CSV)
    fails(tmp_path / "a.csv", "is a file and takes no table", table="x")
    fails(tmp_path / "a.csv", "is a file and takes no query", query="select 1")
    fails(tmp_path / "a.csv", "has no sheets", sheet="x")
