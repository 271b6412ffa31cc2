"""What workers of Spark do for the verifier, called here: no Spark is needed to read parts and to compare columns."""

import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd import io
from incrowd.io import elsewhere
from incrowd.verify import parts, spark_parts
from incrowd.verify.spark_parts import LookUp, Others, ReadPart, bits_of
from streamed_tables import SCHEMA, people

ROWS, N = 25, 60


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A dataset of three parts, its published table, and the frame that it was made of."""
    home, frame = tmp_path_factory.mktemp("dataset"), people(N)
    with pytest.MonkeyPatch.context() as patch:
        for room in (elsewhere, io, parts, spark_parts):
            patch.setattr(room, "PART_ROWS", ROWS)
        release = ic.Mondrian(k=5).publish(frame, SCHEMA, seed=1)
        release.save_to(home / "out", dataset=True)
        yield home / "out", release.coded_tables()[0], frame


def batches(frame):
    return list(io.to_record_batches(frame))


def numbers(*wanted):
    return batches(pl.DataFrame({"id": list(wanted)}))


def reader(folder, table):
    cover = (folder / io.DATASET_COVER).read_text(encoding="utf-8")
    names = sorted(path.name for path in folder.glob("*.parquet"))
    shown = [name for name in table.columns if name not in SCHEMA.other]
    return ReadPart(folder, names, cover, True, shown, dict(table.schema))


def results(read, *wanted):
    """Return the distinct rows that were found and the reports."""
    found = pl.concat([pl.DataFrame(batch) for batch in read(iter(numbers(*wanted)))])
    told = found.filter(pl.col("about").is_not_null())["about"].to_list()
    return found.filter(pl.col("about").is_null()), [ReadPart.report(text) for text in told]


def test_parts_are_counted_and_judged(saved):
    folder, table, _ = saved
    read = reader(folder, table)
    rows, reports = results(read, 0, 1, 2)
    groups = rows.group_by([name for name in rows.columns if name.startswith("p")]).agg(pl.col("n").sum())
    back = bits_of(groups, "p", {name: table.schema[name] for name in read.shown}).with_columns(n=groups["n"])
    plain = table.select(read.shown).group_by(read.shown).agg(pl.len().cast(pl.Int64).alias("n"))
    assert back.sort(read.shown).equals(plain.sort(read.shown))
    assert [(each["part"], each["height"]) for each in reports] == [(0, ROWS), (1, ROWS), (2, N - 2 * ROWS)]
    assert not any(each["problems"] or each["unreadable"] or each["unlike"] for each in reports)
    assert [each["unsorted"] for each in reports] == [None] * 3
    assert ReadPart.in_order(reports[0], reports[1])
    assert not ReadPart.in_order(reports[2], reports[0])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda path, frame: frame.write_parquet(path, compression="snappy"), {"unlike": True, "unreadable": False}),
        (lambda path, frame: io.write(frame.reverse(), path), {"unlike": True, "unsorted": 1}),
        (lambda path, frame: io.write(frame.rename({"ill": "sick"}), path), {"unreadable": True}),
        (lambda path, _: path.write_bytes(b"PAR1"), {"unreadable": True}),
        (lambda path, frame: io.write(frame.head(ROWS - 1), path), {"unreadable": True}),
        (lambda path, frame: io.write(frame.with_columns(weight=pl.lit(-0.0)), path), {"height": ROWS}),
    ],
    ids=["written otherwise", "another order", "another name", "broken", "short", "negative zero"],
)
def test_what_is_wrong_with_a_part_is_reported(saved, tmp_path, change, told):
    folder, table, _ = saved
    copied = tmp_path / "out"
    copied.mkdir()
    for path in folder.iterdir():
        (copied / path.name).write_bytes(path.read_bytes())
    read = reader(copied, table)
    change(copied / read.names[0], table.head(ROWS))
    _, (report,) = results(read, 0)
    assert {key: report[key] for key in told} == told
    assert bool(report["problems"]) == (report["unreadable"] or "height" in told)


def test_rows_are_looked_up(saved):
    folder, table, _ = saved
    read = reader(folder, table)
    row_map = folder.with_name("out.private") / "rows.parquet"
    known = table.select(read.shown).unique(maintain_order=True)
    known.write_ipc(folder.with_name("shown.arrow"))
    other = {name: table.schema[name] for name in SCHEMA.other}
    look = LookUp(folder, read.names, row_map, folder.with_name("shown.arrow"), other)
    found = pl.concat([pl.DataFrame(batch) for batch in look(iter(numbers(0, 1, 2)))])
    assert found["row"].equals(pl.read_parquet(row_map)["row"])
    assert known[found["shown"].to_numpy()].equals(table.select(read.shown))
    assert bits_of(found, "q", other).equals(table.select(SCHEMA.other))


VALUES = {"note": pl.String(), "weight": pl.Float64()}


def others(**changes):
    look = Others(lambda frame: frame.select("note", "weight", "name"), VALUES, [("note", "name")], ["?"], 2)
    return replace(look, **changes)


def arriving(published=("a", "b", "c", "d"), names=("a", "b", "c", "d"), shown=(3, 1, None, 2)):
    """Rows as the join gives them: the original's columns, its number, what stands for it, and published columns."""
    weight = pl.Series([1.5, None, 2.0, 3.0])
    return pl.DataFrame(
        {"row": [0, 1, 2, 3], "shown": pl.Series(shown, dtype=pl.Int64), "note": ["a", "b", "c", "d"],
         "weight": weight, "name": names, "q0": published, "q1": io.plain_bits(weight)}
    )  # fmt: skip


def joined(look, *frames):
    """Each frame is one batch of a worker of its own."""
    reports = [pl.DataFrame(batch)["about"][0] for frame in frames for batch in look(iter(batches(frame)))]
    return Others.joined(reports, look.repeats)


def test_other_columns_are_held_against_their_originals():
    wrong, repeats, samples = joined(others(), arriving(), arriving())
    assert {name: int(counts.min()) for name, counts in wrong.items()} == {"note": 0, "weight": 0}
    assert repeats == [("note", "name")]
    assert [(sample["note"].to_list(), sample[" shown"].to_list()) for sample in samples] == [(["a"], [3])] * 2
    wrong, _, _ = joined(others(), arriving(published=("x", "b", "never released", "x")), arriving())
    assert {name: int(counts.min()) for name, counts in wrong.items()} == {"note": 2, "weight": 0}


def test_a_column_repeats_another_only_if_it_does_in_all_rows_and_there_are_two_values():
    assert joined(others(), arriving(), arriving(names=("a", "b", "c", "x")))[1] == []
    same = arriving().with_columns(name=pl.lit("a"), note=pl.lit("a"))
    assert joined(others(), same, same)[1] == []
    assert joined(others(), same, same.with_columns(name=pl.lit("b"), note=pl.lit("b")))[1] == [("note", "name")]
    two = [("note", "name"), ("weight", "row")]
    look = others(repeats=two, values=lambda frame: frame.select("note", "weight", "name", "row"))
    assert joined(look, arriving().with_columns(weight=pl.col("row").cast(pl.Float64)))[1] == two


def test_without_published_columns_and_rows_there_is_nothing_to_compare():
    look = others(other={}, values=lambda frame: frame.select("note", "name"))
    bare = arriving().select("note", "name")
    assert joined(look, bare) == ({}, [("note", "name")], [])
    wrong, repeats, samples = joined(others(), arriving().clear())
    assert (wrong, repeats, samples) == ({}, [], [])
    report = pickle.loads(pl.DataFrame(next(others()(iter(batches(arriving())))))["about"][0])
    assert report[1] == {("note", "name"): True}
    assert np.array_equal(report[0]["weight"], [0] * len(report[0]["weight"]))
