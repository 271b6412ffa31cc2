"""Cuts between neighbours: the roundest, and no other."""

from __future__ import annotations

import math
from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.release.cut_points import between
from incrowd.verify import check
from incrowd.verify.cut_points import roundest, wrong_cuts

EPOCH = date(1970, 1, 1).toordinal()


def day(text):
    return date.fromisoformat(text).toordinal() - EPOCH


@pytest.mark.parametrize(
    ("low", "high", "kind", "cut"),
    [
        (17, 18, "int", 17.5),
        (-1, 0, "int", -0.5),
        (2**52 - 1, 2**52, "int", 2**52 - 0.5),
        (2**52, 2**52 + 1, "int", None),
        (17, 19, "int", 18),
        (19, 60, "int", 20),
        (-5, 5, "int", 0),
        (95, 105, "int", 100),
        (100, 105, "int", 101),
        (99, 101, "int", 100),
        (1, 3, "int", 2),
        (-(2**63), 2**63 - 1, "int", 0),
        (10**18, 10**18 + 15, "int", 10**18 + 10),
        (0.26, 0.31, "float", 0.3),
        (0.0, 1.0, "float", 0.5),
        (1.0, math.nextafter(1.0, 2), "float", None),
        (-2.0, 1.0, "float", -0.5),
        (1.5e308, 1.7e308, "float", 1.6e308),
        (20.0, 30.0, "float", 25.0),
        (20.0, 22.0, "float", 21.0),
        (1.0, 2.0**0.5, "float", 1.2),
        (day("2001-05-05"), day("2001-05-06"), "date", None),
        (day("2001-05-05"), day("2001-05-07"), "date", "2001-05-06"),
        (day("2001-05-05"), day("2003-05-07"), "date", "2003-01-01"),
        (day("2001-05-05"), day("2001-08-07"), "date", "2001-08-01"),
        (day("2000-12-31"), day("2001-08-07"), "date", "2001-01-01"),
        (day("2001-01-01"), day("2001-08-01"), "date", "2001-07-01"),
        (day("2001-01-01"), day("2001-01-31"), "date", "2001-01-16"),
        (day("2000-12-30"), day("2001-01-01"), "date", "2000-12-31"),
    ],
)
def test_by_hand(low, high, kind, cut):
    found = roundest(low, high, kind)
    assert found == cut
    assert type(found) is type(cut)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(1, 2**40), st.sampled_from(["int", "date"]))
def test_whole_numbers_and_days_as_they_are_published(low, gap, kind):
    if kind == "date":
        low, gap = low % 500_000, gap % 200_000 + 1
    assert roundest(low, low + gap, kind) == between(low, low + gap, kind)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_floats_as_they_are_published(one, two):
    low, high = min(one, two), max(one, two)
    assert low == high or roundest(low, high, "float") == between(low, high, "float")


@pytest.mark.parametrize(
    ("cuts", "wrong"),
    [
        ((10, 20.5), 0), ((), 0), ((10, 21.5), 0), ((20.5, 21.5), 0), ((11,), 1), ((10.0,), 1), ((10, 20), 1),
        ((9,), 1), ((8.5,), 1), ((22,), 1), ((30,), 1), ((8, 10, 30), 2), ((20,), 1), ((21,), 1), ((22.5,), 1),
    ],
)  # fmt: skip
def test_wrong_cuts_are_counted(cuts, wrong):
    assert wrong_cuts(cuts, np.array([9, 20, 21, 22]), "int") == wrong


def test_days_are_cut_at_days():
    values = np.array([day("2001-05-05"), day("2003-05-07")])
    assert wrong_cuts(("2003-01-01",), values, "date") == 0
    assert wrong_cuts(("2002-01-01",), values, "date") == 1


@pytest.mark.parametrize("kind", ["int", "float", "date"])
def test_a_cut_that_parts_the_same_values_is_refused(kind):
    rng = np.random.default_rng(4)
    numbers = {"int": rng.choice(50, 60) * 7, "float": rng.normal(0, 9, 60).round(3)}
    days = [date.fromordinal(700_000 + int(n) * 9) for n in rng.choice(300, 60)]
    frame = pl.DataFrame({"x": days if kind == "date" else numbers[kind], "ill": rng.choice(["a", "b"], 60)})
    release = ic.Mondrian(k=4).publish(frame, ic.Schema(quasi={"x": ic.Intervals()}, sensitive="ill"), seed=1)
    assert release.verify(frame).ok
    manifest = release.manifest.to_dict()
    cuts = manifest["quasi"][0]["cuts"]
    values = frame["x"].unique().sort().to_list()
    cut = date.fromisoformat(cuts[0]) if kind == "date" else cuts[0]
    above = next(value for value in values if value > cut)
    below = max(value for value in values if value < cut)
    if kind == "date":
        inside = [date.fromordinal(n) for n in range(below.toordinal() + 1, above.toordinal())]
        changed = next(n for n in inside if n != cut).isoformat()
    else:
        changed = (cut + above) / 2 if kind == "float" else next(n for n in range(below + 1, above) if n != cut)
    cuts[0] = changed
    verdict = check(
        manifest, release.coded_tables(labels=False), original=frame, private=release.private.files(release.quasi)
    )
    assert verdict.violations == [
        "rare values: column 'x' has 1 cuts that are not the roundest between two values of the table"
    ]
