"""Iyengar: what a chromosome costs, and that evolution finds the best of few."""

import numpy as np
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


@given(tables(max_rows=14), st.integers(1, 4), st.sampled_from(CONSTRAINTS), st.sampled_from(["lm", "cm"]), st.data())
def test_what_a_chromosome_costs(drawn, k, constraints, loss, data):
    drawn = drawn.fit_for(constraints)
    table = Table.encode(drawn.frame, drawn.schema)
    assume(table.classes[1] > 1)
    sets = CutSets.of(table, ic.Iyengar(k=k, **constraints).privacy(), loss, 100)
    bits = data.draw(st.lists(st.booleans(), min_size=sets.n_items, max_size=sets.n_items))
    chosen = sets.closed(np.array(bits, bool))
    ways = [[tuple(part) for part in ranges] for ranges in sets._ranges(chosen)]
    assert sets.total(chosen) == pytest.approx(
        naive_cut_sets.cost(table, ways, loss, naive_cut_sets.judge(table, k, constraints))
    )


@given(tables(max_rows=12), st.integers(1, 4), st.sampled_from(["lm", "cm"]))
def test_of_few_generalizations_it_finds_the_best(drawn, k, loss):
    table = Table.encode(drawn.frame, drawn.schema)
    assume(naive_cut_sets.few_ways(table, 24) and table.classes[1] > 1 and k <= table.n_rows)
    release = ic.Iyengar(k=k, loss=loss, population=24, rounds=150).publish(drawn.frame, drawn.schema, seed=1)
    least = naive_cut_sets.best_cost(table, loss, naive_cut_sets.judge(table, k, {}))
    assert release.levels["cost"] == pytest.approx(least)


def test_more_rounds_lose_less_and_one_seed_gives_one_release():
    none, some = (
        ic.Iyengar(k=5, rounds=rounds, population=20).publish(people(), SCHEMA, seed=1) for rounds in (0, 300)
    )
    again = ic.Iyengar(k=5, rounds=300, population=20).publish(people(), SCHEMA, seed=1)
    assert some.levels["cost"] < none.levels["cost"]
    assert some.frame.equals(again.frame)


def test_what_is_refused():
    for odd in ({"loss": "dm"}, {"points": 0}, {"population": 1}, {"rounds": -1}, {"rounds": True}):
        with pytest.raises(ic.ParameterError, match=next(iter(odd))):
            ic.Iyengar(k=2, **odd)
