"""Spark: the release of the local engine, byte for byte, however the table is divided; a failed run leaves nothing."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd import engines, io
from incrowd.engines import memory, publish_spark, spark_rows, spark_session, spark_source, verify_spark
from incrowd.publish import make
from incrowd.verify.streamed import verify_dataset
from streamed_tables import SCHEMA, people

METHODS = [
    ("mondrian", {}),
    ("mondrian", {"cut": "loss"}),
    ("mondrian", {"recoding": "single"}),
    ("mondrian", {"l": 1.3, "t": 0.4}),
    ("infogain_mondrian", {}),
    ("best_cuts", {"runs": 4}),
    ("tds", {}),
    ("tdr", {}),
    ("pais", {}),
    ("iack", {}),
    ("tree", {}),
]


def public_files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def publish(source, output, method="mondrian", schema=SCHEMA, seed=1, k=5, progress=None, **parameters):
    return publish_spark(source, schema, make(method, **{"k": k, **parameters}), output, seed=seed, progress=progress)


def local_files(frame, folder, method="mondrian", schema=SCHEMA, k=5, **parameters):
    ic.publish(frame, schema, method=method, k=k, seed=1, **parameters).save_to(folder, dataset=True)
    return public_files(folder)


def split_into(monkeypatch, n_rows, n):
    """Let files be read in so many splits, and buckets be small."""
    monkeypatch.setattr(spark_source, "SPLIT_ROWS", -(-n_rows // n))
    monkeypatch.setattr(spark_rows, "BUCKET_ROWS", 150)


def test_spark_writes_the_local_release_and_verifies_it(spark, tmp_path, monkeypatch):
    table = tmp_path / "people.parquet"
    people(300).write_parquet(table)
    frame = io.read_as(table, SCHEMA.reading)
    split_into(monkeypatch, 300, 3)
    release = publish(table, tmp_path / "spark")
    assert public_files(tmp_path / "spark") == local_files(frame, tmp_path / "local")
    assert release.load().verify(frame).complete
    assert verify_dataset(tmp_path / "spark", table).complete


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(METHODS)))
def test_every_method_at_any_number_of_splits(number, spark, tmp_path, monkeypatch):
    method, parameters = METHODS[number]
    table = tmp_path / "people.parquet"
    people(600).write_parquet(table)
    frame = io.read_as(table, SCHEMA.reading)
    expected = local_files(frame, tmp_path / "local", method, **parameters)
    for n in (1, 2 + number % 5, 7):
        split_into(monkeypatch, 600, n)
        publish(table, tmp_path / str(n), method, **parameters)
        assert public_files(tmp_path / str(n)) == expected
    assert verify_dataset(tmp_path / "7", table).complete


@pytest.mark.slow
def test_frames_of_spark_whatever_their_partitions(spark, tmp_path, monkeypatch):
    split_into(monkeypatch, 600, 1)
    table = tmp_path / "people.parquet"
    frame = people(600)
    frame.write_parquet(table)
    read = spark.read.parquet(str(table))
    expected = local_files(frame, tmp_path / "local")
    release = ic.publish(read, SCHEMA, method="mondrian", k=5, seed=1, output=tmp_path / "plain")
    assert public_files(tmp_path / "plain") == expected
    assert release.verify(read).complete
    assert release.verify(frame).complete
    for collects in (lambda: ic.verify(tmp_path / "plain", read), lambda: ic.Schema.propose(read)):
        with pytest.raises(ic.InputError, match="A frame of Spark would be brought to this machine as a whole"):
            collects()
    moved = read.repartition(5)
    publish(moved, tmp_path / "moved", seed=None)
    parts = [pl.read_parquet(folder / "part-00000.parquet") for folder in (tmp_path / "plain", tmp_path / "moved")]
    assert parts[0].equals(parts[1])
    assert ic.Release.load(tmp_path / "moved").verify().ok
    read.createOrReplaceTempView("people_of_a_town")
    publish("people_of_a_town", tmp_path / "table")
    assert public_files(tmp_path / "table") == expected


@pytest.mark.slow
def test_text_files_and_dropped_rows(spark, tmp_path):
    frame, table = people(600), tmp_path / "people"
    table.mkdir()
    frame = frame.with_columns(pl.col("weight").fill_null(0.5))
    for number, part in enumerate(frame.iter_slices(250)):
        part.write_csv(table / f"{number}.csv")
    publish(table, tmp_path / "spark")
    assert public_files(tmp_path / "spark") == local_files(io.read_as(table, SCHEMA.reading), tmp_path / "local")
    assert verify_spark(tmp_path / "spark", table).complete
    schema = ic.Schema(
        quasi={"age": ic.Intervals(), "zip": None}, sensitive="ill", missing="drop", missing_tokens=["?"], rest="drop"
    )
    frame.write_parquet(tmp_path / "t.parquet")
    publish(tmp_path / "t.parquet", tmp_path / "dropped", schema=schema)
    expected = local_files(
        io.read_as(tmp_path / "t.parquet", schema.reading), tmp_path / "local dropped", schema=schema
    )
    assert public_files(tmp_path / "dropped") == expected


@pytest.mark.slow
def test_equal_rows_stand_in_an_order_that_a_seed_repeats_and_nothing_else_does(spark, tmp_path, monkeypatch):
    schema = ic.Schema(quasi={"age": ic.Intervals(), "sex": None}, sensitive="ill", rest="drop")
    people(600).write_parquet(tmp_path / "t.parquet")
    maps = []
    for number, (seed, n) in enumerate([(1, 1), (1, 6), (2, 6), (None, 6)]):
        split_into(monkeypatch, 600, n)
        publish(tmp_path / "t.parquet", tmp_path / str(number), schema=schema, seed=seed, k=200)
        maps.append(pl.read_parquet(tmp_path / f"{number}.private" / "rows.parquet")["row"])
    assert maps[0].equals(maps[1])
    assert not maps[0].equals(maps[2])
    assert not maps[0].equals(maps[3])
    assert maps[0].sort().to_list() == list(range(600))
    below = np.flatnonzero(np.diff(maps[3].to_numpy()) < 0)
    assert len(below) > 200  # of rows in their order there would be one fall in each distinct row


@pytest.mark.slow
def test_what_is_forged_is_found(spark, tmp_path):
    table, out = tmp_path / "t.parquet", tmp_path / "out"
    people(300).write_parquet(table)
    publish(table, out)
    assert verify_spark(out, table).complete
    assert verify_spark(out).ok
    part = out / "part-00000.parquet"
    data, rows = part.read_bytes(), pl.read_parquet(part)
    other = rows["ill"].to_list()
    at = next(i for i in range(1, 300) if other[i] != other[i - 1])
    other[at - 1], other[at] = other[at], other[at - 1]
    io.write_canonical_parquet(rows.with_columns(pl.Series("ill", other)), part)
    told = verify_spark(out, table)
    assert not told.ok
    assert {check.name.split(" of ")[0] for check in told.checks if not check.ok} >= {"own value"}
    io.write_canonical_parquet(rows.with_columns(pl.col("note").reverse()), part)
    assert any("other columns" in text for text in verify_spark(out, table).violations)
    rows.write_parquet(part)
    assert any("is not written as" in text for text in verify_spark(out, table).violations)
    part.write_bytes(data[:-50])
    assert any("cannot be read" in text for text in verify_spark(out, table).violations)
    part.write_bytes(data)
    order = pl.read_parquet(tmp_path / "out.private" / "rows.parquet")
    for changed in (
        order.with_columns(pl.col("row").reverse()),
        order.with_columns(row=pl.lit(0, pl.Int64)),
        order + 7,
    ):
        changed.write_parquet(tmp_path / "out.private" / "rows.parquet")
        assert not verify_spark(out, table).ok
    local, ours = verify_dataset(out, table), verify_spark(out, table)
    assert {c.name for c in local.checks} == {c.name for c in ours.checks}


@pytest.mark.slow
def test_a_killed_worker_is_survived_and_a_full_disk_is_told(spark, tmp_path, monkeypatch):
    table, flag = tmp_path / "t.parquet", tmp_path / "flag"
    people(300).write_parquet(table)

    @dataclass(frozen=True)
    class Killed:
        columns: list

        def __call__(self, split, batches):
            if not flag.exists():
                flag.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield from spark_rows.CountDistinct(self.columns)(split, batches)

    monkeypatch.setattr(engines.spark, "CountDistinct", Killed)
    publish(table, tmp_path / "out")
    assert flag.exists()
    assert public_files(tmp_path / "out") == local_files(io.read_as(table, SCHEMA.reading), tmp_path / "local")

    @dataclass(frozen=True)
    class Full:
        columns: list

        def __call__(self, _split, _batches):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(engines.spark, "CountDistinct", Full)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ic.InputError, match="no space left on its disk"):
        publish(table, tmp_path / "full")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_what_is_cancelled_leaves_nothing(spark, tmp_path):
    people(300).write_parquet(tmp_path / "t.parquet")
    for stage in ("counting rows", "bringing rows in order", "writing", "checking parts", "checking originals"):

        def stop(name, _done, _total, stage=stage):
            if name == stage:
                raise ic.Cancelled(name)

        with pytest.raises(ic.Cancelled, match=stage):
            publish(tmp_path / "t.parquet", tmp_path / "out", progress=stop, seed=None)
        assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]
    tracker = spark.sparkContext.statusTracker()
    assert not tracker.getActiveJobsIds()


@pytest.mark.slow
def test_damaged_files_and_what_does_not_fit_are_clear_errors(spark, tmp_path, monkeypatch):
    table = tmp_path / "t"
    table.mkdir()
    people(300).write_parquet(table / "1.parquet")
    data = bytearray((table / "1.parquet").read_bytes())
    data[200:400] = bytes(200)
    (table / "2.parquet").write_bytes(data)
    for source in (table, spark.read.parquet(str(table))):
        with pytest.raises(ic.InputError, match="is damaged"):
            publish(source, tmp_path / "out", seed=None)
    people(300).with_columns(pl.col("age").cast(pl.String)).write_parquet(table / "2.parquet")
    with pytest.raises(ic.InputError, match=r"Column 'age' is of type Int64 in .* and of type String in"):
        publish(table, tmp_path / "out")
    with pytest.raises(ic.InputError, match=r"changes its type|other types|failed"):
        publish(spark.read.parquet(str(table)), tmp_path / "out", seed=None)
    (table / "2.parquet").unlink()
    monkeypatch.setattr(memory.Memory, "distinct_rows", lambda _self, _n: 100)
    with pytest.raises(ic.InputError, match="different rows in 300 rows, and 100 fit"):
        publish(table, tmp_path / "out", "tds")
    with pytest.raises(ic.IncompatibleError, match="needs all rows in memory"):
        publish(table, tmp_path / "out", "nsvdist")
    with pytest.raises(ic.InputError, match="Spark knows no table 'nowhere'"):
        publish("nowhere", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["t"]
    shutil.rmtree(table)


@pytest.mark.slow
def test_the_command_line_publishes_and_verifies_on_spark(tmp_path):
    people(300).write_parquet(tmp_path / "people.parquet")
    SCHEMA.to_toml(tmp_path / "people.toml")

    def incrowd(*arguments):
        command = [sys.executable, "-m", "incrowd", *arguments, "--engine", "spark", "--master", "local[2]"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = incrowd("publish", "people.parquet", "-s", "people.toml", "-m", "mondrian", "-k", "5", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "Share" in done.stdout
    assert "WARN" not in done.stderr
    assert verify_dataset(tmp_path / "out", tmp_path / "people.parquet").complete
    part = tmp_path / "out" / "part-00000.parquet"
    io.write_canonical_parquet(pl.read_parquet(part)[1:], part)
    told = incrowd("verify", "out", "--original", "people.parquet")
    assert told.returncode == 3, told.stderr


def test_a_master_is_for_spark(tmp_path):
    for engine in ("local", "streamed"):
        with pytest.raises(ic.errors.ParameterError, match="Parameter master is for"):
            ic.publish(
                people(30),
                SCHEMA,
                k=5,
                engine=engine,
                master="local[2]",
                output=tmp_path / "o" if engine == "streamed" else None,
            )


def test_errors_of_spark_are_told_without_cells():
    told = spark_session.explained(
        RuntimeError(
            "Job aborted: incrowd.errors.InputError: 'a.parquet' is damaged\n\nHint: write it again\nsecret cell"
        )
    )
    assert str(told) == "'a.parquet' is damaged\n\nHint: write it again"
    told = spark_session.explained(
        RuntimeError("[CAST_INVALID_INPUT] The value 'secret cell' ... NumberFormatException")
    )
    assert isinstance(told, ic.InputError)
    assert "secret" not in str(told)
    told = spark_session.explained(
        RuntimeError("Error while reading file file:///data/p/x.snappy.parquet. FAILED_READ_FILE")
    )
    assert str(told).startswith("'/data/p/x.snappy.parquet' is damaged")


def test_a_spark_that_does_not_start_asks_for_java():
    class Builder:
        def config(self, *_):
            return self

        appName = master = config  # noqa: N815

        def getOrCreate(self):
            fact = "JAVA_GATEWAY_EXITED"
            raise RuntimeError(fact)

    with pytest.raises(ic.errors.MissingDependencyError, match="Java 17 or 21"):
        spark_session._start(SimpleNamespace(builder=Builder()), "local[2]")
