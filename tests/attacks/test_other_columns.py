"""What few rows give away through columns that are released as they are."""

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from attacks import small_releases
from incrowd.attacks import matching
from incrowd.attacks.linking import count
from incrowd.attacks.other_columns import judge
from incrowd.attacks.registry import Given
from incrowd.attacks.scene import build_scene
from incrowd.release import Blocks
from incrowd.verify import blocks

QUASI = {"q0": ic.Intervals(), "q1": ic.Intervals()}


def people(n=400):
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, 1000, n) for name in QUASI}
    notes = {"note": [f"n{i}" for i in range(n)], "group": rng.integers(0, 3, n)}
    return pl.DataFrame(columns | notes | {"ill": [f"v{v}" for v in rng.integers(0, 4, n)]})


def published(frame, method, other):
    return method.publish(frame, ic.Schema(quasi=QUASI, sensitive="ill", other=other, rest="drop"), seed=1)


@pytest.mark.parametrize("other", [["note"], ["group"], ["note", "group"]])
def test_columns_dealt_out_in_blocks_tell_no_more_than_k_allows(other):
    frame = people()
    report = ic.attack(
        published(frame, ic.NSVDist(k=5, concealment=False), other), frame, attacks=["linking", "matching"]
    )
    assert report["matching"].numbers["row_known"] > 20  # somebody does fit a single row
    for finding in report.findings:
        assert finding.outcome == "withstood"
        assert finding.numbers["other_right"] <= finding.numbers["other_promised"]
        assert "other columns" in finding.why
        alike = finding.numbers["other_right_of_somebody_alike"]
        assert finding.numbers["other_promised"] == pytest.approx(alike + (1 - alike) / 5)
    assert "breaks no promise" in report["matching"].why


def test_columns_that_stay_with_a_person_of_one_row_break_the_promise(monkeypatch):
    monkeypatch.setattr(Blocks, "deal", lambda _self, _rng, n_rows: np.arange(n_rows))
    monkeypatch.setattr(blocks, "_stay_with_their_people", lambda *_: False)  # the verifier would not let it out
    frame = people()
    report = ic.attack(
        published(frame, ic.NSVDist(k=5, concealment=False), ["note"]), frame, attacks=["linking", "matching"]
    )
    finding = report["matching"]
    assert finding.outcome == "promise broken"
    assert finding.numbers["other_right"] > 0.4
    assert finding.numbers["other_promised"] == pytest.approx(0.2)
    assert finding.n_at_risk == finding.numbers["people_below_k"]


@pytest.mark.parametrize("method", [ic.NHAA(k=5), ic.Mondrian(k=5)])
def test_nobody_has_few_rows_where_columns_stay_with_the_person(method):
    frame = people()
    finding = ic.attack(published(frame, method, ["note"]), frame, attacks=["matching"])["matching"]
    assert finding.outcome == "withstood"
    assert finding.numbers["concealment_level"] >= 5
    assert "other_claims" not in finding.numbers


def test_claims_are_counted_person_by_person():
    frame = pl.DataFrame({"q": [0, 0, 1, 1, 1], "ill": list("abcde"), "note": ["x", "y", "x", "x", "y"]})
    release = ic.Mondrian(k=1).publish(
        frame, ic.Schema(quasi={"q": ic.Intervals()}, sensitive="ill", other=["note"]), seed=1
    )
    wide = small_releases.with_boxes(release, release.lo, release.hi, k=3)
    scene = build_scene(wide, frame)
    possible = matching.prune(scene)
    told = judge(scene, possible, count(scene, possible)[0])
    assert told.success.claimed == 2  # the two at 0 have two rows, the three at 1 have three
    assert told.success.right == pytest.approx(0.5 + 0.5)
    assert told.baseline.right == 0  # the other one at 0 has another note
    assert told.promised == pytest.approx(1 / 3)
    assert matching.attack(Given(scene)).outcome == "promise broken"
