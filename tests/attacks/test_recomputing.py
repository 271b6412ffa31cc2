"""Repeating the method, and what is certain: the steps of reconstruction one by one."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from attacks import small_releases
from attacks.paper import paper
from incrowd.attacks import propagation, reconstruction
from incrowd.attacks.recomputing import Sightings, method_of
from incrowd.attacks.scene import build_scene
from incrowd.attacks.statements import collect, state


def people(n=60):
    rng = np.random.default_rng(2)
    columns = {f"q{m}": rng.integers(0, 12, n) for m in range(2)}
    return pl.DataFrame(columns | {"ill": [f"v{v}" for v in rng.integers(0, 4, n)]})


@pytest.mark.parametrize("l", [1, 2])
@pytest.mark.parametrize("domains", ["joined", "exact"])
def test_repetition_narrows_statements_that_do_not_name_everybody_and_no_others(l, domains):
    frame = people()
    release = paper(4, l).publish(frame, small_releases.schema(frame), seed=1, domains=domains)
    scene = build_scene(release, frame)
    statements = collect(scene)
    assert any(s.whole for s in statements)
    assert any(not s.whole for s in statements)
    seen = Sightings(scene, statements, method_of(scene))
    rng = np.random.default_rng(0)
    for _ in range(12):
        seen.run(scene.truth, rng)
    refined = seen.refined()
    for old, new in zip(statements, refined, strict=True):
        if old.whole:
            assert new is old
        assert set(new.people.tolist()) <= set(old.people.tolist())
        assert len(new.people) >= new.counts.sum()
    sighted = [new for old, new in zip(statements, refined, strict=True) if new is not old]
    assert len(sighted) >= 4
    assert any(new.certain.any() for new in sighted)  # whom every run took


def test_few_sightings_prove_nothing():
    frame = people()
    scene = build_scene(paper(4).publish(frame, small_releases.schema(frame), seed=1), frame)
    statements = collect(scene)
    seen = Sightings(scene, statements, method_of(scene))
    seen.run(scene.truth, np.random.default_rng(0))
    assert all(new is old for old, new in zip(statements, seen.refined(), strict=True))


def test_only_the_published_mode_of_the_paper_is_repeated():
    frame = people()
    for method in (ic.NSVDist(k=4), ic.Mondrian(k=4)):
        assert method_of(build_scene(method.publish(frame, small_releases.schema(frame), seed=1), frame)) is None
    found = method_of(build_scene(paper(4, 2).publish(frame, small_releases.schema(frame), seed=1), frame))
    assert (found.k, found.l, found.mode) == (4, 2, "paper")


def test_known_people_are_left_out_of_a_whole_statement_with_their_values():
    possible = np.ones((5, 3), bool)
    possible[1], possible[4] = [False, True, False], [True, False, False]
    left = propagation.reduce(state(np.array([0, 1, 2, 3]), np.array([1, 2, 1])), possible)
    assert left.people.tolist() == [0, 2, 3]
    assert left.counts.tolist() == [1, 1, 1]
    assert left.whole


@pytest.mark.parametrize(("domains", "told"), [("joined", False), ("exact", True)])
def test_totals_are_a_statement_about_everybody_only_where_they_are_exact(domains, told, monkeypatch):
    frame = people()
    release = paper(4).publish(frame, small_releases.schema(frame), seed=1, domains=domains)
    used = []
    monkeypatch.setattr(
        reconstruction,
        "propagate",
        lambda facts, possible: used.extend(facts) or propagation.propagate(facts, possible),
    )
    ic.attack(release, frame, attacks=["reconstruction"])
    assert any(len(s.people) == 60 for s in used) is told


def test_exact_values_tell_totals_whatever_the_domains():
    frame = people()
    scene = build_scene(ic.Mondrian(k=4).publish(frame, small_releases.schema(frame), seed=1), frame)
    assert scene.release.manifest.domains == "joined"
    assert scene.totals_are_exact


def test_a_value_whose_count_was_rounded_to_nothing_is_still_possible():
    frame = people()
    release = paper(4).publish(frame, small_releases.schema(frame), seed=1)
    about = replace(release.manifest.sensitive, counts=(0, 20, 20, 20))
    scene = build_scene(replace(release, manifest=replace(release.manifest, secrets=(about,))), frame)
    assert scene.prior == pytest.approx(np.array([1, 20, 20, 20]) / 61)
