"""Out of core: the same files as from memory, byte for byte, whatever fits at once; nothing is left of a failed run."""

import json
import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
import strategies
from incrowd import engines, io, workflow
from incrowd.engines import memory, ordering, parts
from incrowd.publish import make
from incrowd.runs import Run
from incrowd.verify import row_map
from incrowd.verify.streamed import verify_dataset
from streamed_tables import SCHEMA, people, publish

METHODS = [
    ("mondrian", {}),
    ("mondrian", {"cut": "loss"}),
    ("infogain_mondrian", {}),
    ("best_cuts", {"runs": 4}),
    ("best_cuts", {"runs": 2, "l": 1.2}),
    ("mondrian", {"recoding": "single"}),
    ("tds", {}),
    ("tdr", {}),
    ("pais", {}),
    ("iack", {}),
    ("tree", {}),
    ("pais", {"L": 2, "C": 0.9}),
    ("iack", {"l": 1.3}),
    ("tree", {"l": 1.3, "gain": "gini", "tighten": False}),
]


@pytest.fixture
def little(monkeypatch):
    """Let little fit at once, so that every loop over batches, files and parts has several rounds."""
    monkeypatch.setattr(io.batches, "BATCH_ROWS", 97)
    monkeypatch.setattr(io, "BATCH_ROWS", 97)
    monkeypatch.setattr(row_map, "ROWS_TOGETHER", 101)
    monkeypatch.setattr(memory.Memory, "rows_in_order", lambda _self, _n: 150)


def public_files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("method", "parameters"), METHODS)
def test_the_files_are_those_from_memory(method, parameters, little, tmp_path, monkeypatch):
    frame = people()
    if method in ("iack", "tree"):  # large groups, and those with other columns must fit
        monkeypatch.setattr(memory.Memory, "rows_in_order", lambda _self, _n: 600)
    release = publish(frame, SCHEMA, tmp_path / "streamed", method, **parameters)
    local = ic.publish(frame, SCHEMA, method=method, k=5, seed=1, **parameters)
    local.save_to(tmp_path / "local", dataset=True)
    assert public_files(tmp_path / "streamed") == public_files(tmp_path / "local")
    loaded = release.load()
    assert loaded.verify(frame).complete
    assert loaded.labelled().equals(local.labelled())
    assert release.n_rows == 600
    recoded = (loaded.transform(frame), local.transform(frame))
    assert recoded[0].equals(recoded[1])


@given(strategies.tables(), st.sampled_from(METHODS))
def test_random_tables_give_the_same_release(tmp_path_factory, drawn, chosen):
    method, parameters = chosen
    folder = tmp_path_factory.mktemp("random")
    k = min(3, drawn.frame.height)
    try:
        local = ic.publish(drawn.frame, drawn.schema, method=method, k=k, seed=5, **parameters)
    except ic.IncrowdError as error:
        with pytest.raises(type(error)):
            publish(drawn.frame, drawn.schema, folder / "out", method, seed=5, k=k, **parameters)
        assert not list(folder.iterdir())
        return
    publish(drawn.frame, drawn.schema, folder / "out", method, seed=5, k=k, **parameters)
    local.save_to(folder / "local", dataset=True)
    assert public_files(folder / "out") == public_files(folder / "local")


def test_equal_rows_stand_in_an_order_that_a_seed_repeats_and_nothing_else_does(little, tmp_path):
    frame, schema = people(), ic.Schema(quasi={"age": ic.Intervals(), "sex": None}, sensitive="ill", rest="drop")
    maps = []
    for number, seed in enumerate([1, 1, 2, None]):
        publish(frame, schema, tmp_path / str(number), seed=seed)
        maps.append(pl.read_parquet(tmp_path / f"{number}.private" / "rows.parquet")["row"])
    assert maps[0].equals(maps[1])
    assert not maps[0].equals(maps[2])
    assert not maps[0].equals(maps[3])
    assert maps[0].sort().to_list() == list(range(600))


def test_a_text_file_gives_the_release_of_its_table(little, tmp_path):
    frame = people().with_columns(pl.col("weight").fill_null(0.5))
    frame.write_csv(tmp_path / "people.csv")
    publish(tmp_path / "people.csv", SCHEMA, tmp_path / "streamed")
    local = ic.publish(io.read_as(tmp_path / "people.csv", SCHEMA.reading), SCHEMA, method="mondrian", k=5, seed=1)
    local.save_to(tmp_path / "local", dataset=True)
    assert public_files(tmp_path / "streamed") == public_files(tmp_path / "local")
    assert verify_dataset(tmp_path / "streamed", tmp_path / "people.csv").complete
    publish(
        tmp_path / "people.csv", SCHEMA, tmp_path / "without a seed", seed=None
    )  # columns without a role stay texts


def test_a_folder_of_parquet_files_and_a_lazy_frame_are_read(little, tmp_path):
    frame, table = people(), tmp_path / "table"
    table.mkdir()
    for number, part in enumerate(frame.iter_slices(250)):
        part.write_parquet(table / f"{number}.parquet")
    frame.head(0).write_parquet(table / "0 empty.parquet")
    publish(table, SCHEMA, tmp_path / "folder")
    publish(frame.lazy(), SCHEMA, tmp_path / "lazy")
    for source, name in ((io.read_as(table, SCHEMA.reading), "folder"), (frame, "lazy")):
        ic.publish(source, SCHEMA, method="mondrian", k=5, seed=1).save_to(tmp_path / f"{name} local", dataset=True)
        assert public_files(tmp_path / name) == public_files(tmp_path / f"{name} local")
    assert verify_dataset(tmp_path / "folder", table).complete


def test_a_column_that_changes_its_type_between_files_is_an_error(tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "1.parquet")
    pl.DataFrame({"a": ["x"]}).write_parquet(tmp_path / "2.parquet")
    with pytest.raises(ic.InputError, match=r"Column 'a' is of type Int64 in .* and of type String in"):
        io.open_batches(tmp_path)


def test_a_damaged_file_and_a_full_disk_leave_nothing(tmp_path, monkeypatch):
    table = tmp_path / "t.parquet"
    people().write_parquet(table)
    data = bytearray(table.read_bytes())
    data[200:400] = bytes(200)
    table.write_bytes(data)
    with pytest.raises(ic.InputError, match="is damaged"):
        publish(table, SCHEMA, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]

    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parts, "write_private", full)
    with pytest.raises(ic.InputError, match="No space left"):
        publish(people(), SCHEMA, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_what_is_cancelled_leaves_nothing(little, tmp_path):
    for stage in ("counting rows", "dealing out rows", "writing", "checking parts", "checking originals"):

        def stop(name, _done, _total, stage=stage):
            if name == stage:
                raise ic.Cancelled(name)

        with pytest.raises(ic.Cancelled, match=stage):
            engines.publish_streamed(people(), SCHEMA, make("mondrian", k=5), tmp_path / "out", progress=stop)
        assert not list(tmp_path.iterdir())


def test_methods_that_need_all_rows_say_which_do_not():
    for method, parameters in (("nsvdist", {}), ("kactus", {})):
        with pytest.raises(ic.IncompatibleError, match="needs all rows in memory") as raised:
            publish(people(), SCHEMA, "out", method, **parameters)
        assert "best_cuts" in str(raised.value)


def test_what_does_not_fit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(memory.Memory, "distinct_rows", lambda _self, _n: 100)
    with pytest.raises(ic.InputError, match="too many different rows for the memory"):
        publish(people(), SCHEMA, tmp_path / "out", "tds")
    monkeypatch.undo()
    monkeypatch.setattr(memory.Memory, "rows_in_order", lambda _self, _n: 100)
    with pytest.raises(ic.InputError, match="A group has 600 rows"):
        publish(people(), SCHEMA, tmp_path / "out", k=600)
    with pytest.raises(ic.ParameterError, match="The memory is 'much'"):
        memory.Memory.of("much")
    with pytest.raises(ic.ParameterError, match="takes 1024 MB at least"):
        memory.Memory.of("1MB")
    assert not list(tmp_path.iterdir())


def test_dropped_rows_are_counted(little, tmp_path):
    frame = people().with_columns(pl.when(pl.col("age") > 70).then(None).otherwise(pl.col("age")).alias("age"))
    schema = ic.Schema(
        quasi={"age": ic.Intervals(), "zip": None}, sensitive="ill", missing="drop", missing_tokens=["?"], rest="drop"
    )
    release = publish(frame, schema, tmp_path / "out")
    gone = frame.filter(pl.col("age").is_null() | (pl.col("zip") == "?")).height
    assert release.manifest.rows.missing == gone > 0
    ic.publish(frame, schema, method="mondrian", k=5, seed=1).save_to(tmp_path / "local", dataset=True)
    assert public_files(tmp_path / "out") == public_files(tmp_path / "local")


def test_the_private_folder_belongs_to_its_dataset(tmp_path):
    publish(people(), SCHEMA, tmp_path / "a")
    publish(people(seed=1), SCHEMA, tmp_path / "b")
    about = json.loads((tmp_path / "a.private" / "manifest.json").read_text())
    assert sorted(about["public"]) == ["_manifest.json", "part-00000.parquet"]
    assert ordering.ROW.strip() == ""  # no column has such a name
    shutil.rmtree(tmp_path / "a.private")
    shutil.copytree(tmp_path / "b.private", tmp_path / "a.private")
    with pytest.raises(ic.InputError, match="does not belong to"):
        ic.Release.load(tmp_path / "a")
    assert any("digest" in text for text in verify_dataset(tmp_path / "a", people()).violations)
    assert any("digest" in text for text in ic.verify(tmp_path / "a", people()).violations)


def test_the_door_of_the_library_leads_to_it(tmp_path):
    frame, schema = people(), SCHEMA
    release = ic.publish(
        frame, schema, method="mondrian", k=5, seed=1, engine="streamed", output=tmp_path / "out", memory="2GB"
    )
    assert repr(release) == "DatasetRelease(mondrian: k = 5; 600 of 600 rows)"
    assert release.verify(frame).complete
    local = ic.publish(frame, schema, method="mondrian", k=5, seed=1)
    assert release.overview == local.overview()
    with pytest.raises(ic.ParameterError, match="There is no engine 'cloud'"):
        ic.publish(frame, schema, k=5, engine="cloud", output=tmp_path / "no")
    with pytest.raises(ic.ParameterError, match="writes a release and returns no rows"):
        ic.publish(frame, schema, k=5, engine="streamed")
    with pytest.raises(ic.ParameterError, match="Parameter memory is for other engines"):
        ic.publish(frame, schema, k=5, memory="2GB")


def test_a_disk_that_is_too_small_is_told_before_rows_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr(memory.shutil, "disk_usage", lambda _folder: type("Usage", (), {"free": 1000})())
    with pytest.raises(ic.InputError, match="Bringing 600 rows in order takes about"):
        publish(people(), SCHEMA, tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_adult_is_the_same_by_every_method(tmp_path):
    from incrowd.datasets import adult, adult_schema

    frame = adult("train")
    for number, (method, parameters) in enumerate([*METHODS, ("mondrian", {"l": 1.2, "t": 0.3})]):
        publish(frame, adult_schema(), tmp_path / f"{number}", method, k=20, **parameters)
        local = ic.publish(frame, adult_schema(), method=method, k=20, seed=1, **parameters)
        local.save_to(tmp_path / f"{number} local", dataset=True)
        assert public_files(tmp_path / f"{number}") == public_files(tmp_path / f"{number} local")


def test_what_the_schema_asks_of_columns_is_kept(tmp_path):
    frame = people().with_columns(job=pl.Series(np.random.default_rng(3).choice(["a", "b", "c"], 600).tolist()))
    schema = ic.Schema(
        quasi={"age": ic.Intervals(), "sex": None}, sensitive=["ill", "job"], other=["note"], rest="drop"
    )
    attributes = dict(schema.attributes)
    attributes["ill"] = replace(attributes["ill"], limits={"l": 1.5})
    limited = schema.with_attributes(attributes.values())
    for number, (roles, parameters) in enumerate(
        [(schema, {}), (limited, {}), (schema, {"l": 1.3, "others_known": True})]
    ):
        release = publish(frame, roles, tmp_path / f"{number}", **parameters)
        local = ic.publish(frame, roles, method="mondrian", k=5, seed=1, **parameters)
        local.save_to(tmp_path / f"{number} local", dataset=True)
        assert public_files(tmp_path / f"{number}") == public_files(tmp_path / f"{number} local")
        verdict = release.verify(frame)
        assert verdict.complete
        assert {check.name for check in verdict.checks if "of 'job'" in check.name}
        assert release.overview == local.overview()
    limits = {tuple(guarantee.to_dict().items()) for guarantee in release.manifest.guarantees}
    assert len(limits) > 1


def test_what_a_run_will_need_is_told_before(tmp_path, monkeypatch):
    people().write_parquet(tmp_path / "people.parquet")
    people().write_csv(tmp_path / "people.csv")
    told = engines.foresee(tmp_path / "people.parquet", SCHEMA, tmp_path / "a" / "out", "2GB")
    assert told.startswith("600 rows: at most 2.0 GB of memory, and on the disk beside the output about 0.0 GB; ")
    assert engines.foresee(tmp_path / "people.csv", SCHEMA, tmp_path / "out", None) is None  # it would have to be read
    monkeypatch.setattr(memory.Memory, "distinct_rows", lambda _self, _n: 100)
    assert "if more than 100 rows differ" in engines.foresee(people(), SCHEMA, tmp_path / "out", None)
    said = []
    workflow.publish(
        str(tmp_path / "people.parquet"), SCHEMA, tmp_path / "out", method="mondrian", parameters={"k": 5},
        engine="streamed", run=Run(notice=said.append),
    )  # fmt: skip
    assert len(said) == 1
