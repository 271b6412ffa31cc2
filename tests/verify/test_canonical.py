"""One way to write each file: the verifier's own writers, beside those that wrote the files; and the order of rows."""

from __future__ import annotations

from datetime import UTC, date, datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd import io
from incrowd.verify.canonical import ROW_GROUP, json_bytes, odd_numbers, parquet_bytes
from incrowd.verify.csv_text import csv_bytes, csv_problems, for_people
from incrowd.verify.order import check_order, first_unsorted
from incrowd.verify.verdict import Findings

TIME = datetime(2001, 2, 3, 4, 5, 6, 700, tzinfo=UTC)


def written(*columns):
    return b"".join(csv_bytes(pl.DataFrame(list(columns)))).decode()


@pytest.mark.parametrize(
    ("column", "fields"),
    [
        (pl.Series("x", [17, -3, None]), ["17", "-3", '""']),
        (pl.Series("x", [1.5, 3.0, 1e-7, 1e16, 1e15, 0.1 + 0.2]),
         ["1.5", "3.0", "1e-07", "1e+16", "1000000000000000.0", "0.30000000000000004"]),
        (pl.Series("x", [float("inf"), -float("inf"), float("nan"), None]), ["inf", "-inf", "nan", '""']),
        (pl.Series("x", [0.1, 1e-7, None], pl.Float32), ["0.1", "1e-07", '""']),
        (pl.Series("x", ["a", "", 'b"c', "d,e", "f\ng", "h\ri", " j ", None]),
         ["a", '""', '"b""c"', '"d,e"', '"f\ng"', '"h\ri"', " j ", '""']),
        (pl.Series("x", [True, False, None]), ["true", "false", '""']),
        (pl.Series("x", [date(1, 2, 3), None]), ["0001-02-03", '""']),
        (pl.Series("x", [TIME]).dt.replace_time_zone(None).cast(pl.Datetime("ms")), ["2001-02-03T04:05:06.000"]),
        (pl.Series("x", [TIME]).dt.replace_time_zone(None), ["2001-02-03T04:05:06.000700"]),
        (pl.Series("x", [TIME], pl.Datetime("ns", "Europe/Berlin")), ["2001-02-03T05:05:06.000700000+01:00"]),
        (pl.Series("x", [None, None]), ['""', '""']),
        (pl.Series('a"b,', ["c"]), None),
    ],
)  # fmt: skip
def test_fields(column, fields, tmp_path):
    text = written(column)
    assert text == ('"a""b,"\nc\n' if fields is None else "".join(f"{field}\n" for field in ["x", *fields]))
    io.write_canonical_csv(column.to_frame(), tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_bytes().decode() == text


def test_a_missing_value_is_an_empty_field_beside_others():
    assert written(pl.Series("a", [None, "", "x"]), pl.Series("b", [1.0, None, None])) == 'a,b\n,1.0\n"",\nx,\n'


VALUES = st.one_of(st.none(), st.floats(), st.floats(width=32), st.floats(0, 1))


@given(st.lists(VALUES, min_size=1), st.lists(st.one_of(st.none(), st.text()), min_size=1))
def test_both_writers_agree(tmp_path_factory, numbers, texts):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    n = min(len(numbers), len(texts))
    frame = pl.DataFrame({"x": pl.Series(numbers[:n], dtype=pl.Float64), "y": pl.Series(texts[:n], dtype=pl.String)})
    frame = frame.with_columns(pl.col("x") + 0.0)  # releases have no negative zero
    for table in (frame, frame.with_columns(pl.col("x").cast(pl.Float32)), frame.select("y")):
        io.write_canonical_csv(table, path)
        assert csv_problems(path, table) == []


def test_many_rows_are_compared_in_steps(tmp_path):
    table = pl.DataFrame({"x": np.arange(70_000)})
    io.write_canonical_csv(table, tmp_path / "x.csv")
    assert csv_problems(tmp_path / "x.csv", table) == []
    other = table.with_columns(pl.when(pl.col("x") == 69_999).then(0).otherwise("x").alias("x"))
    assert csv_problems(tmp_path / "x.csv", other) == [
        "x.csv is not the canonical text of its Parquet file, in rows 65537 to 70000"
    ]


def manifest(form="exact", **more):
    return {"quasi": [{"name": "q"}], "sensitive": {"name": "s", "form": form} | more}


CODED = pl.DataFrame({"q": ["a", "b"], "q.lo": [0, 1], "q.hi": [0, 1], "s=x": [1, 2], "s=y": [3, 0]})


def test_rows_for_people():
    shown = for_people(manifest("shares", values=["x", "y"]), CODED)
    assert shown.to_dict(as_series=False) == {"q": ["a", "b"], "s=x": [0.25, 1.0], "s=y": [0.75, 0.0]}
    assert for_people(manifest("exact"), CODED).columns == ["q", "s=x", "s=y"]
    assert for_people({"quasi": [], "sensitive": None}, CODED).columns == CODED.columns


@pytest.mark.parametrize(
    "told",
    [[], {}, {"quasi": [{"name": "p"}], "sensitive": None}, {"quasi": [3], "sensitive": None},
     manifest("counts"), manifest("counts", values=3), manifest("counts", values=["v"] * 4),
     manifest("counts", values=["v"] * 3)],
)  # fmt: skip
def test_rows_for_people_of_another_manifest(told):
    assert for_people(told, CODED) is None


def test_plain_data():
    assert json_bytes({"ü": [1, None]}) == '{\n "ü": [\n  1,\n  null\n ]\n}\n'.encode()


def test_parquet_does_not_depend_on_how_a_table_came(tmp_path):
    n = ROW_GROUP + 10
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "text": pl.Series([None, "a", "b", "ccc"]).gather(rng.integers(0, 4, n)),
            "float": rng.random(n),
            "day": pl.Series(rng.integers(0, 9999, n)).cast(pl.Int32).cast(pl.Date),
        }
    )
    io.write_canonical_parquet(table, tmp_path / "x.parquet")
    data = (tmp_path / "x.parquet").read_bytes()
    pieces = pl.concat([table[:1000], table[1000:]], rechunk=False)
    for same in (table, pieces, pl.read_parquet(tmp_path / "x.parquet"), table.reverse().reverse()):
        assert parquet_bytes(same) == data
    assert parquet_bytes(table.with_columns(pl.col("float").reverse())) != data


@pytest.mark.parametrize(
    ("bits", "dtype", "said"),
    [(1 << 63, np.uint64, "a negative zero"), (0x7FF8000000000001, np.uint64, "an unusual form"),
     (0xFFF8000000000000, np.uint64, "an unusual form"), (1 << 31, np.uint32, "a negative zero"),
     (0x7FC00001, np.uint32, "an unusual form"), (0, np.uint64, None), (0x7FF8000000000000, np.uint64, None),
     (0x7FC00000, np.uint32, None), (1 << 15, np.uint16, "a negative zero"), (0x7E01, np.uint16, "an unusual form"),
     (0x7E00, np.uint16, None), (0x7FF0000000000000, np.uint64, None)],
)  # fmt: skip
def test_floats_have_one_form(bits, dtype, said):
    numbers = np.array([0, bits], dtype).view(f"f{np.dtype(dtype).itemsize}")
    frame = pl.DataFrame({"x": pl.Series(numbers), "y": ["a", "b"]})
    assert frame["x"].dtype.is_float()
    assert [problem.partition(" in column")[0].startswith(said) for problem in odd_numbers(frame)] == [True] * bool(
        said
    )


@pytest.mark.parametrize(
    ("columns", "place"),
    [
        ([[1, 2, 2, 3]], None),
        ([[1, 3, 2]], 2),
        ([[2, 1]], 1),
        ([[None, None, 1]], None),
        ([[1, None]], 1),
        ([["B", "a", "é", "\U0001f600"]], None),
        ([["\U0001f600", "\uffff"]], 1),
        ([["", "a"]], None),
        ([[None, ""]], None),
        ([[1, 1, 2], ["b", "a", "a"]], 1),
        ([[1, 1, 2], ["a", "b", "a"]], None),
        ([[1, 1, 1], [None, 2, 2], [5, 4, 3]], 2),
        ([[1, 1], [True, False]], 1),
        ([[1, 1], [False, True]], None),
        ([[0.5, float("nan")]], None),
        ([[float("nan"), 0.5]], 1),
        ([[float("nan"), float("nan")], [2, 1]], 1),
        ([[date(2001, 1, 1), date(2000, 1, 1)]], 1),
        ([[None, None], [2, 1]], 1),
        ([[5]], None),
        ([[]], None),
    ],
)
def test_the_order_of_rows(columns, place):
    frame = pl.DataFrame([pl.Series(str(number), values) for number, values in enumerate(columns)])
    assert first_unsorted(frame) == place
    findings = Findings()
    check_order(findings, [frame, frame])
    said = [f"rows of table {number} are not sorted, first at release row {place + 1}" for number in (1, 2) if place]
    assert findings.checks[0].detail == ("; ".join(said) or "rows are sorted by what they show")


@given(st.lists(st.tuples(st.sampled_from([None, "a", "b"]), st.sampled_from([None, 0.0, 1.5, float("nan")]))))
def test_sorted_tables_are_sorted(rows):
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.Float64}, orient="row")
    ordered = frame.sort("a", "b", nulls_last=False)
    assert first_unsorted(ordered) is None
    assert (first_unsorted(frame) is None) == frame.equals(ordered)
