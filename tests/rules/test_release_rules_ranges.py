"""Rules in ranges of a column whose published domain tells cut points only."""

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.release.atoms import Atoms
from incrowd.rules.release_rules import rules_from_release


def test_a_range_that_is_cut_gives_each_side_its_share():
    ages = Atoms(np.array([10, 20]), 39, "int", missing=False)
    assert ages.share_below(5).tolist() == [0, 0]
    assert ages.share_below(15).tolist() == [0.5, 0]
    assert ages.share_below(24.5).tolist() == [1, 0.25]
    assert ages.share_below(50).tolist() == [1, 1]
    lengths = Atoms(np.array([0.0, 1.0]), 3.0, "float", missing=True)
    assert lengths.share_below(2.0).tolist() == pytest.approx([1, 0.5])


def test_a_range_of_one_value_lies_on_one_side():
    alone = Atoms(np.array([1.5]), 1.5, "float", missing=False)
    assert alone.share_below(1.5).tolist() == [0]
    assert alone.share_below(1.6).tolist() == [1]


def test_supports_of_ranges_follow_what_is_published():
    frame = pl.DataFrame({"age": [20, 21, 22, 23, 60, 61, 62, 63], "ill": ["yes"] * 4 + ["no"] * 4})
    release = ic.Mondrian(k=4).publish(frame, ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill"), seed=1)
    found = rules_from_release(release, min_support=0.3, min_confidence=0.9, cuts={"age": [40]})
    rules = {(tuple(r["antecedents"]), tuple(r["consequents"])): r["support"] for r in found.iter_rows(named=True)}
    assert rules[("age=<40",), ("ill=yes",)] == pytest.approx(0.5)
    assert rules[("age=>=40",), ("ill=no",)] == pytest.approx(0.5)
