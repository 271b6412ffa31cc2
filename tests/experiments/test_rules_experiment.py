"""Rules of releases beside those of the original, end to end on a small table."""

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.experiments import Options, experiment, rules_releases, run_experiment


@pytest.fixture
def small(monkeypatch):
    rng = np.random.default_rng(4)
    age, sex = rng.integers(20, 60, 80), rng.choice(["f", "m"], 80)
    ill = np.where((age > 40) | (rng.random(80) < 0.2), "yes", "no")
    frame = pl.DataFrame({"age": age, "sex": sex, "ill": ill})
    schema = ic.Schema(quasi={"age": ic.Intervals(), "sex": None}, sensitive="ill")
    monkeypatch.setattr(rules_releases, "table_of", lambda _name: (frame, schema))
    return frame


def test_end_to_end(small):
    found = run_experiment(experiment("rules-from-releases"), Options(quick=True, datasets=("ecoli",)))
    frame = found.sections[0].frame
    assert frame.select("mode", "k").rows() == [(mode, k) for mode in ("paper", "hardened") for k in (5, 20)]
    assert frame["original"].n_unique() == 1
    assert frame["original"][0] > 0
    assert frame.select(pl.col("recall", "precision").is_between(0, 1).all()).row(0) == (True, True)
    assert {verdict.holds for verdict in found.verdicts} == {None}  # quick
    found.draw()


def test_numbers_are_cut_into_quarters(small):
    (name,), (starts,) = zip(*rules_releases.cuts_of(small).items(), strict=True)
    assert name == "age"
    shares = [((small["age"] >= start).mean()) for start in starts]
    assert shares == pytest.approx([0.75, 0.5, 0.25], abs=0.05)
    assert rules_releases.cuts_of(pl.DataFrame({"a": [1, 1, 1, 1]})) == {}


def test_verdicts_follow_recall():
    kinds = {"dataset": pl.String, "mode": pl.String, "k": pl.Int64, "recall": pl.Float64}
    falls = pl.DataFrame([("ecoli", "paper", 50, 0.2), ("ecoli", "paper", 2, 0.9)], kinds, orient="row")
    assert [verdict.holds for verdict in rules_releases._verdicts(falls)] == [True]
    assert [verdict.holds for verdict in rules_releases._verdicts(falls.with_columns(recall=0.5))] == [False]
