"""What people are told, and what the ledger remembers."""

import json

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from attacks import small_releases
from incrowd.attacks.ledger import Ledger, warn


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


def test_the_ledger_knows_a_table_again_and_holds_no_cell(frame, release, tmp_path):
    path = tmp_path / "ledger.json"
    assert Ledger(path).add(release, frame, tmp_path / "one") == []
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1).drop("q0").with_columns(q0=pl.lit(1))
    again = Ledger(path).earlier(shuffled, ["q0", "q1"])  # one of the columns is enough
    assert [entry.method for entry in again] == ["mondrian"]
    assert "published before" in warn(again)
    assert len(Ledger(path).add(release, frame, tmp_path / "two")) == 1
    text = path.read_text()
    assert "v0" not in text
    assert "q0" not in text
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("n_common", "known"), [(4000, True), (1500, True), (100, False), (0, False)])
def test_the_ledger_knows_people_again_when_others_come_and_go(n_common, known, release, tmp_path):
    """A tenth of 5000 rows is enough, by 256 hashes that are the least."""
    table = pl.DataFrame({"q0": range(20_000), "q1": 1, "ill": "v0", "secret": "x"})
    ledger = Ledger(tmp_path / "ledger.json")
    ledger.add(release, table[:5000], tmp_path / "one")
    assert len(ledger.entries[0].people) == 256
    assert bool(ledger.earlier(table[5000 - n_common : 12_000 - n_common], ["q0"])) is known


def test_the_ledger_does_not_take_another_table_for_the_same(frame, release, tmp_path):
    ledger = Ledger(tmp_path / "ledger.json")
    ledger.add(release, frame, tmp_path / "one")
    assert ledger.earlier(frame.with_columns(pl.col("q0", "q1") + 100), ["q0", "q1"]) == []
    assert ledger.earlier(frame[:39].with_columns(pl.col("q0", "q1") + 100), ["q0", "q1"]) == []
    assert warn([]) is None
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(ic.InputError, match="cannot be read as a ledger"):
        Ledger(tmp_path / "bad.json")
