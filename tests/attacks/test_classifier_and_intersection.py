"""Classifiers against non-members, and two releases of the same people."""

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from attacks import small_releases
from incrowd.attacks.classifier import newcombe
from incrowd.attacks.finding import Score, wilson


def test_rows_as_they_are_give_members_away_and_one_group_does_not():
    rng = np.random.default_rng(0)
    frame = small_releases.people(rng, 1600, n_quasi=3, n_leaves=8, n_values=2)
    inside, outside = frame[:800], frame[800:]
    bare = ic.attack(small_releases.exact(inside), inside, attacks=["classifier"], non_members=outside)["classifier"]
    assert bare.outcome == "reported"  # without l, nothing is promised about beliefs
    assert bare.numbers["tree_gap_low"] > 0
    crowd = ic.Mondrian(k=800).publish(inside, small_releases.schema(inside), seed=1)
    hidden = ic.attack(crowd, inside, attacks=["classifier"], non_members=outside)["classifier"]
    assert hidden.outcome == "withstood"


def test_members_who_are_predicted_beyond_the_promise_are_a_breach():
    frame = small_releases.people(np.random.default_rng(0), 1600, n_quasi=3, n_leaves=8, n_values=2)
    inside, outside = frame[:800], frame[800:]
    release = small_releases.exact(inside)
    promised = small_releases.with_boxes(release, release.lo, release.hi, k=2, l=1.9)
    finding = ic.attack(promised, inside, attacks=["classifier"], non_members=outside)["classifier"]
    assert finding.outcome == "promise broken"
    assert finding.success.precision > 1 / 1.9


def test_without_non_members_nothing_is_judged():
    frame = small_releases.people(np.random.default_rng(1), 60)
    finding = ic.attack(small_releases.exact(frame), frame, attacks=["classifier"])["classifier"]
    assert finding.outcome == "not applicable"
    assert "non_members" in finding.why
    assert finding.success.people == 60


def test_a_pattern_of_the_population_is_no_breach():
    rng = np.random.default_rng(2)
    x = rng.integers(0, 20, 1200)
    ill = np.where(rng.random(1200) < 0.9, x < 10, x >= 10)
    frame = pl.DataFrame({"q": x, "ill": ill.astype(str)})
    release = ic.Mondrian(k=30).publish(frame[:600], small_releases.schema(frame), seed=1)
    finding = ic.attack(release, frame[:600], attacks=["classifier"], non_members=frame[600:])["classifier"]
    assert finding.success.precision > 0.85
    assert finding.outcome == "withstood"


def test_intervals():
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    low, high = newcombe(Score("", 56, 70, 70), Score("", 48, 80, 80))
    assert low < 0.0524  # Newcombe's example at 95 %: 0.0524 to 0.3339; ours is wider
    assert high > 0.3339
    assert newcombe(Score("", 99, 100, 100), Score("", 50, 100, 100))[0] > 0.3


def corners():
    """Four people in a square: one release hides them in columns, the other in rows."""
    frame = pl.DataFrame({"x": [0, 0, 1, 1], "y": [0, 1, 0, 1], "ill": ["a", "b", "c", "a"]})
    release = small_releases.exact(frame)
    lo, hi = release.lo, release.hi
    one = small_releases.with_boxes(release, lo * [1, 0], hi * [1, 0] + [0, 1], k=2, l=2)
    other = small_releases.with_boxes(release, lo * [0, 1], hi * [0, 1] + [1, 0], k=2, l=2)
    return frame, one, other


def test_two_releases_leave_some_with_one_value():
    frame, one, other = corners()
    finding = ic.attack(one, frame, attacks=["intersection"], earlier=other)["intersection"]
    assert finding.outcome == "promise broken"
    assert finding.numbers["crowd_min"] == 1
    assert finding.numbers["people_below_k"] == 4
    assert finding.numbers["one_value_left"] == 2  # {a, b} and {a, c} leave a; {a, b} twice leaves both
    assert finding.success.right == finding.success.claimed == 4  # the others are believed beyond 1 / l
    assert finding.baseline.claimed == 0


def test_the_same_release_twice_adds_nothing():
    frame, one, _ = corners()
    finding = ic.attack(one, frame, attacks=["intersection"], earlier=[one])["intersection"]
    assert finding.outcome == "withstood"
    assert finding.numbers["crowd_min"] == 2


def test_people_who_are_not_in_the_earlier_release_are_left_alone():
    frame, one, _ = corners()
    part = ic.Mondrian(k=1).publish(frame[:1], small_releases.schema(frame), seed=1)
    finding = ic.attack(one, frame, attacks=["intersection"], earlier=part)["intersection"]
    assert finding.numbers["crowd_min"] == 1
    assert finding.numbers["people_below_k"] >= 1
    assert ic.attack(one, frame, attacks=["intersection"])["intersection"].outcome == "not applicable"
