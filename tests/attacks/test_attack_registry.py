"""Attacks of this package and of others, by name."""

from importlib.metadata import EntryPoint

import numpy as np
import pytest

import incrowd as ic
from attacks import small_releases
from incrowd.attacks import ATTACKS, Finding, Given, attack_names, find_attack, registry
from incrowd.attacks.scene import build_scene


def counted(given):
    """Stand in for an attack of another package."""
    return Finding("counting", "nothing", "withstood", f"{given.scene.n_people} people")


@pytest.fixture
def release():
    frame = small_releases.people(np.random.default_rng(0), 12)
    return frame, ic.Mondrian(k=3).publish(frame, small_releases.schema(frame), seed=1)


def offer(monkeypatch, value, name="counting"):
    entry = EntryPoint(name, value, registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry] if group == registry.GROUP else [])


def test_every_attack_of_ours_is_there_and_tells_its_own_name(release):
    frame, found = release
    assert attack_names() == list(ATTACKS)
    report = ic.attack(found, frame)
    assert [finding.attack for finding in report.findings] == list(ATTACKS)


def test_an_attack_of_another_package_runs_with_the_others(release, monkeypatch):
    offer(monkeypatch, f"{__name__}:counted")
    frame, found = release
    assert attack_names() == [*ATTACKS, "counting"]
    report = ic.attack(found, frame, attacks=["linking", "counting"])
    assert report["counting"].why == "12 people"
    assert find_attack("counting")(Given(build_scene(found, frame))).why == "12 people"


def test_a_name_of_ours_is_ours(monkeypatch):
    offer(monkeypatch, f"{__name__}:counted", name="linking")
    assert attack_names() == list(ATTACKS)
    assert find_attack("linking").__module__ == "incrowd.attacks.linking"


def test_what_cannot_be_loaded_is_said(monkeypatch):
    offer(monkeypatch, "no_such_package:attack")
    with pytest.raises(ic.IncompatibleError, match="'counting' cannot be loaded"):
        find_attack("counting")


def test_projections_are_refused():
    frame = small_releases.people(np.random.default_rng(0), 40)
    schema = ic.Schema(quasi={"q0": None, "q1": None}, sensitive="ill", target="ill")
    projections = ic.DMPD(k=2).publish(frame, schema, seed=1)
    with pytest.raises(ic.IncompatibleError, match="Only releases of generalized rows"):
        ic.attack(projections, frame)
