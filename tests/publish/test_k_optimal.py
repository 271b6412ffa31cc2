"""KOptimal: equal to trying every set of cut points, and what it says of how far it may be from the best."""

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import incrowd as ic
import naive_cut_sets
from claims import CONSTRAINTS
from incrowd.coding import Table
from incrowd.publish.cut_sets import CutSets
from naive_cut_sets import SCHEMA, people
from strategies import tables


@given(tables(max_rows=12), st.integers(1, 4), st.sampled_from(CONSTRAINTS), st.sampled_from(["dm", "cm"]))
def test_no_set_of_cuts_costs_less(drawn, k, constraints, loss):
    drawn = drawn.fit_for(constraints)
    table = Table.encode(drawn.frame, drawn.schema)
    assume(naive_cut_sets.few_ways(table) and table.classes[1] > 1)
    holds = naive_cut_sets.judge(table, k, constraints)
    assume(holds(table.sensitive.tolist()))
    release = ic.KOptimal(k=k, loss=loss, **constraints).publish(drawn.frame, drawn.schema, seed=1)
    assert release.levels["proved_optimal"]
    assert release.levels["cost"] == release.levels["cost_at_least"] == naive_cut_sets.best_cost(table, loss, holds)


@given(tables(max_rows=12), st.integers(1, 4), st.sampled_from(["dm", "cm"]), st.integers(1, 30))
def test_the_bound_holds_whenever_it_stops(drawn, k, loss, looks):
    table = Table.encode(drawn.frame, drawn.schema)
    assume(naive_cut_sets.few_ways(table) and table.classes[1] > 1 and k <= table.n_rows)
    release = ic.KOptimal(k=k, loss=loss, looks=looks).publish(drawn.frame, drawn.schema, seed=1)
    least = naive_cut_sets.best_cost(table, loss, naive_cut_sets.judge(table, k, {}))
    assert release.levels["cost_at_least"] <= least <= release.levels["cost"]
    assert (release.levels["gap"] == 0) == bool(release.levels["proved_optimal"])


@pytest.mark.parametrize("loss", ["dm", "cm"])
def test_more_looks_never_cost_more_and_the_cost_is_that_of_the_release(loss):
    some, more = (ic.KOptimal(k=10, loss=loss, looks=looks).publish(people(), SCHEMA, seed=1) for looks in (5, 200))
    assert more.levels["cost"] < some.levels["cost"]
    assert more.levels["cost_at_least"] >= some.levels["cost_at_least"]
    groups = more.frame.group_by(SCHEMA.quasi).agg(pl.len().alias("n"), pl.col("rich").mode().first().alias("top"))
    told = more.frame.join(groups, on=SCHEMA.quasi)
    stars = pl.all_horizontal(pl.col(SCHEMA.quasi) == "*")
    price = {"dm": (pl.col("n"), told.height), "cm": ((pl.col("rich") != pl.col("top")).cast(pl.Int64), 1)}[loss]
    cost = told.select(pl.when(stars).then(price[1]).otherwise(price[0]).sum()).item()
    assert (more.levels["star_rows"] == 0) or more.levels["star_rows"] > 10  # nobody had to join them
    assert cost == more.levels["cost"]


def test_it_is_the_same_each_time_and_recodes_new_rows_alike():
    release, again = (ic.KOptimal(k=10, looks=40).publish(people(), SCHEMA, seed=seed) for seed in (1, 2))
    assert release.levels["cost"] == again.levels["cost"]
    kept = ~pl.all_horizontal(pl.col(SCHEMA.quasi) == "*")
    recoded = release.transform(people())[release.private.rows]
    shown = release.frame.with_columns(recoded.select(pl.all().name.prefix("new "))).filter(kept)
    assert all(shown[name].equals(shown[f"new {name}"], check_names=False) for name in SCHEMA.quasi)


def test_of_many_values_only_some_are_cut_points():
    frame = pl.DataFrame({"x": np.random.default_rng(5).normal(size=400), "c": ["a", "b"] * 200})
    schema = ic.Schema(quasi={"x": ic.Intervals()}, sensitive="c")
    release = ic.KOptimal(k=5, points=6, looks=100).publish(frame, schema, seed=1)
    sets = CutSets.of(Table.encode(frame, schema), ic.KOptimal(k=5).privacy(), "dm", 6)
    assert sets.n_items == 6
    assert release.frame["x"].n_unique() == 7
    assert release.levels["proved_optimal"]


def test_what_is_refused():
    for odd in ({"loss": "lm"}, {"points": 0}, {"looks": 1.5}, {"looks": True}, {"seconds": 0}):
        with pytest.raises(ic.ParameterError, match=next(iter(odd))):
            ic.KOptimal(k=2, **odd)
    with pytest.raises(ic.IncompatibleError, match="there are no classes"):
        ic.KOptimal(k=2, loss="cm").publish(people(), ic.Schema(quasi={"age": ic.Intervals()}, rest="drop"))


def test_a_little_time_is_enough_for_a_release():
    release = ic.KOptimal(k=10, seconds=1e-9).publish(people(), SCHEMA, seed=1)
    assert not release.levels["proved_optimal"]
    assert release.verify(people()).ok
