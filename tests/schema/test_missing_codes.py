"""Values that mean missing in one column: in the schema, in a release, and for the verifier with its own code."""

from __future__ import annotations

import datetime as dt
import json

import polars as pl
import pytest

import incrowd as ic
from incrowd.coding.cleaning import clean
from incrowd.errors import SchemaError
from incrowd.verify.domain import without_codes

ROWS = 60
PEOPLE = pl.DataFrame(
    {
        "age": [[34, 99, 50, -9, 41][i % 5] for i in range(ROWS)],
        "speed": [["030", "999", "055"][i % 3] for i in range(ROWS)],
        "job": [["nurse", "k.A.", "clerk", "driver"][i % 4] for i in range(ROWS)],
        "ill": [["flu", "none", "9"][i % 3] for i in range(ROWS)],
    }
)


def schema(**more) -> ic.Schema:
    codes = {"age": [-9, 99], "speed": [999], "job": ["k.A."], "ill": ["9"]}
    quasi = {"age": ic.Intervals(), "speed": ic.Intervals(), "job": None}
    return ic.Schema(quasi=quasi, sensitive="ill", missing_codes=codes, types={"speed": "int"}, **more)


def test_codes_survive_toml(tmp_path):
    before = schema(reading=ic.io.Reading(encoding="latin-1", decimal=","))
    before.to_toml(tmp_path / "a.toml")
    text = (tmp_path / "a.toml").read_text()
    assert "missing = [-9, 99]" in text
    assert 'missing = ["k.A."]' in text
    after = ic.Schema.from_toml(tmp_path / "a.toml")
    assert after == before
    assert after.reading.missing_codes["age"] == ("-9", "99")
    assert (after.reading.encoding, after.reading.decimal) == ("latin-1", ",")


@pytest.mark.parametrize(
    ("codes", "fact"),
    [([True], "lists a bool"), ([["x"]], "lists a list"), (["x" * 41], "of up to 41 characters"), ([""], "up to 0")],
)
def test_codes_that_cannot_be(codes, fact):
    with pytest.raises(SchemaError, match=fact):
        ic.Schema(quasi={"age": ic.Intervals()}, missing_codes={"age": codes})
    with pytest.raises(SchemaError, match="is released as it is"):
        ic.Schema(quasi={"age": None}, other=["x"], missing_codes={"x": [9]})


@pytest.mark.parametrize(
    ("values", "kind", "codes", "expected"),
    [
        ([1, 99, -9], "int", ("99", "-9"), [1, None, None]),
        ([1.5, 99.0], "float", ("99",), [1.5, None]),
        ([1, 99, -9], "int", ("99.0", "-9.", "1.5"), [1, None, None]),
        (["1", "99"], "int", ("99.0",), [1, None]),
        (["1", "99"], "str", ("99.0",), ["1", "99"]),
        ([2**53 + 1, 2**53 + 2], "int", (str(2**53 + 1),), [None, 2**53 + 2]),
        (["034", "099"], "int", ("99",), [34, None]),
        (["034", "099"], "str", ("99",), ["034", "099"]),
        (["34", " k.A. "], "int", ("k.A.",), [34, None]),
        (["a", "9"], "str", ("9",), ["a", None]),
        ([5, 9], "str", ("9",), ["5", None]),
        ([dt.date(2020, 1, 1), dt.date(9999, 9, 9)], "date", ("9999-09-09",), [dt.date(2020, 1, 1), None]),
        ([True, False], "bool", ("False",), [True, False]),
        ([None, 3], "int", ("3",), [None, None]),
    ],
)
def test_cleaning_and_the_verifier_agree_by_separate_code(values, kind, codes, expected):
    column = pl.Series("v", values)
    assert clean(column, kind, None, (), codes).to_list() == expected
    gone = without_codes(column, kind, codes).is_null().to_list()
    assert gone == [value is None for value in expected]


@pytest.mark.parametrize("policy", ["value", "drop"])
@pytest.mark.parametrize("method", [ic.Mondrian(k=3), ic.NSVDist(k=3), ic.DMPD(k=3)], ids=lambda m: m.name)
def test_a_release_knows_its_codes(tmp_path, policy, method):
    PEOPLE.write_csv(tmp_path / "a.csv")
    release = method.publish(PEOPLE, schema(missing=policy), seed=1)
    release.save(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["missing"]["codes"] == {"age": ["-9", "99"], "ill": ["9"], "job": ["k.A."], "speed": ["999"]}
    gone = sum(
        row["age"] in (99, -9) or row["speed"] == "999" or row["job"] == "k.A." or row["ill"] == "9"
        for row in PEOPLE.to_dicts()
    )
    assert manifest["rows"]["missing"] == (gone if policy == "drop" else 0)
    verdict = ic.verify(tmp_path / "out", tmp_path / "a.csv")
    assert verdict.ok, verdict.violations
    assert verdict.complete
    assert ic.Release.load(tmp_path / "out").manifest.missing.codes_of("age") == ("-9", "99")
    manifest["missing"]["codes"].pop("age")
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest, ensure_ascii=False, indent=1) + "\n")
    assert not ic.verify(tmp_path / "out", tmp_path / "a.csv").ok


def test_a_release_without_codes_is_as_before():
    plain = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill", rest="drop")
    assert ic.Mondrian(k=3).publish(PEOPLE, plain).manifest.to_dict()["missing"] == {"policy": "value", "tokens": []}


def test_new_rows_and_attacks_know_the_codes():
    release = ic.Mondrian(k=3).publish(PEOPLE, schema(), seed=1)
    assert release.transform(PEOPLE.head(4)).height == 4
    assert ic.attack(release, PEOPLE, attacks=["linking"]) is not None
