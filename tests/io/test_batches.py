"""Tables in parts: what comes out is what is read at once."""

import polars as pl
import pytest

import incrowd as ic
from incrowd import io

FRAME = pl.DataFrame(
    {
        "age": [31, None, 45, 31] * 50,
        "name": ["Ann", "Bö", "c,d", None] * 50,
        "paid": [1.5, 2.0, None, -0.25] * 50,
        "fine": [True, False, None, True] * 50,
    }
)


@pytest.fixture(autouse=True)
def little(monkeypatch):
    monkeypatch.setattr(io.batches, "BATCH_ROWS", 30)


def whole(batches):
    return pl.concat(batches.iterate(batches.columns))


def test_parquet_and_frames(tmp_path):
    FRAME.write_parquet(tmp_path / "t.parquet")
    for source in (tmp_path / "t.parquet", str(tmp_path / "*.parquet"), FRAME, FRAME.lazy()):
        batches = io.open_batches(source)
        assert not batches.is_text
        assert whole(batches).equals(FRAME)
        assert next(part.columns for part in batches.iterate(["paid", "age"])) == ["paid", "age"]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv"])
def test_texts_get_the_types_of_the_whole_file(name, tmp_path):
    io.write(FRAME, tmp_path / name)
    batches = io.open_batches(tmp_path / name)
    assert batches.is_text
    texts = whole(batches)
    assert set(texts.dtypes) == {pl.String}
    known = {column.name: column.unique(maintain_order=True) for column in texts}
    typed, values = batches.settled(known, io.Findings())
    assert whole(typed).equals(io.read(tmp_path / name))
    assert values["age"].dtype == pl.Int64


def test_what_cannot_be_read_in_parts_is_an_error(tmp_path):
    io.write(FRAME, tmp_path / "t.arrow")
    with pytest.raises(ic.InputError, match="is Arrow, which cannot be read in parts"):
        io.open_batches(tmp_path / "t.arrow")
    with pytest.raises(ic.InputError, match="There is no file"):
        io.open_batches(tmp_path / "nothing.parquet")
    (tmp_path / "bad.parquet").write_text("no")
    with pytest.raises(ic.InputError, match="is not a Parquet file, or it is damaged"):
        io.open_batches(tmp_path / "bad.parquet")
    (tmp_path / "odd.csv").write_bytes("a,b\nä,1\n".encode("latin-1"))
    with pytest.raises(ic.InputError):
        whole(io.open_batches(tmp_path / "odd.csv"))
