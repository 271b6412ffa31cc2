"""Canonical files: the rules of the release format, value by value, and equal bytes for equal tables."""

from __future__ import annotations

import csv
import datetime as dt
import math
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd import io
from incrowd.errors import InputError


def written(frame: pl.DataFrame, folder: Path) -> str:
    path = folder / "t.csv"
    io.write_canonical_csv(frame, path)
    return path.read_bytes().decode("utf-8")


def test_every_type_of_value(tmp_path: Path) -> None:
    time = dt.datetime(2001, 2, 3, 4, 5, 6, 70)
    frame = pl.DataFrame(
        {
            "n": [17, None],
            "f": [1.5, 3.0],
            "s": ['ö, "x"', ""],
            "b": [True, False],
            "d": [dt.date(1, 2, 3), None],
            "t": [time, None],
            "c": pl.Series(["a\rb", "c\nd"], dtype=pl.Categorical),
            "e": pl.Series([None, None], dtype=pl.Null),
            "u": pl.Series([2**64 - 1, 0], dtype=pl.UInt64),
        }
    ).with_columns(
        z=pl.col("t").dt.replace_time_zone("Asia/Kolkata"), ms=pl.col("t").cast(pl.Datetime("ms")), last=pl.col("n")
    )
    assert written(frame, tmp_path) == (
        "n,f,s,b,d,t,c,e,u,z,ms,last\n"
        '17,1.5,"ö, ""x""",true,0001-02-03,2001-02-03T04:05:06.000070,"a\rb",,18446744073709551615,'
        "2001-02-03T04:05:06.000070+05:30,2001-02-03T04:05:06.000,17\n"
        ',3.0,"",false,,,"c\nd",,0,,,\n'
    )


def test_names_are_quoted_as_values_are(tmp_path: Path) -> None:
    assert written(pl.DataFrame({"a,b": [1], 'c"': [2], "d\re": [3], " f": [4]}), tmp_path) == (
        '"a,b","c""","d\re", f\n1,2,3,4\n'
    )


@pytest.mark.parametrize("values", [[1, None], ["x", None], [1.5, None], [None, dt.date(2000, 1, 1)], [True, None]])
def test_a_missing_value_in_a_single_column_is_no_blank_line(values: list[object], tmp_path: Path) -> None:
    text = written(pl.DataFrame({"v": values}), tmp_path)
    assert "\n\n" not in text
    assert text.count('""\n') == 1


def test_a_table_without_rows_is_its_header(tmp_path: Path) -> None:
    assert written(pl.DataFrame(schema={"a": pl.Int64, "b": pl.Float32}), tmp_path) == "a,b\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-07, "1e-07"), (1e16, "1e+16"), (1e15, "1000000000000000.0"), (0.1, "0.1"), (1e-05, "1e-05"), (0.0, "0.0"),
        (-0.0, "-0.0"), (math.inf, "inf"), (-math.inf, "-inf"), (math.nan, "nan"), (5e-324, "5e-324"),
    ],
)  # fmt: skip
def test_floats_are_written_as_python_does(value: float, text: str, tmp_path: Path) -> None:
    assert written(pl.DataFrame({"a": [value, None], "b": [None, value]}), tmp_path) == f"a,b\n{text},\n,{text}\n"


@given(st.lists(st.floats() | st.none() | st.integers(-(10**18), 10**18).map(float), min_size=1))
def test_all_floats_are_their_repr(values: list[float | None]) -> None:
    frame = pl.DataFrame({"a": pl.Series(values, dtype=pl.Float64), "b": 0})
    path = _scratch()
    io.write_canonical_csv(frame, path)
    want = ["" if value is None else repr(value) for value in values]
    assert [line.split(",")[0] for line in path.read_text().splitlines()[1:]] == want


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_floats_at_and_beside_every_power_of_ten(kind: type[np.floating], tmp_path: Path) -> None:
    powers = np.array([float(f"1e{e}") for e in range(-37, 38)], kind)
    around = np.concatenate([powers, np.nextafter(powers, kind(0)), np.nextafter(powers, kind(np.inf)), powers * 7])
    values = np.concatenate([around, -around, np.random.default_rng(0).random(500).astype(kind) * around.max(), [0]])
    values = values.astype(kind)
    text = written(pl.DataFrame({"a": values, "b": 0}), tmp_path)
    assert [line.split(",")[0] for line in text.splitlines()[1:]] == [repr(float(str(value))) for value in values]


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1))
def test_floats_of_32_bits_have_the_fewest_digits_that_read_back(bits: list[int]) -> None:
    values = np.array(bits, np.uint32).view(np.float32)
    path = _scratch()
    io.write_canonical_csv(pl.DataFrame({"a": values, "b": 0}), path)
    for line, value in zip(path.read_text().splitlines()[1:], values, strict=True):
        text = line.split(",")[0]
        assert text == repr(float(str(value)))
        if not np.isnan(value):
            assert struct.pack("f", np.float32(text)) == struct.pack("f", value)


@given(st.lists(st.tuples(st.none() | st.text(), st.text()), min_size=1))
def test_the_standard_reader_reads_back_what_was_written(rows: list[tuple[str | None, str]]) -> None:
    path = _scratch()
    rows = [(a, b.replace("\0", "")) for a, b in rows]
    io.write_canonical_csv(pl.DataFrame(rows, schema={"a": pl.String, "b": pl.String}, orient="row"), path)
    with path.open(encoding="utf-8", newline="") as handle:
        assert list(csv.reader(handle))[1:] == [[a or "", b] for a, b in rows]


def test_quotes_only_where_they_must_be(tmp_path: Path) -> None:
    odd = ["a b", "'", ";", "\t", " ", "-", "=1", "#", "\u2028", "\ufeff", "\\", "a'b", "\x0b", "\x85"]
    assert '"' not in written(pl.DataFrame({"v": odd}), tmp_path)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("odd", [[1]]), pl.Series("odd", [{"a": 1}]), pl.Series("odd", [b"x"]),
        pl.Series("odd", [dt.timedelta(1)]),
        pl.Series("odd", [dt.time(1)]), pl.Series("odd", ["1.5"]).cast(pl.Decimal(10, 2)), pl.Series("odd", [object()]),
    ],
)  # fmt: skip
def test_types_without_one_text_are_refused(column: pl.Series, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'odd'"):
        io.write_canonical_csv(pl.DataFrame([column]), tmp_path / "t.csv")
    assert not list(tmp_path.iterdir())


def test_a_table_without_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="without columns"):
        io.write_canonical_csv(pl.DataFrame(), tmp_path / "t.csv")


def test_batches_join_without_a_seam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"a": range(10), "b": [None, 'x"'] * 5})
    whole = written(frame, tmp_path)
    monkeypatch.setattr("incrowd.io.canonical._BATCH", 3)
    assert written(frame, tmp_path) == whole


def large_table() -> pl.DataFrame:
    draw = np.random.default_rng(1)
    n = 300_000  # more than one row group
    return pl.DataFrame(
        {
            "s": pl.Series(["a", "bb", None, "längeres"])[draw.integers(0, 4, n)],
            "n": draw.integers(0, 1000, n),
            "f": draw.random(n),
            "d": pl.Series([dt.date(2000, 1, 1), None])[draw.integers(0, 2, n)],
        }
    )


def test_parquet_has_the_same_bytes_whatever_pieces_a_table_is_made_of(tmp_path: Path) -> None:
    frame = large_table()
    pieces = pl.concat([frame[:1], frame[1:7000], frame[7000:]], rechunk=False)
    again = pl.concat([frame[-5:], frame])[5:]  # starts inside a buffer
    for name, table in (("whole", frame), ("pieces", pieces), ("again", again)):
        io.write_canonical_parquet(table, tmp_path / name)
    io.write_canonical_parquet(pl.read_parquet(tmp_path / "whole"), tmp_path / "read")
    assert len({(tmp_path / name).read_bytes() for name in ("whole", "pieces", "again", "read")}) == 1


def test_files_do_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    io.write_canonical_parquet(large_table(), tmp_path / "many")
    io.write_canonical_csv(large_table(), tmp_path / "manyc")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_canonical_files import large_table; from incrowd import io\n"
        "io.write_canonical_parquet(large_table(), sys.argv[2])\n"
        "io.write_canonical_csv(large_table(), sys.argv[2] + 'c')"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent), str(tmp_path / "one")]
    subprocess.run(command, check=True, env={**os.environ, "POLARS_MAX_THREADS": "1"})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "many").read_bytes()
    assert (tmp_path / "onec").read_bytes() == (tmp_path / "manyc").read_bytes()


def _scratch() -> Path:
    return Path(tempfile.mkdtemp()) / "t.csv"
