"""The three files of a release, cell by cell and byte by byte: there is no room for a message in them."""

from __future__ import annotations

import gzip
from datetime import date, datetime

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incrowd.verify import verify
from verify.build import ILLS, answers, make, put_other


@pytest.fixture(scope="module")
def valid():
    return make()


@pytest.fixture
def exact(valid):
    return valid.copy()


def with_csv(made, tmp_path, old, new):
    folder = made.write(tmp_path / "out")
    path = folder / "release.csv"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return verify(folder)


@pytest.mark.parametrize("new", ["12.50", "012.5", " 12.5", "12.50000000000000000001", "1.25e1 ", "+12.5", "12.6"])
def test_a_number_of_the_csv_has_no_room(exact, tmp_path, new):
    put_other(exact, pl.Series([12.5] * exact.original.height))
    assert answers(with_csv(exact, tmp_path, "12.5", new))["csv"] is False


@pytest.mark.parametrize("new", ["12.5", "1.25e1", "1.25e+1"])
def test_a_number_of_the_csv_may_have_another_form(exact, tmp_path, new):
    put_other(exact, pl.Series([12.5] * exact.original.height))
    assert with_csv(exact, tmp_path, "12.5", new).violations == []


TIME = datetime(2020, 1, 2, 3, 4, 5, 600)


@pytest.mark.parametrize(
    ("value", "old", "new"),
    [(77, "77", "077"), (77, "77", "+77"), (77, "77", "77.0"), (True, "true", "True"),
     (date(1999, 1, 2), "1999-01-02", "1999-1-2"), (TIME, "05.000600", "05.000601"), (TIME, "05.000600", "05"),
     (TIME, "05.000600", "05.000600111"), ("w", ",w,", ",w ,")],
)  # fmt: skip
def test_a_cell_of_the_csv_is_written_in_one_way(exact, tmp_path, value, old, new):
    put_other(exact, pl.Series([value] * exact.original.height))
    made = exact.copy()
    assert verify(made.write(tmp_path / "fine")).violations == []
    assert answers(with_csv(exact, tmp_path, old, new))["csv"] is False


def test_a_share_of_the_csv_has_no_room(tmp_path):
    made = make(form="counts", recoding="non-homogeneous")
    share = str(made.csv[f"ill={ILLS[0]}"][0])
    column = made.csv.columns.index(f"ill={ILLS[0]}")

    def spoiled(text, folder):
        made.write(tmp_path / folder)
        path = tmp_path / folder / "release.csv"
        lines = path.read_text().split("\n")
        cells = lines[1].split(",")
        assert cells[column] == share
        cells[column] = text
        path.write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]))
        return answers(verify(tmp_path / folder))["csv"]

    value = float(share)
    assert spoiled(f"{value:.12f}".rstrip("0"), "rounded") is True
    assert spoiled(f"{value + 3e-10:.17f}".rstrip("0"), "message") is False
    assert spoiled(share + "0" * 30, "zeros") is False
    assert spoiled(f"{value:.25f}", "long") is False


def test_small_floats_are_read_as_such(exact, tmp_path):
    put_other(exact, (exact.original["hours"] / 7).cast(pl.Float32))
    assert verify(exact.write(tmp_path / "out"), exact.original).violations == []


@pytest.mark.parametrize("name", ["manifest.json", "release.parquet", "release.csv"])
@pytest.mark.parametrize("how", ["link", "folder"])
def test_files_are_files(exact, tmp_path, name, how):
    folder = exact.write(tmp_path / "out")
    if how == "link":
        (folder / name).rename(tmp_path / name)
        (folder / name).symlink_to(tmp_path / name)
    else:
        (folder / name).unlink()
        (folder / name).mkdir()
    assert answers(verify(folder))["files"] is False


@pytest.mark.parametrize("how", [lambda data: b"\xef\xbb\xbf" + data, gzip.compress])
def test_a_csv_is_plain_text(exact, tmp_path, how):
    path = exact.write(tmp_path / "out") / "release.csv"
    path.write_bytes(how(path.read_bytes()))
    assert answers(verify(tmp_path / "out"))["files"] is False


@pytest.mark.parametrize("note", [{b"n": b"person 1"}, {b"\x01": bytes(range(256)) * 40}])
def test_notes_in_the_schema_are_found(exact, tmp_path, note):
    folder = exact.write(tmp_path / "out")
    table = exact.frame.to_arrow()
    pq.write_table(table, folder / "release.parquet")
    assert verify(folder).violations == []
    fields = [field.with_metadata(note) if field.name == "age" else field for field in table.schema]
    pq.write_table(table.cast(pa.schema(fields)), folder / "release.parquet")
    assert answers(verify(folder))["files"] is False


def test_names_with_quotes_and_brackets(exact, tmp_path):
    odd = 'q"x, [1]'
    exact.manifest["quasi"][0]["name"] = odd
    exact.original = exact.original.rename({"age": odd})
    exact.frame = exact.frame.rename({"age": odd, "age.lo": f"{odd}.lo", "age.hi": f"{odd}.hi"})
    exact.csv = exact.csv.rename({"age": odd})
    verdict = verify(exact.write(tmp_path / "out[1]"), exact.original)
    assert verdict.violations == []
    assert answers(verdict)["row map"] is True
