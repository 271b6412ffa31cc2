"""Releases that keep k and still say more than they should: wide cells, strange ends, rows that were not dealt out."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.release.evidence import Blocks
from incrowd.verify import extents
from incrowd.verify.methods import PARAMETERS

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
    with pytest.raises(ic.VerificationError, match="to be shuffled by chance"):
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
        manifest=replace(release.manifest, secrets=(more,)),
        secrets=(replace(release.secrets[0], values=pl.Series(about.name, [*about.values, "zz"]), cell_counts=counts),),
    )
    assert any("lists 1 values that no original has" in text for text in violations(forged, frame))


@pytest.mark.parametrize("method", [ic.TreeAnonymizer(k=5, tighten=False), ic.Mondrian(k=5)], ids=lambda m: m.name)
def test_ends_that_nobody_has_are_the_owners_word(frame, method):
    declared = {"age": ic.Intervals(list(range(14, 81))), "job": None}
    sparse = frame.with_columns(pl.col("age") // 7 * 7)
    schema = ic.Schema(quasi=declared, sensitive="ill", rest="drop")
    tight = method.publish(sparse, schema, seed=1)
    lo = tight.cell_lo.copy()
    lower = np.flatnonzero(lo[:, 0] > 1)[0]
    lo[lower, 0] -= 1  # still in the domain, and nobody is so old
    verdict = replace(tight, cell_lo=lo).verify(sparse)
    assert verdict.ok is (method.name == "tree")  # the cells of the other are no wider than their rows
    assert not verdict.complete
    assert "declared values" in [check.name for check in verdict.checks if check.ok is None]
    if method.name == "mondrian":
        assert tight.verify(sparse).complete
        assert any("wider than its rows ask for" in text for text in verdict.violations)


CLOSED = [
    ic.Mondrian(k=5), ic.Mondrian(k=5, strict=False), ic.Mondrian(k=5, recoding="single"), ic.InfoGainMondrian(k=5),
    ic.SeqA(k=5), ic.TightGroups(k=5), ic.TDS(k=5), ic.TDR(k=5), ic.BottomUp(k=5),
    ic.PAIS(k=5), ic.TreeAnonymizer(k=5), ic.KACTUS(k=5),
]  # fmt: skip


@pytest.mark.parametrize("method", CLOSED, ids=lambda m: f"{m.name} {getattr(m, 'recoding', '')}")
def test_a_cell_is_no_wider_than_its_method_makes_it(frame, method):
    """A cell that ends below the largest age ends one age later: its rows keep k, and nobody asked for it."""
    release = method.publish(frame, SCHEMA, seed=1)
    assert violations(release, frame) == []
    tried = []
    for column in range(3):
        hi = release.cell_hi.copy()
        most = hi[:, column].max()
        narrow = np.flatnonzero(hi[:, column] < most)
        if not len(narrow) or release.manifest.quasi[column].kind == "taxonomy":
            continue
        here = (hi[:, column] == hi[narrow[0], column]) & (
            release.cell_lo[:, column] == release.cell_lo[narrow[0], column]
        )
        hi[here, column] = most - (hi[narrow[0], column] < most - 1)
        found = violations(replace(release, cell_hi=hi), frame)
        name = release.quasi[column]
        assert any(f"a cell of {name!r} that is wider than its rows ask for" in text for text in found), name
        tried.append(name)
    assert tried


@pytest.mark.parametrize("claimed", ["single", "iack", "tds"])
def test_a_release_by_groups_does_not_pass_for_a_global_one(frame, claimed):
    release = ic.Mondrian(k=5).publish(frame, SCHEMA, seed=1)
    method = release.manifest.method
    if claimed == "single":
        method = replace(method, parameters=dict(method.parameters) | {"recoding": "single"})
    else:
        given = {name: value for name, value in method.parameters.items() if name in PARAMETERS[claimed][0]}
        method = replace(method, name=claimed, parameters=given)
    forged = replace(release, manifest=replace(release.manifest, method=method))
    found = violations(forged, frame)
    assert len(found) == 1
    assert "than rows of the same value" in found[0]


def test_rows_of_everything_stand_aside_of_a_global_recoding(frame):
    release = ic.IACk(k=5).publish(frame, SCHEMA, seed=1)
    cells = release.cell_hi[release.cell_of] - release.cell_lo[release.cell_of]
    assert (cells == cells.max(axis=0)).all(axis=1).any()
    assert violations(release, frame) == []


def test_no_method_of_ours_leaves_a_group_out(frame):
    """A whole group is gone, and said to be suppressed."""
    release = ic.Mondrian(k=5).publish(frame, SCHEMA, seed=1, domains="exact")
    manifest = release.manifest
    rows = replace(manifest.rows, suppressed=5, released=manifest.rows.released - 5)
    found = violations(replace(release, manifest=replace(manifest, rows=rows)), frame)
    assert any("leaves no row out, and 5 are said to be suppressed" in text for text in found)


@pytest.mark.parametrize("method", [ic.KACTUS(k=5), ic.TDS(k=5), ic.Mondrian(k=5)], ids=lambda m: m.name)
def test_a_cell_may_be_everything_where_its_method_hides_columns(frame, method):
    release = method.publish(frame, SCHEMA, seed=1)
    bottom, top = release.cell_lo[:, 0].min(), release.cell_hi[:, 0].max()
    inside = (release.cell_lo[:, 0] > bottom) & (release.cell_hi[:, 0] < top)
    chosen = np.flatnonzero(inside)[0]
    here = (release.cell_lo[:, 0] == release.cell_lo[chosen, 0]) & (release.cell_hi[:, 0] == release.cell_hi[chosen, 0])
    for low, high in ((True, False), (False, True), (True, True)):
        lo, hi = release.cell_lo.copy(), release.cell_hi.copy()
        lo[here, 0] = bottom if low else lo[here, 0]
        hi[here, 0] = top if high else hi[here, 0]
        found = [text for text in violations(replace(release, cell_lo=lo, cell_hi=hi), frame) if "extents" in text]
        assert bool(found) is not (low and high and method.name != "mondrian")


def test_the_ends_of_scattered_rows():
    rng = np.random.default_rng(9)
    for n_owners in (1, 3, 40):
        owner, codes = (
            np.append(np.arange(n_owners), rng.integers(0, n_owners, 90)),
            rng.integers(-9, 99, n_owners + 90),
        )
        least, most = extents._ends(codes, owner)
        wanted = [(codes[owner == one].min(), codes[owner == one].max()) for one in range(n_owners)]
        assert list(zip(least.tolist(), most.tolist(), strict=True)) == wanted


def test_values_with_two_cells():
    value, cell = np.array([0, 1, 1, 2, 2, 0]), np.array([5, 6, 6, 7, 8, 5])
    aside = np.zeros(6, bool)
    assert extents._has_two(value, cell, aside)[[0, 1, 2, 5]].tolist() == [False] * 4
    assert extents._has_two(value, cell, aside)[[3, 4]].sum() == 1
    for row in (3, 4):
        aside[:] = np.arange(6) == row
        assert not extents._has_two(value, cell, aside).any()
