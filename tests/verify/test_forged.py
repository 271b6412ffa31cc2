"""Forgeries that the gauntlet found a way for once; each in the smallest release that has room for it."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic
from incrowd.verify.core import check


def judge(release, original, manifest):
    return check(
        manifest,
        release.coded_tables(labels=False),
        original=original,
        private=release.private.files(release.quasi),
    )


def violations(release, original, manifest):
    assert judge(release, original, release.manifest.to_dict()).ok
    return judge(release, original, manifest).violations


@pytest.fixture
def ages():
    """Ages that 4 rows have, and two that one row has."""
    return pl.DataFrame({"age": [20] * 4 + [30] * 4 + [41, 57], "ill": ["flu", "cold"] * 5})


def test_a_joined_number_is_not_called_like_a_rare_one(ages):
    release = ic.Mondrian(k=4).publish(ages, ic.Schema(quasi={"age": None}, sensitive="ill"), seed=1)
    manifest = release.manifest.to_dict()
    (rest,) = manifest["quasi"][0]["rest"]
    manifest["quasi"][0]["leaves"][rest] = 57
    assert any("not what the owner's domain says" in v for v in violations(release, ages, manifest))


def test_exact_domains_have_no_joined_leaves():
    towns = pl.DataFrame({"town": ["a"] * 4 + ["b"] * 4, "ill": ["flu", "cold"] * 4})
    tree = ic.Taxonomy(["a", "b", "c"], [["x", "x", "y"]])
    release = ic.Mondrian(k=4).publish(towns, ic.Schema(quasi={"town": tree}, sensitive="ill"), seed=1)
    manifest = release.manifest.to_dict()
    assert manifest["quasi"][0]["rest"]
    assert manifest["quasi"][0]["counts"] == [4, 4, 0]
    manifest["domains"] = "exact"
    assert any("joined leaves" in v for v in violations(release, towns, manifest))


def test_the_smallest_and_the_largest_number_are_in_order():
    numbers = pl.DataFrame({"n": [-(2**63)] * 3 + [2**63 - 1] * 3})
    release = ic.Mondrian(k=3).publish(numbers, ic.Schema(quasi={"n": ic.Intervals()}), seed=1, domains="exact")
    assert release.verify(numbers).ok


def test_every_column_of_the_original_is_spoken_of():
    people = pl.DataFrame({"job": list("aaabbb") * 4, "town": list("xyxyxy") * 4, "risk": list("++-+--") * 4})
    schema = ic.Schema(quasi={"job": None, "town": None}, sensitive="risk")
    release = ic.DMPD(k=13, generations=1, population=2, folds=2, inducer="naive_bayes").publish(people, schema, seed=1)
    manifest = release.manifest.to_dict()
    assert manifest["left_out"]
    gone = manifest["left_out"].pop()
    assert any("neither published nor left out" in v for v in violations(release, people, manifest))
    manifest["quasi_sets"] = [[name for name in known if name != gone] for known in manifest["quasi_sets"]]
    assert any("not spoken of" in v for v in violations(release, people, manifest))


def test_half_a_character_is_no_json(ages, tmp_path):
    release = ic.Mondrian(k=4).publish(ages, ic.Schema(quasi={"age": None}, sensitive="ill"), seed=1)
    release.save(tmp_path / "out")
    path = tmp_path / "out" / "manifest.json"
    path.write_text(path.read_text().replace('"ill"', '"\\ud800"'))
    assert any("cannot be read as JSON" in v for v in ic.verify(tmp_path / "out", ages).violations)
