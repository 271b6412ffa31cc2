"""Columns that are kept as they are: one way to write each value, so that the rows carry no message of their own."""

from __future__ import annotations

import sys
from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

import incrowd as ic
from incrowd.cli import main
from incrowd.verify import check
from incrowd.verify.compare import read_alike, shows
from verify.build import answers
from verify.on_disk import OnDisk

N = 120
RNG = np.random.default_rng(3)
CHOSEN = pl.Series(RNG.integers(0, 2, N) == 1)
PEOPLE = pl.DataFrame({"age": RNG.integers(20, 60, N), "ill": RNG.choice(["angina", "flu", "gout"], N)})
NUMBERS = pl.Series("x", RNG.integers(0, 2, N))
TEXTS = pl.Series("x", RNG.choice(["17", "?", "plain", ""], N))
TIMES = pl.Series("x", [datetime(2001, 2, 3, 4) + timedelta(hours=int(h)) for h in RNG.integers(0, 9, N)])
SMALL = pl.Series("x", RNG.integers(1, 9, N) / 7, dtype=pl.Float32)
BOOLS = NUMBERS == 1
WHOLE = pl.Series("x", [str(i) for i in NUMBERS])


def choose(a, b):
    """Write one row in this way and the other in that."""
    return lambda column: pl.select(pl.when(CHOSEN).then(a(column)).otherwise(b(column)).alias("x")).to_series()


def text(form):
    return lambda column: pl.Series([form.format(v) for v in column])


def keep(column):
    return column


def nothing(column):
    return pl.Series([None] * len(column), dtype=column.dtype)


def nanosecond(column):
    return (column.cast(pl.Datetime("ns")).cast(pl.Int64) + 1).cast(pl.Datetime("ns"))


SPELLED = {
    "numbers as text": (NUMBERS, text("{}")),
    "numbers with a point": (NUMBERS, choose(text("{}"), text("{}.0"))),
    "numbers with a space": (NUMBERS, choose(text("{}"), text(" {}"))),
    "numbers with zeros": (NUMBERS, choose(text("{}"), text("00{}"))),
    "numbers with an exponent": (NUMBERS, choose(text("{}"), text("{}e0"))),
    "words for truth": (BOOLS, choose(lambda c: c.replace_strict({True: "Yes", False: "no"}), text("{}"))),
    "numbers for truth": (BOOLS, lambda c: c.cast(pl.Int64())),
    "finer times": (TIMES, choose(lambda c: c.cast(pl.Datetime("ns")), nanosecond)),
    "a time zone": (TIMES, lambda c: c.dt.replace_time_zone("Europe/Paris")),
    "more digits": (SMALL, choose(lambda c: c.cast(pl.Float64()), lambda c: c.cast(pl.Float64()) * (1 + 1e-12))),
    "digits by choice": (SMALL, choose(lambda c: c.cast(pl.Float64()), lambda c: c.cast(pl.String).cast(pl.Float64))),
    "a number or nothing": (NUMBERS, choose(keep, nothing)),
    "empty or nothing": (TEXTS, choose(keep, lambda c: c.replace("", None))),
    "nothing or empty": (TEXTS.replace("", None), choose(keep, lambda c: c.fill_null(""))),
    "a token or nothing": (TEXTS, choose(keep, lambda c: c.replace("?", None))),
    "one of two tokens": (TEXTS, lambda c: c.replace("?", None)),
    "text that was padded": (TEXTS, choose(keep, lambda c: c + " ")),
    "a number of text or nothing": (WHOLE, choose(lambda c: c.cast(pl.Int64), lambda c: nothing(c).cast(pl.Int64))),
}


def judge(original, change, *, tokens=("?", "17")):
    """Publish a table with an untouched column, change it, and say whether the change is found."""
    frame = PEOPLE.with_columns(original.alias("x"))
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill", other=["x"], missing_tokens=tokens)
    release = ic.Mondrian(k=5).publish(frame, schema, seed=1)
    private = release.private.files(release.quasi)
    (table,) = release.coded_tables()
    shown = change(original)[private["rows"]["row"].to_numpy()]
    verdict = check(
        release.manifest.to_dict(), (table.with_columns(shown.alias("x")),), original=frame, private=private
    )
    return answers(verdict)["other columns"]


@pytest.mark.parametrize("name", SPELLED)
def test_a_value_is_not_written_as_one_likes(name):
    assert judge(*SPELLED[name]) is False


def test_a_value_is_written_as_it_was():
    for column in (NUMBERS, TEXTS, TEXTS.replace("", None), TIMES, SMALL, BOOLS, WHOLE):
        assert judge(column, keep)


READ = {
    "tokens missing": (TEXTS, lambda c: c.replace({"?": None, "17": None})),
    "tokens and empty text missing": (TEXTS, lambda c: c.replace({"?": None, "17": None, "": None})),
    "empty text missing": (TEXTS, lambda c: c.replace("", None)),
    "blank text missing": (TEXTS.replace("", "  "), lambda c: c.replace("  ", None)),
    "padded tokens missing": (TEXTS.replace("?", " ? "), lambda c: c.replace({" ? ": None, "17": None, "": None})),
    "text empty": (TEXTS.replace("", None), lambda c: c.fill_null("")),
    "numbers of text": (WHOLE, lambda c: c.cast(pl.Int64)),
    "numbers of text, tokens missing": (WHOLE.replace("1", "?"), lambda c: c.cast(pl.Int64, strict=False)),
    "nan": (WHOLE.replace("1", "nan"), lambda c: c.cast(pl.Float64).fill_nan(None)),
    "days": (TIMES, lambda c: c.dt.date()),
    "other units": (TIMES, lambda c: c.cast(pl.Datetime("ms"))),
    "floats of small floats": (SMALL, lambda c: c.cast(pl.Float64)),
    "digits of small floats": (SMALL, lambda c: c.cast(pl.String).cast(pl.Float64)),
    "small floats of floats": (SMALL.cast(pl.Float64), lambda c: c.cast(pl.Float32)),
    "small numbers": (NUMBERS, lambda c: c.cast(pl.Int8)),
}


@pytest.mark.parametrize("name", READ)
def test_one_reading_for_all_rows_is_fine(name):
    column, read = READ[name]
    assert judge(column, read)


def test_the_reading_that_fits_best_counts_the_wrong_rows():
    own = pl.Series(["1", "?", "x", "2", None])
    assert shows(pl.Series([1, None, None, 3, None]), own, ["?"]).tolist() == [True, True, False, False, True]
    assert shows(pl.Series([1]), pl.Series([b"1"]), []).tolist() == [False]
    assert shows(pl.Series([1, 0]), pl.Series([1.5, float("nan")]), []).tolist() == [False, False]
    assert shows(pl.Series(["a", None]), pl.Series(["a", None], dtype=pl.Enum(["a"])), []).all()


def test_the_reading_that_has_the_same_values():
    own = pl.Series("x", ["1", "?", " ", None, "2"])
    assert read_alike(pl.Series([2, 1, None, None, None]), own, ["?"]).to_list() == [1, None, None, None, 2]
    assert read_alike(pl.Series(["1", "2", None, None, None]), own, ["?"]).to_list() == ["1", None, None, None, "2"]
    for other in ([2, 2, None, None, None], [1, 2, None, None]):
        assert read_alike(pl.Series(other), own, ["?"]) is own
    assert read_alike(pl.Series([1, 2, None, None, None]), own, []) is own


def test_a_forged_folder_is_found(tmp_path):
    """Public and private files are changed alike, digests too."""
    made = OnDisk.of("mondrian", tmp_path)
    table = made.table()
    chosen = pl.int_range(table.height) % 2 == 0
    note = pl.when((pl.col("note") == "") & chosen).then(None).otherwise("note").alias("note")
    frame = table.with_columns(note)
    order = frame.with_row_index("at").sort(frame.columns, maintain_order=True, nulls_last=False)["at"].to_numpy()
    rows = made.owned("rows")[order]
    made.write_table(frame[order])
    rows.write_parquet(made.private / "rows.parquet")
    made.digest()
    assert "other columns" in made.failed()


@pytest.mark.parametrize("change", [lambda c: c.replace("flu", None), lambda c: c + " "])
def test_exact_sensitive_values_are_written_as_they_were(change):
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill")
    release = ic.Mondrian(k=5).publish(PEOPLE, schema, seed=1)
    (table,) = release.coded_tables()
    at = table["ill"].to_list().index("flu")
    spelled = pl.when(pl.int_range(N) == at).then(change(pl.col("ill"))).otherwise("ill").alias("ill")
    private = release.private.files(release.quasi)
    verdict = check(release.manifest.to_dict(), (table.with_columns(spelled),), original=PEOPLE, private=private)
    assert answers(verdict)["own value"] is False


def incrowd(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["incrowd", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code, capsys.readouterr()


CELLS = {
    "count": ["1", "20", "3"],
    "gaps": ["1", "", "3", "?"],
    "share": ["0.5", "1e-3", "2", ""],
    "odd": ["1.5", "nan", "?", "2"],
    "day": ["2001-02-03", "2001-02-04", ""],
    "time": ["2001-02-03T04:05:06", "2001-02-03 04:05:06.25"],
    "truth": ["true", "False", ""],
    "answer": ["yes", "no", "Yes"],
    "bit": ["1", "0"],
    "text": ["plain", "", '"a,b"', "?", "  ", " ? ", '""'],
    "code": ["007", "010", ""],
    "zip": ["1234", "987"],
    "rate": ["1", "2"],
    "whole": ["1.0", "2"],
}
TYPES = {"answer": "bool", "bit": "bool", "zip": "str", "rate": "float", "whole": "int"}


@pytest.mark.parametrize("method", ["mondrian", "nhaa", "nsvdist"])
def test_a_release_of_a_csv_file_holds_against_it(tmp_path, monkeypatch, capsys, method):
    rng = np.random.default_rng(4)
    rows = [[*map(str, row), *(str(rng.choice(cells)) for cells in CELLS.values())] for row in PEOPLE.rows()]
    lines = [",".join(cells) for cells in [["age", "ill", *CELLS], *rows]]
    data, folder, toml = tmp_path / "data.csv", tmp_path / "out", tmp_path / "schema.toml"
    data.write_text("\n".join(lines) + "\n")
    schema = ic.Schema(
        quasi={"age": ic.Intervals()}, sensitive="ill", other=list(CELLS), missing_tokens=["?"], types=TYPES
    )
    schema.to_toml(toml)
    code, said = incrowd(monkeypatch, capsys, "publish", data, "-s", toml, "-k", "5", "-m", method, "-o", folder)
    assert code == 0, said
    code, said = incrowd(monkeypatch, capsys, "verify", folder, "--original", data)
    assert code == 0, said
    assert ic.verify(folder, data).violations == []
    assert ic.verify(folder, pl.read_csv(data, infer_schema=False)).violations == []
    pl.read_csv(data, infer_schema=False).write_parquet(tmp_path / "data.parquet")
    assert ic.verify(folder, tmp_path / "data.parquet").violations == []
    folder.with_name("out.private").rename(tmp_path / "kept")
    assert ic.verify(folder, data).violations == []


def of_every_type():
    rng = np.random.default_rng(5)
    day = date(2001, 2, 3)
    texts = rng.choice(["a", "b", "", "?"], N)
    return PEOPLE.with_columns(
        category=pl.Series(texts, dtype=pl.Categorical),
        named=pl.Series(texts, dtype=pl.Enum(["?", "a", "b", ""])),
        time=pl.Series([datetime(2001, 2, 3, 4, 5, int(s)) for s in rng.integers(0, 60, N)]),
        day=pl.Series([day + timedelta(int(d)) for d in rng.integers(0, 9, N)]),
        small=pl.Series(rng.integers(0, 9, N) / 7, dtype=pl.Float32),
        odd=pl.Series(rng.choice([0.5, np.nan, -0.0], N)),
        tiny=pl.Series(rng.integers(0, 9, N), dtype=pl.UInt8),
        price=pl.Series(rng.integers(0, 9, N)).cast(pl.Decimal(10, 2)),
        truth=pl.Series(rng.choice([True, False, None], N).tolist()),
        text=pl.Series([None if v == "a" else v for v in texts]),
        zoned=pl.Series([datetime(2001, 2, 3, int(h)) for h in rng.integers(0, 9, N)]).dt.replace_time_zone("UTC"),
    )


@pytest.mark.parametrize("kind", ["polars", "pandas", "pandas objects"])
def test_a_release_of_a_frame_holds_against_it(tmp_path, kind):
    frame = of_every_type()
    own = {"polars": lambda: frame, "pandas": frame.to_pandas, "pandas objects": lambda: as_objects(frame)}[kind]()
    others = [name for name in frame.columns if name not in PEOPLE.columns]
    others = [name for name in others if name in own.columns]
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill", other=others, missing_tokens=["?"])
    release = ic.Mondrian(k=5).publish(own, schema, seed=1)
    release.save(tmp_path / "out")
    assert release.verify(own).violations == []
    assert ic.verify(tmp_path / "out", own).violations == []
    if kind == "polars":
        frame.write_parquet(tmp_path / "data.parquet")
        assert ic.verify(tmp_path / "out", tmp_path / "data.parquet").violations == []


def as_objects(frame):
    found = frame.drop("price", "zoned").to_pandas()
    return found.astype({"text": object, "truth": object, "category": "category"}).assign(
        time=pd.to_datetime(found["time"]).astype("datetime64[ns]")
    )
