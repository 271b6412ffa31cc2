"""One pinned result per publisher: whoever changes it must mean to. A publisher without one fails.

What is pinned is the method: random numbers come from the seed alone here, without the hash of the original that every
real run mixes in (`secret_rng`).
"""

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.publish import PUBLISHERS, publisher
from incrowd.publish.decomposition import dmpd

GOLDEN = {
    "nhaa": [({"k": 10}, 105, 0.3057), ({"k": 10, "cluster": 100}, 134, 0.37115)],
    "nsvdist": [
        ({"k": 10}, 251, 0.16702),
        ({"k": 10, "l": 1.3}, 251, 0.16702),
        ({"k": 10, "mode": "paper"}, 251, 0.16702),
        ({"k": 10, "l": 1.3, "mode": "paper"}, 251, 0.20328),
        ({"k": 10, "loss": "entropy", "mode": "paper"}, 251, 0.2227),
        ({"k": 10, "loss": "monotone_entropy", "mode": "paper"}, 251, 0.15569),
        ({"k": 10, "presplit": 60, "mode": "paper"}, 251, 0.32996),
    ],
    "kactus": [
        ({"k": 10}, 8, 0.57668),
        ({"k": 10, "confidence": None}, 17, 0.35127),
        ({"k": 10, "l": 1.2, "t": 0.4, "confidence": None}, 9, 0.56256),
    ],
    "best_cuts": [
        ({"k": 10}, 23, 0.26954),
        ({"k": 10, "l": 1.3, "t": 0.4}, 7, 0.81491),
    ],
    "m_invariance": [({"k": 10}, 24, 0.30462), ({"k": 4}, 63, 0.16113)],
    "infogain_mondrian": [
        ({"k": 10}, 21, 0.53523),
        ({"k": 10, "l": 1.3, "t": 0.4}, 3, 0.9245),
    ],
    "mondrian": [
        ({"k": 10}, 20, 0.35792),
        ({"k": 10, "strict": False}, 20, 0.35957),
        ({"k": 10, "recoding": "single"}, 16, 0.44819),
        ({"k": 10, "l": 1.3, "t": 0.4}, 2, 0.86917),
        ({"k": 10, "cut": "loss"}, 24, 0.2542),
        ({"k": 10, "cut": "loss", "l": 1.3, "t": 0.4}, 6, 0.67565),
    ],
    "tight_groups": [
        ({"k": 10}, 25, 0.20669),
        ({"k": 10, "sweeps": 0}, 25, 0.25399),
        ({"k": 10, "l": 1.3, "t": 0.4}, 18, 0.3323),
    ],
    "seqa": [
        ({"k": 10}, 23, 0.27389),
        ({"k": 10, "start": "random"}, 24, 0.22351),
        ({"k": 10, "start": "single_mondrian"}, 23, 0.26905),
        ({"k": 10, "start": "best"}, 24, 0.23482),
        ({"k": 10, "loss": "entropy"}, 24, 0.32536),
        ({"k": 10, "l": 1.3, "t": 0.4}, 7, 0.76532),
    ],
    "lattice": [
        ({"k": 10}, 20, 0.34843),
        ({"k": 10, "suppress": 0.05}, 17, 0.36386),
        ({"k": 10, "local": True}, 25, 0.25254),
        ({"k": 10, "loss": "dm"}, 20, 0.34843),
        ({"k": 10, "l": 1.3, "t": 0.4}, 3, 0.74435),
    ],
    "k_optimal": [
        ({"k": 10, "looks": 100}, 19, 0.69416),
        ({"k": 10, "loss": "cm", "looks": 50}, 17, 0.69833),
        ({"k": 10, "l": 1.3, "t": 0.4, "looks": 100}, 2, 0.92581),
    ],
    "iyengar": [
        ({"k": 10, "rounds": 600}, 16, 0.48139),
        ({"k": 10, "loss": "cm", "rounds": 100, "population": 20}, 10, 0.70075),
        ({"k": 10, "l": 1.3, "t": 0.4, "rounds": 100, "population": 20}, 2, 0.89091),
    ],
    "mdav": [
        ({"k": 10}, 30, 0.40296),
        ({"k": 10, "class_weight": 2}, 30, 0.52942),
        ({"k": 10, "l": 1.3, "t": 0.4}, 13, 0.72784),
    ],
    "iack": [
        ({"k": 10}, 11, 0.41099),
        ({"k": 25, "mode": "paper"}, 9, 0.49729),
        ({"k": 10, "l": 1.3, "t": 0.4}, 2, 0.92259),
    ],
    "iacc": [
        ({"delta_c": 0.03, "delta_d": 0.3}, 16, 0.38317),
        ({"delta_c": 0.05, "delta_d": 2, "keep_values": False}, 9, 0.49729),
    ],
    "tree": [
        ({"k": 10}, 19, 0.50659),
        ({"k": 10, "tighten": False}, 19, 0.56093),
        ({"k": 10, "l": 1.3, "t": 0.4}, 3, 0.9245),
    ],
    "dmpd": [
        ({"k": 10, "generations": 8, "population": 12}, [["age"], ["work"], ["zip"]], 0.83),
        (
            {"k": 10, "generations": 8, "population": 12, "inducer": "naive_bayes", "l": 1.1},
            [["age"], ["work"]],
            0.82667,
        ),
        ({"k": 30, "generations": 8, "population": 12, "suppress": 0.3}, [["age"], ["work"], ["zip"]], 0.83),
        ({"k": 50, "generations": 8, "population": 12}, [["zip"]], 0.65333),
    ],
    "pareto_dmpd": [
        ({"k": 10, "generations": 8, "population": 12}, [["age"], ["work"], ["zip"]], 0.83),
        ({"k": 60, "generations": 8, "population": 12}, [["age"]], 0.63333),
    ],
    "tds": [({"k": 10}, 8, 0.72344), ({"k": 3}, 43, 0.67468), ({"k": 5, "t": 0.3}, 9, 0.72215)],
    "bottom_up": [({"k": 10}, 16, 0.6869), ({"k": 3}, 23, 0.68421), ({"k": 5, "t": 0.3}, 16, 0.6874)],
    "tdr": [({"k": 4}, 21, 0.70473), ({"k": 4, "alpha": 0.9}, 5, 0.66667)],
    "pais": [
        ({"k": 10}, 8, 0.72344),
        ({"k": 10, "L": 1}, 96, 0.05677),
        ({"k": 10, "L": 2, "C": 0.9}, 5, 0.66667),
        ({"k": 10, "score": "discernibility"}, 15, 0.45968),
    ],
}


def generated(n=300):
    """A table that is the same everywhere: drawn by a fixed generator, no file needed."""
    rng = np.random.default_rng(2014)
    age = rng.integers(17, 80, n)
    work = rng.choice(["private", "public", "self", "none"], n, p=[0.6, 0.2, 0.15, 0.05])
    zips = rng.choice(["10055", "10023", "10165", "10224", "20001"], n)
    rich = rng.random(n) < (age - 10) / 140
    return pl.DataFrame({"age": age, "work": work, "zip": zips, "income": np.where(rich, "high", "low")})


SCHEMA = ic.Schema(
    quasi={
        "age": ic.Intervals(),
        "work": ic.Taxonomy.from_nested({"paid": {"employed": ["private", "public"], "own": ["self"]}, "none": None}),
        "zip": ic.prefixes(),
    },
    sensitive="income",
)
DIVERSE = ic.Schema(quasi={"age": ic.Intervals(), "income": None}, sensitive="zip", rest="drop")
CASES = [(name, *case) for name, cases in GOLDEN.items() for case in cases]


def test_every_publisher_has_a_golden_result():
    assert set(GOLDEN) == set(PUBLISHERS)


def decided(frame):
    """The same people, richer by a rule that classifiers find: projections are chosen by accuracy, not by detail."""
    private, near = pl.col("work") == "private", pl.col("zip").str.starts_with("10")
    rule = (private & near) | (pl.col("age") > 60)
    luck = np.random.default_rng(2010).random(frame.height) < 0.1
    return frame.with_columns(income=pl.when(rule ^ luck).then(pl.lit("high")).otherwise(pl.lit("low")))


def summary(release):
    """Two numbers that change with the result: of cells and their loss, or parts and their level and accuracy."""
    if isinstance(release, ic.ProjectionRelease):
        return release.parts, round(release.levels["accuracy"], 5)
    return len(release.cell_lo), round(release.loss("lm"), 5)


@pytest.mark.parametrize(("name", "parameters", "what", "how_good"), CASES)
def test_golden(name, parameters, what, how_good, monkeypatch):
    for module in (publisher, dmpd):
        monkeypatch.setattr(module, "secret_rng", lambda seed, _: np.random.default_rng(seed))
    frame = decided(generated()) if PUBLISHERS[name].kind == "projections" else generated()
    schema = SCHEMA if name != "m_invariance" else DIVERSE
    release = PUBLISHERS[name](**parameters).publish(frame, schema, seed=0)
    assert summary(release) == (what, how_good)
