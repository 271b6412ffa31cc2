"""A steward's story: accident records with zero-padded numbers and 99 for unknown, from a file to a release."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd import workflow

ITEMS = 21


def accidents(n: int, seed: int = 1) -> pl.DataFrame:
    """Make records with 30 columns, as offices export them: everything is text of fixed width."""
    rng = np.random.default_rng(seed)

    def padded(values, width, unknown=None):
        text = np.array([f"{value:0{width}d}" for value in values])
        return np.where(rng.random(n) < 0.03, unknown, text).tolist() if unknown else text.tolist()

    columns = {
        "case": padded(rng.permutation(10 * n)[:n], 7),
        "age": padded(np.clip(rng.normal(38, 18, n), 0, 94).astype(int), 3, "999"),
        "hour": padded(rng.integers(0, 24, n), 2, "99"),
        "month": padded(rng.integers(1, 13, n), 2),
        "speed": padded((np.clip(rng.normal(50, 20, n), 0, 150) // 5 * 5).astype(int), 3, "999"),
        "weather": padded(rng.integers(1, 9, n), 2, "99"),
        "zip": padded(rng.integers(1, 40, n) * 1000 + rng.integers(0, 90, n), 5),
        "sex": rng.choice(["1", "2", "9"], n, p=[0.5, 0.45, 0.05]).tolist(),
    }
    for number in range(ITEMS):
        columns[f"item{number}"] = padded(rng.integers(1, 3 + number % 9, n), 2, "99" if number % 2 else None)
    risk = np.array([int(age) + int(speed) for age, speed in zip(columns["age"], columns["speed"], strict=True)])
    noisy = rng.random(n) + (risk % 900) / 300
    columns["severity"] = np.array(["none", "light", "severe"])[np.digitize(noisy, [0.7, 1.1])].tolist()
    return pl.DataFrame(columns)


def by_hand(names: list[str]) -> ic.Schema:
    """The schema of somebody who knows the code book."""
    numbers = ["age", "hour", "month", "speed", "weather", "sex", *(name for name in names if name.startswith("item"))]
    codes = {"age": [999], "speed": [999], "hour": [99], "weather": [99], "sex": [9]}
    codes |= {f"item{number}": [99] for number in range(1, ITEMS, 2)}
    quasi = {
        name: ic.prefixes() if name == "zip" else ic.Intervals() for name in names if name in numbers or name == "zip"
    }
    types = dict.fromkeys(numbers, "int") | {"zip": "str"}
    return ic.Schema(quasi=quasi, sensitive="severity", identifiers=["case"], types=types, missing_codes=codes)


@pytest.mark.parametrize("n", [2_500, pytest.param(100_000, marks=pytest.mark.slow)])
def test_the_proposal_is_nearly_as_good_as_a_schema_by_hand(tmp_path, n):
    table = accidents(n)
    table.write_csv(tmp_path / "accidents.csv")
    found = workflow.propose(tmp_path / "accidents.csv", sensitive="severity")
    hand = by_hand(table.columns)
    schema = found.schema
    assert schema.identifiers == ["case"]
    assert schema.quasi == hand.quasi
    for name in schema.quasi:
        kind = schema.attributes[name].hierarchy.to_dict()["kind"]
        assert kind == ("prefixes" if name == "zip" else "intervals"), name
    assert {name: a.suspects for name, a in schema.attributes.items() if a.suspects} == hand.missing_codes
    assert schema.missing_codes == {}
    assert f"of {n} rows" in found.uniqueness.text
    lost = {}
    for name, roles in (("proposed", schema.accept_suspects()), ("by hand", hand)):
        done = workflow.publish(tmp_path / "accidents.csv", roles, tmp_path / name, parameters={"k": 10}, seed=1)
        lost[name] = done.release.loss("lm")
    assert lost["proposed"] <= 1.2 * lost["by hand"]
