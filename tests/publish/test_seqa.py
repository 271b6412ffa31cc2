"""The fast SeqA makes the same moves as the plain one, and never ends above its start."""

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import incrowd as ic
import naive_mondrian
import naive_nsvdist
import naive_seqa
from claims import CONSTRAINTS
from incrowd.coding import Table
from incrowd.kernels.seqa import N_NEXT, NEXT, move_rows
from incrowd.losses import cell_loss
from incrowd.publish import seqa
from incrowd.publish.seqa import SeqA, Space
from strategies import tables

LOSSES = st.sampled_from(["lm", "entropy", "monotone_entropy"])
STARTS = st.sampled_from(["mondrian", "single_mondrian", "random"])


def quiet(*_):
    pass


def groups(cell_of):
    return sorted(sorted(np.flatnonzero(cell_of == cell).tolist()) for cell in set(cell_of.tolist()))


def prepared(table, loss, constraints):
    """Losses of clusters, sensitive values, and the test that a cluster's values must pass, all in their plain form."""
    codes = [tuple(int(x) for x in row) for row in table.codes]
    sensitive = [int(v) for v in table.sensitive]
    price = naive_nsvdist.price_of(table.hierarchies, table.marginals, loss)

    def keeps(values):
        return naive_mondrian.holds(values, sensitive, **constraints)

    return naive_seqa.Losses(codes, table.hierarchies, price), sensitive, keeps


def plain(table, k, constraints, loss, start, omega, passes, seed):
    """Groups of rows by the plain algorithm; the loss of the start, after the passes, and in the end."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(table.n_rows).tolist()
    losses, sensitive, keeps = prepared(table, loss, {"k": k, **constraints})
    if start == "random":
        first = naive_seqa.random_start(rows, k)
    else:
        cut = naive_mondrian.multi if start == "mondrian" else naive_mondrian.single
        first = naive_seqa.numbered(cut(losses.codes, sensitive, table.hierarchies, keeps), rows)
    improved = naive_seqa.improve(first, rows, losses, k, omega, passes, k > 1 or bool(constraints), rng)
    found = naive_seqa.merge(improved, losses, lambda cluster: keeps([sensitive[row] for row in cluster]))
    if start != "random" and losses.total(found) > losses.total(first):
        found = first
    return sorted(map(sorted, found)), [losses.total(clusters) for clusters in (first, improved, found)]


def feasible(method, table):
    try:
        method.require_feasible(table)
    except ic.InfeasibleError:
        return False
    return True


@given(
    tables(max_rows=15), st.integers(1, 6), st.sampled_from(CONSTRAINTS), LOSSES, STARTS,
    st.sampled_from([1, 1.5, 2.1]), st.sampled_from([1, 2, 50]), st.integers(0, 99),
)  # fmt: skip
def test_equals_the_plain_algorithm(drawn, k, constraints, loss, start, omega, passes, seed):
    table = Table.encode((drawn := drawn.fit_for(constraints)).frame, drawn.schema)
    method = SeqA(k=k, **constraints, loss=loss, start=start, omega=omega, passes=passes)
    assume(feasible(method, table))
    wanted, totals = plain(table, k, constraints, loss, start, omega, passes, seed)
    choice = method.choose(table, np.random.default_rng(seed), quiet)
    assert groups(choice.cell_of) == wanted
    assert totals[1] <= totals[0]
    for m, hierarchy in enumerate(table.hierarchies):
        for cell, rows in ((choice.cell_of[group[0]], group) for group in wanted):
            closed = naive_mondrian.closure(hierarchy, table.codes[rows, m].tolist())
            assert closed == (choice.lo[cell, m], choice.hi[cell, m])


def lost(choice, table, loss):
    """The loss of all rows, by the floating-point losses that reports show."""
    domains = enumerate(zip(table.hierarchies, table.marginals, strict=True))
    per_cell = sum(cell_loss(loss, h, marginal, choice.lo[:, m], choice.hi[:, m]) for m, (h, marginal) in domains)
    return float(per_cell[choice.cell_of].sum())


@given(tables(min_rows=2, max_rows=40), st.integers(1, 8), LOSSES, st.sampled_from(CONSTRAINTS), st.integers(0, 9))
def test_never_ends_above_mondrian(drawn, k, loss, constraints, seed):
    table = Table.encode((drawn := drawn.fit_for(constraints)).frame, drawn.schema)
    method, rng = SeqA(k=k, loss=loss, **constraints), np.random.default_rng(seed)
    assume(feasible(method, table))
    start = ic.Mondrian(k=k, **constraints).choose(table, rng, quiet)
    assert lost(method.choose(table, rng, quiet), table, loss) <= lost(start, table, loss) + 1e-5


@given(tables(min_rows=2, max_rows=40), st.integers(1, 8), LOSSES, st.integers(0, 9))
def test_passes_from_a_random_start_never_end_above_it(drawn, k, loss, seed):
    table = Table.encode(drawn.frame, drawn.schema)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(table.n_rows)
    method = SeqA(k=k, loss=loss, start="random")
    space = Space.of(table, rows, loss, method.privacy())
    start = method._start("random", table, rows, rng, quiet)
    assert np.bincount(start).min() >= min(table.n_rows, max(2, (k + 1) // 2))
    assert space.loss(method._improve(space, start, rng, quiet)) <= space.loss(start)


def test_the_best_start_is_the_one_that_loses_least():
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"a": rng.integers(0, 50, 60), "b": rng.integers(0, 9, 60), "s": rng.choice(list("xy"), 60)})
    table = Table.encode(frame, ic.Schema(quasi={"a": ic.Intervals(), "b": ic.Intervals()}, sensitive="s"))
    rows = np.random.default_rng(0).permutation(60)
    method = SeqA(k=4, start="best")
    space, draws = Space.of(table, rows, "lm", method.privacy()), np.random.default_rng(0)
    draws.permutation(60)
    losses = [space.loss(method._from(start, space, table, rows, draws, quiet)) for start in seqa._STARTS]
    chosen = method.choose(table, np.random.default_rng(0), quiet)
    assert len(set(losses)) > 1
    assert space.loss(chosen.cell_of[rows]) == min(losses)


@given(
    tables(min_rows=8, max_rows=40), st.integers(4, 12), st.sampled_from([{}, {"l": 1.3}]), LOSSES, st.integers(0, 9)
)
def test_merging_equals_the_plain_one(drawn, k, constraints, loss, seed):
    table = Table.encode(drawn.frame, drawn.schema)
    n, method = table.n_rows, SeqA(k=k, **constraints)
    assume(feasible(method, table))
    cluster_of = np.unique(np.random.default_rng(seed).integers(0, n, n), return_inverse=True)[1]
    space = Space.of(table, np.arange(n), loss, method.privacy())
    losses, sensitive, keeps = prepared(table, loss, {"k": k, **constraints})
    clusters = [np.flatnonzero(cluster_of == c).tolist() for c in range(cluster_of.max() + 1)]
    wanted = naive_seqa.merge(clusters, losses, lambda cluster: keeps([sensitive[row] for row in cluster]))
    assert groups(seqa.merge(space, cluster_of, quiet)) == sorted(map(sorted, wanted))


@given(tables(min_rows=2, max_rows=40), st.integers(1, 9), st.booleans(), LOSSES, st.integers(0, 9))
def test_clusters_are_kept_up_to_date(drawn, n_clusters, dissolve, loss, seed):
    """After moves, sizes, ranges, their ends and losses are those of clusters filled anew."""
    table = Table.encode(drawn.frame, drawn.schema)
    rng = np.random.default_rng(seed)
    space = Space.of(table, np.arange(table.n_rows), loss, SeqA(k=2).privacy())
    cluster_of = rng.integers(0, n_clusters, table.n_rows)
    clusters = space.fill(cluster_of, n_clusters)
    stays = np.full(table.n_rows, -1)
    order = np.concatenate([rng.permutation(table.n_rows) for _ in range(3)])
    n_moved = move_rows(clusters, space.prices, space.codes, cluster_of, stays, order, 0, len(order), 0, dissolve)
    again = space.fill(cluster_of, n_clusters)
    kept = np.flatnonzero(np.bincount(cluster_of, minlength=n_clusters))
    assert n_moved >= 0
    assert np.array_equal(clusters.about[:, 0], again.about[:, 0])
    assert np.array_equal(clusters.about[kept, 1], again.about[kept, 1])
    for mine, fresh in ((clusters.box, again.box), (clusters.paid, again.paid)):
        assert np.array_equal(mine[kept], fresh[kept])
    for ends in (clusters.ends, again.ends):
        ends[..., NEXT][ends[..., N_NEXT] == 0] = 0  # no such leaf
    assert np.array_equal(clusters.ends[kept], again.ends[kept])


def ages(values, **options):
    frame = pl.DataFrame({"age": values, "s": [i % 2 for i in range(len(values))]})
    schema = ic.Schema(quasi={"age": ic.Intervals()}, sensitive="s")
    return SeqA(**options).publish(frame, schema, seed=1), frame, schema


def test_finds_clusters_that_median_cuts_miss():
    values = [1, 2, 3, 4, 5, 50, 51, 52, 97, 98, 99, 100]
    release, frame, schema = ages(values, k=3)
    assert sorted(release.frame["age"].unique()) == ["1-5", "50-52", "97-100"]
    assert release.loss("lm") < ic.Mondrian(k=3).publish(frame, schema).loss("lm")


def test_many_equal_rows_stay_among_equals():
    """Thousands of small clusters at distance 0 are joined first; only the last few are not equal."""
    release, _, _ = ages([i % 3 for i in range(3000)], k=5, start="random", passes=2)
    assert release.loss("lm") < 0.005


def test_large_domains_need_no_tables():
    values = [i * 7919 % 104729 for i in range(1500)]
    release, frame, schema = ages(values, k=10)
    assert release.loss("lm") <= ic.Mondrian(k=10).publish(frame, schema).loss("lm")
    with pytest.raises(ic.IncompatibleError, match="too many"):
        ages(values, k=10, loss="entropy")


def made(n):
    rng = np.random.default_rng(7)
    frame = pl.DataFrame({name: rng.integers(0, 40, n) for name in "abc"} | {"s": ["x", "y"] * (n // 2)})
    return frame, ic.Schema(quasi={"a": ic.Intervals(), "b": ic.balanced(2), "c": ic.balanced(3)}, sensitive="s")


def test_looking_only_at_clusters_that_changed_misses_nothing(monkeypatch):
    table = Table.encode(*made(300))
    methods = [SeqA(k=k, start=start) for k in (4, 10) for start in ("mondrian", "random")]
    found = [method.choose(table, np.random.default_rng(1), quiet).cell_of for method in methods]

    def look_at_all(clusters, prices, codes, cluster_of, stays, *slice_of_rows):
        stays.fill(-1)
        return move_rows(clusters, prices, codes, cluster_of, stays, *slice_of_rows)

    monkeypatch.setattr(seqa, "move_rows", look_at_all)
    for method, cell_of in zip(methods, found, strict=True):
        assert np.array_equal(method.choose(table, np.random.default_rng(1), quiet).cell_of, cell_of)


def test_slices_do_not_matter_and_progress_is_told(monkeypatch):
    n = 120
    frame = pl.DataFrame(
        {"a": [i * 37 % 101 for i in range(n)], "b": [i % 7 for i in range(n)], "s": ["x", "y"] * (n // 2)}
    )
    schema = ic.Schema(quasi={"a": ic.Intervals(), "b": ic.balanced(2)}, sensitive="s")
    first = SeqA(k=5).publish(frame, schema, seed=3).frame
    monkeypatch.setattr(seqa, "_SLICE", 1)
    seen = []
    again = SeqA(k=5).publish(frame, schema, seed=3, progress=lambda *at: seen.append(at))
    assert again.frame.equals(first)
    for stage in ("moving rows", "comparing clusters", "merging"):
        told = [(done, total) for name, done, total in seen if name == stage]
        assert len(told) > 3
        assert told == sorted(told)
        assert told[-1][0] == told[-1][1] or stage == "comparing clusters"

    def interrupt(stage, done, _total):
        if stage == "moving rows" and done > 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SeqA(k=5).publish(frame, schema, seed=3, progress=interrupt)


def test_has_no_recoding_for_new_rows():
    release, frame, _ = ages([1, 2, 3, 4, 5, 50, 51, 52], k=2)
    with pytest.raises(ic.IncompatibleError, match="no recoding"):
        release.transform(frame)


def test_numbers_of_any_kind_are_taken():
    frame = pl.DataFrame({"q": [1, 2, 3, 4] * 3, "s": list("ab") * 6})
    schema = ic.Schema(quasi={"q": ic.Intervals()}, sensitive="s")
    shown = [SeqA(k=2, omega=omega).publish(frame, schema, seed=1).frame.rows() for omega in (2, 2.0, np.float32(2))]
    assert shown[0] == shown[1] == shown[2] == SeqA(k=2, omega=np.int64(2)).publish(frame, schema, seed=1).frame.rows()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"loss": "dm"}, "loss is 'dm'"),
        ({"start": "worst"}, "start is 'worst'"),
        ({"omega": 0.9}, "omega is 0.9"),
        ({"omega": float("nan")}, "omega is nan"),
        ({"omega": "2"}, "omega is '2'"),
        ({"omega": True}, "omega is True"),
        ({"passes": 0}, "passes is 0"),
        ({"passes": 1.5}, "passes is 1.5"),
    ],
)
def test_wrong_parameters_are_refused(wrong, message):
    with pytest.raises(ic.ParameterError, match=message):
        SeqA(**{"k": 2, **wrong})


def test_a_start_of_one_cluster_is_cut_down_before_anything_is_given_up():
    rng = np.random.default_rng(3)
    values = {name: ["rare", "rare", *rng.choice(list("pqrs"), 398)] for name in "abc"}
    frame = pl.DataFrame({**values, "ill": ["x", "y"] * 200})
    schema = ic.Schema(quasi=dict.fromkeys("abc", ic.balanced(9)), sensitive="ill")
    stuck = ic.Mondrian(k=5, recoding="single").publish(frame, schema, seed=1)
    assert stuck.loss("lm") == 1
    assert ic.SeqA(k=5, start="single_mondrian").publish(frame, schema, seed=1).loss("lm") < 0.2
