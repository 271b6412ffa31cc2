"""Reconstruction against all worlds, and on releases with a known answer."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
import naive_attacks
from attacks import small_releases
from attacks.paper import paper
from incrowd.attacks import left_out, propagation, reconstruction, worlds
from incrowd.attacks.finding import Score
from incrowd.attacks.scene import build_scene
from incrowd.attacks.statements import collect, state
from incrowd.datasets import adult
from incrowd.manifest import Guarantee


def told(statements):
    return [(s.people.tolist(), s.counts.tolist()) for s in statements]


def about(people, truth, n_values):
    """A true statement that names all its people."""
    return state(np.array(people), np.bincount(truth[list(people)], minlength=n_values))


def as_sets(possible):
    return [set(np.flatnonzero(row).tolist()) for row in possible]


@given(st.integers(0, 10**6), st.integers(3, 7), st.sampled_from(["boxes", "nsvdist", "groups"]))
def test_what_is_ruled_out_is_ruled_out_in_every_world(seed, n, kind):
    rng = np.random.default_rng(seed)
    frame = small_releases.people(rng, n, n_values=3)
    if kind == "boxes":
        release = small_releases.widened(rng, frame)
    else:
        method = paper(2) if kind == "nsvdist" else ic.Mondrian(k=2)
        release = method.publish(frame, small_releases.schema(frame), seed=1)
    scene = build_scene(release, frame)
    statements = collect(scene)
    start = np.ones((n, scene.n_values), bool)
    left = naive_attacks.left_possible(told(statements), start)
    found = as_sets(propagation.propagate(statements, start))
    assert all(true <= ours for true, ours in zip(left, found, strict=True))
    assert all(value in ours for value, ours in zip(scene.truth.tolist(), left, strict=True))


@given(st.data())
def test_nested_statements_give_away_exactly_what_all_worlds_share(data):
    n, n_values = data.draw(st.integers(3, 7)), data.draw(st.integers(2, 3))
    truth = np.array(data.draw(st.lists(st.integers(0, n_values - 1), min_size=n, max_size=n)))
    cuts = sorted(data.draw(st.sets(st.integers(1, n), min_size=1, max_size=4)))
    statements = [about(range(cut), truth, n_values) for cut in cuts]
    start = np.ones((n, n_values), bool)
    if data.draw(st.booleans()):
        start[0] = np.arange(n_values) == truth[0]
    found = as_sets(propagation.propagate(statements, start))
    assert found == naive_attacks.left_possible(told(statements), start)


def test_two_people_change_places_and_both_are_known():
    truth = np.array([0, 0, 1, 1])
    statements = [about([0, 1, 2], truth, 2), about([1, 2, 3], truth, 2)]
    found = propagation.propagate(statements, np.ones((4, 2), bool))
    assert as_sets(found) == [{0}, {0, 1}, {0, 1}, {1}]


@pytest.mark.parametrize("seed", range(3))
def test_beliefs_are_those_of_all_worlds(seed):
    rng = np.random.default_rng(seed)
    n, n_values = 6, 2
    truth = rng.integers(0, n_values, n)
    sets = [np.sort(rng.choice(n, size, replace=False)) for size in (3, 4, 5)]
    statements = [about(sets[0], truth, n_values)]
    statements += [  # these count all but one of their people
        state(people, np.bincount(truth[people[:-1]], minlength=n_values)) for people in sets[1:]
    ]
    prior = rng.dirichlet(np.full(n_values, 3.0), n)
    facts = worlds.flatten(statements, np.zeros((len(statements), n_values)), n)
    found, _ = worlds.sample(facts, prior, rng, n_chains=10, n_sweeps=800, progress=lambda *_: None)
    assert found == pytest.approx(np.array(naive_attacks.beliefs(told(statements), prior)), abs=0.06)


def spread_out(rng, n):
    """People far apart, so that boxes overlap and hold few others; values independent of everything."""
    columns = {f"q{m}": rng.integers(0, 1000, n) for m in range(2)}
    return pl.DataFrame(columns | {"ill": [f"v{v}" for v in rng.integers(0, 6, n)]})


@pytest.mark.parametrize("l", [1, 2])
def test_overlapping_exact_distributions_are_solved(l):
    frame = spread_out(np.random.default_rng(3), 150)
    release = paper(4, l).publish(frame, small_releases.schema(frame), seed=1)
    finding = ic.attack(release, frame, attacks=["reconstruction"])["reconstruction"]
    assert finding.outcome == "promise broken"
    assert finding.numbers["certain"] >= 10
    assert finding.success.precision > 0.85
    assert finding.success.right > 2 * finding.baseline.right + 10
    assert set(finding.at_risk) <= set(range(150))


@pytest.mark.slow
def test_known_values_are_not_scored_and_help():
    frame = spread_out(np.random.default_rng(4), 120)
    release = ic.Mondrian(k=4).publish(frame, small_releases.schema(frame), seed=1)
    alone, helped = (
        ic.attack(release, frame, attacks=["reconstruction"], known=known)["reconstruction"] for known in (0, 0.6)
    )
    assert alone.outcome == "withstood"
    assert helped.numbers["certain"] > alone.numbers["certain"] + 5
    assert helped.success.people == 120 - helped.numbers["known"]
    assert helped.numbers["certain_by_known"] > 5
    assert helped.outcome == "withstood"  # a group of four says no more than it says


def test_known_values_do_not_hide_what_overlapping_rows_give_away():
    frame = spread_out(np.random.default_rng(3), 150)
    release = paper(4, 2).publish(frame, small_releases.schema(frame), seed=1)
    finding = ic.attack(release, frame, attacks=["reconstruction"], known=0.2)["reconstruction"]
    assert finding.outcome == "promise broken"
    assert finding.numbers["certain_beyond_rows"] >= 10


@pytest.mark.slow
def test_one_block_of_noise_tells_nothing():
    frame = small_releases.people(np.random.default_rng(5), 80, n_leaves=9)
    for method in (ic.Mondrian(k=80), paper(80), ic.Mondrian(k=10)):
        release = method.publish(frame, small_releases.schema(frame), seed=1)
        report = ic.attack(release, frame)
        assert report.ok, str(report)
        assert report["reconstruction"].numbers["certain"] == 0
        assert report["reconstruction"].success.claimed <= 2


def hardly_any(rng, n):
    """People who hardly ever have b, and less so with larger q: everybody like them, counted or not."""
    q = rng.integers(0, 6, (n, 2))
    values = np.where(rng.random(n) < 0.25 * np.exp(-q.sum(axis=1) / 3), "b", "a")
    return pl.DataFrame({"q0": q[:, 0], "q1": q[:, 1], "ill": values})


@pytest.fixture
def eager(monkeypatch):
    """An adversary who claims much, beside a pattern that claims nothing: only rows taken out can tell them apart."""

    def silent(_truth, asked, patterns, _bar):
        nobody = np.zeros(len(asked), np.bool_)
        return patterns[0], nobody, Score("nothing", 0, 0, int(asked.sum()))

    monkeypatch.setattr(reconstruction, "_best_pattern", silent)
    monkeypatch.setattr(reconstruction, "_bar", lambda _scene: 0.85)
    monkeypatch.setattr(left_out, "_PARTS", 2)


@pytest.mark.usefixtures("eager")
def test_claims_that_hold_for_people_left_out_are_the_pattern_of_the_population():
    frame = hardly_any(np.random.default_rng(0), 160)
    release = ic.Mondrian(k=40).publish(frame, small_releases.schema(frame), seed=1)
    release = replace(release, manifest=promising(release, l=1.3, released=160))
    finding = ic.attack(release, frame, attacks=["reconstruction"])["reconstruction"]
    assert finding.success.interval[0] > 1 / 1.3
    assert finding.numbers["people_left_out"] == 160
    assert finding.numbers["told_if_left_out"] == pytest.approx(finding.numbers["told_if_there"], abs=0.05)
    assert finding.outcome == "withstood"
    assert "within chance" in finding.why


@pytest.mark.usefixtures("eager")
def test_what_cannot_be_compared_is_no_all_clear():
    frame = hardly_any(np.random.default_rng(0), 160)
    release = ic.Mondrian(k=40).publish(frame, small_releases.schema(frame), seed=1)
    release = replace(release, manifest=promising(release, l=1.3, released=160))
    alone = replace(release, private=None)
    finding = ic.attack(alone, frame, attacks=["reconstruction"])["reconstruction"]
    assert finding.outcome == "promise broken"
    assert "no private row map" in finding.why


def test_claims_that_need_the_own_row_are_a_breach_though_nothing_follows_for_certain(monkeypatch):
    monkeypatch.setattr(left_out, "_PARTS", 2)
    rng = np.random.default_rng(1)
    frame = small_releases.people(rng, 60, n_leaves=40, n_values=2)
    release = small_releases.widened(rng, frame)
    alone = replace(small_releases.without(release, 4), manifest=promising(release, l=1.9, released=56))
    monkeypatch.setattr(reconstruction, "propagate", lambda _statements, possible: possible)
    finding = ic.attack(alone, frame, attacks=["reconstruction"])["reconstruction"]
    assert finding.numbers["certain_beyond_rows"] == 0
    assert finding.numbers["told_if_there"] > finding.numbers["told_if_left_out"] + 0.3
    assert finding.outcome == "promise broken"


def promising(release, *, l, released):
    """The manifest of a release that lacks some rows and promises l."""
    manifest, rows = release.manifest, release.manifest.rows
    given = (Guarantee("k", k=1), Guarantee("l", l=l, l_kind="frequency"))
    counts = replace(rows, released=released, suppressed=rows.released - released)
    return replace(manifest, guarantees=given, rows=counts)


@pytest.mark.parametrize(
    ("there", "gone", "gained"),
    [((930, 960), (900, 930), False), ((1400, 1440), (60, 70), True), ((930, 935), (890, 960), False)],
)
def test_only_people_told_beyond_chance_count(there, gone, gained):
    """The last: claims about people left out are wrong more often, for in small groups they are the odd ones."""
    compared = reconstruction._Compared(*(Score("value", *side, 3000) for side in (there, gone)))
    assert compared.gained == gained


def test_left_out_scenes_lack_rows_and_keep_people():
    frame = small_releases.people(np.random.default_rng(2), 45)
    release = ic.Mondrian(k=5).publish(frame, small_releases.schema(frame), seed=1)
    scene = build_scene(release, frame)
    asked = np.arange(45) % 9 > 0
    seen = []
    for part, gone in left_out.parts(scene, asked, np.random.default_rng(0)):
        assert part.n_people == 45
        assert part.n_suppressed == len(gone)
        kept = np.bincount(part.release.sensitive, minlength=3) + np.bincount(scene.truth[gone], minlength=3)
        assert kept.tolist() == np.bincount(scene.truth, minlength=3).tolist()
        seen += gone.tolist()
    assert sorted(seen) == np.flatnonzero(asked).tolist()
    shares = ic.NSVDist(k=5).publish(frame, small_releases.schema(frame), seed=1)
    assert not list(left_out.parts(build_scene(shares, frame), asked, np.random.default_rng(0)))


@pytest.mark.slow
def test_occupations_of_census_people():
    frame = adult().filter(pl.all_horizontal(pl.col(pl.String) != "?")).sample(1500, seed=0)
    names = ["workclass", "education", "marital-status", "native-country", "race", "sex", "income"]
    quasi = {"age": ic.Intervals()} | {name: ic.balanced(5) for name in names}
    release = paper(5, 2).publish(frame, ic.Schema(quasi=quasi, sensitive="occupation", rest="drop"), seed=1)
    finding = ic.attack(release, frame, attacks=["reconstruction"])["reconstruction"]
    assert finding.numbers["claimed_share"] >= 0.15
    assert finding.success.precision >= 0.93
    assert finding.baseline.recall < 0.02
