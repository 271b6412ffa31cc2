"""Matching against all perfect matchings."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
import naive_attacks
from attacks import small_releases
from incrowd.attacks import linking, matching
from incrowd.attacks.registry import Given
from incrowd.attacks.scene import build_scene
from incrowd.manifest import Guarantee


def listed(scene, pairs):
    """Pairs of a person and a released row."""
    rows_of = [np.flatnonzero(scene.box_of == box) for box in range(len(scene.box_size))]
    return {
        (int(i), int(r))
        for box, point in zip(pairs.boxes, pairs.points, strict=True)
        for i in scene.people_at([point])
        for r in rows_of[box]
    }


@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(0, 2), st.booleans())
def test_pairs_and_possible_pairs_are_those_of_brute_force(seed, n, n_suppressed, knows_map):
    rng = np.random.default_rng(seed)
    frame = small_releases.people(rng, n)
    release = small_releases.without(small_releases.widened(rng, frame), min(n_suppressed, n - 1))
    if not knows_map:
        release = replace(release, private=None)
    scene = build_scene(release, frame)
    rows = list(zip(release.lo.tolist(), release.hi.tolist(), strict=True))
    codes = scene.codes.tolist()
    fitting = {(i, r) for i in range(n) for r in range(len(rows)) if naive_attacks.fits(codes[i], rows[r])}
    assert listed(scene, scene.pairs) == fitting
    assert listed(scene, matching.prune(scene)) == naive_attacks.possible_pairs(codes, rows)


def test_numbers_are_those_of_a_chain_that_only_one_assignment_fits():
    frame = pl.DataFrame({"q": [0, 1, 2], "ill": ["a", "b", "c"]})
    release = small_releases.exact(frame)
    lo, hi = release.lo.copy(), np.minimum(release.hi + 1, 2)  # boxes 0-1, 1-2, 2: the last names its person
    chain = small_releases.with_boxes(release, lo, hi, k=2)
    found = ic.attack(chain, frame, attacks=["linking", "matching"])
    assert found["linking"].numbers["people_per_row_min"] == 1
    before, after = found["linking"].numbers, found["matching"].numbers
    assert (before["rows_per_person_min"], before["rows_per_person_mean"]) == (1, pytest.approx(5 / 3))
    assert after["concealment_level"] == 1
    assert after["row_known"] == 3
    assert after["pairs_dropped"] == 2
    assert found["matching"].outcome == "promise broken"
    assert sorted(found["matching"].at_risk) == [0, 1, 2]


def test_homogeneous_groups_lose_nothing():
    frame = small_releases.people(np.random.default_rng(1), 60)
    release = ic.Mondrian(k=4).publish(frame, small_releases.schema(frame), seed=1)
    finding = ic.attack(release, frame, attacks=["matching"])["matching"]
    assert finding.outcome == "withstood"
    assert finding.numbers["pairs_dropped"] == 0
    assert finding.numbers["concealment_level"] >= 4


def test_rows_of_somebody_else_match_nobody():
    frame = pl.DataFrame({"q": [0, 0, 2], "ill": ["a", "b", "c"]})
    release = replace(small_releases.exact(frame), private=None)
    other = pl.DataFrame({"q": [0, 2, 2], "ill": ["a", "b", "c"]})
    assert ic.attack(release, other, attacks=["matching"])["matching"].outcome == "not applicable"


@given(st.integers(0, 10**6))
def test_risks_are_counted_person_by_person(seed):
    rng = np.random.default_rng(seed)
    frame = small_releases.people(rng, 12)
    release = small_releases.widened(rng, frame)
    scene = build_scene(release, frame)
    rows = list(zip(release.lo.tolist(), release.hi.tolist(), strict=True))
    codes = scene.codes.tolist()
    per_person = [sum(naive_attacks.fits(x, row) for row in rows) for x in codes]
    per_row = [sum(naive_attacks.fits(x, row) for x in codes) for row in rows]
    finding = linking.attack(Given(scene))
    assert finding.numbers["prosecutor_risk_max"] == pytest.approx(1 / min(per_person))
    assert finding.numbers["journalist_risk_max"] == pytest.approx(1 / min(per_row))
    assert finding.numbers["marketer_risk"] == pytest.approx(np.mean([1 / n for n in per_row]))
    believed = linking.beliefs(scene, scene.pairs)[scene.point_of]
    for i, x in enumerate(codes):
        shown = [release.sensitive[r] for r, row in enumerate(rows) if naive_attacks.fits(x, row)]
        share = np.bincount(shown, minlength=scene.n_values) / len(shown)
        assert believed[i] == pytest.approx(share)


def test_values_favoured_beyond_the_promise_are_scored():
    frame = pl.DataFrame({"q": [0] * 20 + [1] * 20, "ill": ["a"] * 18 + ["b"] * 2 + ["b"] * 18 + ["a"] * 2})
    release = ic.Mondrian(k=20).publish(frame, small_releases.schema(frame), seed=1)
    promised = (Guarantee("k", k=20), Guarantee("l", l=2, l_kind="frequency"))
    claim = replace(release.manifest, guarantees=promised)
    finding = ic.attack(replace(release, manifest=claim), frame, attacks=["linking"])["linking"]
    assert finding.success.claimed == 40
    assert finding.success.right == 36
    assert finding.outcome == "promise broken"
    kept = ic.attack(release, frame, attacks=["linking"])["linking"]
    assert kept.outcome == "withstood"
    assert "nothing about values" not in kept.why  # 90 % is not more than 90 %


def test_values_that_groups_show_are_told_where_nothing_is_promised_about_them():
    frame = pl.DataFrame({"q": np.repeat(np.arange(4), 5), "ill": np.repeat(["a", "b", "a", "c"], 5)})
    release = ic.Mondrian(k=5).publish(frame, small_releases.schema(frame), seed=1)
    finding = ic.attack(release, frame, attacks=["linking"])["linking"]
    assert finding.outcome == "withstood"
    assert "nothing about values: 20 are believed" in finding.why


def test_a_reader_takes_an_unlisted_value_for_any_joined_leaf():
    tree = {"all": {"north": ["a", "b", "c"], "south": ["d", "e", "f"], "west": ["w"]}}
    towns = [*"aaaaaabccddddddef", *["w"] * 6]
    frame = pl.DataFrame({"town": towns, "ill": ["x", "y", "z"] * 7 + ["x", "y"]})
    schema = ic.Schema(quasi={"town": ic.Taxonomy.from_nested(tree)}, sensitive="ill")
    release = ic.Mondrian(k=3).publish(frame, schema, seed=1)
    assert len(release.domains[0].rest) == 2  # b and c, e and f
    owner, reader = (build_scene(r, frame) for r in (release, replace(release, private=None)))
    known, guessed = listed(owner, owner.pairs), listed(reader, reader.pairs)
    assert known < guessed
    more = {person for person, _ in guessed - known}
    assert {towns[person] for person in more} <= set("bcef")
    assert reader.codes.max() == release.hierarchies[0].n_leaves
    assert ic.attack(replace(release, private=None), frame, attacks=["linking", "matching"]).ok
