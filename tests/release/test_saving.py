"""Saving a release: both folders or none, the public one last, and canonical files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd import io
from incrowd.verify import check_folder


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    draw = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "age": draw.integers(17, 90, 60),
            "weight": draw.random(60) * 1e-5,
            "note": pl.Series(["=1", 'a "b", c', None, ""])[draw.integers(0, 4, 60)],
            "ill": pl.Series(["no", "yes"])[draw.integers(0, 2, 60)],
        }
    )


@pytest.fixture(scope="module")
def release(frame: pl.DataFrame) -> ic.Release:
    schema = ic.Schema(quasi={"age": ic.Intervals(), "weight": ic.Intervals()}, sensitive="ill", other=["note"])
    return ic.Mondrian(k=5).publish(frame, schema)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_public_folder_is_named_last(release: ic.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename, order = Path.rename, []

    def spy(self: Path, target: Path) -> Path:
        order.append(target.name)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", spy)
    release.save(tmp_path / "out")
    assert order == ["out.private", "out"]


def test_saved_twice_the_bytes_are_the_same(release: ic.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "one")
    ic.Release.load(tmp_path / "one").save(tmp_path / "two")
    for name in ("manifest.json", "release.csv", "release.parquet"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize(
    "failure",
    [
        pl.exceptions.ComputeError("parquet: underlying IO error: No space left on device (os error 28)"),
        OSError(28, ""),
    ],
)
@pytest.mark.parametrize("writer", ["write_canonical_parquet", "write_canonical_csv"])
def test_a_full_disk_leaves_nothing(
    failure: Exception, writer: str, release: ic.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_frame: pl.DataFrame, path: Path) -> None:
        path.write_bytes(b"half")
        raise failure

    monkeypatch.setattr(io, writer, full)
    with pytest.raises(ic.InputError, match="No space left"):
        release.save(tmp_path / "out")
    assert names(tmp_path) == []


def test_what_was_saved_is_verified_with_the_original(release: ic.Release, frame: pl.DataFrame, tmp_path: Path) -> None:
    release.save(tmp_path / "out")
    assert check_folder(tmp_path / "out", frame, private=tmp_path / "out.private").ok
