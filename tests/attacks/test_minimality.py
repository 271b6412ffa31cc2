"""What the place of cuts tells: measured exactly on tables where it is known."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import incrowd as ic

NAME = "minimality"


def attacked(method, frame, schema, **options):
    release = method.publish(frame, schema, seed=1, **options)
    return ic.attack(release, frame, attacks=[NAME])[NAME], release


def steps(n=12):
    """Classes change twice along the line: cuts are right where they do."""
    x = np.arange(3 * n)
    return pl.DataFrame({"x": x, "s": np.where((x >= n) & (x < 2 * n), "u", "v")})


def line(frame):
    return ic.Schema(quasi={"x": ic.Intervals()}, sensitive="s")


def test_people_beside_a_cut_are_counted_by_hand():
    frame = steps()
    finding, release = attacked(ic.Mondrian(k=9), frame, line(frame), domains="exact")
    ends = sorted(release.frame["x"].unique(), key=lambda label: int(label.split("-")[0]))
    assert ends == ["0-8", "9-17", "18-26", "27-35"]
    # beside a cut: 8, 9, 17, 18, 26, 27; tops: v (9 of 9), u (6 of 9), u (6 of 9), v (9 of 9)
    assert finding.numbers["people_beside_a_cut"] == 6
    # 8 v, 9 v (of u), 17 u, 18 u, 26 v (of u), 27 v
    assert (finding.success.right, finding.success.claimed) == (4, 6)
    assert finding.baseline.right == pytest.approx(2 * 1 + 4 * 6 / 9)
    assert finding.numbers["more_often_than_the_share"] == pytest.approx((4 - 2 - 4 * 6 / 9) / 6)


def test_swaps_change_the_groups_of_methods_that_look_at_values_only():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 60, 240)
    frame = pl.DataFrame({"x": x, "s": np.where(rng.random(240) < x / 60, "u", "v")})
    blind, _ = attacked(ic.Mondrian(k=20), frame, line(frame))
    assert blind.numbers["swaps_that_change_the_groups"] == 0
    assert blind.outcome == "reported"
    looking, _ = attacked(ic.BestCuts(k=20, runs=1), frame, line(frame))
    assert looking.numbers["swaps_that_change_the_groups"] > 0


@pytest.mark.parametrize("at_the_ends", [True, False])
def test_values_that_always_stand_at_the_ends_are_caught(at_the_ends):
    """Groups of ten with six of the top value, which 1/l allows: not when the ends of each group always have it."""
    x = np.arange(320)
    where = (0, 1, 2, 3, 4, 9) if at_the_ends else (1, 2, 3, 4, 5, 6)
    frame = pl.DataFrame({"x": x, "s": np.where(np.isin(x % 10, where), "u", "v")})
    finding, release = attacked(ic.Mondrian(k=10, l=1.6), frame, line(frame), domains="exact")
    assert len(release.cell_lo) == 32
    assert finding.success.precision == at_the_ends
    assert finding.outcome == ("promise broken" if at_the_ends else "withstood")
    assert finding.n_at_risk == (62 if at_the_ends else 0)


def test_where_it_does_not_apply():
    frame = steps()
    shares, _ = attacked(ic.NSVDist(k=5), frame, line(frame))
    assert shares.outcome == "not applicable"
    release = ic.Mondrian(k=9).publish(frame, line(frame), seed=1)
    whole = ic.Mondrian(k=36).publish(frame, line(frame), seed=1)
    assert ic.attack(whole, frame, attacks=[NAME])[NAME].success.claimed == 0
    assert "owner" in ic.attack(replace(release, private=None), frame, attacks=[NAME])[NAME].why
