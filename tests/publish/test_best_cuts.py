"""BestCuts: each run equals its plain form, group for group; the best of the runs is published."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
import naive_best_cuts
import naive_mondrian
from claims import CONSTRAINTS
from incrowd.coding import Table
from incrowd.kernels.class_cuts import Search
from incrowd.publish import best_cuts
from incrowd.publish.class_cuts import ClassCuts
from incrowd.runs import Run
from strategies import tables


def groups_of_run(method, table, search):
    cuts = ClassCuts.of(table, method.privacy(), method.k)
    loss, work, partition = best_cuts._run(cuts, search)
    choice = cuts.cutting.close(work, partition)
    groups = [np.flatnonzero(choice.cell_of == cell).tolist() for cell in range(len(choice.lo))]
    return loss, sorted(groups), choice


@given(
    tables(),
    st.integers(1, 6),
    st.sampled_from(CONSTRAINTS),
    st.sampled_from(["class", "note"]),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from([0.5, 1.0]),
    st.integers(0, 9),
)
def test_a_run_equals_the_plain_algorithm(drawn, k, constraints, target, power, share, seed):
    drawn = drawn.fit_for(constraints)
    quasi = {name: drawn.schema.attributes[name].hierarchy for name in drawn.schema.quasi}
    schema = ic.Schema(quasi=quasi, sensitive="class", target=target, other=["note"], identifiers=["id"])
    table = Table.encode(drawn.frame, schema)
    sensitive, classes = table.sensitive.tolist(), table.classes[0].tolist()

    def keeps(values):
        return naive_mondrian.holds(values, sensitive, k=k, **constraints)

    if not keeps(sensitive):
        return
    method = ic.BestCuts(k=k, **constraints)
    draws = np.random.default_rng(seed).random((5, table.n_quasi))
    search = Search(draws, share, power, method.privacy().about_sensitive)
    codes = [tuple(int(x) for x in row) for row in table.codes]
    wanted = naive_best_cuts.best_cuts(codes, classes, sensitive, table.hierarchies, keeps, search, k=k)
    loss, groups, choice = groups_of_run(method, table, search)
    assert groups == sorted(map(sorted, wanted))
    assert loss == pytest.approx(naive_best_cuts.loss_left_out([[classes[i] for i in g] for g in wanted]), abs=1e-9)
    lo, hi = choice.recoding.cells(table.codes, table.hierarchies)
    assert np.array_equal(lo, choice.lo[choice.cell_of])
    assert np.array_equal(hi, choice.hi[choice.cell_of])


def pure_ends():
    """Every threshold leaves an end that is pure; a band in the middle leaves both ends together."""
    x, ill = np.repeat([0, 1, 2], [100, 30, 60]), np.repeat(["n", "n", "y", "y"], [100, 10, 20, 60])
    return pl.DataFrame({"x": x, "ill": ill}), ic.Schema(quasi={"x": ic.Intervals()}, sensitive="ill")


def test_a_band_is_cut_out_where_no_threshold_is_allowed():
    frame, schema = pure_ends()
    assert len(ic.InfoGainMondrian(k=20, l=1.25).publish(frame, schema).cell_lo) == 1
    release = ic.BestCuts(k=20, l=1.25).publish(frame, schema, seed=3)
    assert sorted(release.frame["x"].value_counts().rows()) == [("0-2", 160), ("1", 30)]
    assert release.verify(frame).ok
    assert len(ic.BestCuts(k=20).publish(frame, schema).cell_lo) == 3  # without l, thresholds do


def test_new_rows_beside_a_band_get_the_group_around_it():
    frame, schema = pure_ends()
    release = ic.BestCuts(k=20, l=1.25, runs=1).publish(frame, schema, seed=3, domains="exact")
    own = release.transform(frame)[release.private.rows].select(release.quasi)
    assert own.equals(release.frame.select(release.quasi))


@given(tables(min_rows=6), st.integers(1, 3), st.integers(0, 5))
def test_more_runs_lose_no_more(drawn, k, seed):
    table = Table.encode(drawn.frame, drawn.schema)
    classes = table.classes[0].tolist()

    def left(runs):
        choice = ic.BestCuts(k=k, runs=runs).choose(table, np.random.default_rng(seed), lambda *_: None)
        of = [[classes[i] for i in np.flatnonzero(choice.cell_of == cell)] for cell in range(len(choice.lo))]
        return naive_best_cuts.loss_left_out(of)

    if table.n_rows >= k:
        assert left(7) <= left(1) + 1e-9


def test_the_first_run_is_greedy():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"a": rng.integers(0, 30, 200), "b": rng.integers(0, 30, 200)})
    frame = frame.with_columns(s=pl.when(pl.col("a") + pl.col("b") > 28).then(pl.lit("u")).otherwise(pl.lit("v")))
    schema = ic.Schema(quasi={"a": ic.Intervals(), "b": ic.Intervals()}, sensitive="s")
    ours = ic.BestCuts(k=9, runs=1).publish(frame, schema, seed=1)
    theirs = ic.InfoGainMondrian(k=9).publish(frame, schema, seed=1)
    assert ours.frame.equals(theirs.frame)


def test_one_setting_of_threads_gives_the_release_of_another():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"a": rng.integers(0, 30, 300), "b": rng.integers(0, 9, 300), "s": rng.integers(0, 3, 300)})
    schema = ic.Schema(quasi={"a": ic.Intervals(), "b": ic.Intervals()}, sensitive="s")
    frames = []
    for workers in (1, 3):
        with Run(workers=workers).limits():
            frames.append(ic.BestCuts(k=5, runs=12).publish(frame, schema, seed=1).frame)
    assert frames[0].equals(frames[1])


@pytest.mark.parametrize(("n", "runs"), [(1_000, 60), (30_000, 10), (1_000_000, 1)])
def test_large_tables_get_fewer_runs(n, runs):
    class Sized:
        n_rows, n_quasi = n, 14

    assert abs(ic.BestCuts(k=50).n_runs(Sized) - runs) <= 1
    assert ic.BestCuts(k=50, runs=3).n_runs(Sized) == 3


@pytest.mark.parametrize("runs", [0, -1, 1.5, True])
def test_odd_numbers_of_runs_are_refused(runs):
    with pytest.raises(ic.ParameterError, match="runs"):
        ic.BestCuts(k=2, runs=runs)


def test_the_class_may_be_apart_from_what_is_protected():
    """l is about the sensitive column; the cuts part the classes."""
    rng = np.random.default_rng(4)
    x = rng.integers(0, 20, 400)
    frame = pl.DataFrame({"x": x, "buys": np.where(x > 9, "y", "n"), "ill": rng.choice(["a", "b", "c"], 400)})
    schema = ic.Schema(quasi={"x": ic.Intervals()}, sensitive="ill", other=["buys"], target="buys")
    release = ic.BestCuts(k=20, l=2).publish(frame, schema, seed=1)
    per_group = frame["buys"].to_numpy()[release.private.rows]
    assert all(len(Counter(per_group[release.cell_of == g])) == 1 for g in range(len(release.cell_lo)))
