"""TightGroups: each part equals its plain form; what is published is never above what it starts from."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import incrowd as ic
import naive_mondrian
import naive_tight_groups
from claims import CONSTRAINTS
from incrowd.coding import Table
from incrowd.kernels.tight_groups import MOST_PARTS, N_NEAR, find_near, label_rows, recut, total_loss
from incrowd.publish import tight_groups
from incrowd.publish.loss_cuts import LossCuts
from incrowd.publish.tight_groups import Space, order_rows, sweep_groups
from incrowd.runs import Run
from naive_loss_cuts import Losses
from strategies import tables


def quiet(*_):
    pass


class Case:
    """A drawn table, in its own form and in that of the plain algorithms."""

    def __init__(self, drawn, k, constraints):
        drawn = drawn.fit_for(constraints)
        self.frame, self.schema = drawn.frame, drawn.schema
        self.table = Table.encode(drawn.frame, drawn.schema)
        self.k, self.constraints, self.sensitive = k, constraints, self.table.sensitive.tolist()
        self.losses = Losses(self.table)
        self.method = ic.TightGroups(k=k, **constraints)
        assume(self.allowed(range(self.table.n_rows)))

    def allowed(self, rows):
        values = [self.sensitive[i] for i in rows]
        return bool(values) and naive_mondrian.holds(values, self.sensitive, k=self.k, **self.constraints)

    def space(self, order):
        return Space.of(self.table, LossCuts.of(self.table, self.method.privacy(), self.k), np.array(order))

    def loss(self, choice):
        return sum(self.losses.of(np.flatnonzero(choice.cell_of == cell)) for cell in range(len(choice.lo)))


def groups_in(space, groups):
    labels, n_groups = label_rows(groups)
    return [space.order[labels == g].tolist() for g in range(n_groups)]


@given(tables(max_rows=20), st.integers(2, 5))
def test_the_order_is_that_of_the_leaves_of_cuts(drawn, size):
    table = Table.encode(drawn.frame, drawn.schema)
    order = order_rows(table, size)
    codes = [tuple(row) for row in table.codes.tolist()]
    wanted = naive_tight_groups.ordered(Losses(table), size)
    assert sorted(order.tolist()) == list(range(table.n_rows))
    for leaf in naive_tight_groups.loss_cuts(Losses(table), lambda rows: len(rows) >= size):
        at = wanted.index(leaf[0])
        assert sorted(codes[i] for i in order[at : at + len(leaf)]) == sorted(codes[i] for i in leaf)


@given(tables(min_rows=1, max_rows=13), st.integers(1, 4))
def test_groups_of_neighbours_are_the_best_of_all(drawn, k):
    case = Case(drawn, k, {})
    order = order_rows(case.table, 2).tolist()
    space = case.space(order)
    groups = space.fill(space.plan(quiet))
    every = [sum(map(case.losses.of, grouping)) for grouping in naive_tight_groups.groupings(order, k)]
    assert total_loss(groups) == min(every)
    assert sum(map(case.losses.of, groups_in(space, groups))) == min(every)
    assert {k <= len(group) < 2 * k for group in groups_in(space, groups)} == {True}


@given(tables(max_rows=25), st.integers(1, 3), st.sampled_from(CONSTRAINTS), st.sampled_from([2, 8]))
def test_groups_of_neighbours_keep_the_limits(drawn, k, constraints, longest):
    case = Case(drawn, k, constraints)
    order = order_rows(case.table, 2).tolist()
    space = case.space(order)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tight_groups, "_LONGEST", longest)
        ends = space.plan(quiet)
    most = 2 * k - 1 if space.n_values == 0 else longest * k
    wanted = naive_tight_groups.least_loss(order, case.losses, case.allowed, k, most)
    if wanted is None:
        assert ends is None
        return
    groups = space.fill(ends)
    assert total_loss(groups) == wanted
    assert all(map(case.allowed, groups_in(space, groups)))


@given(tables(min_rows=2, max_rows=16), st.integers(1, 4), st.sampled_from(CONSTRAINTS))
def test_rows_are_cut_anew_as_by_the_plain_algorithm(drawn, k, constraints):
    case = Case(drawn, k, constraints)
    n = case.table.n_rows
    assume(n < (MOST_PARTS + 1) * k)
    space = case.space(range(n))
    room, bench = space.bench(n)
    bench.rows[:] = space.rows
    bench.rows[:, -1] = np.arange(n)
    wanted = naive_tight_groups.recut(list(range(n)), case.losses, case.allowed)
    total, n_parts = recut(bench, n, space.prices, room, space.bounds, 2**62)
    ends = [0, *bench.ends[:n_parts]]
    assert [bench.rows[a:b, -1].tolist() for a, b in pairwise(ends)] == wanted
    assert total == sum(map(case.losses.of, wanted))
    assert all(map(case.allowed, wanted))


@given(tables(min_rows=4, max_rows=30), st.integers(1, 3))
def test_near_groups_are_those_that_grow_least(drawn, k):
    case = Case(drawn, k, {})
    space = case.space(order_rows(case.table, 2))
    groups = space.fill(space.plan(quiet))
    _, bench = space.bench(1)
    rows_of = groups_in(space, groups)
    for g, own in enumerate(rows_of):
        n_found = find_near(groups, g, space.prices, bench)
        found = bench.found[1, :n_found].tolist()
        growths = [naive_tight_groups.growth(own, rows_of[other], case.losses) for other in found]
        every = [naive_tight_groups.growth(own, other, case.losses) for i, other in enumerate(rows_of) if i != g]
        assert bench.found[0, :n_found].tolist() == growths == sorted(every)[:N_NEAR]
        assert len(set(found) - {g}) == n_found


@given(tables(min_rows=4), st.integers(1, 4), st.sampled_from(CONSTRAINTS))
def test_sweeps_only_lower_the_loss_and_keep_the_limits(drawn, k, constraints):
    case = Case(drawn, k, constraints)
    cuts = ic.Mondrian(k=k, cut="loss", **constraints).choose(case.table, None, quiet)
    found = [case.loss(cuts)]
    for sweeps in range(4):
        method = ic.TightGroups(k=k, sweeps=sweeps, **constraints)
        choice = method.choose(case.table, None, quiet)
        assert all(case.allowed(np.flatnonzero(choice.cell_of == cell)) for cell in range(len(choice.lo)))
        found.append(case.loss(choice))
    assert found == sorted(found, reverse=True)


@given(tables(min_rows=6), st.integers(1, 3))
def test_what_the_groups_know_of_themselves_is_true_after_sweeps(drawn, k):
    case = Case(drawn, k, {})
    space = case.space(order_rows(case.table, 2))
    groups = space.fill(space.plan(quiet))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tight_groups, "_BATCHES", 1)  # all groups look at once, and want the same ones
        sweep_groups(space, groups, 3, quiet)
    rows_of = groups_in(space, groups)
    assert sorted(row for rows in rows_of for row in rows) == list(range(case.table.n_rows))
    filled = [g for g in range(len(groups.about)) if groups.about[g, 1] > 0]
    half = len(groups.tree) // 2
    for g, rows in zip(filled, rows_of, strict=True):
        codes = case.table.codes[rows]
        box = [*codes.min(axis=0), *codes.max(axis=0)]
        assert groups.about[g, 1] == len(rows)
        assert groups.about[g, 1] * groups.about[g, 2] == case.losses.of(rows)
        assert groups.box[g].tolist() == groups.tree[half + g, :-1].tolist() == box
    lo, hi = groups.box[filled, : case.table.n_quasi], groups.box[filled, case.table.n_quasi :]
    assert groups.tree[1, :-1].tolist() == [*lo.max(axis=0), *hi.min(axis=0)]


def crowd(n=600):
    rng = np.random.default_rng(1)
    columns = {"a": rng.integers(0, 90, n), "b": rng.integers(0, 9, n), "s": rng.integers(0, 3, n)}
    return pl.DataFrame(columns), ic.Schema(quasi={"a": ic.Intervals(), "b": ic.balanced(3)}, sensitive="s")


def test_one_setting_of_threads_gives_the_release_of_another():
    frame, schema = crowd()
    frames = []
    for workers in (1, 3):
        with Run(workers=workers).limits():
            frames.append(ic.TightGroups(k=5, l=2).publish(frame, schema, seed=1).frame)
    assert frames[0].equals(frames[1])


def test_sweeps_gain_much_where_there_is_much_to_gain():
    frame, schema = crowd()
    losses = [
        method.publish(frame, schema, seed=1).loss("lm")
        for method in (ic.Mondrian(k=5), ic.Mondrian(k=5, cut="loss"), ic.TightGroups(k=5))
    ]
    assert losses[2] < 0.9 * losses[1] < 0.9 * losses[0]


def test_groups_may_be_larger_where_l_asks_for_it():
    """Every ninth has the rare value: no group of fewer than 2k neighbours has both."""
    frame = pl.DataFrame({"x": range(36), "ill": (["n"] * 8 + ["y"]) * 4})
    schema = ic.Schema(quasi={"x": ic.Intervals()}, sensitive="ill")
    release = ic.TightGroups(k=2, l=2, l_kind="distinct").publish(frame, schema, seed=1)
    assert release.verify(frame).ok
    assert len(release.cell_lo) == 4


def test_it_can_be_stopped_between_batches():
    class Stop(Exception):  # noqa: N818
        pass

    def stop(stage, _done, _total):
        if stage == "regrouping":
            raise Stop

    frame, schema = crowd()
    with pytest.raises(Stop):
        ic.TightGroups(k=5).publish(frame, schema, progress=stop)


@pytest.mark.parametrize("sweeps", [-1, 1.5, True])
def test_odd_numbers_of_sweeps_are_refused(sweeps):
    with pytest.raises(ic.ParameterError, match="sweeps"):
        ic.TightGroups(k=2, sweeps=sweeps)
