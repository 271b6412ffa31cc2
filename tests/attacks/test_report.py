"""What people are told."""

import json

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from attacks import small_releases
from incrowd.attacks import Finding


@pytest.fixture(scope="module")
def frame():
    return small_releases.people(np.random.default_rng(0), 40, n_leaves=9).with_columns(secret=pl.lit("do-not-print"))


@pytest.fixture(scope="module")
def release(frame):
    schema = ic.Schema(quasi={"q0": ic.Intervals(), "q1": ic.Intervals()}, sensitive="ill", rest="drop")
    return ic.Mondrian(k=4).publish(frame, schema, seed=1)


def test_a_report_tells_promise_attacks_and_outcome_without_a_value(frame, release):
    report = ic.attack(release, frame, attacks=["linking", "matching"])
    text = str(report)
    assert "every row fits at least 4 people" in text
    assert "withstood linking, matching" in report.headline
    assert "evidence for review" in text
    assert "compliant" not in text
    for shown in (text, report._repr_html_(), json.dumps(report.to_dict())):
        assert "do-not-print" not in shown
        assert "v0" not in shown
    assert report.ok
    report.raise_for_breaches()


def test_a_breach_is_told_with_rows_only(frame):
    bare = small_releases.with_boxes(
        small_releases.exact(frame.drop("secret")), *[small_releases.exact(frame.drop("secret")).lo] * 2, k=3
    )
    report = ic.attack(bare, frame, attacks=["linking"])
    assert not report.ok
    assert report["linking"].n_at_risk > 0
    assert "by row of the original" in str(report)
    with pytest.raises(ic.VerificationError) as caught:
        report.raise_for_breaches()
    assert caught.value.violations


def test_wrong_questions_are_refused(frame, release):
    with pytest.raises(ic.ParameterError, match="no attack 'guessing'"):
        ic.attack(release, frame, attacks=["guessing"])
    with pytest.raises(ic.ParameterError, match="known is 2"):
        ic.attack(release, frame, known=2)
    with pytest.raises(ic.SchemaError, match="no column 'q1'"):
        ic.attack(release, frame.drop("q1"))
    with pytest.raises(ic.SchemaError, match="40 of them outside"):
        ic.attack(release, frame.with_columns(ill=pl.lit("elsewhere")))
    with pytest.raises(ic.SchemaError, match="the manifest says 40"):
        ic.attack(release, frame[:39])


def test_attacks_give_the_same_with_the_same_seed_and_leave_the_input_alone(frame, release):
    before = frame.clone()
    one, other = (ic.attack(release, frame, seed=3).to_dict() for _ in range(2))
    assert one == other
    assert frame.equals(before)


def test_folders_and_pandas_are_fine(frame, release, tmp_path):
    release.save(tmp_path / "out")
    report = ic.attack(tmp_path / "out", frame.to_pandas(), attacks=["matching"])
    assert report.to_dict() == ic.attack(release, frame, attacks=["matching"]).to_dict()


def test_an_outcome_that_nobody_knows_does_not_count_as_withstood():
    with pytest.raises(ic.ParameterError, match="unknown outcome 'above the promise'"):
        Finding("counting", "", "above the promise", "it was renamed")
