"""Files that a forger wrote, of tables that no release has: they are judged, by both verifiers, and crash neither."""

import json
import shutil

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd import io
from incrowd.verify import pairs
from incrowd.verify.streamed import verify_dataset

N = 40


def people():
    rng = np.random.default_rng(3)
    pay = rng.normal(0, 9, N).round(1)
    return pl.DataFrame({"age": rng.integers(20, 60, N), "sex": rng.choice(["f", "m"], N).tolist(), "pay": pay})


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    place = tmp_path_factory.mktemp("odd")
    schema = ic.Schema(quasi={"age": ic.Intervals(), "sex": None}, sensitive="pay")
    release = ic.Mondrian(k=4, width=3).publish(people(), schema, seed=1)
    release.save(place / "out")
    release.save_to(place / "data", dataset=True)
    return place


@pytest.fixture
def copy(honest, tmp_path):
    for folder in honest.iterdir():
        shutil.copytree(folder, tmp_path / folder.name)
    return tmp_path


def rewrite(place, change):
    """Write the rows of both releases again, with types beside the dataset that fit them."""
    for file in (place / "out/release.parquet", place / "data/part-00000.parquet"):
        io.write_canonical_parquet(change(pl.read_parquet(file)), file)
    cover = json.loads((place / "data/_manifest.json").read_text())
    try:
        frame = pl.read_parquet(place / "data/part-00000.parquet")
        cover = io.Cover.of(cover["manifest"], {"release": frame}, str)
    except ic.InputError:  # a type that no cover names
        return
    (place / "data/_manifest.json").write_text(cover.to_json())


def first(name, value):
    def change(frame):
        return frame.with_columns(pl.Series(name, [value, *frame[name].to_list()[1:]], frame[name].dtype))

    return change


@pytest.mark.parametrize(
    "change",
    [
        first("pay", float("nan")),
        lambda frame: frame.with_columns(pl.col("pay").implode().over("age")),
        lambda frame: frame.with_columns(pl.concat_list("age.lo")),
        lambda frame: frame.with_columns(pl.col("age").cast(pl.Binary)),
        lambda frame: frame.with_columns(pl.col("age.hi").cast(pl.Decimal(9, 1))),
        lambda frame: frame.with_columns(pl.lit(None).alias("pay")),
        lambda frame: frame.with_columns(pl.col("pay").cast(pl.String)),
        lambda frame: frame.with_columns(pl.lit("x").alias("age.lo")),
        lambda frame: frame.drop("pay"),
        lambda frame: frame.drop("age.lo"),
        lambda frame: frame.clear(),
    ],
)
def test_such_rows_are_refused(change, copy, monkeypatch):
    monkeypatch.setattr(pairs, "MANY", 6)  # so that pairs are spilled
    assert ic.verify(copy / "out", people()).complete
    assert verify_dataset(copy / "data", people()).complete
    rewrite(copy, change)
    for original in (None, people()):
        assert not ic.verify(copy / "out", original).ok
        assert not verify_dataset(copy / "data", original).ok


def test_not_a_number_is_named(copy):
    rewrite(copy, first("pay", float("nan")))
    assert any("'not a number' for a missing value: 'pay'" in text for text in ic.verify(copy / "out").violations)
    assert any("'not a number' for a missing value: 'pay'" in text for text in verify_dataset(copy / "data").violations)


@pytest.mark.parametrize("lost", ["age", "pay"])
def test_an_original_that_lacks_a_column_is_told_so(lost, copy):
    verdict = verify_dataset(copy / "data", people().drop(lost))
    assert f"original: it lacks the columns '{lost}'" in verdict.violations
    assert not ic.verify(copy / "out", people().drop(lost)).ok


@pytest.mark.parametrize("name", [{}, [], None, 5, ["mondrian"]])
def test_a_method_without_a_name(name, copy):
    for file, path in ((copy / "out/manifest.json", ()), (copy / "data/_manifest.json", ("manifest",))):
        told = json.loads(file.read_text())
        inner = told[path[0]] if path else told
        inner["method"]["name"] = name
        file.write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n")
    assert not ic.verify(copy / "out", people()).ok
    assert not verify_dataset(copy / "data", people()).ok
