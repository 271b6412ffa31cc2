"""Tables whose distinct rows do not fit the memory: the release from memory, byte for byte, and verified in pieces."""

import errno
import os

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
import strategies
from incrowd import io
from incrowd.coding import DiskArrays, stored
from incrowd.engines import memory, streamed
from incrowd.engines import stored as engine
from incrowd.engines.distinct import TooManyRowsError
from incrowd.verify import pairs, pieces, row_map
from incrowd.verify.streamed import verify_dataset
from streamed_tables import SCHEMA, people, publish

METHODS = [
    ("mondrian", {}),
    ("mondrian", {"cut": "loss"}),
    ("mondrian", {"strict": False}),
    ("mondrian", {"l": 1.3, "t": 0.4}),
    ("infogain_mondrian", {}),
    ("best_cuts", {"runs": 4}),
    ("best_cuts", {"runs": 2, "l": 1.2}),
]


@pytest.fixture
def full(monkeypatch):
    """Let nothing fit: neither the distinct rows nor the distinct pairs, and every loop over slices has rounds."""
    shrink(monkeypatch)


def shrink(monkeypatch):
    def too_many(*_args, **_settings):
        fact = "The table has too many different rows"
        raise TooManyRowsError(fact, "give it more")

    monkeypatch.setattr(streamed, "find_distinct", too_many)
    monkeypatch.setattr(io.batches, "BATCH_ROWS", 97)
    monkeypatch.setattr(io, "BATCH_ROWS", 97)
    monkeypatch.setattr(engine, "SLICE", 113)
    monkeypatch.setattr(stored, "SLICE", 113)
    monkeypatch.setattr(row_map, "ROWS_TOGETHER", 101)
    monkeypatch.setattr(pairs, "MANY", 10)
    monkeypatch.setattr(pieces, "PIECE", 60)
    monkeypatch.setattr(memory.Memory, "rows_in_order", lambda _self, _n: 150)


def public_files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def same_as_local(frame, schema, folder, method, **parameters):
    publish(frame, schema, folder / "stored", method, **parameters)
    local = ic.publish(frame, schema, method=method, seed=1, **{"k": 5, **parameters})
    local.save_to(folder / "local", dataset=True)
    assert public_files(folder / "stored") == public_files(folder / "local")
    assert sorted(path.name for path in folder.iterdir()) == ["local", "local.private", "stored", "stored.private"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("method", "parameters"), METHODS)
def test_the_files_are_those_from_memory(method, parameters, full, tmp_path):
    frame = people()
    same_as_local(frame, SCHEMA, tmp_path, method, **parameters)
    loaded = ic.Release.load(tmp_path / "stored")
    assert loaded.verify(frame).complete
    if parameters.get("strict", True):
        assert loaded.transform(frame).equals(ic.Release.load(tmp_path / "local").transform(frame))


def without_some():
    return people().with_columns(age=pl.when(pl.col("age") > 70).then(None).otherwise(pl.col("age")))


SCHEMAS = {
    "dropped rows": {"sensitive": "ill", "missing": "drop"},
    "two sensitive columns": {"sensitive": ["ill", "weight"], "other": ["note"], "missing": "drop"},
    "nothing sensitive": {"other": ["note"]},
    "a class among other columns": {"other": ["note", "ill"], "target": "ill"},
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("what", SCHEMAS)
@pytest.mark.parametrize("method", ["mondrian", "best_cuts"])
def test_roles_and_missing_values(what, method, full, tmp_path):
    schema = ic.Schema(
        quasi={"age": ic.Intervals(), "zip": ic.prefixes(), "sex": None}, rest="drop", missing_tokens=["?"],
        **SCHEMAS[what],
    )  # fmt: skip
    same_as_local(without_some(), schema, tmp_path, method)


def test_hierarchies_that_look_at_the_class_and_text_files(full, tmp_path):
    supervised = {"age": ic.mdl(), "zip": ic.balanced(), "sex": ic.by_class()}
    schema = ic.Schema(quasi=supervised, sensitive="ill", rest="drop", missing="drop", missing_tokens=["?"])
    file = tmp_path / "people.csv"
    without_some().write_csv(file)
    publish(file, schema, tmp_path / "stored", "infogain_mondrian")
    assert verify_dataset(tmp_path / "stored", file).complete
    read = io.read_as(file, schema.reading)
    ic.publish(read, schema, method="infogain_mondrian", k=5, seed=1).save_to(tmp_path / "local", dataset=True)
    assert public_files(tmp_path / "stored") == public_files(tmp_path / "local")


@given(strategies.tables(), st.sampled_from(METHODS))
def test_random_tables_give_the_same_release(tmp_path_factory, drawn, chosen):
    method, parameters = chosen
    folder = tmp_path_factory.mktemp("random")
    settings = {"k": min(3, drawn.frame.height), "seed": 5, **parameters}
    with pytest.MonkeyPatch.context() as patched:
        shrink(patched)
        try:
            local = ic.publish(drawn.frame, drawn.schema, method=method, **settings)
        except ic.IncrowdError as error:
            with pytest.raises(type(error)):
                publish(drawn.frame, drawn.schema, folder / "out", method, **settings)
            assert not list(folder.iterdir())
            return
        publish(drawn.frame, drawn.schema, folder / "out", method, **settings)
        local.save_to(folder / "local", dataset=True)
        assert public_files(folder / "out") == public_files(folder / "local")


def judged(folder, original, monkeypatch):
    """Return what is found of pairs in memory, and in pieces."""
    found = []
    for many, piece in ((1 << 30, 1 << 30), (10, 60)):
        monkeypatch.setattr(pairs, "MANY", many)
        monkeypatch.setattr(pieces, "PIECE", piece)
        told = verify_dataset(folder, original)
        fine = {check.name: check.detail if check.ok else check.ok for check in told.checks if check.name != "extents"}
        found.append((told.ok, told.complete, fine, told.levels))
    return found


def test_pieces_find_what_is_found_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(io.batches, "BATCH_ROWS", 47)
    frame, out = people(240), tmp_path / "out"
    publish(frame, SCHEMA, out)
    first = pl.int_range(pl.len()) == 3
    other = "cold" if frame["ill"][3] == "flu" else "flu"
    changes = {
        "none": frame,
        "a value that nobody has": frame.with_columns(age=pl.when(first).then(99).otherwise("age")),
        "a sensitive value": frame.with_columns(ill=pl.when(first).then(pl.lit(other)).otherwise("ill")),
        "another order": frame.reverse(),
        "text among numbers": frame.with_columns(
            age=pl.when(first).then(pl.lit("x")).otherwise(pl.col("age").cast(pl.String))
        ),
        "an other column": frame.with_columns(note=pl.when(first).then(pl.lit("new")).otherwise("note")),
    }
    for name, original in changes.items():
        in_memory, in_pieces = judged(out, original, monkeypatch)
        assert in_memory == in_pieces, name
        assert in_memory[0] == (name == "none")
    file = tmp_path / "out.private" / "rows.parquet"
    order = pl.read_parquet(file)
    for changed in (order.reverse(), order.with_columns(row=pl.lit(0, pl.Int64)), order + 7):
        changed.write_parquet(file)
        in_memory, in_pieces = judged(out, frame, monkeypatch)
        assert not in_memory[0]
        assert in_memory == in_pieces
    (tmp_path / "out.private").rename(tmp_path / "elsewhere")
    in_memory, in_pieces = judged(out, frame, monkeypatch)
    assert in_memory == in_pieces
    assert in_pieces[:2] == (True, False)


def test_cells_that_are_too_wide_are_found_in_pieces(tmp_path, monkeypatch):
    frame, out = people(), tmp_path / "out"
    publish(frame, SCHEMA, out)
    older = frame.with_columns(age=pl.col("age").clip(19, 78))  # cells that reach 18 or 79 are wider than their rows
    for many in (1 << 30, 10):
        monkeypatch.setattr(pairs, "MANY", many)
        told = verify_dataset(out, older)
        assert any("wider than its rows ask for" in text for text in told.violations)


def test_a_full_disk_and_too_many_groups_are_told(full, tmp_path, monkeypatch):
    def no_room(*_args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "posix_fallocate", no_room)
        with pytest.raises(ic.InputError, match="The disk has no room for"):
            publish(people(), SCHEMA, tmp_path / "out")
    with monkeypatch.context() as patched:  # a file system that cannot take room beforehand

        def unable(*_args):
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

        patched.setattr(os, "posix_fallocate", unable)
        assert (DiskArrays(tmp_path, 0).empty(10, np.int32) == 0).all()
    with monkeypatch.context() as patched:
        patched.setattr(memory, "_PER_CELL", 1 << 30)
        with pytest.raises(ic.InputError, match="in groups of 5 takes up to"):
            publish(people(), SCHEMA, tmp_path / "out")
    with monkeypatch.context() as patched:
        patched.setattr(memory.shutil, "disk_usage", lambda _folder: type("Usage", (), {"free": 1000})())
        with pytest.raises(ic.InputError, match="nearly all different takes about"):
            publish(people(), SCHEMA, tmp_path / "out")
    with pytest.raises(ic.InputError, match="too many different rows"):  # one recoding for all: not on the disk
        publish(people(), SCHEMA, tmp_path / "out", "tds")
    assert not list(tmp_path.iterdir())


def test_what_is_cancelled_leaves_nothing(full, tmp_path):
    for stage in ("coding", "counting values", "placing rows", "cutting", "dealing out rows", "checking originals"):

        def stop(name, _done, _total, stage=stage):
            if name == stage:
                raise ic.Cancelled(name)

        with pytest.raises(ic.Cancelled, match=stage):
            streamed.publish_streamed(people(), SCHEMA, ic.Mondrian(k=5), tmp_path / "out", progress=stop)
        assert not list(tmp_path.iterdir())


def test_memory_is_given_back_and_nothing_is_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "_PAUSE", 0.001)
    monkeypatch.setattr(stored, "_LEAST", 0)
    disk = DiskArrays(tmp_path, 0)
    assert not list(tmp_path.iterdir())
    given = []
    monkeypatch.setattr(disk, "_give_back", lambda real=disk._give_back: (given.append(1), real()))
    with disk.watched():
        array = disk.empty((200_000, 5), np.int32)
        for number in range(20):
            array += number
        copy = disk.copy(array)
    assert given
    assert (copy == 190).all()
    assert disk.empty((3, 2), np.int32, columns=True).flags.f_contiguous


def test_the_order_of_the_table_shows_nowhere(full, tmp_path):
    """The same people in another order give the same rows, in parts of the same names and lengths."""
    frame, wide = people(), ic.Schema(quasi={"age": ic.Intervals(), "sex": None}, sensitive="ill", rest="drop")
    found = []
    for number, order in enumerate((frame, frame.sample(fraction=1, shuffle=True, seed=7), frame.sort("ill", "age"))):
        publish(order, wide, tmp_path / str(number), seed=None)
        parts = sorted((tmp_path / str(number)).glob("*.parquet"))
        found.append([(part.name, part.read_bytes()) for part in parts])
        rows = pl.read_parquet(tmp_path / f"{number}.private" / "rows.parquet")["row"].to_numpy()
        falls = np.diff(rows) < 0
        equal = (pl.read_parquet(parts[0]).head(599) == pl.read_parquet(parts[0]).tail(599)).min_horizontal()
        assert 0.2 < falls[equal.to_numpy()].mean() < 0.8  # equal rows stand at random, in what the owner keeps, too
    assert found[0] == found[1] == found[2]
