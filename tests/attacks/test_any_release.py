"""Every attack on releases of any kind of table: sound, and it always says something."""

import json
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import incrowd as ic
from attacks.paper import paper
from incrowd.attacks import ATTACKS
from strategies import tables

METHODS = {
    "mondrian": ic.Mondrian(k=2),
    "nsvdist": paper(2),
    "nhaa": ic.NHAA(k=2),
    "iack": ic.IACk(k=2),
    "tds": ic.TDS(k=2),
    "seqa": ic.SeqA(k=2, l=1.2),
    "tight_groups": ic.TightGroups(k=2, l=1.2),
}


@settings(max_examples=6)
@given(tables(min_rows=4, max_rows=12), st.sampled_from(list(METHODS)), st.booleans())
def test_attacks_run_on_any_release(drawn, name, with_map):
    try:
        release = METHODS[name].publish(drawn.frame, drawn.schema, seed=1)
    except ic.IncrowdError:
        reject()  # this method cannot, which is not tested here; too many of these fail the test
    if not with_map:
        release = replace(release, private=None)
    report = ic.attack(release, drawn.frame, earlier=release, non_members=drawn.frame, known=0.2)
    assert json.loads(json.dumps(report.to_dict()))["people"] == drawn.frame.height
    assert {f.attack for f in report.findings} == set(ATTACKS)
    assert report["matching"].outcome != "not applicable"
    assert str(report)


def test_nothing_sensitive_leaves_linking_and_matching():
    frame = pl.DataFrame({"a": [1, 2, 3, 4, 5, 6], "note": list("xyzxyz")})
    release = ic.Mondrian(k=3).publish(frame, ic.Schema(quasi={"a": ic.Intervals()}, other=["note"]), seed=1)
    report = ic.attack(release, frame)
    assert report.ok
    outcomes = {f.attack: f.outcome for f in report.findings}
    judged = ("linking", "matching", "guessed-seed")
    assert outcomes == dict.fromkeys(ATTACKS, "not applicable") | dict.fromkeys(judged, "withstood")


def test_rows_left_out_for_a_missing_value_are_nobody():
    frame = pl.DataFrame({"a": ["1", "2", "?", "3", "4"], "ill": ["x", "y", "x", "?", "y"]})
    schema = ic.Schema(quasi={"a": ic.Intervals()}, sensitive="ill", missing="drop", missing_tokens=["?"])
    release = ic.Mondrian(k=3).publish(frame, schema, seed=1)
    finding = ic.attack(release, frame, attacks=["linking"])["linking"]
    assert finding.success.people == 3
    assert finding.numbers["people_per_row_min"] == 3


def test_suppressed_people_count_in_the_crowd():
    frame = pl.DataFrame({"a": ["u", "u", "u", "v"], "ill": ["x", "y", "x", "y"]})
    release = ic.IACk(k=2).publish(frame, ic.Schema(quasi={"a": None}, sensitive="ill"), seed=1)
    report = ic.attack(release, frame, attacks=["linking", "matching", "reconstruction"])
    assert report["linking"].numbers["people_per_row_min"] >= 2
    assert report["matching"].outcome in ("withstood", "promise broken")


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_frames_of_other_libraries(kind):
    frame = pl.DataFrame({"a": list(range(12)), "ill": ["x", "y", "z"] * 4})
    given_frame = frame.to_pandas() if kind == "pandas" else frame.to_arrow()
    release = ic.Mondrian(k=3).publish(given_frame, ic.Schema(quasi={"a": ic.Intervals()}, sensitive="ill"), seed=1)
    assert ic.attack(release, given_frame, attacks=["linking", "classifier"], non_members=given_frame).findings
