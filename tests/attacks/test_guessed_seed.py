"""Whoever guesses the seed of a run learns nothing by it."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.release import seal

NAME = "guessed-seed"
METHODS = [ic.NSVDist(k=5), ic.NHAA(k=5)]


def people(n=180):
    rng = np.random.default_rng(0)
    columns = {f"q{m}": rng.integers(0, 1000, n) for m in range(3)}
    return pl.DataFrame(
        columns | {"note": [f"n{i}" for i in range(n)]} | {"ill": [f"v{v}" for v in rng.integers(0, 4, n)]}
    )


def attacked(method, frame, **options):
    quasi = dict.fromkeys(("q0", "q1", "q2"), ic.Intervals())
    schema = ic.Schema(quasi=quasi, sensitive="ill", other=["note"])
    release = method.publish(frame, schema, **({"seed": 3} | options))
    return ic.attack(release, frame, attacks=[NAME])[NAME], release


@pytest.mark.parametrize("method", [*METHODS, ic.Mondrian(k=5)], ids=lambda method: method.name)
def test_a_guessed_seed_gives_no_more_right_claims_than_a_wrong_one(method):
    finding, _ = attacked(method, people())
    assert finding.outcome == "withstood"
    assert finding.success.right <= finding.baseline.right + 180 * 0.1  # chance


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_seed_alone_would_give_people_away(method, monkeypatch):
    """The attack has teeth: without the hash of the original in the randomness it undoes the release."""
    monkeypatch.setattr(seal, "fingerprint", lambda _frame: b"")
    finding, _ = attacked(method, people())
    assert finding.outcome == "promise broken"
    assert finding.success.right == finding.success.claimed > 15
    assert finding.baseline.right < finding.success.right / 3
    assert finding.n_at_risk == finding.success.right


def test_without_a_seed_or_the_private_part_there_is_nothing_to_guess():
    frame = people(60)
    finding, release = attacked(ic.NHAA(k=5), frame, seed=None)
    assert finding.outcome == "not applicable"
    bare = replace(release, private=None)
    assert "only the owner has the seed" in ic.attack(bare, frame, attacks=[NAME])[NAME].why
