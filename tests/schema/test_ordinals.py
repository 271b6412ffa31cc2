"""Names with an order of their own are told apart from other names, with the reason."""

import random

import polars as pl
import pytest

import incrowd as ic
from incrowd import workflow
from incrowd.schema.ordinals import find_order


@pytest.mark.parametrize(
    "ordered",
    [
        ["<18", "18-24", "25-64", "65+"],
        ["under 5", "5 to 9", "10 to 14", "over 14"],
        ["bis 1.000 Euro", "1.000-2.000 Euro", "über 2.000 Euro"],
        ["0-9", "10-19", "100-109"],
        ["0 - 4 years", "5 - 9 years", "10 and over"],
        ["[low]".strip("[]"), "medium", "high"],
        ["Nie", "selten", "manchmal", "Oft", "immer"],
        ["NEVER", "Sometimes", "always"],
        ["Grade 2", "Grade 9", "Grade 10"],
        ["Stage I", "Stage II", "Stage IV", "Stage IX"],
        ["Januar", "April", "August", "Dezember"],
        ["S", "M", "L", "XL"],
    ],
)
def test_an_order_is_found_whatever_the_order_of_the_names(ordered):
    for seed in range(5):
        mixed = random.Random(seed).sample(ordered, len(ordered))
        found = find_order(mixed)
        assert found is not None
        assert found[0] == ordered


@pytest.mark.parametrize(
    "names",
    [
        ["nurse", "clerk", "cook"],
        ["low", "high"],  # two values need no order
        ["low", "medium", "blue"],
        ["Low", "low", "high"],  # of which one is a slip
        ["ward 1", "ward 2", "ward 3"],
        ["room 1-2", "room 3-4", "room 5-6"],
        ["1", "2", "3"],
        ["20-10", "30-20", "40-30"],
        ["0-5", "0-5 ", "6-9"],
        ["E11", "E12", "F10"],
        ["S", "M", "W", "D"],
    ],
)
def test_other_names_have_none(names):
    assert find_order(names) is None


def test_a_proposed_order_publishes_and_keeps_neighbours_together(tmp_path):
    rng = random.Random(1)
    bands = ["<18", "18-24", "25-44", "45-64", "65+", "unknown"]
    frame = pl.DataFrame(
        {
            "age": [rng.choice(bands) for _ in range(300)] + ["100-104"],
            "ill": [rng.choice(["flu", "none"]) for _ in range(301)],
        }
    )
    schema = ic.Schema.propose(frame, sensitive="ill")
    assert "bands of numbers, 7 distinct names in their own order" in schema.attributes["age"].why
    assert schema.attributes["age"].suspects == ("unknown",)
    schema.to_toml(tmp_path / "a.toml")
    schema = ic.Schema.from_toml(tmp_path / "a.toml")
    release = ic.Mondrian(k=60).publish(frame, schema, seed=1)
    assert release.verify(frame).ok
    release.save(tmp_path / "out")
    assert "100-104" not in (tmp_path / "out" / "manifest.json").read_text(encoding="utf-8")  # which one person has


def test_labels_of_an_ordinal_variable_keep_the_order_of_their_codes(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    rng = random.Random(1)
    frame = pl.DataFrame(
        {"school": [float(rng.randrange(1, 6)) for _ in range(200)], "ill": [rng.choice("yn") for _ in range(200)]}
    )
    labels = {1: "ohne", 2: "Haupt", 3: "Real", 4: "Abi", 5: "Uni"}
    pyreadstat.write_sav(
        frame.to_pandas(), str(tmp_path / "a.sav"), variable_value_labels={"school": labels},
        variable_measure={"school": "ordinal"},
    )  # fmt: skip
    found = workflow.propose(tmp_path / "a.sav", sensitive="ill").schema.attributes["school"]
    assert found.hierarchy.leaves.to_list() == list(labels.values())
    assert "the file calls ordinal" in found.why
