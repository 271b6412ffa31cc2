"""Releases and schemas that earlier versions wrote are read for ever; newer formats are refused with good advice."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import incrowd as ic
from incrowd import workflow
from incrowd.errors import InputError
from incrowd.manifest import FORMATS

KEPT = Path(__file__).parent / "kept" / "format-2"
PEOPLE = Path(__file__).parents[1] / "docs" / "people.csv"


@pytest.mark.parametrize("name", ["rows", "projections"])
def test_kept_releases_are_verified(name):
    verdict = ic.verify(KEPT / name, PEOPLE)
    assert verdict.ok, str(verdict)
    open_ = {check.name for check in verdict.checks if check.ok is None}
    wrote = json.loads((KEPT / name / "manifest.json").read_text(encoding="utf-8"))["polars"]
    assert verdict.unchecked == []
    assert open_ == (set() if wrote == pl.__version__ else {"parquet"})


def test_kept_rows_are_read_and_sampled():
    release = ic.Release.load(KEPT / "rows")
    assert release.manifest.promises == "k = 4, l = 1.5"
    assert release.frame.write_csv().encode() == (KEPT / "rows" / "release.csv").read_bytes()
    assert release.private is not None
    sample = release.sample(seed=1)
    assert (sample.height, sample.columns) == (24, ["age", "zip", "sex", "job", "disease"])
    assert release.training(seed=1).height == 24
    assert release.transform(ic.read(PEOPLE)).height == 24
    assert 0 < release.loss("lm") < 1


def test_kept_projections_are_read():
    release = ic.Release.load(KEPT / "projections")
    assert [frame.height for frame in release.frames] == [24] * len(release.parts)
    assert release.classifier() is not None


@pytest.mark.parametrize(
    ("folder", "original", "promised"),
    [
        ("format-3/rows", PEOPLE, "k = 4, l = 1.2 for 'job', l = 1.5 for 'disease'"),
        ("format-4/rows", PEOPLE, "k = 4, beta = 3, delta = 3"),
        ("format-4/tree", PEOPLE, "k = 4, t = 0.5 (tree)"),
        ("format-6/rows", PEOPLE, "k = 4, l = 1.2 for 'age', l = 1.5 for 'disease'"),
        ("format-5/january", KEPT.parent / "format-5" / "january.csv", "k = 2, l = 2, m = 2 over all releases"),
        ("format-5/february", KEPT.parent / "format-5" / "february.csv", "k = 2, l = 2, m = 2 over all releases"),
    ],
)
def test_newer_formats_are_kept_too(folder, original, promised):
    release = ic.Release.load(KEPT.parent / folder)
    assert release.manifest.format == int(folder[7])
    assert release.manifest.promises == promised
    assert release.private is not None
    after = KEPT.parent / "format-5" / "january.private" if folder.endswith("february") else None
    verdict = workflow.verify(KEPT.parent / folder, original, after=after)
    assert (verdict.ok, verdict.unchecked) == (True, []), str(verdict)


def test_every_format_is_kept():
    assert sorted(each.name for each in KEPT.parent.iterdir() if each.is_dir()) == [f"format-{n}" for n in FORMATS]


@pytest.mark.parametrize("name", [f"format-{n}" for n in FORMATS])
def test_kept_schemas_are_read(tmp_path, name):
    schema = ic.Schema.from_toml(KEPT.parent / name / "people.toml")
    assert (schema.identifiers, "disease" in schema.secrets) == (["name"], True)
    schema.to_toml(tmp_path / "again.toml")
    assert ic.Schema.from_toml(tmp_path / "again.toml") == schema


def test_a_kept_schema_is_read_and_publishes(tmp_path):
    schema = ic.Schema.from_toml(KEPT / "people.toml")
    assert (schema.quasi, schema.sensitive, schema.identifiers) == (["age", "zip", "sex", "job"], "disease", ["name"])
    schema.to_toml(tmp_path / "again.toml")
    assert ic.Schema.from_toml(tmp_path / "again.toml") == schema
    assert ic.publish(ic.read(PEOPLE), schema, k=4, l=1.5).verify(ic.read(PEOPLE)).ok


@pytest.mark.parametrize("name", ["rows", "projections"])
@pytest.mark.parametrize(
    ("found", "fact", "hint"),
    [
        (7, "has (release )?format 7, and this version of incrowd reads formats up to 6", "upgrade incrowd"),
        (99, "has (release )?format 99", "upgrade incrowd"),
        (1, "has (release )?format 1, which was never part of a published version", "from the original"),
    ],
)
def test_other_formats_are_refused(tmp_path, name, found, fact, hint):
    shutil.copytree(KEPT / name, tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.json"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace('"format": 2', f'"format": {found}'), encoding="utf-8")
    for read in (ic.Release.load, ic.verify):
        with pytest.raises(InputError, match=fact) as refused:
            read(tmp_path / "out")
        assert hint in refused.value.hint


@pytest.mark.parametrize("found", ["3", "true", '"2"', "0", "null"])
def test_what_is_no_format_is_broken(tmp_path, found):
    shutil.copytree(KEPT / "rows", tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.json"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace('"format": 2', f'"format": {found}'), encoding="utf-8")
    assert not ic.verify(tmp_path / "out").ok
    with pytest.raises(InputError):
        ic.Release.load(tmp_path / "out")
