"""Optimal full-domain recoding: equal to trying every node, and what it says of itself."""

import numpy as np
import polars as pl
import pytest
import test_population
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import incrowd as ic
import naive_lattice
import naive_mondrian
from claims import CONSTRAINTS
from incrowd.coding import Table
from incrowd.publish import level_search
from incrowd.publish.iac import n_levels
from incrowd.publish.level_search import Patience, Search, level_costs, part_of
from incrowd.publish.local_levels import SHARES, Rounds
from strategies import tables


def total(release, table, loss):
    """What the release costs, in the exact domains, summed over rows and attributes."""
    return release.loss(loss) * table.n_rows * table.n_quasi


@given(
    tables(max_rows=14),
    st.integers(1, 5),
    st.sampled_from(CONSTRAINTS),
    st.sampled_from(["lm", "entropy", "monotone_entropy"]),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_no_node_loses_less(drawn, k, constraints, loss, suppress):
    drawn = drawn.fit_for(constraints)
    table = Table.encode(drawn.frame, drawn.schema)
    sensitive = table.sensitive.tolist()

    def holds(values, **other):
        return naive_mondrian.holds(values, sensitive, **({"k": k} | constraints | other))

    method = ic.Lattice(k=k, loss=loss, suppress=suppress, **constraints)
    least = naive_lattice.best_loss(table, loss, holds, suppress) if holds(sensitive) else None
    if least is None:
        with pytest.raises(ic.InfeasibleError):
            method.publish(drawn.frame, drawn.schema)
        return
    release = method.publish(drawn.frame, drawn.schema, seed=1, domains="exact")
    assert total(release, table, loss) == pytest.approx(least, abs=1e-6)


@settings(max_examples=40)
@given(tables(max_rows=12), st.integers(1, 4), st.sampled_from([0.1, 0.25, 0.4]), st.sampled_from([0.0, 0.4, 1.0]))
def test_no_node_loses_less_with_closeness_along_a_tree(drawn, k, t, suppress):
    drawn = drawn.fit_for({"tree": True})
    table = Table.encode(drawn.frame, drawn.schema)
    near = naive_lattice.near_along(table.secrets[0].nodes, table.sensitive.tolist(), t)
    assume(k <= table.n_rows)

    def holds(values, k=k):
        return len(values) >= k and near(values)

    assume(np.prod([n_levels(h) for h in table.hierarchies]) <= 200)
    least = naive_lattice.best_loss(table, "lm", holds, suppress)  # never None: all rows are near themselves
    release = ic.Lattice(k=k, t=t, tree=True, suppress=suppress).publish(
        drawn.frame, drawn.schema, seed=1, domains="exact"
    )
    assert total(release, table, "lm") == pytest.approx(least, abs=1e-6)


@given(tables(max_rows=10), st.integers(1, 3), st.integers(1, 9), st.integers(0, 9))
def test_no_node_of_the_k_that_keeps_a_k_map_loses_less(drawn, k, k_map, seed):
    """Of all k from the one asked for, the best node at the least k whose best node keeps the k-map."""
    frame, schema = drawn.frame, drawn.schema
    crowd = pl.concat([frame, frame.sample(min(6, frame.height), with_replacement=True, seed=seed)])
    within = ic.Population(people=crowd, k_map=k_map)
    alone = {}
    for own in range(k, frame.height + 1):
        release = ic.Lattice(k=own).publish(frame, schema, seed=1, domains="exact")
        alone[own] = release, test_population.count(release, crowd)[0]
    keeping = [own for own, (_, fits) in alone.items() if fits >= k_map]
    if not keeping:
        with pytest.raises(ic.InfeasibleError):
            ic.Lattice(k=k).publish(frame, schema, seed=1, domains="exact", within=within)
        return
    release = ic.Lattice(k=k).publish(frame, schema, seed=1, domains="exact", within=within)
    promised = release.manifest.k
    table = Table.encode(frame, schema)
    least = naive_lattice.best_loss(table, "lm", lambda values, k=promised: len(values) >= k, 1.0)
    assert total(release, table, "lm") == pytest.approx(least, abs=1e-6)
    assert test_population.count(release, crowd)[0] >= k_map
    assert promised == k or alone[promised - 1][1] < k_map


def people(n=400):
    rng = np.random.default_rng(3)
    return pl.DataFrame({
        "age": rng.integers(18, 80, n),
        "zip": [f"{x:05d}" for x in rng.integers(10000, 10060, n)],
        "sex": rng.choice(["f", "m"], n),
        "ill": rng.choice(["flu", "gout", "none"], n, p=[0.3, 0.2, 0.5]),
    })  # fmt: skip


SCHEMA = ic.Schema(quasi={"age": ic.bins(10), "zip": ic.prefixes(), "sex": None}, sensitive="ill")


def test_all_rows_of_a_column_have_one_level():
    release = ic.Lattice(k=10, suppress=0).publish(people(), SCHEMA, seed=1)
    stars = {text.count("*") for text in release.frame["zip"]}
    assert len(stars) == 1
    assert release.levels["star_rows"] == 0


def test_suppression_is_limited():
    free, some, none = (ic.Lattice(k=10, suppress=share).publish(people(), SCHEMA, seed=1) for share in (1, 0.05, 0))
    assert free.levels["star_rows"] > 20 >= some.levels["star_rows"]
    assert free.loss("lm") <= some.loss("lm") <= none.loss("lm")
    assert free.loss("lm") < none.loss("lm")


def test_local_recoding_loses_less():
    whole, local = (ic.Lattice(k=10, local=local).publish(people(), SCHEMA, seed=1) for local in (False, True))
    assert local.loss("lm") < whole.loss("lm")
    assert local.verify(people()).ok


@given(tables(max_rows=20), st.integers(1, 4), st.sampled_from(["lm", "monotone_entropy"]))
def test_each_local_round_takes_the_node_that_saves_most(drawn, k, loss):
    """Bounds of earlier rounds never hide a better node."""
    table = Table.encode(drawn.frame, drawn.schema)
    assume(k <= table.n_rows)
    costs = level_costs(table, loss)
    search = Search.of(table, table, costs, ic.Lattice(k=k).privacy(), k, 1.0)
    rounds = Rounds(table, search, lambda *_: None, Patience())
    for share in SHARES:
        rounds.raise_share(share)
        while True:
            rows, n_done = rounds.rows, len(rounds.done)
            if not rounds.publish_best() and len(rounds.done) == n_done:
                break
            if len(rounds.done) > n_done:
                saved = naive_lattice.savings(part_of(table, rows), costs, k, share)
                levels = rounds.done[-1][1].generalized.levels
                assert saved[levels] == pytest.approx(max(saved.values()))
                assert saved[levels] > 0
    n_published = sum(int((~found.left).sum()) for _, found in rounds.done)
    assert n_published + len(rounds.rows) == table.n_rows


def test_new_rows_are_recoded_alike():
    release = ic.Lattice(k=10, suppress=0).publish(people(), SCHEMA, seed=1)
    again = release.transform(people())[release.private.rows]
    assert again.select(release.quasi).equals(release.frame.select(release.quasi))


def test_most_nodes_are_passed_over():
    release = ic.Lattice(k=10).publish(people(), SCHEMA, seed=1)
    n_nodes = 4 * 6 * 2  # levels of bins, of prefixes of five digits, of a name
    assert 0 < release.levels["nodes_looked_at"] < n_nodes


def test_little_time_still_gives_a_release():
    release = ic.Lattice(k=10, seconds=1e-9).publish(people(), SCHEMA, seed=1)
    assert release.levels["nodes_looked_at"] == 1
    assert release.verify(people()).ok


@pytest.mark.parametrize("given", [{}, {"local": True}, {"local": True, "l": 1.2}, {"loss": "dm"}])
def test_few_looks_still_give_a_release_that_says_so(given, monkeypatch):
    monkeypatch.setattr(level_search, "MOST_LOOKS", 3)
    release = ic.Lattice(k=10, **given).publish(people(), SCHEMA, seed=1)
    assert 1 <= release.levels["nodes_looked_at"] <= 4
    assert release.levels["ended_early"]
    assert "the search was ended after" in release.overview().notes[-1]
    assert release.verify(people()).ok


def test_a_search_that_comes_to_its_end_says_nothing():
    release = ic.Lattice(k=10, local=True, l=1.2).publish(people(), SCHEMA, seed=1)
    assert "ended_early" not in release.levels
    assert not any("ended" in note for note in release.overview().notes)


@given(
    tables(max_rows=9),
    st.integers(1, 4),
    st.sampled_from([*CONSTRAINTS, {"t": 0.3, "tree": True}]),
    st.sampled_from(["dm", "aecs", "cm", "nmi", "kl"]),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_no_node_loses_less_of_what_groups_lose(drawn, k, constraints, loss, suppress):
    """The loss of each node is that of a release made by hand: a table in which the cells are names."""
    drawn = drawn.fit_for(constraints)
    table = Table.encode(drawn.frame, drawn.schema)
    assume(np.prod([n_levels(h) for h in table.hierarchies]) <= 60)
    method = ic.Lattice(k=k, loss=loss, suppress=suppress, **constraints)
    try:
        release = method.publish(drawn.frame, drawn.schema, seed=1, domains="exact")
    except ic.InfeasibleError:
        return
    sensitive = table.sensitive.tolist()
    if "tree" not in constraints:
        least = naive_lattice.least(table, loss, sensitive, k, constraints, suppress)
        assert release.loss(loss, original=drawn.frame) == pytest.approx(least, abs=1e-9)
    nodes = method.explore(drawn.frame, drawn.schema)
    best = nodes.frame.filter("best")
    assert best["loss"][0] == pytest.approx(release.loss(loss, original=drawn.frame), abs=1e-9)
    assert best["loss"][0] == pytest.approx(nodes.frame.filter("allowed")["loss"].min(), abs=1e-9)


def test_the_lattice_can_be_looked_at():
    method = ic.Lattice(k=10, suppress=0.1)
    nodes, release = method.explore(people(), SCHEMA), method.publish(people(), SCHEMA, seed=1)
    assert nodes.frame.height == np.prod([n_levels(h) for h in Table.encode(people(), SCHEMA, least=10).hierarchies])
    best = nodes.frame.filter("best").row(0, named=True)
    assert best["suppressed"] == release.levels["star_rows"]
    assert best["loss"] == pytest.approx(release.loss("lm"))
    allowed = {row[:3] for row in nodes.frame.filter("allowed").rows()}
    for *heights, minimal in nodes.frame.select(*nodes.columns, "minimal").rows():
        below = [tuple(h - (n == m) for n, h in enumerate(heights)) for m in range(3)]
        assert minimal == (tuple(heights) in allowed and not allowed & set(below))
    assert set(nodes.minimal.columns) == set(nodes.frame.columns)
    assert nodes.minimal.height > 1
    assert nodes.best == {name: best[name] for name in nodes.columns}
    drawn = method.plot(people(), SCHEMA)
    assert {text.get_text() for text in drawn.axes[0].get_legend().get_texts()} >= {"minimal", "best"}


def test_what_is_refused():
    for odd in ({"suppress": 1.5}, {"suppress": True}, {"loss": "dma"}, {"seconds": 0}, {"local": True, "suppress": 0}):
        with pytest.raises(ic.ParameterError, match=next(iter(odd))):
            ic.Lattice(k=2, **odd)
    wide = pl.DataFrame({f"q{i}": range(300) for i in range(9)})
    with pytest.raises(ic.IncompatibleError, match="combinations of levels: too many"):
        ic.Lattice(k=2).publish(wide, ic.Schema(quasi=dict.fromkeys(wide.columns, ic.Intervals())))
