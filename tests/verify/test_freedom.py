"""Releases that keep k and still say more than they should: wide cells, strange ends, rows that were not dealt out."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.release.evidence import Blocks

N = 240


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 80, N),
            "bmi": rng.normal(25, 4, N).round(1),
            "job": [f"job {number}" for number in rng.integers(0, 9, N)],
            "note": np.arange(N),
            "ill": rng.choice(["flu", "cold", "none"], N),
        }
    )


SCHEMA = ic.Schema(
    quasi={"age": ic.Intervals(), "bmi": ic.Intervals(), "job": ic.balanced(3)}, sensitive="ill", rest="drop"
)


def violations(release, frame):
    return list(release.verify(frame).violations)


@pytest.mark.parametrize(
    "method", [ic.NSVDist(k=5), ic.NHAA(k=5), ic.NHAA(k=5, l=2)], ids=["nsvdist", "nhaa", "shifts"]
)
@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_cell_is_no_wider_than_its_members_ask_for(frame, method, column):
    release = method.publish(frame, SCHEMA, seed=1)
    assert violations(release, frame) == []
    hierarchy = release.hierarchies[column]
    lo, hi = release.cell_lo.copy(), release.cell_hi.copy()
    narrow = np.flatnonzero((lo[:, column] > 0) & (hi[:, column] < hierarchy.n_leaves - 1))[0]
    lo[narrow, column], hi[narrow, column] = 0, hierarchy.n_leaves - 1
    found = violations(replace(release, cell_lo=lo, cell_hi=hi), frame)
    assert any("wider than" in text for text in found)


def test_other_columns_are_dealt_out(frame, monkeypatch):
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="ill", other=["note"], rest="drop")
    assert ic.NSVDist(k=5).publish(frame, schema, seed=1).n_rows == N
    monkeypatch.setattr(Blocks, "deal", lambda *given: np.arange(given[-1]))
    with pytest.raises(ic.VerificationError, match="to be dealt out by chance"):
        ic.NSVDist(k=5).publish(frame, schema, seed=1)


def test_originals_of_rings_are_dealt_out(frame, monkeypatch):
    def in_place(_self, start, _rng):
        return np.concatenate([np.arange(end - begin) for begin, end in pairwise(start)])

    monkeypatch.setattr(ic.NHAA, "_shift", in_place)
    wide = pl.concat([frame] * 4)
    with pytest.raises(ic.VerificationError, match="same distance"):
        ic.NHAA(k=4, l=2, cluster=12).publish(wide, SCHEMA, seed=1)


def test_a_sensitive_value_that_nobody_has_is_not_listed(frame):
    release = ic.NSVDist(k=5).publish(frame, SCHEMA, seed=1)
    about = release.manifest.sensitive
    more = replace(about, values=(*about.values, "zz"), counts=(*about.counts, 0))
    counts = np.column_stack([release.cell_counts, np.zeros(len(release.cell_counts), np.int32)])
    forged = replace(
        release,
        manifest=replace(release.manifest, sensitive=more),
        sensitive_values=pl.Series([*about.values, "zz"]),
        cell_counts=counts,
    )
    assert any("lists 1 values that no original has" in text for text in violations(forged, frame))


def test_ends_that_nobody_has_are_the_owners_word(frame):
    declared = {"age": ic.Intervals(list(range(14, 81))), "job": None}
    sparse = frame.with_columns(pl.col("age") // 7 * 7)
    schema = ic.Schema(quasi=declared, sensitive="ill", rest="drop")
    tight = ic.Mondrian(k=5).publish(sparse, schema, seed=1)
    assert tight.verify(sparse).complete
    lo = tight.cell_lo.copy()
    lower = np.flatnonzero(lo[:, 0] > 1)[0]
    lo[lower, 0] -= 1  # still in the domain, and nobody is so old
    verdict = replace(tight, cell_lo=lo).verify(sparse)
    assert verdict.ok
    assert not verdict.complete
    assert "declared values" in [check.name for check in verdict.checks if check.ok is None]
